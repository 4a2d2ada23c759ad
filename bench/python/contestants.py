"""The contestants: each returns a function that does the work once, or None where it does not support it."""

import os
import sys

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


def unishape_function(workload, arrays, out):
    """The function of a single operator, without parsing an expression."""
    if workload.fused:
        return None
    x, sign, y = workload.text.split()
    function = {"+": unishape.add, "*": unishape.multiply, "&": unishape.bitwise_and}[sign]
    x, y = arrays[x], arrays[y]
    return (lambda: function(x, y)) if out is None else (lambda: function(x, y, out=out))


def numpy_operators(workload, arrays, out):
    if out is not None:
        return lambda: workload.into(arrays, out)
    function, values = python_function(workload.text, arrays, np), list(arrays.values())
    return lambda: function(*values)


def numpy_add(workload, arrays, out):
    """The ufunc alone, without a Python function around it."""
    a, b = arrays["a"], arrays["b"]
    return lambda: np.add(a, b)


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
    function = jax.jit(python_function(workload.text, arrays, jax.numpy))
    values = [jax.numpy.asarray(array) for array in arrays.values()]
    return lambda: function(*values).block_until_ready()


def import_torch():
    import torch

    torch.set_num_threads(CORES)
    return torch


def torch_eager(workload, arrays, out):
    torch = import_torch()
    values = {name: torch.from_numpy(array) for name, array in arrays.items()}
    if out is not None:
        if workload.fused:
            return None
        x, sign, y = workload.text.split()
        function = {"+": torch.add, "*": torch.mul, "&": torch.bitwise_and}[sign]
        x, y, to = values[x], values[y], torch.from_numpy(out)
        return lambda: function(x, y, out=to)
    function = python_function(workload.text, arrays, torch)
    return lambda: function(*values.values())


def torch_compile(workload, arrays, out):
    torch = import_torch()
    names, values, text = list(arrays), [torch.from_numpy(array) for array in arrays.values()], workload.text
    if out is not None:
        # The compiler fuses the copy: results are written into `out` directly.
        names, values, text = ["out", *names], [torch.from_numpy(out), *values], f"out.copy_({text})"
    function = torch.compile(python_function(text, names, torch))
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
SMALL = {**UNISHAPE, "NumPy": numpy_add, "re_evaluate": numexpr_re_evaluate, "JAX": jax_jit}


def versions(with_torch):
    """The versions of Python and of the other libraries."""
    found = [f"Python {'.'.join(map(str, sys.version_info[:3]))}", f"NumPy {np.__version__}"]
    found += [f"numexpr {numexpr.__version__}", f"JAX {jax.__version__}"]
    if with_torch:
        found.append(f"PyTorch {import_torch().__version__}")
    return ", ".join(found)
