"""headway.write_dataset: round trips, and files that appear whole or not at all."""

import importlib.util
import os
import stat
import unittest

import h5py
import numpy as np

import headway
from dataset_arguments import WritingTest, changed, signs, softmax_rows, HEADS, N0, P, P_TEST, S
from network_stand_ins import FakeTensor


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

    def test_weights_come_back(self):
        self.write(**self.good.weights)
        with h5py.File(self.path) as file:
            for layer, array in enumerate(self.good.weights["attention_weights"], 1):
                np.testing.assert_array_equal(file[f"attention/weights/layer_{layer}"], array)
            np.testing.assert_array_equal(file["test/inputs"], self.good.weights["test_inputs"])

    def test_query_and_key_come_back(self):
        self.write(**self.good.query_key)
        with h5py.File(self.path) as file:
            for name in ("query", "key"):
                for layer, array in enumerate(self.good.query_key[name], 1):
                    np.testing.assert_array_equal(file[f"attention/{name}/layer_{layer}"], array)

    def test_supplied_attention_comes_back(self):
        self.write(**self.good.supplied)
        with h5py.File(self.path) as file:
            for split in ("train", "test"):
                for layer, array in enumerate(self.good.supplied[f"{split}_attention"], 1):
                    np.testing.assert_array_equal(file[f"{split}/attention/layer_{layer}"], array)

    def test_path_features_come_back(self):
        self.write(**self.good.paths)
        with h5py.File(self.path) as file:
            np.testing.assert_array_equal(file["test/path_features"],
                                          self.good.paths["test_path_features"])
            self.assertEqual(list(file["train/path_features"].attrs["heads"]), [2, 3])
            self.assertEqual(file.attrs["readout"], "mean")
            self.assertNotIn("inputs", file["train"])

    def test_names_ids_note_and_masks_come_back(self):
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

    def test_further_sets_come_back(self):
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

    def test_further_sets_of_the_other_forms_come_back(self):
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

    def test_inputs_may_come_without_attention(self):
        """For studies that let attention be learned."""
        self.write(**self.good.base)
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            self.assertEqual({name for name in file}, {"train", "test"})
            np.testing.assert_array_equal(file["train/inputs"], self.good.base["train_inputs"])

    def test_several_outputs_come_back_without_a_test_set(self):
        one_hot = np.eye(3)[np.arange(P) % 3]
        self.write(train_inputs=self.good.base["train_inputs"], train_labels=one_hot,
                   attention_weights=self.good.weights["attention_weights"])
        self.assertEqual(headway.check_dataset(self.path), [])
        with h5py.File(self.path) as file:
            self.assertEqual(file["train/labels"].shape, (P, 3))
            self.assertNotIn("test", file)

    def test_types_are_kept_or_become_those_asked_for(self):
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

    def test_tensors_are_arrays(self):
        """With gradients, on a device, in bf16, and in lists."""
        given = self.good.weights
        tensors = {name: FakeTensor(given[name]) for name in ("train_inputs", "train_labels")}
        self.write(**given | tensors | {"attention_weights": [FakeTensor(array) for array in given["attention_weights"]]})
        with h5py.File(self.path) as file:
            for name, at in (("train_inputs", "train/inputs"), ("train_labels", "train/labels")):
                np.testing.assert_array_equal(file[at], given[name].astype(np.float32))
            np.testing.assert_array_equal(file["attention/weights/layer_1"], given["attention_weights"][0].astype(np.float32))
        rows = [FakeTensor(row) for row in given["train_inputs"]]
        self.write(**given | {"train_inputs": rows}, overwrite=True)

    @unittest.skipUnless(importlib.util.find_spec("ml_dtypes"), "needs ml_dtypes")
    def test_numbers_of_other_libraries_are_arrays(self):
        """The bfloat16 of ml_dtypes is that of JAX."""
        import ml_dtypes
        for kind in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
            for inputs in (np.ones((P, S, N0), kind), list(np.ones((P, S, N0), kind))):
                self.write(**self.good.weights | {"train_inputs": inputs}, overwrite=True)
                with h5py.File(self.path) as file:
                    self.assertEqual(file["train/inputs"].dtype, np.float32)
                    self.assertTrue((file["train/inputs"][()] == 1).all())

    def test_what_a_library_says_is_told_with_the_argument(self):
        class Broken:
            def __array__(self, *_, **__):
                raise RuntimeError("no data\nlong story")
        with self.assertRaisesRegex(headway.BadDataError, r"^train_inputs: is not a rectangular array of numbers \(no data\)$"):
            self.write(**self.good.weights | {"train_inputs": Broken()})

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
            self.write(**self.good.weights | {"train_labels": None}, overwrite=True)
        self.assertEqual(self.path.read_text(), "precious")

    def test_missing_folder_and_folder_in_the_way(self):
        self.path.write_text("a file")
        with self.assertRaisesRegex(headway.CannotWriteError, "cannot be written: the folder .*deeper cannot be made: Not a directory"):
            headway.write_dataset(self.path / "deeper" / "x.h5", **self.good.weights)
        with self.assertRaisesRegex(headway.CannotWriteError, "is a folder"):
            headway.write_dataset(self.path.parent, **self.good.weights)

    def test_failure_while_writing_leaves_nothing(self):
        from headway.api import datasets
        def full(*_):
            raise OSError(28, "No space left on device")
        self.addCleanup(setattr, datasets, "_fill", datasets._fill)
        datasets._fill = full
        self.assert_refused(self.good.weights, "cannot be written: No space left on device",
                            error=headway.CannotWriteError)


if __name__ == "__main__":
    unittest.main()
