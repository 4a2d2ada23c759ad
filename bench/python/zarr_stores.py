"""Time and peak memory of one expression from Zarr store to Zarr store: the command beside Dask with zarr.

    python bench/python/zarr_stores.py UNISHAPE [GIGABYTES [ROWS COLUMNS [ROUNDS]]]

UNISHAPE is the command, built with `--release --features zarr`; ROWS and COLUMNS are those of a chunk. Both run in turn;
prints a table of medians, for docs/command-line.md.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time

EXPRESSION = "(x - mean) / std * 2 + 1"
COLUMNS = 4000

DASK = """
import dask.array as da, sys
x, mean, std = (da.from_zarr('in.zarr', component=name) for name in ('x', 'mean', 'std'))
((x - mean) / std * 2 + 1).to_zarr('dask.zarr', component='result', overwrite=True)
"""


def make(rows, chunks):
    import numpy as np
    import zarr

    group = zarr.open_group("in.zarr", mode="w")
    random = np.random.default_rng(0)
    mean, std = random.random(COLUMNS, dtype="f4"), random.random(COLUMNS, dtype="f4") + 1
    for name, values in (("mean", mean), ("std", std)):
        group.create_array(name, shape=(COLUMNS,), chunks=chunks[1:], dtype="f4")[:] = values
    x = group.create_array("x", shape=(rows, COLUMNS), chunks=chunks, dtype="f4")
    for start in range(0, rows, chunks[0]):
        # Measurements of limited precision, which compress to about a half.
        part = random.random((min(chunks[0], rows - start), COLUMNS), dtype="f4")
        x[start : start + chunks[0]] = np.round(part * 1000) / 8


def watch_memory(process, peaks):
    """Keeps the peaks of the memory of a process, and of what it does not share with files, in KiB.

    Not `ru_maxrss`: that begins with the memory of the process that starts the command.
    """
    while process.returncode is None:
        try:
            with open(f"/proc/{process.pid}/status") as status:
                fields = dict(line.split(":", 1) for line in status)
        except OSError:
            return
        for at, name in enumerate(("VmHWM", "RssAnon")):
            peaks[at] = max(peaks[at], int(fields[name].split()[0]) if name in fields else 0)
        time.sleep(0.005)


def measure(command):
    """Seconds, CPU seconds, peak memory and peak of private memory in MiB of a process."""
    start, peaks = time.perf_counter(), [0, 0]
    process = subprocess.Popen(command)
    watcher = threading.Thread(target=watch_memory, args=(process, peaks))
    watcher.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = status
    watcher.join()
    assert status == 0, command
    return seconds, usage.ru_utime + usage.ru_stime, peaks[0] / 1024, peaks[1] / 1024


def size(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names)


def main():
    command = os.path.abspath(sys.argv[1])
    gigabytes, *numbers = [float(text) for text in sys.argv[2:]] or [1.0]
    chunk_rows, chunk_columns, rounds = [int(number) for number in numbers] + [1000, 1000, 3][len(numbers) :]
    rows = max(1, round(gigabytes * 1e9 / 4 / COLUMNS / chunk_rows)) * chunk_rows
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make(rows, (chunk_rows, chunk_columns))
        own = [command, "eval", EXPRESSION, "in.zarr", "-q", "-f", "-o", "own.zarr"]
        runs = {"unishape": own, "dask + zarr": [sys.executable, "-c", DASK]}
        results = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                results[name].append(measure(run))
        chunks = f"{chunk_rows}x{chunk_columns}"
        print(f"{rows}x{COLUMNS} float32, {rows * COLUMNS * 4e-9:.1f} GB, chunks of {chunks}, {os.cpu_count()} cores, ")
        print(f"medians of {rounds} rounds, load {os.getloadavg()[0]:.1f}")
        print("| | seconds | CPU seconds | peak MiB | of it private | size of the result, MB |")
        print("|---|---|---|---|---|---|")
        for (name, measured), store in zip(results.items(), ("own.zarr", "dask.zarr"), strict=True):
            seconds, cpu, memory, private = (statistics.median(column) for column in zip(*measured, strict=True))
            print(f"| {name} | {seconds:.1f} | {cpu:.1f} | {memory:.0f} | {private:.0f} | {size(store) / 1e6:.0f} |")
        import numpy as np
        import zarr

        own, other = (zarr.open_group(name, mode="r")["result"] for name in ("own.zarr", "dask.zarr"))
        assert np.allclose(own[:1000], other[:1000])


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
