"""A namespace of the Python array API standard.

Broadcasting and element-wise functions are those of unishape; arrays, dtypes and all other functions are those of
NumPy. Operators are NumPy's, too: `x + y` calls NumPy, `xp.add(x, y)` calls unishape.

>>> import unishape.array_api as xp
>>> x = xp.asarray([[1.0], [2.0]])
>>> xp.add(x, xp.asarray([10.0, 20.0])).tolist()
[[11.0, 21.0], [12.0, 22.0]]
"""

import numpy as _numpy

import unishape as _unishape

# Names of the standard's version 2025.12, without NumPy's aliases.
_UNISHAPE_NAMES = """
    abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide
    greater greater_equal hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp
    logical_and logical_not logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive
    pow real reciprocal remainder round sign signbit sin sinh sqrt square subtract tan tanh trunc
    where broadcast_arrays broadcast_shapes broadcast_to
""".split()

_NUMPY_NAMES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
    e inf nan newaxis pi __array_namespace_info__ linalg fft
    arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros
    zeros_like astype can_cast finfo iinfo isdtype result_type take take_along_axis
    matmul matrix_transpose tensordot vecdot
    concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile unstack
    argmax argmin count_nonzero nonzero searchsorted isin unique_all unique_counts unique_inverse unique_values
    argsort sort cumulative_prod cumulative_sum max mean min prod std sum var all any diff
""".split()

globals().update({name: getattr(_unishape, name) for name in _UNISHAPE_NAMES})
globals().update({name: getattr(_numpy, name) for name in _NUMPY_NAMES})

# The version that NumPy implements; unishape's functions follow 2025.12.
__array_api_version__ = _numpy.__array_api_version__

__version__ = _unishape.__version__

__all__ = [*_UNISHAPE_NAMES, *_NUMPY_NAMES, "__array_api_version__"]
