"""Tests of the sweep's ratios, targets, file names and heat map, on made-up numbers."""

import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import cpu_model
import heatmap
import sweep
import sweep_report
import timing

XEON = {"vendor": "GenuineIntel", "name": "Intel(R) Xeon(R) Processor", "family": 6, "number": 207, "l3": 260 << 20}
SVG = "{http://www.w3.org/2000/svg}"


def cell(name, elements, output, own, **others):
    times = {"evaluate": {"median": 2 * own}, "function": {"median": own}}
    times |= {other: {"median": time} for other, time in others.items()}
    return {"name": name, "elements": elements, "output": output, "shapes": "2x5", "times": times}


def made_up():
    """Ratios of 0.5 but for one of 4.0, in which NumPy is not the fastest."""
    cells = [
        cell(name, elements, output, 1e-6, NumPy=2e-6, JAX=3e-6)
        for elements in (10, 3000)
        for name in ("a < b & c", "outer")
        for output in ("fresh", "preallocated")
    ]
    cells[0] = cell("a < b & c", 10, "fresh", 4e-6, NumPy=5e-6, JAX=1e-6)
    rates = {"unishape": {"median": 1234.5, "lower": 1200, "upper": 1323.45}, "NumPy": {"median": 5, "lower": 5, "upper": 5}}
    return {
        "cores": 2,
        "versions": "Python 3, NumPy 2",
        "date": "2026-01-02",
        "load": [0.5, 1.0, 1.25],
        "model": XEON,
        "commit": "abc",
        "minutes": 30,
        "cells": cells,
        "callers": [{"name": "a + b", "threads": 16, "rates": rates}],
    }


class FirstCalls(unittest.TestCase):
    def test_median_over_workloads_of_contestants_that_all_have(self):
        results = made_up()
        self.assertIsNone(sweep_report.first_calls_table(results))
        for number, each in enumerate(results["cells"]):
            for time in each["times"].values():
                time["first"] = 1e-3 * (1 + number % 2)
        results["cells"][0]["times"]["NumPy"]["first"] = 7e-3
        table = sweep_report.first_calls_table(results).splitlines()
        self.assertEqual(table[0], "| elements | evaluate | NumPy |")
        self.assertEqual([row.split("|")[1].strip() for row in table[2:]], ["10", "3k"])
        self.assertEqual(table[2], "| 10 | 1.5 ms | 2.0 ms |")

    def test_measured_with_the_rest(self):
        times = timing.measure({"one": lambda: None, "two": lambda: None}, 0.0, 2, 0.0, 0.0)
        self.assertTrue(all(0 < each["first"] < 1 for each in times.values()))


class Model(unittest.TestCase):
    def test_slug_has_vendor_model_and_cache(self):
        self.assertEqual(cpu_model.slug(XEON, 2), "intel-xeon-6-207-l3-260m-2-cores")
        epyc = {"vendor": "AuthenticAMD", "name": "AMD EPYC 9R14 96-Core Processor", "family": 25, "number": 17, "l3": 32 << 20}
        self.assertEqual(cpu_model.slug(epyc, 2), "amd-epyc-9r14-25-17-l3-32m-2-cores")

    def test_models_that_differ_in_number_or_cache_have_different_slugs(self):
        every = [XEON, {**XEON, "number": 143}, {**XEON, "l3": 48 << 20}, {**XEON, "l3": None}]
        self.assertEqual(len({cpu_model.slug(model, cores) for model in every for cores in (2, 16)}), 8)

    def test_model_is_read_from_the_system_s_files(self):
        text = "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: Intel(R) Xeon(R) Processor\n"
        self.assertEqual(cpu_model.read(text + "\n" + text.replace("207", "1"), "266240K\n"), XEON)
        self.assertEqual(cpu_model.title(XEON, 2), "Intel Xeon Processor (family 6, model 207), L3 260 MiB, 2 cores")

    def test_a_system_that_reports_nothing_has_a_slug(self):
        self.assertRegex(cpu_model.slug(cpu_model.read("", ""), 4), r"^[a-z0-9-]+-4-cores$")


class Report(unittest.TestCase):
    def test_ratio_is_to_the_fastest_other_library(self):
        self.assertEqual(sweep_report.relative(made_up()["cells"][0]), (4.0, "JAX"))
        self.assertEqual(sweep_report.relative(made_up()["cells"][1]), (0.5, "NumPy"))
        self.assertAlmostEqual(sweep_report.relative_to_numpy(made_up()["cells"][0]), 0.8)

    def test_targets_count_cells_and_name_the_largest_ratios(self):
        fastest, numpy, mean = sweep_report.targets(made_up())
        self.assertIn("**Not met**: no slower than the fastest other library (at most 1.03 times its time), in 7 of 8", fastest)
        self.assertIn("Largest ratios: a < b & c, 10, fresh 4.00 (JAX).", fastest)
        self.assertIn("**Met**: never slower than NumPy, which uses one thread, in 8 of 8 cells.", numpy)
        self.assertIn("**Not met**: geometric mean at most 0.6; it is 0.65.", mean)  # 0.5 ** (7 / 8) * 4 ** (1 / 8)

    def test_markdown_has_conditions_picture_and_callers(self):
        text = sweep_report.markdown(made_up(), "pictures/x.svg")
        self.assertIn("### Intel Xeon Processor (family 6, model 207), L3 260 MiB, 2 cores", text)
        self.assertIn("load average before the run 0.50, 1.00, 1.25", text)
        self.assertIn("(pictures/x.svg)", text)
        self.assertIn("| a + b | 16 | 1,234 | 5 | 10 % |", text)

    def test_numbers_of_elements_are_short(self):
        expected = ["10", "100", "1k", "3k", "10k", "30k", "100k", "300k", "1M", "3M", "10M", "30M", "100M"]
        self.assertEqual(list(map(sweep_report.count, sweep.ELEMENTS)), expected)


class HeatMap(unittest.TestCase):
    def test_every_cell_and_label_is_present(self):
        root = ElementTree.fromstring(heatmap.svg(made_up()))
        texts = [element.text for element in root.iter(SVG + "text")]
        for label in ("Freshly allocated output", "Preallocated output", "a < b & c", "3k", "geometric mean"):
            self.assertIn(label, texts)
        self.assertEqual(texts.count("0.50"), 7 + 3)  # with the means of the columns
        self.assertEqual((texts.count("4.00"), texts.count("JAX"), texts.count("NumPy")), (1, 1, 7))

    def test_cells_that_were_not_measured_are_empty(self):
        results = made_up()
        results["cells"] = results["cells"][:1]
        root = ElementTree.fromstring(heatmap.svg(results))
        self.assertEqual(sum(element.text == "4.00" for element in root.iter(SVG + "text")), 2)

    def test_colours_are_symmetric_around_1(self):
        last = len(heatmap.COLOURS) - 1
        self.assertEqual([heatmap.colour(ratio) for ratio in (0.97 + 0.01, 1.0, 1.03)], [last // 2] * 3)
        for ratio in (1.04, 1.5, 2.5, 5.0):
            self.assertEqual(heatmap.colour(ratio) + heatmap.colour(1 / ratio), last)

    def test_numbers_fit_their_cell(self):
        self.assertEqual(list(map(heatmap.number, (0.123, 9.994, 9.996, 99.96))), ["0.12", "9.99", "10.0", "100"])


class Files(unittest.TestCase):
    def test_results_survive_a_file_with_a_line_for_each_cell(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new/results.json"
            sweep.save(path, made_up())
            self.assertEqual(timing.load(path), made_up())
            self.assertEqual(path.read_text().count('\n  {"name"'), 9)
            sweep.save(path, {**made_up(), "cells": []})
            self.assertEqual(timing.load(path)["cells"], [])


if __name__ == "__main__":
    unittest.main()
