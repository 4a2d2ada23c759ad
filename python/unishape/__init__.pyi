"""Type stubs of unishape. test_stubs.py compares them with the module."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, final, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__version__: str

_Array: TypeAlias = NDArray[Any]
_Rules: TypeAlias = Literal["standard", "sonnx"]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Axis: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
_ShapeWithUnknown: TypeAlias = SupportsIndex | Sequence[SupportsIndex | None]

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: None = ...) -> Any: ...

# Mappings, and objects such as data frames.
class _Names(Protocol):
    def keys(self) -> Any: ...
    def __getitem__(self, key: str, /) -> Any: ...

# Arrays of any library, and objects that numpy.asarray accepts.
_Input: TypeAlias = ArrayLike | _SupportsDLPack

# Element-wise functions by number of arguments. With a lazy argument the result is lazy, unless out is given.

class _Unary(Protocol):
    @overload
    def __call__(self, x: _Input | Lazy, /, *, out: _Array, threads: int | None = None) -> _Array: ...
    @overload
    def __call__(self, x: Lazy, /, *, out: None = None, threads: int | None = None) -> Lazy: ...
    @overload
    def __call__(self, x: _Input, /, *, out: None = None, threads: int | None = None) -> _Array: ...

class _Binary(Protocol):
    @overload
    def __call__(self, x: _Input | Lazy, y: _Input | Lazy, /, *, out: _Array, threads: int | None = None) -> _Array: ...
    @overload
    def __call__(self, x: Lazy, y: _Input | Lazy, /, *, out: None = None, threads: int | None = None) -> Lazy: ...
    @overload
    def __call__(self, x: _Input, y: Lazy, /, *, out: None = None, threads: int | None = None) -> Lazy: ...
    @overload
    def __call__(self, x: _Input, y: _Input, /, *, out: None = None, threads: int | None = None) -> _Array: ...

class _Ternary(Protocol):
    @overload
    def __call__(
        self,
        condition: _Input | Lazy,
        x: _Input | Lazy,
        y: _Input | Lazy,
        /,
        *,
        out: _Array,
        threads: int | None = None,
    ) -> _Array: ...
    @overload
    def __call__(
        self, condition: Lazy, x: _Input | Lazy, y: _Input | Lazy, /, *, out: None = None, threads: int | None = None
    ) -> Lazy: ...
    @overload
    def __call__(
        self, condition: _Input, x: Lazy, y: _Input | Lazy, /, *, out: None = None, threads: int | None = None
    ) -> Lazy: ...
    @overload
    def __call__(
        self, condition: _Input, x: _Input, y: Lazy, /, *, out: None = None, threads: int | None = None
    ) -> Lazy: ...
    @overload
    def __call__(
        self, condition: _Input, x: _Input, y: _Input, /, *, out: None = None, threads: int | None = None
    ) -> _Array: ...

class _Clip(Protocol):
    @overload
    def __call__(
        self,
        x: _Input | Lazy,
        /,
        min: _Input | Lazy | None = None,
        max: _Input | Lazy | None = None,
        *,
        out: _Array,
        threads: int | None = None,
    ) -> _Array: ...
    @overload
    def __call__(
        self,
        x: Lazy,
        /,
        min: _Input | Lazy | None = None,
        max: _Input | Lazy | None = None,
        *,
        out: None = None,
        threads: int | None = None,
    ) -> Lazy: ...
    @overload
    def __call__(
        self,
        x: _Input,
        /,
        min: _Input | None = None,
        max: _Input | None = None,
        *,
        out: None = None,
        threads: int | None = None,
    ) -> _Array: ...

abs: _Unary
absolute: _Unary
acos: _Unary
acosh: _Unary
arccos: _Unary
arccosh: _Unary
arcsin: _Unary
arcsinh: _Unary
arctan: _Unary
arctanh: _Unary
asin: _Unary
asinh: _Unary
atan: _Unary
atanh: _Unary
bitwise_invert: _Unary
bitwise_not: _Unary
cbrt: _Unary
ceil: _Unary
conj: _Unary
conjugate: _Unary
cos: _Unary
cosh: _Unary
erf: _Unary
exp: _Unary
exp2: _Unary
expit: _Unary
expm1: _Unary
floor: _Unary
imag: _Unary
invert: _Unary
isfinite: _Unary
isinf: _Unary
isnan: _Unary
ln: _Unary
log: _Unary
log10: _Unary
log1p: _Unary
log2: _Unary
logical_not: _Unary
negative: _Unary
positive: _Unary
real: _Unary
reciprocal: _Unary
rint: _Unary
round: _Unary
sigmoid: _Unary
sign: _Unary
signbit: _Unary
sin: _Unary
sinh: _Unary
sqrt: _Unary
square: _Unary
tan: _Unary
tanh: _Unary
trunc: _Unary

add: _Binary
arctan2: _Binary
atan2: _Binary
bitwise_and: _Binary
bitwise_left_shift: _Binary
bitwise_or: _Binary
bitwise_right_shift: _Binary
bitwise_xor: _Binary
copysign: _Binary
divide: _Binary
equal: _Binary
floor_divide: _Binary
fmod: _Binary
greater: _Binary
greater_equal: _Binary
hypot: _Binary
leaky_relu: _Binary
left_shift: _Binary
less: _Binary
less_equal: _Binary
logaddexp: _Binary
logical_and: _Binary
logical_or: _Binary
logical_xor: _Binary
maximum: _Binary
minimum: _Binary
mod: _Binary
multiply: _Binary
nextafter: _Binary
not_equal: _Binary
pow: _Binary
power: _Binary
prelu: _Binary
remainder: _Binary
right_shift: _Binary
subtract: _Binary
true_divide: _Binary
trunc_divide: _Binary

where: _Ternary

clip: _Clip
clamp: _Clip

# Threads.

def set_num_threads(n: SupportsIndex | None, /) -> int: ...
def get_num_threads() -> int: ...

# Broadcasting.

def broadcast_arrays(
    *arrays: _Input | Lazy, rules: _Rules = "standard", strict_rank: bool = False
) -> tuple[_Array, ...]: ...
def broadcast_to(
    x: _Input | Lazy, /, shape: _Shape, *, rules: _Rules = "standard", strict_rank: bool = False
) -> _Array: ...
@overload
def broadcast_shapes(*shapes: _Shape, rules: _Rules = "standard", strict_rank: bool = False) -> tuple[int, ...]: ...
@overload
def broadcast_shapes(
    *shapes: _ShapeWithUnknown, rules: _Rules = "standard", strict_rank: bool = False
) -> tuple[int | None, ...]: ...
def sum_to(x: _Input | Lazy, /, shape: _Shape, *, threads: int | None = None) -> _Array: ...
def explain(
    *shapes_or_arrays: _Input | _Shape, rules: _Rules = "standard", strict_rank: bool = False
) -> Explanation: ...

@final
class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...

@final
class Explanation:
    @property
    def shape(self) -> tuple[int, ...]: ...
    def text(self, *, color: bool = False, width: int = 80) -> str: ...
    def svg(self) -> str: ...
    def html(self) -> str: ...
    def _repr_svg_(self) -> str: ...

# Expressions.

@overload
def evaluate(
    expression: str,
    names: _Names | None = None,
    /,
    *,
    out: _Array | None = None,
    threads: int | None = None,
    explain: Literal[False] = False,
    fast_math: bool = False,
    **more: Any,
) -> _Array: ...
@overload
def evaluate(
    expression: list[str] | tuple[str, ...],
    names: _Names | None = None,
    /,
    *,
    out: Sequence[_Array | None] | None = None,
    threads: int | None = None,
    explain: Literal[False] = False,
    fast_math: bool = False,
    **more: Any,
) -> list[_Array]: ...
@overload
def evaluate(
    expression: str,
    names: _Names | None = None,
    /,
    *,
    out: _Array | None = None,
    threads: int | None = None,
    explain: bool = False,
    fast_math: bool = False,
    **more: Any,
) -> _Array | str: ...
def lazy(x: _Input | Lazy, /) -> Lazy: ...

@final
class Lazy:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def T(self) -> Lazy: ...
    @property
    def real(self) -> Lazy: ...
    @property
    def imag(self) -> Lazy: ...
    # The array type of the result depends on the inputs.
    def compute(self, *, out: Any = None, threads: int | None = None, fast_math: bool = False) -> Any: ...
    def astype(self, dtype: DTypeLike, /) -> Lazy: ...
    @overload
    def clip(self, min: _Input | Lazy | None = None, max: _Input | Lazy | None = None, *, out: None = None) -> Lazy: ...
    @overload
    def clip(self, min: _Input | Lazy | None = None, max: _Input | Lazy | None = None, *, out: _Array) -> _Array: ...
    # Reductions are lazy, unless out is given.
    def sum(
        self,
        axis: _Axis = None,
        dtype: DTypeLike | None = None,
        out: _Array | None = None,
        keepdims: bool = False,
        initial: complex | None = None,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def prod(
        self,
        axis: _Axis = None,
        dtype: DTypeLike | None = None,
        out: _Array | None = None,
        keepdims: bool = False,
        initial: complex | None = None,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def max(
        self,
        axis: _Axis = None,
        out: _Array | None = None,
        keepdims: bool = False,
        initial: complex | None = None,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def min(
        self,
        axis: _Axis = None,
        out: _Array | None = None,
        keepdims: bool = False,
        initial: complex | None = None,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def mean(
        self,
        axis: _Axis = None,
        dtype: DTypeLike | None = None,
        out: _Array | None = None,
        keepdims: bool = False,
        *,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def var(
        self,
        axis: _Axis = None,
        dtype: DTypeLike | None = None,
        out: _Array | None = None,
        ddof: float | None = None,
        keepdims: bool = False,
        *,
        where: _Input | Lazy | None = None,
        correction: float | None = None,
    ) -> Any: ...
    def std(
        self,
        axis: _Axis = None,
        dtype: DTypeLike | None = None,
        out: _Array | None = None,
        ddof: float | None = None,
        keepdims: bool = False,
        *,
        where: _Input | Lazy | None = None,
        correction: float | None = None,
    ) -> Any: ...
    def any(
        self,
        axis: _Axis = None,
        out: _Array | None = None,
        keepdims: bool = False,
        *,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def all(
        self,
        axis: _Axis = None,
        out: _Array | None = None,
        keepdims: bool = False,
        *,
        where: _Input | Lazy | None = None,
    ) -> Any: ...
    def argmin(self, axis: _Axis = None, out: _Array | None = None, *, keepdims: bool = False) -> Any: ...
    def argmax(self, axis: _Axis = None, out: _Array | None = None, *, keepdims: bool = False) -> Any: ...
    def count_nonzero(self, axis: _Axis = None, *, keepdims: bool = False) -> Any: ...
    def logsumexp(self, axis: _Axis = None, *, keepdims: bool = False) -> Any: ...
    def norm(self, ord: float | None = None, axis: _Axis = None, keepdims: bool = False) -> Any: ...
    # Views.
    def transpose(self, *axes: Any) -> Lazy: ...
    def swapaxes(self, axis1: SupportsIndex, axis2: SupportsIndex, /) -> Lazy: ...
    def squeeze(self, axis: _Axis = None) -> Lazy: ...
    def reshape(self, *shape: Any) -> Lazy: ...
    def ravel(self) -> Lazy: ...
    def __getitem__(self, key: Any) -> Lazy: ...
    def __iter__(self) -> Any: ...
    def __array__(self, dtype: DTypeLike | None = None, *, copy: bool | None = None) -> _Array: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any: ...
    def __array_function__(self, function: Any, _types: Any, arguments: Any, options: Any) -> Any: ...
    def __neg__(self) -> Lazy: ...
    def __pos__(self) -> Lazy: ...
    def __abs__(self) -> Lazy: ...
    def __invert__(self) -> Lazy: ...
    def __eq__(self, other: _Input | Lazy) -> Lazy: ...  # type: ignore[override]
    def __ne__(self, other: _Input | Lazy) -> Lazy: ...  # type: ignore[override]
    def __lt__(self, other: _Input | Lazy) -> Lazy: ...
    def __le__(self, other: _Input | Lazy) -> Lazy: ...
    def __gt__(self, other: _Input | Lazy) -> Lazy: ...
    def __ge__(self, other: _Input | Lazy) -> Lazy: ...
    def __add__(self, other: _Input | Lazy) -> Lazy: ...
    def __radd__(self, other: _Input | Lazy) -> Lazy: ...
    def __sub__(self, other: _Input | Lazy) -> Lazy: ...
    def __rsub__(self, other: _Input | Lazy) -> Lazy: ...
    def __mul__(self, other: _Input | Lazy) -> Lazy: ...
    def __rmul__(self, other: _Input | Lazy) -> Lazy: ...
    def __truediv__(self, other: _Input | Lazy) -> Lazy: ...
    def __rtruediv__(self, other: _Input | Lazy) -> Lazy: ...
    def __floordiv__(self, other: _Input | Lazy) -> Lazy: ...
    def __rfloordiv__(self, other: _Input | Lazy) -> Lazy: ...
    def __mod__(self, other: _Input | Lazy) -> Lazy: ...
    def __rmod__(self, other: _Input | Lazy) -> Lazy: ...
    def __pow__(self, other: _Input | Lazy) -> Lazy: ...
    def __rpow__(self, other: _Input | Lazy) -> Lazy: ...
    def __and__(self, other: _Input | Lazy) -> Lazy: ...
    def __rand__(self, other: _Input | Lazy) -> Lazy: ...
    def __or__(self, other: _Input | Lazy) -> Lazy: ...
    def __ror__(self, other: _Input | Lazy) -> Lazy: ...
    def __xor__(self, other: _Input | Lazy) -> Lazy: ...
    def __rxor__(self, other: _Input | Lazy) -> Lazy: ...
    def __lshift__(self, other: _Input | Lazy) -> Lazy: ...
    def __rlshift__(self, other: _Input | Lazy) -> Lazy: ...
    def __rshift__(self, other: _Input | Lazy) -> Lazy: ...
    def __rrshift__(self, other: _Input | Lazy) -> Lazy: ...
