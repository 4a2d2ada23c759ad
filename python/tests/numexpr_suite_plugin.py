"""A pytest plugin for numexpr's own tests: marks those in numexpr_suite_exceptions.txt."""

from pathlib import Path

import suite_exceptions


def pytest_collection_modifyitems(items):
    suite_exceptions.mark(items, Path(__file__).with_name("numexpr_suite_exceptions.txt"))
