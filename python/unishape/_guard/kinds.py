"""What stretches in a broadcast of two shapes. The numbers are those of the compiled module."""

import functools

from .. import _unishape

# One operand is stretched: (m, n) with (n,).
ONE = 1
# One operand is stretched, and its sizes are also those of the other's first dimensions: (n, n) with (n,).
AMBIGUOUS = 2
# Both operands are stretched: (n, 1) with (m,).
BOTH = 3
# Both operands are stretched although they have the same sizes, apart from 1s: (n, 1) with (n,).
SAME_SIZES = 4

NAMES = {
    ONE: "one operand stretched",
    AMBIGUOUS: "ambiguous",
    BOTH: "both stretched",
    SAME_SIZES: "same sizes stretched",
}


@functools.lru_cache(maxsize=4096)
def broadcast_kind(*shapes):
    """The kind of a broadcast of shapes, and which two of them; None where nothing is stretched.

    >>> broadcast_kind((8, 1), (8,)), broadcast_kind((8, 3), (3,)), broadcast_kind((8, 3), ())
    ((4, 0, 1), (1, 0, 1), None)
    """
    return _unishape._broadcast_kind(*shapes)
