"""`mpirun -n R headway train` of runs with micro-batches: all ranks take every step together, to the bits of one process."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py

from mpi_test import ENVIRONMENT, mpirun, process_of_rank, run_ranks
from support import check_equal, names_in, run
from train_support import SMALL_FUZZY_LOGIC, TrainTest, needs_training, small_grid

MICRO_BATCHES = ["--set", "train.micro_batches=4", "--set", "train.attention_dropout=0.1"]
GRID = small_grid(SMALL_FUZZY_LOGIC, "seed = [1, 2]")
LONG = [*MICRO_BATCHES, "--set", "train.steps=300", "--set", "train.eval_every=100", "--set", "train.checkpoint_every=10",
        "--set", "sweep.seed=[1,2]", "--threads", "1"]


@needs_training
class StepsTogether(TrainTest):
    def test_ranks_give_the_bits_of_one_process(self):
        grid = self.write("grid.toml", GRID)
        options = [*MICRO_BATCHES, "--set", "train.micro_batches=2"]
        whole, shared = self.path("whole.h5"), self.path("shared.h5")
        self.check(run("train", grid, *options, "-o", whole), 0)
        self.check(run_ranks(3, "train", grid, *options, "-o", shared), 0, "1 of the 3 ranks have nothing to do")
        check_equal(self, whole, shared)
        self.assertFalse(os.path.exists(shared + ".checkpoint"))

    def test_a_fault_is_told_once(self):
        done = run_ranks(2, "train", self.tiny, "--set", "train.micro_batches=3")
        self.check(done, 78, "train.micro_batches = 3: must divide train.batch = 8")
        self.assertEqual(done.stderr.count("must divide"), 1, done.stderr)

    def start(self, output, count):
        """Ranks that have kept a checkpoint of the second run."""
        process = subprocess.Popen(mpirun(count, "train", self.tiny, *LONG, "-o", output), env=ENVIRONMENT,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        folder = output + ".checkpoint"
        end = time.monotonic() + 400
        while len(names_in(folder, "run_")) < 2:
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end, "nothing is ever kept")
            time.sleep(0.01)
        return process

    def check_goes_on(self, output, count):
        again = run_ranks(count, "train", self.tiny, *LONG, "-o", output)
        self.check(again, 0, "resuming at step", "done before, not trained again")
        check_equal(self, self.undisturbed(), output)
        self.assertFalse(os.path.exists(output + ".checkpoint"))

    kept = None

    def undisturbed(self):
        """What one process makes of it; trained once."""
        if StepsTogether.kept is None:
            StepsTogether.kept = tempfile.TemporaryDirectory()
            self.check(run("train", self.tiny, *LONG, "-o", os.path.join(StepsTogether.kept.name, "whole.h5")), 0)
        return os.path.join(StepsTogether.kept.name, "whole.h5")

    def test_after_a_rank_dies_other_ranks_go_on(self):
        output = self.path("killed.h5")
        process = self.start(output, 2)
        os.kill(process_of_rank(process.pid, 1), signal.SIGKILL)
        _, message = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", message)
        self.check_goes_on(output, 3)

    def test_a_rank_that_is_asked_to_stop_stops_all(self):
        output = self.path("stopped.h5")
        process = self.start(output, 2)
        os.kill(process_of_rank(process.pid, 1), signal.SIGINT)
        _, message = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, message)
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["partial"], 1, message)
            self.assertEqual(file["runs/1"].attrs["outcome"], "interrupted")
        self.check_goes_on(output, 4)


if __name__ == "__main__":
    if os.environ["HEADWAY_HAS_MPI"] != "1" or shutil.which("mpirun") is None:
        print("skipped: no MPI (libopenmpi-dev openmpi-bin)")
        sys.exit(77)
    unittest.main()
