"""`headway train` and what follows it on examples of one's own, in a file."""

import json
import os
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

from support import PROGRAM, names_in, run
from train_support import SMALL_MODEL, TrainTest, content, needs_training


class ExamplesTest(TrainTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.tokens = rng.integers(0, 5, (300, 6))
        self.targets = (self.tokens[:, 0] == self.tokens[:, -1]).astype(int)
        self.file = self.examples("own.h5", self.tokens, self.targets)
        self.study = self.write("own.toml", f"""name = "own"
[task]
kind = "arrays"
file = "own.h5"
[train]
{SMALL_MODEL}steps = 60
batch = 8
warmup_steps = 0
learning_rate = 0.01
eval_every = 20
eval_examples = 40
checkpoint_every = 5
""")

    def examples(self, name, inputs, targets, schema="headway-examples"):
        path = self.path(name)
        with h5py.File(path, "w") as file:
            if schema:
                file.attrs["schema_name"], file.attrs["schema_version"] = schema, [1, 0]
            for group, part in (("train", slice(100, None)), ("test", slice(0, 60)), ("sets/validation", slice(60, 100))):
                file[f"{group}/{'tokens' if inputs.ndim == 2 else 'vectors'}"] = inputs[part]
                file[f"{group}/targets"] = targets[part]
        return path

    def train(self, *arguments, study=None):
        process = run("train", study or self.study, "--threads", "1", "-q", "--force", *arguments)
        self.check(process, 0)
        return process


class Files(ExamplesTest):
    def test_a_file_is_checked_and_described(self):
        self.check(run("validate", self.file), 0)
        self.assertIn("headway train", run("inspect", self.file).stdout)
        bad = self.targets.copy()
        bad[7] = -1
        process = run("validate", self.examples("bad.h5", self.tokens, bad))
        self.check(process, 65, prints=True)
        self.assertIn("test/targets[7]: -1; allowed: classes from 0 to 1", process.stdout)
        equal = run("validate", self.examples("equal.h5", self.tokens, np.ones(300, int)))
        self.check(equal, 0, "train/targets: are all 1: there is nothing to tell apart")

    def test_what_is_wrong_is_told_before_anything_is_trained(self):
        for set_value, code, words in (("task.classes=1", 65, ["train/targets[", "]: 1; allowed: classes from 0 to 0, as task.classes = 1"]),
                                       ("task.vocabulary=3", 65, ["tokens", "as task.vocabulary = 3"]),
                                       ("task.order=random", 78, ['task.order = "random"', '"shuffled", "file"']),
                                       ("task.file=none.h5", 66, ["none.h5"]),
                                       ("task.file=" + self.path("words.txt"), 65, ["words.txt", "not an HDF5 file"])):
            with self.subTest(set_value):
                process = run("train", self.study, "--set", set_value, "--dry-run")
                self.check(process, code)
                for word in words:
                    self.assertIn(word, process.stderr)
        process = run("train", self.write("none.toml", '[task]\nkind = "arrays"\n'), "--dry-run")
        self.check(process, 78, "task.file is missing")
        self.check(run("solve", self.study), 78, "for headway train")


@needs_training
class Networks(ExamplesTest):
    def test_the_file_is_a_study_and_runs_beside_each_other_are_those_of_one(self):
        sweep = ["--set", "sweep.seed=[1,2]", "--set", 'sweep.train.attention=["softmax","hyla"]']
        self.train(*sweep, "--jobs", "1", "-o", self.path("one.h5"))
        self.train(*sweep, "--jobs", "2", "-o", self.path("two.h5"))
        self.check_same(content(self.path("one.h5")), content(self.path("two.h5")))
        settings = ["steps=60", "batch=8", "warmup_steps=0", "learning_rate=0.01", "eval_every=20", "eval_examples=40",
                    *(line.replace(" ", "") for line in SMALL_MODEL.splitlines())]
        words = [word for setting in settings for word in ("--set", f"train.{setting}")]
        self.train("-o", self.path("study.h5"))
        self.train(*words, "-o", self.path("direct.h5"), study=self.file)
        self.check_same(content(self.path("study.h5")), content(self.path("direct.h5")))

    def test_a_run_that_stops_goes_on_to_the_same_bits(self):
        longer = ["--set", "train.steps=3000", "--set", "train.eval_every=1000"]
        self.train(*longer, "-o", self.path("whole.h5"))
        parts = self.path("parts.h5")
        command = [PROGRAM, "train", self.study, *longer, "--threads", "1", "-q", "-o", parts]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            limit = time.monotonic() + 100
            while process.poll() is None and time.monotonic() < limit and not names_in(parts + ".checkpoint", "run_"):
                time.sleep(0.002)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130, "too quick to be interrupted")
        self.check(run("train", self.study, *longer, "--threads", "1", "-q", "-o", parts), 0)
        self.check_same(content(self.path("whole.h5")), content(parts))

    def test_other_verbs_take_the_networks(self):
        trained = self.path("trained.h5")
        self.train("-o", trained)
        few = self.examples("few.h5", self.tokens % 3, np.zeros(300, int))  # fewer ids and classes than the network has
        evaluated = run("evaluate", trained, "--set", "task.file=" + few, "-q")
        self.check(evaluated, 0)
        self.assertIn("test", evaluated.stdout)
        other = self.path("other.h5")  # without a validation set, beside which train's own examples would be told twice
        with h5py.File(few) as whole, h5py.File(other, "w") as file:
            file.attrs.update(whole.attrs)
            whole.copy("train", file)
        told = json.loads(run("evaluate", trained, "--set", "task.file=" + other, "--set", "evaluate.examples=300", "-q", "--json").stdout)
        self.assertEqual({name: split["examples"] for name, split in told["runs"][0]["evaluations"].items()}, {"train": 200})
        self.check(run("evaluate", trained, "-q"), 0)
        self.check(run("rank", trained, "--set", "rank.examples=40", "-q"), 0)
        self.check(run("prune-network", trained, "--set", "prune.cumulative=false", "--set", "prune.random_orders=1", "-q"), 0)
        self.check(run("latents", trained, "-q"), 65, "validation: has no factors")
        self.check(run("extract", trained, "-o", self.path("heads.h5"), "-q"), 0)
        with h5py.File(self.path("heads.h5")) as file:  # every training example once
            self.assertEqual(file["train/labels"].shape[0], 200)
            self.assertEqual(file["sets/validation/labels"].shape[0], 40)
        os.replace(few, self.file)
        self.check(run("evaluate", trained, "-q"), 65, "is not the file of arrays that this network was trained on")

    def test_new_vectors_are_predicted(self):
        x = np.random.default_rng(2).standard_normal((300, 4, 3))
        self.examples("own.h5", x, x.mean(axis=1), schema=None)  # a file needs no schema
        self.train("-o", self.path("trained.h5"))
        pruned = run("prune-network", self.path("trained.h5"), "--set", "prune.random_orders=1", "-q")
        self.check(pruned, 0)
        for words in (", seed 1: test r2_pooled ", "  r2_pooled drop  ", "\nr2_pooled after removing 0, 1, 2, ... heads"):
            self.assertIn(words, pruned.stdout)
        os.remove(self.file)  # its networks need no data to predict
        with h5py.File(self.path("new.h5"), "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", [1, 0]
            file["sets/new/inputs"] = x[:5]
        predicted = run("predict", self.path("trained.h5"), self.path("new.h5"), "-q", "-o", self.path("predicted.h5"))
        self.check(predicted, 0)
        with h5py.File(self.path("predicted.h5")) as file:
            self.assertEqual(file["runs/0/sets/new/mean"].shape, (5, 3))


if __name__ == "__main__":
    unittest.main()
