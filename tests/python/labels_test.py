"""One rule for labels, whichever function takes them: what classes are, and how the theory writes them."""

import tempfile
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np

import headway
from headway.base.labels import as_targets, warn_of_whole_numbers

SIGNS = np.array([1.0, -1.0, 1.0, 1.0])
NUMBERS = np.array([0, 2, 1, 2])
ONE_HOT = np.eye(3)[NUMBERS]


def targets(labels, classes=None):
    faults = []
    found = as_targets(labels if isinstance(labels, dict) else {"labels": labels}, classes, faults)
    return (faults or found) if isinstance(labels, dict) else (faults or found["labels"])


class Rule(unittest.TestCase):
    def test_two_classes_become_minus_and_plus_one(self):
        for labels in (SIGNS, SIGNS > 0, (SIGNS > 0).astype(int), (SIGNS > 0).astype(np.float32)):
            for classes in (None, 2):
                np.testing.assert_array_equal(targets(np.asarray(labels), classes), SIGNS)
        np.testing.assert_array_equal(targets((SIGNS > 0)[:, None]), SIGNS[:, None])

    def test_several_classes_become_one_hot_rows(self):
        for labels in (NUMBERS, NUMBERS.astype(float), NUMBERS[:, None], ONE_HOT):
            np.testing.assert_array_equal(targets(labels, 3), ONE_HOT)
        np.testing.assert_array_equal(targets(ONE_HOT), ONE_HOT)
        pairs = np.eye(2)[[0, 1, 1]]  # two outputs, as one-hot rows of two classes have them
        np.testing.assert_array_equal(targets(pairs, 2), pairs)

    def test_all_else_is_real(self):
        for labels in (np.array([0.0, 0.5, 1.0]), NUMBERS, np.array([-1.0, 0.0, 1.0]), np.array([3.0, 7.0]),
                       np.array([np.nan, 0.0, 1.0])):
            np.testing.assert_array_equal(targets(labels), labels)
        np.testing.assert_array_equal(targets(np.array([0, 1, 1]), 0), [0, 1, 1])  # 0: said to be real

    def test_zeros_alone_are_real(self):
        """0 is the class that is not 1 only where there is a 1, or where `classes` says so."""
        for labels in (np.zeros(4), np.zeros(1), np.zeros(4, int)):
            np.testing.assert_array_equal(targets(labels), labels)
            np.testing.assert_array_equal(targets(labels, 0), labels)
            np.testing.assert_array_equal(targets(labels, 2), labels - 1)

    def test_labels_that_are_all_equal_are_pointed_out(self):
        for labels, shown in ((np.zeros(4), "0"), (np.ones(3), "1"), (np.full((3, 1), 2.5), "2.5"), (np.eye(2)[[1, 1]], r"\[0, 1\]")):
            with self.assertWarnsRegex(UserWarning, f"labels: are all {shown}: there is nothing to tell apart"):
                warn_of_whole_numbers("labels", labels, None)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for labels in (SIGNS, ONE_HOT, np.ones(1)):
                warn_of_whole_numbers("labels", labels, None)

    def test_the_hint_for_numbers_below_zero_is_followed(self):
        numbers = np.array([-1, 0, 1])
        with self.assertWarnsRegex(UserWarning, "For class numbers, which start at 0, add 1 and give classes=3; classes=0"):
            warn_of_whole_numbers("labels", numbers, None)
        np.testing.assert_array_equal(targets(numbers + 1, 3), np.eye(3))

    def test_all_splits_decide_together(self):
        """In a split that lacks a class, 1 means the same as in the others. A split of real labels makes all labels real."""
        found = targets({"train": np.array([0, 1, 1]), "test": np.array([1, 1]), "other": np.array([0])})
        self.assertEqual({name: list(array) for name, array in found.items()}, {"train": [-1, 1, 1], "test": [1, 1], "other": [-1]})
        found = targets({"train": np.array([0, 1, 1]), "test": np.array([1, 2])})
        self.assertEqual(list(found["train"]), [0, 1, 1])

    def test_what_classes_says_is_checked(self):
        for labels, classes, words in ((NUMBERS, 2, "labels[1]: 2; allowed with classes=2: -1 and +1, class numbers [P], whole numbers from 0 to 1"),
                                       (SIGNS, 3, "whole numbers from 0 to 2, or one-hot rows [P, 3]"), (ONE_HOT, 2, "classes=2"),
                                       (ONE_HOT * 0.5, 3, "one-hot"), (np.array([0.5, 1.0]), 2, "classes=2")):
            self.assertIn(words, targets(labels, classes)[0])
        for labels, classes, words in ((np.array([0, 1, 3, 4]), 3, "labels[2]: 3; allowed"), (np.array([[0], [0.5]]), 3, "labels[1]: 0.5; allowed"),
                                       (np.array([[0, 1, 0], [1, 1, 0]]), 3, "labels[1]: [1, 1, 0]; allowed"),
                                       (ONE_HOT, 2, f"labels have shape {list(ONE_HOT.shape)}; allowed"),
                                       (np.array([-1, 0, 1]), 2, "labels: mix -1, 0 and 1; allowed")):
            self.assertTrue(targets(labels, classes)[0].startswith(words), targets(labels, classes))
        for classes in (1, -1, 2.5, True, "two", 10**6, 10**30):
            with self.assertRaisesRegex(headway.UsageError, "classes: is .*; allowed: None, 0 for real targets, or an integer from 2 to 65536"):
                headway.write_dataset("never.h5", train_labels=SIGNS, classes=classes)


    def test_many_classes_of_few_examples_take_little_memory(self):
        rows = targets(np.array([0, 65535]), 65536)  # a square of so many classes has 32 GiB
        self.assertEqual((rows.shape, rows.sum(), rows[1, 65535]), ((2, 65536), 2, 1))

    def test_numbers_from_one_are_noticed(self):
        self.assertIn("these go from 1 to 2: class numbers start at 0, so subtract 1", targets(np.array([1, 2, 1]), 2)[0])
        self.assertIn("these go from 1 to 3: ", targets(np.array([1, 2, 3]), 3)[0])
        self.assertNotIn("these go", targets(np.array([0.5, 2]), 2)[0])
        with self.assertWarnsRegex(UserWarning, "For class numbers, which start at 0, subtract 1 and give classes=2; classes=0"):
            warn_of_whole_numbers("labels", np.array([1, 2, 2]), None)
        for labels in (np.array([0, 1, 2]), np.array([[0], [1], [2]])):
            with self.assertWarnsRegex(UserWarning, "For class numbers give classes=3; classes=0"):
                warn_of_whole_numbers("labels", labels, None)

    def test_two_ways_to_name_two_classes_do_not_mix(self):
        self.assertEqual(targets({"labels": np.array([0, 1, 1]), "test_labels": np.array([-1, 1])}, 2),
                         ["test_labels: names two classes by -1 and +1; allowed: 0 and 1, as in labels"])


class Everywhere(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "a.h5"
        self.x = np.random.default_rng(1).standard_normal((4, 3, 5))
        self.uniform = np.full((4, 2, 3, 3), 1 / 3)

    def written(self, labels, **options):
        """What write_dataset and from_attentions put into a file, which is the same."""
        found = []
        for write in (lambda: headway.write_dataset(self.path, train_inputs=self.x, train_labels=labels, overwrite=True,
                                                    train_attention=[self.uniform], **options),
                      lambda: headway.from_attentions(self.path, inputs=self.x, attentions=[self.uniform], labels=labels,
                                                      readout="mean", overwrite=True, **options)):
            write()
            with h5py.File(self.path) as file:
                found.append(file["train/labels"][()])
        np.testing.assert_array_equal(*found)
        return found[0]

    def test_files_hold_labels_by_the_rule(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for labels in (SIGNS, (SIGNS > 0).astype(int), SIGNS > 0):
                np.testing.assert_array_equal(self.written(labels), SIGNS)
            for labels in (NUMBERS, ONE_HOT):
                np.testing.assert_array_equal(self.written(labels, classes=3), ONE_HOT)
            np.testing.assert_array_equal(self.written((SIGNS > 0).astype(int), classes=0), SIGNS > 0)
        with self.assertWarnsRegex(UserWarning, r"hold whole numbers such as \[0, 1, 2\].*classes=3; classes=0") as caught:
            np.testing.assert_array_equal(self.written(NUMBERS), NUMBERS)
        self.assertEqual(Path(caught.filename).name, Path(__file__).name)  # the line of the caller


if __name__ == "__main__":
    unittest.main()
