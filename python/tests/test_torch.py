"""Tensors of the real PyTorch on the CPU. Its wheel takes gigabytes: test_containers.py has a stand-in.

To run it: pip install torch, in an environment of its own with this package, and pytest python/tests/test_torch.py.
"""

import numpy as np
import pytest

import unishape
from unishape import evaluate, lazy

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def test_results_are_tensors():
    x = torch.arange(6.0).reshape(2, 3)
    for result in (
        evaluate("x * 2 + 1", x=x),
        evaluate("x * 2 + 1", {"x": x}),
        evaluate("x * 2 + 1"),
        unishape.add(unishape.multiply(x, 2), 1),
        (lazy(x) * 2 + 1).compute(),
    ):
        assert isinstance(result, torch.Tensor) and torch.equal(result, x * 2 + 1)
    total = evaluate("sum(x, axis=0)", x=x)
    assert torch.equal(total, x.sum(0)) and torch.equal(unishape.sum_to(x, (3,)), x.sum(0))
    assert isinstance(evaluate("sum(x)", x=x), torch.Tensor) and evaluate("sum(x)", x=x).item() == 15
    both = evaluate(["x + 1", "x.T * 2"], x=x)
    assert torch.equal(both[0], x + 1) and torch.equal(both[1], x.T * 2)


def test_the_first_array_decides():
    x, array = torch.ones(3), np.ones(3)
    assert isinstance(unishape.add(x, array), torch.Tensor) and isinstance(unishape.add(array, x), np.ndarray)
    assert isinstance(unishape.add(1, x), torch.Tensor) and isinstance(unishape.where(x > 0, x, 0), torch.Tensor)


NAMES = "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 bool complex64 complex128".split()


@pytest.mark.parametrize("name", NAMES)
def test_dtypes(name):
    dtype = getattr(torch, name)
    x = torch.tensor([0, 1, 3]).to(dtype)
    assert torch.equal(unishape.add(x, x), x + x) and unishape.add(x, x).dtype == dtype
    assert torch.equal(evaluate("x * y", x=x, y=x.reshape(3, 1)), x * x.reshape(3, 1))
    out = torch.empty(3, dtype=dtype)
    assert unishape.add(x, x, out=out) is out and torch.equal(out, x + x)


def test_bfloat16_is_computed_with_its_own_precision():
    x = torch.rand(1000, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    assert torch.equal(evaluate("x * x + x", x=x), x * x + x)
    assert evaluate("x * 2", x=x).dtype == torch.bfloat16
    assert evaluate("x * 0.5", x=x).dtype == torch.float32, "as NumPy with ml_dtypes"
    assert torch.equal(evaluate("sum(x)", x=x), evaluate("sum(x)", x=x.clone()))


def test_layouts():
    x = torch.arange(24.0).reshape(2, 3, 4)
    views = [x.permute(2, 0, 1), x[:, ::2], x[..., 1], x.flip(0), x.expand(5, 2, 3, 4), torch.empty(0, 3), x[0, 0, 0]]
    for view in views:
        assert torch.equal(unishape.multiply(view, 2), view * 2)
    assert torch.equal(unishape.add(torch.ones(3, 1), torch.ones(4)), torch.full((3, 4), 2.0))


def test_conjugated_and_negated_tensors():
    x = torch.tensor([1 + 2j, 3 - 1j])
    assert torch.equal(unishape.add(x.conj(), 0), x.conj().resolve_conj())
    assert torch.equal(unishape.add(x.conj().imag, 0), x.conj().imag.resolve_neg())


def test_outputs():
    x, out = torch.arange(3.0), torch.zeros(3)
    assert evaluate("x * 2", x=x, out=out) is out and out.tolist() == [0, 2, 4]
    assert (lazy(x) + 5).compute(out=out) is out and out.tolist() == [5, 6, 7]
    assert unishape.sum_to(torch.ones(2, 3), (3,), out=out) is out and out.tolist() == [2, 2, 2]
    assert unishape.sqrt(np.full(3, 4.0, np.float32), out=out) is out and out.tolist() == [2, 2, 2]
    whole = torch.zeros(2, 3)
    unishape.add(x, 1, out=whole[1])
    assert whole.tolist() == [[0, 0, 0], [1, 2, 3]]
    array = np.empty(3, np.float32)
    assert unishape.add(x, 1, out=array) is array and array.tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="cannot cast the result from float32 to int64"):
        unishape.add(x, 1, out=torch.zeros(3, dtype=torch.int64))
    with pytest.raises(ValueError, match="shape"):
        unishape.add(x, 1, out=torch.zeros(4))
    assert unishape.add(out, out, out=out) is out


def test_gradients_are_refused():
    x = torch.ones(3, requires_grad=True)
    for call in (
        lambda: evaluate("x + 1", x=x),
        lambda: unishape.add(x, 1),
        lambda: unishape.add(torch.ones(3), x * 2),
        lambda: lazy(x),
        lambda: unishape.sum_to(x, ()),
        lambda: unishape.add(1.0, 2.0, out=x),
    ):
        with pytest.raises(TypeError, match=r"requires grad.*pass x.detach\(\)"):
            call()
    assert torch.equal(unishape.add(x.detach(), 1), x.detach() + 1)
    with torch.no_grad():
        assert torch.equal(unishape.add(x * 2, 1), x * 2 + 1)
    parameter = torch.nn.Parameter(torch.ones(2))
    with pytest.raises(TypeError, match="requires grad"):
        unishape.add(parameter, 1)
    assert isinstance(unishape.add(parameter.data, 1), torch.Tensor)


def test_errors_name_the_shapes():
    with pytest.raises(unishape.BroadcastError):
        unishape.add(torch.ones(3), torch.ones(4))
    with pytest.raises(TypeError, match="to_dense"):
        unishape.add(torch.eye(3).to_sparse(), 1)


def test_lazy_values_are_tensors_to_torch():
    value = lazy(np.arange(3.0)) * 2
    for tensor in (torch.as_tensor(value), torch.tensor(value), torch.from_dlpack(value)):
        assert tensor.dtype == torch.float64 and tensor.tolist() == [0, 2, 4]
    x = torch.ones(3, dtype=torch.float64)
    for sum_ in (value + x, x + value):
        result = sum_.compute() if isinstance(sum_, unishape.Lazy) else sum_
        assert result.tolist() == [1, 3, 5]


def test_guard_finds_a_broadcast():
    with unishape.guard(policy="collect") as guard:
        ((torch.ones(5, 1) - torch.ones(5)) ** 2).mean()
    assert len(guard.sites) >= 1
