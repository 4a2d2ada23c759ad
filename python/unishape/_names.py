"""Name resolution of unishape.evaluate, for modules that need the values before evaluation."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import FrameType
from typing import Any

import numpy as np

import unishape
from unishape import _unishape

# unishape.evaluate resolves names in the Python frame that calls it. The frame of this code object has none.
_CALL = compile("__call()", "unishape", "eval")


def evaluate_with(expression: str, names: Mapping[str, Any], /, **more: Any) -> np.ndarray:
    """Evaluates with the given names only, without those of the caller."""
    call = functools.partial(unishape.evaluate, expression, names, **more)
    return eval(_CALL, {"__call": call})


def resolve(
    expression: str, names: Mapping[str, Any] | None, more: Mapping[str, Any], caller: FrameType
) -> dict[str, Any]:
    """The value of each name: from the keyword arguments, the mapping, or the caller's variables.

    Names without a value are left out: they may be constants of the expression language, and otherwise
    unishape.evaluate has the better error message. It also reports unused keyword arguments.
    """
    values = {}
    for name in _unishape._variables(expression):
        if name in more:
            values[name] = more[name]
        elif names is not None and name in names:
            values[name] = names[name]
        else:
            for variables in (caller.f_locals, caller.f_globals):
                if name in variables:
                    if _is_usable(name, variables[name]):
                        values[name] = variables[name]
                    break
    unused = {name: 0 for name in more if name not in values}
    if unused:
        reject_options(unused)
        evaluate_with(expression, dict.fromkeys(values, 0), **unused)
    return values


def reject_options(more: Mapping[str, Any]) -> None:
    """Raises TypeError for options of unishape.evaluate that are not supported with Dask and xarray."""
    if "out" in more:
        raise TypeError("out= is not supported here: the result is a new array")
    if "threads" in more:
        raise TypeError("threads= is not supported here: Dask's scheduler sets the number of concurrent blocks")


def _is_usable(name: str, value: Any) -> bool:
    """Whether to use a caller's variable rather than a constant of that name: `e` may hold an exception."""
    if isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype"):
        return True
    try:
        evaluate_with(name, {})
    except NameError:
        return True
    return False
