"""Concurrent callers: threads that call a library at once, each with arrays of its own."""

import threading
import time

import contestants
import timing
import unishape
from workloads import sized

THREADS = (1, 2, 4, 8, 16)
WORKLOADS = ("a + b", "normalise")
ELEMENTS = 10**6


def unishape_call(threads):
    """The function for a single operator, an expression for more, with this number of threads."""

    def contestant(workload, arrays, out):
        if workload.fused:
            return lambda: unishape.evaluate(workload.text, arrays, threads=threads)
        a, b = arrays.values()
        return lambda: unishape.add(a, b, threads=threads)

    return contestant


CONTESTANTS = {
    "unishape": unishape_call(None),
    "unishape, `threads=1`": unishape_call(1),
    "NumPy": contestants.numpy_operators,
    "PyTorch": contestants.torch_eager,
}


def throughput(functions, seconds):
    """Calls per second of all functions together, each called in a loop by a thread of its own."""
    counts = [0] * len(functions)
    start = threading.Barrier(len(functions) + 1)
    stop = threading.Event()

    def loop(at, function):
        function()
        start.wait()
        while not stop.is_set():
            function()
            counts[at] += 1

    threads = [threading.Thread(target=loop, args=each) for each in enumerate(functions)]
    for thread in threads:
        thread.start()
    start.wait()
    begin = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.perf_counter() - begin)


def measure(name, seconds, rounds, pause):
    """Lines of the results file for one workload: a line for each number of threads."""
    workload = sized(name, ELEMENTS, "float64")
    arrays = [workload.arrays(1) for _ in range(max(THREADS))]
    every = {
        contestant: [contestants.checked(workload, each, "fresh", {contestant: make})[contestant] for each in arrays]
        for contestant, make in CONTESTANTS.items()
    }
    lines = []
    for count in THREADS:
        samples = {contestant: [] for contestant in every}
        for number in range(rounds):
            for contestant in timing.rotated(list(every), number):
                time.sleep(pause)
                samples[contestant].append(throughput(every[contestant][:count], seconds))
        rates = {contestant: timing.summary(each) for contestant, each in samples.items()}
        lines.append({"name": name, "threads": count, "rates": rates})
        rest = ", ".join(f"{contestant} {each['median']:.0f}" for contestant, each in rates.items())
        print(f"{name}, {count} threads, calls per second: {rest}", flush=True)
    return lines
