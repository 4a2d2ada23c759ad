"""Tables and targets as Markdown, from a results file. Needs no library but Python's own."""

import math
import textwrap

#: The two ways to call unishape; tables show the faster one.
UNISHAPE = ("evaluate", "function")
#: Medians closer than this count as equal.
EQUAL = 0.03
# Largest number of misses that a target names.
NAMED = 4


def duration(seconds):
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs" if seconds >= 1e-4 else f"{seconds * 1e6:.2f} µs"


def best(times):
    """The summary of the faster of unishape's two calls."""
    return min((times[name] for name in UNISHAPE if name in times), key=lambda each: each["median"])


def median(times, name):
    return times[name]["median"]


def ratio(times, name):
    """A contestant's median time relative to unishape's."""
    return median(times, name) / best(times)["median"]


def spread(summary):
    """The interquartile range relative to the median; None where the results file has no quartiles."""
    if summary.get("lower") is None:
        return None
    return (summary["upper"] - summary["lower"]) / summary["median"]


def percent(part):
    return "–" if part is None else f"{100 * part:.0f} %"


def others(lines):
    """The other contestants of these lines, in the order in which they were measured."""
    return [name for name in dict.fromkeys(name for line in lines for name in line["times"]) if name not in UNISHAPE]


def grid(head, rows):
    """A Markdown table whose columns are right-aligned but for the first."""
    cells = lambda row: "| " + " | ".join(row) + " |"
    return "\n".join([cells(head), "|---|" + "---:|" * (len(head) - 1), *map(cells, rows)])


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio_table(lines):
    """unishape's time and the ratios of the others, with their spread; a last row has the means."""
    names = others(lines)
    rows = []
    for line in lines:
        times = line["times"]
        spreads = [spread(times[name]) for name in names if name in times]
        known = [each for each in spreads if each is not None]
        ratios = [f"{ratio(times, name):.2f}" if name in times else "–" for name in names]
        own = best(times)
        widest = percent(max(known) if known else None)
        rows.append([line["name"], duration(own["median"]), percent(spread(own)), *ratios, widest])
    means = [geometric_mean([ratio(line["times"], name) for line in lines if name in line["times"]]) for name in names]
    rows.append(["**geometric mean**", "", "", *(f"**{each:.2f}**" for each in means), ""])
    return grid(["", "unishape", "spread", *names, "largest spread of the others"], rows)


def workload_table(lines):
    return grid(["", "expression", "shapes"], [[line["name"], f"`{line['text']}`", f"`{line['shapes']}`"] for line in lines])


def small_table(lines):
    names = list(dict.fromkeys(name for line in lines for name in line["times"]))
    rows = []
    for line in lines:
        cells = []
        for name in names:
            one = line["times"].get(name)
            around = f" ± {percent(spread(one) / 2)}" if one and spread(one) is not None else ""
            cells.append(duration(one["median"]) + around if one else "–")
        rows.append([line["name"], *cells])
    return grid(["", *names], rows)


def target(what, missed, count):
    """A target as a list item. `missed`: how far each miss is off, and its text; the largest ones are named."""
    if not missed:
        return f"- **Met**: {what}, in {count} of {count}."
    named = [text for _, text in sorted(missed, key=lambda miss: -miss[0])[:NAMED]]
    more = [f"{len(missed) - NAMED} more in the tables"] if len(missed) > NAMED else []
    return f"- **Not met**: {what}, in {count - len(missed)} of {count}. Missed by: {', '.join(named + more)}."


def targets(results):
    lines = []
    for title, kind in (("freshly allocated output", "fresh"), ("preallocated output", "preallocated")):
        missed = []
        for line in results[kind]:
            times = line["times"]
            rest = [name for name in times if name not in UNISHAPE]
            fastest = min(rest, key=lambda name: median(times, name))
            if ratio(times, fastest) < 1 - EQUAL:
                missed.append((-ratio(times, fastest), f"{line['name']} ({fastest}) {ratio(times, fastest):.2f}"))
        what = f"{title}: no slower than the fastest other library (a difference up to {percent(EQUAL)} counts as equal)"
        lines.append(target(what, missed, len(results[kind])))
    chains = [line for line in results["fresh"] if line["fused"]]
    to_numpy = {line["name"]: ratio(line["times"], "NumPy") for line in chains}
    missed = [(-times, f"{name} {times:.2f}") for name, times in to_numpy.items() if times < 2]
    what = "freshly allocated output, more than one operator: at least twice as fast as NumPy"
    lines.append(target(what, missed, len(chains)))
    for what, own, other, most in (
        ("a function on small arrays: at most 1.5 times NumPy's time", "function", "NumPy", 1.5),
        ("`evaluate` on small arrays: no slower than numexpr's `re_evaluate`", "evaluate", "re_evaluate", 1.0),
    ):
        times = {line["name"]: median(line["times"], own) / median(line["times"], other) for line in results["small"]}
        missed = [(relative, f"{name} {relative:.2f}") for name, relative in times.items() if relative > most]
        lines.append(target(what, missed, len(results["small"])))
    return lines


def wrapped(line):
    """A list item in lines of at most 110 characters."""
    return textwrap.fill(line, 110, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def machine(results):
    load = ", ".join(f"{each:.2f}" for each in results["load"])
    return (
        f"- {results['cpu']}, {results['cores']} cores; {results['versions']}\n"
        f"- {results['date']}; load average before the run {load}"
    )


def markdown(results):
    """The whole section of docs/benchmarks.md."""
    parts = [machine(results)]
    if results["fresh"]:
        parts += ["### Targets", "\n".join(map(wrapped, targets(results)))]
        parts += [
            "### Freshly allocated output",
            "Median time of unishape: the faster of `evaluate` and, for one operator, its function. Then the ratio of each\n"
            "other library's median to it: above 1, the other library is slower. Spread: interquartile range of the\n"
            "rounds, relative to the median. A dash: not supported, or not recorded.",
            ratio_table(results["fresh"]),
            "### Preallocated output (`out=`)",
            "As above. JAX arrays are immutable.",
            ratio_table(results["preallocated"]),
        ]
    if results["small"]:
        parts += [
            "### Small arrays",
            "Time per call, ± half the interquartile range. `tiny` is `8x1x6x1` with `7x1x5`.",
            small_table(results["small"]),
        ]
    if results["fresh"]:
        parts += ["### Workloads", "float32 unless the name gives another dtype.", workload_table(results["fresh"])]
    return "\n\n".join(parts)
