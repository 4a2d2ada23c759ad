"""Compiled expressions, and numexpr's functions that evaluate text."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FrameType
from typing import Any

import numpy as np

from unishape import _unishape
from unishape.numexpr import _translate
from unishape.numexpr.expressions import DTYPES, LETTERS, ExpressionNode

#: Compiled expressions that are kept, for each thread.
_MAX_CACHED = 256

_KINDS_OF_TYPES: dict[Any, str] = {
    bool: "bool",
    np.bool_: "bool",
    np.int32: "int",
    np.int64: "long",
    int: "long",
    # numexpr's name for single precision.
    float: "float",
    np.float32: "float",
    np.float64: "double",
    complex: "complex",
    np.complex128: "complex",
    bytes: "bytes",
    np.bytes_: "bytes",
    str: "bytes",
}

_OPTIMIZATIONS = ("none", "moderate", "aggressive")


class CompiledExpression:
    """An expression with the names, order and types of its inputs; NumExpr makes it.

    Attributes
    ----------
    input_names : tuple of str
    signature : bytes
        A letter for the type of each input: b, i, l, f, d, c or s, for bool, int32, int64, float32, float64,
        complex128 and bytes.
    constants : tuple
        The distinct constants.
    """

    def __init__(self, node: ExpressionNode, names: Sequence[str], kinds: Sequence[str]) -> None:
        self.input_names = tuple(names)
        self.signature = "".join(LETTERS[kind] for kind in kinds).encode()
        self._node = node
        self._kinds = tuple(kinds)
        self._translated: dict[tuple[Any, ...], _translate.Translated] = {}
        # Reports operations that are not defined for these types.
        self.constants = _translate.constants(node)

    def __call__(
        self,
        *args: Any,
        out: np.ndarray | None = None,
        order: str = "K",
        casting: str = "safe",
        ex_uses_vml: bool = False,
    ) -> np.ndarray:
        """Evaluates the expression for inputs in the order of input_names."""
        if len(args) != len(self.input_names):
            raise ValueError(f"the expression has {len(self.input_names)} inputs, but {len(args)} are given")
        arrays = [np.asarray(each) for each in args]
        for name, kind, array in zip(self.input_names, self._kinds, arrays):
            _check_cast(f"{name}, an array", array.dtype, kind, casting)
        return self._evaluate(arrays, out, order, casting)

    def run(self, *args: Any, **options: Any) -> np.ndarray:
        """Evaluates the expression, as a call of it does."""
        return self(*args, **options)

    def _evaluate(self, arrays: list[np.ndarray], out: np.ndarray | None, order: str, casting: str) -> np.ndarray:
        if order not in ("C", "F", "A", "K"):
            raise ValueError(f"order must be 'C', 'F', 'A' or 'K', not {order!r}")
        dtypes = tuple(array.dtype for array in arrays)
        translated = self._translated.get(dtypes)
        if translated is None:
            inputs = zip(self.input_names, self._kinds, dtypes)
            cast = {name: kind for name, kind, dtype in inputs if kind != "bytes" and dtype != DTYPES[kind]}
            translated = self._translated[dtypes] = _translate.translate(self._node, cast)
        values = dict(zip(self.input_names, arrays))
        if translated.kind == "bytes":
            # Only a variable, a constant or a copy of one can be text.
            result = _translate.text_value(self._node, values).copy()
            return _written(result, out, order, casting)
        if translated.precomputed:
            values = _translate.with_precomputed(translated.precomputed, values)
        if out is None:
            result = _unishape._evaluate_silently(translated.text, values)
            return result if order == "K" else _in_order(result, arrays, order)
        if self._can_write_to(out, translated, values, casting):
            return _unishape._evaluate_silently(translated.text, values, out=out)
        return _written(_unishape._evaluate_silently(translated.text, values), out, order, casting)

    def _can_write_to(
        self, out: Any, translated: _translate.Translated, values: Mapping[str, np.ndarray], casting: str
    ) -> bool:
        """Whether the result can be written to an array while it is computed."""
        if not isinstance(out, np.ndarray) or not translated.is_element_wise or not out.flags.aligned:
            return False
        try:
            shape = np.broadcast_shapes(*(array.shape for array in values.values()))
        except ValueError:
            return True  # The error of unishape says more.
        dtype = np.dtype(DTYPES[translated.kind])
        if shape != out.shape or not all(np.can_cast(dtype, out.dtype, rule) for rule in ("same_kind", casting)):
            return False
        others = (array for array in values.values() if array is not out)
        return not any(np.may_share_memory(out, array) for array in others)


def _check_cast(what: str, dtype: np.dtype[Any], kind: str, casting: str) -> None:
    to = dtype if kind == "bytes" and dtype.kind == "S" else np.dtype("S" if kind == "bytes" else DTYPES[kind])
    # numexpr takes uint64 for int64.
    if not np.can_cast(dtype, to, casting) and not (kind == "long" and dtype == np.uint64):
        raise TypeError(f"cannot cast {what} of {dtype}, to {to} by the rule {casting!r}; cast it, or pass casting=")


def _written(result: np.ndarray, out: np.ndarray | None, order: str, casting: str) -> np.ndarray:
    """The result, or out with it."""
    if out is None:
        return np.asarray(result, order=None if order == "K" else order)  # type: ignore[call-overload]
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, not {type(out).__name__}")
    if np.broadcast_shapes(result.shape, out.shape) != out.shape:
        raise ValueError(f"the result has shape {result.shape}, but out has {out.shape}")
    if not np.can_cast(result.dtype, out.dtype, casting):
        raise TypeError(f"cannot cast the result from {result.dtype} to {out.dtype}, the dtype of out, by the rule {casting!r}")
    np.copyto(out, result, casting="unsafe")
    return out


def _in_order(result: np.ndarray, arrays: list[np.ndarray], order: str) -> np.ndarray:
    if order == "A":
        is_fortran = arrays and all(array.flags.f_contiguous and not array.flags.c_contiguous for array in arrays)
        order = "F" if is_fortran else "C"
    return np.asarray(result, order=order)  # type: ignore[call-overload]


def NumExpr(
    ex: str | ExpressionNode, signature: Iterable[tuple[str, Any]] = (), sanitize: bool = True, **kwargs: Any
) -> CompiledExpression:
    """Compiles an expression.

    Parameters
    ----------
    ex : str or expression of E
        For example "2*a + 3*b", or 2*E.a + 3*E.b.
    signature : sequence of (name, type), optional
        Order and types of the inputs; a type is bool, numpy.int32, numpy.int64, float (which is float32), numpy.float64,
        complex or bytes. By default, inputs are in alphabetical order and of float64.
    sanitize : bool, default True
        Whether text with characters that numexpr refuses is an error. Text is never executed.
    **kwargs
        optimization ('none', 'moderate' or 'aggressive', the default), which decides only whether float32 to a power
        such as 2.0 is a float32, and truediv, which has no effect.

    Returns
    -------
    CompiledExpression
        Called with the inputs, it evaluates the expression.

    Examples
    --------
    >>> import numpy as np
    >>> from unishape.numexpr import NumExpr
    >>> f = NumExpr("2*a + b", [("b", np.float64), ("a", np.float64)])
    >>> f(np.arange(3.0), 1).tolist()
    [2.0, 3.0, 4.0]
    """
    optimization = _check_context(kwargs)
    kinds = {name: _kind_of_type(kind) for name, kind in signature}
    node = _translate.parse(ex, kinds, sanitize, optimization) if isinstance(ex, str) else ex
    if not isinstance(node, ExpressionNode):
        raise TypeError(f"an expression is a str or made of E, not {type(node).__name__}")
    names = _translate.variables(node)
    if kinds and names != set(kinds):
        raise ValueError(f"the signature has the names {sorted(kinds)}, but the expression {sorted(names)}")
    order = list(kinds) if kinds else sorted(names)
    return CompiledExpression(node, order, [kinds.get(name, "double") for name in order])


def _kind_of_type(kind: Any) -> str:
    if kind in _KINDS_OF_TYPES:
        return _KINDS_OF_TYPES[kind]
    raise TypeError(f"{kind!r} is not a type of numexpr: bool, numpy.int32, numpy.int64, float, numpy.float64, complex, bytes")


def _check_context(options: Mapping[str, Any]) -> str:
    """Checks the options, and returns the optimization."""
    if not options:
        return "aggressive"
    unknown = set(options) - {"optimization", "truediv"}
    if unknown:
        raise ValueError(f"Unknown keyword argument '{sorted(unknown)[0]}'")
    if options.get("optimization", "aggressive") not in _OPTIMIZATIONS:
        raise ValueError(f"'optimization' must be one of {_OPTIMIZATIONS}, got {options['optimization']!r}")
    if options.get("truediv", False) not in (False, True, "auto"):
        raise ValueError(f"'truediv' must be True, False or 'auto', got {options['truediv']!r}")
    return options.get("optimization", "aggressive")


def getType(array: np.ndarray) -> Any:
    """numexpr's type for an array."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "b":
        return bool
    if kind in "iu":
        return np.int64 if size > 4 or (kind == "u" and size == 4) else np.int32
    if kind == "f":
        return np.float64 if size > 4 else float
    if kind == "c":
        return complex
    if kind == "S":
        return bytes
    hint = "; encode text to bytes first" if kind == "U" else ""
    raise ValueError(f"numexpr expressions do not support {array.dtype}{hint}")


def getExprNames(text: str, context: Mapping[str, Any], sanitize: bool = True) -> tuple[list[str], bool]:
    """The names of the variables, sorted, and whether VML is used, which is False."""
    return sorted(_translate.variables(_translate.parse(text, {}, bool(sanitize)))), False


def getArguments(
    names: Iterable[str],
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    _frame_depth: int = 2,
) -> list[np.ndarray]:
    """The values of names, from local_dict or the caller's local variables, and then from global_dict or its globals."""
    return _arguments(names, local_dict, global_dict, sys._getframe(_frame_depth))


def _arguments(
    names: Iterable[str],
    local_dict: Mapping[str, Any] | None,
    global_dict: Mapping[str, Any] | None,
    frame: FrameType,
) -> list[np.ndarray]:
    scopes = (
        frame.f_locals if local_dict is None else local_dict,
        frame.f_globals if global_dict is None else global_dict,
    )
    result = []
    for name in names:
        try:
            value = scopes[0][name]
        except KeyError:
            value = scopes[1][name]
        result.append(np.asarray(value))
    return result


class _State(threading.local):
    """What a thread has compiled, and its last call."""

    def __init__(self) -> None:
        self.names: dict[Any, list[str]] = {}
        self.compiled: dict[Any, CompiledExpression] = {}
        self.last: tuple[CompiledExpression, list[str], Callable[[], np.ndarray | None], str, str] | None = None


_state = _State()


def _cached(cache: dict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    value = cache.get(key)
    if value is None:
        value = make()
        if len(cache) >= _MAX_CACHED:
            cache.pop(next(iter(cache)))
        cache[key] = value
    return value


def _is_sanitized(sanitize: bool | None) -> bool:
    if sanitize is None:
        return bool(int(os.environ.get("NUMEXPR_SANITIZE", "1")))
    return sanitize


def _prepare(
    ex: str,
    local_dict: Mapping[str, Any] | None,
    global_dict: Mapping[str, Any] | None,
    sanitize: bool | None,
    options: Mapping[str, Any],
    frame: FrameType,
    is_cached: bool = True,
) -> tuple[CompiledExpression, list[str], list[np.ndarray]]:
    """The compiled expression, the names of its inputs and their values."""
    if not isinstance(ex, str):
        raise ValueError("must specify expression as a string")
    optimization = _check_context(options)
    is_sanitized = _is_sanitized(sanitize)
    names_cache, compiled_cache = (_state.names, _state.compiled) if is_cached else ({}, {})
    names = _cached(names_cache, (ex, is_sanitized), lambda: getExprNames(ex, {}, is_sanitized)[0])
    arguments = _arguments(names, local_dict, global_dict, frame)

    def make() -> CompiledExpression:
        signature = [(name, getType(array)) for name, array in zip(names, arguments)]
        return NumExpr(ex, signature, is_sanitized, optimization=optimization)

    dtypes = tuple([array.dtype for array in arguments])
    compiled = _cached(compiled_cache, (ex, optimization, dtypes), make)
    return compiled, names, arguments


def _remember(compiled: CompiledExpression, names: list[str], out: Any, order: str, casting: str) -> None:
    # Keeps no array alive.
    reference = (lambda: None) if out is None else weakref.ref(out)
    _state.last = (compiled, names, reference, order, casting)


def evaluate(
    ex: str,
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    out: np.ndarray | None = None,
    order: str = "K",
    casting: str = "same_kind",
    sanitize: bool | None = None,
    _frame_depth: int = 3,
    disable_cache: bool = False,
    **kwargs: Any,
) -> np.ndarray:
    """Evaluates an expression as numexpr.evaluate does.

    Parameters
    ----------
    ex : str
        For example "2*a + 3*b".
    local_dict, global_dict : mapping, optional
        Values by name, in place of the caller's local and global variables.
    out : numpy.ndarray, optional
        Preallocated output.
    order : {'C', 'F', 'A', 'K'}
        Memory layout of a new array; K is that of the inputs.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
        Which casts to the dtype of out are allowed.
    sanitize : bool, optional
        Whether text with characters that numexpr refuses is an error; by default yes, unless NUMEXPR_SANITIZE is 0.
        Text is never executed.
    disable_cache : bool, default False
        Whether not to keep the compiled expression; re_evaluate then refers to the call before.
    **kwargs
        optimization ('none', 'moderate' or 'aggressive', the default), which decides only whether float32 to a power
        such as 2.0 is a float32, and truediv, which has no effect.

    Returns
    -------
    numpy.ndarray
        Of bool, int32, int64, float32, float64 or complex128, by numexpr's rules.

    Examples
    --------
    >>> import numpy as np
    >>> import unishape.numexpr as ne
    >>> a, b = np.arange(3), np.array([1.5, 2.5, 3.5])
    >>> ne.evaluate("2*a + 3*b  # a comment").tolist()
    [4.5, 9.5, 14.5]
    """
    frame = sys._getframe(_frame_depth - 2)
    compiled, names, arguments = _prepare(ex, local_dict, global_dict, sanitize, kwargs, frame, not disable_cache)
    if not disable_cache:
        _remember(compiled, names, out, order, casting)
    # The signature is that of the arguments: no cast is to be checked.
    return compiled._evaluate(arguments, out, order, casting)


def validate(
    ex: str,
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    out: np.ndarray | None = None,
    order: str = "K",
    casting: str = "safe",
    _frame_depth: int = 2,
    sanitize: bool | None = None,
    **kwargs: Any,
) -> Exception | None:
    """Checks an expression without evaluating it; re_evaluate then does.

    Parameters are those of evaluate.

    Returns
    -------
    Exception or None
        The exception that evaluate would raise before it computes.

    Examples
    --------
    >>> import unishape.numexpr as ne
    >>> ne.validate("a + 1", {"a": 2}) is None, ne.validate("a + b", {"a": 2})
    (True, KeyError('b'))
    """
    try:
        frame = sys._getframe(_frame_depth - 1)
        compiled, names, _ = _prepare(ex, local_dict, global_dict, sanitize, kwargs, frame)
    except Exception as error:
        return error
    _remember(compiled, names, out, order, casting)
    return None


def re_evaluate(
    local_dict: Mapping[str, Any] | None = None,
    global_dict: Mapping[str, Any] | None = None,
    _frame_depth: int = 2,
) -> np.ndarray:
    """Evaluates the expression of this thread's last evaluate or validate with other inputs of the same types.

    Parameters
    ----------
    local_dict, global_dict : mapping, optional
        Values by name, in place of the caller's local and global variables.

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> import unishape.numexpr as ne
    >>> ne.evaluate("a + 1", {"a": 2}).item(), ne.re_evaluate({"a": 5}).item()
    (3, 6)
    """
    if _state.last is None:
        raise RuntimeError("there is no expression to evaluate again; call evaluate or validate first")
    compiled, names, reference, order, casting = _state.last
    arguments = _arguments(names, local_dict, global_dict, sys._getframe(_frame_depth - 1))
    return compiled(*arguments, out=reference(), order=order, casting=casting)


def disassemble(nex: CompiledExpression) -> list[Any]:
    """Is not supported: expressions are not programs of numexpr's virtual machine."""
    raise NotImplementedError(
        "there is no program of numexpr's virtual machine; unishape.evaluate(..., explain=True) describes how an "
        "expression is computed"
    )
