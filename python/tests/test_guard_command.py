"""`python -m unishape guard` and `pytest --broadcast-guard`."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
def difference(a, b):
    return a - b
print(sys.argv[1:], __name__, difference(np.ones((3, 1)), np.ones(3)).shape)
np.ones((2, 3)) * np.ones(3)
"""


def run(folder, *arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=100, check=False)


def guard(folder, *arguments):
    return run(folder, "unishape", "guard", *arguments)


@pytest.fixture
def script(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def test_script(script):
    done = guard(script, "--html", "report.html", "script.py", "one", "--policy", "two")
    assert done.returncode == 0 and done.stdout == "['one', '--policy', 'two'] __main__ (3, 3)\n"
    assert "SuspiciousBroadcastWarning: suspicious broadcast: a - b: (3, 1) with (3,) gives (3, 3)" in done.stderr
    assert done.stderr.endswith("broadcast guard: 2 sites, 1 suspicious\n")
    assert "a - b" in (script / "report.html").read_text()


def test_module_and_status(script):
    done = guard(script, "--check", "--policy", "collect", "-m", "script")
    assert done.returncode == 1 and done.stderr.count("suspicious broadcast: a - b") == 1
    done = guard(script, "--check", "--ignore", "difference", "script.py")
    assert done.returncode == 0 and done.stderr == "broadcast guard: 2 sites, 0 suspicious\n"


def test_error_in_the_program(script):
    done = guard(script, "--policy", "raise", "script.py")
    assert done.returncode == 1 and "SuspiciousBroadcastError: suspicious broadcast: a - b" in done.stderr
    assert done.stderr.endswith("broadcast guard: 1 site, 1 suspicious\n")
    assert "runpy" not in done.stderr and "command.py" not in done.stderr
    (script / "exits.py").write_text("import sys; sys.exit(3)")
    done = guard(script, "exits.py")
    assert done.returncode == 3 and done.stderr == "broadcast guard: 0 sites, 0 suspicious\n"


@pytest.mark.parametrize(
    ("end", "status", "checked"),
    [("sys.exit(0)", 0, 1), ("sys.exit()", 0, 1), ("sys.exit(3)", 3, 3), ("sys.exit('wrong')", 1, 1), ("1 / 0", 1, 1)],
)
def test_check_of_a_program_that_exits(script, end, status, checked):
    (script / "exits.py").write_text(f"{SCRIPT}\n{end}\n")
    assert guard(script, "exits.py").returncode == status
    done = guard(script, "--check", "exits.py")
    assert (
        done.returncode == checked and "1 suspicious" in done.stderr and ("'wrong'" in end) == ("wrong" in done.stderr)
    )
    assert guard(script, "--check", "--ignore", "*", "exits.py").returncode == status


def test_wrong_arguments(script):
    done = guard(script, "missing.py")
    assert done.returncode == 2 and "there is no file 'missing.py'" in done.stderr
    for report, problem in [("no/report.html", "there is no directory"), (".", "it is a directory")]:
        done = guard(script, "--html", report, "script.py")
        assert done.returncode == 2 and f"--html {report}: {problem}" in done.stderr
        assert done.stdout == "" and "Traceback" not in done.stderr
    assert guard(script, "--policy", "other", "script.py").returncode == 2


def test_report_of_a_program_that_changes_the_directory(script):
    (script / "moves.py").write_text("import os; os.mkdir('other'); os.chdir('other')")
    assert guard(script, "--html", "report.html", "moves.py").returncode == 0
    assert (script / "report.html").exists()


def test_libraries_that_are_imported_by_the_program(tmp_path):
    pytest.importorskip("scipy.special")
    (tmp_path / "script.py").write_text(
        "import numpy as np\nfrom scipy.special import xlogy\nxlogy(np.ones((3, 1)), np.ones(3))\n"
    )
    done = guard(tmp_path, "--policy", "collect", "script.py")
    assert "suspicious broadcast: xlogy(np.ones((3, 1)), np.ones(3))" in done.stderr


TESTS = """
import numpy as np
import pytest

@pytest.fixture
def made():
    return np.ones((3, 1)) - np.ones(3)

def test_fixture(made):
    assert made.shape == (3, 3)

def test_twice():
    for _ in range(2):
        assert (np.ones((3, 1)) * np.ones(3)).shape == (3, 3)

@pytest.mark.no_broadcast_guard
def test_unwatched():
    np.ones((3, 1)) + np.ones(3)
"""


@pytest.fixture
def tests(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_pytest_warns(tests):
    done = run(tests, "pytest", "--broadcast-guard", "--broadcast-guard-html=report.html")
    assert done.returncode == 0 and "3 passed, 2 warnings" in done.stdout
    assert "2 sites, 2 suspicious" in done.stdout
    assert "suspicious broadcast: np.ones((3, 1)) - np.ones(3)" in done.stdout
    assert "np.ones((3, 1)) * np.ones(3)" in (tests / "report.html").read_text()


def test_pytest_raises(tests):
    (tests / "pytest.ini").write_text("[pytest]\nbroadcast_guard_ignore =\n    made\n    other.py\n")
    done = run(tests, "pytest", "--broadcast-guard=raise")
    assert done.returncode == 1 and "1 failed, 2 passed" in done.stdout
    assert "FAILED test_it.py::test_twice - unishape" in done.stdout
    assert "2 sites, 1 suspicious" in done.stdout


def test_pytest_without_the_option(tests):
    done = run(tests, "pytest", "-W", "error")
    assert done.returncode == 0 and "3 passed" in done.stdout and "broadcast guard" not in done.stdout
    assert run(tests, "pytest", "--broadcast-guard=other").returncode == 4
