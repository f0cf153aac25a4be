"""Sound arguments of headway.write_dataset in every form, and the base of the tests that break them."""

import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

import headway

P, P_TEST, S, N0, HEADS, G = 6, 4, 5, 3, (2, 3), 4


def softmax_rows(rng, *shape):
    weights = rng.random(shape) + 0.1
    return weights / weights.sum(axis=-1, keepdims=True)


def signs(rng, count):
    """Of both classes."""
    found = np.where(rng.random(count) < 0.5, -1.0, 1.0)
    found[0] = -found[-1]
    return found


class Arguments:
    """Sound arguments of each form. No array is square or symmetric where that could hide swapped axes."""

    def __init__(self, seed=1):
        rng = np.random.default_rng(seed)
        self.base = {
            "train_inputs": rng.standard_normal((P, S, N0)), "train_labels": signs(rng, P),
            "test_inputs": rng.standard_normal((P_TEST, S, N0)), "test_labels": signs(rng, P_TEST)}
        self.weights = self.base | {
            "attention_weights": [rng.standard_normal((h, N0, N0)) for h in HEADS]}
        self.query_key = self.base | {
            "query": [rng.standard_normal((h, G + l, N0)) for l, h in enumerate(HEADS)],
            "key": [rng.standard_normal((h, G + l, N0)) for l, h in enumerate(HEADS)]}
        self.supplied = self.base | {
            "train_attention": [softmax_rows(rng, P, h, S, S) for h in HEADS],
            "test_attention": [softmax_rows(rng, P_TEST, h, S, S) for h in HEADS]}
        self.paths = {
            "train_path_features": rng.standard_normal((P, 6, N0)), "heads": list(HEADS),
            "test_path_features": rng.standard_normal((P_TEST, 6, N0)), "readout": "mean",
            "train_labels": self.base["train_labels"], "test_labels": self.base["test_labels"]}

    def forms(self):
        return {"weights": self.weights, "query_key": self.query_key, "supplied": self.supplied,
                "paths": self.paths}


def changed(array, index, value):
    array = np.array(array)
    array[index] = value
    return array


def changed_layer(arrays, layer, index, value):
    return [changed(array, index, value) if at == layer else array for at, array in enumerate(arrays)]


class WritingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "data.h5"
        self.good = Arguments()

    def write(self, **arguments):
        return headway.write_dataset(self.path, **arguments)

    def assert_refused(self, arguments, *words, error=headway.BadDataError):
        """Refused with one message that has all these words, and nothing is left on the disk."""
        with self.assertRaises(error) as caught:
            self.write(**arguments)
        message = str(caught.exception)
        for word in words:
            self.assertIn(word, message)
        self.assertEqual(os.listdir(self.path.parent), [])
