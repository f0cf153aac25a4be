"""headway.write_dataset refuses every input that breaks a rule, with a message that names it."""

import unittest
import warnings

import h5py
import numpy as np

import headway
from dataset_arguments import WritingTest, changed, changed_layer, softmax_rows, G, HEADS, N0, P, P_TEST, S


class Refusals(WritingTest):
    def test_what_is_not_a_number_is_refused(self):
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

    def test_what_is_not_finite_is_refused(self):
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

    def test_what_is_not_finite_in_a_layer_is_refused(self):
        for form, name in (("weights", "attention_weights"), ("query_key", "query"),
                           ("query_key", "key"), ("supplied", "train_attention"),
                           ("supplied", "test_attention")):
            arguments = self.good.forms()[form]
            index = (1,) * arguments[name][1].ndim
            broken = changed_layer(arguments[name], 1, index, np.nan)
            at = "[" + ", ".join(map(str, index)) + "]"
            self.assert_refused(arguments | {name: broken}, f"{name}[1]{at}: nan")

    def test_overflow_of_float32_is_refused(self):
        inputs = changed(self.good.base["train_inputs"], (0, 0, 0), 1e300)
        self.assert_refused(self.good.weights | {"train_inputs": inputs, "dtype": "float32"},
                            "train_inputs[0, 0, 0]: inf")

    def test_wrong_shapes_of_inputs_and_labels_are_refused(self):
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

    def test_faults_of_further_sets_are_refused(self):
        base, fine = self.good.weights, {"inputs": np.ones((3, S, N0)), "labels": np.ones(3)}

        def refused(name, given, *words):
            self.assert_refused(base | {"sets": {name: given}}, *words)

        self.assert_refused(base | {"sets": [fine]}, "sets: is no mapping of names")
        self.assert_refused(base | {"sets": {"a": np.ones(3)}}, "sets: is no mapping of names")
        refused("a b", fine, 'sets: "a b" is not a valid set name')
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

    def test_wrong_shapes_of_weights_are_refused(self):
        base = self.good.weights
        self.assert_refused(base | {"attention_weights": [np.ones((2, N0, N0 + 1))]},
                            "attention_weights[0]: shape [2, 3, 4]", "[any, 3, 3]", "N_0 = 3 as in")
        self.assert_refused(base | {"attention_weights": []}, "attention_weights: is empty; allowed: layer_1")

    def test_wrong_shapes_of_query_and_key_are_refused(self):
        base = self.good.query_key
        self.assert_refused(base | {"key": [np.ones((2, G + 1, N0)), base["key"][1]]},
                            "key[0]: shape [2, 5, 3]", "[2, 4, 3]", "G_1 = 4 as in query[0]")
        self.assert_refused(base | {"key": base["key"][:1]}, "key[1]: is missing")
        self.assert_refused(base | {"key": None}, "key: is missing")
        self.assert_refused(base | {"query": None}, "query: is missing")

    def test_wrong_shapes_of_supplied_attention_are_refused(self):
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

    def test_rows_that_do_not_sum_to_one_are_refused(self):
        base = self.good.supplied
        array = base["train_attention"][1].copy()
        array[3, 2, 4] *= 1.0 + 3e-6
        broken = base | {"train_attention": [base["train_attention"][0], array]}
        self.assert_refused(broken, "train_attention[1][3, 2, 4]: the row sums to 1.000003; allowed: "
                            "1 within 1e-06")
        self.write(**broken, dtype="float32")  # within the tolerance of float32
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_rows_in_a_later_block_are_named_by_their_own_index(self):
        """The index is that of the whole array, not of the block."""
        features = np.zeros((3, 2, 2**20), np.float32)  # a block each
        features[2, 1, 5] = np.nan
        self.assert_refused({"train_path_features": features, "train_labels": [1, -1, 1], "heads": [2]}, "train_path_features[2, 1, 5]: nan;")

    def test_negative_attention_is_refused(self):
        base = self.good.supplied
        array = base["train_attention"][0].copy()
        array[1, 0, 2, 3] -= 2.0
        array[1, 0, 2, 4] += 2.0
        self.assert_refused(base | {"train_attention": [array, base["train_attention"][1]]},
                            "train_attention[0][1, 0, 2, 3]: -1.", "allowed: attention >= 0")

    def test_bad_masks_are_refused(self):
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

    def test_bad_path_features_are_refused(self):
        base = self.good.paths
        self.assert_refused(base | {"heads": None}, "heads is missing")
        self.assert_refused(base | {"heads": [2, 2]},
                            "heads = [2, 2]; allowed:", "product p = 6")
        self.assert_refused(base | {"heads": [6, 0]}, "heads = [6, 0]; allowed: positive")
        self.assert_refused(base | {"heads": [1.5, 4]}, "heads: is [1.5, 4]; allowed: a list of whole numbers")
        self.assert_refused(base | {"readout": "last"}, "readout = \"last\"; allowed: \"last_token\"")
        self.assert_refused(base | {"test_path_features": np.ones((P_TEST, 6, N0 + 1))},
                            "test_path_features: shape [4, 6, 4]", "[any, 6, 3]")
        self.assert_refused(base | {"train_inputs": np.ones((P, S, N0))},
                            "train_inputs: not allowed beside path_features")
        self.assert_refused(base | {"train_mask": np.ones((P, S))},
                            "train_mask: not allowed beside path_features")
        self.assert_refused(base | {"test_path_features": None}, "test_path_features: is missing")

    def test_exactly_one_form_must_be_given(self):
        self.assert_refused({name: value for name, value in self.good.base.items() if not name.endswith("inputs")},
                            "no attention is given; allowed: exactly one of", "attention_weights", "query and key",
                            "train_attention", "train_path_features")
        both = self.good.weights | {"query": self.good.query_key["query"]}
        self.assert_refused(both, "attention_weights, query and key are given; allowed: exactly one")

    def test_bad_networks_are_refused(self):
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

    def test_arguments_that_only_path_features_have_are_refused(self):
        self.assert_refused(self.good.weights | {"heads": [2, 3]}, "heads: is allowed with path")
        self.assert_refused(self.good.weights | {"readout": "CLS"}, "readout = \"CLS\"; allowed:")

    def test_bad_names_and_ids_are_refused(self):
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

    def test_texts_that_a_file_cannot_hold_are_refused(self):
        for words in ("a\0b", "\ud800"):
            self.assert_refused(self.good.weights | {"note": words}, f"note: is {words!r}, which HDF5 cannot hold")
            self.assert_refused(self.good.weights | {"readout": words}, f"readout: is {words!r}")
        self.assert_refused(self.good.weights | {"note": "a\x01b"}, "note contains the control character 1 (byte 1)")

    def test_masked_entries_are_refused(self):
        base = self.good.weights
        labels = np.ma.masked_equal(np.where(np.arange(P) == 2, 5.0, 1.0), 5.0)
        self.assert_refused(base | {"train_labels": labels}, "train_labels[2]: is masked; allowed")
        inputs = np.ma.masked_greater(base["train_inputs"], base["train_inputs"].max() - 1e-9)
        self.assert_refused(base | {"train_inputs": inputs}, "train_inputs[", "is masked")
        self.assert_refused(base | {"train_mask": np.ma.masked_equal(np.ones((P, S)), 1)},
                            "train_mask[0, 0]: is masked")
        self.assert_refused(self.good.paths | {"heads": np.ma.array([2, 3], mask=[0, 1])}, "heads[1]: is masked")
        self.write(**base | {"train_labels": np.ma.array(base["train_labels"])})  # none is masked

    def test_all_faults_are_reported(self):
        arguments = self.good.weights | {
            "train_labels": changed(self.good.base["train_labels"], 2, np.nan),
            "train_inputs": changed(self.good.base["train_inputs"], (0, 0, 0), np.inf),
            "train_ids": ["x"]}
        with self.assertRaises(headway.BadDataError) as caught:
            self.write(**arguments)
        self.assertEqual(len(caught.exception.faults), 3)

    def test_bad_options_are_refused(self):
        for wrong in ("float16", "foo", "f4,f4", int, 3):
            self.assert_refused(self.good.weights | {"dtype": wrong}, f"dtype: is {wrong!r}", error=headway.UsageError)

    def test_labels_that_look_like_classes_are_pointed_out(self):
        with self.assertWarnsRegex(UserWarning, r"train_labels: hold whole numbers such as \[0, 1, 2\].*classes=3"):
            self.write(**self.good.weights | {"train_labels": np.arange(P) % 3})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.write(**self.good.weights, overwrite=True)


if __name__ == "__main__":
    unittest.main()
