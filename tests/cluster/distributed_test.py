"""`mpirun -n R headway solve` of one problem over all ranks (solve.kernels = "distributed"): the numbers of one process."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import h5py
import numpy as np

from mpi_test import ENVIRONMENT, mpirun, process_of_rank, run_ranks
from support import STUDIES, ProgramTest, names_in, run, write_path_features

DISTRIBUTED = ["--set", "solve.kernels=distributed"]
# Half a minute of points: mpirun waits a while before it tells ranks to stop.
LONG = [os.path.join(STUDIES, "hmm-four-paths.toml"), "--set", "model.widths=[10,12,14,16,18,20,24,28,32,36,40,50]",
        "--set", "solve.optimizer=newton_cg", "--set", "solve.corrections=off",
        "--set", "solve.checkpoint_seconds=0.1", "--threads", "1"]


def relative_error(a, b):
    return np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b))


class OneProblem(ProgramTest):
    def check_file(self, whole, shared, ranks):
        with h5py.File(whole) as alone, h5py.File(shared) as together:
            self.assertEqual(len(alone["points"]), len(together["points"]))
            for name, point in alone["points"].items():
                other = together["points"][name]
                self.assertEqual(other.attrs["kernels"], "distributed")
                self.assertEqual(other.attrs["converged"], 1)
                for layer, u in point["order_parameters"].items():
                    self.assertLess(relative_error(other["order_parameters"][layer], u[()]), 1e-8, (ranks, name))
                for array in ("mean", "variance"):
                    self.assertLess(relative_error(other["predictor"][array], point["predictor"][array][()]), 1e-8,
                                    (ranks, name))
                for field, tolerance in (("action", 1e-10), ("accuracy", 0), ("train_accuracy", 0),
                                         ("log_evidence", 1e-8),
                                         ("smallest_hessian_eigenvalue", 1e-6)):
                    if np.isfinite(point.attrs[field]):
                        self.assertLessEqual(relative_error(other.attrs[field], point.attrs[field]), tolerance,
                                             (ranks, name, field))
                if "order_parameters" in point["corrected"]:
                    for layer, u in point["corrected/order_parameters"].items():
                        self.assertLess(relative_error(other["corrected/order_parameters"][layer], u[()]), 1e-6,
                                        (ranks, name))

    def check_study(self, *study, ranks):
        whole = self.path("whole.h5")
        alone = run("solve", *study, "--set", "solve.kernels=streamed", "-o", whole)
        self.assertEqual(alone.returncode, 0, alone.stderr)
        for count in ranks:
            shared = self.path(f"shared-{count}.h5")
            done = run_ranks(count, "solve", *study, *DISTRIBUTED, "-o", shared)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.count("widths"), alone.stdout.count("widths"))
            self.check_file(whole, shared, count)
            self.assertFalse(os.path.exists(shared + ".checkpoint"))

    def test_examples_of_a_task(self):
        self.check_study(self.study, ranks=(2, 3, 4))
        lent = run("prune", self.path("shared-2.h5"), "--set", "solve.kernels=auto", "-v")
        self.assertEqual(lent.returncode, 0, lent.stderr)
        self.assertIn("its order parameters are used", lent.stderr)

    def test_path_features_of_a_file(self):
        data = self.path("features.h5")
        write_path_features(data)
        self.check_study(data, "--set", "model.widths=[7]", ranks=(5,))  # one of them has no place in the grid

    def test_many_paths(self):
        """From 32 paths on ranks send each other rows of features."""
        data = self.path("many.h5")
        rng = np.random.default_rng(4)
        labels = np.sign(rng.normal(size=70))
        write_path_features(data, heads=(6, 6), **{
            "train/path_features": rng.normal(size=(60, 36, 8)), "train/labels": labels[:60],
            "test/path_features": rng.normal(size=(10, 36, 8)), "test/labels": labels[60:]})
        self.check_study(data, "--set", "model.widths=[20]", "--set", "model.temperature=0.1", "--set", "solve.hessian=off",
                         "--set", "solve.corrections=off", ranks=(4,))


class Refusals(ProgramTest):
    def check_once(self, code, words, *arguments, ranks=3):
        done = run_ranks(ranks, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count(words), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_every_fault_is_told_once(self):
        self.check_once(64, "--shard: cannot be used with", "solve", self.study, *DISTRIBUTED, "--shard", "0/2")
        self.check_once(78, "mpirun -n R headway solve", "sample", self.study, *DISTRIBUTED)
        self.check_once(78, "not positive definite", "solve", self.study, *DISTRIBUTED, "--set", "model.temperature=0",
                        "--set", "task.train_examples=40")
        existing = self.write("existing.h5", "")
        self.check_once(73, existing, "solve", self.study, *DISTRIBUTED, "-o", existing)
        classes = self.path("classes.h5")
        write_path_features(classes, **{"train/labels": np.eye(3)[np.arange(12) % 3],
                                        "test/labels": np.eye(3)[np.arange(7) % 3]})
        self.check_once(78, "needs one output, but the data have 3", "solve", classes, *DISTRIBUTED)

    def test_a_plan_counts_what_a_rank_has(self):
        plans = [json.loads(run_ranks(count, "solve", self.study, *DISTRIBUTED, "--dry-run", "--json").stdout)
                 for count in (2, 4)]
        for plan in plans:
            self.assertEqual(plan["kernels"], "distributed")
        self.assertGreater(plans[0]["evaluation_flops"], plans[1]["evaluation_flops"])
        self.assertGreater(plans[0]["feature_bytes"], plans[1]["feature_bytes"])


class Interruptions(ProgramTest):
    def setUp(self):
        super().setUp()
        self.output = self.path("solved.h5")

    def start(self, **environment):
        """Two ranks in the middle of a point."""
        # A test that was started in the background ignores Ctrl-C, and so would mpirun.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        process = subprocess.Popen(mpirun(2, "solve", *LONG, *DISTRIBUTED, "-o", self.output),
                                   env={**ENVIRONMENT, **environment}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + 120
        while len(self.points_kept()) < 2:
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end, "nothing is ever kept")
            time.sleep(0.02)
        return process

    def points_kept(self):
        """The files of points; a file that is being written beside them has another name."""
        return names_in(self.output + ".checkpoint", "point_")

    def test_after_ctrl_c_any_number_of_ranks_goes_on(self):
        process = self.start(OMPI_MCA_odls_base_sigkill_timeout="2")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        with h5py.File(self.output) as file:
            self.assertEqual(file.attrs["partial"], 1)
            self.assertIn(len(file["points"]), range(1, 12))
        self.check_goes_on()

    def test_a_rank_that_dies_leaves_its_points(self):
        process = self.start()
        os.kill(process_of_rank(process.pid, 1), signal.SIGKILL)
        _, message = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", message)
        self.assertGreater(len(self.points_kept()), 1)  # for the same command to go on from

    def check_goes_on(self):
        """With another number of ranks, and not from the start."""
        again = run_ranks(3, "solve", *LONG, *DISTRIBUTED, "-o", self.output)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("resuming", again.stderr)
        whole = self.path("whole.h5")
        run("solve", *LONG, "-o", whole)
        with h5py.File(whole) as alone, h5py.File(self.output) as together:
            self.assertEqual(len(together["points"]), 12)
            for name, point in alone["points"].items():
                u = point["order_parameters/layer_1"][()]
                self.assertLess(relative_error(together["points"][name]["order_parameters/layer_1"], u), 1e-8)


class WithoutScalapack(ProgramTest):
    def test_a_build_without_it_says_so(self):
        done = run_ranks(2, "solve", self.study, *DISTRIBUTED)
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertEqual(done.stderr.count("libscalapack-openmpi-dev"), 1, done.stderr)


class OneProcess(ProgramTest):
    def test_one_process_is_told_what_it_may_take(self):
        done = run("solve", self.study, *DISTRIBUTED)
        self.check(done, 78, 'solve.kernels = "distributed"', "mpirun -n R headway solve", '"streamed"')


if __name__ == "__main__":
    HAS = {name: os.environ[f"HEADWAY_HAS_{name}"] == "1" for name in ("MPI", "SCALAPACK")}
    if HAS["MPI"] and HAS["SCALAPACK"] and shutil.which("mpirun") is not None:
        del WithoutScalapack
        unittest.main()
    WITHOUT = HAS["MPI"] and not HAS["SCALAPACK"] and shutil.which("mpirun") is not None
    tried = unittest.main(argv=[sys.argv[0], "OneProcess", *(["WithoutScalapack"] if WITHOUT else [])], exit=False)
    print("skipped: this build or machine has no MPI or no ScaLAPACK (openmpi-bin, libscalapack-openmpi-dev)")
    sys.exit(77 if tried.result.wasSuccessful() else 1)
