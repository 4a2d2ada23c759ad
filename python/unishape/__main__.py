"""`python -m unishape`: `guard` runs a Python program under a guard; all other commands are those of the tool."""

import signal
import sys

GUARD_HELP = """
Only in the Python package:
  python -m unishape guard script.py     run a program and report suspicious broadcasts; guard --help has the options"""


def main(arguments: list[str]) -> int | str | None:
    """Runs a command; returns the exit status, as sys.exit takes it."""
    if arguments[:1] == ["guard"]:
        from ._guard.command import main as run

        return run(arguments[1:])
    from ._command import main as run

    # The command stops at Ctrl-C by itself. Python's handler would only raise an exception after it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    status = run(arguments)
    if arguments in (["--help"], ["-h"], ["help"]):
        print(GUARD_HELP)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
