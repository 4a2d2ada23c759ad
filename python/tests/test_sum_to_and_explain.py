"""sum_to and explain."""

import tracemalloc
import xml.etree.ElementTree

import numpy as np
import pytest
from arrays import FLOATS, INTEGERS, LAYOUTS, random_shapes

import unishape


def numpy_sum_to(x, shape):
    """Sums over added and stretched dimensions."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and x.shape[axis] != 1)
    return x.sum(axis=stretched, keepdims=True).reshape(shape)


@pytest.mark.parametrize("dtype", [*INTEGERS, np.dtype(bool), FLOATS[-2], FLOATS[-1], np.dtype(np.complex128)], ids=str)
def test_sum_to_matches_numpy(dtype):
    rng = np.random.default_rng(1)
    for _ in range(60):
        shape, other = random_shapes(rng, 2)
        common = np.broadcast_shapes(shape, other)
        x = np.nan_to_num(rng.choice(LAYOUTS)(rng, common, dtype), posinf=1)
        result, expected = unishape.sum_to(x, shape), numpy_sum_to(x, shape)
        assert result.dtype == expected.dtype and result.shape == shape
        rtol = 1e-4 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=1e-4)
        out = np.empty(shape, expected.dtype)
        assert unishape.sum_to(x, shape, out=out) is out and out.tobytes() == result.tobytes()
        assert unishape.sum_to(unishape.lazy(x), shape).tobytes() == result.tobytes()


def test_sum_to_is_the_gradient_of_broadcast_to():
    x, g = np.arange(3.0), np.arange(12.0).reshape(4, 3)
    assert np.vdot(unishape.broadcast_to(x, (4, 3)), g) == np.vdot(x, unishape.sum_to(g, (3,)))


def test_sum_to_does_not_depend_on_threads():
    x = np.random.default_rng(2).normal(size=(3000, 1000)).astype(np.float32)
    one, all_ = unishape.sum_to(x, (1,), threads=1), unishape.sum_to(x, (1,))
    assert one.tobytes() == all_.tobytes()
    np.testing.assert_allclose(one, x.sum(dtype=np.float64), rtol=1e-3)


@pytest.mark.parametrize(
    ("x", "shape", "error"),
    [
        (np.ones((2, 2)), (3,), ValueError),
        (np.ones(2), (1, 2), ValueError),
        (np.ones((2, 2)) > 0, (3,), ValueError),
        (np.array(["a"]), (1,), TypeError),
        (np.ones(2), (None,), ValueError),
        (np.ones(2), "2", TypeError),
    ],
)
def test_invalid_sum_to(x, shape, error):
    with pytest.raises(error):
        unishape.sum_to(x, shape)


def test_sums_of_small_integers_do_not_overflow():
    x = np.full((1000, 2), 100, np.int8)
    assert unishape.sum_to(x, (2,)).tolist() == [100_000] * 2
    assert unishape.sum_to(x > 0, ()).item() == 2000
    assert unishape.sum_to(x, (2,), dtype=np.int8).tolist() == x.sum(axis=0, dtype=np.int8).tolist()


def test_sum_to_casts_to_out():
    out = np.empty(3, np.float32)
    unishape.sum_to(np.ones((5, 3)), (3,), out=out)
    assert out.tolist() == [5, 5, 5]
    with pytest.raises(TypeError, match="cannot cast"):
        unishape.sum_to(np.ones((5, 3)), (3,), out=np.empty(3, int))
    with pytest.raises(ValueError, match="shape"):
        unishape.sum_to(np.ones((5, 3)), (3,), out=np.empty(5))


def test_lazy_values_are_summed_without_being_stored():
    points = np.random.default_rng(3).random((600, 1, 3))
    others = unishape.lazy(points[:, 0])
    expected = ((points - points[:, 0]) ** 2).sum(axis=(0, 2))
    tracemalloc.start()
    result = unishape.sum_to(((points - others) ** 2).sum(axis=-1), (600,))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(result, expected)
    assert peak < 1_000_000, "the distances would take 2.9 MB, the differences 8.6 MB"


def test_explanation_formats():
    explanation = unishape.explain((2, 1), np.array([10, 20, 30]))
    assert explanation.shape == (2, 3)
    assert "2x1 with 3 gives 2x3" in repr(explanation) and "20" in explanation.text()
    assert "\x1b[" in explanation.text(color=True) and "\x1b[" not in explanation.text()
    for svg in (explanation.svg(), explanation._repr_svg_()):
        assert xml.etree.ElementTree.fromstring(svg).tag.endswith("svg")
    assert explanation.html().lstrip().lower().startswith("<!doctype html")
    narrow, wide = (explanation.text(width=width).splitlines() for width in (40, 120))
    assert max(map(len, narrow)) <= max(map(len, wide))


def test_invalid_explanations():
    with pytest.raises(ValueError, match="E1"):
        unishape.explain((2,), (3,))
    with pytest.raises(TypeError, match="invalid shape"):
        unishape.explain("abc")
    with pytest.raises(ValueError, match="known"):
        unishape.explain((None,), (3,))
