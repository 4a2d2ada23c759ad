"""The guard: policies, rules, reports, and that everything is restored."""

import asyncio
import concurrent.futures
import contextvars
import gc
import os
import sys
import textwrap
import threading
import warnings

import numpy as np
import pytest

import unishape
from unishape import SuspiciousBroadcastError, SuspiciousBroadcastWarning, _unishape
from unishape._guard import registry, rules
from unishape._guard.late_imports import ImportHook

COLUMN, VECTOR = np.arange(4.0).reshape(4, 1), np.arange(4.0)
REAL_WHERE = np.where


def mistake():
    return COLUMN - VECTOR


def is_watched():
    """Whether NumPy's functions are watched now. Does not change it."""
    count = _unishape._unwatch_ufuncs([np.subtract])
    if count:
        _unishape._watch_ufuncs([np.subtract], registry._report)
    return bool(count)


@pytest.fixture(autouse=True)
def restored():
    """Everything is restored after each test."""
    assert not is_watched()
    yield
    assert not is_watched() and np.where is REAL_WHERE and registry._count == 0
    assert registry._local.here.guards == () and registry._everywhere == ()
    assert not any(isinstance(each, ImportHook) for each in sys.meta_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mistake()


def test_warns_once_for_each_place():
    with pytest.warns(SuspiciousBroadcastWarning) as caught, unishape.guard() as watch:
        for _ in range(3):
            result = mistake()
        VECTOR * COLUMN
    np.testing.assert_array_equal(result, mistake())
    assert [each.lineno for each in caught] == [each.line for each in watch.suspicious]
    assert [each.filename for each in caught] == [__file__] * 2
    assert [each.count for each in watch.suspicious] == [3, 1]
    assert caught[0].message.site is watch.sites[0]


def test_message():
    with unishape.guard(policy="collect") as watch:
        mistake()
    line = mistake.__code__.co_firstlineno + 1
    assert watch.text() == textwrap.dedent(f"""\
        suspicious broadcast: COLUMN - VECTOR: (4, 1) with (4,) gives (4, 4)
          File "{__file__}", line {line}, in mistake

          COLUMN  4 x 1
          VECTOR      4
          result  4 x 4
                  ^   ^
        Both operands are stretched although they have the same sizes. If one result per element is meant, give them the \
same rank, for example with ravel() or reshape(-1, 1); if all pairs are meant, write the axis: y[None, :].

        1 site, 1 suspicious""")


def test_raise_every_time():
    with unishape.guard(policy="raise"):
        for _ in range(2):
            with pytest.raises(SuspiciousBroadcastError, match="COLUMN - VECTOR") as error:
                mistake()
            assert error.value.site.shapes == ((4, 1), (4,))


def test_warnings_as_errors_stop_the_operation():
    with warnings.catch_warnings(), unishape.guard():
        warnings.simplefilter("error")
        with pytest.raises(SuspiciousBroadcastWarning):
            mistake()


OPERATIONS = {
    "-": lambda a, b: a - b,
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "divmod": lambda a, b: divmod(a, b),
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "&": lambda a, b: a.astype(int) & b.astype(int),
    "<<": lambda a, b: a.astype(int) << b.astype(int),
    "subtract": np.subtract,
    "keyword": lambda a, b: np.subtract(a, b, dtype=np.float32),
    "out": lambda a, b: np.subtract(a, b, np.empty((4, 4))),
    "out=": lambda a, b: np.subtract(a, b, out=np.empty((4, 4))),
    "maximum": np.maximum,
    "clip": lambda a, b: np.clip(a, b, 3),
    "clip method": lambda a, b: a.clip(0, b),
    "logical_and": np.logical_and,
    "isclose": np.isclose,
    "where": lambda a, b: np.where(a > 1, b, 0),
    "masked": lambda a, b: np.ma.array(a) - np.ma.array(b),
    "map": lambda a, b: list(map(np.subtract, [a], [b]))[0],
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operations_are_seen_and_compute_the_same(name):
    operation = OPERATIONS[name]
    expected = operation(COLUMN, VECTOR)
    with unishape.guard(policy="collect") as watch:
        result = operation(COLUMN, VECTOR)
    np.testing.assert_array_equal(result, expected)
    assert {each.shapes[0][:1] for each in watch.suspicious} == {(4,)}
    assert type(result) is type(expected)


def test_in_place_operations_are_seen():
    total = np.zeros((4, 4))
    with unishape.guard(policy="collect", strict=True) as watch:
        total += VECTOR
        total -= COLUMN
    assert [each.expression for each in watch.sites] == ["total += VECTOR", "total -= COLUMN"]
    assert [each.names for each in watch.sites] == [("total", "VECTOR"), ("total", "COLUMN")]
    np.testing.assert_array_equal(total, VECTOR - COLUMN)


def test_subclasses_and_objects_behave_as_before():
    class Array(np.ndarray):
        pass

    class Other:
        __array_ufunc__ = None

        def __rsub__(self, other):
            return "mine"

    with unishape.guard(policy="collect") as watch:
        assert type(COLUMN.view(Array) - VECTOR) is Array
        assert COLUMN - Other() == "mine"
        with pytest.raises(ValueError, match="could not be broadcast"):
            np.ones(3) - VECTOR
        with pytest.raises(TypeError):
            np.subtract(VECTOR)
        with pytest.raises(TypeError):
            np.subtract()
    assert len(watch.sites) == 1


def test_shapes_that_are_not_reported():
    with unishape.guard(policy="raise") as watch:
        for a, b in [((4, 1), (1,)), ((4, 1), ()), ((0, 1), (3,)), ((1, 4), (4,)), ((4, 4), (4, 1)), ((3, 4), (4,))]:
            np.add(np.ones(a), np.ones(b))
    # Only the last two are stretched, both at one place.
    (site,) = watch.sites
    assert site.shapes == ((4, 4), (4, 1)) and site.count == 2


def test_strict():
    a, b, square = np.ones((3, 1)), np.ones((1, 3)), np.ones((4, 4))
    with unishape.guard(policy="collect") as watch:
        a - b
        square * VECTOR
    assert watch.suspicious == [] and len(watch.sites) == 2
    with unishape.guard(policy="collect", strict=True) as watch:
        a - b
        square * VECTOR
        VECTOR[:, None] - VECTOR
    assert [each.expression for each in watch.suspicious] == ["a - b", "square * VECTOR"]


def test_one_place_with_several_shapes():
    def difference(a, b):
        return a - b

    with unishape.guard(policy="collect") as watch:
        difference(COLUMN.T, COLUMN)
        difference(np.ones((4, 4)), VECTOR)
        difference(COLUMN, VECTOR)
    assert [each.suspicious for each in watch.sites] == [False, False, True]


@pytest.mark.parametrize(
    "rule",
    [
        {"ignore": "test_guard.py"},
        {"ignore": ["nothing", "python/tests/*.py"]},
        {"ignore": "mistake"},
        {"ignore": f"{__name__}.mistake"},
        {"ignore": __name__},
        {"ignore": f"test_guard.py:{mistake.__code__.co_firstlineno + 1}"},
        {"ignore": "operand:VEC*"},
        {"only": "other.py"},
    ],
    ids=str,
)
def test_rules(rule):
    if "python/tests/*.py" in rule.get("ignore", ()) and "python/tests" not in __file__.replace(os.sep, "/"):
        pytest.skip("the tests are in another folder")
    with unishape.guard(policy="raise", **rule) as watch:
        mistake()
    (site,) = watch.sites
    assert not site.suspicious and site.reason and site.allowed_by
    assert watch.summary() == "1 site, 0 suspicious"


def test_rules_for_other_places_change_nothing():
    with unishape.guard(policy="collect", ignore=["other.py", "operand:w"], only=["*/test_guard.py"]) as watch:
        mistake()
    assert len(watch.suspicious) == 1


def test_wrong_arguments():
    with pytest.raises(ValueError, match="policy must be 'warn', 'raise' or 'collect', not 'stop'"):
        unishape.guard(policy="stop")
    with pytest.raises(TypeError, match="ignore must be patterns"):
        unishape.guard(ignore=[3])
    with pytest.raises(TypeError, match="only must be patterns"):
        unishape.guard(only=[""])
    with pytest.raises(TypeError, match="decorate the methods"):
        unishape.guard()(int)
    with pytest.raises(RuntimeError, match="left more often"):
        unishape.guard().__exit__(None, None, None)
    with pytest.raises(TypeError, match="must be numpy.ufunc objects, not function"):
        _unishape._watch_ufuncs([mistake], registry._report)


def test_marker_is_a_comment():
    assert rules.is_marked(["x - y  # broadcast: ok"]) and rules.is_marked(["x - y  # all pairs, broadcast:ok"])
    assert not rules.is_marked(['"broadcast: ok"', "# broadcast: no"])


def test_exception_restores():
    with pytest.raises(ZeroDivisionError), unishape.guard(policy="collect") as watch:
        assert is_watched()
        mistake()
        raise ZeroDivisionError
    assert not is_watched() and len(watch.suspicious) == 1


def test_nested_guards():
    with unishape.guard(policy="raise"), unishape.guard(policy="collect") as inner:
        mistake()
        with unishape.guard(policy="collect", ignore="mistake") as innermost:
            mistake()
        assert is_watched()
    assert len(inner.suspicious) == 1 and len(innermost.sites) == 1 and not innermost.suspicious


def test_guard_is_reusable_and_recursive():
    watch = unishape.guard(policy="collect")
    with watch:
        with watch:
            mistake()
        mistake()
    with watch:
        mistake()
    assert [each.count for each in watch.suspicious] == [3]


def test_decorator():
    watch = unishape.guard(policy="collect")

    @watch
    def repeated(n):
        """Doc."""
        mistake()
        return repeated(n - 1) if n else "done"

    assert repeated(2) == "done" and repeated.__doc__ == "Doc."
    assert watch.suspicious[0].count == 3 and not is_watched()


def test_decorated_generator_is_watched_only_while_it_runs():
    watch = unishape.guard(policy="collect")

    @watch
    def numbers():
        try:
            received = yield 1
            mistake()
            yield received
        except KeyError:
            mistake()
            yield "caught"
        finally:
            assert is_watched()

    generator = numbers()
    assert next(generator) == 1 and not is_watched()
    assert generator.send("hello") == "hello"
    assert generator.throw(KeyError) == "caught" and not is_watched()
    generator.close()
    assert list(numbers()) == [1, None]
    with pytest.raises(TypeError, match="asynchronous generator"):

        @watch
        async def wrong():
            yield 1


def test_decorated_coroutine_is_watched_only_while_it_runs():
    watch = unishape.guard(policy="collect")

    @watch
    async def watched():
        await asyncio.sleep(0)
        mistake()
        await asyncio.sleep(0.01)
        return 7

    async def main():
        task = asyncio.create_task(watched())
        for _ in range(5):
            await asyncio.sleep(0)
            assert not is_watched()
            mistake()
        return await task

    assert asyncio.run(main()) == 7
    assert watch.suspicious[0].count == 1


def test_generator_with_a_guard_inside():
    def numbers():
        with unishape.guard(policy="collect"):
            yield 1
            yield 2

    first, second = numbers(), numbers()
    next(first), next(second)
    # Left in the order of entering, not in reverse.
    first.close()
    assert is_watched()
    second.close()
    assert not is_watched()
    third = numbers()
    next(third)
    del third
    gc.collect()
    assert not is_watched()


def test_generator_finished_by_another_thread():
    def numbers():
        with unishape.guard(policy="collect"):
            yield 1

    generator = numbers()
    next(generator)
    thread = threading.Thread(target=generator.close)
    thread.start()
    thread.join()
    assert not is_watched()


def test_threads_are_apart():
    here, there = unishape.guard(policy="collect"), unishape.guard(policy="collect")
    barrier = threading.Barrier(2)

    def other():
        mistake()
        with there:
            barrier.wait()
            mistake()
            barrier.wait()
        mistake()

    with here:
        thread = threading.Thread(target=other)
        thread.start()
        barrier.wait()
        barrier.wait()
        thread.join()
        assert is_watched()
    assert here.sites == [] and [each.count for each in there.suspicious] == [1]


def test_all_threads():
    with unishape.guard(policy="collect", all_threads=True) as watch, concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: mistake(), range(20)))
    assert len(watch.suspicious) == 1 and watch.suspicious[0].count >= 15


def test_many_threads_enter_and_leave():
    watch = unishape.guard(policy="collect")
    failures = []

    def work():
        try:
            for _ in range(100):
                with watch:
                    np.testing.assert_array_equal(mistake()[0], -VECTOR)
                mistake()
        except BaseException as error:  # noqa: BLE001, shown by the test
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == [] and len(watch.suspicious) == 1 and not is_watched()


def test_other_contexts_are_watched():
    with unishape.guard(policy="collect") as watch:
        contextvars.Context().run(mistake)
    assert len(watch.suspicious) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fork():
    barrier = threading.Barrier(2)

    def other():
        with unishape.guard(policy="raise", all_threads=True):
            barrier.wait()
            barrier.wait()

    thread = threading.Thread(target=other)
    thread.start()
    barrier.wait()

    def child(run):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                run()
                status = 0
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

    def without_guard():
        # The other thread's guard is not in the child.
        assert not is_watched() and registry._count == 0
        mistake()
        with unishape.guard(policy="collect") as watch:
            mistake()
        assert len(watch.suspicious) == 1 and not is_watched()

    child(without_guard)
    with unishape.guard(policy="raise") as watch:

        def with_guard():
            with pytest.raises(SuspiciousBroadcastError):
                mistake()
            watch.__exit__(None, None, None)
            assert not is_watched()
            mistake()

        child(with_guard)
        assert is_watched()
    barrier.wait()
    thread.join()


def test_reports_do_not_watch_themselves():
    def show(*_):
        mistake()

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        with unishape.guard() as watch:
            mistake()
    assert watch.suspicious[0].count == 1


def test_without_source():
    names = {"a": COLUMN, "b": VECTOR}
    with unishape.guard(policy="collect") as watch:
        exec("a - b", names)
        eval(compile("a - b", "<made up>", "eval"), names)
    assert [each.expression for each in watch.suspicious] == ["", ""]
    assert "subtract: (4, 1) with (4,) gives (4, 4)" in watch.text() and "input 1" in watch.text()
    assert "<made up>" not in watch.html() and "&lt;made up&gt;" in watch.html()


def test_source_that_is_not_ascii(tmp_path):
    file = tmp_path / "größe.py"
    file.write_text('def f(α, β):\n    return ("ä", α - β)  # ∑\n', encoding="utf-8")
    names = {}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
    with unishape.guard(policy="collect") as watch:
        names["f"](COLUMN, VECTOR)
    (site,) = watch.suspicious
    assert (site.expression, site.names, site.line) == ("α - β", ("α", "β"), 2)


def test_html(tmp_path):
    with unishape.guard(policy="collect", html=tmp_path / "report.html") as watch:
        mistake()
        np.ones((3, 4)) * VECTOR
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == watch.html()
    assert "2 sites, 1 suspicious" in page and "<code>COLUMN - VECTOR</code>" in page
    assert page.count("data:image/svg+xml;base64,") == 1 and page.count("<article>") == 1
    assert "np.ones((3, 4)) * VECTOR" in page


def test_summary_on_exit(capsys):
    with unishape.guard(policy="collect", summary=True) as watch:
        with watch:
            mistake()
    assert capsys.readouterr().err == "broadcast guard: 1 site, 1 suspicious\n"


def test_import_hook_leaves_loaders_alone(tmp_path, monkeypatch):
    (tmp_path / "made_up_module.py").write_text("value = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen = []
    hook = ImportHook(["made_up_module", "missing_module"], seen.append)
    hook.install()
    try:
        import made_up_module

        with pytest.raises(ModuleNotFoundError):
            import missing_module  # noqa: F401
    finally:
        hook.remove()
        sys.modules.pop("made_up_module", None)
    assert seen == [made_up_module] and made_up_module.value == 7
    assert type(made_up_module.__spec__.loader).__name__ == "SourceFileLoader"
    assert made_up_module.__loader__ is made_up_module.__spec__.loader
