"""`python -m headway summary`: small JSON of results of any kind, with what made them."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
from headway import cli
from headway.results.summary import LARGEST, summary, write_summaries, write_summary
from training_result_test import STEPS, r2_at, write_training_result


class SummaryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.result = self.folder / "train.h5"
        write_training_result(self.result, labels=("softmax",), seeds=(1, 2))
        with h5py.File(self.result, "r+") as file:
            file.attrs.update({"git_commit": "0123abc", "blas": "OpenBLAS, kernels for Haswell", "seconds": 12.3456789,
                               "command": "/opt/bin/headway train /data/small.toml --set task.file=/data/x.h5 "
                                          "--set 'task.files=[\"/data/y.h5\",\"../z.h5\"]' --seed 2 -o a/out.h5",
                               "study_toml": "schema = 1\n"})
            run = file["runs/1"]
            run.create_dataset("weights/embedding", data=np.ones((2, 3), np.float32))
            run.create_dataset("large", data=np.zeros(LARGEST + 1))
            run.attrs["train_loss"] = np.nan
            for index in range(2, 11):
                file.create_group(f"runs/{index}").attrs["seed"] = index

    def test_what_a_result_says_and_what_made_it(self):
        found = summary(self.result)
        self.assertEqual(found["kind"], "train")
        self.assertEqual(found["made"]["git_commit"], "0123abc")
        self.assertEqual(found["made"]["seconds"], 12.346)
        self.assertEqual(found["made"]["command"], "headway train small.toml --set task.file=x.h5 "
                         "--set 'task.files=[\"y.h5\",\"../z.h5\"]' --seed 2 -o a/out.h5")
        self.assertNotIn("study_toml", json.dumps(found))
        self.assertEqual([run["seed"] for run in found["runs"]], [1, 2, *range(2, 11)])  # by number, not by name
        curve = found["runs"][1]["curves"]["held_out"]
        self.assertEqual(curve["step"], STEPS.tolist())
        np.testing.assert_allclose(curve["r2"], r2_at("softmax", 2), rtol=1e-5)
        self.assertEqual(found["runs"][1]["settings"][:2], ["train.attention", '"softmax"'])
        self.assertIsNone(found["runs"][1]["train_loss"])
        for name in ("weights", "large"):
            self.assertNotIn(name, found["runs"][1])
        self.assertIn("large", summary(self.result, largest=LARGEST + 1)["runs"][1])

    def test_what_is_left_out_by_name(self):
        out = self.folder / "summary.json"
        self.assertEqual(cli.main(["summary", str(self.result), "-o", str(out), "--without", "curves,train_loss"]), 0)
        whole, brief = summary(self.result), json.loads(out.read_text())["results"][0]
        for run in whole["runs"]:
            run.pop("curves", None), run.pop("train_loss", None)
        self.assertEqual(brief, whole)

    def test_what_nobody_can_mean_is_refused(self):
        out = self.folder / "summary.json"
        for words, arguments in (("--largest: is -1; allowed: a whole number from 0", ["--largest", "-1"]),
                                 ("--without: has 'foo', a name that no result has", ["--without", "curves,foo"]),
                                 ("did you mean train_loss?", ["--without", "train_los"])):
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(cli.main(["summary", str(self.result), "-o", str(out), *arguments]), 64)
            self.assertIn(words, said.getvalue())
        for given in ({"largest": 1.5}, {"without": "curves"}):
            with self.assertRaises(headway.UsageError):
                write_summary(self.result, out, **given)
        self.assertFalse(out.exists())

    def test_the_file_appears_whole_and_is_not_replaced_unasked(self):
        out = self.folder / "summary.json"
        self.assertEqual(cli.main(["summary", str(self.result), str(self.result), "-o", str(out)]), 0)
        self.assertEqual(json.loads(out.read_text())["results"], 2 * [summary(self.result)])
        self.assertEqual(cli.main(["summary", str(self.result), "-o", str(out)]), 73)
        self.assertEqual(cli.main(["summary", str(self.result), "-o", str(out), "--force"]), 0)
        self.assertEqual(len(json.loads(out.read_text())["results"]), 1)
        self.assertEqual({entry.name for entry in self.folder.iterdir()}, {"train.h5", "summary.json"})

    def test_numbers_of_ones_own_beside_what_made_them(self):
        out = self.folder / "own.json"
        made = summary(self.result)["made"]
        write_summaries([{"kind": "own", "made": made, "scores": {"a": [1.0 / 3.0, np.nan], "b": np.float32(0.5)}}], out)
        self.assertEqual(json.loads(out.read_text()),
                         {"results": [{"kind": "own", "made": made, "scores": {"a": [0.33333, None], "b": 0.5}}]})
        with self.assertRaises(headway.CannotWriteError):
            write_summaries([], out)

    def test_faults_are_named(self):
        with self.assertRaises(headway.UsageError):
            write_summary([], self.folder / "none.json")
        with self.assertRaises(headway.UnreadableFileError):
            summary(self.folder / "absent.h5")
        with h5py.File(self.result, "r+") as file:
            file.attrs["schema_version"] = [2, 0]
        with self.assertRaisesRegex(headway.BadDataError, "schema_version is 2.0"):
            summary(self.result)
        self.assertFalse((self.folder / "none.json").exists())


if __name__ == "__main__":
    unittest.main()
