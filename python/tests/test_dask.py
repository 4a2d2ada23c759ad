"""Expressions over Dask arrays: values of NumPy, in one graph layer, on any scheduler."""

import os
import pickle
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import unishape

da = pytest.importorskip("dask.array")
import dask  # noqa: E402

from unishape import dask as ud  # noqa: E402

SYNC = {"scheduler": "synchronous"}


def assert_equal(result, expected):
    """The same elements; dtype, shape and chunks are as announced."""
    computed = np.asarray(result.compute(**SYNC))
    expected = np.asarray(expected)
    assert result.dtype == computed.dtype == expected.dtype
    assert result._meta.dtype == expected.dtype and result._meta.shape == (0,) * expected.ndim
    if not any(np.isnan(size) for size in result.shape):
        assert result.shape == expected.shape
    assert computed.shape == expected.shape
    np.testing.assert_array_equal(computed, expected)
    for block, shape in zip(*blocks_and_shapes(result)):
        assert all(np.isnan(size) or size == actual for size, actual in zip(shape, block.shape))


def blocks_and_shapes(array):
    blocks = dask.compute(*array.to_delayed().ravel().tolist(), **SYNC)
    places = np.ndindex(*array.numblocks)
    return blocks, [tuple(lengths[i] for lengths, i in zip(array.chunks, place)) for place in places]


def layers(array):
    return [name for name in array.dask.layers if name.startswith("unishape")]


# Random shapes in random chunks.


def random_chunks(chance, size):
    lengths, left = [], size
    while left or not lengths:
        length = chance.randint(0, left) if chance.random() < 0.5 else left
        lengths.append(length)
        left -= length
        if len(lengths) > 5:
            lengths.append(left)
            break
    return tuple(lengths)


def random_arrays(chance):
    """Compatible NumPy arrays, and the same arrays, some of them as Dask arrays."""
    common = [chance.choice([0, 1, 1, 2, 3, 7]) if chance.random() < 0.3 else chance.randint(1, 6)
              for _ in range(chance.randint(0, 4))]
    arrays, inputs = {}, {}
    for name in "abc":
        shape = [size if chance.random() < 0.7 else 1 for size in common]
        shape = shape[chance.randint(0, len(shape)) if chance.random() < 0.4 else 0 :]
        dtype = chance.choice(["int64", "int8", "float32", "float64", "uint16", "bool"])
        array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        arrays[name] = array
        chunks = tuple(random_chunks(chance, size) for size in shape)
        inputs[name] = array if chance.random() < 0.25 else da.from_array(array, chunks=chunks)
    return arrays, inputs


@pytest.mark.parametrize("seed", range(150))
def test_random_arrays_in_random_chunks(seed):
    arrays, inputs = random_arrays(random.Random(seed))
    expected = (arrays["a"] + arrays["b"]) * arrays["c"]
    result = ud.evaluate("(a + b) * c", inputs)
    assert_equal(result, expected)
    assert len(layers(result)) == 1

    lazies = {name: unishape.lazy(array) for name, array in inputs.items()}
    assert_equal(ud.to_dask((lazies["a"] + lazies["b"]) * lazies["c"]), expected)

    views = np.broadcast_arrays(*arrays.values())
    stretched = ud.broadcast_arrays(*inputs.values())
    assert len({array.chunks for array in stretched}) == 1
    for array, view in zip(stretched, views):
        assert_equal(array, view)


# Inputs.


def test_uneven_chunks_are_merged():
    x, y = np.arange(10.0), np.arange(10.0) * 2
    result = ud.evaluate("x + y", x=da.from_array(x, chunks=((3, 7),)), y=da.from_array(y, chunks=((5, 4, 1),)))
    assert result.chunks == ((3, 2, 4, 1),)
    assert_equal(result, x + y)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (((0, 3, 0, 2),), ((5,),)),
        (((0, 3, 0, 2),), ((1, 4, 0),)),
        (((0, 0),), ((0, 0, 0),)),
        (((0, 0),), ((1,),)),
        (((0, 1, 0),), ((2, 2),)),
        (((0, 1),), ((1, 0),)),
        (((2, 2), (0,)), ((4,), (0, 0))),
        (((1,), (3, 0)), ((0,), (1, 0))),
    ],
)
def test_chunks_of_size_0(a, b):
    x, y = (np.arange(np.prod([sum(each) for each in c])).reshape([sum(each) for each in c]) for c in (a, b))
    p, q = da.from_array(x, chunks=a), da.from_array(y, chunks=b)
    assert_equal(ud.evaluate("p - q"), x - y)
    for array, view in zip(ud.broadcast_arrays(p, q), np.broadcast_arrays(x, y)):
        assert_equal(array, view)


def test_rank_0_and_numbers():
    x = da.arange(6, chunks=4, dtype="int16")
    total = x.sum()
    assert_equal(ud.evaluate("x * 2 + total"), np.arange(6) * 2 + 15)
    assert_equal(ud.evaluate("x * k", k=2.5), np.arange(6, dtype="int16") * 2.5)
    assert_equal(ud.evaluate("x * k", k=np.float32(2.5)), np.arange(6, dtype="int16") * np.float32(2.5))
    assert_equal(ud.evaluate("x * k", k=np.array(2.5)), np.arange(6, dtype="int16") * np.array(2.5))
    assert_equal(ud.evaluate("total + 1"), np.int64(16))
    assert_equal(ud.evaluate("k + 1", k=2), np.int64(3))


def test_name_resolution():
    x, e = da.arange(3, chunks=2), ValueError("not a number")
    assert_equal(ud.evaluate("x * e"), np.arange(3) * np.e)
    assert_equal(ud.evaluate("x * e", e=2), np.arange(3) * 2)
    assert_equal(ud.evaluate("x * e", {"x": x, "e": 3, "other": 5}), np.arange(3) * 3)
    assert_equal(ud.evaluate("x * e", {"x": x, "e": 3}, e=4), np.arange(3) * 4)
    assert_equal(ud.evaluate("x * sum(e)"), np.arange(3) * np.e)
    assert e
    # Names come from the mapping alone, and constants are known only where no names are given.
    with pytest.raises(NameError, match="no value for x"):
        ud.evaluate("x * e", {"e": 3})
    for names, more in [({"x": x}, {}), (None, {"x": x})]:
        for text in ["x * pi", "x * sum(pi)"]:
            with pytest.raises(NameError, match="pi is not among the given names"):
                ud.evaluate(text, names, **more)
    with pytest.raises(TypeError, match="names must be a mapping"):
        ud.evaluate("x * 2", np.ones(3))
    # Variables of this package's own functions are not visible.
    with pytest.raises(NameError, match="no value for expression"):
        ud.evaluate("x + expression")


def test_lists_and_other_arrays():
    x = da.arange(4, chunks=2)
    assert_equal(ud.evaluate("x + y", y=[1, 2, 3, 4]), np.arange(4) + [1, 2, 3, 4])
    assert_equal(ud.evaluate("x + y", y=unishape.lazy(x) * 2), np.arange(4) * 3)


def test_automatic_chunks_without_dask_arrays():
    x = np.arange(1000.0)
    with dask.config.set({"array.chunk-size": "80kB"}):
        result = ud.evaluate("x * y", y=x[:, None])
    assert max(result.chunksize) < 1000
    assert_equal(result, x * x[:, None])


def test_automatic_chunks_of_numpy_dimensions():
    x, y = da.ones((1000, 1), chunks=(100, 1)), np.arange(5000.0)
    with dask.config.set({"array.chunk-size": "400kB"}):
        result = ud.evaluate("x * y")
    assert result.chunksize[0] == 100 and result.chunksize[1] <= 500
    assert_equal(result[:, ::1000], np.ones((1000, 1)) * y[::1000])


def test_memory_mapped_files(tmp_path):
    x = np.memmap(tmp_path / "x", dtype="f4", mode="w+", shape=(100, 30))
    x[:] = np.arange(3000).reshape(100, 30)
    result = ud.evaluate("x * y", y=da.ones((100, 1), chunks=(30, 1), dtype="f4"))
    assert result.chunks[0] == (30, 30, 30, 10)
    assert_equal(result, np.asarray(x))
    # Views of one file are different arrays, and are not read early.
    assert_equal(ud.evaluate("a - b", a=x[50:], b=x[:50]), np.asarray(x[50:]) - np.asarray(x[:50]))
    assert_equal(ud.evaluate("a - b", a=x[:, ::-2], b=x[::-1, ::2]), np.asarray(x[:, ::-2]) - np.asarray(x[::-1, ::2]))
    views = [value for value in dict(result.__dask_graph__()).values() if isinstance(value, np.ndarray)]
    assert len(views) == 4 and all(np.shares_memory(view, x) for view in views)


# Unknown sizes.


def select(array, keep):
    return array[da.from_array(keep, chunks=array.chunks[0])]


def test_chunks_of_unknown_sizes():
    x, keep = np.arange(24.0).reshape(8, 3), np.array([True, False] * 4)
    known = da.from_array(x, chunks=(3, 2))
    part = select(known, keep)
    assert_equal(ud.evaluate("part * 2 - other", other=select(known * 3, keep)), -x[keep])
    assert_equal(ud.evaluate("part + row", row=np.arange(3)), x[keep] + np.arange(3))
    assert_equal(ud.evaluate("part + column", column=da.ones((5, 1, 1))), x[keep] + np.ones((5, 1, 1)))
    assert_equal(ud.to_dask(unishape.lazy(part) + 1), x[keep] + 1)
    assert_equal(ud.broadcast_arrays(part, select(known[:, :1], keep))[1], x[keep][:, :1] + np.zeros(3))


def test_errors_of_unknown_chunk_sizes():
    known = da.arange(6, chunks=3)
    part = select(known, np.array([True] * 5 + [False]))
    other = select(known, np.array([False] + [True] * 5))
    with pytest.raises(ValueError, match=r"call compute_chunk_sizes\(\) on part first"):
        ud.evaluate("part + known")
    with pytest.raises(ValueError, match=r"call compute_chunk_sizes\(\) on part first"):
        ud.evaluate("part + y", y=np.arange(5))
    with pytest.raises(ValueError, match=r"call compute_chunk_sizes\(\) on part and y first"):
        ud.evaluate("part + y", y=select(da.arange(6, chunks=2), np.array([True] * 6)))
    with pytest.raises(ValueError, match="[23] in part, [23] in other; call compute_chunk_sizes"):
        ud.evaluate("part + other").compute(**SYNC)
    with pytest.raises(ValueError, match="input 1 must be stretched in dimension 0"):
        ud.broadcast_arrays(part, np.ones(1))
    with pytest.raises(ValueError, match=r"the shape is unknown .* call \.compute\(\) first, or compute_chunk_sizes"):
        _ = unishape.lazy(part).shape
    assert_equal(ud.evaluate("a + b", a=part.compute_chunk_sizes(), b=other.compute_chunk_sizes()),
         np.arange(5) + np.arange(1, 6))


def test_blocks_of_unknown_size_are_not_stretched():
    x = da.arange(4, chunks=2)
    one = select(x, np.array([True, False, True, False]))
    assert_equal(ud.evaluate("one + one"), np.array([0, 4]))
    with pytest.raises(ValueError, match="sizes differ: 1 in one, 2 in two"):
        ud.evaluate("one + two", two=select(x, np.array([True] * 4))).compute(**SYNC)


# Errors.


def test_incompatible_shapes():
    with pytest.raises(ValueError) as error:
        ud.evaluate("x + y * 2", x=da.ones((20, 3), chunks=10), y=np.ones(4))
    assert "\n".join([str(error.value), *error.value.__notes__]) == (
        "E1: incompatible shapes in dimension 1: x has 3, y has 4\n\n"
        "  x  20 x 3\n"
        "  y       4\n"
        "          ^\n"
        "Shapes are aligned on the right; in each column every size must be 1 or the same.\n\n"
        "x (20x3) with y (4):\n"
        "  x + y * 2\n"
        "    ^"
    )
    with pytest.raises(ValueError, match="E1.*input 0 has 3, input 1 has 4"):
        ud.broadcast_arrays(da.ones((20, 3)), np.ones(4))
    # Allocates nothing of this size.
    large = da.zeros((1 << 20, 1 << 20), chunks=1 << 18)
    for dtype in (float, bool):
        with pytest.raises(ValueError, match="(?s)E1.*x.* y"):
            ud.evaluate("x + y", x=large.astype(dtype), y=np.ones(4))
    unknown = select(da.ones((4, 3), chunks=2), np.array([True] * 4))
    with pytest.raises(ValueError, match="(?s)E1.*input 0 is x, input 1 is y"):
        ud.evaluate("x + y", x=unknown, y=np.ones((4, 4)))
    with pytest.raises(ValueError, match="(?s)E1.*input 0 is x1, input 1 is x2"):
        ud.to_dask(unishape.lazy(unknown) + np.ones((4, 4)))


@pytest.mark.parametrize(
    ("expression", "names", "error", "text"),
    [
        ("x +", {}, SyntaxError, "unexpected end of expression"),
        ("x + zz", {}, NameError, "no value for zz; given: x"),
        ("x + 1", {"zz": 1}, TypeError, "the expression has no variable zz"),
        ("x + 1", {"names": 1}, TypeError, "the expression has no variable names"),
        ("x + y", {"y": np.array(["text"])}, TypeError, "y: expressions do not support dtype <U4"),
        ("x + y", {"y": da.from_array(np.array(["text"]))}, TypeError, "y: expressions do not support dtype <U4"),
        ("x & 1", {"x": da.ones(3)}, TypeError, "float64"),
        ("x + 1", {"x": da.ma.masked_equal(da.ones(3), 1)}, TypeError, "x: the blocks of this array are numpy.ma"),
        ("x + y", {"y": np.ma.ones(3)}, TypeError, "y: masked arrays are not supported"),
        ("x + y", {"y": [[1, 2], [3]]}, ValueError, "y: .*inhomogeneous"),
        ("x + y", {"y": dask.delayed(3)}, TypeError, "y: dask.delayed.* is not a Dask array; convert it"),
        ("x + 1", {"out": np.ones(3)}, TypeError, "out= is not supported here"),
        ("x + 1", {"threads": 3}, TypeError, "threads= is not supported here"),
        ("x + 300", {"x": da.ones(3, dtype="u1")}, OverflowError, "300"),
    ],
)
def test_errors(expression, names, error, text):
    with pytest.raises(error, match=text):
        ud.evaluate(expression, {"x": da.arange(3)}, **names)


def test_rules():
    with pytest.raises(ValueError, match="E1"):
        ud.broadcast_arrays(da.ones((2, 0)), da.ones((2, 1)), rules="sonnx")
    with pytest.raises(ValueError, match="rank"):
        ud.broadcast_arrays(da.ones((2, 3)), da.ones(3), strict_rank=True)
    assert ud.broadcast_arrays() == ()


def test_broadcast_arrays_of_any_type():
    arrays = [np.array([["a"], ["b"]]), np.array([1, None, "x"], dtype=object), np.array("2020", "M8[D]"),
             np.array([(1, 2.0)], dtype=[("p", "i4"), ("q", "f8")])]
    chunked = [da.from_array(array, chunks=1) for array in arrays]
    for array, view in zip(ud.broadcast_arrays(*chunked), np.broadcast_arrays(*arrays)):
        computed = array.compute(**SYNC)
        assert computed.dtype == view.dtype == array.dtype
        assert computed.tolist() == view.tolist()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="uses /proc")
def test_blocks_are_computed_on_dasks_threads():
    # Blocks would wait for each other if they shared the workers of the pool.
    code = """
import os, numpy as np, dask.array as da, unishape.dask
x = da.ones((2000, 2000), chunks=1000)
unishape.dask.evaluate("x * 2 + 1").compute(num_workers=2)
(unishape.lazy(x) * 2 + 1).compute()
names = [open(f"/proc/self/task/{thread}/comm").read() for thread in os.listdir("/proc/self/task")]
assert not any(name.startswith("unishape") for name in names), names
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# Graph.


def test_one_layer_with_one_task_per_block():
    x, y, z = da.ones((100, 80), chunks=(25, 20)), da.ones((100, 1), chunks=(25, 1)), da.ones(80, chunks=20)
    result = ud.evaluate("where(x > y, x * z, exp(y) / (z + 1)) + x**2")
    own = result.dask.layers[result.name]
    assert isinstance(own, dask.blockwise.Blockwise)
    assert set(result.dask.layers) == {result.name, x.name, y.name, z.name}
    assert len(dict(own)) == result.npartitions == 16
    # Dask's optimisation fuses it with the layers before and after.
    after = (result + 1).sum(axis=0, keepdims=True)
    optimised, = dask.optimize(after)
    assert not any(name.startswith("unishape") for name in optimised.dask.layers)


def test_names_are_deterministic():
    x = da.ones(10, chunks=5)
    assert ud.evaluate("x + 1").name == ud.evaluate("x + 1").name != ud.evaluate("x + 2").name
    assert ud.evaluate("x + k", k=1).name != ud.evaluate("x + k", k=1.0).name
    assert ud.to_dask(unishape.lazy(x) + 1).name == ud.to_dask(unishape.lazy(x) + 1).name
    one, two = (ud.broadcast_arrays(x, np.ones((3, 1)))[0].name for _ in range(2))
    assert one == two


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: da.from_array(x, chunks=(1, 500))])
def test_stretched_arrays_are_not_expanded_in_the_graph(wrap):
    row = np.random.default_rng(0).random((1, 1000))
    column = da.from_array(np.random.default_rng(1).random((5000, 1)), chunks=(100, 1))
    result = ud.evaluate("row * column", row=wrap(row))
    assert result.shape == (5000, 1000) and result.npartitions in (50, 100)
    tasks = dask.optimize(result)[0].__dask_graph__()
    # The inputs have 8 * 6000 bytes, the result 8 * 5 000 000.
    assert len(pickle.dumps(dict(tasks))) < 8 * 6000 + 1000 * len(tasks)
    stretched, other = ud.broadcast_arrays(wrap(row), column)
    tasks = dask.optimize(stretched)[0].__dask_graph__()
    assert len(pickle.dumps(dict(tasks))) < 8 * 1000 + 1000 * len(tasks)
    block = dask.get(dict(other.__dask_graph__()), (other.name, 0, 0))
    assert block.shape[1] >= 500 and block.strides[1] == 0


def test_numpy_arrays_are_in_the_graph_once():
    large, y = np.random.default_rng(0).random((400, 1000)), da.ones((1, 1000), chunks=(1, 100))
    result = ud.evaluate("large * y")
    tasks = dict(result.__dask_graph__())
    parts = [value for value in tasks.values() if isinstance(getattr(value, "value", value), np.ndarray)]
    parts = [getattr(part, "value", part) for part in parts]
    assert sum(part.nbytes for part in parts if part.shape[0] == 400) == large.nbytes
    assert len(pickle.dumps(tasks)) < 1.1 * large.nbytes


# Lazy values.


def test_lazy_values_of_dask_arrays_stay_lazy():
    def never(block):
        raise AssertionError("computed too early")

    x = da.ones((4, 6), chunks=(2, 3)).map_blocks(never, meta=np.empty((0, 0)))
    y = unishape.lazy(x) * 2 + np.arange(6)
    z = ud.to_dask(np.sqrt(y) > 1)
    assert isinstance(y, unishape.Lazy) and y.shape == (4, 6)
    assert isinstance(z, da.Array) and z.chunks == x.chunks and z.dtype == bool


def test_operators_of_dask_arrays_and_lazy_values():
    array, lazy = da.arange(6, chunks=4), unishape.lazy(np.arange(6.0))
    values = np.arange(6)
    for value, expected in [
        (array + lazy, values + values),
        (lazy - array, values * 0.0),
        (array**lazy, values**values.astype(float)),
        (array < lazy, values < values),
        (np.add(array, lazy), values + values),
        (np.add(lazy, array), values + values),
        (np.where(unishape.lazy(array) > 2, array, lazy), values),
        (unishape.add(array, lazy), values + values),
        (unishape.lazy(array).astype("float32") + array, values * 2),
    ]:
        assert isinstance(value, unishape.Lazy)
        np.testing.assert_array_equal(value.compute(), expected)
        np.testing.assert_array_equal(np.asarray(value), expected)


def test_lazy_values_into_out():
    x = da.arange(6, chunks=4)
    value = unishape.lazy(x) * 2.0
    out = np.empty(6, "f4")
    assert value.compute(out=out) is out
    assert out.tolist() == [0, 2, 4, 6, 8, 10]
    # The blocks read the output array.
    memory = np.arange(6.0)
    reversed_ = unishape.lazy(da.from_array(memory, chunks=2)[::-1]) + 0
    assert reversed_.compute(out=memory).tolist() == [5, 4, 3, 2, 1, 0]
    for wrong, error, text in [
        (np.empty(5), ValueError, r"the result has shape \(6,\), but out has shape \(5,\)"),
        (np.empty(6, int), TypeError, "cannot cast the result from float64 to int64"),
        (np.broadcast_to(0.0, 6), ValueError, "read-only"),
        ([0.0] * 6, TypeError, "out must be a NumPy array"),
    ]:
        with pytest.raises(error, match=text):
            value.compute(out=wrong)
    part = select(x, np.array([True] * 5 + [False]))
    with pytest.raises(ValueError, match=r"\(5,\), but out has shape \(6,\)"):
        (unishape.lazy(part) * 1.0).compute(out=np.empty(6))


def test_to_dask_requires_a_lazy_value():
    with pytest.raises(TypeError, match="make one with unishape.lazy"):
        ud.to_dask(da.ones(3))


def test_import_error_without_dask():
    code = "import sys; sys.modules['dask'] = None\nimport unishape.dask"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: unishape.dask needs Dask: pip install unishape[dask]" in result.stderr


# Distributed scheduler.


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with dask.config.set({"distributed.comm.retry.count": 3}):
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            yield client


def wait_in_lower_half(block, folder, block_info=None):
    """Blocks of the lower half announce their process and wait for a file."""
    if block_info[None]["chunk-location"][0] >= 2:
        (folder / f"waiting-{os.getpid()}").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
    return block


def test_distributed(client):
    x, y = np.random.default_rng(0).random((300, 200)), np.random.default_rng(1).random((300, 1))
    p, q = da.from_array(x, chunks=((70, 0, 230), 90)), da.from_array(y, chunks=((100, 200), 1))
    expression = "exp(p - q) * sqrt(p) + where(q > 0.5, row, k)"
    expected = unishape.evaluate(expression, p=x, q=y, row=np.arange(200), k=2)
    np.testing.assert_array_equal(ud.evaluate(expression, row=np.arange(200), k=2).compute(), expected)
    value = (np.exp(unishape.lazy(p) - q) * np.sqrt(p)).compute(out=np.empty((300, 200)))
    np.testing.assert_array_equal(value, unishape.evaluate("exp(x - y) * sqrt(x)"))
    stretched = ud.broadcast_arrays(p, q)[1]
    np.testing.assert_array_equal(stretched.compute(), np.broadcast_to(y, (300, 200)))


def test_errors_in_workers(client):
    x = da.arange(4, chunks=2)
    one, two = select(x, np.array([True, False, True, False])), select(x, np.array([True] * 4))
    with pytest.raises(ValueError, match="sizes differ: 1 in one, 2 in two"):
        ud.evaluate("one + two").compute()


def test_killed_worker(client, tmp_path):
    x = np.random.default_rng(0).random((40, 400))
    # Both workers hold blocks; some of them are lost.
    p = client.persist(da.from_array(x, chunks=(10, 20)) + 0)
    p.compute()  # waits for all blocks
    result = ud.evaluate("p * p + column", column=np.arange(40.0)[:, None])
    future = client.compute(result.map_blocks(wait_in_lower_half, tmp_path, dtype=float))
    while not (waiting := [int(path.name.split("-")[1]) for path in tmp_path.glob("waiting-*")]):
        time.sleep(0.01)
    os.kill(waiting[0], signal.SIGKILL)
    assert future.status == "pending"
    (tmp_path / "go").touch()
    np.testing.assert_array_equal(future.result(timeout=100), x * x + np.arange(40.0)[:, None])
    assert waiting[0] not in client.run(os.getpid).values()


def test_lazy_views_and_reductions():
    x = np.random.default_rng(8).normal(size=(6, 8))
    y = np.arange(6.0)
    value = unishape.lazy(da.from_array(x, chunks=(2, 3)))
    for function in [
        lambda x, y: x - x.mean(axis=1, keepdims=True),
        lambda x, y: (x * 2 + 1).sum(axis=0) * 3,
        lambda x, y: x.var(ddof=1) + y.sum(),
        lambda x, y: np.max(x, axis=(0, 1)) - x[::-1, 1:].T + y,
        lambda x, y: (x + y[:, None]).argmin(axis=1),
        lambda x, y: np.expand_dims(x, 1).swapaxes(0, 2).squeeze(),
        lambda x, y: np.broadcast_to(x[:, None, 0], (6, 6)) + y.sum(),
        lambda x, y: (x > 0).any(axis=0) & np.all(x < 9, axis=0),
    ]:
        expected = function(x, y)
        result = function(value, unishape.lazy(y))
        assert isinstance(result, unishape.Lazy)
        assert result.shape == expected.shape and result.dtype == expected.dtype
        np.testing.assert_allclose(result.compute(), expected, rtol=1e-13)
        np.testing.assert_allclose(ud.to_dask(result).compute(), expected, rtol=1e-13)


def test_lazy_reductions_of_unknown_sizes():
    x = da.from_array(np.arange(10.0), chunks=4)
    value = unishape.lazy(x[x > 2])
    assert value.sum().shape == () and value.sum().compute() == sum(range(3, 10))
    assert (value - value.mean()).compute().tolist() == [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="unknown until"):
        value.sum(axis=0).shape
