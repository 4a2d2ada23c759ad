"""Expressions over xarray objects: broadcast by dimension name, evaluated in one pass.

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
    """Evaluates an expression of xarray objects in one pass.

    Dimensions are matched by name, in any order; those of the result are in order of first appearance. Indexes
    are aligned by the option arithmetic_join of xr.set_options. Nothing is expanded in memory.

    Coordinates and attributes are merged as in xarray's arithmetic, but over all inputs at once: a coordinate on
    which two arrays differ is dropped even where a later array has it, too.

    Parameters
    ----------
    expression : str
        As for unishape.evaluate, but element-wise: without axes and reductions, which xarray has itself.
    names : mapping, optional
        DataArrays, Variables, Datasets and numbers by name; a Dataset provides its variables. Other names are
        variables of the caller.
    **more
        Objects and numbers by name; these take precedence over names.

    Returns
    -------
    DataArray, Variable or Dataset
        With Datasets, the expression is evaluated for each variable. With Dask arrays, the data of the result is a
        Dask array, not computed yet: see unishape.dask.

    Examples
    --------
    >>> import xarray as xr, unishape.xarray
    >>> data = xr.Dataset({"t": ("x", [270.0, 280.0, 290.0]), "scale": ("y", [1.0, 2.0])})
    >>> unishape.xarray.evaluate("(t - 273.15) * scale", data).sizes
    Frozen({'x': 3, 'y': 2})
    """
    hint = 'select and reduce with xarray, as in x.isel(time=0) or x.sum(dim="time")'
    _names.check_element_wise(expression, "unishape.xarray", hint)
    values = _names.resolve(expression, names, more, sys._getframe(1))
    for name, value in values.items():
        _check_named(name, value)
    kernel = functools.partial(_evaluate_arrays, expression, tuple(values))
    labelled = [value for value in values.values() if isinstance(value, _LABELLED)]
    if not labelled:
        return xr.DataArray(kernel(*values.values()))
    join = xr.get_options()["arithmetic_join"]
    try:
        result = xr.apply_ufunc(
            kernel,
            *values.values(),
            join=join,
            dataset_join=join,
            dataset_fill_value=np.nan,
            # The kernel accepts Dask arrays.
            dask="allowed",
            # For coordinates. _set_name_and_attributes corrects those of the data.
            keep_attrs="override",
        )
    except ValueError as error:
        raise _with_shapes(error, values) from error
    return _set_name_and_attributes(result, labelled)


def _check_named(name: str, value: Any) -> None:
    """Rejects arrays without dimension names."""
    if isinstance(value, _LABELLED) or np.ndim(value) == 0:
        return
    raise TypeError(
        f"{name}: this array has no dimension names; add them with xr.DataArray({name}, dims=…)"
    )


def _evaluate_arrays(expression: str, names: tuple[str, ...], *arrays: Any) -> Any:
    """Evaluates the expression of arrays that are aligned on the right; a Dask array if one of them is."""
    values = dict(zip(names, arrays))
    if any(hasattr(array, "__dask_graph__") for array in arrays):
        from unishape import dask

        return dask.evaluate(expression, values)
    return _names.evaluate_with(expression, values)


def _with_shapes(error: ValueError, values: Mapping[str, Any]) -> ValueError:
    """The error with the name and sizes of each input: xarray does not know the names."""
    width = max(map(len, values))
    lines = (f"  {name:{width}}  {_sizes(value)}" for name, value in values.items())
    text = "\n".join([str(error), "", *lines])
    try:
        return type(error)(text)
    except TypeError:
        return ValueError(text)


def _sizes(value: Any) -> str:
    if not isinstance(value, _LABELLED):
        return str(value)
    return ", ".join(f"{dim}: {size}" for dim, size in value.sizes.items()) or "()"


def _set_name_and_attributes(result: Any, objects: Sequence[Any]) -> Any:
    """Sets name and attributes as xarray's arithmetic does; apply_ufunc takes those of the first input."""
    if isinstance(result, xr.Dataset):
        for name in result.data_vars:
            inputs = (each.get(name) if isinstance(each, xr.Dataset) else each for each in objects)
            result[name].attrs = _attributes([each for each in inputs if each is not None])
    elif isinstance(result, xr.DataArray):
        names = {each.name for each in objects if isinstance(each, xr.DataArray)}
        result.name = names.pop() if len(names) == 1 else None
    result.attrs = _attributes(objects)
    return result


def _attributes(objects: Sequence[Any]) -> dict[Any, Any]:
    """The attributes of a sum, by xarray itself: its rules depend on its version and options."""
    return functools.reduce(operator.add, map(_scalar_like, objects), 0).attrs


def _scalar_like(value: Any) -> Any:
    """A scalar object of the same class with the same attributes."""
    if isinstance(value, xr.Dataset):
        return xr.Dataset(attrs=value.attrs)
    if isinstance(value, xr.DataArray):
        return xr.DataArray(0, attrs=value.attrs)
    return xr.Variable((), 0, value.attrs)
