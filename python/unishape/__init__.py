"""Broadcasting and fused element-wise expressions for NumPy.

Arrays of any number and dtypes are broadcast to one shape without copying, and expressions over them are
evaluated in one pass.

>>> import numpy as np, unishape
>>> x, mean = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[2.0], [5.0]])
>>> unishape.evaluate("(x - mean) * 2").tolist()
[[-2.0, 0.0, 2.0], [-2.0, 0.0, 2.0]]

Large inputs are computed on several threads: see set_num_threads. Arrays of PyTorch, CuPy and JAX on a GPU are computed
there, and so are the results.
"""

from . import _unishape
from ._guard import BroadcastSite, SuspiciousBroadcastError, SuspiciousBroadcastWarning, guard
from ._unishape import *  # noqa: F403
from ._unishape import (
    BroadcastError,
    DeviceArray,
    Explanation,
    Lazy,
    __version__,
    get_num_threads,
    set_num_threads,
)

__all__ = ["BroadcastError", "DeviceArray", "Explanation", "Lazy", "__version__", "get_num_threads", "set_num_threads"]
__all__ += ["BroadcastSite", "SuspiciousBroadcastError", "SuspiciousBroadcastWarning", "guard"]
__all__ += [name for name in dir(_unishape) if not name.startswith("_") and name not in __all__]

try:
    from . import _threadpoolctl as _threadpoolctl
except ImportError:  # threadpoolctl is not installed, or older than 3.2
    pass
