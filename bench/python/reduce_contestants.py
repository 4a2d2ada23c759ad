"""The contestants of `cargo xtask bench reduce`: each returns a function that does the work once, or None."""

import os
import sys
from pathlib import Path

import numpy as np
from contestants import CORES, import_torch, jax, numexpr, versions as library_versions

import unishape

ROOT = Path(__file__).resolve().parents[2]


def unishape_evaluate(workload, arrays):
    return lambda: unishape.evaluate(workload.text, arrays)


def numpy_functions(workload, arrays):
    values = list(arrays.values())
    return lambda: workload.formula(np, *values)


def numexpr_evaluate(workload, arrays):
    if workload.numexpr is None:
        return None
    values = list(arrays.values())
    return lambda: workload.numexpr(numexpr, *values)


def jax_jit(workload, arrays):
    formula = workload.jax or workload.formula
    function = jax.jit(lambda *values: formula(jax.numpy, *values))
    values = [jax.numpy.asarray(array) for array in arrays.values()]
    return lambda: function(*values).block_until_ready()


def _torch(workload, arrays):
    torch, formula = import_torch(), workload.torch or workload.formula
    return torch, lambda *values: formula(torch, *values), [torch.from_numpy(array) for array in arrays.values()]


def torch_eager(workload, arrays):
    _, function, values = _torch(workload, arrays)
    return lambda: function(*values)


def torch_compile(workload, arrays):
    torch, function, values = _torch(workload, arrays)
    torch.compiler.reset()
    # Compiled for these shapes, as JAX does.
    function = torch.compile(function, dynamic=False)
    function(*values)
    return lambda: function(*values)


def import_keops():
    """KeOps for NumPy arrays, or None where it is not installed."""
    folder = ROOT / "target/bench/keops"
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("KEOPS_CACHE_FOLDER", str(folder))
    os.environ.setdefault("KEOPS_VERBOSE", "0")
    try:
        import pykeops.numpy
    except ImportError:
        return None
    return pykeops


def keops(workload, arrays):
    library = import_keops()
    if library is None or workload.keops is None:
        return None
    lazy, values = library.numpy.LazyTensor, list(arrays.values())
    return lambda: workload.keops(lazy, *values)


CONTESTANTS = {
    "evaluate": unishape_evaluate,
    "NumPy": numpy_functions,
    "numexpr": numexpr_evaluate,
    "JAX": jax_jit,
    "PyTorch": torch_eager,
    "torch.compile": torch_compile,
    "KeOps": keops,
}
#: Contestants that compile at the first call.
COMPILED = ("JAX", "torch.compile", "KeOps")


def ready(name, workload, arrays):
    """A contestant's function and the result of its first call; None where it does not support the workload."""
    try:
        function = CONTESTANTS[name](workload, arrays)
        return None if function is None else (function, function())
    except Exception as error:  # no C++ compiler, or an operation that a library lacks
        print(f"{workload.name}: {name} failed: {error}", file=sys.stderr)
        return None


def versions():
    """The versions of Python and of the libraries."""
    library = import_keops()
    return library_versions(True) + ("" if library is None else f", KeOps {library.__version__}")
