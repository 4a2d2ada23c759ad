"""sum_to and explain."""

import xml.etree.ElementTree

import numpy as np
import pytest
from arrays import FLOATS, INTEGERS, LAYOUTS, random_shapes

import unishape


def numpy_sum_to(x, shape):
    """Sums over added and stretched dimensions."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))), dtype=x.dtype)
    stretched = tuple(axis for axis, size in enumerate(shape) if size == 1 and x.shape[axis] != 1)
    return x.sum(axis=stretched, keepdims=True, dtype=x.dtype).reshape(shape)


@pytest.mark.parametrize("dtype", [*INTEGERS, FLOATS[2], FLOATS[3], np.dtype(np.complex128)], ids=str)
def test_sum_to_matches_numpy(dtype):
    rng = np.random.default_rng(1)
    for _ in range(60):
        shape, other = random_shapes(rng, 2)
        common = np.broadcast_shapes(shape, other)
        x = np.nan_to_num(rng.choice(LAYOUTS)(rng, common, dtype), posinf=1)
        result = unishape.sum_to(x, shape)
        assert result.dtype == dtype and result.shape == shape
        rtol = 1e-4 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(result, numpy_sum_to(x, shape), rtol=rtol, atol=1e-4)


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
        (np.ones((2, 2), bool), (2,), TypeError),
        (np.array(["a"]), (1,), TypeError),
        (np.ones(2), (None,), ValueError),
        (np.ones(2), "2", TypeError),
    ],
)
def test_invalid_sum_to(x, shape, error):
    with pytest.raises(error):
        unishape.sum_to(x, shape)


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
