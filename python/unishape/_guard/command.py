"""`python -m unishape guard script.py`: runs a program under a guard."""

import argparse
import os
import runpy
import sys
from pathlib import Path

from .guards import POLICIES, guard


def main(arguments):
    """Runs a program with its arguments; returns the exit status, as sys.exit takes it."""
    parser = _parser()
    options = parser.parse_args(arguments)
    program = [options.program, *options.arguments]
    watch = guard(
        policy=options.policy,
        ignore=options.ignore,
        only=options.only,
        strict=options.strict,
        all_threads=True,
    )
    if not options.module and not Path(options.program).exists():
        parser.error(f"there is no file {options.program!r}; use -m for the name of a module")
    # The program may change the directory.
    html = Path(options.html).absolute() if options.html else None
    if html and (problem := _cannot_write(html)):
        parser.error(f"--html {options.html}: {problem}")
    sys.argv[:] = program
    sys.path[0] = "" if options.module else str(Path(options.program).resolve().parent)
    status = 0
    try:
        with watch:
            if options.module:
                runpy.run_module(options.program, run_name="__main__", alter_sys=True)
            else:
                runpy.run_path(options.program, run_name="__main__")
    except SystemExit as error:
        status = error.code
    except Exception as error:  # noqa: BLE001, shown as Python does
        error = error.with_traceback(_own_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    finally:
        # After an error, too: what was seen until then may explain it.
        if options.policy == "collect":
            print(watch.text(), file=sys.stderr)
        else:
            print(f"broadcast guard: {watch.summary()}", file=sys.stderr)
        if html:
            watch.write_html(html)
    # The status of a failed program says more than that of the check.
    return 1 if options.check and watch.suspicious and not status else status


def _cannot_write(path):
    """Why a report cannot be written to a path, known before the program runs; None if it can."""
    if path.is_dir():
        return "it is a directory; name a file"
    if not path.parent.is_dir():
        return f"there is no directory {str(path.parent)!r}; create it first"
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        return "it cannot be written: permission denied"
    return None


def _own_frames(traceback):
    """The frames of the program, without those that started it."""
    started_by = (__file__, runpy.__file__, "<frozen runpy>")
    own = traceback
    while own is not None and own.tb_frame.f_code.co_filename in started_by:
        own = own.tb_next
    return own or traceback


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m unishape guard",
        description="Run a program and report suspicious broadcasts of NumPy arrays and PyTorch tensors.",
    )
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument("--policy", choices=POLICIES, default="warn", help="what to do about each (default: warn)")
    parser.add_argument(
        "--ignore", action="append", default=[], metavar="PATTERN", help="do not report a file, module or function"
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="PATTERN", help="report this file, module or function only"
    )
    parser.add_argument("--strict", action="store_true", help="report all outer products that do not write their axes")
    parser.add_argument("--html", metavar="FILE", help="write a report with diagrams")
    parser.add_argument("--check", action="store_true", help="exit with status 1 if a broadcast is suspicious")
    parser.add_argument("program", help="Python file, or module with -m")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    return parser
