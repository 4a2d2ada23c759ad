"""Times unishape, NumPy, numexpr, JAX and, with --torch, PyTorch in one process: `cargo xtask bench python`.

All contestants do the same work on the same numbers. Results are compared before anything is timed. Then the
contestants take turns in rounds; each round starts with another one. A figure is the median of the rounds.
"""

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import chart  # noqa: E402
import report  # noqa: E402
import timing  # noqa: E402

ROOT = HERE.parents[1]
RESULTS = ROOT / "bench/results/python.json"
CHART = ROOT / "docs/pictures/speed.svg"


def measure(workload, scale, kind, contestants, limits):
    """Checks and times a workload; gives its line of the results file."""
    from contestants import checked

    arrays = workload.arrays(scale)
    functions = checked(workload, arrays, kind, contestants)
    shapes = list(dict.fromkeys("x".join(map(str, array.shape)) for array in arrays.values()))
    text = workload.text if len(arrays) < 9 else f"{workload.text[:7]} … ({len(arrays)} arrays)"
    times = timing.measure(functions, *limits)
    line = {"name": workload.name, "text": text, "shapes": ", ".join(shapes), "fused": workload.fused, "times": times}
    rest = ", ".join(f"{name} {report.ratio(times, name):.2f}" for name in times if name not in report.UNISHAPE)
    own = report.best(times)
    around = report.percent(report.spread(own))
    print(f"{workload.name:20} {kind:12} {report.duration(own['median']):>10} spread {around:>5}  {rest}", flush=True)
    return line


def run(options, chosen):
    """Measures all chosen workloads; gives the contents of the results file."""
    import contestants
    from workloads import LARGE, SMALL

    every = {**contestants.UNISHAPE, **contestants.OTHERS, **(contestants.TORCH if options.torch else {})}
    results = timing.conditions(contestants.versions(options.torch), contestants.CORES)
    scale, limits = (20, (0.05, 3)) if options.quick else (1, (3.0, 7))
    results |= {"fresh": [], "preallocated": [], "small": []}
    for workload in filter(chosen, LARGE):
        for kind in ("fresh", "preallocated"):
            results[kind].append(measure(workload, scale, kind, every, limits))
    for workload in filter(chosen, SMALL):
        results["small"].append(measure(workload, scale, "fresh", contestants.SMALL, limits))
    if not (results["fresh"] or results["small"]):
        sys.exit("no workload has such a name; the names are:\n" + "\n".join(each.name for each in [*LARGE, *SMALL]))
    return results


def publish(results, document):
    """Writes the tables and the chart into the documentation."""
    timing.write_section(document, "python", report.markdown(results))
    CHART.write_text(chart.svg(results))
    print(f"wrote {document} and {CHART}")


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench python", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", help="only workloads whose name contains NAME")
    parser.add_argument("--quick", action="store_true", help="small arrays and few rounds, to see that it runs")
    parser.add_argument("--torch", action="store_true", help="also PyTorch, eager and with torch.compile")
    parser.add_argument("--results", type=Path, help="JSON file for the results; default in bench/results/")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; rewrite tables and chart from the results file")
    parser.add_argument("--no-write", action="store_true", help="write no file")
    parser.add_argument("--into", type=Path, default=ROOT / "docs/benchmarks.md", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.redraw:
        publish(timing.load(options.results or RESULTS), options.into)
        return
    results = run(options, lambda workload: not options.name or any(name in workload.name for name in options.name))
    print(report.markdown(results))
    # A partial run goes into a file only if one is named, and never into the documentation.
    partial = options.quick or bool(options.name)
    if options.no_write:
        return
    if options.results or not partial:
        path = options.results or RESULTS
        timing.save(path, results)
        print(f"wrote {path}")
    if not partial:
        publish(results, options.into)


if __name__ == "__main__":
    main()
