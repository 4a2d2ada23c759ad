"""Broadcasting, done once and done right: any number of arrays of any types brought to one shape without
copying, and element-wise work across them in one pass.

>>> import numpy as np, unishape
>>> x, mean = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[2.0], [5.0]])
>>> unishape.evaluate("(x - mean) * 2").tolist()
[[-2.0, 0.0, 2.0], [-2.0, 0.0, 2.0]]
"""

from . import _unishape
from ._unishape import *  # noqa: F403
from ._unishape import Explanation, Lazy, __version__

__all__ = ["Explanation", "Lazy", "__version__"]
__all__ += [name for name in dir(_unishape) if not name.startswith("_") and name not in __all__]
