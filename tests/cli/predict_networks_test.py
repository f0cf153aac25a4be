"""`headway predict` of train results: inputs without labels, and texts."""

import json
import os
import unittest

import h5py
import numpy as np

from predict_test import write_new
from support import run
from train_support import TrainTest, needs_training


@needs_training
class PredictNetworks(TrainTest):
    def setUp(self):
        super().setUp()
        self.trained, self.new = self.path("trained.h5"), self.path("new.h5")
        self.check(run("train", self.tiny, "-q", "-o", self.trained, "--set", "sweep.seed=[1,2]"), 0)
        with h5py.File(self.trained) as file:
            self.features = file["runs/0/weights/embedding.weight"].shape[1]
        self.inputs = np.random.default_rng(3).normal(size=(8, 6, self.features))
        write_new(self.new, {"later/inputs": self.inputs, "few/inputs": self.inputs[:2]})

    def test_inputs_give_mean_and_spread_over_seeds(self):
        output = self.path("predictions.h5")
        said = run("predict", self.trained, self.new, "-o", output, "-q")
        self.check(said, 0)
        self.assertIn("spread over seeds, no posterior", said.stdout)
        self.assertIn("Only the first 5 examples", said.stdout)
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["kind"], "network_predict")
            each = np.array([file[f"runs/{i}/sets/later/mean"][()] for i in (0, 1)])
            group = file["groups/0/sets/later"]
            np.testing.assert_allclose(group["mean"], each.mean(axis=0))
            np.testing.assert_allclose(group["sd"], each.std(axis=0, ddof=1))
            self.assertEqual(list(file["groups/0"].attrs["seeds"]), [1, 2])
            self.assertNotIn("predicted_class", group)  # fuzzy logic has real labels
            np.testing.assert_allclose(file["runs/0/sets/few/mean"], each[0][:2], rtol=1e-5)
        found = json.loads(run("predict", self.trained, self.new, "-q", "--json").stdout)
        np.testing.assert_allclose(found["table"][0]["sets"]["later"]["mean"], each.mean(axis=0))
        text = run("inspect", output).stdout
        self.assertIn("(network_predict)", text)
        self.assertIn("names the result and the new inputs", text)
        plan = json.loads(run("predict", self.trained, self.new, "--dry-run", "--json").stdout)
        self.assertEqual((plan["networks"], plan["sets"]), (2, {"few": 2, "later": 8}))

    def test_one_network_predicts_with_the_weights_asked_for_and_has_no_sd(self):
        one = self.path("one.h5")
        self.check(run("train", self.tiny, "-q", "-o", one), 0)
        said = run("predict", one, self.new, "-q", "--set", "evaluate.weights=last")
        self.check(said, 0)
        self.assertIn("no sd without several seeds", said.stdout)
        found = json.loads(run("predict", one, self.new, "-q", "--json", "--set", "evaluate.weights=last").stdout)
        self.assertEqual(found["runs"][0]["step"], 60)
        self.assertNotIn("sd", found["table"][0]["sets"]["later"])
        self.check(run("predict", one, self.new, "--set", "train.layers=2"), 78, "fixed by the training")

    def test_what_does_not_fit_is_refused(self):
        write_new(self.new, {"later/inputs": self.inputs[:, :, :-1]})
        self.check(run("predict", self.trained, self.new), 65, "sets/later/inputs: has",
                   f"features a token; allowed: {self.features}")
        write_new(self.new, {"later/path_features": np.ones((3, 2, 5))}, heads=[2])
        self.check(run("predict", self.trained, self.new), 65, "holds path features; allowed: inputs")
        bad = self.inputs.copy()
        bad[1, 2, 0] = np.nan
        write_new(self.new, {"later/inputs": bad})
        self.check(run("predict", self.trained, self.new), 65, "sets/later/inputs", "nan")
        bad[1, 2, 0] = -1e20
        write_new(self.new, {"later/inputs": bad})
        self.check(run("predict", self.trained, self.new), 65,
                   "sets/later/inputs: example 1 has -1e+20; allowed: up to 1e+15 in size")
        self.check(run("predict", self.trained), 64, "takes a result and one file of new inputs")
        self.check(run("predict", self.trained, self.path("words.txt")), 65, "words.txt")

    def test_a_text_gets_its_bits_and_likely_next_tokens(self):
        trained, letter = self.path("text.h5"), self.write("letter.txt", "to be or not to")
        self.check(run("train", self.text, "-q", "-o", trained), 0)
        os.remove(self.path("words.txt"))  # the data of the training are not needed
        said = run("predict", trained, letter, "-q")
        self.check(said, 0)
        self.assertIn("bits/byte", said.stdout)
        self.assertIn("next token", said.stdout)
        one = json.loads(run("predict", trained, letter, "-q", "--json").stdout)["table"][0]["sets"]["text"]
        self.assertEqual(len(one["bits"]), 15)
        self.assertIsNone(one["bits"][0])
        self.assertAlmostEqual(one["bits_per_byte"], sum(one["bits"][1:]) / 14, delta=1e-9)
        self.assertAlmostEqual(sum(one["next"]), 1.0, delta=1e-6)
        self.assertEqual(len(one["likeliest"]), 5)
        self.check(run("predict", trained, self.path("latin.txt")), 65, "is not UTF-8 text")
        self.check(run("predict", trained, self.write("none.txt", "")), 65, "has no text; allowed: one token or more")
        self.check(run("predict", trained, self.path("gone.txt")), 66, "gone.txt")


if __name__ == "__main__":
    unittest.main()
