"""Views of other libraries' arrays."""

import numpy as np


class View(np.ndarray):
    """A broadcast view of another library's array, with a helpful error where DLPack cannot export it."""

    def __dlpack__(self, **options):
        try:
            return super().__dlpack__(**options)
        except BufferError as error:
            raise BufferError(
                "this view is read-only and may have strides of 0, which the importing library does not support by "
                "DLPack; pass a copy: from_dlpack(numpy.array(view)), or jax.numpy.asarray(view) with JAX"
            ) from error

    def __array_wrap__(self, array, context=None, return_scalar=False):
        """Results of functions are plain arrays."""
        return array
