"""How results show themselves: at a prompt, in a notebook, as figures; and what importing costs."""

import logging
import subprocess
import sys
import tempfile
import unittest
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import h5py
import numpy as np

import headway
from headway.results.display import brief
from synthetic_results import Task, write_result
from training_result_test import write_training_result

SMALL = Task(train=24, test=40, tokens=6, features=10)
FOLDER = tempfile.TemporaryDirectory()
KINDS = ("solve", "align", "prune", "sample")


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    for kind in KINDS:
        write_result(place(kind), kind, SMALL, widths=(10, 100))
    write_training_result(place("train"))


def place(name) -> Path:
    return Path(FOLDER.name) / f"{name}.h5"


class Cells(HTMLParser):
    """Rows of the tables, and every name of an element."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.elements, self.cell = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        if tag == "tr":
            self.rows.append([])
        self.cell = tag in ("td", "th")

    def handle_data(self, data):
        if self.cell:
            self.rows[-1].append(data)


class Prompt(unittest.TestCase):
    def test_a_result_is_one_line(self):
        for kind in KINDS:
            result = headway.read_result(place(kind))
            line = repr(result)
            self.assertLess(len(line), 200)
            self.assertIn(f"<Result of headway {kind}: hmm-synthetic, 2 points (N 10 to 100, T 0.01), "
                          "heads [2, 2], 4 paths, 24 train and 40 test examples>", line)
            for part in (result.points[0], result.points, result.gaussian_process,
                         result.points[0].predictor, result.points[0].samples,
                         result.points[0].pruning, result.points[0].alignment):
                self.assertLess(len(repr(part)), 1000)
                self.assertNotIn("\n", repr(part))
        point = headway.read_result(place("solve")).points[0]
        self.assertEqual(repr(point), f"<Point N = 10, T = 0.01, saddle_point, accuracy "
                         f"{point.accuracy:.4g}, test squared error "
                         f"{point.test_mean_squared_error:.4g}>")
        self.assertIn("order_parameters=[array [4, 4], array [2, 2]]", repr(point.corrected))

    def test_one_example_is_one(self):
        result = headway.read_result(place("solve"))
        self.assertIn("1 train example", replace(result, train_labels=result.train_labels[:1], test_labels=None).summary + ".")
        self.assertNotIn("examples", replace(result, test_labels=result.test_labels[:1]).summary)

    def test_trained_networks_are_one_line_too(self):
        result = headway.read_result(place("train"))
        self.assertEqual(repr(result), "<TrainingResult of headway train: small, fuzzy_logic, 6 runs "
                                       "of softmax, hyla>")
        self.assertLess(len(repr(result.runs[0])), 600)

    def test_what_is_unusual_is_said(self):
        write_result(place("odd"), "solve", SMALL, widths=(10,))
        with h5py.File(place("odd"), "r+") as file:
            file.attrs["partial"] = 1
            file["points/0"].attrs["converged"] = 0
        result = headway.read_result(place("odd"))
        self.assertIn("1 point (N 10, T 0.01)", repr(result))
        self.assertIn(", partial>", repr(result))
        self.assertIn("not converged", repr(result.points[0]))

    def test_widths_of_layers_that_differ_are_all_told(self):
        result = headway.read_result(place("solve"))
        points = [replace(result.points[0], widths=widths) for widths in ((10, 20, 30), (50, 20, 30))]
        self.assertIn("2 points (N 10,20,30 to 50,20,30, T 0.01)", replace(result, points=tuple(points)).summary)
        self.assertIn("1 point (N 10,20,30, T 0.01)", replace(result, points=tuple(points[:1])).summary)

    def test_a_result_equals_itself_alone_and_may_be_a_key(self):
        for kind in (*KINDS, "train"):
            first, second = headway.read_result(place(kind)), headway.read_result(place(kind))
            parts = [(first, second), *zip(getattr(first, "points", ()), getattr(second, "points", ())),
                     *zip(getattr(first, "runs", ()), getattr(second, "runs", ()))]
            if kind == "prune":
                parts.append((first.head_table(), second.head_table()))
            for one, other in parts:
                self.assertEqual((one == one, one == other, one != other), (True, False, True))
                self.assertEqual({one: 1, other: 2}[one], 1)

    def test_long_values_have_short_forms(self):
        self.assertEqual(brief(np.ones((3, 4))), "array [3, 4]")
        self.assertEqual(brief(np.array(2.5)), "2.5")
        self.assertEqual(brief(tuple(range(9))), "[0, 1, 2, 3, ... 9 in all]")
        self.assertEqual(brief("x" * 100), repr("x" * 57 + "..."))
        self.assertEqual(brief({str(i): i for i in range(9)}), "{9 entries}")


class Notebook(unittest.TestCase):
    def test_a_result_is_a_table(self):
        from headway.results.table import cells
        for kind in (*KINDS, "train"):
            result = headway.read_result(place(kind))
            header, rows = cells(result)
            found = Cells(result._repr_html_())
            self.assertEqual(found.rows[0], header)
            self.assertEqual([row for row in found.rows[1:]],
                             [[cell for cell in row if cell] for row in rows])

    def test_an_interrupted_point_is_marked(self):
        from headway.results.table import cells
        with h5py.File(place("sample")) as whole, h5py.File(place("interrupted"), "w") as file:
            for name in whole:
                whole.copy(name, file)
            file.attrs.update(whole.attrs)
            file["points/1"].attrs["complete"] = 0
        header, rows = cells(headway.read_result(place("interrupted")))
        self.assertEqual(header[-1], "")
        self.assertEqual([row[-1] for row in rows[:2]], ["", "interrupted"])
        self.assertNotEqual(cells(headway.read_result(place("sample")))[0][-1], "")

    def test_names_are_no_markup(self):
        write_result(place("markup"), "solve", SMALL, widths=(10,),
                     study="<script>alert(1)</script>")
        text = headway.read_result(place("markup"))._repr_html_()
        self.assertNotIn("script", Cells(text).elements)
        self.assertIn("&lt;script&gt;", text)

    def test_plot_draws(self):
        result = headway.read_result(place("solve"))
        found = result.plot("order_parameters", "convergence", widths=(10,))
        self.assertEqual(list(found), ["order_parameters", "convergence"])
        self.assertEqual(repr(found), "<2 figures: order_parameters, convergence>")
        self.assertEqual(len([axes for axes in found["order_parameters"].axes if axes.images]), 1)
        self.assertEqual(found._repr_html_().count("data:image/svg+xml;base64,"), 2)
        self.assertEqual(set(result.plot()), set(headway.figures.draw_all(result)))
        sampled = headway.read_result(place("sample"))
        pair = sampled.plot("theory_against_samples", others=[result])
        self.assertIs(pair.only(), pair["theory_against_samples"])
        with self.assertRaisesRegex(headway.UsageError, "2 figures"):
            found.only()
        with self.assertRaisesRegex(headway.UsageError, "names: has 'nonsense', which is no figure; allowed: accuracy_against_width"):
            result.plot("nonsense")
        self.assertEqual(list(headway.read_result(place("train")).plot()), ["learning_curves"])


class PlotArguments(unittest.TestCase):
    def setUp(self):
        self.result = headway.read_result(place("solve"))

    def refused(self, words, *names, **given):
        with self.assertRaises(headway.UsageError) as caught:
            self.result.plot(*names, **given)
        self.assertIn(words, str(caught.exception))

    def test_what_no_figure_could_take_is_refused(self):
        for name, values, allowed in (
                ("widths", ([], "10", 10.5, [10.5], [None], True, {}), "whole numbers, at least one"),
                ("temperature", ("a", [0.01], True), "a number"),
                ("components", (0, -1, 2.5, "3", True, None), "at least 1, a whole number"),
                ("labels", ("a", 3, [1], b"a"), "texts, one for each"),
                ("path_names", ("abcd", 3, [1, 2, 3, 4]), "texts, one for each"),
                ("limits_only", ("a", 1), "true or false")):
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refused(f"{name}: is {value!r}; allowed: {allowed}", "order_parameters", **{name: value})
        for others in (["r.h5"], "r.h5", 3, [self.result, 3]):
            with self.subTest(others=others):
                self.refused("; allowed: results, as headway.read_result gives them", others=others)
        for name in (["order_parameters"], 3, None):
            self.refused(f"names: has {name!r}, which is no figure", name)
        with self.assertRaisesRegex(headway.UsageError, r"results\[1\]: is 'r.h5'"):
            headway.figures.draw_all([self.result, "r.h5"])

    def test_one_number_or_result_is_enough(self):
        for width in (10, np.int64(10), np.array([10])):
            self.assertEqual(len(self.result.plot("order_parameters", widths=width).only().axes), 2)
        self.result.plot("accuracy_against_width", others=self.result, labels=["a", "b"])
        self.assertEqual(list(headway.figures.draw_all(self.result, only="convergence")), ["convergence"])

    def test_a_temperature_in_single_precision_is_found(self):
        single = np.float32(0.01)
        self.assertNotEqual(float(single), 0.01)
        self.result.plot("order_parameters", temperature=single)
        self.assertEqual(self.result.gaussian_process_at(single).temperature, 0.01)
        self.refused("temperature: is 0.0101", temperature=0.0101)
        self.assertIsNone(self.result.gaussian_process_at(0.0101))
        with self.assertRaisesRegex(headway.UsageError, "temperature: is 'a'; allowed: a number"):
            self.result.gaussian_process_at("a")

    def test_points_are_counted_alike(self):
        pruned, sampled = (headway.read_result(place(kind)) for kind in ("prune", "sample"))
        for call in (pruned.head_table, lambda point: headway.posterior_draws(sampled, point)):
            call(-1), call(np.int64(1))
            for wrong in ("a", 1.5, 2, -3, None, True):
                with self.assertRaisesRegex(headway.UsageError, "point: is .*; allowed: 0 to 1, .*or from -1, the last"):
                    call(wrong)
        np.testing.assert_array_equal(headway.posterior_draws(sampled, -1)["U_1"], headway.posterior_draws(sampled, 1)["U_1"])


class WrongKinds(unittest.TestCase):
    def test_a_result_in_place_of_its_path_is_no_damage(self):
        result = headway.read_result(place("solve"))
        allowed = ": is <Result of .*; allowed: the path of a result file; result.save"
        for words, call in (("^path" + allowed, lambda: headway.read_result(result)),
                            (r"^results\[0\]" + allowed, lambda: headway.write_report([result], place("never"))),
                            ("^results" + allowed, lambda: headway.write_report(result, place("never"))),
                            ("^results: is 3; allowed", lambda: headway.write_report(3, place("never")))):
            with self.assertRaisesRegex(headway.UsageError, words):
                call()

    def test_to_datatree_takes_a_path(self):
        from headway.results.xarray_export import _groups, _read
        self.assertEqual(set(_groups(_read(str(place("solve"))))), set(_groups(headway.read_result(place("solve")))))
        with self.assertRaisesRegex(headway.UsageError, "result: is 3; allowed: a result, or the path of one"):
            headway.to_datatree(3)
        with self.assertRaises(headway.UnreadableFileError):
            headway.to_datatree("absent.h5")

    def test_a_pdf_is_quiet(self):
        log = logging.getLogger("fontTools.ttLib.tables._h_e_a_d")
        figure = headway.read_result(place("solve")).plot("convergence").only()
        from headway.figures.style import rendered
        with self.assertNoLogs("fontTools", "WARNING"):
            rendered(figure, "pdf")
        self.assertEqual(log.level, logging.NOTSET)


class Folders(unittest.TestCase):
    """A folder that is missing is made, as the program makes it."""

    def test_a_missing_folder_is_made(self):
        made = Path(FOLDER.name) / "made"
        result = headway.read_result(place("prune"))
        result.save(made / "a" / "x.h5")
        headway.write_report(place("solve"), made / "b" / "c" / "x.html")
        result.head_table().to_csv(made / "d" / "x.csv")
        rng = np.random.default_rng(1)
        given = {"train_inputs": rng.standard_normal((4, 3, 5)), "attention_weights": [rng.standard_normal((2, 5, 5))]}
        headway.write_dataset(made / "e" / "x.h5", **given, train_labels=[1, -1, 1, 1])
        self.assertEqual(sorted(str(path.relative_to(made)) for path in made.rglob("x.*")),
                         ["a/x.h5", "b/c/x.html", "d/x.csv", "e/x.h5"])
        with self.assertRaises(headway.BadDataError):
            headway.write_dataset(made / "f" / "g" / "x.h5", **given, train_labels=[1, 2])
        self.assertFalse((made / "f").exists())

    def test_the_message_names_the_folder(self):
        with self.assertRaisesRegex(headway.CannotWriteError, "solve.h5/deeper/x.h5: cannot be written: the folder .*solve.h5/deeper "
                                                              "cannot be made: Not a directory"):
            headway.read_result(place("solve")).save(place("solve") / "deeper" / "x.h5")


class Importing(unittest.TestCase):
    def test_figures_come_when_they_are_asked_for(self):
        code = ("import sys, headway\n"
                "before = 'matplotlib' in sys.modules\n"
                "print(before, 'order_parameters' in headway.figures.FIGURES)\n"
                "try:\n    headway.nonsense\nexcept AttributeError as error:\n    print(error)\n")
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                               check=True)
        self.assertEqual(found.stdout, "False True\nmodule 'headway' has no attribute 'nonsense'\n")


if __name__ == "__main__":
    unittest.main()
