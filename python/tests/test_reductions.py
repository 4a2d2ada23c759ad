"""Reductions and views of evaluate and lazy, compared with NumPy."""

import math
import pickle
import warnings

import numpy as np
import pytest
from arrays import assert_same

import unishape
from unishape import _unishape, lazy

DTYPES = [np.dtype(name) for name in "? i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16".split()]
REDUCTIONS = "sum prod min max mean var std any all argmin argmax".split()
EXACT = {"min", "max", "any", "all", "argmin", "argmax", "count_nonzero"}
SHAPES = [(), (1,), (7,), (0,), (300,), (4, 5), (33, 20), (0, 3), (3, 0), (1, 6), (2, 3, 4), (5, 1, 70), (2, 0, 3)]
SHAPES += [(2, 3, 4, 5), (3, 1, 2, 40), (2, 2, 0, 3)]


def contiguous(rng, array):
    return array


def fortran(rng, array):
    return np.asfortranarray(array)


def sliced(rng, array):
    """Every second element of a larger array, backwards along some axes."""
    larger = np.zeros(tuple(2 * size + 1 for size in array.shape), array.dtype)
    view = larger[..., *(slice(1, None, 2) for _ in array.shape)]
    view = view[..., *(slice(None, None, rng.choice([-1, 1])) for _ in array.shape)]
    view[...] = array
    return view


def broadcast(rng, array):
    """Broadcast along a random axis."""
    if not array.ndim or 0 in array.shape:
        return array
    axis = rng.integers(array.ndim)
    return np.broadcast_to(array.take([0], axis=axis), array.shape)


LAYOUTS = [contiguous, fortran, sliced, broadcast]


def make(rng, shape, dtype, name="sum"):
    """Random numbers, some of them equal, with NaN and infinities where they change no rounding."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.7
    if dtype.kind == "u":
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype.kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    # Products stay in the range of float16.
    numbers = np.asarray(rng.normal(size=shape)) if name != "prod" else np.exp(0.03 * rng.normal(size=shape))
    numbers = np.asarray(numbers)
    if dtype.kind == "c":
        numbers = numbers + 1j * (rng.normal(size=shape) if name != "prod" else 0.01 * rng.normal(size=shape))
    array = np.asarray(numbers).astype(dtype)
    if name in EXACT and array.size and rng.random() < 0.4:
        some = rng.integers(0, array.size, 1 + array.size // 8)
        array.reshape(-1)[some] = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], some.size)
    return array


def random_axis(rng, ndim, name):
    """None, an axis, a negative one, or a tuple of some."""
    form = rng.integers(4)
    if form == 0 or not ndim:
        return None
    if form == 1 or name.startswith("arg"):
        return int(rng.integers(-ndim, ndim))
    axes = rng.permutation(ndim)[: rng.integers(0, ndim + 1)]
    return tuple(int(axis) - ndim * int(rng.integers(2)) for axis in axes)


def call_numpy(name, array, **options):
    """NumPy's result or its exception; without warnings about empty means and overflow."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(getattr(np, name)(array, **options)), None
        except (ValueError, TypeError) as error:
            return None, error


def text_of(name, options):
    """The call as an expression over x, and mask where there is one."""
    parts = ["x"]
    for option, value in options.items():
        value = "mask" if option == "where" else np.dtype(value).name if option == "dtype" else repr(value)
        parts.append(f"{option}={value}")
    return f"{name}({', '.join(parts)})"


def assert_close(name, result, array, expected, options):
    """Within the bounds of docs/accuracy.md: n roundings of the accumulator, and one of the result."""
    mask = options.get("where", True)
    axis, keepdims = options.get("axis"), options.get("keepdims", False)
    wide = np.clongdouble if np.iscomplexobj(array) else np.longdouble
    exact_input, over = array.astype(wide), {"axis": axis, "keepdims": keepdims}
    count = np.sum(np.broadcast_to(mask, array.shape), **over)
    real = result.real.dtype
    eps = float(np.finfo(real).eps)
    # Half precision is accumulated in single precision.
    step = float(np.finfo(np.float32).eps) if real == np.float16 else eps
    complex_factor = 4 if np.iscomplexobj(array) else 1
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = np.sum(np.abs(exact_input), where=mask, **over)
        if name == "sum":
            exact = np.sum(exact_input, where=mask, initial=options.get("initial", 0), **over)
            bound = complex_factor * step * (count + 1) * (sizes + abs(options.get("initial", 0)))
        elif name == "prod":
            exact = np.prod(exact_input, where=mask, initial=options.get("initial", 1), **over)
            bound = complex_factor * step * (count + 1) * np.abs(exact)
        elif name == "mean":
            exact = np.mean(exact_input, where=mask, **over)
            bound = complex_factor * step * (count + 2) * sizes / count
        else:
            ddof = options.get("ddof", 0)
            variance = np.var(exact_input, where=mask, ddof=ddof, **over)
            largest = np.max(np.abs(exact_input), initial=0, **over)
            bound = 8 * complex_factor * step * (count + 4) * (variance + step * largest**2)
            exact = variance
            if name == "std":
                exact = np.sqrt(variance)
                bound = np.where(exact > 0, np.minimum(bound / exact, np.sqrt(bound)), np.sqrt(bound))
        bound = bound + eps * np.abs(exact) + float(np.finfo(real).smallest_subnormal)
        difference = np.abs(result.astype(wide if np.iscomplexobj(result) else np.longdouble) - exact)
        is_fine = (difference <= bound) | (np.isnan(result) & np.isnan(exact)) | (result == expected)
    assert np.all(is_fine), (name, options, result, expected, bound)


def compare(name, array, options):
    expected, error = call_numpy(name, array, **options)
    text = text_of(name, options)
    mask = {"mask": options["where"]} if "where" in options else {}
    if error is not None:
        with pytest.raises((ValueError, TypeError)):
            unishape.evaluate(text, x=array, **mask)
        with pytest.raises((ValueError, TypeError)):
            getattr(lazy(array), name)(**options).compute()
        return
    value = getattr(lazy(array), name)(**options)
    assert (value.shape, value.dtype) == (expected.shape, expected.dtype), (text, array.dtype, array.shape)
    for result in [unishape.evaluate(text, x=array, **mask), value.compute()]:
        assert result.dtype == expected.dtype and result.shape == expected.shape, text
        if name in EXACT or expected.dtype.kind in "biu":
            np.testing.assert_array_equal(result, expected, err_msg=f"{text} {array.dtype} {array.shape}")
        else:
            assert_close(name, result, array, expected, options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    rng = np.random.default_rng([REDUCTIONS.index(name), DTYPES.index(dtype)])
    for shape in SHAPES:
        layout = LAYOUTS[rng.integers(len(LAYOUTS))]
        array = layout(rng, make(rng, shape, dtype, name))
        options = {"axis": random_axis(rng, array.ndim, name), "keepdims": bool(rng.integers(2))}
        if name in ("var", "std") and rng.random() < 0.5:
            options["ddof"] = int(rng.integers(3))
        if not name.startswith("arg") and rng.random() < 0.3:
            options["where"] = rng.random(array.shape) < 0.6
        if name in ("sum", "prod", "min", "max") and rng.random() < (0.8 if "where" in options else 0.2):
            options["initial"] = 1 if dtype.kind in "bui" else 0.5
        compare(name, array, options)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
def test_requested_dtypes(name, dtype):
    rng = np.random.default_rng(1)
    for wanted in ("f4", "f8", "i4", "u1", "c16"):
        if np.dtype(wanted).kind in "iu" and (dtype.kind in "fc" or name in ("mean", "var", "std")):
            continue
        if dtype.kind == "c" and wanted != "c16":
            continue
        array = make(rng, (6, 7), dtype, name)
        compare(name, array, {"axis": 1, "dtype": np.dtype(wanted)})


@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "?"])
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_norms_logsumexp_and_count_nonzero(dtype):
    rng = np.random.default_rng(2)
    for shape in [(7,), (4, 50), (3, 1, 6), (0, 4)]:
        x = make(rng, shape, np.dtype(dtype))
        wide = x.astype(float)
        for axis in (None, 0, -1):
            over = {"axis": axis}
            for text, expected in [
                ("norm(x, axis={})", np.sqrt(np.sum(wide**2, **over))),
                ("norm(x, 1, axis={})", np.sum(np.abs(wide), **over)),
                ("norm(x, inf, axis={})", np.max(np.abs(wide), initial=0, **over)),
                ("logsumexp(x, axis={})", np.log(np.sum(np.exp(wide), **over))),
            ]:
                if 0 in shape and "inf" in text:
                    continue
                result = unishape.evaluate(text.format(axis))
                np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype == "f4" else 1e-13)
            count = unishape.evaluate(f"count_nonzero(x, axis={axis})")
            np.testing.assert_array_equal(count, np.count_nonzero(x, axis))


def test_sums_are_accurate():
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.float64):
        x = (rng.normal(size=1_000_003) * 10.0 ** rng.integers(-3, 4, 1_000_003)).astype(dtype)
        exact = math.fsum(x.astype(float).tolist())
        # Pairwise summation: log2(n) roundings, plus those inside a block.
        bound = 64 * np.finfo(dtype).eps * float(np.sum(np.abs(x), dtype=np.float64))
        assert abs(float(unishape.evaluate("sum(x)")) - exact) <= bound
        assert abs(float(lazy(x)[:, None].sum().compute()) - exact) <= bound


@pytest.mark.parametrize(
    "text",
    [
        "sum(x)",
        "sum(x, 0)",
        "sum(x, 1)",
        "sum(x * y, (0, 2))",
        "mean(x - y, 1)",
        "var(x, axis=(1, 2))",
        "max(abs(x - y), 2)",
        "argmax(x, axis=1)",
        "prod(1 + x * 1e-6, axis=0)",
        "softmax(x, axis=-1)",
        "logsumexp(x, axis=1)",
        "x - mean(x, axis=2, keepdims=True)",
        "x[::-1].T",
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
def test_bits_do_not_depend_on_the_number_of_threads(text, dtype):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(70, 60, 151)).astype(dtype)
    y = rng.normal(size=(60, 1)).astype(dtype)
    if dtype is np.complex64:
        x = x + dtype(1j) * x[::-1]
    names = {"x": x, "y": y} if "y" in text else {"x": x}
    one = unishape.evaluate(text, names, threads=1)
    for threads in (2, 7):
        assert_same(unishape.evaluate(text, names, threads=threads), one)


def random_expression(rng, depth, make_leaf):
    """A function of NumPy or lazy arrays: element-wise work, views and reductions, nested."""
    form = rng.integers(6) if depth else 0
    if form == 0:
        return make_leaf()
    x, like = random_expression(rng, depth - 1, make_leaf)
    if form == 1:
        y, other = random_expression(rng, depth - 1, make_leaf)
        function = [np.add, np.subtract, np.maximum, np.minimum][rng.integers(4)]
        try:
            expected = function(like, other)
        except ValueError:
            return x, like
        return function(x, y), expected
    if form == 2:
        view = random_view(rng, like)
        return view(x), view(like)
    if form == 3:
        return np.abs(x) * 0.5, np.abs(like) * 0.5
    name = ["sum", "mean", "max", "min", "std", "argmax"][rng.integers(6)]
    options = {"axis": random_axis(rng, like.ndim, name), "keepdims": bool(rng.integers(2))}
    expected, error = call_numpy(name, like, **options)
    if error is not None:
        with pytest.raises(ValueError):
            getattr(np, name)(x, **options)
        return x, like
    return getattr(np, name)(x, **options), expected


@pytest.mark.parametrize("seed", range(200))
def test_random_expressions(seed):
    rng = np.random.default_rng(seed)
    shape = [(3, 4, 5), (6, 1, 9), (2, 300), (40,), (2, 3, 2, 4), (0, 3)][rng.integers(6)]

    def make_leaf():
        part = shape[rng.integers(0, len(shape)) :] if rng.random() < 0.5 else shape
        array = LAYOUTS[rng.integers(len(LAYOUTS))](rng, rng.integers(-50, 50, part).astype(float))
        return lazy(array), array

    value, expected = random_expression(rng, 5, make_leaf)
    assert value.shape == expected.shape and value.dtype == expected.dtype
    np.testing.assert_allclose(value.compute(), expected, rtol=1e-12, atol=1e-10, err_msg=repr(value))
    np.testing.assert_array_equal(value.compute(threads=1), value.compute(threads=3))
    # A pickle does not keep the layout, on which the order of a sum depends.
    np.testing.assert_allclose(pickle.loads(pickle.dumps(value)).compute(), expected, rtol=1e-12, atol=1e-10)


def test_views_of_reductions_that_drop_other_axes():
    x = np.arange(5.0).reshape(1, 5)
    y = np.arange(12.0).reshape(3, 4)
    for text in [
        "sum(x, 1)[0]",
        "squeeze(sum(x, axis=1, keepdims=True))",
        "squeeze(sum(x[0:1, 0:1], axis=()))",
        "squeeze(sum(y, axis=(0, 1), keepdims=True), 0)",
        "sum(y, axis=(0, 1), keepdims=True)[0]",
        "max(y, axis=0, keepdims=True)[0, 1:]",
        "sum(y, axis=0, keepdims=True).T",
        "sum(y, axis=(), keepdims=True)",
    ]:
        names = {"x": x} if "x[" in text or "(x" in text else {"y": y}
        expected = eval(text, {"sum": np.sum, "max": np.max, "squeeze": np.squeeze, **names})
        assert_same(unishape.evaluate(text, names), np.ascontiguousarray(expected).reshape(expected.shape))


def test_half_precision_is_rounded_once():
    x = np.array([-0.515, 0.0001], np.float16)
    result = unishape.evaluate("sum(x, initial=0.5)")
    assert_same(result, np.asarray(np.float16(x.astype(np.float64).sum() + 0.5)))


def test_initial_values_do_not_change_the_dtype():
    x, truth = np.array([1, 2], np.int8), np.array([True, False])
    for text, expected in [
        ("sum(x, initial=0.7)", np.sum(x, initial=0.7)),
        ("max(x, initial=1.9)", np.max(x, initial=1.9)),
        ("max(truth, initial=5)", np.max(truth, initial=5)),
        ("sum(truth, initial=2)", np.sum(truth, initial=2)),
        ("min(x, initial=-1, where=x > 5)", np.min(x, initial=-1, where=x > 5)),
    ]:
        assert_same(unishape.evaluate(text), np.asarray(expected))
    for initial, error in [(300, OverflowError), (-np.inf, OverflowError), (1j, TypeError)]:
        with pytest.raises(error):
            lazy(x).max(initial=initial)
        with pytest.raises(error):
            np.max(x, initial=initial)


# Errors.


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("sum(x, axis=2)", np.exceptions.AxisError),
        ("sum(x, axis=-3)", np.exceptions.AxisError),
        ("sum(x, axis=(0, 0))", ValueError),
        ("sum(x, axis=(0, -2))", ValueError),
        ("min(empty, axis=0)", ValueError),
        ("max(empty[:, :0], axis=1)", ValueError),
        ("argmax(empty, axis=0)", ValueError),
        ("max(x, where=x > 0)", ValueError),
        ("squeeze(x)[0, 0, 0]", IndexError),
        ("x[5]", IndexError),
        ("squeeze(x, 0)", ValueError),
        ("transpose(x, (0,))", ValueError),
        ("broadcast_to(x, (4, 3))", ValueError),
        ("x + x[:, :2]", ValueError),
    ],
)
def test_errors_of_expressions(text, error):
    x, empty = np.ones((2, 3)), np.ones((0, 3))
    names = {"x": x} if "empty" not in text else {"empty": empty}
    with pytest.raises(error):
        unishape.evaluate(text, names)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(axis=2),
        lambda x: x.mean(axis=(0, 0)),
        lambda x: x.sum(axis=1.5),
        lambda x: x.max(where=x > 0),
        lambda x: x[0:0].min(axis=0),
        lambda x: x[0:0].argmin(axis=0),
        lambda x: x[5],
        lambda x: x[0, 0, 0],
        lambda x: x[..., ...],
        lambda x: x[::0],
        lambda x: x.squeeze(0),
        lambda x: x.transpose(0, 0),
        lambda x: x.transpose(0),
        lambda x: x.swapaxes(0, 2),
        lambda x: x.reshape(4),
        lambda x: x.reshape(-1, -1),
        lambda x: np.broadcast_to(x, (4, 3)),
        lambda x: np.expand_dims(x, 4),
        lambda x: np.sum(x, axis=2),
        lambda x: np.add.reduce(x, axis=2),
    ],
)
def test_errors_are_raised_as_in_numpy(call):
    x = np.arange(6.0).reshape(2, 3)
    with pytest.raises((ValueError, TypeError, IndexError)) as expected:
        call(x)
    with pytest.raises((ValueError, TypeError, IndexError)) as actual:
        call(lazy(x))
    assert issubclass(actual.type, expected.type) or issubclass(expected.type, actual.type)


def test_errors_of_lazy_only():
    x = lazy(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"\(2, 3\) to \(6,\) needs a copy of computed elements; call .compute"):
        (x + 1).reshape(6)
    with pytest.raises(ValueError, match="needs a copy of the array, because of its strides; call .compute"):
        x.T.reshape(6)
    with pytest.raises(ValueError, match="cannot reshape"):
        x.reshape(4)
    with pytest.raises(ValueError, match="ord must be 1, 2 or inf"):
        x.norm(3)
    for index, kind in ((1.5, "float"), ("a", "str"), ((0, 2j), "complex")):
        with pytest.raises(IndexError, match=f"consists of integers, slices, None and ..., not {kind}$"):
            x[index]
    with pytest.raises(ValueError, match="same meaning"):
        x.var(ddof=1, correction=1)
    with pytest.raises(TypeError, match="initial must be a number"):
        x.sum(initial="a")


# Views.


def random_index(rng, shape):
    """An index of integers, slices, None and an ellipsis."""
    items = []
    for size in shape[: rng.integers(0, len(shape) + 1)]:
        form = rng.integers(4)
        if form == 0 and size:
            items.append(int(rng.integers(-size, size)))
        else:
            bounds = [None if rng.random() < 0.4 else int(rng.integers(-size - 2, size + 3)) for _ in range(2)]
            step = None if rng.random() < 0.4 else int(rng.choice([-3, -2, -1, 1, 2, 3]))
            items.append(slice(*bounds, step))
    for _ in range(rng.integers(0, 3)):
        items.insert(rng.integers(0, len(items) + 1), None)
    if rng.random() < 0.3:
        items.insert(rng.integers(0, len(items) + 1) if not items else len(items), ...)
    return tuple(items)


def index_text(index):
    def part(item):
        if isinstance(item, slice):
            return ":".join("" if each is None else str(each) for each in (item.start, item.stop, item.step))
        return "..." if item is ... else str(item)

    return f"[{', '.join(map(part, index))}]" if index else ""


def random_view(rng, array):
    """A view of NumPy, and the function that makes it."""
    form = rng.integers(7)
    if form == 0:
        axes = tuple(int(axis) for axis in rng.permutation(array.ndim))
        return lambda x: np.transpose(x, axes)
    if form == 1 and array.ndim:
        one, other = (int(axis) for axis in rng.integers(-array.ndim, array.ndim, 2))
        return lambda x: np.swapaxes(x, one, other)
    if form == 2:
        axis = int(rng.integers(-array.ndim - 1, array.ndim + 1))
        return lambda x: np.expand_dims(x, axis)
    if form == 3:
        return np.squeeze
    if form == 4:
        shape = (2, *array.shape)
        return lambda x: np.broadcast_to(x, shape)
    index = random_index(rng, array.shape)
    return lambda x: x[index]


@pytest.mark.parametrize("seed", range(60))
def test_views(seed):
    rng = np.random.default_rng(seed)
    dtype = DTYPES[rng.integers(len(DTYPES))]
    x = LAYOUTS[rng.integers(3)](rng, make(rng, SHAPES[rng.integers(len(SHAPES))], dtype))
    expected, value = x, lazy(x)
    for _ in range(rng.integers(1, 5)):
        view = random_view(rng, expected)
        expected, value = view(expected), view(value)
        assert isinstance(value, unishape.Lazy) and value.shape == expected.shape
        assert value.size == expected.size and value.ndim == expected.ndim
    assert_same(value.compute(), np.ascontiguousarray(expected).reshape(expected.shape))
    if dtype.kind != "b" and dtype.kind != "c" and expected.size:
        np.testing.assert_array_equal((value + value.max()).compute(), expected + expected.max())
    index = random_index(rng, x.shape)
    assert_same(unishape.evaluate(f"x{index_text(index)}"), np.ascontiguousarray(x[index]).reshape(x[index].shape))


def test_views_in_the_middle_of_an_expression():
    x, y = np.arange(12.0).reshape(3, 4), np.arange(3.0)
    value = (lazy(x) * 2)[::-1, 1:].T + lazy(y)[None, :]
    assert_same(value.compute(), np.ascontiguousarray((x * 2)[::-1, 1:].T + y[None, :]))
    distances = ((lazy(y)[:, None] - lazy(y)) ** 2).sum(axis=-1)
    assert_same(distances.compute(), ((y[:, None] - y) ** 2).sum(axis=-1))
    assert lazy(x).T.shape == (4, 3) and lazy(x).transpose().shape == (4, 3)
    assert lazy(x).transpose((1, 0)).shape == (4, 3) and lazy(x).transpose(None).shape == (4, 3)
    for shape in [(3, 1, 4), (1, 3, 4, 1), (-1, 4), (3, 4), (3, -1, 1)]:
        assert_same(lazy(x).reshape(shape).compute(), x.reshape(shape))
        assert_same(lazy(x).reshape(*shape).compute(), x.reshape(shape))
    assert lazy(np.ones((1, 1))).reshape(()).shape == ()


# NumPy's functions.


def test_numpy_reshapes_what_is_no_view():
    x = np.arange(6.0).reshape(2, 3)
    for value, expected in [(lazy(x) + 1, x + 1), (lazy(x).T, x.T), (lazy(x).sum(1, keepdims=True) - lazy(x), x.sum(1)[:, None] - x)]:
        for call in [np.ravel, lambda x: np.reshape(x, 6), lambda x: np.reshape(x, (-1, 2)), lambda x: np.reshape(x, (1, 6))]:
            result = call(value)
            # The type does not depend on the strides.
            assert isinstance(result, unishape.Lazy)
            assert_same((result * 2).compute(), call(expected) * 2)
    for call in [lambda x: np.reshape(x, 4), lambda x: np.reshape(x, (-1, -1))]:
        with pytest.raises(ValueError):
            call(lazy(x) + 1)


def test_dask_reshapes_lazy_values_of_its_arrays():
    da = pytest.importorskip("dask.array")
    x = np.arange(8.0).reshape(2, 4)
    deferred = lazy(da.from_array(x, chunks=(1, 2)))
    for value, expected in [(deferred + 1, x + 1), (deferred.T, x.T), (deferred - deferred.mean(0), x - x.mean(0))]:
        for call in [np.ravel, lambda x: np.reshape(x, (1, 8)), lambda x: x.reshape(-1), lambda x: x.ravel()]:
            result = call(value)
            _, leaves = result._to_steps()
            assert isinstance(leaves[0], da.Array)
            assert_same((result * 2).compute(), call(expected) * 2)


@pytest.mark.parametrize("name", [*REDUCTIONS, "amax", "amin"])
def test_numpy_functions_are_lazy(name):
    x = np.random.default_rng(5).normal(size=(3, 4))
    function = getattr(np, name)
    for options in [{}, {"axis": 1}, {"axis": -2, "keepdims": True}]:
        result = function(lazy(x), **options)
        assert isinstance(result, unishape.Lazy)
        np.testing.assert_allclose(result.compute(), function(x, **options), rtol=1e-14)
    assert isinstance(function(a=lazy(x)), unishape.Lazy)
    np.testing.assert_allclose(function(lazy(x), 0).compute(), function(x, 0), rtol=1e-14)
    expected = function(x, axis=0)
    out = np.zeros(4, expected.dtype)
    assert function(lazy(x), axis=0, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-14)


def test_numpy_functions_with_more_arguments():
    x = np.arange(6.0).reshape(2, 3)
    mask = x > 1
    assert np.sum(x, where=lazy(mask)).compute() == 14
    assert np.sum(lazy(x), 0, np.float32).dtype == np.float32
    assert np.max(lazy(x), initial=np.float64(9), where=mask).compute() == 9
    assert np.var(lazy(x), ddof=1).compute() == np.var(x, ddof=1)
    assert np.std(lazy(x), correction=1).compute() == np.std(x, correction=1)
    # A parameter that lazy values do not have: the array is computed.
    assert np.var(lazy(x), mean=x.mean(keepdims=True)) == np.var(x)
    assert np.mean(lazy(x), where=True).compute() == 2.5


@pytest.mark.parametrize("name", "add multiply minimum maximum logical_or logical_and".split())
def test_reduce_of_ufuncs(name):
    x = np.array([[1.0, -2.0, 3.0], [0.0, 5.0, 7.0]])
    ufunc = getattr(np, name)
    for options in [{}, {"axis": 1}, {"axis": None}, {"axis": (0, 1), "keepdims": True}]:
        result = ufunc.reduce(lazy(x), **options)
        assert isinstance(result, unishape.Lazy)
        np.testing.assert_array_equal(result.compute(), ufunc.reduce(x, **options))
    out = np.zeros(3, ufunc.reduce(x).dtype)
    assert ufunc.reduce(lazy(x), out=out) is out and (out == ufunc.reduce(x)).all()
    assert ufunc.reduce(lazy(np.float64(3))).compute() == ufunc.reduce(np.float64(3))


def test_arrays_as_indices_of_lazy_values():
    array = np.arange(6.0).reshape(2, 3)
    for index in ([0, 1], np.array([0]), True, array > 2):
        np.testing.assert_array_equal(np.asarray(lazy(array)[index]), array[index])


def test_methods_of_ufuncs_without_a_reduction():
    array = np.arange(3.0)
    for call in [np.subtract.reduce, np.add.accumulate, lambda x: np.add.outer(x, x)]:
        np.testing.assert_array_equal(np.asarray(call(lazy(array))), call(array))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.sum(x, axis=1),
        lambda x: np.add.reduce(x, axis=(0, 1)),
        lambda x: np.mean(x, axis=0, where=x > 2),
        lambda x: np.argmin(x, axis=1, keepdims=True),
        lambda x: np.argmax(x),
        lambda x: np.linalg.norm(x),
        lambda x: np.linalg.norm(x, axis=1),
        lambda x: np.linalg.norm(x, ord=1, axis=0),
        lambda x: np.linalg.norm(x, np.inf, -1, True),
        lambda x: np.linalg.norm(x, axis=(0, 1)),
        lambda x: np.linalg.norm(x=x),
        lambda x: np.linalg.norm(x[0], 1),
        lambda x: np.expand_dims(x, (0, 2)),
        lambda x: np.squeeze(x[:, :1], axis=1),
        lambda x: np.transpose(x, (1, 0)),
        lambda x: np.swapaxes(x, 0, 1),
        lambda x: np.broadcast_to(x, (2, 4, 6)),
        lambda x: np.count_nonzero(x > 3),
        lambda x: np.count_nonzero(x, axis=1, keepdims=True),
        lambda x: np.any(x > 22, axis=0),
        lambda x: np.all(x > 22, axis=0, where=x > 20),
        lambda x: np.max(x, axis=0),
        lambda x: np.amax(x, 1),
        lambda x: np.min(x, initial=-1),
        lambda x: np.amin(x),
        lambda x: np.var(x, axis=1, ddof=1),
        lambda x: np.std(x, keepdims=True),
        lambda x: np.prod(x[:2, 1:], axis=0),
        lambda x: np.reshape(x, (3, 8)),
        lambda x: np.reshape(x, -1),
        lambda x: np.reshape(x[1:3], (2, 3, 2)),
        lambda x: np.ravel(x),
        lambda x: np.ravel(x[0] * 2),
        lambda x: np.permute_dims(x, (1, 0)),
        lambda x: x.reshape(2, 2, 6).sum(axis=1),
        lambda x: x[::2].reshape(2, 2, 3),
        lambda x: x.T[1:, :3].reshape(5, 1, 3),
        lambda x: np.expand_dims(x[1], 0).reshape(3, 2),
        lambda x: x.swapaxes(0, 1)[2].reshape(2, 2),
        lambda x: (x * 1j).imag - x.real,
    ],
)
def test_dispatch_of_numpy(function):
    x = np.arange(24.0).reshape(4, 6)
    expected = np.asarray(function(x))
    result = function(lazy(x))
    assert isinstance(result, unishape.Lazy)
    assert result.shape == expected.shape and result.dtype == expected.dtype
    np.testing.assert_allclose(result.compute(), expected, rtol=1e-14)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_allclose(again.compute(), expected, rtol=1e-14)


def test_shapes_of_numpy_need_no_element():
    value = lazy(np.broadcast_to(np.zeros(()), (1 << 20, 1 << 20))) + 1
    assert np.shape(value) == value.shape and np.ndim(value) == 2 and np.size(value) == 1 << 40


def test_reshape_is_a_view():
    x = np.arange(6.0)
    value = lazy(x).reshape(2, 3) * 2
    x[:] = 1
    assert value.compute().tolist() == [[2.0] * 3] * 2


def test_methods_of_all_reductions():
    x = np.array([[3.0, 0.0, -4.0], [0.0, 1.0, 0.0]])
    value = lazy(x)
    assert value.count_nonzero(axis=1).compute().tolist() == [2, 1]
    assert value.norm(axis=1).compute().tolist() == [5.0, 1.0] and value.norm(1).compute() == 8
    assert value.norm(np.inf, axis=0, keepdims=True).compute().tolist() == [[3.0, 1.0, 4.0]]
    np.testing.assert_allclose(value.logsumexp(axis=-1).compute(), np.logaddexp.reduce(x, axis=1), rtol=1e-14)
    assert "norm(x1, 1)" in repr(value.norm(1)) and "norm(x1, inf, axis=0)" in repr(value.norm(np.inf, axis=0))


def test_named_dimensions_need_names():
    x = np.ones(3)
    for text in ["sum(x, dim='t')", "sum(x, 't')", "max(x, dim=('a', 'b'))", "softmax(x, dim='t')", "x.std('t')"]:
        with pytest.raises(TypeError, match="dim=, which needs arrays with named dimensions.*unishape.xarray"):
            unishape.evaluate(text)
    assert unishape.evaluate("sum(x, dim=...)") == 3


# Lazy values with reductions.


def test_repr_and_pickle():
    x = np.arange(6.0).reshape(2, 3)
    value = (lazy(x) - lazy(x).mean(axis=1, keepdims=True))[:, None, 1:] / np.std(lazy(x), ddof=1)
    assert repr(value) == (
        "lazy float64 (2, 1, 2): (x1 - mean(x2, axis=1, keepdims=True))[:, None, 1:] / std(x3, ddof=1)\n"
        "  x1  float64 (2, 3)\n  x2  float64 (2, 3)\n  x3  float64 (2, 3)"
    )
    masked = lazy(x).sum(where=lazy(x) > 2, initial=1.5, dtype="f4").T

    views = np.squeeze(np.expand_dims(lazy(x), (0, -1)), 0).transpose(1, 0, 2)[..., ::-1, 0]
    for each in (value, masked, views, np.broadcast_to(lazy(x), (2, 2, 3))):
        again = pickle.loads(pickle.dumps(each))
        assert repr(again) == repr(each)
        assert_same(again.compute(), each.compute())


def test_shared_parts_and_nested_reductions():
    x = np.random.default_rng(6).normal(size=(30, 40))
    value = lazy(x)
    shifted = np.exp(value - value.max(axis=1, keepdims=True))
    softmax = shifted / shifted.sum(axis=1, keepdims=True)
    expected = np.exp(x - x.max(1, keepdims=True))
    expected /= expected.sum(1, keepdims=True)
    np.testing.assert_allclose(softmax.compute(), expected, rtol=1e-13)
    np.testing.assert_allclose(softmax.max(axis=0).sum().compute(), expected.max(0).sum())


def test_outputs_that_are_inputs():
    for size in (5, 1_000_001):
        x = np.arange(float(size))
        unishape.evaluate("x[::-1] + 1", out=x)
        assert (x == np.arange(float(size))[::-1] + 1).all()
        x = np.arange(float(size))
        unishape.evaluate("x - mean(x)", out=x)
        np.testing.assert_allclose(x, np.arange(float(size)) - (size - 1) / 2)
        x = np.arange(float(size))
        lazy(x[1:]).sum().compute(out=x[:1].reshape(()))
        assert x[0] == np.arange(1.0, size).sum()


# Several expressions, and plans.


def test_several_expressions():
    a, b = np.arange(6.0).reshape(2, 3), np.ones(3)
    products, largest, number = unishape.evaluate(["sum(a * b, 1)", "max(a, 1)", "c + 1"], c=2)
    assert products.tolist() == [3.0, 12.0] and largest.tolist() == [2.0, 5.0] and number == 3
    assert unishape.evaluate(()) == [] and unishape.evaluate(("a[0, 0]",)) == [0.0]
    outs = [np.zeros(2), None]
    results = unishape.evaluate(["sum(a, 1)", "sum(a, 0)"], out=outs)
    assert results[0] is outs[0] and outs[0].tolist() == [3.0, 12.0] and results[1].tolist() == [3.0, 5.0, 7.0]
    for call, error in [
        (lambda: unishape.evaluate(["a", "b"], a=a, b=b, out=np.zeros(2)), TypeError),
        (lambda: unishape.evaluate(["a", "b"], a=a, b=b, out=[None]), ValueError),
        (lambda: unishape.evaluate(["a", "b"], a=a, b=b, c=1), TypeError),
        (lambda: unishape.evaluate(["a + 1", "a * 2"], a=a, out=[a, None]), ValueError),
        (lambda: unishape.evaluate(["a", 3], a=a), TypeError),
        (lambda: unishape.evaluate(["a", "no_such_name"], a=a), NameError),
        (lambda: unishape.evaluate(3), TypeError),
    ]:
        with pytest.raises(error):
            call()


def test_several_large_element_wise_results():
    rng = np.random.default_rng(1)
    a, row = rng.random((3000, 1500), dtype=np.float32), rng.random(1500)
    texts = ["a + row", "a * 2", "a > row", "sqrt(a)"]
    for view in [a, a[::-1, ::-1], a[:, ::2], np.asfortranarray(a)]:
        names = {"a": view, "row": row[: view.shape[1]]}
        for threads in [None, 1, 3]:
            results = unishape.evaluate(texts, names, threads=threads)
            for text, result in zip(texts, results, strict=True):
                expected = unishape.evaluate(text, {k: v for k, v in names.items() if k in text})
                assert result.dtype == expected.dtype and np.array_equal(result, expected), text
    outs = [np.empty_like(a), None, np.empty((1500, 3000), bool).T]
    results = unishape.evaluate(["a + 1", "a * 2", "a > 0.5"], a=a, out=outs)
    assert results[0] is outs[0] and results[2] is outs[2]
    for result, expected in zip(results, [a + 1, a * 2, a > 0.5], strict=True):
        assert np.array_equal(result, expected)


def test_explain():
    x = np.ones((100, 200))
    assert unishape.evaluate("x * 2", explain=True).startswith("loops: 20000 elements")
    plan = unishape.evaluate("sum(x * 2, axis=1)", explain=True)
    assert isinstance(plan, str) and plan
    plans = unishape.evaluate(["x + 1", "sum(x)"], explain=True)
    assert len(plans) == 2 and all(isinstance(each, str) for each in plans)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", ["sum((a[:, None] - b)**2, -1)", "sum(a[:, None] * b, -1)", "max(abs(b - a[:, None]), 2)"])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 64, 8), (17, 65, 64), (20, 1000, 129), (16, 3000, 256), (16, 100, 257), (15, 64, 64)])
def test_pairs_of_points(text, m, n, k, dtype):
    """Where points have few dimensions, those of one operand are copied with their dimensions first."""
    generator = np.random.default_rng(m * n + k)
    a, b = generator.random((m, k)).astype(dtype), generator.random((n, k)).astype(dtype)
    expected = {
        "sum((": ((a[:, None].astype("float64") - b) ** 2).sum(-1),
        "sum(a": (a[:, None].astype("float64") * b).sum(-1),
        "max(a": np.abs(b.astype("float64") - a[:, None]).max(2),
    }[text[:5]]
    result = unishape.evaluate(text, dict(a=a, b=b))
    assert result.dtype == dtype and result.shape == (m, n)
    np.testing.assert_allclose(result, expected, rtol=256 * np.finfo(dtype).eps)
    # The same bits on any number of threads, from strided points, and in another order of the operands.
    for threads in (1, 2, 3):
        np.testing.assert_array_equal(unishape.evaluate(text, dict(a=a, b=b), threads=threads), result)
    strided = np.asfortranarray(b)
    np.testing.assert_allclose(unishape.evaluate(text, dict(a=a[:, ::-1], b=strided[:, ::-1])), result, rtol=1e-4)
    if text.startswith("sum(a"):
        np.testing.assert_array_equal(unishape.evaluate("sum(b * a[:, None], -1)", dict(a=a, b=b)), result)


@pytest.mark.parametrize("dtype", "? i1 u1 i2 u2 i4 i8 u8 f2 f4 f8".split())
def test_normalizations_of_narrow_dtypes(dtype):
    x = np.array([[1, 2, 3], [-128, 100, 127], [300, -300, 100], [1000, -1000, 500]]).astype(dtype)
    wide = x.astype(float)
    shifted = wide - wide.max(-1, keepdims=True)
    exp = np.exp(shifted)
    expected = {
        "softmax": exp / exp.sum(-1, keepdims=True),
        "log_softmax": shifted - np.log(exp.sum(-1, keepdims=True)),
        "rms_norm": wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5),
        "layer_norm": (wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5),
    }
    for name, values in expected.items():
        like = np.exp(x) if name.endswith("softmax") else x.mean(-1)
        steps = _unishape._parse_steps(f"{name}(x)")
        value = _unishape._from_steps([("array", 0) if step[0] == "variable" else step for step in steps], [x])
        assert "exp" in repr(value) or "norm" in name
        for result in (unishape.evaluate(f"{name}(x)"), value.compute(), pickle.loads(pickle.dumps(value)).compute()):
            assert result.dtype == like.dtype, name
            np.testing.assert_allclose(result, values, rtol=4 * np.finfo(like.dtype).eps, atol=1e-6, err_msg=name)


def test_masks_have_booleans():
    x, mask = np.arange(3.0), np.array([0, 1, 2])
    for call in (
        lambda: np.sum(x, where=mask),
        lambda: unishape.evaluate("sum(x, where=mask)", x=x, mask=mask),
        lambda: lazy(x).sum(where=mask),
    ):
        with pytest.raises(TypeError, match="(?i)cannot cast|^where= takes booleans, not int64; write where=mask != 0"):
            call()
    assert unishape.evaluate("sum(x, where=mask != 0)") == np.sum(x, where=mask != 0)
    assert unishape.evaluate("sum(x, where=1)") == np.sum(x, where=1)
