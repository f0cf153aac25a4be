"""Optional packages that are missing are named, with exit code 69; what does not need them works."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from synthetic_results import Task, write_result

SMALL = Task(train=16, test=20, tokens=5, features=8)
PACKAGES = ("matplotlib", "xarray", "arviz", "pandas", "sklearn", "torch", "transformers", "tqdm", "kvpress")
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES}))\n"


class MissingPackages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder, cls.result = Path(folder.name), Path(folder.name) / "result.h5"
        write_result(cls.result, "prune", SMALL, widths=(10,), corrections=False)

    def run_without(self, code):
        return subprocess.run([sys.executable, "-c", WITHOUT + code], capture_output=True, text=True, check=False)

    def test_commands_end_with_69_and_one_line(self):
        for command in (["plot", self.result], ["plot", self.result, "--only", "pruning"],
                        ["report", self.result, "-o", self.folder / "page.html"]):
            done = self.run_without(f"from headway.cli import run\nsys.argv = {['headway', *map(str, command)]}\nrun()")
            self.assertEqual((done.returncode, done.stdout), (69, ""), done.stderr)
            self.assertEqual(done.stderr, "headway: error: figures need the package matplotlib (pip install matplotlib)\n")
        self.assertEqual(list(self.folder.glob("*.html")), [])

    def test_functions_raise_unavailable_error(self):
        calls = {"result.plot()": "matplotlib", "headway.figures.draw_all([result])": "matplotlib",
                 "headway.write_report(result, 'page.html')": "matplotlib", "result.to_datatree()": "xarray",
                 "result.head_table().to_pandas()": "pandas", "headway.ablate_heads(None, {}, [])": "PyTorch",
                 "headway.gradient_sensitivity(None, {}, [])": "PyTorch", "headway.head_baselines(None, {})": "PyTorch",
                 "headway.rank_heads(None, {}, [])": "PyTorch"}
        done = self.run_without(f"import headway\nresult = headway.read_result({str(self.result)!r})\n" + "".join(
            f"try: {call}\nexcept headway.UnavailableError as error: print(error.exit_code, error)\n" for call in calls))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(calls), done.stdout)
        for line, package in zip(lines, calls.values()):
            self.assertTrue(line.startswith("69 ") and package in line, line)

    def test_the_rest_works(self):
        done = self.run_without(f"import headway\nresult = headway.read_result({str(self.result)!r})\n"
                                "print(result, result.head_table(), result._repr_html_(), dir(headway))\n"
                                f"from headway.cli import main\nsys.exit(main(['table', {str(self.result)!r}]))")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
