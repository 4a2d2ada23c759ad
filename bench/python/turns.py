"""What the benchmarks in Python have together: taking turns, and writing down what came out."""

import statistics
import time


#: Other libraries' threads look for more work for a while before they sleep, on a core that the next one wants.
PAUSE = 0.1


def medians(works, seconds, least):
    """How long each takes, in seconds: medians of rounds in which all take turns, another one first in each. The first
    run of a turn is not counted, since it finds the caches full of somebody else's numbers. What takes microseconds is
    done many times at once."""
    names = list(works)
    many = {}
    for name, work in works.items():
        work()
        start = time.perf_counter()
        work()
        many[name] = max(2, int(2e-4 / max(time.perf_counter() - start, 1e-7)))
    times = {name: [] for name in names}
    begin = time.perf_counter()
    while len(times[names[0]]) < least or time.perf_counter() - begin < seconds:
        first = len(times[names[0]]) % len(names)
        for name in names[first:] + names[:first]:
            work, repeat = works[name], range(many[name])
            time.sleep(PAUSE)
            work()
            start = time.perf_counter()
            for _ in repeat:
                work()
            times[name].append((time.perf_counter() - start) / many[name])
    return {name: statistics.median(each) for name, each in times.items()}


def write(document, name, text):
    """Puts figures into a document, between the marks of their benchmark."""
    begin, end = (f"<!-- figures of cargo xtask bench {name}: {mark} -->" for mark in ("begin", "end"))
    before, rest = document.read_text().split(begin)
    _, after = rest.split(end)
    document.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
