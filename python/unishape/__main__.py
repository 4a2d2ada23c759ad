"""`python -m unishape`: the command-line tool, and `guard` for Python programs."""

import sys


def main(arguments):
    """Runs a command; returns the exit status."""
    if arguments[:1] == ["guard"]:
        from ._guard.command import main as run
    else:
        from ._command import main as run
    return run(arguments[1:] if arguments[:1] == ["guard"] else arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
