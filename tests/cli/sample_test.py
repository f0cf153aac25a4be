"""`headway sample`: its output, its checkpoints, and what it refuses."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import time
import unittest

import h5py
import numpy as np

from support import PROGRAM, ProgramTest, measured, run

QUICK = ["--set", "model.widths=[4]", "--set", "sample.draws=60", "--set", "sample.warmup=100",
         "--set", "sample.predictor_draws=20"]
TIMES = ("seconds", "sampling_seconds", "ess_bulk_min_per_second")

# (value of --set, exit code, words of the message)
BAD_OPTIONS = [
    ("sample.sampler=exat", 78, ['sample.sampler = "exat"', 'did you mean "exact"', '"gibbs"']),
    ("sample.sampler=3", 78, ["sample.sampler = 3"]),
    ("sample.chains=0", 78, ["sample.chains = 0", "from 1 to 1000"]),
    ("sample.chains=-4", 78, ["sample.chains = -4"]),
    ("sample.chains=1e9", 78, ["sample.chains", "integer"]),
    ("sample.draws=0", 78, ["sample.draws = 0", "from 1 to"]),
    ("sample.draws=99999999999", 78, ["sample.draws = 99999999999"]),
    ("sample.draws=9223372036854775808", 78, ["sample.draws"]),
    ("sample.warmup=-1", 78, ["sample.warmup = -1"]),
    ("sample.thin=0", 78, ["sample.thin = 0"]),
    ("sample.metric=full", 78, ['sample.metric = "full"', '"dense"']),
    ("sample.target_accept=1", 78, ["sample.target_accept = 1"]),
    ("sample.target_accept=nan", 78, ["sample.target_accept = nan"]),
    ("sample.max_tree_depth=0", 78, ["sample.max_tree_depth = 0"]),
    ("sample.max_tree_depth=64", 78, ["sample.max_tree_depth = 64"]),
    ("sample.checkpoint_seconds=-1", 78, ["sample.checkpoint_seconds = -1"]),
    ("sample.evidence=maybe", 78, ['sample.evidence = "maybe"', "true or false"]),
    ("sample.darws=10", 78, ["sample.darws", '"draws"']),
    ("model.temperature=0", 78, ["model.temperature = 0", "> 0"]),
]


def points(process):
    return json.loads(process.stdout, parse_constant=float)["points"]


def arrays(file_path):
    """Every data set below points/, but the history of the solver, as bytes."""
    found = {}
    with h5py.File(file_path) as file:
        def keep(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[()].tobytes()
        file["points"].visititems(keep)
    return found


def attributes(file_path, point=0):
    with h5py.File(file_path) as file:
        found = dict(file[f"points/{point}"].attrs)
    return {name: value for name, value in found.items() if name not in TIMES}


class Output(ProgramTest):
    def test_json_table_and_file_agree(self):
        output = self.path("out.h5")
        process = run("sample", self.study, *QUICK, "-o", output, "--json")
        self.assertIn(process.returncode, (0, 2), process.stderr)
        point, = points(process)
        self.assertEqual((point["widths"], point["sampler"], point["chains"], point["draws"]),
                         ([4, 4, 4], "exact", 4, 60))
        for name in ("U_a_mean", "accuracy", "rhat_max", "ess_bulk_min", "ess_tail_min",
                     "ebfmi_min", "log_evidence", "seconds"):
            self.assertIsInstance(point[name], float, name)
        with h5py.File(output) as file:
            self.assertEqual((file.attrs["kind"], file.attrs["partial"]), ("sample", 0))
            group = file["points/0"]
            u_1, u_a = group["draws/layer_1"][()], group["draws/U_a"][()]
            self.assertEqual((u_1.shape, u_a.shape), ((4, 60, 2, 2), (4, 60)))
            self.assertEqual(group["energies"].shape, (60, 4))
            self.assertEqual(group["predictor/mcse"].shape, (30,))
            np.testing.assert_allclose(u_1.mean((0, 1)), point["U_1_mean"], rtol=1e-12)
            np.testing.assert_array_equal(group["order_parameters/layer_1_mcse"][()],
                                          point["U_1_mcse"])
            self.assertAlmostEqual(u_a.mean(), point["U_a_mean"], places=12)
            np.testing.assert_array_equal(u_1, u_1.swapaxes(2, 3))
            np.testing.assert_array_equal(group["theory/order_parameters/layer_1"][()],
                                          point["theory"]["U_1"])
            self.assertEqual(group.attrs["accuracy"], point["accuracy"])
        self.assertFalse(os.path.exists(output + ".checkpoint"))
        text = run("sample", self.study, *QUICK).stdout
        for word in ("R-hat", "saddle point", "1/N-corrected", "samples", "log evidence",
                     measured(point["U_a_mean"], point["U_a_mcse"]),
                     measured(point["log_evidence"], point["log_evidence_error"]),
                     measured(point["U_1_mean"][0][0], point["U_1_mcse"][0][0]) + ", "):
            self.assertIn(word, text)
        self.assertIn("rhat_max", run("inspect", output).stdout)

    def test_arviz_gets_its_layout(self):
        """The two lines of the README; ArviZ itself may not be here."""
        output = self.path("out.h5")
        run("sample", self.study, *QUICK, "-o", output)
        h = h5py.File(output)
        posterior = {"U_1": h["points/0/draws/layer_1"][()], "U_a": h["points/0/draws/U_a"][()]}
        for draws in posterior.values():
            self.assertEqual(draws.shape[:2], (4, 60))
        try:
            import arviz  # noqa: PLC0415
        except ImportError:
            return
        self.assertEqual(dict(arviz.from_dict(posterior=posterior).posterior.sizes)["draw"], 60)

    def test_every_sampler_runs(self):
        for sampler in ("exact", "collapsed", "gibbs", "nuts", "hmc", "mala", "langevin"):
            with self.subTest(sampler=sampler):
                process = run("sample", self.study, *QUICK, "--set", f"sample.sampler={sampler}",
                              "--json")
                self.assertIn(process.returncode, (0, 2), process.stderr)
                point, = points(process)
                self.assertEqual(point["sampler"], sampler)
                self.assertEqual(point["biased"], sampler == "langevin")
                self.assertEqual(point["log_evidence"] is not None, sampler == "exact")
                self.assertTrue(sampler == "exact" or point["evidence_reason"] is not None)

    def test_too_few_draws_are_not_usable(self):
        output = self.path("out.h5")
        process = run("sample", self.study, *QUICK, "--set", "sample.draws=1", "--json", "-o",
                      output)
        self.check(process, 2, "not usable", "R-hat")
        self.assertIsNone(points(process)[0]["rhat_max"])
        self.assertTrue(os.path.exists(output))

    def test_the_same_seed_gives_the_same_bits_on_any_number_of_threads(self):
        files = [self.path(f"{threads}.h5") for threads in (1, 2, 3)]
        for threads, file in zip((1, 2, 3), files):
            run("sample", self.study, *QUICK, "-o", file, "--threads", threads)
        other = self.path("other.h5")
        run("sample", self.study, *QUICK, "-o", other, "--seed", "99")
        self.assertEqual(arrays(files[0]), arrays(files[1]))
        self.assertEqual(arrays(files[0]), arrays(files[2]))
        self.assertNotEqual(arrays(files[0])["0/draws/U_a"], arrays(other)["0/draws/U_a"])

    def test_a_solve_result_lends_its_order_parameters(self):
        solved = self.path("solve.h5")
        self.check(run("solve", self.study, "--set", "model.widths=[4]", "-o", solved), 0)
        process = run("sample", solved, *QUICK, "-v", "--json")
        self.assertIn("no point of it is solved again", process.stderr)
        with h5py.File(solved) as file:
            np.testing.assert_array_equal(file["points/0/order_parameters/layer_1"][()],
                                          points(process)[0]["theory"]["U_1"])

    def test_keys_are_in_the_help_and_the_plan(self):
        text = run("sample", "--help").stdout
        for word in ("sampler", "target_accept", "checkpoint_seconds", "predictor_draws"):
            self.assertIn(word, text)
        plan = run("sample", self.study, "--dry-run", "--set", "sample.chains=7").stdout
        self.assertIn("7 chains", plan)


class Refusals(ProgramTest):
    def test_a_dry_run_refuses_what_cannot_be_sampled(self):
        for more in ((), ("--dry-run",)):
            self.check(run("sample", self.study, "--set", "model.temperature=[0,0.1]", *more), 78, "sampling needs a temperature > 0")

    def test_bad_options_are_refused(self):
        for setting, code, words in BAD_OPTIONS:
            with self.subTest(setting=setting):
                output = self.path("out.h5")
                self.check(run("sample", self.study, "-o", output, "--set", setting), code, *words)
                self.assertEqual(os.listdir(self.directory), ["small.toml"])

    def test_the_information_metric_belongs_to_the_exact_sampler(self):
        process = run("sample", self.study, *QUICK, "--set", "sample.metric=information", "--set",
                      "sample.sampler=nuts")
        self.check(process, 78, 'sample.metric = "information"', '"exact"', '"diagonal"')
        for metric in ("information", "unit"):
            process = run("sample", self.study, *QUICK, "--set", f"sample.metric={metric}")
            self.assertIn(process.returncode, (0, 2), process.stderr)

    def test_draws_beyond_memory(self):
        process = run("sample", self.study, "--set", "sample.draws=1000000", "--set",
                      "sample.chains=1000", "--set", "sample.keep_weights=true", "--set",
                      "sample.sampler=gibbs")
        self.check(process, 78, "sample.draws = 1000000", "GiB")

    def test_a_complete_result_is_not_overwritten(self):
        output = self.path("out.h5")
        run("sample", self.study, *QUICK, "-o", output)
        self.check(run("sample", self.study, *QUICK, "-o", output), 73, "--force")


class Checkpoints(ProgramTest):
    """Interrupted runs go on to the same bits."""

    def arguments(self, sampler):
        draws = 1500 if sampler == "exact" else 5000
        return ["--set", "model.widths=[3, 6]", "--set", f"sample.sampler={sampler}", "--set",
                f"sample.draws={draws}", "--set", "sample.warmup=200", "--set",
                "sample.predictor_draws=50", "--set", "sample.checkpoint_seconds=0.05"]

    def stop(self, output, arguments, when, signal_number, form=("--json",)):
        """Starts a run and sends the signal when `when(folder)` is true."""
        folder = output + ".checkpoint"
        with subprocess.Popen([PROGRAM, "sample", self.study, *arguments, "-o", output, *form],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            limit = time.monotonic() + 100
            while not when(folder) and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.005)
            self.assertIsNone(process.poll(), "too quick to be interrupted")
            process.send_signal(signal_number)
            stdout, stderr = process.communicate(timeout=100)
        return process.returncode, stdout, stderr

    @staticmethod
    def begun(point):
        return lambda folder: os.path.exists(os.path.join(folder, f"point_{point}.h5"))

    def test_interrupt_and_resume_give_the_bits_of_an_uninterrupted_run(self):
        for sampler in ("exact", "collapsed", "gibbs"):
            with self.subTest(sampler=sampler):
                arguments = self.arguments(sampler)
                whole, parts = self.path(sampler + "-whole.h5"), self.path(sampler + "-parts.h5")
                self.assertIn(run("sample", self.study, *arguments, "-o", whole, "--threads",
                                  "2").returncode, (0, 2))
                for point in (0, 1):
                    code, stdout, stderr = self.stop(parts, [*arguments, "--threads", "1"],
                                                     self.begun(point), signal.SIGINT)
                    self.assertEqual(code, 130, stderr)
                    self.assertTrue(json.loads(stdout)["partial"])
                    with h5py.File(parts) as file:
                        self.assertEqual(file.attrs["partial"], 1)
                        last = file[f"points/{point}"]
                        self.assertEqual(last.attrs["complete"], 0)
                        self.assertEqual(last["draws/U_a"].shape[1], last.attrs["draws"])
                    self.assertIn("interrupted", run("inspect", parts).stdout)
                process = run("sample", self.study, *arguments, "-o", parts, "--threads", "1")
                self.assertIn("resuming from 2 checkpoints", process.stderr)
                self.assertFalse(os.path.exists(parts + ".checkpoint"))
                self.assertEqual(arrays(whole), arrays(parts))
                for point in (0, 1):
                    self.assertEqual(repr(attributes(whole, point)), repr(attributes(parts, point)))

    def test_the_row_of_an_interrupted_point_is_marked(self):
        output = self.path("marked.h5")
        code, stdout, stderr = self.stop(output, self.arguments("exact"), self.begun(1), signal.SIGINT, form=())
        self.assertEqual(code, 130, stderr)
        self.assertIn("\n+ interrupted, not all draws were made\n", stdout)
        self.assertIn("interrupted: the result is partial, and the same command goes on\n", stderr)
        self.assertIn(f"To go on, run the command above again, without --force; what is done is in {output}.checkpoint\n", run("inspect", output).stdout)
        rows = [line for line in stdout.splitlines() if " exact " in line]
        self.assertEqual([row.endswith("+") for row in rows], [False, True], stdout)

    def test_a_killed_run_resumes_too(self):
        arguments = [*self.arguments("exact"), "--set", "sample.thin=2"]
        whole, parts = self.path("whole.h5"), self.path("parts.h5")
        run("sample", self.study, *arguments, "-o", whole)
        self.stop(parts, arguments, self.begun(1), signal.SIGKILL)
        self.assertFalse(os.path.exists(parts))
        self.assertIn("resuming", run("sample", self.study, *arguments, "-o", parts).stderr)
        self.assertEqual(arrays(whole), arrays(parts))
        for point in (0, 1):
            self.assertEqual(repr(attributes(whole, point)), repr(attributes(parts, point)))

    @staticmethod
    def rewrite(checkpoint, name, value):
        """Another value of a root attribute; returns the one that was there."""
        with open(checkpoint, "rb+") as file:
            file.truncate(os.path.getsize(checkpoint) - 64)  # the SHA-256
        with h5py.File(checkpoint, "r+") as file:
            before = file.attrs[name]
            file.attrs[name] = value
        with open(checkpoint, "rb") as file:
            bytes_of_hdf5 = file.read()
        with open(checkpoint, "ab") as file:
            file.write(hashlib.sha256(bytes_of_hdf5).hexdigest().encode())
        return before

    def test_the_seconds_are_those_of_all_calls(self):
        output, arguments = self.path("out.h5"), self.arguments("exact")
        self.stop(output, arguments, self.begun(0), signal.SIGKILL)
        checkpoint = os.path.join(output + ".checkpoint", "point_0.h5")
        self.assertGreater(self.rewrite(checkpoint, "seconds", 1000.0), 0.0)
        code, stdout, stderr = self.stop(output, arguments, self.begun(1), signal.SIGINT)
        self.assertEqual(code, 130, stderr)
        self.assertGreater(json.loads(stdout)["seconds"], 1000.0)
        with h5py.File(output) as file:
            so_far = file.attrs["seconds"]
        self.assertGreater(so_far, 1000.0)
        process = run("sample", self.study, *arguments, "-o", output)
        with h5py.File(output) as file:
            self.assertGreater(file.attrs["seconds"], so_far)
            self.assertIn(f"2 points, {file.attrs['seconds']:.0f} s", process.stderr)

    def test_a_checkpoint_of_another_format_is_refused(self):
        output, arguments = self.path("out.h5"), self.arguments("exact")
        self.stop(output, arguments, self.begun(1), signal.SIGKILL)
        checkpoint = os.path.join(output + ".checkpoint", "point_0.h5")
        self.assertEqual(list(self.rewrite(checkpoint, "schema_version", [2, 1])), [3, 0])
        self.check(run("sample", self.study, *arguments, "-o", output), 78, "point_0", "its format is 2, this Headway reads 3.0", "--force")

    def interrupted(self):
        output = self.path("out.h5")
        arguments = self.arguments("exact")
        self.stop(output, arguments, self.begun(0), signal.SIGINT)
        return output, arguments, os.path.join(output + ".checkpoint", "point_0.h5")

    def test_a_checkpoint_of_another_run_is_refused(self):
        output, arguments, _ = self.interrupted()
        os.remove(output)
        for change, word in ((["--seed", "77"], "seed = 3, here 77"),
                             (["--set", "model.temperature=0.2"], ", here 0.2"),
                             (["--set", "sample.draws=70"], "sample.draws = 1500, here 70"),
                             (["--set", "task.seed=5"], "task.seed")):
            process = run("sample", self.study, *arguments, "-o", output, *change)
            self.check(process, 78, "point_0", "belongs to another run", word, "--force")
        afresh = run("sample", self.study, *QUICK, "--seed", "77", "-o", output, "--force")
        self.assertIn(afresh.returncode, (0, 2), afresh.stderr)
        self.assertNotIn("resuming", afresh.stderr)
        self.assertFalse(os.path.exists(output + ".checkpoint"))

    def test_a_partial_result_of_another_run_says_what_differs(self):
        output, arguments, _ = self.interrupted()
        with open(output, "rb") as file:
            before = file.read()
        for change, *words in ((["--set", "sample.draws=70"], "sample.draws = 1500, here 70"),
                               (["--seed", "77", "--set", "model.temperature=0.2"], "seed = 3, here 77; ", ", here 0.2"),
                               (["--shard", "0/2"], "(--shard absent, here 0/2)")):
            for how in ([], ["--dry-run"]):
                process = run("sample", self.study, *arguments, "-o", output, *change, *how)
                self.check(process, 73, "out.h5", "partial result of another run", *words, "another -o", "--force")
        for more in ([], ["--set", "model.temperature=0.2"]):
            self.check(run("solve", self.study, *arguments, "-o", output, *more), 73,
                       "out.h5", "(it is of headway sample, this is headway solve)")
        with open(output, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertIn("resuming", run("sample", self.study, *arguments, "-o", output).stderr)

    def test_force_begins_afresh(self):
        output, arguments, _ = self.interrupted()
        process = run("sample", self.study, *arguments, "-o", output, "--force")
        self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertNotIn("resuming", process.stderr)

    def test_inspect_tells_how_far_a_checkpoint_is(self):
        _, _, checkpoint = self.interrupted()
        described = run("inspect", checkpoint)
        self.check(described, 0)
        for word in ("Headway checkpoint", "4 chains", "exact"):
            self.assertIn(word, described.stdout)

    def test_checkpoints_of_an_earlier_version_are_refused(self):
        output = self.path("out.h5")
        os.mkdir(output + ".checkpoint")
        with open(os.path.join(output + ".checkpoint", "point_0"), "wb") as file:
            file.write(b"headway-sample-checkpoint 1\nwhatever")
        self.check(run("sample", self.study, *QUICK, "-o", output), 78, "point_0",
                   "belongs to another run", "earlier version", "--force")

    def test_a_damaged_checkpoint_is_refused(self):
        output, arguments, checkpoint = self.interrupted()
        with open(checkpoint, "rb") as file:
            good = file.read()
        middle = len(good) // 2
        for bad in (b"", good[:10], good[:middle], good[:-1], good + b"x",
                    good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]):
            with open(checkpoint, "wb") as file:
                file.write(bad)
            self.check(run("sample", self.study, *arguments, "-o", output), 65, "point_0",
                       "truncated or damaged", "--force")

    def test_a_file_in_the_way_of_the_folder_is_named(self):
        output = self.path("out.h5")
        self.write("out.h5.checkpoint", "mine")
        self.check(run("sample", self.study, *QUICK, "-o", output), 73, "out.h5.checkpoint")

    def test_a_disk_that_is_full(self):
        output = self.path("out.h5")

        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

        process = run("sample", self.study, *self.arguments("exact"), "-o", output,
                      preexec_fn=small_disk)
        self.check(process, 73, "cannot be written", prints=True)
        self.assertFalse(os.path.exists(output))
        folder = output + ".checkpoint"
        self.assertEqual(os.listdir(folder) if os.path.exists(folder) else [], [])

    def test_without_checkpoints_there_is_no_folder(self):
        output = self.path("out.h5")
        folder = output + ".checkpoint"
        process = run("sample", self.study, *QUICK, "--set", "sample.checkpoint_seconds=0", "-o",
                      output)
        self.assertIn(process.returncode, (0, 2))
        self.assertFalse(os.path.exists(folder))


if __name__ == "__main__":
    unittest.main()
