"""Results of the version before, one of each verb: read, inspected, tabulated, drawn, and computed again."""

import math
import shutil
import subprocess
import tempfile
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np

import headway
import program
from headway.results.summary import summary
from headway.results.table import table

FILES = Path(__file__).resolve().parent.parent / "data" / "results_before"
THEORY = ("solve", "align", "prune", "sample")
VERBS = (*THEORY, "train", "latents", "evaluate", "network_prune", "predict", "network_predict", "rank")
#: How each is computed again, and an array or attribute of the file that must come out the same.
AGAIN = {"solve": (("solve", "solve.h5"), "points/3/order_parameters/layer_1"), "align": (("align", "align.h5"), "points/3/alignment/overlaps"),
         "prune": (("prune", "prune.h5"), "points/3/pruning/score"), "sample": (("sample", "sample.h5"), "points/0/theory/order_parameters/layer_1"),
         "predict": (("predict", "solve.h5", "new.h5"), "points/3/sets/new/mean")}
AGAIN_WITH_LIBTORCH = {
    "train": (("train", "train.h5"), "runs/0/curves/train"), "latents": (("latents", "latents.h5"), "runs/0/layers/0/similarity/cosine"),
    "evaluate": (("evaluate", "train.h5", "--set", "task.sequence_length=10"), "groups/0/metrics/value"),
    "network_prune": (("prune", "train.h5"), "runs/0/heads/loss_rise"), "network_predict": (("predict", "train.h5", "newn.h5"), "runs/0/sets/new/mean"),
    "rank": (("rank", "train.h5"), "runs/0/estimate")}


def setUpModule():
    program.executable()


class OlderResults(unittest.TestCase):
    def test_there_is_one_of_each_verb_and_none_is_of_today(self):
        for verb in VERBS:
            with h5py.File(FILES / f"{verb}.h5") as file:
                self.assertEqual(file.attrs["kind"], verb)
                self.assertNotIn("documentation", file)

    def test_they_are_read_and_shown(self):
        for verb in VERBS:
            with self.subTest(verb):
                result = headway.read_result(FILES / f"{verb}.h5")
                self.assertIn("<", repr(result))
                self.assertIn("<table", result._repr_html_())
                self.assertGreater(len(table(result).splitlines()), 2)
                self.assertIn("study", program.run("inspect", FILES / f"{verb}.h5").stdout)
                self.assertEqual(summary(FILES / f"{verb}.h5")["kind"], verb)
                for part in (getattr(result, "points", ()) or result.runs):
                    self.assertGreater(len(repr(part)), 20)

    def test_they_hold_the_numbers_that_they_held(self):
        point = headway.read_result(FILES / "solve.h5").points[3]
        self.assertEqual((point.widths, point.temperature, point.converged), ((30, 30, 30), 0.3, True))
        self.assertTrue(math.isfinite(point.log_evidence))
        with h5py.File(FILES / "solve.h5") as file:
            np.testing.assert_array_equal(point.order_parameters[1], file["points/3/order_parameters/layer_2"])
            np.testing.assert_array_equal(point.corrected.order_parameter_deviations[0], file["points/3/corrected/order_parameters_sd/layer_1"])
        removed = headway.read_result(FILES / "network_prune.h5").runs[0]
        with h5py.File(FILES / "network_prune.h5") as file:
            heads = file["runs/0/heads"]
            np.testing.assert_array_equal(removed.heads.metric_drop.mean, heads["r2_drop"])
            np.testing.assert_array_equal(removed.network.accuracy_drop.error, file["runs/0/network/r2_drop_error"])
        with h5py.File(FILES / "train.h5") as file:
            weights = headway.read_result(FILES / "train.h5").runs[1].weights
            self.assertEqual(list(weights), list(file["runs/1/weights"]))

    def test_they_are_drawn(self):
        for verb in VERBS:
            with self.subTest(verb), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = headway.read_result(FILES / f"{verb}.h5")
                if verb in ("predict", "network_predict"):
                    self.assertRaises(headway.BadDataError, result.plot)
                else:
                    self.assertGreater(len(result.plot()), 0)

    def again(self, verbs):
        with tempfile.TemporaryDirectory() as folder:
            for file in FILES.glob("*.h5"):
                shutil.copy(file, folder)
            for verb, ((command, *arguments), place) in verbs.items():
                with self.subTest(verb):
                    paths = [Path(folder) / one if one.endswith(".h5") else one for one in arguments]
                    found = Path(folder) / f"{verb}_again.h5"
                    program.run(command, *paths, "-o", found, "-q", "--threads", "1")
                    with h5py.File(FILES / f"{verb}.h5") as before, h5py.File(found) as now:
                        self.assertIn("documentation", now)
                        found, expected = (file[place][..., :5] if place.endswith("curves/train") else file[place][()] for file in (now, before))
                        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)  # the sixth column is the speed
                        if verb == "sample":
                            self.compare_draws(now, before)

    def compare_draws(self, now, before):
        """Other versions and other processors make other draws of the same law."""
        means, errors = ([file[f"points/0/order_parameters/layer_1_{of}"][()] for file in (now, before)] for of in ("mean", "mcse"))
        self.assertLess(np.max(np.abs(means[0] - means[1]) / np.hypot(*errors)), 6)

    def test_the_theory_is_computed_again(self):
        self.again(AGAIN)

    def test_networks_are_trained_and_used_again(self):
        tried = subprocess.run([program.executable(), "predict", FILES / "train.h5", FILES / "newn.h5"], capture_output=True, timeout=100, check=False)
        if tried.returncode == 69:
            self.skipTest("needs LibTorch")
        self.again(AGAIN_WITH_LIBTORCH)


if __name__ == "__main__":
    unittest.main()
