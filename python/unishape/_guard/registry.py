"""The guards that are on, by thread. The first one starts to watch the libraries, the last one stops."""

import atexit
import os
import sys
import threading

from . import late_imports, numpy_watch, torch_watch


class ThreadGuards:
    """The guards of a thread."""

    def __init__(self):
        # The innermost is the last.
        self.guards = ()
        # Whether a report is being made: what it computes is not watched.
        self.is_busy = False
        # The mode of PyTorch, if it is on.
        self.torch_mode = None


class _Local(threading.local):
    def __init__(self):
        self.here = ThreadGuards()


_local = _Local()
# Guards of all threads, the innermost last.
_everywhere = ()
# How many guards are on in all threads.
_count = 0
_lock = threading.RLock()


def _report(kind, function, i, j, a, b):
    """Passes a broadcast to the innermost guard of this thread, before it is computed.

    Returns its site, where the next one at the same place with the same shapes has only to be counted.
    """
    here = _local.here
    guards = here.guards or _everywhere
    if not guards or here.is_busy:
        return None
    here.is_busy = True
    try:
        return guards[-1]._observe(sys._getframe(1), kind, function, i, j, a, b)
    finally:
        here.is_busy = False


def enter(guard, all_threads):
    """Turns a guard on. Returns the thread's guards, for `leave`."""
    global _count, _everywhere
    here = _local.here
    with _lock:
        _count += 1
        if _count == 1:
            _start()
        if all_threads:
            _everywhere = (*_everywhere, guard)
        here.guards = (*here.guards, guard)
    torch_watch.forget()
    if "torch" in sys.modules:
        _start_torch(sys.modules["torch"])
    return here


def leave(guard, all_threads, there):
    """Turns a guard off, in any order and from any thread."""
    global _count, _everywhere
    with _lock:
        if guard not in there.guards:
            return  # it was entered by a thread that is not in this process
        there.guards = _without(there.guards, guard)
        torch_watch.forget()
        if all_threads:
            _everywhere = _without(_everywhere, guard)
        _count -= 1
        if _count == 0:
            _stop()
    # A thread can only remove its own mode. One that stays reports nothing.
    if there is _local.here and not there.guards and there.torch_mode is not None:
        mode, there.torch_mode = there.torch_mode, None
        torch_watch.stop(mode)


def is_here(there):
    """Whether these are the guards of this thread."""
    return there is _local.here


def _without(guards, guard):
    """The guards without the innermost occurrence of one."""
    at = len(guards) - 1 - guards[::-1].index(guard)
    return guards[:at] + guards[at + 1 :]


def _start():
    numpy_watch.start(_report)
    _imports.install()


def _stop():
    _imports.remove()
    numpy_watch.stop()


def _start_torch(torch):
    here = _local.here
    if here.torch_mode is None and (here.guards or _everywhere):
        here.torch_mode = torch_watch.start(torch, _report)


def _imported(module):
    """Watches a library that was imported while a guard is on."""
    if module.__name__ == "torch":
        _start_torch(module)
    elif _count:
        numpy_watch.add_module(module, _report)


_imports = late_imports.ImportHook(("torch", *numpy_watch.LATE_MODULES), _imported)


def _after_fork():
    """Keeps the guards of this thread: the others are not in the child."""
    global _count, _everywhere, _lock
    _lock = threading.RLock()
    here = _local.here
    _everywhere = tuple(each for each in _everywhere if each in here.guards)
    was_on, _count = _count, len(here.guards)
    torch_watch.forget()
    if was_on and not _count:
        _stop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
# What runs while the interpreter ends is not watched.
atexit.register(_stop)
