"""Type stubs have the same names and arguments as the modules."""

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
    """Names, kinds and defaults, without types and self."""
    args = function.args
    kinds = [(each.arg, "/") for each in args.posonlyargs] + [(each.arg, "") for each in args.args]
    defaults = [None] * (len(kinds) - len(args.defaults)) + args.defaults
    result = [
        (name, kind, default and ast.literal_eval(default))
        for (name, kind), default in zip(kinds, defaults, strict=True)
    ]
    if args.vararg:
        result.append((args.vararg.arg, "*", None))
    for each, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        result.append((each.arg, "=", default and ast.literal_eval(default)))
    if args.kwarg:
        result.append((args.kwarg.arg, "**", None))
    return [each for each in result if each[0] != "self"]


KINDS = {
    inspect.Parameter.POSITIONAL_ONLY: "/",
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.KEYWORD_ONLY: "=",
    inspect.Parameter.VAR_KEYWORD: "**",
}


def real_arguments(function):
    parameters = inspect.signature(function).parameters.values()
    result = [
        (each.name, KINDS[each.kind], None if each.default is each.empty else each.default) for each in parameters
    ]
    return [each for each in result if each[0] != "self"]


def functions():
    """Each function of the stubs with each of its signatures."""
    for each in STUBS:
        if isinstance(each, ast.FunctionDef):
            yield each.name, each
        elif isinstance(each, ast.AnnAssign) and each.annotation.id in CLASSES:
            for call in CLASSES[each.annotation.id].body:
                yield each.target.id, call


def test_names_match():
    names = {name for name, _ in functions()}
    names |= {name for name in CLASSES if not name.startswith("_")} | {"__version__"}
    assert names == set(unishape.__all__)


@pytest.mark.parametrize("name", sorted({name for name, _ in functions()}))
def test_function_arguments_match(name):
    for function in [function for each, function in functions() if each == name]:
        assert arguments(function) == real_arguments(getattr(unishape, name))


@pytest.mark.parametrize("name", ["Lazy", "Explanation", "guard", "BroadcastSite"])
def test_methods_match(name):
    real = getattr(unishape, name)
    stubs = {}
    for each in CLASSES[name].body:
        if isinstance(each, ast.FunctionDef):
            stubs.setdefault(each.name, []).append(each)
    public = {each for each in vars(real) if not each.startswith("_")}
    # Attributes that have a default are in the class, too.
    public -= {each.target.id for each in CLASSES[name].body if isinstance(each, ast.AnnAssign)}
    assert {each for each in stubs if not each.startswith("_")} == public
    for method, all_ in stubs.items():
        if method == "__getattr__":
            continue  # a slot without a name
        assert hasattr(real, method)
        is_property = any(isinstance(each, ast.Name) and each.id == "property" for each in all_[0].decorator_list)
        assert is_property == inspect.isdatadescriptor(getattr(real, method))
        if not is_property and not method.startswith("__"):
            for each in all_:
                assert arguments(each) == real_arguments(getattr(real, method))


def test_operators_of_lazy_match():
    stubs = {each.name for each in CLASSES["Lazy"].body if each.name.startswith("__")} - {"__getattr__"}
    # Methods of every object, and methods that users do not call.
    common = set(dir(object)) | {"__reduce__", "__bool__", "__hash__", "__module__", "__weakref__", "__new__"}
    common |= {"__getattr__", "__pandas_priority__", "__contains__"}
    real = {each for each in vars(unishape.Lazy) if each.startswith("__")} - common
    comparisons = {f"__{each}__" for each in "lt le eq ne gt ge".split()}
    assert stubs - comparisons == real - comparisons and comparisons <= stubs


def test_array_api_names_match():
    names = set()
    for each in read("array_api.pyi"):
        if isinstance(each, ast.ImportFrom) and each.module != "typing":
            names |= {alias.asname for alias in each.names}
            is_unishape = each.module == "unishape"
            assert all((alias.name in array_api._UNISHAPE_NAMES) == is_unishape for alias in each.names)
        elif isinstance(each, ast.AnnAssign):
            names.add(each.target.id)
        elif isinstance(each, ast.FunctionDef):
            names.add(each.name)
    assert names == {*array_api.__all__, "__version__"}
