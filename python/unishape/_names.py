"""The names in an expression, and what a caller has given for them: what unishape.evaluate does by itself,
for those who have to know the values before it sees them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import FrameType
from typing import Any

import numpy as np

import unishape
from unishape import _unishape


# The engine looks for names in the frame of Python that calls it. The frame of this code has none.
_CALL = compile("__call()", "unishape", "eval")


def evaluated(expression: str, names: Mapping[str, Any], /, **more: Any) -> np.ndarray:
    """unishape.evaluate, which sees the names that it is given, and no others."""
    call = functools.partial(unishape.evaluate, expression, names, **more)
    return eval(_CALL, {"__call": call})


def given(
    expression: str, names: Mapping[str, Any] | None, more: Mapping[str, Any], caller: FrameType
) -> dict[str, Any]:
    """What there is for each name: among the keyword arguments, in the dictionary, in the caller's variables.

    A name for which there is nothing is left out: it may be one of the engine's constants, and if it is not, the
    engine has the better message. So it has for keyword arguments that are not asked for.
    """
    found = {}
    for name in _unishape._names_in(expression):
        if name in more:
            found[name] = more[name]
        elif names is not None and name in names:
            found[name] = names[name]
        else:
            for variables in (caller.f_locals, caller.f_globals):
                if name in variables:
                    if _is_meant(name, variables[name]):
                        found[name] = variables[name]
                    break
    unused = {name: 0 for name in more if name not in found}
    if unused:
        refuse_options(unused)
        evaluated(expression, dict.fromkeys(found, 0), **unused)
    return found


def refuse_options(more: Mapping[str, Any]) -> None:
    """unishape.evaluate's options, where somebody else decides about them."""
    if "out" in more:
        raise TypeError("there is no out= here: the result is an array of its own")
    if "threads" in more:
        raise TypeError("there is no threads= here: Dask's scheduler decides how many blocks there are at a time")


def _is_meant(name: str, value: Any) -> bool:
    """Whether a caller's variable is what the expression means: `e` may well be somebody's exception."""
    if isinstance(value, (bool, int, float, complex)) or hasattr(value, "dtype"):
        return True
    try:
        evaluated(name, {})
    except NameError:
        return True
    return False
