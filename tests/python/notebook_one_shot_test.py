"""Runs the notebook of the one-shot images on small results of the program, made with its study."""

import os
import re
import tempfile
import unittest
from pathlib import Path

import nbformat
from nbclient import NotebookClient

import program
from network_problem import HEADS, NetworkProblem

NOTEBOOK = Path(os.environ.get("HEADWAY_SOURCE_DIR", ".")) / "notebooks" / "one_shot_images.ipynb"
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


class Notebook(unittest.TestCase):
    def test_is_stored_without_outputs(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                self.assertEqual((cell.outputs, cell.execution_count), ([], None))

    def test_runs_on_results_of_the_program(self):
        os.environ["HEADWAY_RESULTS"] = FOLDER.name
        for name in ("IPYTHONDIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"):
            os.environ[name] = str(RESULTS / "jupyter")
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        client = NotebookClient(notebook, timeout=300, kernel_name="python3",
                                resources={"metadata": {"path": str(NOTEBOOK.parent)}})
        client.execute()
        outputs = [output for cell in notebook.cells if cell.cell_type == "code"
                   for output in cell.outputs]
        pictures = [output for output in outputs if "image/png" in output.get("data", {})]
        self.assertEqual(len(pictures), 6)
        text = "".join(output.get("text", "") for output in outputs)
        for rule in ("validation", "evidence", "test"):
            self.assertIn(f"temperature by {rule}", text)
        self.assertEqual(len(re.findall(r"^  theory, N = \d+ +[+-]\d\.\d\d", text, re.M)), 3)
        self.assertIn(f"all {sum(HEADS)} heads:", text)
        self.assertEqual([output for output in outputs if output.get("name") == "stderr"], [])


if __name__ == "__main__":
    unittest.main()
