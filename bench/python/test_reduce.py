"""Tests of the reductions' ratios, targets, files and workloads, on made-up numbers and small arrays."""

import importlib.util
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import reduce
import reduce_memory
import reduce_report
import timing

XEON = {"vendor": "GenuineIntel", "name": "Intel(R) Xeon(R) Processor", "family": 6, "number": 207, "l3": 260 << 20}


def cell(name, own, small=False, memory=1e6, wrong=(), over=(), **others):
    summary = lambda median: {"median": median, "lower": median, "upper": 1.5 * median}
    found = {
        "name": name,
        "text": "sum(a | b)",
        "shapes": "4x3",
        "small": small,
        "times": {name: summary(time) for name, time in {"evaluate": own, **others}.items()},
        "memory": {} if small else {"evaluate": memory, "NumPy": 432e6},
        "errors": dict.fromkeys(["evaluate", *others], 3e-3),
        "wrong": list(wrong),
        "over": list(over),
    }
    return {**found, "first_call": 1e-3} if small else found


def made_up():
    return {
        "cores": 2,
        "versions": "Python 3, NumPy 2",
        "date": "2026-01-02",
        "load": [0.5, 1.0, 1.25],
        "model": XEON,
        "commit": "abc",
        "minutes": 30,
        "cells": [
            cell("RBF, 6000", 1e-3, memory=65e6, NumPy=31e-3, JAX=2e-3),
            cell("RBF, 20000", 10e-3, JAX=8e-3, over=["NumPy"]),
            cell("sum(a)", 1e-3, wrong=["numexpr"], NumPy=3e-3, numexpr=0.5e-3),
            cell("softmax", 1e-3, NumPy=2e-3),
            cell("RBF, small", 1e-6, small=True, NumPy=5e-6),
        ],
    }


class Report(unittest.TestCase):
    def test_the_fastest_library_has_a_right_result(self):
        cells = made_up()["cells"]
        self.assertEqual(reduce_report.relative(cells[0]), (0.5, "JAX"))
        self.assertEqual(reduce_report.relative(cells[2])[1], "NumPy")
        self.assertIsNone(reduce_report.relative(cell("alone", 1.0)))

    def test_misses_of_targets_are_named(self):
        text = "\n".join(reduce_report.targets(made_up()))
        self.assertIn("(at most 1.05 times its time), in 3 of 4. Missed by: RBF, 20000 1.25 (JAX).", text)
        self.assertIn("large: at least 4 times as fast as NumPy (softmax 1.6 times, layer norm 3 times), in 2 of 3. Missed by: sum(a) 3.00.", text)
        self.assertIn("**Met**: small: no slower than the fastest", text)
        self.assertIn("peak extra memory below 64 MB, in 3 of 4. Missed by: RBF, 6000 65 MB.", text)
        self.assertIn("**Met**: first call below 5.0 ms (the longest takes 1.0 ms), in 1 of 1.", text)
        self.assertNotIn("Wrong", text)

    def test_wrong_results_of_unishape_are_named(self):
        results = {**made_up(), "cells": [cell("sum(a)", 1.0, wrong=["evaluate"], NumPy=1.0)]}
        self.assertIn("- **Wrong results of unishape**: sum(a) 3e-03.", reduce_report.targets(results))

    def test_tables_show_ratios_memory_and_what_was_skipped(self):
        text = reduce_report.markdown(made_up())
        self.assertIn("### Reductions on Intel Xeon Processor (family 6, model 207), L3 260 MiB, 2 cores", text)
        self.assertIn("|  | unishape | spread | relative to the fastest | NumPy | JAX | numexpr |", text)
        self.assertIn("| RBF, 6000 | 1.0 ms | 50 % | 0.50 (JAX) | 31.00 | 2.00 | – |", text)
        self.assertIn("| RBF, 20000 | 10.0 ms | 50 % | 1.25 (JAX) | > 4 GB | 0.80 | – |", text)
        self.assertIn("| 3.00 | – | 0.50, wrong by 3e-03 |", text)
        self.assertIn("| RBF, 6000 | 65 MB | 432 MB | – | – |", text)
        self.assertIn("`sum(a \\| b)`", text)

    def test_sizes_have_a_unit(self):
        shown = [reduce_report.size(each) for each in (0, 1.26e6, 9.96e6, 432e6, 999.6e6, 1.95e9)]
        self.assertEqual(shown, ["0.0 MB", "1.3 MB", "10 MB", "432 MB", "1.0 GB", "1.9 GB"])

    def test_a_line_names_every_library(self):
        line = reduce_report.line(made_up()["cells"][1])
        for part in ("RBF, 20000", "10.0 ms", "1.25", "JAX 0.80", "NumPy > 4 GB"):
            self.assertIn(part, line)


class Files(unittest.TestCase):
    def test_results_survive_a_file_with_a_line_for_each_workload(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new/results.json"
            reduce.save(path, made_up())
            self.assertEqual(timing.load(path), made_up())
            self.assertEqual(path.read_text().count('\n  {"name"'), 5)

    def test_the_page_has_a_section(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text((reduce.ROOT / "docs/benchmarks.md").read_text())
            timing.write_section(page, "reduce", "new")
            self.assertIn("\n\nnew\n\n", page.read_text())


@unittest.skipUnless(sys.platform == "linux", "needs /proc")
class Memory(unittest.TestCase):
    def test_peak_includes_memory_that_was_returned(self):
        before = reduce_memory.reset_peak()
        len(bytearray(50 << 20))
        self.assertGreater(reduce_memory.status("VmHWM") - before, 45 << 20)
        after = reduce_memory.reset_peak()
        self.assertLess(reduce_memory.status("VmHWM") - after, 5 << 20)

    def test_memory_that_is_freed_late_is_not_part_of_the_baseline(self):
        held = [bytearray(50 << 20)]
        before = reduce_memory.status("VmRSS")
        timer = threading.Timer(0.1, held.clear)
        timer.start()
        self.assertLess(reduce_memory.reset_peak(), before - (45 << 20))
        timer.join()


@unittest.skipUnless(importlib.util.find_spec("numpy"), "needs NumPy")
class Workloads(unittest.TestCase):
    def test_small_workloads_have_a_few_thousand_elements(self):
        import numpy as np
        import reductions

        for workload in reductions.SMALL:
            formula = workload.formula(np, *workload.arrays().values())
            self.assertLessEqual(formula.size, 5000, workload.name)
            self.assertLessEqual(sum(array.size for array in workload.arrays().values()), 10000, workload.name)
        for workload in reductions.LARGE:
            self.assertTrue(reductions.like_small(workload).small)
        self.assertEqual(len(reductions.WORKLOADS), len(reductions.LARGE) + len(reductions.SMALL))

    def test_errors_of_right_and_wrong_results(self):
        import numpy as np
        import reductions

        for workload in reductions.SMALL:
            arrays = workload.arrays()
            right = np.asarray(workload.formula(np, *arrays.values()))
            wrong = right[::-1] + 1 if right.dtype == int else right * 1.01
            results = {"right": right, "wrong": wrong % 64 if right.dtype == int else wrong, "shape": right[..., None]}
            found = reductions.errors(workload, arrays, results)
            self.assertLess(found["right"], 1e-6, workload.name)
            self.assertGreater(found["wrong"], 1e-3, workload.name)
            self.assertEqual(found["shape"], np.inf, workload.name)

    @unittest.skipUnless(importlib.util.find_spec("unishape"), "needs unishape")
    def test_unishape_computes_the_small_workloads(self):
        import reductions

        import unishape

        for workload in reductions.SMALL:
            arrays = workload.arrays()
            result = unishape.evaluate(workload.text, arrays)
            self.assertLess(reductions.errors(workload, arrays, {"": result})[""], reduce.TOLERANCE, workload.name)


if __name__ == "__main__":
    unittest.main()
