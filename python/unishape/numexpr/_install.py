"""Makes other libraries use unishape.numexpr in place of numexpr."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

_NAMES = ("", ".expressions", ".necompiler", ".utils")

_MISSING: Any = object()

# What install replaced: (object, attribute or key, value).
_replaced: list[tuple[Any, str, Any]] = []


def install() -> None:
    """Makes `import numexpr` import unishape.numexpr, for libraries such as pandas.

    pandas.eval, DataFrame.eval and DataFrame.query then compute with unishape, and so does pandas' arithmetic of large
    arrays, whether pandas is imported before or after. numexpr need not be installed. uninstall() undoes it.

    Examples
    --------
    >>> import unishape.numexpr
    >>> unishape.numexpr.install()
    >>> import numexpr
    >>> numexpr is unishape.numexpr
    True
    >>> unishape.numexpr.uninstall()
    """
    if _replaced:
        return
    for name in _NAMES:
        _replace(sys.modules, f"numexpr{name}", sys.modules[f"unishape.numexpr{name}"])
    own = sys.modules["unishape.numexpr"]
    check = sys.modules.get("pandas.core.computation.check")
    if check is not None:
        _replace(check, "NUMEXPR_INSTALLED", True)
        if hasattr(check, "ne"):
            _replace(check, "ne", own)
    # Modules that imported the flag or numexpr at their start.
    for name in ("expressions", "eval", "engines"):
        module = sys.modules.get(f"pandas.core.computation.{name}")
        if module is None:
            continue
        if hasattr(module, "NUMEXPR_INSTALLED"):
            _replace(module, "NUMEXPR_INSTALLED", True)
        if name == "expressions":
            _replace(module, "ne", own)
            _use_in_pandas(module)


def uninstall() -> None:
    """Undoes install."""
    while _replaced:
        holder, name, value = _replaced.pop()
        if isinstance(holder, ModuleType):
            if value is _MISSING:
                delattr(holder, name)
            else:
                setattr(holder, name, value)
        elif value is _MISSING:
            holder.pop(name, None)
        else:
            holder[name] = value
    module = sys.modules.get("pandas.core.computation.expressions")
    if module is not None:
        _use_in_pandas(module)


def _replace(holder: Any, name: str, value: Any) -> None:
    if isinstance(holder, ModuleType):
        _replaced.append((holder, name, getattr(holder, name, _MISSING)))
        setattr(holder, name, value)
    else:
        _replaced.append((holder, name, holder.get(name, _MISSING)))
        holder[name] = value


def _use_in_pandas(module: Any) -> None:
    """Lets pandas choose anew between numexpr and NumPy, by its option compute.use_numexpr."""
    import pandas as pd

    module.set_use_numexpr(pd.get_option("compute.use_numexpr"))
