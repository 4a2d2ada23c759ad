"""Time and peak memory of one expression from Zarr store to Zarr store: the command beside Dask with zarr.

    python bench/python/zarr_stores.py UNISHAPE [GIGABYTES]

UNISHAPE is the command, built with `--release --features zarr`. Prints a table; docs/command-line.md has one of them.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

EXPRESSION = "(x - mean) / std * 2 + 1"
CHUNKS = (1000, 1000)

DASK = """
import dask.array as da, sys
x, mean, std = (da.from_zarr('in.zarr', component=name) for name in ('x', 'mean', 'std'))
((x - mean) / std * 2 + 1).to_zarr('dask.zarr', component='result', overwrite=True)
"""


def make(rows):
    import numpy as np
    import zarr

    group = zarr.open_group("in.zarr", mode="w")
    random = np.random.default_rng(0)
    mean, std = random.random(4000, dtype="f4"), random.random(4000, dtype="f4") + 1
    for name, values in (("mean", mean), ("std", std)):
        group.create_array(name, shape=(4000,), chunks=(1000,), dtype="f4")[:] = values
    x = group.create_array("x", shape=(rows, 4000), chunks=CHUNKS, dtype="f4")
    for start in range(0, rows, 1000):
        # Measurements of limited precision, which compress to about a half.
        x[start : start + 1000] = np.round(random.random((1000, 4000), dtype="f4") * 1000) / 8


def measure(command):
    """Seconds and peak memory in MiB of a process, with its children."""
    start = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    assert status == 0, command
    return seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def main():
    command = os.path.abspath(sys.argv[1])
    gigabytes = float(sys.argv[2]) if len(sys.argv) > 2 else 2.0
    rows = max(1, round(gigabytes * 1e9 / 4 / 4000 / 1000)) * 1000
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make(rows)
        own = [command, "eval", EXPRESSION, "in.zarr", "-q", "-f", "-o", "own.zarr"]
        runs = {"unishape": own, "unishape --memory 64M": own + ["--memory", "64M"]}
        runs["dask + zarr"] = [sys.executable, "-c", DASK]
        print(f"{rows}x4000 float32, {rows * 16e-6:.1f} GB, chunks of {CHUNKS}, {os.cpu_count()} cores")
        print("| | seconds | CPU seconds | peak MiB |\n|---|---|---|---|")
        for name, run in runs.items():
            seconds, memory, cpu = min(measure(run) for _ in range(2))
            print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {memory:.0f} |")
        import numpy as np
        import zarr

        own, other = (zarr.open_group(name, mode="r")["result"] for name in ("own.zarr", "dask.zarr"))
        assert np.allclose(own[:1000], other[:1000])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
