"""`mpirun -n R headway solve|sample|train|gram`: the bits of one process, whatever R is and whoever dies."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy as np

from support import PROGRAM, STUDIES, ProgramTest, check_equal, names_in, run, write_many, write_path_features
from train_support import SMALL_FUZZY_LOGIC, needs_training, small_grid

RANKS = (2, 3, 7)
SWEEP = ["--set", "model.widths=[5,10,20,40,80]", "--set", "model.temperature=[0.1,1]"]
DRAWS = ["--set", "model.widths=[4,8,16]", "--set", "sample.draws=40", "--set", "sample.warmup=60",
         "--set", "sample.chains=2", "--set", "sample.predictor_draws=10"]
# Six points of two seconds each: mpirun waits a while before it tells ranks to stop.
LONG = [os.path.join(STUDIES, "hmm-four-paths.toml"), "--set", "model.widths=[10,20,30,40,50,60]",
        "--set", "sample.draws=500", "--set", "sample.warmup=300", "--set", "sample.chains=2",
        "--set", "sample.predictor_draws=20", "--set", "sample.checkpoint_seconds=0.2"]
GRID = small_grid(SMALL_FUZZY_LOGIC, "seed = [1, 2, 3]")
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_plm_rsh_agent": "sh"}  # there is one machine

# mpirun waits for this time before it tells ranks to stop, and again before it kills them. Its default of a second is too
# short on a machine that runs other tests.
PATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": "2"}


def mpirun(ranks, *arguments):
    return ["mpirun", "--oversubscribe", "-n", str(ranks), PROGRAM, *map(str, arguments)]


def run_ranks(ranks, *arguments, **environment):
    return subprocess.run(mpirun(ranks, *arguments), env={**ENVIRONMENT, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", check=False, timeout=300)


def process_of_rank(parent, rank):
    """The number of the process with this rank that mpirun started."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) != parent:
                    continue
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"OMPI_COMM_WORLD_RANK={rank}".encode() in file.read().split(b"\0"):
                    return int(name)
        except OSError:
            continue
    raise LookupError(f"no process of rank {rank}")


def processor_seconds(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        user, system = file.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def start_ranks(ranks, *arguments, **environment):
    # A test that was started in the background ignores Ctrl-C, and so would mpirun.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(mpirun(ranks, *arguments), env={**ENVIRONMENT, **environment}, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class SameBits(ProgramTest):
    def check_verb(self, verb, study, *options, ranks=RANKS):
        whole = self.path("whole.h5")
        alone = run(verb, study, *options, "-o", whole)
        self.assertIn(alone.returncode, (0, 2), alone.stderr)
        for count in ranks:
            shared = self.path(f"shared-{count}.h5")
            done = run_ranks(count, verb, study, *options, "-o", shared)
            self.assertEqual(done.returncode, alone.returncode, done.stderr)
            check_equal(self, whole, shared)
            self.assertFalse(os.path.exists(shared + ".checkpoint"))

    def test_solve(self):
        self.check_verb("solve", self.study, *SWEEP)

    def test_sample(self):
        self.check_verb("sample", self.study, *DRAWS)

    def test_chains_together(self):
        """A rank with two threads runs two of three chains at once."""
        self.check_verb("sample", self.study, *DRAWS, "--set", "model.widths=[4]", "--set", "sample.chains=3",
                        "--threads", 2, ranks=(3,))

    def test_learned_attention(self):
        """Replicas of chains on several ranks, and parts of the study."""
        inputs = np.random.default_rng(1).normal(size=(6, 3, 2))
        data = self.path("learned.h5")
        with h5py.File(data, "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
            file["train/inputs"], file["train/labels"] = inputs, np.sign(inputs[:, 0, 0])
        self.check_verb("sample", data, "--set", "model.attention_prior.heads=[2]", "--set", "model.widths=[4,8]", "--set",
                        "model.temperature=0.2", "--set", "sample.chains=2", "--set", "sample.warmup=20", "--set",
                        "sample.draws=10", "--set", "sample.replicas=3", "--set", "solve.attention_starts=2", ranks=(2,))

    @needs_training
    def test_train(self):
        self.check_verb("train", self.write("grid.toml", GRID), ranks=(2, 7))

    def test_gram(self):
        first, second = self.path("a.h5"), self.path("b.h5")
        write_many(first, 3000, 1)
        write_many(second, 2500, 2)
        self.check_verb("gram", first, second)  # six leaves: of seven ranks one has none

    def test_one_rank_prints_and_nothing_is_left_without_an_output(self):
        """The folder of temporary files is the test's own: other tests fill /tmp meanwhile."""
        temporary = self.path("temporary")
        os.mkdir(temporary)
        shared = run_ranks(3, "solve", self.study, *SWEEP, "--json", TMPDIR=temporary)
        self.assertEqual(shared.returncode, 0, shared.stderr)
        alone = json.loads(run("solve", self.study, *SWEEP, "--json").stdout)
        shared = json.loads(shared.stdout)
        for result in (alone, shared):
            for name in ("seconds", "threads"):
                result.pop(name)
            for point in result["points"]:
                point.pop("seconds")
        self.assertEqual(alone, shared)
        self.assertEqual([name for name in os.listdir(temporary) if name.startswith("headway-")], [])


class Refusals(ProgramTest):
    def check_once(self, code, words, *arguments):
        done = run_ranks(3, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count(words), 1, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_every_fault_is_told_once(self):
        self.check_once(64, "can share the work of solve, sample, train and gram only", "align", self.study)
        self.check_once(64, "--shard: cannot be used on several ranks", "solve", self.study, "--shard", "0/2")
        self.check_once(64, "no such verb", "slove", self.study)
        self.check_once(66, "none.toml", "solve", self.path("none.toml"))
        self.check_once(78, "unknown key", "solve", self.study, "--set", "model.widht=3")
        existing = self.write("existing.h5", "")
        self.check_once(73, existing, "solve", self.study, "-o", existing)

    def test_a_fault_in_the_examples_of_one_rank_is_told_once(self):
        data = self.path("d.h5")
        features = np.random.default_rng(1).normal(size=(3000, 2, 5))
        features[2900, 1, 3] = np.nan
        write_path_features(data, **{"train/path_features": features, "train/labels": np.ones(3000)})
        self.check_once(65, "train/path_features[2900, 1, 3]: nan", "gram", data, "-o", self.path("g.h5"))
        self.assertFalse(os.path.exists(self.path("g.h5")))

    def test_a_plan_and_a_description_are_printed_once(self):
        for arguments in (("solve", self.study, "--dry-run"), ("inspect", self.study), ("solve", "--help")):
            alone = run(*arguments).stdout
            self.assertEqual(run_ranks(2, *arguments).stdout, alone, arguments)


class Interruptions(ProgramTest):
    @classmethod
    def setUpClass(cls):
        """What comes out undisturbed, of one process."""
        directory = tempfile.TemporaryDirectory(prefix="headway-cli-")
        cls.addClassCleanup(directory.cleanup)
        cls.undisturbed = os.path.join(directory.name, "whole.h5")
        run("sample", *LONG, "-o", cls.undisturbed, timeout=300)

    def setUp(self):
        super().setUp()
        self.output = self.path("draws.h5")

    def start(self, ranks, what, options=(), count=1, **environment):
        """Ranks in the middle of their work: `count` files of it are kept."""
        process = start_ranks(ranks, "sample", *LONG, *options, "-o", self.output, **environment)
        self.addCleanup(process.kill)
        end = time.monotonic() + 120
        while len(self.kept(what)) < count:
            self.assertIsNone(process.poll(), "it ended too early")
            self.assertLess(time.monotonic(), end, "nothing is ever finished")
            time.sleep(0.02)
        return process

    def kept(self, what):
        return names_in(self.output + ".checkpoint", what)

    def kill_one(self, process):
        os.kill(process_of_rank(process.pid, 1), signal.SIGKILL)
        _, message = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", message)

    def check_partial(self):
        with h5py.File(self.output) as file:
            self.assertEqual(file.attrs["partial"], 1)
            self.assertIn(len(file["points"]), range(1, 6))

    def check_goes_on(self):
        kept = len(self.kept("part_"))
        self.assertGreater(kept, 0)
        again = run_ranks(2, "sample", *LONG, "-o", self.output)
        self.assertIn(again.returncode, (0, 2), again.stderr)
        self.assertIn(f"{kept} of 6 points are done already", again.stderr)
        check_equal(self, self.undisturbed, self.output)
        self.assertFalse(os.path.exists(self.output + ".checkpoint"))

    def test_after_a_rank_dies_other_ranks_go_on(self):
        process = self.start(3, "part_")
        self.kill_one(process)
        if os.path.exists(self.output):  # the others were told to stop, and the first could still write
            self.check_partial()
        self.check_goes_on()

    def test_after_ctrl_c_other_ranks_go_on(self):
        process = self.start(3, "part_", **PATIENT)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.check_partial()
        self.check_goes_on()

    def test_chains_of_one_point_go_on_where_ranks_left_them(self):
        """Also in one process."""
        one = ["--set", "model.widths=[10]"]
        process = self.start(2, "point_0_chain_", one, count=2)
        self.kill_one(process)
        self.assertEqual(self.kept("part_"), [])
        self.assertEqual(len(self.kept("point_0_chain_")), 2)
        again = run("sample", *LONG, *one, "-o", self.output)
        self.assertIn(again.returncode, (0, 2), again.stderr)
        self.assertIn("resuming from 2 checkpoints", again.stderr)
        with h5py.File(self.output) as found, h5py.File(self.undisturbed) as whole:
            np.testing.assert_array_equal(found["points/0/draws/layer_1"], whole["points/0/draws/layer_1"])
            np.testing.assert_array_equal(found["points/0/predictor/mean"], whole["points/0/predictor/mean"])
            self.assertEqual(found["points/0"].attrs["log_evidence"], whole["points/0"].attrs["log_evidence"])


class InterruptedSums(ProgramTest):
    """gram: sums of some of the examples are no result."""

    def start(self, **environment):
        """Three ranks in the middle of seconds of work."""
        data = self.path("d.h5")
        rng = np.random.default_rng(1)
        write_path_features(data, **{"train/path_features": rng.normal(size=(4096, 2, 512)).astype(np.float32),
                                     "train/labels": np.sign(rng.normal(size=4096)),
                                     "test/path_features": rng.normal(size=(7, 2, 512))})
        process = start_ranks(3, "gram", *[data] * 64, "--threads", 1, "-o", self.path("g.h5"), **environment)
        self.addCleanup(process.kill)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            self.assertIsNone(process.poll(), "it ended too early")
            try:
                rank = process_of_rank(process.pid, 1)
                if processor_seconds(rank) > 0.7:
                    return process, rank
            except (LookupError, OSError):
                pass
            time.sleep(0.02)
        self.fail("it never begins")

    def test_a_rank_that_dies_leaves_no_result(self):
        process, rank = self.start()
        os.kill(rank, signal.SIGKILL)
        _, message = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("rank 1", message)
        self.assertEqual(sorted(os.listdir(self.directory)), ["d.h5", "small.toml"])

    def test_ctrl_c_leaves_no_result(self):
        process, _ = self.start(**PATIENT)
        process.send_signal(signal.SIGINT)
        _, message = process.communicate(timeout=120)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(message.count("gram: stopped by the user; nothing is written"), 1, message)
        self.assertEqual(sorted(os.listdir(self.directory)), ["d.h5", "small.toml"])


class WithoutMpi(ProgramTest):
    def test_a_build_without_it_says_so(self):
        done = run("solve", self.study, env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2"})
        self.check(done, 69, "no MPI", "libopenmpi-dev", "--shard")


if __name__ == "__main__":
    if os.environ["HEADWAY_HAS_MPI"] != "1":
        tried = unittest.main(argv=[sys.argv[0], "WithoutMpi"], exit=False)
        print("skipped: this build has no MPI (libopenmpi-dev)")
        sys.exit(77 if tried.result.wasSuccessful() else 1)
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun (openmpi-bin)")
        sys.exit(77)
    del WithoutMpi
    unittest.main()
