"""Every example in the documentation runs, and everything public has documentation."""

import doctest
import inspect

import pytest

import unishape

PUBLIC = [name for name in unishape.__all__ if not name.startswith("_")]


@pytest.mark.parametrize("name", PUBLIC)
def test_documentation(name):
    thing = getattr(unishape, name)
    documentation = inspect.getdoc(thing)
    assert documentation, f"{name} has no documentation"
    examples = doctest.DocTestParser().get_doctest(documentation, {}, name, None, None)
    result = doctest.DocTestRunner(verbose=False).run(examples)
    assert result.failed == 0


def test_the_package_itself():
    assert doctest.testmod(unishape).failed == 0
