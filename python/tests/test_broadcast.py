"""broadcast_arrays, broadcast_to and broadcast_shapes, compared with NumPy's: elements, dtypes and strides."""

import gc
import itertools
import sys
import weakref

import numpy as np
import pytest
from arrays import ALL, LAYOUTS, assert_same, make_array, random_shapes

import unishape


def assert_view(view, source):
    """A read-only view of the source's memory; stretched dimensions have stride 0."""
    assert not view.flags.writeable and not view.flags.owndata
    assert view.base is not None
    if view.size:
        assert view.ctypes.data == source.ctypes.data
    kept = (1,) * (view.ndim - source.ndim) + source.shape
    strides = (0,) * (view.ndim - source.ndim) + source.strides
    for size, own, stride, expected in zip(view.shape, kept, view.strides, strides, strict=True):
        if size > 1:
            assert stride == (expected if own > 1 else 0)


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_elements_match_numpy(dtype):
    rng = np.random.default_rng([ord(letter) for letter in str(dtype)])
    for _ in range(200):
        shapes = random_shapes(rng, rng.integers(1, 5))
        arrays = [rng.choice(LAYOUTS)(rng, shape, dtype) for shape in shapes]
        views = unishape.broadcast_arrays(*arrays)
        assert type(views) is tuple
        for view, array, expected in zip(views, arrays, np.broadcast_arrays(*arrays), strict=True):
            assert_same(view, expected)
            assert_view(view, array)
        common = unishape.broadcast_shapes(*shapes)
        assert common == np.broadcast_shapes(*shapes) == views[0].shape
        stretched = unishape.broadcast_to(arrays[0], common)
        assert_same(stretched, np.broadcast_to(arrays[0], common))
        assert_view(stretched, arrays[0])


def test_mixed_dtypes():
    rng = np.random.default_rng(1)
    for _ in range(300):
        shapes = random_shapes(rng, 6, max_rank=7)
        arrays = [rng.choice(LAYOUTS)(rng, shape, ALL[rng.integers(len(ALL))]) for shape in shapes]
        views = unishape.broadcast_arrays(*arrays)
        for view, array, expected in zip(views, arrays, np.broadcast_arrays(*arrays), strict=True):
            assert_same(view, expected)
            assert_view(view, array)


def test_all_pairs_of_small_shapes():
    shapes = [shape for rank in range(4) for shape in itertools.product([0, 1, 2, 3], repeat=rank)]
    for one, other in itertools.product(shapes, shapes):
        try:
            expected = np.broadcast_shapes(one, other)
        except ValueError:
            with pytest.raises(ValueError, match="E1"):
                unishape.broadcast_shapes(one, other)
        else:
            assert unishape.broadcast_shapes(one, other) == expected
        try:
            expected = np.broadcast_to(np.empty(one), other).shape
        except ValueError:
            with pytest.raises(ValueError, match="E1|cannot"):
                unishape.broadcast_to(np.empty(one), other)
        else:
            assert unishape.broadcast_to(np.empty(one), other).shape == expected


def test_zero_and_one_array():
    assert unishape.broadcast_arrays() == ()
    assert unishape.broadcast_shapes() == ()
    (view,) = unishape.broadcast_arrays(np.arange(3))
    assert view.tolist() == [0, 1, 2]


def test_a_hundred_thousand_arguments():
    array = np.arange(3)
    before = sys.getrefcount(array)
    views = unishape.broadcast_arrays(*[array] * 99_999, np.zeros((2, 1)))
    assert len(views) == 100_000 and all(view.shape == (2, 3) for view in views)
    assert views[50_000].tolist() == [[0, 1, 2], [0, 1, 2]]
    del views
    assert sys.getrefcount(array) == before
    assert unishape.broadcast_shapes(*[(3, 1)] * 99_999, (7,)) == (3, 7)


def test_numbers_lists_and_scalars():
    a, b, c, d = unishape.broadcast_arrays(1, [1.5, 2.5], np.float32(3), "ab")
    assert [x.dtype for x in (a, b, c, d)] == [int, float, np.float32, "U2"]
    assert a.tolist() == [1, 1] and c.tolist() == [3.0, 3.0] and d.tolist() == ["ab", "ab"]


def test_subclasses_become_plain_arrays():
    class Own(np.ndarray):
        pass

    view = unishape.broadcast_to(np.arange(3).view(Own), (2, 3))
    assert type(view) is np.ndarray and view.tolist() == [[0, 1, 2]] * 2


# Memory.


def test_views_are_read_only():
    original = np.array([1, 2, 3])
    views = [unishape.broadcast_to(original, (2, 3)), *unishape.broadcast_arrays(original, 0)]
    for view in views:
        assert memoryview(view).readonly
        with pytest.raises(ValueError, match="read-only"):
            view[...] = 0
    # Nothing was copied: writes to the array are visible in the views.
    original[1] = 20
    assert views[0].tolist() == [[1, 20, 3]] * 2


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype.kind in "OTfU" or dtype.hasobject], ids=str)
def test_view_keeps_memory_alive(dtype):
    rng = np.random.default_rng(5)
    source = make_array(rng, (40, 1), dtype)
    expected = source.copy()
    gone = weakref.ref(source)
    view = unishape.broadcast_to(source, (2, 40, 3))
    part = view[1, ::-2, 1]
    del source, view
    gc.collect()
    make_array(rng, (40, 1), dtype)  # would reuse the memory if it were free
    assert gone() is not None
    assert_same(part, expected[::-2, 0])
    del part
    gc.collect()
    assert gone() is None


def test_reference_counts():
    array, objects = np.arange(4.0), np.array([object(), object()])
    one = objects[0]
    counts = [sys.getrefcount(each) for each in (array, objects, one, array.dtype, objects.dtype)]
    for _ in range(1000):
        unishape.broadcast_arrays(array, objects[:, None])
        unishape.broadcast_to(objects, (3, 2)).sum
        with pytest.raises(ValueError):
            unishape.broadcast_arrays(array, objects)
        with pytest.raises(ValueError):
            unishape.broadcast_to(array, (4, 3))
    for each, count in zip((array, objects, one, array.dtype, objects.dtype), counts, strict=True):
        assert abs(sys.getrefcount(each) - count) < 10


def test_views_larger_than_memory():
    view = unishape.broadcast_to(np.array([1, 2], np.int8), (10**6, 10**6, 10**6, 2))
    assert view[-1, -1, -1].tolist() == [1, 2]


# Shapes.


def test_unknown_sizes():
    assert unishape.broadcast_shapes((None, 3), (1, 1)) == (None, 3)
    assert unishape.broadcast_shapes((None, 3), (7, 1)) == (7, 3)
    assert unishape.broadcast_shapes((None,), (None,)) == (None,)
    assert unishape.broadcast_shapes((None,), ()) == (None,)
    assert unishape.broadcast_shapes((None,), (0,)) == (0,)
    with pytest.raises(ValueError, match="known"):
        unishape.broadcast_to(np.arange(3), (None, 3))


def test_integers_as_shapes():
    assert unishape.broadcast_shapes(3, 1) == (3,)
    assert unishape.broadcast_shapes(np.int64(3), [np.uint8(2), 1]) == (2, 3)
    assert unishape.broadcast_shapes(np.array([2, 1]), (True, 5)) == (2, 5)
    assert all(type(size) is int for size in unishape.broadcast_shapes(np.array([2, 1]), (np.int8(1), 5)))
    assert unishape.broadcast_to(np.ones(1), 2).shape == (2,)
    assert unishape.broadcast_shapes(size for size in (2, 1)) == (2, 1)


def test_strict_rank():
    a, b = np.ones((2, 1)), np.ones((1, 3))
    assert unishape.broadcast_arrays(a, b, strict_rank=True)[0].shape == (2, 3)
    assert unishape.broadcast_to(a, (2, 5), strict_rank=True).shape == (2, 5)
    for call in [
        lambda: unishape.broadcast_arrays(a, b[0], strict_rank=True),
        lambda: unishape.broadcast_shapes((2, 1), (3,), strict_rank=True),
        lambda: unishape.broadcast_to(a, (4, 2, 1), strict_rank=True),
    ]:
        with pytest.raises(ValueError, match="strict rank|2 dimensions, the target 3"):
            call()


def test_sonnx_rules():
    assert unishape.broadcast_shapes((2, 1), (3,), rules="sonnx") == (2, 3)
    assert unishape.broadcast_shapes((1,), (0,)) == (0,)
    with pytest.raises(ValueError, match="E1"):
        unishape.broadcast_shapes((1,), (0,), rules="sonnx")
    with pytest.raises(ValueError, match="at least 1"):
        unishape.broadcast_arrays(rules="sonnx")
    with pytest.raises(ValueError):
        unishape.broadcast_to(np.ones(1), (0,), rules="sonnx")
    with pytest.raises(ValueError, match='use "standard" or "sonnx"'):
        unishape.broadcast_shapes((1,), rules="numpy")


# Errors.

MESSAGE = """\
E1: incompatible shapes in dimension 1: input 0 has 2, input 1 has 4

  input 0      2 x 1
  input 1  8 x 4 x 3
               ^
Shapes are aligned on the right; in each column every size must be 1 or the same."""


def test_message_for_incompatible_shapes():
    for call in [
        lambda: unishape.broadcast_shapes((2, 1), (8, 4, 3)),
        lambda: unishape.broadcast_arrays(np.ones((2, 1)), np.ones((8, 4, 3))),
    ]:
        with pytest.raises(ValueError) as raised:
            call()
        assert "\n".join([str(raised.value), *raised.value.__notes__]).strip() == MESSAGE
    with pytest.raises(ValueError, match="input 0.*input 2"):
        unishape.broadcast_arrays(np.ones(2), np.ones((5, 1)), np.ones(3))


@pytest.mark.parametrize(
    ("shape", "error", "match"),
    [
        ((2.0, 3), TypeError, "invalid shape"),
        (2.5, TypeError, "invalid shape"),
        ("23", TypeError, "invalid shape"),
        (("2", 3), TypeError, "invalid shape"),
        ((2, (3,)), TypeError, "invalid shape"),
        (object(), TypeError, "invalid shape"),
        ({"a": 1}, TypeError, "invalid shape"),
        ((-1, 3), ValueError, "must not be negative: -1"),
        (-3, ValueError, "must not be negative: -3"),
        ((10**30,), ValueError, "too large"),
        (np.ones((2, 2), int), TypeError, "invalid shape"),
        (np.array([2.0]), TypeError, "invalid shape"),
    ],
    ids=repr,
)
def test_invalid_shapes(shape, error, match):
    with pytest.raises(error, match=match):
        unishape.broadcast_shapes((1,), shape)
    with pytest.raises(error, match=match):
        unishape.broadcast_to(np.ones(1), shape)


class Size:
    def __init__(self, index):
        self.index = index

    def __index__(self):
        return self.index()


def test_objects_with_index():
    assert unishape.broadcast_shapes((Size(lambda: 3), 1)) == (3, 1)
    assert unishape.broadcast_shapes(Size(lambda: 3)) == (3,)
    with pytest.raises(ZeroDivisionError):
        unishape.broadcast_shapes((Size(lambda: 1 // 0),))
    with pytest.raises(TypeError, match="invalid shape"):
        unishape.broadcast_shapes((Size(lambda: "3"),))


def test_exceptions_of_generators_propagate():
    def sizes():
        yield 1
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        unishape.broadcast_shapes(sizes())


def test_invalid_arguments():
    for call in [
        lambda: unishape.broadcast_to(np.ones(3)),
        lambda: unishape.broadcast_to(),
        lambda: unishape.broadcast_arrays(np.ones(3), subok=True),
        lambda: unishape.broadcast_shapes((3,), rules=None),
        lambda: unishape.broadcast_shapes((3,), strict_rank="yes"),
    ]:
        with pytest.raises(TypeError):
            call()


def test_ragged_list():
    with pytest.raises(ValueError, match="inhomogeneous"):
        unishape.broadcast_arrays([[1, 2], [3]], 1)


def test_limits_of_numpy():
    most = unishape.broadcast_to(np.ones(1), (1,) * 64)
    assert most.ndim == 64
    with pytest.raises(ValueError, match="at most 64 dimensions, not 65"):
        unishape.broadcast_to(np.ones(1), (1,) * 65)
    assert unishape.broadcast_shapes((1,) * 65, (3,)) == (1,) * 64 + (3,)
    # NumPy limits the number of bytes to 63 bits.
    for shape in [(2**62, 4), (2**31, 2**31, 2), (2**63,), (2**64 - 1,)]:
        with pytest.raises(ValueError, match="too big|more elements"):
            unishape.broadcast_to(np.ones(1, np.int64), shape)


# Arrays of other libraries.


class Exporter:
    """An array that supports only DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class GpuArray(Exporter):
    """An array in GPU memory."""

    def __dlpack_device__(self):
        return 10, 0  # ROCm

    def __dlpack__(self, **options):
        raise BufferError("not on this device")


def test_dlpack_import_without_copy():
    array = np.arange(6.0).reshape(2, 3)
    view, other = unishape.broadcast_arrays(Exporter(array.T), Exporter(np.arange(2)))
    assert view.tolist() == array.T.tolist() and view.ctypes.data == array.ctypes.data
    assert other.tolist() == [[0, 1]] * 3 and not view.flags.writeable
    assert unishape.add(Exporter(array), 1).tolist() == (array + 1).tolist()
    assert unishape.evaluate("a * 2", a=Exporter(array)).tolist() == (array * 2).tolist()


def test_memory_of_other_accelerators_is_rejected():
    with pytest.raises(TypeError, match=r"GpuArray.*cannot be shared.*not on this device.*CPU"):
        unishape.broadcast_to(GpuArray(np.ones(3)), (2, 3))


def test_numpy_imports_views_read_only():
    source = np.arange(3.0)
    view = unishape.broadcast_to(source, (2, 3))
    taken = np.from_dlpack(view)
    assert not taken.flags.writeable
    assert taken.strides == view.strides and np.shares_memory(taken, source)


def test_dlpack_export_is_read_only():
    ctypes = pytest.importorskip("ctypes")

    class Tensor(ctypes.Structure):
        """DLPack's DLManagedTensorVersioned up to the flags."""

        _fields_ = [
            ("major", ctypes.c_uint32),
            ("minor", ctypes.c_uint32),
            ("context", ctypes.c_void_p),
            ("deleter", ctypes.c_void_p),
            ("flags", ctypes.c_uint64),
        ]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for array, read_only in [(unishape.broadcast_to(np.arange(3), (2, 3)), 1), (np.arange(3), 0)]:
        capsule = array.__dlpack__(max_version=(1, 0))
        tensor = Tensor.from_address(get(capsule, b"dltensor_versioned"))
        assert tensor.major == 1 and tensor.flags & 1 == read_only
    # The older protocol has no read-only flag: the export fails.
    with pytest.raises(BufferError, match="readonly"):
        unishape.broadcast_to(np.arange(3), (2, 3)).__dlpack__()


def test_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    array = jax.numpy.arange(3.0)
    view, _ = unishape.broadcast_arrays(array, np.ones((2, 1)))
    assert view.tolist() == [[0.0, 1.0, 2.0]] * 2
    assert view.ctypes.data == array.unsafe_buffer_pointer()
    half = unishape.add(jax.numpy.ones(2, jax.numpy.bfloat16), 1)
    assert half.dtype.name == "bfloat16" and half.astype(float).tolist() == [2.0, 2.0]
    # JAX arrays have no strides: it copies, or raises.
    assert jax.numpy.asarray(view).tolist() == view.tolist()
    with pytest.raises(BufferError, match="pass a copy: .*jax.numpy.asarray"):
        jax.dlpack.from_dlpack(view)


def test_torch():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(3.0)
    view = unishape.broadcast_to(tensor, (2, 3))
    assert view.tolist() == [[0.0, 1.0, 2.0]] * 2 and view.ctypes.data == tensor.data_ptr()
    assert unishape.add(tensor, tensor).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises((TypeError, RuntimeError)):
        unishape.broadcast_to(torch.ones(2, requires_grad=True), (3, 2))


def test_masked_arrays_are_refused():
    masked = np.ma.array([1, 2], mask=[True, False])
    for call in (
        lambda: unishape.broadcast_arrays(masked, np.ones((2, 2))),
        lambda: unishape.broadcast_to(masked, (2, 2)),
        lambda: unishape.evaluate("masked + 1", masked=masked),
    ):
        with pytest.raises(TypeError, match="^(masked: )?masked arrays are not supported; use .filled"):
            call()
