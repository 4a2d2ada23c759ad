"""Functions of small arrays, which skip the binding of expressions, compared with NumPy."""

import numpy as np
import pytest

import unishape

DTYPES = ["int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
ONE = ["negative", "sqrt", "exp", "square", "conj"]
TWO = ["add", "subtract", "multiply", "divide", "less", "greater", "equal", "maximum", "power", "bitwise_and"]


def array(dtype, shape=(2, 5), start=1):
    values = np.arange(start, start + np.prod(shape)).reshape(shape)
    return values.astype(dtype)


def same(result, expected):
    assert type(result) is np.ndarray
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(result, expected, rtol=2e-3 if expected.dtype.itemsize == 2 else 1e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ONE + TWO)
def test_as_numpy(name, dtype):
    arguments = [array(dtype), array(dtype, start=3)][: 1 if name in ONE else 2]
    try:
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(*arguments)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(unishape, name)(*arguments)
        return
    same(getattr(unishape, name)(*arguments), expected)
    # Strided and Fortran-ordered arrays take the other path.
    wide = [np.repeat(each, 2, axis=1)[:, ::2] for each in arguments]
    same(getattr(unishape, name)(*wide), expected)
    same(getattr(unishape, name)(*map(np.asfortranarray, arguments)), expected)


def test_three_arguments():
    condition, x, y = array("int32", start=-5) > 0, array("float32"), array("float32", start=9)
    same(unishape.where(condition, x, y), np.where(condition, x, y))


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (1,), (1, 1, 1), (4096,), (5000,)])
def test_shapes(shape):
    x, y = array("float32", shape), array("float32", shape, start=7)
    same(unishape.add(x, y), x + y)


def test_mixed_dtypes_and_shapes():
    x, y = array("int32"), array("float32", (5,))
    same(unishape.add(x, x.astype("int8")), x + x.astype("int8"))
    same(unishape.add(x, y), x + y)
    same(unishape.add(x[0], 2), x[0] + 2)


SHAPES = [(), (1,), (3,), (4, 1), (4, 3), (1, 3), (2, 1, 3), (2, 4, 1), (2, 4, 3), (1, 1, 1, 1), (0,), (0, 3), (100, 3), (70, 1)]


@pytest.mark.parametrize("first", SHAPES)
@pytest.mark.parametrize("second", SHAPES)
def test_stretched(first, second):
    x, y = array("float32", first), array("float32", second, start=7)
    try:
        expected = x - y
    except ValueError:
        with pytest.raises(ValueError, match="incompatible shapes"):
            unishape.subtract(x, y)
        return
    result = unishape.subtract(x, y)
    same(np.asarray(result), np.asarray(expected))
    out = np.full(expected.shape, -1, np.float32)
    assert unishape.subtract(x, y, out=out) is out
    np.testing.assert_array_equal(out, expected)
    condition = array("int32", second, start=-5)
    np.testing.assert_array_equal(unishape.where(condition > 0, x, y), np.where(condition > 0, x, y))


def test_stretched_into_an_input():
    x, row = array("float32", (4, 3)), array("float32", (3,))
    expected = x * row
    unishape.multiply(x, row, out=x)
    np.testing.assert_array_equal(x, expected)
    # A result of another shape or dtype than `out`.
    with pytest.raises(ValueError):
        unishape.multiply(x, row, out=row)


@pytest.mark.parametrize("shape", [(1, 17), (129, 16), (300, 15), (300, 16), (300, 17), (640, 100), (660, 100), (3, 200, 20), (2, 3, 4, 50)])
@pytest.mark.parametrize("name", ["add", "less", "hypot"])
def test_many_rows(name, shape):
    """Rows of arithmetic, which compiled kernels take together once they are; one row at a time before, and otherwise."""
    for dtype in ["float32", "float64", "int32"]:
        x, row, column = array(dtype, shape), array(dtype, shape[-1:], start=5), array(dtype, shape[:-1] + (1,), start=9)
        for first, second in [(x, row), (x, column), (row, x), (column, row), (x, x[:1])]:
            expected = getattr(np, name)(first, second)
            for _ in range(3):
                result = getattr(unishape, name)(first, second)
                assert result.flags.c_contiguous
                same(result, expected)
            out = np.full_like(expected, 1)
            getattr(unishape, name)(first, second, out=out)
            same(out, expected)


@pytest.mark.parametrize("elements", [16_000, 16_385, 65_536, 65_537, 70_000])
def test_limits_of_small_arrays(elements):
    x, y = array("float32", (elements,)), array("float32", (elements,), start=3)
    for _ in range(20):
        same(unishape.subtract(x, y), x - y)
    same(unishape.exp(x / elements), np.exp(x / elements))


VIEWS = {
    "transposed": lambda x: x.T.copy().T,
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "strided": lambda x: np.repeat(x, 3, axis=1)[:, ::3],
    "stretched": lambda x: np.broadcast_to(x[:1], x.shape),
    "column": lambda x: np.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (2, 5), (25, 40), (64, 64), (64, 65)])
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("view", VIEWS)
def test_arrays_that_are_not_contiguous(view, dtype, shape):
    """Values and memory layout as in NumPy, whichever argument is contiguous."""
    x, y = array(dtype, shape), VIEWS[view](array(dtype, shape, start=4))
    for arguments in [(x, y), (y, x), (y, y)]:
        expected = np.subtract(*arguments)
        result = unishape.subtract(*arguments)
        same(result, expected)
        assert result.strides == expected.strides or 1 in shape
        out = np.full(shape, 1, dtype)
        assert unishape.subtract(*arguments, out=out) is out
        same(out, expected)


def test_views_that_share_memory_with_the_output():
    x = array("float32", (6, 6))
    expected = x + x.T
    with pytest.raises(ValueError, match="overlaps"):
        unishape.add(x.copy(), x.T, out=x)
    same(x + x.T, expected)
    # Fields of records are neither aligned nor apart from each other.
    records = np.zeros(5, dtype=[("a", "i1"), ("b", "<f4")])
    records["b"] = range(5)
    same(unishape.add(records["b"], np.ones(5, np.float32)), records["b"] + np.float32(1))


TEXTS = [
    "a", "-a", "a + b", "(a + b) * 2 - a / 3", "where(a > b, a, b * 2)", "exp(a) * b", "a**2 + sqrt(b)",
    "(a > 2) & (b < 9)", "2 * 3 + a", "maximum(a, 1.5) ** 2", "a + a", "float32(a) * b",
]


@pytest.mark.parametrize("dtype", ["int8", "int32", "float32", "float64"])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("count", [0, 1, 10, 1365, 1366, 4096, 4097])
def test_expressions(text, dtype, count):
    """Few elements are computed without a schedule, by the same kernels."""
    a, b = (np.arange(start, start + count).astype(dtype) % 11 + 1 for start in (0, 5))
    result = unishape.evaluate(text, dict(a=a, b=b))
    # Strided arrays take the other path.
    expected = unishape.evaluate(text, dict(a=np.repeat(a, 2)[::2], b=np.repeat(b, 2)[::2]))
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)
    out = np.zeros_like(expected)
    assert unishape.evaluate(text, a=a, b=b, out=out) is out if "b" in text else True
    if "b" in text:
        np.testing.assert_array_equal(out, expected)


def test_expressions_with_errors():
    a = array("float32")
    with pytest.raises(Exception, match="c"):
        unishape.evaluate("a + 1", a=a, c=a)
    with pytest.raises(NameError):
        unishape.evaluate("a + missing", dict(a=a))
    with pytest.raises(ValueError, match="out"):
        unishape.evaluate("a + 1", dict(a=a), out=np.zeros((3,), np.float32))
    half = np.zeros_like(a)
    half.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        unishape.evaluate("a + 1", dict(a=a), out=half)


def test_out():
    x, y, out = array("float32"), array("float32", start=4), np.full((2, 5), np.nan, "float32")
    assert unishape.add(x, y, out=out) is out
    same(out, x + y)
    # An input itself, a part of its memory, another dtype.
    expected = x + y
    assert unishape.add(x, y, out=x) is x
    same(x, expected)
    memory = array("float32", (11,))
    with pytest.raises(ValueError, match="overlaps"):
        unishape.add(memory[:10], memory[:10], out=memory[1:])
    wide = np.empty((2, 5))
    unishape.add(y, y, out=wide)
    same(wide, (y + y).astype("float64"))


def test_unusable_out():
    x = array("float32")
    out = np.empty_like(x)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        unishape.add(x, x, out=out)
    with pytest.raises(ValueError, match="shape"):
        unishape.add(x, x, out=np.empty(10, "float32"))
    with pytest.raises(TypeError):
        unishape.add(x, x, out=np.empty((2, 5), "int32"))


def test_other_byte_order_and_alignment():
    x = array("float32")
    same(unishape.add(x.astype(">f4"), x), x + x)
    unaligned = np.frombuffer(b"x" + x.tobytes(), "float32", offset=1).reshape(x.shape)
    assert not unaligned.flags.aligned
    same(unishape.add(unaligned, x), x + x)


@pytest.mark.parametrize("count", [3, 5000])
def test_bfloat16_of_another_byte_order(count):
    bfloat16 = np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x = (np.arange(count) % 100).astype(bfloat16)
    swapped = x.astype(bfloat16.newbyteorder(">"))
    result = unishape.add(swapped, x)
    np.testing.assert_array_equal(result.astype("float32"), (x + x).astype("float32"))
    out = np.zeros(count, bfloat16.newbyteorder(">"))
    unishape.add(x, x, out=out)
    np.testing.assert_array_equal(out.astype("float32"), (x + x).astype("float32"))


def test_subclasses_take_the_other_path():
    x = array("float32").view(np.matrix)
    result = unishape.add(x, x)
    np.testing.assert_array_equal(np.asarray(result), np.asarray(x) * 2)
