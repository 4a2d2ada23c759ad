"""Tests of the chart and the tables, on made-up numbers: `python3 -m unittest discover -s bench/python`."""

import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import chart
import report
import timing

OTHERS = ("NumPy", "numexpr", "JAX", "PyTorch", "torch.compile")


def summary(median, spread=None):
    if spread is None:
        return {"median": median}
    return {"median": median, "lower": median * (1 - spread / 2), "upper": median * (1 + spread / 2)}


def made_up(spread=0.1, without=()):
    """Results in which unishape takes 1 ms, and the others 1, 3, 5, … times as long."""
    lines = []
    for name in chart.GROUPS:
        times = {"evaluate": summary(1e-3, spread), "function": summary(2e-3, spread)}
        times |= {other: summary(1e-3 * (1 + 2 * at), spread) for at, other in enumerate(OTHERS) if other not in without}
        lines.append({"name": name, "text": "a < b & c", "shapes": "4x3, 3", "fused": True, "times": times})
    small = {"evaluate": 4e-6, "function": 3e-6, "NumPy": 1e-6, "re_evaluate": 5e-6}
    small = {name: summary(time, spread) for name, time in small.items()}
    return {
        "cpu": "CPU of <8> & more",
        "cores": 8,
        "versions": "Python 3, NumPy 2",
        "date": "2026-01-02",
        "load": [0.5, 1.0, 1.25],
        "fresh": lines,
        "preallocated": lines,
        "small": [{"name": "tiny", "text": "a + b", "shapes": "2, 2", "fused": False, "times": small}],
    }


def texts(svg):
    """The text elements of a well-formed SVG."""
    return [element.text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def cut_bars(svg):
    return sum(element.get("class") == "cut" for element in ElementTree.fromstring(svg).iter())


class Chart(unittest.TestCase):
    def test_every_label_is_present(self):
        found = texts(chart.svg(made_up()))
        for title in list(chart.GROUPS.values())[: chart.MOST_GROUPS]:
            self.assertIn(title, found)
        for name in chart.COLOURS:
            self.assertEqual(found.count(name), chart.MOST_GROUPS, name)
        for value in ("1.00", "3.00", "5.00", "9.00"):
            self.assertIn(value, found)
        self.assertEqual(found.count("a < b & c"), chart.MOST_GROUPS)
        self.assertEqual(sum("CPU of <8> & more, 8 cores, 2026-01-02. Python 3, NumPy 2." == each for each in found), 1)
        self.assertIn("time relative to unishape (lower is better)", found)

    def test_contestants_that_were_not_measured_have_no_bar(self):
        found = texts(chart.svg(made_up(without=("torch.compile", "numexpr"))))
        self.assertNotIn("torch.compile", found)
        self.assertNotIn("numexpr", found)
        self.assertIn("JAX", found)

    def test_long_bars_are_cut_off_and_keep_their_value(self):
        svg = chart.svg(made_up())
        self.assertEqual(cut_bars(svg), 2 * chart.MOST_GROUPS)  # two strokes on each bar of torch.compile
        self.assertEqual(texts(svg).count("9.00"), chart.MOST_GROUPS)

    def test_labels_of_a_column_do_not_overlap(self):
        columns = {}
        for element in ElementTree.fromstring(chart.svg(made_up())).iter("{http://www.w3.org/2000/svg}text"):
            columns.setdefault(element.get("x"), []).append(float(element.get("y")))
        for rows in columns.values():
            rows.sort()
            self.assertTrue(all(below - above >= 14 for above, below in zip(rows, rows[1:])), rows)

    def test_results_without_quartiles_are_drawn_without_spread(self):
        self.assertIn('class="spread"', chart.svg(made_up()))
        self.assertNotIn('class="spread"', chart.svg(made_up(spread=None)))

    def test_a_chart_without_workloads_is_well_formed(self):
        self.assertTrue(texts(chart.svg({**made_up(), "fresh": []})))


class Report(unittest.TestCase):
    def test_tables_have_ratios_and_spread(self):
        text = report.markdown(made_up())
        self.assertIn("|  | unishape | spread | NumPy | numexpr | JAX | PyTorch | torch.compile | largest spread of the others |", text)
        self.assertIn("| row | 1.0 ms | 10 % | 1.00 | 3.00 | 5.00 | 7.00 | 9.00 | 10 % |", text)
        self.assertIn("| **geometric mean** |  |  | **1.00** | **3.00** | **5.00** | **7.00** | **9.00** |  |", text)
        self.assertIn("| tiny | 4.00 µs ± 5 % |", text)

    def test_results_without_quartiles_have_a_dash(self):
        self.assertIn("| row | 1.0 ms | – | 1.00 | 3.00 | 5.00 | 7.00 | 9.00 | – |", report.markdown(made_up(spread=None)))

    def test_missed_targets_are_named(self):
        text = "\n".join(report.targets(made_up()))
        self.assertIn("**Not met**: a function on small arrays: at most 1.5 times NumPy's time, in 0 of 1. Missed by: tiny 3.00.", text)
        self.assertIn("**Met**: `evaluate` on small arrays", text)
        self.assertIn("at least twice as fast as NumPy, in 0 of 8. Missed by: row 1.00", text)
        self.assertRegex(text, r"in 0 of 8\. Missed by: ([^,]+, ){4}4 more in the tables\.")


class Timing(unittest.TestCase):
    def test_summary_has_the_quartiles(self):
        found = timing.summary([5.0, 1.0, 2.0, 4.0, 3.0])
        self.assertEqual(found, {"median": 3.0, "lower": 2.0, "upper": 4.0, "min": 1.0, "max": 5.0, "rounds": 5})
        self.assertEqual(timing.summary([2.0])["upper"], 2.0)

    def test_a_section_is_replaced_between_its_markers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "page.md"
            begin, end = (f"<!-- figures of cargo xtask bench python: {mark} -->" for mark in ("begin", "end"))
            path.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
            timing.write_section(path, "python", "new")
            self.assertEqual(path.read_text(), f"before\n{begin}\n\nnew\n\n{end}\nafter\n")

    def test_results_survive_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "new/results.json"
            timing.save(path, made_up())
            self.assertEqual(timing.load(path), made_up())


if __name__ == "__main__":
    unittest.main()
