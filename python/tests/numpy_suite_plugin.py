"""A pytest plugin that substitutes unishape's functions for NumPy's in NumPy's own tests.

    pytest -p numpy_suite_plugin --pyargs numpy.lib.tests.test_stride_tricks

numpy_suite_exceptions.txt lists tests that do not apply, with reasons. They must fail: an entry whose test passes
or does not exist is an error.
"""

import importlib
from pathlib import Path

import pytest

FUNCTIONS = ["broadcast_arrays", "broadcast_shapes", "broadcast_to"]

# The module that the tests import from, and the public namespace.
MODULES = ["numpy.lib._stride_tricks_impl", "numpy"]

EXCEPTIONS = Path(__file__).with_name("numpy_suite_exceptions.txt")


def pytest_addoption(parser):
    parser.addoption("--functions-of", default="unishape", help="module whose functions are tested")


def pytest_configure(config):
    # Before NumPy's tests import the functions by name.
    tested = importlib.import_module(config.getoption("--functions-of"))
    for module in map(importlib.import_module, MODULES):
        for name in FUNCTIONS:
            setattr(module, name, getattr(tested, name))


def exceptions():
    """The reason for each test that must fail."""
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def pytest_collection_modifyitems(items):
    reasons = exceptions()
    for item in items:
        reason = reasons.pop(item.nodeid.split("::", 1)[1], None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if reasons:
        raise pytest.UsageError(f"{EXCEPTIONS.name} lists tests that NumPy does not have: {sorted(reasons)}")
