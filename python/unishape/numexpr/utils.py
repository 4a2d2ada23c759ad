"""Numbers of threads, and numexpr's environment variables."""

from __future__ import annotations

import os

import unishape

#: Limit that numexpr has where NUMEXPR_MAX_THREADS is not set.
_DEFAULT_MAX_THREADS = 64

#: numexpr uses no more threads, unless a variable says so.
_SAFE_THREADS = 16


def _variable(name: str) -> int | None:
    """A number in an environment variable; None where it is not set or empty."""
    text = os.environ.get(name, "")
    return int(text) if text else None


#: The largest number of threads that set_num_threads accepts.
MAX_THREADS = _variable("NUMEXPR_MAX_THREADS") or _DEFAULT_MAX_THREADS


def detect_number_of_cores() -> int:
    """The number of CPUs of this machine."""
    return os.cpu_count() or 1


def detect_number_of_threads() -> int:
    """The number of threads that the environment requests, or that of CPUs."""
    requested = _variable("NUMEXPR_NUM_THREADS") or _variable("OMP_NUM_THREADS") or detect_number_of_cores()
    return min(requested, MAX_THREADS)


def set_num_threads(nthreads: int) -> int:
    """Sets the number of threads of all of unishape, and returns the previous one."""
    if not 1 <= nthreads <= MAX_THREADS:
        raise ValueError(
            f"nthreads must be between 1 and {MAX_THREADS}, not {nthreads}; NUMEXPR_MAX_THREADS sets the limit before "
            "the module is imported"
        )
    return unishape.set_num_threads(nthreads)


def get_num_threads() -> int:
    """The number of threads in use."""
    return unishape.get_num_threads()


def _init_num_threads() -> int:
    """Sets the number of threads from numexpr's environment variables, and returns it."""
    requested = _variable("NUMEXPR_NUM_THREADS") or _variable("OMP_NUM_THREADS")
    if requested is None:
        limit = MAX_THREADS if _variable("NUMEXPR_MAX_THREADS") else min(MAX_THREADS, _SAFE_THREADS)
        requested = min(detect_number_of_cores(), limit)
    set_num_threads(requested)
    return requested


# Intel's VML, which this module does not use.


def get_vml_version() -> str | None:
    """None: VML is not used."""
    return None


def set_vml_accuracy_mode(mode: str | None) -> str | None:
    """Checks the mode and returns None: VML is not used."""
    if mode not in (None, "low", "high", "fast"):
        raise ValueError("mode must be None, 'high', 'low' or 'fast'")
    return None


def set_vml_num_threads(nthreads: int) -> None:
    """Has no effect: VML is not used."""


def get_vml_num_threads() -> int | None:
    """None: VML is not used."""
    return None
