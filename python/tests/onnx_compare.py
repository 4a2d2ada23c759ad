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
    bits = array.view(f"i{array.dtype.itemsize}").astype("i8")
    # Two zeros are one number here.
    lowest = -(1 << (8 * array.dtype.itemsize - 1))
    return np.where(bits < 0, lowest - bits, bits)


def distance(result, expected):
    """The most representable numbers between two arrays' elements; NaN is near to NaN alone."""
    nan = np.isnan(result), np.isnan(expected)
    if (nan[0] != nan[1]).any():
        return np.inf
    if not result.size or nan[0].all():
        return 0
    near, far = ordered(result)[~nan[0]], ordered(expected)[~nan[0]]
    # As Python's integers, of which doubles have too many between them for int64.
    return max(abs(int(a) - int(b)) for a, b in zip(near, far))


def same_bits(result, expected):
    """The same elements: zeros with their signs, while a NaN is a NaN, whatever its bits are."""
    if result.dtype == object:
        return result.tolist() == expected.tolist()
    if result.dtype.kind == "c":
        parts = lambda array: np.ascontiguousarray(array).view(array.real.dtype)
        return same_bits(parts(result), parts(expected))
    if not is_float(result.dtype):
        return bool(np.array_equal(result, expected))
    nan = np.isnan(expected)
    unsigned = f"u{result.dtype.itemsize}"
    return bool(
        np.array_equal(np.isnan(result), nan)
        and np.array_equal(result[~nan].view(unsigned), expected[~nan].view(unsigned))
    )


def difference(result, expected, ulps=0):
    """What is wrong with a result that may be so many representable numbers off, or None."""
    if not isinstance(result, np.ndarray):
        return f"{type(result).__name__} is no array"
    if (result.dtype, result.shape) != (expected.dtype, expected.shape):
        return f"{result.dtype} of shape {result.shape}, not {expected.dtype} of shape {expected.shape}"
    result, expected = np.atleast_1d(result), np.atleast_1d(expected)
    if same_bits(result, expected):
        return None
    if ulps and is_float(result.dtype):
        away = distance(result, expected)
        return None if away <= ulps else f"{away} ulp away from what is expected, more than {ulps}: {pairs(result, expected)}"
    return f"not bit for bit the same: {pairs(result, expected)}"


def pairs(result, expected):
    """The first elements that differ."""
    told = zip(result.ravel().tolist(), expected.ravel().tolist())
    differing = [f"{a!r}, not {b!r}" for a, b in told if repr(a) != repr(b)]
    return "; ".join(differing[:4])
