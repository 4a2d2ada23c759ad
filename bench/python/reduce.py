"""Times reductions of unishape, NumPy, numexpr, JAX, PyTorch and KeOps: `cargo xtask bench reduce`.

Peak extra memory of each contestant is measured first, in processes of their own. Then all contestants run in one
process: results are compared with float64, and the contestants take turns in rounds. The results are stored by CPU
model.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cpu_model
import reduce_report
import report
import timing

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results/reduce"
#: Largest relative error of a result; of a larger one the time does not count.
TOLERANCE = 1e-4
#: Seconds of calls before a block is timed. In a virtual machine up to 15 ms after a pause run on one core.
WARM_UP = 20e-3


def use_package(path, folder):
    """Imports unishape, here and in child processes, from a folder with the package or from a built library.

    A library, such as `target/release/lib_unishape.so`, is joined in `folder` with the Python files of the checkout
    that it was built in, or else of this one.
    """
    path = path.resolve()
    if path.is_file():
        checkouts = [parent for parent in path.parents if (parent / "python/unishape/__init__.py").is_file()]
        source = (checkouts or [ROOT])[0] / "python/unishape"
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(source, folder / "unishape", ignore=ignored)
        shutil.copy(path, folder / "unishape/_unishape.abi3.so")
        path = folder
    elif (path / "__init__.py").is_file():
        path = path.parent
    if not (path / "unishape/__init__.py").is_file():
        sys.exit(f"{path} has no package unishape")
    sys.path.insert(0, str(path))
    os.environ["PYTHONPATH"] = os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])])


def memory(workloads, names):
    """Peak extra bytes by workload and contestant, see reduce_memory.py; small workloads have none."""
    import reduce_memory

    found = {workload.name: {} for workload in workloads}
    for contestant in names:
        large = [workload.name for workload in workloads if not workload.small]
        for name, extra in reduce_memory.extra(contestant, large).items():
            found[name][contestant] = extra
        print(f"measured the memory of {contestant}", flush=True)
    return found


def measure(workload, names, memory, limits):
    """Checks and times a workload; gives its cell of the results file, or None if unishape does not compute it."""
    import first_call
    import reduce_contestants
    import reductions

    arrays = workload.arrays()
    over = [name for name in names if memory.get(name) == float("inf")]
    made = {name: reduce_contestants.ready(name, workload, arrays) for name in names if name not in over}
    made = {name: each for name, each in made.items() if each is not None}
    if "evaluate" not in made:
        return None
    errors = reductions.errors(workload, arrays, {name: result for name, (_, result) in made.items()})
    functions = {name: function for name, (function, _) in made.items()}
    del made
    cell = {
        "name": workload.name,
        "text": workload.text,
        "shapes": workload.sizes(),
        "small": workload.small,
        "times": timing.measure(functions, *limits, warm=WARM_UP),
        "memory": {name: extra for name, extra in memory.items() if name in functions and extra is not None},
        "errors": errors,
        "wrong": [name for name, error in errors.items() if error > TOLERANCE],
        "over": over,
    }
    if workload.small:
        cell["first_call"] = first_call.measure(workload.name)
    print(reduce_report.line(cell), flush=True)
    return cell


def run(options):
    """Measures what is chosen; gives the contents of the results file."""
    import reduce_contestants
    import reductions

    chosen = lambda name: not options.only or any(part in name for part in options.only)
    workloads = [workload for name, workload in reductions.WORKLOADS.items() if chosen(name)]
    if not workloads:
        sys.exit("no workload has such a name; the names are:\n" + "\n".join(reductions.WORKLOADS))
    every = reduce_contestants.CONTESTANTS
    names = [name for name in every if not options.against or name in ("evaluate", *options.against)]
    if unknown := set(options.against or ()) - set(every):
        sys.exit(f"no contestant is called {', '.join(unknown)}; the names are: {', '.join(every)}")
    start = time.monotonic()
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    results = timing.conditions(reduce_contestants.versions(), reduce_contestants.CORES)
    results |= {"model": cpu_model.here(), "commit": commit.stdout.strip(), "cells": []}
    extra = memory(workloads, names)
    failed = []
    for workload in workloads:
        cell = measure(workload, names, extra[workload.name], (0.1, 3) if options.quick else (2.0, 7))
        if cell is not None:
            results["cells"].append(cell)
        if cell is None or "evaluate" in cell["wrong"]:
            failed.append(workload.name)
    return {**results, "minutes": round((time.monotonic() - start) / 60)}, failed


def save(path, results):
    """Writes a results file with a line for each workload."""
    cells = "[\n  " + ",\n  ".join(map(json.dumps, results["cells"])) + "\n ]"
    pairs = [f'"{key}": {cells if key == "cells" else json.dumps(value)}' for key, value in results.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{\n " + ",\n ".join(pairs) + "\n}\n")


def publish(document):
    """Writes the section of the documentation from the results files of all CPU models."""
    parts = [reduce_report.markdown(timing.load(path)) for path in sorted(RESULTS.glob("*.json"))]
    timing.write_section(document, "reduce", "\n\n".join(parts) or "No results yet.")
    print(f"wrote {document}")


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench reduce", description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only workloads whose name contains NAME")
    parser.add_argument("--against", nargs="+", metavar="LIBRARY", help="only these other libraries")
    parser.add_argument("--quick", action="store_true", help="few rounds, to see that it runs")
    parser.add_argument("--package", type=Path, help="built library, or folder of the package; default: what is installed")
    parser.add_argument("--results", type=Path, help="JSON file for the results; default bench/results/reduce/CPU-MODEL.json")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; rewrite the page from bench/results/reduce")
    parser.add_argument("--no-write", action="store_true", help="write no file")
    parser.add_argument("--into", type=Path, default=ROOT / "docs/benchmarks.md", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.redraw:
        publish(options.into)
        return
    with tempfile.TemporaryDirectory() as folder:
        if options.package:
            use_package(options.package, Path(folder))
        results, failed = run(options)
    print("\n" + reduce_report.markdown(results))
    # A partial run goes into a file only if one is named, and never into the documentation.
    partial = bool(options.quick or options.only or options.against or failed)
    if options.results or not (partial or options.no_write):
        path = options.results or RESULTS / f"{cpu_model.slug(results['model'], results['cores'])}.json"
        save(path, results)
        print(f"wrote {path}")
    if not (partial or options.results or options.no_write):
        publish(options.into)
    if failed:
        sys.exit(f"unishape fails or is wrong: {', '.join(failed)}")


if __name__ == "__main__":
    main()
