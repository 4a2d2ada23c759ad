"""Times unishape, NumPy, numexpr, PyTorch and JAX on 10 to 10⁸ elements: `cargo xtask bench sweep`.

The workloads take float32 arrays, and write freshly allocated and preallocated outputs. torch.compile takes part in
workloads of more than one operator. Then threads that call at once are measured. The results are stored by CPU model,
and drawn as a heat map for each.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import cpu_model
import heatmap
import report
import sweep_report
import timing

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results/sweep"
PICTURES = ROOT / "docs/pictures"
ELEMENTS = [10, 100, *(digit * 10**power for power in range(3, 8) for digit in (1, 3)), 10**8]
QUICK_ELEMENTS = [10, 10**5]
OUTPUTS = ("fresh", "preallocated")
CALLERS = "concurrent callers"
#: Seconds before each block of calls; see timing.PAUSE.
PAUSE = 0.06
#: Seconds of calls in a block before it is timed: it took up to 15 ms after a pause until a virtual machine's second core
#: took part. First calls are listed apart.
WARM_UP = 20e-3


def measure(workload, elements, limits):
    """Checks and times a workload with both kinds of output; gives its two cells of the heat map."""
    import contestants

    every = {**contestants.UNISHAPE, **contestants.OTHERS, **contestants.TORCH}
    if not workload.fused:
        del every["torch.compile"]
    arrays = workload.arrays(1)
    shapes = ", ".join(dict.fromkeys("x".join(map(str, array.shape)) for array in arrays.values()))
    cells = []
    for output in OUTPUTS:
        times = timing.measure(contestants.checked(workload, arrays, output, every), *limits, warm=WARM_UP)
        cell = {"name": workload.name, "elements": elements, "output": output, "shapes": shapes, "times": times}
        cells.append(cell)
        every_time = ", ".join(f"{name} {report.duration(each['median'])}" for name, each in times.items())
        ratio, _ = sweep_report.relative(cell)
        print(f"{workload.name:16} {sweep_report.count(elements):>5} {output:12} {ratio:6.2f}  {every_time}", flush=True)
    return cells


def run(options, chosen):
    """Measures what is chosen; gives the contents of the results file."""
    import callers
    import contestants
    from workloads import SWEEP, sized

    names = [name for name in SWEEP if chosen(name)]
    if not names and not chosen(CALLERS):
        sys.exit("no workload has such a name; the names are:\n" + "\n".join([*SWEEP, CALLERS]))
    start = time.monotonic()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    results = timing.conditions(contestants.versions(True), contestants.CORES)
    results |= {"model": cpu_model.here(), "commit": commit.stdout.strip(), "cells": [], "callers": []}
    for elements in options.elements or (QUICK_ELEMENTS if options.quick else ELEMENTS):
        for name in names:
            limits = (0.05, 3, 0.02) if options.quick else (1.5, 5, PAUSE)
            results["cells"] += measure(sized(name, elements), elements, limits)
    if chosen(CALLERS):
        for name in callers.WORKLOADS:
            results["callers"] += callers.measure(name, *((0.05, 1, 0.02) if options.quick else (0.3, 5, PAUSE)))
    return {**results, "minutes": round((time.monotonic() - start) / 60)}


def save(path, results):
    """Writes a results file with a line for each cell."""
    lists = {key: "[\n  " + ",\n  ".join(map(json.dumps, results[key])) + "\n ]" for key in ("cells", "callers")}
    pairs = [f'"{key}": {lists.get(key) or json.dumps(value)}' for key, value in results.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n " + ",\n ".join(pairs) + "\n}\n")


def publish(document):
    """Draws the results files of all CPU models, and writes their section of the documentation."""
    parts = []
    for path in sorted(RESULTS.glob("*.json")):
        results = timing.load(path)
        picture = PICTURES / f"sweep-{path.stem}.svg"
        picture.write_text(heatmap.svg(results))
        parts.append(sweep_report.markdown(results, f"pictures/{picture.name}"))
        print(f"wrote {picture}")
    timing.write_section(document, "sweep", "\n\n".join(parts) or "No results yet.")
    print(f"wrote {document}")


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench sweep", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", help=f'only workloads whose name contains NAME, or "{CALLERS}"')
    parser.add_argument(
        "--elements",
        type=lambda text: [int(float(each)) for each in text.split(",")],
        metavar="N,N,...",
        help="numbers of elements, as in 1e5,1e6; default " + ",".join(f"{each:g}" for each in ELEMENTS),
    )
    parser.add_argument("--quick", action="store_true", help="few sizes and rounds, to see that it runs")
    parser.add_argument("--results", type=Path, help="JSON file for the results; default bench/results/sweep/CPU-MODEL.json")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; redraw from all files in bench/results/sweep")
    parser.add_argument("--no-write", action="store_true", help="write no file")
    parser.add_argument("--into", type=Path, default=ROOT / "docs/benchmarks.md", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.redraw:
        publish(options.into)
        return
    results = run(options, lambda name: not options.name or any(part in name for part in options.name))
    print("\n" + sweep_report.text(results))
    # A partial run goes into a file only if one is named, and never into the documentation.
    partial = options.quick or bool(options.name) or bool(options.elements)
    if options.no_write:
        return
    if options.results or not partial:
        path = options.results or RESULTS / f"{cpu_model.slug(results['model'], results['cores'])}.json"
        save(path, results)
        print(f"wrote {path}")
    if not (partial or options.results):
        publish(options.into)


if __name__ == "__main__":
    main()
