"""Objects of pandas, Polars and PyTorch that hold arrays: conversion to NumPy arrays and back.

The elements of such objects are computed as arrays. The result of an expression with one is an object of the same
library: with the labels of pandas, or a tensor where the first array is one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from unishape import _unishape

_Array = np.ndarray[Any, Any]


def _library(value: Any) -> str:
    """The library of an object: pandas, polars, torch or another name. Subclasses belong to it, too."""
    for base in type(value).__mro__:
        library = base.__module__.partition(".")[0]
        if library in ("pandas", "polars", "torch"):
            return library
    return ""


# To arrays.


def to_array(value: Any) -> _Array:
    """The elements of an object, without a copy where that is possible."""
    library = _library(value)
    if library == "torch":
        return _tensor_to_array(value)
    if library == "polars":
        return _polars_to_array(value)
    return _series_to_array(value) if value.ndim == 1 else _frame_to_array(value)


def _series_to_array(series: Any, what: str = "this Series") -> _Array:
    dtype = series.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return series.to_numpy()
    number = getattr(dtype, "numpy_dtype", None)
    if number is None or number.kind not in "biufc":
        raise TypeError(f"{what} has dtype {dtype}, not numbers; convert it first: x.astype('float64')")
    if series.isna().any():
        raise ValueError(
            f"{what} has missing values; fill them with x.fillna(value), or make them NaN with "
            "x.to_numpy('float64', na_value=numpy.nan)"
        )
    return series.to_numpy(dtype=number)


def _frame_to_array(frame: Any) -> _Array:
    dtypes = set(frame.dtypes)
    if len(dtypes) == 1 and all(isinstance(dtype, np.dtype) and dtype.kind != "O" for dtype in dtypes):
        return frame.to_numpy()
    columns = [
        _series_to_array(frame.iloc[:, place], f"the column {label!r}") for place, label in enumerate(frame.columns)
    ]
    return np.stack(columns, axis=1) if columns else np.empty(frame.shape)


def _polars_to_array(value: Any) -> _Array:
    columns = value.get_columns() if hasattr(value, "get_columns") else [value]
    for column in columns:
        if column.null_count():
            raise ValueError(f"the column {column.name!r} has nulls; fill them with fill_null(value)")
        if not (column.dtype.is_numeric() or column.dtype.is_temporal() or str(column.dtype) == "Boolean"):
            raise TypeError(f"the column {column.name!r} has dtype {column.dtype}, not numbers")
    return value.to_numpy()


def _tensor_to_array(tensor: Any) -> _Array:
    if tensor.requires_grad:
        raise TypeError(
            "this tensor requires grad, and gradients do not flow through unishape; pass x.detach(), or use "
            "torch.no_grad() code with detached tensors"
        )
    if tensor.is_sparse or str(tensor.layout) != "torch.strided":
        raise TypeError(f"this tensor has the layout {tensor.layout}; pass x.to_dense()")
    tensor = tensor.resolve_conj().resolve_neg()
    if str(tensor.dtype) == "torch.bfloat16":
        return tensor.view(sys.modules["torch"].int16).numpy().view(_bfloat16())
    return tensor.numpy()


def _bfloat16() -> Any:
    try:
        import ml_dtypes
    except ImportError as error:
        raise ImportError("bfloat16 on the CPU needs the package ml_dtypes: pip install ml_dtypes") from error
    return ml_dtypes.bfloat16


# Back.


def _to_tensor(result: _Array) -> Any:
    torch = sys.modules["torch"]
    if result.dtype.name == "bfloat16":
        return torch.from_numpy(result.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(result)


def like(value: Any, result: _Array) -> Any:
    """The result as a tensor, where the value is one."""
    return _to_tensor(result) if _library(value) == "torch" else result


def arrow_stream(array: _Array, requested_schema: Any = None) -> Any:
    """The Arrow stream of a column, made by Polars or PyArrow."""
    if array.ndim != 1:
        raise TypeError(f"a column of Arrow has one dimension, but this value has {array.ndim}")
    if "polars" in sys.modules:
        name, dtype = _of_new_column()
        return sys.modules["polars"].Series(name, array, dtype=dtype).__arrow_c_stream__(requested_schema)
    import pyarrow

    return pyarrow.chunked_array([pyarrow.array(array)]).__arrow_c_stream__(requested_schema)


def _of_new_column() -> tuple[str, Any]:
    """The name and dtype of the column that Polars makes: pl.Series(name, stream, dtype) has those of the stream."""
    # Compiled functions have no frame: the caller of arrow_stream is that of __arrow_c_stream__.
    frame = sys._getframe(2)
    if (frame.f_globals.get("__name__"), frame.f_code.co_name) != ("polars.series.series", "__init__"):
        return "", None
    name = frame.f_locals.get("name")
    return name if isinstance(name, str) else "", frame.f_locals.get("dtype")


# Labels.


class _Axis(NamedTuple):
    """The size of an axis, its labels, and the name of the object that has them."""

    size: int
    labels: Any = None
    owner: str = ""


_Axes = tuple[_Axis, ...]


def wrapper_of_text(expression: str, values: Mapping[str, Any]) -> Callable[[_Array], Any]:
    """How to convert the result of an expression with these variables."""
    return wrapper(_unishape._parse_steps(expression), values)


def wrapper_of_call(function: str, arguments: Sequence[Any]) -> Callable[[_Array], Any]:
    """How to convert the result of a function."""
    places = range(len(arguments))
    return wrapper([*(("array", place) for place in places), (function, tuple(places))], arguments)


def wrapper(steps: Sequence[Any], arrays: Any) -> Callable[[_Array], Any]:
    """How to convert the result of some steps. Raises ValueError where labels differ.

    Parameters
    ----------
    steps : list
        See _steps.
    arrays : mapping or sequence
        The value of each variable, or of each array by its place.
    """
    leaves = [step[1] for step in steps if step[0] in ("variable", "array")]
    values = [arrays[leaf] for leaf in leaves if not isinstance(arrays, Mapping) or leaf in arrays]
    libraries = [_library(value) for value in values]
    if "pandas" in libraries:
        axes = _axes_of(steps, arrays)
        return lambda result: _to_pandas(result, axes, _common_name(values))
    if "polars" in libraries:
        axes = _axes_of(steps, arrays)
        first = values[libraries.index("polars")]
        return lambda result: _to_polars(result, axes, first)
    is_array = [library == "torch" or np.ndim(value) > 0 for value, library in zip(values, libraries)]
    first_array = is_array.index(True) if any(is_array) else 0
    return _to_tensor if libraries and libraries[first_array] == "torch" else lambda result: result


def _common_name(values: Sequence[Any]) -> Any:
    """The name of all Series, if they have the same one, as in pandas."""
    names = [value.name for value in values if _library(value) == "pandas" and value.ndim == 1]
    return names[0] if names and all(name == names[0] for name in names) else None


def _to_pandas(result: _Array, axes: _Axes | None, name: Any) -> Any:
    pd = sys.modules["pandas"]
    labels = [axis.labels for axis in axes] if axes is not None and len(axes) == result.ndim else []
    if all(each is None for each in labels) or result.ndim not in (1, 2):
        return result
    if result.ndim == 1:
        return pd.Series(result, index=labels[0], name=name, copy=False)
    return pd.DataFrame(result, index=labels[0], columns=labels[1], copy=False)


def _to_polars(result: _Array, axes: _Axes | None, first: Any) -> Any:
    pl = sys.modules["polars"]
    if result.ndim == 1:
        return pl.Series(first.name if isinstance(first, pl.Series) else "", result)
    columns = axes[-1].labels if axes and result.ndim == 2 else None
    return pl.DataFrame(result, schema=list(columns), orient="row") if columns is not None else result


def _axes_of(steps: Sequence[Any], arrays: Any) -> _Axes | None:
    """The axes of the last step; None where the shapes are incompatible, which the computation reports."""
    values: list[_Axes] = []
    try:
        for step in steps:
            values.append(_axes_of_step(step, values, arrays))
    except _Unknown:
        return None
    return values[-1]


class _Unknown(Exception):
    """Shapes that cannot be determined."""


def _axes_of_step(step: Any, values: Sequence[_Axes], arrays: Any) -> _Axes:
    kind = step[0]
    if kind in ("variable", "array"):
        key = step[1]
        if isinstance(arrays, Mapping) and key not in arrays:
            return ()  # a constant of the language
        return _axes_of_input(arrays[key], key if isinstance(key, str) else f"argument {key + 1}")
    if kind == "scalar":
        return ()
    if kind == "cast":
        return values[step[2]]
    if kind == "reduce":
        (_, reduced, keeps, *_), inputs = step[1], step[2]
        axes = _broadcast([values[position] for position in inputs])
        chosen = range(len(axes)) if reduced is None else [_normal(axis, len(axes)) for axis in reduced]
        if keeps:
            return tuple(_Axis(1) if place in chosen else axis for place, axis in enumerate(axes))
        return tuple(axis for place, axis in enumerate(axes) if place not in chosen)
    if isinstance(step[-1], int):
        return _view(kind, step[1], values[step[2]])
    return _broadcast([values[position] for position in step[1]])


def _normal(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise _Unknown
    return axis % rank


def _axes_of_input(value: Any, name: str) -> _Axes:
    library = _library(value)
    shape = tuple(value.shape) if hasattr(value, "shape") else np.shape(value)
    if library == "pandas" and hasattr(value, "index"):
        labels = [value.index, getattr(value, "columns", None)]
        return tuple(_Axis(size, each, name) for size, each in zip(shape, labels))
    if library == "polars" and len(shape) == 2:
        return (_Axis(shape[0]), _Axis(shape[1], tuple(value.columns), name))
    return tuple(map(_Axis, shape))


def _equal(one: Any, other: Any) -> bool:
    return one is other or (one.equals(other) if hasattr(one, "equals") else one == other)


def _broadcast(inputs: Sequence[_Axes]) -> _Axes:
    """The common axes of some values, aligned on the right."""
    rank = max(map(len, inputs))
    result = []
    for place in range(-rank, 0):
        axes = [each[place] for each in inputs if len(each) >= -place]
        sizes = {axis.size for axis in axes}
        labelled = [axis for axis in axes if axis.labels is not None]
        if len(sizes - {1}) > 1 and not labelled:
            raise _Unknown
        for axis in labelled[1:]:
            if not _equal(labelled[0].labels, axis.labels):
                raise _different(labelled[0], axis, place + rank)
        if not labelled:
            result.append(_Axis(max(sizes - {1}, default=1)))
            continue
        if not sizes <= {1, labelled[0].size}:
            if labelled[0].size != 1:
                raise _Unknown
            raise ValueError(
                f"{labelled[0].owner} has labels for one element of axis {place + rank}, and cannot be stretched to "
                f"{max(sizes)}; pass its .to_numpy()"
            )
        result.append(labelled[0])
    return tuple(result)


def _different(one: _Axis, other: _Axis, axis: int) -> ValueError:
    """The error for labels that differ."""

    def first(labels: Any) -> str:
        shown = ", ".join(map(repr, list(labels[:3])))
        return f"{shown}, … ({len(labels)})" if len(labels) > 3 else f"{shown}"

    if one.owner == other.owner:
        names = f"index and columns of {one.owner}"
    else:
        names = f"{one.owner} and {other.owner}"
    return ValueError(
        f"{names} have different labels along axis {axis}: {first(one.labels)} and {first(other.labels)}; "
        "align them first, as in a, b = a.align(b), or pass .to_numpy() to combine them by position"
    )


def _view(kind: str, argument: Any, axes: _Axes) -> _Axes:
    rank = len(axes)
    if kind == "getitem":
        return _index(argument, axes)
    if kind == "transpose":
        order = range(rank)[::-1] if argument is None else [_normal(axis, rank) for axis in argument]
        return tuple(axes[axis] for axis in order)
    if kind == "swapaxes":
        one, other = (_normal(axis, rank) for axis in argument)
        order = list(range(rank))
        order[one], order[other] = other, one
        return tuple(axes[axis] for axis in order)
    if kind == "expand_dims":
        added = {_normal(axis, rank + len(argument)) for axis in argument}
        rest = iter(axes)
        return tuple(_Axis(1) if place in added else next(rest) for place in range(rank + len(argument)))
    if kind == "squeeze":
        removed = (
            {place for place, axis in enumerate(axes) if axis.size == 1}
            if argument is None
            else {_normal(axis, rank) for axis in argument}
        )
        return tuple(axis for place, axis in enumerate(axes) if place not in removed)
    return _broadcast([axes, tuple(map(_Axis, argument))])  # broadcast_to


def _index(items: Sequence[Any], axes: _Axes) -> _Axes:
    used = sum(item is not None and item is not ... for item in items)
    if used > len(axes):
        raise _Unknown
    rest, result = list(axes), []
    has_ellipsis = False
    for item in items:
        if item is ...:
            has_ellipsis = True
            result += [rest.pop(0) for _ in range(len(axes) - used)]
        elif item is None:
            result.append(_Axis(1))
        elif isinstance(item, slice):
            axis = rest.pop(0)
            labels = None if axis.labels is None else axis.labels[item]
            result.append(_Axis(len(range(axis.size)[item]), labels, axis.owner))
        else:
            rest.pop(0)
    return tuple(result if has_ellipsis else result + rest)
