"""Objects of pandas, Polars, PyTorch and JAX as inputs and results."""

import pickle

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pandas as pd
import polars as pl
import pytest

import unishape
from unishape import evaluate, lazy

INDEX = pd.Index(["a", "b", "c"], name="key")
S = pd.Series([1.0, 2.0, 3.0], index=INDEX, name="s")
T = pd.Series([10, 20, 30], index=INDEX, name="t")
OTHER = pd.Series([1.0, 2.0, 3.0], index=["c", "a", "b"])
FRAME = pd.DataFrame({"p": [1.0, 2.0, 3.0], "q": [4.0, 5.0, 6.0]}, index=INDEX)
ROW = pd.Series([1.0, 2.0], index=["p", "q"])


def same(result, expected):
    assert type(result) is type(expected)
    if isinstance(expected, pd.Series):
        pd.testing.assert_series_equal(result, expected)
    elif isinstance(expected, pd.DataFrame):
        pd.testing.assert_frame_equal(result, expected)
    else:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s + t", S + T),
        ("s * 2", S * 2),
        ("s > 1", S > 1),
        ("sqrt(s) + x", np.sqrt(S) + np.arange(3)),
        ("frame * 2", FRAME * 2),
        ("frame - row", FRAME - ROW),
        ("frame - s[:, None]", FRAME.sub(S, axis=0)),
        ("sum(frame, axis=0)", FRAME.sum()),
        ("mean(frame, axis=1)", FRAME.mean(axis=1)),
        ("frame - mean(frame, axis=0)", FRAME - FRAME.mean()),
        ("frame / sum(frame, axis=1, keepdims=True)", FRAME.div(FRAME.sum(axis=1), axis=0)),
        ("frame.T", FRAME.T),
        ("swapaxes(frame, 0, 1) * 2", FRAME.T * 2),
        ("s[::-1]", S[::-1]),
        ("frame[1:, 0]", FRAME.iloc[1:, 0].rename(None)),
        ("squeeze(expand_dims(s, 0), 0)", S),
        ("float32(s)", S.astype("float32")),
        ("where(s > 1, s, 0)", S.where(S > 1, 0.0)),
    ],
)
def test_pandas_labels_of_expressions(text, expected):
    values = {"s": S, "t": T, "x": np.arange(3), "frame": FRAME, "row": ROW}
    used = {name: value for name, value in values.items() if name in unishape._unishape._variables(text)}
    same(evaluate(text, used), expected)


def test_pandas_labels_of_functions_and_lists():
    same(unishape.add(S, T), S + T)
    same(unishape.multiply(FRAME, 2), FRAME * 2)
    same(unishape.clip(S, 2, 3), S.clip(2, 3))
    same(unishape.where(S > 1, S, 0.0), S.where(S > 1, 0.0))
    one, other = evaluate(["s + 1", "sum(frame, axis=0)"], s=S, frame=FRAME)
    same(one, S + 1)
    same(other, FRAME.sum())
    out = np.empty(3)
    assert unishape.add(S, T, out=out) is out and out.tolist() == [11, 22, 33]


def test_pandas_labels_of_lazy_values():
    same((lazy(S) * 2 + T).compute(), S * 2 + T)
    same((S + lazy(T)).compute(), S + T)
    same((FRAME - lazy(FRAME).mean(axis=0)).compute(), FRAME - FRAME.mean())
    same(pickle.loads(pickle.dumps(lazy(S) * 2)).compute(), S * 2)
    value = lazy(S) * 2
    assert np.asarray(value).tolist() == [2, 4, 6]
    same(value.compute(), S * 2)
    same((value + T).compute(), S * 2 + T)


@pytest.mark.parametrize(
    "call",
    [
        lambda: evaluate("one + other", one=S, other=OTHER),
        lambda: evaluate("frame + other", frame=FRAME.T, other=OTHER),
        lambda: evaluate("sum(one, where=other > 1)", one=S, other=OTHER),
        lambda: evaluate("one + other", one=S, other=OTHER, out=np.empty(3)),
        lambda: unishape.add(S, OTHER),
        lambda: (lazy(S) + OTHER).compute(),
        lambda: np.asarray(lazy(S) + OTHER),
        lambda: np.array(lazy(S) + OTHER),
        lambda: list(lazy(S) + OTHER),
        lambda: unishape.sum_to(lazy(S) + OTHER, ()),
        lambda: evaluate("one + other", one=S, other=OTHER[:2]),
        lambda: evaluate("one + one[::-1]", one=S),
    ],
)
def test_different_labels_are_refused(call):
    with pytest.raises(ValueError, match="have different labels along axis .: .*align them first"):
        call()


def test_errors_of_pandas():
    with pytest.raises(ValueError, match="one and other have different labels along axis 0: 'a', 'b', 'c' and 'c', 'a', 'b'"):
        evaluate("one + other", one=S, other=OTHER)
    with pytest.raises(ValueError, match="labels for one element of axis 0"):
        unishape.add(S[:1], np.ones(3))
    with pytest.raises(unishape.BroadcastError):
        unishape.add(S, np.ones(4))
    with pytest.raises(ValueError, match="missing values"):
        unishape.add(pd.Series([1, None], dtype="Int64"), 1)
    with pytest.raises(TypeError, match="not numbers"):
        unishape.add(pd.Series(["a", "b"]), 1)
    with pytest.raises(TypeError, match="m: the column 'a' has dtype"):
        evaluate("m * 2", m=pd.DataFrame({"a": ["x"], "b": [1]}))
    with pytest.raises(TypeError, match="out must be a NumPy array or a tensor on the CPU, not Series"):
        unishape.add(S, 1, out=S)


def test_dtypes_of_pandas():
    assert unishape.add(pd.Series([1, 2], dtype="Int64"), 1).tolist() == [2, 3]
    mixed = pd.DataFrame({"a": [True, False], "b": [1.5, 2.0]})
    assert evaluate("m * 1", m=mixed).to_numpy().tolist() == [[1, 1.5], [0, 2]]
    assert unishape.add(pd.Series([1, 2], dtype="float32"), 1.5).dtype == np.float32
    assert type(unishape.add(type("Own", (pd.Series,), {})([1.0]), 1)) is pd.Series


def test_lazy_values_are_columns_of_pandas():
    value = lazy(np.array([1, 2, 3], np.int16)) * np.int16(2)
    frame = pd.DataFrame({"a": [1, 2, 3]})
    frame["c"] = value
    for column in (frame["c"], pd.Series(value), pd.DataFrame({"a": value})["a"], frame.assign(d=value)["d"]):
        assert column.dtype == np.int16 and column.tolist() == [2, 4, 6]
    assert pd.DataFrame(lazy(np.ones((2, 3))) * 2).shape == (2, 3)


# Polars.


def test_polars_columns():
    column = pl.Series("p", [1, 2, 3])
    result = evaluate("p * 2 + 0.5", p=column)
    assert isinstance(result, pl.Series) and (result.name, result.dtype) == ("p", pl.Float64)
    assert result.to_list() == [2.5, 4.5, 6.5]
    assert (lazy(column) * 2).compute().to_list() == [2, 4, 6]
    assert unishape.add(column, 1).to_list() == [2, 3, 4]
    assert evaluate("not b", b=pl.Series([True, False])).dtype == pl.Boolean
    frame = pl.DataFrame({"a": [1, 2], "b": [3.0, 4.0]})
    assert evaluate("f * 2", f=frame).to_dict(as_series=False) == {"a": [2.0, 4.0], "b": [6.0, 8.0]}
    assert evaluate("mean(f, axis=0)", f=frame).to_list() == [1.5, 3.5]
    assert isinstance(unishape.add(column, np.ones((2, 3))), np.ndarray)


def test_errors_of_polars():
    with pytest.raises(ValueError, match="p: the column 'p' has nulls; fill them"):
        evaluate("p + 1", p=pl.Series("p", [1, None]))
    with pytest.raises(TypeError, match="the column 'p' has dtype String"):
        evaluate("p + 1", p=pl.Series("p", ["a"]))
    with pytest.raises(ValueError, match="different labels along axis 1"):
        evaluate("f + g", f=pl.DataFrame({"a": [1]}), g=pl.DataFrame({"b": [1]}))


@pytest.mark.parametrize("dtype", "int8 uint16 int32 float32 float64 bool".split())
def test_lazy_values_are_columns_of_polars(dtype):
    array = np.array([0, 1, 1], dtype)
    value = lazy(array)
    for column in (pl.Series(value), pl.DataFrame({"a": value})["a"]):
        assert column.dtype == pl.Series(array).dtype and column.to_list() == array.tolist()
    named = pl.Series("a", value)
    assert (named.name, named.dtype) == ("a", column.dtype) and named.to_list() == array.tolist()
    assert pl.Series("a", value, dtype=pl.Float32).dtype == pl.Float32
    with pytest.raises(TypeError, match="one dimension"):
        pl.Series(lazy(np.ones((2, 2))))
    with pytest.raises(TypeError):
        pl.DataFrame({"a": [1, 2, 3]}).with_columns(b=value)


# PyTorch: a module of the same form, since its wheel takes gigabytes.


@pytest.fixture
def torch(monkeypatch):
    import fake_cpu_torch

    monkeypatch.setitem(__import__("sys").modules, "torch", fake_cpu_torch)
    return fake_cpu_torch


def test_tensors_in_and_out(torch):
    x = torch.from_numpy(np.arange(3.0))
    result = evaluate("x * 2 + 1", x=x)
    assert isinstance(result, torch.Tensor) and result.numpy().tolist() == [1, 3, 5]
    assert isinstance(unishape.add(x, np.ones(3)), torch.Tensor)
    assert isinstance(unishape.add(np.ones(3), x), np.ndarray), "the first array decides"
    assert isinstance(unishape.add(1, x), torch.Tensor), "a number is not an array"
    assert isinstance((lazy(x) * 2).compute(), torch.Tensor)
    assert isinstance(unishape.sum_to(x, ()), torch.Tensor)
    assert isinstance(evaluate("sum(x)", x=x), torch.Tensor)


def test_tensors_as_output(torch):
    x, out = torch.from_numpy(np.arange(3.0)), torch.from_numpy(np.zeros(3))
    assert unishape.add(x, 1, out=out) is out and out.numpy().tolist() == [1, 2, 3]
    assert evaluate("x * 2", x=x, out=out) is out and out.numpy().tolist() == [0, 2, 4]
    assert (lazy(x) + 5).compute(out=out) is out and out.numpy().tolist() == [5, 6, 7]
    assert unishape.sum_to(torch.from_numpy(np.ones((2, 3))), (3,), out=out) is out
    assert out.numpy().tolist() == [2, 2, 2]


def test_bfloat16_tensors(torch):
    x = torch.from_numpy(np.array([1.0, 2.5], ml_dtypes.bfloat16).view(np.int16)).view(torch.bfloat16)
    result = evaluate("x * 2", x=x)
    assert isinstance(result, torch.Tensor) and result.dtype == torch.bfloat16
    assert result.view(torch.int16).numpy().view(ml_dtypes.bfloat16).tolist() == [2, 5]
    out = torch.from_numpy(np.zeros(2, np.int16)).view(torch.bfloat16)
    assert unishape.add(x, x, out=out) is out
    assert out.view(torch.int16).numpy().view(ml_dtypes.bfloat16).tolist() == [2, 5]


def test_tensors_with_gradients_are_refused(torch):
    x = torch.from_numpy(np.ones(3)).requires_grad_()
    for call in (lambda: evaluate("x + 1", x=x), lambda: unishape.add(x, 1), lambda: lazy(x)):
        with pytest.raises(TypeError, match=r"requires grad.*pass x.detach\(\)"):
            call()
    with pytest.raises(TypeError, match="requires grad"):
        unishape.add(np.ones(3), 1, out=x)
    assert isinstance(unishape.add(x.detach(), 1), torch.Tensor)


# JAX.


def test_jax_arrays_in():
    x = jnp.arange(3.0)
    assert evaluate("x * 2", x=x).tolist() == [0, 2, 4]
    assert unishape.add(x, 1).tolist() == [1, 2, 3]
    assert (lazy(x) + x).compute().tolist() == [0, 2, 4]
    half = unishape.add(x.astype(jnp.bfloat16), x.astype(jnp.bfloat16))
    assert half.dtype == ml_dtypes.bfloat16 and half.tolist() == [0, 2, 4]
    assert unishape.sum_to(jnp.ones((2, 3), bool), (3,)).tolist() == [2, 2, 2]
