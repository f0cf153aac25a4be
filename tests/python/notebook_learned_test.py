"""Runs the notebook on learned attention, and looks at its figures, on minima of the program."""

import tempfile
import unittest
from pathlib import Path

import numpy as np

import headway
from bindings import setUpModule  # noqa: F401
from notebooks import NotebookTest
from headway import figures
from headway.report import page

PICTURES = 3


class Notebook(NotebookTest):
    name = "learned_attention.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(PICTURES)

    def test_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            text, pictures = self.execute(Path(folder))
        self.assertEqual(pictures, PICTURES)
        rows = [line.split() for line in text.splitlines() if "the head that knows " in line and line.split()[0].isdigit()]
        self.assertEqual([row[0] for row in rows], ["30", "80", "120", "200"])
        self.assertGreater(float(rows[-1][-1]), 0.95)


class Figures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.results = {(start, count): cls.solve(start, count) for start in ("none", "given") for count in (20, 40)}

    @staticmethod
    def solve(start, count):
        return headway.solve("copy-task", progress=False, settings={
            "task.train_examples": count, "task.test_examples": 20, "solve.attention_start": start, "threads": 1})

    def test_branches_show_the_numbers_of_the_minima(self):
        figure = figures.draw_all(list(self.results.values()), only=["attention_against_examples"])["attention_against_examples"]
        largest, action = figure.axes
        names = {"minimum from no attention": "none", "minimum from the given attention": "given"}
        self.assertEqual(set(largest.get_legend_handles_labels()[1]), set(names))
        for bars, line in zip(largest.containers, action.lines):
            points = [self.results[names[bars.get_label()], count].points[0] for count in (20, 40)]
            np.testing.assert_allclose(bars[0].get_xdata(), [20, 40])
            np.testing.assert_allclose(bars[0].get_ydata(), [point.minima[0].attention_largest for point in points])
            np.testing.assert_allclose(line.get_ydata(), [point.action / count for point, count in zip(points, (20, 40))])

    def test_before_and_after_are_the_fewest_and_the_most_examples(self):
        figure = figures.draw_all(list(self.results.values())[::-1], only=["attention_before_and_after"])["attention_before_and_after"]
        panels = [axes for axes in figure.axes if axes.get_title(loc="left")]
        self.assertEqual([axes.get_title(loc="left") for axes in panels[:2]], ["before: 20 examples", "after: 40 examples"])
        for row, start in enumerate(("given", "none")):
            for column, count in enumerate((20, 40)):
                np.testing.assert_array_equal(panels[2 * row + column].images[0].get_array(),
                                              self.results[start, count].points[0].minima[0].attention_weights[0])

    def test_one_number_of_examples_is_no_curve(self):
        drawn = figures.draw_all([self.results["none", 20]])
        self.assertIn("learned_attention", drawn)
        self.assertNotIn("attention_against_examples", drawn)
        self.assertNotIn("attention_before_and_after", drawn)

    def test_weights_are_those_of_the_lowest_minimum(self):
        result = self.results["given", 40]
        axes = figures.draw_all([result], only=["learned_attention"])["learned_attention"].axes[0]
        np.testing.assert_array_equal(axes.images[0].get_array(), result.points[0].minima[0].attention_weights[0])
        for ticks in (axes.get_xticks(), axes.get_yticks()):  # features are counted
            np.testing.assert_array_equal(ticks, np.round(ticks))

    def test_the_report_shows_them(self):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, result in enumerate(list(self.results.values())[:2]):
                files.append(Path(folder) / f"{number}.h5")
                result.save(files[-1])
            text = page([headway.read_result(file) for file in files])
        for name in ("learned_attention", "attention_against_examples"):
            self.assertIn(figures.FIGURES[name].shows.split(".")[0], text)


if __name__ == "__main__":
    unittest.main()
