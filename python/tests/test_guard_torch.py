"""The guard with PyTorch: the real one where it is installed, and a small one that has the same modes."""

import importlib.util
import subprocess
import sys
import threading

import fake_torch
import pytest

import unishape

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed; its wheel takes gigabytes")


@pytest.fixture(params=["fake", pytest.param("real", marks=needs_torch)])
def torch(request, monkeypatch):
    if request.param == "real":
        import torch

        # Losses are functions of torch.nn.functional.
        monkeypatch.setattr(torch, "mse_loss", torch.nn.functional.mse_loss, raising=False)
        return torch
    return fake_torch.install(monkeypatch)


def modes(torch):
    return torch.overrides._get_current_function_mode_stack()


def test_operators(torch):
    column, vector = torch.ones(4, 1), torch.ones(4)
    with unishape.guard(policy="collect") as watch:
        result = column - vector
        column == vector  # noqa: B015
        column - column
        column[:, 0] - vector
        column[:, None, 0] * vector
        column * 2
        torch.ones(3, 4) * vector
    assert tuple(result.shape) == (4, 4)
    assert [each.expression for each in watch.suspicious] == ["column - vector", "column == vector"]
    assert len(watch.sites) == 4 and modes(torch) == []
    assert watch.suspicious[0].shapes == ((4, 1), (4,)) and watch.suspicious[0].file == __file__


@pytest.mark.filterwarnings("ignore:Using a target size")
def test_losses(torch):
    prediction, target = torch.ones(4, 1), torch.ones(4)
    with unishape.guard(policy="collect") as watch:
        torch.mse_loss(prediction, target)
    assert [each.names for each in watch.suspicious] == [("prediction", "target")]


def test_lost_dimension(torch):
    x = torch.ones(4, 4)
    with unishape.guard(policy="collect") as watch:
        x - x.mean(dim=1)
        x - x.mean(dim=0)
    assert [each.expression for each in watch.suspicious] == ["x - x.mean(dim=1)"]


def test_repeated_operations_are_counted_by_the_innermost_guard(torch):
    column, vector = torch.ones(4, 1), torch.ones(4)

    def operate(times, other):
        for _ in range(times):
            column - other

    with unishape.guard(policy="collect") as outer:
        operate(3, vector)
        with unishape.guard(policy="collect") as inner:
            operate(2, vector)
        operate(4, vector)
        operate(2, torch.ones(5))
        with unishape.guard(policy="raise"), pytest.raises(unishape.SuspiciousBroadcastError):
            operate(1, vector)
        with unishape.guard(policy="raise") as strict:
            for _ in range(2):
                with pytest.raises(unishape.SuspiciousBroadcastError):
                    operate(1, vector)
    assert [each.count for each in outer.sites] == [7, 2] and len(outer.suspicious) == 1
    assert [each.count for each in inner.suspicious] == [2] and [each.count for each in strict.sites] == [2]


def test_raise(torch):
    with unishape.guard(policy="raise"), pytest.raises(unishape.SuspiciousBroadcastError, match=r"torch.ones\(4, 1\)"):
        torch.ones(4, 1) - torch.ones(4)
    assert modes(torch) == []


def test_left_in_another_order(torch):
    class Other(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), options=None):
            return function(*arguments, **(options or {}))

    first, second, other = unishape.guard(policy="collect"), unishape.guard(policy="collect"), Other()
    first.__enter__()
    other.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    torch.ones(4, 1) - torch.ones(4)
    second.__exit__(None, None, None)
    assert modes(torch) == [other]
    other.__exit__(None, None, None)
    assert len(second.suspicious) == 1 and first.sites == []


def test_threads_are_apart(torch):
    def other():
        torch.ones(4, 1) - torch.ones(4)
        with unishape.guard(policy="collect") as watch:
            torch.ones(4, 1) - torch.ones(4)
        found.extend(watch.suspicious)
        assert modes(torch) == []

    found = []
    with unishape.guard(policy="collect") as watch:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(found) == 1 and watch.sites == []


@needs_torch
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_functions_and_training_of_pytorch():
    import torch

    torch.manual_seed(0)
    model, x, y = torch.nn.Linear(3, 1), torch.ones(8, 3), torch.ones(8)
    with unishape.guard(policy="collect") as watch:
        prediction = model(x)
        loss = torch.nn.HuberLoss()(prediction, y)
        torch.nn.functional.smooth_l1_loss(prediction, y)
        torch.where(y > 0, prediction, y)
        prediction.eq(y)
        torch.maximum(prediction, y)
        prediction.squeeze(1).sub(y)
        prediction.unsqueeze(0) * 2 + y.unsqueeze(-1) - y.view(-1, 1)
        loss.backward()
    assert [each.operation for each in watch.suspicious] == ["huber_loss", "smooth_l1_loss", "where", "eq", "maximum"]
    assert all(each.file == __file__ for each in watch.suspicious)


@needs_torch
def test_pytorch_that_is_imported_by_the_program(tmp_path):
    (tmp_path / "script.py").write_text("import torch\nprint((torch.ones(3, 1) - torch.ones(3)).shape)\n")
    command = [sys.executable, "-m", "unishape", "guard", "--policy", "collect", "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert "suspicious broadcast: torch.ones(3, 1) - torch.ones(3)" in done.stderr and done.returncode == 0
