"""`python -m unishape`: `guard` runs a Python program under a guard; all other commands are those of the tool."""

import sys


def main(arguments: list[str]) -> int:
    """Runs a command; returns the exit status."""
    if arguments[:1] == ["guard"]:
        from ._guard.command import main as run
    else:
        from ._command import main as run
    return run(arguments[1:] if arguments[:1] == ["guard"] else arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
