"""A machine that fails: full disk, no memory, folders that cannot be written, two processes on one output."""

import datetime
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

from support import (PROGRAM, SMALL, STUDIES, ProgramTest, bound_by_permissions, check_equal, content, names_in, run,
                     write_path_features)
from train_support import TINY, needs_training

FOUR_PATHS = os.path.join(STUDIES, "hmm-four-paths.toml")
# OpenBLAS takes a buffer for every thread that the machine offers. With these, a limit means the same on every machine.
TWO_CORES = {**os.environ, "OMP_NUM_THREADS": "2"}


def limited(which, value):
    """A function for the child to call before it starts the program: it sets the limit."""
    return lambda: resource.setrlimit(which, (value, value))


class FullDisk(ProgramTest):
    def test_no_verb_leaves_a_part_of_a_file(self):
        """With RLIMIT_FSIZE writing stops in the middle, as on a full disk, but with EFBIG."""
        parts = [self.path(f"part-{i}.h5") for i in range(2)]
        for i, part in enumerate(parts):
            self.check(run("solve", self.study, "--shard", f"{i}/2", "-o", part, "-q"), 0)
        before = sorted(os.listdir(self.directory))
        for arguments in (["solve", self.study], ["align", self.study], ["prune", self.study],
                          ["sample", self.study, "--set", "sample.draws=20", "--set", "sample.warmup=20"],
                          ["merge", *parts]):
            with self.subTest(verb=arguments[0]):
                process = run(*arguments, "-o", self.path("out.h5"),
                              preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
                self.check(process, 73, "out.h5", "cannot be written", prints=True)
                self.assertEqual([name for name in sorted(os.listdir(self.directory))
                                  if ".checkpoint" not in name], before)

    def test_an_old_result_survives(self):
        output = self.path("out.h5")
        self.check(run("solve", self.study, "-o", output, "-q"), 0)
        old = content(output)
        process = run("solve", FOUR_PATHS, "-o", output, "--force", "-q",
                      preexec_fn=limited(resource.RLIMIT_FSIZE, 4096))
        self.check(process, 73, "out.h5", prints=True)
        self.assertIn("accuracy", process.stdout)  # what was computed is not lost
        self.assertEqual(content(output), old)


    def test_a_checkpoint_that_cannot_be_written_loses_nothing_that_is_finished(self):
        """The checkpoint is larger than the result: the limit lies between them."""
        output, whole = self.path("out.h5"), self.path("whole.h5")
        sample = ["sample", self.study, "--set", "sample.draws=2000", "--set", "sample.warmup=100", "-q"]
        one_width = ["--set", "model.widths=[10]"]
        done = run(*sample, *one_width, "-o", whole)
        self.assertIn(done.returncode, (0, 2), done.stderr)
        limit = limited(resource.RLIMIT_FSIZE, int(1.3 * os.path.getsize(whole)))
        process = run(*sample, *one_width, "-o", output, preexec_fn=limit)
        self.assertEqual(process.returncode, done.returncode, process.stderr)
        self.assertEqual(content(output), content(whole))
        self.assertFalse(os.path.exists(output + ".checkpoint"))
        os.remove(output)
        process = run(*sample, "-o", output, preexec_fn=limit)  # of two widths the first
        self.check(process, 73, "point_0.h5: cannot be written", "the same command", prints=True)
        self.assertEqual(process.stdout.count(" exact "), 1, process.stdout)
        with h5py.File(output) as file:
            self.assertEqual((file.attrs["partial"], list(file["points"])), (1, ["0"]))
            self.assertEqual(file["points/0"].attrs["complete"], 1)


class NoMemory(ProgramTest):
    def test_every_limit_ends_with_a_documented_code(self):
        data = self.path("data.h5")
        write_path_features(data)
        output = self.path("out.h5")
        whole = None
        for mebibytes in (150, 250, 400, 520, 800, 4000):
            with self.subTest(mebibytes=mebibytes):
                process = run("solve", FOUR_PATHS, "-o", output, "--force", "-q", "--threads", "1",
                              preexec_fn=limited(resource.RLIMIT_AS, mebibytes << 20),
                              env={**TWO_CORES, "OPENBLAS_NUM_THREADS": "1"}, timeout=60)
                if process.returncode == 127:  # too little for the libraries to be loaded
                    continue
                self.assertIn(process.returncode, (0, 69), process.stderr)
                if process.returncode == 69:
                    self.assertIn("not enough memory", process.stderr)
                    self.assertFalse(os.path.exists(output))
                    continue
                found = content(output)
                self.assertEqual(found, whole or found)
                whole = found
                os.remove(output)
        self.assertIsNotNone(whole)

    def test_a_sound_data_set_that_is_too_large(self):
        """The file holds all that it claims, so too little memory is no fault of the file: 69, not 65."""
        rng = np.random.default_rng(4)
        data = self.path("large.h5")
        write_path_features(data, **{"train/path_features": rng.normal(size=(2000, 2, 10000)),
                                     "train/labels": np.sign(rng.normal(size=2000)),
                                     "test/path_features": rng.normal(size=(7, 2, 10000))})
        process = run("validate", data, preexec_fn=limited(resource.RLIMIT_AS, 480 << 20), env=TWO_CORES)
        self.assertEqual(process.returncode, 0, process.stderr)
        process = run("solve", data, "--set", "model.widths=[10]", "-q",
                      preexec_fn=limited(resource.RLIMIT_AS, 480 << 20), env=TWO_CORES)
        self.check(process, 69, "not enough memory")

    def test_no_limit_makes_it_wait_for_ever(self):
        """OpenBLAS tries again and again where a thread gets no buffer."""
        codes = []
        for mebibytes in range(280, 600, 20):
            with self.subTest(mebibytes=mebibytes):
                process = run("solve", FOUR_PATHS, "--set", "model.widths=[10]", "-q", "--threads", "2",
                              preexec_fn=limited(resource.RLIMIT_AS, mebibytes << 20), env=TWO_CORES, timeout=30)
                codes.append(process.returncode)
                self.assertIn(process.returncode, (0, 69, 127), process.stderr)
        self.assertIn(0, codes)


def alone(threads):
    """A function for the child to call: it becomes a user who may run so many threads, and has none in other processes."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NPROC, (threads, threads))
        if os.geteuid() == 0:  # root is bound by no such limit
            os.setgroups([])
            os.setresuid(12345, 12345, 12345)
    return limit


class NoThreads(ProgramTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o777)

    def test_the_theory_goes_on_with_those_that_there_are(self):
        for verb in ("solve", "align", "prune", "sample"):
            with self.subTest(verb=verb):
                more = ["--set", "sample.draws=20", "--set", "sample.warmup=20"] if verb == "sample" else []
                output = self.path(verb + ".h5")
                process = run(verb, self.study, "-o", output, "--threads", "4", *more, preexec_fn=alone(1),
                              env=TWO_CORES, timeout=60)
                self.assertIn(process.returncode, (0, 2), process.stderr)  # 2: chains that are too short
                self.assertIn("only 1 of 4 threads can be started", process.stderr)
                whole = self.path("whole.h5")
                run(verb, self.study, "-o", whole, "--force", "-q", "--threads", "1", *more, env=TWO_CORES)
                check_equal(self, output, whole)

    @needs_training
    def test_training_says_what_it_lacks_and_does_not_wait_for_ever(self):
        process = run("train", self.write("tiny.toml", TINY), "-q", preexec_fn=alone(1), env=TWO_CORES, timeout=60)
        self.check(process, 69, "LibTorch needs", "only 1 can be started", "ulimit -u")


class SpecialFiles(ProgramTest):
    def test_a_pipe_or_a_device_is_refused_as_a_checkpoint(self):
        output = self.path("out.h5")
        os.mkdir(output + ".checkpoint")
        checkpoint = os.path.join(output + ".checkpoint", "point_0.h5")
        for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
            make(checkpoint)
            self.check(run("sample", self.study, "-o", output, "-q", timeout=30), 65, "point_0.h5", "no regular file")
            os.remove(checkpoint)

    def test_a_study_from_a_pipe_is_read(self):
        with open(self.study, "rb") as file:
            process = subprocess.run([PROGRAM, "solve", "/dev/stdin", "-q"], input=file.read(), capture_output=True,
                                     timeout=60, check=False)
        self.assertEqual(process.returncode, 0, process.stderr)


class NoFileDescriptors(ProgramTest):
    def test_a_sound_file_is_not_called_damaged(self):
        data = self.path("data.h5")
        write_path_features(data)
        for count in range(3, 9):
            with self.subTest(count=count):
                process = run("solve", data, "--set", "model.widths=[10]", "-q",
                              preexec_fn=limited(resource.RLIMIT_NOFILE, count), env=TWO_CORES, timeout=60)
                self.assertNotIn("not an HDF5 file", process.stderr)
                self.assertNotIn("TOML", process.stderr)
                self.assertIn(process.returncode, (0, 66, 69, 127), process.stderr)


@needs_training
class NoMemoryToTrain(ProgramTest):
    def test_no_limit_ends_it_otherwise_or_makes_it_wait(self):
        """LibTorch and oneDNN end the process, or wait for a thread, where they get no memory."""
        study = ["train", os.path.join(STUDIES, "fuzzy-logic-small.toml"), "--set", "train.steps=3", "--set",
                 "train.warmup_steps=1", "--set", "train.eval_examples=64", "--set", "train.batch=8", "--set",
                 'sweep.train.attention=["softmax","hyla"]', "--set", "sweep.seed=[1]", "-q"]
        # Every 50 MiB, by turns with one thread and with two: each start loads LibTorch.
        for first, more in ((450, ["--threads", "1", "--jobs", "1"]), (500, ["--threads", "2", "--jobs", "2"])):
            codes = []
            for mebibytes in (*range(first, 1250, 100), 1600, 2400):
                with self.subTest(mebibytes=mebibytes, more=more):
                    process = run(*study, *more, preexec_fn=limited(resource.RLIMIT_AS, mebibytes << 20),
                                  env=TWO_CORES, timeout=60)
                    codes.append(process.returncode)
                    self.assertIn(process.returncode, (0, 69), process.stderr[-300:])
                    if process.returncode == 69:
                        self.assertIn("not enough memory", process.stderr)
            self.assertEqual(codes[-1], 0)
            self.assertEqual(codes[0], 69)


class ClockJumps(ProgramTest):
    """A clock that is a year ahead, right or a year behind at every look (clock_jumps.cpp)."""

    jumping = {**os.environ, "LD_PRELOAD": os.environ["HEADWAY_CLOCK_JUMPS"]}

    def check_times(self, file_path):
        """Checks that the clock did jump, and that no duration did."""
        with h5py.File(file_path) as file:
            started = datetime.datetime.fromisoformat(file.attrs["started"].replace("Z", "+00:00"))
            seconds = file.attrs["seconds"]
        ahead = abs((started - datetime.datetime.now(datetime.timezone.utc)).total_seconds())
        self.assertTrue(0.0 <= seconds < 600.0, seconds)
        return ahead > 1e7

    def check_verb(self, *arguments):
        outputs = [self.path(name) for name in ("steady.h5", "jumping.h5")]
        for output, environment in zip(outputs, (None, self.jumping)):
            process = run(*arguments, "-o", output, "-q", env=environment)
            self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertEqual(*map(content, outputs))
        jumped = self.check_times(outputs[1])
        for output in outputs:
            os.remove(output)
        return jumped

    def test_every_verb_gives_the_same_bits(self):
        verbs = [["solve", self.study], ["align", self.study], ["prune", self.study],
                 ["sample", self.study, "--set", "sample.draws=40", "--set", "sample.warmup=40", "--set",
                  "sample.checkpoint_seconds=0.01"]]
        jumped = []
        for arguments in verbs:
            with self.subTest(verb=arguments[0]):
                jumped.append(self.check_verb(*arguments))
        self.assertTrue(any(jumped))

    @needs_training
    def test_training_gives_the_same_bits(self):
        self.check_verb("train", self.write("tiny.toml", TINY))

    def test_a_killed_run_resumes_to_the_same_bits(self):
        arguments = ["sample", self.study, "-q", "--set", "sample.draws=2000", "--set", "sample.warmup=200", "--set",
                     "sample.checkpoint_seconds=0.01"]
        whole, output = self.path("whole.h5"), self.path("out.h5")
        self.assertIn(run(*arguments, "-o", whole).returncode, (0, 2))
        with subprocess.Popen([PROGRAM, *arguments, "-o", output], env=self.jumping, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and not names_in(output + ".checkpoint"):
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
        self.assertEqual(process.returncode, -signal.SIGKILL)
        self.assertIn(run(*arguments, "-o", output, env=self.jumping).returncode, (0, 2))
        self.assertEqual(content(output), content(whole))


class ReadOnlyFolder(ProgramTest):
    def test_nothing_is_computed_for_an_output_that_cannot_be_written(self):
        folder = self.path("folder")
        os.mkdir(folder)
        os.chmod(self.directory, 0o755)
        os.chmod(folder, 0o555)
        self.addCleanup(os.chmod, folder, 0o700)
        for verb in ("solve", "sample", "align", "prune"):
            with self.subTest(verb=verb):
                process = run(verb, self.study, "-o", os.path.join(folder, "out.h5"), timeout=20,
                              preexec_fn=bound_by_permissions)
                self.check(process, 73, "out.h5")
                process = run(verb, self.study, "-o", os.path.join(folder, "new", "out.h5"), timeout=20,
                              preexec_fn=bound_by_permissions)
                self.check(process, 73, "out.h5", f"the folder {folder}/new cannot be made: Permission denied")


class MissingPlaces(ProgramTest):
    def gone(self, *arguments):
        """The program in a working directory that was removed."""
        script = 'mkdir "$0" && cd "$0" && rmdir "$0" && exec "$@"'
        return subprocess.run(["sh", "-c", script, self.path("gone"), PROGRAM, *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, timeout=60)

    def test_a_working_directory_that_is_gone_is_no_bug(self):
        for verb in ("solve", "sample", "train", "inspect", "validate"):
            with self.subTest(verb=verb):
                self.check(self.gone(verb, "data.h5"), 66, "data.h5", "No such file or directory")
        self.check(self.gone("solve", "hmm-four-paths.toml"), 66, "No such file or directory")
        for verb in ("solve", "align"):
            process = self.gone(verb, self.study, "-o", "out.h5")
            self.check(process, 73, "out.h5")
        self.check(self.gone("solve", self.study, "-q"), 0)  # what needs no file there

    def test_links_in_a_circle_are_named(self):
        for one, two in (("one", "two"), ("two", "one")):
            os.symlink(one, self.path(two))
        for verb in ("solve", "inspect", "validate"):
            for name in ("one", "./one"):
                with self.subTest(verb=verb, name=name):
                    self.check(run(verb, name, cwd=self.directory), 66, "one: cannot be", "Too many levels of symbolic links")
        self.check(run("solve", self.study, "-o", self.path("one/out.h5")), 73, "Too many levels of symbolic links")


class TwoProcesses(ProgramTest):
    def test_one_of_them_writes_and_the_other_says_so(self):
        output = self.path("out.h5")
        other = self.write("other.toml", SMALL.replace("seed = 3", "seed = 4"))
        whole = []
        for study in (self.study, other):
            self.check(run("solve", study, "-o", output, "-q"), 0)
            whole.append(content(output))
            os.remove(output)
        for _ in range(6):
            running = [subprocess.Popen([PROGRAM, "solve", study, "-o", output, "-q"], stderr=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, text=True) for study in (self.study, other)]
            errors = [process.communicate(timeout=60)[1] for process in running]
            codes = [process.returncode for process in running]
            self.assertEqual(sorted(codes), [0, 73], errors)
            self.assertRegex(errors[codes.index(73)], "exists already|another run is at work on it")
            self.assertEqual(content(output), whole[codes.index(0)])
            os.remove(output)

    def test_a_checkpoint_folder_that_goes_is_made_again(self):
        """Somebody deletes the folder again and again while a run saves into it."""
        output = self.path("out.h5")
        arguments = ["sample", self.study, "-o", output, "-q", "--set", "sample.draws=3000", "--set", "sample.warmup=500",
                     "--set", "sample.checkpoint_seconds=0.01"]
        running = subprocess.Popen([PROGRAM, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        deleted = 0
        while running.poll() is None:
            if names_in(output + ".checkpoint", "point"):
                shutil.rmtree(output + ".checkpoint", ignore_errors=True)
                deleted += 1
            time.sleep(0.02)
        self.assertIn(running.returncode, (0, 2), running.communicate()[1])
        self.assertGreater(deleted, 0)
        self.assertFalse(os.path.exists(output + ".checkpoint"))

    def test_a_whole_result_that_another_process_has_put_there_stays(self):
        """Two go on with one interrupted run. The one that ends later does not put its part in place of the whole."""
        output, whole = self.path("out.h5"), self.path("whole.h5")
        arguments = ["sample", self.study, "--set", "sample.draws=30000", "--set", "sample.warmup=100", "--set",
                     "sample.checkpoint_seconds=0.01"]
        self.assertIn(run(*arguments, "--set", "sample.draws=20", "-o", whole).returncode, (0, 2))

        def started(until):
            process = subprocess.Popen([PROGRAM, *arguments, "-o", output], stderr=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, text=True)
            while process.poll() is None and not until(process):
                time.sleep(0.005)
            return process
        first = started(lambda _: os.path.exists(os.path.join(output + ".checkpoint", "point_0.h5")))
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=60)
        self.assertEqual(first.returncode, 130)
        second = started(lambda process: "resuming" in process.stderr.readline())
        before = content(whole)
        os.replace(whole, output)
        second.send_signal(signal.SIGINT)
        error = second.communicate(timeout=60)[1]
        self.assertEqual(second.returncode, 73, error)
        self.assertIn("exists already", error)
        self.assertEqual(content(output), before)

    def test_a_second_run_on_the_same_output_is_refused_at_its_start(self):
        output = self.path("out.h5")
        arguments = [self.study, "-o", output, "-q", "--set", "sample.draws=100000", "--set", "sample.warmup=50", "--set",
                     "sample.checkpoint_seconds=0.05"]
        running = subprocess.Popen([PROGRAM, "sample", *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        while running.poll() is None and not names_in(output + ".checkpoint", "point"):
            time.sleep(0.01)
        for verb, how in (("sample", []), ("sample", ["--force"]), ("solve", [])):
            self.check(run(verb, *arguments, *how, timeout=60), 73,
                       f"out.h5: another run is at work on it (process {running.pid} on ", "another -o")
        self.assertEqual(run("sample", *arguments, "--dry-run").returncode, 0)
        self.assertIsNone(running.poll(), "too quick to be refused beside it")
        running.send_signal(signal.SIGKILL)
        running.communicate()
        self.assertIn("lock", names_in(output + ".checkpoint"))  # which holds nothing any more
        process = run("sample", *arguments, "--force", "--set", "sample.draws=20")
        self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertFalse(os.path.exists(output + ".checkpoint"))


if __name__ == "__main__":
    unittest.main()
