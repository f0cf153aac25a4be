"""A network that was trained on a GPU is read on a machine without one."""

import json
import os
import shutil
import unittest

import h5py

from support import ProgramTest, run
from train_support import SMALL_MODEL, needs_training

STUDY = f"""name = "gpu"
seed = 3
[task]
kind = "fuzzy_logic"
sequence_length = 8
held_out = 0.5
[train]
device = "cpu"
{SMALL_MODEL}steps = 20
batch = 16
learning_rate = 0.01
warmup_steps = 5
eval_every = 10
eval_examples = 64
"""
WORDS = "trained on a GPU, of which there is none here; read on the CPU"


@needs_training
@unittest.skipIf(os.path.exists("/dev/nvidia0"), "there is a GPU here")
class GpuResult(ProgramTest):
    def setUp(self):
        super().setUp()
        self.own = self.path("own.h5")
        self.check(run("train", self.write("study.toml", STUDY), "-o", self.own, "-q"), 0)
        self.gpu = self.path("gpu.h5")
        shutil.copy(self.own, self.gpu)
        with h5py.File(self.gpu, "a") as file:
            text = file.attrs["study_toml"]
            self.assertIn('device = "cpu"', text)
            changed = text.replace('device = "cpu"', 'device = "cuda"')
            file.attrs["study_toml"] = changed.replace('precision = "fp32"', 'precision = "bf16"')
            del file.attrs["text_sha256"]  # files of version 0.1 have none either

    def test_evaluate_gives_the_numbers_of_the_cpu(self):
        found = {}
        for name, path in (("own", self.own), ("gpu", self.gpu)):
            process = run("evaluate", path, "--json", "-q")
            self.check(process, 0)
            found[name] = json.loads(process.stdout)["runs"][0]["evaluations"]
            self.assertEqual(WORDS in process.stderr, name == "gpu")
        self.assertEqual(found["own"], found["gpu"])

    def test_every_verb_that_reads_a_network(self):
        few = ("extract.train_examples=20", "extract.test_examples=10", "extract.validation_examples=10",
               "extract.out_of_distribution_examples=0")
        small = ("prune.examples=20", "prune.sensitivity_examples=10", "prune.mean_examples=8", "prune.random_orders=2",
                 "prune.resamples=20", "prune.permutations=20")
        codes = ("latents.examples=64", "latents.folds=2")
        for verb, settings in (("extract", few), ("prune", small), ("latents", codes)):
            with self.subTest(verb=verb):
                process = run(verb, self.gpu, "-q", *(word for one in settings for word in ("--set", one)))
                self.assertIn(process.returncode, (0, 2), process.stderr)
                self.assertIn(WORDS, process.stderr)

    def test_who_asks_for_a_gpu_by_hand_is_told_that_there_is_none(self):
        self.check(run("evaluate", self.own, "--set", "train.device=cuda"), 69, "finds no CUDA")


if __name__ == "__main__":
    unittest.main()
