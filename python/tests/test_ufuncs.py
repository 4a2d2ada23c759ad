"""Options of NumPy's ufuncs, memory layout of results, subclasses, and functions with NumPy's results."""

import itertools

import numpy as np
import pytest

import unishape

RNG = np.random.default_rng(7)
X, Y = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4))
MASK = X > 0


# Options.


def test_where():
    for name in ("add", "maximum", "less", "arctan2"):
        numpy, own = getattr(np, name), getattr(unishape, name)
        dtype = numpy(X, Y).dtype
        out, expected = np.full((3, 4), 7).astype(dtype), np.full((3, 4), 7).astype(dtype)
        assert own(X, Y, out=out, where=MASK) is out
        numpy(X, Y, out=expected, where=MASK)
        np.testing.assert_allclose(out, expected, rtol=1e-15)
        # In a new array, where NumPy's elements are arbitrary.
        result = own(X, Y, where=MASK)
        assert result.dtype == dtype and not result[~MASK].any()
        np.testing.assert_allclose(result[MASK], numpy(X, Y)[MASK], rtol=1e-15)
    assert (unishape.cbrt(X, where=True) == unishape.cbrt(X)).all()
    out = np.ones((3, 4))
    unishape.negative(2.0, out=out, where=MASK[:, :1])
    assert (out == np.where(MASK[:, :1], -2.0, 1.0)).all()
    # In place.
    a, b = X.copy(), X.copy()
    np.testing.assert_allclose(unishape.exp2(a, out=a, where=MASK), np.exp2(b, out=b, where=MASK), rtol=1e-15)
    with pytest.raises(TypeError, match="where must be an array of booleans"):
        unishape.add(X, Y, where=np.ones((3, 4), int))
    with pytest.raises(ValueError):
        unishape.add(X, Y, where=np.ones(5, bool))


def test_dtype():
    i = np.array([1, 2, 3], "int8")
    for dtype in ("int16", "float32", "float64", "complex128"):
        result, expected = unishape.multiply(i, i, dtype=dtype), np.multiply(i, i, dtype=dtype)
        assert result.dtype == expected.dtype and (result == expected).all()
    assert unishape.sqrt(i, dtype="float32").dtype == np.float32
    assert unishape.add(i, 300, dtype="int16").tolist() == [301, 302, 303]
    assert unishape.add(1, 2, dtype="float32").dtype == np.float32
    assert unishape.less(i, 2, dtype=bool).tolist() == [True, False, False]
    assert unishape.where(i > 1, i, 0, dtype="float32").tolist() == [0, 2, 3]
    for function, arguments, options in [
        ("add", (X, X), dict(dtype="int64")),
        ("add", (i, i), dict(dtype="int16", casting="no")),
        ("add", (X, X), dict(dtype="complex64", casting="safe")),
    ]:
        for module in (np, unishape):
            with pytest.raises(TypeError, match="[cC]annot cast"):
                getattr(module, function)(*arguments, **options)
    with pytest.raises(TypeError, match="less does not compute in dtype float32"):
        unishape.less(i, i, dtype="float32")
    with pytest.raises(TypeError, match="does not compute in dtype"):
        unishape.add(i, i, dtype="U5")
    with pytest.raises(OverflowError):
        unishape.add(i, 300, dtype="int8")


def test_casting():
    out = np.zeros((3, 4), "int64")
    with pytest.raises(TypeError, match="from float64 to int64, the dtype of out"):
        unishape.add(X, Y, out=out)
    assert unishape.multiply(X, 100, out=out, casting="unsafe") is out
    assert (out == (X * 100).astype("int64")).all()
    with pytest.raises(TypeError, match="by the rule 'safe'"):
        unishape.add(X, Y, out=np.zeros((3, 4), "float32"), casting="safe")
    with pytest.raises(ValueError, match="casting must be one of"):
        unishape.add(X, Y, casting="some")


def test_out_by_position_and_in_a_tuple():
    out = np.zeros((3, 4))
    assert unishape.add(X, Y, out) is out and (out == X + Y).all()
    assert unishape.sqrt(np.abs(X), out) is out and (out == np.sqrt(np.abs(X))).all()
    assert unishape.subtract(X, Y, out=(out,)) is out and (out == X - Y).all()
    assert unishape.add(X, Y, out=(None,)).shape == (3, 4)
    with pytest.raises(TypeError, match="a tuple of one array"):
        unishape.add(X, Y, out=(out, out))


def test_lazy_values_refuse_options():
    for options in (dict(where=MASK), dict(dtype="float32"), dict(order="F"), dict(casting="safe")):
        with pytest.raises(TypeError, match="not supported for lazy values"):
            unishape.add(unishape.lazy(X), Y, **options)


# Memory layout.


def layouts(shape):
    """Arrays of a shape, with axes in each order, reversed, sliced and stretched."""
    for axes in itertools.permutations(range(len(shape))):
        array = np.arange(np.prod(shape), dtype=float).reshape([shape[axis] for axis in axes])
        yield array.transpose(np.argsort(axes))
    yield np.arange(np.prod(shape) * 2 ** len(shape)).reshape([2 * size for size in shape])[tuple([slice(None, None, 2)] * len(shape))]
    yield np.arange(shape[-1], dtype="float32")
    yield np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
    yield np.broadcast_to(np.arange(shape[1]).reshape(-1, *[1] * (len(shape) - 2)), shape)


def strides(array):
    """Strides of axes that have several elements: those of others do not matter."""
    return [stride for stride, size in zip(array.strides, array.shape) if size > 1]


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 1, 3, 4)])
def test_results_have_numpys_layout(shape):
    arrays = list(layouts(shape))
    for a, b in itertools.product(arrays, arrays):
        result, expected = unishape.add(a, b), np.add(a, b)
        assert strides(result) == strides(expected) and (result == expected).all(), (a.strides, b.strides)
        assert result.base is None and result.flags.owndata
        result = unishape.less(a, b)
        assert strides(result) == strides(np.less(a, b)) and (result == np.less(a, b)).all()
    for a in arrays:
        assert strides(unishape.sqrt(a)) == strides(np.sqrt(a))
        assert strides(unishape.evaluate("a * 2 + 1", {"a": a})) == strides(a * 2 + 1)
        for order in "CFAK":
            result, expected = unishape.add(a, 1, order=order), np.add(a, 1, order=order)
            assert strides(result) == strides(expected) and (result == expected).all(), (a.strides, order)


def test_large_results_keep_their_layout():
    a = np.asfortranarray(RNG.normal(size=(700, 900)))
    for result in (unishape.evaluate("a * 2 + a", {"a": a}), unishape.add(a, a), (unishape.lazy(a) * 2).compute()):
        assert result.flags.f_contiguous
    assert (unishape.evaluate("a * 2 + a", {"a": a}) == a * 2 + a).all()
    assert unishape.evaluate("sum(a, axis=0)", {"a": a}).shape == (900,)
    with pytest.raises(ValueError, match="order must be one of"):
        unishape.add(a, a, order="Z")


def test_empty_arrays():
    a = np.empty((0, 3, 4), order="F")
    assert unishape.add(a, a).shape == (0, 3, 4)
    assert unishape.less(a, a).shape == (0, 3, 4)


# Subclasses.


class Tagged(np.ndarray):
    """Remembers by which arguments it was wrapped."""

    def __array_wrap__(self, array, context=None, return_scalar=False):
        result = array.view(type(self))
        result.tag = "wrapped"
        return result


class Prior(Tagged):
    __array_priority__ = 10


class OldStyle(np.ndarray):
    def __array_wrap__(self, array, context=None):
        return array.view(type(self))


def test_subclasses():
    tagged = X.view(Tagged)
    for result in (unishape.sqrt(np.abs(tagged)), unishape.add(Y, tagged), unishape.where(MASK, tagged, 0)):
        assert type(result) is Tagged and result.tag == "wrapped"
    assert type(unishape.add(tagged, X.view(Prior))) is Prior
    assert type(unishape.add(X.view(Prior), tagged)) is Prior
    assert type(unishape.add(tagged, Y, dtype="complex128")) is Tagged
    assert type(unishape.add(X.view(OldStyle), 1)) is OldStyle
    out = np.zeros((3, 4))
    assert unishape.add(tagged, 1, out=out) is out and type(out) is np.ndarray
    assert type(unishape.add(unishape.broadcast_arrays(X, Y)[0], 1)) is np.ndarray


# Functions.


@pytest.mark.parametrize("name", "fmax fmin heaviside logaddexp2 float_power".split())
def test_new_functions_of_two_arguments(name):
    special = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 1e300, -1e-300])
    with np.errstate(all="ignore"):
        for dtype in ("float16", "float32", "float64", "int8", "uint8", "int64", "bool"):
            values = special[np.isfinite(special)] if dtype[0] in "iub" else special
            values = np.clip(values, 0, 100) if dtype[0] in "iub" else values
            a = values.astype(dtype)
            result, expected = (getattr(module, name)(a[:, None], a) for module in (unishape, np))
            assert result.dtype == expected.dtype, dtype
            np.testing.assert_allclose(result, expected, rtol=2e-3 if dtype in ("float16", "int8", "uint8", "bool") else 1e-6)


@pytest.mark.parametrize("name", "deg2rad rad2deg radians degrees".split())
def test_angles(name):
    for dtype in ("float16", "float32", "float64", "int8", "int16", "int64"):
        a = np.arange(-100, 100, 7).astype(dtype)
        result, expected = getattr(unishape, name)(a), getattr(np, name)(a)
        assert result.dtype == expected.dtype and (result == expected).all()


def test_divmod():
    for a, b in [(np.arange(-7, 7), 3), (X, Y), (X, 0.5), (np.arange(5, dtype="uint8"), np.uint8(2))]:
        for own, numpy in zip(unishape.divmod(a, b), np.divmod(a, b), strict=True):
            assert own.dtype == numpy.dtype and (own == numpy).all()
    q, r = np.zeros((3, 4)), np.zeros((3, 4))
    assert unishape.divmod(X, Y, out=(q, r))[1] is r and (q == X // Y).all() and (r == X % Y).all()
    a, b = X.copy(), Y.copy()
    unishape.divmod(a, b, out=(a, b))
    assert (a == X // Y).all() and (b == X % Y).all()
    assert [type(each) for each in unishape.divmod(unishape.lazy(X), 2)] == [unishape.Lazy] * 2
    with pytest.raises(TypeError, match="tuple of 2 arrays"):
        unishape.divmod(X, Y, out=q)


def test_round():
    a = RNG.normal(size=100) * 1000
    for decimals in (-3, -1, 0, 1, 2, 5):
        for dtype in ("float32", "float64", "int64", "int16"):
            x = a.astype(dtype)
            result, expected = unishape.round(x, decimals), np.round(x, decimals)
            assert result.dtype == expected.dtype and (result == expected).all(), (decimals, dtype)
        assert (unishape.evaluate(f"round(a, {decimals})", {"a": a}) == np.round(a, decimals)).all()
    assert (unishape.round(a, decimals=1) == np.round(a, 1)).all()
    assert (unishape.around(a, 2) == np.around(a, 2)).all()
    assert (unishape.round(unishape.lazy(a), 1).compute() == np.round(a, 1)).all()
    assert unishape.round(np.array([1.5 + 2.5j])).tolist() == [2 + 2j]
    with pytest.raises(TypeError, match="complex"):
        unishape.round(np.array([1j]), 2)


def test_clip_with_limits_out_of_range():
    a = np.array([0, 5, 250], "uint8")
    for limits in [(-1, 300), (3, 300), (-1, 100), (-1, None), (None, 300), (None, None), (-(2**70), 2**70)]:
        expected = a if limits == (None, None) else np.clip(a, *limits)
        result = unishape.clip(a, *limits)
        assert result.dtype == np.uint8 and (result == expected).all(), limits
        assert (unishape.lazy(a).clip(*limits).compute() == expected).all()
    assert (unishape.evaluate("clip(a, -1, 300)", {"a": a}) == a).all()
    for limits in [(300, None), (None, -5), (-5, -1)]:
        for module in (np, unishape):
            with pytest.raises(OverflowError):
                module.clip(a, *limits)


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "power", "maximum", "less"])
def test_bfloat16_with_numbers_has_the_dtype_of_numpy(name):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([1.0, 2.5, 0.0], ml_dtypes.bfloat16)
    for number in (0.5, 2, True, 1j, np.float32(0.5), np.float64(0.5), np.int8(2)):
        if name == "less" and number == 1j:
            continue
        with np.errstate(all="ignore"):
            expected = getattr(np, name)(x, number)
            result = getattr(unishape, name)(x, number)
        # NumPy 2.1 promotes Python's integers to float32, newer versions do not.
        is_old = type(number) is int and expected.dtype == np.float32
        assert result.dtype == (x.dtype if is_old else expected.dtype), number
        np.testing.assert_allclose(result.astype(complex), expected.astype(complex), rtol=1e-2)
    assert (unishape.lazy(x) * 0.5).dtype == np.float32 and unishape.evaluate("x * bfloat16(0.5)", x=x).dtype == x.dtype


def test_outputs_without_dimensions_of_other_dtypes():
    x = np.arange(3.0)
    for dtype in ("f4", ">f8", ">f4"):
        for expected, call in [
            (3, lambda out: unishape.evaluate("sum(x)", x=x, out=out)),
            (2, lambda out: unishape.maximum(2.0, np.array(1.0), out=out)),
            (3, lambda out: unishape.lazy(x).sum(out=out)),
            (3, lambda out: unishape.sum_to(x, (), out=out)),
            (2, lambda out: unishape.exp2(np.array(1.0), out=out, casting="unsafe")),
        ]:
            out = np.array(0, dtype)
            assert call(out) is out
            assert out == expected


def test_casting_applies_in_every_byte_order():
    x = np.array([0.0, 2.5, -3.5])
    for dtype in ("i8", ">i8", ">i2"):
        out = np.zeros(3, dtype)
        assert unishape.negative(x, out=out, casting="unsafe") is out
        assert out.tolist() == np.negative(x, out=np.zeros(3, dtype), casting="unsafe").tolist()
        with pytest.raises(TypeError, match="cannot cast"):
            unishape.negative(x, out=np.zeros(3, dtype))
        with pytest.raises(TypeError, match="cannot cast"):
            unishape.negative(x, out=np.zeros(3, ">f8"), casting="no")


def test_rint_gives_floats():
    for dtype in "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16".split():
        x = np.array([0, 1, 3]).astype(dtype) * np.array(1).astype(dtype)
        expected = np.rint(x)
        lazy = unishape.lazy(x)
        for result in (unishape.rint(x), unishape.evaluate("rint(x)"), np.rint(lazy).compute()):
            assert result.dtype == expected.dtype and result.tolist() == expected.tolist(), dtype
        assert unishape.round(x).dtype == np.round(x).dtype, dtype
    assert unishape.evaluate("rint(2)").dtype == np.rint(2).dtype
