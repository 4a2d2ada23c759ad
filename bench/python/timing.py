"""Times contestants in rounds, and stores the results as JSON and as Markdown."""

import datetime
import json
import os
import platform
import statistics
import time

#: Seconds of pause before each block of calls: the idle threads of other libraries spin for some 30 ms before they
#: park, and would take a core from the next contestant.
PAUSE = 0.1
#: The minimum number of blocks, even of the slowest contestant.
MIN_BLOCKS = 3
#: Seconds of a call from which on a block has one timed call.
SLOW = 0.05
#: Seconds of calls at the start of a block that are not timed: right after a pause, calls that wait for other threads
#: took up to 2 ms longer, and the caches hold the data of another contestant.
WARM_UP = 3e-3
#: Seconds of timed calls in a block.
TIMED = 3e-3


def summary(samples):
    """Median, quartiles and extremes of a contestant's rounds, in seconds per call."""
    if len(samples) > 1:
        lower, _, upper = statistics.quantiles(samples, n=4, method="inclusive")
    else:
        lower = upper = samples[0]
    return {
        "median": statistics.median(samples),
        "lower": lower,
        "upper": upper,
        "min": min(samples),
        "max": max(samples),
        "rounds": len(samples),
    }


def rotated(names, round_number):
    """The contestants in the order of a round: each round starts with another one."""
    first = round_number % len(names)
    return names[first:] + names[:first]


def warm_up(function, seconds=WARM_UP):
    """Calls a function at least once, until `seconds` have passed; gives the seconds of the first call."""
    start = time.perf_counter()
    function()
    first = time.perf_counter() - start
    while time.perf_counter() < start + seconds:
        function()
    return first


def measure(functions, seconds, least, pause=PAUSE, warm=WARM_UP):
    """Times the functions of a dict, in rounds; gives the summary of each, with the median of first calls after a pause.

    A round has one block of calls per contestant, and each round starts with another contestant. A block starts with
    calls of `warm` seconds that are not timed, see `WARM_UP`. Rounds go on for `seconds`; there are at least `least` of
    them. A slow contestant stops after `MIN_BLOCKS` blocks and half of `seconds`.
    """
    names = list(functions)
    calls = {}
    for name, function in functions.items():
        warm_up(function, warm)
        start = time.perf_counter()
        function()
        once = max(time.perf_counter() - start, 1e-7)
        calls[name] = 1 if once > SLOW else max(2, int(TIMED / once))
    samples, first_calls = {name: [] for name in names}, {name: [] for name in names}
    begin, rounds = time.perf_counter(), 0
    while rounds < least or time.perf_counter() - begin < seconds:
        for name in rotated(names, rounds):
            if len(samples[name]) >= MIN_BLOCKS and sum(samples[name]) * calls[name] > seconds / 2:
                continue
            function, repeat = functions[name], range(calls[name])
            time.sleep(pause)
            first_calls[name].append(warm_up(function, warm))
            start = time.perf_counter()
            for _ in repeat:
                function()
            samples[name].append((time.perf_counter() - start) / calls[name])
        rounds += 1
    return {name: summary(each) | {"first": statistics.median(first_calls[name])} for name, each in samples.items()}


def conditions(versions, cores):
    """The machine, the versions, the date and the load, for the head of a results file."""
    return {
        "cpu": cpu(),
        "cores": cores,
        "versions": versions,
        "date": str(datetime.date.today()),
        "load": [round(each, 2) for each in os.getloadavg()],
    }


def cpu():
    """The CPU's model name, or the architecture where the system does not report one."""
    try:
        with open("/proc/cpuinfo") as file:
            name = next(line.split(":", 1)[1] for line in file if line.startswith("model name"))
        return name.replace("(R)", "").strip()
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def save(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")


def load(path):
    return json.loads(path.read_text())


def write_section(document, name, text):
    """Replaces the figures of a benchmark in a document, between its two markers."""
    begin, end = (f"<!-- figures of cargo xtask bench {name}: {mark} -->" for mark in ("begin", "end"))
    before, rest = document.read_text().split(begin)
    _, after = rest.split(end)
    document.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
