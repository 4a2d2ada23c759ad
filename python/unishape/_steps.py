"""Steps of expressions: lists of operations, each of which refers to earlier ones by position.

_parse_steps makes them from a text, and Lazy._to_steps from a lazy value. A step is one of

- ("variable", name), ("array", place) or ("scalar", number),
- (function, positions), ("cast", dtype, position),
- (cast, positions) of CASTS: the first input, cast to a dtype that depends on that of the second,
- (view, argument, position), ("reduce", arguments, positions), whose second position is the mask, if any.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import unishape

#: Steps that are views.
VIEWS = ("getitem", "transpose", "swapaxes", "expand_dims", "squeeze", "broadcast_to")

#: Casts of softmax and the like.
CASTS = ("widen_to_exp", "to_exp", "widen_to_mean", "to_mean")

LEAVES = ("variable", "array", "scalar")


def bind(steps: Sequence[Any], places: Mapping[str, int], numbers: Mapping[str, Any]) -> list[Any]:
    """Replaces variables by arrays, of which it has the places, and by numbers."""

    def bound(step: Any) -> Any:
        if step[0] != "variable":
            return step
        name = step[1]
        if name in places:
            return ("array", places[name])
        # A constant of the expression language, or an error.
        return ("scalar", numbers[name] if name in numbers else unishape.evaluate(name, {}).item())

    return [bound(step) for step in steps]


def inputs(step: Any) -> tuple[int, ...]:
    """Positions of the steps that a step depends on."""
    if step[0] in LEAVES:
        return ()
    last = step[-1]
    return (last,) if isinstance(last, int) else tuple(last)


def used(steps: Sequence[Any], positions: Sequence[int], known: Container[int] = ()) -> list[int]:
    """Positions of the steps that some depend on, themselves included. Known steps depend on none."""
    result = set(positions)
    for position in range(max(positions), -1, -1):
        if position in result and position not in known:
            result.update(inputs(steps[position]))
    return sorted(result)


def renumbered(step: Any, positions: Mapping[int, int], places: Mapping[int, int]) -> Any:
    """A step with other positions of its inputs, or with another place of its array."""
    if step[0] == "array":
        return ("array", places[step[1]])
    if step[0] in LEAVES:
        return step
    last = step[-1]
    own = positions[last] if isinstance(last, int) else tuple(positions[each] for each in last)
    return (*step[:-1], own)


def function_name(reduction: str) -> str:
    """The name of a reduction in texts: steps have a name for each order of a norm."""
    return "norm" if reduction.startswith("norm") else reduction
