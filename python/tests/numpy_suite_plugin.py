"""A plugin of pytest's that puts our functions in the place of NumPy's, for NumPy's own tests of these.

    pytest -p numpy_suite_plugin --pyargs numpy.lib.tests.test_stride_tricks

Tests that cannot apply are in numpy_suite_exceptions.txt, with reasons, and have to fail: an entry whose test
passes, or that names no test, is an error.
"""

import importlib
from pathlib import Path

import pytest

FUNCTIONS = ["broadcast_arrays", "broadcast_shapes", "broadcast_to"]

# Where NumPy has them: the module that the tests import them from, and the names for everybody.
PLACES = ["numpy.lib._stride_tricks_impl", "numpy"]

EXCEPTIONS = Path(__file__).with_name("numpy_suite_exceptions.txt")


def pytest_addoption(parser):
    parser.addoption("--functions-of", default="unishape", help="the module whose functions are tested")


def pytest_configure(config):
    # Before NumPy's tests are imported, which take the functions by name.
    ours = importlib.import_module(config.getoption("--functions-of"))
    for place in map(importlib.import_module, PLACES):
        for name in FUNCTIONS:
            setattr(place, name, getattr(ours, name))


def exceptions():
    """The reason for each test that is to fail."""
    lines = [line for line in EXCEPTIONS.read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines)


def pytest_collection_modifyitems(items):
    reasons = exceptions()
    for item in items:
        reason = reasons.pop(item.nodeid.split("::", 1)[1], None)
        if reason is not None:
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    if reasons:
        raise pytest.UsageError(f"{EXCEPTIONS.name} names tests that NumPy does not have: {sorted(reasons)}")
