"""lazy: expressions of Python operators and NumPy functions, evaluated on request."""

import operator
import pickle
import sys
import weakref

import numpy as np
import pytest
from arrays import BF16, LAYOUTS, NUMBERS, assert_same

import unishape
from unishape import lazy

BINARY = "add sub mul truediv floordiv mod pow and_ or_ xor lshift rshift lt le eq ne gt ge".split()
UNARY = "neg pos abs invert".split()


@pytest.mark.parametrize("name", BINARY)
def test_binary_operators(name):
    function = getattr(operator, name)
    bitwise = name in ("and_", "or_", "xor", "lshift", "rshift")
    x = np.array([[1], [6]], np.int32) if bitwise else np.array([[1.5], [6.0]])
    y = np.array([1, 2, 3], np.int32) if bitwise else np.array([1.0, 2.5, 3.0])
    expected = function(x, y)
    for result in [function(lazy(x), lazy(y)), function(lazy(x), y), function(x, lazy(y))]:
        assert isinstance(result, unishape.Lazy)
        assert result.shape == (2, 3) and result.dtype == expected.dtype and result.ndim == 2
        assert_same(result.compute(), expected)
    assert_same(function(lazy(x), 2).compute(), function(x, 2))
    assert_same(function(3, lazy(y)).compute(), function(3, y))
    assert_same(function(np.int16(3), lazy(x)).compute(), function(np.int16(3), x))


@pytest.mark.parametrize("name", UNARY)
def test_unary_operators(name):
    function = getattr(operator, name)
    x = np.array([1, -2, 3], np.int16)
    assert_same(function(lazy(x)).compute(), function(x))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
def test_every_type_in_every_layout(dtype, layout):
    x = layout(np.random.default_rng(1), (3, 1, 4), dtype)
    y = layout(np.random.default_rng(2), (2, 4), dtype)
    assert_same((lazy(x) + y).compute(), x + y)


def test_numpy_functions_stay_lazy():
    x = np.array([1.0, 4.0, 9.0])
    for name in "sqrt exp sin negative isnan logical_not square rint".split():
        result = getattr(np, name)(lazy(x))
        assert isinstance(result, unishape.Lazy)
        np.testing.assert_allclose(result.compute(), getattr(np, name)(x), rtol=1e-14)
    for name in "add power maximum arctan2 hypot less_equal copysign".split():
        result = getattr(np, name)(x, lazy(x[:, None]))
        assert isinstance(result, unishape.Lazy)
        np.testing.assert_allclose(result.compute(), getattr(np, name)(x, x[:, None]), rtol=1e-14)


def test_unishape_functions_stay_lazy():
    x = np.array([1.0, 4.0, 9.0])
    result = unishape.clip(unishape.add(unishape.sqrt(lazy(x)), 1), 2.5, None)
    assert isinstance(result, unishape.Lazy) and result.compute().tolist() == [2.5, 3.0, 4.0]
    assert isinstance(unishape.where(lazy(x) > 2, x, 0), unishape.Lazy)
    out = np.zeros(3)
    assert unishape.add(lazy(x), 1, out=out) is out and out.tolist() == [2.0, 5.0, 10.0]


def test_where_and_clip():
    x = np.array([1.0, 4.0, 9.0])
    for result, expected in [
        (np.where(lazy(x) > 2, x, 0), [0.0, 4.0, 9.0]),
        (np.clip(lazy(x), 2, 5), [2.0, 4.0, 5.0]),
        (np.clip(lazy(x), a_min=2, a_max=5), [2.0, 4.0, 5.0]),
        (np.clip(lazy(x), min=2), [2.0, 4.0, 9.0]),
        (np.clip(x, lazy(x[:1] + 1), None), [2.0, 4.0, 9.0]),
        (lazy(x).clip(max=5), [1.0, 4.0, 5.0]),
        (np.real(lazy(x)), [1.0, 4.0, 9.0]),
        (np.imag(lazy(x * 2j)), [2.0, 8.0, 18.0]),
    ]:
        assert isinstance(result, unishape.Lazy)
        assert result.compute().tolist() == expected


def test_other_numpy_functions_get_the_computed_array():
    x = np.array([1.0, 4.0, 9.0])
    value = lazy(x) + 1
    assert np.median(value) == 5 and np.ptp(value) == 8 and np.cumsum(value).tolist() == [2.0, 7.0, 17.0]
    assert np.concatenate([value, x]).tolist() == [2.0, 5.0, 10.0, 1.0, 4.0, 9.0]
    assert np.where(value > 4)[0].tolist() == [1, 2]
    assert np.linalg.norm(lazy(np.eye(2)), "fro") == np.sqrt(2) and np.linalg.norm(value, 3) > 10
    assert np.linalg.norm(lazy(np.eye(2)) * 3, 2) == 3 and np.linalg.det(lazy(np.eye(2))) == 1
    assert np.reshape(value, 3, order="F").tolist() == [2.0, 5.0, 10.0]
    assert np.stack((value, value), axis=1).shape == (3, 2)
    assert np.allclose(value, x + 1) and np.array_equal(x + 1, value)
    assert np.array([value, value]).shape == (2, 3)
    endless = [value]
    endless.append(endless)
    with pytest.raises((ValueError, TypeError, RecursionError)):
        np.concatenate(endless)


def test_unsupported_functions():
    value = lazy(np.ones(3))
    for call, match in [
        (lambda: pow(value, 2, 3), "modulus"),
        (lambda: unishape.Lazy(), "cannot create"),
    ]:
        with pytest.raises(TypeError, match=match):
            call()


def test_no_truth_value():
    value = lazy(np.array([1.0, 2.0]))
    with pytest.raises(TypeError, match=r"no truth value; use x.any\(\) or x.all\(\)"):
        bool(value > 0)
    with pytest.raises(TypeError):
        0 < value < 2
    for call in (hash, float, int, complex, operator.index, round):
        with pytest.raises(TypeError):
            call(value)


def test_nothing_is_computed_early():
    x = np.array([1.0, 2.0])
    value = lazy(x) * 2
    x[:] = 10
    assert value.compute().tolist() == [20.0, 20.0]


# Conversion to arrays.


def test_asarray():
    value = lazy(np.array([1.0, 2.0])) + 0.5
    assert np.asarray(value).tolist() == [1.5, 2.5]
    assert np.asarray(value, dtype=np.float32).dtype == np.float32
    assert np.array(value, copy=True).tolist() == [1.5, 2.5]
    with pytest.raises(ValueError, match="copy=False forbids"):
        np.asarray(value, copy=False)


def test_out():
    x = np.arange(4.0)
    out = np.zeros((2, 4), np.float32)
    value = lazy(x) + np.array([[1.0], [2.0]])
    assert value.compute(out=out) is out and out.tolist() == (x + [[1.0], [2.0]]).tolist()
    assert np.add(lazy(x), 1, out=x) is x and x.tolist() == [1.0, 2.0, 3.0, 4.0]
    with pytest.raises(ValueError, match="2x4"):
        value.compute(out=np.zeros(4))
    with pytest.raises(ValueError, match="overlaps"):
        (lazy(x[:-1]) + 1).compute(out=x[1:])
    with pytest.raises(ValueError, match="at least 1"):
        value.compute(threads=0)


def test_operators_in_place():
    x = np.array([1.0, 2.0])
    value = lazy(x)
    before = value
    value += 1
    value *= 2
    assert isinstance(value, unishape.Lazy) and value is not before
    assert value.compute().tolist() == [4.0, 6.0] and before.compute().tolist() == [1.0, 2.0]
    # The result is written into the array.
    same = x
    x += lazy(np.array([10.0, 20.0])) * 2
    assert x is same and x.tolist() == [21.0, 42.0]


def test_astype():
    x = np.array([1.7, -2.2, 300.0])
    assert lazy(x).astype(np.int16).compute().tolist() == [1, -2, 300]
    assert (lazy(x).astype("f4") + 1).dtype == np.float32
    if BF16:
        assert lazy(x).astype(BF16).compute().dtype == BF16
    assert lazy(x).astype(bool).compute().tolist() == [True] * 3
    for dtype in ("U3", "O", "M8[s]", "longdouble", "no such type"):
        with pytest.raises(TypeError):
            lazy(x).astype(dtype)
    with pytest.raises(TypeError, match="cannot cast complex128 to float64"):
        lazy(np.array([1j])).astype(float)


# Repr and pickle.


def test_repr():
    x, y = np.ones((2, 1)), np.ones(3, np.int8)
    value = (lazy(x) + 1) * y - np.sqrt(lazy(x))
    assert repr(value) == (
        "lazy float64 (2, 3): (x1 + 1) * x2 - sqrt(x3)\n  x1  float64 (2, 1)\n  x2  int8 (3,)\n  x3  float64 (2, 1)"
    )
    many = sum((lazy(np.ones(1)) for _ in range(1000)), start=lazy(0))
    assert len(repr(many)) < 2000 and "more" in repr(many)


def test_pickle_and_copy():
    import copy

    x = np.array([1.0, 2.0])
    shared = np.exp(lazy(x)).astype(np.float32)
    value = np.where(shared > 3, shared * 2j, shared - True) + 2**70 * 0.5
    for again in [pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy(value)]:
        assert repr(again) == repr(value)
        assert_same(again.compute(), value.compute())


def test_invalid_pickles():
    for steps, arrays in [([], []), ([("array", 3)], []), ([("add", (5, 6))], []), ([("nothing", (0,))], []), (3, [])]:
        with pytest.raises((ValueError, IndexError, TypeError)):
            unishape._unishape._from_steps(steps, arrays)


def test_lazy_of_lazy_numbers_and_lists():
    value = lazy(np.array([1.0]))
    assert lazy(value).compute().tolist() == [1.0]
    assert lazy([1, 2]).dtype == np.int64 and lazy(3).shape == () and lazy(3).compute() == 3
    # A lazy number is an array of rank 0, as np.asarray(3) is.
    assert (lazy(3) + np.ones(2, np.int8)).dtype == np.int64
    assert (lazy(np.ones(2, np.int8)) + 3).dtype == np.int8
    assert (lazy(np.ones(2, np.float32)) * np.float64(3)).dtype == np.float64


# Large graphs.


def test_a_hundred_thousand_operators():
    x = np.array([1.0, 2.0])
    value = lazy(x)
    for _ in range(100_000):
        value = value + 1
    assert value.compute().tolist() == [100_001.0, 100_002.0]
    assert repr(value).startswith("lazy float64 (2,): …") or "…" in repr(value)
    assert len(pickle.dumps(value)) > 100_000
    del value  # without recursion


def test_shared_parts_are_computed_once():
    # As a tree this would have 2**60 leaves.
    value = lazy(np.array([1.0, 2.0]))
    for _ in range(60):
        value = value + value
    assert value.compute().tolist() == [2.0**60, 2.0**61]
    assert len(repr(value)) < 5000
    assert pickle.loads(pickle.dumps(value)).compute().tolist() == [2.0**60, 2.0**61]


def test_many_arrays():
    arrays = [np.full(3, float(number)) for number in range(300)]
    total = lazy(arrays[0])
    for array in arrays[1:]:
        total = total + array
    assert total.compute().tolist() == [sum(range(300))] * 3


def test_memory_is_released():
    x = np.ones(1000)
    gone, count = weakref.ref(x), sys.getrefcount(x)
    value = lazy(x) * 2 + x
    kept = weakref.ref(value)
    assert sys.getrefcount(x) > count
    result = value.compute()
    del value
    assert kept() is None and sys.getrefcount(x) == count
    del x
    assert gone() is None and result[0] == 3


# Errors are raised by the operation that causes them.


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: x + np.ones(3), ValueError, "E1"),
        (lambda x: ~x, TypeError, "float64"),
        (lambda x: x & 1, TypeError, "."),
        (lambda x: x + "text", TypeError, "unsupported operand type"),
        (lambda x: x + None, TypeError, "unsupported operand type"),
        (lambda x: x == "text", TypeError, "cannot compare a lazy value with str"),
        (lambda x: x + np.array(["2026-01-01"], "M8[D]"), TypeError, "int64"),
        (lambda x: x + 10**50, OverflowError, "too large"),
        (lambda x: x.astype(np.int8) + 300, OverflowError, "300 does not fit int8"),
        (lambda x: lazy(None), TypeError, "objects"),
        (lambda x: lazy(np.ma.array([1], mask=[True])), TypeError, "masked"),
        (lambda x: np.floor(x * 1j), TypeError, "complex128"),
    ],
)
def test_errors(call, error, match):
    with pytest.raises(error, match=match):
        call(lazy(np.array([1.0, 2.0])))
