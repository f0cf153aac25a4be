"""Runs the notebook on compositional generalization on small results of the commands that it shows."""

import tempfile
import unittest
from pathlib import Path

import program
from notebooks import NotebookTest

PICTURES = 4

#: What makes each command small.
SMALL = {
    "train": ("train.steps=90", "train.warmup_steps=10", "train.eval_every=30", "train.eval_examples=128",
              "train.batch=16"),
    "latents": ("latents.examples=256",),
    "extract": ("extract.train_examples=100",),
    "prune": ("prune.random_orders=2", "prune.greedy=false", "prune.resamples=50", "prune.permutations=500",
              "prune.examples=200", "prune.sensitivity_examples=64", "prune.mean_examples=16"),
}
SMALL["prune-network"] = SMALL["prune"]


def trains() -> bool:
    """Whether the program was built with LibTorch."""
    said = program.run("train", program.studies() / "fuzzy-logic-small.toml", "--dry-run").stdout
    return "no LibTorch" not in said


class Notebook(NotebookTest):
    name = "compositional_generalization.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(PICTURES)

    def test_runs_on_results_of_its_commands(self):
        if not trains():
            self.skipTest("the program was built without LibTorch")
        with tempfile.TemporaryDirectory() as folder:
            self.make_results(Path(folder))
            text, pictures = self.execute(Path(folder))
        self.assertEqual(pictures, PICTURES)
        self.assertEqual(text.count("rank correlation with the rise of the loss"), 10)
        self.assertIn("sensitivity", text)
        self.assertIn("N =   100, T = 0.01: squared error 0.", text)

    def make_results(self, folder: Path):
        """The commands that the notebook shows, read from the notebook itself."""
        lines = self.commands()
        self.assertEqual([words[0] for words in lines], ["train", "latents", "extract", "prune", "prune-network"])
        for verb, *words in lines:
            words = [str(folder / word[len("results/"):]) if word.startswith("results/") else word
                     for word in words]
            words[0] = words[0].replace("data/studies", str(program.studies()))
            settings = [word for key in SMALL[verb] for word in ("--set", key)]
            program.run(verb, *words, *settings, "-q")


if __name__ == "__main__":
    unittest.main()
