"""Arrays for the tests: of every type, lying in memory in every way."""

import datetime

import ml_dtypes
import numpy as np

BF16 = np.dtype(ml_dtypes.bfloat16)
BOOL = np.dtype(bool)
INTEGERS = [np.dtype(name) for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()]
FLOATS = [np.dtype(np.float16), BF16, np.dtype(np.float32), np.dtype(np.float64)]
COMPLEX = [np.dtype(np.complex64), np.dtype(np.complex128)]

# Those that are computed with.
NUMBERS = [BOOL, *INTEGERS, *FLOATS, *COMPLEX]

# Those that are only broadcast.
OTHERS = [
    np.dtype(name) for name in "U5 S3 >U4 O M8[ns] >M8[D] m8[s] V7 longdouble clongdouble >f8 >i2 >u4 >c16".split()
]
OTHERS += [
    np.dtypes.StringDType(),
    np.dtype([("name", "U2"), ("at", "M8[s]"), ("many", "f4", (2, 3))]),
    np.dtype([("x", "u1"), ("y", "f8")]),  # packed, so that y is not aligned
    np.dtype([("key", "O"), ("value", "i4")]),
]
ALL = [*NUMBERS, *OTHERS]


def filled(rng, shape, dtype):
    """An array in C order whose elements tell each other apart."""
    count = int(np.prod(shape, dtype=int))
    if dtype.names:
        array = np.empty(shape, dtype)
        for name in dtype.names:
            part = dtype[name]
            base = part.subdtype[0] if part.subdtype else part
            array[name] = filled(rng, array[name].shape, base)
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


def in_order(rng, shape, dtype):
    return filled(rng, shape, dtype)


def transposed(rng, shape, dtype):
    return filled(rng, shape[::-1], dtype).T


def backwards(rng, shape, dtype):
    return filled(rng, shape, dtype)[..., *(slice(None, None, -1) for _ in shape)]


def sliced(rng, shape, dtype):
    larger = filled(rng, tuple(2 * size + 1 for size in shape), dtype)
    return larger[..., *(slice(1, None, 2) for _ in shape)]


def shuffled(rng, shape, dtype):
    """Axes in another order, some of them backwards."""
    order = rng.permutation(len(shape))
    array = filled(rng, tuple(shape[axis] for axis in order), dtype).transpose(np.argsort(order))
    return array[..., *(slice(None, None, rng.choice([-1, 1])) for _ in shape)]


def repeated(rng, shape, dtype):
    """One element at all places, without the memory for them."""
    return np.broadcast_to(filled(rng, (), dtype), shape)


def unaligned(rng, shape, dtype):
    if dtype.hasobject or isinstance(dtype, np.dtypes.StringDType):
        return filled(rng, shape, dtype)
    array = filled(rng, shape, dtype)
    place = np.empty(array.nbytes + 1, np.uint8)[1:].view(dtype) if array.nbytes else array.reshape(-1).copy()
    place = place.reshape(shape)
    place[...] = array
    return place


LAYOUTS = [in_order, transposed, backwards, sliced, shuffled, repeated, unaligned]


def random_shapes(rng, count, most=5, sizes=(0, 1, 2, 3, 5)):
    """Shapes that go together, and their common shape."""
    weights = np.array([0.3, *[1.0] * (len(sizes) - 1)])
    common = rng.choice(sizes, size=rng.integers(0, most + 1), p=weights / weights.sum())
    shapes = []
    for _ in range(count):
        shape = common[rng.integers(0, len(common) + 1) :]
        shapes.append(tuple(int(size) if rng.random() < 0.6 else 1 for size in shape))
    return shapes


def assert_same(one, other):
    """Equal types, shapes and elements, NaNs and signs of zeros too; objects are the same ones."""
    assert type(one) is np.ndarray
    assert one.dtype == other.dtype and one.dtype.byteorder == other.dtype.byteorder
    assert one.shape == other.shape
    if one.dtype.kind == "O" or isinstance(one.dtype, np.dtypes.StringDType):
        assert all(a is b or a == b for a, b in zip(one.ravel(), other.ravel(), strict=True))
    else:
        assert one.tobytes() == other.tobytes()
