"""Tolerances, and known disagreements with the oracles and their reasons."""

import functools
from typing import NamedTuple

import ml_dtypes
import numpy as np

import onnx_reductions
from onnx_compare import APPROXIMATE, NORMALIZED, SUMS, distances, equal_bits, is_float

#: ONNX Runtime's functions trade accuracy for speed: exact to a few ulp where the result has the magnitude of the
#: argument or of 1, but less accurate near 0 (exp(x) - 1, 1 + erf(x), polynomials of Sigmoid). So an absolute error of
#: EPSILONS times the type's epsilon, relative to 1 or to the argument, is accepted too.
ULPS, EPSILONS = 8, 8


def close(cell, arrays, result, expected):
    """Which elements of an approximated result are within the tolerance."""
    if cell.op_type not in APPROXIMATE | SUMS | NORMALIZED or not is_float(result.dtype):
        return np.zeros(result.shape, bool)
    near = distances(result, expected) <= ULPS
    if cell.op_type in SUMS | NORMALIZED or cell.op_type.startswith("ReduceLog"):
        return near | onnx_reductions.close(cell, arrays, result, expected, EPSILONS)
    epsilon = float(ml_dtypes.finfo(result.dtype).eps)
    if cell.op_type in ("Pow", "Exp", "Log") or result.dtype.itemsize < 4:
        return near
    magnitude = np.maximum(1, np.abs(np.nan_to_num(arrays[0].astype("f8"), posinf=1, neginf=1)))
    error = np.abs(result.astype("f8") - expected.astype("f8"))
    return near | (error <= EPSILONS * epsilon * magnitude)


class Disagreement(NamedTuple):
    """Elements that are not compared: the oracle is wrong, or ONNX allows both results."""

    subject: str
    #: What unishape does, and why.
    decision: str
    #: Prefix of the oracle's name, or "any".
    oracles: str
    #: Whether it applies to a cell.
    applies_to: object
    #: Mask of the elements that it covers, from (inputs, result, expected).
    mask: object


def cells_of(*op_types, dtypes=None, other=None):
    return lambda cell: (
        cell.op_type in op_types
        and (dtypes is None or cell.dtype in dtypes)
        and (other is None or cell.other in other)
    )


def any_of(arrays, test):
    """Where a predicate holds for any of the inputs."""
    return functools.reduce(np.logical_or, [test(array) for array in arrays])


def both_zero(arrays, result, expected):
    return (result == 0) & (expected == 0)


def within_ulps(count):
    return lambda arrays, result, expected: distances(result, expected) <= count


def beyond_range(arrays, result, expected):
    """Integer powers that overflow the type, or that double precision does not represent exactly."""
    with np.errstate(all="ignore"):
        exact = np.power(arrays[0].astype("f8"), arrays[1].astype("f8"))
    is_exact = np.abs(exact) < (2.0**31 if result.dtype.itemsize == 4 else 2.0**53)
    return ~(is_exact & (np.abs(arrays[1].astype("f8")) <= 2.0**53))


def same_number(arrays, result, expected):
    """Strings that parse to the converted number."""
    numbers = np.array([float(string) for string in result.ravel()]).reshape(result.shape)
    return equal_bits(numbers.astype(arrays[0].dtype), arrays[0])


def multiplied_out(arrays, result, expected):
    """Rounding errors of x * factor + (bias - mean * factor) in place of (x - mean) * factor + bias."""
    x, scale, bias = (array.astype("f8") for array in arrays)
    axes = tuple(range(2, x.ndim))
    scale, bias = (array.reshape(-1, *[1] * len(axes)) for array in (scale, bias))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    size = (np.abs(x) + np.abs(mean)) * np.abs(scale) / np.sqrt(variance + 1e-5) + np.abs(bias)
    error = np.abs(result.astype("f8") - expected.astype("f8"))
    return error <= EPSILONS * float(ml_dtypes.finfo(result.dtype).eps) * size


FLOATING = ("float16", "float", "double", "bfloat16")
RUNTIME, REFERENCE = "ONNX Runtime", "reference"
#: Logarithm of the number of terms in the corpus: what ONNX Runtime may lose of the logarithm of a sum.
LOG_TERMS = 9

DISAGREEMENTS = [
    Disagreement(
        "Max, Min, Clip and Relu of 0 and -0",
        "ONNX does not define which of two equal numbers is returned. unishape returns the first for all shapes; "
        "in ONNX Runtime it depends on the shapes.",
        "any", cells_of("Max", "Min", "Clip", "Relu"), both_zero,
    ),
    Disagreement(
        "Where that selects -0",
        "The selected element is returned unchanged, as specified. ONNX Runtime adds 0 to it.",
        RUNTIME, cells_of("Where"), both_zero,
    ),
    Disagreement(
        "PRelu of 0 and -0",
        "x where x >= 0, as specified, so -0 for -0. The others add two terms, one of which is 0.",
        "any", cells_of("PRelu"), both_zero,
    ),
    Disagreement(
        "PRelu of 0 or infinity with slope infinity or 0",
        "x where x >= 0. The reference evaluates both branches, and so multiplies 0 by infinity.",
        REFERENCE, cells_of("PRelu"), lambda arrays, result, expected: np.isnan(expected) & ~np.isnan(result),
    ),
    Disagreement(
        "Clip of infinities without a bound",
        "An omitted bound does not limit. ONNX Runtime uses the largest finite number as the bound.",
        RUNTIME, cells_of("Clip"), lambda arrays, result, expected: np.isinf(result) & (result == arrays[0]),
    ),
    Disagreement(
        "Sign of NaN in float16",
        "NaN, as for the other types. ONNX Runtime returns 0, only for float16.",
        RUNTIME, cells_of("Sign", dtypes=["float16"]),
        lambda arrays, result, expected: np.isnan(result) & (expected == 0),
    ),
    Disagreement(
        "Mod with fmod = 1 of int64 and uint64",
        "Exact. ONNX Runtime computes in double precision, which is not exact for integers beyond 2^53.",
        RUNTIME, cells_of("Mod", dtypes=["int64", "uint64"]),
        lambda arrays, result, expected: any_of(arrays, lambda x: np.abs(x.astype("f8")) > 2.0**53),
    ),
    Disagreement(
        "Pow of integers whose result exceeds the type or 2^53",
        "Not defined by ONNX. Integer powers wrap, like products; floating-point results become integers as NumPy "
        "casts them; 0 to a negative power is 0. The others compute in double precision and convert as the CPU does.",
        "any", cells_of("Pow", dtypes=["int32", "int64"]), beyond_range,
    ),
    Disagreement(
        "Mean",
        "Sum divided by the count. ONNX Runtime multiplies by the reciprocal of the count.",
        RUNTIME, cells_of("Mean"), within_ulps(2),
    ),
    Disagreement(
        "Softsign",
        "x / (1 + |x|), each operation rounded correctly. ONNX Runtime's quotient in float is not, and may exceed 1.",
        RUNTIME, cells_of("Softsign", dtypes=["float", "bfloat16"]), within_ulps(2),
    ),
    Disagreement(
        "ReduceMax, ReduceMin and ReduceLogSumExp of NaN",
        "NaN, as in NumPy. In ONNX Runtime the result depends on where the NaN is.",
        RUNTIME, cells_of("ReduceMax", "ReduceMin", "ReduceLogSumExp"),
        lambda arrays, result, expected: np.isnan(result),
    ),
    Disagreement(
        "ArgMax and ArgMin of NaN",
        "Position of the first NaN, as in NumPy. In ONNX Runtime it depends on where the NaN is.",
        RUNTIME, cells_of("ArgMax", "ArgMin", dtypes=FLOATING),
        lambda arrays, result, expected: np.full(result.shape, np.isnan(arrays[0]).any()),
    ),
    Disagreement(
        "ReduceLogSumExp of infinities",
        "Infinite, as in ONNX Runtime. The reference subtracts infinity from itself.",
        REFERENCE, cells_of("ReduceLogSumExp"), lambda arrays, result, expected: np.isinf(result) & np.isnan(expected),
    ),
    Disagreement(
        "RMSNormalization with a scale of another type",
        "The result has the type of the scale, and is rounded to it. The reference rounds to the type of X first.",
        REFERENCE, cells_of("RMSNormalization"),
        lambda arrays, result, expected: np.abs(result.astype("f8") - expected.astype("f8"))
        <= EPSILONS * float(ml_dtypes.finfo(arrays[0].dtype).eps) * np.fmax.reduce(np.abs(expected), None, initial=1),
    ),
    Disagreement(
        "LogSoftmax and Softmax of rows with infinities or NaN in double",
        "NaN, as for the other types and by the definition. ONNX Runtime returns numbers.",
        RUNTIME, cells_of("LogSoftmax", "Softmax", dtypes=["double"]),
        lambda arrays, result, expected: np.isnan(result),
    ),
    Disagreement(
        "Mean of LayerNormalization of rows with infinities",
        "Infinite, as ReduceMean. In ONNX Runtime it is NaN.",
        RUNTIME, cells_of("LayerNormalization", other=["Mean"]),
        lambda arrays, result, expected: np.isinf(result) & np.isnan(expected),
    ),
    Disagreement(
        "InvStdDev of LayerNormalization of rows with a small variance",
        "From the mean of the squared differences to the mean, as specified. ONNX Runtime is less accurate: its relative "
        "error was up to 1.5e-5 where ours was 1.1e-7.",
        RUNTIME, cells_of("LayerNormalization", other=["InvStdDev"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 1e-5 * np.abs(expected),
    ),
    Disagreement(
        "ReduceProd of integers whose result exceeds the type or 2^53",
        "Products wrap. ONNX Runtime computes in double precision and saturates.",
        RUNTIME, cells_of("ReduceProd", dtypes=["int32", "int64"]),
        lambda arrays, result, expected: np.abs(expected.astype("f8"))
        >= (2.0**31 - 1 if expected.dtype.itemsize == 4 else 2.0**53),
    ),
    Disagreement(
        "ReduceLogSumExp of integers (before opset 28)",
        "Computed in double precision and truncated. ONNX Runtime's result is less by up to the logarithm of the number of "
        "terms for some axes, and by 1 for unsigned integers.",
        RUNTIME, cells_of("ReduceLogSumExp", dtypes=["int32", "int64", "uint32", "uint64"]),
        lambda arrays, result, expected: np.abs(result.astype("f8") - expected.astype("f8")) <= LOG_TERMS,
    ),
    Disagreement(
        "GroupNormalization of double",
        "Computed in double precision, as LayerNormalization and RMSNormalization are in ONNX Runtime, too. By the letter "
        "of ONNX, the first stage of all three has the precision of stash_type, float by default.",
        RUNTIME, cells_of("GroupNormalization", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 1e-6 * np.maximum(1, np.abs(expected)),
    ),
    Disagreement(
        "InstanceNormalization of channels with a small variance",
        "(x - mean) * factor + bias. ONNX Runtime multiplies out, x * factor + (bias - mean * factor), and so loses "
        "accuracy where the mean is much larger than the deviation.",
        RUNTIME, cells_of("InstanceNormalization"), multiplied_out,
    ),
    Disagreement(
        "Cast of floating-point numbers to string",
        "Fewest digits that round-trip, with a decimal point and without an exponent. ONNX does not define the format; "
        "ONNX Runtime and the reference use two others. All parse to the same number.",
        "any", cells_of("Cast", "CastLike", dtypes=FLOATING, other=["string"]), same_number,
    ),
    Disagreement(
        "Cast of string to bool",
        "'0' is false and other numbers are true, as in ONNX Runtime. In the reference every string is true.",
        REFERENCE, cells_of("Cast", "CastLike", dtypes=["string"], other=["bool"]),
        lambda arrays, result, expected: (arrays[0] == "0") & ~result & expected,
    ),
    Disagreement(
        "Cast of bool to string",
        "'1' and '0', as in ONNX Runtime, so that the string can be cast back. The reference has 'True' and 'False'.",
        REFERENCE, cells_of("Cast", "CastLike", dtypes=["bool"], other=["string"]),
        lambda arrays, result, expected: (result == np.where(arrays[0], "1", "0")) & (expected == arrays[0].astype(str)),
    ),
    Disagreement(
        "Erf of integers (opset 9)",
        "Computed in double precision and truncated. The reference computes in float, which rounds up to 1 earlier.",
        REFERENCE, cells_of("Erf", dtypes=["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"]),
        lambda arrays, result, expected: (result == 0) & (np.abs(arrays[0].astype("f8")) > 3),
    ),
    Disagreement(
        "Erf and Gelu of double",
        "Computed in double precision. The reference computes Erf in float; ONNX Runtime's Gelu uses float constants.",
        "any", cells_of("Erf", "Gelu", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 3e-7 * np.maximum(1, np.abs(arrays[0])),
    ),
    Disagreement(
        "HardSwish of double",
        "1/6 in double precision. In the reference it is an attribute, which is a float.",
        REFERENCE, cells_of("HardSwish", dtypes=["double"]),
        lambda arrays, result, expected: np.abs(result - expected) <= 1e-7 * np.square(arrays[0]),
    ),
    Disagreement(
        "Expand of complex numbers",
        "Elements are copied. The reference multiplies by 1, which turns infinities into NaN and -0 into 0.",
        REFERENCE, cells_of("Expand", dtypes=["complex64", "complex128"]),
        lambda arrays, result, expected: np.isnan(expected) | (result == expected),
    ),
]  # fmt: skip


def excused(cell, oracle, arrays, result, expected, used):
    """Which differing elements are known disagreements; adds the subjects of these to `used`."""
    differ = ~equal_bits(result, expected) & ~close(cell, arrays, result, expected)
    excused_elements = np.zeros(result.shape, bool)
    for known in DISAGREEMENTS:
        if differ.any() and known.applies_to(cell) and (known.oracles == "any" or oracle.startswith(known.oracles)):
            with np.errstate(all="ignore"):
                covered = differ & known.mask(arrays, result, expected)
            if covered.any():
                used.add(known.subject)
            excused_elements |= covered
            differ &= ~covered
    return excused_elements
