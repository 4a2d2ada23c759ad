"""NumPy's own tests of broadcast_arrays, broadcast_shapes and broadcast_to, run with unishape's functions."""

import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def run(folder, *options):
    """Output and exit code of pytest on NumPy's tests."""
    command = [sys.executable, "-m", "pytest", "-p", "numpy_suite_plugin", "-p", "no:cacheprovider", "--noconftest"]
    command += [
        "-rA",
        "--rootdir",
        str(folder),
        "-c",
        os.devnull,
        "--pyargs",
        "numpy.lib.tests.test_stride_tricks",
        *options,
    ]
    # Relative entries of sys.path are relative to another folder.
    paths = [str(HERE), str(folder), *map(os.path.abspath, filter(None, sys.path))]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(paths))
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return done.stdout + done.stderr, done.returncode


def count(text, what):
    found = re.search(rf"(\d+) {what}", text)
    return int(found[1]) if found else 0


def test_unishape_passes_numpys_tests(tmp_path):
    text, code = run(tmp_path)
    assert code == 0, text
    # The tests of all three functions ran.
    assert count(text, "passed") >= 18 and count(text, "xfailed") == 3, text
    for name in ["test_same_as_ufunc", "test_broadcast_to_succeeds", "test_broadcast_shapes_raises"]:
        assert re.search(rf"PASSED .*::{name}\b", text), text


ZEROS = """
import numpy
broadcast_shapes = numpy.broadcast_shapes
def broadcast_to(x, shape):
    return numpy.zeros(shape)
def broadcast_arrays(*arrays):
    return tuple(numpy.zeros(numpy.broadcast(*arrays).shape) for _ in arrays)
"""


def test_wrong_functions_fail(tmp_path):
    (tmp_path / "zeros.py").write_text(ZEROS)
    text, code = run(tmp_path, "--functions-of", "zeros")
    assert code == 1, text
    for name in ["test_same_as_ufunc", "test_broadcast_to_succeeds", "test_reference_types"]:
        assert re.search(rf"FAILED .*::{name}\b", text), text


def test_an_exception_that_passes_is_an_error(tmp_path):
    # NumPy's own functions need no exceptions.
    text, code = run(tmp_path, "--functions-of", "numpy")
    assert code == 1 and count(text, "failed") == 3 and "XPASS(strict)" in text, text
