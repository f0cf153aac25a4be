"""Options that change nothing with the data or the sampler of a study: the program says so."""

import unittest

import h5py
import numpy as np

from support import ProgramTest, run, write_path_features

FEW = ("--set", "model.widths=[10]", "--set", "model.temperature=0.1")
FEW_DRAWS = ("--set", "sample.chains=2", "--set", "sample.draws=20", "--set", "sample.warmup=20")


class IdleOptions(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = self.path("data.h5")
        write_path_features(self.data)

    def said(self, verb, *arguments):
        process = run(verb, self.data, "-q", *FEW, *arguments)
        self.assertIn(process.returncode, (0, 2), process.stderr)  # one that ends earlier says nothing of options
        return process.stderr

    def test_a_form_of_attention_is_idle_with_path_features(self):
        hard = ("--set", "model.attention=hardmax")
        self.assertIn('model.attention = "hardmax" has no effect', self.said("solve", *hard))
        self.assertIn("holds path features", self.said("solve", *hard))
        self.assertNotIn("has no effect", self.said("solve"))
        inputs = self.path("inputs.h5")
        with h5py.File(inputs, "w") as file:
            file.attrs.update({"schema_name": "headway-dataset", "schema_version": [1, 0]})
            rng = np.random.default_rng(1)
            file["train/inputs"] = rng.normal(size=(6, 3, 4))
            file["train/labels"] = np.resize([1.0, -1.0], 6)
            file["attention/weights/layer_1"] = rng.normal(size=(2, 4, 4))
        self.data = inputs  # there it has an effect
        self.assertNotIn("has no effect", self.said("solve", *hard))

    def test_a_form_of_attention_is_idle_where_all_of_it_is_learned(self):
        few = ("--set", "task.train_examples=10", "--set", "task.test_examples=10", "--set", "solve.attention_starts=1")
        hard = ("--set", "model.attention=hardmax")
        self.assertIn('model.attention = "hardmax" has no effect', run("solve", "copy-task", "-q", *few, *hard).stderr)
        self.assertNotIn("has no effect", run("solve", "copy-task", "-q", *few).stderr)

    def test_weights_are_idle_with_the_exact_sampler_and_evidence_with_others(self):
        keep = ("--set", "sample.keep_weights=true")
        self.assertIn("sample.keep_weights = true has no effect", self.said("sample", *FEW_DRAWS, *keep))
        gibbs = ("--set", "sample.sampler=gibbs", *FEW_DRAWS)
        self.assertNotIn("has no effect", self.said("sample", *gibbs, *keep))
        self.assertIn("sample.evidence = true has no effect", self.said("sample", *gibbs, "--set", "sample.evidence=true"))

    def test_keys_that_nothing_looks_at_are_named(self):
        for verb, key, value, why in (
                ("prune", "prune.theory", '["no.h5"]', "no trained network"), ("prune", "prune.removed_as", "mean", "no trained network"),
                ("solve", "solve.attention_starts", "3", "no attention is learned"),
                ("sample", "sample.metric", "dense", "no trajectories")):
            with self.subTest(key=key):
                gibbs = ("--set", "sample.sampler=gibbs", *FEW_DRAWS) if verb == "sample" else ()
                said = self.said(verb, *gibbs, "--set", f"{key}={value}")
                self.assertIn(f"{key} has no effect: ", said)
                self.assertIn(why, said)
                self.assertNotIn(f"{key} has no effect", self.said(verb, *gibbs))


if __name__ == "__main__":
    unittest.main()
