"""Runs the notebook on value networks."""

import re
import tempfile
import unittest
from pathlib import Path

from bindings import setUpModule  # noqa: F401
from notebooks import NotebookTest

PICTURES = 2


class Notebook(NotebookTest):
    name = "value_networks.ipynb"

    def test_is_stored_with_its_outputs(self):
        self.check_stored_outputs(PICTURES)

    def test_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            text, pictures = self.execute(Path(folder))
        self.assertEqual(pictures, PICTURES)
        errors = {name: float(seen) for name, seen in re.findall(r"^(Gaussian process|theory, adapted|exact samples) +([\d.]+) +[\d.]+$",
                                                                 text, re.MULTILINE)}
        self.assertEqual(len(errors), 3)
        self.assertLess(errors["theory, adapted"], errors["Gaussian process"])


if __name__ == "__main__":
    unittest.main()
