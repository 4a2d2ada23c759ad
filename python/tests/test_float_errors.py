"""Divisions by zero, overflows and invalid operations are reported as NumPy does, and as numpy.errstate requests."""

import io
import itertools
import warnings

import numpy as np
import pytest

import unishape
from unishape import evaluate, lazy

KINDS = {"divide by zero": "divide", "overflow": "over", "invalid value": "invalid"}
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -2.5, 1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan]


def reports(function):
    """The kinds of exceptional results that a function reports."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn", under="ignore"):
        warnings.simplefilter("always")
        function()
    return {KINDS[str(each.message).partition(" encountered")[0]] for each in caught}


UNARY = """sqrt square reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh
    arcsinh arccosh arctanh cbrt negative absolute sign floor ceil trunc rint signbit isnan isfinite deg2rad rad2deg
    logical_not""".split()
BINARY = """add subtract multiply divide floor_divide remainder fmod power maximum minimum fmax fmin less less_equal
    greater equal not_equal hypot arctan2 copysign logaddexp heaviside logical_and""".split()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name, dtype):
    ours, numpys = getattr(unishape, name), getattr(np, name)
    for value in SPECIAL:
        for count in (1, 3, 100):
            x = np.full(count, value, dtype)
            assert reports(lambda: ours(x)) == reports(lambda: numpys(x)), (value, count)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arguments(name, dtype):
    """Of some functions, NumPy's own way to compute them reports more than the result tells."""
    ours, numpys = getattr(unishape, name), getattr(np, name)
    for a, b in itertools.product(SPECIAL, SPECIAL):
        x, y = np.full(5, a, dtype), np.full(5, b, dtype)
        expected = reports(lambda: numpys(x, y))
        if (name, expected) == ("floor_divide", {"over", "invalid"}):
            expected = {"over"}
        found = reports(lambda: ours(x, y))
        if name == "logaddexp" or (name == "power" and np.isinf([a, b]).any()):
            assert found <= expected, (a, b)
        else:
            assert found == expected, (a, b)


@pytest.mark.parametrize("dtype", "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split())
def test_integers(dtype):
    least = np.iinfo(dtype).min
    for a, b in [(1, 0), (0, 0), (7, 2), (least, 1), (least, -1 if least else 1)]:
        x, y = np.full(40, a, dtype), np.array([1] * 39 + [b], dtype)
        for name in ("floor_divide", "remainder", "fmod", "divide", "add", "multiply"):
            expected = reports(lambda: getattr(np, name)(x, y))
            assert reports(lambda: getattr(unishape, name)(x, y)) == expected, (name, a, b)
    zero = np.array([1, 0], dtype)
    assert reports(lambda: unishape.reciprocal(zero)) == {"divide"} <= reports(lambda: np.reciprocal(zero))


@pytest.mark.parametrize("to", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float16".split())
def test_casts(to):
    for value in [1.5, 300.0, -1.5, 3e9, 1e18, 1e19, 2e19, -1e19, 1e39, np.inf, -np.inf, np.nan, 70000.0]:
        x = np.full(3, value)
        result = reports(lambda: evaluate(f"{to}(x)", x=x))
        assert result == reports(lambda: x.astype(to)), value
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(evaluate(f"{to}(x)", x=x), x.astype(to))


def test_half_precision():
    x = np.array([1.0, 60000.0], np.float16)
    for text, function in [("x + x", np.add), ("x * x", np.multiply), ("x - x", np.subtract)]:
        assert reports(lambda: evaluate(text, x=x)) == reports(lambda: function(x, x)), text


def test_complex_numbers():
    one, zero = np.array([1 + 1j, 2j]), np.zeros(2, complex)
    assert reports(lambda: unishape.divide(one, one)) == set()
    assert "divide" in reports(lambda: unishape.divide(one, zero))
    large = np.full(3, 1e200 + 0j)
    assert reports(lambda: unishape.multiply(large, large)) == reports(lambda: np.multiply(large, large)) != set()
    assert reports(lambda: unishape.log(zero)) == {"divide"}
    assert reports(lambda: unishape.exp(one)) == set()


TEXTS = {
    "1 / x": lambda x: 1 / x,
    "x / x": lambda x: x / x,
    "x * 1e300 * 1e300": lambda x: x * 1e300 * 1e300,
    "log(x) + 1": lambda x: np.log(x) + 1,
    "where(x > 1, sqrt(x - 1), 0)": lambda x: np.where(x > 1, np.sqrt(x - 1), 0),
    "maximum(x, 1) * 2 - minimum(x, 3)": lambda x: np.maximum(x, 1) * 2 - np.minimum(x, 3),
    "(x < 1) & (x > y) | (x == y)": lambda x: x < 1,
    "sum(1 / x)": lambda x: np.sum(1 / x),
    "max(x)": lambda x: np.max(x),
    "min(x * 2, axis=0) + mean(x)": lambda x: np.min(x * 2) + np.mean(x),
    "sum(x * x)": lambda x: np.sum(x * x),
    "clip(x, 0.5, 2) / 3": lambda x: np.clip(x, 0.5, 2) / 3,
    "exp(x)": np.exp,
    "abs(floor(x / 3)) - round(x)": lambda x: np.abs(np.floor(x / 3)) - np.round(x),
}


@pytest.mark.parametrize("count", [7, 1000, 5003, 300_007, 2_000_003])
@pytest.mark.parametrize("text", TEXTS)
def test_expressions(text, count):
    """On one thread and on several, compiled after some calls; at any place."""
    y = np.ones(count)
    used = unishape._unishape._variables(text)
    places = [(2.0, 0), (0.0, 0), (0.0, -1), (np.nan, count // 2), (np.inf, -1), (1e200, count // 3), (-5.0, 1)]
    for value, place in places:
        x = np.full(count, 2.0)
        x[place] = value
        expected = reports(lambda: TEXTS[text](x))
        for _ in range(1 if count > 1_000_000 else 3):
            names = {"x": x, "y": y}
            result = reports(lambda: evaluate(text, {name: names[name] for name in used}))
            assert result == expected, (value, place)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_thread(threads):
    for place in (0, 400_000, 999_999):
        x = np.ones((1000, 1000), np.float32)
        x.flat[place] = 0
        for array in (x, x.T, x[:, ::-1]):
            assert reports(lambda: evaluate("1 / x", x=array, threads=threads)) == {"divide"}
            assert reports(lambda: evaluate("1 / (x + 1)", x=array, threads=threads)) == set()
            assert reports(lambda: evaluate("sum(log(x), axis=0)", x=array, threads=threads)) == {"divide"}


def test_arrays_that_are_stretched_or_written_to():
    column, row = np.array([[1.0], [0.0]]), np.arange(3.0)
    assert reports(lambda: unishape.divide(column, row)) == {"divide", "invalid"}
    assert reports(lambda: unishape.add(column, row)) == set()
    out = np.empty((2, 3))
    assert reports(lambda: unishape.divide(column, row, out=out)) == {"divide", "invalid"}
    assert reports(lambda: unishape.divide(out, 0.0, out=out)) >= {"divide"}
    assert reports(lambda: evaluate(["1 / row", "row + 1"], row=row)) == {"divide"}
    big = np.zeros(1_000_000)
    assert reports(lambda: evaluate(["1 / x", "x + 1"], x=big)) == {"divide"}


def test_lazy_values_are_reported_when_they_are_computed():
    x = np.zeros(3)
    value = []
    assert reports(lambda: value.append(1 / lazy(x))) == set()
    assert reports(lambda: value[0].compute()) == {"divide"}
    assert reports(lambda: unishape.sum_to(value[0], ())) == {"divide"}
    assert reports(lambda: np.asarray(value[0])) == {"divide"}
    assert reports(lambda: np.asarray(value[0])) == set(), "it was kept"
    assert reports(lambda: unishape.sum_to(np.full((2, 2), 1e308), (2,))) == {"over"}


def test_messages():
    x = np.zeros(3)
    with pytest.warns(RuntimeWarning, match="^divide by zero encountered in log$") as caught:
        unishape.log(x)
    assert caught[0].filename == __file__
    with pytest.warns(RuntimeWarning, match='^divide by zero encountered in "1 / x \\+ 1"$'):
        evaluate("1 / x + 1")
    with pytest.warns(RuntimeWarning, match="^invalid value encountered in arccos$"):
        unishape.acos(x + 2)
    with pytest.warns(RuntimeWarning, match="^divide by zero encountered in power$"):
        unishape.pow(x, -x - 1)
    with pytest.warns(RuntimeWarning, match="^divide by zero encountered in a lazy value$"):
        (1 / lazy(x)).compute()


def test_every_mode_of_errstate():
    x = np.array([0.0, 1.0])
    for call in (lambda: unishape.divide(1.0, x), lambda: evaluate("1 / x", x=x), lambda: (1 / lazy(x)).compute()):
        with np.errstate(divide="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert call().tolist() == [np.inf, 1]
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in"):
            call()
        with np.errstate(divide="warn"), warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning, match="divide by zero"):
                call()
        calls = []
        with np.errstate(divide="call", call=lambda *arguments: calls.append(arguments)):
            call()
        assert calls == [("divide by zero", 1)]
        log = io.StringIO()
        with np.errstate(divide="log", call=log):
            call()
        assert log.getvalue().startswith("Warning: divide by zero encountered in ")


def test_printed(capfd):
    with np.errstate(divide="print"):
        unishape.divide(np.ones(2), 0.0)
    assert "Warning: divide by zero encountered in divide" in capfd.readouterr().err


def test_what_is_raised_is_computed_nevertheless():
    x, out = np.array([0.0, 1.0]), np.zeros(2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        evaluate("1 / x", out=out)
    assert out.tolist() == [np.inf, 1]


def test_nothing_is_left_for_numpy():
    """NumPy clears flags before it computes, but other libraries may not."""
    x = np.zeros(3)
    with np.errstate(all="ignore"):
        evaluate("1 / x")
    assert reports(lambda: np.add(x, 1)) == set()


def test_not_where_a_mask_excludes():
    x = np.array([0.0, 2.0])
    assert reports(lambda: unishape.divide(1.0, x, where=x > 0)) == set()


def test_numexpr_reports_nothing():
    from unishape import numexpr

    x = np.zeros(3)
    assert reports(lambda: numexpr.evaluate("1 / x", {"x": x})) == set()


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.array([0.0, 1.0], ml_dtypes.bfloat16)
    assert reports(lambda: unishape.divide(x, x)) == {"invalid"} == reports(lambda: np.divide(x, x))
