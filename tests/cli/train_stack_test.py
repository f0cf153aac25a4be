"""`headway train --jobs` on a GPU trains the seeds of a sweep as one stack. Here the whole way is tested: the program, its
schedule, trainers in threads, the step of all, checkpoints, the result. Only the device is the emulator's: the program loads
emulated_torch.cpp in place of its library of LibTorch."""

import json
import os
import shutil
import signal
import subprocess
import time
import unittest

import h5py

from support import PROGRAM, names_in
from train_support import SMALL_MODEL, TrainTest, content, needs_training

PLUGIN = os.environ.get("HEADWAY_EMULATED_TORCH", "")

# LibTorch's operations evaluate, as on a GPU.
STUDY = f"""name = "stack"
[task]
kind = "fuzzy_logic"
sequence_length = 5
held_out = 0.5
[train]
attention = "hyla"
eager = true
device = "cpu"
{SMALL_MODEL}attention_dropout = 0.2
steps = 6
batch = 3
learning_rate = 0.01
warmup_steps = 1
log_every = 2
eval_every = 2
eval_examples = 8
checkpoint_every = 2
[sweep]
seed = [1, 2, 3]
"""
TWO_FIT = "9e4"  # bytes: a run takes some 40 KB
LONG = ["--set", "train.steps=120", "--set", "train.eval_every=40", "--set", "train.checkpoint_every=4"]


@needs_training
@unittest.skipUnless(PLUGIN, "this build has no LibTorch")
class Stacks(TrainTest):
    def setUp(self):
        super().setUp()
        self.study = self.write("stack.toml", STUDY)
        self.log = self.path("log")
        for folder in ("bin", "lib/headway"):
            os.makedirs(self.path(folder))
        self.program = self.path("bin/headway")
        shutil.copy(PROGRAM, self.program)  # what it is called by decides where it looks for its libraries
        os.symlink(PLUGIN, self.path("lib/headway/headway_torch.so"))

    def command(self, output, jobs, arguments=()):
        return [self.program, "train", self.study, "-o", self.path(output), "--threads", "1", "--jobs", str(jobs), *arguments]

    def environment(self, **more):
        return {**os.environ, "HEADWAY_TEST_LOG": self.log, **more}

    def train(self, output, jobs, arguments=(), code=0, **more):
        """Trains; returns the runs of the result, and how the library was asked to train them."""
        if os.path.exists(self.log):
            os.remove(self.log)
        done = subprocess.run(self.command(output, jobs, arguments), capture_output=True, text=True, check=False, timeout=250,
                              env=self.environment(**more))
        self.check(done, code)
        self.told = done.stderr
        with open(self.log, encoding="utf-8") as log:
            return content(self.path(output)), log.read().split("\n")[:-1]

    def test_seeds_of_a_stack_have_the_bits_of_runs_alone(self):
        alone, how = self.train("alone.h5", 1)
        self.assertEqual(how, ["alone"] * 3)
        stacked, how = self.train("stacked.h5", 3)
        self.assertEqual(how, ["stack 3"])
        self.check_same(stacked, alone)
        with h5py.File(self.path("stacked.h5")) as file:
            runs = [file[f"runs/{i}"] for i in range(3)]
            self.assertEqual([run.attrs["seed"] for run in runs], [1, 2, 3])
            self.assertEqual([run.attrs["outcome"] for run in runs], ["finished"] * 3)
        # Runs differ, in what they were trained on and in every evaluation: a run that had another's numbers would be seen.
        curves = [name for name in alone if name.startswith("0/curves/") and "@" not in name]
        self.assertEqual({name.rsplit("/", 1)[1] for name in curves}, {"train", "validation", "held_out", "unknown_terms"})
        for name in curves:
            self.assertNotEqual(alone[name], alone["1/" + name[2:]], name)

    def test_a_run_that_diverges_harms_no_other(self):
        sweep = ["--set", "sweep.seed=[1,2]", "--set", "sweep.train.learning_rate=[0.01, 900]", "--set", "train.steps=20"]
        stacked, how = self.train("stacked.h5", 4, sweep, code=2)
        self.assertEqual(how, ["stack 4"])
        alone, _ = self.train("alone.h5", 1, sweep, code=2)
        self.check_same(stacked, alone)
        with h5py.File(self.path("stacked.h5")) as file:
            outcomes = [file[f"runs/{i}"].attrs["outcome"] for i in range(4)]
        self.assertEqual(outcomes, ["finished", "diverged"] * 2)

    def stop(self, output, jobs, when, **more):
        """Sends SIGTERM when `when(checkpoints of runs)` is true."""
        folder = self.path(output) + ".checkpoint"
        with subprocess.Popen(self.command(output, jobs, LONG), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment(**more)) as process:
            limit = time.monotonic() + 200
            while process.poll() is None and time.monotonic() < limit:
                if when(names_in(folder, "run_")):
                    break
                time.sleep(0.01)
            self.assertIsNone(process.poll(), "too quick to be interrupted")
            process.send_signal(signal.SIGTERM)
            _, stderr = process.communicate(timeout=100)
        self.assertEqual(process.returncode, 130, stderr)

    def test_a_stack_that_was_stopped_goes_on_to_the_same_bits(self):
        whole, _ = self.train("whole.h5", 1, LONG)
        self.stop("parts.h5", 3, lambda names: len(names) == 3)  # each run has a checkpoint of its own
        with h5py.File(self.path("parts.h5")) as file:
            self.assertEqual([run.attrs["outcome"] for run in file["runs"].values()], ["interrupted"] * 3)
        stacked, how = self.train("parts.h5", 3, LONG)
        self.assertEqual(how, ["stack 3"])
        self.check_same(stacked, whole)

    def test_a_sweep_of_several_stacks_that_was_stopped_goes_on_to_the_same_bits(self):
        whole, _ = self.train("whole.h5", 1, LONG)
        self.stop("parts.h5", 3, lambda names: len(names) == 2, HEADWAY_TEST_MEMORY=TWO_FIT)
        with h5py.File(self.path("parts.h5")) as file:  # the third run was never begun
            self.assertEqual([run.attrs["outcome"] for run in file["runs"].values()], ["interrupted"] * 2)
        stacked, how = self.train("parts.h5", 3, LONG, HEADWAY_TEST_MEMORY=TWO_FIT)
        self.assertEqual(how, ["stack 2", "alone"])
        self.check_same(stacked, whole)

    def test_networks_that_the_step_does_not_serve_are_trained_alone(self):
        deep = ["--set", "train.layers=41", "--set", "train.steps=3"]  # one more than a list of launches has room for
        alone, _ = self.train("alone.h5", 1, deep)
        several, how = self.train("several.h5", 3, deep, HEADWAY_TEST_MEMORY="1")
        self.assertEqual(how, ["alone"] * 3)
        self.check_same(several, alone)

    def test_a_stack_goes_on_where_runs_alone_were_stopped(self):
        whole, _ = self.train("whole.h5", 1, LONG)
        self.stop("parts.h5", 1, lambda names: len(names) == 2)  # the first run is done, the second one is not
        stacked, how = self.train("parts.h5", 3, LONG)
        self.assertEqual(how, ["stack 3"])
        self.check_same(stacked, whole)

    def test_runs_that_the_memory_does_not_hold_wait_for_the_next_stack(self):
        alone, _ = self.train("alone.h5", 1, ["--set", "sweep.seed=[1,2,3,4,5]"])
        # None fits, so that each is trained by itself; two fit; all do.
        for memory, expected in (("1", ["alone"] * 5), (TWO_FIT, ["stack 2", "stack 2", "alone"]), ("1e9", ["stack 5"])):
            with self.subTest(memory=memory):
                stacked, how = self.train(f"{memory}.h5", 5, ["-v", "--set", "sweep.seed=[1,2,3,4,5]"], HEADWAY_TEST_MEMORY=memory)
                self.assertEqual(how, expected)
                self.check_same(stacked, alone)
                self.assertEqual("holds 2 of 5 runs at once: they are trained in 3 parts" in self.told, memory == TWO_FIT, self.told)

    def test_stacks_of_different_shapes_have_the_bits_of_runs_alone(self):
        sweep = ["--set", "sweep.seed=[1,2]", "--set", 'sweep.train.attention=["hyla","softmax"]']
        alone, how = self.train("alone.h5", 1, sweep)
        self.assertEqual(how, ["alone"] * 4)
        stacked, how = self.train("stacked.h5", 4, sweep)
        self.assertEqual(how, ["stack 2"] * 2)
        self.check_same(stacked, alone)

    def side_by_side(self, output, arguments, **more):
        """Whether every kind of attention has begun before one has ended."""
        done = subprocess.run(self.command(output, 4, [*LONG, *arguments, "--json"]), capture_output=True, text=True, check=False,
                              timeout=250, env=self.environment(**more))
        self.check(done, 0)
        kinds = [record["variant"] for record in map(json.loads, done.stdout.splitlines()) if record.get("split") == "train"]
        self.assertEqual(set(kinds), {"hyla", "softmax"})
        begun = {kind: kinds.index(kind) for kind in set(kinds)}
        ended = {kind: len(kinds) - 1 - kinds[::-1].index(kind) for kind in set(kinds)}
        return max(begun.values()) < min(ended.values())

    def test_stacks_and_single_runs_of_different_shapes_are_trained_side_by_side(self):
        shapes = ["--set", 'sweep.train.attention=["hyla","softmax"]', "--set"]
        self.assertTrue(self.side_by_side("stacks.h5", [*shapes, "sweep.seed=[1,2]"]))
        self.assertTrue(self.side_by_side("singles.h5", [*shapes, "sweep.seed=[1]"]))
        # Where the memory holds two runs, the second stack of two waits for the first.
        self.assertFalse(self.side_by_side("waits.h5", [*shapes, "sweep.seed=[1,2]"], HEADWAY_TEST_MEMORY=TWO_FIT))


if __name__ == "__main__":
    unittest.main()
