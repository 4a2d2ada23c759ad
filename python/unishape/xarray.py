"""Expressions over xarray's labelled arrays: broadcast by the names of dimensions, computed by the same engine.

>>> import numpy as np, xarray as xr, unishape.xarray
>>> field = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("time", "x"), coords={"x": [10, 20, 30]})
>>> weight = xr.DataArray([1.0, 10.0], dims="time")
>>> unishape.xarray.evaluate("field * weight + 0.5")
<xarray.DataArray (time: 2, x: 3)> Size: 48B
array([[ 0.5,  1.5,  2.5],
       [30.5, 40.5, 50.5]])
Coordinates:
  * x        (x) int64 24B 10 20 30
Dimensions without coordinates: time
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    import xarray as xr
except ImportError as error:
    raise ImportError("unishape.xarray needs xarray: pip install unishape[xarray]") from error

from unishape import _names

__all__ = ["evaluate"]

_LABELLED = (xr.DataArray, xr.Dataset, xr.Variable)


def evaluate(expression: str, names: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
    """Computes an expression of DataArrays in one pass; what comes out is labelled as xarray's arithmetic does it.

    expression: as for unishape.evaluate.
    names: DataArrays, Variables, Datasets and numbers by name, in a dictionary or as keyword arguments; a Dataset
        in the dictionary's place gives its variables. What is not among them is looked for in the caller's
        variables.

    Arrays go together by the names of their dimensions, in whatever order these are, and those of the result come
    in the order in which they first appear. Indexes are aligned (xr.set_options(arithmetic_join=…) says how),
    coordinates and attributes are merged; all at once, so that one on which two arrays differ is left out even
    where an array that has it stands further on. With Datasets the expression is computed for each of their variables.
    Nothing is stretched in memory. Of arrays in Dask's chunks the result is one too, not computed yet: see
    unishape.dask.

    >>> import xarray as xr, unishape.xarray
    >>> data = xr.Dataset({"t": ("x", [270.0, 280.0, 290.0]), "scale": ("y", [1.0, 2.0])})
    >>> unishape.xarray.evaluate("(t - 273.15) * scale", data).sizes
    Frozen({'x': 3, 'y': 2})
    """
    found = _names.given(expression, names, more, sys._getframe(1))
    for name, value in found.items():
        _check(name, value)
    kernel = functools.partial(_evaluated, expression, tuple(found))
    labelled = [value for value in found.values() if isinstance(value, _LABELLED)]
    if not labelled:
        return xr.DataArray(kernel(*found.values()))
    join = xr.get_options()["arithmetic_join"]
    try:
        result = xr.apply_ufunc(
            kernel,
            *found.values(),
            join=join,
            dataset_join=join,
            dataset_fill_value=np.nan,
            # Arrays of Dask's are handed on as they are: the kernel knows what to do with them.
            dask="allowed",
            # For coordinates. Those of the data are mended below.
            keep_attrs="override",
        )
    except ValueError as error:
        raise _with_shapes(error, found) from error
    return _labelled(result, labelled)


def _check(name: str, value: Any) -> None:
    """Without names of dimensions there is nothing to broadcast by."""
    if isinstance(value, _LABELLED) or np.ndim(value) == 0:
        return
    raise TypeError(
        f"{name}: the dimensions of this array have no names; give it some with xr.DataArray({name}, dims=…)"
    )


def _evaluated(expression: str, names: tuple[str, ...], *arrays: Any) -> Any:
    """The expression, of arrays that line up on the right; as a Dask array if one of them is."""
    values = dict(zip(names, arrays))
    if any(hasattr(array, "__dask_graph__") for array in arrays):
        from unishape import dask

        return dask.evaluate(expression, values)
    return _names.evaluated(expression, values)


def _with_shapes(error: ValueError, found: Mapping[str, Any]) -> ValueError:
    """The same error, with what every array is called and how large it is: xarray does not know the names."""
    width = max(map(len, found))
    lines = (f"  {name:{width}}  {_sizes(value)}" for name, value in found.items())
    told = "\n".join([str(error), "", *lines])
    try:
        return type(error)(told)
    except TypeError:
        return ValueError(told)


def _sizes(value: Any) -> str:
    if not isinstance(value, _LABELLED):
        return str(value)
    return ", ".join(f"{dim}: {size}" for dim, size in value.sizes.items()) or "()"


def _labelled(result: Any, objects: Sequence[Any]) -> Any:
    """The result with the name and the attributes that arithmetic gives; apply_ufunc takes those of the first."""
    if isinstance(result, xr.Dataset):
        for name in result.data_vars:
            parts = (each.get(name) if isinstance(each, xr.Dataset) else each for each in objects)
            result[name].attrs = _attributes([part for part in parts if part is not None])
    elif isinstance(result, xr.DataArray):
        called = {each.name for each in objects if isinstance(each, xr.DataArray)}
        result.name = called.pop() if len(called) == 1 else None
    result.attrs = _attributes(objects)
    return result


def _attributes(objects: Sequence[Any]) -> dict[Any, Any]:
    """The attributes of a sum of these, by xarray's own arithmetic: its rules differ by version and by option."""
    return functools.reduce(operator.add, map(_bare, objects), 0).attrs


def _bare(value: Any) -> Any:
    """Something of the same kind with the same attributes, and little else."""
    if isinstance(value, xr.Dataset):
        return xr.Dataset(attrs=value.attrs)
    if isinstance(value, xr.DataArray):
        return xr.DataArray(0, attrs=value.attrs)
    return xr.Variable((), 0, value.attrs)
