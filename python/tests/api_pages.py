"""Generated parts of the documentation and the stubs, from the signatures and docstrings of the package.

test_stubs.py and test_reference.py compare them with the files; UNISHAPE_DRAW=1 updates the files.
"""

import importlib
import inspect
import re

import unishape

#: Element-wise functions whose arguments differ from those of the others.
SPECIAL = ("clip", "clamp", "round", "around", "divmod")

#: Public modules beside unishape itself.
MODULES = ("numexpr", "dask", "xarray", "onnx", "array_api")

OPTIONS = [
    ("where", "_Input | None", "None"),
    ("casting", "_Casting", '"same_kind"'),
    ("order", "_Order", '"K"'),
    ("dtype", "DTypeLike | None", "None"),
    ("threads", "int | None", "None"),
]


def element_wise():
    """Names of the element-wise functions."""
    functions = (name for name in unishape.__all__ if inspect.isbuiltin(getattr(unishape, name)))
    return sorted(name for name in functions if "casting" in inspect.signature(getattr(unishape, name)).parameters)


def summary(name):
    return inspect.getdoc(getattr(unishape, name)).splitlines()[0]


# Stubs.


def overload(name, positional, out, result, ignore=""):
    """One signature: positional parameters as (name, type, default), the type of out or None, the result."""
    lines = ["@overload", f"def {name}({ignore}"]
    has_slash = False
    for parameter, kind, default in positional:
        if default is not None and not has_slash:
            lines.append("    /,")
            has_slash = True
        lines.append(f"    {parameter}: {kind}," if default is None else f"    {parameter}: {kind} = {default},")
    if not has_slash:
        lines.append("    /,")
    lines.append("    out: None = None," if out is None else f"    out: {out},")
    lines.append("    *,")
    lines += [f"    {option}: {kind} = {default}," for option, kind, default in OPTIONS]
    lines.append(f") -> {result}:")
    lines.append(f'    """{summary(name)}"""')
    return lines


# Lazy values are arrays to type checkers, and the first declaration that fits counts.
LATER = "  # pyright: ignore[reportOverlappingOverload]"
# An output is of the library of the first array.
OTHER_OUT = "Any = None"
LATER_OUT = f"  # type: ignore[overload-overlap]{LATER}"


def stub(name):
    """The declarations of one function."""
    either, array = "_Input | Lazy", "_Input"
    if name in ("clip", "clamp"):
        limits = [("min", f"{either} | None", "None"), ("max", f"{either} | None", "None")]
        arrays = [("min", f"{array} | None", "None"), ("max", f"{array} | None", "None")]
        lines = overload(name, [("x", "Lazy", None), *limits], None, "Lazy", LATER_OUT)
        lines += overload(name, [("x", "_Other", None), *arrays], OTHER_OUT, "Any", LATER)
        lines += overload(name, [("x", array, None), *arrays], None, "_Array")
        return lines + keyword_out(name, [("x", either, None), *limits], "_Array")
    if name in ("round", "around"):
        decimals = ("decimals", "SupportsIndex", "0")
        lines = overload(name, [("x", "Lazy", None), decimals], None, "Lazy", LATER_OUT)
        lines += overload(name, [("x", "_Other", None), decimals], OTHER_OUT, "Any", LATER)
        lines += overload(name, [("x", array, None), decimals], None, "_Array")
        return lines + keyword_out(name, [("x", either, None), decimals], "_Array")
    signature = inspect.signature(getattr(unishape, name)).parameters
    names = [each for each, parameter in signature.items() if parameter.kind is parameter.POSITIONAL_ONLY]
    result, lazy, out = "_Array", "Lazy", "_Array | tuple[_Array]"
    other = OTHER_OUT
    if name == "divmod":
        other = "Any = None"
        result, lazy, out = "tuple[_Array, _Array]", "tuple[Lazy, Lazy]", "tuple[_Array, _Array]"
    lines = overload(name, [(each, either, None) for each in names], out, result)
    for at, _ in enumerate(names):
        kinds = [array] * at + ["Lazy"] + [either] * (len(names) - at - 1)
        lines += overload(name, [(each, kind, None) for each, kind in zip(names, kinds)], None, lazy, LATER)
    # The first array decides the type of the result; that of where is the second argument.
    kinds = [array] * (len(names) == 3) + ["_Other"] + [array] * (len(names) - 1)
    lines += overload(name, [(each, kind, None) for each, kind in zip(names, kinds)], other, "Any", LATER)
    return lines + overload(name, [(each, array, None) for each in names], None, result)


def keyword_out(name, positional, result):
    """A signature in which out, after parameters with defaults, is given by keyword."""
    lines = overload(name, positional, "_Array | tuple[_Array] | None", result)
    return [line.replace("| None,", "| None = None,") if line.strip().startswith("out:") else line for line in lines]


START, END = "# Generated: element-wise functions.", "# Generated: end."


def with_stubs(text):
    """The text of __init__.pyi with up-to-date declarations of the element-wise functions."""
    lines = [START, ""]
    for name in element_wise():
        lines += stub(name)
    lines += ["", END]
    return re.sub(f"{re.escape(START)}.*{re.escape(END)}", lambda _: "\n".join(lines), text, flags=re.DOTALL)


# The reference page.


def signature(name, value):
    text = str(inspect.signature(value))
    return f"{name}{re.sub(r'^[(]self(, )?', '(', text)}"


def sections(text):
    """A docstring in numpydoc form as Markdown."""
    result, lines = [], text.splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        below = lines[at + 1] if at + 1 < len(lines) else ""
        if line and set(below) == {"-"} and len(below) == len(line):
            result += [f"**{line}**", ""]
            at += 2
            body = []
            while at < len(lines) and not (at + 1 < len(lines) and lines[at] and set(lines[at + 1]) == {"-"}):
                body.append(lines[at])
                at += 1
            result += ["```python" if line == "Examples" else "```text", *"\n".join(body).strip("\n").split("\n"), "```", ""]
        else:
            result.append(line)
            at += 1
    return "\n".join(result).strip().replace("\n\n\n", "\n\n")


def entry(name, value, level="###"):
    return [f"{level} `{name}`", "", "```python", signature(name.rsplit(".", 1)[-1], value), "```", "", sections(inspect.getdoc(value)), ""]


def reference():
    """The text of docs/python-reference.md."""
    page = [
        "# Python API reference",
        "",
        "Generated from the docstrings: `UNISHAPE_DRAW=1 pytest python/tests/test_reference.py` updates it.",
        "[python.md](python.md) is an introduction; [expressions.md](expressions.md) is the language of `evaluate`.",
        "",
        "## Element-wise functions",
        "",
        "They take arrays of any library, numbers and lazy values, and have the options of NumPy's ufuncs:",
        "",
        "```text",
        *inspect.getdoc(unishape.add).split("\n", 2)[2].split("\n"),
        "```",
        "",
        "| function | result |",
        "|---|---|",
    ]
    for name in element_wise():
        if name not in SPECIAL:
            parameters = inspect.signature(getattr(unishape, name)).parameters.values()
            names = ", ".join(each.name for each in parameters if each.kind is each.POSITIONAL_ONLY)
            page.append(f"| `{name}({names})` | {summary(name)} |".replace("||", "\\|\\|"))
    page += ["", "Three have other parameters; `clamp` is another name of `clip`, and `around` of `round`:", ""]
    for name in ("clip", "round", "divmod"):
        page += entry(name, getattr(unishape, name))
    page += ["## Functions and classes", ""]
    rest = [name for name in sorted(unishape.__all__, key=str.lower) if name not in element_wise() and name != "__version__"]
    for name in rest:
        value = getattr(unishape, name)
        if inspect.isclass(value):
            page += [f"### `{name}`", "", sections(inspect.getdoc(value)), ""]
            for method in sorted(vars(value)):
                own = getattr(value, method)
                if not method.startswith("_") and callable(own):
                    page += entry(f"{name}.{method}", own, "####")
        else:
            page += entry(name, value)
    for module_name in MODULES:
        module = importlib.import_module(f"unishape.{module_name}")
        page += [f"## unishape.{module_name}", "", sections(inspect.getdoc(module)), ""]
        for name in sorted(vars(module)):
            value = getattr(module, name)
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            if value.__module__.startswith(f"unishape.{module_name}") and inspect.getdoc(value):
                page += entry(f"{module_name}.{name}", value)
    return "\n".join(page).rstrip() + "\n"
