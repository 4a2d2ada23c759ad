"""Patterns of places and names that a guard leaves out, or looks at alone."""

import fnmatch
import re
from dataclasses import dataclass

# A comment with this text, on any line of a statement, says that its broadcasts are meant.
MARKER = re.compile(r"#.*\bbroadcast:\s*ok\b")


@dataclass(frozen=True)
class Place:
    """Where an operation is, and what its operands are called."""

    file: str
    line: int
    module: str
    function: str
    names: tuple[str, ...] = ()


def check(patterns, argument):
    """A tuple of patterns, from a text or several."""
    patterns = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    for each in patterns:
        if not isinstance(each, str) or not each:
            raise TypeError(f"{argument} must be patterns such as 'tests/*', 'model.py:12', 'package.module' or"
                            f" 'operand:mask', not {each!r}")
    return patterns


def matches(pattern, place):
    """Whether a pattern is of a place.

    >>> place = Place("/home/me/src/train.py", 12, "src.train", "Model.loss", ("pred", "y"))
    >>> [matches(each, place) for each in ("train.py", "src/*.py", "train.py:12", "train.py:13", "*/other.py")]
    [True, True, True, False, False]
    >>> [matches(each, place) for each in ("src", "src.train", "loss", "Model.*", "src.train.Model.loss", "train")]
    [True, True, True, True, True, False]
    >>> [matches(each, place) for each in ("operand:y", "operand:p*", "operand:w")]
    [True, True, False]
    """
    kind, _, name = pattern.partition(":")
    if kind == "operand":
        return any(fnmatch.fnmatchcase(each, name) for each in place.names)
    file, _, line = pattern.rpartition(":")
    if line.isdecimal() and file:
        return int(line) == place.line and matches(file, place)
    path = place.file.replace("\\", "/")
    if "/" in pattern or "\\" in pattern or pattern.endswith(".py") or pattern.startswith("<"):
        pattern = pattern.replace("\\", "/")
        return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, "*/" + pattern)
    full = f"{place.module}.{place.function}"
    names = (place.module, full, place.function, place.function.rpartition(".")[2])
    return any(fnmatch.fnmatchcase(each, pattern) or each.startswith(pattern + ".") for each in names)


def is_marked(lines):
    """Whether a line of a statement has the comment that says that its broadcasts are meant."""
    return any(MARKER.search(line) for line in lines)
