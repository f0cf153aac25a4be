"""headway.check_dataset on files that headway.write_dataset would not make."""

import unittest

import h5py
import numpy as np

import headway
from dataset_arguments import WritingTest, P


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

    def test_faults_of_the_schema_are_found(self):
        def attribute(name, value):
            return lambda file: file.attrs.__setitem__(name, value)
        self.assert_fault(lambda file: file.attrs.__delitem__("schema_name"), "schema_name is missing")
        self.assert_fault(attribute("schema_name", "other"), "schema_name = \"other\"")
        self.assert_fault(attribute("schema_version", [2, 0]), "schema_version = [2, 0]", "reads 1.x")
        self.assert_fault(attribute("schema_version", "1.0"), "schema_version: allowed: numbers")
        self.assert_fault(lambda file: file.attrs.__delitem__("schema_version"),
                          "schema_version is missing")

    def test_missing_and_foreign_parts_are_found(self):
        def delete(name):
            return lambda file: file.__delitem__(name)
        self.assertEqual(self.broken(delete("attention")), [])  # it may be learned
        self.assert_fault(lambda file: [delete(name)(file) for name in ("attention", "train/inputs")], "no attention")
        self.assert_fault(delete("train/labels"), "train/labels: is missing")
        self.assert_fault(delete("attention/weights/layer_1"),
                          "attention/weights/layer_2: unexpected", "(layer_1 is missing)")
        def group(file):
            del file["train/inputs"]
            file.create_group("train/inputs")
        self.assert_fault(group, "train/inputs: is not a data set")
        def layers(file):
            del file["attention/weights"]
            file["attention/weights"] = np.ones(3)
        self.assert_fault(layers, "attention/weights: is not a group")
        self.assert_fault(lambda file: file.__setitem__("attention/weights/extra", np.ones(2)),
                          "attention/weights/extra: unexpected")

    def test_faults_of_values_are_found(self):
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

    def test_files_that_cannot_be_read_are_errors(self):
        with self.assertRaisesRegex(headway.UnreadableFileError, "no such file"):
            headway.check_dataset(self.path)
        with self.assertRaisesRegex(headway.UnreadableFileError, "is a folder"):
            headway.check_dataset(self.path.parent)
        self.path.write_text("not HDF5")
        with self.assertRaisesRegex(headway.BadDataError, "not a readable HDF5 file"):
            headway.check_dataset(self.path)

    def test_a_truncated_file_is_found(self):
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
