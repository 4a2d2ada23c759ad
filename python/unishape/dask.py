"""Expressions, reductions and broadcasting over Dask arrays.

All functions are lazy. Element-wise work is one blockwise layer of Dask's graph: a worker computes each block of the
result in one pass. A reduction has a partial result of each block, into which the element-wise work before it is fused,
and a tree that merges them. Stretched dimensions are transferred with size 1 and broadcast where they are read.

>>> import dask.array as da, unishape.dask
>>> x = da.arange(6, chunks=2).reshape(2, 3)
>>> y = unishape.dask.evaluate("(x - mean(x, axis=1, keepdims=True)) * 2")
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
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

try:
    import dask.array as da
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph, MaterializedLayer
    from dask.layers import ArrayChunkShapeDep, ArraySliceDep
except ImportError as error:
    raise ImportError("unishape.dask needs Dask: pip install unishape[dask]") from error

import unishape
from unishape import _names, _partial, _steps
from unishape._unishape import Lazy, _from_steps, _is_element_wise, _parse_steps, _values_of_steps

__all__ = ["broadcast_arrays", "evaluate", "to_dask"]

#: Chunk sizes along a dimension, as in Dask. An unknown size is NaN.
ChunkSizes = tuple[float, ...]


def evaluate(expression: str, names: Mapping[str, Any] | None = None, /, **more: Any) -> da.Array:
    """Evaluates an expression lazily, as a Dask array.

    Incompatible shapes and dtypes raise an exception here, not in a worker. Arrays in different chunks are
    rechunked to common ones, as in Dask's own arithmetic; NumPy arrays are split into the chunks of the others.

    Chunks of unknown sizes must have equal sizes in all arrays, which is checked for each block. Each block is
    computed on one thread, since Dask computes several blocks at a time.

    A reduction along axes in one chunk is computed inside each block, together with the element-wise work around it. If
    its result is stretched over several blocks, it is computed once for all of them. Along axes in several chunks, the
    partial results of the blocks are merged in a tree, as in Dask's own reductions. Sums of floats therefore depend on
    the chunks, within the bounds of rounding. No array that spans chunks is in memory.

    Parameters
    ----------
    expression : str
        As for unishape.evaluate.
    names : mapping, optional
        Dask arrays, NumPy arrays, lazy values and numbers by name. Without it, names are variables of the caller.
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
    >>> unishape.dask.evaluate("sum(x * scale, axis=1)").compute().tolist()
    [0.0, 1000.0, 2000.0, 3000.0]
    """
    resolved = _names.resolve(expression, names, more, sys._getframe(1))
    values = {name: _value(name, value) for name, value in resolved.items()}
    arrays = {name: value for name, value in values.items() if isinstance(value, (da.Array, np.ndarray))}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    if not _is_element_wise(expression):
        return _evaluate_steps(expression, arrays, numbers)
    placeholders = {name: np.empty((0,) * array.ndim, array.dtype) for name, array in arrays.items()}
    meta = unishape.evaluate(expression, numbers | placeholders)
    if not arrays:
        # Without placeholders, meta is the result.
        return da.from_array(meta)
    _check_shapes(arrays, lambda zeros: unishape.evaluate(expression, numbers | zeros))
    kernel = functools.partial(_evaluate_block, expression, tuple(arrays), numbers)
    common = unishape.broadcast_shapes(*map(_shape, arrays.values()))
    region = _Region([], [], arrays, _common_chunks(arrays, common, meta.dtype))
    return _blockwise(kernel, region, common, meta.dtype)


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
    steps, leaves = lazy._to_steps()
    # Named as in the repr of the value.
    return _Plan(steps, {f"x{number}": _array(f"x{number}", leaf) for number, leaf in enumerate(leaves, 1)}).result()


def _evaluate_steps(expression: str, arrays: Mapping[str, Any], numbers: Mapping[str, Any]) -> da.Array:
    """Evaluates an expression with views or reductions."""
    if not arrays:
        return da.from_array(unishape.evaluate(expression, numbers))
    if all(map(_has_placeholder, arrays.values())):
        # Raises errors that mark the text. Nothing is computed; stretched zeros need no memory.
        zeros = {name: np.broadcast_to(np.zeros((), array.dtype), array.shape) for name, array in arrays.items()}
        unishape.evaluate(expression, {**numbers, **zeros}, explain=True)
    places = {name: place for place, name in enumerate(arrays)}
    steps = _steps.bind(_parse_steps(expression), places, numbers)
    return _Plan(steps, arrays).result()


#: The views, as functions of a NumPy or Dask array and the argument of the step.
_VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "getitem": lambda array, index: array[index],
    "transpose": lambda array, axes: np.transpose(array, axes),
    "swapaxes": lambda array, axes: np.swapaxes(array, *axes),
    "expand_dims": lambda array, axes: np.expand_dims(array, axes),
    "squeeze": lambda array, axes: np.squeeze(array, None if axes is None else tuple(axes)),
    "broadcast_to": lambda array, shape: _broadcast_to(array, shape),
}


class _Region(NamedTuple):
    """Steps that are computed block by block: element-wise ones, and reductions in a block of their own."""

    steps: list[Any]
    #: Positions of the requested steps.
    positions: list[int]
    arrays: dict[str, Any]
    chunks: tuple[ChunkSizes, ...]


class _Plan:
    """The steps of an expression, cut into regions: their results are arrays, from which the next region starts."""

    def __init__(self, steps: Sequence[Any], arrays: Mapping[str, Any]) -> None:
        self._steps = list(steps)
        self._names = list(arrays)
        self._arrays = list(arrays.values())
        #: Shapes of steps, by position. They stay the same when steps are cut off.
        self._shapes: dict[int, tuple[int | None, ...]] = {}

    def result(self) -> da.Array:
        for position, step in enumerate(self._steps):
            if step[0] in _steps.VIEWS:
                self._cut(position, step[0], _VIEWS[step[0]](self._array(step[2]), step[1]))
            elif step[0] == "reduce" and not step[1][2]:
                # Without keepdims, the blocks of the result have other places.
                self._cut_reduction(position)
        result = self._array(len(self._steps) - 1)
        return result if isinstance(result, da.Array) else da.from_array(result)

    def _cut(self, position: int, name: str, array: Any) -> None:
        """Replaces a step by its array."""
        self._steps[position] = ("array", len(self._arrays))
        self._names.append(f"{name} {len(self._arrays)}")
        self._arrays.append(array if isinstance(array, da.Array) else np.asanyarray(array))

    def _cut_reduction(self, position: int) -> None:
        self._cut(position, self._steps[position][1][0], self._reduce(position))

    def _array(self, position: int) -> da.Array | np.ndarray:
        """The array of a step."""
        if self._steps[position][0] == "array":
            return self._arrays[self._steps[position][1]]
        region = self._region([position])
        if self._steps[position][0] == "array":
            # A reduction that is cut off now.
            return self._arrays[self._steps[position][1]]
        if not region.arrays:
            return _compute_block(region.steps)
        kernel = functools.partial(_compute_block, region.steps)
        return _blockwise(kernel, region, self._shape(position), self._dtype(position))

    def _region(self, positions: Sequence[int]) -> _Region:
        """The steps that some depend on, back to arrays.

        Reductions are cut off if they need more than one block, or if each block would repeat them.
        """
        while True:
            used = _steps.used(self._steps, positions)
            places = sorted({self._steps[each][1] for each in used if self._steps[each][0] == "array"})
            arrays = {self._names[place]: self._arrays[place] for place in places}
            reductions = [each for each in used if self._steps[each][0] == "reduce"]
            try:
                common = unishape.broadcast_shapes(*map(_shape, arrays.values()))
            except ValueError:
                # The arrays have no common blocks, because a reduction makes them compatible.
                if reductions:
                    self._cut_reduction(reductions[0])
                    continue
            _check_shapes(arrays)
            chunks = _common_chunks(arrays, common, np.dtype(float))
            first = next((each for each in reductions if not self._has_own_block(each, chunks)), None)
            if first is None:
                break
            self._cut_reduction(first)
        new = {position: place for place, position in enumerate(used)}
        own = {place: number for number, place in enumerate(places)}
        steps = [_steps.renumbered(self._steps[position], new, own) for position in used]
        return _Region(steps, [new[position] for position in positions], arrays, chunks)

    def _has_own_block(self, position: int, chunks: tuple[ChunkSizes, ...]) -> bool:
        """Whether a reduction needs one block only, which no other block needs."""
        step = self._steps[position]
        shape = self._input_shape(step)
        axes = _axes(step[1][1], len(shape))
        # The dimensions of several blocks that it reduces, or in which it is stretched.
        for dim, lengths in enumerate(reversed(chunks), 1):
            if len(lengths) > 1 and (dim > len(shape) or shape[-dim] == 1 or len(shape) - dim in axes):
                return False
        return True

    def _input_shape(self, step: Any) -> tuple[int | None, ...]:
        """The shape that a reduction reduces."""
        return unishape.broadcast_shapes(*map(self._shape, step[2]))

    def _shape(self, position: int) -> tuple[int | None, ...]:
        """The shape of a step in a region."""
        shapes = self._shapes
        for each in _steps.used(self._steps, [position], shapes) if position not in shapes else ():
            if each not in shapes:
                shapes[each] = self._own_shape(self._steps[each])
        return shapes[position]

    def _own_shape(self, step: Any) -> tuple[int | None, ...]:
        """The shape of a step whose inputs have known shapes."""
        if step[0] == "array":
            return _shape(self._arrays[step[1]])
        shape = unishape.broadcast_shapes(*(self._shapes[each] for each in _steps.inputs(step)))
        if step[0] != "reduce":
            return shape
        axes = _axes(step[1][1], len(shape))
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))

    def _dtype(self, position: int) -> np.dtype:
        return _values_of_steps(self._steps[: position + 1], self._arrays, [position])[0].dtype

    def _reduce(self, position: int) -> da.Array | np.ndarray:
        """The array of a reduction."""
        name, axes, keepdims, ddof, requested, initial = self._steps[position][1]
        inputs = self._steps[position][2]
        shape, dtype = self._input_shape(self._steps[position]), self._dtype(position)
        axes = _axes(axes, len(shape))
        region = self._region(inputs)
        kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
        if all(len(region.chunks[axis]) == 1 for axis in axes):
            step = ("reduce", (name, axes, True, ddof, requested, initial), tuple(region.positions))
            kernel = functools.partial(_compute_block, [*region.steps, step])
            if not region.arrays:
                result = kernel()
                return result if keepdims else np.squeeze(result, axes)
            result = _blockwise(kernel, region, kept, dtype)
            return _computed_once(result) if keepdims else np.squeeze(result, axes)
        reduction = _partial.Reduction(name, axes, ddof, initial, requested, dtype)
        _partial.check(reduction)
        has_positions = name in ("argmin", "argmax")
        if has_positions and any(map(_is_unknown, (region.chunks[axis] for axis in axes))):
            raise ValueError(f"{name} of chunks of unknown sizes; call compute_chunk_sizes() on the arrays first")
        kernel = functools.partial(_partial_block, reduction, region.steps, region.positions, shape)
        partials = _blockwise(kernel, region, kept, dtype, reduced=axes, with_places=has_positions)
        rank = len(shape) if keepdims else len(shape) - len(axes)
        return da.reduction(
            partials,
            chunk=_keep_block,
            combine=functools.partial(_merge_blocks, reduction),
            aggregate=functools.partial(_finish_blocks, reduction),
            axis=axes,
            keepdims=keepdims,
            name="unishape",
            concatenate=False,
            dtype=dtype,
            meta=np.empty((0,) * rank, dtype),
        )


def _axes(axes: Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Axes that are not negative; all for None."""
    return tuple(range(rank)) if axes is None else normalize_axis_tuple(axes, rank)


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


def _broadcast_to(array: da.Array | np.ndarray, shape: tuple[int, ...]) -> da.Array:
    chunks = _common_chunks({"x": array}, shape, np.dtype(float))
    return _stretch("the array", _rechunk(array, chunks), chunks)


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


def _blockwise(
    kernel: Callable[..., Any],
    region: _Region,
    shape: Sequence[int | None],
    dtype: np.dtype,
    reduced: Sequence[int] = (),
    with_places: bool = False,
) -> da.Array:
    """One layer that calls a function with the blocks of a region's arrays at each place of their common shape.

    The blocks of the result have size 1 along dimensions in which the result does, and along reduced ones.
    """
    chunks = region.chunks
    equal = _dimensions_to_check(region.arrays, chunks)
    if equal:
        kernel = functools.partial(_check_sizes_and_call, kernel, equal)
    dims = tuple(range(len(chunks)))
    rechunked = (_rechunk(array, chunks) for array in region.arrays.values())
    blocks = [(array, dims[len(dims) - array.ndim :]) for array in rechunked]
    if with_places:
        blocks.append((ArraySliceDep(chunks), dims))
    # By default, Dask uses the chunks of an array with the most blocks, which may be stretched.
    own = {
        dim: (1,) * len(lengths) if dim in reduced or shape[dim] == 1 else lengths for dim, lengths in enumerate(chunks)
    }
    return da.blockwise(
        kernel,
        dims,
        *itertools.chain.from_iterable(blocks),
        token="unishape",
        align_arrays=False,
        adjust_chunks=own,
        meta=np.empty((0,) * len(dims), dtype),
        dtype=dtype,
    )


def _computed_once(array: da.Array) -> da.Array:
    """The array with tasks in place of its blockwise layer.

    Dask fuses a blockwise layer into all blocks that read it, and so computes the same block several times.
    """
    graph = array.__dask_graph__()
    layers = {**graph.layers, array.name: MaterializedLayer(dict(graph.layers[array.name]))}
    return da.Array(HighLevelGraph(layers, graph.dependencies), array.name, array.chunks, meta=array._meta)


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
        error.add_note(f"\n{inputs}")
        if isinstance(error, unishape.BroadcastError):
            error.names = tuple(shapes)
        raise


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
    if None in common or 0 in common:
        # The size of a block is unknown, or 0.
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
    return unishape.evaluate(expression, {**numbers, **dict(arrays)}, threads=1)


def _compute_block(steps: list[Any], *blocks: np.ndarray) -> np.ndarray:
    return _from_steps(steps, [np.asarray(block) for block in blocks]).compute(threads=1)


def _partial_block(
    reduction: _partial.Reduction, steps: list[Any], positions: list[int], shape: tuple[int | None, ...], *blocks: Any
) -> _partial.Part | None:
    """The partial result of a block. The last argument is its place, if positions are reduced."""
    starts: tuple[int, ...] = ()
    if reduction.name in ("argmin", "argmax"):
        *blocks, place = blocks
        starts = tuple(each.start for each in place)
    x, *mask = _values_of_steps(steps, [np.asarray(block) for block in blocks], positions)
    return _partial.partial(reduction, x, mask[0] if mask else None, starts, shape)


def _keep_block(block: Any, axis: Any = None, keepdims: bool = True) -> Any:
    """Dask's reductions start with a function of each block; ours are partial results already."""
    return block


def _merge_blocks(reduction: _partial.Reduction, parts: Any, axis: Any = None, keepdims: bool = True) -> Any:
    return _partial.merge(reduction, _flat(parts))


def _finish_blocks(reduction: _partial.Reduction, parts: Any, axis: Any = None, keepdims: bool = True) -> np.ndarray:
    result = _partial.finish(reduction, _partial.merge(reduction, _flat(parts)))
    return result if keepdims else np.squeeze(result, reduction.axes)


def _flat(parts: Any) -> list[Any]:
    """Dask passes nested lists for several axes, and no list for one block."""
    return [each for part in parts for each in _flat(part)] if isinstance(parts, list) else [parts]


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
