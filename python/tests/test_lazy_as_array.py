"""Lazy values are whole arrays to Python and to other libraries, or fail loudly."""

import copy
import math
import operator
import threading

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import pytest

import unishape
from unishape import lazy

X = np.arange(6.0).reshape(2, 3)


@pytest.fixture
def value():
    return lazy(X) * 2 + 1


EXPECTED = X * 2 + 1
M = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    "call",
    [
        len,
        list,
        lambda x: [row.sum() for row in x],
        lambda x: np.array([1.0, 3.0, 5.0]) in x,
        lambda x: x.size,
        lambda x: x.nbytes,
        lambda x: x.itemsize,
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.tolist(),
        lambda x: x.flatten(),
        lambda x: x.argsort(axis=1),
        lambda x: x.cumsum(),
        lambda x: x.dot(M),
        lambda x: x.take([0, 1]),
        lambda x: x[1],
        lambda x: x[:, [2, 0]],
        lambda x: x[np.array([True, False])],
        lambda x: x[x > 4],
        lambda x: x[np.array([0, 1]), np.array([2, 0])],
        lambda x: x @ M,
        lambda x: M @ x,
        lambda x: x @ M[:, 0],
        lambda x: x.sum(axis=0),
        lambda x: float(x.sum()),
        lambda x: int(x.sum()),
        lambda x: complex(x.sum()),
        lambda x: round(x.sum() / 7, 2),
        lambda x: round(x.mean()),
        lambda x: f"{x.sum():.3f}",
        lambda x: math.sqrt(x.max()),
        lambda x: bool(x.max() > 3),
        lambda x: x.any() and not x.all(),
        lambda x: (x - 5).argmax().item(),
        lambda x: [10, 20, 30, 40, 50, 60][x.argmax()],
        lambda x: sorted(x.ravel().tolist()) if isinstance(x, np.ndarray) else sorted(np.ravel(x).tolist()),
        lambda x: divmod(x, 2),
        lambda x: divmod(7, x),
        lambda x: np.divmod(x, 2),
        lambda x: np.modf(x / 2),
        lambda x: np.frexp(x),
        lambda x: np.maximum.reduce(x),
        lambda x: np.subtract.reduce(x),
        lambda x: np.maximum.accumulate(x, axis=1),
        lambda x: np.add.outer(x, x),
        lambda x: np.add.reduceat(x, [0, 1]),
        lambda x: np.matmul(x, M),
        lambda x: np.spacing(x),
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: np.add(x, 1, where=X > 2, out=np.zeros((2, 3))),
        lambda x: np.concatenate([x, x]),
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: np.einsum("ij->j", x),
        lambda x: np.array(x),
        lambda x: np.asarray(x, dtype=np.float32),
        lambda x: np.array([x, x]),
        lambda x: np.from_dlpack(x),
        lambda x: np.isclose(x, x),
        lambda x: x + [[1], [2]],
        lambda x: (1, 2, 3) - x,
    ],
)
def test_same_as_an_array(value, call):
    result, expected = call(value), call(EXPECTED)
    if not isinstance(expected, tuple):
        result, expected = (result,), (expected,)
    assert len(result) == len(expected)
    for one, other in zip(result, expected):
        np.testing.assert_array_equal(one, other)
        if not isinstance(other, (list, tuple)):
            assert np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: len(x.sum()), TypeError, "without dimensions"),
        (lambda x: list(x.sum()), TypeError, "0-d"),
        (float, TypeError, "0-dim"),
        (bool, TypeError, "no truth value"),
        (lambda x: f"{x:.2f}", TypeError, "one element, but it has 6"),
        (operator.index, TypeError, "integer"),
        (lambda x: x.nothing, AttributeError, "'Lazy' object has no attribute 'nothing'"),
        (lambda x: operator.setitem(x, 0, 1), TypeError, "item assignment"),
        (lambda x: x.sort(), ValueError, "read-only"),
        (lambda x: x.fill(0), ValueError, "read-only"),
        (lambda x: operator.setitem(np.asarray(x), 0, 1), ValueError, "read-only"),
        (lambda x: np.add.at(x, 0, 1), (ValueError, TypeError), "read-only|array"),
        (lambda x: np.asarray(x, copy=False), ValueError, "copy=False"),
        (lambda x: x @ object(), TypeError, "unsupported operand"),
        (lambda x: divmod(x, None), TypeError, "unsupported operand"),
        (lambda x: x < "a", TypeError, "not supported between"),
        (lambda x: x == None, TypeError, "cannot compare"),  # noqa: E711
        (lambda x: hash(x), TypeError, "unhashable"),
        (lambda x: memoryview(x), TypeError, "bytes-like"),
    ],
)
def test_fails_loudly(value, call, error, match):
    with pytest.raises(error, match=match):
        call(value)


class Other:
    """Not an array, with operators of its own."""

    def __radd__(self, other):
        return "radd"

    __rmatmul__ = __rdivmod__ = __rpow__ = __rand__ = __radd__

    def __add__(self, other):
        return "add"

    def __gt__(self, other):
        return "gt"

    def __eq__(self, other):
        return "eq"


def test_operators_leave_others_to_them(value):
    other = Other()
    assert [value + other, value @ other, divmod(value, other), value**other, value & other] == ["radd"] * 5
    assert (other + value, value < other, value == other) == ("add", "gt", "eq")
    assert (value == object()) is False and (value != object()) is True


def test_objects_that_opt_out_of_ufuncs_are_asked(value):
    class Array(Other):
        __array_ufunc__ = None

        def __array__(self, dtype=None, copy=None):
            return np.ones(3)

    assert value + Array() == "radd"


def test_computed_once_and_kept():
    x = np.arange(3.0)
    value = lazy(x) + 1
    first = np.asarray(value)
    assert np.asarray(value) is first and not first.flags.writeable
    assert float(value[2]) == 3 and list(value) == [1, 2, 3]
    own = value.compute()
    own[0] = 100
    assert own.flags.writeable and np.asarray(value)[0] == 1
    assert (value * 2).compute().tolist() == [2, 4, 6]
    # The kept array is used in other expressions.
    x[:] = 7
    assert (value * 2).compute().tolist() == [2, 4, 6] and value.compute().tolist() == [1, 2, 3]
    value.release()
    assert np.asarray(value).tolist() == [8, 8, 8]


def test_compute_keeps_nothing():
    x = np.arange(3.0)
    value = lazy(x) + 1
    value.compute()
    x[:] = 7
    assert value.compute().tolist() == [8, 8, 8]
    assert np.array(value).flags.writeable
    x[:] = 8
    assert np.array(value).tolist() == [9, 9, 9]


def test_threads_share_the_kept_array():
    value = lazy(np.arange(100_000.0)) * 2
    arrays = []
    threads = [threading.Thread(target=lambda: arrays.append(np.asarray(value))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(array is arrays[0] for array in arrays)


def test_copies_of_lazy_values(value):
    np.asarray(value)
    assert copy.deepcopy(value).compute().tolist() == EXPECTED.tolist()


def test_dlpack_of_older_versions(value):
    capsule = value.__dlpack__()
    assert "dltensor" in repr(capsule) and value.__dlpack_device__() == (1, 0)


def test_matplotlib_takes_lazy_values():
    plt.switch_backend("Agg")
    x = lazy(np.linspace(0, 1, 5))
    (line,) = plt.plot(x, x * 2)
    assert np.asarray(line.get_ydata(orig=False)).tolist() == [0, 0.5, 1, 1.5, 2]
    plt.imshow(lazy(X) * 2)
    plt.hist(x)
    plt.close("all")


def test_lazy_values_of_dask_are_not_computed_by_questions():
    value = unishape.lazy(da.ones(4, chunks=2)) + 1
    assert not hasattr(value, "flags") and len(value) == 4
    assert list(value) == [2.0] * 4
