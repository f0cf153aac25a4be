"""A notebook under test: what it is stored with, and what it shows when it is executed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
import unittest
from pathlib import Path

import nbformat
from nbclient import NotebookClient


def computes() -> bool:
    """Whether the extension module is there, which notebooks need to compute."""
    return importlib.util.find_spec("headway._native") is not None


class NotebookTest(unittest.TestCase):
    """Base of the tests of one notebook, which they name."""

    name: str

    @property
    def path(self) -> Path:
        return Path(os.environ.get("HEADWAY_SOURCE_DIR", ".")) / "notebooks" / self.name

    def check_stored_outputs(self, pictures: int):
        """Checks that it was stored after one run from top to bottom, without an error and with all pictures."""
        notebook = nbformat.read(self.path, as_version=4)
        nbformat.validate(notebook)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.assertEqual([cell.execution_count for cell in cells], list(range(1, len(cells) + 1)))
        outputs = [output for cell in cells for output in cell.outputs]
        self.assertEqual([output for output in outputs
                          if output.output_type == "error" or output.get("name") == "stderr"], [])
        self.assertEqual(_pictures(outputs), pictures)

    def commands(self) -> list[list[str]]:
        """The lines `headway VERB ...` of its texts, in words after the program's name."""
        cells = nbformat.read(self.path, as_version=4).cells
        return [line.split()[1:] for cell in cells if cell.cell_type == "markdown"
                for line in cell.source.splitlines() if line.startswith("    headway ")]

    def execute(self, results: Path) -> tuple[str, int]:
        """Runs it on the results of that folder. Returns what it prints, and how many pictures it shows. Fails if it writes to
        standard error, but for R-hat from 1.01 to 1.05: another processor's rounding makes other draws."""
        os.environ["HEADWAY_RESULTS"] = str(results)
        for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            os.environ[name] = str(Path(results) / "jupyter")  # nothing from the user's own set-up
        kernel = Path(results) / "jupyter" / "kernels" / "python3" / "kernel.json"
        kernel.parent.mkdir(parents=True, exist_ok=True)  # the Python that the test runs on
        kernel.write_text(json.dumps({"language": "python", "display_name": "Python 3", "argv": [
            sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]}))
        notebook = nbformat.read(self.path, as_version=4)
        client = NotebookClient(notebook, timeout=300, kernel_name="python3",
                                resources={"metadata": {"path": str(self.path.parent)}})
        client.execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        errors = [output for output in outputs if output.get("name") == "stderr"]
        self.assertEqual([output for output in errors if not re.search(r"R-hat 1\.0[1-4]\d* > 1\.01: error bars are too small", output["text"])], [])
        return "".join(output.get("text", "") for output in outputs), _pictures(outputs)


def _pictures(outputs: list) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs)
