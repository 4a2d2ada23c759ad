"""A heat map as SVG: unishape's time relative to the fastest other library. Needs no library but Python's own."""

from html import escape

import report
import sweep_report

#: Colours of the cells, from faster to slower: largest ratio, legend, then fill and text in light and in dark mode.
#: The limits are about equal steps of the ratio's logarithm; ratios that count as equal have no colour.
EQUAL = (1 / sweep_report.MOST, sweep_report.MOST)
COLOURS = [
    (0.25, "≤ 0.25", "#1f5a9e", "#ffffff", "#7dbcf5", "#0b1520"),
    (0.5, "≤ 0.5", "#5ba3cf", "#0b1520", "#3579b8", "#ffffff"),
    (0.71, "≤ 0.71", "#9bcae1", "#0b1520", "#245a8d", "#ffffff"),
    (EQUAL[0], "< 0.97", "#d3e6f1", "#0b1520", "#1d3d5c", "#e6edf3"),
    (EQUAL[1], "equal", "#f1f1f1", "#1f2328", "#2d333b", "#e6edf3"),
    (1.41, "> 1.03", "#fde0cf", "#2a0d06", "#59321f", "#f7e5dc"),
    (2.0, "> 1.41", "#f6b08d", "#2a0d06", "#8a4126", "#ffffff"),
    (4.0, "> 2", "#cb4b3a", "#ffffff", "#c9563c", "#ffffff"),
    (float("inf"), "> 4", "#8c1127", "#ffffff", "#ffa08c", "#2a0d06"),
]
#: Names that do not fit a cell.
SHORT = {"torch.compile": "compile"}
OUTPUTS = {"fresh": "Freshly allocated output", "preallocated": "Preallocated output"}

LEFT, RIGHT, TOP, BOTTOM = 134, 20, 126, 44
CELL_WIDTH, CELL_HEIGHT, PANEL_GAP, HEAD = 56, 32, 34, 46

STYLE = (
    """\
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328 }
.paper { fill: #ffffff }
.title { font-size: 18px; font-weight: 600 }
.panel { font-size: 14px; font-weight: 600 }
.soft { fill: #59636e }
.right { text-anchor: end }
.centre, .cell text { text-anchor: middle }
.cell text { font-weight: 600; font-variant-numeric: tabular-nums }
.cell .rival { font-size: 9px; font-weight: 400 }
"""
    + "".join(f".c{at} rect {{ fill: {fill} }} .c{at} text {{ fill: {text} }}\n" for at, (_, _, fill, text, _, _) in enumerate(COLOURS))
    + """\
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .paper { fill: #0f1318 }
  .soft { fill: #9aa4af }
"""
    + "".join(f"  .c{at} rect {{ fill: {fill} }} .c{at} text {{ fill: {text} }}\n" for at, (*_, fill, text) in enumerate(COLOURS))
    + "}\n"
)


def colour(ratio):
    """The index of a ratio's colour."""
    return next(at for at, (most, *_) in enumerate(COLOURS) if ratio <= most)


def number(ratio):
    """A ratio in at most four characters."""
    return f"{ratio:.2f}" if ratio < 9.995 else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"


def svg(results):
    """The heat map of a results file: a panel for each kind of output, workloads by numbers of elements."""
    cells = {(cell["output"], cell["name"], cell["elements"]): cell for cell in results["cells"]}
    names, sizes = sweep_report.names(results), sweep_report.sizes(results)
    width = max(LEFT + CELL_WIDTH * len(sizes) + RIGHT, 720)
    panel = HEAD + CELL_HEIGHT * (len(names) + 1) + 6
    outputs = [output for output in OUTPUTS if any(cell["output"] == output for cell in results["cells"])]
    height = TOP + len(outputs) * (panel + PANEL_GAP) - PANEL_GAP + BOTTOM
    parts = []

    def text(x, y, words, kind=""):
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(str(words))}</text>')

    def box(x, y, ratio, rival, words):
        parts.append(
            f'<g class="cell c{colour(ratio)}"><title>{escape(words)}</title>'
            f'<rect x="{x + 1:.1f}" y="{y + 1:.1f}" width="{CELL_WIDTH - 2}" height="{CELL_HEIGHT - 2}" rx="3"/>'
            f'<text x="{x + CELL_WIDTH / 2:.1f}" y="{y + (15 if rival else 20):.1f}">{number(ratio)}</text>'
            + (f'<text x="{x + CELL_WIDTH / 2:.1f}" y="{y + 26:.1f}" class="rival">{escape(rival)}</text>' if rival else "")
            + "</g>"
        )

    heading = "Time of unishape relative to the fastest other library"
    text(20, 32, heading, "title")
    text(20, 53, f"{sweep_report.title(results)}. float32; lower is better.", "soft")
    for at, (_, words, *_) in enumerate(COLOURS):
        x = 20 + 74 * at
        parts.append(f'<g class="c{at}"><rect x="{x}" y="68" width="70" height="22" rx="3"/></g>')
        parts.append(f'<g class="cell c{at}"><text x="{x + 35}" y="83">{escape(words)}</text></g>')
    text(20, 107, "Below each ratio: the fastest other library (compile: torch.compile).", "soft")
    y = TOP
    for output in outputs:
        text(20, y + 18, OUTPUTS[output], "panel")
        text(LEFT - 10, y + HEAD - 8, "elements", "soft right")
        for column, elements in enumerate(sizes):
            text(LEFT + CELL_WIDTH * (column + 0.5), y + HEAD - 8, sweep_report.count(elements), "soft centre")
        y += HEAD
        for name in names:
            text(LEFT - 10, y + 20, name, "right")
            for column, elements in enumerate(sizes):
                if cell := cells.get((output, name, elements)):
                    ratio, rival = sweep_report.relative(cell)
                    own, other = report.best(cell["times"])["median"], cell["times"][rival]["median"]
                    words = f"{name}, {cell['shapes']}: {report.duration(own)}, {rival} {report.duration(other)}"
                    box(LEFT + CELL_WIDTH * column, y, ratio, SHORT.get(rival, rival), words)
            y += CELL_HEIGHT
        y += 6
        text(LEFT - 10, y + 20, "geometric mean", "right soft")
        for column, elements in enumerate(sizes):
            found = [sweep_report.relative(cell)[0] for key, cell in cells.items() if key[0] == output and key[2] == elements]
            if found:
                box(LEFT + CELL_WIDTH * column, y, report.geometric_mean(found), "", f"{sweep_report.count(elements)} elements")
        y += CELL_HEIGHT + PANEL_GAP
    text(20, height - 16, f"{results['versions']}. {results['date']}.", "soft")
    mean = report.geometric_mean([sweep_report.relative(cell)[0] for cell in results["cells"]])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        'role="img" aria-labelledby="title desc">\n'
        f'<title id="title">{heading}, by workload and number of elements</title>\n'
        f'<desc id="desc">{escape(sweep_report.title(results))}: geometric mean {mean:.2f}.</desc>\n'
        f'<style>\n{STYLE}</style>\n<rect class="paper" width="{width}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
