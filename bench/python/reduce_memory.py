"""Peak extra memory of calls: `reduce_memory.py CONTESTANT WORKLOAD...` prints a line of JSON for each workload.

The kernel keeps the largest resident set of a process (`VmHWM` in `/proc/self/status`), and resets it when `5` is
written to `/proc/self/clear_refs` (Linux only). Extra memory is the peak during one call, less the resident set before
it and less the bytes of the result; the largest of `CALLS` calls counts. A call with small arrays comes first, so that
code and threads are loaded; a compiled function is called once more. Before each call, memory that the allocator keeps
is returned to the system, and the resident set must be stable: JAX frees temporary arrays after a call has returned.
"""

import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time

#: Contestants that need more bytes than this for a workload are not measured.
LIMIT = 4 * 10**9
#: Seconds between two looks at the resident set, during a call and before it.
INTERVAL = 5e-3
SETTLE_INTERVAL = 0.05
#: The resident set is stable if it changes by fewer bytes than this in `STABLE_LOOKS` samples in succession.
STABLE_BYTES = 1 << 20
STABLE_LOOKS = 4
#: Seconds after which a resident set that is not stable is an error.
SETTLE_LIMIT = 10.0
#: Calls whose largest extra memory is taken.
CALLS = 3


def status(key):
    """A size in `/proc/self/status`, in bytes."""
    with open("/proc/self/status") as file:
        return int(re.search(rf"{key}:\s+(\d+) kB", file.read())[1]) * 1024


def settle():
    """Returns free memory to the system until the resident set is stable."""
    end, looks, last = time.monotonic() + SETTLE_LIMIT, 0, 0
    while looks < STABLE_LOOKS:
        if time.monotonic() > end:
            raise RuntimeError(f"the resident set is not stable after {SETTLE_LIMIT:g} s")
        ctypes.CDLL(None).malloc_trim(0)
        now = status("VmRSS")
        looks = looks + 1 if abs(now - last) < STABLE_BYTES else 0
        last = now
        time.sleep(SETTLE_INTERVAL)


def reset_peak():
    """Resets the largest resident set to the present one, once that is stable; returns it in bytes."""
    settle()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")


class Guard(threading.Thread):
    """Ends the process, after a line of JSON, when the resident set grows by more than `LIMIT`."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = float("inf")
        self.name = ""

    def run(self):
        page = os.sysconf("SC_PAGE_SIZE")
        while True:
            with open("/proc/self/statm") as file:
                resident = int(file.read().split()[1]) * page
            if resident > self.most:
                os.write(1, (json.dumps({"name": self.name, "over": True}) + "\n").encode())
                os._exit(0)
            time.sleep(INTERVAL)


def measure(contestant, workload, guard):
    """Extra bytes of a call; None where the contestant does not support the workload."""
    import numpy as np
    import reduce_contestants
    from reductions import like_small

    small = like_small(workload)
    if reduce_contestants.ready(contestant, small, small.arrays()) is None:
        return None
    arrays = workload.arrays()
    guard.name, guard.most = workload.name, reset_peak() + LIMIT
    function = reduce_contestants.CONTESTANTS[contestant](workload, arrays)
    if contestant in reduce_contestants.COMPILED:
        function()
    extra = [0]
    for _ in range(CALLS):
        before = reset_peak()
        result = function()
        extra.append(status("VmHWM") - before - np.asarray(result).nbytes)
        del result
    guard.most = float("inf")
    return max(extra)


def main():
    from reductions import WORKLOADS

    contestant, *names = sys.argv[1:]
    guard = Guard()
    guard.start()
    for name in names:
        print(json.dumps({"name": name, "bytes": measure(contestant, WORKLOADS[name], guard)}), flush=True)


def extra(contestant, names):
    """Extra bytes of a contestant's calls by workload, measured in other processes.

    The value is None where the contestant does not support the workload or fails, and infinite above `LIMIT`.
    """
    found, left = {}, list(names)
    while left:
        command = [sys.executable, __file__, contestant, *left]
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        for line in lines:
            if line.startswith('{"name"'):
                one = json.loads(line)
                found[one["name"]] = float("inf") if one.get("over") else one["bytes"]
        if not any(name in found for name in left):  # it failed at the first of them
            found[left[0]] = None
        left = [name for name in left if name not in found]
    return found


if __name__ == "__main__":
    main()
