"""Runs the notebook on results that the program makes from the shipped studies, and reads what it shows."""

import tempfile
import unittest
from pathlib import Path

import program
from notebooks import NotebookTest


class Notebook(NotebookTest):
    name = "hidden_markov_study.ipynb"

    def test_is_stored_without_outputs(self):
        self.check_stored_without_outputs()

    def test_runs_on_results_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            self.make_results(Path(folder))
            text, pictures = self.execute(Path(folder))
        self.assertEqual(pictures, 6)
        self.assertIn("infinite", text)
        self.assertIn("correlation of good and denoising -", text, "the paths must be anticorrelated")
        self.assertIn("previous-token.h5 faults: []", text)

    def make_results(self, folder: Path):
        """The commands that the notebook shows, read from the notebook itself."""
        lines = self.commands()
        self.assertEqual(len(lines), 5)
        for verb, study, _, output in lines:
            program.run(verb, program.studies() / Path(study).name, "-q", "-o",
                        folder / Path(output).name)


if __name__ == "__main__":
    unittest.main()
