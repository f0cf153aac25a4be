"""Runs the notebook of the hidden-Markov study, which computes its results itself, and reads what it shows."""

import tempfile
import unittest
from pathlib import Path

from notebooks import NotebookTest, computes

PICTURES = 7


class Notebook(NotebookTest):
    name = "hidden_markov_study.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(PICTURES)

    def test_runs(self):
        if not computes():
            self.skipTest("the extension module headway._native is not built")
        with tempfile.TemporaryDirectory() as folder:
            text, pictures = self.execute(Path(folder))
        self.assertEqual(pictures, PICTURES)
        self.assertIn("infinite", text)
        self.assertIn("correlation of good and denoising -", text, "the paths must be anticorrelated")
        self.assertRegex(text, r"U_1 of the previous token +\d+\.\d\d, of the uniform head")


if __name__ == "__main__":
    unittest.main()
