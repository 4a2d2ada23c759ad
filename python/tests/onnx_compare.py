"""Compares outputs bit for bit, or by their distance in units in the last place (ulp)."""

import ml_dtypes  # registers bfloat16 with NumPy
import numpy as np

#: Operators that are approximated, or composed of approximated functions. All others are compared bit for bit.
APPROXIMATE = frozenset(
    "Pow Exp Log Sigmoid Tanh Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
    "Elu Selu Softplus Celu Mish Gelu Swish ReduceLogSum ReduceLogSumExp Softmax LogSoftmax".split()
)
#: Sums, whose rounding errors depend on the order of the terms.
SUMS = frozenset("ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceProd ReduceSumSquare RMSNormalization".split())
#: Normalizations that subtract a mean.
NORMALIZED = frozenset(
    "LayerNormalization BatchNormalization InstanceNormalization GroupNormalization".split()
)


def is_float(dtype):
    return dtype.kind == "f" or dtype.name == "bfloat16"


def ordered(array):
    """Maps floating-point numbers to integers in the same order; adjacent numbers differ by 1."""
    bits = np.asarray(array).view(f"i{array.dtype.itemsize}").astype("i8")
    # 0 and -0 map to the same integer.
    lowest = -(1 << (8 * array.dtype.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits)


def distances(result, expected):
    """Distance of each pair of elements in ulp; 0 between two NaNs, infinite between NaN and a number."""
    nan = np.isnan(result), np.isnan(expected)
    a, b = ordered(result), ordered(expected)
    # The distance of two doubles can exceed the range of int64.
    ulps = np.maximum(a, b).astype("u8") - np.minimum(a, b).astype("u8")
    return np.where(nan[0] & nan[1], 0.0, np.where(nan[0] != nan[1], np.inf, ulps))


def near_one(result, expected, epsilons):
    """Which elements differ by some epsilons of their type at most, relative to 1 or to the element."""
    if not is_float(result.dtype) or result.shape != expected.shape:
        return None
    epsilon = float(ml_dtypes.finfo(result.dtype).eps)
    wide = expected.astype("f8")
    with np.errstate(invalid="ignore"):
        return np.abs(result.astype("f8") - wide) <= epsilons * epsilon * np.maximum(1, np.abs(wide))


def equal_bits(result, expected):
    """Which elements are equal: signs of zeros count, NaN payloads do not."""
    if result.dtype.kind == "c":
        return equal_bits(result.real, expected.real) & equal_bits(result.imag, expected.imag)
    same = np.asarray(result == expected, bool)
    if not is_float(result.dtype):
        return same
    return same & (np.signbit(result) == np.signbit(expected)) | np.isnan(result) & np.isnan(expected)


def difference(result, expected, ulps=0, allowed=None):
    """Describes how a result differs from the expected one by more than `ulps`, or returns None.

    `allowed` masks elements that may differ.
    """
    if not isinstance(result, np.ndarray):
        return f"{type(result).__name__} is not an array"
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return f"{result.dtype} of shape {result.shape}, not {expected.dtype} of shape {expected.shape}"
    accepted = equal_bits(result, expected)
    if ulps and is_float(result.dtype):
        accepted = accepted | (distances(result, expected) <= ulps)
    if allowed is not None:
        accepted = accepted | allowed
    if accepted.all():
        return None
    within = f"within {ulps} ulp of" if ulps else "bit for bit equal to"
    return f"not {within} the expected result: {pairs(result[~accepted], expected[~accepted])}"


def pairs(result, expected):
    """The first elements that differ."""
    elements = zip(result.ravel().tolist(), expected.ravel().tolist())
    differing = [f"{a!r}, not {b!r}" for a, b in elements if repr(a) != repr(b)]
    return "; ".join(differing[:4])
