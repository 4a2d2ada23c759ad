"""Files larger than memory: mapped arrays in, mapped arrays out, and next to no memory of one's own."""

import os
import subprocess
import sys

import pytest

# What has to suffice beside the files, and how large these are.
MEMORY, FILE = 96 << 20, 1 << 30

PRELUDE = f"""
import resource
import numpy as np, unishape

def status(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what + ":"))

def mapped(name, dtype, shape, mode="r+"):
    # A file that is nothing but a hole takes no room on the disk.
    with open(name, "ab") as file:
        file.truncate(int(np.prod(shape)) * np.dtype(dtype).itemsize)
    return np.memmap(name, dtype, mode, shape=shape)

unishape.evaluate("a + 1", a=np.zeros(1 << 20, "f4"), threads=2)  # whose threads stay
before = status("RssAnon")
limit = status("VmData") + {MEMORY}
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
FILE = {FILE}
"""


def run(folder, code, imports=""):
    """Runs something in a process that cannot have more memory than that for its data, files not counted."""
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is limited and measured as Linux does it")
    result = subprocess.run(
        [sys.executable, "-c", imports + PRELUDE + code + f"\nassert status('RssAnon') - before < {MEMORY}"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        # NumPy's own libraries may want room for each core.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"},
    )
    assert result.returncode == 0, result.stderr


def test_the_limit_holds(tmp_path):
    run(
        tmp_path,
        """
try:
    np.ones(FILE, "u1")
except MemoryError:
    pass
else:
    raise AssertionError("there is memory for a file")
""",
    )


def test_large_files_are_read(tmp_path):
    # A gigabyte is read, and a column beside it; what is written is small on disk, too.
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


def test_large_files_are_written(tmp_path):
    # What is read is stretched to a gigabyte.
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


def test_a_file_of_another_type_is_written_in_parts(tmp_path):
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


def test_a_mapped_file_is_changed_in_place(tmp_path):
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


def test_dask_computes_of_files_in_parts(tmp_path):
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
