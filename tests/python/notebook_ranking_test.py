"""Runs the notebook on rankings of heads, on a small network that it draws; skipped without PyTorch, transformers and the
extension module."""

import importlib.util
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from notebooks import NotebookTest, computes


class Notebook(NotebookTest):
    name = "head_ranking.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(pictures=0)

    def test_runs_on_a_drawn_network_and_goes_on(self):
        if not computes() or not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            self.skipTest("needs PyTorch, transformers and the extension module")
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, HEADWAY_SMALL="1"):
            results = Path(folder)
            text, _ = self.execute(results)
            self.assertIn("4 rankings of heads, on 1 tasks", text)
            self.assertIn("made up: held ", text)
            rows = json.loads((results / "head-ranking.json").read_text())["results"]
            self.assertEqual([(row["n"], row["split"], row["fresh"]) for row in rows],
                             [(16, 0, 66), (16, 1, 66), (24, 0, 66), (24, 1, 66)])
            for row in rows:
                self.assertEqual({len(values) for values in row["scores"].values()}, {4})
                for target in ("fixed", "refitted"):
                    found = row["estimate"][target]
                    self.assertTrue(all(low <= mean <= high for low, mean, high in zip(found["low"], found["mean"], found["high"])))
            marked = results / "head-ranking-made-up-0-16.json"  # as if computed before
            marked.write_text(json.dumps(rows[0] | {"penalty": 7.0}))
            self.execute(results)
            again = json.loads((results / "head-ranking.json").read_text())["results"]
            self.assertEqual([row["penalty"] for row in again], [7.0, *(row["penalty"] for row in rows[1:])])


if __name__ == "__main__":
    unittest.main()
