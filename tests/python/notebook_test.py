"""Runs the notebook on results that the program makes from the shipped studies, and reads what it shows."""

import os
import tempfile
import unittest
from pathlib import Path

import nbformat
from nbclient import NotebookClient

import program

NOTEBOOK = Path(os.environ.get("HEADWAY_SOURCE_DIR", ".")) / "notebooks" / "hidden_markov_study.ipynb"


class Notebook(unittest.TestCase):
    def test_is_stored_without_outputs(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                self.assertEqual((cell.outputs, cell.execution_count), ([], None))

    def test_runs_on_results_of_the_program(self):
        with tempfile.TemporaryDirectory() as folder:
            self.make_results(Path(folder))
            os.environ["HEADWAY_RESULTS"] = folder
            for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
                os.environ[name] = str(Path(folder) / "jupyter")  # nothing from the user's own set-up
            notebook = nbformat.read(NOTEBOOK, as_version=4)
            client = NotebookClient(notebook, timeout=300, kernel_name="python3",
                                    resources={"metadata": {"path": str(NOTEBOOK.parent)}})
            client.execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code"
                   for output in cell.outputs]
        pictures = [output for output in outputs if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), 6)
        text = "".join(output.get("text", "") for output in outputs)
        self.assertIn("infinite", text)
        self.assertIn("correlation of good and denoising -", text, "the paths must be anticorrelated")
        self.assertIn("previous-token.h5 faults: []", text)
        self.assertEqual([output for output in outputs if output.get("name") == "stderr"], [])

    def make_results(self, folder: Path):
        """The commands that the notebook shows, read from the notebook itself."""
        cells = nbformat.read(NOTEBOOK, as_version=4).cells
        lines = [line.split() for cell in cells if cell.cell_type == "markdown"
                 for line in cell.source.splitlines() if line.startswith("    headway ")]
        self.assertEqual(len(lines), 5)
        for _, verb, study, _, output in lines:
            program.run(verb, program.studies() / Path(study).name, "-q", "-o",
                        folder / Path(output).name)


if __name__ == "__main__":
    unittest.main()
