"""Expressions and broadcasting over Dask arrays.

All functions are lazy: each adds one blockwise layer to Dask's graph. A worker computes each block of the result in
one pass. Stretched dimensions are transferred with size 1 and broadcast where they are read.

>>> import dask.array as da, unishape.dask
>>> x = da.arange(6, chunks=2).reshape(2, 3)
>>> mean = x.mean(axis=1, keepdims=True)
>>> y = unishape.dask.evaluate("(x - mean) * 2")
>>> y
dask.array<unishape, shape=(2, 3), dtype=float64, chunksize=(1, 2), chunktype=numpy.ndarray>
>>> y.compute().tolist()
[[-2.0, 0.0, 2.0], [-2.0, 0.0, 2.0]]
"""

from __future__ import annotations

import functools
import itertools
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.layers import ArrayChunkShapeDep
except ImportError as error:
    raise ImportError("unishape.dask needs Dask: pip install unishape[dask]") from error

import unishape
from unishape import _names
from unishape._unishape import Lazy, _from_steps

__all__ = ["broadcast_arrays", "evaluate", "to_dask"]

#: What to do instead of a view or a reduction in a text, which needs more than one block.
_HINT = "use unishape.lazy, or index and reduce with Dask, as in x[:, None] or x.sum(axis=1)"

#: Chunk sizes along a dimension, as in Dask. An unknown size is NaN.
ChunkSizes = tuple[float, ...]


def evaluate(expression: str, names: Mapping[str, Any] | None = None, /, **more: Any) -> da.Array:
    """Evaluates an expression lazily, as a Dask array.

    Incompatible shapes and dtypes raise an exception here, not in a worker. Arrays in different chunks are
    rechunked to common ones, as in Dask's own arithmetic; NumPy arrays are split into the chunks of the others.

    Chunks of unknown sizes must have equal sizes in all arrays, which is checked for each block. Each block is
    computed on one thread, since Dask computes several blocks at a time.

    Parameters
    ----------
    expression : str
        As for unishape.evaluate, but element-wise: without axes and reductions.
    names : mapping, optional
        Dask arrays, NumPy arrays, lazy values and numbers by name. Other names are variables of the caller.
    **more
        Arrays and numbers by name; these take precedence over names.

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, numpy as np, unishape.dask
    >>> x = da.ones((4, 1000), chunks=(2, 500), dtype="float32")
    >>> scale = np.arange(4, dtype="float32").reshape(4, 1)
    >>> y = unishape.dask.evaluate("x * scale + k", k=0.5)
    >>> y.dtype, y.chunks
    (dtype('float32'), ((2, 2), (500, 500)))
    >>> y[:, 0].compute().tolist()
    [0.5, 1.5, 2.5, 3.5]
    """
    _names.check_element_wise(expression, "unishape.dask", _HINT)
    resolved = _names.resolve(expression, names, more, sys._getframe(1))
    values = {name: _value(name, value) for name, value in resolved.items()}
    arrays = {name: value for name, value in values.items() if isinstance(value, (da.Array, np.ndarray))}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    placeholders = {name: np.empty((0,) * array.ndim, array.dtype) for name, array in arrays.items()}
    meta = _names.evaluate_with(expression, numbers | placeholders)
    if not arrays:
        # Without placeholders, meta is the result.
        return da.from_array(meta)
    _check_shapes(arrays, lambda zeros: _names.evaluate_with(expression, numbers | zeros))
    kernel = functools.partial(_evaluate_block, expression, tuple(arrays), numbers)
    return _blockwise(kernel, arrays, meta)


def to_dask(lazy: Lazy) -> da.Array:
    """Converts a lazy value to a Dask array, without computing it.

    Parameters
    ----------
    lazy : unishape.Lazy

    Returns
    -------
    dask.array.Array

    Examples
    --------
    >>> import dask.array as da, numpy as np, unishape, unishape.dask
    >>> x = unishape.lazy(da.arange(4, chunks=2))
    >>> y = unishape.dask.to_dask(np.sqrt(x) + 1)
    >>> y.chunks, y.compute().tolist()
    (((2, 2),), [1.0, 2.0, 2.414213562373095, 2.732050807568877])
    """
    if not isinstance(lazy, Lazy):
        raise TypeError(f"to_dask takes a lazy value, not {_class_name(lazy)}; make one with unishape.lazy")
    steps, leaves = _without_views_and_reductions(*lazy._to_steps())
    # Named as in the repr of the value.
    arrays = {f"x{number}": _value(f"x{number}", leaf) for number, leaf in enumerate(leaves, 1)}
    _check_shapes(arrays)
    rank = max(array.ndim for array in arrays.values())
    return _blockwise(functools.partial(_compute_block, steps), arrays, np.empty((0,) * rank, lazy.dtype))


#: Steps of a lazy value that are views, with Dask's function of the array and the argument.
_VIEWS: dict[str, Callable[[da.Array, Any], da.Array]] = {
    "getitem": lambda array, index: array[index],
    "transpose": lambda array, axes: da.transpose(array, axes),
    "swapaxes": lambda array, axes: da.swapaxes(array, *axes),
    "expand_dims": lambda array, axes: da.expand_dims(array, axes),
    "squeeze": lambda array, axes: da.squeeze(array, None if axes is None else tuple(axes)),
    "broadcast_to": lambda array, shape: da.broadcast_to(array, shape),
}


def _without_views_and_reductions(steps: list[Any], leaves: list[Any]) -> tuple[list[Any], list[Any]]:
    """Element-wise steps: views and reductions become leaves, which Dask's own functions compute."""
    leaves, result = list(leaves), []
    for step in steps:
        name = step[0]
        if name in _VIEWS:
            array = _VIEWS[name](_step_to_dask(result, leaves, step[2]), step[1])
        elif name == "reduce":
            array = _reduce(step[1], *(_step_to_dask(result, leaves, position) for position in step[2]))
        else:
            result.append(step)
            continue
        result.append(("array", len(leaves)))
        leaves.append(array)
    # Only those leaves that are still used.
    used = _used(result, len(result) - 1)
    return _select(result, leaves, used)


def _step_to_dask(steps: list[Any], leaves: list[Any], position: int) -> da.Array:
    """The value of an element-wise step."""
    return to_dask(_from_steps(*_select(steps, leaves, _used(steps, position))))


def _inputs(step: Any) -> tuple[int, ...]:
    """Positions of the steps that an element-wise step depends on."""
    if step[0] in ("array", "scalar"):
        return ()
    return (step[2],) if step[0] == "cast" else tuple(step[1])


def _used(steps: list[Any], root: int) -> list[int]:
    """Positions of the steps that one depends on, itself included."""
    used = {root}
    for position in range(root, -1, -1):
        if position in used:
            used.update(_inputs(steps[position]))
    return sorted(used)


def _select(steps: list[Any], leaves: list[Any], used: list[int]) -> tuple[list[Any], list[Any]]:
    """Some steps, and the leaves that they need."""
    places = {position: place for place, position in enumerate(used)}
    selected, arrays = [], []
    for position in used:
        name, *rest = steps[position]
        if name == "array":
            arrays.append(leaves[rest[0]])
            selected.append((name, len(arrays) - 1))
        elif name == "scalar":
            selected.append((name, *rest))
        elif name == "cast":
            selected.append((name, rest[0], places[rest[1]]))
        else:
            selected.append((name, tuple(places[each] for each in rest[0])))
    return selected, arrays


def _reduce(arguments: Any, array: da.Array, mask: da.Array | None = None) -> da.Array:
    """A reduction by Dask: partial results of each chunk, combined in a tree."""
    name, axes, keepdims, ddof, dtype, initial = arguments
    if mask is not None or initial is not None:
        raise TypeError(f"{name} of Dask arrays does not support where= and initial=; use where(mask, x, 0)")
    options: dict[str, Any] = {"keepdims": keepdims}
    if name in ("var", "std"):
        options["ddof"] = ddof
    if dtype is not None:
        options["dtype"] = dtype
    if axes is not None:
        options["axis"] = axes[0] if len(axes) == 1 else tuple(axes)
    return getattr(da, name)(array, **options)


def _compute(lazy: Lazy, out: np.ndarray | None = None) -> np.ndarray:
    """Lazy.compute for values with Dask arrays.

    The whole result is computed before it is copied to `out`: blocks of Dask arrays may read the memory of `out`,
    and other processes cannot write to it. To store results larger than memory, use to_dask and Dask's own
    functions.
    """
    result = to_dask(lazy)
    if out is None:
        return np.asarray(result.compute())
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, not {_class_name(out)}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(
            f"cannot cast the result from {result.dtype} to {out.dtype}, the dtype of out; "
            f"pass an array of {result.dtype}"
        )
    _check_out(result.shape, out)
    computed = np.asarray(result.compute())
    _check_out(computed.shape, out)
    np.copyto(out, computed, casting="same_kind")
    return out


def _check_out(shape: Sequence[float], out: np.ndarray) -> None:
    if len(shape) != out.ndim or any(a != b and not math.isnan(a) for a, b in zip(shape, out.shape)):
        raise ValueError(f"the result has shape {tuple(shape)}, but out has shape {out.shape}")


def broadcast_arrays(*arrays: Any, rules: str = "standard", strict_rank: bool = False) -> tuple[da.Array, ...]:
    """Broadcasts arrays of any dtypes to Dask arrays of one shape in common chunks.

    Each result depends on the blocks of its own array only. In a worker, a stretched block is a view, without a
    copy.

    Parameters
    ----------
    *arrays : dask.array.Array or array_like
    rules, strict_rank
        As for unishape.broadcast_arrays.

    Returns
    -------
    tuple of dask.array.Array

    Examples
    --------
    >>> import dask.array as da, numpy as np, unishape.dask
    >>> x, y = unishape.dask.broadcast_arrays(da.arange(6, chunks=4), np.array([["a"], ["b"]]))
    >>> y.shape, y.chunks
    ((2, 6), ((2,), (4, 2)))
    >>> y[:, 4:].compute().tolist()
    [['a', 'a'], ['b', 'b']]
    """
    named = {f"input {number}": _array(f"input {number}", array) for number, array in enumerate(arrays)}
    shapes = [_shape(array) for array in named.values()]
    common = unishape.broadcast_shapes(*shapes, rules=rules, strict_rank=strict_rank)
    # Views need no memory, so chunk sizes do not depend on the dtypes.
    chunks = _common_chunks(named, common, np.dtype(float))
    return tuple(_stretch(name, _rechunk(array, chunks), chunks) for name, array in named.items())


def _stretch(name: str, array: da.Array, chunks: tuple[ChunkSizes, ...]) -> da.Array:
    """Broadcasts an array, whose other dimensions have these chunks already."""
    if list(map(_known, array.chunks)) == list(map(_known, chunks)):
        return array
    sizes = dict(zip(range(len(chunks))[::-1], reversed(array.shape)))
    kept = [dim for dim in range(len(chunks)) if sizes.get(dim, 1) != 1]
    for dim, lengths in enumerate(chunks):
        if dim not in kept and _is_unknown(lengths):
            raise ValueError(
                f"{name} must be stretched in dimension {dim} to an unknown size; call compute_chunk_sizes() on the "
                "array that has this dimension"
            )
    dims = tuple(range(len(chunks)))
    return da.blockwise(
        functools.partial(_stretch_block, tuple(kept)),
        dims,
        array,
        dims[len(dims) - array.ndim :],
        ArrayChunkShapeDep(chunks),
        dims,
        name=f"unishape-broadcast-{tokenize(array.name, chunks)}",
        align_arrays=False,
        adjust_chunks=dict(enumerate(chunks)),
        meta=np.empty((0,) * len(dims), array.dtype),
        dtype=array.dtype,
    )


def _blockwise(kernel: Callable[..., np.ndarray], arrays: Mapping[str, Any], meta: np.ndarray) -> da.Array:
    """One layer that calls a function with the blocks at each place of the common shape."""
    common = unishape.broadcast_shapes(*map(_shape, arrays.values()))
    chunks = _common_chunks(arrays, common, meta.dtype)
    equal = _dimensions_to_check(arrays, chunks)
    if equal:
        kernel = functools.partial(_check_sizes_and_call, kernel, equal)
    dims = tuple(range(len(chunks)))
    rechunked = (_rechunk(array, chunks) for array in arrays.values())
    blocks = ((array, dims[len(dims) - array.ndim :]) for array in rechunked)
    return da.blockwise(
        kernel,
        dims,
        *itertools.chain.from_iterable(blocks),
        token="unishape",
        align_arrays=False,
        # By default, Dask uses the chunks of an array with the most blocks, which may be stretched.
        adjust_chunks=dict(enumerate(chunks)),
        meta=meta,
        dtype=meta.dtype,
    )


# Inputs.


def _value(name: str, value: Any) -> Any:
    """A Python number, a NumPy scalar or an array."""
    is_number = isinstance(value, (bool, int, float, complex, np.generic))
    return value if is_number else _array(name, value)


def _array(name: str, value: Any) -> da.Array | np.ndarray:
    """Converts to a Dask or NumPy array."""
    if isinstance(value, Lazy):
        return to_dask(value)
    if isinstance(value, da.Array):
        block = value._meta
        if not isinstance(block, (np.ndarray, np.generic)) or isinstance(block, np.ma.MaskedArray):
            raise TypeError(f"{name}: the blocks of this array are {_class_name(block)}; they must be NumPy arrays")
        return value
    if hasattr(value, "__dask_graph__"):
        hint = "use unishape.xarray.evaluate" if hasattr(type(value), "dims") else "convert it first"
        raise TypeError(f"{name}: {_class_name(value)} is not a Dask array; {hint}")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not supported; use x.filled(…)")
    # Stays memory-mapped: it may be larger than memory.
    if isinstance(value, np.memmap):
        return value
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _class_name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _known(sizes: Sequence[float]) -> tuple[int | None, ...]:
    """Replaces NaN, which marks unknown sizes in Dask, by None."""
    return tuple(None if math.isnan(size) else size for size in sizes)


def _shape(array: da.Array | np.ndarray) -> tuple[int | None, ...]:
    return _known(array.shape)


def _check_shapes(arrays: Mapping[str, Any], evaluate: Callable[[dict[str, np.ndarray]], Any] | None = None) -> None:
    """Raises ValueError for incompatible shapes, with the names of the arrays."""
    shapes = {name: _shape(array) for name, array in arrays.items()}
    try:
        unishape.broadcast_shapes(*shapes.values())
    except ValueError as error:
        if evaluate and all(_has_placeholder(array) for array in arrays.values()):
            # Raises the better error, before anything is computed. Stretched zeros need no memory.
            evaluate({name: np.broadcast_to(np.zeros((), arrays[name].dtype), shapes[name]) for name in shapes})
        inputs = ", ".join(f"input {number} is {name}" for number, name in enumerate(shapes))
        raise ValueError(f"{error}\n\n{inputs}") from None


def _has_placeholder(array: da.Array | np.ndarray) -> bool:
    """Whether stretched zeros can replace an array: its shape is known, and it is no large array of booleans,
    which would be checked byte by byte."""
    return not math.isnan(array.size) and (array.dtype != bool or array.size < 1 << 20)


# Chunks.


def _common_chunks(
    arrays: Mapping[str, Any], common: tuple[int | None, ...], dtype: np.dtype
) -> tuple[ChunkSizes, ...]:
    """The chunks of the common shape: those of the Dask arrays, or automatic where only NumPy arrays have a size."""
    chunks: list[ChunkSizes | str] = []
    for dim, size in enumerate(common):
        lengths = _chunk_sizes(arrays, dim - len(common))
        if lengths:
            chunks.append(_merge_chunks(dim, lengths))
        else:
            chunks.append("auto" if size > 1 else (size,))
    if "auto" not in chunks:
        return tuple(chunks)
    if None in common:
        # The size of a block is unknown.
        return tuple((size,) if lengths == "auto" else lengths for size, lengths in zip(common, chunks))
    return da.core.normalize_chunks(tuple(chunks), shape=common, dtype=dtype)


def _chunk_sizes(arrays: Mapping[str, Any], dim: int) -> dict[str, ChunkSizes]:
    """Chunk sizes of the arrays that are not stretched in a dimension, which is counted from the right.

    NumPy arrays are not split yet. They are included where sizes are unknown, and so may not match.
    """
    kept = {name: array for name, array in arrays.items() if array.ndim >= -dim and array.shape[dim] != 1}
    split = {name: array.chunks[dim] for name, array in kept.items() if isinstance(array, da.Array)}
    if any(map(_is_unknown, split.values())):
        return {name: split.get(name, (array.shape[dim],)) for name, array in kept.items()}
    return split


def _merge_chunks(dim: int, lengths: Mapping[str, ChunkSizes]) -> ChunkSizes:
    """The largest chunks such that each is inside one chunk of every array."""
    first = next(iter(lengths.values()))
    if any(map(_is_unknown, lengths.values())):
        _check_unknown(dim, lengths)
        return first
    if all(each == first for each in lengths.values()):
        return first
    ends = sorted({end for each in lengths.values() for end in itertools.accumulate(each)} | {0})
    return tuple(end - start for start, end in itertools.pairwise(ends)) or (0,)


def _check_unknown(dim: int, lengths: Mapping[str, ChunkSizes]) -> None:
    """Raises ValueError unless all arrays have the same chunks: those of unknown sizes cannot be split."""
    if len({_known(each) for each in lengths.values()}) > 1:
        unknown = " and ".join(name for name, each in lengths.items() if _is_unknown(each))
        raise ValueError(
            f"{' and '.join(lengths)} have different chunks in dimension {dim} of the result, some of unknown size; "
            f"call compute_chunk_sizes() on {unknown} first"
        )


def _is_unknown(lengths: ChunkSizes) -> bool:
    return any(math.isnan(length) for length in lengths)


def _dimensions_to_check(
    arrays: Mapping[str, Any], chunks: tuple[ChunkSizes, ...]
) -> tuple[tuple[int, tuple[int, ...], tuple[str, ...]], ...]:
    """Dimensions, counted from the right, in which workers check for equal block sizes: with the positions and
    names of the arrays.

    A single block is the whole array, for which broadcasting itself is the check.
    """
    checks = []
    for dim, lengths in zip(range(-len(chunks), 0), chunks):
        if _is_unknown(lengths) and len(lengths) > 1:
            kept = _chunk_sizes(arrays, dim)
            positions = tuple(position for position, name in enumerate(arrays) if name in kept)
            if len(positions) > 1:
                checks.append((dim, positions, tuple(kept)))
    return tuple(checks)


def _rechunk(array: da.Array | np.ndarray, chunks: tuple[ChunkSizes, ...]) -> da.Array:
    """An array in the chunks of the common shape; a stretched dimension is one chunk."""
    dims = zip(array.shape, chunks[len(chunks) - array.ndim :])
    wanted = tuple((1,) if size == 1 else lengths for size, lengths in dims)
    if isinstance(array, np.memmap):
        return _from_memmap(array, wanted)
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=wanted)
    if list(map(_known, array.chunks)) == list(map(_known, wanted)):
        return array
    known = {dim: lengths for dim, lengths in enumerate(wanted) if not _is_unknown(lengths)}
    if 0 in array.shape and len(known) == array.ndim:
        # Dask does not rechunk empty arrays.
        return da.zeros(array.shape, dtype=array.dtype, chunks=wanted)
    return array.rechunk(known)


def _from_memmap(array: np.memmap, chunks: tuple[ChunkSizes, ...]) -> da.Array:
    """A memory-mapped file in blocks that are views: da.from_array would read all of it into memory."""
    name = f"memmap-{tokenize(array, chunks)}"
    keys = itertools.product([name], *(range(len(lengths)) for lengths in chunks))
    views = (array[place] for place in da.core.slices_from_chunks(chunks))
    return da.Array(dict(zip(keys, views)), name, chunks, meta=np.empty((0,) * array.ndim, array.dtype))


# Functions that workers call. They are defined at module level, so that pickle transfers only their names.


def _evaluate_block(
    expression: str, names: tuple[str, ...], numbers: Mapping[str, Any], *blocks: np.ndarray
) -> np.ndarray:
    arrays = zip(names, map(np.asarray, blocks))
    return _names.evaluate_with(expression, {**numbers, **dict(arrays)}, threads=1)


def _compute_block(steps: list[Any], *blocks: np.ndarray) -> np.ndarray:
    return _from_steps(steps, [np.asarray(block) for block in blocks]).compute(threads=1)


def _check_sizes_and_call(kernel: Callable[..., np.ndarray], checks: Any, *blocks: np.ndarray) -> np.ndarray:
    for dim, positions, names in checks:
        sizes = [blocks[position].shape[dim] for position in positions]
        if len(set(sizes)) > 1:
            listed = ", ".join(f"{size} in {name}" for name, size in zip(names, sizes))
            raise ValueError(
                f"chunks of unknown sizes differ: {listed}; call compute_chunk_sizes() on these arrays first, so that "
                "they can be rechunked"
            )
    return kernel(*blocks)


def _stretch_block(kept: tuple[int, ...], block: np.ndarray, shape: tuple[float, ...]) -> np.ndarray:
    """Broadcasts a block to a shape; `kept` dimensions keep the block's size."""
    block = np.asarray(block)
    sizes = (block.shape[dim - len(shape)] if dim in kept else size for dim, size in enumerate(shape))
    return unishape.broadcast_to(block, tuple(sizes))
