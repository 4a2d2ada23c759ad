"""Where others have it differently: how far functions may be off, and elements that are known to differ, and why."""

import functools
from typing import NamedTuple

import ml_dtypes
import numpy as np

from onnx_compare import APPROXIMATE, distances, equal_bits, is_float

#: ONNX Runtime's functions are made for speed: exact to a few ulp where the result is of the size of the argument or
#: of 1, while results near 0 have lost relative accuracy on the way (exp(x) - 1, 1 + erf(x), polynomials of Sigmoid).
#: So a result is also right if it is so many times the type's epsilon off, of 1 or of the largest argument.
ULPS, EPSILONS = 8, 8


def close(cell, arrays, result, expected):
    """Which elements of an approximated function's result are near enough."""
    if cell.op_type not in APPROXIMATE or not is_float(result.dtype):
        return np.zeros(result.shape, bool)
    near = distances(result, expected) <= ULPS
    epsilon = float(ml_dtypes.finfo(result.dtype).eps)
    if cell.op_type in ("Pow", "Exp", "Log") or result.dtype.itemsize < 4:
        return near
    size = np.maximum(1, np.abs(np.nan_to_num(arrays[0].astype("f8"), posinf=1, neginf=1)))
    off = np.abs(result.astype("f8") - expected.astype("f8"))
    return near | (off <= EPSILONS * epsilon * size)


class Disagreement(NamedTuple):
    """Elements that are not compared, because ours is right and the oracle's is not, or because both are."""

    what: str
    decision: str
    oracles: str
    #: Whether it is about a cell, and then about which elements: of (inputs, result, expected).
    about: object
    which: object


def of(*op_types, dtypes=None, other=None):
    return lambda cell: (
        cell.op_type in op_types
        and (dtypes is None or cell.dtype in dtypes)
        and (other is None or cell.other in other)
    )


def any_of(arrays, test):
    """Where a test holds for one of the inputs."""
    return functools.reduce(np.logical_or, [test(array) for array in arrays])


def both_zero(arrays, result, expected):
    return (result == 0) & (expected == 0)


def within_ulps(count):
    return lambda arrays, result, expected: distances(result, expected) <= count


def beyond_range(arrays, result, expected):
    """Integer powers that the type does not hold, or not exactly in double precision, which others compute in."""
    with np.errstate(all="ignore"):
        exact = np.power(arrays[0].astype("f8"), arrays[1].astype("f8"))
    holds = np.abs(exact) < (2.0**31 if result.dtype.itemsize == 4 else 2.0**53)
    return ~(holds & (np.abs(arrays[1].astype("f8")) <= 2.0**53))


def same_number(arrays, result, expected):
    """Texts that are read as the same number of the type, which is the one that was converted."""
    numbers = np.array([float(word) for word in result.ravel()]).reshape(result.shape)
    return equal_bits(numbers.astype(arrays[0].dtype), arrays[0])


FLOATING = ("float16", "float", "double", "bfloat16")
RUNTIME, REFERENCE = "ONNX Runtime", "reference"

DISAGREEMENTS = [
    Disagreement(
        "Max, Min, Clip and Relu of 0 and -0",
        "ONNX does not say which of two equal numbers is given; ours is the first one, whatever the shapes. "
        "ONNX Runtime gives one or the other, by the shapes.",
        "any", of("Max", "Min", "Clip", "Relu"), both_zero,
    ),
    Disagreement(
        "Where that chooses -0",
        "What is chosen is given unchanged, as the text has it. ONNX Runtime adds 0 to it.",
        RUNTIME, of("Where"), both_zero,
    ),
    Disagreement(
        "PRelu of 0 and -0",
        "x itself where x >= 0, as the text has it, and so -0 of -0. Others add two halves, one of which is 0.",
        "any", of("PRelu"), both_zero,
    ),
    Disagreement(
        "PRelu of 0 or infinity, with an infinite slope or one of 0",
        "x itself where x >= 0. The reference multiplies both halves, and so 0 by infinity.",
        REFERENCE, of("PRelu"), lambda arrays, result, expected: np.isnan(expected) & ~np.isnan(result),
    ),
    Disagreement(
        "Clip of infinities without a bound",
        "A bound that is left out does not bind. ONNX Runtime takes the largest finite numbers for bounds.",
        RUNTIME, of("Clip"), lambda arrays, result, expected: np.isinf(result) & (result == arrays[0]),
    ),
    Disagreement(
        "Sign of NaN in float16",
        "NaN, as for the other types. ONNX Runtime gives 0, for float16 alone.",
        RUNTIME, of("Sign", dtypes=["float16"]), lambda arrays, result, expected: np.isnan(result) & (expected == 0),
    ),
    Disagreement(
        "Mod with fmod = 1 of int64 and uint64",
        "Exact. ONNX Runtime computes it in double precision, which does not hold integers beyond 2^53.",
        RUNTIME, of("Mod", dtypes=["int64", "uint64"]),
        lambda arrays, result, expected: any_of(arrays, lambda x: np.abs(x.astype("f8")) > 2.0**53),
    ),
    Disagreement(
        "Pow of integers beyond what the type, or double precision, holds",
        "Integer powers wrap, as products do; what is computed in floating point ends at the ends of the type; 0 to a "
        "power below 0 is 0. ONNX does not say. Others compute in double precision, and convert as the CPU does it.",
        "any", of("Pow", dtypes=["int32", "int64"]), beyond_range,
    ),
    Disagreement(
        "Mean",
        "The sum divided by the count, rounded once more. ONNX Runtime multiplies by the reciprocal of the count.",
        RUNTIME, of("Mean"), within_ulps(2),
    ),
    Disagreement(
        "Softsign",
        "x / (1 + |x|), rounded twice. ONNX Runtime's float is a quotient that is not rounded correctly, and may be "
        "larger than 1.",
        RUNTIME, of("Softsign", dtypes=["float", "bfloat16"]), within_ulps(2),
    ),
    Disagreement(
        "Floating point as text",
        "Digits as few as tell the number, without an exponent, with a point. ONNX does not say how numbers are "
        "written; ONNX Runtime and the reference do it in two other ways. The text is the same number.",
        "any", of("Cast", "CastLike", dtypes=FLOATING, other=["string"]), same_number,
    ),
    Disagreement(
        "Text as bool",
        "'0' is false and other numbers are true, as in ONNX Runtime. To the reference any text is true.",
        REFERENCE, of("Cast", "CastLike", dtypes=["string"], other=["bool"]),
        lambda arrays, result, expected: (arrays[0] == "0") & ~result & expected,
    ),
    Disagreement(
        "bool as text",
        "'1' and '0', as in ONNX Runtime, so that the text can be cast back. The reference has 'True' and 'False'.",
        REFERENCE, of("Cast", "CastLike", dtypes=["bool"], other=["string"]),
        lambda arrays, result, expected: (result == np.where(arrays[0], "1", "0")) & (expected == arrays[0].astype(str)),
    ),
    Disagreement(
        "Erf of integers (opset 9)",
        "Computed in double precision and cut off, so that 1 is reached late. The reference computes in float.",
        REFERENCE, of("Erf", dtypes=["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]),
        lambda arrays, result, expected: (result == 0) & (np.abs(arrays[0].astype("f8")) > 3),
    ),
    Disagreement(
        "Erf and Gelu of double in float",
        "As exact as the type. The reference computes Erf in float, and ONNX Runtime's Gelu has constants of float.",
        "any", of("Erf", "Gelu", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 3e-7 * np.maximum(1, np.abs(arrays[0])),
    ),
    Disagreement(
        "HardSwish of double",
        "1/6 in double precision. In the reference it is an attribute, and those are of float.",
        REFERENCE, of("HardSwish", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 1e-7 * np.square(arrays[0]),
    ),
    Disagreement(
        "Expand of complex numbers",
        "Each element as it is. The reference multiplies by 1, and that makes NaN of infinities and 0 of -0.",
        REFERENCE, of("Expand", dtypes=["complex64", "complex128"]),
        lambda arrays, result, expected: np.isnan(expected) | (result == expected),
    ),
]  # fmt: skip


def excused(cell, who, arrays, result, expected, used):
    """Which elements are not compared, of those that differ."""
    differ = ~equal_bits(result, expected) & ~close(cell, arrays, result, expected)
    excuse = np.zeros(result.shape, bool)
    for one in DISAGREEMENTS:
        if differ.any() and one.about(cell) and (one.oracles == "any" or who.startswith(one.oracles)):
            with np.errstate(all="ignore"):
                mine = differ & one.which(arrays, result, expected)
            if mine.any():
                used.add(one.what)
            excuse |= mine
            differ &= ~mine
    return excuse
