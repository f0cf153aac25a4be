"""headway gram: data sets as Gram matrices, and what takes them."""

import json
import os
import unittest

import h5py
import numpy as np

from support import ProgramTest, most_memory, run, write_path_features


class Gram(ProgramTest):
    def test_solve_of_the_gram_matrix_is_that_of_the_files_together(self):
        rng = np.random.default_rng(5)
        features, labels = rng.normal(size=(30, 2, 5)), np.sign(rng.normal(size=30))
        whole, first, second = (self.path(name) for name in ("whole.h5", "a.h5", "b.h5"))
        test = {"test/path_features": rng.normal(size=(8, 2, 5)), "test/labels": np.sign(rng.normal(size=8))}
        halves = [{k: v[part] for k, v in test.items()} for part in (slice(0, 3), slice(3, 8))]
        write_path_features(whole, **{"train/path_features": features, "train/labels": labels, **test})
        write_path_features(first, **{"train/path_features": features[:11], "train/labels": labels[:11], **halves[0]})
        write_path_features(second, **{"train/path_features": features[11:], "train/labels": labels[11:], **halves[1]})
        gram = self.path("gram.h5")
        self.check(run("gram", first, second, "-o", gram), 0)
        with h5py.File(gram) as file:
            flat = features.reshape(30, 10)
            np.testing.assert_allclose(file["gram/features"], flat.T @ flat, atol=1e-12)
            np.testing.assert_allclose(file["gram/projection"], (flat.T @ labels)[:, None], atol=1e-12)
            self.assertEqual(file["gram"].attrs["examples"], 30)
        settings = ["--set", "model.widths=[5,50]", "--set", "model.temperature=0.2", "--json"]
        expected = run("solve", whole, *settings)
        found = run("solve", gram, *settings)
        self.check(expected, 0)
        self.check(found, 0)
        for a, b in zip(json.loads(found.stdout)["points"], json.loads(expected.stdout)["points"]):
            np.testing.assert_allclose(a["U"][0], b["U"][0], rtol=1e-8)
            self.assertAlmostEqual(a["accuracy"], b["accuracy"])
            self.assertIsNone(a["train_accuracy"])
        self.check(run("validate", gram), 0)
        self.check(run("inspect", gram), 0)
        result = self.path("r.h5")
        self.check(run("solve", gram, *settings, "-o", result), 0)
        self.check(run("prune", result), 0)
        sampled = run("sample", gram, "--set", "model.widths=[1]", "--set", "sample.draws=20",
                      "--set", "sample.warmup=30", "--set", "sample.chains=2", "--json")
        self.assertIn(sampled.returncode, (0, 2), sampled.stderr)  # few draws

    def test_what_is_wrong_is_named(self):
        good, other = self.path("good.h5"), self.path("other.h5")
        write_path_features(good)
        write_path_features(other, **{"train/path_features": np.ones((12, 2, 4)), "test/path_features": np.ones((7, 2, 4))})
        process = run("gram", good, other, "-o", self.path("g.h5"))
        self.check(process, 65)
        self.assertIn("other.h5: has features N_0 = 4; allowed: 5", process.stderr)
        signs = np.where(np.arange(12) % 2, 1.0, -1.0)
        for path, labels in ((good, signs), (other, 0.5 + 0.5 * signs)):
            write_path_features(path, **{"train/labels": labels, "test/labels": None, "test/path_features": None})
        process = run("gram", good, other, "-o", self.path("g.h5"))
        self.check(process, 65, "other.h5: names the two classes of train/labels by 0 and 1; allowed: -1 and +1")
        write_path_features(good)
        write_path_features(other, **{"train/path_features": np.concatenate(
            [np.ones((12, 1, 5)), np.zeros((12, 1, 5))], axis=1)})
        process = run("gram", other, "-o", self.path("g.h5"))
        self.check(process, 65)
        self.assertIn("path 2 of 2", process.stderr)
        process = run("gram", self.study)
        self.check(process, 78)
        self.check(run("gram", good, self.path("none.h5")), 66)
        self.check(run("gram", good, os.path.join(self.directory, ".", "good.h5")), 0, "its examples count twice")
        gram = self.path("g.h5")
        self.check(run("gram", good, "-o", gram), 0)
        self.check(run("gram", good, "-o", gram), 73)
        with h5py.File(gram, "a") as file:
            file["gram/features"][2, 2] = -5.0
        process = run("solve", gram)
        self.check(process, 65)
        self.assertIn("not positive semidefinite", process.stderr)

    def test_memory_does_not_grow_with_the_examples(self):
        used = []
        for examples in (2_000, 200_000):
            data = self.path(f"{examples}.h5")
            rng = np.random.default_rng(1)
            write_path_features(data, **{
                "train/path_features": rng.normal(size=(examples, 2, 32)).astype(np.float32),
                "train/labels": np.sign(rng.normal(size=examples)),
                "test/path_features": rng.normal(size=(7, 2, 32))})
            used.append(most_memory("gram", data, "-o", self.path(f"g{examples}.h5")))
            with h5py.File(self.path(f"g{examples}.h5")) as file:
                self.assertEqual(file["gram"].attrs["examples"], examples)
        features = 200_000 * 64 * 8
        self.assertLess(used[1] - used[0], 0.5 * features)


if __name__ == "__main__":
    unittest.main()
