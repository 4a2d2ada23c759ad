"""A pytest plugin that substitutes unishape's functions for NumPy's in NumPy's own tests.

    pytest -p numpy_suite_plugin --pyargs numpy.lib.tests.test_stride_tricks

numpy_suite_exceptions.txt lists tests that do not apply, with reasons. They must fail: an entry whose test passes
or does not exist is an error.
"""

import importlib
from pathlib import Path

import suite_exceptions

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


def pytest_collection_modifyitems(items):
    suite_exceptions.mark(items, EXCEPTIONS)
