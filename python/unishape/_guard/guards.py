"""The class `guard`."""

import functools
import inspect
import os
import sys
import threading
import types
import warnings
from pathlib import Path

import numpy as np

from .. import _unishape
from . import kinds, registry, rules, source, suspicion
from .sites import BroadcastSite, summary_of, text_of

# Files of this package are no places of operations.
_OWN_FOLDER = os.path.dirname(__file__)

POLICIES = ("warn", "raise", "collect")


class SuspiciousBroadcastWarning(UserWarning):
    """A broadcast that is probably a mistake. `site` has its place and shapes."""

    def __init__(self, message, site=None):
        super().__init__(message)
        self.site = site


class SuspiciousBroadcastError(ValueError):
    """A broadcast that is probably a mistake. `site` has its place and shapes."""

    def __init__(self, message, site=None):
        super().__init__(message)
        self.site = site


class guard:  # noqa: N801
    """Watches NumPy and PyTorch code for broadcasts that are probably mistakes.

    Use it with `with`, or as a decorator of functions, generators and coroutines. While it is on, it watches code that
    is not changed: operators and element-wise functions of NumPy arrays, `numpy.where`, special functions of SciPy,
    and operators, functions and losses of PyTorch tensors. Results are the same.

    A broadcast is suspicious if both operands are stretched although they have the same sizes, as `(n, 1)` with `(n,)`,
    which silently becomes `(n, n)`; or if a reduction has lost an axis and is aligned with another one, as
    `x - x.mean(axis=1)` for a square `x`. Scalars, bias-adds, results with keepdims, operands of equal rank, and axes
    that are written out, as in `x[:, None] - y`, are not. A comment `# broadcast: ok` in the statement accepts it.

    Parameters
    ----------
    policy : {"warn", "raise", "collect"}, default "warn"
        What is done about a suspicious broadcast: a SuspiciousBroadcastWarning, once for each place in the source; a
        SuspiciousBroadcastError, before anything is computed; or nothing but an entry in `sites`.
    ignore : str or sequence of str
        Patterns of places that are not reported: files ("tests/*", "train.py:12"), modules and functions ("package",
        "package.module", "Model.loss"), and names of operands ("operand:mask*").
    only : str or sequence of str
        Patterns of the only places that are reported. Default: all.
    strict : bool, default False
        Also report other operands that are both stretched, and vectors that match both dimensions of a square array,
        unless the axes are written in the expression itself.
    all_threads : bool, default False
        Watch NumPy operations of all threads that have no guard of their own, not only of the thread that enters.
    summary : bool, default False
        Print the summary to stderr on exit.
    html : path, optional
        Write the report with diagrams to this file on exit.

    Attributes
    ----------
    sites : list of BroadcastSite
        Every place where arrays with more than one element were stretched.
    suspicious : list of BroadcastSite
        Those that are reported.

    Notes
    -----
    The innermost guard of a thread is the one that watches. Guards can be nested, used again, and entered by several
    threads. A child process after fork keeps the guards of the thread that forked.

    Examples
    --------
    >>> import numpy as np, unishape
    >>> prediction, y = np.zeros((64, 1)), np.zeros(64)
    >>> with unishape.guard(policy="collect") as watch:
    ...     loss = ((prediction - y) ** 2).mean()
    >>> print(watch.summary())
    1 site, 1 suspicious
    >>> site = watch.suspicious[0]
    >>> site.shapes, site.result
    (((64, 1), (64,)), (64, 64))
    """

    def __init__(
        self,
        *,
        policy="warn",
        ignore=(),
        only=(),
        strict=False,
        all_threads=False,
        summary=False,
        html=None,
    ):
        if policy not in POLICIES:
            raise ValueError(f"policy must be 'warn', 'raise' or 'collect', not {policy!r}")
        self.policy = policy
        self._ignore, self._only = rules.check(ignore, "ignore"), rules.check(only, "only")
        self._strict, self._all_threads = bool(strict), bool(all_threads)
        self._print_summary = bool(summary)
        self._html = None if html is None else Path(os.fspath(html))
        # Sites by address of code, instruction and kind. `_codes` keeps the code alive, so that addresses stay unique.
        self._by_place, self._codes = {}, []
        # The threads that have entered this guard, and not left it.
        self._entered = []
        self._lock = threading.Lock()

    def __enter__(self):
        there = registry.enter(self, self._all_threads)
        with self._lock:
            self._entered.append(there)
        return self

    def __exit__(self, *_exception):
        with self._lock:
            own = [at for at, there in enumerate(self._entered) if registry.is_here(there)]
            if not self._entered:
                raise RuntimeError("the guard was left more often than it was entered")
            there = self._entered.pop(own[-1] if own else -1)
            is_last = not self._entered
        registry.leave(self, self._all_threads, there)
        if is_last:
            if self._html is not None:
                self.write_html(self._html)
            if self._print_summary:
                print(f"broadcast guard: {self.summary()}", file=sys.stderr)

    def __call__(self, function):
        """Decorates a function: the guard is on while it runs."""
        if isinstance(function, type) or not callable(function):
            raise TypeError(f"guard decorates functions, not {function!r}; decorate the methods of a class")
        if inspect.isasyncgenfunction(function):
            name = function.__name__
            raise TypeError(f"guard cannot decorate the asynchronous generator {name}; use it inside, with `with`")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def decorated(*arguments, **options):
                return await self._resume(function(*arguments, **options))

        elif inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def decorated(*arguments, **options):
                return (yield from self._resume(function(*arguments, **options)))

        else:

            @functools.wraps(function)
            def decorated(*arguments, **options):
                with self:
                    return function(*arguments, **options)

        return decorated

    @types.coroutine
    def _resume(self, inner):
        """Runs a generator or coroutine with the guard on, but off while it is suspended."""
        resume, value = inner.send, None
        while True:
            with self:
                try:
                    result = resume(value)
                except StopIteration as end:
                    return end.value
            try:
                value = yield result
                resume = inner.send
            except GeneratorExit:
                with self:
                    inner.close()
                raise
            except BaseException as exception:  # noqa: BLE001, passed on to the generator
                value = exception
                resume = inner.throw

    @property
    def sites(self):
        return list(self._by_place.values())

    @property
    def suspicious(self):
        return [each for each in self.sites if each.suspicious]

    def summary(self):
        """The number of places, such as "12 sites, 3 suspicious"."""
        return summary_of(self.sites)

    def text(self):
        """The suspicious places, each with its shapes aligned, and the summary."""
        return text_of(self.sites)

    def html(self):
        """The report as an HTML page, with a diagram for each suspicious place."""
        from .html import page

        return page(self.sites)

    def write_html(self, path):
        """Writes the report with diagrams to a file."""
        Path(path).write_text(self.html(), encoding="utf-8")

    def _observe(self, frame, kind, function, i, j, a, b):
        """Records a broadcast of operands i and j of an operation that is about to run.

        Returns its site, where the next one of the same frame and shapes has only to be counted.
        """
        code = frame.f_code
        inner = frame
        while _is_library(code.co_filename):
            if inner is frame and code.co_filename.startswith(_OWN_FOLDER):
                inner = frame.f_back
            outer = frame.f_back
            if outer is None:
                frame, code = inner, inner.f_code
                break
            frame, code = outer, outer.f_code
        if kind >= kinds.BOTH and a.ndim == b.ndim:
            key = id(code), frame.f_lasti, -kind
        else:
            key = id(code), frame.f_lasti, kind
        site = self._by_place.get(key)
        is_new = site is None
        if is_new:
            site = self._site(frame, inner, kind, function, (i, j), (tuple(a.shape), tuple(b.shape)))
            with self._lock:
                self._codes.append(code)
                is_new = self._by_place.setdefault(key, site) is site
        else:
            site.count += 1
        if site.reason and not site.allowed_by and (is_new or self.policy == "raise"):
            if self.policy == "raise":
                raise SuspiciousBroadcastError(site.text(), site)
            if self.policy == "warn":
                names = frame.f_globals
                warnings.warn_explicit(
                    SuspiciousBroadcastWarning(site.text(), site),
                    SuspiciousBroadcastWarning,
                    site.file,
                    site.line,
                    module=site.module,
                    registry=names.setdefault("__warningregistry__", {}),
                )
        is_counted = self.policy != "raise" or not site.reason or site.allowed_by
        # Within a library, other callers have other sites.
        return site if is_counted and frame is inner else None

    def _site(self, frame, inner, kind, function, at, shapes):
        name = getattr(function, "__name__", "operation").strip("_")
        expression = source.find(frame)
        is_meant = False
        if inner is not frame:
            # Within a library, its own source can say that an outer product is meant.
            is_meant = suspicion.writes_axes(kind, shapes, source.find(inner), at)
            if expression.called not in (name, ""):
                at = (0, 1)
        reason = "" if is_meant else suspicion.reason(kind, shapes, expression, at, strict=self._strict)
        code = frame.f_code
        names = tuple(source.name_of(expression, each) for each in at)
        module = frame.f_globals.get("__name__", "")
        place = rules.Place(code.co_filename, expression.line, module, code.co_qualname, names)
        return BroadcastSite(
            file=place.file,
            line=place.line,
            module=module,
            function=place.function,
            expression=expression.text,
            operation=name,
            names=names,
            shapes=shapes,
            result=tuple(_unishape.broadcast_shapes(*shapes)),
            kind=kinds.NAMES[kind],
            reason=reason,
            allowed_by=self._allowed_by(place, expression) if reason else "",
        )

    def _allowed_by(self, place, expression):
        """The rule by which a place is not reported, if there is one."""
        if rules.is_marked(expression.lines):
            return "comment"
        for pattern in self._ignore:
            if rules.matches(pattern, place):
                return f"ignore {pattern}"
        if self._only and not any(rules.matches(pattern, place) for pattern in self._only):
            return f"only {', '.join(self._only)}"
        return ""


@functools.lru_cache(maxsize=4096)
def _is_library(file):
    """Whether a file is of NumPy, PyTorch or this package: an operation there is reported where the user calls it."""
    if file.startswith("<__array_function__"):
        return True
    folders = [os.path.dirname(np.__file__), os.path.dirname(_OWN_FOLDER)]
    torch = sys.modules.get("torch")
    if torch is not None and getattr(torch, "__file__", None):
        folders.append(os.path.dirname(torch.__file__))
    own = [folder for folder in folders if file.startswith(folder + os.sep)]
    return any(f"{os.sep}tests{os.sep}" not in file[len(folder) :] for folder in own)
