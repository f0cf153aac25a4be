"""Runs the notebook on where the theory ends, and the sampling figures, on a small result of the program."""

import re
import tempfile
import unittest
from pathlib import Path

import numpy as np

import headway
import program
from notebooks import NotebookTest
from headway import figures
from headway.figures import limits

PICTURES = 5
STUDY = "hmm-where-the-theory-ends.toml"
SMALL = ("--set", "model.widths=[100, 30, 10, 3]", "--set", "task.test_examples=100",
         "--set", "task.features=20", "--set", "task.train_examples=30", "--set",
         "sample.draws=400", "--set", "sample.warmup=200", "--set", "sample.predictor_draws=50")
FOLDER = tempfile.TemporaryDirectory()
RESULT = Path(FOLDER.name) / "hmm-where-the-theory-ends.h5"
GIBBS = Path(FOLDER.name) / "gibbs.h5"


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    program.run("sample", program.studies() / STUDY, "-q", *SMALL, "-o", RESULT)
    # A weight-space sampler mixes slower; whether it is usable (exit code 0 or 2) is no matter here.
    try:
        program.run("sample", program.studies() / STUDY, "-q", *SMALL, "--set",
                    "sample.sampler=gibbs", "--set", "model.widths=[30, 10]", "-o", GIBBS)
    except AssertionError as error:
        if "exit code 2" not in str(error):
            raise


class Notebook(NotebookTest):
    name = "where_the_theory_ends.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(PICTURES)

    def test_runs_on_a_result_of_the_program(self):
        text, pictures = self.execute(Path(FOLDER.name))
        self.assertEqual(pictures, PICTURES)
        power = re.search(r"U_1, saddle point: N\^\((-[\d.]+)\)", text)
        self.assertIsNotNone(power, text)
        self.assertLess(float(power[1]), -0.5)


class Figures(unittest.TestCase):
    def test_the_gaps_are_those_of_the_numbers_in_the_file(self):
        result = headway.read_result(RESULT)
        gap = limits.gaps(result)["U_1"]
        np.testing.assert_array_equal(gap.widths, [3, 10, 30, 100])
        for index, width in enumerate(gap.widths):
            point = next(p for p in result.points if p.widths[0] == width)
            mean, theory = point.samples.mean[0], point.theory.order_parameters[0]
            self.assertAlmostEqual(gap.saddle[index], np.linalg.norm(mean - theory)
                                   / np.linalg.norm(mean), places=12)
            self.assertAlmostEqual(gap.noise[index], np.linalg.norm(point.samples.mcse[0])
                                   / np.linalg.norm(mean), places=12)
        self.assertGreater(gap.saddle[0], 3 * gap.saddle[-1])
        self.assertTrue(np.all(gap.corrected[1:] < gap.saddle[1:]))

    def test_a_real_result_has_every_sampling_figure(self):
        found = figures.draw_all([headway.read_result(RESULT)])
        self.assertLessEqual({"accuracy_against_width", "order_parameters", "theory_against_samples",
                              "traces", "where_the_theory_ends", "readout_and_action"}, set(found))
        for name, figure in found.items():
            self.assertGreater(len(figures.rendered(figure)), 5000, name)

    def test_theory_exact_and_weight_space_samples_share_an_axis(self):
        results = [headway.read_result(RESULT), headway.read_result(GIBBS)]
        axes = figures.draw_all(results, only=["accuracy_against_width"])[
            "accuracy_against_width"].axes[0]
        labels = axes.get_legend_handles_labels()[1]
        for label in ("theory (saddle point)", "theory with 1/$N$ correction", "posterior samples (exact)",
                      "posterior samples (gibbs)"):
            self.assertIn(label, labels)
        bars = {c.get_label(): c for c in axes.containers}
        by_width = sorted(results[0].points, key=lambda p: p.widths)
        np.testing.assert_array_equal(bars["posterior samples (exact)"][0].get_ydata(),
                                      [p.accuracy for p in by_width])

    def test_draws_for_arviz(self):
        draws = headway.posterior_draws(RESULT, point=2)
        self.assertEqual({name: array.shape for name, array in draws.items()},
                         {"U_1": (4, 400, 4, 4), "U_2": (4, 400, 2, 2), "U_a": (4, 400)})
        point = headway.read_result(RESULT).points[2]
        np.testing.assert_allclose(draws["U_1"].mean((0, 1)), point.samples.mean[0], rtol=1e-12)
        with self.assertRaisesRegex(headway.UsageError, "point: is 9; allowed: 0 to 3"):
            headway.posterior_draws(RESULT, point=9)
        try:
            inference = headway.to_arviz(RESULT)
        except headway.UnavailableError as error:
            self.assertIn("pip install xarray", str(error))
        else:
            self.assertEqual(inference["posterior"].sizes["chain"], 4)


if __name__ == "__main__":
    unittest.main()
