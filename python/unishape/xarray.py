"""Expressions over xarray objects: broadcast and reduced by dimension name, evaluated in one pass.

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
>>> unishape.xarray.evaluate('field - mean(field, dim="time")').values.tolist()
[[-1.5, -1.5, -1.5], [1.5, 1.5, 1.5]]
"""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

try:
    import xarray as xr
except ImportError as error:
    raise ImportError("unishape.xarray needs xarray: pip install unishape[xarray]") from error

import unishape
from unishape import _labelled, _names, _steps
from unishape._labelled import CLASSES as _CLASSES
from unishape._unishape import _is_element_wise, _parse_steps

__all__ = ["Lazy", "evaluate", "lazy"]


def evaluate(expression: str, names: Mapping[str, Any] | None = None, /, **more: Any) -> Any:
    """Evaluates an expression of xarray objects in one pass.

    Dimensions are matched by name, in any order; those of the result are in order of first appearance. Indexes
    are aligned by the option arithmetic_join of xr.set_options. Nothing is expanded in memory.

    Coordinates and attributes are merged as in xarray's arithmetic, but over all inputs at once: a coordinate on
    which two arrays differ is dropped even where a later array has it, too.

    Reductions take dim=, a name or a tuple of names, in place of axis=: 'sum(x, dim="time")'. Labels, attributes and
    names are those of xarray's methods. Unlike these, reductions do not skip NaN: write where=~isnan(x). A dimension
    that keepdims=True keeps is stretched where the result is combined with others. With axis= and in views such as
    x[1:], axes are the dimensions in order.

    Parameters
    ----------
    expression : str
        As for unishape.evaluate, but without None in an index, expand_dims and broadcast_to: dimensions have names.
    names : mapping, optional
        DataArrays, Variables, Datasets and numbers by name; a Dataset provides its variables. Without it, names are
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
    >>> unishape.xarray.evaluate('sum(t * scale, dim="x") / max(t)', data).values.round(3).tolist()
    [2.897, 5.793]
    """
    values = _names.resolve(expression, names, more, sys._getframe(1))
    for name, value in values.items():
        _check_named(name, value)
    try:
        if not _is_element_wise(expression):
            return _evaluate_steps(expression, values)
        kernel = functools.partial(_evaluate_arrays, expression, tuple(values))
        objects = [value for value in values.values() if isinstance(value, _CLASSES)]
        if not objects:
            return xr.DataArray(kernel(*values.values()))
        result = _labelled.apply_ufunc(kernel, list(values.values()))
        return _labelled.set_name_and_attributes(result, objects)
    except unishape.BroadcastError as error:
        error.add_note("\n" + _sizes_of_all(values))
        raise
    except ValueError as error:
        raise _with_shapes(error, values) from error


def _evaluate_steps(expression: str, values: Mapping[str, Any]) -> Any:
    """Evaluates an expression with views or reductions."""
    objects = {name: value for name, value in values.items() if isinstance(value, _CLASSES)}
    numbers = {name: value for name, value in values.items() if name not in objects}
    if not objects:
        return xr.DataArray(unishape.evaluate(expression, values))
    places = {name: place for place, name in enumerate(objects)}
    steps = _steps.bind(_parse_steps(expression), places, numbers)
    result = _labelled.evaluate(steps, [_labelled.wrap(name, value) for name, value in objects.items()])
    return _labelled.compute(result) if isinstance(result, _labelled.Labelled) else xr.DataArray(result)


def _check_named(name: str, value: Any) -> None:
    """Rejects arrays without dimension names."""
    if isinstance(value, _CLASSES) or np.ndim(value) == 0:
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
    return unishape.evaluate(expression, values)


def _with_shapes(error: ValueError, values: Mapping[str, Any]) -> ValueError:
    """The error with the name and sizes of each input: xarray does not know the names."""
    text = f"{error}\n\n{_sizes_of_all(values)}"
    try:
        return type(error)(text)
    except TypeError:
        return ValueError(text)


def _sizes_of_all(values: Mapping[str, Any]) -> str:
    width = max(map(len, values))
    return "\n".join(f"  {name:{width}}  {_sizes(value)}" for name, value in values.items())


def _sizes(value: Any) -> str:
    if not isinstance(value, _CLASSES):
        return str(value)
    return ", ".join(f"{dim}: {size}" for dim, size in value.sizes.items()) or "()"


class Lazy:
    """An xarray object that is not computed yet.

    Operators, NumPy's ufuncs, reductions and views combine lazy objects to one expression, and xarray's rules give it
    dimensions, coordinates and attributes. compute() evaluates it in one pass. Make one with unishape.xarray.lazy.

    Of two operands, the left one must be lazy: xarray's own operators do not know lazy objects. Objects with different
    indexes are aligned by the option arithmetic_join of xr.set_options; values that need it are computed first.

    Examples
    --------
    >>> import numpy as np, xarray as xr, unishape.xarray
    >>> x = unishape.xarray.lazy(xr.DataArray([[1.0, 3.0], [2.0, 8.0]], dims=("time", "x"), coords={"x": [10, 20]}))
    >>> ((x - x.mean(dim="time")) / x.std(dim="time")).compute()
    <xarray.DataArray (time: 2, x: 2)> Size: 32B
    array([[-1., -1.],
           [ 1.,  1.]])
    Coordinates:
      * x        (x) int64 16B 10 20
    Dimensions without coordinates: time
    """

    __slots__ = ("_labelled",)
    __array_priority__ = 1000

    def __init__(self, labelled: _labelled.Labelled) -> None:
        self._labelled = labelled

    @property
    def dims(self) -> tuple[Any, ...]:
        """Names of the dimensions."""
        return self._labelled.dims

    @property
    def sizes(self) -> dict[Any, int]:
        """Sizes of the dimensions, by name."""
        return {dim: self._labelled.value.sizes.get(dim, 1) for dim in self.dims}

    def compute(self) -> Any:
        """The xarray object. Its data is a Dask array, not computed yet, if that of an input is."""
        return _labelled.compute(self._labelled)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{dim}: {size}" for dim, size in self.sizes.items())
        value = self._labelled.value
        data = f"\n{value.data!r}" if not isinstance(value, xr.Dataset) else ""
        return f"<unishape.xarray.Lazy ({sizes})>{data}"

    def __bool__(self) -> bool:
        raise TypeError("a lazy object has no truth value; call .compute() first, or use &, |, ~ and where")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asarray(self.compute(), dtype)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Lazy:
        if method != "__call__" or options:
            raise TypeError(f"np.{ufunc.__name__}.{method} does not support these arguments with lazy objects")
        if any(isinstance(each, np.ndarray) and each.ndim for each in inputs):
            # xarray's operators pass the data of an object on their left.
            raise TypeError("an array without dimension names; with an xarray object x, write unishape.xarray.lazy(x)")
        return _apply(ufunc, *inputs)

    def __getitem__(self, key: Any) -> Lazy:
        """A view by positions: integers, slices and ..., as for DataArrays."""
        return self._view("getitem", key if isinstance(key, tuple) else (key,))

    @property
    def T(self) -> Lazy:
        """The object with its dimensions reversed."""
        return self._view("transpose", None)

    def where(self, condition: Any, other: Any = np.nan) -> Lazy:
        """The elements where a condition is true, and others elsewhere."""
        return _apply(unishape.where, condition, self, other)

    def astype(self, dtype: Any) -> Lazy:
        """Casts to another dtype."""
        return _apply(lambda data: data.astype(dtype), self)

    def sum(self, dim: Any = None, **options: Any) -> Lazy:
        """Sums elements.

        Parameters
        ----------
        dim : str, tuple of str or ..., optional
            The reduced dimensions. Default: all.
        **options
            axis in place of dim, and keepdims, dtype, initial and where, as in NumPy.

        Returns
        -------
        Lazy
        """
        return self._reduce("sum", dim, options, ("dtype", "initial", "where"))

    def prod(self, dim: Any = None, **options: Any) -> Lazy:
        """Multiplies elements; the arguments are those of sum."""
        return self._reduce("prod", dim, options, ("dtype", "initial", "where"))

    def min(self, dim: Any = None, **options: Any) -> Lazy:
        """Smallest element; the arguments are those of sum, without dtype."""
        return self._reduce("min", dim, options, ("initial", "where"))

    def max(self, dim: Any = None, **options: Any) -> Lazy:
        """Largest element; the arguments are those of sum, without dtype."""
        return self._reduce("max", dim, options, ("initial", "where"))

    def mean(self, dim: Any = None, **options: Any) -> Lazy:
        """Mean; the arguments are those of sum, without initial."""
        return self._reduce("mean", dim, options, ("dtype", "where"))

    def var(self, dim: Any = None, **options: Any) -> Lazy:
        """Variance; the arguments are those of mean, and ddof."""
        return self._reduce("var", dim, options, ("dtype", "where", "ddof"))

    def std(self, dim: Any = None, **options: Any) -> Lazy:
        """Standard deviation; the arguments are those of var."""
        return self._reduce("std", dim, options, ("dtype", "where", "ddof"))

    def any(self, dim: Any = None, **options: Any) -> Lazy:
        """Whether any element is true; takes dim, axis, keepdims and where."""
        return self._reduce("any", dim, options, ("where",))

    def all(self, dim: Any = None, **options: Any) -> Lazy:
        """Whether all elements are true; takes dim, axis, keepdims and where."""
        return self._reduce("all", dim, options, ("where",))

    def argmin(self, dim: Any = None, **options: Any) -> Lazy:
        """Index of the first smallest element; takes one dimension or all, and keepdims."""
        return self._reduce("argmin", dim, options, ())

    def argmax(self, dim: Any = None, **options: Any) -> Lazy:
        """Index of the first largest element; takes one dimension or all, and keepdims."""
        return self._reduce("argmax", dim, options, ())

    def count_nonzero(self, dim: Any = None, **options: Any) -> Lazy:
        """Number of elements that are not zero; takes dim, axis and keepdims."""
        return self._reduce("count_nonzero", dim, options, ())

    def logsumexp(self, dim: Any = None, **options: Any) -> Lazy:
        """Logarithm of the sum of exponentials; takes dim, axis and keepdims."""
        return self._reduce("logsumexp", dim, options, ())

    def norm(self, ord: Any = 2, dim: Any = None, **options: Any) -> Lazy:
        """Vector norm of order 1, 2 or infinity; takes dim, axis and keepdims."""
        for order, name in [(1, "norm1"), (2, "norm2"), (np.inf, "norminf")]:
            if np.ndim(ord) == 0 and ord == order:
                return self._reduce(name, dim, options, ())
        raise ValueError("ord must be 1, 2 or inf")

    def transpose(self, *dims: Any) -> Lazy:
        """Orders the dimensions by name. Default: reversed."""
        value = _labelled._realized(self._labelled, self.dims).transpose(*dims)
        return Lazy(_labelled.Labelled(value, tuple(value.dims)))

    def _view(self, name: str, argument: Any) -> Lazy:
        return Lazy(_labelled.view(name, argument, self._labelled))

    def _reduce(self, name: str, dim: Any, options: Mapping[str, Any], known: tuple[str, ...]) -> Lazy:
        known = ("dim", "axis", "keepdims", *known)
        function = _steps.function_name(name)
        for option in options:
            if option not in known:
                listed = f"{', '.join(known[:-1])} and {known[-1]}"
                raise TypeError(f"{function} has no argument {option}; it takes {listed}")
        axes = _axes(function, dim, options.get("axis"))
        if name.startswith("arg") and axes is not None and len(axes) != 1:
            raise TypeError(f"{function} takes one dimension, or all")
        dtype, mask = options.get("dtype"), options.get("where")
        # Also checks that expressions support it.
        dtype = None if dtype is None else unishape.lazy(0).astype(dtype).dtype.name
        arguments = (name, axes, options.get("keepdims", False), options.get("ddof", 0), dtype, options.get("initial"))
        mask = None if mask is None else _operand(mask, "where")
        return Lazy(_labelled.reduce(arguments, self._labelled, mask))


def _axes(function: str, dim: Any, axis: Any) -> tuple[Any, ...] | None:
    """Names of dimensions, or axes, from the arguments of a reduction; None for all."""
    if dim is not None and axis is not None:
        raise TypeError(f"{function}: give dim or axis, not both")
    if axis is not None:
        axes = tuple(axis) if isinstance(axis, (tuple, list)) or np.ndim(axis) == 1 else (axis,)
        for each in axes:
            if isinstance(each, bool) or not hasattr(each, "__index__"):
                hint = f'; write dim="{each}"' if isinstance(each, str) else ""
                raise TypeError(f"{function}: an axis must be an integer, not {type(each).__name__}{hint}")
        return tuple(map(operator.index, axes))
    if dim is None or dim is ...:
        return None
    dims = tuple(dim) if isinstance(dim, Iterable) and not isinstance(dim, str) else (dim,)
    for each in dims:
        # Of the names that xarray accepts, numbers are most likely meant as axes.
        if isinstance(each, (int, float)):
            hint = f"; write axis={dim!r}" if isinstance(each, int) else ""
            raise TypeError(f"{function}: dim must be a name or several, not {type(each).__name__}{hint}")
    return dims


def lazy(x: Any, /) -> Lazy:
    """Makes a lazy object of a DataArray, a Variable or a Dataset.

    Parameters
    ----------
    x : DataArray, Variable or Dataset

    Returns
    -------
    Lazy

    Examples
    --------
    >>> import xarray as xr, unishape.xarray
    >>> x = unishape.xarray.lazy(xr.DataArray([1.0, 2.0, 4.0], dims="time"))
    >>> float((x**2).sum(dim="time").compute())
    21.0
    """
    if isinstance(x, Lazy):
        return x
    if not isinstance(x, _CLASSES):
        name = f"{type(x).__module__}.{type(x).__qualname__}"
        raise TypeError(f"unishape.xarray.lazy takes an xarray object, not {name}; use unishape.lazy")
    return Lazy(_labelled.wrap("x", x))


def _operand(value: Any, name: str = "x") -> Any:
    """A labelled object or a number; errors have its name."""
    if isinstance(value, Lazy):
        return value._labelled
    if isinstance(value, _CLASSES):
        return _labelled.wrap(name, value)
    _check_named(name, value)
    return value


def _apply(function: Callable[..., Any], *inputs: Any) -> Lazy:
    return Lazy(_labelled.apply(function, list(map(_operand, inputs))))


def _add_operators() -> None:
    """Adds the operators of Python to Lazy."""

    def binary(function: Callable[..., Any]) -> tuple[Callable[..., Lazy], Callable[..., Lazy]]:
        return (lambda self, other: _apply(function, self, other), lambda self, other: _apply(function, other, self))

    def unary(function: Callable[..., Any]) -> Callable[..., Lazy]:
        return lambda self: _apply(function, self)

    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift".split():
        direct, reflected = binary(getattr(operator, f"__{name}__"))
        setattr(Lazy, f"__{name}__", direct)
        setattr(Lazy, f"__r{name}__", reflected)
    for name in "lt le eq ne gt ge".split():
        setattr(Lazy, f"__{name}__", binary(getattr(operator, name))[0])
    for name in "neg pos abs invert".split():
        setattr(Lazy, f"__{name}__", unary(getattr(operator, name)))


_add_operators()
