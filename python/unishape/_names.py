"""Name resolution of unishape.evaluate, for modules that need the values before evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from types import FrameType
from typing import Any

import unishape
from unishape import _unishape


def resolve(
    expression: str, names: Mapping[str, Any] | None, more: Mapping[str, Any], caller: FrameType
) -> dict[str, Any]:
    """The value of each name: from the keyword arguments, the mapping, or else the caller's variables.

    Names without a value are left out: unishape.evaluate has the better error message. It also reports unused keyword
    arguments. The constants e and pi are values where no names are given.
    """
    if names is not None:
        _unishape._check_mapping(names)
    scopes = (caller.f_locals, caller.f_globals) if names is None else (names,)
    values = {}
    for name in _unishape._variables(expression):
        if name in more:
            values[name] = more[name]
            continue
        constant = _unishape._constant(name)
        scope = next((scope for scope in scopes if name in scope), None)
        if scope is not None and (names is not None or constant is None or _is_number_or_array(scope[name])):
            values[name] = scope[name]
        elif constant is not None and names is None and not more:
            values[name] = constant
    unused = {name: 0 for name in more if name not in values}
    if unused:
        reject_options(unused)
        unishape.evaluate(expression, dict.fromkeys(values, 0), **unused)
    return values


def reject_options(more: Mapping[str, Any]) -> None:
    """Raises TypeError for options of unishape.evaluate that are not supported with Dask and xarray."""
    if "out" in more:
        raise TypeError("out= is not supported here: the result is a new array")
    if "threads" in more:
        raise TypeError("threads= is not supported here: Dask's scheduler sets the number of concurrent blocks")


def _is_number_or_array(value: Any) -> bool:
    """Whether a caller's variable is used in place of a constant of its name: `e` may hold an exception."""
    return isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype")
