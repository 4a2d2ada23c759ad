"""Expressions over xarray objects have the labels, attributes and values of xarray's own arithmetic."""

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


# Reductions and views.


def station(**options):
    """Values at times and places, with coordinates of all kinds."""
    rng = np.random.default_rng(0)
    coords = {
        "time": np.array(["2026-01-01", "2026-01-02", "2026-01-03"], "M8[ns]"),
        "lat": [10.0, 20.0, 30.0, 40.0],
        "zone": ("lat", list("aabb")),
        "area": (("lat", "lon"), np.ones((4, 5))),
        "run": 7,
    }
    array = xr.DataArray(rng.normal(size=(3, 4, 5)), dims=("time", "lat", "lon"), coords=coords, name="t")
    array.attrs["units"] = "K"
    return array.chunk(time=2, lat=3, lon=2) if options.get("chunked") else array


def assert_identical(result, expected):
    xr.testing.assert_allclose(result, expected, rtol=1e-12)
    xr.testing.assert_identical(result.copy(data=np.zeros(result.shape)), expected.copy(data=np.zeros(result.shape)))
    assert result.dtype == expected.dtype


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("name", "sum prod min max mean var std any all argmin argmax".split())
def test_reductions_by_name(name, chunked):
    pytest.importorskip("dask")
    t, whole = station(chunked=chunked), station()
    for dim in ["time", "lon", ("lat", "time"), None, ...]:
        if name.startswith("arg") and not isinstance(dim, str):
            continue
        for keepdims in (False, True) if not name.startswith("arg") else (False,):
            options = {"skipna": False} if name not in ("any", "all") else {}
            expected = getattr(whole, name)(dim, **options, **({"keepdims": True} if keepdims else {}))
            text = "..." if dim is ... else repr(dim)
            for result in [
                ux.evaluate(f"{name}(t, dim={text}, keepdims={keepdims})"),
                getattr(ux.lazy(t), name)(dim=dim, keepdims=keepdims).compute(),
            ]:
                assert (result.chunks is not None) == chunked
                assert_identical(result.compute(), expected)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("text", "function"),
    [
        ('t - mean(t, dim="time")', lambda t: t - t.mean("time")),
        ('(t - t.mean("time")) / t.std("time", ddof=1)', lambda t: (t - t.mean("time")) / t.std("time", ddof=1)),
        ('mean(t, dim="time") - t', lambda t: t.mean("time") - t),
        ('sum(t * w, dim=("lat", "lon")) / sum(w)', lambda t: (t * t.lat).sum(("lat", "lon")) / t.lat.sum()),
        ('max(abs(t), dim="lon")', lambda t: abs(t).max("lon")),
        ('max(t, "lon")', lambda t: t.max("lon")),
        ("sum(t)", lambda t: t.sum()),
        ("argmax(t)", lambda t: xr.DataArray(t.values.argmax(), coords={"run": 7}, attrs=t.attrs)),
        ("t[1]", lambda t: t[1]),
        ("t[1, ..., 0]", lambda t: t[1, ..., 0]),
        ("t[0, 1, 2]", lambda t: t[0, 1, 2]),
        ("sum(t, axis=-1)", lambda t: t.sum("lon")),
        ("t[1:, ::-1, 0] * 2", lambda t: t[1:, ::-1, 0] * 2),
        ("t[0]", lambda t: t[0]),
        ("t[..., 1:]", lambda t: t[..., 1:]),
        ("t.T", lambda t: t.T),
        ("transpose(t, (1, 2, 0)).sum(1)", lambda t: t.sum("lon").transpose("lat", "time")),
        ("swapaxes(t, 0, -1)", lambda t: t.transpose("lon", "lat", "time")),
        ("squeeze(t[:1])", lambda t: t[:1].squeeze()),
        ('float32(t).sum(dim="lat")', lambda t: t.astype("f4").sum("lat")),
    ],
)
def test_expressions_match_methods(text, function, chunked):
    pytest.importorskip("dask")
    t = station(chunked=chunked)
    names = {"t": t, "w": t.lat} if "w" in text else {"t": t}
    result, expected = ux.evaluate(text, names), function(station())
    assert (result.chunks is not None) == chunked
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-5 if "32" in text else 1e-12)
    result = result.compute()
    xr.testing.assert_identical(result.copy(data=expected.values).rename("r"), expected.rename("r"))


def test_reductions_without_a_method_of_xarray():
    t = station()
    wide = t.transpose("lat", "time", "lon")
    for text, expected in [
        ('softmax(t, dim="lat")', np.exp(t) / np.exp(t).sum("lat")),
        ('log_softmax(t, dim=("time", "lat"))', t - np.log(np.exp(t).sum(("time", "lat")))),
        ('logsumexp(t, dim="time")', np.log(np.exp(t).sum("time"))),
        ('norm(t, dim="lon")', np.sqrt((t**2).sum("lon"))),
        ('norm(t, 1, dim="lon")', abs(t).sum("lon")),
        ('count_nonzero(t > 0, dim="lon")', (t > 0).sum("lon")),
        ('sum(t, dim="time", where=w > 15)', t.where(t.lat > 15, 0).sum("time")),
        ('mean(t, where=t > 0, dim="lat")', t.where(t > 0).mean("lat")),
        ('sum(u * t, dim="time")', (wide * t).sum("time")),
        ('max(t, dim="lon", keepdims=True) - max(t, dim="lon", keepdims=True)', t.max("lon", keepdims=True) * 0),
        ('layer_norm(t, dim=("lat", "lon"), eps=0)', (t - t.mean(("lat", "lon"))) / t.std(("lat", "lon"))),
    ]:
        names = {"t": t, **({"w": t.lat} if "w" in text else {}), **({"u": wide} if "u *" in text else {})}
        result = ux.evaluate(text, names)
        assert result.dims == expected.dims, text
        xr.testing.assert_allclose(result, expected, rtol=1e-12)
        assert set(result.coords) == set(expected.coords), text


def test_masks_of_other_dimensions():
    t, mask = station(), xr.DataArray([True, False, True, True], dims="lat")
    expected = t.isel(lat=[0, 2, 3]).mean("lat", skipna=False)
    result = ux.evaluate('mean(t, dim="lat", where=mask)')
    xr.testing.assert_allclose(result, expected, rtol=1e-12)
    assert result.name == "t" and result.attrs == {"units": "K"}
    xr.testing.assert_allclose(ux.lazy(t).mean("lat", where=mask).compute(), expected, rtol=1e-12)
    region = xr.DataArray([[True] * 4, [False, True] * 2], dims=("region", "lat"))
    assert ux.evaluate('sum(t, dim="lat", where=region)').dims == ("time", "lon", "region")


def test_nan_is_not_skipped():
    x = xr.DataArray([1.0, np.nan, 3.0], dims="time")
    assert np.isnan(ux.evaluate('sum(x, dim="time")')) and np.isnan(ux.lazy(x).max().compute())
    assert ux.evaluate('mean(x, dim="time", where=isnan(x) == False)') == 2


@pytest.mark.parametrize("join", ["inner", "outer", "left"])
def test_reductions_come_before_alignment(join):
    a, b = field(), profile()
    with xr.set_options(arithmetic_join=join):
        xr.testing.assert_identical(ux.evaluate('a + sum(b, dim="level")'), a + b.sum("level"))
        xr.testing.assert_identical(ux.evaluate('a + sum(b, dim="x")'), a + b.sum("x"))
        xr.testing.assert_identical((ux.lazy(a) * 2 + b).compute(), a * 2 + b)


def test_datasets_and_variables():
    t = station()
    data = xr.Dataset({"t": t, "h": t.lat * 2, "n": ("time", [1, 2, 3])}, attrs={"title": "stations"})
    result = ux.evaluate('mean(data, dim="lat") + 1')
    expected = data.mean("lat", skipna=False) + 1
    xr.testing.assert_allclose(result, expected, rtol=1e-12)
    assert result.attrs == expected.attrs and result.t.attrs == expected.t.attrs
    masked = ux.evaluate('sum(data, dim="time", where=data > 1)')
    xr.testing.assert_allclose(masked, data.where(data > 1, 0).sum("time"), rtol=1e-12)
    assert masked.attrs == data.sum("time").attrs and masked.t.attrs == {"units": "K"}
    assert ux.evaluate('std(t, dim="time")', data).dims == ("lat", "lon")
    v = t.variable
    xr.testing.assert_identical(ux.evaluate('max(v, dim="lat", keepdims=True)'), v.max("lat", keepdims=True))
    assert ux.evaluate('v - max(v, dim="lat")').dims == ("time", "lat", "lon")
    with pytest.raises(TypeError, match='differ in their axes; write dim="…", not axis='):
        ux.evaluate("sum(data, axis=0)")
    with pytest.raises(TypeError, match="use its methods, such as isel"):
        ux.evaluate("data[1:]")


@pytest.mark.parametrize("keep", ["default", True, False])
def test_attributes_of_masked_reductions_of_datasets(keep):
    t = station()
    data = xr.Dataset({"t": t, "h": t.lat * 2, "n": ("time", [1, 2, 3])}, attrs={"title": "stations"})
    with xr.set_options(keep_attrs=keep):
        expected = data.sum("time")
        for mask in [ux.lazy(data) > -100, t.time == t.time, True]:
            result = ux.lazy(data).sum("time", where=mask).compute()
            assert result.attrs == expected.attrs
            assert {key: own.attrs for key, own in result.variables.items()} == {
                key: own.attrs for key, own in expected.variables.items()
            }


def test_reductions_of_dask_arrays_stay_lazy():
    da = pytest.importorskip("dask.array")

    def never(block):
        raise AssertionError("computed too early")

    data = da.ones((4, 6), chunks=(2, 3)).map_blocks(never, meta=np.empty((0, 0)))
    x = xr.DataArray(data, dims=("time", "x"), coords={"x": range(6)})
    result = ux.evaluate('x - mean(x, dim="time", keepdims=True) * 2')
    assert isinstance(result.data, da.Array) and result.data.chunks == data.chunks
    assert result.name == x.name and ux.evaluate('sum(a * x, dim="x")', {"a": x.rename("a"), "x": x}).name is None
    assert isinstance((ux.lazy(x) * 2).sum("time").compute().data, da.Array)


def test_lazy_objects():
    t = station()
    value = ux.lazy(t)
    anomaly = (value - value.mean("time")) / value.std("time")
    assert anomaly.dims == t.dims and anomaly.sizes == dict(t.sizes)
    assert "Lazy (time: 3, lat: 4, lon: 5)" in repr(anomaly)
    expected = (t - t.mean("time")) / t.std("time")
    assert_identical(anomaly.compute(), expected)
    for result, expected in [
        (np.exp(value) + 1, np.exp(t) + 1),
        (np.maximum(0.5, value), np.maximum(0.5, t)),
        (2 ** -abs(value), 2 ** -abs(t)),
        ((value > 0) & ~(value > 1), (t > 0) & ~(t > 1)),
        (value * t.max("lon") - t, t * t.max("lon") - t),
        (value.where(value > 0, 0), t.where(t > 0, 0)),
        (value.transpose("lon", "time", "lat")[1:, 0], t.transpose("lon", "time", "lat")[1:, 0]),
        (value.T, t.T),
        (value.astype("f4"), t.astype("f4")),
        (value.sum(axis=1), t.sum(axis=1)),
        (value.sum(axis=np.int64(1)), t.sum(axis=1)),
        (value.sum(axis=np.array([0, -1])), t.sum(axis=(0, 2))),
        (value.sum(("lat", "lon"), dtype="f4", initial=1), t.astype("f4").sum(("lat", "lon")) + 1),
        (value.norm(dim="time"), np.sqrt((t**2).sum("time"))),
        (value.logsumexp("time"), np.log(np.exp(t).sum("time"))),
        (value.count_nonzero("time"), (t != 0).sum("time")),
    ]:
        assert isinstance(result, ux.Lazy)
        computed = result.compute()
        assert computed.dims == expected.dims
        np.testing.assert_allclose(computed.values, expected.values, rtol=1e-5 if computed.dtype == "f4" else 1e-12)
        assert set(computed.coords) == set(expected.coords)
    assert np.asarray(value + 1).shape == t.shape and ux.lazy(value) is value
    for call, error, match in [
        (lambda: value.sum("depth"), ValueError, "sum: there is no dimension 'depth'; dimensions are: time, lat, lon"),
        (lambda: value.sum(("lat", "lat")), ValueError, "dimension 'lat' is given twice"),
        (lambda: value.sum("lat", axis=1), TypeError, "dim or axis, not both"),
        (lambda: value.sum("lat", skipna=True), TypeError, "sum has no argument skipna"),
        (lambda: value.sum(skipna=True), TypeError, "it takes dim, axis, keepdims, dtype, initial and where$"),
        (lambda: value.argmin(skipna=True), TypeError, "it takes dim, axis and keepdims$"),
        (lambda: value.sum(axis=1.5), TypeError, "sum: an axis must be an integer, not float"),
        (lambda: value.sum(axis=(0, "lat")), TypeError, 'sum: an axis must be an integer, not str; write dim="lat"'),
        (lambda: value.sum(axis=...), TypeError, "sum: an axis must be an integer, not ellipsis"),
        (lambda: value.norm(axis=True), TypeError, "norm: an axis must be an integer, not bool"),
        (lambda: value.sum(1), TypeError, "sum: dim must be a name or several, not int; write axis=1"),
        (lambda: value.sum((0, 1)), TypeError, r"sum: dim must be a name or several, not int; write axis=\(0, 1\)"),
        (lambda: value.sum(1.5), TypeError, "sum: dim must be a name or several, not float"),
        (lambda: value.sum(dtype="S4"), TypeError, "lazy values do not support dtype .S4"),
        (lambda: value.norm([1]), ValueError, "ord must be 1, 2 or inf"),
        (lambda: value.sum(where=np.ones(5)), TypeError, "where: this array has no dimension names"),
        (lambda: value.argmin(("lat", "lon")), TypeError, "one dimension, or all"),
        (lambda: bool(value > 0), TypeError, "no truth value"),
        (lambda: value.norm(dim="z"), ValueError, "norm: there is no dimension 'z'"),
        (lambda: value + np.ones(3), TypeError, "no dimension names"),
        (lambda: t * value, TypeError, r"write unishape.xarray.lazy\(x\)"),
        (lambda: ux.lazy(np.ones(3)), TypeError, "not numpy.ndarray; use unishape.lazy"),
        (lambda: unishape.lazy(t), TypeError, "unishape.xarray.lazy"),
    ]:
        with pytest.raises(error, match=match):
            call()


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ('sum(t, dim="depth")', ValueError, "(?s)no dimension 'depth'; dimensions are: time, lat, lon.*  t  time: 3"),
        ("sum(t, axis=5)", np.exceptions.AxisError, "axis 5"),
        ("t[:, None]", TypeError, "None adds a dimension without a name"),
        ("expand_dims(t, 0)", TypeError, "expand_dims adds dimensions without names"),
        ("t[0, 0, 0, 0]", IndexError, "4 indices .* time, lat, lon"),
        ("sum(t, dim=time)", TypeError, "dim of sum must be a name in quotes"),
        ('argmin(t, dim=("lat", "lon"))', TypeError, "dim of argmin must be a name in quotes, None or ..."),
        ('sum(t, dim="lat") + zz', NameError, "no value for zz"),
        ('max(t, dim="lat", where=t > 0)', ValueError, "initial="),
    ],
)
def test_errors_of_reductions(text, error, match):
    with pytest.raises(error, match=match):
        ux.evaluate(text, {"t": station()})


def test_masks_with_a_kept_dimension():
    t = xr.DataArray(np.arange(12.0).reshape(3, 4) - 5, dims=("time", "lat"))
    found = ux.evaluate('sum(t, dim="lat", where=mean(t, dim="time", keepdims=True) > 0)')
    mask = np.broadcast_to(t.values.mean(0) > 0, t.shape)
    assert found.dims == ("time",) and (found.values == t.values.sum(1, where=mask)).all()
    found = ux.evaluate('sum(mean(t, dim="time", keepdims=True), dim="lat", where=t > 0)')
    means = np.broadcast_to(t.values.mean(0), t.shape)
    assert found.dims == ("time",) and (found.values == means.sum(1, where=t.values > 0)).all()


@pytest.mark.parametrize("key", [np.array([1, 0]), np.array([True, False])])
def test_lazy_objects_indexed_with_arrays(key):
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("a", "b"), coords={"a": [10, 20], "b": [1, 2, 3]})
    xr.testing.assert_identical((ux.lazy(x) * 2)[key].compute(), (x * 2)[key])
