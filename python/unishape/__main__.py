"""`python -m unishape`: `guard` runs a Python program under a guard; all other commands are those of the tool."""

import importlib.util
import sys


def main(arguments):
    """Runs a command; returns the exit status."""
    if arguments[:1] == ["guard"]:
        from ._guard.command import main as run

        return run(arguments[1:])
    if importlib.util.find_spec("unishape._command") is None:
        print("usage: python -m unishape guard [OPTIONS] PROGRAM [ARGUMENTS]", file=sys.stderr)
        return 2
    from ._command import main as run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
