"""One point of a result, `point=` of the verbs and `--point` of the commands, against the whole sweep."""

import sys
import tempfile
import unittest
import warnings
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np

import headway
from bindings import setUpModule  # noqa: F401
from headway import cli


def problem(seed=1):
    rng = np.random.default_rng(seed)
    return {"features": rng.standard_normal((20, 4, 5)), "labels": np.sign(rng.standard_normal(20)), "heads": [2, 2],
            "test_features": rng.standard_normal((9, 4, 5)), "test_labels": np.sign(rng.standard_normal(9))}


class Points(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.given = problem()
        cls.swept = headway.solve(**cls.given, widths=[10, 300], temperature=[0.1, 1.0, 10.0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.best = cls.swept.best("evidence")

    def setUp(self):
        warnings.filterwarnings("ignore", "headway.*the best point has", UserWarning)
        self.addCleanup(warnings.resetwarnings)

    def place(self, result):
        self.assertEqual(len(result.points), 1)
        return result.points[0].widths, result.points[0].temperature

    def test_verbs_compute_the_best_point_alone(self):
        for verb, more in ((headway.prune, {}), (headway.align, {}), (headway.sample, {"draws": 50, "warmup": 50, "evidence": False})):
            found = verb(self.swept, point="best", **more)
            self.assertEqual(self.place(found), (self.best.widths, self.best.temperature))

    def test_a_point_has_the_numbers_that_it_has_in_the_sweep(self):
        whole = headway.prune(self.swept)
        for name, number in (((10, 1.0), 1), (((300, 300, 300), 0.1), 3), (-1, 5)):
            alone = headway.prune(self.swept, point=name)
            self.assertEqual(self.place(alone), (whole.points[number].widths, whole.points[number].temperature))
            np.testing.assert_array_equal(alone.points[0].order_parameters[0], whole.points[number].order_parameters[0])
            np.testing.assert_array_equal(alone.points[0].pruning.squared_error_rise, whole.points[number].pruning.squared_error_rise)
        self.assertIn("point=[10, 1.0]", headway.prune(self.swept, point=[10, 1.0]).provenance["command"])

    def test_tables_of_pandas_have_one_order_in_memory_and_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(sys.modules, pandas=SimpleNamespace(DataFrame=list)):
            file = self.swept.save(Path(folder) / "swept.h5")
            here, there = self.swept.to_pandas(), headway.read_result(file).to_pandas()
        self.assertEqual([list(row) for row in here], [list(row) for row in there])

    def test_predict_with_one_point(self):
        new = self.given["test_features"]
        found = headway.predict(self.swept, features=new, point=(300, 10.0))
        self.assertEqual(self.place(found), ((300, 300, 300), 10.0))
        np.testing.assert_allclose(found.points[0].mean, self.swept.points[-1].predictor.mean, rtol=1e-9, atol=1e-12)
        self.assertEqual(self.place(headway.predict(self.swept, features=new, point="best")), (self.best.widths, self.best.temperature))

    def test_an_edge_warns(self):
        edge = headway.solve(**self.given, widths=[10], temperature=[0.001, 0.002])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            headway.prune(edge, point="best")
        self.assertTrue(any("the best point has the largest temperature" in str(one.message) for one in caught))

    def test_a_path_of_a_result_and_the_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            study = headway.solve("hmm-four-paths", widths=[10, 30], temperature=[0.01, 0.1],
                                  settings={"task.train_examples": 20, "task.test_examples": 30})
            file = study.save(Path(folder) / "swept.h5")
            self.assertEqual(self.place(headway.align(file, point=(30, 0.1))), ((30, 30, 30), 0.1))
            self.assertEqual(cli.main(["plot", str(file), "--only", "order_parameters", "--point", "30,0.1", "-o", folder]), 0)
            self.assertEqual(cli.main(["plot", str(file), "--only", "order_parameters", "--point", "best", "-o", folder, "--force"]), 0)
            for wrong in (["--point", "11,0.1"], ["--point", "ten"], ["--point", "best", "--widths", "10"]):
                self.assertEqual(cli.main(["plot", str(file), "-o", folder, "--force", *wrong]), 64)
        self.assertEqual(list(study.plot("order_parameters", point=(30, 0.01))), ["order_parameters"])

    def test_what_is_no_point_is_refused(self):
        for wrong in ("first", (11, 0.1), 6, (10,)):
            with self.assertRaisesRegex(headway.UsageError, "point: is"):
                headway.prune(self.swept, point=wrong)
        with self.assertRaisesRegex(headway.UsageError, "both the arguments point and widths"):
            headway.prune(self.swept, point="best", widths=[10])
        with self.assertRaisesRegex(headway.UsageError, "needs a result"):
            headway.prune("hmm-four-paths", point="best")
        with self.assertRaisesRegex(headway.UsageError, "point"):
            headway.prune(**self.given, point="best")


if __name__ == "__main__":
    unittest.main()
