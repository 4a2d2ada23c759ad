"""Ratios, targets and tables of the reductions as Markdown. Needs no library but Python's own."""

import report
import sweep_report

#: Target: the largest ratio to the fastest other library.
MOST = 1.05
#: Targets: the smallest ratio of NumPy's time to unishape's, for all workloads but those named.
FASTER = 4.0
FASTER_OF = {"softmax": 1.6, "layer norm": 3.0}
#: Target: the largest peak extra memory in bytes.
MEMORY = 64 * 10**6
#: Target: the longest first call in seconds.
FIRST_CALL = 5e-3
#: Marks of a contestant that was not measured: it needs too much memory.
OVER = "> 4 GB"


def others(cells):
    """The other contestants of these cells, in their order, with those that need too much memory."""
    names = report.others(cells)
    return names + [name for name in dict.fromkeys(name for cell in cells for name in cell["over"]) if name not in names]


def relative(cell):
    """unishape's median relative to that of the fastest other library with a right result, and its name.

    None where no other library was measured.
    """
    times = cell["times"]
    right = [name for name in report.others([cell]) if name not in cell["wrong"]]
    if not right:
        return None
    fastest = min(right, key=lambda name: report.median(times, name))
    return report.best(times)["median"] / report.median(times, fastest), fastest


def size(count):
    """A number of bytes, as in `432 MB`."""
    if count >= 999.5e6:
        return f"{count / 1e9:.1f} GB"
    return f"{count / 1e6:.0f} MB" if count >= 9.95e6 else f"{count / 1e6:.1f} MB"


def faster(name):
    """The least ratio of NumPy's time to unishape's that is the target of a workload."""
    return next((least for start, least in FASTER_OF.items() if name.startswith(start)), FASTER)


def line(cell):
    """A workload in one line, for the terminal."""
    times, found = cell["times"], relative(cell)
    rest = [f"{name} {report.ratio(times, name):.2f}" for name in report.others([cell])]
    rest += [f"{name} {OVER}" for name in cell["over"]]
    rest += [f"{name} is wrong by {cell['errors'][name]:.0e}" for name in cell["wrong"]]
    own = report.duration(report.best(times)["median"])
    return f"{cell['name']:32} {own:>10} {found[0] if found else 0:6.2f}  {', '.join(rest)}"


def time_table(cells):
    """unishape's time, its ratio to the fastest other library, and the ratios of the others to it."""
    names, rows = others(cells), []
    for cell in cells:
        times, found = cell["times"], relative(cell)
        row = [cell["name"], report.duration(report.best(times)["median"]), report.percent(report.spread(report.best(times)))]
        row.append(f"{found[0]:.2f} ({found[1]})" if found else "–")
        for name in names:
            ratio = f"{report.ratio(times, name):.2f}" if name in times else "–"
            ratio = OVER if name in cell["over"] else ratio
            row.append(ratio + (f", wrong by {cell['errors'][name]:.0e}" if name in cell["wrong"] else ""))
        rows.append(row)
    return report.grid(["", "unishape", "spread", "relative to the fastest", *names], rows)


def memory_table(cells):
    names, rows = ["evaluate", *others(cells)], []
    for cell in cells:
        shown = lambda name: OVER if name in cell["over"] else size(cell["memory"][name]) if name in cell["memory"] else "–"
        rows.append([cell["name"], *map(shown, names)])
    return report.grid(["", "unishape", *names[1:]], rows)


def workload_table(cells):
    """Expression and shapes of each workload."""
    escaped = lambda text: text.replace("|", "\\|")
    return report.grid(["", "expression", "shapes"], [[cell["name"], f"`{escaped(cell['text'])}`", f"`{cell['shapes']}`"] for cell in cells])


def target(what, cells, good, words, badness):
    """A target for each cell; names the largest misses."""
    missed = [(badness(cell), words(cell)) for cell in cells if not good(cell)]
    return report.target(what, missed, len(cells))


def targets(results):
    """The targets as list items; a target without figures is left out."""
    lines = []
    to_numpy = lambda cell: report.ratio(cell["times"], "NumPy")
    for title, small in (("large", False), ("small", True)):
        cells = [cell for cell in results["cells"] if cell["small"] == small and relative(cell)]
        if cells:
            what = f"{title}: no slower than the fastest other library (at most {MOST:.2f} times its time)"
            words = lambda cell: "{} {:.2f} ({})".format(cell["name"], *relative(cell))
            lines.append(target(what, cells, lambda cell: relative(cell)[0] <= MOST, words, lambda cell: relative(cell)[0]))
        cells = [cell for cell in cells if "NumPy" in cell["times"]]
        if cells:
            rest = ", ".join(f"{name} {least:g} times" for name, least in FASTER_OF.items())
            what = f"{title}: at least {FASTER:g} times as fast as NumPy ({rest})"
            words = lambda cell: f"{cell['name']} {to_numpy(cell):.2f}"
            lines.append(target(what, cells, lambda cell: to_numpy(cell) >= faster(cell["name"]), words, lambda cell: -to_numpy(cell)))
    cells = [cell for cell in results["cells"] if "evaluate" in cell["memory"]]
    if cells:
        own = lambda cell: cell["memory"]["evaluate"]
        words = lambda cell: f"{cell['name']} {size(own(cell))}"
        what = f"peak extra memory below {size(MEMORY)}"
        lines.append(target(what, cells, lambda cell: own(cell) < MEMORY, words, own))
    cells = [cell for cell in results["cells"] if "first_call" in cell]
    if cells:
        longest = max(cell["first_call"] for cell in cells)
        words = lambda cell: f"{cell['name']} {report.duration(cell['first_call'])}"
        what = f"first call below {report.duration(FIRST_CALL)} (the longest takes {report.duration(longest)})"
        lines.append(target(what, cells, lambda cell: cell["first_call"] < FIRST_CALL, words, lambda cell: cell["first_call"]))
    wrong = [f"{cell['name']} {cell['errors']['evaluate']:.0e}" for cell in results["cells"] if "evaluate" in cell["wrong"]]
    if wrong:
        lines.append(f"- **Wrong results of unishape**: {', '.join(wrong)}.")
    return lines


def first_call_table(cells):
    return report.grid(["", "first call"], [[cell["name"], report.duration(cell["first_call"])] for cell in cells])


def markdown(results):
    """The part of docs/benchmarks.md for one CPU model."""
    parts = [f"### Reductions on {sweep_report.title(results)}", sweep_report.machine(results)]
    parts.append("\n".join(map(report.wrapped, targets(results))))
    large = [cell for cell in results["cells"] if not cell["small"]]
    small = [cell for cell in results["cells"] if cell["small"]]
    if large:
        parts += ["Large arrays: time.", time_table(large)]
        parts += ["Large arrays: peak extra memory, without the result.", memory_table(large)]
    if small:
        parts += ["A few thousand elements: time.", time_table(small)]
        parts += ["First call in a process: parse, lower and run.", first_call_table(small)]
    parts += ["Workloads.", workload_table(results["cells"])]
    return "\n\n".join(parts)
