"""The figure and the table of S, the covariance of a value network's hidden weights, show the numbers of the file."""

import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
from headway import figures
from headway.report import write_report
from synthetic_results import Task, write_result

HEADS = (("same_token", "random"),)
SIZE = 6  # of S: two heads, three inputs


def covariance(seed):
    factor = np.eye(SIZE) + 0.4 * np.random.default_rng(seed).standard_normal((SIZE, SIZE))
    return factor @ factor.T


def store(group, s):
    values = np.linalg.eigvalsh(s)[::-1]
    group["S"], group["S_eigenvalues"] = s, values
    group["S_head_shares"] = np.diag(s).reshape(2, -1).sum(1) / np.trace(s)
    group.attrs["S_effective_dimension"] = values.sum() ** 2 / (values**2).sum()


class HiddenWeights(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def result(self, *covariances, kind="solve"):
        """A result with this S at each of its points; of samples the mean, beside the theory's of the seed after it."""
        path = self.folder / f"{len(list(self.folder.iterdir()))}.h5"
        write_result(path, kind, Task(train=10, test=12, tokens=4, features=4, heads=HEADS),
                     widths=(10, 100)[:len(covariances)], corrections=False)
        with h5py.File(path, "a") as file:
            for number, s in enumerate(covariances):
                group = file[f"points/{number}"]
                if kind == "sample":
                    group["S_mean"], group["S_mcse"], group["S_mean_eigenvalues"] = s, 0.01 * s, np.linalg.eigvalsh(s)[::-1]
                    theory = group.require_group("theory")
                    theory.attrs["widths"] = group.attrs["widths"]
                    theory.attrs["temperature"] = group.attrs["temperature"]
                    store(theory, covariance(number + 1))
                else:
                    store(group, s)
        return headway.read_result(path)

    def drawn(self, result, **options):
        return figures.draw_all([result], figures.PlotOptions(**options), ["hidden_weights"])["hidden_weights"]

    def test_matrices_eigenvalues_and_shares_are_those_of_the_file(self):
        first, second = covariance(1), covariance(2)
        result = self.result(first, second)
        for options, s in (({}, first), ({"widths": (100,)}, second)):
            prior, solved, values, shares, *_ = self.drawn(result, **options).axes
            np.testing.assert_array_equal(prior.images[0].get_array(), np.eye(SIZE))
            np.testing.assert_array_equal(solved.images[0].get_array(), s)
            self.assertEqual(prior.images[0].get_clim(), solved.images[0].get_clim())
            found = {line.get_label(): line.get_ydata() for line in values.lines}
            np.testing.assert_allclose(found["theory"], np.linalg.eigvalsh(s)[::-1])
            np.testing.assert_array_equal(found["prior"], np.ones(SIZE))
            heights = [bar.get_height() for bar in shares.containers[1]]
            np.testing.assert_allclose(heights, np.diag(s).reshape(2, -1).sum(1) / np.trace(s))

    def test_samples_stand_beside_the_theory(self):
        figure = self.drawn(self.result(covariance(3), kind="sample"))
        images = {axes.get_title(loc="left"): axes.images[0].get_array() for axes in figure.axes if axes.images}
        np.testing.assert_array_equal(images["S: posterior samples"], covariance(3))
        np.testing.assert_array_equal(images["S: theory"], covariance(1))

    def test_without_a_learned_s_there_is_no_such_figure(self):
        fixed = self.result(1.3 * np.eye(SIZE))
        self.assertNotIn("hidden_weights", figures.draw_all([fixed]))
        with self.assertRaisesRegex(headway.BadDataError, "hidden_weights, which needs a value network whose features adapt"):
            self.drawn(fixed)

    def test_tables_and_reports_have_it(self):
        result = self.result(covariance(1))
        values = np.linalg.eigvalsh(covariance(1))
        shown = result._repr_html_()
        self.assertIn(f"{values[-1]:.3f}", shown)
        self.assertIn(f"{values.sum() ** 2 / (values**2).sum():.2f} of {SIZE}", shown)
        page = self.folder / "report.html"
        write_report(result.file, page)
        self.assertIn("Hidden weights", page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
