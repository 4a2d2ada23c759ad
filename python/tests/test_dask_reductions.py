"""Views and reductions over Dask arrays: NumPy's values for any chunks, merged from partial results of the blocks."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from test_reductions import (
    DTYPES,
    EXACT,
    REDUCTIONS,
    assert_close,
    call_numpy,
    make,
    random_axis,
    random_expression,
    text_of,
)

import unishape

da = pytest.importorskip("dask.array")
import dask  # noqa: E402

from test_dask import SYNC, assert_equal, client, layers, random_chunks, select  # noqa: E402, F401
from unishape import _partial  # noqa: E402
from unishape import dask as ud  # noqa: E402

SHAPES = [(), (1,), (7,), (0,), (60,), (4, 5), (13, 8), (0, 3), (3, 0), (1, 6), (2, 3, 4), (5, 1, 9), (2, 0, 3)]


def chunked(rng, array):
    """A Dask array in random chunks: of one element, of none, or large."""
    chance = random.Random(int(rng.integers(1 << 30)))
    chunks = ((1,) * size if size and chance.random() < 0.15 else random_chunks(chance, size) for size in array.shape)
    return da.from_array(array, chunks=tuple(chunks))


def check_announced(result, expected):
    assert isinstance(result, da.Array)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert result._meta.dtype == expected.dtype and result._meta.shape == (0,) * expected.ndim
    computed = np.asarray(result.compute(**SYNC))
    assert (computed.shape, computed.dtype) == (expected.shape, expected.dtype)
    return computed


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, dtype):
    rng = np.random.default_rng([7, REDUCTIONS.index(name), DTYPES.index(dtype)])
    for shape in SHAPES:
        array = make(rng, shape, dtype, name)
        options = {"axis": random_axis(rng, array.ndim, name), "keepdims": bool(rng.integers(2))}
        if name in ("var", "std") and rng.random() < 0.5:
            options["ddof"] = int(rng.integers(3))
        if not name.startswith("arg") and rng.random() < 0.3:
            options["where"] = rng.random(array.shape) < 0.6
        if name in ("sum", "prod", "min", "max") and rng.random() < (0.8 if "where" in options else 0.2):
            options["initial"] = 1 if dtype.kind in "bui" else 0.5
        expected, error = call_numpy(name, array, **options)
        text = text_of(name, options)
        x = chunked(rng, array)
        mask = {"mask": chunked(rng, options["where"])} if "where" in options else {}
        lazy_options = {**options, **({"where": mask["mask"]} if mask else {})}
        if error is not None:
            with pytest.raises((ValueError, TypeError)):
                ud.evaluate(text, x=x, **mask)
            with pytest.raises((ValueError, TypeError)):
                getattr(unishape.lazy(x), name)(**lazy_options)
            continue
        for result in [ud.evaluate(text, x=x, **mask), ud.to_dask(getattr(unishape.lazy(x), name)(**lazy_options))]:
            computed = check_announced(result, expected)
            if name in EXACT or expected.dtype.kind in "biu":
                np.testing.assert_array_equal(computed, expected, err_msg=f"{text} {dtype} {shape} {x.chunks}")
            else:
                assert_close(name, computed, array, expected, options)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std"])
@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "f4", "f8", "c8"])
def test_requested_dtypes(name, dtype):
    rng = np.random.default_rng(1)
    array = make(rng, (6, 7), np.dtype(dtype), name)
    x = da.from_array(array, chunks=((1, 3, 2), (4, 3)))
    for wanted in ("f4", "f8", "i4", "c16"):
        if np.dtype(wanted).kind in "iu" and (array.dtype.kind in "fc" or name in ("mean", "var", "std")):
            continue
        if array.dtype.kind == "c" and wanted != "c16":
            continue
        options = {"axis": 1, "dtype": np.dtype(wanted)}
        expected, _ = call_numpy(name, array, **options)
        computed = check_announced(ud.evaluate(text_of(name, options), x=x), expected)
        np.testing.assert_allclose(computed, expected, rtol=1e-5 if wanted == "f4" else 1e-12)


TEXTS = [
    "x - mean(x, axis=0)",
    "(x - mean(x, axis=0)) / std(x, axis=0, ddof=1)",
    "softmax(x)",
    "softmax(x, axis=0)",
    "log_softmax(x, axis=(0, 1))",
    "layer_norm(x, weight=row, bias=1)",
    "rms_norm(x, axis=0)",
    "sum(x * row, axis=1)",
    "sum(x * row, axis=1)[:, None] * x - row",
    "mean(x, where=x > 0)",
    "sum(x, axis=0, where=column > 0.5)",
    "max(abs(x - row), axis=1, keepdims=True) + column",
    "logsumexp(x, axis=1)",
    "logsumexp(x * 1000)",
    "norm(x)",
    "norm(x, 1, axis=0)",
    "norm(x - row, inf, axis=-1)",
    "count_nonzero(x > 0, axis=1)",
    "any(x > 2, axis=0) & all(x < 2, axis=0)",
    "argmin(sum((x[:, None] - x) ** 2, axis=-1) + 100 * (column == column.T), axis=1)",
    "argmax(x)",
    "x[1:, ::-2].T",
    "x[::3][0] + x[-1]",
    "sum(x[1:] - x[:-1], axis=0)",
    "var(sum(x, axis=0)) + min(max(x, axis=1))",
    "sum(swapaxes(expand_dims(x, 0), 0, 2), axis=(0, -1))",
    "broadcast_to(mean(row), (13, 8)) + x",
    "squeeze(column * 2) + x[:, 0]",
    "x + sum(3) * True",
    "sum(broadcast_to(row, (5, 8)), axis=0)",
    "float32(x).sum(axis=1, dtype=float64).prod()",
    "where(x > mean(x), x, 0).max(axis=0)",
    "mean(x - max(x, axis=1, keepdims=True), axis=0, keepdims=True) * x",
]


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text):
    rng = np.random.default_rng(3)
    arrays = {"x": rng.normal(size=(13, 8)), "row": rng.normal(size=8), "column": rng.random((13, 1))}
    arrays = {name: array for name, array in arrays.items() if name in text}
    expected = unishape.evaluate(text, arrays)
    for _ in range(3):
        inputs = {name: chunked(rng, array) if rng.random() < 0.8 else array for name, array in arrays.items()}
        computed = check_announced(ud.evaluate(text, inputs), expected)
        np.testing.assert_allclose(computed, expected, rtol=1e-11, atol=1e-13)
    # In one chunk, the values have the bits of NumPy arrays.
    one = {name: da.from_array(array, chunks=-1) for name, array in arrays.items()}
    np.testing.assert_allclose(check_announced(ud.evaluate(text, one), expected), expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("seed", range(100))
def test_random_expressions(seed):
    rng = np.random.default_rng([5, seed])
    shape = [(3, 4, 5), (6, 1, 9), (2, 30), (40,), (2, 3, 2, 4), (0, 3)][rng.integers(6)]

    def make_leaf():
        part = shape[rng.integers(0, len(shape)) :] if rng.random() < 0.5 else shape
        array = rng.integers(-50, 50, part).astype(float)
        return unishape.lazy(chunked(rng, array) if rng.random() < 0.8 else array), array

    value, expected = random_expression(rng, 5, make_leaf)
    computed = check_announced(ud.to_dask(value), np.asarray(expected))
    np.testing.assert_allclose(computed, expected, rtol=1e-10, atol=1e-9, err_msg=repr(value))


# Values that are hard to merge.


@pytest.mark.parametrize("chunks", [1, 2, 3, ((0, 4, 0, 2, 1),), ((1, 6),)])
def test_ties_and_nan_of_positions(chunks):
    for values in [[3, 1, 1, 5, 5, 1, 2], [2, np.nan, 1, np.nan, 9, 9, 0], [0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 0.0]]:
        x = np.array(values)
        d = da.from_array(x, chunks=chunks)
        for name in ("argmin", "argmax", "min", "max"):
            assert_equal(ud.evaluate(f"{name}(d)"), getattr(np, name)(x))
        both, chunked_both = np.stack([x, x[::-1], x]), da.from_array(np.stack([x, x[::-1], x]), chunks=(2, *d.chunks))
        for axis in (None, 0, 1):
            assert_equal(ud.evaluate(f"argmin(y, axis={axis})", y=chunked_both), np.argmin(both, axis=axis))
            assert_equal(ud.evaluate(f"argmax(y, axis={axis})", y=chunked_both), np.argmax(both, axis=axis))


@pytest.mark.parametrize("chunks", [1, 2, 3, 7])
def test_logsumexp_of_extreme_values(chunks):
    inf = np.inf
    for values in [
        [-inf, -inf, -inf, -1000, -1001, -1000, -inf],
        [800, 801, -800, 0, -inf, 3, 2],
        [inf, 1, 2, 3, -inf, 900, 1],
        [-inf] * 7,
        [np.nan, 1, inf, 2, 3, 4, 5],
        [-750, -760, -inf, -inf, -755, -751, -inf],
    ]:
        for dtype in (np.float32, np.float64):
            x = np.array(values, dtype)
            with np.errstate(all="ignore"):
                expected = np.logaddexp.reduce(x.astype(float))
            result = ud.evaluate("logsumexp(d)", d=da.from_array(x, chunks=chunks)).compute(**SYNC)
            assert result.dtype == dtype
            np.testing.assert_allclose(result, expected, rtol=1e-6 if dtype == np.float32 else 1e-14)


def test_variances_far_from_zero():
    rng = np.random.default_rng(0)
    for dtype, offset, bound in [(np.float64, 1e8, 1e-7), (np.float32, 1e3, 1e-4)]:
        x = (rng.normal(size=(100, 97)) + offset).astype(dtype)
        d = da.from_array(x, chunks=(9, 10))
        for axis in (None, 0, 1):
            expected = x.astype(np.longdouble).var(axis=axis).astype(float)
            np.testing.assert_allclose(ud.evaluate(f"var(d, axis={axis})").compute(), expected, rtol=bound)


def test_masks_without_elements():
    x, mask = np.arange(12.0).reshape(3, 4), np.zeros((3, 4), bool)
    mask[2, 1:3] = True
    d, m = da.from_array(x, chunks=(1, 2)), da.from_array(mask, chunks=(2, 1))
    with pytest.warns(RuntimeWarning):
        for name in ("mean", "var", "std"):
            for axis in (None, 0, 1):
                expected = np.asarray(getattr(np, name)(x, axis=axis, where=mask))
                assert_equal(ud.evaluate(f"{name}(d, axis={axis}, where=m)"), expected)
    assert_equal(ud.evaluate("max(d, axis=0, where=m, initial=-1)"), np.max(x, axis=0, where=mask, initial=-1))


def test_chunks_of_unknown_sizes():
    x, keep = np.arange(24.0).reshape(8, 3), np.array([True, False, False, True] * 2)
    part = select(da.from_array(x, chunks=(3, 2)), keep)
    for text, expected in [
        ("sum(part, axis=0)", x[keep].sum(axis=0)),
        ("part - mean(part, axis=0, keepdims=True)", x[keep] - x[keep].mean(axis=0)),
        ("std(part * 2)", (x[keep] * 2).std()),
        ("argmax(part, axis=1)", x[keep].argmax(axis=1)),
        ("softmax(part, axis=1)", unishape.evaluate("softmax(y)", y=x[keep])),
        ("max(part, axis=-2)", x[keep].max(axis=0)),
    ]:
        np.testing.assert_allclose(ud.evaluate(text).compute(**SYNC), expected, rtol=1e-13)
    with pytest.raises(ValueError, match=r"argmin.*compute_chunk_sizes\(\)"):
        ud.evaluate("argmin(part, axis=0)")
    with pytest.raises(np.exceptions.AxisError):
        ud.evaluate("sum(part, axis=2)")
    none = select(da.from_array(x, chunks=(3, 2)), np.zeros(8, bool))
    with pytest.raises(ValueError, match="max of no elements is not defined"):
        ud.evaluate("max(none, axis=0)").compute(**SYNC)
    assert ud.evaluate("sum(none)").compute(**SYNC) == 0


# Graph and memory.


def test_axes_in_one_chunk_need_one_layer():
    x = da.ones((40, 30), chunks=(10, 30))
    for text in ["softmax(x * 2 + 1)", "x - mean(x, axis=1, keepdims=True)", "layer_norm(x)"]:
        result = ud.evaluate(text)
        assert len(layers(result)) == 1 and result.chunks == x.chunks
    # Another array with chunks along the axis.
    y = da.ones((40, 30), chunks=(10, 15))
    result = ud.evaluate("softmax(x) + y")
    assert result.chunks == y.chunks
    np.testing.assert_allclose(result.compute(**SYNC), 1 + 1 / 30)


def test_reductions_of_stretched_arrays_are_computed_once_per_block(monkeypatch):
    calls = []

    def compute_block(steps, *blocks, original=ud._compute_block):
        calls.append(any(step[0] == "reduce" for step in steps))
        return original(steps, *blocks)

    monkeypatch.setattr(ud, "_compute_block", compute_block)
    rng = np.random.default_rng(3)
    x, y, z = rng.normal(size=(6, 8)), rng.normal(size=(6, 1)), rng.normal(size=8)
    names = {"x": da.from_array(x, chunks=(6, 2)), "y": da.from_array(y), "z": da.from_array(z, chunks=8)}
    for text, expected, reductions in [
        ("x - max(y, axis=0, keepdims=True)", x - y.max(), 1),
        ("sum(y, axis=0, keepdims=True) * mean(y, axis=1, keepdims=True) + x", y.sum() * y + x, 2),
        ("x + max(x, axis=0, keepdims=True)", x + x.max(axis=0), 4),
        ("x[:, :1] + max(z, axis=0, keepdims=True)", x[:, :1] + z.max(), 1),
    ]:
        calls.clear()
        result = ud.evaluate(text, {name: array for name, array in names.items() if name in text})
        np.testing.assert_allclose(result.compute(**SYNC), expected, rtol=1e-14)
        assert calls.count(True) == reductions, text


def test_many_nested_reductions_are_planned_in_few_calls(monkeypatch):
    calls = []

    def broadcast_shapes(*shapes, original=unishape.broadcast_shapes):
        calls.append(shapes)
        return original(*shapes)

    monkeypatch.setattr(unishape, "broadcast_shapes", broadcast_shapes)
    counts = []
    for count in (10, 40):
        calls.clear()
        value = unishape.lazy(da.ones((4, 4), chunks=(2, 4)))
        for number in range(count):
            value = value - value.mean(axis=number % 2, keepdims=True) * 0.5
        ud.to_dask(value)
        counts.append(len(calls))
    # Quadratic at most: each region that is cut off looks at the reductions that are left.
    assert counts[1] < 20 * counts[0]


def test_element_wise_work_is_part_of_the_partial_results():
    x, y = da.ones((40, 30), chunks=(10, 10)), da.ones(30, chunks=10)
    result = ud.evaluate("sum(exp(x * y) + 1, axis=1)")
    optimized, = dask.optimize(result)
    # Per block one task with everything, from the arrays to the partial result; then the tree.
    blocks = [key for key in optimized.__dask_graph__() if len(key) == 3]
    assert len(blocks) == x.npartitions + y.npartitions or len(blocks) <= 2 * x.npartitions
    assert all(layer.startswith(("unishape", "ones")) for layer in result.dask.layers)


def test_trees():
    x = np.random.default_rng(0).normal(size=(64, 33))
    d = da.from_array(x, chunks=(1, 2))
    with dask.config.set(split_every=2):
        for text in ["sum(d)", "var(d, axis=0)", "argmin(d)", "logsumexp(d, axis=1)", "mean(d, where=d > 0)"]:
            np.testing.assert_allclose(ud.evaluate(text).compute(**SYNC), unishape.evaluate(text, d=x), rtol=1e-12)


def test_names_are_deterministic():
    x = da.ones((10, 4), chunks=5)
    for text in ["sum(x, axis=0)", "x - mean(x)", "argmin(x)", "x[1:].T"]:
        assert ud.evaluate(text).name == ud.evaluate(text).name
    assert ud.evaluate("var(x)").name != ud.evaluate("var(x, ddof=1)").name != ud.evaluate("std(x)").name


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in kilobytes")
def test_no_array_spans_chunks():
    code = """
import resource, dask, dask.array as da, numpy as np, unishape.dask
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
x = da.random.default_rng(0).random((9000, 9000), chunks=1000)  # 648 MB
p = da.random.default_rng(1).random((12000, 3), chunks=(1000, 3))
unishape.dask.evaluate("sum(y)", y=da.ones((4000, 3), chunks=(1000, 3))).compute()
before = peak()
with dask.config.set(scheduler="threads", num_workers=2):
    unishape.dask.evaluate("var((x - mean(x, axis=0)) * 2)").compute()
    unishape.dask.evaluate("argmin(x, axis=1)").compute()
    # The distances would have 1152 MB, the differences three times that.
    unishape.dask.evaluate("min(sum((p[:, None] - p) ** 2, axis=-1), axis=1, where=1 > 0, initial=9)").compute()
assert peak() - before < 250e6, peak() - before
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Errors.


def test_errors_mark_the_text():
    x = da.ones((4, 3), chunks=2)
    for text, error, match in [
        ("x + sum(x, axis=2)", np.exceptions.AxisError, r"axis 2 is out .*\n  x \+ sum\(x, axis=2\)\n      \^\^\^"),
        ("sum(x, axis=1) + x", ValueError, r"(?s)E1.*\n  sum\(x, axis=1\) \+ x\n"),
        ("max(x[:0], axis=0)", ValueError, "max of no elements"),
        ("max(x, where=x > 0)", ValueError, "initial="),
        ("sum(x, dim='time')", TypeError, "unishape.xarray, or write axis="),
        ("softmax(x, dim=('a', 'b'))", TypeError, "named dimensions"),
        ("x[5]", IndexError, "index 5"),
        ("sum(zz)", NameError, "no value for zz"),
        ("var(x, dtype=int32)", TypeError, "float dtype"),
    ]:
        with pytest.raises(error, match=match):
            ud.evaluate(text, {"x": x})
    assert_equal(ud.evaluate("sum(k) + 1", k=2), np.int64(3))


def test_every_reduction_has_partial_results():
    """Merging in any order and in any groups gives the same."""
    x = np.random.default_rng(0).normal(size=(12, 5))
    names = [*REDUCTIONS, "count_nonzero", "logsumexp", "norm1", "norm2", "norminf"]
    for name in names:
        whole = unishape._unishape._from_steps(
            [("array", 0), ("reduce", (name, (0,), True, 0, None, None), (0,))], [x]
        ).compute()
        reduction = _partial.Reduction(name, (0,), 0, None, None, whole.dtype)
        parts = [
            _partial.partial(reduction, unishape.lazy(x[at : at + 2]), None, (at, 0), x.shape) for at in range(0, 12, 2)
        ]
        parts = pickle.loads(pickle.dumps(parts))
        one = _partial.merge(reduction, parts)
        other = _partial.merge(reduction, [_partial.merge(reduction, parts[:2:-1]), None, *parts[2::-1]])
        for merged in (one, other):
            np.testing.assert_allclose(_partial.finish(reduction, merged), whole, rtol=1e-13)


# Lazy values, and the distributed scheduler.


def test_lazy_values():
    x = np.random.default_rng(8).normal(size=(6, 8))
    value = unishape.lazy(da.from_array(x, chunks=(2, 3)))
    for function in [
        lambda x: np.sum(x, where=x > 0, initial=1.5),
        lambda x: np.mean(x, axis=1, where=x > -9),
        lambda x: np.argmin(x * 2) + np.argmax(x, axis=1),
        lambda x: np.linalg.norm(x, axis=0) + np.count_nonzero(x > 0, axis=0),
        lambda x: np.add.reduce(x) - np.maximum.reduce(x, axis=None),
        lambda x: x.reshape(6, 2, 4).max(axis=2) + x.ravel()[::48][0],
        lambda x: np.reshape(x, (48,))[4:].sum() + np.reshape(x, (2, 3, 8)).sum(axis=0),
    ]:
        expected = np.asarray(function(x))
        result = function(value)
        assert isinstance(result, unishape.Lazy) and result.shape == expected.shape
        np.testing.assert_allclose(ud.to_dask(result).compute(**SYNC), expected, rtol=1e-13)
        np.testing.assert_allclose(result.compute(), expected, rtol=1e-13)


def test_distributed(client):  # noqa: F811
    x = np.random.default_rng(0).normal(size=(300, 200))
    p = da.from_array(x, chunks=((70, 0, 230), 90))
    for text in ["softmax(p, axis=0)", "argmin(p)", "std(p, axis=1, ddof=1)", "logsumexp(p)", "p - mean(p, axis=0)"]:
        np.testing.assert_allclose(ud.evaluate(text).compute(), unishape.evaluate(text, p=x), rtol=1e-11, atol=1e-14)


def wait_for_others(block, folder, block_info=None):
    """Some blocks announce their process and wait for a file."""
    if block_info[None]["chunk-location"][1] >= 10:
        (folder / f"waiting-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
    return block


def test_killed_worker(client, tmp_path):  # noqa: F811
    x = np.random.default_rng(0).normal(size=(40, 400))
    # Both workers hold blocks and partial results; some of them are lost in the middle.
    held = client.persist(da.from_array(x, chunks=(10, 20)) + 0)
    held.compute()  # waits for all blocks
    p = held.map_blocks(wait_for_others, tmp_path, dtype=float)
    text = "sum((p - mean(p, axis=1, keepdims=True)) ** 2, axis=1) / var(p, axis=1) + argmin(p, axis=1)"
    future = client.compute(ud.evaluate(text))
    while not (waiting := [int(path.name.split("-")[1]) for path in tmp_path.glob("waiting-*")]):
        time.sleep(0.01)
    os.kill(waiting[0], signal.SIGKILL)
    assert future.status == "pending"
    (tmp_path / "go").touch()
    np.testing.assert_allclose(future.result(timeout=100), unishape.evaluate(text, p=x), rtol=1e-12)
    assert waiting[0] not in client.run(os.getpid).values()
