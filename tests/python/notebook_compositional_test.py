"""Runs the notebook on compositional generalization on small results of the commands that it shows."""

import os
import tempfile
import unittest
from pathlib import Path

import nbformat
from nbclient import NotebookClient

import program

SOURCE = Path(os.environ.get("HEADWAY_SOURCE_DIR", "."))
NOTEBOOK = SOURCE / "notebooks" / "compositional_generalization.ipynb"
#: What makes each command small.
SMALL = {
    "train": ("train.steps=240", "train.warmup_steps=20", "train.eval_every=80", "train.eval_examples=128",
              "train.batch=16"),
    "latents": ("latents.examples=512",),
    "extract": ("extract.train_examples=100",),
    "prune": ("prune.random_orders=2", "prune.greedy=false", "prune.resamples=50"),
}


def trains() -> bool:
    """Was the program built with LibTorch?"""
    said = program.run("train", program.studies() / "fuzzy-logic-small.toml", "--dry-run").stdout
    return "no LibTorch" not in said


class Notebook(unittest.TestCase):
    def test_is_stored_without_outputs(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                self.assertEqual((cell.outputs, cell.execution_count), ([], None))

    def test_runs_on_results_of_its_commands(self):
        if not trains():
            self.skipTest("the program was built without LibTorch")
        with tempfile.TemporaryDirectory() as folder:
            self.make_results(Path(folder))
            os.environ["HEADWAY_RESULTS"] = folder
            for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
                os.environ[name] = str(Path(folder) / "jupyter")
            notebook = nbformat.read(NOTEBOOK, as_version=4)
            client = NotebookClient(notebook, timeout=300, kernel_name="python3",
                                    resources={"metadata": {"path": str(NOTEBOOK.parent)}})
            client.execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code"
                   for output in cell.outputs]
        self.assertEqual(len([o for o in outputs if "image/png" in o.get("data", {})]), 4)
        text = "".join(output.get("text", "") for output in outputs)
        self.assertEqual(text.count("rank correlation with the rise of the loss"), 8)
        self.assertIn("sensitivity", text)
        self.assertIn("N =   100, T = 0.01: squared error 0.", text)
        self.assertEqual([output for output in outputs if output.get("name") == "stderr"], [])

    def make_results(self, folder: Path):
        """The commands that the notebook shows, read from the notebook itself."""
        cells = nbformat.read(NOTEBOOK, as_version=4).cells
        lines = [line.split() for cell in cells if cell.cell_type == "markdown"
                 for line in cell.source.splitlines() if line.startswith("    headway ")]
        self.assertEqual([words[1] for words in lines], ["train", "latents", "extract", "prune", "prune"])
        for _, verb, *words in lines:
            words = [str(folder / word[len("results/"):]) if word.startswith("results/") else word
                     for word in words]
            words[0] = words[0].replace("data/studies", str(program.studies()))
            settings = [word for key in SMALL[verb] for word in ("--set", key)]
            program.run(verb, *words, *settings, "-q")


if __name__ == "__main__":
    unittest.main()
