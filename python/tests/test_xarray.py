"""Expressions over xarray objects have the labels, attributes and values of xarray's own arithmetic."""

import importlib.util
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
def test_labels_match_arithmetic(join, keep):
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


def test_errors_of_unequal_indexes_have_names():
    a, b = field(), profile()
    with xr.set_options(arithmetic_join="exact"), pytest.raises(ValueError, match="(?s)'x'.*  a  time: 2, x: 3\n"):
        ux.evaluate("a + b * k", k=2)


def test_conflicting_coordinates_are_dropped():
    a, b = field(), profile()
    assert "run" not in ux.evaluate("a * b + a").coords
    # In xarray, the last array restores it.
    assert "run" in (a * b + a).coords


def test_dimensions_are_in_order_of_appearance():
    a = xr.DataArray(np.ones((2, 3)), dims=("p", "q"))
    b = xr.DataArray(np.ones((4, 3, 2)), dims=("r", "q", "p"))
    c = xr.DataArray(np.ones(5), dims="s")
    for text, expected in [("a + b", a + b), ("b - a", b - a), ("c + a * b", c + a * b), ("a + c * b", a + c * b)]:
        result = ux.evaluate(text)
        assert result.dims == expected.dims
        xr.testing.assert_identical(result, expected)


def test_inputs_are_not_copied(monkeypatch):
    inputs = []

    def record(expression, names, *arrays):
        inputs.extend(arrays)
        return unishape.evaluate(expression, dict(zip(names, arrays)))

    monkeypatch.setattr(ux, "_evaluate_arrays", record)
    a = xr.DataArray(np.ones((2, 3)), dims=("p", "q"))
    b = xr.DataArray(np.ones((4, 3, 2)), dims=("r", "q", "p"))
    ux.evaluate("a * b")
    assert [array.size for array in inputs] == [6, 24]
    assert np.shares_memory(inputs[0], a.data) and np.shares_memory(inputs[1], b.data)


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


def test_dataset_provides_names():
    data = xr.Dataset({"p": field(), "q": profile().drop_vars(["label", "run"])})
    xr.testing.assert_identical(ux.evaluate("p * q + x", data), data.p * data.q + data.x)
    xr.testing.assert_identical(ux.evaluate("p * q", data, q=2), data.p * 2)


@pytest.mark.parametrize("join", ["inner", "outer"])
def test_datasets_are_evaluated_per_variable(join):
    one = xr.Dataset({"p": field(units="m"), "q": field(units="s") * 2}, attrs={"title": "one", "kept": 1})
    two = xr.Dataset({"p": profile(units="m"), "r": profile()}, attrs={"title": "two", "kept": 1})
    a = field(source=3)
    with xr.set_options(arithmetic_join=join):
        xr.testing.assert_identical(ux.evaluate("one * 2 + a"), one * 2 + a)
        xr.testing.assert_identical(ux.evaluate("one + two"), one + two)


def test_dask_arrays_stay_lazy():
    da = pytest.importorskip("dask.array")
    a, b = field(), profile()
    expected = a * b + 1
    chunked = a.chunk(x=2), b.chunk(level=3)
    for one, two in [chunked, (chunked[0], b), (a, chunked[1])]:
        result = ux.evaluate("one * two + 1")
        assert isinstance(result.data, da.Array)
        assert sum(name.startswith("unishape") for name in result.data.dask.layers) == 1
        xr.testing.assert_identical(result.compute(), expected.rename(None))


@pytest.mark.parametrize(
    ("expression", "names", "error", "text"),
    [
        ("a + zz", {}, NameError, "no value for zz"),
        ("a + 1", {"zz": 1}, TypeError, "the expression has no variable zz"),
        ("a +", {}, SyntaxError, "unexpected end of expression"),
        ("a + b", {"b": np.ones(3)}, TypeError, r"b: this array has no dimension names.*xr.DataArray\(b"),
        ("a + b", {"b": [1, 2, 3]}, TypeError, "b: this array has no dimension names"),
        ("a + b", {"b": xr.DataArray(["text"])}, TypeError, "b: expressions do not support dtype <U4"),
        ("a + b", {"b": xr.DataArray(np.ones(7), dims="time")}, ValueError, "(?s)'time'.*  a  .*  b  time: 7"),
        ("a + 1", {"out": 1}, TypeError, "out= is not supported here"),
    ],
)
def test_errors(expression, names, error, text):
    a = xr.DataArray(np.ones((2, 3)), dims=("time", "x"))
    with pytest.raises(error, match=text):
        ux.evaluate(expression, {"a": a}, **names)


def test_import_error_without_xarray():
    code = "import sys; sys.modules['xarray'] = None\nimport unishape.xarray"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: unishape.xarray needs xarray: pip install unishape[xarray]" in result.stderr


@pytest.mark.parametrize("expression", ["sum(x, axis=1)", "x[::-1]", "x.T", "softmax(x)", "x[:, None] + x"])
def test_axes_and_reductions_are_refused(expression):
    """Their result would have the labels of other dimensions or elements."""
    x = xr.DataArray(np.ones((3, 3)), dims=("time", "x"))
    objects = [x, x.to_dataset(name="x"), x.variable]
    if importlib.util.find_spec("dask"):
        objects.append(x.chunk(2))
    for value in objects:
        with pytest.raises(NotImplementedError, match='unishape.xarray supports element-wise .* x.sum\\(dim="time"\\)'):
            ux.evaluate(expression, x=value)
