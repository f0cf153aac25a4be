"""Runs the notebook on the heads of a pretrained network, on a small one that it draws; skipped without PyTorch and transformers."""

import importlib.util
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from notebooks import NotebookTest


class Notebook(NotebookTest):
    name = "pretrained_heads.ipynb"

    def test_is_stored_without_outputs(self):
        self.check_stored_without_outputs()

    def test_runs_on_a_drawn_network(self):
        if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            self.skipTest("needs PyTorch and transformers")
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, HEADWAY_SMALL="1"):
            text, pictures = self.execute(Path(folder))
            self.assertTrue((Path(folder) / "pretrained-heads.json").is_file())
        self.assertEqual(pictures, 1)
        for line in ("made up: network right 0.", "    predicted change, heads alone ",
                     "    gradient sensitivity ", "stability of its ranks, tau +"):
            self.assertIn(line, text)


if __name__ == "__main__":
    unittest.main()
