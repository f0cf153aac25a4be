"""Standard streams, JSON, interruption, and where results go."""

import json
import os
import shutil
import signal
import subprocess
import unittest

import h5py

from support import PROGRAM, SMALL, ProgramTest, on_terminal, run, wait_until_told, write_path_features


POINTS = 3000  # of some tens of milliseconds each


def strict_json(text):
    """One JSON value and nothing else; NaN and Infinity, which Python would take, are refused."""

    def refuse(word):
        raise ValueError(word)

    return json.loads(text, parse_constant=refuse)


class Inspect(ProgramTest):
    def test_damaged_and_foreign_results_are_refused_as_elsewhere(self):
        whole = self.path("whole.h5")
        self.check(run("solve", self.study, "-o", whole), 0)
        self.check(run("inspect", whole), 0)

        def change(name, value):
            path = self.path(f"{name}.h5")
            shutil.copy(whole, path)
            with h5py.File(path, "r+") as file:
                file.attrs[name] = value
            return path

        with open(whole, "rb") as file:
            content = bytearray(file.read())
        content[len(content) // 2] ^= 1
        for path, words in ((change("kind", "sample"), "edited by hand"),
                            (change("schema_version", [2, 0]), "the file is newer"),
                            (self.write("flipped.h5", bytes(content)), "flipped.h5"),
                            (self.write("cut.h5", bytes(content[:9000])), "truncated")):
            for verb in ("inspect", "align"):
                with self.subTest(path=path, verb=verb):
                    self.check(run(verb, path), 65, words)

    def test_a_data_set_is_shown_with_every_fault_once_and_none_that_a_terminal_obeys(self):
        sound = self.path("sound.h5")
        write_path_features(sound)
        process = run("inspect", sound)
        self.check(process, 0)
        self.assertNotIn("fault", process.stdout)
        with h5py.File(sound, "r+") as file:
            file["train/labels"][3] = float("nan")
            file.attrs["note"] = "\x1b[31mred"
        process = run("inspect", sound)
        self.check(process, 0)
        self.assertNotIn("\x1b", process.stdout)
        faults = [line for line in process.stdout.splitlines() if line.startswith("  fault ")]
        self.assertEqual(len(faults), 2, process.stdout)
        self.assertIn("train/labels", "".join(faults))
        self.assertIn("note", "".join(faults))


class SlowSweep(ProgramTest):
    def slow_sweep(self, *before, output=None, executable=None, first=PROGRAM, env=None):
        """A process that solves many slow points on one thread. `before`: words in front of the command."""
        widths = ",".join(str(10 + i) for i in range(POINTS))
        return subprocess.Popen([*before, first, "solve", self.study, "-o", output or self.path("slow.h5"), "--json",
                                 "--threads", "1", "--set", f"model.widths=[{widths}]", "--set",
                                 "task.train_examples=400", "--set", "task.features=400"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, executable=executable, env=env)


class Streams(SlowSweep):
    def test_a_full_or_closed_standard_output_is_told(self):
        for verb in ("solve", "align", "prune", "inspect"):
            with self.subTest(verb=verb), open("/dev/full", "w", encoding="utf-8") as full:
                process = run(verb, self.study, stdout=full)
                self.assertEqual(process.returncode, 73, process.stderr)
                self.assertIn("standard output", process.stderr)
        closed = subprocess.run(["/bin/sh", "-c", f'exec "{PROGRAM}" solve "{self.study}" >&-'],
                                stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(closed.returncode, 73, closed.stderr)

    def test_closed_standard_output_never_ends_in_the_result_file(self):
        output = self.path("out.h5")
        subprocess.run(["/bin/sh", "-c",
                        f'exec "{PROGRAM}" solve "{self.study}" -o "{output}" >&- 2>&-'],
                       check=False, timeout=60)
        with open(output, "rb") as file:
            content = file.read()
        self.assertTrue(content.startswith(b"\x89HDF"))
        self.assertNotIn(b"S/max N", content)

    def test_broken_pipe_is_a_write_error(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        with os.fdopen(write_end, "w") as pipe:
            process = run("solve", self.study, stdout=pipe)
        self.assertEqual(process.returncode, 73, process.stderr)

    def test_progress_is_plain_without_a_terminal_and_silent_with_q(self):
        quiet = run("solve", self.study, "-q")
        self.check(quiet, 0)
        self.assertEqual(quiet.stderr, "")
        loud = run("solve", self.study)
        self.check(loud, 0)
        self.assertNotIn("\r", loud.stderr)  # no terminal: plain lines
        self.assertEqual(quiet.stdout.splitlines()[0], loud.stdout.splitlines()[0])
        self.assertRegex(loud.stderr, r"headway: 2 points, [\d.]+ s")
        self.assertRegex(run("solve", self.study, "--set", "model.widths=[10]").stderr, r"headway: 1 point, [\d.]+ s")

    def test_verbose_names_blas_threads_and_instruction_sets(self):
        text = run("solve", self.study, "-v", "--threads", "2").stderr
        for word in ("OpenBLAS", "threads: 2", "instruction sets:", "OMP_WAIT_POLICY=passive"):
            self.assertIn(word, text)

    def test_kernels_fit_the_instruction_set_or_are_the_ones_that_the_user_names(self):
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        text = run("solve", self.study, "-v", env=environment).stderr
        if "fma" in text.partition("instruction sets:")[2]:
            self.assertNotRegex(text, "kernels for (Prescott|Nehalem|Barcelona)")
            self.assertNotIn("does not know this processor", text)
        named = run("solve", self.study, "-v", env=environment | {"OPENBLAS_CORETYPE": "Prescott"}).stderr
        self.assertIn("kernels for Prescott (OPENBLAS_CORETYPE)", named)
        self.assertNotIn("does not know this processor", named)

    def test_waiting_threads_do_not_spin(self):
        own = {"OMP_WAIT_POLICY": "active", "OPENBLAS_NUM_THREADS": "1"}  # the user's choice stays
        for given, starts in ({}, 2), ({"OMP_WAIT_POLICY": "active"}, 2), (own, 1):
            with self.subTest(given=given):
                text = run("--version", env={"OMP_DISPLAY_ENV": "verbose", "LD_DEBUG": "statistics"} | given).stderr
                self.assertEqual(text.count("total startup time"), starts)
                self.assertEqual(text.count("GOMP_SPINCOUNT = '0'"), 0 if given else 1)

    def test_the_second_start_is_the_process_that_was_started(self):
        name = self.path("named")
        os.symlink(PROGRAM, name)
        with self.slow_sweep(executable=name, first="first", env={"A": "b"}) as process:
            wait_until_told(process, signal.SIGTERM)

            def of_process(what):
                with open(f"/proc/{process.pid}/{what}", encoding="utf-8") as file:
                    return file.read().rstrip("\0\n").split("\0")
            self.assertEqual(of_process("cmdline")[:2], ["first", "solve"])
            self.assertEqual(of_process("comm"), ["named"])
            self.assertEqual(of_process("environ"), ["A=b", "OMP_WAIT_POLICY=passive", "OPENBLAS_NUM_THREADS=1"])
            process.kill()
            process.communicate(timeout=60)

    def test_what_cannot_be_started_again_goes_on(self):
        loader = "/lib64/ld-linux-x86-64.so.2"
        script = self.path("script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!{PROGRAM} inspect\n{SMALL}")
        os.chmod(script, 0o755)
        for command, word in ([loader, PROGRAM, "--version"], "commit"), ([script], 'name = "small"'):
            if not os.path.exists(command[0]):
                continue
            with self.subTest(command=command[0]):
                process = subprocess.run(command, env={"LD_DEBUG": "statistics"}, capture_output=True, text=True,
                                         check=False, timeout=60)
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertIn(word, process.stdout)
                self.assertEqual(process.stderr.count("total startup time"), 1)


class Columns(ProgramTest):
    """Of the terminal; COLUMNS, without one and where it does not know."""

    def widest(self, text):
        return max(map(len, text.splitlines()))

    def test_columns_of_the_environment_count_where_the_terminal_does_not_know(self):
        arguments = ("studies",)
        free = self.widest(run(*arguments).stdout)
        self.assertGreater(free, 70)
        self.assertLessEqual(self.widest(run(*arguments, env=dict(os.environ, COLUMNS="70")).stdout), 70)
        self.assertLessEqual(self.widest(on_terminal(0, *arguments, COLUMNS="70")), 70)
        self.assertLessEqual(self.widest(on_terminal(70, *arguments, COLUMNS="200")), 70)
        for wrong in ("", "wide", "-3", "70x", "0"):
            self.assertEqual(self.widest(run(*arguments, env=dict(os.environ, COLUMNS=wrong)).stdout), free, wrong)

    def test_tables_are_broken_into_blocks(self):
        said = run("prune", self.study, "-q", env=dict(os.environ, COLUMNS="60"))
        self.check(said, 0)
        self.assertIn("layer", said.stdout)
        self.assertLessEqual(self.widest(said.stdout), 60)


class OutputFile(ProgramTest):
    def test_it_may_be_joined_to_its_option(self):
        for number, joined in enumerate(("-o={}", "-qo={}", "--output={}", "-o{}")):
            output = self.path(f"out{number}.h5")
            self.check(run("solve", self.study, joined.format(output)), 0)
            self.assertTrue(os.path.exists(output), joined)
        self.assertFalse([name for name in os.listdir(self.directory) if name.startswith("=")])
        self.check(run("solve", self.study, "-o="), 64, "--output: must not be empty")
        self.check(run("solve", self.study, "-q=1"), 64)

    def test_after_two_dashes_a_dash_begins_a_file(self):
        with open(self.study) as file:
            self.write("-study.toml", file.read())
        self.check(run("solve", "-q", "--", "-study.toml", cwd=self.directory), 0)
        self.check(run("inspect", "--", self.study), 0)
        self.check(run("solve", "-q", "--", "-absent.toml", cwd=self.directory), 66, "-absent.toml")
        self.check(run("solve", "-q", "--", self.study, "-o=a.h5"), 64, "-o=a.h5: one argument too many")
        self.check(run("solve", "--"), 64)

    def test_its_folder_is_made(self):
        output = self.path("new/deep/out.h5")
        self.check(run("solve", self.study, "-o", output, "--dry-run"), 0)
        self.assertFalse(os.path.exists(self.path("new")))
        self.check(run("solve", self.study, "-o", output, "-q"), 0)
        self.assertTrue(os.path.exists(output))
        self.write("file", "")
        self.check(run("solve", self.study, "-o", self.path("file/out.h5")), 73, "file/out.h5")

    def test_another_ending_is_warned_of(self):
        process = run("solve", self.study, "-o", self.path("out.txt"))
        self.check(process, 0, "out.txt: is written as HDF5")
        self.assertNotIn("is written as", run("solve", self.study, "-o", self.path("out.h5")).stderr)


class JsonOutput(ProgramTest):
    def test_it_is_one_object_and_nothing_else(self):
        for arguments in (["solve", self.study], ["align", self.study], ["prune", self.study],
                          ["solve", self.study, "--dry-run"], ["inspect", self.study],
                          ["solve", self.study, "-v"], ["solve", self.study, "-q"]):
            with self.subTest(arguments=arguments):
                process = run(*arguments, "--json")
                self.check(process, 0)
                self.assertIsInstance(strict_json(process.stdout), dict)

    def test_points_are_widths_outer_temperatures_inner(self):
        process = run("solve", self.study, "--json", "--set", "model.widths=[10,[20,30,40]]",
                      "--set", "model.temperature=[0.1,1]")
        points = strict_json(process.stdout)["points"]
        self.assertEqual([(p["widths"], p["temperature"]) for p in points],
                         [([10] * 3, 0.1), ([10] * 3, 1), ([20, 30, 40], 0.1), ([20, 30, 40], 1)])

    def test_without_a_test_set_its_fields_are_null(self):
        process = run("solve", self.study, "--json", "--set", "task.test_examples=0")
        self.check(process, 0)
        result = strict_json(process.stdout)
        for point in result["points"] + result["gaussian_process"]:
            self.assertIsNone(point["accuracy"])
            self.assertIsNone(point["test_mean_squared_error"])
            self.assertIsNotNone(point["train_accuracy"])


class ExitCodes(ProgramTest):
    def test_not_converged_is_2_and_the_result_is_there(self):
        output = self.path("out.h5")
        process = run("solve", self.study, "--json", "-o", output, "--set",
                      "solve.max_iterations=1", "--set", "solve.gradient_tolerance=1e-14")
        self.check(process, 2, "not converged")
        self.assertIn(False, [p["converged"] for p in strict_json(process.stdout)["points"]])
        self.assertTrue(os.path.exists(output))

    def test_help_and_version_end_with_0(self):
        text = run("--help")
        self.check(text, 0)
        for word in ("solve", "align", "prune", "inspect", "validate", "Examples:"):
            self.assertIn(word, text.stdout)
        for verb in ("solve", "align", "prune", "inspect", "validate"):
            self.check(run(verb, "--help"), 0)
        self.assertIn("stay_probability", run("solve", "--help").stdout)
        self.assertRegex(run("--version").stdout, r"^headway \d+\.\d+\.\d+\n")


class Interruption(SlowSweep):
    def interrupt(self, signal_number, before=(), then=None):
        """Stops a sweep of many slow points; returns exit code, streams, result path.

        `before`: words in front of the command. `then`: a signal that follows when it still computes.
        """
        output = self.path("out.h5")
        with self.slow_sweep(*before, output=output) as process:
            shown = self.read_until_computing(process)
            process.send_signal(signal_number)
            if then is not None:
                shown += self.read_until_computing(process)
                process.send_signal(then)
            stdout, stderr = process.communicate(timeout=60)
        return process.returncode, stdout, shown + stderr, output

    def read_until_computing(self, process):
        """What it tells up to its next line of progress, which comes every three seconds of computing points."""
        shown = ""
        for line in process.stderr:
            shown += line
            if line.startswith("solve: "):
                return shown
        self.fail("ended before it told of any point:\n" + shown)

    def test_a_partial_result_is_written_and_marked(self):
        for signal_number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=signal_number):
                code, stdout, stderr, output = self.interrupt(signal_number)
                self.assertEqual(code, 130, stderr)
                result = strict_json(stdout)
                self.assertTrue(result["partial"])
                self.assertLess(len(result["points"]), POINTS)
                self.assertIn("partial", run("inspect", output).stdout)
                self.check(run("solve", self.study, "-o", output), 73, "partial result of another run",
                           "model.widths = [", "task.train_examples = 400, here ")
                self.assertEqual(sorted(os.listdir(self.directory)), ["out.h5", "small.toml"])
                os.remove(output)

    def test_a_hangup_is_ignored_under_nohup(self):
        code, stdout, stderr, _ = self.interrupt(signal.SIGHUP, before=["nohup"], then=signal.SIGTERM)
        self.assertEqual(code, 130, stderr)
        self.assertTrue(strict_json(stdout)["partial"])


if __name__ == "__main__":
    unittest.main()
