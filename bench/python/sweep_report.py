"""Ratios, targets and tables of the sweep as Markdown. Needs no library but Python's own."""

import statistics

import cpu_model
import report

#: Target: the largest ratio to the fastest other library, and to NumPy, that counts as no slower.
MOST = 1.0 + report.EQUAL
#: Target: the largest geometric mean of the ratios to the fastest other library.
MEAN = 0.6
#: The number of misses to name in the report of a target.
NAMED = 3
#: The contestants whose first calls after a pause are listed: those of every workload and output.
FIRST_CALLERS = ("evaluate", "NumPy", "numexpr", "PyTorch")


def relative(cell):
    """unishape's median relative to that of the fastest other library, and the name of that library."""
    times = cell["times"]
    fastest = min(report.others([cell]), key=lambda name: times[name]["median"])
    return report.best(times)["median"] / times[fastest]["median"], fastest


def relative_to_numpy(cell):
    return report.best(cell["times"])["median"] / cell["times"]["NumPy"]["median"]


def names(results):
    return list(dict.fromkeys(cell["name"] for cell in results["cells"]))


def sizes(results):
    return sorted({cell["elements"] for cell in results["cells"]})


def count(elements):
    """A number of elements, as in `300k`."""
    for unit, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if elements >= unit:
            return f"{elements / unit:g}{letter}"
    return str(elements)


def title(results):
    return cpu_model.title(results["model"], results["cores"])


def target(what, cells, ratio, words):
    """A target that each cell's ratio is at most `MOST`; names the worst misses."""
    missed = sorted((cell for cell in cells if ratio(cell) > MOST), key=ratio, reverse=True)
    line = f"- **{'Not met' if missed else 'Met'}**: {what}, in {len(cells) - len(missed)} of {len(cells)} cells."
    if missed:
        line += f" Largest ratios: {'; '.join(map(words, missed[:NAMED]))}."
    return line


def targets(results):
    where = lambda cell: f"{cell['name']}, {count(cell['elements'])}, {cell['output']}"
    mean = report.geometric_mean([relative(cell)[0] for cell in results["cells"]])
    return [
        target(
            f"no slower than the fastest other library (at most {MOST:.2f} times its time)",
            results["cells"],
            lambda cell: relative(cell)[0],
            lambda cell: "{} {:.2f} ({})".format(where(cell), *relative(cell)),
        ),
        target(
            "never slower than NumPy, which uses one thread",
            results["cells"],
            relative_to_numpy,
            lambda cell: f"{where(cell)} {relative_to_numpy(cell):.2f}",
        ),
        f"- **{'Met' if mean <= MEAN else 'Not met'}**: geometric mean at most {MEAN}; it is {mean:.2f}.",
    ]


def ratio_table(results, output):
    """The numbers of one panel of the heat map."""
    cells = {(cell["name"], cell["elements"]): cell for cell in results["cells"] if cell["output"] == output}
    show = lambda cell: "–" if cell is None else f"{relative(cell)[0]:.2f}"
    rows = [[name, *(show(cells.get((name, size))) for size in sizes(results))] for name in names(results)]
    return report.grid([output, *map(count, sizes(results))], rows)


def callers_table(lines):
    """Calls per second of all threads together."""
    contestants = list(lines[0]["rates"])
    rows = []
    for line in lines:
        rates = [f"{line['rates'][name]['median']:,.0f}" for name in contestants]
        widest = max(report.spread(line["rates"][name]) for name in contestants)
        rows.append([line["name"], str(line["threads"]), *rates, report.percent(widest)])
    return report.grid(["", "threads", *contestants, "largest spread"], rows)


def first_calls_table(results):
    """First calls after a pause, by number of elements: the median over workloads, of both kinds of outputs.

    None for results that predate them, and where no workload has all contestants.
    """
    cells = [cell for cell in results["cells"] if all("first" in time for time in cell["times"].values())]
    contestants = [name for name in FIRST_CALLERS if cells and all(name in cell["times"] for cell in cells)]
    if not contestants:
        return None
    rows = []
    for size in sizes({"cells": cells}):
        times = [cell["times"] for cell in cells if cell["elements"] == size]
        medians = [statistics.median(each[name]["first"] for each in times) for name in contestants]
        rows.append([count(size), *map(report.duration, medians)])
    return report.grid(["elements", *contestants], rows)


def machine(results):
    load = ", ".join(f"{each:.2f}" for each in results["load"])
    return (
        f"- {results['versions']}; unishape at {results['commit']}\n"
        f"- {results['date']}; load average before the run {load}; {results['minutes']} minutes"
    )


def markdown(results, picture):
    """The part of docs/benchmarks.md for one CPU model."""
    parts = [f"### {title(results)}", machine(results)]
    parts += ["Targets, over the cells of the heat map:", "\n".join(map(report.wrapped, targets(results)))]
    parts.append(f"![Heat map: time relative to the fastest library]({picture})")
    if first_calls := first_calls_table(results):
        parts += ["First calls after a pause: the median over all workloads.", first_calls]
    if results["callers"]:
        parts += ["Concurrent callers: calls per second of all threads together.", callers_table(results["callers"])]
    return "\n\n".join(parts)


def text(results):
    """All tables, for the terminal."""
    parts = [title(results), machine(results)]
    if results["cells"]:
        parts += ["\n".join(map(report.wrapped, targets(results)))]
        parts += [ratio_table(results, output) for output in dict.fromkeys(cell["output"] for cell in results["cells"])]
    if results["callers"]:
        parts.append(callers_table(results["callers"]))
    return "\n\n".join(parts)
