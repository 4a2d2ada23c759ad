"""docs/python-reference.md has every public function, and docs/expressions.md the language of expressions."""

import inspect
import os
import re
from pathlib import Path

import api_pages
import numpy as np
import pytest

import unishape
from unishape import _unishape

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = DOCS / "python-reference.md"
EXPRESSIONS = DOCS / "expressions.md"


def test_reference_is_up_to_date():
    text = api_pages.reference()
    if os.environ.get("UNISHAPE_DRAW"):
        REFERENCE.write_text(text)
    assert REFERENCE.read_text() == text
    for name in unishape.__all__:
        assert name == "__version__" or f"`{name}" in text, name


@pytest.mark.parametrize("name", [name for name in unishape.__all__ if name != "__version__"])
def test_docstrings_are_numpydoc(name):
    value = getattr(unishape, name)
    text = inspect.getdoc(value)
    summary, *rest = text.splitlines()
    assert summary and not (rest and rest[0]), "a line of its own, then an empty one"
    if not inspect.isclass(value):
        assert "\nReturns\n-------\n" in text or text.startswith("Returns")
        if inspect.signature(value).parameters:
            assert "\nParameters\n----------\n" in text
        described = {
            each.strip("* ")
            for line in re.findall(r"^([*\w, ]+)(?: : .*)?$", text, re.MULTILINE)
            for each in line.split(",")
        }
        for parameter in inspect.signature(value).parameters:
            assert parameter in described, parameter


# Expressions.

ROW = re.compile(r"^\| `([^`]+)` \| (.*) \|$", re.MULTILINE)


def rows(heading):
    """The first column of the table below a heading, without the examples."""
    section = EXPRESSIONS.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [match[1] for match in ROW.finditer(section)]


def names(heading):
    return [re.match(r"\w+", text)[0] for text in rows(heading)]


def test_every_function_is_listed():
    # Text cannot be cast to.
    known = set(_unishape._expression_names()) - {"string"}
    listed = {name for heading in ("Element-wise functions", "Reductions", "Normalizations", "Views", "Casts") for name in names(heading)}
    listed |= {
        alias
        for match in re.finditer(r"also `([^`]+)`", EXPRESSIONS.read_text())
        for alias in [match[1]]
    }
    assert listed == known, (sorted(listed - known), sorted(known - listed))


EXAMPLE = re.compile(r"`([^`]+)` → `([^`]+)`")


def test_examples():
    """Each `expression` → `result` of the page, with the variables that it defines at its start."""
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    variables = dict(x=x, v=np.array([0.5, -1.5, 2.5]), n=np.array([7, -7, 3]), b=np.array([True, False, True]), z=np.array([3 + 4j]))
    examples = EXAMPLE.findall(EXPRESSIONS.read_text())
    assert len(examples) > 100
    for text, expected in examples:
        result = unishape.evaluate(text.replace("\\|", "|"), variables | {"pi": np.pi, "e": np.e})
        shown = result if result.dtype == bool else np.round(result, 4)
        assert str(shown.tolist()) == expected, text


def test_constants():
    assert set(names("Constants")) == {name for name in ("pi", "e", "inf", "nan", "True", "False", "true", "false")}
    for name in names("Constants"):
        assert _unishape._constant(name) is not None
