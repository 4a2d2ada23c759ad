"""Which broadcasts are suspicious, and why.

Shapes alone cannot tell an outer product from a mistake, so the source of the operands decides, too: an axis that is
written out, as in `x[:, None] - y`, is an intention.
"""

import ast

from . import kinds
from .source import MODULES as _MODULES

# Functions that choose axes. Code that calls one is written with the shape in mind.
_AXES = frozenset(
    """expand_dims unsqueeze newaxis transpose permute permute_dims swapaxes moveaxis meshgrid ix_ outer expand expand_as
    broadcast_to broadcast_arrays""".split()
)
_RESHAPES = frozenset("reshape view atleast_2d atleast_3d column_stack".split())
_GRIDS = frozenset("ogrid mgrid c_ r_".split())
# Functions whose result has the shape of their argument.
_ELEMENT_WISE = frozenset(
    """abs absolute exp expm1 log log1p log2 log10 sqrt square sign sin cos tan tanh sinh cosh arctan conj conjugate
    real imag isnan isfinite isinf negative positive astype copy float double to type clip clamp round floor ceil
    asarray asanyarray array ascontiguousarray as_tensor tensor detach cpu cuda numpy contiguous power logical_not
    invert""".split()
)
_REDUCTIONS = frozenset(
    """sum mean max min amax amin std var prod median norm logsumexp average nansum nanmean nanmax nanmin nanstd nanvar
    ptp any all quantile nanmedian argmax argmin vector_norm""".split()
)
# Definitions of names are followed for this many steps.
_MAX_DEPTH = 4


def reason(kind, shapes, expression, at, *, strict=False):
    """Why a broadcast is suspicious; an empty text where it is not.

    Parameters
    ----------
    kind : int
        One of `kinds`.
    shapes : tuple of two shapes
    expression : Expression
    at : tuple of two ints
        Which operands of the expression have these shapes.
    strict : bool
        Report all outer products and ambiguous alignments, unless their axes are written in the expression itself.
    """
    if kind == kinds.AMBIGUOUS:
        return _misaligned_reduction(shapes, _operands(expression, at), expression) or (_AMBIGUOUS if strict else "")
    if kind == kinds.ONE or writes_axes(kind, shapes, expression, at, strict=strict):
        return ""
    has_equal_rank = len(shapes[0]) == len(shapes[1])
    if kind == kinds.SAME_SIZES and not has_equal_rank:
        return _SAME_SIZES
    # Operands of other sizes, such as (n, 1) and (m,), have no element-wise result: all pairs are meant.
    return _BOTH if strict else ""


def writes_axes(kind, shapes, expression, at, *, strict=False):
    """Whether the source of an operand writes out its axes, where both operands are stretched."""
    if kind not in (kinds.BOTH, kinds.SAME_SIZES):
        return False
    return any(
        node is not None and _spells_axes(node, len(shape), expression, strict=strict)
        for node, shape in zip(_operands(expression, at), shapes, strict=True)
    )


def _operands(expression, at):
    return [expression.operands[each] if each < len(expression.operands) else None for each in at]


_SAME_SIZES = (
    "Both operands are stretched although they have the same sizes. If one result per element is meant, give them the"
    " same rank, for example with ravel() or reshape(-1, 1); if all pairs are meant, write the axis: y[None, :]."
)
_BOTH = (
    "Both operands are stretched, and the result is larger than each. If all pairs are meant, write the axis:"
    " x[:, None], y[None, :]."
)
_AMBIGUOUS = (
    "The smaller operand matches the first dimensions as well as the last; it is aligned with the last. Write its axes:"
    " v[None, :] or v[:, None]."
)


def _spells_axes(node, rank, expression, *, strict, line=None, depth=0):
    """Whether the source of an operand gives it axes that the operand would not have otherwise."""

    def again(other, line=line, depth=depth):
        return _spells_axes(other, rank, expression, strict=strict, line=line, depth=depth)

    match node:
        case ast.Subscript(value=value, slice=index):
            return _name(value) in _GRIDS or any(
                (isinstance(each, ast.Constant) and each.value is None) or _name(each) in ("newaxis", "ix_")
                for each in ast.walk(index)
            )
        case ast.Attribute(attr="T"):
            return rank > 1  # for a vector it does nothing
        case ast.Attribute(attr=attr) if attr in ("mT", "real", "imag"):
            return attr == "mT" or again(node.value)
        case ast.BinOp(left=left, op=operator, right=right):
            return not isinstance(operator, ast.MatMult) and (again(left) or again(right))
        case ast.UnaryOp(operand=operand):
            return again(operand)
        case ast.Compare(left=left, comparators=others):
            return again(left) or any(map(again, others))
        case ast.IfExp(body=body, orelse=orelse):
            return again(body) or again(orelse)
        case ast.NamedExpr(value=value):
            return again(value)
        case ast.Call(func=function):
            name = _name(function)
            if name in _AXES:
                return True
            if name in _RESHAPES:
                return depth == 0  # a column that was made elsewhere may have met a vector by mistake
            return name in _ELEMENT_WISE and any(map(again, _arguments(node)))
        case ast.Name(id=name) if not strict and depth < _MAX_DEPTH and expression.tree is not None:
            found = expression.tree.definition(name, line or expression.line)
            if found is None or any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(found[0])):
                return False  # `y = y[:, None]` brings data to a shape, and says nothing about pairs
            return again(found[0], line=found[1], depth=depth + 1)
    return False


def _name(function):
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _arguments(call):
    """Arguments of a call; for a method, also its object."""
    return [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]


def _misaligned_reduction(shapes, operands, expression):
    """Why `x - x.mean(axis=1)` of a square array is wrong; an empty text for other operands."""
    small = 0 if len(shapes[0]) < len(shapes[1]) else 1
    rank = len(shapes[1 - small])
    if None in operands or len(shapes[small]) != rank - 1:
        return ""
    others = set(_leaves(operands[1 - small]))
    for call in _reductions(operands[small], expression, expression.line, 0):
        array, axis = _reduced(call)
        if array is None or axis is None or others.isdisjoint(_leaves(array)):
            continue
        if -rank <= axis < rank and axis % rank != 0:
            return (
                f"The reduction along axis {axis} has lost this axis, and its result is aligned with the last dimension"
                " instead of the first. Use keepdims=True (in PyTorch keepdim=True)."
            )
    return ""


def _leaves(node):
    """Source of the arrays that an expression computes element by element from."""
    match node:
        case ast.BinOp(left=left, op=operator, right=right) if not isinstance(operator, ast.MatMult):
            yield from _leaves(left)
            yield from _leaves(right)
        case ast.UnaryOp(operand=operand):
            yield from _leaves(operand)
        case ast.Call(func=function) if _name(function) in _ELEMENT_WISE:
            for each in _arguments(node):
                yield from _leaves(each)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            yield ast.unparse(node)


def _reductions(node, expression, line, depth):
    """Calls of reductions that determine the shape of an operand."""
    match node:
        case ast.BinOp(left=left, right=right):
            yield from _reductions(left, expression, line, depth)
            yield from _reductions(right, expression, line, depth)
        case ast.UnaryOp(operand=operand):
            yield from _reductions(operand, expression, line, depth)
        case ast.Call(func=function):
            if _name(function) in _REDUCTIONS:
                yield node
            elif _name(function) in _ELEMENT_WISE:
                for each in _arguments(node):
                    yield from _reductions(each, expression, line, depth)
        case ast.Name(id=name) if depth < _MAX_DEPTH and expression.tree is not None:
            found = expression.tree.definition(name, line)
            if found is not None:
                yield from _reductions(found[0], expression, found[1], depth + 1)


def _reduced(call):
    """The array that a reduction is of, and its axis; None where they are not written out or the axis is kept."""
    options = {each.arg: each.value for each in call.keywords}
    for name in ("keepdims", "keepdim"):
        if name in options and not (isinstance(options[name], ast.Constant) and not options[name].value):
            return None, None
    is_method = isinstance(call.func, ast.Attribute) and _name(call.func.value) not in _MODULES
    arguments = [call.func.value, *call.args] if is_method else call.args
    axis = options.get("axis") or options.get("dim")
    if axis is None and _name(call.func) != "norm" and len(arguments) > 1:
        axis = arguments[1]
    if not arguments or axis is None:
        return None, None
    try:
        axis = ast.literal_eval(axis)
    except ValueError:
        return None, None
    return arguments[0], axis if isinstance(axis, int) else None
