"""unishape.onnx beside ONNX Runtime, on element-wise models: `cargo xtask bench onnx`.

Both run the same model on the same numbers, with two threads each. Results are compared before anything is timed; then
all take turns, another one first in each round, and a figure is the median of the rounds. ONNX Runtime is measured in
two ways: with NumPy's arrays in and out, as we are, and with its output bound to memory that is there already, which
spares it to get fresh memory from the system and is not what the verdicts are about.
"""

import argparse
import os
import platform
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx.parser
import onnxruntime

import turns

import unishape.onnx

THREADS = 2
#: Rows and columns: 16 MB of float.
SIZE = 2048


class Workload(NamedTuple):
    name: str
    #: Inputs as ONNX's text has them, with `n` for SIZE.
    inputs: str
    body: str
    output: str = "float[n,n] y"


SINGLE = [
    Workload("Add, same shape", "float[n,n] a, float[n,n] b", "y = Add(a, b)"),
    Workload("Add of int64", "int64[n,n] a, int64[n,n] b", "y = Add(a, b)", "int64[n,n] y"),
    Workload("Mul by a row", "float[n,n] a, float[n] b", "y = Mul(a, b)"),
    Workload("Sub of a column", "float[n,n] a, float[n,1] b", "y = Sub(a, b)"),
    Workload("Div, a row by a column", "float[n] a, float[n,1] b", "y = Div(a, b)"),
    Workload("Less than a row", "float[n,n] a, float[n] b", "y = Less(a, b)", "bool[n,n] y"),
    Workload("Max of three", "float[n,n] a, float[n] b, float[n,1] c", "y = Max(a, b, c)"),
    Workload("Where, a row of truth", "bool[n] a, float[n,n] b, float[n,n] c", "y = Where(a, b, c)"),
    Workload("PRelu, a slope for each row", "float[n,n] a, float[n,1] b", "y = PRelu(a, b)"),
    Workload("Sqrt", "float[n,n] a", "y = Sqrt(a)"),
    Workload("Exp", "float[n,n] a", "y = Exp(a)"),
    Workload("Sigmoid", "float[n,n] a", "y = Sigmoid(a)"),
    Workload("Expand a row", "float[1,n] a", "s = Constant <value_ints = [n, n]> () y = Expand(a, s)"),
]

CHAINS = [
    Workload(
        "5: an image normalised",
        "uint8[n,n] a, float[n] mean, float[n] std, float[] most, float[] gain",
        "f = Cast <to = 1> (a) s = Div(f, most) c = Sub(s, mean) d = Div(c, std) y = Mul(d, gain)",
    ),
    Workload(
        "5: scale, shift, clip, residual",
        "float[n,n] a, float[n] scale, float[n] shift, float[n,n] b, float[] low, float[] high",
        "m = Mul(a, scale) s = Add(m, shift) c = Clip(s, low, high) d = Mul(c, scale) y = Add(d, b)",
    ),
    Workload(
        "5: Gelu of its parts",
        "float[n,n] a, float[] root, float[] one, float[] half",
        "d = Div(a, root) e = Erf(d) o = Add(e, one) m = Mul(a, o) y = Mul(m, half)",
    ),
    Workload(
        "6: masked scores",
        "float[n,n] a, bool[n] keep, float[n,1] most, float[] scale, float[] low",
        "s = Mul(a, scale) w = Where(keep, s, low) d = Sub(w, most) e = Exp(d) r = Relu(e) y = Mul(r, scale)",
    ),
    Workload(
        "7: of integers",
        "int32[n,n] a, int32[n] b, int32[n,1] c",
        "p = Add(a, b) q = Mul(p, c) r = Sub(q, a) s = Max(r, b) t = Min(s, a) u = Add(t, c) y = Mul(u, b)",
        "int32[n,n] y",
    ),
    Workload(
        "10: one after another",
        "float[n,n] a, float[n] b, float[n,1] c",
        "d = Add(a, b) e = Mul(d, c) f = Sub(e, a) g = Abs(f) h = Sqrt(g) i = Add(h, b) j = Mul(i, c) "
        "k = Neg(j) l = Max(k, a) y = Sub(l, b)",
    ),
]


def model_of(workload, size):
    with_size = lambda text: text.replace("[n", f"[{size}").replace(",n]", f",{size}]").replace(", n]", f", {size}]")
    # No initializers and no defaults: nothing can be computed before it runs.
    return onnx.parser.parse_model(
        f'<ir_version: 9, opset_import: ["" : 19]> g ({with_size(workload.inputs)}) => '
        f"({with_size(workload.output)}) {{ {with_size(workload.body)} }}"
    )


def inputs_of(model):
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

    return {"by arrays": lambda: session.run(None, inputs)[0], "bound": run_bound}


def by_us(model, inputs):
    program = unishape.onnx.load(model, threads=THREADS)
    return lambda: program(**inputs)["y"]


def check(workload, result, expected):
    expected = expected if isinstance(expected, np.ndarray) else expected.numpy()
    is_right = result.dtype == expected.dtype and result.shape == expected.shape
    if not is_right or not np.allclose(result, expected, rtol=1e-5, atol=1e-5):
        sys.exit(f"{workload.name}: ours is not what ONNX Runtime computes")


def measure(workload, size, patience):
    """The times of all, by name."""
    model = model_of(workload, size)
    inputs = inputs_of(model)
    works = {"ours": by_us(model, inputs), **by_runtime(model, inputs)}
    result = works["ours"]()
    for name in ("by arrays", "bound"):
        check(workload, result, works[name]())
    del result
    return turns.medians(works, *patience)


def gain(times):
    return times["by arrays"] / times["ours"]


def table(title, measured, wanted):
    rows = [f"### {title}", "", "| | ours | ONNX Runtime | its output bound | times as fast |", "|---|" + "---:|" * 4]
    for workload, times in measured:
        each = " | ".join(f"{times[name] * 1e3:.2f} ms" for name in ("ours", "by arrays", "bound"))
        rows.append(f"| {workload.name} | {each} | {gain(times):.2f} |")
    # Up to 3 % is no difference.
    missed = [workload.name for workload, times in measured if gain(times) < 0.97 * wanted]
    verdict = "**Met**" if not missed else "**Not met**"
    by = f"; missed by: {'; '.join(missed)}" if missed else ""
    reached = f"in {len(measured) - len(missed)} of {len(measured)}"
    rows += ["", f"{verdict}: {wanted:g} times as fast or more, {reached}{by}."]
    return "\n".join(rows)


def main():
    parser = argparse.ArgumentParser(prog="cargo xtask bench onnx", description=__doc__.split("\n\n")[0])
    parser.add_argument("name", nargs="*", help="only workloads with this in their name")
    parser.add_argument("--quick", action="store_true", help="small arrays and few rounds, to see that it runs")
    parser.add_argument("--no-write", action="store_true", help="docs/benchmarks.md stays as it is")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    size, patience = (128, (0.0, 3)) if options.quick else (SIZE, (2.0, 25))
    parts = [
        f"- onnx {onnx.__version__}, ONNX Runtime {onnxruntime.__version__}, NumPy {np.__version__}; "
        f"{platform.machine()}, {THREADS} threads each\n"
        f"- load before the run {', '.join(f'{each:.2f}' for each in os.getloadavg())}"
    ]
    for title, workloads, wanted in (("Single operators", SINGLE, 1), ("Chains of five and more", CHAINS, 2)):
        chosen = [each for each in workloads if not options.name or any(name in each.name for name in options.name)]
        measured = []
        for workload in chosen:
            measured.append((workload, measure(workload, size, patience)))
            print(f"{workload.name:32} {gain(measured[-1][1]):.2f}", file=sys.stderr, flush=True)
        if measured:
            parts.append(table(title, measured, wanted))
    text = "\n\n".join(parts)
    print(text)
    if options.into and not (options.quick or options.no_write or options.name):
        turns.write(options.into, "onnx", text)


if __name__ == "__main__":
    main()
