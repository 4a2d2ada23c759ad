"""Seconds of the first call of `unishape.evaluate` in a process: `first_call.py WORKLOAD` prints them.

The call parses the expression, lowers it to stages, and runs it on small arrays. Imports are not timed.
"""

import statistics
import subprocess
import sys
import time

#: Processes whose median is taken.
PROCESSES = 5


def main():
    import reductions

    import unishape

    workload = reductions.WORKLOADS[sys.argv[1]]
    arrays = workload.arrays()
    start = time.perf_counter()
    unishape.evaluate(workload.text, arrays)
    print(time.perf_counter() - start)


def measure(name, processes=PROCESSES):
    """The median of several processes, in seconds."""
    command = [sys.executable, __file__, name]
    return statistics.median(float(subprocess.check_output(command, text=True)) for _ in range(processes))


if __name__ == "__main__":
    main()
