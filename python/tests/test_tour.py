"""docs/python.md runs as it stands there: every cell, every answer, every picture.

A cell is a block of Python. What it prints, and what its last expression shows itself as, stands in the block of
text after it; a picture is a file beside the page. UNISHAPE_DRAW=1 writes what comes out into the page.
"""

import ast
import contextlib
import io
import os
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "python.md"
CELL = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n```text\n(?P<text>.*?)```\n)?(?:\n!\[(?P<label>[^]]*)\]\((?P<picture>[^)]*)\)\n)?",
    re.DOTALL,
)


def run(code, names):
    """What a cell prints or shows, and the picture it shows."""
    body = ast.parse(code).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed, picture = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile(ast.Module(body, []), "cell", "exec"), names)
            shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
            if hasattr(shown, "_repr_svg_"):
                picture = shown._repr_svg_()
            elif shown is not None:
                print(repr(shown))
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return printed.getvalue(), picture


def test_the_page_is_what_comes_out(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    page, names, drawn = PAGE.read_text(), {"__name__": "page"}, {}
    monkeypatch.chdir(tmp_path)

    def written(cell):
        text, picture = run(cell["code"], names)
        result = f"```python\n{cell['code']}```\n"
        if text:
            result += f"\n```text\n{text}```\n"
        if picture:
            label, path = cell["label"] or "picture", cell["picture"] or f"pictures/python-{len(drawn) + 1}.svg"
            drawn[path] = picture
            result += f"\n![{label}]({path})\n"
        return result

    result = CELL.sub(written, page)
    if os.environ.get("UNISHAPE_DRAW"):
        PAGE.write_text(result)
        for path, picture in drawn.items():
            (DOCS / path).parent.mkdir(exist_ok=True)
            (DOCS / path).write_text(picture)
    assert result == PAGE.read_text()
    assert drawn, "the page shows a picture"
    for path, picture in drawn.items():
        assert (DOCS / path).read_text() == picture, path
