"""Type stubs of unishape. test_stubs.py compares them with the module."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Never, ParamSpec, Protocol, Self, SupportsIndex, TypeAlias, TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

__version__: str

_Array: TypeAlias = NDArray[Any]
_Casting: TypeAlias = Literal["no", "equiv", "safe", "same_kind", "unsafe"]
_Order: TypeAlias = Literal["K", "C", "F", "A"]
_Rules: TypeAlias = Literal["standard", "sonnx"]
_Shape: TypeAlias = SupportsIndex | Sequence[SupportsIndex]
_Axis: TypeAlias = SupportsIndex | Sequence[SupportsIndex] | None
_ShapeWithUnknown: TypeAlias = SupportsIndex | Sequence[SupportsIndex | None]

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: None = ...) -> Any: ...

# Mappings, and objects such as data frames.
class _Names(Protocol):
    def keys(self) -> Any: ...
    def __getitem__(self, key: str, /) -> Any: ...

# Arrays and columns of other libraries, whose results are objects of the same library: PyTorch, pandas, Polars, and arrays
# on a GPU. Their types need not be known here, so each is recognised by an attribute that it has.
class _Tensor(Protocol):
    @property
    def requires_grad(self) -> bool: ...

class _Labelled(Protocol):
    @property
    def iloc(self) -> Any: ...

class _Column(Protocol):
    def to_arrow(self) -> Any: ...

class _OnGpu(Protocol):
    @property
    def __cuda_array_interface__(self) -> Any: ...

_Other: TypeAlias = _Tensor | _Labelled | _Column | _OnGpu | DeviceArray

# Arrays of any library, and objects that numpy.asarray accepts.
_Input: TypeAlias = ArrayLike | _SupportsDLPack

# With a lazy argument the result is lazy, unless out is given.

# Generated: element-wise functions.

@overload
def abs(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The absolute value; of a complex number, its magnitude."""
@overload
def abs(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The absolute value; of a complex number, its magnitude."""
@overload
def abs(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The absolute value; of a complex number, its magnitude."""
@overload
def abs(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The absolute value; of a complex number, its magnitude."""
@overload
def absolute(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The absolute value; of a complex number, its magnitude."""
@overload
def absolute(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The absolute value; of a complex number, its magnitude."""
@overload
def absolute(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The absolute value; of a complex number, its magnitude."""
@overload
def absolute(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The absolute value; of a complex number, its magnitude."""
@overload
def acos(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse cosine."""
@overload
def acos(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse cosine."""
@overload
def acos(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse cosine."""
@overload
def acos(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse cosine."""
@overload
def acosh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic cosine."""
@overload
def acosh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse hyperbolic cosine."""
@overload
def acosh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse hyperbolic cosine."""
@overload
def acosh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic cosine."""
@overload
def add(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x + y`. Integers wrap; booleans: logical or."""
@overload
def add(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x + y`. Integers wrap; booleans: logical or."""
@overload
def add(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x + y`. Integers wrap; booleans: logical or."""
@overload
def add(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x + y`. Integers wrap; booleans: logical or."""
@overload
def add(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x + y`. Integers wrap; booleans: logical or."""
@overload
def arccos(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse cosine."""
@overload
def arccos(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse cosine."""
@overload
def arccos(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse cosine."""
@overload
def arccos(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse cosine."""
@overload
def arccosh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic cosine."""
@overload
def arccosh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse hyperbolic cosine."""
@overload
def arccosh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse hyperbolic cosine."""
@overload
def arccosh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic cosine."""
@overload
def arcsin(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse sine."""
@overload
def arcsin(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse sine."""
@overload
def arcsin(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse sine."""
@overload
def arcsin(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse sine."""
@overload
def arcsinh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic sine."""
@overload
def arcsinh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse hyperbolic sine."""
@overload
def arcsinh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse hyperbolic sine."""
@overload
def arcsinh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic sine."""
@overload
def arctan(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent."""
@overload
def arctan(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse tangent."""
@overload
def arctan(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse tangent."""
@overload
def arctan(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent."""
@overload
def arctan2(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def arctan2(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def arctan2(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def arctan2(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def arctan2(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def arctanh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic tangent."""
@overload
def arctanh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse hyperbolic tangent."""
@overload
def arctanh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse hyperbolic tangent."""
@overload
def arctanh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic tangent."""
@overload
def around(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    decimals: SupportsIndex = 0,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Rounds to a number of decimals, ties to even."""
@overload
def around(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    decimals: SupportsIndex = 0,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Rounds to a number of decimals, ties to even."""
@overload
def around(
    x: _Input,
    /,
    decimals: SupportsIndex = 0,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds to a number of decimals, ties to even."""
@overload
def around(
    x: _Input | Lazy,
    /,
    decimals: SupportsIndex = 0,
    out: _Array | tuple[_Array] | None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds to a number of decimals, ties to even."""
@overload
def asin(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse sine."""
@overload
def asin(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse sine."""
@overload
def asin(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse sine."""
@overload
def asin(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse sine."""
@overload
def asinh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic sine."""
@overload
def asinh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse hyperbolic sine."""
@overload
def asinh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse hyperbolic sine."""
@overload
def asinh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic sine."""
@overload
def atan(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent."""
@overload
def atan(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse tangent."""
@overload
def atan(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse tangent."""
@overload
def atan(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent."""
@overload
def atan2(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def atan2(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def atan2(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def atan2(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def atan2(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse tangent of `x / y`, in the quadrant of the point (`y`, `x`)."""
@overload
def atanh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic tangent."""
@overload
def atanh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The inverse hyperbolic tangent."""
@overload
def atanh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The inverse hyperbolic tangent."""
@overload
def atanh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The inverse hyperbolic tangent."""
@overload
def bitwise_and(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x & y`, bit by bit."""
@overload
def bitwise_and(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x & y`, bit by bit."""
@overload
def bitwise_and(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x & y`, bit by bit."""
@overload
def bitwise_and(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x & y`, bit by bit."""
@overload
def bitwise_and(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x & y`, bit by bit."""
@overload
def bitwise_invert(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`~x`: inverts every bit."""
@overload
def bitwise_invert(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`~x`: inverts every bit."""
@overload
def bitwise_invert(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`~x`: inverts every bit."""
@overload
def bitwise_invert(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`~x`: inverts every bit."""
@overload
def bitwise_left_shift(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def bitwise_left_shift(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def bitwise_left_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def bitwise_left_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def bitwise_left_shift(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def bitwise_not(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`~x`: inverts every bit."""
@overload
def bitwise_not(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`~x`: inverts every bit."""
@overload
def bitwise_not(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`~x`: inverts every bit."""
@overload
def bitwise_not(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`~x`: inverts every bit."""
@overload
def bitwise_or(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x | y`, bit by bit."""
@overload
def bitwise_or(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x | y`, bit by bit."""
@overload
def bitwise_or(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x | y`, bit by bit."""
@overload
def bitwise_or(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x | y`, bit by bit."""
@overload
def bitwise_or(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x | y`, bit by bit."""
@overload
def bitwise_right_shift(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def bitwise_right_shift(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def bitwise_right_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def bitwise_right_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def bitwise_right_shift(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def bitwise_xor(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ^ y`, bit by bit."""
@overload
def bitwise_xor(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ^ y`, bit by bit."""
@overload
def bitwise_xor(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ^ y`, bit by bit."""
@overload
def bitwise_xor(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x ^ y`, bit by bit."""
@overload
def bitwise_xor(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ^ y`, bit by bit."""
@overload
def cbrt(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The cube root."""
@overload
def cbrt(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The cube root."""
@overload
def cbrt(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The cube root."""
@overload
def cbrt(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The cube root."""
@overload
def ceil(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds up to an integer."""
@overload
def ceil(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Rounds up to an integer."""
@overload
def ceil(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Rounds up to an integer."""
@overload
def ceil(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds up to an integer."""
@overload
def clamp(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    min: _Input | Lazy | None = None,
    max: _Input | Lazy | None = None,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clamp(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    min: _Input | None = None,
    max: _Input | None = None,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clamp(
    x: _Input,
    /,
    min: _Input | None = None,
    max: _Input | None = None,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clamp(
    x: _Input | Lazy,
    /,
    min: _Input | Lazy | None = None,
    max: _Input | Lazy | None = None,
    out: _Array | tuple[_Array] | None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clip(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    min: _Input | Lazy | None = None,
    max: _Input | Lazy | None = None,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clip(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    min: _Input | None = None,
    max: _Input | None = None,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clip(
    x: _Input,
    /,
    min: _Input | None = None,
    max: _Input | None = None,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Limits values to the range from min to max; None means no limit."""
@overload
def clip(
    x: _Input | Lazy,
    /,
    min: _Input | Lazy | None = None,
    max: _Input | Lazy | None = None,
    out: _Array | tuple[_Array] | None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Limits values to the range from min to max; None means no limit."""
@overload
def conj(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The complex conjugate."""
@overload
def conj(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The complex conjugate."""
@overload
def conj(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The complex conjugate."""
@overload
def conj(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The complex conjugate."""
@overload
def conjugate(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The complex conjugate."""
@overload
def conjugate(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The complex conjugate."""
@overload
def conjugate(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The complex conjugate."""
@overload
def conjugate(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The complex conjugate."""
@overload
def copysign(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x` with the sign of `y`."""
@overload
def copysign(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x` with the sign of `y`."""
@overload
def copysign(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x` with the sign of `y`."""
@overload
def copysign(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x` with the sign of `y`."""
@overload
def copysign(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x` with the sign of `y`."""
@overload
def cos(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The cosine."""
@overload
def cos(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The cosine."""
@overload
def cos(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The cosine."""
@overload
def cos(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The cosine."""
@overload
def cosh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The hyperbolic cosine."""
@overload
def cosh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The hyperbolic cosine."""
@overload
def cosh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The hyperbolic cosine."""
@overload
def cosh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The hyperbolic cosine."""
@overload
def deg2rad(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts degrees to radians."""
@overload
def deg2rad(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Converts degrees to radians."""
@overload
def deg2rad(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Converts degrees to radians."""
@overload
def deg2rad(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts degrees to radians."""
@overload
def degrees(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts radians to degrees."""
@overload
def degrees(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Converts radians to degrees."""
@overload
def degrees(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Converts radians to degrees."""
@overload
def degrees(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts radians to degrees."""
@overload
def divide(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def divide(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def divide(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def divmod(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: tuple[_Array, _Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> tuple[_Array, _Array]:
    """The quotient rounded down and the remainder: a tuple of `x // y` and `x % y`."""
@overload
def divmod(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> tuple[Lazy, Lazy]:
    """The quotient rounded down and the remainder: a tuple of `x // y` and `x % y`."""
@overload
def divmod(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> tuple[Lazy, Lazy]:
    """The quotient rounded down and the remainder: a tuple of `x // y` and `x % y`."""
@overload
def divmod(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The quotient rounded down and the remainder: a tuple of `x // y` and `x % y`."""
@overload
def divmod(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> tuple[_Array, _Array]:
    """The quotient rounded down and the remainder: a tuple of `x // y` and `x % y`."""
@overload
def equal(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x == y`."""
@overload
def equal(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x == y`."""
@overload
def equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x == y`."""
@overload
def equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x == y`."""
@overload
def equal(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x == y`."""
@overload
def erf(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The error function."""
@overload
def erf(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The error function."""
@overload
def erf(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The error function."""
@overload
def erf(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The error function."""
@overload
def exp(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """e to the power of `x`."""
@overload
def exp(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """e to the power of `x`."""
@overload
def exp(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """e to the power of `x`."""
@overload
def exp(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """e to the power of `x`."""
@overload
def exp2(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """2 to the power of `x`."""
@overload
def exp2(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """2 to the power of `x`."""
@overload
def exp2(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """2 to the power of `x`."""
@overload
def exp2(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """2 to the power of `x`."""
@overload
def expit(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`1 / (1 + exp(-x))`."""
@overload
def expit(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`1 / (1 + exp(-x))`."""
@overload
def expit(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`1 / (1 + exp(-x))`."""
@overload
def expit(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`1 / (1 + exp(-x))`."""
@overload
def expm1(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`exp(x) - 1`, accurate near 0."""
@overload
def expm1(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`exp(x) - 1`, accurate near 0."""
@overload
def expm1(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`exp(x) - 1`, accurate near 0."""
@overload
def expm1(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`exp(x) - 1`, accurate near 0."""
@overload
def float_power(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ** y`, computed in float64 or complex128."""
@overload
def float_power(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ** y`, computed in float64 or complex128."""
@overload
def float_power(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ** y`, computed in float64 or complex128."""
@overload
def float_power(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x ** y`, computed in float64 or complex128."""
@overload
def float_power(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ** y`, computed in float64 or complex128."""
@overload
def floor(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds down to an integer."""
@overload
def floor(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Rounds down to an integer."""
@overload
def floor(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Rounds down to an integer."""
@overload
def floor(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds down to an integer."""
@overload
def floor_divide(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x // y`: the quotient rounded down; 0 for integer division by 0."""
@overload
def floor_divide(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x // y`: the quotient rounded down; 0 for integer division by 0."""
@overload
def floor_divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x // y`: the quotient rounded down; 0 for integer division by 0."""
@overload
def floor_divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x // y`: the quotient rounded down; 0 for integer division by 0."""
@overload
def floor_divide(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x // y`: the quotient rounded down; 0 for integer division by 0."""
@overload
def fmax(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The larger argument; of a NaN and a number, the number."""
@overload
def fmax(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The larger argument; of a NaN and a number, the number."""
@overload
def fmax(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The larger argument; of a NaN and a number, the number."""
@overload
def fmax(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The larger argument; of a NaN and a number, the number."""
@overload
def fmax(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The larger argument; of a NaN and a number, the number."""
@overload
def fmin(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The smaller argument; of a NaN and a number, the number."""
@overload
def fmin(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The smaller argument; of a NaN and a number, the number."""
@overload
def fmin(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The smaller argument; of a NaN and a number, the number."""
@overload
def fmin(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The smaller argument; of a NaN and a number, the number."""
@overload
def fmin(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The smaller argument; of a NaN and a number, the number."""
@overload
def fmod(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The remainder with the sign of `x`, as in C; 0 for integer division by 0."""
@overload
def fmod(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The remainder with the sign of `x`, as in C; 0 for integer division by 0."""
@overload
def fmod(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The remainder with the sign of `x`, as in C; 0 for integer division by 0."""
@overload
def fmod(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The remainder with the sign of `x`, as in C; 0 for integer division by 0."""
@overload
def fmod(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The remainder with the sign of `x`, as in C; 0 for integer division by 0."""
@overload
def greater(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x > y`."""
@overload
def greater(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x > y`."""
@overload
def greater(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x > y`."""
@overload
def greater(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x > y`."""
@overload
def greater(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x > y`."""
@overload
def greater_equal(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x >= y`."""
@overload
def greater_equal(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x >= y`."""
@overload
def greater_equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x >= y`."""
@overload
def greater_equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x >= y`."""
@overload
def greater_equal(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x >= y`."""
@overload
def heaviside(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """0 where `x` is negative, `y` where it is 0, and 1 where it is positive."""
@overload
def heaviside(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """0 where `x` is negative, `y` where it is 0, and 1 where it is positive."""
@overload
def heaviside(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """0 where `x` is negative, `y` where it is 0, and 1 where it is positive."""
@overload
def heaviside(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """0 where `x` is negative, `y` where it is 0, and 1 where it is positive."""
@overload
def heaviside(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """0 where `x` is negative, `y` where it is 0, and 1 where it is positive."""
@overload
def hypot(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`sqrt(x² + y²)`, without intermediate overflow."""
@overload
def hypot(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`sqrt(x² + y²)`, without intermediate overflow."""
@overload
def hypot(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`sqrt(x² + y²)`, without intermediate overflow."""
@overload
def hypot(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`sqrt(x² + y²)`, without intermediate overflow."""
@overload
def hypot(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`sqrt(x² + y²)`, without intermediate overflow."""
@overload
def imag(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The imaginary part."""
@overload
def imag(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The imaginary part."""
@overload
def imag(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The imaginary part."""
@overload
def imag(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The imaginary part."""
@overload
def invert(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`~x`: inverts every bit."""
@overload
def invert(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`~x`: inverts every bit."""
@overload
def invert(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`~x`: inverts every bit."""
@overload
def invert(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`~x`: inverts every bit."""
@overload
def isfinite(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether it is neither infinite nor NaN."""
@overload
def isfinite(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Whether it is neither infinite nor NaN."""
@overload
def isfinite(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Whether it is neither infinite nor NaN."""
@overload
def isfinite(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether it is neither infinite nor NaN."""
@overload
def isinf(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether it is infinite."""
@overload
def isinf(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Whether it is infinite."""
@overload
def isinf(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Whether it is infinite."""
@overload
def isinf(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether it is infinite."""
@overload
def isnan(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether it is NaN."""
@overload
def isnan(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Whether it is NaN."""
@overload
def isnan(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Whether it is NaN."""
@overload
def isnan(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether it is NaN."""
@overload
def leaky_relu(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x` where it is not negative, else `x * y`."""
@overload
def leaky_relu(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x` where it is not negative, else `x * y`."""
@overload
def leaky_relu(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x` where it is not negative, else `x * y`."""
@overload
def leaky_relu(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x` where it is not negative, else `x * y`."""
@overload
def leaky_relu(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x` where it is not negative, else `x * y`."""
@overload
def left_shift(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def left_shift(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def left_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def left_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def left_shift(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x << y`; 0 if `y` is negative or not less than the number of bits."""
@overload
def less(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x < y`."""
@overload
def less(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x < y`."""
@overload
def less(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x < y`."""
@overload
def less(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x < y`."""
@overload
def less(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x < y`."""
@overload
def less_equal(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x <= y`."""
@overload
def less_equal(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x <= y`."""
@overload
def less_equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x <= y`."""
@overload
def less_equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x <= y`."""
@overload
def less_equal(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x <= y`."""
@overload
def ln(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The natural logarithm."""
@overload
def ln(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The natural logarithm."""
@overload
def ln(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The natural logarithm."""
@overload
def ln(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The natural logarithm."""
@overload
def log(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The natural logarithm."""
@overload
def log(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The natural logarithm."""
@overload
def log(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The natural logarithm."""
@overload
def log(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The natural logarithm."""
@overload
def log10(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The logarithm to base 10."""
@overload
def log10(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The logarithm to base 10."""
@overload
def log10(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The logarithm to base 10."""
@overload
def log10(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The logarithm to base 10."""
@overload
def log1p(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`log(1 + x)`, accurate near 0."""
@overload
def log1p(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`log(1 + x)`, accurate near 0."""
@overload
def log1p(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`log(1 + x)`, accurate near 0."""
@overload
def log1p(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`log(1 + x)`, accurate near 0."""
@overload
def log2(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The logarithm to base 2."""
@overload
def log2(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The logarithm to base 2."""
@overload
def log2(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The logarithm to base 2."""
@overload
def log2(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The logarithm to base 2."""
@overload
def logaddexp(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`log(exp(x) + exp(y))`, without intermediate overflow."""
@overload
def logaddexp(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`log(exp(x) + exp(y))`, without intermediate overflow."""
@overload
def logaddexp(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`log(exp(x) + exp(y))`, without intermediate overflow."""
@overload
def logaddexp(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`log(exp(x) + exp(y))`, without intermediate overflow."""
@overload
def logaddexp(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`log(exp(x) + exp(y))`, without intermediate overflow."""
@overload
def logaddexp2(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`log2(exp2(x) + exp2(y))`, without intermediate overflow."""
@overload
def logaddexp2(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`log2(exp2(x) + exp2(y))`, without intermediate overflow."""
@overload
def logaddexp2(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`log2(exp2(x) + exp2(y))`, without intermediate overflow."""
@overload
def logaddexp2(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`log2(exp2(x) + exp2(y))`, without intermediate overflow."""
@overload
def logaddexp2(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`log2(exp2(x) + exp2(y))`, without intermediate overflow."""
@overload
def logical_and(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x and y`: whether both are nonzero."""
@overload
def logical_and(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x and y`: whether both are nonzero."""
@overload
def logical_and(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x and y`: whether both are nonzero."""
@overload
def logical_and(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x and y`: whether both are nonzero."""
@overload
def logical_and(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x and y`: whether both are nonzero."""
@overload
def logical_not(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`not x`: whether it is 0."""
@overload
def logical_not(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`not x`: whether it is 0."""
@overload
def logical_not(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`not x`: whether it is 0."""
@overload
def logical_not(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`not x`: whether it is 0."""
@overload
def logical_or(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x or y`: whether at least one is nonzero."""
@overload
def logical_or(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x or y`: whether at least one is nonzero."""
@overload
def logical_or(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x or y`: whether at least one is nonzero."""
@overload
def logical_or(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x or y`: whether at least one is nonzero."""
@overload
def logical_or(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x or y`: whether at least one is nonzero."""
@overload
def logical_xor(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether exactly one of them is nonzero."""
@overload
def logical_xor(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Whether exactly one of them is nonzero."""
@overload
def logical_xor(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Whether exactly one of them is nonzero."""
@overload
def logical_xor(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Whether exactly one of them is nonzero."""
@overload
def logical_xor(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether exactly one of them is nonzero."""
@overload
def maximum(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The larger argument; NaN if either is NaN."""
@overload
def maximum(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The larger argument; NaN if either is NaN."""
@overload
def maximum(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The larger argument; NaN if either is NaN."""
@overload
def maximum(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The larger argument; NaN if either is NaN."""
@overload
def maximum(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The larger argument; NaN if either is NaN."""
@overload
def minimum(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The smaller argument; NaN if either is NaN."""
@overload
def minimum(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The smaller argument; NaN if either is NaN."""
@overload
def minimum(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The smaller argument; NaN if either is NaN."""
@overload
def minimum(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The smaller argument; NaN if either is NaN."""
@overload
def minimum(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The smaller argument; NaN if either is NaN."""
@overload
def mod(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def mod(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def mod(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def mod(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def mod(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def multiply(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x * y`. Integers wrap; booleans: logical and."""
@overload
def multiply(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x * y`. Integers wrap; booleans: logical and."""
@overload
def multiply(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x * y`. Integers wrap; booleans: logical and."""
@overload
def multiply(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x * y`. Integers wrap; booleans: logical and."""
@overload
def multiply(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x * y`. Integers wrap; booleans: logical and."""
@overload
def negative(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`-x`. Integers wrap."""
@overload
def negative(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`-x`. Integers wrap."""
@overload
def negative(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`-x`. Integers wrap."""
@overload
def negative(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`-x`. Integers wrap."""
@overload
def nextafter(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The next representable number from `x` toward `y`."""
@overload
def nextafter(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The next representable number from `x` toward `y`."""
@overload
def nextafter(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The next representable number from `x` toward `y`."""
@overload
def nextafter(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The next representable number from `x` toward `y`."""
@overload
def nextafter(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The next representable number from `x` toward `y`."""
@overload
def not_equal(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x != y`."""
@overload
def not_equal(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x != y`."""
@overload
def not_equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x != y`."""
@overload
def not_equal(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x != y`."""
@overload
def not_equal(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x != y`."""
@overload
def positive(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`+x`: `x` unchanged."""
@overload
def positive(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`+x`: `x` unchanged."""
@overload
def positive(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`+x`: `x` unchanged."""
@overload
def positive(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`+x`: `x` unchanged."""
@overload
def pow(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ** y`. Integers wrap."""
@overload
def pow(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ** y`. Integers wrap."""
@overload
def pow(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ** y`. Integers wrap."""
@overload
def pow(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x ** y`. Integers wrap."""
@overload
def pow(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ** y`. Integers wrap."""
@overload
def power(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ** y`. Integers wrap."""
@overload
def power(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ** y`. Integers wrap."""
@overload
def power(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x ** y`. Integers wrap."""
@overload
def power(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x ** y`. Integers wrap."""
@overload
def power(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x ** y`. Integers wrap."""
@overload
def prelu(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x` where it is not negative, else `x * y`."""
@overload
def prelu(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x` where it is not negative, else `x * y`."""
@overload
def prelu(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x` where it is not negative, else `x * y`."""
@overload
def prelu(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x` where it is not negative, else `x * y`."""
@overload
def prelu(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x` where it is not negative, else `x * y`."""
@overload
def rad2deg(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts radians to degrees."""
@overload
def rad2deg(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Converts radians to degrees."""
@overload
def rad2deg(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Converts radians to degrees."""
@overload
def rad2deg(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts radians to degrees."""
@overload
def radians(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts degrees to radians."""
@overload
def radians(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Converts degrees to radians."""
@overload
def radians(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Converts degrees to radians."""
@overload
def radians(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Converts degrees to radians."""
@overload
def real(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The real part."""
@overload
def real(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The real part."""
@overload
def real(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The real part."""
@overload
def real(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The real part."""
@overload
def reciprocal(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`1 / x`; of integers rounded toward 0, and 0 for 0."""
@overload
def reciprocal(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`1 / x`; of integers rounded toward 0, and 0 for 0."""
@overload
def reciprocal(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`1 / x`; of integers rounded toward 0, and 0 for 0."""
@overload
def reciprocal(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`1 / x`; of integers rounded toward 0, and 0 for 0."""
@overload
def remainder(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def remainder(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def remainder(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def remainder(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def remainder(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x % y`: the remainder with the sign of `y`; 0 for integer division by 0."""
@overload
def right_shift(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def right_shift(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def right_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def right_shift(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def right_shift(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x >> y`; shifts out all bits if `y` is negative or not less than their number."""
@overload
def rint(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds to the nearest integer, ties to even. Integers become floating-point."""
@overload
def rint(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Rounds to the nearest integer, ties to even. Integers become floating-point."""
@overload
def rint(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Rounds to the nearest integer, ties to even. Integers become floating-point."""
@overload
def rint(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds to the nearest integer, ties to even. Integers become floating-point."""
@overload
def round(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    decimals: SupportsIndex = 0,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Rounds to a number of decimals, ties to even."""
@overload
def round(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    decimals: SupportsIndex = 0,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Rounds to a number of decimals, ties to even."""
@overload
def round(
    x: _Input,
    /,
    decimals: SupportsIndex = 0,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds to a number of decimals, ties to even."""
@overload
def round(
    x: _Input | Lazy,
    /,
    decimals: SupportsIndex = 0,
    out: _Array | tuple[_Array] | None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds to a number of decimals, ties to even."""
@overload
def sigmoid(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`1 / (1 + exp(-x))`."""
@overload
def sigmoid(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`1 / (1 + exp(-x))`."""
@overload
def sigmoid(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`1 / (1 + exp(-x))`."""
@overload
def sigmoid(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`1 / (1 + exp(-x))`."""
@overload
def sign(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """-1, 0 or 1; of a complex number, `x / abs(x)`."""
@overload
def sign(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """-1, 0 or 1; of a complex number, `x / abs(x)`."""
@overload
def sign(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """-1, 0 or 1; of a complex number, `x / abs(x)`."""
@overload
def sign(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """-1, 0 or 1; of a complex number, `x / abs(x)`."""
@overload
def signbit(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether the sign bit is set, also of -0 and NaN."""
@overload
def signbit(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Whether the sign bit is set, also of -0 and NaN."""
@overload
def signbit(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Whether the sign bit is set, also of -0 and NaN."""
@overload
def signbit(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Whether the sign bit is set, also of -0 and NaN."""
@overload
def sin(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The sine."""
@overload
def sin(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The sine."""
@overload
def sin(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The sine."""
@overload
def sin(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The sine."""
@overload
def sinh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The hyperbolic sine."""
@overload
def sinh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The hyperbolic sine."""
@overload
def sinh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The hyperbolic sine."""
@overload
def sinh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The hyperbolic sine."""
@overload
def sqrt(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The square root."""
@overload
def sqrt(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The square root."""
@overload
def sqrt(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The square root."""
@overload
def sqrt(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The square root."""
@overload
def square(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x * x`."""
@overload
def square(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x * x`."""
@overload
def square(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x * x`."""
@overload
def square(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x * x`."""
@overload
def subtract(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x - y`. Integers wrap."""
@overload
def subtract(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x - y`. Integers wrap."""
@overload
def subtract(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x - y`. Integers wrap."""
@overload
def subtract(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x - y`. Integers wrap."""
@overload
def subtract(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x - y`. Integers wrap."""
@overload
def tan(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The tangent."""
@overload
def tan(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The tangent."""
@overload
def tan(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The tangent."""
@overload
def tan(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The tangent."""
@overload
def tanh(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The hyperbolic tangent."""
@overload
def tanh(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The hyperbolic tangent."""
@overload
def tanh(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The hyperbolic tangent."""
@overload
def tanh(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The hyperbolic tangent."""
@overload
def true_divide(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def true_divide(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def true_divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def true_divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def true_divide(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """`x / y`. Integers are divided as floating-point numbers."""
@overload
def trunc(
    x: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds toward 0 to an integer."""
@overload
def trunc(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """Rounds toward 0 to an integer."""
@overload
def trunc(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """Rounds toward 0 to an integer."""
@overload
def trunc(
    x: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """Rounds toward 0 to an integer."""
@overload
def trunc_divide(
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The quotient rounded toward 0; 0 for integer division by 0."""
@overload
def trunc_divide(  # pyright: ignore[reportOverlappingOverload]
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The quotient rounded toward 0; 0 for integer division by 0."""
@overload
def trunc_divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The quotient rounded toward 0; 0 for integer division by 0."""
@overload
def trunc_divide(  # pyright: ignore[reportOverlappingOverload]
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The quotient rounded toward 0; 0 for integer division by 0."""
@overload
def trunc_divide(
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The quotient rounded toward 0; 0 for integer division by 0."""
@overload
def where(
    condition: _Input | Lazy,
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: _Array | tuple[_Array],
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The second argument where the first is true (nonzero), else the third."""
@overload
def where(  # pyright: ignore[reportOverlappingOverload]
    condition: Lazy,
    x: _Input | Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The second argument where the first is true (nonzero), else the third."""
@overload
def where(  # pyright: ignore[reportOverlappingOverload]
    condition: _Input,
    x: Lazy,
    y: _Input | Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The second argument where the first is true (nonzero), else the third."""
@overload
def where(  # pyright: ignore[reportOverlappingOverload]
    condition: _Input,
    x: _Input,
    y: Lazy,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Lazy:
    """The second argument where the first is true (nonzero), else the third."""
@overload
def where(  # pyright: ignore[reportOverlappingOverload]
    condition: _Input,
    x: _Other,
    y: _Input,
    /,
    out: Any = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> Any:
    """The second argument where the first is true (nonzero), else the third."""
@overload
def where(
    condition: _Input,
    x: _Input,
    y: _Input,
    /,
    out: None = None,
    *,
    where: _Input | None = None,
    casting: _Casting = "same_kind",
    order: _Order = "K",
    dtype: DTypeLike | None = None,
    threads: int | None = None,
) -> _Array:
    """The second argument where the first is true (nonzero), else the third."""

# Generated: end.

# Threads.

def set_num_threads(n: SupportsIndex | None, /) -> int: ...
def get_num_threads() -> int: ...

# Broadcasting.

class BroadcastError(ValueError):
    axis: int | None
    inputs: tuple[int, ...]
    shapes: tuple[tuple[int | None, ...], ...]
    names: tuple[str, ...]

# Views of arrays on a GPU are of their library.
@overload
def broadcast_arrays(*arrays: _Other, rules: _Rules = "standard", strict_rank: bool = False) -> tuple[Any, ...]: ...
@overload
def broadcast_arrays(
    *arrays: _Input | Lazy, rules: _Rules = "standard", strict_rank: bool = False
) -> tuple[_Array, ...]: ...
@overload
def broadcast_to(
    x: _Other, /, shape: _Shape, *, rules: _Rules = "standard", strict_rank: bool = False
) -> Any: ...
@overload
def broadcast_to(
    x: _Input | Lazy, /, shape: _Shape, *, rules: _Rules = "standard", strict_rank: bool = False
) -> _Array: ...
@overload
def broadcast_shapes(*shapes: _Shape, rules: _Rules = "standard", strict_rank: bool = False) -> tuple[int, ...]: ...
@overload
def broadcast_shapes(
    *shapes: _ShapeWithUnknown, rules: _Rules = "standard", strict_rank: bool = False
) -> tuple[int | None, ...]: ...
# The array type of the result depends on the input.
def sum_to(
    x: _Input | Lazy,
    /,
    shape: _Shape,
    *,
    dtype: DTypeLike | None = None,
    out: Any = None,
    threads: int | None = None,
) -> Any: ...
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

# The type of the result is that of the first array. Without a type of names, it is NumPy's.
@overload
def evaluate(
    expression: str,
    names: Mapping[str, _Other],
    /,
    *,
    out: _Other | None = None,
    threads: int | None = None,
    explain: Literal[False] = False,
    fast_math: bool = False,
    **more: Any,
) -> Any: ...
@overload
def evaluate(
    expression: str,
    names: None = None,
    /,
    *,
    out: _Array | None = None,
    threads: int | None = None,
    explain: Literal[False] = False,
    fast_math: bool = False,
    **more: Never,
) -> _Array: ...
@overload
def evaluate(
    expression: str,
    names: None = None,
    /,
    *,
    out: _Other | None = None,
    threads: int | None = None,
    explain: Literal[False] = False,
    fast_math: bool = False,
    **more: _Other | complex,
) -> Any: ...
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
    expression: str,
    names: _Names | None = None,
    /,
    *,
    out: _Other,
    threads: int | None = None,
    explain: Literal[False] = False,
    fast_math: bool = False,
    **more: Any,
) -> Any: ...
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
    def release(self) -> None: ...
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
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __round__(self, ndigits: SupportsIndex | None = None, /) -> Any: ...
    # Attributes and methods of numpy.ndarray.
    def __getattr__(self, name: str, /) -> Any: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...
    # Products of matrices are computed.
    def __matmul__(self, other: _Input | Lazy) -> Any: ...
    def __rmatmul__(self, other: _Input | Lazy) -> Any: ...
    def __divmod__(self, other: _Input | Lazy) -> tuple[Lazy, Lazy]: ...
    def __rdivmod__(self, other: _Input | Lazy) -> tuple[Lazy, Lazy]: ...
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

class BroadcastSite:
    file: str
    line: int
    module: str
    function: str
    expression: str
    operation: str
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    kind: str
    reason: str
    allowed_by: str
    count: int
    @property
    def suspicious(self) -> bool: ...
    def headline(self) -> str: ...
    def diagram(self) -> str: ...
    def text(self) -> str: ...
    def as_dict(self) -> dict[str, Any]: ...

class SuspiciousBroadcastWarning(UserWarning):
    site: BroadcastSite | None
    def __init__(self, message: str, site: BroadcastSite | None = None) -> None: ...

class SuspiciousBroadcastError(ValueError):
    site: BroadcastSite | None
    def __init__(self, message: str, site: BroadcastSite | None = None) -> None: ...

class guard:
    policy: Literal["warn", "raise", "collect"]
    def __init__(
        self,
        *,
        policy: Literal["warn", "raise", "collect"] = "warn",
        ignore: str | Sequence[str] = (),
        only: str | Sequence[str] = (),
        strict: bool = False,
        all_threads: bool = False,
        summary: bool = False,
        html: str | PathLike[str] | None = None,
    ) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]: ...
    @property
    def sites(self) -> list[BroadcastSite]: ...
    @property
    def suspicious(self) -> list[BroadcastSite]: ...
    def summary(self) -> str: ...
    def text(self) -> str: ...
    def html(self) -> str: ...
    def write_html(self, path: str | PathLike[str]) -> None: ...
