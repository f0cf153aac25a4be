"""Results that were pickled or copied, or read from a file without their arrays: they go on as the first does."""

import copy
import dataclasses
import pickle
import subprocess
import sys
import unittest
from unittest import mock

import numpy as np

import headway
from bindings import differences, file_of, setUpModule, small  # noqa: F401

COPIES = {"pickle": lambda result: pickle.loads(pickle.dumps(result)), "deepcopy": copy.deepcopy, "copy": copy.copy,
          "twice": lambda result: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(result))))}
NEW = np.random.default_rng(5).standard_normal((3, 4, 5))


class Copies(unittest.TestCase):
    def test_a_copy_saves_what_the_result_saves(self):
        result = headway.solve(**small())
        first = result.save(file_of("first.h5"), overwrite=True)
        for name, copied in COPIES.items():
            with self.subTest(copy=name):
                made = copied(result)
                self.assertEqual(made.save(file_of("again.h5"), overwrite=True).read_bytes(), first.read_bytes())
                self.assertEqual(made.remake, result.remake)
                with self.assertRaisesRegex(headway.CannotWriteError, "overwrite=True"):
                    made.save(first)

    def test_a_copy_is_computed_on(self):
        study = headway.solve("hmm-four-paths", widths=[10], settings={"task.train_examples": 20, "task.test_examples": 20})
        for result in (headway.solve(**small()), study):
            pruned, solved = headway.prune(result), headway.solve(result, temperature=0.3)
            for name, copied in COPIES.items():
                with self.subTest(copy=name, study=result.study):
                    made = copied(result)
                    again = headway.prune(made)
                    self.assertEqual(again.points[0].iterations, pruned.points[0].iterations)
                    np.testing.assert_array_equal(again.head_table()["score"], pruned.head_table()["score"])
                    self.assertEqual(again.provenance["data_hash"], pruned.provenance["data_hash"])
                    self.assertEqual(headway.solve(made, temperature=0.3).points[0].action, solved.points[0].action)

    def test_a_copy_predicts(self):
        for verb in (headway.solve, headway.sample):
            result = verb(**small(), **({"chains": 4, "draws": 1000, "seed": 1} if verb is headway.sample else {}))
            mean = headway.predict(result, features=NEW).points[0].mean
            for name, copied in COPIES.items():
                with self.subTest(copy=name, verb=verb.__name__):
                    np.testing.assert_array_equal(headway.predict(copied(result), features=NEW).points[0].mean, mean)

    def test_parts_from_other_processes_are_merged(self):
        parts = [headway.solve(**small(temperature=[0.1, 0.2]), shard=(i, 2)) for i in range(2)]
        whole = headway.merge([pickle.loads(pickle.dumps(part)) for part in parts])
        self.assertEqual([point.temperature for point in whole.points], [0.1, 0.2])

    def test_a_file_of_a_copy_lives_as_long_as_the_copy(self):
        result = pickle.loads(pickle.dumps(headway.solve(**small())))
        headway.predict(result, features=NEW)
        other = copy.copy(result)
        del result
        headway.predict(other, features=NEW)

    def test_arrays_that_changed_are_noticed_in_a_copy(self):
        given = small()
        made = copy.deepcopy(headway.solve(**given))
        given["features"][0] += 1
        with self.assertRaisesRegex(headway.BadDataError, "changed in place"):
            headway.prune(made)

    def test_large_arrays_stay_behind_and_may_be_given_again(self):
        given = small()
        result = headway.solve(**given)
        with mock.patch("headway.results.display.CARRIED", 10):
            made = pickle.loads(pickle.dumps(result))
        with self.assertRaisesRegex(headway.UnreadableFileError,
                                    "study: was made from arrays in memory, which it does not hold; pass the same arrays again: "
                                    r"headway.prune\(result, inputs=..., labels=..., ...\)"):
            headway.prune(made)
        arrays = {name: given[name] for name in ("features", "labels", "heads")}
        np.testing.assert_array_equal(headway.prune(made, **arrays).head_table()["score"], headway.prune(result).head_table()["score"])

    def test_what_is_made_of_a_result_in_memory_says_that_it_has_no_file(self):
        made = dataclasses.replace(headway.solve(**small()))
        for use in (lambda: made.save(file_of("never.h5")), lambda: headway.prune(made), lambda: headway.merge([made]),
                    lambda: headway.predict(made, features=NEW)):
            with self.assertRaisesRegex(headway.UsageError, "result: has no file, and nothing of the computation"):
                use()

    def test_a_process_without_the_extension_module_reads_and_saves_it(self):
        given = small()
        result = headway.solve(**given, sets={"validation": {"path_features": given["features"], "labels": given["labels"]}})
        file_of("pickled").write_bytes(pickle.dumps(result))
        code = f"""if True:
            import pickle, sys
            sys.modules["headway._native"] = None
            made = pickle.loads(open({str(file_of("pickled"))!r}, "rb").read())
            print(made.points[0].widths, made.save({str(file_of("saved.h5"))!r}).name)
            """
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.stdout.strip(), "(10, 10, 10) saved.h5", ended.stderr)
        self.assertEqual(differences(file_of("saved.h5"), result.save(file_of("ours.h5"))), [])


class ArraysAgain(unittest.TestCase):
    """A file holds no arrays. They are given again."""

    @classmethod
    def setUpClass(cls):
        cls.given = small()
        cls.arrays = {name: cls.given[name] for name in ("features", "labels", "heads")}
        cls.result = headway.solve(**cls.given)
        cls.path = cls.result.save(file_of("without.h5"), overwrite=True)

    def test_a_verb_takes_them_again(self):
        score = headway.prune(self.result).head_table()["score"]
        for source in (self.path, str(self.path), headway.read_result(self.path), self.result):
            np.testing.assert_array_equal(headway.prune(source, **self.arrays).head_table()["score"], score)

    def test_predict_takes_them_again(self):
        mean = headway.predict(self.result, features=NEW).points[0].mean
        for source in (self.path, headway.read_result(self.path), self.result):
            np.testing.assert_array_equal(headway.predict(source, features=NEW, data=self.arrays).points[0].mean, mean)

    def test_other_arrays_are_refused(self):
        other = self.arrays | {"labels": -self.arrays["labels"]}
        for use in (lambda: headway.prune(self.path, **other), lambda: headway.predict(self.path, features=NEW, data=other)):
            with self.assertRaisesRegex(headway.BadDataError, "the arrays are not those that the result was made from"):
                use()

    def test_messages_say_where_they_go(self):
        with self.assertRaisesRegex(headway.UnreadableFileError, r'pass the same arrays again: headway.predict\(result, inputs=..., data='):
            headway.predict(self.path, features=NEW)
        with self.assertRaisesRegex(headway.UnreadableFileError, r"pass the same arrays again: headway.align\(result, "):
            headway.align(self.path)
        for data, words in (({"x": 1}, "data: has the unknown key 'x'; allowed: features, "), ([1], "data: is of type list"),
                            ({"labels": 1}, "data: has no labels with inputs or features")):
            with self.assertRaisesRegex(headway.UsageError, words):
                headway.predict(self.path, features=NEW, data=data)
        with self.assertRaisesRegex(headway.UsageError, "allowed only beside a result of arrays"):
            headway.predict(headway.solve("hmm-four-paths", widths=[10]), features=NEW, data=self.arrays)
        with self.assertRaisesRegex(headway.UsageError, "has both the study 'hmm-four-paths' and the argument features; allowed: one of "
                                                        "them, or a result of arrays and the same arrays again"):
            headway.prune("hmm-four-paths", **self.arrays)


class Messages(unittest.TestCase):
    """They name the argument that is wrong, and what is allowed."""

    def refused(self, kind, words, call):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIn(words, str(caught.exception))

    def test_new_inputs_have_the_names_of_their_arguments(self):
        rng = np.random.default_rng(2)
        x, w, y = rng.standard_normal((12, 3, 5)), rng.standard_normal((2, 5, 5)), np.resize([1.0, -1.0], 12)
        tokens = headway.solve(inputs=x, labels=y, attention_weights=[w], widths=[10])
        paths = headway.solve(**small())
        for words, call in (
                ("inputs: has 3 features a token; allowed: N_0 = 5 as in the data of the result",
                 lambda: headway.predict(tokens, inputs=x[:, :, :3])),
                ("features: holds path features; allowed: inputs, as the data of the result have",
                 lambda: headway.predict(tokens, features=np.ones((2, 2, 5)))),
                ("features: has 3 paths (the second extent); allowed: 2, as the heads [2] of the result have; where its data hold "
                 "inputs, give inputs", lambda: headway.predict(tokens, features=np.ones((2, 3, 5)))),
                ("inputs: holds inputs; allowed: path features, as the data of the result have", lambda: headway.predict(paths, inputs=x)),
                ("test_labels: names two classes by -1 and +1; allowed: 0 and 1, as in labels",
                 lambda: headway.solve(inputs=x, labels=np.resize([0, 1], 12), attention_weights=[w], test_inputs=x, test_labels=y)),
                ("attention_weights: is of type generator; allowed: a list with one array for each layer",
                 lambda: headway.solve(inputs=x, labels=y, attention_weights=(one for one in [w])))):
            self.refused(headway.BadDataError, words, call)

    def test_an_unknown_argument_is_refused_with_the_nearest_or_all(self):
        self.refused(headway.UsageError, "headway.predict: unknown argument imputs; did you mean inputs?",
                     lambda: headway.predict("r.h5", imputs=1))
        self.refused(headway.UsageError, "headway.predict: unknown argument labels; allowed: result, new, inputs, ",
                     lambda: headway.predict("r.h5", labels=1))
        for call in (headway.merge, headway.gram, headway.read_study, headway.read_result, headway.kernel, headway.write_dataset,
                     headway.write_report, headway.action):
            self.refused(headway.UsageError, f"headway.{call.__name__}: unknown argument zzz", lambda: call(zzz=1))


class ArgumentsByName(unittest.TestCase):
    """A file of ours that stands for a result in memory has the name of its argument in messages."""

    def test_merge(self):
        whole = headway.solve(**small())
        part, other = (headway.solve(**small(temperature=[0.1, 0.2]), shard=(0, 2)) for _ in range(2))
        for parts, words in (([whole], r"^parts\[0\]: is a whole result"), ([part, part], r"^parts\[0\]: is part 0/2, and so is parts\[1\];"),
                             ([part, other], r"^parts\[.\]: is part 0/2, and so is parts\[.\];")):
            with self.assertRaisesRegex(headway.BadDataError, words):
                headway.merge(parts)

    def test_arrays_and_lists_in_place_of_a_study(self):
        x = np.zeros((40, 6, 5))
        for call, argument in ((headway.solve, "study"), (headway.read_study, "study")):
            with self.assertRaises(headway.UsageError) as caught:
                call(x)
            self.assertIn(f"{argument}: is an array of shape [40, 6, 5] and type float64; allowed: ", str(caught.exception))
            self.assertIn("give it as inputs= or features=", str(caught.exception))
        with self.assertRaisesRegex(headway.UsageError, "study: is a list of length 40; allowed: .*give it as inputs= or features="):
            headway.solve(x.tolist())
        with self.assertRaisesRegex(headway.UsageError, "result: is an array of .*; allowed: a result of headway.solve, sample or train"):
            headway.predict(x, features=NEW)


if __name__ == "__main__":
    unittest.main()
