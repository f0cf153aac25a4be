"""headway.predict on arrays and files against what results say of the same inputs."""

import pickle
import sys
import unittest
from types import SimpleNamespace
from unittest import mock

import h5py
import numpy as np

import headway
import program
from bindings import differences, file_of, setUpModule  # noqa: F401
from headway.base.remaking import how_to_remake
from headway.results.table import cells as predicted


def problem(seed=1):
    rng = np.random.default_rng(seed)
    return {"features": rng.standard_normal((12, 4, 5)), "labels": np.sign(rng.standard_normal(12)), "heads": [2, 2],
            "test_features": rng.standard_normal((7, 4, 5)), "test_labels": np.sign(rng.standard_normal(7))}


def few(**more):
    return {"widths": [10, 50], "temperature": 0.1} | more


class Predict(unittest.TestCase):
    def test_arrays_are_predicted_as_the_test_set_was(self):
        given = problem()
        solved = headway.solve(**given, **few())
        found = headway.predict(solved, features=given["test_features"])
        self.assertEqual([point.widths for point in found.points], [point.widths for point in solved.points])
        for one, known in zip(found.points, solved.points):
            np.testing.assert_allclose(one.mean, known.predictor.mean, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(one.sd**2, known.predictor.variance, rtol=1e-8, atol=1e-12)
            np.testing.assert_array_equal(one.predicted_class, np.sign(one.mean))
            self.assertEqual(one.right_sign_probability.shape, (7,))
        self.assertIn("7 examples of inputs", repr(found))
        self.assertIn("right sign", found._repr_html_())
        with mock.patch.dict(sys.modules, pandas=SimpleNamespace(DataFrame=list)):
            rows = found.to_pandas()
        self.assertEqual([(row["width"], row["example"]) for row in rows], [(width, at) for width in (10, 50) for at in range(7)])
        self.assertEqual([row["mean"] for row in rows[7:]], list(found.points[1].mean))


    def test_classes_are_told_and_real_targets_have_none(self):
        given, new = problem(), problem()["test_features"]

        def answers(labels, **more):
            solved = headway.solve(**{**given, "labels": labels, "test_labels": labels[:7]}, **few(**more))
            return headway.predict(solved, features=new)
        found = answers(np.resize([0, 1], 12)).points[0]
        self.assertLessEqual(set(found.predicted_class), {-1, 1})
        for labels in (np.linspace(-2.0, 2.0, 12), np.random.default_rng(2).standard_normal((12, 2))):
            found = answers(labels)
            for point in found.points:
                self.assertIsNone(point.predicted_class)
                self.assertIsNone(point.right_sign_probability)
                self.assertGreaterEqual(point.seconds, 0.0)  # the rest stays
            self.assertIn("7 examples of inputs", repr(found))
            self.assertEqual([row[-2:] for row in predicted(found)[1]], [["-", "-"]] * 14)
            self.assertIsNone(pickle.loads(pickle.dumps(found)).points[0].predicted_class)
        self.assertLessEqual(set(answers(np.eye(3)[np.resize([0, 1, 2], 12)]).points[0].predicted_class), {0, 1, 2})

    def test_how_to_remake_it_is_what_made_it(self):
        given = problem()
        solved = headway.solve(**given, **few())
        headway.predict(solved, features=given["test_features"], output=file_of("made.h5"))
        found = headway.read_result(file_of("made.h5"))
        self.assertEqual(found.remake.splitlines(), ["It was made by this call, from a result and new inputs:", "headway.predict(...)"])
        page = headway.write_report([file_of("made.h5")], file_of("made.html")).read_text(encoding="utf-8")
        self.assertIn("<caption>Predictions", page)
        self.assertNotIn("headway predict ", page)
        self.assertNotRegex(page, "'headway.predict|&#x27;headway.predict|data hash")  # there is no hash of arrays in memory
        command = "headway predict solved.h5 later.h5 -o new.h5"
        for kind in ("predict", "network_predict"):
            made = SimpleNamespace(kind=kind, provenance={"command": command})
            self.assertEqual(how_to_remake(made), ("It was made by this command, from a result and new inputs:", command))

    def test_samples_predict_as_they_did(self):
        given = problem()
        sampled = headway.sample(**given, **few(chains=4, draws=2000, seed=1))
        one = headway.predict(sampled, features=given["test_features"]).points[0]
        np.testing.assert_allclose(one.mean, sampled.points[0].predictor.mean, rtol=1e-9, atol=1e-12)
        self.assertEqual(one.method, "exact")
        self.assertGreater(one.draws, 0)

    def test_inputs_are_predicted_with_the_heads_of_the_task_or_their_own_attention(self):
        rng = np.random.default_rng(3)
        x, w, y = rng.standard_normal((12, 3, 5)), rng.standard_normal((2, 5, 5)), np.resize([1.0, -1.0], 12)
        new = rng.standard_normal((4, 3, 5))
        solved = headway.solve(inputs=x, labels=y, attention_weights=[w], test_inputs=new, test_labels=y[:4], **few())
        np.testing.assert_allclose(headway.predict(solved, inputs=new).points[0].mean, solved.points[0].predictor.mean, rtol=1e-9)
        a, b = np.full((12, 2, 3, 3), 1 / 3), np.full((4, 2, 3, 3), 1 / 3)
        solved = headway.solve(inputs=x, labels=y, attention=[a], test_inputs=new, test_labels=y[:4], test_attention=[b], **few())
        found = headway.predict(solved, inputs=new, attention=[b])
        np.testing.assert_allclose(found.points[0].mean, solved.points[0].predictor.mean, rtol=1e-9)

    def test_files_give_what_the_program_gives(self):
        given = problem()
        data = headway.write_dataset(file_of("data.h5"), train_path_features=given["features"], train_labels=given["labels"],
                                     heads=[2, 2])
        new = headway.write_dataset(file_of("new.h5"), sets={"later": {"path_features": given["test_features"]}}, heads=[2, 2])
        self.assertEqual(headway.check_dataset(new), [])
        solved = file_of("solved.h5")
        headway.solve(data, **few(), output=solved)
        theirs = file_of("theirs.h5")
        program.run("predict", solved, new, "-q", "-o", theirs)
        ours = headway.predict(solved, new, output=file_of("ours.h5"))
        self.assertEqual(differences(theirs, file_of("ours.h5")), [])
        read = headway.read_result(theirs)
        np.testing.assert_array_equal(read.points[1].sets["later"].mean, ours.points[1].mean)
        with h5py.File(theirs) as file:
            self.assertEqual(file.attrs["kind"], "predict")

    def test_trained_networks_predict_with_their_spread_over_seeds(self):
        if "no LibTorch" in program.run("train", "fuzzy-logic-small", "--dry-run").stdout:
            self.skipTest("the program was built without LibTorch")
        steps = {"steps": 4, "batch": 4, "eval_every": 4, "eval_examples": 8, "train.warmup_steps": 1}
        trained = headway.train("fuzzy-logic-small", **{name: value for name, value in steps.items() if "." not in name},
                                settings={"train.warmup_steps": 1, "sweep.seed": [1, 2], "sweep.train.attention": ["softmax"]})
        features = trained.runs[0].weights["embedding.weight"].shape[1]
        x = np.random.default_rng(4).standard_normal((6, 16, features))
        found = headway.predict(trained, inputs=x)
        self.assertEqual([group.seeds for group in found.groups], [(1, 2)])
        self.assertEqual(found.groups[0].mean.shape, (6,))
        each = np.array([run.mean for run in found.runs])
        np.testing.assert_allclose(found.groups[0].mean, each.mean(axis=0))
        np.testing.assert_allclose(found.groups[0].sd, each.std(axis=0, ddof=1))
        self.assertIsNone(found.groups[0].predicted_class)
        self.assertIn("<NetworkPredictResult of headway predict: ", repr(found))
        self.assertIn("2 networks on 6 examples of inputs", repr(found))
        self.assertIn("<td>softmax</td>", found._repr_html_())
        saved = headway.read_result(found.save(file_of("network-predictions.h5")))
        np.testing.assert_array_equal(saved.groups[0].mean, found.groups[0].mean)
        new = headway.write_dataset(file_of("network-inputs.h5"), sets={"inputs": {"inputs": x}})
        np.testing.assert_array_equal(headway.predict(trained, new, weights="best").groups[0].mean, found.groups[0].mean)
        with self.assertRaisesRegex(headway.BadDataError, "inputs: has .* features a token; allowed"):
            headway.predict(trained, inputs=x[:, :, 1:])
        with self.assertRaisesRegex(headway.UsageError, "text: must be absent"):
            headway.predict(trained, text="to be")
        with self.assertRaisesRegex(headway.UsageError, "has both inputs and text; allowed: one of them"):
            headway.predict(trained, inputs=x, text="to be")
        with self.assertRaisesRegex(headway.BadDataError, "^inputs: has 7 features a token"):
            headway.predict(trained, inputs=np.zeros((2, 3, 7)))
        with self.assertRaisesRegex(headway.UsageError, "^features: is not allowed with a result of headway.train"):
            headway.predict(trained, features=x)
        with self.assertRaisesRegex(headway.UsageError, "to_datatree: takes no result of predict"):
            headway.to_datatree(found)

    def test_networks_of_text_predict_next_tokens(self):
        if "no LibTorch" in program.run("train", "fuzzy-logic-small", "--dry-run").stdout:
            self.skipTest("the program was built without LibTorch")
        words = file_of("words.txt")
        words.write_text("to be or not to be, that is the question; " * 8)
        small = {"layers": 1, "model_dim": 8, "heads": 2, "query_dim": 4, "value_dim": 4, "mlp_dim": 8, "steps": 4, "batch": 4,
                 "eval_examples": 4, "warmup_steps": 1, "sample_tokens": 0, "eval_every": 4}
        settings = {"task.file": str(words), "task.sequence_length": 8} | {f"train.{key}": value for key, value in small.items()}
        trained = headway.train("text-small", settings=settings | {"sweep.seed": [1, 2], "sweep.train.attention": ["softmax"]})
        found = headway.predict(trained, text="to be or not to").groups[0].only
        self.assertEqual(found.bits.shape, (15,))
        self.assertAlmostEqual(found.bits_per_byte, np.nanmean(found.bits), delta=1e-9)
        self.assertEqual((found.next.shape, found.next_sd.shape), ((256,), (256,)))
        self.assertEqual(found.likeliest[0].probability, found.next.max())
        self.assertIsNone(found.mean)
        with mock.patch.dict(sys.modules, pandas=SimpleNamespace(DataFrame=list)):
            rows = headway.predict(trained, text="to be or not to").to_pandas()
        np.testing.assert_array_equal([row["bits"] for row in rows if row["seed"] == 1][1:],
                                      headway.predict(trained, text="to be or not to").runs[0].only.bits[1:])
        self.assertIn("next token", headway.predict(trained, text="to be")._repr_html_())
        with self.assertRaisesRegex(headway.UsageError, "and text given"):
            headway.predict(trained, inputs=np.ones((2, 8, 3)))

    def test_arrays_that_changed_in_place_are_noticed(self):
        given = problem()
        solved = headway.solve(**given, **few())
        given["labels"][:2] *= -1
        for verb in (lambda: headway.predict(solved, features=given["test_features"]), lambda: headway.prune(solved),
                     lambda: headway.align(solved), lambda: headway.sample(solved, draws=10),
                     lambda: solved.provenance["data_hash"]):
            with self.assertRaisesRegex(headway.BadDataError, "changed in place"):
                verb()
        given["labels"][:2] *= -1
        self.assertEqual(len(headway.align(solved).points), 2)

    def test_wrong_arguments_are_refused(self):
        given = problem()
        solved = headway.solve(**given, **few())
        for arguments, error, words in (
                ({}, headway.UsageError, "needs new inputs"),
                ({"new": "a.h5", "features": given["features"]}, headway.UsageError, "has both new and features"),
                ({"features": given["features"][:, :, :4]}, headway.BadDataError, "has 4 features a token; allowed: N_0 = 5"),
                ({"features": given["features"][:, :2]}, headway.BadDataError, "heads"),
                ({"features": np.full((2, 4, 5), np.nan)}, headway.BadDataError, "features[0, 0, 0]: nan"),
                ({"inputs": given["features"]}, headway.BadDataError, "holds inputs; allowed: path features")):
            with self.subTest(words=words), self.assertRaises(error) as caught:
                headway.predict(solved, **arguments)
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
