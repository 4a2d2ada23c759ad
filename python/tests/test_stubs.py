"""The types in __init__.pyi and array_api.pyi are those of what there is: same names, same arguments."""

import ast
import inspect
from pathlib import Path

import pytest

import unishape
from unishape import array_api

FOLDER = Path(__file__).parents[1] / "unishape"


def read(name):
    return ast.parse((FOLDER / name).read_text()).body


STUBS = read("__init__.pyi")
CLASSES = {each.name: each for each in STUBS if isinstance(each, ast.ClassDef)}


def arguments(function):
    """Names, kinds and defaults, without types; a method's without self."""
    given = function.args
    kinds = [(each.arg, "/") for each in given.posonlyargs] + [(each.arg, "") for each in given.args]
    firsts = [None] * (len(kinds) - len(given.defaults)) + given.defaults
    told = [
        (name, kind, default and ast.literal_eval(default)) for (name, kind), default in zip(kinds, firsts, strict=True)
    ]
    if given.vararg:
        told.append((given.vararg.arg, "*", None))
    for each, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        told.append((each.arg, "=", default and ast.literal_eval(default)))
    if given.kwarg:
        told.append((given.kwarg.arg, "**", None))
    return [each for each in told if each[0] != "self"]


KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "/",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "=",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def real_arguments(function):
    parameters = inspect.signature(function).parameters.values()
    told = [(each.name, KINDS[each.kind], None if each.default is each.empty else each.default) for each in parameters]
    return [each for each in told if each[0] != "self"]


def functions():
    """Each function of the stubs, with one of its signatures at a time."""
    for each in STUBS:
        if isinstance(each, ast.FunctionDef):
            yield each.name, each
        elif isinstance(each, ast.AnnAssign) and each.annotation.id in CLASSES:
            for call in CLASSES[each.annotation.id].body:
                yield each.target.id, call


def test_all_names_are_there_and_no_others():
    names = {name for name, _ in functions()}
    names |= {name for name in CLASSES if not name.startswith("_")} | {"__version__"}
    assert names == set(unishape.__all__)


@pytest.mark.parametrize("name", sorted({name for name, _ in functions()}))
def test_arguments_of_functions(name):
    for function in [function for each, function in functions() if each == name]:
        assert arguments(function) == real_arguments(getattr(unishape, name))


@pytest.mark.parametrize("name", ["Lazy", "Explanation"])
def test_methods(name):
    real = getattr(unishape, name)
    stubs = {}
    for each in CLASSES[name].body:
        stubs.setdefault(each.name, []).append(each)
    public = {each for each in vars(real) if not each.startswith("_")}
    assert {each for each in stubs if not each.startswith("_")} == public
    for method, all_ in stubs.items():
        assert hasattr(real, method)
        is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in all_[0].decorator_list)
        assert is_property == inspect.isdatadescriptor(getattr(real, method))
        if not is_property and not method.startswith("__"):
            for each in all_:
                assert arguments(each) == real_arguments(getattr(real, method))


def test_operators_of_lazy_values():
    stubs = {each.name for each in CLASSES["Lazy"].body if each.name.startswith("__")}
    # Those that every object has, and those that people do not call.
    common = set(dir(object)) | {"__reduce__", "__bool__", "__hash__", "__module__", "__weakref__", "__new__"}
    real = {each for each in vars(unishape.Lazy) if each.startswith("__")} - common
    compared = {f"__{each}__" for each in "lt le eq ne gt ge".split()}
    assert stubs - compared == real - compared and compared <= stubs


def test_names_of_the_namespace():
    names = set()
    for each in read("array_api.pyi"):
        if isinstance(each, ast.ImportFrom) and each.module != "typing":
            names |= {alias.asname for alias in each.names}
            ours = each.module == "unishape"
            assert all((alias.name in array_api._OURS) == ours for alias in each.names)
        elif isinstance(each, ast.AnnAssign):
            names.add(each.target.id)
        elif isinstance(each, ast.FunctionDef):
            names.add(each.name)
    assert names == {*array_api.__all__, "__version__"}
