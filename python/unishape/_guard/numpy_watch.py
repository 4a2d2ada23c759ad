"""Operations of NumPy, and of SciPy's special functions, watched while a guard is on."""

import functools
import sys

import numpy as np

from .. import _unishape
from .kinds import broadcast_kind

# Modules of universal functions. Those that are imported later are watched from then on.
_MODULES = ("numpy._core._multiarray_umath", "scipy.special._ufuncs", "scipy.special._special_ufuncs")
LATE_MODULES = _MODULES[1:]

# Functions whose calls are watched now, by module.
_watched = []


def start(report):
    """Calls `report(kind, function, i, j, a, b)` before each operation that broadcasts inputs i and j."""
    for name in _MODULES:
        if name in sys.modules:
            add_module(sys.modules[name], report)
    _watch_where(report)


def add_module(module, report):
    """Watches the universal functions of a module."""
    functions = _functions(module)
    _unishape._watch_ufuncs(functions, report)
    if functions not in _watched:
        _watched.append(functions)


@functools.cache
def _functions(module):
    """The universal functions of a module."""
    return [each for each in vars(module).values() if type(each) is np.ufunc]


def stop():
    """Restores everything."""
    for functions in _watched:
        _unishape._unwatch_ufuncs(functions)
    _watched.clear()
    if getattr(np.where, "_is_watched", False):
        np.where = np.where.__wrapped__


def _watch_where(report):
    """Replaces `numpy.where`, which is no universal function, in NumPy's namespace."""
    if not getattr(np.where, "_is_watched", False):
        np.where = _watched_where(np.where, report)


def _watched_where(function, report):
    @functools.wraps(function)
    def where(*arguments, **options):
        found = broadcast_kind(*[each.shape if isinstance(each, np.ndarray) else () for each in arguments])
        if found is not None:
            kind, i, j = found
            report(kind, function, i, j, arguments[i], arguments[j])
        return function(*arguments, **options)

    where._is_watched = True
    return where
