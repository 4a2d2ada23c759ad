"""The contestants: each returns a function that does the work once, or None where it does not support it."""

import os
import sys
from pathlib import Path

import numpy as np

import unishape

# One thread per core for every library.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
for variable in ("NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
    os.environ.setdefault(variable, str(CORES))

import jax  # noqa: E402
import numexpr  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

FUNCTIONS = ("sqrt", "exp", "where")


def python_function(text, names, module):
    """The expression as a Python function of arrays that calls a library's own functions."""
    code = f"lambda {', '.join(names)}: {text}"
    return eval(code, {name: getattr(module, name) for name in FUNCTIONS})


def unishape_evaluate(workload, arrays, out):
    return lambda: unishape.evaluate(workload.text, arrays, out=out)


def one_operator(workload, arrays, out, functions):
    """A call of the function of a single operator; None for a workload of several."""
    if workload.fused:
        return None
    x, sign, y = workload.text.split()
    function, x, y = functions[sign], arrays[x], arrays[y]
    return (lambda: function(x, y)) if out is None else (lambda: function(x, y, out=out))


def unishape_function(workload, arrays, out):
    """The function of a single operator, without parsing an expression."""
    functions = {"+": unishape.add, "*": unishape.multiply, "&": unishape.bitwise_and}
    return one_operator(workload, arrays, out, functions)


def eager(workload, arrays, out, module, functions):
    """NumPy and PyTorch: one function after another."""
    if not workload.fused:
        return one_operator(workload, arrays, out, functions)
    if out is not None:
        return lambda: workload.into(module, arrays, out)
    function, values = python_function(workload.text, arrays, module), list(arrays.values())
    return lambda: function(*values)


def numpy_operators(workload, arrays, out):
    return eager(workload, arrays, out, np, {"+": np.add, "*": np.multiply, "&": np.bitwise_and})


def numexpr_evaluate(workload, arrays, out):
    # numexpr takes at most 31 arrays.
    if workload.no_numexpr or len(arrays) > 31:
        return None
    return lambda: numexpr.evaluate(workload.text, arrays, out=out)


def numexpr_re_evaluate(workload, arrays, out):
    """numexpr's fastest call: it skips the lookup of the expression."""
    if numexpr_evaluate(workload, arrays, out) is None:
        return None
    numexpr.evaluate(workload.text, arrays, out=out)
    return lambda: numexpr.re_evaluate(arrays)


def jax_jit(workload, arrays, out):
    if out is not None:  # JAX arrays are immutable
        return None
    # JAX stores arrays in row-major order: a transposed operand is transposed inside the compiled function.
    flips = [array.ndim == 2 and not array.flags.c_contiguous for array in arrays.values()]
    flipped = lambda values: [value.T if flip else value for value, flip in zip(values, flips)]
    inner = python_function(workload.text, arrays, jax.numpy)
    function = jax.jit(lambda *values: inner(*flipped(values)))
    values = [jax.numpy.asarray(array) for array in flipped(arrays.values())]
    return lambda: function(*values).block_until_ready()


def import_torch():
    # torch.compile finds what it compiled in an earlier run.
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(__file__).resolve().parents[2] / "target/bench/torch"))
    import torch

    torch.set_num_threads(CORES)
    return torch


def torch_eager(workload, arrays, out):
    torch = import_torch()
    values = {name: torch.from_numpy(array) for name, array in arrays.items()}
    functions = {"+": torch.add, "*": torch.multiply, "&": torch.bitwise_and}
    return eager(workload, values, None if out is None else torch.from_numpy(out), torch, functions)


def torch_compile(workload, arrays, out):
    torch = import_torch()
    names, values, text = list(arrays), [torch.from_numpy(array) for array in arrays.values()], workload.text
    if out is not None:
        # The compiler fuses the copy: results are written into `out` directly.
        names, values, text = ["out", *names], [torch.from_numpy(out), *values], f"out.copy_({text})"
    # Compiled for these shapes, as JAX does.
    function = torch.compile(python_function(text, names, torch), dynamic=False)
    try:
        function(*values)
    except Exception as error:  # no C++ compiler, or an operation that its backend lacks
        print(f"{workload.name}: torch.compile failed: {error}", file=sys.stderr)
        return None
    return lambda: function(*values)


UNISHAPE = {"evaluate": unishape_evaluate, "function": unishape_function}
OTHERS = {"NumPy": numpy_operators, "numexpr": numexpr_evaluate, "JAX": jax_jit}
TORCH = {"PyTorch": torch_eager, "torch.compile": torch_compile}
#: For the cost of a call on small arrays.
SMALL = {**UNISHAPE, "NumPy": numpy_operators, "re_evaluate": numexpr_re_evaluate, "JAX": jax_jit}


def check(result, expected, name):
    """Compares a result with NumPy's, in parts that fit the caches."""
    result, expected = np.asarray(result), np.asarray(expected)
    tolerance = 1e-2 if expected.dtype == np.float16 else 1e-5
    step = max(1, (len(expected) << 18) // max(expected.size, 1))
    starts = range(0, len(expected), step)
    close = lambda at: np.allclose(result[at : at + step], expected[at : at + step], rtol=tolerance, atol=tolerance)
    if result.shape != expected.shape or not all(map(close, starts)):
        sys.exit(f"{name}: the result differs from NumPy's")


def checked(workload, arrays, kind, contestants):
    """The functions of the contestants that support a workload, after a comparison of their results."""
    expected = numpy_operators(workload, arrays, None)()
    functions = {}
    for name, contestant in contestants.items():
        out = np.empty_like(expected, order="C") if kind == "preallocated" else None
        function = contestant(workload, arrays, out)
        if function is not None:
            result = function()
            check(result if out is None else out, expected, f"{workload.name}: {name}")
            functions[name] = function
    return functions


def versions(with_torch):
    """The versions of Python and of the other libraries."""
    found = [f"Python {'.'.join(map(str, sys.version_info[:3]))}", f"NumPy {np.__version__}"]
    found += [f"numexpr {numexpr.__version__}", f"JAX {jax.__version__}"]
    if with_torch:
        found.append(f"PyTorch {import_torch().__version__}")
    return ", ".join(found)
