"""What tables say where labels are no classes, where a predictor says nothing, and on a narrow terminal."""

import json
import os
import re
import unittest

import h5py
import numpy as np

from support import SMALL, ProgramTest, on_terminal, run, write_path_features


def real_labels(count, seed):
    return np.random.default_rng(seed).normal(size=count)


class Regression(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = self.path("real.h5")
        write_path_features(self.data, **{"train/labels": real_labels(12, 2), "test/labels": real_labels(7, 3)})

    def table(self, verb, *options):
        process = run(verb, self.data, "--set", "model.widths=[10]", *options)
        self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertNotIn("accuracy", process.stdout)
        return process.stdout

    def test_the_squared_error_stands_where_an_accuracy_would(self):
        solved = json.loads(run("solve", self.data, "--json", "--set", "model.widths=[10]").stdout)
        whole = f"{solved['points'][0]['test_mean_squared_error']:.4g}"
        limit = f"{solved['gaussian_process'][0]['test_mean_squared_error']:.4g}"
        header, row = [line.split() for line in self.table("solve").splitlines()[2:4]]
        self.assertEqual(header[2:4], ["test", "MSE"])
        self.assertEqual(row[2:4], [whole, limit])
        self.assertIn(f"test MSE {whole}", self.table("prune"))
        sampled = self.table("sample", "--set", "sample.draws=50", "--set", "sample.warmup=50")
        row = sampled.splitlines()[3].split()  # the samples' has an error
        self.assertEqual((row[4], row[6], row[8]), ("+-", whole, limit))

    def test_curves_of_pruning_are_of_the_squared_error(self):
        pruned = json.loads(run("prune", self.data, "--json", "--set", "model.widths=[10]").stdout)["points"][0]
        without = {(head["layer"], head["head"]): head for head in pruned["heads"]}
        curve = pruned["cumulative"]["score"]
        self.assertAlmostEqual(curve[0], pruned["test_mean_squared_error"], places=12)
        removed = pruned["cumulative"]["score_order"][0]
        self.assertEqual(curve[1], without[(1, removed + 1)]["mean_squared_error_without"])


class UnequalPaths(ProgramTest):
    def test_prune_warns_where_paths_differ_in_size(self):
        data, output = self.path("paths.h5"), self.path("pruned.h5")
        few = ("--set", "model.widths=[10]", "--set", "model.temperature=0.1")
        features = np.random.default_rng(1).normal(size=(12, 2, 5))
        for factor, warned in ((2.0, False), (30.0, True)):
            scaled = features * np.array([1.0, factor])[None, :, None]
            write_path_features(data, **{"train/path_features": scaled})
            process = run("prune", data, *few, "-o", output, "-q", "--force")
            self.check(process, 0)
            self.assertEqual("The scores may mislead, because paths differ in size" in process.stdout, warned)
            with h5py.File(output) as file:
                norms = np.sqrt((scaled**2).sum(axis=2).mean(axis=0))
                np.testing.assert_allclose(file["path_norms"], norms, rtol=1e-12)
        scaled = features * np.array([1.0, 30.0])[None, :, None]
        for names, shown in ((None, "path (2) have norm"), ([b"quiet", b"loud"], "path (2) loud have norm")):
            write_path_features(data, **{"train/path_features": scaled, "names/layer_1": names})
            self.assertIn(shown, " ".join(run("prune", data, *few, "-q").stdout.split()))
        # Norms are of the data, so the model's variances do not matter.
        self.check(run("prune", data, *few, "--set", "model.variances=[2.0]", "-o", output, "-q", "--force"), 0)
        with h5py.File(output) as file:
            np.testing.assert_allclose(file["path_norms"], norms, rtol=1e-12)
        gram = self.path("gram.h5")
        self.check(run("gram", data, "-o", gram, "-q"), 0)
        self.assertIn("The scores may mislead", run("prune", gram, *few, "-q").stdout)


class Undefined(ProgramTest):
    def test_a_head_alone_in_its_layer_leaves_no_accuracy(self):
        heads = json.loads(run("prune", self.study, "--json", "--set", "model.widths=[10]").stdout)["points"][0]["heads"]
        alone = heads[2]  # layer 2 has this one
        self.assertIsNone(alone["accuracy_without"])
        self.assertIsNone(alone["accuracy_drop"])
        self.assertIsNotNone(alone["squared_error_rise"])
        self.assertIsNotNone(heads[0]["accuracy_without"])

    def test_inputs_of_zero_leave_no_accuracy(self):
        data = self.path("zero.h5")
        write_path_features(data, **{"train/path_features": np.zeros((12, 2, 5)),
                                     "test/path_features": np.zeros((7, 2, 5))})
        process = run("solve", data, "--json", "--set", "model.widths=[10]")
        self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertIsNone(json.loads(process.stdout)["points"][0]["accuracy"])

    def test_equal_examples_of_opposite_labels_leave_no_accuracy(self):
        random = np.random.default_rng(4)
        data, told = self.path("contradictory.h5"), self.path("told.h5")
        features, signs = np.repeat(random.normal(size=(30, 2, 5)), 2, axis=0), np.tile([1.0, -1.0], 30)
        write_path_features(data, **{"train/path_features": features, "train/labels": signs})
        features[0] *= 1 + 1e-9  # one of them is told apart
        write_path_features(told, **{"train/path_features": features, "train/labels": signs})
        widths = ("--set", "model.widths=[10,100]", "--set", "model.temperature=0.01")
        process = run("solve", data, "--json", *widths)
        self.assertIn("no path carries information", process.stderr)
        result = json.loads(process.stdout)
        for point in result["points"] + result["gaussian_process"]:
            self.assertIsNone(point["accuracy"])
            self.assertIsNone(point["train_accuracy"])
            self.assertEqual(point["test_mean_squared_error"], 1)
        pruned = json.loads(run("prune", data, "--json", *widths).stdout)
        self.assertIsNone(pruned["points"][0]["accuracy"])
        process = run("solve", told, "--json", *widths)
        self.assertNotIn("no path carries", process.stderr)
        self.assertIsNotNone(json.loads(process.stdout)["points"][0]["accuracy"])


class ManyPoints(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data = self.path("data.h5")
        write_path_features(self.data, **{"train/labels": np.linspace(-2.0, 2.0, 12), "test/labels": np.linspace(-1.0, 1.0, 7)})
        self.points = (self.data, "-q", "--set", "model.widths=[10,20,50]", "--set", "model.temperature=[0.1,1]")

    def test_align_shows_infinite_width_once_for_each_temperature(self):
        lines = run("align", *self.points).stdout.splitlines()
        self.assertEqual(sum(" renormalised " in line for line in lines), 6)
        self.assertEqual([line.split()[:3] for line in lines if " GP " in line], [["-", "0.1", "GP"], ["-", "1", "GP"]])

    def test_a_temperature_chosen_by_test_labels_is_said_of_what_the_table_shows(self):
        self.assertIn("such a test MSE is optimistic", run("solve", *self.points).stdout)
        write_path_features(self.data)
        self.assertIn("such an accuracy is optimistic", run("solve", *self.points).stdout)


class FewExamples(ProgramTest):
    def test_one_example_has_no_error(self):
        data = self.path("one.h5")
        write_path_features(data, **{"test/path_features": np.ones((1, 2, 5)), "test/labels": np.ones(1)})
        process = run("prune", data, "--json", "--set", "model.widths=[10]")
        self.assertEqual(process.returncode, 0, process.stderr)
        for head in json.loads(process.stdout)["points"][0]["heads"]:
            self.assertIsNone(head["squared_error_rise_error"])
            self.assertIsNotNone(head["squared_error_rise"])

    def test_prune_says_that_there_is_no_test_set(self):
        data = self.path("train.h5")
        write_path_features(data)
        with h5py.File(data, "a") as file:
            del file["test"]
        self.assertIn("the data have no test set", run("prune", data, "--set", "model.widths=[10]").stderr)


class NoEvidence(ProgramTest):
    def test_the_reason_stands_below_the_table(self):
        data = self.path("data.h5")
        write_path_features(data)
        process = run("sample", data, "--set", "model.widths=[10]", "--set", "sample.draws=5", "--set", "sample.warmup=5",
                      "--set", "sample.chains=1")
        self.assertIn("\nno log evidence: 5 draws are too few for ", process.stdout)


class LearnedAttention(ProgramTest):
    def test_further_sets_and_the_choice_of_a_temperature(self):
        """There is no Gaussian process to take either from."""
        random = np.random.default_rng(5)
        data = self.path("data.h5")
        with h5py.File(data, "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
            for split in ("train", "test", "sets/validation"):
                inputs = random.normal(size=(8, 3, 2))
                file[split + "/inputs"], file[split + "/labels"] = inputs, np.sign(inputs[:, 0, 0])
        process = run("solve", data, "--set", "model.attention_prior.heads=[1]", "--set", "model.widths=[10]", "--set",
                      "model.temperature=[0.1,1]", "--set", "solve.attention_starts=1")
        self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertNotIn("MSE", process.stdout)
        chosen = process.stdout.split("temperature chosen")[1]
        self.assertIn("validation", chosen)
        self.assertIn("test labels", chosen)
        self.assertNotIn("evidence  ", chosen.split("log evidence")[1])


class Validating(ProgramTest):
    def test_arrays_that_nobody_reads_are_told(self):
        data = self.path("data.h5")
        write_path_features(data)
        self.assertEqual(run("validate", data).stdout, f"{data}: valid\n")
        self.assertEqual(json.loads(run("validate", "--json", data).stdout)["ignored"], [])
        with h5py.File(data, "a") as file:
            file["train/extra"], file["own/notes/a"] = np.ones(3), np.ones(2)
        self.assertIn("no data set has them: own/notes/a, train/extra\n", run("validate", data).stdout)
        self.assertEqual(json.loads(run("validate", "--json", data).stdout)["ignored"], ["own/notes/a", "train/extra"])


class Inspecting(ProgramTest):
    def test_threads_do_not_change_what_is_shown(self):
        data = self.path("data.h5")
        write_path_features(data)
        self.assertEqual(run("inspect", data, "--threads", "1").stdout, run("inspect", data).stdout)
        self.assertIn("widths = [10]", run("inspect", data, "--set", "model.widths=[10]").stdout)


class ManyPaths(ProgramTest):
    def test_two_hundred_paths_converge_by_default(self):
        data = self.path("many.h5")
        random = np.random.default_rng(5)
        write_path_features(data, heads=(6, 6, 6), **{
            "train/path_features": random.normal(size=(10, 216, 4)), "train/labels": np.sign(random.normal(size=10)),
            "test/path_features": None, "test/labels": None})
        process = run("solve", data, "--json", "--set", "model.widths=[20,200]")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue(all(point["converged"] for point in json.loads(process.stdout)["points"]))
        few = run("solve", data, "--set", "model.widths=[20]", "--set", "solve.max_iterations=2")
        self.check(few, 2, "solve.max_iterations")  # what to change


class HowWellItIsAMinimum(ProgramTest):
    def test_the_line_below_the_table_is_the_worst_of_all_rows(self):
        points = json.loads(run("solve", self.study, "--json").stdout)["points"]
        gradients, eigenvalues = ([point[name] for point in points] for name in ("gradient_norm", "smallest_hessian_eigenvalue"))
        self.assertGreater(len(points), 1)
        self.assertIn(f"S/max N: gradient at most {max(gradients):.1e}, smallest eigenvalue of the Hessian {min(eigenvalues):.3g}\n",
                      run("solve", self.study).stdout)
        without = run("solve", self.study, "--set", "solve.hessian=off", "--set", "solve.corrections=off").stdout
        self.assertIn(f"S/max N: gradient at most {max(gradients):.1e}\n", without)


class WhatIsAsked(ProgramTest):
    def test_corrections_bring_their_hessian(self):
        process = run("solve", self.study, "--json", "--set", "solve.corrections=on", "--set", "solve.hessian=off")
        self.check(process, 0)
        self.assertTrue(all(point["corrected"]["defined"] for point in json.loads(process.stdout)["points"][1:]))

    def test_auto_leaves_a_costly_correction_out_and_v_says_so(self):
        data = self.path("many.h5")
        random = np.random.default_rng(1)
        write_path_features(data, heads=(8, 8), **{
            "train/path_features": random.normal(size=(40, 64, 3)), "train/labels": np.sign(random.normal(size=40)),
            "test/path_features": None, "test/labels": None})
        for setting, made in ("auto", False), ("on", True):
            process = run("solve", data, "--json", "-v", "--set", "model.widths=[100]", "--set", "model.temperature=0.5",
                          "--set", f"solve.corrections={setting}")
            self.assertEqual(json.loads(process.stdout)["points"][0]["corrected"]["defined"], made)
            self.assertEqual("no 1/N correction at 1 of 1 points: skipped: too costly" in process.stderr, not made)

    def test_typed_paths_are_relative_to_where_one_stands(self):
        data, study = self.path("data.h5"), self.path("sub/study.toml")
        write_path_features(data)
        os.mkdir(self.path("sub"))
        with open(study, "w", encoding="utf-8") as file:
            file.write('[task]\nkind = "dataset"\nfile = "../data.h5"\n')
        self.check(run("solve", study, "--dry-run", cwd="/"), 0)
        self.check(run("solve", study, "--dry-run", "--set", "task.file=data.h5", cwd=self.directory), 0)
        self.check(run("solve", study, "--dry-run", "--set", "task.file=../data.h5", cwd=self.directory), 66)

    def test_a_theory_out_of_its_range_says_so(self):
        inside = run("solve", self.study, "--set", "model.widths=[100]")
        self.check(inside, 0)
        self.assertNotIn("warning", inside.stderr)
        outside = run("solve", self.study, "--set", "model.widths=[2,100]")
        self.check(outside, 0, "warning: widths 2,2,2", "(C p_1 + 1)/N_1 = 1.5 is not small",
                   "headway sample is exact there")
        self.assertNotIn("widths 100", outside.stderr)
        many = run("solve", self.study, "--set", "model.widths=[1,2,[1,2,3],[2,1,1],[1,1,2]]")
        self.assertEqual(many.stderr.count("the theory is out of its range: "), 2, many.stderr)
        self.assertIn("out of its range at 3 further widths", many.stderr)


class Terminal(ProgramTest):
    def test_tables_and_progress_fit(self):
        wide = run("solve", self.study, "-q").stdout
        columns = 55
        self.assertGreater(max(map(len, wide.splitlines())), columns)
        text = on_terminal(columns, "solve", self.study, "-q")
        rows = [line for line in text.splitlines()[1:] if line]
        self.assertLessEqual(max(map(len, rows)), columns)
        self.assertGreater(sum(line.split()[:2] == ["widths", "T"] for line in rows), 2)  # blocks of one table
        words = sorted(word for line in wide.splitlines() for word in line.split())
        for word in set(words) - {word for word in words if "." in word}:  # times differ
            self.assertIn(word, text)
        few = ("--set", "sample.draws=100", "--set", "sample.warmup=100", "--set", "sample.predictor_draws=10")
        for verb, columns, more, row in (("align", 76, (), "renormalised"), ("sample", 60, few, "saddle point"),
                                         ("prune", 60, (), None)):
            with self.subTest(verb=verb):
                text = on_terminal(columns, verb, self.study, "-q", *more)
                lines = [line for line in text.splitlines() if not line.startswith("headway:")]  # standard error
                self.assertLessEqual(max(map(len, lines)), columns, text)
                table = text.split("posterior means")[-1].splitlines()
                blocks = sum(line.startswith("widths") for line in table)
                self.assertTrue(row is None or blocks > 1, text)  # a narrow table has several blocks, and each names its points
                self.assertEqual(sum(row is not None and row in line for line in table), 2 * blocks if row else 0)
        slow = on_terminal(30, "sample", self.write("slow.toml", SMALL), "--set", "sample.draws=3000")
        in_place = [line.split("\n")[0] for line in slow.split("\r\x1b[K")[1:]]
        progress = [line for line in in_place if re.match(r"sampling \d+ %", line)]
        self.assertGreater(len(progress), 3, slow)
        self.assertLess(max(map(len, progress)), 30)


if __name__ == "__main__":
    unittest.main()
