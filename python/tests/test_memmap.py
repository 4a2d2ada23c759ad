"""Memory-mapped inputs and outputs larger than the memory limit of the process."""

import os
import subprocess
import sys

import pytest

# Limit for data besides the files, and size of the files, in bytes.
MEMORY, FILE = 96 << 20, 1 << 30

PRELUDE = f"""
import resource
import numpy as np, unishape

def status(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what + ":"))

def mapped(name, dtype, shape, mode="r+"):
    # A sparse file takes no space on the disk.
    with open(name, "ab") as file:
        file.truncate(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return np.memmap(name, dtype, mode, shape=shape)

unishape.evaluate("a + 1", a=np.zeros(1 << 20, "f4"), threads=2)  # starts the workers
before = status("RssAnon")
limit = status("VmData") + {MEMORY}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
FILE = {FILE}
"""


def run(folder, code, imports=""):
    """Runs code in a process with limited memory; mapped files do not count."""
    if not sys.platform.startswith("linux"):
        pytest.skip("uses Linux memory limits and /proc")
    result = subprocess.run(
        [sys.executable, "-c", imports + PRELUDE + code + f"\nassert status('RssAnon') - before < {MEMORY}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        # NumPy's libraries allocate memory for each core.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
    )
    assert result.returncode == 0, result.stderr


def test_limit_is_effective(tmp_path):
    run(
        tmp_path,
        """
try:
    np.ones(FILE, "u1")
except MemoryError:
    pass
else:
    raise AssertionError("the limit is not effective")
""",
    )


def test_read_large_files(tmp_path):
    # Reads 1 GiB and a column; writes 128 MiB.
    run(
        tmp_path,
        """
rows = FILE // (8 << 10)
a = mapped("a", "f8", (rows, 1024), "r+")
a[-1, -1] = 3
column = mapped("column", "f8", (rows, 1))
column[-1] = 2
out = mapped("out", "?", (rows, 1024), "r+")
result = unishape.evaluate("(a - column) * 2 > 1", out=out, threads=2)
assert result is out and out[-1, -1] and not out[-1, 0] and not out[0, 0]
""",
    )


def test_write_large_files(tmp_path):
    # Stretches the inputs to 1 GiB.
    run(
        tmp_path,
        """
rows = FILE // (4 << 12)
out = mapped("out", "f4", (rows, 1 << 12))
row = mapped("row", "f4", (1 << 12,))
row[:] = np.arange(1 << 12)
column = mapped("column", "f4", (rows, 1))
column[:, 0] = np.arange(rows)
unishape.evaluate("column * 10 + row", out=out, threads=2)
assert out[7, 9] == 79 and out[-1, -1] == np.float32(10) * (rows - 1) + 4095
""",
    )


def test_write_file_of_another_dtype(tmp_path):
    run(
        tmp_path,
        """
a = mapped("a", "f8", (FILE // 32,))
a[::1000] = 1.5
out = mapped("out", "f4", (FILE // 32,))
unishape.evaluate("a * 2", out=out)
assert out[0] == 3 and out[1] == 0 and out[1000] == 3
""",
    )


def test_update_file_in_place(tmp_path):
    run(
        tmp_path,
        """
a = mapped("a", "i2", (FILE // 8,))
a[-1] = 20
unishape.evaluate("a * 2 + 1", out=a)
assert a[-1] == 41 and a[0] == 1
b = unishape.lazy(a) + 1
b.compute(out=a)
assert a[-1] == 42 and a[0] == 2
""",
    )


def test_dask_reads_files_in_blocks(tmp_path):
    pytest.importorskip("dask.array")
    run(
        tmp_path,
        """
a = mapped("a", "f8", (FILE // 32,))
a[-1] = 20
with dask.config.set({"array.chunk-size": "4MiB", "num_workers": 2}):
    result = unishape.dask.evaluate("a * 2 + 1").sum()
    assert result.compute() == FILE // 32 + 40
""",
        "import dask, unishape.dask",
    )
