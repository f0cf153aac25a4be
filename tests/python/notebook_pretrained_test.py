"""Runs the notebook on the heads of pretrained networks, on small ones that it draws; skipped without PyTorch and transformers."""

import importlib.util
import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from notebooks import NotebookTest


class Notebook(NotebookTest):
    name = "pretrained_heads.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(pictures=2)

    def test_runs_on_drawn_networks(self):
        """It also takes rows that an earlier run with the same settings left."""
        if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            self.skipTest("needs PyTorch and transformers")
        with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, HEADWAY_SMALL="1"):
            results = Path(folder)
            text, pictures = self.execute(results)
            self.assertEqual(pictures, 2)
            for line in ("made up: layer 2 of Bert, right 0.", "made up, shared layers: layer 2 of Albert, right 0.",
                         "    predicted change, heads alone ", "    gradient sensitivity ",
                         "stability of its ranks, tau +", "made up, splits 2 to 2, fresh "):
                self.assertIn(line, text)
            rows = json.loads((results / "pretrained-heads.json").read_text())["results"]
            self.assertEqual([(row["task"], row["split"]) for row in rows],
                             [(task, split) for task in ("made up", "made up, shared layers") for split in (1, 2)])
            self.assertEqual({(row["kind"], row["made"]["notebook"]) for row in rows},
                             {("pretrained_heads", "notebooks/pretrained_heads.ipynb")})
            for row in rows:  # as if computed before: one by another study, one marked
                changed = row | ({"settings": row["settings"] | {"length": 5}} if row["split"] == 1 else {"accuracy": 7.0})
                name = row["task"].replace(", ", "-").replace(" ", "-")
                (results / f"pretrained-{name}-{row['split']}.json").write_text(json.dumps(changed))
            self.execute(results)
            again = json.loads((results / "pretrained-heads.json").read_text())["results"]
            self.assertEqual([row["accuracy"] for row in again],
                             [7.0 if row["split"] == 2 else row["accuracy"] for row in rows])


if __name__ == "__main__":
    unittest.main()
