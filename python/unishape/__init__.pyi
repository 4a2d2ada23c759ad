"""Types of what unishape has. test_stubs.py holds them against the module itself."""

from collections.abc import Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias, final, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__version__: str

_Array: TypeAlias = NDArray[Any]
_Rules: TypeAlias = Literal["standard", "sonnx"]
_Size: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_SizeOrUnknown: TypeAlias = SupportsIndex | Sequence[SupportsIndex | None]

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: None = ...) -> Any: ...

# Arrays of NumPy's and of others, and what NumPy makes arrays of.
_Input: TypeAlias = ArrayLike | _SupportsDLPack

# Functions of elements, by how many arguments they take. A lazy argument makes the result lazy, unless there is
# an array for it.

class _One(Protocol):
    @overload
    def __call__(self, x: _Input | Lazy, /, *, out: _Array, threads: int | None = None) -> _Array: ...
    @overload
    def __call__(self, x: Lazy, /, *, out: None = None, threads: int | None = None) -> Lazy: ...
    @overload
    def __call__(self, x: _Input, /, *, out: None = None, threads: int | None = None) -> _Array: ...

class _Two(Protocol):
    @overload
    def __call__(self, x: _Input | Lazy, y: _Input | Lazy, /, *, out: _Array, threads: int | None = None) -> _Array: ...
    @overload
    def __call__(self, x: Lazy, y: _Input | Lazy, /, *, out: None = None, threads: int | None = None) -> Lazy: ...
    @overload
    def __call__(self, x: _Input, y: Lazy, /, *, out: None = None, threads: int | None = None) -> Lazy: ...
    @overload
    def __call__(self, x: _Input, y: _Input, /, *, out: None = None, threads: int | None = None) -> _Array: ...

class _Three(Protocol):
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

abs: _One
absolute: _One
acos: _One
acosh: _One
arccos: _One
arccosh: _One
arcsin: _One
arcsinh: _One
arctan: _One
arctanh: _One
asin: _One
asinh: _One
atan: _One
atanh: _One
bitwise_invert: _One
bitwise_not: _One
cbrt: _One
ceil: _One
conj: _One
conjugate: _One
cos: _One
cosh: _One
erf: _One
exp: _One
exp2: _One
expit: _One
expm1: _One
floor: _One
imag: _One
invert: _One
isfinite: _One
isinf: _One
isnan: _One
ln: _One
log: _One
log10: _One
log1p: _One
log2: _One
logical_not: _One
negative: _One
positive: _One
real: _One
reciprocal: _One
rint: _One
round: _One
sigmoid: _One
sign: _One
signbit: _One
sin: _One
sinh: _One
sqrt: _One
square: _One
tan: _One
tanh: _One
trunc: _One

add: _Two
arctan2: _Two
atan2: _Two
bitwise_and: _Two
bitwise_left_shift: _Two
bitwise_or: _Two
bitwise_right_shift: _Two
bitwise_xor: _Two
copysign: _Two
divide: _Two
equal: _Two
floor_divide: _Two
fmod: _Two
greater: _Two
greater_equal: _Two
hypot: _Two
leaky_relu: _Two
left_shift: _Two
less: _Two
less_equal: _Two
logaddexp: _Two
logical_and: _Two
logical_or: _Two
logical_xor: _Two
maximum: _Two
minimum: _Two
mod: _Two
multiply: _Two
nextafter: _Two
not_equal: _Two
pow: _Two
power: _Two
prelu: _Two
remainder: _Two
right_shift: _Two
subtract: _Two
true_divide: _Two
trunc_divide: _Two

where: _Three

clip: _Clip
clamp: _Clip

# Broadcasting.

def broadcast_arrays(
    *arrays: _Input | Lazy, rules: _Rules = "standard", strict_rank: bool = False
) -> tuple[_Array, ...]: ...
def broadcast_to(
    x: _Input | Lazy, /, shape: _Size, *, rules: _Rules = "standard", strict_rank: bool = False
) -> _Array: ...
@overload
def broadcast_shapes(*shapes: _Size, rules: _Rules = "standard", strict_rank: bool = False) -> tuple[int, ...]: ...
@overload
def broadcast_shapes(
    *shapes: _SizeOrUnknown, rules: _Rules = "standard", strict_rank: bool = False
) -> tuple[int | None, ...]: ...
def sum_to(x: _Input | Lazy, /, shape: _Size, *, threads: int | None = None) -> _Array: ...
def explain(
    *shapes_or_arrays: _Input | _Size, rules: _Rules = "standard", strict_rank: bool = False
) -> Explanation: ...

@final
class Explanation:
    @property
    def shape(self) -> tuple[int, ...]: ...
    def text(self, *, color: bool = False, width: int = 80) -> str: ...
    def svg(self) -> str: ...
    def html(self) -> str: ...
    def _repr_svg_(self) -> str: ...

# Expressions.

def evaluate(
    expression: str, names: Any = None, /, *, out: _Array | None = None, threads: int | None = None, **more: Any
) -> _Array: ...
def lazy(x: _Input | Lazy, /) -> Lazy: ...

@final
class Lazy:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    # Dask's arrays stay Dask's, and so do values of them.
    def compute(self, *, out: _Array | None = None, threads: int | None = None) -> Any: ...
    def astype(self, dtype: DTypeLike, /) -> Lazy: ...
    @overload
    def clip(self, min: _Input | Lazy | None = None, max: _Input | Lazy | None = None, *, out: None = None) -> Lazy: ...
    @overload
    def clip(self, min: _Input | Lazy | None = None, max: _Input | Lazy | None = None, *, out: _Array) -> _Array: ...
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
