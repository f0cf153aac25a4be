"""Results in xarray and ArviZ, 0.x or 1.x, whichever is installed; skipped without them."""

import importlib.util
import unittest
import warnings

import numpy as np

import headway
from named_arrays_test import place, read, setUpModule  # noqa: F401: the same files


@unittest.skipUnless(importlib.util.find_spec("xarray"), "xarray is not installed")
class Xarray(unittest.TestCase):
    def test_every_result_is_a_tree(self):
        groups = {"solve": {"points", "corrected", "gaussian_process"},
                  "align": {"points", "alignment", "gaussian_process"},
                  "prune": {"points", "pruning", "network", "gaussian_process"},
                  "sample": {"points", "posterior", "gaussian_process"},
                  "train": {"runs", "curves"}}
        for kind, known in groups.items():
            self.assertEqual(set(read(kind).to_datatree().children), known)

    def test_a_point_is_found_by_its_names(self):
        result, tree = read("solve"), read("solve").to_datatree()
        points = tree["points"].to_dataset()
        chosen = points.where((points.temperature == 0.1) & (points.readout_width == 100), drop=True)
        point = next(p for p in result.points if p.temperature == 0.1 and p.widths[0] == 100)
        self.assertEqual(float(chosen.accuracy[0]), point.accuracy)
        self.assertEqual(float(chosen.U_1.sel(path="(2,1)", path_other="(1,1)")[0]),
                         point.order_parameters[0][2, 0])
        self.assertEqual(tree.attrs["study"], result.study)

    def test_draws_by_dimension(self):
        draws = read("sample").to_datatree()["posterior"].to_dataset()
        self.assertEqual(draws.U_1.dims, ("point", "chain", "draw", "path", "path_other"))
        np.testing.assert_array_equal(draws.U_1[1].values, read("sample").points[1].samples.draws[1])


@unittest.skipUnless(importlib.util.find_spec("arviz"), "arviz is not installed")
class Arviz(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)
        import arviz
        self.arviz, self.older = arviz, int(arviz.__version__.split(".")[0]) < 1

    def test_the_container_is_that_of_the_version(self):
        import xarray
        found = read("sample").to_inference_data()
        self.assertIsInstance(found, self.arviz.InferenceData if self.older else xarray.DataTree)
        self.assertEqual(found["posterior"]["U_1"].dims, ("chain", "draw", "path", "path_other"))
        self.assertEqual(found["posterior"]["U_a"].dims, ("chain", "draw"))
        np.testing.assert_array_equal(found["observed_data"]["y"].values, read("sample").train_labels)
        lp = found["sample_stats"]["lp"]
        self.assertEqual(lp.dims, ("chain", "draw"))
        self.assertEqual(float(lp[1, 2]), 2 * lp.sizes["chain"] + 1)  # the file has draws x chains

    def test_a_result_and_the_path_of_one_give_the_same(self):
        result = read("sample")
        first = result.to_inference_data(1)
        for call in (headway.to_arviz, headway.to_inference_data):
            for given in (result, place("sample"), str(place("sample"))):
                np.testing.assert_array_equal(call(given, 1)["posterior"]["U_1"].values, first["posterior"]["U_1"].values)
        with self.assertRaisesRegex(headway.UsageError, "result: is 3; allowed: a result, or the path of one"):
            headway.to_arviz(3)

    def test_arviz_says_what_the_draws_say(self):
        samples = read("sample").points[1].samples
        summary = self.arviz.summary(headway.to_arviz(place("sample"), 1), round_to="none")
        self.assertAlmostEqual(summary.loc["U_1[(1,1), (1,1)]", "mean"],
                               samples.draws[1][..., 0, 0].mean(), places=9)
        self.assertAlmostEqual(summary.loc["U_a", "mean"], samples.readout_draws.mean(), places=9)
        self.assertLess(abs(summary["r_hat"].astype(float) - 1.0).max(), 0.02)  # independent draws

if __name__ == "__main__":
    unittest.main()
