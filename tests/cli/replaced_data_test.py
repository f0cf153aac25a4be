"""The files that a result was made from are replaced: every verb that takes the result notices."""

import os
import unittest

from support import ProgramTest, run, write_path_features
from train_support import TEXT, needs_training

SETTINGS = ["--set", "model.widths=[10]", "--set", "model.temperature=0.1", "-q"]


class ReplacedDataSet(ProgramTest):
    def test_solve_again_says_that_it_is_another_computation(self):
        data, result = self.path("data.h5"), self.path("result.h5")
        write_path_features(data)
        self.check(run("solve", data, *SETTINGS, "-o", result), 0)
        process = run("solve", result, "--json")
        self.check(process, 0)
        self.assertNotIn("other data", process.stderr)
        write_path_features(data, rng_seed=2)
        self.check(run("solve", result), 0, "result.h5", "other data than", "data.h5", "not the same again")
        self.check(run("align", result), 0, "result.h5", "the data are not the same")
        process = run("solve", result, "--set", "task.file=" + self.other(), "--json")  # --set says that it is meant
        self.check(process, 0)
        self.assertNotIn("other data", process.stderr)

    def other(self):
        path = self.path("other.h5")
        write_path_features(path, rng_seed=3)
        return path


@needs_training
class ReplacedText(ProgramTest):
    def setUp(self):
        super().setUp()
        self.replace("the cat sat on the mat. ")
        study = self.write("tiny-text.toml", TEXT)
        self.result = self.path("text.h5")
        self.check(run("train", study, "-q", "-o", self.result), 0)

    def replace(self, words):
        self.write("words.txt", 400 * words)

    def test_the_same_text_is_accepted(self):
        os.utime(self.path("words.txt"))
        self.check(run("evaluate", self.result, "-q"), 0)
        process = run("train", self.result, "--json")
        self.check(process, 0)
        self.assertNotIn("other data", process.stderr)

    def test_evaluate_refuses_what_the_network_was_not_trained_on(self):
        self.replace("a dog ran in the fog? ")
        for more in ([], ["--set", "task.sequence_length=4"], ["--json"]):
            with self.subTest(more=more):
                self.check(run("evaluate", self.result, "-q", *more), 65, "text.h5", "words.txt",
                           "not the text that this network was trained on")

    def test_other_data_on_purpose_are_evaluated(self):
        self.replace("a dog ran in the fog? ")
        words = "task.file=" + self.path("words.txt")
        self.check(run("evaluate", self.result, "-q", "--set", words), 0)
        self.check(run("evaluate", self.result, "-q", "--task", self.path("tiny-text.toml")), 0)

    def test_train_again_says_that_it_is_another_computation(self):
        self.replace("a dog ran in the fog? ")
        self.check(run("train", self.result, "--json"), 0, "text.h5", "other data than", "words.txt")


if __name__ == "__main__":
    unittest.main()
