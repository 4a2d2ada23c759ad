"""The command: python -m unishape."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from unishape import _unishape


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the unishape command, and returns its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after the name of the command. Default: those of this process.

    Returns
    -------
    int
        0 for success; `python -m unishape --help` lists the others.
    """
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    # What Python has printed comes first.
    sys.stdout.flush()
    return _unishape._run_command(["unishape", *map(os.fspath, arguments)])
