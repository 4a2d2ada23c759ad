"""The part of PyTorch that the guard uses: tensors whose operators go through a stack of modes, per thread.

PyTorch's wheel takes gigabytes. test_guard_torch.py runs the same tests with the real one where it is installed.
"""

import sys
import threading
import types

import numpy as np


class _Stack(threading.local):
    def __init__(self):
        self.modes = []


_stack = _Stack()


class TorchFunctionMode:
    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, *_):
        _pop_mode()


def _push_mode(mode):
    _stack.modes.append(mode)


def _pop_mode():
    return _stack.modes.pop()


def _get_current_function_mode_stack():
    return list(_stack.modes)


def _overridable(compute):
    """A function that goes through the innermost mode, which is off meanwhile, as in PyTorch."""

    def function(*arguments):
        if not _stack.modes:
            return compute(*arguments)
        mode = _stack.modes.pop()
        try:
            return mode.__torch_function__(function, (Tensor,), arguments, None)
        finally:
            _stack.modes.append(mode)

    function.__name__ = compute.__name__
    return function


class Tensor:
    def __init__(self, array):
        self.array = np.asarray(array)

    shape = property(lambda self: self.array.shape)
    ndim = property(lambda self: self.array.ndim)

    def __getitem__(self, index):
        return Tensor(self.array[index])

    def mean(self, dim):
        return Tensor(self.array.mean(dim))


def _operator(name):
    def compute(a, b):
        b = b.array if isinstance(b, Tensor) else b
        # Plain elements: NumPy's own operations are not what is tested.
        return Tensor(np.frompyfunc(lambda x, y: getattr(float(x), name)(float(y)), 2, 1)(a.array, b))

    compute.__name__ = name
    return _overridable(compute)


for _name in ("__sub__", "__mul__", "__eq__"):
    setattr(Tensor, _name, _operator(_name))


@_overridable
def mse_loss(a, b):
    return Tensor(((a.array - b.array) ** 2).mean())


def install(monkeypatch):
    """Makes `import torch` import this one."""
    torch, overrides = types.ModuleType("torch"), types.ModuleType("torch.overrides")
    torch.Tensor, torch.overrides, torch.__file__ = Tensor, overrides, __file__
    torch.ones = lambda *shape: Tensor(np.ones(shape))
    torch.mse_loss = mse_loss
    for each in (TorchFunctionMode, _push_mode, _pop_mode, _get_current_function_mode_stack):
        setattr(overrides, each.__name__, each)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch.overrides", overrides)
    return torch
