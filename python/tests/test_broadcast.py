"""broadcast_arrays, broadcast_to, broadcast_shapes: every element, type and stride beside NumPy's."""

import ctypes
import gc
import itertools
import sys
import weakref

import numpy as np
import pytest
from arrays import ALL, LAYOUTS, assert_same, filled, random_shapes

import unishape


def assert_view(view, source):
    """A read-only view of the source's own memory, stretched by strides of 0."""
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
def test_every_element_is_numpys(dtype):
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


def test_arrays_of_different_types_together():
    rng = np.random.default_rng(1)
    for _ in range(300):
        shapes = random_shapes(rng, 6, most=7)
        arrays = [rng.choice(LAYOUTS)(rng, shape, ALL[rng.integers(len(ALL))]) for shape in shapes]
        views = unishape.broadcast_arrays(*arrays)
        for view, array, expected in zip(views, arrays, np.broadcast_arrays(*arrays), strict=True):
            assert_same(view, expected)
            assert_view(view, array)


def test_every_pair_of_small_shapes_goes_together_or_not_as_in_numpy():
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


def test_no_arrays_and_one():
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


def test_numbers_lists_and_scalars_are_arrays_too():
    a, b, c, d = unishape.broadcast_arrays(1, [1.5, 2.5], np.float32(3), "ab")
    assert [x.dtype for x in (a, b, c, d)] == [int, float, np.float32, "U2"]
    assert a.tolist() == [1, 1] and c.tolist() == [3.0, 3.0] and d.tolist() == ["ab", "ab"]


def test_subclasses_come_out_as_plain_arrays():
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
    # What is written to the array itself is seen through the views: nothing was copied.
    original[1] = 20
    assert views[0].tolist() == [[1, 20, 3]] * 2


@pytest.mark.parametrize("dtype", [dtype for dtype in ALL if dtype.kind in "OTfU" or dtype.hasobject], ids=str)
def test_a_view_keeps_the_memory(dtype):
    rng = np.random.default_rng(5)
    source = filled(rng, (40, 1), dtype)
    expected = source.copy()
    gone = weakref.ref(source)
    view = unishape.broadcast_to(source, (2, 40, 3))
    part = view[1, ::-2, 1]
    del source, view
    gc.collect()
    filled(rng, (40, 1), dtype)  # which would take the memory if it were free
    assert gone() is not None
    assert_same(part, expected[::-2, 0])
    del part
    gc.collect()
    assert gone() is None


def test_references_are_given_back():
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


def test_far_more_elements_than_memory():
    view = unishape.broadcast_to(np.array([1, 2], np.int8), (10**6, 10**6, 10**6, 2))
    assert view[-1, -1, -1].tolist() == [1, 2]


# Shapes.


def test_sizes_that_are_not_known():
    assert unishape.broadcast_shapes((None, 3), (1, 1)) == (None, 3)
    assert unishape.broadcast_shapes((None, 3), (7, 1)) == (7, 3)
    assert unishape.broadcast_shapes((None,), (None,)) == (None,)
    assert unishape.broadcast_shapes((None,), ()) == (None,)
    assert unishape.broadcast_shapes((None,), (0,)) == (0,)
    with pytest.raises(ValueError, match="known"):
        unishape.broadcast_to(np.arange(3), (None, 3))


def test_an_integer_is_a_shape_and_numpys_are_too():
    assert unishape.broadcast_shapes(3, 1) == (3,)
    assert unishape.broadcast_shapes(np.int64(3), [np.uint8(2), 1]) == (2, 3)
    assert unishape.broadcast_shapes(np.array([2, 1]), (True, 5)) == (2, 5)
    assert all(type(size) is int for size in unishape.broadcast_shapes(np.array([2, 1]), (np.int8(1), 5)))
    assert unishape.broadcast_to(np.ones(1), 2).shape == (2,)
    assert unishape.broadcast_shapes(size for size in (2, 1)) == (2, 1)


def test_equal_ranks_on_request():
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


def test_the_rules_of_sonnx():
    assert unishape.broadcast_shapes((2, 1), (3,), rules="sonnx") == (2, 3)
    assert unishape.broadcast_shapes((1,), (0,)) == (0,)
    with pytest.raises(ValueError, match="E1"):
        unishape.broadcast_shapes((1,), (0,), rules="sonnx")
    with pytest.raises(ValueError, match="at least 1"):
        unishape.broadcast_arrays(rules="sonnx")
    with pytest.raises(ValueError):
        unishape.broadcast_to(np.ones(1), (0,), rules="sonnx")
    with pytest.raises(ValueError, match='there are "standard" and "sonnx"'):
        unishape.broadcast_shapes((1,), rules="numpy")


# What goes wrong.

PICTURE = """\
E1: incompatible shapes in dimension 1: input 0 has 2, input 1 has 4

  input 0      2 x 1
  input 1  8 x 4 x 3
               ^
Shapes are aligned on the right; in each column every size must be 1 or the same."""


def test_shapes_that_do_not_go_together_are_drawn():
    for call in [
        lambda: unishape.broadcast_shapes((2, 1), (8, 4, 3)),
        lambda: unishape.broadcast_arrays(np.ones((2, 1)), np.ones((8, 4, 3))),
    ]:
        with pytest.raises(ValueError) as raised:
            call()
        assert str(raised.value).strip() == PICTURE
    with pytest.raises(ValueError, match="input 0.*input 2"):
        unishape.broadcast_arrays(np.ones(2), np.ones((5, 1)), np.ones(3))


@pytest.mark.parametrize(
    ("shape", "error", "match"),
    [
        ((2.0, 3), TypeError, "no shape"),
        (2.5, TypeError, "no shape"),
        ("23", TypeError, "no shape"),
        (("2", 3), TypeError, "no shape"),
        ((2, (3,)), TypeError, "no shape"),
        (object(), TypeError, "no shape"),
        ({"a": 1}, TypeError, "no shape"),
        ((-1, 3), ValueError, "cannot be negative: -1"),
        (-3, ValueError, "cannot be negative: -3"),
        ((10**30,), ValueError, "too large"),
        (np.ones((2, 2), int), TypeError, "no shape"),
        (np.array([2.0]), TypeError, "no shape"),
    ],
    ids=repr,
)
def test_what_is_no_shape(shape, error, match):
    with pytest.raises(error, match=match):
        unishape.broadcast_shapes((1,), shape)
    with pytest.raises(error, match=match):
        unishape.broadcast_to(np.ones(1), shape)


class Size:
    def __init__(self, index):
        self.index = index

    def __index__(self):
        return self.index()


def test_objects_that_are_sizes():
    assert unishape.broadcast_shapes((Size(lambda: 3), 1)) == (3, 1)
    assert unishape.broadcast_shapes(Size(lambda: 3)) == (3,)
    with pytest.raises(ZeroDivisionError):
        unishape.broadcast_shapes((Size(lambda: 1 // 0),))
    with pytest.raises(TypeError, match="no shape"):
        unishape.broadcast_shapes((Size(lambda: "3"),))


def test_a_mistake_in_a_generator_is_told_as_it_is():
    def sizes():
        yield 1
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        unishape.broadcast_shapes(sizes())


def test_wrong_arguments():
    for call in [
        lambda: unishape.broadcast_to(np.ones(3)),
        lambda: unishape.broadcast_to(),
        lambda: unishape.broadcast_arrays(np.ones(3), subok=True),
        lambda: unishape.broadcast_shapes((3,), rules=None),
        lambda: unishape.broadcast_shapes((3,), strict_rank="yes"),
    ]:
        with pytest.raises(TypeError):
            call()


def test_a_ragged_list_is_numpys_error():
    with pytest.raises(ValueError, match="inhomogeneous"):
        unishape.broadcast_arrays([[1, 2], [3]], 1)


def test_numpys_limits():
    most = unishape.broadcast_to(np.ones(1), (1,) * 64)
    assert most.ndim == 64
    with pytest.raises(ValueError, match="at most 64 dimensions, not 65"):
        unishape.broadcast_to(np.ones(1), (1,) * 65)
    assert unishape.broadcast_shapes((1,) * 65, (3,)) == (1,) * 64 + (3,)
    # NumPy counts bytes in 63 bits. With a size of 0 there are none to count.
    for shape in [(2**62, 4), (2**31, 2**31, 2), (2**63,), (2**64 - 1,)]:
        with pytest.raises(ValueError, match="too big|more elements"):
            unishape.broadcast_to(np.ones(1, np.int64), shape)


# Arrays of other libraries.


class Exporter:
    """Somebody's array, which can do nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


class Elsewhere(Exporter):
    """One whose memory is on a GPU."""

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **options):
        raise BufferError("not on this device")


def test_arrays_come_in_by_dlpack_without_a_copy():
    array = np.arange(6.0).reshape(2, 3)
    view, other = unishape.broadcast_arrays(Exporter(array.T), Exporter(np.arange(2)))
    assert view.tolist() == array.T.tolist() and view.ctypes.data == array.ctypes.data
    assert other.tolist() == [[0, 1]] * 3 and not view.flags.writeable
    assert unishape.add(Exporter(array), 1).tolist() == (array + 1).tolist()
    assert unishape.evaluate("a * 2", a=Exporter(array)).tolist() == (array * 2).tolist()


def test_memory_that_is_not_the_cpus_is_refused():
    with pytest.raises(TypeError, match=r"Elsewhere.*cannot be shared.*not on this device.*CPU"):
        unishape.broadcast_to(Elsewhere(np.ones(3)), (2, 3))


def test_numpy_takes_what_comes_out_and_keeps_it_read_only():
    source = np.arange(3.0)
    view = unishape.broadcast_to(source, (2, 3))
    taken = np.from_dlpack(view)
    assert not taken.flags.writeable
    assert taken.strides == view.strides and np.shares_memory(taken, source)


class Tensor(ctypes.Structure):
    """DLPack's DLManagedTensorVersioned, as far as the flags."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
    ]


def test_what_comes_out_says_that_it_is_read_only():
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    for array, read_only in [(unishape.broadcast_to(np.arange(3), (2, 3)), 1), (np.arange(3), 0)]:
        capsule = array.__dlpack__(max_version=(1, 0))
        tensor = Tensor.from_address(get(capsule, b"dltensor_versioned"))
        assert tensor.major == 1 and tensor.flags & 1 == read_only
    # A consumer that knows only the older protocol could write: it is refused.
    with pytest.raises(BufferError, match="readonly"):
        unishape.broadcast_to(np.arange(3), (2, 3)).__dlpack__()


def test_jax_in_and_out():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_platforms", "cpu")
    array = jax.numpy.arange(3.0)
    view, _ = unishape.broadcast_arrays(array, np.ones((2, 1)))
    assert view.tolist() == [[0.0, 1.0, 2.0]] * 2
    assert view.ctypes.data == array.unsafe_buffer_pointer()
    half = unishape.add(jax.numpy.ones(2, jax.numpy.bfloat16), 1)
    assert half.dtype.name == "bfloat16" and half.astype(float).tolist() == [2.0, 2.0]
    # JAX has arrays without strides only: it copies, or refuses.
    assert jax.numpy.asarray(view).tolist() == view.tolist()
    with pytest.raises(BufferError, match="give it a copy: .*jax.numpy.asarray"):
        jax.dlpack.from_dlpack(view)


def test_torch_in_and_out():
    torch = pytest.importorskip("torch")
    tensor = torch.arange(3.0)
    view = unishape.broadcast_to(tensor, (2, 3))
    assert view.tolist() == [[0.0, 1.0, 2.0]] * 2 and view.ctypes.data == tensor.data_ptr()
    assert unishape.add(tensor, tensor).tolist() == [0.0, 2.0, 4.0]
    with pytest.raises((TypeError, RuntimeError)):
        unishape.broadcast_to(torch.ones(2, requires_grad=True), (3, 2))
