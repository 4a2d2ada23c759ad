"""Executes the cells of pages in docs and compares their output and diagrams.

A cell is a block of Python, followed by a block with its printed output and the repr of its last expression, or by an
SVG file. UNISHAPE_DRAW=1 updates the page.
"""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [
    "index.md",
    "python.md",
    "differences-from-numpy.md",
    "gallery.md",
    "from-numpy.md",
    "from-numexpr.md",
    "from-pytorch.md",
    "from-onnx.md",
]
CELL = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?(?:\n!\[(?P<label>[^]]*)\]\((?P<file>[^)]*)\)\n)?",
    re.DOTALL,
)


def run(code, names):
    """Printed output and SVG of a cell."""
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, svg = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(ast.Module(body, []), "cell", "exec"), names)
            shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
            if hasattr(shown, "_repr_svg_"):
                svg = shown._repr_svg_()
            elif shown is not None:
                print(repr(shown))
        except Exception as error:
            print("\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])]))
    return printed.getvalue(), svg


@pytest.mark.parametrize("name", PAGES)
def test_page_matches_output(name, tmp_path, monkeypatch):
    path_of_page = DOCS / name
    monkeypatch.setenv("COLUMNS", "80")
    page, names, files = path_of_page.read_text(), {"__name__": "page"}, {}
    monkeypatch.chdir(tmp_path)

    def updated(cell):
        text, svg = run(cell["code"], names)
        result = f"```python\n{cell['code']}```\n"
        if text:
            result += f"\n```text\n{text}```\n"
        if svg:
            label, path = cell["label"] or "diagram", cell["file"] or f"pictures/python-{len(files) + 1}.svg"
            files[path] = svg
            result += f"\n![{label}]({path})\n"
        return result

    result = CELL.sub(updated, page)
    if os.environ.get("UNISHAPE_DRAW"):
        path_of_page.write_text(result)
        for path, svg in files.items():
            (DOCS / path).parent.mkdir(exist_ok=True)
            (DOCS / path).write_text(svg)
    assert result == path_of_page.read_text()
    assert files or name != "python.md", "the page has a diagram"
    for path, svg in files.items():
        assert (DOCS / path).read_text() == svg, path


# The page of the guard is not among PAGES: its cell prints warnings, with lines of the file that it is in.
def test_guard_page_matches_output(tmp_path):
    code, text = (CELL.search((DOCS / "guard.md").read_text())[part] for part in ("code", "text"))
    (tmp_path / "train.py").write_text(code)
    output = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    expected, rest = text.split(" …")
    assert output.stderr.replace(f"{tmp_path.resolve()}{os.sep}", "").startswith(expected) and rest == "\n"


def test_readme_runs():
    code = re.search(r"```python\n(.*?)```", (DOCS.parent / "README.md").read_text(), re.DOTALL)[1]
    names = {"__name__": "readme"}
    # Shorter arrays than the 80 MB of the page.
    exec(code.replace("20000", "20"), names)
    assert names["x"].shape == (20, 1024)
