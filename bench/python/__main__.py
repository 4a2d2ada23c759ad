"""unishape beside NumPy, numexpr, JAX and, if asked for, PyTorch, in one process: `cargo xtask bench python`.

Everybody does the same work on the same numbers. Results are compared before anything is timed; then all take
turns, another one first in each round, and a figure is the median of the rounds.
"""

import argparse
import datetime
import os
import platform
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import rivals  # noqa: E402
import turns  # noqa: E402
from workloads import LARGE, TEN, TINY  # noqa: E402

def same(result, expected, name):
    result, expected = np.asarray(result), np.asarray(expected)
    tolerance = 1e-2 if expected.dtype == np.float16 else 1e-5
    if result.shape != expected.shape or not np.allclose(result, expected, rtol=tolerance, atol=tolerance):
        sys.exit(f"{name} gives another result than NumPy")


def measure(workload, scale, into, ways, patience):
    arrays = workload.arrays(scale)
    expected = rivals.by_numpy(workload, arrays, None)()
    works = {}
    for name, way in ways.items():
        out = np.empty_like(expected, order="C") if into else None
        work = way(workload, arrays, out)
        if work is not None:
            result = work()
            same(out if into else result, expected, f"{workload.name}: {name}")
            works[name] = work
    return turns.medians(works, *patience)


def duration(seconds):
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-4 else f"{seconds * 1e6:.2f} µs"


def table(title, text, lines, names):
    rows = [f"### {title}", "", text, "", "|  | " + " | ".join(["ours", *names]) + " |"]
    rows.append("|---|" + "---:|" * (1 + len(names)))
    for workload, times in lines:
        own = best(times)
        others = [f"{times[name] / own:.2f}" if name in times else "–" for name in names]
        rows.append(f"| {workload.name} | " + " | ".join([duration(own), *others]) + " |")
    return "\n".join(rows)


def best(times):
    return min(times[name] for name in rivals.OURS if name in times)


def fastest(times):
    others = {name: each for name, each in times.items() if name not in rivals.OURS}
    return min(others, key=others.get)


def verdict(what, missed, count):
    if not missed:
        return f"- **Met**: {what}, in {count} of {count}."
    return f"- **Not met**: {what}, in {count - len(missed)} of {count}. Missed by: {', '.join(missed)}."


def verdicts(fresh, into, tiny):
    lines = []
    for title, measured in (("a fresh output", fresh), ("into an output that is there", into)):
        missed = []
        for workload, times in measured:
            rival = fastest(times)
            if times[rival] < 0.97 * best(times):
                missed.append(f"{workload.name} ({rival}) {times[rival] / best(times):.2f}")
        lines.append(verdict(f"{title}: no slower than the fastest rival (up to 3 % is no difference)", missed, len(measured)))
    chains = [(workload, times) for workload, times in fresh if workload.fused]
    missed = [
        f"{workload.name} {times['NumPy'] / best(times):.2f}"
        for workload, times in chains
        if times["NumPy"] < 2 * best(times)
    ]
    lines.append(verdict("more than one operator, a fresh output: twice as fast as NumPy", missed, len(chains)))
    for what, own, rival, most in (
        ("a function on tiny arrays: at most 1.5 times NumPy's", "function", "NumPy", 1.5),
        ("`evaluate` on tiny arrays: no slower than numexpr's `re_evaluate`", "evaluate", "re_evaluate", 1.0),
    ):
        missed = [
            f"{workload.name} {times[own] / times[rival]:.2f}" for workload, times in tiny if times[own] > most * times[rival]
        ]
        lines.append(verdict(what, missed, len(tiny)))
    return "\n".join(["### What is reached", "", *lines])


def tiny_table(lines):
    names = list(dict.fromkeys(name for _, times in lines for name in times))
    rows = ["### Tiny arrays", "", "The cost of a call.", "", "|  | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for workload, times in lines:
        rows.append(f"| {workload.name} | " + " | ".join(duration(times[name]) for name in names) + " |")
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench python", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", help="only workloads with this in their name")
    parser.add_argument("--quick", action="store_true", help="small arrays and few rounds, to see that it runs")
    parser.add_argument("--torch", action="store_true", help="beside PyTorch too")
    parser.add_argument("--no-write", action="store_true", help="docs/benchmarks.md stays as it is")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    ways = {**rivals.OURS, **rivals.RIVALS, **(rivals.TORCH if options.torch else {})}
    names = [name for name in ways if name not in rivals.OURS]
    scale, patience = (20, (0.05, 3)) if options.quick else (1, (3.0, 7))
    chosen = lambda workload: not options.name or any(name in workload.name for name in options.name)
    load = os.getloadavg()
    fresh, into = [], []
    for workload in filter(chosen, LARGE):
        for measured, given in ((fresh, False), (into, True)):
            times = measure(workload, scale, given, ways, patience)
            measured.append((workload, times))
            others = ", ".join(f"{name} {times[name] / best(times):.2f}" for name in names if name in times)
            print(f"{workload.name:20} {'out=' if given else 'fresh'} {duration(best(times)):>10}  {others}", flush=True)
    tiny_ways = {**rivals.OURS, "NumPy": rivals.by_numpy, "re_evaluate": rivals.by_numexpr_again, "JAX": rivals.by_jax}
    tiny = []
    for workload in filter(chosen, (TINY, TEN)):
        ways_here = dict(tiny_ways)
        # The ufunc itself, without a function of ours around it.
        ways_here["NumPy"] = lambda workload, arrays, out: (lambda a=arrays["a"], b=arrays["b"]: np.add(a, b))
        tiny.append((workload, measure(workload, scale, False, ways_here, patience)))
    if not (fresh or tiny):
        sys.exit("nothing has such a name; these are there:\n" + "\n".join(w.name for w in [*LARGE, TINY, TEN]))
    explained = "Times of the faster of `evaluate` and, for one operator, its function; then how much longer the others take."
    parts = [
        f"- {rivals.versions(options.torch)}; {platform.machine()}, {rivals.CORES} cores\n"
        f"- {datetime.date.today()}; load before the run {', '.join(f'{each:.2f}' for each in load)}"
    ]
    if fresh:
        parts.append(verdicts(fresh, into, tiny))
        parts.append(table("A fresh array", explained, fresh, names))
        parts.append(table("Into `out=`", "As above. JAX's arrays are never written to.", into, [n for n in names if n != "JAX"]))
    if tiny:
        parts.append(tiny_table(tiny))
    text = "\n\n".join(parts)
    print(text)
    if options.into and not (options.quick or options.no_write or options.name):
        turns.write(options.into, "python", text)


main()
