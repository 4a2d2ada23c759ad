"""Runs the corpus against ONNX Runtime: every operator, version since opset 7 and element type.

Covers what the node tests of the onnx package leave out: empty arrays, scalars, high ranks, every way to broadcast, and
special values.
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
    """Result of a cell."""

    #: Source of the expected results.
    oracle: str
    #: Number of cases compared with the oracle.
    cases: int
    #: Number of cases for which the oracle has no result.
    unchecked: int
    failure: str | None
    disagreements: frozenset


@functools.cache
def outcome(cell):
    """Runs a cell. Cached, because the conformance page uses the results again."""
    compiled, used, cases, unchecked = {}, set(), 0, 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for arrays in inputs(cell):
            given = {f"x{index}": array for index, array in enumerate(arrays) if array is not None}
            key = tuple(given)
            if key not in compiled:
                compiled[key] = (unishape.onnx.load(model_of(cell, arrays)), *oracle(cell, arrays))
            model, oracle_name, reference = compiled[key]
            result, expected = model(**given)["y"], reference(given)
            if expected is None:
                unchecked += 1
                continue
            cases += 1
            if (result.dtype, result.shape) == (expected.dtype, expected.shape):
                allowed = close(cell, arrays, result, expected)
                allowed |= excused(cell, oracle_name, arrays, result, expected, used)
            else:
                allowed = None
            if failure := difference(result, expected, allowed=allowed):
                shown = [None if array is None else (array.shape, array.tolist()) for array in arrays]
                failure = f"{oracle_name} differs, for {shown}: {failure}"
                return Outcome(oracle_name, cases, unchecked, failure, frozenset(used))
    return Outcome(oracle_name, cases, unchecked, None, frozenset(used))
