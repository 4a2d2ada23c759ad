"""A guard against silent broadcasting in NumPy and PyTorch code.

| module | holds |
|---|---|
| `kinds` | what stretches in a broadcast |
| `source` | the expression and the operands of an operation, from source code |
| `suspicion` | which broadcasts are suspicious, and why |
| `rules` | patterns of places and names that are not reported |
| `sites` | a place in the source where operands are stretched |
| `html` | the report with diagrams |
| `numpy_watch`, `torch_watch` | operations of each library |
| `late_imports` | libraries that are imported while a guard is on |
| `registry` | the guards that are on, by thread |
| `guards` | the class `guard` |
| `command`, `pytest_plugin` | `python -m unishape guard`, `pytest --broadcast-guard` |
"""

from .guards import SuspiciousBroadcastError, SuspiciousBroadcastWarning, guard
from .sites import BroadcastSite

__all__ = ["BroadcastSite", "SuspiciousBroadcastError", "SuspiciousBroadcastWarning", "guard"]
