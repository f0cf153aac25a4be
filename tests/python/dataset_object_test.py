"""headway.Dataset: arrays as one object. What is computed with it is in program_dataset_object_test.py."""

import inspect
import unittest
import warnings

import numpy as np

import headway
from dataset_arguments import HEADS, N0, P, P_TEST, S, WritingTest
from headway.base.dataset_table import ARGUMENTS


def of_a_dataset(arguments):
    """Arguments of write_dataset under the names of headway.Dataset."""
    older = {"train_path_features": "features", "test_path_features": "test_features"}
    return {older.get(name, name.removeprefix("train_")): value for name, value in arguments.items()}


class Objects(WritingTest):
    def test_it_is_written_as_its_arguments_are(self):
        for form, arguments in self.good.forms().items():
            with self.subTest(form=form):
                first = self.write(**arguments).read_bytes()
                for second in (headway.write_dataset(self.path, headway.Dataset(**of_a_dataset(arguments)), overwrite=True),
                               headway.Dataset(**of_a_dataset(arguments)).save(self.path, overwrite=True),
                               self.write(**of_a_dataset(arguments), overwrite=True)):
                    self.assertEqual(second.read_bytes(), first)
                self.path.unlink()

    def test_it_says_what_it_is(self):
        data = headway.Dataset(**of_a_dataset(self.good.weights), sets={"validation": {
            "inputs": np.ones((3, S, N0)), "labels": [1, -1, 1]}})
        self.assertEqual(repr(data), f"<Dataset: {P} train and {P_TEST} test and 3 validation examples, heads {list(HEADS)}>")
        self.assertEqual(data.heads, HEADS)
        self.assertEqual(headway.Dataset(**of_a_dataset(self.good.base)).heads, ())
        self.assertEqual(repr(headway.Dataset(inputs=np.ones((3, S, N0)))), "<Dataset: 3 new inputs>")

    def test_faults_have_the_names_of_its_arguments(self):
        arguments = of_a_dataset(self.good.weights)
        for change, words in (({"labels": [1.0]}, "labels: shape [1]"), ({"test_labels": None}, "test_labels: is missing"),
                              ({"key": [np.ones((2, 3, N0))]}, "query"), ({"heads": [2]}, "heads: is allowed with path features only")):
            with self.subTest(change=change), self.assertRaises(headway.BadDataError) as caught:
                headway.Dataset(**arguments | change)
            self.assertIn(words, str(caught.exception))

    def test_help_on_making_it_is_its_own(self):
        self.assertNotIn("learned", inspect.getdoc(headway.Dataset.__init__))

    def test_what_is_changed_in_place_is_refused(self):
        arguments = of_a_dataset(self.good.weights)
        data = headway.Dataset(**arguments)
        arguments["inputs"][0, 0, 0] += 1
        with self.assertRaisesRegex(headway.BadDataError, "changed in place"):
            data.save(self.path)

    def test_another_type_is_checked_again(self):
        data = headway.Dataset(**of_a_dataset(self.good.weights) | {"labels": np.full(P, 1e50), "classes": 0})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with self.assertRaisesRegex(headway.BadDataError, r"labels\[0\]: inf"):
                data.save(self.path, dtype="float32")

    def test_two_ways_at_once_are_refused(self):
        data = headway.Dataset(**of_a_dataset(self.good.weights))
        for call, words in ((lambda: headway.write_dataset(self.path, data, labels=[1]), "both data and the argument labels"),
                            (lambda: headway.write_dataset(self.path, 3), "data: is 3; allowed: a headway.Dataset"),
                            (lambda: self.write(**self.good.weights, inputs=1), "both the arguments inputs and train_inputs")):
            with self.assertRaisesRegex(headway.UsageError, words):
                call()

    def test_its_arguments_are_those_of_the_table(self):
        self.assertEqual(tuple(inspect.signature(headway.Dataset).parameters), ARGUMENTS)


if __name__ == "__main__":
    unittest.main()
