"""Test arrays of every dtype and memory layout."""

import datetime

import numpy as np

try:
    import ml_dtypes

    BF16 = np.dtype(ml_dtypes.bfloat16)
except ImportError:  # has no wheel for musl
    BF16 = None
BOOL = np.dtype(bool)
INTEGERS = [np.dtype(name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()]
FLOATS = [np.dtype(np.float16), *([BF16] if BF16 else []), np.dtype(np.float32), np.dtype(np.float64)]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]

# Dtypes that expressions support.
NUMBERS = [BOOL, *INTEGERS, *FLOATS, *COMPLEX]

# Dtypes that are only broadcast.
OTHERS = [
    np.dtype(name) for name in "U5 S3 >U4 O M8[ns] >M8[D] m8[s] V7 longdouble clongdouble >f8 >i2 >u4 >c16".split()
]
OTHERS += [
    np.dtypes.StringDType(),
    np.dtype([("name", "U2"), ("at", "M8[s]"), ("many", "f4", (2, 3))]),
    np.dtype([("x", "u1"), ("y", "f8")]),  # packed: y is not aligned
    np.dtype([("key", "O"), ("value", "i4")]),
]
ALL = [*NUMBERS, *OTHERS]


def make_array(rng, shape, dtype):
    """A C-contiguous array of mostly distinct elements."""
    count = int(np.prod(shape, dtype=int))
    if dtype.names:
        array = np.empty(shape, dtype)
        for name in dtype.names:
            part = dtype[name]
            base = part.subdtype[0] if part.subdtype else part
            array[name] = make_array(rng, array[name].shape, base)
        return array
    if dtype.kind in "US" or isinstance(dtype, np.dtypes.StringDType):
        letters = [f"{number:x}é"[-5:] if dtype.kind != "S" else f"{number:x}" for number in range(count)]
        return np.array(letters, dtype=object).reshape(shape).astype(dtype)
    if dtype.kind == "O":
        some = [None, "text", 3.5, (1, 2), datetime.date(2026, 1, 1), [1], 10**30]
        array = np.empty(count, object)
        array[:] = [(number, some[number % len(some)]) for number in range(count)]
        return array.reshape(shape).copy()
    if dtype.kind == "V" and dtype != BF16:
        return np.frombuffer(rng.bytes(count * dtype.itemsize), dtype).reshape(shape).copy()
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iuMm":
        return rng.integers(0, 100, shape).astype(dtype)
    numbers = rng.normal(size=shape) * 10
    if dtype.kind == "c":
        numbers = numbers + 1j * rng.normal(size=shape)
    array = np.asarray(numbers).astype(dtype)
    if count > 3:
        array.reshape(-1)[:3] = [np.nan, -0.0, np.inf]
    return array


def contiguous(rng, shape, dtype):
    return make_array(rng, shape, dtype)


def transposed(rng, shape, dtype):
    return make_array(rng, shape[::-1], dtype).T


def reversed_axes(rng, shape, dtype):
    return make_array(rng, shape, dtype)[..., *(slice(None, None, -1) for _ in shape)]


def sliced(rng, shape, dtype):
    larger = make_array(rng, tuple(2 * size + 1 for size in shape), dtype)
    return larger[..., *(slice(1, None, 2) for _ in shape)]


def permuted(rng, shape, dtype):
    """Axes permuted, some of them reversed."""
    order = rng.permutation(len(shape))
    array = make_array(rng, tuple(shape[axis] for axis in order), dtype).transpose(np.argsort(order))
    return array[..., *(slice(None, None, rng.choice([-1, 1])) for _ in shape)]


def broadcast_scalar(rng, shape, dtype):
    """A broadcast scalar: all strides are 0."""
    return np.broadcast_to(make_array(rng, (), dtype), shape)


def unaligned(rng, shape, dtype):
    if dtype.hasobject or isinstance(dtype, np.dtypes.StringDType):
        return make_array(rng, shape, dtype)
    array = make_array(rng, shape, dtype)
    place = np.empty(array.nbytes + 1, np.uint8)[1:].view(dtype) if array.nbytes else array.reshape(-1).copy()
    place = place.reshape(shape)
    place[...] = array
    return place


LAYOUTS = [contiguous, transposed, reversed_axes, sliced, permuted, broadcast_scalar, unaligned]


def random_shapes(rng, count, max_rank=5, sizes=(0, 1, 2, 3, 5)):
    """Compatible shapes."""
    weights = np.array([0.3, *[1.0] * (len(sizes) - 1)])
    common = rng.choice(sizes, size=rng.integers(0, max_rank + 1), p=weights / weights.sum())
    shapes = []
    for _ in range(count):
        shape = common[rng.integers(0, len(common) + 1) :]
        shapes.append(tuple(int(size) if rng.random() < 0.6 else 1 for size in shape))
    return shapes


def assert_same(one, other):
    """Equal dtypes, shapes and bytes, so that NaNs and signs of zeros count; objects are equal."""
    assert type(one) is np.ndarray
    assert one.dtype == other.dtype and one.dtype.byteorder == other.dtype.byteorder
    assert one.shape == other.shape
    if one.dtype.kind == "O" or isinstance(one.dtype, np.dtypes.StringDType):
        assert all(a is b or a == b for a, b in zip(one.ravel(), other.ravel(), strict=True))
    else:
        assert one.tobytes() == other.tobytes()
