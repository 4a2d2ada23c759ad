"""Examples in docstrings produce the documented output."""

import doctest
import importlib
import inspect

import pytest

import unishape
from unishape import array_api

DOCUMENTED = {"unishape": unishape, "array_api": array_api}
DOCUMENTED |= {name: getattr(unishape, name) for name in unishape.__all__ if name != "__version__"}


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples(name):
    text = inspect.getdoc(DOCUMENTED[name])
    assert text, "every public object has a docstring"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0


MODULES = "_guard.kinds _guard.rules _labelled _names _partial _steps array_api dask numexpr numexpr._install numexpr.necompiler onnx xarray".split()


@pytest.mark.parametrize("name", MODULES)
def test_module_examples(name):
    assert doctest.testmod(importlib.import_module(f"unishape.{name}")).failed == 0


def test_main_functions_have_examples():
    for name in "broadcast_arrays broadcast_to broadcast_shapes sum_to explain evaluate lazy Lazy set_num_threads guard".split():
        assert ">>>" in inspect.getdoc(getattr(unishape, name)), name
