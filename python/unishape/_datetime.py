"""datetime64 and timedelta64, computed as int64 in one pass: units and dtypes of results are NumPy's.

NaT is the smallest int64. Each operation on times is an expression of int64 that treats it as NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import unishape
from unishape import _steps, _unishape

_NAT = np.iinfo(np.int64).min
# Signs are numbers since NumPy 2.5, NaN for NaT; before, they were timedelta64, -1 for NaT.
_HAS_NUMBERS_AS_SIGNS = np.sign(np.timedelta64(1, "s")).dtype.kind == "f"

_TIMES = "mM"

#: Units that are multiples of each other. Months and years have no fixed length.
_LINEAR = ("W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")

_UFUNCS = {"abs": "absolute", "pow": "power"}


class _Value(NamedTuple):
    """An operand: a Python number, or a lazy value and its dtype; of times it holds the int64."""

    value: Any
    dtype: Any
    #: The array itself, if it is one.
    array: np.ndarray | None = None

    @property
    def is_time(self) -> bool:
        return isinstance(self.dtype, np.dtype) and self.dtype.kind in _TIMES


def call(name: str, arguments: Sequence[Any], out: np.ndarray | None = None) -> np.ndarray:
    """Calls an element-wise function, some of whose arguments are times."""
    return _computed(_apply(name, [_operand(argument) for argument in arguments]), out)


def evaluate(expression: str, values: Mapping[str, Any], out: np.ndarray | None = None) -> np.ndarray:
    """Evaluates an element-wise expression, some of whose variables are times."""
    results: list[_Value] = []
    for step in _unishape._parse_steps(expression):
        match step:
            case ("variable", name) if name in values:
                results.append(_operand(values[name]))
            case ("variable", name):
                results.append(_operand(unishape.evaluate(name, {}).item()))
            case ("scalar", number):
                results.append(_operand(number))
            case ("cast", dtype, position):
                results.append(_cast_number(results[position], np.dtype(dtype)))
            case (str(name), positions) if isinstance(positions, (tuple, list)) and name not in ("reduce", *_steps.CASTS):
                results.append(_apply(name, [results[position] for position in positions]))
            case _:
                raise TypeError(
                    "expressions of datetime64 and timedelta64 have no views and reductions; apply NumPy's to the "
                    "arrays or to the result"
                )
    return _computed(results[-1], out)


def _operand(value: Any) -> _Value:
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        return _Value(value, type(value))
    array = value if isinstance(value, _unishape.Lazy) else np.asarray(value)
    if array.dtype.kind not in _TIMES:
        return _Value(unishape.lazy(array), array.dtype)
    if np.datetime_data(array.dtype)[0] == "generic" and array.dtype.kind == "M":
        raise TypeError("datetime64 without a unit has no values but NaT; give it one, as in astype('datetime64[s]')")
    native = array.astype(array.dtype.newbyteorder("="), copy=False)
    return _Value(unishape.lazy(native.view(np.int64)), native.dtype, native)


def _computed(result: _Value, out: np.ndarray | None) -> np.ndarray:
    if not result.is_time:
        return unishape.lazy(result.value).compute(out=out)
    if isinstance(out, np.ndarray) and out.dtype == result.dtype and out.dtype.isnative:
        unishape.lazy(result.value).compute(out=out.view(np.int64))
        return out
    array = unishape.lazy(result.value).compute().view(result.dtype)
    if out is None:
        return array
    if not isinstance(out, np.ndarray) or out.shape != array.shape:
        raise ValueError(f"out must be an array of shape {array.shape}, the result's")
    np.copyto(out, array)
    return out


def _cast(operand: _Value, dtype: np.dtype[Any]) -> Any:
    """The lazy value of an operand in the dtype of a ufunc's loop."""
    if dtype.kind not in _TIMES:
        return operand.value
    if not operand.is_time:
        # A number of units.
        return unishape.lazy(operand.value).astype(np.int64)
    own, wanted = np.datetime_data(operand.dtype), np.datetime_data(dtype)
    if own == wanted or own[0] == "generic":
        return operand.value
    if operand.array is not None:
        return unishape.lazy(operand.array.astype(dtype).view(np.int64))
    if own[0] not in _LINEAR or wanted[0] not in _LINEAR:
        raise TypeError(f"a computed value cannot be converted from {operand.dtype} to {dtype}; compute it first")
    factor = int(np.timedelta64(own[1], own[0]) // np.timedelta64(wanted[1], wanted[0]))
    return _unless_nat([operand.value], operand.value * factor)


def _cast_number(operand: _Value, dtype: np.dtype[Any]) -> _Value:
    """A cast in an expression, such as int64(x)."""
    value = unishape.lazy(operand.value)
    if not operand.is_time:
        return _Value(value.astype(dtype), dtype)
    if dtype.kind == "f":
        return _Value(unishape.where(value == _NAT, np.nan, value).astype(dtype), dtype)
    return _Value(value.astype(dtype), dtype)


def _unless_nat(operands: Sequence[Any], result: Any) -> Any:
    """The result, or NaT where an operand is."""
    return unishape.where(_any_nat(operands), _NAT, result)


def _any_nat(operands: Sequence[Any]) -> Any:
    first, *rest = [operand == _NAT for operand in operands]
    for each in rest:
        first = first | each
    return first


def _truncated(quotient: Any) -> Any:
    """A float as a number of units; NaT where it is not finite."""
    return unishape.where(unishape.isfinite(quotient), unishape.trunc(quotient).astype(np.int64), _NAT)


def _as_float(operand: Any) -> Any:
    return unishape.where(operand == _NAT, np.nan, operand)


# Functions of the lazy operands, and of the kinds of their dtypes.


def _multiply(operands: list[Any], kinds: str) -> Any:
    x, y = operands
    if "f" in kinds:
        return _truncated(_as_float(x) * y if kinds[0] == "m" else x * _as_float(y))
    return _unless_nat([x if kinds[0] == "m" else y], x * y)


def _divide(operands: list[Any], kinds: str) -> Any:
    x, y = operands
    if kinds == "mm":
        return _as_float(x) / _as_float(y)
    if kinds == "mf":
        return _truncated(_as_float(x) / y)
    return unishape.where((x == _NAT) | (y == 0), _NAT, unishape.trunc_divide(x, y))


def _floor_divide(operands: list[Any], kinds: str) -> Any:
    x, y = operands
    if kinds == "mm":
        return unishape.where(_any_nat(operands), 0, x // y)
    # By a number, rounded toward 0, as by NumPy.
    return _divide(operands, kinds)


def _remainder(operands: list[Any], kinds: str) -> Any:
    x, y = operands
    return unishape.where(_any_nat(operands) | (y == 0), _NAT, x % y)


def _extremum(name: str, ignores_nat: bool) -> Callable[[list[Any], str], Any]:
    def function(operands: list[Any], kinds: str) -> Any:
        x, y = operands
        result = getattr(unishape, name)(x, y)
        if ignores_nat:
            return unishape.where(x == _NAT, y, unishape.where(y == _NAT, x, result))
        return _unless_nat(operands, result)

    return function


def _comparison(name: str) -> Callable[[list[Any], str], Any]:
    def function(operands: list[Any], kinds: str) -> Any:
        result = getattr(unishape, name)(*operands)
        return result | _any_nat(operands) if name == "not_equal" else result & ~_any_nat(operands)

    return function


def _sign(operands: list[Any], kinds: str) -> Any:
    signs = unishape.sign(operands[0])
    return unishape.where(operands[0] == _NAT, np.nan, 1.0 * signs) if _HAS_NUMBERS_AS_SIGNS else signs


_FUNCTIONS: dict[str, Callable[[list[Any], str], Any]] = {
    "add": lambda operands, kinds: _unless_nat(operands, operands[0] + operands[1]),
    "subtract": lambda operands, kinds: _unless_nat(operands, operands[0] - operands[1]),
    "multiply": _multiply,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "negative": lambda operands, kinds: _unless_nat(operands, -operands[0]),
    "positive": lambda operands, kinds: operands[0],
    "absolute": lambda operands, kinds: _unless_nat(operands, abs(operands[0])),
    "sign": _sign,
    "maximum": _extremum("maximum", False),
    "minimum": _extremum("minimum", False),
    "fmax": _extremum("maximum", True),
    "fmin": _extremum("minimum", True),
    "isnan": lambda operands, kinds: operands[0] == _NAT,
    "isfinite": lambda operands, kinds: operands[0] != _NAT,
    "isinf": lambda operands, kinds: (operands[0] == _NAT) & False,
    **{name: _comparison(name) for name in "equal not_equal less less_equal greater greater_equal".split()},
}


def _apply(name: str, operands: list[_Value]) -> _Value:
    """Applies a function; one without times is applied as it is."""
    if not any(operand.is_time for operand in operands):
        values = [operand.value for operand in operands]
        result = getattr(unishape, name)(*(unishape.lazy(value) if len(values) == 1 else value for value in values))
        return _operand(result) if isinstance(result, _unishape.Lazy) else _operand(result.item())
    if name == "where":
        condition, x, y = operands
        dtype = np.result_type(*(_promotable(each) for each in (x, y)))
        return _Value(unishape.where(condition.value, _cast(x, dtype), _cast(y, dtype)), dtype)
    if name == "clip":
        x, least, most = operands
        return _apply("minimum", [_apply("maximum", [x, least]), most])
    ufunc = getattr(np, _UFUNCS.get(name, name), None)
    function = _FUNCTIONS.get(_UFUNCS.get(name, name))
    if function is None or ufunc is None:
        raise TypeError(f"{name} does not support datetime64 and timedelta64")
    # Raises TypeError for operands that have no result, such as the sum of two dates.
    *dtypes, result = ufunc.resolve_dtypes((*(operand.dtype for operand in operands), None))
    kinds = "".join(dtype.kind for dtype in dtypes)
    values = [unishape.lazy(_cast(operand, dtype)) for operand, dtype in zip(operands, dtypes)]
    computed = function(values, kinds)
    return _Value(computed if result.kind in _TIMES else unishape.lazy(computed).astype(result), result)


def _promotable(operand: _Value) -> Any:
    return operand.dtype if isinstance(operand.dtype, np.dtype) else np.dtype(operand.dtype)
