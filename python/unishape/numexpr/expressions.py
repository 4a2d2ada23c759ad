"""Nodes of numexpr expressions, and the kind of each: numexpr's name for its type.

Kinds are, in the order of promotion, bool, int (int32), long (int64), float (float32), double (float64) and complex
(complex128); and bytes. Other dtypes are cast to the next larger one of these.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

#: Kinds in the order of promotion.
KINDS = ("bool", "int", "long", "float", "double", "complex")

#: The letter of each kind in signatures.
LETTERS = {"bool": "b", "int": "i", "long": "l", "float": "f", "double": "d", "complex": "c", "bytes": "s", "none": "n"}

#: The dtype of each kind.
DTYPES = {
    "bool": "bool",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "complex": "complex128",
}

# Kinds of operands for which an operation is defined, as letters.
_NUMBERS = "ilfdc"
_OPERANDS = {
    **dict.fromkeys(["add", "sub", "mul", "div", "pow", "neg", "ones_like", "sum", "prod"], _NUMBERS),
    **dict.fromkeys(["mod", "floordiv", "min", "max"], "ilfd"),
    **dict.fromkeys(["lshift", "rshift"], "il"),
    **dict.fromkeys(["and", "or", "xor", "invert"], "bil"),
    **dict.fromkeys(["eq", "ne"], "bilfdcs"),
    **dict.fromkeys(["gt", "ge"], "ilfds"),
    "copy": "bilfdcs",
    **dict.fromkeys(["real", "imag"], "c"),
    "complex": "d",
    "contains": "s",
    "where": "bilfdc",
    **dict.fromkeys("sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh".split(), "fdc"),
    **dict.fromkeys("log log1p log10 log2 exp expm1 conj".split(), "fdc"),
    **dict.fromkeys(["abs", "sign", "round"], _NUMBERS),
    **dict.fromkeys("ceil floor trunc fmod arctan2 hypot nextafter copysign maximum minimum signbit".split(), "fd"),
    **dict.fromkeys(["isnan", "isfinite", "isinf"], "fdc"),
}

#: Operations whose result is of kind bool.
PREDICATES = ("eq", "ne", "gt", "ge", "isnan", "isfinite", "isinf", "signbit", "contains")

# Operations whose result is not of the kind of their operands.
_OTHER_RESULT = (*PREDICATES, "real", "imag", "complex")

REDUCTIONS = ("sum", "prod", "min", "max")

_TWO_ARGUMENTS = ("fmod", "arctan2", "hypot", "nextafter", "copysign", "maximum", "minimum", "complex", "contains")

_INT32 = np.iinfo(np.int32)

#: Python's integers have no limit: constants that take more bits are refused.
_MAX_BITS = 128


class ExpressionNode:
    """A value of an expression. Operators of nodes make nodes."""

    astType = "generic"

    def __init__(self, value: Any = None, kind: str | None = None, children: Iterable[Any] = ()) -> None:
        self.value = value
        self.astKind = kind or "none"
        self.children = tuple(children)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value}, {self.astKind}, {self.children})"

    @property
    def real(self) -> ExpressionNode:
        """The real part."""
        return _part("real", self)

    @property
    def imag(self) -> ExpressionNode:
        """The imaginary part."""
        return _part("imag", self)

    def __bool__(self) -> bool:
        raise TypeError(
            "Python's and, or and not, and chained comparisons, are not element-wise; use &, | and ~, with comparisons "
            "in parentheses"
        )

    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> ExpressionNode:
        return _unary("neg", operator.neg, self)

    def __invert__(self) -> ExpressionNode:
        return _unary("invert", operator.invert, self)

    def __pos__(self) -> ExpressionNode:
        return self


class VariableNode(ExpressionNode):
    """A variable."""

    astType = "variable"


class ConstantNode(ExpressionNode):
    """A number or bytes."""

    astType = "constant"

    def __init__(self, value: Any = None, kind: str | None = None) -> None:
        super().__init__(value, kind or constant_kind(value))


class OpNode(ExpressionNode):
    """An operation; its kind is the common one of its operands."""

    astType = "op"

    def __init__(self, opcode: str, args: Iterable[Any], kind: str | None = None) -> None:
        args = tuple(args)
        if kind is None:
            kind = common_kind(args)
        if kind == "bool":
            opcode = {"mul": "and", "add": "or"}.get(opcode, opcode)
        super().__init__(opcode, kind, args)


class FuncNode(OpNode):
    """A call of a function."""


class Expression:
    """Variables as attributes: `E.a` is a variable of kind double."""

    def __getattr__(self, name: str) -> VariableNode:
        if name.startswith("_"):
            raise AttributeError(name)
        return VariableNode(name, "double")


E = Expression()


def constant_kind(value: Any) -> str:
    """The kind of a constant: int for Python integers of 32 bits, double for Python floats."""
    if isinstance(value, (bytes, str)):
        return "bytes"
    if isinstance(value, (bool, np.bool_)):
        return "bool"
    if isinstance(value, np.int64):
        return "long"
    if isinstance(value, np.float32):
        return "float"
    if isinstance(value, (int, np.integer)):
        if not -(2**63) <= value < 2**63:
            raise OverflowError(f"the integer {value} does not fit into int64; write it as a float")
        return "int" if _INT32.min <= value <= _INT32.max else "long"
    if isinstance(value, (float, np.floating)):
        return "double"
    if isinstance(value, (complex, np.complexfloating)):
        return "complex"
    raise TypeError(f"unsupported constant of type {type(value).__name__}; use a number or bytes")


def common_kind(nodes: Iterable[Any]) -> str:
    """The kind that operands are promoted to."""
    kinds = [node.astKind for node in nodes]
    if "bytes" in kinds:
        if set(kinds) != {"bytes"}:
            raise TypeError("strings can only be operated with strings")
        return "bytes"
    return max(kinds, key=KINDS.index)


def operand_kind(node: ExpressionNode) -> str:
    """The kind that the operands of an operation are cast to."""
    own = [child.astKind for child in node.children]
    candidates: Iterable[str] = ()
    if node.value == "where":
        candidates = [node.astKind] if len(own) == 3 and own[0] == "bool" else ()
    elif len(own) == (2 if node.value in _TWO_ARGUMENTS or node.value in _BINARY else 1):
        if "bytes" in own:
            candidates = ["bytes"] if set(own) == {"bytes"} else ()
        else:
            least = KINDS.index(common_kind(node.children))
            if node.value in _OTHER_RESULT:
                candidates = KINDS[least:]
            elif least <= KINDS.index(node.astKind):
                candidates = [node.astKind]
    for kind in candidates:
        if LETTERS[kind] in _OPERANDS[node.value]:
            return kind
    signature = "".join(LETTERS[kind] for kind in (node.astKind, *own))
    raise NotImplementedError(f"there is no operation '{node.value}_{signature}': {node.value} of operands of these types")


def _node(value: Any) -> ExpressionNode:
    return value if isinstance(value, ExpressionNode) else ConstantNode(value)


def _all_constant(nodes: Iterable[ExpressionNode]) -> bool:
    return all(isinstance(node, ConstantNode) for node in nodes)


def _part(name: str, node: ExpressionNode) -> ExpressionNode:
    if isinstance(node, ConstantNode):
        return ConstantNode(getattr(complex(node.value), name))
    return OpNode(name, (node,), "double")


def _unary(name: str, function: Callable[[Any], Any], node: ExpressionNode) -> ExpressionNode:
    if isinstance(node, ConstantNode):
        return ConstantNode(function(node.value))
    return OpNode(name, (node,))


def _check_size(name: str, x: Any, y: Any) -> None:
    """Refuses constants such as 9**9**9 before they are computed."""
    if isinstance(x, int) and isinstance(y, int) and y > 0:
        bits = x.bit_length() * y if name == "pow" and abs(x) > 1 else x.bit_length()
        if name == "lshift":
            bits += y
        if bits > _MAX_BITS:
            raise OverflowError(f"this constant is too large: {x} {'**' if name == 'pow' else '<<'} {y}")


def _power_kind(kind: str, exponent: Any, optimization: str) -> str | None:
    """The kind of a power that numexpr computes by multiplications and square roots; None for others.

    It does so for multiples of 1/2 by default, and then float32 to a power that is a float64 is a float32.
    """
    if kind not in KINDS or isinstance(exponent, (complex, np.complexfloating)) or exponent != exponent:
        return None
    if optimization == "moderate":
        is_expanded = exponent in (-1, 0, 0.5, 1, 2)
    else:
        is_expanded = optimization == "aggressive" and abs(exponent) <= 50 and 2 * exponent == int(2 * exponent)
    if not is_expanded or (kind == "bool" and exponent == 0):
        return None
    is_double = exponent != int(exponent) or exponent < 0
    return "double" if is_double and kind in ("bool", "int", "long") else kind


def _binary(name: str, x: Any, y: Any, optimization: str = "none") -> ExpressionNode:
    x, y = _node(x), _node(y)
    if _all_constant([x, y]):
        _check_size(name, x.value, y.value)
        with np.errstate(all="ignore"):
            return ConstantNode(_BINARY[name](x.value, y.value))
    if name in ("eq", "ne", "gt", "ge"):
        return OpNode(name, (x, y), "bool")
    if name == "pow" and isinstance(y, ConstantNode):
        if x.astKind in ("int", "long") and y.astKind in ("int", "long") and y.value < 0:
            raise ValueError("integers to negative integer powers are not allowed; write the exponent as a float")
        kind = _power_kind(x.astKind, y.value, optimization)
        if kind == "bool":
            return OpNode("and", (x, x), kind)
        return OpNode(name, (x, ConstantNode(y.value, y.astKind if kind is None else kind)), kind)
    if name == "div":
        kind = common_kind([x, y])
        return OpNode(name, (x, y), "double" if kind in ("bool", "int", "long") else kind)
    return OpNode(name, (x, y))


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _add_operators() -> None:
    methods = {"div": "truediv"}

    def method(name: str, is_reversed: bool) -> Callable[[Any, Any], ExpressionNode]:
        if is_reversed:
            return lambda self, other: _binary(name, other, self)
        return lambda self, other: _binary(name, self, other)

    for name in _BINARY:
        python = methods.get(name, name)
        setattr(ExpressionNode, f"__{python}__", method(name, False))
        if name not in ("eq", "ne", "gt", "ge"):
            setattr(ExpressionNode, f"__r{python}__", method(name, True))
    setattr(ExpressionNode, "__lt__", method("gt", True))
    setattr(ExpressionNode, "__le__", method("ge", True))


_add_operators()


def binary(name: str, x: Any, y: Any, optimization: str) -> ExpressionNode:
    """The node of a binary operator; lt and le are gt and ge with their operands exchanged."""
    if name in ("lt", "le"):
        return _binary({"lt": "gt", "le": "ge"}[name], y, x)
    return _binary(name, x, y, optimization)


# Functions.


def _function(name: str, least: str = "bool", most: str = "complex") -> Callable[..., ExpressionNode]:
    """A function whose result is of a kind from least to most; that of integers is mostly double."""

    def function(*arguments: Any) -> ExpressionNode:
        nodes = [_node(argument) for argument in arguments]
        if nodes and _all_constant(nodes):
            with np.errstate(all="ignore"):
                return ConstantNode(_constant_function(name)(*(node.value for node in nodes)))
        if not nodes:
            raise TypeError(f"{name} needs an argument")
        kind = common_kind(nodes)
        if kind in ("int", "long"):
            if name not in ("copy", "ones_like", "round", "sign", "complex"):
                kind = "double"
            elif name == "complex":
                kind = "complex"
        elif kind in KINDS:
            kind = KINDS[min(max(KINDS.index(kind), KINDS.index(least)), KINDS.index(most))]
        if name in PREDICATES:
            kind = "bool"
        return FuncNode(name, nodes, kind)

    function.__name__ = name
    return function


def _constant_function(name: str) -> Callable[..., Any]:
    if name == "complex":
        return complex
    return getattr(np, {"abs": "absolute"}.get(name, name))


def _where(condition: Any, x: Any, y: Any) -> ExpressionNode:
    condition, x, y = _node(condition), _node(x), _node(y)
    if isinstance(condition, ConstantNode):
        return x if condition.value else y
    return FuncNode("where", (condition, x, y), common_kind([x, y]))


def _contains(text: Any, part: Any) -> ExpressionNode:
    return FuncNode("contains", (_node(text), _node(part)), "bool")


def _reduction(name: str) -> Callable[..., ExpressionNode]:
    def function(x: Any, axis: Any = None) -> ExpressionNode:
        axis = axis.value if isinstance(axis, ConstantNode) else axis
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, (int, np.integer))):
            raise TypeError(f"{name}: axis must be an integer or None")
        if axis is not None and axis < 0:
            raise ValueError(f"{name}: negative axes are not supported, as in numexpr; unishape.evaluate has them")
        x = _node(x)
        if isinstance(x, ConstantNode):
            return x
        node = FuncNode(name, [x], x.astKind)
        node.axis = axis  # type: ignore[attr-defined]
        return node

    function.__name__ = name
    return function


functions: dict[str, Callable[..., ExpressionNode]] = {
    "copy": _function("copy"),
    "ones_like": _function("ones_like"),
    "real": _function("real", "double", "double"),
    "imag": _function("imag", "double", "double"),
    "complex": _function("complex", "complex"),
    "conj": _function("conj", "complex"),
    "where": _where,
    "contains": _contains,
    **{name: _reduction(name) for name in REDUCTIONS},
    **{name: _function(name, "float", "double") for name in ("ceil", "floor")},
    **{
        name: _function(name, "float")
        for name in (
            "sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh fmod arctan2 "
            "log log1p log10 log2 exp expm1 abs"
        ).split()
    },
    **{
        name: _function(name, "double")
        for name in (
            "hypot nextafter copysign maximum minimum round trunc sign isnan isfinite isinf signbit"
        ).split()
    },
}
