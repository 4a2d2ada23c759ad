"""A program of a user with types, which type checkers accept in strict mode."""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import unishape
import unishape.array_api as xp

Array = NDArray[Any]


def normalised(x: NDArray[np.float32], axis: int = -1) -> Array:
    mean = x.mean(axis=axis, keepdims=True)
    var = x.var(axis=axis, keepdims=True)
    return unishape.evaluate("(x - mean) / sqrt(var + eps)", {"x": x, "mean": mean, "var": var}, eps=1e-5)


class Tensor:
    """A type of another library, as PyTorch's."""

    requires_grad = False


def of_tensors(x: Tensor) -> list[Tensor]:
    total: Tensor = unishape.add(x, 1.5)
    chosen: Tensor = unishape.where([True], x, 0)
    evaluated: Tensor = unishape.evaluate("x * 2", {"x": x})
    by_keyword: Tensor = unishape.evaluate("x * k", x=x, k=2.5, out=evaluated)
    view: Tensor = unishape.broadcast_to(x, (2, 3))
    views: list[Tensor] = [*unishape.broadcast_arrays(x, total)]
    added: Tensor = unishape.add(x, 1, out=total)
    return [total, chosen, evaluated, by_keyword, view, added, *views, unishape.clip(x, 0), unishape.round(x, 1, out=x)]


def of_device_arrays(x: unishape.DeviceArray) -> Any:
    return [unishape.add(x, x), unishape.evaluate("sum(x)", x=x), unishape.broadcast_to(x, (2, 3)).shape]


def main() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.empty((2, 3), np.float32)
    assert_type(unishape.add(x, 1.5), Array)
    assert_type(unishape.add(x, [1, 2, 3], out=out, where=x > 1, casting="unsafe"), Array)
    assert_type(unishape.sqrt(x, out), Array)
    assert_type(unishape.sqrt(unishape.lazy(x)), unishape.Lazy)
    assert_type(unishape.maximum(x, unishape.lazy(x)), unishape.Lazy)
    assert_type(unishape.where(x > 1, x, unishape.lazy(x)), unishape.Lazy)
    assert_type(unishape.clip(x, 0, None), Array)
    assert_type(unishape.round(x, 2, order="F"), Array)
    assert_type(unishape.divmod(x, 2), tuple[Array, Array])
    assert_type(unishape.lazy(x) * 2 + x, unishape.Lazy)
    assert_type(unishape.evaluate(["x + 1", "x * 2"], {"x": x}), list[Array])
    assert_type(unishape.broadcast_shapes((2, 1), 3), tuple[int, ...])
    assert_type(unishape.broadcast_arrays(x, x[0]), tuple[Array, ...])
    assert_type(unishape.broadcast_to(x, (2, 2, 3)), Array)
    assert_type(unishape.evaluate("x + y", x=x, y=1), Array)
    assert_type(unishape.evaluate("2 * x"), Array)
    assert_type(xp.add(x, x), Array)
    print(normalised(x).shape, unishape.explain((3, 1), (4,)).text(), unishape.get_num_threads())


if __name__ == "__main__":
    main()
