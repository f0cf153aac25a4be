"""Figures never mix temperatures: of several results, of sweeps, and beside samples. Results of several kinds share a call."""

import contextlib
import io
import shutil
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np
from matplotlib import image

import headway
from headway import cli, figures
from headway.figures import selection
from synthetic_results import Task, write_result

SMALL = Task(train=16, test=40, tokens=5, features=8)
FOLDER = tempfile.TemporaryDirectory()
TEMPERATURES = {"sweep": (0.01, 0.1, 1.0), "warm": (1.0,), "between": (0.3,)}
KINDS = ("align", "prune", "sample")


def place(name):
    return Path(FOLDER.name) / f"{name}.h5"


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    for name, temperatures in TEMPERATURES.items():
        write_result(place(name), task=SMALL, widths=(10, 100), temperatures=temperatures, corrections=False)
    with h5py.File(place("sweep"), "a") as file:  # its theory is that of other data
        file.attrs["data_hash"] = "2" * 64
    for kind in KINDS:
        write_result(place(kind), kind, SMALL, widths=(10, 100), temperatures=(0.01, 1.0), corrections=False)
    write_result(place("far"), "sample", SMALL, widths=(10, 100), temperatures=(2.0,), corrections=False)
    shutil.copy(place("sweep"), place("evidence"))
    with h5py.File(place("evidence"), "a") as file:  # the largest evidence is at T = 0.1
        for point in file["points"].values():
            point.attrs["log_evidence"] = -50.0 - abs(np.log10(point.attrs["temperature"]) + 1.0)


def draw(figure, *names, **options):
    return figures.draw_all([headway.read_result(place(name)) for name in names], figures.PlotOptions(**options), [figure])[figure]


def head(figure):
    return figure.get_suptitle() if hasattr(figure, "get_suptitle") else figure._suptitle.get_text()


def curves(axes):
    return {line.get_label(): line.get_ydata() for line in axes.lines if not line.get_label().startswith("_")}


def accuracies(name, temperature):
    return [point.accuracy for point in headway.read_result(place(name)).points if point.temperature == temperature]


class SeveralResults(unittest.TestCase):
    def test_they_are_drawn_at_a_temperature_that_all_have(self):
        figure = draw("accuracy_against_width", "sweep", "warm")
        found = curves(figure.axes[0])
        for name in ("sweep", "warm"):
            np.testing.assert_array_equal(found[f"hmm-synthetic ({name})"], accuracies(name, 1.0))
        self.assertIn("T = 1 (1 of 3 temperatures)", head(figure))
        limit = headway.read_result(place("warm")).gaussian_process_at(1.0).accuracy
        self.assertEqual([text.get_text() for text in figure.axes[0].texts], [f"GP {limit:.3f}"] * 2)

    def test_without_a_common_temperature_the_legend_names_each(self):
        figure = draw("accuracy_against_width", "sweep", "between")
        found = curves(figure.axes[0])
        np.testing.assert_array_equal(found["hmm-synthetic (sweep), $T$ = 0.01"], accuracies("sweep", 0.01))
        np.testing.assert_array_equal(found["hmm-synthetic (between), $T$ = 0.3"], accuracies("between", 0.3))
        self.assertIn("the temperatures differ: see the legend", head(figure))
        self.assertNotIn("T = ", head(figure))
        self.assertEqual(sorted(text.get_text().split(":")[0] for text in figure.axes[0].texts), ["GP, $T$ = 0.01", "GP, $T$ = 0.3"])

    def test_samples_stand_beside_theory_of_their_temperature_or_are_named(self):
        self.assertIn("T = 1 (1 of 2", head(draw("accuracy_against_width", "sample", "warm")))
        names = draw("accuracy_against_width", "warm", "far").axes[0].get_legend_handles_labels()[1]
        self.assertEqual(names[:2], ["theory (saddle point), $T$ = 1", "posterior samples (exact), $T$ = 2"])

    def test_equal_names_of_studies_are_told_apart(self):
        found = curves(draw("accuracy_against_width", "warm", "between", "sweep", temperature=None).axes[0])
        self.assertEqual(len([name for name in found if name.startswith("hmm-synthetic")]), 3)

    def test_side_by_side_in_a_report_is_the_same_figure(self):
        results = [headway.read_result(place(name)) for name in ("sweep", "warm")]
        both = figures.draw_all(results, together=True)["accuracy_against_width"]
        self.assertEqual(figures.rendered(both, "svg"), figures.rendered(draw("accuracy_against_width", "sweep", "warm"), "svg"))

    def test_a_report_shows_results_side_by_side_that_differ_in_their_temperatures(self):
        again = shutil.copy(place("warm"), place("again"))
        for other, shown in ((place("between"), True), (again, False)):
            page = headway.write_report([place("warm"), other], place("page").with_suffix(".html"), overwrite=True).read_text()
            self.assertEqual("theory-together-accuracy_against_width" in page, shown)


class Sweeps(unittest.TestCase):
    def test_the_temperature_of_the_largest_evidence_is_shown(self):
        result = headway.read_result(place("evidence"))
        chosen = [point for point in result.points if point.temperature == 0.1]
        for name in ("order_parameters", "readout_and_action", "convergence"):
            self.assertIn("T = 0.1 (1 of 3 temperatures, largest evidence)", head(draw(name, "evidence")), name)
            self.assertIn("T = 1 (1 of 3 temperatures)", head(draw(name, "evidence", temperature=1.0)), name)
        shown = draw("order_parameters", "evidence").axes[0].images[0].get_array()
        np.testing.assert_array_equal(shown, chosen[0].order_parameters[0])
        readout = next(iter(curves(draw("readout_and_action", "evidence").axes[0]).values()))
        np.testing.assert_array_equal(readout, [point.readout_scalar for point in chosen])
        self.assertEqual(selection.main_temperature(result, figures.PlotOptions()), 0.1)

    def test_without_evidence_it_is_the_first_and_the_figure_says_so(self):
        self.assertIn("T = 0.01 (1 of 3 temperatures)", head(draw("order_parameters", "sweep")))

    def test_points_without_the_data_are_passed_over(self):
        file = shutil.copy(place("prune"), place("partial"))
        with h5py.File(file, "a") as changed:
            for point in changed["points"].values():
                if point.attrs["temperature"] == 0.01:
                    del point["pruning"]
        self.assertIn("T = 1 (1 of 2", head(draw("head_scores", "partial")))
        with self.assertRaisesRegex(headway.UsageError, "--temperature: is 0.01, where .* has not the data for this figure"):
            draw("head_scores", "partial", temperature=0.01)


class Shares(unittest.TestCase):
    def test_no_axis_of_accuracies_passes_one(self):
        file = shutil.copy(place("sweep"), place("perfect"))
        with h5py.File(file, "a") as changed:
            for point in changed["points"].values():
                point.attrs["accuracy"] = 0.99
        low, high = draw("accuracy_against_width", "perfect").axes[0].get_ylim()
        self.assertEqual(high, 1.0)
        self.assertGreaterEqual(low, 0.0)
        for axes in draw("pruning", "prune").axes:
            self.assertLessEqual(axes.get_ylim()[1], 1.0)


class CommandLine(unittest.TestCase):
    def plot(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(["plot", *map(str, arguments), "-o", str(place("out").with_suffix("")), "--force"])
        return code, [Path(line).stem for line in out.getvalue().split()], err.getvalue()

    def test_every_result_has_its_figures(self):
        code, names, err = self.plot(place("sweep"), place("prune"), place("align"))
        self.assertEqual(code, 0)
        self.assertLessEqual({"head_scores", "pruning", "kernel_alignment", "order_parameters"}, set(names))
        self.assertIn(f"headway: of {place('sweep')} alone: order_parameters", err)
        picture = image.imread(place("out").with_suffix("") / "head_scores.png")
        self.assertGreater(picture[..., :3].std(), 0.02)

    def test_one_result_needs_no_note(self):
        self.assertEqual(self.plot(place("warm"))[2], "")

    def test_a_misspelt_figure_has_a_suggestion(self):
        code, _, err = self.plot(place("warm"), "--only", "order_parameter")
        self.assertEqual((code, err), (64, "headway: error: --only: has 'order_parameter', which is no figure; did you mean "
                                           "order_parameters?\n"))
        with self.assertRaisesRegex(headway.UsageError, "^names: has 'order_parameter', .*; did you mean order_parameters\\?$"):
            headway.read_result(place("warm")).plot("order_parameter")


if __name__ == "__main__":
    unittest.main()
