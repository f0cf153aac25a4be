"""`headway predict`: new inputs without labels, from results of solve and sample."""

import json
import os
import shutil
import unittest

import h5py
import numpy as np

from support import SMALL, ProgramTest, run, write_path_features

FEW = ("--set", "model.widths=[10,100]", "--set", "model.temperature=0.1")


def write_new(path, arrays, heads=None):
    """A file of new inputs: further sets alone."""
    with h5py.File(path, "w") as file:
        file.attrs["schema_name"] = "headway-dataset"
        file.attrs["schema_version"] = [1, 0]
        for name, values in arrays.items():
            data = file.create_dataset(f"sets/{name}", data=values)
            if heads is not None and name.endswith("path_features"):
                data.attrs["heads"] = list(heads)


class Predict(ProgramTest):
    def setUp(self):
        super().setUp()
        self.data, self.new = self.path("data.h5"), self.path("new.h5")
        write_path_features(self.data)
        with h5py.File(self.data) as file:
            self.features = file["test/path_features"][()]
        write_new(self.new, {"later/path_features": self.features}, heads=[2])

    def result(self, verb, *more):
        output = self.path(f"{verb}.h5")
        self.check(run(verb, self.data, "-o", output, "-q", *FEW, *more), 0)
        return output

    def predict(self, result, new, *more):
        output = self.path("predictions.h5")
        self.check(run("predict", result, new, "-o", output, "-q", "--force", *more), 0)
        return output

    def compare(self, result, predictions, name="later"):
        with h5py.File(result) as known, h5py.File(predictions) as found:
            self.assertEqual(found.attrs["kind"], "predict")
            self.assertEqual(set(found["points"]), set(known["points"]))
            for i in known["points"]:
                one, known_point = found[f"points/{i}/sets/{name}"], known[f"points/{i}/predictor"]
                np.testing.assert_allclose(one["mean"], known_point["mean"], rtol=1e-8, atol=1e-10)
                np.testing.assert_allclose(one["sd"][()] ** 2, known_point["variance"], rtol=1e-7, atol=1e-10)
                np.testing.assert_array_equal(one["predicted_class"], np.sign(known_point["mean"]))
                self.assertTrue((one["right_sign_probability"][()] >= 0.5 - 1e-12).all())

    def test_a_part_of_a_study_says_so(self):
        words = "is part 0/2 of its study; only its own points predict"
        self.assertIn(words, run("predict", self.result("solve", "--shard", "0/2"), self.new).stderr)
        self.assertNotIn("is part", run("predict", self.result("solve", "--force"), self.new).stderr)

    def test_path_features_of_a_result_of_solve(self):
        solved = self.result("solve")
        predictions = self.predict(solved, self.new)
        self.compare(solved, predictions)
        text = run("inspect", predictions).stdout
        self.assertIn("(predict)", text)
        self.assertIn("names the result and the new inputs", text)

    def test_real_targets_have_no_classes(self):
        write_path_features(self.data, **{"train/labels": np.linspace(-2.0, 2.0, 12), "test/labels": np.linspace(-1.0, 1.0, 7)})
        result = self.result("solve")
        said = run("predict", result, self.new, "-q")
        self.check(said, 0)
        for word in ("right sign", "class"):
            self.assertNotIn(word, said.stdout)
        self.assertEqual(set(json.loads(run("predict", result, self.new, "-q", "--json").stdout)["points"][0]["sets"]["later"]), {"mean", "sd"})
        with h5py.File(self.predict(result, self.new)) as file:
            self.assertEqual(set(file["points/0/sets/later"]), {"mean", "sd"})

    def test_a_data_set_is_predicted_split_by_split(self):
        solved = self.result("solve")
        self.compare(solved, self.predict(solved, self.data), "test")

    def test_a_result_of_sample_predicts_as_it_did(self):
        sampled = self.result("sample", "--set", "sample.draws=2000", "--set", "sample.chains=4")
        predictions = self.predict(sampled, self.new)
        self.compare(sampled, predictions)
        again = self.path("again.h5")
        self.check(run("predict", sampled, self.new, "-o", again, "-q", "--threads", "2"), 0)
        with h5py.File(predictions) as one, h5py.File(again) as other:
            self.assertEqual(one["points/0/sets/later/mean"][()].tobytes(), other["points/0/sets/later/mean"][()].tobytes())
            self.assertGreater(one["points/0"].attrs["draws"], 0)

    def test_inputs_of_a_generated_task_need_no_heads(self):
        study = self.write("small.toml", SMALL)
        solved = self.path("solved.h5")
        self.check(run("solve", study, "-o", solved, "-q"), 0)
        with h5py.File(solved) as file:
            features = int(file.attrs["features"])
        inputs = np.random.default_rng(2).normal(size=(5, 6, features))
        write_new(self.new, {"a/inputs": inputs, "b/inputs": inputs[:2]})
        self.check(run("validate", self.new), 0)
        found = json.loads(run("predict", solved, self.new, "--json", "-q").stdout)
        self.assertEqual([point["widths"] for point in found["points"]], [[10, 10, 10], [100, 100, 100]])
        first = found["points"][0]["sets"]
        self.assertEqual(len(first["a"]["mean"]), 5)
        np.testing.assert_allclose(first["a"]["mean"][:2], first["b"]["mean"], rtol=1e-9)
        table = run("predict", solved, self.new, "-q").stdout
        for column in ("set", "example", "mean", "sd", "right sign", "class"):
            self.assertIn(column, table.splitlines()[0])

    def test_validate_and_inspect_take_a_file_without_labels_and_solve_says_who_does(self):
        solved = self.result("solve")
        self.assertEqual(run("validate", self.new).stdout, f"{self.new}: valid\n")
        text = run("inspect", self.new).stdout
        self.assertIn("7 examples, no labels", text)
        self.assertIn(f"headway predict RESULT.h5 {self.new}", text)
        for verb in ("solve", "sample", "prune", "align"):
            self.check(run(verb, self.new), 65, "train: is missing", "new inputs, which headway predict takes")
        self.check(run("gram", self.new, "-o", self.path("gram.h5")), 65, "headway predict takes")
        with h5py.File(self.data, "a") as file:  # beside training examples labels are needed
            file.create_dataset("sets/later/path_features", data=self.features).attrs["heads"] = [2]
        self.assertIn("sets/later/labels: is missing", run("validate", self.data).stdout)
        self.check(run("predict", solved, self.data), 65, "sets/later/labels: is missing")

    def test_what_does_not_fit_is_refused(self):
        solved = self.result("solve")
        write_new(self.new, {"later/path_features": np.zeros((3, 2, 4)) + 1}, heads=[2])
        self.check(run("predict", solved, self.new), 65, "has 4 features a token; allowed: N_0 = 5")
        write_new(self.new, {"later/path_features": np.zeros((3, 3, 5)) + 1}, heads=[3])
        self.check(run("predict", solved, self.new), 65, "has heads [3]; allowed: [2]")
        write_new(self.new, {"later/inputs": np.zeros((3, 2, 5)) + 1})
        self.check(run("predict", solved, self.new), 65, "holds inputs; allowed: path features")
        self.check(run("predict", solved), 64, "takes a result and one file of new inputs")
        self.check(run("predict", self.data, self.data), 65, "is no result file")
        self.check(run("predict", solved, self.data, "--set", "model.widths=[10]"), 78,
                   "predict takes the points that the result has")

    def test_a_missing_or_damaged_result_is_named_as_elsewhere(self):
        self.check(run("predict", self.path("none.h5"), self.new), 66, "none.h5")
        solved = self.result("solve")
        with open(solved, "rb+") as file:
            file.truncate(os.path.getsize(solved) // 2)
        self.check(run("predict", solved, self.new), 65, "truncated")

    def test_points_that_are_not_usable_predict_with_a_warning(self):
        options = ("-o", self.path("bad.h5"), "-q", "--force", *FEW)
        self.check(run("solve", self.data, "--set", "solve.max_iterations=1", *options), 2)
        self.check(run("predict", self.path("bad.h5"), self.new), 2, "not converged")
        self.check(run("sample", self.data, "--set", "sample.draws=4", "--set", "sample.warmup=0", *options), 2)
        self.check(run("predict", self.path("bad.h5"), self.new), 2, "not usable")

    def test_data_that_have_gone_or_changed(self):
        solved = self.result("solve")
        kept = self.path("kept.h5")
        shutil.move(self.data, kept)
        self.check(run("predict", solved, self.new), 66, "data.h5")
        self.predict(solved, self.new, "--set", f"task.file={kept}")
        write_path_features(self.data, rng_seed=2)
        self.check(run("predict", solved, self.new), 65, "is not the data that this result was computed from")
        self.assertTrue(os.path.exists(kept))

    def test_a_result_of_a_gram_matrix_predicts_as_it_did(self):
        gram = self.path("gram.h5")
        self.check(run("gram", self.data, "-o", gram, "-q"), 0)
        solved = self.path("from_gram.h5")
        self.check(run("solve", gram, "-o", solved, "-q", *FEW), 0)
        self.compare(solved, self.predict(solved, self.new))


if __name__ == "__main__":
    unittest.main()
