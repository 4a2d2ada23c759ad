"""Views of other libraries' arrays."""

import numpy as np


class View(np.ndarray):
    """A stretched view of an array of another library's.

    It is NumPy's array, and says what to do where the other library cannot take it back as it is.
    """

    def __dlpack__(self, **options):
        try:
            return super().__dlpack__(**options)
        except BufferError as error:
            raise BufferError(
                "this view is read-only and may repeat elements without having them twice, which the library that asks "
                "for it by DLPack does not understand; give it a copy: from_dlpack(numpy.array(view)), or with JAX "
                "jax.numpy.asarray(view)"
            ) from error
