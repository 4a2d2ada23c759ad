"""Element-wise work, reductions and views of xarray objects whose data are lazy values.

xarray's own functions decide about dimensions, coordinates and attributes. The data is computed at the end, in one
expression.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

import unishape
from unishape import _steps
from unishape._unishape import Lazy, _from_steps

#: Classes of xarray's objects.
CLASSES = (xr.DataArray, xr.Dataset, xr.Variable)


class Labelled(NamedTuple):
    """An xarray object with lazy data."""

    value: Any
    #: Its dimensions, in order, and those of size 1 that keepdims=True has kept: the object does not have them, so that
    #: they need no other treatment when it is combined with others.
    dims: tuple[Hashable, ...]


def with_data(value: Any, function: Callable[[Any], Any]) -> Any:
    """The object with other data of the same shape."""
    if isinstance(value, xr.Dataset):
        return value.assign({name: with_data(own.variable, function) for name, own in value.data_vars.items()})
    data = function(value.data)
    if isinstance(value, xr.Variable):
        return xr.Variable(value.dims, data, value.attrs)
    result = xr.DataArray(data, coords=value.coords, dims=value.dims, attrs=value.attrs)
    # Otherwise that of a Dask array.
    result.name = value.name
    return result


def wrap(name: str, value: Any) -> Labelled:
    """Makes the data of an object lazy."""

    def lazy(data: Any) -> Lazy:
        try:
            return unishape.lazy(data)
        except TypeError as error:
            raise TypeError(f"{name}: {error}") from None

    return Labelled(with_data(value, lazy), tuple(value.dims))


def compute(labelled: Labelled) -> Any:
    """The object with NumPy arrays, or with Dask arrays if it depends on some."""
    return with_data(_realized(labelled, labelled.dims), _computed)


def _computed(data: Lazy) -> Any:
    steps, leaves = data._to_steps()
    if len(steps) == 1 and leaves:
        return leaves[0]
    if any(hasattr(leaf, "__dask_graph__") for leaf in leaves):
        from unishape import dask

        return dask.to_dask(data)
    return data.compute()


def _realized(labelled: Labelled, dims: Sequence[Hashable]) -> Any:
    """The object with some of the kept dimensions, which have size 1, in order."""
    value = labelled.value
    missing = [dim for dim in dims if dim not in value.dims]
    if missing:
        if isinstance(value, xr.Variable):
            value = value.set_dims({**dict.fromkeys(missing, 1), **value.sizes})
        else:
            value = value.expand_dims(missing)
    return _ordered(value, labelled.dims)


def _ordered(value: Any, dims: Sequence[Hashable]) -> Any:
    own = [dim for dim in dims if dim in value.dims]
    return value if isinstance(value, xr.Dataset) or list(value.dims) == own else value.transpose(*own)


def apply(function: Callable[..., Any], inputs: Sequence[Any]) -> Labelled:
    """An element-wise function of labelled objects and numbers. At least one is labelled."""
    dims = tuple(dict.fromkeys(dim for each in inputs if isinstance(each, Labelled) for dim in each.dims))
    values = _aligned([each.value if isinstance(each, Labelled) else each for each in inputs])
    objects = [value for value in values if isinstance(value, CLASSES)]
    return Labelled(_ordered(set_name_and_attributes(apply_ufunc(function, values), objects), dims), dims)


def apply_ufunc(function: Callable[..., Any], values: Sequence[Any], outputs: int = 1) -> Any:
    """Calls a function of arrays, whose dimensions xarray has matched by name."""
    join = xr.get_options()["arithmetic_join"]
    return xr.apply_ufunc(
        function,
        *values,
        output_core_dims=[()] * outputs,
        join=join,
        dataset_join=join,
        dataset_fill_value=np.nan,
        # The functions accept Dask arrays.
        dask="allowed",
        # For coordinates. set_name_and_attributes corrects those of the data.
        keep_attrs="override",
    )


def _aligned(values: Sequence[Any]) -> list[Any]:
    """The objects with equal indexes, by the option arithmetic_join.

    Lazy values cannot be reindexed. Where indexes differ, values that are computed are computed now.
    """
    places = [place for place, value in enumerate(values) if isinstance(value, (xr.DataArray, xr.Dataset))]
    result = list(values)
    try:
        xr.align(*(values[place] for place in places), join="exact", copy=False)
    except ValueError:
        computed = (with_data(values[place], _computed) for place in places)
        aligned = xr.align(*computed, join=xr.get_options()["arithmetic_join"], copy=False)
        for place, value in zip(places, aligned):
            result[place] = with_data(value, unishape.lazy)
    return result


def reduce(arguments: Sequence[Any], labelled: Labelled, mask: Any = None) -> Labelled:
    """A reduction. The arguments are those of its step."""
    name, axes, keepdims, *options = arguments
    if mask is not None and isinstance(mask, Labelled):
        labelled, mask = _broadcast(labelled, mask)
    dims = _reduced_dims(name, axes, labelled)
    value = _realized(labelled, [dim for dim in dims if dim not in labelled.value.dims])

    def function(data: Lazy, mask: Any, axis: Any = None) -> Lazy:
        axis = (axis,) if isinstance(axis, int) else axis
        leaves, positions = ([data], (0,)) if mask is None else ([data, mask], (0, 1))
        steps = [("array", place) for place in positions]
        return _from_steps([*steps, ("reduce", (name, axis, False, *options), positions)], leaves)

    def reduced(own: Any, mask: Any) -> Any:
        # A Dataset reduces those dimensions that each variable has.
        own_dims = dims if isinstance(own, xr.Dataset) else [dim for dim in dims if dim in own.dims]
        return own.reduce(functools.partial(function, mask=mask), dim=own_dims)

    if isinstance(value, xr.Dataset) and mask is not None:
        masks = mask.value if isinstance(mask, Labelled) else dict.fromkeys(value.data_vars, mask)
        variables = {key: reduced(own.variable, _data(masks[key])) for key, own in value.data_vars.items()}
        without = value.drop_vars(list(value.data_vars)).drop_dims(dims, errors="ignore")
        # A reduction of no variable: keeps or drops attributes by the option keep_attrs of xarray.
        result = without.reduce(function, dim=()).assign(variables)
    else:
        result = reduced(value, _data(mask.value) if isinstance(mask, Labelled) else mask)
    return Labelled(result, labelled.dims if keepdims else tuple(dim for dim in labelled.dims if dim not in dims))


def _data(value: Any) -> Any:
    return value.data if isinstance(value, CLASSES) else value


def _broadcast(one: Labelled, other: Labelled) -> tuple[Labelled, Labelled]:
    """Two objects of the same dimensions."""
    dims = tuple(dict.fromkeys((*one.dims, *other.dims)))
    # A kept dimension that the other object has is stretched by it.
    present = {*one.value.dims, *other.value.dims}
    missing = lambda each: [dim for dim in each.dims if dim not in present]
    values = _aligned([_realized(each, missing(each)) for each in (one, other)])

    def stretch(*data: Any) -> tuple[Any, ...]:
        shape = np.broadcast_shapes(*(each.shape for each in data))
        return tuple(np.broadcast_to(each, shape) for each in data)

    results = apply_ufunc(stretch, values, outputs=2)
    if isinstance(results[0], xr.DataArray):
        results[0].name = one.value.name
    results[0].attrs = one.value.attrs
    return tuple(Labelled(_ordered(each, dims), dims) for each in results)


def _reduced_dims(name: str, axes: Sequence[Any] | None, labelled: Labelled) -> tuple[Hashable, ...]:
    """The names of reduced dimensions, which are given by names or by axes."""
    dims = labelled.dims
    if axes is None:
        return dims
    name = _steps.function_name(name)
    unknown = [axis for axis in axes if not isinstance(axis, int) and axis not in dims]
    if unknown:
        listed = ", ".join(map(str, dims)) or "none"
        raise ValueError(f"{name}: there is no dimension {unknown[0]!r}; dimensions are: {listed}")
    if any(isinstance(axis, int) for axis in axes):
        if isinstance(labelled.value, xr.Dataset):
            raise TypeError(f'{name}: the variables of a Dataset differ in their axes; write dim="…", not axis=')
        return tuple(dims[axis] for axis in normalize_axis_tuple(tuple(axes), len(dims)))
    if len(set(axes)) < len(axes):
        raise ValueError(f"{name}: dimension {max(axes, key=list(axes).count)!r} is given twice")
    return tuple(axes)


def view(name: str, argument: Any, labelled: Labelled) -> Labelled:
    """A view by positions."""
    if isinstance(labelled.value, xr.Dataset):
        raise TypeError("the variables of a Dataset differ in their axes; use its methods, such as isel and transpose")
    value, dims = _realized(labelled, labelled.dims), labelled.dims
    if name == "getitem":
        value = _index(value, argument)
    elif name == "transpose":
        axes = range(len(dims))[::-1] if argument is None else normalize_axis_tuple(tuple(argument), len(dims))
        value = value.transpose(*(dims[axis] for axis in axes))
    elif name == "swapaxes":
        one, other = (normalize_axis_index(axis, len(dims)) for axis in argument)
        order = list(dims)
        order[one], order[other] = dims[other], dims[one]
        value = value.transpose(*order)
    elif name == "squeeze":
        value = value.squeeze(None if argument is None else [dims[axis] for axis in argument])
    else:
        raise TypeError(f"{name} adds dimensions without names; use x.expand_dims(…) of xarray, or broadcast by name")
    return Labelled(value, tuple(value.dims))


def _index(value: Any, items: Sequence[Any]) -> Any:
    if any(item is None for item in items):
        raise TypeError('None adds a dimension without a name; use x.expand_dims("…") of xarray, or broadcast by name')
    has_ellipsis = any(item is ... for item in items)
    if len(items) - has_ellipsis > value.ndim:
        listed = ", ".join(map(str, value.dims))
        raise IndexError(f"{len(items)} indices for an array with {value.ndim} dimensions: {listed}")
    at = next((place for place, item in enumerate(items) if item is ...), len(items))
    full = [slice(None)] * (value.ndim - len(items) + has_ellipsis)
    return value.isel(dict(zip(value.dims, [*items[:at], *full, *items[at + 1 :]])))


def evaluate(steps: Sequence[Any], arrays: Sequence[Labelled]) -> Any:
    """The value of the last step: labelled, or a number."""
    known: dict[int, Any] = {}

    def value(position: int) -> Any:
        if position in known:
            return known[position]
        step = steps[position]
        if step[0] == "array":
            result: Any = arrays[step[1]]
        elif step[0] == "scalar":
            result = step[1]
        elif step[0] == "reduce" and isinstance(source := value(step[2][0]), Labelled):
            result = reduce(step[1], source, *map(value, step[2][1:]))
        elif step[0] in _steps.VIEWS and isinstance(source := value(step[2]), Labelled):
            result = view(step[0], step[1], source)
        else:
            result = element_wise(position)
        known[position] = result
        return result

    def element_wise(position: int) -> Any:
        """The steps back to values that are known, in one call."""
        used = _steps.used(steps, [position], known)
        inner = {each for each in used if each not in known and steps[each][0] not in _steps.LEAVES}
        # In order of appearance, which is that of the dimensions of the result.
        leaves, visited, open_ = [], set(), [position]
        while open_:
            each = open_.pop()
            if each in inner and each not in visited:
                open_.extend(reversed(_steps.inputs(steps[each])))
            elif each not in visited and not isinstance(value(each), (bool, int, float, complex)):
                leaves.append(each)
            visited.add(each)
        positions = {each: place for place, each in enumerate(used)}
        own = []
        for each in used:
            if each in leaves:
                own.append(("array", leaves.index(each)))
            elif each in inner:
                own.append(_steps.renumbered(steps[each], positions, {}))
            else:
                own.append(("scalar", value(each)))
        if not any(isinstance(value(each), Labelled) for each in leaves):
            return _from_steps(own, [value(each) for each in leaves]).compute()[()]
        return apply(lambda *data: _from_steps(own, data), [value(each) for each in leaves])

    for position, step in enumerate(steps):
        # In order, without recursion: texts may have long chains.
        if step[0] == "reduce" or step[0] in _steps.VIEWS:
            value(position)
    return value(len(steps) - 1)


def set_name_and_attributes(result: Any, objects: Sequence[Any]) -> Any:
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
