"""Runs the notebook of the one-shot images on small results of the program, made with its study."""

import re
import tempfile
import unittest
from pathlib import Path

import program
from network_problem import HEADS, NetworkProblem
from notebooks import NotebookTest

PICTURES = 6

STUDY = "omniglot-one-shot-theory.toml"
FOLDER = tempfile.TemporaryDirectory()
RESULTS = Path(FOLDER.name)
AT = ("--set", "model.temperature=0.1")
SAMPLING = ("--set", "model.widths=[10, 100]", "--set", "sample.draws=200", "--set",
            "sample.warmup=200", "--set", "sample.predictor_draws=20")


def run(verb, name, *options, seed=1):
    data = RESULTS / f"heads-{seed}.h5"
    if not data.exists():
        NetworkProblem(seed).write(data)
    program.run(verb, program.studies() / STUDY, "-q", "--set", f"task.file={data}",
                "--set", "model.widths=[10, 30, 100]", *options, "-o",
                RESULTS / f"omniglot-one-shot-{name}.h5")


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    run("solve", "theory", "--set", "model.temperature=[0.1, 1.0]")
    run("align", "align", *AT)
    run("prune", "prune", *AT)
    run("sample", "sample", *AT, *SAMPLING)
    for seed in (2, 3):
        run("prune", f"prune-{seed}", *AT, seed=seed)


class Notebook(NotebookTest):
    name = "one_shot_images.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(PICTURES - 1)  # of one network: none over seeds

    def test_runs_on_results_of_the_program(self):
        text, pictures = self.execute(RESULTS)
        self.assertEqual(pictures, PICTURES)
        for rule in ("validation", "evidence", "test"):
            self.assertIn(f"temperature by {rule}", text)
        self.assertEqual(len(re.findall(r"^  theory, N = \d+ +[+-]\d\.\d\d", text, re.M)), 3)
        self.assertIn(f"all {sum(HEADS)} heads:", text)


if __name__ == "__main__":
    unittest.main()
