"""datetime64 and timedelta64: results, units and NaT are NumPy's."""

import itertools
import operator

import numpy as np
import pytest

import unishape

DATES = np.array(["2020-02-28", "NaT", "2021-01-01", "1969-07-20"], "M8[D]")
SECONDS = np.array(["2020-02-28T12", "2020-01-01", "NaT", "1950-01-01"], "M8[s]")
SPANS = np.array([5, -3, 0, "NaT", 7], "m8[h]")
OTHER = np.array([2, 0, -7, 3, "NaT"], "m8[m]")
NUMBERS = [np.array([2, 3, -1, 0, 4]), np.array([1.5, -0.5, 2.0, np.nan, 0.0])]

OPERANDS = {"dates": DATES, "seconds": SECONDS, "spans": SPANS, "other": OTHER, "ints": NUMBERS[0], "floats": NUMBERS[1]}
BINARY = "add subtract multiply divide floor_divide remainder equal not_equal less less_equal greater greater_equal"
BINARY = [*BINARY.split(), *"maximum minimum fmax fmin".split()]
UNARY = "negative positive absolute sign isnan isfinite isinf".split()


def outcome(function, *arguments):
    with np.errstate(all="ignore"):
        try:
            return function(*arguments)
        except TypeError as error:
            return error


def check(result, expected, label):
    if isinstance(expected, TypeError):
        assert isinstance(result, TypeError), label
        return False
    assert isinstance(result, np.ndarray) and result.dtype == expected.dtype, (label, result)
    np.testing.assert_array_equal(result, expected, str(label))
    return True


def test_functions():
    computed = 0
    for name, (one, a), (two, b) in itertools.product(BINARY, OPERANDS.items(), OPERANDS.items()):
        if {one, two} <= {"ints", "floats"}:
            continue
        a, b = a[: min(len(a), len(b))], b[: min(len(a), len(b))]
        label = (name, one, two)
        computed += check(outcome(getattr(unishape, name), a, b), outcome(getattr(np, name), a, b), label)
    assert computed > 100
    for name, a in itertools.product(UNARY, (DATES, SECONDS, SPANS, OTHER)):
        check(outcome(getattr(unishape, name), a), outcome(getattr(np, name), a), (name, a.dtype))
    for name in ("sqrt", "exp", "bitwise_and"):
        with pytest.raises(TypeError, match="does not support"):
            getattr(unishape, name)(*[SPANS] * (2 if name == "bitwise_and" else 1))


def test_scalars_and_broadcasting():
    day = np.timedelta64(1, "D")
    check(unishape.add(DATES, day), DATES + day, "day")
    check(unishape.subtract(SECONDS[:, None], DATES), SECONDS[:, None] - DATES, "table")
    check(unishape.multiply(SPANS, 3), SPANS * 3, "int")
    for number in (3, -3, 2, -7):
        check(unishape.floor_divide(SPANS, number), SPANS // number, "rounded toward 0")
    check(unishape.multiply(2.5, SPANS), 2.5 * SPANS, "float")
    check(unishape.less(DATES, np.datetime64("2020-06-01")), DATES < np.datetime64("2020-06-01"), "less")
    with pytest.raises(ValueError, match="E1"):
        unishape.add(DATES, SPANS)


def test_units():
    months = np.array(["2020-01", "2021-05"], "M8[M]")
    days = np.array(["2020-01-31", "2021-05-31"], "M8[D]")
    check(unishape.subtract(days, months), days - months, "months")
    check(unishape.equal(months, days), months == days, "equal")
    nanoseconds = np.array([1, 2], "m8[ns]")
    check(unishape.add(days, nanoseconds), days + nanoseconds, "ns")
    swapped = days.astype(">M8[D]")
    check(unishape.add(swapped, np.timedelta64(2, "D")), swapped + np.timedelta64(2, "D"), "byte order")


def test_where_and_clip():
    condition = np.array([True, False, True, False])
    check(unishape.where(condition, DATES, SECONDS), np.where(condition, DATES, SECONDS), "where")
    low, high = np.datetime64("2000-01-01"), np.datetime64("2020-12-31")
    check(unishape.clip(DATES, low, high), np.clip(DATES, low, high), "clip")


def test_out():
    out = np.zeros(4, "M8[D]")
    assert unishape.add(DATES, np.timedelta64(1, "D"), out=out) is out
    check(out, DATES + np.timedelta64(1, "D"), "out")
    hours = np.zeros(4, "M8[h]")
    assert unishape.add(DATES, np.timedelta64(1, "D"), out=hours) is hours
    check(hours, (DATES + np.timedelta64(1, "D")).astype("M8[h]"), "out in hours")
    with pytest.raises(ValueError, match="shape"):
        unishape.add(DATES, np.timedelta64(1, "D"), out=np.zeros(3, "M8[h]"))


def test_expressions():
    start, end, rate = DATES, SECONDS, np.array([1.0, 2.0, 3.0, 4.0])
    limit = np.timedelta64(12, "h")
    check(unishape.evaluate("end - start > limit"), end - start > limit, "caller")
    check(unishape.evaluate("end - start", {"start": start, "end": end}), end - start, "mapping")
    check(unishape.evaluate("(end - start) * rate"), (end - start) * rate, "rate")
    check(unishape.evaluate("(end - start) / hour + rate * 2", hour=np.timedelta64(1, "h")), (end - start) / np.timedelta64(1, "h") + rate * 2, "number")
    check(unishape.evaluate("where(rate > 2, start, end)"), np.where(rate > 2, start, end), "where")
    out = np.zeros(4, "m8[s]")
    assert unishape.evaluate("end - start", out=out) is out
    one, two = unishape.evaluate(["end - start", "start < end"])
    check(one, end - start, "list")
    check(two, start < end, "list")
    with pytest.raises(TypeError, match="no views and reductions"):
        unishape.evaluate("max(end - start)")
    with pytest.raises(TypeError):
        unishape.evaluate("start + end")
    with pytest.raises(TypeError):
        unishape.evaluate("start < end", unused=1, start=start, end=end)
    assert operator.eq(*(unishape.evaluate("int64(end - start)").tolist(), (end - start).astype("i8").tolist()))
