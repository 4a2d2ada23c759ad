"""python -m unishape is the command."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import unishape
from unishape import _command


def run(*arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, "-m", "unishape", *arguments], capture_output=True, text=True, cwd=cwd, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def test_shapes():
    assert run("shape", "8x1x6x1", "7x1x5") == (0, "8x7x6x5\n", "")
    code, out, error = run("shape", "3", "4")
    assert code == 1 and out == "" and "E1: incompatible shapes" in error


def test_version_help_and_usage():
    assert run("--version") == (0, f"unishape {unishape.__version__}\n", "")
    code, out, _ = run("--help")
    assert code == 0 and "explain" in out
    for arguments in (["--help"], ["-h"], ["help"]):
        assert "python -m unishape guard" in run(*arguments)[1]
    assert "python -m unishape guard" not in run("shape", "--help")[1]
    code, out, error = run("unknown")
    assert code == 2 and out == "" and "unknown" in error


def test_files(tmp_path):
    a, b = np.arange(3.0), np.arange(2.0).reshape(2, 1)
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    code, _, error = run("eval", "a * b + 1", "a.npy", "b.npy", "--out", "c.npy", cwd=tmp_path)
    assert code == 0, error
    assert (np.load(tmp_path / "c.npy") == a * b + 1).all()
    code, _, error = run("eval", "a * c", "a.npy", "missing.npy", cwd=tmp_path)
    assert code != 0 and "missing.npy" in error


def test_function(capfd):
    assert _command.main(["shape", "2x1", "3"]) == 0
    assert capfd.readouterr().out == "2x3\n"
    with pytest.raises(TypeError):
        _command.main([3])


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_command_without_a_traceback(tmp_path):
    # A result on the terminal is computed without a handler; one for a file stops at the next write.
    for output, status, message in [([], -signal.SIGINT, ""), (["-o", "out.npy"], 130, "stopped; nothing was written")]:
        command = [sys.executable, "-m", "unishape", "eval", "sum(sin(i * j))", "i=0:2000000x1", "j=0:1000000", *output]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            time.sleep(3)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
        assert process.returncode == status and message in error and "Traceback" not in error, error
        assert not (tmp_path / "out.npy").exists()
