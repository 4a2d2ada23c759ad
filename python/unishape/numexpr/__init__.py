"""numexpr's interface, computed by unishape.

`import unishape.numexpr as ne` in place of `import numexpr as ne`; or install(), after which other libraries that import
numexpr, such as pandas, use this module.

>>> import numpy as np
>>> import unishape.numexpr as ne
>>> a, b = np.array([1, 2, 3], "int16"), np.array([0.5, 1.5, 2.5])
>>> ne.evaluate("a ** 2 + where(b > 1, b, 0)").tolist()
[1.0, 5.5, 11.5]

Dtypes are numexpr's, not NumPy's: int16 is computed as int32, and a float in the text is a float64. Functions, errors and
options are numexpr's, too. These differ:

- Text is parsed, never executed. Reductions may be anywhere in an expression.
- Values have NumPy's accuracy and special cases: nothing is approximated for speed. There is no VML.
- `disassemble` raises NotImplementedError, because there is no virtual machine.
"""

from unishape.numexpr import expressions, necompiler, utils
from unishape.numexpr._install import install, uninstall
from unishape.numexpr.expressions import E
from unishape.numexpr.necompiler import NumExpr, disassemble, evaluate, re_evaluate, validate
from unishape.numexpr.utils import (
    MAX_THREADS,
    _init_num_threads,
    _variable,
    detect_number_of_cores,
    detect_number_of_threads,
    get_num_threads,
    get_vml_version,
    set_num_threads,
    set_vml_accuracy_mode,
    set_vml_num_threads,
)

#: The version of numexpr with this interface.
__version__ = "2.14.2"

use_vml = False

#: Number of CPUs.
ncores = detect_number_of_cores()

#: Number of threads at the start. Without numexpr's variables, it is that of unishape.
if _variable("NUMEXPR_NUM_THREADS") or _variable("NUMEXPR_MAX_THREADS"):
    nthreads = _init_num_threads()
else:
    nthreads = min(get_num_threads(), MAX_THREADS)

__all__ = [
    "E",
    "MAX_THREADS",
    "NumExpr",
    "detect_number_of_cores",
    "detect_number_of_threads",
    "disassemble",
    "evaluate",
    "expressions",
    "get_num_threads",
    "get_vml_version",
    "install",
    "ncores",
    "necompiler",
    "nthreads",
    "print_versions",
    "re_evaluate",
    "set_num_threads",
    "set_vml_accuracy_mode",
    "set_vml_num_threads",
    "uninstall",
    "use_vml",
    "utils",
    "validate",
]


def print_versions() -> None:
    """Prints the versions of unishape, NumPy and Python, and the number of threads."""
    import sys

    import numpy as np

    import unishape

    print(f"unishape {unishape.__version__}, with the interface of numexpr {__version__}")
    print(f"NumPy    {np.__version__}")
    print(f"Python   {sys.version}")
    print(f"threads  {get_num_threads()}, of {ncores} CPUs")
