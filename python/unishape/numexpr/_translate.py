"""Translation of numexpr expressions: from text to nodes, and from nodes to text of unishape.evaluate."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from unishape import _unishape
from unishape.numexpr import expressions
from unishape.numexpr.expressions import DTYPES, ConstantNode, ExpressionNode, VariableNode

#: Characters that numexpr refuses outside quotes, because it evaluates the text as Python code.
_FORBIDDEN = re.compile(r"[;\[:]|(^|\W)__\w+__($|\W)")

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")

_COMMENT = re.compile(r"#.*")

_BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Lt: "lt",
    ast.LtE: "le",
}


def parse(text: str, kinds: Mapping[str, str], is_sanitized: bool, optimization: str = "none") -> ExpressionNode:
    """The nodes of a text. No code is executed: other syntax than that of expressions is refused in any case.

    kinds has those of variables; others are of kind double. Where is_sanitized, text that numexpr refuses before it
    parses it is a ValueError, too. The optimization decides the kind of some powers.
    """
    if is_sanitized and _FORBIDDEN.search(re.sub(r"\s+", "", _COMMENT.sub("", _QUOTED.sub("", text)))):
        raise ValueError(f"Expression {text} has forbidden control characters.")
    tree = ast.parse(text.strip(), "<expr>", mode="eval")
    result = _Parser(kinds, optimization).node(tree.body)
    return result if isinstance(result, ExpressionNode) else ConstantNode(result)


class _Parser:
    def __init__(self, kinds: Mapping[str, str], optimization: str) -> None:
        self.kinds = kinds
        self.optimization = optimization

    def node(self, tree: ast.AST) -> Any:
        """A node, or None for the literal None."""
        match tree:
            case ast.Constant(value=None):
                return None
            case ast.Constant(value=value) if value is not ...:
                return ConstantNode(value)
            case ast.Name(id=name):
                return VariableNode(name, self.kinds.get(name, "double"))
            case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]) if (
                type(op) in _BINARY
            ):
                operands = self.operand(left), self.operand(right)
                return expressions.binary(_BINARY[type(op)], *operands, self.optimization)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.operand(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return +self.operand(operand)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return ~self.operand(operand)
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare() | ast.IfExp():
                bool(VariableNode())  # raises TypeError
            case ast.Attribute(value=value, attr=("real" | "imag") as attribute):
                return getattr(self.operand(value), attribute)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                if name not in expressions.functions:
                    known = ", ".join(sorted(expressions.functions))
                    raise TypeError(f"there is no function {name}; functions are {known}")
                named = {str(keyword.arg): self.node(keyword.value) for keyword in keywords}
                return expressions.functions[name](*map(self.node, arguments), **named)
        raise ValueError(
            f"an expression cannot have {ast.unparse(tree)}: only numbers, variables, operators and calls of functions"
        )

    def operand(self, tree: ast.AST) -> ExpressionNode:
        node = self.node(tree)
        if node is None:
            raise TypeError("None is not a number")
        return node


def variables(node: ExpressionNode) -> set[str]:
    """The names of the variables of an expression."""
    if isinstance(node, VariableNode):
        return {node.value}
    return {name for child in node.children for name in variables(child)}


def constants(node: ExpressionNode) -> tuple[Any, ...]:
    """The distinct numeric constants of an expression, by kind and value, each of the type of its kind."""
    found: dict[tuple[str, str], Any] = {}

    def collect(node: ExpressionNode, kind: str) -> None:
        if isinstance(node, ConstantNode):
            value = node.value if kind == "bytes" else np.dtype(DTYPES[kind]).type(node.value)
            value = value if kind in ("bytes", "float") else value.item()
            found[kind, repr(value)] = value
        elif not isinstance(node, VariableNode):
            own = expressions.operand_kind(node)
            for position, child in enumerate(node.children):
                collect(child, "bool" if node.value == "where" and position == 0 else own)

    collect(node, node.astKind)
    return tuple(value for _, value in sorted(found.items(), key=lambda item: (item[0][0], item[0][1])))


class Precomputed(NamedTuple):
    """An input of an expression that is not an argument but computed from arguments by NumPy."""

    name: str
    function: Callable[[Mapping[str, Any]], np.ndarray]


class Translated(NamedTuple):
    """An expression as text of unishape.evaluate."""

    text: str
    #: Inputs to compute first.
    precomputed: list[Precomputed]
    #: The dtype of the result.
    kind: str
    is_element_wise: bool


def translate(node: ExpressionNode, cast: Mapping[str, str]) -> Translated:
    """The text of an expression. cast has the kinds of variables that are of another dtype, and so are cast."""
    writer = _Writer(cast, variables(node))
    text = "" if node.astKind == "bytes" else writer.text(node, node.astKind)
    return Translated(text, writer.precomputed, node.astKind, writer.is_element_wise)


_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
    "eq": "==",
    "ne": "!=",
    "gt": ">",
    "ge": ">=",
}


class _Writer:
    def __init__(self, cast: Mapping[str, str], names: set[str]) -> None:
        self.cast = cast
        self.names = names
        self.precomputed: list[Precomputed] = []
        self.is_element_wise = True

    def text(self, node: ExpressionNode, kind: str) -> str:
        """The text of a value, cast to a kind."""
        if isinstance(node, ConstantNode):
            return f"{DTYPES[kind]}({_literal(node.value)})"
        if isinstance(node, VariableNode):
            needs_cast = node.value in self.cast or node.astKind != kind
            return f"{DTYPES[kind]}({node.value})" if needs_cast else node.value
        text = self.operation(node)
        return text if node.astKind == kind else f"{DTYPES[kind]}({text})"

    def operation(self, node: ExpressionNode) -> str:
        name, kind = node.value, expressions.operand_kind(node)
        if kind == "bytes":
            return self.precompute(_text_function(node))
        if name == "complex":
            return self.precompute(self.complex_function(node))
        if name == "where":
            condition, x, y = node.children
            return f"where({self.text(condition, 'bool')}, {self.text(x, kind)}, {self.text(y, kind)})"
        operands = [self.text(child, kind) for child in node.children]
        if name in _SYMBOLS:
            return f"({operands[0]} {_SYMBOLS[name]} {operands[1]})"
        match name:
            case "neg":
                return f"(-{operands[0]})"
            case "invert":
                return f"(~{operands[0]})"
            case "copy":
                return operands[0]
            case "ones_like":
                return f"{DTYPES[kind]}(({operands[0]} == {operands[0]}) | True)"
            case "abs" if kind == "complex":
                return f"complex128(abs({operands[0]}))"
            case "sum" | "prod" | "min" | "max":
                self.is_element_wise = False
                dtype = f", dtype={DTYPES[kind]}" if name in ("sum", "prod") else ""
                axis = node.axis  # type: ignore[attr-defined]
                return f"{name}({operands[0]}, axis={axis}{dtype})"
            case "round" if kind == "complex":
                return self.precompute(self.rounded(node))
        return f"{name}({', '.join(operands)})"

    def precompute(self, function: Callable[[Mapping[str, Any]], np.ndarray]) -> str:
        name = f"_{len(self.precomputed)}"
        while name in self.names:
            name = f"_{name}"
        self.names.add(name)
        self.precomputed.append(Precomputed(name, function))
        return name

    def part(self, node: ExpressionNode, kind: str) -> Callable[..., np.ndarray]:
        """Computes a part of the expression as an array of a kind."""
        inner = _Writer(self.cast, self.names)
        text = inner.text(node, kind)
        self.is_element_wise &= inner.is_element_wise

        def function(values: Mapping[str, Any], out: np.ndarray | None = None) -> np.ndarray:
            inputs = with_precomputed(inner.precomputed, values)
            return _unishape._evaluate_silently(text, inputs, out=out)

        return function

    def complex_function(self, node: ExpressionNode) -> Callable[[Mapping[str, Any]], np.ndarray]:
        """Combines two parts. Multiplication with 1j would lose infinities and signs of zeros."""
        real, imag = (self.part(child, "double") for child in node.children)

        def function(values: Mapping[str, Any]) -> np.ndarray:
            parts = real(values), imag(values)
            result = np.empty(np.broadcast_shapes(*(part.shape for part in parts)), np.complex128)
            result.real, result.imag = parts
            return result

        return function

    def rounded(self, node: ExpressionNode) -> Callable[[Mapping[str, Any]], np.ndarray]:
        part = self.part(node.children[0], "complex")
        return lambda values: np.round(part(values))


def with_precomputed(precomputed: list[Precomputed], values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of names, with those that are computed first."""
    result = dict(values)
    for each in precomputed:
        result[each.name] = each.function(values)
    return result


_TEXT_FUNCTIONS: dict[str, Callable[[Any, Any], np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "contains": lambda text, part: np.strings.find(text, part) >= 0,
}


def text_value(node: ExpressionNode, values: Mapping[str, Any]) -> np.ndarray:
    """The value of a node of kind bytes: a variable, a constant, or a copy of one."""
    if isinstance(node, VariableNode):
        return np.asarray(values[node.value])
    if isinstance(node, ConstantNode):
        return np.asarray(node.value.encode("ascii") if isinstance(node.value, str) else node.value)
    expressions.operand_kind(node)  # raises NotImplementedError for other functions than copy
    return text_value(node.children[0], values)


def _text_function(node: ExpressionNode) -> Callable[[Mapping[str, Any]], np.ndarray]:
    """Computes a comparison of text with NumPy: bytes are compared by their values, without trailing zeros."""
    function = _TEXT_FUNCTIONS[node.value]
    return lambda values: np.asarray(function(*(text_value(child, values) for child in node.children)))


def _literal(value: Any) -> str:
    """A number as text, without names of constants, which may be those of variables."""
    if isinstance(value, (bool, np.bool_)):
        return "(1 == 1)" if value else "(1 == 0)"
    if isinstance(value, (int, np.integer)):
        return f"({int(value)})"
    if isinstance(value, (complex, np.complexfloating)):
        return f"({_real(value.real)} + {_real(value.imag)} * 1j)"
    return _real(value)


def _real(value: Any) -> str:
    value = float(value)
    if value != value:
        return "(1e999 - 1e999)"
    return f"({value!r})".replace("inf", "1e999")
