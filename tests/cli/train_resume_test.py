"""`headway train` interrupted, killed and resumed: the same bits, and nothing lost."""

import os
import shutil
import signal
import subprocess
import time
import unittest

import h5py

from support import PROGRAM, names_in, run
from train_support import TrainTest, content, needs_training


@needs_training
class Checkpoints(TrainTest):
    """Interrupted runs go on to the same bits."""

    ARGUMENTS = ["--set", "train.steps=900", "--set", "train.eval_every=300", "--set",
                 "sweep.seed=[1,2]"]

    def stop(self, output, when, signal_number=signal.SIGINT, arguments=(), jobs=1):
        """Starts a grid, one run after the other, and sends the signal when `when(files of the folder)` is true."""
        folder = output + ".checkpoint"
        command = [PROGRAM, "train", self.tiny, *self.ARGUMENTS, *arguments, "--jobs", str(jobs), "-o",
                   output]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            limit = time.monotonic() + 100
            while process.poll() is None and time.monotonic() < limit:
                if when(names_in(folder, "run_")):
                    break
                time.sleep(0.002)
            self.assertIsNone(process.poll(), "too quick to be interrupted")
            process.send_signal(signal_number)
            stdout, stderr = process.communicate(timeout=100)
        return process.returncode, stdout, stderr

    uninterrupted = None

    def whole(self):
        """What the grid gives when nothing stops it; trained once."""
        if Checkpoints.uninterrupted is None:
            output = self.path("whole.h5")
            self.check(run("train", self.tiny, *self.ARGUMENTS, "-o", output, "--jobs", "1", "--threads", "2"), 0)
            Checkpoints.uninterrupted = content(output)
        return Checkpoints.uninterrupted

    def test_interrupt_and_resume_give_the_bits_of_an_uninterrupted_run(self):
        parts, weights = self.path("parts.h5"), self.path("w.npz")
        export = ("--export", weights)
        code, _, stderr = self.stop(parts, lambda names: len(names) == 1, arguments=export)
        self.assertEqual(code, 130, stderr)
        self.assertEqual([name for name in os.listdir(self.directory) if name.endswith(".npz")], [])
        with h5py.File(parts) as file:
            self.assertEqual(file.attrs["partial"], 1)
            self.assertEqual(file["runs/0"].attrs["outcome"], "interrupted")
        name, = os.listdir(parts + ".checkpoint")
        described = run("inspect", os.path.join(parts + ".checkpoint", name))
        self.check(described, 0)
        self.assertIn("Headway checkpoint", described.stdout)
        self.assertIn("interrupted", run("inspect", parts).stdout)
        code, _, stderr = self.stop(parts, lambda names: len(names) == 2, arguments=export)
        self.assertEqual(code, 130, stderr)
        self.assertIn("resuming at step", stderr)
        self.assertEqual([name for name in os.listdir(self.directory) if name.endswith(".npz")],
                         ["w-1.npz"])  # the run that is done
        process = run("train", self.tiny, *self.ARGUMENTS, *export, "-o", parts, "--threads", "1")
        self.check(process, 0, "done before, not trained again", "resuming at step")
        self.assertFalse(os.path.exists(parts + ".checkpoint"))
        self.check_same(self.whole(), content(parts))

    def test_a_killed_run_resumes_too(self):
        parts = self.path("parts.h5")
        self.stop(parts, lambda names: len(names) == 2, signal.SIGKILL)
        self.assertFalse(os.path.exists(parts))
        self.check(run("train", self.tiny, *self.ARGUMENTS, "-o", parts), 0, "done before")
        self.check_same(self.whole(), content(parts))

    def test_runs_at_once_resume_too(self):
        parts = self.path("parts.h5")
        code, _, stderr = self.stop(parts, lambda names: len(names) == 2, jobs=2)
        self.assertEqual(code, 130, stderr)
        with h5py.File(parts) as file:
            self.assertEqual([run.attrs["outcome"] for run in file["runs"].values()], ["interrupted"] * 2)
        process = run("train", self.tiny, *self.ARGUMENTS, "-o", parts, "--jobs", "2")
        self.check(process, 0, "run 1 of 2, hyla seed 1: resuming at step",
                   "run 2 of 2, hyla seed 2: resuming at step")
        self.check_same(self.whole(), content(parts))
        self.check(run("train", self.tiny, "--jobs", "0"), 64, "--jobs")

    def test_a_checkpoint_of_another_model_is_refused(self):
        output = self.path("out.h5")
        self.stop(output, lambda names: len(names) == 1)
        again = ["train", self.tiny, *self.ARGUMENTS, "-o", output]
        for setting, words in (("train.layers=2", ["train.layers = 1, here 2"]),
                               ("train.attention=softmax", ['train.attention = "hyla"', "softmax"]),
                               ("task.seed=9", ["task.seed absent, here 9"])):
            self.check(run(*again, "--set", setting), 78, "belongs to another run", "--force",
                       *words)
        # A grid that is changed goes on, over the partial result of the old one.
        self.assertEqual(run(*again, "--set", "sweep.seed=[1,5]", "--dry-run").returncode, 0)
        process = run(*again, "--set", "sweep.seed=[1,5]")
        self.check(process, 0, "resuming at step")
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["partial"], 0)
            self.assertEqual([run.attrs["seed"] for run in file["runs"].values()], [1, 5])
        # A complete one is not touched, nor a partial one whose checkpoints are gone.
        self.check(run(*again, "--set", "sweep.seed=[1,6]"), 73, "--force")
        os.remove(output)
        self.stop(output, lambda names: len(names) == 1)
        shutil.rmtree(output + ".checkpoint")
        self.check(run(*again, "--set", "sweep.seed=[1,5]"), 73, "--force")
        os.remove(output)
        self.stop(output, lambda names: len(names) == 1)
        afresh = run(*again, "--set", "train.layers=2", "--set", "train.steps=20", "--force")
        self.check(afresh, 0)
        self.assertNotIn("resuming", afresh.stderr)
        self.assertFalse(os.path.exists(output + ".checkpoint"))

    def test_a_damaged_checkpoint_is_refused(self):
        output = self.path("out.h5")
        self.stop(output, lambda names: len(names) == 1)
        name, = os.listdir(output + ".checkpoint")
        checkpoint = os.path.join(output + ".checkpoint", name)
        with open(checkpoint, "rb") as file:
            good = file.read()
        place = len(good) // 2
        flipped = good[:place] + bytes([good[place] ^ 1]) + good[place + 1:]
        for bad in (b"", good[:100], good[:place], good[:-1], good + b"x", flipped):
            with open(checkpoint, "wb") as file:
                file.write(bad)
            self.check(run("train", self.tiny, *self.ARGUMENTS, "-o", output), 65, name,
                       "truncated or damaged", "--force")

    def test_a_complete_result_is_not_overwritten(self):
        output = self.path("out.h5")
        self.check(run("train", self.tiny, "-o", output), 0)
        self.check(run("train", self.tiny, "-o", output), 73, "--force")

    def test_a_file_in_the_way_of_the_folder_is_named(self):
        self.write("out.h5.checkpoint", "mine")
        self.check(run("train", self.tiny, "-o", self.path("out.h5")), 73, "out.h5.checkpoint")


if __name__ == "__main__":
    unittest.main()
