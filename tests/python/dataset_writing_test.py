"""headway.write_dataset and headway.check_dataset: round trips, and every check on input that breaks it."""

import os
import stat
import tempfile
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np

import headway

P, P_TEST, S, N0, HEADS, G = 6, 4, 5, 3, (2, 3), 4


def softmax_rows(rng, *shape):
    weights = rng.random(shape) + 0.1
    return weights / weights.sum(axis=-1, keepdims=True)


def signs(rng, count):
    return np.where(rng.random(count) < 0.5, -1.0, 1.0)


class Arguments:
    """Sound arguments of each form; not square and not symmetric anywhere that it could hide a swap."""

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


class RoundTrips(WritingTest):
    def test_every_form_is_written_as_the_contract_says(self):
        for form, arguments in self.good.forms().items():
            with self.subTest(form=form):
                self.write(**arguments, overwrite=True)
                self.assertEqual(headway.check_dataset(self.path), [])
                with h5py.File(self.path) as file:
                    self.assertEqual(file.attrs["schema_name"], "headway-dataset")
                    self.assertEqual(list(file.attrs["schema_version"]), [1, 0])
                    np.testing.assert_array_equal(file["train/labels"], arguments["train_labels"])

    def test_weights(self):
        self.write(**self.good.weights)
        with h5py.File(self.path) as file:
            for layer, array in enumerate(self.good.weights["attention_weights"], 1):
                np.testing.assert_array_equal(file[f"attention/weights/layer_{layer}"], array)
            np.testing.assert_array_equal(file["test/inputs"], self.good.weights["test_inputs"])

    def test_query_and_key(self):
        self.write(**self.good.query_key)
        with h5py.File(self.path) as file:
            for name in ("query", "key"):
                for layer, array in enumerate(self.good.query_key[name], 1):
                    np.testing.assert_array_equal(file[f"attention/{name}/layer_{layer}"], array)

    def test_supplied_attention(self):
        self.write(**self.good.supplied)
        with h5py.File(self.path) as file:
            for split in ("train", "test"):
                for layer, array in enumerate(self.good.supplied[f"{split}_attention"], 1):
                    np.testing.assert_array_equal(file[f"{split}/attention/layer_{layer}"], array)

    def test_path_features(self):
        self.write(**self.good.paths)
        with h5py.File(self.path) as file:
            np.testing.assert_array_equal(file["test/path_features"],
                                          self.good.paths["test_path_features"])
            self.assertEqual(list(file["train/path_features"].attrs["heads"]), [2, 3])
            self.assertEqual(file.attrs["readout"], "mean")
            self.assertNotIn("inputs", file["train"])

    def test_names_ids_note_and_masks(self):
        mask = np.ones((P, S), int)
        mask[:, -1] = 0
        self.write(**self.good.weights, train_mask=mask, test_mask=np.ones((P_TEST, S), bool),
                   head_names=[["a", "b"], ["c", "d", "größer"]], note="trained with care",
                   train_ids=range(P), test_ids=list("wxyz"))
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            self.assertEqual([name.decode() for name in file["names/layer_2"]], ["c", "d", "größer"])
            self.assertEqual([name.decode() for name in file["train/ids"]], list("012345"))
            self.assertEqual(file.attrs["note"], "trained with care")
            np.testing.assert_array_equal(file["train/mask"], mask)

    def test_further_sets(self):
        rng = np.random.default_rng(7)
        validation = {"inputs": rng.standard_normal((3, S, N0)), "labels": signs(rng, 3),
                      "mask": np.ones((3, S)), "ids": ["a", "b", "c"]}
        other = {"inputs": rng.standard_normal((2, S, N0)), "labels": signs(rng, 2)}
        self.write(**self.good.weights, sets={"validation": validation, "other-2": other})
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            self.assertEqual(sorted(file["sets"]), ["other-2", "validation"])
            self.assertEqual(sorted(file["sets/validation"]), ["ids", "inputs", "labels", "mask"])
            np.testing.assert_array_equal(file["sets/validation/inputs"], validation["inputs"])
            np.testing.assert_array_equal(file["sets/other-2/labels"], other["labels"])

    def test_further_sets_of_the_other_forms(self):
        rng = np.random.default_rng(8)
        attention = [softmax_rows(rng, 3, h, S, S) for h in HEADS]
        supplied = {"inputs": np.ones((3, S, N0)), "labels": np.ones(3), "attention": attention}
        self.write(**self.good.supplied, sets={"validation": supplied})
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            np.testing.assert_array_equal(file["sets/validation/attention/layer_2"], attention[1])
        features = rng.standard_normal((3, 6, N0))
        self.write(**self.good.paths, overwrite=True,
                   sets={"validation": {"path_features": features, "labels": np.ones(3)}})
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            stored = file["sets/validation/path_features"]
            np.testing.assert_array_equal(stored, features)
            self.assertEqual(list(stored.attrs["heads"]), [2, 3])

    def test_several_outputs_and_no_test_set(self):
        one_hot = np.eye(3)[np.arange(P) % 3]
        self.write(train_inputs=self.good.base["train_inputs"], train_labels=one_hot,
                   attention_weights=self.good.weights["attention_weights"])
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            self.assertEqual(file["train/labels"].shape, (P, 3))
            self.assertNotIn("test", file)

    def test_types(self):
        cases = ((np.float64, None, "float64"), (np.float32, None, "float32"),
                 (np.int16, None, "float64"), (np.float64, "float32", "float32"),
                 (np.float32, np.float64, "float64"), (np.float16, None, "float64"))
        for given, dtype, stored in cases:
            with self.subTest(given=given, dtype=dtype):
                inputs = np.rint(10 * self.good.base["train_inputs"]).astype(given)
                self.write(**self.good.weights | {"train_inputs": inputs}, dtype=dtype,
                           overwrite=True)
                with h5py.File(self.path) as file:
                    self.assertEqual(file["train/inputs"].dtype, stored)
                    np.testing.assert_array_equal(file["train/inputs"], inputs)

    def test_nested_lists_are_arrays(self):
        self.write(train_inputs=[[[1, 2], [3, 4]]], train_labels=[1], attention_weights=[[[[0, 1], [2, 0]]]])
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_masked_values_do_not_matter(self):
        mask = np.ones((P, S))
        mask[2, 3] = 0
        arguments = self.good.supplied | {"train_mask": mask}
        arguments["train_inputs"] = changed(arguments["train_inputs"], (2, 3), np.nan)
        attention = []
        for array in arguments["train_attention"]:
            array = array.copy()
            array[2, :, :, 3] = 0.0
            array[2] /= array[2].sum(axis=-1, keepdims=True)
            array[2, :, 3, :] = np.nan  # a masked row
            attention.append(array)
        self.write(**arguments | {"train_attention": attention})
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_file_has_the_usual_permissions(self):
        mask = os.umask(0o027)
        self.addCleanup(os.umask, mask)
        self.write(**self.good.weights)
        self.assertEqual(stat.S_IMODE(self.path.stat().st_mode), 0o640)


class Refusals(WritingTest):
    def test_not_numbers(self):
        base = self.good.weights
        self.assert_refused(base | {"train_inputs": base["train_inputs"] * 1j},
                            "train_inputs: has type complex128", "real numbers")
        self.assert_refused(base | {"train_labels": ["yes"] * P}, "train_labels: has type <U3")
        self.assert_refused(base | {"train_inputs": [[[1, 2]], [[1, 2], [3, 4]]]},
                            "train_inputs: is not a rectangular array")
        self.assert_refused(base | {"attention_weights": np.ones((2, N0, N0))},
                            "attention_weights: is one array", "a list with one array for each layer")
        self.assert_refused(base | {"attention_weights": [np.ones((2, N0, N0)), None]},
                            "attention_weights[1]: is missing")

    def test_not_finite(self):
        for form, name, index in (("weights", "train_inputs", (4, 1, 2)),
                                  ("weights", "test_inputs", (3, 0, 0)),
                                  ("weights", "train_labels", (5,)),
                                  ("weights", "test_labels", (0,)),
                                  ("paths", "train_path_features", (1, 5, 2)),
                                  ("paths", "test_path_features", (3, 0, 1))):
            for value in (np.nan, np.inf, -np.inf):
                arguments = self.good.forms()[form]
                at = "[" + ", ".join(map(str, index)) + "]"
                self.assert_refused(arguments | {name: changed(arguments[name], index, value)},
                                    f"{name}{at}: {value}; allowed: finite numbers")

    def test_not_finite_in_a_layer(self):
        for form, name in (("weights", "attention_weights"), ("query_key", "query"),
                           ("query_key", "key"), ("supplied", "train_attention"),
                           ("supplied", "test_attention")):
            arguments = self.good.forms()[form]
            index = (1,) * arguments[name][1].ndim
            broken = changed_layer(arguments[name], 1, index, np.nan)
            at = "[" + ", ".join(map(str, index)) + "]"
            self.assert_refused(arguments | {name: broken}, f"{name}[1]{at}: nan")

    def test_overflow_of_float32(self):
        inputs = changed(self.good.base["train_inputs"], (0, 0, 0), 1e300)
        self.assert_refused(self.good.weights | {"train_inputs": inputs, "dtype": "float32"},
                            "train_inputs[0, 0, 0]: inf")

    def test_shapes_of_inputs_and_labels(self):
        base = self.good.weights
        self.assert_refused(base | {"train_inputs": np.ones((P, S))},
                            "train_inputs: shape [6, 5]; allowed: [P, S, N_0]")
        self.assert_refused(base | {"train_inputs": np.ones((0, S, N0)), "train_labels": np.ones(0)},
                            "train_inputs: shape [0, 5, 3]", "none zero")
        self.assert_refused(base | {"test_inputs": np.ones((P_TEST, S + 1, N0))},
                            "test_inputs: shape [4, 6, 3]", "[any, 5, 3]", "S = 5 as in train_inputs")
        self.assert_refused(base | {"train_labels": np.ones(P + 1)},
                            "train_labels: shape [7]", "P = 6 as in train_inputs")
        self.assert_refused(base | {"train_labels": np.ones((P, 2, 1))}, "train_labels: shape [6, 2, 1]")
        self.assert_refused(base | {"train_labels": np.ones((P, 2))},
                            "test_labels: shape [4]", "C = 2 as in train_labels")
        self.assert_refused(base | {"train_labels": None}, "train_labels: is missing")
        self.assert_refused(base | {"test_labels": None}, "test_labels: is missing")
        self.assert_refused(base | {"test_inputs": None}, "test_inputs: is missing")
        self.assert_refused(base | {"train_inputs": None}, "train_inputs: is missing")

    def test_further_sets(self):
        base, fine = self.good.weights, {"inputs": np.ones((3, S, N0)), "labels": np.ones(3)}

        def refused(name, given, *words):
            self.assert_refused(base | {"sets": {name: given}}, *words)

        self.assert_refused(base | {"sets": [fine]}, "sets: is no mapping of names")
        self.assert_refused(base | {"sets": {"a": np.ones(3)}}, "sets: is no mapping of names")
        refused("a b", fine, 'sets: "a b" is no name of a set')
        refused("test", fine, 'sets: "test" is taken')
        refused("a", fine | {"label": 1}, "sets['a']: has the unknown key 'label'; allowed: inputs")
        refused("a", {"inputs": fine["inputs"]}, "sets['a']['labels']: is missing")
        refused("a", {}, "sets['a']['inputs']: is missing")
        refused("a", fine | {"labels": np.ones(4)}, "sets['a']['labels']: shape [4]", "P = 3 as in")
        refused("a", fine | {"labels": np.ones((3, 2))}, "sets['a']['labels']: shape [3, 2]", "C = 1 as in train_labels")
        refused("a", fine | {"labels": ["x"] * 3}, "sets['a']['labels']: has type")
        refused("a", fine | {"inputs": np.ones((3, S + 1, N0))},
                "sets['a']['inputs']: shape [3, 6, 3]", "[any, 5, 3]")
        refused("a", fine | {"inputs": changed(fine["inputs"], (2, 1, 0), np.nan)},
                "sets['a']['inputs'][2, 1, 0]: nan")
        refused("a", fine | {"ids": ["x"]}, "sets['a']['ids']: shape [1]", "P = 3 as in sets['a']['inputs']")
        refused("a", fine | {"attention": [np.ones((3, 2, S, S))]}, "exactly one of")
        supplied = fine | {"attention": [np.full((3, 2, S, S), 1 / S), np.ones((3, 3, S, S))]}
        self.assert_refused(self.good.supplied | {"sets": {"a": supplied}},
                            "sets['a']['attention'][1][0, 0, 0]: the row sums to 5")

    def test_shapes_of_weights(self):
        base = self.good.weights
        self.assert_refused(base | {"attention_weights": [np.ones((2, N0, N0 + 1))]},
                            "attention_weights[0]: shape [2, 3, 4]", "[any, 3, 3]", "N_0 = 3 as in")
        self.assert_refused(base | {"attention_weights": []}, "attention_weights: is empty; allowed: layer_1")

    def test_shapes_of_query_and_key(self):
        base = self.good.query_key
        self.assert_refused(base | {"key": [np.ones((2, G + 1, N0)), base["key"][1]]},
                            "key[0]: shape [2, 5, 3]", "[2, 4, 3]", "G_1 = 4 as in query[0]")
        self.assert_refused(base | {"key": base["key"][:1]}, "key[1]: is missing")
        self.assert_refused(base | {"key": None}, "key: is missing")
        self.assert_refused(base | {"query": None}, "query: is missing")

    def test_shapes_of_supplied_attention(self):
        base = self.good.supplied
        rng = np.random.default_rng(3)
        self.assert_refused(base | {"train_attention": [softmax_rows(rng, P, 2, S, S + 1)] * 2},
                            "train_attention[0]: shape [6, 2, 5, 6]", "[6, any, 5, 5]")
        self.assert_refused(base | {"test_attention": base["test_attention"][::-1]},
                            "test_attention[0]: shape [4, 3, 5, 5]", "[4, 2, 5, 5]",
                            "H_1 = 2 as in train_attention[0]")
        self.assert_refused(base | {"test_attention": base["test_attention"][:1]},
                            "test_attention[1]: is missing")
        self.assert_refused(base | {"test_attention": None}, "test_attention: is missing")

    def test_rows_that_do_not_sum_to_one(self):
        base = self.good.supplied
        array = base["train_attention"][1].copy()
        array[3, 2, 4] *= 1.0 + 3e-6
        broken = base | {"train_attention": [base["train_attention"][0], array]}
        self.assert_refused(broken, "train_attention[1][3, 2, 4]: the row sums to 1.000003; allowed: "
                            "1 within 1e-06")
        self.write(**broken, dtype="float32")  # within the tolerance of float32
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_rows_in_a_later_block(self):
        """The index is that of the whole array, not of the block."""
        from headway import dataset_values
        self.addCleanup(setattr, dataset_values, "BLOCK_ELEMENTS", dataset_values.BLOCK_ELEMENTS)
        dataset_values.BLOCK_ELEMENTS = 1
        base = self.good.supplied
        broken = changed_layer(base["train_attention"], 0, (5, 1, 2, 0), 7.0)
        self.assert_refused(base | {"train_attention": broken}, "train_attention[0][5, 1, 2]: the row")
        inputs = changed(base["train_inputs"], (4, 3, 1), np.nan)
        self.assert_refused(base | {"train_inputs": inputs}, "train_inputs[4, 3, 1]: nan;")

    def test_negative_attention(self):
        base = self.good.supplied
        array = base["train_attention"][0].copy()
        array[1, 0, 2, 3] -= 2.0
        array[1, 0, 2, 4] += 2.0
        self.assert_refused(base | {"train_attention": [array, base["train_attention"][1]]},
                            "train_attention[0][1, 0, 2, 3]: -1.", "allowed: attention >= 0")

    def test_masks(self):
        base = self.good.supplied
        mask = np.ones((P, S))
        self.assert_refused(base | {"train_mask": changed(mask, (2, 1), 0.5)},
                            "train_mask[2, 1]: 0.5; allowed: 0 or 1")
        self.assert_refused(base | {"train_mask": changed(mask, 4, 0)},
                            "train_mask[4]: no token is 1")
        self.assert_refused(base | {"train_mask": mask[:, :-1]},
                            "train_mask: shape [6, 4]", "[6, 5]", "S = 5 as in train_inputs")
        self.assert_refused(base | {"train_mask": changed(mask, (2, 1), 0)},
                            "train_attention[0][2, 0, 0, 1]: ", " on a masked key; allowed: 0")

    def test_path_features(self):
        base = self.good.paths
        self.assert_refused(base | {"heads": None}, "heads is missing")
        self.assert_refused(base | {"heads": [2, 2]},
                            "heads = [2, 2]; allowed:", "product p = 6")
        self.assert_refused(base | {"heads": [6, 0]}, "heads = [6, 0]; allowed: positive")
        self.assert_refused(base | {"heads": [1.5, 4]}, "heads = [1.5, 4]; allowed: positive integers")
        self.assert_refused(base | {"readout": "last"}, "readout = \"last\"; allowed: \"last_token\"")
        self.assert_refused(base | {"test_path_features": np.ones((P_TEST, 6, N0 + 1))},
                            "test_path_features: shape [4, 6, 4]", "[any, 6, 3]")
        self.assert_refused(base | {"train_inputs": np.ones((P, S, N0))},
                            "train_inputs: not allowed beside path_features")
        self.assert_refused(base | {"train_mask": np.ones((P, S))},
                            "train_mask: not allowed beside path_features")
        self.assert_refused(base | {"test_path_features": None}, "test_path_features: is missing")

    def test_exactly_one_form(self):
        self.assert_refused(self.good.base, "no attention is given; allowed: exactly one of",
                            "attention_weights", "query and key", "train_attention",
                            "train_path_features")
        both = self.good.weights | {"query": self.good.query_key["query"]}
        self.assert_refused(both, "attention_weights, query and key are given; allowed: exactly one")

    def test_network(self):
        rng = np.random.default_rng(2)
        values = [rng.standard_normal((HEADS[0], 5, 4)), rng.standard_normal((HEADS[1], 6, 5))]
        network = {"input": rng.standard_normal((4, N0)), "values": values,
                   "readout": rng.standard_normal((1, 6))}
        good = self.good.weights | {"network": network, "readout": "mean"}
        self.assert_refused(good | {"readout": None}, "readout is missing beside network")
        self.assert_refused(good | {"network": {"input": 1}}, "network: is ['input']; allowed")
        self.assert_refused(good | {"network": network | {"values": values[:1]}},
                            "network['values'][1]: is missing")
        self.assert_refused(good | {"network": network | {"values": values[::-1]}},
                            "network['values'][0]: shape")
        self.assert_refused(good | {"network": network | {"readout": np.full((1, 6), np.nan)}},
                            "network['readout'][0, 0]: nan")
        self.write(**good)
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            np.testing.assert_array_equal(file["network/values/layer_2"], values[1])
            np.testing.assert_array_equal(file["network/readout"], network["readout"])

    def test_arguments_of_path_features_only(self):
        self.assert_refused(self.good.weights | {"heads": [2, 3]}, "heads: is allowed with path")
        self.assert_refused(self.good.weights | {"readout": "CLS"}, "readout = \"CLS\"; allowed:")

    def test_names_and_ids(self):
        base = self.good.weights
        self.assert_refused(base | {"head_names": [["a", "b"]]},
                            "head_names: has 1 layers; the attention has 2")
        self.assert_refused(base | {"head_names": [["a"], ["c", "d", "e"]]},
                            "head_names[0]: shape [1]", "H_1 = 2 as in attention_weights[0]")
        self.assert_refused(base | {"head_names": ["ab", ["c", "d", "e"]]},
                            "head_names[0]: is 'ab'; allowed: a list of strings")
        self.assert_refused(base | {"head_names": [["a", 1.5], ["c", "d", "e"]]},
                            "head_names[0]: is 1.5 at [1]; allowed: strings")
        self.assert_refused(base | {"head_names": [["a", "b\n"], ["c", "d", "e"]]},
                            "head_names[0][1] contains the control character 10 (byte 1)")
        self.assert_refused(base | {"train_ids": ["x"]}, "train_ids: shape [1]", "P = 6 as in train_inputs")
        self.assert_refused(base | {"test_ids": ["x"]}, "test_ids: shape [1]", "P = 4 as in test_inputs")

    def test_all_faults_are_reported(self):
        arguments = self.good.weights | {
            "train_labels": changed(self.good.base["train_labels"], 2, np.nan),
            "train_inputs": changed(self.good.base["train_inputs"], (0, 0, 0), np.inf),
            "train_ids": ["x"]}
        with self.assertRaises(headway.BadDataError) as caught:
            self.write(**arguments)
        self.assertEqual(len(caught.exception.faults), 3)

    def test_options(self):
        self.assert_refused(self.good.weights | {"dtype": "float16"}, "dtype: is 'float16'",
                            error=headway.UsageError)

    def test_labels_that_look_like_classes_are_pointed_out(self):
        with self.assertWarnsRegex(UserWarning, r"\+1 and -1 for two classes"):
            self.write(**self.good.weights | {"train_labels": np.arange(P) % 2})
        with self.assertWarnsRegex(UserWarning, "one-hot rows"):
            self.write(**self.good.weights | {"train_labels": np.arange(P) % 3}, overwrite=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.write(**self.good.weights, overwrite=True)


class WhereToWrite(WritingTest):
    def test_existing_file_stays_without_overwrite(self):
        self.path.write_text("precious")
        with self.assertRaisesRegex(headway.CannotWriteError, "exists already"):
            self.write(**self.good.weights)
        self.assertEqual(self.path.read_text(), "precious")
        self.write(**self.good.weights, overwrite=True)
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_bad_data_leaves_an_existing_file(self):
        self.path.write_text("precious")
        with self.assertRaises(headway.BadDataError):
            self.write(**self.good.base, overwrite=True)
        self.assertEqual(self.path.read_text(), "precious")

    def test_missing_folder_and_folder_in_the_way(self):
        with self.assertRaisesRegex(headway.CannotWriteError, "cannot be written: No such file"):
            headway.write_dataset(self.path / "deeper" / "x.h5", **self.good.weights)
        with self.assertRaisesRegex(headway.CannotWriteError, "is a folder"):
            headway.write_dataset(self.path.parent, **self.good.weights)

    def test_failure_while_writing_leaves_nothing(self):
        from headway import datasets
        def full(*_):
            raise OSError(28, "No space left on device")
        self.addCleanup(setattr, datasets, "_fill", datasets._fill)
        datasets._fill = full
        self.assert_refused(self.good.weights, "cannot be written: No space left on device",
                            error=headway.CannotWriteError)


class CheckingFiles(WritingTest):
    """check_dataset on files that write_dataset would not make; names are those of the file."""

    def broken(self, change, form="weights"):
        self.write(**self.good.forms()[form], overwrite=True)
        with h5py.File(self.path, "r+") as file:
            change(file)
        return headway.check_dataset(self.path)

    def assert_fault(self, change, *words, form="weights"):
        faults = self.broken(change, form)
        self.assertEqual(len(faults), 1, faults)
        for word in words:
            self.assertIn(word, faults[0])

    def test_schema(self):
        def attribute(name, value):
            return lambda file: file.attrs.__setitem__(name, value)
        self.assert_fault(lambda file: file.attrs.__delitem__("schema_name"), "schema_name is missing")
        self.assert_fault(attribute("schema_name", "other"), "schema_name = \"other\"")
        self.assert_fault(attribute("schema_version", [2, 0]), "schema_version = [2, 0]", "reads 1.x")
        self.assert_fault(attribute("schema_version", "1.0"), "schema_version: allowed: numbers")
        self.assert_fault(lambda file: file.attrs.__delitem__("schema_version"),
                          "schema_version is missing")

    def test_missing_and_foreign_parts(self):
        def delete(name):
            return lambda file: file.__delitem__(name)
        self.assert_fault(delete("attention"), "no attention")
        self.assert_fault(delete("train/labels"), "train/labels: is missing")
        self.assert_fault(delete("attention/weights/layer_1"),
                          "attention/weights/layer_2: unexpected", "(layer_1 is missing)")
        def group(file):
            del file["train/inputs"]
            file.create_group("train/inputs")
        self.assert_fault(group, "train/inputs: is no data set")
        def layers(file):
            del file["attention/weights"]
            file["attention/weights"] = np.ones(3)
        self.assert_fault(layers, "attention/weights: is missing or no group")
        self.assert_fault(lambda file: file.__setitem__("attention/weights/extra", np.ones(2)),
                          "attention/weights/extra: unexpected")

    def test_values(self):
        def row(file):
            file["train/attention/layer_2"][1, 2, 3, :] = 0.1
        self.assert_fault(row, "train/attention/layer_2[1, 2, 3]: the row sums to 0.5",
                          form="supplied")
        def nan(file):
            file["test/inputs"][2, 1, 0] = np.nan
        self.assert_fault(nan, "test/inputs[2, 1, 0]: nan")
        def text(file):
            del file["train/labels"]
            file["train/labels"] = np.array([b"a"] * P)
        self.assert_fault(text, "train/labels: type string")
        def heads(file):
            file["test/path_features"].attrs["heads"] = [3, 2]
        self.assert_fault(heads, "test/path_features: attribute heads = [3, 2]; allowed: [2, 3]", form="paths")
        def names(file):
            file.create_dataset("names/layer_1", data=["x"], dtype=h5py.string_dtype())
            file.create_dataset("names/layer_2", data=["x"] * 3, dtype=h5py.string_dtype())
        self.assert_fault(names, "names/layer_1: shape [1]", "H_1 = 2 as in attention/weights/layer_1")

    def test_files_that_cannot_be_read(self):
        with self.assertRaisesRegex(headway.UnreadableFileError, "no such file"):
            headway.check_dataset(self.path)
        with self.assertRaisesRegex(headway.UnreadableFileError, "is a folder"):
            headway.check_dataset(self.path.parent)
        self.path.write_text("not HDF5")
        with self.assertRaisesRegex(headway.BadDataError, "not a readable HDF5 file"):
            headway.check_dataset(self.path)

    def test_truncated_file(self):
        self.write(**self.good.weights)
        whole = self.path.read_bytes()
        for part in (0.1, 0.5, 0.95):
            self.path.write_bytes(whole[:int(part * len(whole))])
            try:
                self.assertNotEqual(headway.check_dataset(self.path), [])
            except headway.BadDataError:
                pass


if __name__ == "__main__":
    unittest.main()
