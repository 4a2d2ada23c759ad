"""The expression and the operands of an operation, found in source code by the position of its instruction."""

import ast
import functools
import itertools
import linecache
from dataclasses import dataclass, field

# Most characters of an operand's name in a diagram.
MAX_NAME = 32


@dataclass(frozen=True)
class Expression:
    """An operation in source code, and what it works on."""

    # Line of the operation, from 1. 0 where no source is known.
    line: int
    # Text of the operation, or of its line where columns are not known.
    text: str
    # All lines of the statement that the operation is part of.
    lines: tuple[str, ...] = ()
    # Nodes of the operands, in order; empty where they are not known.
    operands: tuple[ast.expr, ...] = ()
    # Parsed source file, for the definitions of names.
    tree: "Tree | None" = field(default=None, repr=False)
    # Name of the function that is called; empty for operators.
    called: str = ""


@dataclass(frozen=True)
class Tree:
    """A parsed source file."""

    lines: tuple[str, ...]
    # Nodes by position: first line, last line, first column, column after the last.
    nodes: dict[tuple[int, int, int, int], ast.AST]
    # Calls by their end: last line, column after the last. Long chains of methods start elsewhere in byte code.
    calls: dict[tuple[int, int], ast.Call]
    module: ast.Module
    statements: tuple[ast.stmt, ...]
    functions: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]

    def definition(self, name, line):
        """The expression last assigned to a name before a line, and that line; None where it is not known.

        It is that of the function with the line, or of the module if the function does not have the name. Where a call
        is assigned to several names, it is the call.
        """
        scope = self._scope(line)
        found = None if scope is None else _last_assigned(scope, name, line)
        if found is not None or (scope is not None and name in _parameters(scope)):
            return found
        return _last_assigned(self.module, name, line if scope is None else None)

    def _scope(self, line):
        """The innermost function with a line."""
        inside = [each for each in self.functions if each.lineno <= line <= each.end_lineno]
        return max(inside, key=lambda each: each.lineno, default=None)

    def statement_lines(self, line, end_line):
        """Lines of the smallest statement with these lines; of compound statements, the given lines alone."""
        around = [
            each
            for each in self.statements
            if each.lineno <= line and end_line <= each.end_lineno and not hasattr(each, "body")
        ]
        if around:
            smallest = min(around, key=lambda each: each.end_lineno - each.lineno)
            line, end_line = smallest.lineno, smallest.end_lineno
        return self.lines[line - 1 : end_line]


def _last_assigned(scope, name, line):
    """The expression last assigned to a name of a function or module, before a line if it is given, and its line."""
    found = None
    for statement in _own_statements(scope):
        if (line is None or statement.lineno < line) and (found is None or statement.lineno > found[1]):
            value = _assigned(statement, name)
            found = found if value is None else (value, statement.lineno)
    return found


def _parameters(function):
    """Names of the parameters of a function."""
    return {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}


def _own_statements(scope):
    """Statements of a function or module, without those of functions and classes in it."""
    waiting = list(scope.body)
    while waiting:
        statement = waiting.pop()
        yield statement
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += [each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)]


def _assigned(statement, name):
    """The expression that a statement assigns to a name."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=value) if value is not None:
            targets = [target]
        case _:
            return None
    for target in targets:
        match target:
            case ast.Name(id=id) if id == name:
                return value
            case ast.Tuple(elts=names) | ast.List(elts=names):
                for at, each in enumerate(names):
                    if isinstance(each, ast.Name) and each.id == name:
                        is_parallel = isinstance(value, ast.Tuple) and len(value.elts) == len(names)
                        return value.elts[at] if is_parallel else value
    return None


@functools.lru_cache(maxsize=64)
def _parse(lines):
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    nodes, calls, statements, functions = {}, {}, [], []
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp | ast.Compare | ast.AugAssign | ast.Call):
            position = node.lineno, node.end_lineno, node.col_offset, node.end_col_offset
            nodes.setdefault(position, node)
            if isinstance(node, ast.Call):
                calls.setdefault((node.end_lineno, node.end_col_offset), node)
        if isinstance(node, ast.stmt):
            statements.append(node)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.append(node)
    return Tree(lines, nodes, calls, tree, tuple(statements), tuple(functions))


def find(frame):
    """The expression that a frame is computing."""
    code = frame.f_code
    position = next(itertools.islice(code.co_positions(), frame.f_lasti // 2, None), None)
    lines = tuple(linecache.getlines(code.co_filename, frame.f_globals))
    line = frame.f_lineno or 0
    if position is None or not lines or None in position[:2] or not 0 < position[1] <= len(lines):
        text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
        return Expression(line, text, (text,) if text else ())
    line, end_line, start, end = position
    tree = _parse(lines)
    if tree is None or start is None or end is None:
        text = lines[line - 1].strip()
        return Expression(line, text, lines[line - 1 : end_line])
    node = tree.nodes.get((line, end_line, start, end)) or tree.calls.get((end_line, end))
    around = tree.statement_lines(line, end_line)
    if node is None:
        return Expression(line, lines[line - 1].strip(), around, tree=tree)
    called, operands = _operands(node)
    return Expression(line, segment(lines, node), around, operands, tree, called)


def _operands(node):
    """Name of a called function, and the operands of an operation."""
    match node:
        case ast.BinOp(left=left, right=right):
            return "", (left, right)
        case ast.Compare(left=left, comparators=[right]):
            return "", (left, right)
        case ast.AugAssign(target=target, value=value):
            return "", (target, value)
        case ast.Call(func=function, args=arguments) if not any(isinstance(each, ast.Starred) for each in arguments):
            arguments = tuple(arguments)
            match function:
                case ast.Attribute(value=value, attr=name):
                    # A method works on its object, a function of a module does not.
                    is_module = isinstance(value, ast.Name) and value.id in MODULES
                    is_module = is_module or (isinstance(value, ast.Attribute) and value.attr in MODULES)
                    return name, arguments if is_module else (value, *arguments)
                case ast.Name(id=name):
                    return name, arguments
    return "", ()


# Names under which modules of functions are known.
MODULES = frozenset("np numpy torch F functional special sp scipy linalg ma math jnp xp nx umath ufunc".split())


def segment(lines, node):
    """Source text of a node, on one line."""
    text = ast.get_source_segment("".join(lines[node.lineno - 1 : node.end_lineno]), _moved(node))
    return " ".join((text or "").split())


def _moved(node):
    """The position of a node in its own lines."""
    return ast.Pass(
        lineno=1,
        end_lineno=node.end_lineno - node.lineno + 1,
        col_offset=node.col_offset,
        end_col_offset=node.end_col_offset,
    )


def name_of(expression, at):
    """A short name of an operand, for diagrams."""
    if at < len(expression.operands) and expression.tree is not None:
        text = segment(expression.tree.lines, expression.operands[at])
        if text:
            return text if len(text) <= MAX_NAME else text[: MAX_NAME - 1] + "…"
    return f"input {at}"
