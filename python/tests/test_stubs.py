"""Type stubs have the same names and arguments as the modules, and type checkers accept them and a user's program."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import api_pages
import pytest

import unishape
from unishape import array_api

FOLDER = Path(__file__).parents[1] / "unishape"


# With UNISHAPE_DRAW=1, before anything reads them.
if os.environ.get("UNISHAPE_DRAW"):
    (FOLDER / "__init__.pyi").write_text(api_pages.with_stubs((FOLDER / "__init__.pyi").read_text()))


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


def test_element_wise_functions_are_declared():
    text = (FOLDER / "__init__.pyi").read_text()
    assert api_pages.with_stubs(text) == text, "UNISHAPE_DRAW=1 pytest python/tests/test_stubs.py updates them"
    assert len(api_pages.element_wise()) > 100


def checker(*command):
    """Output of a type checker on the stubs and a user's program, in an empty folder."""
    files = [FOLDER / "__init__.pyi", FOLDER / "array_api.pyi", Path(__file__).with_name("typed_program.py")]
    environment = dict(os.environ, MYPYPATH=str(FOLDER.parent))
    done = subprocess.run(
        [sys.executable, "-m", *command, *map(str, files)], capture_output=True, text=True, env=environment, timeout=600
    )
    return done.returncode, done.stdout + done.stderr


def test_mypy(tmp_path):
    code, text = checker("mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path))
    assert code == 0, text


def test_pyright(tmp_path):
    config = tmp_path / "pyrightconfig.json"
    config.write_text(json.dumps({"typeCheckingMode": "strict", "extraPaths": [str(FOLDER.parent)]}))
    code, text = checker("basedpyright", "--project", str(config), "--pythonpath", sys.executable, "--level", "error")
    assert code == 0, text


def test_typed_program_runs():
    done = subprocess.run([sys.executable, str(Path(__file__).with_name("typed_program.py"))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ruff():
    folder = FOLDER.parent
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
