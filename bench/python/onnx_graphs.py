"""Times unishape.onnx and ONNX Runtime on element-wise models: `cargo xtask bench onnx`.

Both run the same model on the same numbers, with two threads each. Results are compared before anything is timed; then
the contestants take turns in rounds, and a figure is the median of the rounds. ONNX Runtime is measured twice: with
NumPy arrays in and out, as unishape is, and with IO binding, where it reuses its output's memory; the targets are
about the former.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import report
import timing

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results/onnx.json"
THREADS = 2
#: Rows and columns of a matrix: 16 MiB of float32.
SIZE = 2048
CONTESTANTS = ("unishape", "ONNX Runtime", "IO binding")


class Workload(NamedTuple):
    name: str
    #: Inputs in ONNX's text format, with `n` for SIZE.
    inputs: str
    body: str
    output: str = "float[n,n] y"


SINGLE = [
    Workload("Add, same shape", "float[n,n] a, float[n,n] b", "y = Add(a, b)"),
    Workload("Add, int64", "int64[n,n] a, int64[n,n] b", "y = Add(a, b)", "int64[n,n] y"),
    Workload("Mul, row", "float[n,n] a, float[n] b", "y = Mul(a, b)"),
    Workload("Sub, column", "float[n,n] a, float[n,1] b", "y = Sub(a, b)"),
    Workload("Div, row by column", "float[n] a, float[n,1] b", "y = Div(a, b)"),
    Workload("Less, row", "float[n,n] a, float[n] b", "y = Less(a, b)", "bool[n,n] y"),
    Workload("Max of 3", "float[n,n] a, float[n] b, float[n,1] c", "y = Max(a, b, c)"),
    Workload("Where, bool row", "bool[n] a, float[n,n] b, float[n,n] c", "y = Where(a, b, c)"),
    Workload("PRelu, slope per row", "float[n,n] a, float[n,1] b", "y = PRelu(a, b)"),
    Workload("Sqrt", "float[n,n] a", "y = Sqrt(a)"),
    Workload("Exp", "float[n,n] a", "y = Exp(a)"),
    Workload("Sigmoid", "float[n,n] a", "y = Sigmoid(a)"),
    Workload("Expand, row", "float[1,n] a", "s = Constant <value_ints = [n, n]> () y = Expand(a, s)"),
]

CHAINS = [
    Workload(
        "5: image normalisation",
        "uint8[n,n] a, float[n] mean, float[n] std, float[] most, float[] gain",
        "f = Cast <to = 1> (a) s = Div(f, most) c = Sub(s, mean) d = Div(c, std) y = Mul(d, gain)",
    ),
    Workload(
        "5: scale, shift, clip, residual",
        "float[n,n] a, float[n] scale, float[n] shift, float[n,n] b, float[] low, float[] high",
        "m = Mul(a, scale) s = Add(m, shift) c = Clip(s, low, high) d = Mul(c, scale) y = Add(d, b)",
    ),
    Workload(
        "5: Gelu, decomposed",
        "float[n,n] a, float[] root, float[] one, float[] half",
        "d = Div(a, root) e = Erf(d) o = Add(e, one) m = Mul(a, o) y = Mul(m, half)",
    ),
    Workload(
        "6: masked scores",
        "float[n,n] a, bool[n] keep, float[n,1] most, float[] scale, float[] low",
        "s = Mul(a, scale) w = Where(keep, s, low) d = Sub(w, most) e = Exp(d) r = Relu(e) y = Mul(r, scale)",
    ),
    Workload(
        "7: int32 arithmetic",
        "int32[n,n] a, int32[n] b, int32[n,1] c",
        "p = Add(a, b) q = Mul(p, c) r = Sub(q, a) s = Max(r, b) t = Min(s, a) u = Add(t, c) y = Mul(u, b)",
        "int32[n,n] y",
    ),
    Workload(
        "10: long chain",
        "float[n,n] a, float[n] b, float[n,1] c",
        "d = Add(a, b) e = Mul(d, c) f = Sub(e, a) g = Abs(f) h = Sqrt(g) i = Add(h, b) j = Mul(i, c) "
        "k = Neg(j) l = Max(k, a) y = Sub(l, b)",
    ),
]


def model_of(workload, size):
    import onnx.parser

    with_size = lambda text: text.replace("[n", f"[{size}").replace(",n]", f",{size}]").replace(", n]", f", {size}]")
    # No initializers and no defaults: no part can be computed ahead of the run.
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 19]> g ({with_size(workload.inputs)}) => '
        f"({with_size(workload.output)}) {{ {with_size(workload.body)} }}"
    )


def inputs_of(model):
    import numpy as np
    import onnx

    rng = np.random.default_rng(0)
    made = {}
    for value in model.graph.input:
        tensor = value.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "f":
            made[value.name] = np.asarray(rng.uniform(0.5, 2, shape), dtype)
        else:
            made[value.name] = rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    return made


def by_runtime(model, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    bound = session.io_binding()
    for name, array in inputs.items():
        bound.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array))
    bound.bind_output("y")

    def run_bound():
        session.run_with_iobinding(bound)
        return bound.get_outputs()[0]

    return {"ONNX Runtime": lambda: session.run(None, inputs)[0], "IO binding": run_bound}


def by_unishape(model, inputs):
    import unishape.onnx

    program = unishape.onnx.load(model, threads=THREADS)
    return lambda: program(**inputs)["y"]


def check(workload, result, expected):
    import numpy as np

    expected = expected if isinstance(expected, np.ndarray) else expected.numpy()
    is_right = result.dtype == expected.dtype and result.shape == expected.shape
    if not is_right or not np.allclose(result, expected, rtol=1e-5, atol=1e-5):
        sys.exit(f"{workload.name}: the result differs from ONNX Runtime's")


def measure(workload, size, limits):
    """Checks and times a model; gives its line of the results file."""
    model = model_of(workload, size)
    inputs = inputs_of(model)
    functions = {"unishape": by_unishape(model, inputs), **by_runtime(model, inputs)}
    result = functions["unishape"]()
    for name in CONTESTANTS[1:]:
        check(workload, result, functions[name]())
    del result
    return {"name": workload.name, "times": timing.measure(functions, *limits)}


def speedup(line):
    return line["times"]["ONNX Runtime"]["median"] / line["times"]["unishape"]["median"]


def table(lines, wanted):
    rows = []
    for line in lines:
        times = [line["times"][name] for name in CONTESTANTS]
        spreads = [report.spread(each) for each in times]
        widest = None if None in spreads else max(spreads)
        cells = [f"{each['median'] * 1e3:.2f} ms" for each in times]
        rows.append([line["name"], *cells, f"{speedup(line):.2f}", report.percent(widest)])
    missed = [(-speedup(line), line["name"]) for line in lines if speedup(line) < (1 - report.EQUAL) * wanted]
    met = report.target(f"at least {wanted:g} times as fast as ONNX Runtime", missed, len(lines))
    return report.grid(["", *CONTESTANTS, "speed-up", "largest spread"], rows) + "\n\n" + met.removeprefix("- ")


def markdown(results):
    parts = [report.machine(results) + f"; {THREADS} threads each"]
    times = [each for kind in ("single", "chains") for line in results[kind] for each in line["times"].values()]
    if any(report.spread(each) is None for each in times):
        parts.append("Medians of a single run, which predates the recording of spreads: a dash in that column.")
    for title, kind, wanted in (("Single operators", "single", 1), ("Chains of five and more operators", "chains", 2)):
        if results[kind]:
            parts += [f"### {title}", table(results[kind], wanted)]
    return "\n\n".join(parts)


def run(options):
    import numpy as np
    import onnx
    import onnxruntime

    size, limits = (128, (0.0, 3)) if options.quick else (SIZE, (2.0, 25))
    versions = f"onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}, NumPy {np.__version__}"
    results = {**timing.conditions(versions, THREADS), "single": [], "chains": []}
    for kind, workloads in (("single", SINGLE), ("chains", CHAINS)):
        for workload in workloads:
            if not options.name or any(name in workload.name for name in options.name):
                line = measure(workload, size, limits)
                results[kind].append(line)
                print(f"{workload.name:32} {speedup(line):.2f}", file=sys.stderr, flush=True)
    return results


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench onnx", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", help="only models whose name contains NAME")
    parser.add_argument("--quick", action="store_true", help="small arrays and few rounds, to see that it runs")
    parser.add_argument("--results", type=Path, help="JSON file for the results; default bench/results/onnx.json")
    parser.add_argument("--redraw", action="store_true", help="measure nothing; rewrite the tables from the results file")
    parser.add_argument("--no-write", action="store_true", help="write no file")
    parser.add_argument("--into", type=Path, default=ROOT / "docs/benchmarks.md", help=argparse.SUPPRESS)
    options = parser.parse_args()
    results = timing.load(options.results or RESULTS) if options.redraw else run(options)
    text = markdown(results)
    print(text)
    if options.no_write:
        return
    partial = options.quick or bool(options.name)
    if not options.redraw and (options.results or not partial):
        timing.save(options.results or RESULTS, results)
    if options.redraw or not partial:
        timing.write_section(options.into, "onnx", text)


if __name__ == "__main__":
    main()
