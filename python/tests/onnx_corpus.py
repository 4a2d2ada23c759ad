"""What ONNX's own tests leave out, beside ONNX Runtime: every operator in each of its versions since opset 7, for
every type, on no elements, on one, on many dimensions, broadcast every way, with the values that are easily got wrong.
"""

import functools
import warnings
from typing import NamedTuple

import numpy as np

import unishape.onnx
from onnx_cells import inputs
from onnx_compare import difference
from onnx_disagreements import close, excused
from onnx_oracles import model_of, oracle


class Outcome(NamedTuple):
    """What became of a cell."""

    #: Who was asked, in how many cases.
    oracle: str
    cases: int
    #: Cases that nobody could be asked about.
    unasked: int
    wrong: str | None
    disagreements: frozenset


@functools.cache
def outcome(cell):
    """Runs a cell. Remembered, so that a table can be made of it without running it again."""
    ready, used, cases, unasked = {}, set(), 0, 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for arrays in inputs(cell):
            given = {f"x{at}": array for at, array in enumerate(arrays) if array is not None}
            key = tuple(given)
            if key not in ready:
                ready[key] = (unishape.onnx.load(model_of(cell, arrays)), *oracle(cell, arrays))
            ours, who, theirs = ready[key]
            result, expected = ours(**given)["y"], theirs(given)
            if expected is None:
                unasked += 1
                continue
            cases += 1
            if (result.dtype, result.shape) == (expected.dtype, expected.shape):
                allowed = excused(cell, who, arrays, result, expected, used) | close(cell, arrays, result, expected)
            else:
                allowed = None
            if wrong := difference(result, expected, allowed=allowed):
                told = [None if array is None else (array.shape, array.tolist()) for array in arrays]
                return Outcome(who, cases, unasked, f"{who} has it differently, for {told}: {wrong}", frozenset(used))
    return Outcome(who, cases, unasked, None, frozenset(used))
