"""Expressions over xarray's arrays come out as xarray's own arithmetic has them: labels, attributes, values."""

import subprocess
import sys

import numpy as np
import pytest

import unishape

xr = pytest.importorskip("xarray")

from unishape import xarray as ux  # noqa: E402


def field(name="field", **attributes):
    coordinates = {"x": [1, 2, 3], "time": [0, 1], "label": ("x", list("abc")), "run": 5}
    values = np.arange(6.0).reshape(2, 3)
    return xr.DataArray(values, dims=("time", "x"), coords=coordinates, name=name, attrs=attributes)


def profile(name="profile", **attributes):
    coordinates = {"x": [2, 3, 4], "label": ("x", list("bcd")), "run": 6}
    values = np.arange(12.0).reshape(4, 3) + 1
    return xr.DataArray(values, dims=("level", "x"), coords=coordinates, name=name, attrs=attributes)


@pytest.mark.parametrize("join", ["inner", "outer", "left", "right"])
@pytest.mark.parametrize("keep", ["default", True, False])
def test_labels_are_those_of_arithmetic(join, keep):
    a, b = field(units="m", source=1), profile(units="m", source=2)
    a.x.attrs["axis"], b.x.attrs["axis"] = "X", "other"
    with xr.set_options(arithmetic_join=join, keep_attrs=keep):
        for text, expected in [
            ("a * b + 1", a * b + 1),
            ("b * a + 1", b * a + 1),
            ("1 - a", 1 - a),
            ("a * a", a * a),
        ]:
            xr.testing.assert_identical(ux.evaluate(text), expected)


def test_indexes_that_are_not_equal_are_told_with_names():
    a, b = field(), profile()
    with xr.set_options(arithmetic_join="exact"), pytest.raises(ValueError, match="(?s)'x'.*  a  time: 2, x: 3\n"):
        ux.evaluate("a + b * k", k=2)


def test_a_coordinate_that_differs_is_left_out_wherever_it_stands():
    a, b = field(), profile()
    assert "run" not in ux.evaluate("a * b + a").coords
    # Step by step it is left out, too, and then comes back with the last array.
    assert "run" in (a * b + a).coords


def test_dimensions_come_in_the_order_of_appearance():
    a = xr.DataArray(np.ones((2, 3)), dims=("p", "q"))
    b = xr.DataArray(np.ones((4, 3, 2)), dims=("r", "q", "p"))
    c = xr.DataArray(np.ones(5), dims="s")
    for text, expected in [("a + b", a + b), ("b - a", b - a), ("c + a * b", c + a * b), ("a + c * b", a + c * b)]:
        result = ux.evaluate(text)
        assert result.dims == expected.dims
        xr.testing.assert_identical(result, expected)


def test_nothing_is_copied_before_the_engine_sees_it(monkeypatch):
    seen = []

    def look(expression, names, *arrays):
        seen.extend(arrays)
        return unishape.evaluate(expression, dict(zip(names, arrays)))

    monkeypatch.setattr(ux, "_evaluated", look)
    a = xr.DataArray(np.ones((2, 3)), dims=("p", "q"))
    b = xr.DataArray(np.ones((4, 3, 2)), dims=("r", "q", "p"))
    ux.evaluate("a * b")
    assert [array.size for array in seen] == [6, 24]
    assert np.shares_memory(seen[0], a.data) and np.shares_memory(seen[1], b.data)


def test_numbers_and_arrays_of_rank_0():
    a = field()
    xr.testing.assert_identical(ux.evaluate("a * k", k=2), a * 2)
    half = a.astype("float32")
    assert ux.evaluate("half * k", k=2.5).dtype == np.float32
    assert ux.evaluate("half * k", k=np.float64(2.5)).dtype == np.float64
    assert ux.evaluate("half * k", k=np.array(2.5)).dtype == np.float64
    xr.testing.assert_identical(ux.evaluate("k + 1", k=2), xr.DataArray(3))


def test_variables():
    v = xr.Variable(("p", "q"), np.ones((2, 3)), {"units": "m"})
    w = xr.Variable("q", np.arange(3.0))
    xr.testing.assert_identical(ux.evaluate("v * w"), v * w)


def test_a_dataset_gives_names():
    data = xr.Dataset({"p": field(), "q": profile().drop_vars(["label", "run"])})
    xr.testing.assert_identical(ux.evaluate("p * q + x", data), data.p * data.q + data.x)
    xr.testing.assert_identical(ux.evaluate("p * q", data, q=2), data.p * 2)


@pytest.mark.parametrize("join", ["inner", "outer"])
def test_datasets_are_computed_with_variable_by_variable(join):
    one = xr.Dataset({"p": field(units="m"), "q": field(units="s") * 2}, attrs={"title": "one", "kept": 1})
    two = xr.Dataset({"p": profile(units="m"), "r": profile()}, attrs={"title": "two", "kept": 1})
    a = field(source=3)
    with xr.set_options(arithmetic_join=join):
        xr.testing.assert_identical(ux.evaluate("one * 2 + a"), one * 2 + a)
        xr.testing.assert_identical(ux.evaluate("one + two"), one + two)


def test_arrays_in_chunks_stay_so():
    da = pytest.importorskip("dask.array")
    a, b = field(), profile()
    expected = a * b + 1
    lazily = a.chunk(x=2), b.chunk(level=3)
    for one, two in [lazily, (lazily[0], b), (a, lazily[1])]:
        result = ux.evaluate("one * two + 1")
        assert isinstance(result.data, da.Array)
        assert sum(name.startswith("unishape") for name in result.data.dask.layers) == 1
        xr.testing.assert_identical(result.compute(), expected.rename(None))


@pytest.mark.parametrize(
    ("expression", "given", "error", "text"),
    [
        ("a + zz", {}, NameError, "no value for zz"),
        ("a + 1", {"zz": 1}, TypeError, "the expression has no variable zz"),
        ("a +", {}, SyntaxError, "the expression ends"),
        ("a + b", {"b": np.ones(3)}, TypeError, r"b: the dimensions of this array have no names.*xr.DataArray\(b"),
        ("a + b", {"b": [1, 2, 3]}, TypeError, "b: the dimensions of this array have no names"),
        ("a + b", {"b": xr.DataArray(["text"])}, TypeError, "b: arrays of <U4 cannot be computed with"),
        ("a + b", {"b": xr.DataArray(np.ones(7), dims="time")}, ValueError, "(?s)'time'.*  a  .*  b  time: 7"),
        ("a + 1", {"out": 1}, TypeError, "there is no out= here"),
    ],
)
def test_what_is_refused(expression, given, error, text):
    a = xr.DataArray(np.ones((2, 3)), dims=("time", "x"))
    with pytest.raises(error, match=text):
        ux.evaluate(expression, {"a": a}, **given)


def test_without_xarray_the_message_says_what_to_install():
    code = "import sys; sys.modules['xarray'] = None\nimport unishape.xarray"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: unishape.xarray needs xarray: pip install unishape[xarray]" in result.stderr
