"""The verbs on real input: studies, data sets and results in place of a study, reuse, remaking."""

import json
import os
import unittest

import h5py
import numpy as np

from support import STUDIES, ProgramTest, most_memory, run, write_path_features


FEATURES = {"copy-task": 17, "modules": 6, "bilinear-sequence": 20, "in-context": 11}  # N_0 of studies; of all others 231


def points(process):
    return json.loads(process.stdout)["points"]


class ShippedStudies(ProgramTest):
    def test_each_parses_and_plans(self):
        names = sorted(name for name in os.listdir(STUDIES) if name.endswith(".toml"))
        self.assertGreaterEqual(len(names), 4)
        data = self.path("data.h5")
        write_path_features(data)
        for name in names:
            with self.subTest(name=name):
                path = os.path.join(STUDIES, name)
                self.check(run("inspect", path), 0)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if "[train]" in text:
                    continue  # their plans are made by the tests of training
                made = 'kind = "dataset"' in text  # of a data set that another study makes
                arguments = ["--set", f"task.file={data}"] if made else []
                process = run("solve", path, "--dry-run", "--json", *arguments)
                self.check(process, 0)
                plan = json.loads(process.stdout)
                self.assertEqual(plan["study"] + ".toml", name)
                if not made:
                    expected = next((n for start, n in FEATURES.items() if name.startswith(start)), 231)
                    self.assertEqual(plan["features"], expected)

    def test_the_resolved_study_resolves_to_itself(self):
        first = run("inspect", self.study).stdout
        again = self.write("resolved.toml", first)
        self.assertEqual(run("inspect", again).stdout, first)
        original = json.loads(run("inspect", self.study, "--json").stdout)
        resolved = json.loads(run("inspect", again, "--json").stdout)
        self.assertEqual(original["study_hash"], resolved["study_hash"])


class InPlaceOfAStudy(ProgramTest):
    def test_a_data_set_is_solved(self):
        data = self.path("data.h5")
        write_path_features(data)
        process = run("solve", data, "--json", "--set", "model.widths=[10,100]")
        self.check(process, 0)
        self.assertEqual([p["widths"] for p in points(process)], [[10, 10], [100, 100]])
        self.assertEqual(np.array(points(process)[0]["U"][0]).shape, (2, 2))
        study = self.write("s.toml", '[task]\nkind = "dataset"\nfile = "data.h5"\n'
                                     "[model]\nwidths = [10, 100]\n")
        same = run("solve", study, "--json", cwd="/")
        self.check(same, 0)
        for a, b in zip(points(process), points(same)):
            self.assertEqual(a["U"], b["U"])

    def test_result_is_rerun_to_the_same_numbers(self):
        output = self.path("first.h5")
        first = run("solve", self.study, "-o", output, "--json")
        self.check(first, 0)
        again = run("solve", output, "--json", "--threads", "1")
        self.check(again, 0)
        for a, b in zip(points(first), points(again)):
            a.pop("seconds"), b.pop("seconds")
            self.assertEqual(a, b)

    def test_a_result_remakes_itself_from_its_own_attributes(self):
        output = self.path("first.h5")
        self.check(run("solve", self.study, "-o", output, "--seed", "11"), 0)
        with h5py.File(output) as file:
            attributes = {k: file.attrs[k] for k in file.attrs}
            order_parameters = file["points/0/order_parameters/layer_1"][...]
        for name in ("study_hash", "data_hash", "headway_version", "git_commit", "compiler", "blas",
                     "machine", "command", "started"):
            self.assertTrue(str(attributes[name]), name)
        self.assertEqual(attributes["seed"], 11)
        self.assertEqual(attributes["partial"], 0)
        study = self.write("again.toml", attributes["study_toml"])
        again = run("solve", study, "--json")
        self.assertEqual(json.loads(again.stdout)["study_hash"], attributes["study_hash"])
        np.testing.assert_array_equal(np.array(points(again)[0]["U"][0]), order_parameters)


class Reuse(ProgramTest):
    def setUp(self):
        super().setUp()
        self.result = self.path("solve.h5")
        self.check(run("solve", self.study, "-o", self.result), 0)

    def test_align_and_prune_reuse_the_order_parameters(self):
        for verb, field in (("align", "overlaps"), ("prune", "heads")):
            with self.subTest(verb=verb):
                reused = run(verb, self.result, "--json", "-v")
                self.check(reused, 0, "order parameters are used")
                fresh = run(verb, self.study, "--json")
                self.check(fresh, 0)
                for a, b in zip(points(reused), points(fresh)):
                    self.assertEqual(a["U"], b["U"])
                    if verb == "prune":
                        self.assertEqual(a[field], b[field])
                    else:
                        np.testing.assert_allclose(a[field], b[field], rtol=1e-9, atol=1e-12)

    def test_a_change_of_align_alone_still_reuses(self):
        process = run("align", self.result, "--json", "-v", "--set", "align.components=3")
        self.check(process, 0, "order parameters are used")
        self.assertEqual(len(points(process)[0]["overlaps"]), 3)

    def test_points_are_reused_one_by_one(self):
        process = run("align", self.result, "--json", "-v", "--set", "model.widths=[20,100]")
        self.check(process, 0, "order parameters of 1 of 2 points are those")
        found = points(process)
        self.assertEqual([point["widths"] for point in found], [[20] * 3, [100] * 3])
        whole = points(run("align", self.study, "--json"))
        self.assertEqual(found[1]["U"], whole[1]["U"])
        self.assertEqual(found[1]["seconds"], points(run("align", self.result, "--json"))[1]["seconds"])
        fresh = points(run("align", self.study, "--json", "--set", "model.widths=[20]"))
        np.testing.assert_allclose(found[0]["U"][0], fresh[0]["U"][0], rtol=1e-7)
        self.check(run("align", self.result, "-v", "--set", "model.temperature=[0.1,0.2]"), 0,
                   "order parameters of 2 of 4 points are those")

    def test_another_study_is_solved_anew(self):
        process = run("align", self.result, "--json", "--set", "model.variances=2.0")
        self.check(process, 0, "not used")
        self.assertEqual(points(process)[0]["widths"], [10, 10, 10])

    def test_changed_data_are_solved_anew(self):
        data = self.path("data.h5")
        write_path_features(data)
        result = self.path("data-result.h5")
        self.check(run("solve", data, "-o", result, "--set", "model.widths=10"), 0)
        self.check(run("align", result, "-v"), 0, "order parameters are used")
        write_path_features(data, rng_seed=2)
        self.check(run("align", result, "-v"), 0, "the data are not the same")


class FurtherSets(ProgramTest):
    """A data set with a validation set, over several temperatures."""

    TEMPERATURES = [0.01, 0.1, 1.0, 10.0]

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        self.data = self.path("data.h5")
        write_path_features(self.data, **{
            "sets/validation/path_features": rng.normal(size=(9, 2, 5)),
            "sets/validation/labels": np.where(rng.normal(size=9) > 0, 1.0, -1.0),
            "sets/noise/path_features": rng.normal(size=(4, 2, 5)),
            "sets/noise/labels": rng.normal(size=4)})
        self.sweep = ["--set", "model.widths=[10,100]", "--set", f"model.temperature={self.TEMPERATURES}"]

    def test_tables_have_columns_only_where_there_are_sets(self):
        lines = run("solve", self.data, *self.sweep).stdout.splitlines()
        self.assertIn("12 train, 7 test, 4 noise and 9 validation examples", lines[0])
        self.assertIn("noise MSE      GP  validation      GP", lines[2])
        at = lines.index("temperature chosen for each network")
        self.assertEqual([line.split()[1] for line in lines[at + 2:at + 11]],
                         ["validation", "evidence", "test"] * 3)
        self.assertIn("optimistic", lines[at + 11])
        write_path_features(self.data)
        plain = run("solve", self.data, "--set", "model.widths=[10,100]").stdout
        for word in ("validation", "chosen"):
            self.assertNotIn(word, plain)

    def test_json_and_hdf5_agree_on_what_is_chosen(self):
        output = self.path("result.h5")
        process = run("solve", self.data, *self.sweep, "--json", "-o", output)
        self.check(process, 0)
        result = json.loads(process.stdout)
        by = {(tuple(c.get("widths", ())), c["by"]): c for c in result["chosen"]}
        self.assertEqual(len(by), 9)
        for width in (10, 100):
            mine = [p for p in result["points"] if p["widths"] == [width, width]]
            best = {"validation": max(mine, key=lambda p: (p["sets"]["validation"]["accuracy"],
                                                           -p["sets"]["validation"]["mean_squared_error"])),
                    "evidence": max(mine, key=lambda p: p["log_evidence"]),
                    "test": max(mine, key=lambda p: (p["accuracy"], -p["test_mean_squared_error"]))}
            for rule, point in best.items():
                chosen = by[(width, width), rule]
                self.assertEqual(chosen["temperature"], point["temperature"])
                self.assertEqual(chosen["sets"], point["sets"])
                self.assertEqual(result["points"][chosen["point"]], point)
        limit = max(result["gaussian_process"], key=lambda p: p["log_evidence"])
        self.assertEqual(by[(), "evidence"]["temperature"], limit["temperature"])
        with h5py.File(output) as file:
            self.assertEqual(len(file["chosen"]), 9)
            for k, chosen in enumerate(result["chosen"]):
                group = file[f"chosen/{k}"].attrs
                self.assertEqual((group["by"], group["temperature"], group["point"]),
                                 (chosen["by"], chosen["temperature"], chosen["point"]))
            self.assertEqual(file["points/3/sets/noise"].attrs["mean_squared_error"],
                             result["points"][3]["sets"]["noise"]["mean_squared_error"])

    def test_samples_and_a_reused_result(self):
        output = self.path("result.h5")
        self.check(run("solve", self.data, "--set", "model.widths=[10]", "-o", output), 0)
        small = ["--set", "sample.draws=40", "--set", "sample.warmup=60"]
        process = run("sample", output, *small, "--json")
        point = json.loads(process.stdout)["points"][0]
        self.assertEqual(sorted(point["sets"]), ["noise", "validation"])
        self.assertIsNotNone(point["theory"]["log_evidence"])
        pruned = json.loads(run("prune", output, "--json").stdout)
        self.assertEqual(pruned["points"][0]["sets"], json.loads(
            run("solve", output, "--json").stdout)["points"][0]["sets"])


class Plans(ProgramTest):
    """What --dry-run tells of a study, and what the run then does."""

    def plan_and_run(self, examples, heads, features, *settings):
        rng = np.random.default_rng(2)
        paths = int(np.prod(heads))
        data = self.path("large.h5")
        write_path_features(data, heads=heads, **{
            "train/path_features": rng.normal(size=(examples, paths, features)),
            "train/labels": np.where(rng.normal(size=examples) > 0, 1.0, -1.0),
            "test/path_features": rng.normal(size=(5, paths, features)),
            "test/labels": np.ones(5)})
        study = [data, "--threads", 1, "--set", "model.widths=[50]"]
        for setting in ("model.temperature=0.5", "solve.max_iterations=2",
                        "solve.corrections=off", *settings):
            study += ["--set", setting]
        plan = run("solve", *study, "--dry-run", "--json")
        self.check(plan, 0)
        solved = run("solve", *study, "--json")
        self.assertIn(solved.returncode, (0, 2), solved.stderr)
        held = most_memory("solve", *study) - most_memory("solve", self.study, "--threads", 1)
        return json.loads(plan.stdout), points(solved)[0], held

    def test_kernels_and_memory_are_those_of_the_run(self):
        cases = (
            (1300, [4, 4], 100, ["solve.memory_limit_gib=1", "solve.optimizer=quasi_newton",
                                 "solve.hessian=off"], "streamed"),
            (700, [2, 2], 300, ["solve.hessian=off"], "stored"),
            (3000, [4, 2], 60, ["solve.optimizer=quasi_newton", "solve.hessian=off"],
             "feature_space"))
        for examples, heads, features, settings, kernels in cases:
            with self.subTest(kernels=kernels):
                plan, point, bytes_held = self.plan_and_run(examples, heads, features, *settings)
                self.assertEqual((plan["kernels"], point["kernels"]), (kernels, kernels))
                self.assertLess(bytes_held, 1.5 * plan["memory_bytes"])
                self.assertGreater(bytes_held, 0.5 * plan["memory_bytes"])

    def test_the_text_names_the_kernels(self):
        text = run("solve", self.study, "--dry-run").stdout
        for line in ("kernels           ", "one evaluation", "one Hessian", "memory"):
            self.assertIn(line, text)
        self.check(run("solve", self.study, "--dry-run", "--set", "solve.kernels=feature_space",
                       "--set", "model.temperature=0"), 78, "feature_space")


class GreedySearch(ProgramTest):
    """The greedy order is searched on validation examples where there are any."""

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(7)
        self.data = self.path("data.h5")
        # Head 1 knows the answers of the test set and of no other, head 2 those of validation.
        labels = {name: np.where(rng.normal(size=n) > 0, 1.0, -1.0)
                  for name, n in (("train", 40), ("test", 30), ("sets/validation", 30))}
        signal = {"train": (1.0, 1.0, 0.3), "test": (1.0, -1.0, 0.3),
                  "sets/validation": (-1.0, 1.0, 0.3)}
        arrays = {}
        for name, y in labels.items():
            noise = 0.1 * rng.normal(size=(len(y), 3, 4))
            noise[:, :, 0] += np.array(signal[name]) * y[:, None]
            arrays[f"{name}/path_features"] = noise
            arrays[f"{name}/labels"] = y
        self.arrays = arrays

    def pruned(self, **arrays):
        write_path_features(self.data, heads=[3], **arrays)
        output = self.path("pruned.h5")
        process = run("prune", self.data, "--json", "--force", "-o", output, "--set",
                      "model.widths=[50]", "--set", "model.temperature=0.1")
        self.check(process, 0)
        with h5py.File(output) as file:
            kept = file["points/0/pruning/cumulative"].attrs["greedy_on"]
        table = run("prune", self.data, "--set", "model.widths=[50]").stdout
        return points(process)[0]["cumulative"], kept, table

    def test_it_is_made_on_validation_and_measured_on_test(self):
        curve, kept, table = self.pruned(**self.arrays)
        self.assertEqual((curve["greedy_on"], kept), ("validation", "validation"))
        self.assertIn("greedy on validation", table)
        self.assertEqual(curve["greedy_order"][0], 0)  # missed least on validation, most on test
        self.assertLess(curve["greedy"][1], curve["greedy"][0])

    def test_it_is_made_on_the_test_set_without_validation(self):
        arrays = {name: values for name, values in self.arrays.items() if "sets" not in name}
        curve, kept, table = self.pruned(**arrays)
        self.assertEqual((curve["greedy_on"], kept), ("test", "test"))
        self.assertIn("  greedy  ", table)  # where its accuracy is measured
        self.assertEqual(curve["greedy_order"][0], 1)


class Inspect(ProgramTest):
    def test_it_says_what_files_hold(self):
        data = self.path("data.h5")
        write_path_features(data)
        text = run("inspect", data)
        self.check(text, 0)
        self.assertIn("path_features", text.stdout)
        result = self.path("result.h5")
        self.check(run("solve", self.study, "-o", result), 0)
        text = run("inspect", result)
        self.check(text, 0)
        for word in ("small", "headway solve", "order_parameters"):
            self.assertIn(word, text.stdout)
        self.check(run("validate", data), 0)
        self.assertEqual(json.loads(run("validate", data, "--json").stdout)["faults"], [])


class Determinism(ProgramTest):
    def test_threads_change_nothing(self):
        one = points(run("solve", self.study, "--json", "--threads", "1"))
        many = points(run("solve", self.study, "--json", "--threads", "4"))
        for a, b in zip(one, many):
            a.pop("seconds"), b.pop("seconds")
            self.assertEqual(a, b)

    def test_seed_changes_the_data(self):
        one = points(run("solve", self.study, "--json", "--seed", "1"))
        two = points(run("solve", self.study, "--json", "--seed", "2"))
        self.assertNotEqual(one[0]["U"], two[0]["U"])
        fixed = ["--set", "task.seed=5"]
        one = points(run("solve", self.study, "--json", "--seed", "1", *fixed))
        two = points(run("solve", self.study, "--json", "--seed", "2", *fixed))
        self.assertEqual(one[0]["U"], two[0]["U"])


if __name__ == "__main__":
    unittest.main()
