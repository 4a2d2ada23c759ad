"""A grouped bar chart as SVG: times relative to unishape. Needs no library but Python's own."""

from html import escape

import report

#: Workloads to draw, most wanted first, with a title; the chart has the first six that were measured.
GROUPS = {
    "row": "Matrix + row",
    "outer product": "Outer product",
    "normalise": "Normalise",
    "softmax": "Softmax, element-wise",
    "12 operators": "12 operators",
    "uint8 images": "uint8 images to float32",
    "exp": "Exponential",
    "where": "Select",
}
MOST_GROUPS = 6
#: Contestants to draw, with colours that differ in lightness too.
COLOURS = {
    "unishape": "#d9480f",
    "NumPy": "#4c78a8",
    "numexpr": "#59a14f",
    "JAX": "#b07aa1",
    "torch.compile": "#8c8c8c",
}
#: Longer bars are cut off, with a mark.
LONGEST = 6.0

WIDTH, LEFT, RIGHT = 860, 330, 70
BAR, GAP, TOP, BOTTOM = 17, 20, 84, 86

STYLE = """\
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #1f2328 }
.paper { fill: #ffffff }
.title { font-size: 19px; font-weight: 600 }
.soft { fill: #59636e; font-size: 12px }
.group { font-weight: 600 }
.code { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #59636e }
.right { text-anchor: end; font-size: 12px }
.centre { text-anchor: middle }
.own { font-weight: 700 }
.line { stroke: #d1d9e0 }
.one { stroke: #59636e; stroke-dasharray: 3 3 }
.spread { stroke: #1f2328; stroke-width: 1.5 }
.cut { stroke: #ffffff; stroke-width: 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .paper { fill: #0f1318 }
  .soft, .code { fill: #9aa4af }
  .line { stroke: #2f3741 }
  .one { stroke: #9aa4af }
  .spread { stroke: #e6edf3 }
  .cut { stroke: #0f1318 }
}
"""


def groups(results):
    """Title, expression and bars of each group; a bar is a name, a ratio and its quartiles, which may be None."""
    lines = {line["name"]: line for line in results["fresh"]}
    found = []
    for name in [name for name in GROUPS if name in lines][:MOST_GROUPS]:
        times = lines[name]["times"]
        own = report.best(times)
        shown = {"unishape": own, **{other: times[other] for other in COLOURS if other in times}}
        quartile = lambda each, which: None if each.get(which) is None else each[which] / own["median"]
        bars = [
            (other, each["median"] / own["median"], quartile(each, "lower"), quartile(each, "upper"))
            for other, each in shown.items()
        ]
        found.append((GROUPS[name], lines[name]["text"], lines[name].get("shapes", ""), bars))
    return found


def shortened(text, most=34):
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def svg(results):
    """The chart of a results file."""
    drawn = groups(results)
    longest = min(LONGEST, max((bar[1] for group in drawn for bar in group[3]), default=1.0) * 1.02)
    scale = (WIDTH - LEFT - RIGHT) / longest
    x = lambda value: LEFT + scale * min(value, longest)
    height = TOP + BOTTOM + sum(BAR * len(group[3]) + GAP for group in drawn)
    parts = []

    def text(at_x, at_y, words, kind=""):
        parts.append(f'<text x="{at_x:.1f}" y="{at_y:.1f}" class="{kind}">{escape(str(words))}</text>')

    def line(x1, y1, x2, y2, kind):
        parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>')

    text(20, 32, "Element-wise expressions in Python: time relative to unishape", "title")
    note = "Freshly allocated output, all cores (NumPy: one), median of the rounds"
    if any(bar[2] is not None for group in drawn for bar in group[3]):
        note += "; the thin line is the interquartile range"
    text(20, 53, note + ".", "soft")
    bottom = height - BOTTOM + 4
    for tick in range(int(longest) + 1):
        line(x(tick), TOP - 10, x(tick), bottom, "one" if tick == 1 else "line")
        text(x(tick), bottom + 16, tick, "soft centre")
    text(x(longest / 2), bottom + 36, "time relative to unishape (lower is better)", "soft centre")
    y = TOP
    for title, expression, shapes, bars in drawn:
        middle = y + BAR * len(bars) / 2
        text(20, middle - 8, title, "group")
        text(20, middle + 8, shortened(expression), "code")
        text(20, middle + 23, shortened(shapes), "code")
        for name, value, lower, upper in bars:
            own = " own" if name == "unishape" else ""
            text(LEFT - 8, y + 12.5, name, "right" + own)
            parts.append(
                f'<rect x="{LEFT}" y="{y + 1.5:.1f}" width="{max(x(value) - LEFT, 1):.1f}" height="{BAR - 3}" rx="2" '
                f'fill="{COLOURS[name]}"><title>{escape(f"{title}, {name}: {value:.2f}")}</title></rect>'
            )
            end = x(value)
            if value > longest:
                line(end - 16, y + BAR, end - 8, y, "cut")
                line(end - 10, y + BAR, end - 2, y, "cut")
            elif lower is not None and upper is not None:
                line(x(lower), y + BAR / 2, x(upper), y + BAR / 2, "spread")
                end = max(end, x(upper))
            words = f"{value:.2f}"
            # The background keeps grid lines out of the number.
            parts.append(f'<rect x="{end + 3:.1f}" y="{y + 1:.1f}" width="{6 + 7 * len(words)}" height="{BAR - 2}" class="paper"/>')
            text(end + 6, y + 12.5, words, "soft" + own)
            y += BAR
        y += GAP
    versions = f"{results['cpu']}, {results['cores']} cores, {results['date']}. {results['versions']}."
    text(20, height - 14, versions, "soft")
    words = ". ".join(f"{title}: " + ", ".join(f"{name} {value:.2f}" for name, value, *_ in bars) for title, *_, bars in drawn)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'role="img" aria-labelledby="title desc">\n'
        '<title id="title">Time of element-wise expressions relative to unishape</title>\n'
        f'<desc id="desc">{escape(words)}.</desc>\n'
        f'<style>\n{STYLE}</style>\n<rect class="paper" width="{WIDTH}" height="{height}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )
