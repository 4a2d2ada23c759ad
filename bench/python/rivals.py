"""Who takes part: each gives a function that does the work once, or None where it cannot."""

import os

import numpy as np

import unishape

# As many threads as there are cores, for everybody who asks.
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
for variable in ("NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS"):
    os.environ.setdefault(variable, str(CORES))

import jax  # noqa: E402
import numexpr  # noqa: E402

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

FUNCTIONS = ("sqrt", "exp", "where")


def python_function(text, names, module):
    """The text as a function of arrays, in Python, with a library's own functions."""
    code = f"lambda {', '.join(names)}: {text}"
    return eval(code, {name: getattr(module, name) for name in FUNCTIONS})


def ours(workload, arrays, out):
    return lambda: unishape.evaluate(workload.text, arrays, out=out)


def ours_by_function(workload, arrays, out):
    """A single operator by its function."""
    if workload.fused:
        return None
    x, sign, y = workload.text.split()
    function = {"+": unishape.add, "*": unishape.multiply, "&": unishape.bitwise_and}[sign]
    x, y = arrays[x], arrays[y]
    return (lambda: function(x, y)) if out is None else (lambda: function(x, y, out=out))


def by_numpy(workload, arrays, out):
    if out is not None:
        return lambda: workload.into(arrays, out)
    function, values = python_function(workload.text, arrays, np), list(arrays.values())
    return lambda: function(*values)


def by_numexpr(workload, arrays, out):
    if workload.no_numexpr:
        return None
    # More names than 32 it does not take, and tells so by an error.
    if len(arrays) > 31:
        return None
    return lambda: numexpr.evaluate(workload.text, arrays, out=out)


def by_numexpr_again(workload, arrays, out):
    """Without looking at the text again: numexpr's quickest way."""
    if by_numexpr(workload, arrays, out) is None:
        return None
    numexpr.evaluate(workload.text, arrays, out=out)
    return lambda: numexpr.re_evaluate(arrays)


def by_jax(workload, arrays, out):
    if out is not None:  # its arrays are never written to
        return None
    function = jax.jit(python_function(workload.text, arrays, jax.numpy))
    values = [jax.numpy.asarray(array) for array in arrays.values()]
    return lambda: function(*values).block_until_ready()


def by_torch(workload, arrays, out):
    import torch

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


OURS = {"evaluate": ours, "function": ours_by_function}
RIVALS = {"NumPy": by_numpy, "numexpr": by_numexpr, "JAX": by_jax}
TORCH = {"PyTorch": by_torch}


def versions(torch):
    """Who they are."""
    told = [f"Python {'.'.join(map(str, os.sys.version_info[:3]))}", f"NumPy {np.__version__}"]
    told += [f"numexpr {numexpr.__version__}", f"JAX {jax.__version__}"]
    if torch:
        import torch

        told.append(f"PyTorch {torch.__version__}")
    return ", ".join(told)
