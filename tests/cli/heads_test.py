"""`headway extract` and `headway prune` of trained transformers, and the theory on what was extracted."""

import json
import os
import unittest

import h5py
import numpy as np

from support import ProgramTest, run
from train_support import SMALL_MODEL, needs_training

STUDY = f"""name = "heads"
seed = 3
[task]
kind = "fuzzy_logic"
sequence_length = 8
held_out = 0.5
[train]
{SMALL_MODEL.replace("layers = 1", "layers = 2")}steps = 60
batch = 16
learning_rate = 0.01
warmup_steps = 5
eval_every = 20
eval_examples = 64
[sweep]
"train.attention" = ["softmax", "hyla"]
"""
FEW = ("extract.train_examples=40", "extract.test_examples=30", "extract.validation_examples=20",
       "extract.out_of_distribution_examples=0")
SMALL_PRUNE = ("prune.examples=50", "prune.sensitivity_examples=20", "prune.mean_examples=8",
               "prune.random_orders=3", "prune.resamples=50", "prune.permutations=100")
THEORY = ("model.widths=[20]", "model.temperature=0.1")


def settings(*values):
    return [word for value in values for word in ("--set", value)]


@needs_training
class TrainedHeads(ProgramTest):
    def setUp(self):
        super().setUp()
        self.trained = self.train(STUDY, "trained.h5")

    def train(self, study, output, *more):
        output = self.path(output)
        self.check(run("train", self.write(f"{output}.toml", study), "-o", output, "-q", *more), 0)
        return output

    def extract(self, output, *more):
        output = self.path(output)
        process = run("extract", self.trained, "-o", output, "--json", "-q", *settings(*FEW), *more)
        self.check(process, 0)
        self.check(run("validate", output), 0)
        return output, json.loads(process.stdout)

    def object_of(self, *arguments):
        process = run(*arguments, "--json", "-q")
        self.check(process, 0)
        return json.loads(process.stdout)

    def put_theory_on(self, data):
        """Every verb of the theory; the pruning's file."""
        pruned = self.path("pruned.h5")
        for verb, more in (("solve", []), ("align", []), ("sample", settings("sample.chains=2", "sample.draws=20")),
                           ("prune", ["-o", pruned, "--force"])):
            process = run(verb, data, "--json", "-q", *settings(*THEORY), *more)
            self.assertIn(process.returncode, (0, 2) if verb == "sample" else (0,), process.stderr)
            self.assertEqual(len(json.loads(process.stdout)["points"]), 1)
        return pruned

    def test_contributions_of_both_kinds_of_values_are_taken_by_the_theory(self):
        for number, variant in enumerate(("softmax", "hyla"), 1):
            data, found = self.extract(f"{variant}.h5", "--layers", "1,2", "--set", f"extract.run={number}")
            self.assertEqual((found["label"], found["heads"]), (variant, [4, 4]))
            self.assertEqual(found["names"][1], ["L2 residual", "L2H1", "L2H2", "L2 feed-forward"])
            self.assertLess(found["largest_gap"], 1e-12)
            with h5py.File(data) as file:
                self.assertEqual(file["train/path_features"].shape, (40, 16, 8))
                self.assertEqual(file.attrs["weights_sha256"], found["weights_sha256"])
                self.assertIn(f"parts of a trained {variant} network", file.attrs["note"])
                self.assertEqual(list(file["sets"]), ["validation"])
                features = file["train/path_features"][()]
                self.assertAlmostEqual(np.mean(features.astype(float) ** 2), 1.0, places=5)
                np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-5)
            with h5py.File(self.put_theory_on(data)) as file:
                names = [name.decode() for name in file["points/0/pruning/name"][()]]
                self.assertEqual(names[:2], ["L1 residual", "L1H1"])
        plan = self.object_of("extract", self.trained, "--layers", "1,2", "--dry-run", *settings(*FEW))
        self.assertEqual((plan["heads"], plan["paths"], plan["bytes"]), ([4, 4], 16, 8 * 16 * 8 * (40 + 30 + 20)))
        pairs, found = self.extract("pairs.h5", "--set", "extract.run=2", "--set", "extract.parts=pairs")
        self.assertEqual(found["heads"], [3, 4])  # {direct, heads that generate} x {residual, heads, feed-forward}

    def test_attention_is_extracted_and_taken_by_the_theory(self):
        data, found = self.extract("attention.h5", "--form", "attention", "--layers", "1,2")
        self.assertEqual(found["heads"], [2, 2])
        with h5py.File(data) as file:
            weights = file["train/attention/layer_2"][()]
            self.assertEqual(weights.shape, (40, 2, 8, 8))
            np.testing.assert_allclose(weights.sum(axis=3), 1.0, atol=1e-5)
            self.assertEqual(file["test/inputs"].shape, (30, 8, 8))
        self.put_theory_on(data)

    def test_the_last_layer_of_hyla_is_pruned_under_its_own_kernel(self):
        more = ("--form", "value_network", "--set", "extract.run=2")
        data, found = self.extract("values.h5", *more)
        self.assertEqual((found["heads"], found["names"]), ([2], [["L2H1", "L2H2"]]))
        with h5py.File(data) as file:
            self.assertEqual(file.attrs["attention_rows"], "any")
            weights = file["train/attention/layer_1"][()].astype(float)
            np.testing.assert_allclose((weights ** 2).mean(axis=1), 1.0, atol=1e-2)  # RMSHead, but for its epsilon
        self.check(run("solve", data), 65, "attention_rows", "model.value_network")
        told = run("extract", self.trained, "-o", data, "--force", *settings(*FEW), *more)
        self.check(told, 0, "--set model.value_network.form=hyla")
        theory = self.path("values-theory.h5")
        self.check(run("prune", data, "-q", "-o", theory, *settings(*THEORY, "model.value_network.form=hyla")), 0)
        compared = self.object_of("prune-network", self.trained, "--theory", theory, *settings(*SMALL_PRUNE))
        softmax, hyla = (one["network"]["scores"] for one in compared["runs"])
        self.assertTrue(any(name.startswith("theory error_rise values-theory") for name in hyla), list(hyla))
        self.assertFalse(any(name.startswith("theory") for name in softmax))  # softmax: other weights

    def test_heads_are_removed_from_the_networks(self):
        data, _ = self.extract("softmax.h5", "--layers", "1,2")
        theory = self.put_theory_on(data)
        output = self.path("removed.h5")
        found = self.object_of("prune", self.trained, "--theory", theory, "-o", output, *settings(*SMALL_PRUNE))
        self.assertEqual([one["variant"] for one in found["runs"]], ["softmax", "hyla"])
        softmax, hyla = found["runs"]
        self.assertEqual([(head["layer"], head["head"]) for head in softmax["heads"]],
                         [(1, 1), (1, 2), (2, 1), (2, 2)])
        for head in softmax["heads"] + hyla["heads"]:
            self.assertLessEqual({"r2_drop", "gradient_sensitivity", "loss_rise"}, set(head))
            self.assertNotEqual(head["r2_drop"], 0.0)
            self.assertEqual(head["r2_change"], -head["r2_drop"])  # the name of 0.2, with its sign
        theirs = {name for name in softmax["cumulative"] if name.startswith("theory")}
        self.assertEqual(theirs, {f"theory {what} pruned N = 20 T = 0.1" for what in ("error_rise", "U=1", "score")})
        self.assertFalse(any(name.startswith("theory") for name in hyla["cumulative"]))
        self.assertEqual(len(softmax["cumulative"]["greedy"]), 3)  # of four heads, one stays in each layer
        last = self.object_of("prune", self.trained, *settings(*SMALL_PRUNE, "prune.weights=last"))
        self.assertEqual([head["r2_drop"] for head in last["runs"][0]["heads"]] ==
                         [head["r2_drop"] for head in softmax["heads"]],
                         last["runs"][0]["weights_sha256"] == softmax["weights_sha256"])
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["kind"], "network_prune")
            self.assertEqual(file["runs/1/heads/r2_drop"][()].tolist(),
                             [head["r2_drop"] for head in hyla["heads"]])
        text = run("inspect", output).stdout
        for word in ("runs       2 of 2", "0/scores/sensitivity", "the file that it names"):
            self.assertIn(word, text)
        table = run("prune-network", self.trained, "--theory", theory, *settings(*SMALL_PRUNE)).stdout
        for word in ("each head removed alone, on held_out", "greedy on validation", "mean over seeds",
                     "by theory error_rise pruned N = 20 T = 0.1"):
            self.assertIn(word, table)

    def test_prune_of_a_train_result_is_the_older_spelling_of_prune_network(self):
        answers = {}
        for verb in ("prune", "prune-network"):
            output = self.path(f"{verb}.h5")
            answers[verb] = self.object_of(verb, self.trained, "-o", output, *settings(*SMALL_PRUNE))
            answers[verb].pop("seconds")
            with h5py.File(output) as file:
                self.assertEqual(file.attrs["kind"], "network_prune")
                answers[verb]["hashes"] = [file.attrs["study_hash"], file.attrs["data_hash"]]
            self.assertEqual(self.object_of(verb, self.trained, "--dry-run")["verb"], verb)
        self.assertEqual(answers["prune"], answers["prune-network"])
        for arguments, code, words in (((self.study,), 65, ["is not an HDF5 file", "headway train"]),
                                       ((output,), 65, ["is a result of headway prune-network", "headway train"]),
                                       ((self.trained, "--set", "train.heads=4"), 78, ["train.heads=4"])):
            self.check(run("prune-network", *arguments), code, *words)

    def test_sraven_has_a_set_for_each_of_its_splits(self):
        study = STUDY.replace('kind = "fuzzy_logic"\nsequence_length = 8', 'kind = "sraven"\nfeatures = 2\nvalues = 5')
        sraven, output = self.train(study, "sraven.h5"), self.path("parts.h5")
        for number, (test, names) in enumerate(((30, ["train", "test", "validation", "in_distribution"]),
                                                (0, ["train", "validation", "in_distribution"]))):
            process = run("extract", sraven, "-o", output, "--force", "--json", "-q", *settings(
                "extract.train_examples=40", f"extract.test_examples={test}", "extract.validation_examples=20",
                "extract.out_of_distribution_examples=25"))
            self.check(process, 0)
            sizes = {split["name"]: split["examples"] for split in json.loads(process.stdout)["splits"]}
            self.assertEqual(set(sizes), set(names), f"case {number}")
            with h5py.File(output) as file:
                self.assertEqual("test" in file, test > 0)
                self.assertEqual(len(file["sets/in_distribution/labels"]), sizes["in_distribution"])

    def test_runs_that_were_not_trained_to_their_end_are_told(self):
        wild = self.path("wild.h5")
        self.check(run("train", self.write("wild.toml", STUDY), "-o", wild, "-q", *settings(
            'sweep.train.attention=["linear"]', "train.learning_rate=1000", "train.layers=4", "train.steps=400")), 2)
        process = run("extract", wild, *settings(*FEW, "extract.weights=last"))
        self.check(process, 0, "run 1 (linear, seed 3) was not trained to its end: diverged")

    def test_parts_of_pairs_are_idle_without_hyla(self):
        for number, idle in ((1, True), (2, False)):  # softmax, HYLA
            process = run("extract", self.trained, *settings(*FEW, "extract.parts=pairs", f"extract.run={number}"))
            self.check(process, 0)
            self.assertEqual("extract.parts has no effect: only HYLA has pairs of heads" in process.stderr, idle)

    def test_theories_of_one_network_are_told_apart(self):
        """One seed is one network, however many theories of it there are."""
        files = []
        for layers, folder in (("2", "one"), ("1,2", "two")):
            data, _ = self.extract(f"{folder}.h5", "--layers", layers)
            os.makedirs(self.path(folder))
            files.append(self.path(f"{folder}/theory.h5"))
            self.check(run("prune", data, "-q", "-o", files[-1], *settings(*THEORY)), 0)
        twice = self.path("one/theory.h5")  # a sweep may name a point twice
        self.check(run("prune", self.path("one.h5"), "-q", "--force", "-o", twice, *settings(*THEORY),
                       "--set", "model.widths=[20,20]"), 0)
        output = self.path("removed.h5")
        found = self.object_of("prune", self.trained, "--theory", ",".join(files), "-o", output,
                               *settings(*SMALL_PRUNE))
        softmax = next(group for group in found["table"] if group["label"] == "softmax")
        theirs = {name: score for name, score in softmax["scores"].items() if name.startswith("theory score")}
        self.assertEqual(len(theirs), 2)
        for name, score in theirs.items():
            self.assertIn("theory.h5 N = 20", name)
            self.assertEqual(score["error_rise_spearman"]["count"], 1)
        with h5py.File(output) as file:
            self.assertIn("groups", file)
        self.check(run("prune", self.trained, "--theory", ",".join([files[0], files[0]])), 78, "prune.theory[2]")

    def test_bad_requests_are_refused(self):
        bare = self.train(STUDY, "bare.h5", "--set", "train.keep_weights=false")
        data, _ = self.extract("softmax.h5")
        solved, theory, other = self.path("solved.h5"), self.path("theory.h5"), self.path("other.h5")
        for verb, output in (("solve", solved), ("prune", theory)):
            self.check(run(verb, data, "-q", "-o", output, *settings(*THEORY)), 0)
        self.check(run("prune", self.study, "-q", "-o", other), 0)
        elsewhere = self.train(STUDY, "elsewhere.h5", "--seed", "4")
        encoder = self.train(STUDY.replace("layers = 2", "layers = 1\nencoder_layers = 1"), "encoder.h5")
        for arguments, code, words in (
                (("extract", bare), 65, ["bare.h5", "train.keep_weights"]),
                (("prune", bare), 65, ["bare.h5", "holds no weights"]),
                (("extract", self.trained, "--layers", "3"), 78, ["extract.layers", "3", "from 1 to 2"]),
                (("extract", self.trained, "--layers", "3", "--dry-run"), 78, ["extract.layers", "from 1 to 2"]),
                (("extract", self.trained, "--set", "extract.position=2", "--dry-run"), 78, ["extract.position = 2"]),
                (("extract", self.trained, "--layers", ""), 64, ["--layers", "must not be empty"]),
                (("extract", theory), 65, ["is a result of headway prune", "headway train"]),
                (("extract", self.trained, "--layers", "2,1"), 78, ["extract.layers", "rising"]),
                (("extract", self.trained, "--layers", "two"), 78, ["extract.layers"]),
                (("extract", self.trained, "--form", "attn"), 78, ["extract.form", '"attention"']),
                (("extract", self.trained, "--form", "attention", "--set", "extract.run=2"), 78,
                 ["extract.form", "train.attention", "hyla"]),
                (("extract", self.trained, "--set", "extract.position=2"), 78, ["extract.position = 2"]),
                (("extract", self.trained, "--form", "value_network"), 78, ["extract.form", "softmax", "contributions"]),
                (("extract", self.trained, "--set", "train.heads=4"), 78, ["train.heads=4"]),
                (("extract", encoder), 78, ["train.encoder_layers"]),
                (("prune", encoder), 78, ["train.encoder_layers"]),
                (("prune", self.trained, "--theory", self.path("none.h5")), 66, ["none.h5"]),
                (("prune", self.trained, "--theory", data), 65, ["softmax.h5"]),
                (("prune", self.trained, "--theory", solved), 65, ["solved.h5", "headway prune"]),
                (("prune", self.trained, "--theory", other), 65, ["other.h5", "headway extract"]),
                (("prune", elsewhere, "--theory", theory), 65, ["prune.theory", "other weights"]),
                (("prune", self.trained, "--theory", theory, "-o", theory, "--force"), 73, ["is the input"]),
                (("prune", self.trained, "-o", self.trained, "--force"), 73, ["is the input"]),
                (("prune", self.trained, "--set", "train.heads=4"), 78, ["train.heads=4"])):
            with self.subTest(arguments=arguments):
                self.check(run(*arguments), code, *words)


if __name__ == "__main__":
    unittest.main()
