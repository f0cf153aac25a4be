"""`make reproduce`: what it reads of results, and that a number which is not the recorded one is noticed."""

import contextlib
import importlib.util
import io
import json
import math
import pathlib
import shutil
import sys
import tempfile
import unittest
from unittest import mock

from support import PROGRAM, STUDIES

SCRIPT = pathlib.Path(STUDIES).parents[1] / "apps/setup/reproduce.py"
specification = importlib.util.spec_from_file_location("reproduce", SCRIPT)
reproduce = importlib.util.module_from_spec(specification)
specification.loader.exec_module(reproduce)


class Reproduce(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="headway-cli-")
        self.addCleanup(directory.cleanup)
        self.record = json.loads(reproduce.RECORD.read_text(encoding="utf-8"))
        self.results = pathlib.Path(directory.name, "results")
        shutil.copytree(reproduce.RESULTS, self.results)

    def run_with(self, *options):
        """Exit code and standard output, on the copy of the recorded results."""
        (self.results / "reproduce.json").write_text(json.dumps(self.record), encoding="utf-8")
        out = io.StringIO()
        with mock.patch.object(reproduce, "RECORD", self.results / "reproduce.json"), \
                mock.patch.object(reproduce, "RESULTS", self.results), contextlib.redirect_stdout(out), \
                mock.patch.object(sys, "argv", ["reproduce.py", "--program", PROGRAM, *options]):
            return reproduce.main(), out.getvalue()

    def test_numbers_by_their_names(self):
        result = {"points": [{"widths": [10, 10], "U_1_mean": [[3.0]], "U_1_mcse": [[0.1]], "a": {"b": [5, 7]}},
                             {"widths": [100, 100], "a": {"b": [6, 8]}}],
                  "groups": [{"label": "heads = 1", "last": 0.5, "last_standard_error": 0.25}],
                  "scores": {"N = 1 T = 0.1": {"r": 2.0}}}
        for where, value in (("points[widths=100].a.b[1]", (8, 0.0)), ("points[widths=10].U_1_mean[0][0]", (3.0, 0.1)),
                             ("points[1].a.b[0]", (6, 0.0)), ("groups[label=heads = 1].last", (0.5, 0.25)),
                             ("scores[N = 1 T = 0.1].r", (2.0, 0.0))):
            self.assertEqual(reproduce.value_of(result, where), value, where)

    def test_every_row_has_a_run_and_a_recorded_number(self):
        runs = self.record["runs"]
        self.assertEqual({row["run"] for row in self.record["rows"]}, set(runs))
        for row in self.record["rows"]:
            value, error = reproduce.recorded(runs[row["run"]], row)
            self.assertTrue(math.isfinite(value), row)
            if "recorded" in runs[row["run"]]:  # of training, whose rounding differs between processors
                self.assertGreater(error, 0.0, row)

    def test_another_number_is_noticed(self):
        name = "published data"
        code, table = self.run_with("--only", name)
        self.assertEqual(code, 0, table)
        self.assertNotIn("other files", table)
        row = next(row for row in self.record["rows"] if row["run"] == name)
        row["ours"] *= 1.00001
        self.assertEqual(self.run_with("--only", name)[0], 1)
        self.assertEqual(self.run_with("--only", name, "--update")[0], 0)
        self.record = json.loads((self.results / "reproduce.json").read_text(encoding="utf-8"))
        self.assertEqual(self.run_with("--only", name)[0], 0)

    def test_longer_runs_have_a_line_each(self):
        lines = reproduce.longer_runs(self.record["runs"]).splitlines()
        one_shot = next(line for line in lines if line.startswith("omniglot-one-shot.json "))
        self.assertRegex(one_shot, r" 15 +a279468 +2026-11-24 +headway train omniglot-one-shot --seed 1 --threads 1")
        self.assertRegex("\n".join(lines), r"pretrained-heads.json +25 +e\w+ +\S+ +notebooks/pretrained_heads.ipynb")
        made = {run.get("recorded") for run in self.record["runs"].values()}
        self.assertEqual([line.split()[0] for line in lines[1:]],
                         sorted(file.name for file in reproduce.RESULTS.glob("*.json")
                                if file.name != "reproduce.json" and file.name not in made))

    def test_an_unknown_run(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
            self.run_with("--only", "nothing")
        self.assertIn("published data", said.getvalue())


if __name__ == "__main__":
    unittest.main()
