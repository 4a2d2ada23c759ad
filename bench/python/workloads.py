"""The workloads: those of the Rust benchmark, as expressions and arrays."""

from dataclasses import dataclass, replace
from math import isqrt
from types import ModuleType
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
    #: The functions of NumPy or PyTorch (the module) into a preallocated output, with as few temporary arrays as
    #: possible.
    into: Callable[[ModuleType, dict, object], object]
    #: More than one operator.
    fused: bool = False
    #: numexpr lacks the dtype, or computes in another.
    no_numexpr: bool = False


def _random(shape, dtype="float32"):
    generator = np.random.default_rng(len(shape) + sum(shape))
    if np.dtype(dtype).kind == "c":
        return (generator.random(shape) + 1j * generator.random(shape)).astype(dtype)
    if dtype == "float32":
        return generator.random(shape, dtype) + np.float32(0.5)
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


def _chain(module, arrays, out):
    r, c = arrays["r"], arrays["c"]
    module.add(module.multiply(arrays["a"], r, out=out), c, out=out)
    for _ in range(5):
        module.add(module.multiply(out, r, out=out), c, out=out)


def _multiply_add(module, arrays, out):
    module.add(module.multiply(arrays["a"], arrays["r"], out=out), arrays["c"], out=out)


def _normalise(module, arrays, out):
    module.subtract(arrays["x"], arrays["m"], out=out)
    module.divide(out, arrays["s"], out=out)
    module.multiply(out, arrays["g"], out=out)
    module.add(out, arrays["b"], out=out)


def _softmax(module, arrays, out):
    module.exp(module.subtract(arrays["x"], arrays["m"], out=out), out=out)
    module.divide(out, arrays["s"], out=out)


def _images_into(module, arrays, out):
    module.divide(module.subtract(arrays["u"], arrays["m"], out=out), arrays["s"], out=out)


def _distances(module, arrays, out):
    module.square(module.subtract(arrays["x"], arrays["y"], out=out), out=out)
    other = module.subtract(arrays["z"], arrays["w"])
    module.add(out, module.square(other, out=other), out=out)
    module.sqrt(out, out=out)


def _sum_of_many(module, arrays, out):
    first, second, *others = arrays.values()
    module.add(first, second, out=out)
    for other in others:
        module.add(out, other, out=out)


def _where(module, arrays, out):
    a, b = arrays["a"], arrays["b"]
    if module is np:  # its `where` has no `out`
        np.copyto(out, b)
        np.copyto(out, a, where=a > b)
    else:
        module.where(a > b, a, b, out=out)


def _exp(module, arrays, out):
    module.multiply(module.exp(arrays["a"], out=out), arrays["b"], out=out)


def _two(function, x="a", y="b"):
    """A single operator, by the name of its function."""
    return lambda module, arrays, out: getattr(module, function)(arrays[x], arrays[y], out=out)


LARGE = [
    Workload("same shape", "a + b", _shaped(a=(-4000, 3000), b=(-4000, 3000)), _two("add")),
    Workload("row", "a + r", _shaped(a=(-4000, 3000), r=(3000,)), _two("add", "a", "r")),
    Workload("column", "a + c", _shaped(a=(-4000, 3000), c=(-4000, 1)), _two("add", "a", "c")),
    Workload("outer product", "c * r", _shaped(c=(-8000, 1), r=(3000,)), _two("multiply", "c", "r")),
    Workload("NCHW bias", "x + b", _shaped(x=(-32, 64, 80, 80), b=(64, 1, 1)), _two("add", "x")),
    Workload("rows of 3, row", "p + t", _shaped(p=(-8000000, 3), t=(3,)), _two("add", "p", "t")),
    Workload("rows of 3, column", "p * k", _shaped(p=(-8000000, 3), k=(-8000000, 1)), _two("multiply", "p", "k")),
    Workload("middle dimension", "a + b", _shaped(a=(-200, 300, 200), b=(-200, 1, 200)), _two("add")),
    Workload("rank 4", "a + b", _rank_4, _two("add")),
    Workload("transposed", "a + b", _transposed, _two("add")),
    Workload(
        "multiply and add",
        "a * r + c",
        _shaped(a=(-4000, 3000), r=(3000,), c=(-4000, 1)),
        _multiply_add,
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
        _images_into,
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
        _exp,
        fused=True,
    ),
    Workload("i8", "a + r", _shaped("int8", a=(-16000, 3000), r=(3000,)), _two("add", "a", "r"), no_numexpr=True),
    Workload("i32", "a + r", _shaped("int32", a=(-4000, 3000), r=(3000,)), _two("add", "a", "r")),
    Workload("u8", "a + r", _shaped("uint8", a=(-16000, 3000), r=(3000,)), _two("add", "a", "r"), no_numexpr=True),
    Workload("f16", "a + r", _shaped("float16", a=(-8000, 3000), r=(3000,)), _two("add", "a", "r"), no_numexpr=True),
    Workload("bool", "a & r", _shaped("bool", a=(-16000, 3000), r=(3000,)), _two("bitwise_and", "a", "r")),
    Workload(
        "complex64",
        "a * r",
        _shaped("complex64", a=(-2000, 3000), r=(3000,)),
        _two("multiply", "a", "r"),
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
        _two("add"),
    ),
    Workload("64 operands", " + ".join(f"x{number}" for number in range(64)), _many, _sum_of_many, fused=True),
]

TINY = Workload("tiny", "a + b", lambda scale: {"a": _random((8, 1, 6, 1)), "b": _random((7, 1, 5))}, _two("add"))
TEN = Workload("10 elements", "a + b", lambda scale: {"a": _random((10,)), "b": _random((10,))}, _two("add"))
SMALL = [TINY, TEN]



def split(elements):
    """The shape of a matrix with this number of elements, as square as possible."""
    rows = next(rows for rows in range(isqrt(elements), 0, -1) if elements % rows == 0)
    return rows, elements // rows


def _images_of(elements):
    """Shapes of a batch of images, NCHW, of at most 64 channels, and of a bias per channel."""
    planes, pixels = split(elements)
    channels = max(channels for channels in range(1, 65) if planes % channels == 0)
    return {"x": (planes // channels, channels, *split(pixels)), "b": (channels, 1, 1)}


def _matrices(**kinds):
    """Shapes of a matrix, of its transpose, and of rows and columns for it."""

    def shapes(elements):
        rows, columns = split(elements)
        every = {"matrix": (rows, columns), "transposed": (columns, rows), "row": (columns,), "column": (rows, 1)}
        return {name: every[kind] for name, kind in kinds.items()}

    return shapes


#: The workloads of the sweep: name, the workload above that it resizes, and the shapes for a number of elements.
SWEEP = {
    "a + b": ("same shape", _matrices(a="matrix", b="matrix")),
    "a + row": ("row", _matrices(a="matrix", r="row")),
    "a * column": ("column", _matrices(a="matrix", c="column")),
    "outer product": ("outer product", _matrices(c="column", r="row")),
    "NCHW bias": ("NCHW bias", _images_of),
    "rows of 3 + row": ("rows of 3, row", lambda elements: {"p": (elements // 3, 3), "t": (3,)}),
    "a + b.T": ("transposed", _matrices(a="matrix", b="transposed")),
    "where": ("where", _matrices(a="matrix", b="matrix")),
    "exp(a) * b": ("exp", _matrices(a="matrix", b="matrix")),
    "normalise": ("normalise", _matrices(x="matrix", m="column", s="column", g="row", b="row")),
    "12 operators": ("12 operators", _matrices(a="matrix", r="row", c="column")),
}


def sized(name, elements, dtype="float32"):
    """A workload of the sweep whose result has about this number of elements."""
    like, shapes = SWEEP[name]

    def arrays(scale):
        made = {x: _random(shape, dtype) for x, shape in shapes(elements).items()}
        if name == "a + b.T":
            made["b"] = made["b"].T
        return made

    workload = replace(next(each for each in LARGE if each.name == like), name=name, arrays=arrays)
    if name == "a * column":
        workload = replace(workload, text="a * c", into=_two("multiply", "a", "c"))
    return workload
