"""Tensors on the CPU with the interface of PyTorch that unishape uses: a stand-in for its large package."""

import numpy as np


class dtype:  # noqa: N801
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"torch.{self.name}"


int16, bfloat16 = dtype("int16"), dtype("bfloat16")


class Tensor:
    layout = "torch.strided"
    is_sparse = False

    def __init__(self, array, dtype=None):
        self._array, self.requires_grad = array, False
        self.dtype = dtype or globals().get(array.dtype.name, array.dtype.name)

    @property
    def shape(self):
        return self._array.shape

    @property
    def ndim(self):
        return self._array.ndim

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        raise BufferError("unishape reads tensors of PyTorch by their own methods")

    def numpy(self):
        if self.dtype is bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return self._array

    def view(self, dtype):
        return Tensor(self._array, dtype)

    def detach(self):
        return Tensor(self._array, self.dtype)

    def requires_grad_(self):
        self.requires_grad = True
        return self

    def resolve_conj(self):
        return self

    resolve_neg = resolve_conj


Tensor.__module__ = "torch"


def from_numpy(array):
    if array.dtype.name == "bfloat16":
        raise TypeError("can't convert np.ndarray of type ml_dtypes.bfloat16")
    return Tensor(np.asarray(array))
