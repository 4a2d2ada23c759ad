"""Reductions of arrays in chunks: a partial result of each chunk, merged in any order, then finished.

A partial result is a dictionary of arrays, whose reduced axes have size 1. It is None for a chunk without elements, if
the reduction has no result for that. Element-wise work before the reduction is fused with it: what is reduced is a lazy
value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import unishape
from unishape import Lazy, _steps, lazy

#: The partial result of a chunk, or of several.
Part = dict[str, Any]

#: Larger than all indices.
_NO_INDEX = np.iinfo(np.int64).max

#: Reductions whose partial results are merged by a method of their own.
_FOLDS = {
    "sum": "sum",
    "prod": "prod",
    "min": "min",
    "max": "max",
    "any": "any",
    "all": "all",
    "count_nonzero": "sum",
    "norm1": "sum",
    "norm2": "sum",
    "norminf": "max",
}


class Reduction(NamedTuple):
    """A reduction of some axes, which are not negative. Axes are kept, with size 1."""

    name: str
    axes: tuple[int, ...]
    ddof: float
    initial: complex | None
    #: The dtype that was requested, if any.
    requested: str | None
    #: Dtype of the result.
    dtype: np.dtype


def check(reduction: Reduction) -> None:
    """Raises TypeError for a reduction that has no partial results."""
    is_variance = reduction.name in ("var", "std")
    if is_variance and reduction.requested is not None and reduction.dtype.kind in "biu":
        raise TypeError(f"{reduction.name} of arrays in chunks does not support {reduction.dtype}; use a float dtype")


def partial(
    reduction: Reduction, x: Lazy, mask: Lazy | None, starts: Sequence[int], sizes: Sequence[int]
) -> Part | None:
    """The partial result of a chunk.

    Parameters
    ----------
    x, mask : Lazy
        The elements of the chunk, and which of them take part.
    starts, sizes : sequence of int
        For positions: the index of the chunk's first element, and the size of the whole array, along each axis.
    """
    name, over = reduction.name, {"axis": reduction.axes, "keepdims": True}
    if mask is not None:
        mask = mask.astype(bool)
        shape = np.broadcast_shapes(x.shape, mask.shape)
        x, mask = np.broadcast_to(x, shape), np.broadcast_to(mask, shape)
    is_empty = any(x.shape[axis] == 0 for axis in reduction.axes)
    if is_empty and (name in ("argmin", "argmax", "norminf") or (name in ("min", "max") and reduction.initial is None)):
        return None
    shape = tuple(1 if axis in reduction.axes else size for axis, size in enumerate(x.shape))
    if name in ("argmin", "argmax"):
        return _position(reduction, x, starts, sizes)
    if name in ("mean", "var", "std"):
        count = _compute(mask.sum(dtype=np.int64, **over)) if mask is not None else _count(x.shape, reduction.axes)
        if name == "mean":
            dtype = reduction.dtype
            return {"count": count, "sum": _compute(x.astype(dtype).sum(dtype=_wide(dtype), where=mask, **over))}
        x = x.astype(_wide(np.dtype(reduction.requested) if reduction.requested else _float(x.dtype)))
        # The mean of no elements is NaN.
        mean = np.zeros(shape, x.dtype) if is_empty else _compute(x.mean(where=mask, **over))
        return {"count": count, "mean": mean, "m2": _compute(_squares(x - mean).sum(where=mask, **over))}
    if name == "logsumexp":
        x = x.astype(_wide(_float(x.dtype)))
        if is_empty:
            return {"max": np.full(shape, -np.inf, x.dtype), "sum": np.zeros(shape, x.dtype)}
        largest = _compute(x.max(**over))
        return {"max": largest, "sum": _compute(unishape.exp(x - _finite(lazy(largest))).sum(**over))}
    return {"value": _compute(_fold(reduction, x, mask, over))}


def _fold(reduction: Reduction, x: Lazy, mask: Lazy | None, over: dict[str, Any]) -> Lazy:
    name = reduction.name
    if name in ("sum", "prod"):
        # Through the dtype of the result: its range decides what is summed.
        return getattr(x.astype(reduction.dtype), name)(dtype=_wide(reduction.dtype), where=mask, **over)
    if name in ("min", "max"):
        return getattr(x, name)(initial=reduction.initial, where=mask, **over)
    if name in ("any", "all"):
        return getattr(x, name)(where=mask, **over)
    if name == "count_nonzero":
        return x.count_nonzero(**over)
    x = x.astype(_wide(_float(x.dtype)))
    if name == "norm2":
        return _squares(x).sum(**over)
    return x.norm(1 if name == "norm1" else math.inf, **over)


def _position(reduction: Reduction, x: Lazy, starts: Sequence[int], sizes: Sequence[int]) -> Part:
    """The extreme element, and the index of the first one in the whole array, row by row."""
    index: Any = 0
    stride = 1
    for axis in sorted(reduction.axes, reverse=True):
        positions = (np.arange(x.shape[axis], dtype=np.int64) + starts[axis]) * stride
        index = index + lazy(positions.reshape((-1,) + (1,) * (x.ndim - 1 - axis)))
        stride *= sizes[axis]
    over = {"axis": reduction.axes, "keepdims": True}
    value = _compute(getattr(x, reduction.name[3:])(**over))
    return {"value": value, "index": _compute(_first(x, value, index).min(**over))}


def _first(x: Lazy, value: np.ndarray, index: Any) -> Lazy:
    """The index where an element is the extreme value or NaN, and a larger one elsewhere."""
    is_found = x == value
    if x.dtype.kind not in "biu":
        is_found = is_found | (x != x)
    return unishape.where(is_found, index, _NO_INDEX)


def merge(reduction: Reduction, parts: Sequence[Part | None]) -> Part | None:
    """One partial result of several."""
    parts = [part for part in parts if part is not None]
    if len(parts) < 2:
        return parts[0] if parts else None
    name = reduction.name
    stacked = {key: lazy(np.stack([np.asarray(part[key]) for part in parts])) for key in parts[0]}
    if name in _FOLDS:
        value = stacked["value"]
        options = {"dtype": value.dtype} if _FOLDS[name] in ("sum", "prod") else {}
        return {"value": _compute(getattr(value, _FOLDS[name])(axis=0, **options))}
    if name == "mean":
        total = stacked["sum"]
        count = _compute(stacked["count"].sum(axis=0))
        return {"count": count, "sum": _compute(total.sum(axis=0, dtype=total.dtype))}
    if name in ("argmin", "argmax"):
        values = stacked["value"]
        value = _compute(getattr(values, name[3:])(axis=0))
        return {"value": value, "index": _compute(_first(values, value, stacked["index"]).min(axis=0))}
    if name == "logsumexp":
        largest = _compute(stacked["max"].max(axis=0))
        scaled = stacked["sum"] * unishape.exp(stacked["max"] - _finite(lazy(largest)))
        return {"max": largest, "sum": _compute(scaled.sum(axis=0))}
    # Variances, in double precision: deviations inside each part, and those of its mean from the common one.
    means, counts = stacked["mean"], stacked["count"].astype(np.float64)
    means = unishape.where(counts > 0, means.astype(np.complex128 if means.dtype.kind == "c" else np.float64), 0)
    count = _compute(counts.sum(axis=0))
    mean = _compute(unishape.where(lazy(count) > 0, (counts * means).sum(axis=0) / count, 0))
    between = (counts * _squares(means - mean)).sum(axis=0)
    return {"count": count, "mean": mean, "m2": _compute(stacked["m2"].astype(np.float64).sum(axis=0) + between)}


def finish(reduction: Reduction, part: Part | None) -> np.ndarray:
    """The result, with axes of size 1."""
    name = reduction.name
    if part is None:
        function = _steps.function_name(name)
        raise ValueError(f"{function} of no elements is not defined: an axis that is reduced has size 0")
    values = {key: lazy(value) for key, value in part.items()}
    if name in ("argmin", "argmax"):
        return np.asarray(part["index"])
    if name == "mean":
        total = values["sum"]
        total = total.astype(np.float64) if total.dtype.kind in "biu" else total
        # As a Python number it does not change the dtype.
        count = part["count"].item() if part["count"].size == 1 else values["count"].astype(_real(total.dtype))
        result = total / count
    elif name in ("var", "std"):
        result = values["m2"] / unishape.maximum(values["count"] - reduction.ddof, 0)
        result = unishape.sqrt(result) if name == "std" else result
    elif name == "logsumexp":
        result = unishape.log(values["sum"]) + _finite(values["max"])
    elif name == "norm2":
        result = unishape.sqrt(values["value"])
    elif reduction.initial is not None:
        result = values["value"][None]
        options = {"dtype": result.dtype} if name in ("sum", "prod") else {}
        result = getattr(result, name)(axis=0, initial=reduction.initial, **options)
    else:
        result = values["value"]
    return _compute(result.astype(reduction.dtype))


def _compute(value: Lazy) -> np.ndarray:
    # On this thread: several chunks are computed at a time.
    return value.compute(threads=1)


def _count(shape: Sequence[int], axes: Sequence[int]) -> np.ndarray:
    """The number of elements that are reduced, as an array that can be broadcast with the others."""
    return np.full((1,) * len(shape), math.prod(shape[axis] for axis in axes))


def _squares(x: Lazy) -> Lazy:
    """Squares of absolute values."""
    return unishape.real(x * unishape.conj(x)) if x.dtype.kind == "c" else unishape.square(x)


def _finite(x: Lazy) -> Lazy:
    """0 in place of infinities and NaN, from which a difference would be NaN."""
    return unishape.where(unishape.isfinite(x), x, 0)


def _float(dtype: np.dtype) -> np.dtype:
    """The dtype of a mean."""
    return np.dtype(np.float64) if dtype.kind in "biu" else dtype


def _wide(dtype: np.dtype) -> np.dtype:
    """The dtype that half precision is accumulated in; others are their own."""
    is_half = dtype.kind not in "biuc" and dtype.itemsize == 2
    return np.dtype(np.float32) if is_half else dtype


def _real(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype
