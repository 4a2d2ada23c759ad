"""Workloads of `cargo xtask bench reduce`: expressions with reductions, for each library. Needs only NumPy.

A formula takes the module of a library (`numpy`, `jax.numpy` or `torch`) and the arrays. Where a library has a
function of its own for the workload, such as `torch.softmax`, it uses that.
"""

from dataclasses import dataclass, field, replace
from typing import Callable

import numpy as np

#: Rows of the reference that are computed at once take this number of elements.
CHUNK = 2 * 10**6
#: Chunks of rows that are compared with the reference, evenly spaced; all where there are fewer.
MOST_CHUNKS = 24


@dataclass(frozen=True)
class Reduction:
    """A workload of certain sizes."""

    name: str
    #: Expression of unishape.
    text: str
    #: Shapes of the arrays, by name, in the order of the formula's arguments.
    shapes: dict
    #: The same in NumPy, JAX and PyTorch.
    formula: Callable
    #: A few thousand elements: the cost of a call dominates.
    small: bool = False
    #: Values of the arrays: "uniform" in [0, 1), "normal", or "bool"; uniform unless given.
    values: dict = field(default_factory=dict)
    #: Names of the arrays whose first axis is that of the result, or empty: the reference has one chunk.
    rows: tuple = ()
    #: In PyTorch, JAX, numexpr and KeOps, where they differ from the formula.
    torch: Callable | None = None
    jax: Callable | None = None
    numexpr: Callable | None = None
    keops: Callable | None = None
    #: The error of a result, given the reference and the float64 arrays.
    error: Callable | None = None

    def arrays(self):
        """The arrays; the same values in each run."""
        generator = np.random.default_rng(1)
        made = {}
        for name, shape in self.shapes.items():
            match self.values.get(name, "uniform"):
                case "uniform":
                    made[name] = generator.random(shape, "float32")
                case "normal":
                    made[name] = generator.standard_normal(shape, "float32")
                case "bool":
                    made[name] = generator.random(shape, "float32") < 0.7
        return made

    def sizes(self):
        """The shapes in words, as in `6000x3`."""
        return ", ".join(dict.fromkeys("x".join(map(str, shape)) for shape in self.shapes.values()))


def relative_error(result, expected, _arrays):
    """The largest difference, relative to the largest element of the reference."""
    return float(np.max(np.abs(result - expected)) / np.max(np.abs(expected)))


def neighbour_error(result, expected, arrays):
    """How much farther the found points are than the nearest ones; equal distances may have several indices."""
    x, y = arrays["x"], arrays["y"]
    found, nearest = (np.sum((x - y[each]) ** 2, -1) for each in (result, expected))
    return float(np.max(found - nearest) / np.max(nearest))


def errors(workload, arrays, results):
    """The error of each contestant's result, compared with float64.

    Large workloads are compared in `MOST_CHUNKS` chunks of rows. A result of another shape has an infinite error.
    """
    double = {name: array.astype("float64") if array.dtype == "float32" else array for name, array in arrays.items()}
    compare = workload.error or relative_error
    results = {name: np.asarray(result) for name, result in results.items()}
    found = dict.fromkeys(results, 0.0)
    length, step = 1, 1
    if workload.rows:
        first = arrays[workload.rows[0]]
        # A row of a pairwise workload is combined with all elements of the other arrays.
        others = [array.size for name, array in arrays.items() if name not in workload.rows]
        length, step = len(first), max(1, CHUNK // max([first[0].size, *others]))
    starts = range(0, length, step)
    for start in starts[:: max(1, len(starts) // MOST_CHUNKS)]:
        part = slice(start, start + step)
        inputs = {name: array[part] if name in workload.rows else array for name, array in double.items()}
        expected = np.asarray(workload.formula(np, *inputs.values()))
        for name, result in results.items():
            chunk = result[part] if workload.rows else result
            error = compare(chunk, expected, inputs) if chunk.shape == expected.shape else np.inf
            # A NaN counts as wrong.
            found[name] = max(found[name], error if error == error else np.inf)
    return found


def _distances(x, y):
    """Squared distances of all pairs of points."""
    return ((x[:, None] - y) ** 2).sum(-1)


def _coordinates(x, y):
    """The coordinates of points in space as columns and rows, for numexpr, whose constants such as 0.01 are float64."""
    columns = {f"x{axis}": x[:, axis, None] for axis in range(3)}
    return columns | {f"y{axis}": y[:, axis] for axis in range(3)} | {"e": np.float32(0.01)}


#: numexpr has no reduction inside an expression: the coordinates are written out.
_NUMEXPR_DISTANCES = "((x0 - y0) ** 2 + (x1 - y1) ** 2 + (x2 - y2) ** 2)"


def _numexpr_pairs(text):
    """A sum over all y, for each x, in numexpr."""
    text = f"sum({text.format(_NUMEXPR_DISTANCES)}, axis=1)"
    return lambda ne, x, y, w=None: ne.evaluate(text, _coordinates(x, y) | ({} if w is None else {"w": w}))


def _numexpr(text):
    """An expression of numexpr with the names a, b and c."""
    return lambda ne, *arrays: ne.evaluate(text, dict(zip("abc", arrays)))


def _keops_distances(lazy, x, y):
    return ((lazy(x[:, None, :]) - lazy(y[None, :, :])) ** 2).sum(-1)


def _keops_exp(lazy, a, b):
    return (lazy(a[:, None, None]) * lazy(b[None, :, None])).exp().sum(1)


def _softmax(m, x):
    exp = m.exp(x - m.max(x, -1, keepdims=True))
    return exp / m.sum(exp, -1, keepdims=True)


def _layer_norm(m, x):
    return (x - m.mean(x, -1, keepdims=True)) / m.sqrt(m.var(x, -1, keepdims=True) + 1e-5)


def _jax_softmax(_, x):
    import jax

    return jax.nn.softmax(x, -1)


def _torch_masked_mean(torch, x, k):
    return torch.where(k, x, 0).sum(1) / k.sum(1)


def _numexpr_masked_mean(ne, x, k):
    arrays = {"x": x, "k": k}
    return ne.evaluate("sum(where(k, x, 0), axis=1)", arrays) / ne.evaluate("sum(where(k, 1, 0), axis=1)", arrays)


def _points(count, dimensions=3):
    return {"x": (count, dimensions), "y": (count, dimensions)}


_N_BODY = Reduction(
    name="n-body potential",
    text="sum(w / sqrt(sum((x[:, None] - y) ** 2, -1) + 0.01), 1)",
    shapes={**_points(6000), "w": (6000,)},
    rows=("x",),
    formula=lambda m, x, y, w: (w / m.sqrt(_distances(x, y) + 0.01)).sum(1),
    numexpr=_numexpr_pairs("w / sqrt({} + e)"),
    keops=lambda lazy, x, y, w: (lazy(w[None, :, None]) / (_keops_distances(lazy, x, y) + 0.01).sqrt()).sum(1)[:, 0],
)
_RBF = Reduction(
    name="RBF kernel sum",
    text="sum(exp(-sum((x[:, None] - y) ** 2, -1)), 1)",
    shapes=_points(6000),
    rows=("x",),
    formula=lambda m, x, y: m.exp(-_distances(x, y)).sum(1),
    numexpr=_numexpr_pairs("exp(-{})"),
    keops=lambda lazy, x, y: (-_keops_distances(lazy, x, y)).exp().sum(1)[:, 0],
)
_NEAREST = Reduction(
    name="nearest neighbour",
    text="argmin(sum((x[:, None] - y) ** 2, -1), 1)",
    shapes=_points(6000),
    rows=("x",),
    formula=lambda m, x, y: _distances(x, y).argmin(1),
    keops=lambda lazy, x, y: _keops_distances(lazy, x, y).argmin(1)[:, 0],
    error=neighbour_error,
)
_EXP_ROWS = Reduction(
    name="exp(a_i * b_j), rows",
    text="sum(exp(a[:, None] * b), 1)",
    shapes={"a": (6000,), "b": (6000,)},
    rows=("a",),
    formula=lambda m, a, b: m.exp(a[:, None] * b).sum(1),
    numexpr=lambda ne, a, b: ne.evaluate("sum(exp(a * b), axis=1)", {"a": a[:, None], "b": b}),
    keops=lambda lazy, a, b: _keops_exp(lazy, a, b)[:, 0],
)
_EXP_ALL = Reduction(
    name="exp(a_i * b_j), all",
    text="sum(exp(a[:, None] * b))",
    shapes={"a": (6000,), "b": (6000,)},
    formula=lambda m, a, b: m.exp(a[:, None] * b).sum(),
    numexpr=lambda ne, a, b: ne.evaluate("sum(exp(a * b))", {"a": a[:, None], "b": b}),
    keops=lambda lazy, a, b: _keops_exp(lazy, a, b).sum(),
)
_PAIRWISE = Reduction(
    name="squared distances",
    text="sum((x[:, None] - y) ** 2, -1)",
    shapes=_points(2000, 64),
    rows=("x",),
    formula=lambda m, x, y: _distances(x, y),
    numexpr=lambda ne, x, y: ne.evaluate("sum((x - y) ** 2, axis=2)", {"x": x[:, None], "y": y}),
)
_DOT = Reduction(
    name="sum(a * b, axis=0)",
    text="sum(a * b, axis=0)",
    shapes={"a": (4000, 3000), "b": (4000, 3000)},
    formula=lambda m, a, b: (a * b).sum(0),
    numexpr=_numexpr("sum(a * b, axis=0)"),
)
_DOT_ROWS = replace(
    _DOT,
    name="sum(a * b, axis=1)",
    text="sum(a * b, axis=1)",
    formula=lambda m, a, b: (a * b).sum(1),
    numexpr=_numexpr("sum(a * b, axis=1)"),
)
_DOT_ALL = replace(
    _DOT,
    name="sum(a * b)",
    text="sum(a * b)",
    formula=lambda m, a, b: (a * b).sum(),
    numexpr=_numexpr("sum(a * b)"),
)
_MAX = Reduction(
    name="max(abs(a - c), 1)",
    text="max(abs(a - c), 1)",
    shapes={"a": (4000, 3000), "c": (4000, 1)},
    formula=lambda m, a, c: m.abs(a - c).max(1),
    torch=lambda torch, a, c: torch.amax(torch.abs(a - c), 1),
    numexpr=lambda ne, a, c: ne.evaluate("max(abs(a - c), axis=1)", {"a": a, "c": c}),
)
_CHANNELS = Reduction(
    name="variance of each channel",
    text="var(x, (0, 2, 3))",
    shapes={"x": (32, 64, 80, 80)},
    values={"x": "normal"},
    formula=lambda m, x: m.var(x, (0, 2, 3)),
    torch=lambda torch, x: torch.var(x, (0, 2, 3), correction=0),
)
_ACROSS = replace(
    _CHANNELS,
    name="variance across channels",
    text="var(x, 1)",
    formula=lambda m, x: m.var(x, 1),
    torch=lambda torch, x: torch.var(x, 1, correction=0),
)
_SOFTMAX = Reduction(
    name="softmax",
    text="softmax(x, -1)",
    shapes={"x": (20000, 1024)},
    values={"x": "normal"},
    rows=("x",),
    formula=_softmax,
    torch=lambda torch, x: torch.softmax(x, -1),
    jax=_jax_softmax,
)
_LAYER_NORM = Reduction(
    name="layer norm",
    text="layer_norm(x, -1)",
    shapes={"x": (20000, 1024)},
    values={"x": "normal"},
    rows=("x",),
    formula=_layer_norm,
    torch=lambda torch, x: torch.nn.functional.layer_norm(x, x.shape[-1:]),
)
_MASKED = Reduction(
    name="masked mean",
    text="mean(x, 1, where=k)",
    shapes={"x": (4000, 3000), "k": (4000, 3000)},
    values={"k": "bool"},
    rows=("x", "k"),
    formula=lambda m, x, k: m.mean(x, 1, where=k),
    torch=_torch_masked_mean,
    numexpr=_numexpr_masked_mean,
)


def _sized(workload, count):
    """A pairwise workload of `count` points."""
    shapes = {name: (count, *shape[1:]) for name, shape in workload.shapes.items()}
    return replace(workload, name=f"{workload.name}, {count}", shapes=shapes)


def _small(workload, **shapes):
    return replace(workload, name=f"{workload.name}, small", shapes=shapes, small=True)


_PAIRS = (_N_BODY, _RBF, _NEAREST)
LARGE = [
    *(_sized(workload, count) for count in (6000, 20000) for workload in _PAIRS),
    *(_EXP_ROWS, _EXP_ALL, _PAIRWISE, _DOT, _DOT_ROWS, _DOT_ALL, _MAX, _CHANNELS, _ACROSS, _SOFTMAX, _LAYER_NORM, _MASKED),
]
SMALL = [
    _small(_N_BODY, **_points(64), w=(64,)),
    *(_small(workload, **_points(64)) for workload in (_RBF, _NEAREST)),
    *(_small(workload, a=(64,), b=(64,)) for workload in (_EXP_ROWS, _EXP_ALL)),
    _small(_PAIRWISE, **_points(16, 16)),
    *(_small(workload, a=(50, 80), b=(50, 80)) for workload in (_DOT, _DOT_ROWS, _DOT_ALL)),
    _small(_MAX, a=(50, 80), c=(50, 1)),
    *(_small(workload, x=(4, 8, 10, 10)) for workload in (_CHANNELS, _ACROSS)),
    *(_small(workload, x=(16, 256)) for workload in (_SOFTMAX, _LAYER_NORM)),
    _small(_MASKED, x=(50, 80), k=(50, 80)),
]
WORKLOADS = {workload.name: workload for workload in [*LARGE, *SMALL]}


def like_small(workload):
    """The small workload of the same expression."""
    return next(each for each in SMALL if each.text == workload.text)
