"""`mpirun -n R python3 script.py`: headway.solve, sample, train and gram share their work, and every rank has the whole result."""

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import unittest

import h5py
import numpy as np

from mpi_test import ENVIRONMENT, GRID
from support import ProgramTest, check_equal, names_in
from train_support import needs_training

SWEEP = {"widths": [5, 10, 20], "temperature": [0.1, 1.0]}
DRAWS = {"widths": [4, 8], "draws": 40, "warmup": 60, "chains": 3, "predictor_draws": 10}
PREAMBLE = """import sys, warnings, numpy as np, headway
warnings.simplefilter("ignore")
def print(*words):  # a line in one piece: mpirun mixes those of its processes
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()
"""
COMPUTE = """
result = headway.{verb}({study!r}, **{settings!r})
result.save(f"{folder}/{{headway.rank()}}.h5", overwrite=True)
"""


def python(ranks, code, arguments=()):
    """The code on so many ranks; none: in one process."""
    script = PREAMBLE + textwrap.dedent(code)
    launcher = ["mpirun", "--oversubscribe", "-n", str(ranks)] if ranks else []
    return subprocess.run([*launcher, sys.executable, "-B", "-c", script, *arguments], env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, timeout=300)


class EveryRankHasIt(ProgramTest):
    def check_verb(self, verb, study, settings, ranks=(2, 4)):
        code = COMPUTE.format(verb=verb, study=study, settings=settings, folder=self.directory)
        self.check(python(None, code), 0)
        alone = self.path("alone.h5")
        os.rename(self.path("0.h5"), alone)
        for count in ranks:
            self.check(python(count, code), 0)
            for rank in range(count):
                check_equal(self, alone, self.path(f"{rank}.h5"))
                with h5py.File(self.path("0.h5")) as first, h5py.File(self.path(f"{rank}.h5")) as other:
                    for name in set(first.attrs) - {"text_sha256"}:  # times, too: it is one result
                        self.assertTrue(np.array_equal(first.attrs[name], other.attrs[name]), f"rank {rank} of {count}: {name}")
        self.assertEqual([name for name in os.listdir(self.directory) if name.endswith(".checkpoint")], [])

    def test_solve(self):
        self.check_verb("solve", self.study, SWEEP)

    def test_sample(self):
        self.check_verb("sample", self.study, DRAWS)

    def test_sample_with_an_output_shares_chains(self):
        """The file is there on every rank when the call returns."""
        self.check_verb("sample", self.study, {**DRAWS, "output": self.path("draws.h5"), "overwrite": True})
        self.assertTrue(os.path.exists(self.path("draws.h5")))

    @needs_training
    def test_train(self):
        self.check_verb("train", self.write("grid.toml", GRID), {}, ranks=(2,))

    @needs_training
    def test_train_with_micro_batches(self):
        """All ranks take every step together."""
        self.check_verb("train", self.write("grid.toml", GRID), {"micro_batches": 2}, ranks=(2,))

    def test_gram(self):
        """Each rank reads its share of the examples. The file is there on every rank when the call returns."""
        code = f"""
            import os
            rng = np.random.default_rng(1)
            files = [f"{self.directory}/{{part}}.h5" for part in "ab"]
            if not os.path.exists(files[0]):
                for size, file in zip((60, 71), files):
                    headway.write_dataset(file, train_path_features=rng.standard_normal((size, 4, 5)),
                                          train_labels=rng.standard_normal(size), heads=[2, 2], dtype="float64")
            made = headway.gram(files, sys.argv[1], threads=1)
            print("G", os.path.exists(made), len(headway.solve(made, widths=[10], shard=(0, 1)).points))
            try:
                headway.gram(files, sys.argv[1])
            except headway.CannotWriteError:
                print("W")"""
        alone, shared = self.path("alone.h5"), self.path("shared.h5")
        self.check(python(None, code, arguments=[alone]), 0)
        done = python(3, code, arguments=[shared])
        self.check(done, 0)
        self.assertEqual(done.stdout.count("G True 1"), 3, done.stdout)
        self.assertEqual(done.stdout.count("W\n"), 3, done.stdout + done.stderr)
        check_equal(self, alone, shared)

    def test_one_problem_over_all_ranks(self):
        if os.environ.get("HEADWAY_HAS_SCALAPACK") != "1":
            self.skipTest("no ScaLAPACK")
        done = python(2, f"""
            result = headway.solve({self.study!r}, widths=[10], kernels="distributed")
            print("U", result.points[0].order_parameters[0].tobytes().hex())""")
        self.check(done, 0)
        found = [line for line in done.stdout.splitlines() if line.startswith("U ")]
        self.assertEqual((len(found), len(set(found))), (2, 1), done.stdout)

    def test_arrays_and_what_goes_on_from_a_result(self):
        done = python(3, """
            rng = np.random.default_rng(1)
            xi, y = rng.standard_normal((12, 4, 5)), np.resize([1.0, -1.0], 12)
            solved = headway.solve(features=xi, labels=y, heads=[2, 2], widths=[10, 20], temperature=[0.1, 1.0])
            stages = []
            aligned = headway.align(solved, progress=lambda stage, *_: stages.append(stage))
            drawn = headway.sample(solved, draws=20, warmup=20, chains=2)
            assert "solve" not in stages and len(aligned.points) == len(drawn.points) == 4
            print("S", [point.action for point in aligned.points + drawn.points])""")
        self.check(done, 0)
        found = [line for line in done.stdout.splitlines() if line.startswith("S ")]
        self.assertEqual((len(found), len(set(found))), (3, 1), done.stdout)

    def test_a_part_for_each_rank_and_a_plan(self):
        done = python(2, f"""
            part = headway.solve({self.study!r}, **{SWEEP!r}, shard=(headway.rank(), 2))
            plan = headway.solve({self.study!r}, dry_run=True)
            print("P", part.provenance["shard"], len(part.points), plan["verb"])""")
        self.check(done, 0)
        found = sorted(line for line in done.stdout.splitlines() if line.startswith("P "))
        self.assertEqual(found, ["P 0/2 3 solve", "P 1/2 3 solve"], done.stdout)


    def test_what_another_package_started_is_used_and_left_to_it(self):
        """As mpi4py does: MPI_Init_thread before, MPI_Finalize at the end."""
        done = python(2, f"""
            import atexit, ctypes
            try:
                mpi = ctypes.CDLL("libmpi.so.40", mode=ctypes.RTLD_GLOBAL)
            except OSError:
                print("no library of that name")
                sys.exit()
            mpi.MPI_Init_thread(None, None, 3, ctypes.byref(ctypes.c_int()))
            atexit.register(lambda: print("F", mpi.MPI_Finalize()))
            print("M", len(headway.solve({self.study!r}, **{SWEEP!r}).points))""")
        self.check(done, 0)
        if "no library" in done.stdout:
            self.skipTest("another MPI")
        self.assertEqual((done.stdout.count("M 6"), done.stdout.count("F 0")), (2, 2), done.stdout)

    def test_ctrl_c_is_raised_on_every_rank_with_what_there_is(self):
        output = self.path("stopped.h5")
        script = f"""if True:
            import warnings, headway
            warnings.simplefilter("ignore")
            try:
                headway.sample("hmm-four-paths", widths=list(range(10, 210, 5)), draws=600, warmup=200, chains=2, predictor_draws=20,
                               checkpoint_seconds=0.2, output={output!r})
            except headway.Interrupted as stop:
                print("I", stop.result.partial, len(stop.result.points) < 40, flush=True)"""
        # mpirun waits for so many seconds before it tells ranks to stop. All widths together take ten times as long.
        process = subprocess.Popen(["mpirun", "--oversubscribe", "-n", "2", sys.executable, "-B", "-c", script],
                                   env={**ENVIRONMENT, "OMPI_MCA_odls_base_sigkill_timeout": "5"}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        end = time.monotonic() + 120
        folder = output + ".checkpoint"
        while not names_in(folder, "part_"):
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end, "nothing is ever finished")
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        said, message = process.communicate(timeout=120)
        self.assertEqual(said.count("I True True"), 2, said + message)
        self.assertTrue(os.path.exists(output))


class Refusals(ProgramTest):
    def check_caught(self, call, error, words, ranks=3):
        """Every rank gets the error of the first, and goes on."""
        done = python(ranks, f"""
            try:
                {call}
            except headway.{error} as error:
                assert {words!r} in str(error), error
            print("R", len(headway.solve({self.study!r}, widths=[10]).points))""")
        self.check(done, 0)
        self.assertEqual(done.stdout.count("R 1"), ranks, done.stdout)

    def test_an_error_is_raised_on_every_rank(self):
        self.check_caught(f"headway.solve({self.study!r}, widths=[-3])", "BadStudyError", "widths")
        existing = self.write("existing.h5", "")
        self.check_caught(f"headway.solve({self.study!r}, output={existing!r})", "CannotWriteError", "overwrite=True")

    def test_different_calls_are_refused(self):
        words = "computes something else than rank 0"
        self.check_caught(f"headway.solve({self.study!r}, widths=[10 + headway.rank()])", "UsageError", words)
        self.check_caught("headway.solve(features=np.eye(6).reshape(3, 2, 6) + headway.rank(), labels=[1, -1, 1], heads=[1, 2], "
                          "widths=[3], temperature=1)", "UsageError", words)

    def test_an_exception_on_one_rank_ends_all(self):
        done = python(3, f"""
            if headway.rank() == 1:
                raise ValueError("of one rank")
            headway.solve({self.study!r}, widths=[10])""")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("of one rank", done.stderr)

    def test_another_thread_is_refused(self):
        done = python(2, f"""
            import threading
            def call():
                try:
                    headway.solve({self.study!r}, widths=[10])
                except headway.UsageError as error:
                    print("T", error)
            thread = threading.Thread(target=call)
            thread.start()
            thread.join()""")
        self.check(done, 0)
        self.assertEqual(done.stdout.count("can be called from the main thread alone"), 2, done.stdout)


if __name__ == "__main__":
    if os.environ["HEADWAY_HAS_MPI"] != "1" or shutil.which("mpirun") is None:
        print("skipped: no MPI (libopenmpi-dev openmpi-bin)")
        sys.exit(77)
    if importlib.util.find_spec("headway._native") is None:
        print("skipped: the extension module headway._native is not built")
        sys.exit(77)
    unittest.main()
