"""The report of a guard as an HTML page, with the diagrams of `unishape.explain`."""

import base64
from html import escape

from .. import _unishape
from .sites import summary_of

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1f2328;
  background: #fff }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin: 0 0 .3rem }
article { border: 1px solid #d1d9e0; border-left: 4px solid #b3261e; border-radius: 6px; padding: 1rem; margin: 1rem 0 }
code, pre { font: 13px/1.4 ui-monospace, Menlo, Consolas, monospace } pre { overflow-x: auto }
img { max-width: 100%; height: auto } .where { color: #59636e }
table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: .25rem .6rem .25rem 0;
  border-bottom: 1px solid #d1d9e0; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0f1318 } article, th, td { border-color: #333b45 } .where { color: #9aa4af }
}
"""


def page(sites):
    """The page: suspicious sites with diagrams, then a table of all others."""
    suspicious = [each for each in sites if each.suspicious]
    others = [each for each in sites if not each.suspicious]
    summary = summary_of(sites)
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">',
        f"<title>Broadcast guard: {summary}</title><style>{_STYLE}</style></head><body>",
        f"<h1>Broadcast guard: {summary}</h1>",
        *map(_article, suspicious),
    ]
    if others:
        parts.append(
            "<details><summary>Other broadcasts</summary><table><thead><tr><th>place<th>expression<th>shapes<th>kind"
            "<th>times</tr></thead><tbody>"
        )
        parts += map(_row, others)
        parts.append("</tbody></table></details>")
    return "\n".join([*parts, "</body></html>\n"])


def _article(site):
    shapes = " with ".join(str(each) for each in site.shapes)
    svg = base64.b64encode(_unishape.explain(*site.shapes).svg().encode()).decode()
    times = "once" if site.count == 1 else f"{site.count} times"
    return (
        f"<article><h2><code>{escape(site.expression or site.operation)}</code></h2>"
        f'<p class="where">{escape(site.file)}:{site.line}, in {escape(site.function)}, {times}</p>'
        f"<p>{escape(shapes)} gives {escape(str(site.result))}. {escape(site.reason)}</p>"
        f"<pre>{escape(site.diagram())}</pre>"
        f'<details><summary>Diagram</summary><img alt="{escape(shapes)} gives {escape(str(site.result))}"'
        f' src="data:image/svg+xml;base64,{svg}"></details></article>'
    )


def _row(site):
    shapes = " with ".join(str(each) for each in site.shapes)
    kind = f"{site.kind}; {site.allowed_by}" if site.allowed_by else site.kind
    return (
        f"<tr><td>{escape(site.file)}:{site.line}<td><code>{escape(site.expression or site.operation)}</code>"
        f"<td>{escape(shapes)}<td>{escape(kind)}<td>{site.count}</tr>"
    )
