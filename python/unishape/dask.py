"""Expressions and broadcasting over Dask's arrays: larger than memory, on many machines.

Everything here only writes down what is to be done, as one blockwise layer of Dask's graph; Dask does it when it
is asked to. In a worker each block of the result is computed in one pass by the engine. A stretched dimension
travels as it is, with size 1, and is stretched where it is read.

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
from unishape._unishape import Lazy, _rebuilt

__all__ = ["broadcast_arrays", "evaluate", "to_dask"]

#: How long the blocks along a dimension are, as Dask has it. A length that is not known is NaN.
Lengths = tuple[float, ...]


def evaluate(expression: str, names: Mapping[str, Any] | None = None, /, **more: Any) -> da.Array:
    """A Dask array of what unishape.evaluate would compute.

    expression: as for unishape.evaluate.
    names: Dask arrays, NumPy arrays, lazy values and numbers by name, in a dictionary or as keyword arguments.
        What is not among them is looked for in the caller's variables.

    Shapes and types that are incompatible are told here, not by a worker later on. Arrays in different chunks
    are rechunked to common ones, as in Dask's own arithmetic; NumPy's are cut to the chunks of the others.
    Chunks of unknown sizes have to be alike in all arrays that have them; that they are is checked block by
    block. Each block is computed on one thread, since Dask computes several at a time.

    >>> import dask.array as da, numpy as np, unishape.dask
    >>> x = da.ones((4, 1000), chunks=(2, 500), dtype="float32")
    >>> scale = np.arange(4, dtype="float32").reshape(4, 1)
    >>> y = unishape.dask.evaluate("x * scale + k", k=0.5)
    >>> y.dtype, y.chunks
    (dtype('float32'), ((2, 2), (500, 500)))
    >>> y[:, 0].compute().tolist()
    [0.5, 1.5, 2.5, 3.5]
    """
    found = _names.given(expression, names, more, sys._getframe(1))
    values = {name: _value(name, value) for name, value in found.items()}
    arrays = {name: value for name, value in values.items() if isinstance(value, (da.Array, np.ndarray))}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    stand_ins = {name: np.empty((0,) * array.ndim, array.dtype) for name, array in arrays.items()}
    meta = _names.evaluated(expression, numbers | stand_ins)
    if not arrays:
        # Without arrays there is nothing to stand in for, and this is the result.
        return da.from_array(meta)
    _check_shapes(arrays, lambda wrong: _names.evaluated(expression, numbers | wrong))
    kernel = functools.partial(_evaluated, expression, tuple(arrays), numbers)
    return _layer(kernel, arrays, meta)


def to_dask(lazy: Lazy) -> da.Array:
    """A Dask array of what a lazy value would compute; it stays uncomputed.

    >>> import dask.array as da, numpy as np, unishape, unishape.dask
    >>> x = unishape.lazy(da.arange(4, chunks=2))
    >>> y = unishape.dask.to_dask(np.sqrt(x) + 1)
    >>> y.chunks, y.compute().tolist()
    (((2, 2),), [1.0, 2.0, 2.414213562373095, 2.732050807568877])
    """
    if not isinstance(lazy, Lazy):
        raise TypeError(f"to_dask takes a lazy value, not {_kind(lazy)}; make one with unishape.lazy")
    steps, leaves = lazy._parts()
    # By the names under which the value's repr shows them.
    arrays = {f"x{number}": _value(f"x{number}", leaf) for number, leaf in enumerate(leaves, 1)}
    _check_shapes(arrays)
    rank = max(array.ndim for array in arrays.values())
    return _layer(functools.partial(_computed, steps), arrays, np.empty((0,) * rank, lazy.dtype))


def _compute(lazy: Lazy, out: np.ndarray | None = None) -> np.ndarray:
    """What Lazy.compute does where a part of the value is Dask's.

    The result comes to this process as a whole, and only then goes to `out`: blocks of Dask arrays may read the
    memory that `out` has, and other processes cannot write to it. To store what is larger than memory, there is
    to_dask, and Dask's own ways to store an array.
    """
    result = to_dask(lazy)
    if out is None:
        return np.asarray(result.compute())
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out has to be a NumPy array, not {_kind(out)}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise TypeError(f"the result is {result.dtype}, and out is {out.dtype}; give an array of {result.dtype}")
    _check_out(result.shape, out)
    computed = np.asarray(result.compute())
    _check_out(computed.shape, out)
    np.copyto(out, computed, casting="same_kind")
    return out


def _check_out(shape: Sequence[float], out: np.ndarray) -> None:
    if len(shape) != out.ndim or any(a != b and not math.isnan(a) for a, b in zip(shape, out.shape)):
        raise ValueError(f"the result has shape {tuple(shape)}, and out has {out.shape}")


def broadcast_arrays(*arrays: Any, rules: str = "standard", strict_rank: bool = False) -> tuple[da.Array, ...]:
    """Dask arrays of one shape and in common chunks, of arrays of any types.

    Each depends on the blocks of its own array only. In a worker a stretched block is a view of what was there
    before; it takes no memory.

    rules, strict_rank: as for unishape.broadcast_arrays.

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
    # Views take no memory, whatever the type: what Dask takes an element to be decides how long blocks become.
    chunks = _common_chunks(named, common, np.dtype(float))
    return tuple(_stretched(name, _aligned(array, chunks), chunks) for name, array in named.items())


def _stretched(name: str, array: da.Array, chunks: tuple[Lengths, ...]) -> da.Array:
    """An array, aligned already, in blocks of these lengths."""
    if list(map(_known, array.chunks)) == list(map(_known, chunks)):
        return array
    kept = dict(zip(range(len(chunks))[::-1], reversed(array.shape)))
    own = [dim for dim in range(len(chunks)) if kept.get(dim, 1) != 1]
    for dim, lengths in enumerate(chunks):
        if dim not in own and _is_unknown(lengths):
            raise ValueError(
                f"{name} is to be stretched in dimension {dim} to a size that is not known; call "
                "compute_chunk_sizes() on the array that has it"
            )
    dims = tuple(range(len(chunks)))
    return da.blockwise(
        functools.partial(_stretched_block, tuple(own)),
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


def _layer(kernel: Callable[..., np.ndarray], arrays: Mapping[str, Any], meta: np.ndarray) -> da.Array:
    """A function of blocks, in one layer: of the blocks that are at one place in the arrays' common shape."""
    common = unishape.broadcast_shapes(*map(_shape, arrays.values()))
    chunks = _common_chunks(arrays, common, meta.dtype)
    alike = _to_be_alike(arrays, chunks)
    if alike:
        kernel = functools.partial(_if_alike, kernel, alike)
    dims = tuple(range(len(chunks)))
    aligned = (_aligned(array, chunks) for array in arrays.values())
    blocks = ((array, dims[len(dims) - array.ndim :]) for array in aligned)
    return da.blockwise(
        kernel,
        dims,
        *itertools.chain.from_iterable(blocks),
        token="unishape",
        align_arrays=False,
        # Dask takes the lengths of one of the arrays that have the most blocks, which may be a stretched one.
        adjust_chunks=dict(enumerate(chunks)),
        meta=meta,
        dtype=meta.dtype,
    )


# What the arrays are.


def _value(name: str, value: Any) -> Any:
    """What is given for a name: a number, whose type does not count, or one of NumPy's; or an array."""
    is_number = isinstance(value, (bool, int, float, complex, np.generic))
    return value if is_number else _array(name, value)


def _array(name: str, value: Any) -> da.Array | np.ndarray:
    """An array, of Dask or of NumPy."""
    if isinstance(value, Lazy):
        return to_dask(value)
    if isinstance(value, da.Array):
        block = value._meta
        if not isinstance(block, (np.ndarray, np.generic)) or isinstance(block, np.ma.MaskedArray):
            raise TypeError(f"{name}: the blocks of this array are {_kind(block)}; they have to be NumPy's arrays")
        return value
    if hasattr(value, "__dask_graph__"):
        hint = "unishape.xarray.evaluate takes it" if hasattr(type(value), "dims") else "make one of it first"
        raise TypeError(f"{name}: {_kind(value)} is no Dask array; {hint}")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name}: masks are not computed with; fill it first, with x.filled(…)")
    # A mapped file stays one: it may be larger than memory.
    if isinstance(value, np.memmap):
        return value
    try:
        return np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _known(sizes: Sequence[float]) -> tuple[int | None, ...]:
    """Sizes with None for those not known: NaN is not equal to itself, and not what the engine takes."""
    return tuple(None if math.isnan(size) else size for size in sizes)


def _shape(array: da.Array | np.ndarray) -> tuple[int | None, ...]:
    return _known(array.shape)


def _check_shapes(arrays: Mapping[str, Any], tell: Callable[[dict[str, np.ndarray]], Any] | None = None) -> None:
    """Shapes that are incompatible are told with the arrays' names."""
    shapes = {name: _shape(array) for name, array in arrays.items()}
    try:
        unishape.broadcast_shapes(*shapes.values())
    except ValueError as error:
        if tell and all(_can_stand_in(array) for array in arrays.values()):
            # The engine tells it best. Stretched zeros take no memory, and nothing is computed of these.
            tell({name: np.broadcast_to(np.zeros((), arrays[name].dtype), shapes[name]) for name in shapes})
        inputs = ", ".join(f"input {number} is {name}" for number, name in enumerate(shapes))
        raise ValueError(f"{error}\n\n{inputs}") from None


def _can_stand_in(array: da.Array | np.ndarray) -> bool:
    """Whether stretched zeros can stand in for an array: its shape is known, and the engine makes no copy of them,
    as it does of booleans that are a view."""
    return not math.isnan(array.size) and (array.dtype != bool or array.size < 1 << 20)


# Chunks.


def _common_chunks(
    arrays: Mapping[str, Any], common: tuple[int | None, ...], dtype: np.dtype
) -> tuple[Lengths, ...]:
    """The blocks of the common shape: those of the Dask arrays; where only NumPy has a size, as Dask sees fit."""
    chunks: list[Lengths | str] = []
    for dim, size in enumerate(common):
        lengths = _lengths(arrays, dim - len(common))
        if lengths:
            chunks.append(_met(dim, lengths))
        else:
            chunks.append("auto" if size > 1 else (size,))
    if "auto" not in chunks:
        return tuple(chunks)
    if None in common:
        # How large a block is cannot be known.
        return tuple((size,) if lengths == "auto" else lengths for size, lengths in zip(common, chunks))
    return da.core.normalize_chunks(tuple(chunks), shape=common, dtype=dtype)


def _lengths(arrays: Mapping[str, Any], dim: int) -> dict[str, Lengths]:
    """How the arrays are cut along a dimension, counted from the right, that are not stretched along it.

    NumPy's are not cut yet. They say how long they are where that could be wrong.
    """
    here = {name: array for name, array in arrays.items() if array.ndim >= -dim and array.shape[dim] != 1}
    cut = {name: array.chunks[dim] for name, array in here.items() if isinstance(array, da.Array)}
    if any(map(_is_unknown, cut.values())):
        return {name: cut.get(name, (array.shape[dim],)) for name, array in here.items()}
    return cut


def _met(dim: int, lengths: Mapping[str, Lengths]) -> Lengths:
    """The longest blocks such that each is within one block of every array."""
    first = next(iter(lengths.values()))
    if any(map(_is_unknown, lengths.values())):
        _check_unknown(dim, lengths)
        return first
    if all(each == first for each in lengths.values()):
        return first
    ends = sorted({end for each in lengths.values() for end in itertools.accumulate(each)} | {0})
    return tuple(end - start for start, end in itertools.pairwise(ends)) or (0,)


def _check_unknown(dim: int, lengths: Mapping[str, Lengths]) -> None:
    """Blocks whose lengths are not known cannot be cut: all arrays have to have blocks like these."""
    if len({_known(each) for each in lengths.values()}) > 1:
        unknown = " and ".join(name for name, each in lengths.items() if _is_unknown(each))
        raise ValueError(
            f"{' and '.join(lengths)} are in different chunks along dimension {dim} of the result, and the sizes of "
            f"some are not known; call compute_chunk_sizes() on {unknown} first"
        )


def _is_unknown(lengths: Lengths) -> bool:
    return any(math.isnan(length) for length in lengths)


def _to_be_alike(
    arrays: Mapping[str, Any], chunks: tuple[Lengths, ...]
) -> tuple[tuple[int, tuple[int, ...], tuple[str, ...]], ...]:
    """Dimensions, counted from the right, in which blocks of some arrays have to be found alike when they are
    there: with which arrays, and what these are called.

    Where there is one block only, it is the whole, and goes with others as the shapes do.
    """
    alike = []
    for dim, lengths in zip(range(-len(chunks), 0), chunks):
        if _is_unknown(lengths) and len(lengths) > 1:
            found = _lengths(arrays, dim)
            places = tuple(place for place, name in enumerate(arrays) if name in found)
            if len(places) > 1:
                alike.append((dim, places, tuple(found)))
    return tuple(alike)


def _aligned(array: da.Array | np.ndarray, chunks: tuple[Lengths, ...]) -> da.Array:
    """An array in blocks that go with those of the common shape; a stretched dimension is one block."""
    own = zip(array.shape, chunks[len(chunks) - array.ndim :])
    wanted = tuple((1,) if size == 1 else lengths for size, lengths in own)
    if isinstance(array, np.memmap):
        return _of_file(array, wanted)
    if not isinstance(array, da.Array):
        return da.from_array(array, chunks=wanted)
    if list(map(_known, array.chunks)) == list(map(_known, wanted)):
        return array
    known = {dim: lengths for dim, lengths in enumerate(wanted) if not _is_unknown(lengths)}
    if 0 in array.shape and len(known) == array.ndim:
        # Dask leaves the blocks of what is empty as they are.
        return da.zeros(array.shape, dtype=array.dtype, chunks=wanted)
    return array.rechunk(known)


def _of_file(array: np.memmap, chunks: tuple[Lengths, ...]) -> da.Array:
    """A mapped file in blocks that are views of it: Dask's from_array would first read all of it into memory."""
    name = f"mapped-{tokenize(array, chunks)}"
    keys = itertools.product([name], *(range(len(lengths)) for lengths in chunks))
    views = (array[place] for place in da.core.slices_from_chunks(chunks))
    return da.Array(dict(zip(keys, views)), name, chunks, meta=np.empty((0,) * array.ndim, array.dtype))


# What is done in workers. These are functions of this module, so that their names travel, and not their code.


def _evaluated(
    expression: str, names: tuple[str, ...], numbers: Mapping[str, Any], *blocks: np.ndarray
) -> np.ndarray:
    arrays = zip(names, map(np.asarray, blocks))
    return _names.evaluated(expression, {**numbers, **dict(arrays)}, threads=1)


def _computed(steps: list[Any], *blocks: np.ndarray) -> np.ndarray:
    return _rebuilt(steps, [np.asarray(block) for block in blocks]).compute(threads=1)


def _if_alike(kernel: Callable[..., np.ndarray], alike: Any, *blocks: np.ndarray) -> np.ndarray:
    for dim, places, names in alike:
        sizes = [blocks[place].shape[dim] for place in places]
        if len(set(sizes)) > 1:
            found = ", ".join(f"{size} in {name}" for name, size in zip(names, sizes))
            raise ValueError(
                f"chunks whose sizes were not known are not alike: {found}; call compute_chunk_sizes() on these "
                "arrays first, so that common chunks can be found"
            )
    return kernel(*blocks)


def _stretched_block(own: tuple[int, ...], block: np.ndarray, shape: tuple[float, ...]) -> np.ndarray:
    """A block stretched to its shape; in the dimensions that are its own it has the size that it has."""
    block = np.asarray(block)
    sizes = (block.shape[dim - len(shape)] if dim in own else size for dim, size in enumerate(shape))
    return unishape.broadcast_to(block, tuple(sizes))
