"""Every way to hand the program something wrong: exit code, message, and no file left behind."""

import json
import os
import stat
import unittest

import h5py
import numpy as np

import headway
from support import SMALL, STUDIES, ProgramTest, bound_by_permissions, run, write_path_features

# (arguments after the verb and study, exit code, words of the message)
BAD_OPTIONS = [
    (["--bogus"], 64, ["--bogus"]),
    (["--seed"], 64, ["--seed"]),
    (["--seed", "-1"], 64, ["--seed", "-1"]),
    (["--seed", "x"], 64, ["--seed"]),
    (["--seed", "1.5"], 64, ["--seed"]),
    (["--threads", "-2"], 64, ["--threads"]),
    (["--threads", "1000000"], 64, ["--threads"]),
    (["-q", "-v"], 64, ["--quiet"]),
    (["second.toml"], 64, ["second.toml"]),
    (["--set"], 64, ["--set"]),
    (["--set", "model.widths"], 64, ["section.key=value"]),
    (["--set", "=3"], 64, ["section.key=value"]),
    (["--set", "model.widhts=[10]"], 78, ["model.widhts", "widths"]),
    (["--set", "modle.widths=[10]"], 78, ["modle", "model"]),
    (["--set", "model.widths=[10, -5]"], 78, ["model.widths[2] = -5", "from 1 to 1e9"]),
    (["--set", "model.widths=0"], 78, ["model.widths = 0"]),
    (["--set", "model.temperature=.1"], 64, ["\".1\"", "write 0.1"]),
    (["--set", "model.temperature=[0.1,.2]"], 64, ["[0.1,.2]", "[0.1, 0.2]"]),
    (["--set", "model.widths=1.5"], 78, ["model.widths = 1.5", "integer"]),
    (["--set", "model.widths=2000000000"], 78, ["model.widths = 2000000000"]),
    (["--set", "model.widths=[[10,20]]"], 78, ["model.widths[1] = [10, 20]", "3 of them"]),
    (["--set", "model.temperature=-0.1"], 78, ["model.temperature = -0.1", ">= 0"]),
    (["--set", "model.temperature=nan"], 78, ["model.temperature = nan"]),
    (["--set", "model.temperature=warm"], 78, ['model.temperature = "warm"']),
    (["--set", "model.variances=[1, 1]"], 78, ["model.variances = [1, 1]", "4 of them"]),
    (["--set", "model.heads=[3, 1]"], 78, ["model.heads = [3, 1]", "[2, 1]"]),
    (["--set", "model.attention=softmx"], 78, ["softmx", '"softmax"', '"hardmax"']),
    (["--set", "task.kind=sudoku"], 78, ["sudoku", '"hidden_markov_chain"', '"dataset"']),
    (["--set", "task.features=11"], 78, ["task.features = 11", "even"]),
    (["--set", "task.train_examples=0"], 78, ["task.train_examples = 0"]),
    (["--set", "task.layers=[]"], 78, ["task.layers = []"]),
    (["--set", "schema=2"], 78, ["schema = 2", "1"]),
    (["--set", "solve.gradient_tolerance=-1"], 78, ["solve.gradient_tolerance = -1"]),
    (["--set", "prune.random_orders=many"], 78, ['prune.random_orders = "many"']),
]

# (file name, content, exit code, words of the message)
BAD_STUDIES = [
    ("empty.toml", b"", 78, ["empty.toml", "task.layers is missing"]),
    ("truncated.toml", SMALL[:120].encode(), 78, ["truncated.toml:"]),
    ("cut_string.toml", b'name = "abc', 78, ["cut_string.toml:1", "not valid TOML"]),
    ("binary.toml", bytes(range(256)) * 20, 78, ["binary.toml:1", "not valid TOML"]),
    ("zeros.toml", bytes(4096), 78, ["zeros.toml:1", "not valid TOML"]),
    ("latin1.toml", SMALL.replace("small", "sm\xe4ll").encode("latin-1"), 78, ["latin1.toml:1"]),
    ("twice.toml", SMALL + "\n[model]\n", 78, ["twice.toml:17", "not valid TOML"]),
    ("unknown.toml", SMALL + "widht = 3\n", 78, ["unknown.toml:16: model.widht", '"widths"']),
    ("typed.toml", SMALL.replace("tokens = 6", 'tokens = "6"'), 78,
     ['typed.toml:7: task.tokens = "6"', "integer from 1"]),
    ("json.toml", b'{"schema": 1}', 78, ["json.toml:1", "not valid TOML"]),
    ("newer.toml", "schema = 9\nfuture_key = 3\n" + SMALL, 78, ["newer.toml:1: schema = 9"]),
    ("deep.toml", b"x = " + b"[" * 100000, 78, ["deep.toml:1", "not valid TOML"]),
    ("dotted.toml", b"a" + b".a" * 100000 + b" = 1", 78, ["dotted.toml:1"]),
    ("huge.toml", b"#" * (5 << 20), 78, ["huge.toml: is no HDF5 file, and with 5242880 bytes no study; allowed: a data set or a result (HDF5), or a study (TOML) of at most 4194304"]),
    ("no_data.toml", '[task]\nkind = "dataset"\nfile = "absent.h5"\n', 66, ["absent.h5"]),
    ("no_file.toml", '[task]\nkind = "dataset"\n', 78, ["no_file.toml:1", "task.file is missing"]),
]

PLUS_MINUS = np.where(np.arange(12) % 2, 1.0, -1.0)

# (changes to a valid file of path features, words of the message)
BAD_DATA = [
    ({"train/labels": None}, ["train/labels"]),
    ({"train/labels": np.ones(11)}, ["train/path_features", "11"]),
    ({"train/labels": np.where(np.arange(12) == 4, np.nan, PLUS_MINUS)}, ["train/labels", "nan"]),
    ({"train/path_features": np.full((12, 2, 5), np.inf)}, ["train/path_features", "inf"]),
    ({"train/path_features": np.ones((12, 3, 5))}, ["path_features"]),
    ({"train/path_features": np.ones((12, 5))}, ["train/path_features"]),
    ({"test/labels": np.ones(8)}, ["test/path_features", "8"]),
    ({"test/path_features": np.ones((7, 2, 6))}, ["test/path_features"]),
]


class BadCommandLine(ProgramTest):
    def test_a_missing_or_unknown_verb_is_refused(self):
        self.check(run(), 64, "solve")
        self.check(run("slove", self.study), 64, "slove", "solve, align, prune")
        self.check(run("solve"), 64, "solve needs FILE")

    def test_bad_options_are_refused(self):
        for arguments, code, words in BAD_OPTIONS:
            with self.subTest(arguments=arguments):
                output = self.path("out.h5")
                self.check(run("solve", self.study, "-o", output, *arguments), code, *words)
                self.assertEqual(os.listdir(self.directory), ["small.toml"])

    def test_dry_run_finds_the_same_faults(self):
        for arguments, code, words in BAD_OPTIONS:
            with self.subTest(arguments=arguments):
                self.check(run("align", self.study, "--dry-run", *arguments), code, *words)


class BadStudyFiles(ProgramTest):
    def test_data_in_place_of_a_study_say_where_they_go(self):
        for name, words in (("table.csv", "headway.write_examples or headway.write_dataset"), ("my text.txt", "headway train text-small --set task.file="),
                            ("study.toml", None)):
            self.write(name, "a,b\n1,2\n")
            done = run("train", self.path(name))
            self.check(done, 78, f"{name}:1: not valid TOML", *([words] if words else []))
            self.assertEqual("write_examples" in done.stderr or "text-small" in done.stderr, words is not None)

    def test_a_list_for_a_key_of_training_says_how_it_is_swept(self):
        for key, value in (("seed", "[1, 2]"), ("train.attention", '["softmax", "hyla"]')):
            with self.subTest(key):
                self.check(run("train", "fuzzy-logic-small", "--set", f"{key}={value}", "--dry-run"), 78, f"; several: sweep.{key} = {value}")
                self.check(run("train", "fuzzy-logic-small", "--set", f"sweep.{key}={value}", "--dry-run"), 0)
        for key, value in (("train.heads", '["a"]'), ("name", '["a", "b"]'), ("seed", "[]")):
            done = run("train", "fuzzy-logic-small", "--set", f"{key}={value}", "--dry-run")
            self.check(done, 78)
            self.assertNotIn("several", done.stderr)
        done = run("solve", self.study, "--set", "seed=[1,2]")
        self.check(done, 78, "seed")
        self.assertNotIn("several", done.stderr)  # the theory has no [sweep]

    def test_a_result_is_no_data_set(self):
        result = self.path("result.h5")
        self.check(run("solve", self.study, "-q", "-o", result), 0)
        done = run("validate", result)
        self.check(done, 65, prints=True)
        self.assertEqual(done.stdout, f"{result}: is a result of headway solve, which headway inspect explains; "
                                      "allowed: a data set, or a file of examples to train on\n")

    def test_missing_and_unreadable(self):
        for verb in ("solve", "align", "prune", "inspect", "validate"):
            with self.subTest(verb=verb):
                self.check(run(verb, self.path("absent.toml")), 66, "absent.toml")
                self.check(run(verb, self.directory), 66, self.directory)
        os.chmod(self.directory, 0o755)
        os.chmod(self.study, 0o644)
        self.check(run("solve", self.study, "--dry-run", preexec_fn=bound_by_permissions), 0)
        os.chmod(self.study, 0)
        self.check(run("solve", self.study, "--dry-run", preexec_fn=bound_by_permissions), 66, "small.toml")

    def test_bad_content_is_refused(self):
        for name, content, code, words in BAD_STUDIES:
            with self.subTest(name=name):
                path = self.write(name, content)
                output = self.path("out.h5")
                self.check(run("solve", path, "-o", output, "--json"), code, *words)
                self.assertFalse(os.path.exists(output))

    def test_every_prefix_of_a_shipped_study_ends_cleanly(self):
        with open(os.path.join(STUDIES, "hmm-four-paths.toml"), "rb") as file:
            content = file.read()
        for end in range(0, len(content), 97):
            with self.subTest(end=end):
                process = run("inspect", self.write("prefix.toml", content[:end]))
                self.assertIn(process.returncode, (0, 78), process.stderr)
                self.assertNotIn("bug", process.stderr)


class BadDataFiles(ProgramTest):
    def test_faults_inside_a_data_set_are_named(self):
        for changes, words in BAD_DATA:
            with self.subTest(changes=list(changes)):
                path = self.path("data.h5")
                write_path_features(path, **changes)
                output = self.path("out.h5")
                self.check(run("solve", path, "-o", output), 65, "data.h5", *words)
                self.assertFalse(os.path.exists(output))
                process = run("validate", path)
                self.assertEqual(process.returncode, 65)
                self.assertIn(words[0], process.stdout)

    def test_numbers_whose_products_overflow_are_named(self):
        path = self.path("data.h5")
        rng = np.random.default_rng(3)
        for name, shape, place in (("train/labels", (12,), "[3]"), ("train/path_features", (12, 2, 5), "[3, 0, 0]"),
                                   ("test/labels", (7,), "[3]"), ("test/path_features", (7, 2, 5), "[3, 0, 0]")):
            with self.subTest(name=name):
                values = rng.normal(size=shape)
                values[3] = 1e300
                write_path_features(path, **{name: values})
                words = f"{name}{place}: 1e+300; allowed: up to 1e+60 in size"
                process = run("solve", path, "--set", "model.widths=[10]", "-q")
                self.check(process, 65, "data.h5", words)
                self.assertNotIn("temperature", process.stderr)
                self.assertIn(words, run("validate", path).stdout)
                self.assertIn(words, headway.check_dataset(path)[0])

    def test_a_name_that_is_not_utf8(self):
        path = os.path.join(os.fsencode(self.directory), b"caf\xe9.h5")
        write_path_features(os.fsdecode(path))
        process = run("solve", os.fsdecode(path), "-q")
        self.check(process, 78, "must be UTF-8", "rename")
        self.assertNotIn("TOML", process.stderr)

    def test_a_root_that_cannot_be_read_is_damage_to_every_verb(self):
        damaged = os.path.join(os.path.dirname(__file__), "..", "data", "damaged", "root_header.h5")
        for verb in ("inspect", "solve", "align", "sample", "evaluate"):
            with self.subTest(verb=verb):
                process = run(verb, damaged)
                self.check(process, 65, "root_header.h5", "damaged")
                self.assertNotIn("schema_name: is missing", process.stderr)
        process = run("validate", damaged)  # which lists faults on standard output
        self.assertEqual(process.returncode, 65, process.stderr)
        self.assertIn("damaged", process.stdout)

    def test_a_kernel_below_rounding_is_no_solution(self):
        path = self.path("data.h5")
        write_path_features(path)
        process = run("solve", path, "--json", "--set", "model.widths=[10]", "--set", "model.temperature=0.01", "--set",
                      "model.variances=1e-9")
        self.check(process, 2, "not converged", "variances [1e-09, 1e-09, 1e-09]", "temperature 0.01")
        point = json.loads(process.stdout)["points"][0]
        self.assertFalse(point["converged"])
        self.assertIsNone(point["smallest_hessian_eigenvalue"])
        self.assertIsNone(point["log_evidence"])
        process = run("solve", path, "--json", "--set", "model.widths=[10]", "--set", "model.temperature=0.01", "--set",
                      "model.variances=1e-5")
        self.check(process, 0)
        point = json.loads(process.stdout)["points"][0]  # that of the prior, 1 / s^4, within its error
        self.assertGreater(point["smallest_hessian_eigenvalue_error"], 0)
        self.assertLess(abs(point["smallest_hessian_eigenvalue"] - 1e10), point["smallest_hessian_eigenvalue_error"])

    def test_no_kernel_at_all_is_solved_by_the_prior(self):
        path = self.path("data.h5")
        write_path_features(path, **{"train/path_features": np.zeros((12, 2, 5))})
        process = run("solve", path, "--json", "--set", "model.widths=[10]", "--set", "model.temperature=0.1")
        self.check(process, 0, "no path carries information")
        point = json.loads(process.stdout)["points"][0]
        self.assertEqual((point["U_a"], point["smallest_hessian_eigenvalue_error"]), (1, 0))

    def test_labels_that_look_like_numbers_of_classes_are_warned_of(self):
        random = np.random.default_rng(3)
        signs = np.where(random.normal(size=12) > 0, 1.0, -1.0)
        for name, labels, words in (
                ("zero_one", 0.5 + 0.5 * signs, "whole numbers 0, 1, taken as real targets; for classes give +1 and -1"),
                ("five", np.arange(12.0) % 5, "whole numbers 0, 1, 2, 3, ..., taken as real targets; for classes give one-hot"),
                ("signs", signs, None), ("real", random.normal(size=12), None)):
            data = self.path(f"{name}.h5")
            write_path_features(data, **{"train/labels": labels, "test/labels": None, "test/path_features": None})
            process = run("solve", data, "--set", "model.widths=[10]")
            with self.subTest(name=name):
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertEqual("whole numbers" in process.stderr, words is not None, process.stderr)
                self.assertIn(words or "", process.stderr)
                process = run("validate", data)
                self.assertEqual((process.returncode, process.stdout), (0, f"{data}: valid\n"))
                self.assertIn(words or "", process.stderr)
                self.assertEqual("whole numbers" in process.stderr, words is not None)
                self.assertEqual("whole numbers" in json.loads(run("validate", data, "--json").stdout)["warning"], words is not None)

    def test_foreign_and_truncated_files_are_refused(self):
        foreign = self.path("foreign.h5")
        with h5py.File(foreign, "w") as file:
            file["x"] = np.arange(3)
        for verb in ("solve", "validate"):
            self.check_or_listed(verb, foreign)
        whole = self.path("whole.h5")
        write_path_features(whole)
        with open(whole, "rb") as file:
            content = file.read()
        for fraction in (0.05, 0.3, 0.6, 0.95):
            with self.subTest(fraction=fraction):
                path = self.write("cut.h5", content[: int(len(content) * fraction)])
                for verb in ("solve", "validate", "inspect"):
                    self.check_or_listed(verb, path)

    def check_or_listed(self, verb, path):
        process = run(verb, path)
        self.assertEqual(process.returncode, 65, f"{verb} {path}: {process.stderr}")
        self.assertIn(os.path.basename(path), process.stderr + process.stdout)
        self.assertNotIn("bug", process.stderr)

    def test_model_that_does_not_fit_the_data(self):
        path = self.path("data.h5")
        write_path_features(path)
        for overlay, word in [("model.heads=[3]", "model.heads"),
                              ("model.widths=[[10,20,30]]", "model.widths"),
                              ("model.variances=[1,1,1,1]", "model.variances"),
                              ("model.readout=mean", "an unknown readout")]:
            with self.subTest(overlay=overlay):
                self.check(run("solve", path, "--set", overlay), 78, word)
        self.check(run("prune", path, "--theory", path), 64, "--theory", "no result of headway train")


class BadOutput(ProgramTest):
    def test_existing_file_needs_force(self):
        output = self.write("out.h5", "precious")
        self.check(run("solve", self.study, "-o", output), 73, "out.h5", "--force")
        with open(output, encoding="utf-8") as file:
            self.assertEqual(file.read(), "precious")
        self.check(run("solve", self.study, "-o", output, "--force", "-q"), 0)
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["schema_name"], "headway-result")

    def test_a_directory_that_cannot_be_made_or_written_is_named(self):
        self.check(run("solve", self.study, "-o", "/proc/no/out.h5"), 73, "/proc/no")
        self.check(run("solve", self.study, "-o", self.directory), 73, self.directory)
        self.addCleanup(os.chmod, self.directory, stat.S_IRWXU)
        os.chmod(self.study, 0o644)
        for rights, code in ((0o777, 0), (0o555, 73)):
            os.chmod(self.directory, rights)
            self.check(run("solve", self.study, "-o", self.path("out.h5"), "--force", "-q", preexec_fn=bound_by_permissions),
                       code, *(["out.h5"] if code else []))

    def test_the_input_is_never_the_output(self):
        self.check(run("solve", self.study, "-o", self.study, "--force"), 73, "is the input")
        data = self.path("data.h5")
        write_path_features(data)
        self.check(run("solve", data, "-o", data, "--force"), 73, "is the input")
        solved = self.path("solved.h5")
        self.check(run("solve", self.study, "-o", solved), 0)
        self.check(run("prune", solved, "-o", solved, "--force"), 73, "is the input")
        self.check(run("solve", solved, "-o", solved, "--force"), 0)  # computed again


if __name__ == "__main__":
    unittest.main()
