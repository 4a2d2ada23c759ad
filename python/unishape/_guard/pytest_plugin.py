"""The pytest plugin: `pytest --broadcast-guard` runs each test under a guard."""

import pytest

from .guards import POLICIES, guard
from .sites import BroadcastSite, summary_of


def pytest_addoption(parser):
    """Adds the options."""
    group = parser.getgroup("broadcast-guard", "guard against silent broadcasting")
    group.addoption(
        "--broadcast-guard",
        nargs="?",
        const="warn",
        choices=POLICIES,
        metavar="POLICY",
        help="watch tests for suspicious broadcasts: warn (default), raise or collect",
    )
    group.addoption("--broadcast-guard-html", metavar="FILE", help="write the guard's report with diagrams to FILE")
    parser.addini("broadcast_guard_ignore", "places and names that the guard does not report", "linelist", [])
    parser.addini("broadcast_guard_only", "the only places and names that the guard reports", "linelist", [])
    parser.addini("broadcast_guard_strict", "report all outer products that do not write their axes", "bool", False)


def pytest_configure(config):
    """Registers the plugin's work, if it is requested."""
    config.addinivalue_line("markers", "no_broadcast_guard: do not watch this test for suspicious broadcasts")
    policy = config.getoption("--broadcast-guard")
    if policy is None and config.getoption("--broadcast-guard-html"):
        policy = "collect"
    if policy is not None:
        config.pluginmanager.register(_Plugin(config, policy), "unishape-broadcast-guard")


class _Plugin:
    def __init__(self, config, policy):
        self._html = config.getoption("--broadcast-guard-html")
        self._guard = guard(
            policy=policy,
            ignore=config.getini("broadcast_guard_ignore"),
            only=config.getini("broadcast_guard_only"),
            strict=config.getini("broadcast_guard_strict"),
            all_threads=True,
        )
        # Sites that the processes of pytest-xdist have sent.
        self._sent = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item, nextitem):
        """Runs a test with its fixtures under the guard."""
        if item.get_closest_marker("no_broadcast_guard"):
            return (yield)
        with self._guard:
            return (yield)

    def pytest_sessionfinish(self, session):
        """Sends sites to the main process of pytest-xdist, from its workers."""
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["broadcast_guard"] = [each.as_dict() for each in self._guard.sites]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node, error):
        """Receives the sites of a worker of pytest-xdist."""
        self._sent += getattr(node, "workeroutput", {}).get("broadcast_guard", [])

    def _sites(self):
        """Sites of all processes, each once."""
        sites = {}
        for each in [*self._guard.sites, *map(_from_dict, self._sent)]:
            known = sites.setdefault((each.file, each.line, each.expression, each.kind, bool(each.reason)), each)
            if known is not each:
                known.count += each.count
        return list(sites.values())

    def pytest_terminal_summary(self, terminalreporter):
        """Prints the suspicious sites, and how many there are."""
        sites = self._sites()
        terminalreporter.section("broadcast guard")
        for each in sites:
            if each.suspicious:
                terminalreporter.write_line(each.text())
                terminalreporter.write_line("")
        terminalreporter.write_line(summary_of(sites))
        if self._html:
            from .html import page

            with open(self._html, "w", encoding="utf-8") as file:
                file.write(page(sites))


def _from_dict(values):
    values = dict(values)
    values["names"], values["result"] = tuple(values["names"]), tuple(values["result"])
    values["shapes"] = tuple(map(tuple, values["shapes"]))
    return BroadcastSite(**values)
