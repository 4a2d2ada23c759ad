"""The workloads: those of the Rust benchmark, as expressions and arrays."""

from dataclasses import dataclass, replace
from typing import Callable

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Workload:
    name: str
    #: The expression, as unishape and numexpr parse it. NumPy, JAX and PyTorch run it as Python.
    text: str
    #: Makes the arrays, with sizes divided by the argument.
    arrays: Callable[[int], Arrays]
    #: NumPy into a preallocated output, with as few temporary arrays as possible.
    into: Callable[[Arrays, np.ndarray], object]
    #: More than one operator.
    fused: bool = False
    #: numexpr lacks the dtype, or computes in another.
    no_numexpr: bool = False


def _random(shape, dtype="float32"):
    generator = np.random.default_rng(len(shape) + sum(shape))
    if np.dtype(dtype).kind == "c":
        return (generator.random(shape) + 1j * generator.random(shape)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        return (generator.random(shape) + 0.5).astype(dtype)
    return generator.integers(0, 2 if dtype == "bool" else 50, shape).astype(dtype)


def _shaped(dtype="float32", /, **shapes):
    """Arrays of these shapes; a negative size is divided by the scale."""

    def arrays(scale):
        size = lambda size: max(-size // scale, 1) if size < 0 else size
        return {name: _random(tuple(map(size, shape)), dtype) for name, shape in shapes.items()}

    return arrays


def _rank_4(scale):
    return {"a": _random((80 // min(scale, 8), 1, 60, 1)), "b": _random((70, 1, 50))}


def _images(scale):
    """A batch of uint8 images, NCHW, with float32 means and deviations per channel."""
    channels = {name: _random((3, 1, 1)) for name in ("m", "s")}
    return {"u": _random((max(32 // scale, 1), 3, 512, 512), "uint8"), **channels}


def _transposed(scale):
    side = 3500 // scale
    return {"a": _random((side, side)), "b": _random((side, side)).T}


def _many(scale):
    return {f"x{number}": _random((1000 // scale, 1000)) for number in range(64)}


def _chain(arrays, out):
    a, r, c = arrays["a"], arrays["r"], arrays["c"]
    np.add(np.multiply(a, r, out=out), c, out=out)
    for _ in range(5):
        np.add(np.multiply(out, r, out=out), c, out=out)


def _normalise(arrays, out):
    np.subtract(arrays["x"], arrays["m"], out=out)
    np.divide(out, arrays["s"], out=out)
    np.multiply(out, arrays["g"], out=out)
    np.add(out, arrays["b"], out=out)


def _softmax(arrays, out):
    np.exp(np.subtract(arrays["x"], arrays["m"], out=out), out=out)
    np.divide(out, arrays["s"], out=out)


def _distances(arrays, out):
    np.square(np.subtract(arrays["x"], arrays["y"], out=out), out=out)
    other = np.subtract(arrays["z"], arrays["w"])
    np.add(out, np.square(other, out=other), out=out)
    np.sqrt(out, out=out)


def _sum_of_many(arrays, out):
    first, second, *others = arrays.values()
    np.add(first, second, out=out)
    for other in others:
        np.add(out, other, out=out)


def _where(arrays, out):
    np.copyto(out, arrays["b"])
    np.copyto(out, arrays["a"], where=arrays["a"] > arrays["b"])


def _two(ufunc, x="a", y="b"):
    return lambda arrays, out: ufunc(arrays[x], arrays[y], out=out)


LARGE = [
    Workload("same shape", "a + b", _shaped(a=(-4000, 3000), b=(-4000, 3000)), _two(np.add)),
    Workload("row", "a + r", _shaped(a=(-4000, 3000), r=(3000,)), _two(np.add, "a", "r")),
    Workload("column", "a + c", _shaped(a=(-4000, 3000), c=(-4000, 1)), _two(np.add, "a", "c")),
    Workload("outer product", "c * r", _shaped(c=(-8000, 1), r=(3000,)), _two(np.multiply, "c", "r")),
    Workload("NCHW bias", "x + b", _shaped(x=(-32, 64, 80, 80), b=(64, 1, 1)), _two(np.add, "x")),
    Workload("rows of 3, row", "p + t", _shaped(p=(-8000000, 3), t=(3,)), _two(np.add, "p", "t")),
    Workload("rows of 3, column", "p * k", _shaped(p=(-8000000, 3), k=(-8000000, 1)), _two(np.multiply, "p", "k")),
    Workload("middle dimension", "a + b", _shaped(a=(-200, 300, 200), b=(-200, 1, 200)), _two(np.add)),
    Workload("rank 4", "a + b", _rank_4, _two(np.add)),
    Workload("transposed", "a + b", _transposed, _two(np.add)),
    Workload(
        "multiply and add",
        "a * r + c",
        _shaped(a=(-4000, 3000), r=(3000,), c=(-4000, 1)),
        lambda arrays, out: np.add(np.multiply(arrays["a"], arrays["r"], out=out), arrays["c"], out=out),
        fused=True,
    ),
    Workload(
        "normalise",
        "(x - m) / s * g + b",
        _shaped(x=(-4000, 3000), m=(-4000, 1), s=(-4000, 1), g=(3000,), b=(3000,)),
        _normalise,
        fused=True,
    ),
    Workload(
        "softmax",
        "exp(x - m) / s",
        _shaped(x=(-4000, 3000), m=(-4000, 1), s=(-4000, 1)),
        _softmax,
        fused=True,
    ),
    Workload(
        "uint8 images",
        "(u - m) / s",
        _images,
        lambda arrays, out: np.divide(np.subtract(arrays["u"], arrays["m"], out=out), arrays["s"], out=out),
        fused=True,
    ),
    Workload(
        "distances, f64",
        "sqrt((x - y) ** 2 + (z - w) ** 2)",
        _shaped("float64", x=(-3000, 1), y=(3000,), z=(-3000, 1), w=(3000,)),
        _distances,
        fused=True,
    ),
    Workload("where", "where(a > b, a, b)", _shaped(a=(-4000, 3000), b=(-4000, 3000)), _where, fused=True),
    Workload(
        "exp",
        "exp(a) * b",
        _shaped(a=(-4000, 3000), b=(-4000, 3000)),
        lambda arrays, out: np.multiply(np.exp(arrays["a"], out=out), arrays["b"], out=out),
        fused=True,
    ),
    Workload("i8", "a + r", _shaped("int8", a=(-16000, 3000), r=(3000,)), _two(np.add, "a", "r"), no_numexpr=True),
    Workload("i32", "a + r", _shaped("int32", a=(-4000, 3000), r=(3000,)), _two(np.add, "a", "r")),
    Workload("u8", "a + r", _shaped("uint8", a=(-16000, 3000), r=(3000,)), _two(np.add, "a", "r"), no_numexpr=True),
    Workload("f16", "a + r", _shaped("float16", a=(-8000, 3000), r=(3000,)), _two(np.add, "a", "r"), no_numexpr=True),
    Workload("bool", "a & r", _shaped("bool", a=(-16000, 3000), r=(3000,)), _two(np.bitwise_and, "a", "r")),
    Workload(
        "complex64",
        "a * r",
        _shaped("complex64", a=(-2000, 3000), r=(3000,)),
        _two(np.multiply, "a", "r"),
        no_numexpr=True,
    ),
    Workload(
        "12 operators",
        "(((((a * r + c) * r + c) * r + c) * r + c) * r + c) * r + c",
        _shaped(a=(-4000, 3000), r=(3000,), c=(-4000, 1)),
        _chain,
        fused=True,
    ),
    Workload(
        "rank 8",
        "a + b",
        lambda scale: {"a": _random((8, 1) * 4), "b": _random((1, 8) * 4)},
        _two(np.add),
    ),
    Workload("64 operands", " + ".join(f"x{number}" for number in range(64)), _many, _sum_of_many, fused=True),
]

TINY = Workload("tiny", "a + b", lambda scale: {"a": _random((8, 1, 6, 1)), "b": _random((7, 1, 5))}, _two(np.add))
TEN = Workload("10 elements", "a + b", lambda scale: {"a": _random((10,)), "b": _random((10,))}, _two(np.add))
SMALL = [TINY, TEN]

#: The workloads of the size sweep: each array is a matrix of n x n, a row of n or a column of n x 1.
SQUARE = {
    "same shape": {"a": "matrix", "b": "matrix"},
    "row": {"a": "matrix", "r": "row"},
    "column": {"a": "matrix", "c": "column"},
    "outer product": {"c": "column", "r": "row"},
    "multiply and add": {"a": "matrix", "r": "row", "c": "column"},
    "normalise": {"x": "matrix", "m": "column", "s": "column", "g": "row", "b": "row"},
    "softmax": {"x": "matrix", "m": "column", "s": "column"},
    "12 operators": {"a": "matrix", "r": "row", "c": "column"},
}


def square(name, n):
    """A workload of the sweep with float32 arrays of n x n."""
    shapes = {"matrix": (n, n), "row": (n,), "column": (n, 1)}
    workload = next(workload for workload in LARGE if workload.name == name)
    return replace(workload, arrays=lambda scale: {x: _random(shapes[kind]) for x, kind in SQUARE[name].items()})
