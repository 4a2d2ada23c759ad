"""How outputs are compared: bit for bit, or by how many representable numbers are between them."""

import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 by it
import numpy as np

#: Operators whose results nobody rounds correctly: functions that are approximated, and what is put together of
#: them. All others have one right result, and are compared bit for bit.
APPROXIMATE = frozenset(
    "Pow Exp Log Sigmoid Tanh Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
    "Elu Selu Softplus Celu Mish Gelu Swish".split()
)


def is_float(dtype):
    return dtype.kind == "f" or dtype.name == "bfloat16"


def ordered(array):
    """Floating point as integers in the same order, next to each other where the numbers are."""
    bits = np.asarray(array).view(f"i{array.dtype.itemsize}").astype("i8")
    # Two zeros are one number here.
    lowest = -(1 << (8 * array.dtype.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits)


def distances(result, expected):
    """How many representable numbers each element is away; NaN is near to NaN alone."""
    nan = np.isnan(result), np.isnan(expected)
    a, b = ordered(result), ordered(expected)
    # Doubles can be farther away from each other than an int64 counts.
    away = np.maximum(a, b).astype("u8") - np.minimum(a, b).astype("u8")
    return np.where(nan[0] & nan[1], 0.0, np.where(nan[0] != nan[1], np.inf, away))


def equal_bits(result, expected):
    """Which elements are the same: zeros with their signs, while a NaN is a NaN, whatever its bits are."""
    if result.dtype.kind == "c":
        return equal_bits(result.real, expected.real) & equal_bits(result.imag, expected.imag)
    same = np.asarray(result == expected, bool)
    if not is_float(result.dtype):
        return same
    return same & (np.signbit(result) == np.signbit(expected)) | np.isnan(result) & np.isnan(expected)


def difference(result, expected, ulps=0, allowed=None):
    """What is wrong with a result that may be so many representable numbers off, or None. Elements that are allowed
    to differ are told by their places."""
    if not isinstance(result, np.ndarray):
        return f"{type(result).__name__} is no array"
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return f"{result.dtype} of shape {result.shape}, not {expected.dtype} of shape {expected.shape}"
    good = equal_bits(result, expected)
    if ulps and is_float(result.dtype):
        good = good | (distances(result, expected) <= ulps)
    if allowed is not None:
        good = good | allowed
    if good.all():
        return None
    within = f"within {ulps} ulp of" if ulps else "bit for bit"
    return f"not {within} what is expected: {pairs(result[~good], expected[~good])}"


def pairs(result, expected):
    """The first elements that differ."""
    told = zip(result.ravel().tolist(), expected.ravel().tolist())
    differing = [f"{a!r}, not {b!r}" for a, b in told if repr(a) != repr(b)]
    return "; ".join(differing[:4])
