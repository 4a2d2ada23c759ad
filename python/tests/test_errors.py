"""Exceptions carry what their messages say, for programs and for interactive shells."""

import copy
import pickle
import traceback

import numpy as np
import pytest

import unishape

a, b = np.ones((2, 3)), np.ones(4)


@pytest.mark.parametrize(
    ("call", "axis", "shapes", "names"),
    [
        (lambda: unishape.evaluate("a * 2 + b", {"a": a, "b": b}), 1, ((2, 3), (4,)), ("a", "b")),
        (lambda: unishape.add(a, b), 1, ((2, 3), (4,)), ("x1", "x2")),
        (lambda: unishape.lazy(a) + b, 1, ((2, 3), (4,)), ("input 0", "input 1")),
        (lambda: unishape.broadcast_shapes((None, 3), (2, 4)), 1, ((None, 3), (2, 4)), ("input 0", "input 1")),
        (lambda: unishape.broadcast_to(b, (2, 3)), 1, ((4,), (2, 3)), ("x", "shape")),
        (lambda: unishape.broadcast_to(a, (3,)), None, ((2, 3), (3,)), ("x", "shape")),
        (lambda: unishape.sum_to(b, (3,)), 0, ((3,), (4,)), ("x", "shape")),
    ],
)
def test_attributes_of_broadcast_error(call, axis, shapes, names):
    with pytest.raises(unishape.BroadcastError) as raised:
        call()
    error = raised.value
    assert isinstance(error, ValueError)
    assert (error.axis, error.inputs, error.shapes, error.names) == (axis, (0, 1), shapes, names)
    assert "\n" not in str(error)
    assert len(error.__notes__) == 1
    for same in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(same) is unishape.BroadcastError
        assert str(same) == str(error) and vars(same) == vars(error)


def test_inputs_at_fault_among_several():
    with pytest.raises(unishape.BroadcastError) as raised:
        unishape.broadcast_arrays(np.ones(3), np.ones((5, 1)), np.ones(()), np.ones((5, 2)))
    assert (raised.value.inputs, raised.value.axis, len(raised.value.shapes)) == ((0, 3), 1, 4)


def test_ranks_at_fault():
    with pytest.raises(unishape.BroadcastError, match="strict rank") as raised:
        unishape.broadcast_shapes((1, 3), (3,), strict_rank=True)
    assert raised.value.axis is None and raised.value.inputs == (0, 1)


def test_attributes_of_an_error_that_others_raise():
    error = unishape.BroadcastError("mine")
    assert (error.axis, error.inputs, error.shapes, error.names) == (None, (), (), ())


def test_other_value_errors_are_not_about_broadcasting():
    with pytest.raises(ValueError) as raised:
        unishape.evaluate("max(x)", x=np.ones(0))
    assert not isinstance(raised.value, unishape.BroadcastError)


def test_traceback_has_the_picture():
    with pytest.raises(unishape.BroadcastError) as raised:
        unishape.evaluate("a * 2 + b", {"a": a, "b": b})
    assert "".join(traceback.format_exception_only(raised.value)) == (
        "unishape.BroadcastError: E1: incompatible shapes in dimension 1: a has 3, b has 4\n\n"
        "  a  2 x 3\n"
        "  b      4\n"
        "         ^\n"
        "Shapes are aligned on the right; in each column every size must be 1 or the same.\n\n"
        "a (2x3) with b (4):\n"
        "  a * 2 + b\n"
        "        ^\n"
    )


@pytest.mark.parametrize(
    ("text", "line", "number", "start", "end"),
    [
        ("x +", "x +", 1, 4, 5),
        ("x y", "x y", 1, 3, 4),
        ("é * (x", "é * (x", 1, 5, 6),
        ("x +\n  y other", "  y other", 2, 5, 10),
        ("", "", 1, 1, 2),
        ("np.sin(x)", "np.sin(x)", 1, 1, None),
        ("x < y < z", "x < y < z", 1, 7, 8),
    ],
)
def test_place_of_syntax_error(text, line, number, start, end):
    with pytest.raises(SyntaxError) as raised:
        unishape.evaluate(text, x=1, y=2, z=3, other=4)
    error = raised.value
    assert (error.filename, error.lineno, error.text, error.offset) == ("<expression>", number, line, start)
    assert error.end_lineno == number and (end is None or error.end_offset == end)
    assert "\n" not in error.msg
    *_, shown, marks, message = "".join(traceback.format_exception_only(error)).splitlines() if line else ("", "", "")
    assert not line or (shown.strip() == line.strip() and set(marks.strip()) == {"^"} and error.msg in message)
