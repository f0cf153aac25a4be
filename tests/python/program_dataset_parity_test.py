"""`headway validate` and headway.check_dataset say the same words of every broken file of the tests.

Both walk one table, but each has a walker of its own. The files are those that the C++ tests named in
HEADWAY_DATASET_BREAKER breaks (they keep them in the folder HEADWAY_BROKEN_FILES), and those of Python.
"""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import dataset_arguments
import h5py
import headway
import numpy as np
import program
import program_dataset_test

BREAKER = os.environ["HEADWAY_DATASET_BREAKER"]
BREAKER_FILES = ("dataset_faults_test", "dataset_set_faults_test")  # tests/unit/io/*.cpp


def faults_of_program(path):
    done = subprocess.run([program.executable(), "validate", path, "--json"], capture_output=True,
                          text=True, timeout=60, check=False)
    return program.json.loads(done.stdout)["faults"]


class SameFaults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "data.h5"

    def test_files_that_cpp_breaks(self):
        for breaker in BREAKER_FILES:
            folder = self.folder / breaker
            folder.mkdir()
            subprocess.run([BREAKER, "-#", f"[#{breaker}]"], env=os.environ | {"HEADWAY_BROKEN_FILES": str(folder)},
                           capture_output=True, check=True, timeout=300)
            files = sorted(folder.glob("*.h5"))
            self.assertGreater(len(files), 20)
            for file in files:
                with self.subTest(breaker=breaker, file=file.name):
                    said = file.with_suffix(".txt").read_text("utf-8").splitlines()
                    self.assertEqual(headway.check_dataset(file), said)

    def test_files_that_h5py_makes(self):
        changes = program_dataset_test.SOUND | {
            name: change for name, (change, *_) in program_dataset_test.FAULTY.items()}
        for name, change in changes.items():
            with self.subTest(name):
                with program_dataset_test.write(self.path) as file:
                    change(file)
                faults = faults_of_program(self.path)
                self.assertEqual(headway.check_dataset(self.path), faults)
                self.assertEqual(bool(faults), name in program_dataset_test.FAULTY)

    def compare(self, change, form="weights", seed=1):
        """Compares what both say of a sound file of this form after a change."""
        arguments = dataset_arguments.Arguments(seed).forms()[form]
        headway.write_dataset(self.path, **arguments, overwrite=True)
        with h5py.File(self.path, "r+") as file:
            change(file)
        faults = faults_of_program(self.path)
        self.assertEqual(headway.check_dataset(self.path), faults)
        return faults

    def test_root_attributes_are_refused_alike(self):
        for name, value in (("schema_version", "1.0"), ("schema_version", [0, 1]),
                            ("schema_version", [1, 0, 0]), ("schema_version", [1]),
                            ("schema_name", "x" * 100), ("schema_name", "h\u00e9"),
                            ("note", "a\tb\nc"), ("note", "a\x07b"), ("readout", 3),
                            ("readout", "mean"), ("heads", [3, 2])):
            with self.subTest(name=name, value=value):
                self.compare(lambda file: file.attrs.__setitem__(name, value))

    def test_numbers_and_counts_are_told_alike(self):
        """Many faults of one data set, and numbers of every size."""
        rng = np.random.default_rng(5)
        for form in ("weights", "query_key", "supplied", "paths"):
            def change(file):
                names = []
                file.visititems(lambda name, item: names.append(name)
                                if isinstance(item, h5py.Dataset) else None)
                for name in names:
                    values = file[name][()]
                    if values.dtype.kind == "f":
                        chosen = rng.random(values.shape) < 0.2
                        values[chosen] = rng.choice([np.nan, -np.nan, np.inf, -np.inf, -1e-7, 1e300,
                                                     123456789.0, 2.0], values.shape)[chosen]
                        file[name][...] = values
            with self.subTest(form):
                self.assertGreater(len(self.compare(change, form)), 5)

    def test_names_that_are_nearly_known(self):
        for before, after in (("train", "Train"), ("test", "tset"), ("test/labels", "test/lables"),
                              ("attention/weights", "attention/weight"), ("train/inputs", "train/in"),
                              ("attention", "attentoin"), ("test", "other")):
            with self.subTest(after):
                self.compare(lambda file: file.move(before, after))

    def test_groups_and_data_sets_in_place_of_each_other_are_refused_alike(self):
        def array(name):
            def change(file):
                if name in file:
                    del file[name]
                file[name] = np.ones(3)
            return change

        def group(name):
            def change(file):
                if name in file:
                    del file[name]
                file.create_group(name)
            return change
        for name in ("train", "test", "attention", "attention/weights", "names", "sets", "network",
                     "sets/a", "network/values", "train/attention"):
            with self.subTest(array=name):
                self.assertNotEqual(self.compare(array(name)), [])
        for name in ("train", "test", "attention", "attention/weights", "train/mask", "train/ids",
                     "attention/weights/layer_1", "sets/a", "network", "names/layer_2"):
            with self.subTest(group=name):
                self.assertNotEqual(self.compare(group(name)), [])
        for name in ("names", "sets"):
            with self.subTest(group=name):
                self.assertEqual(self.compare(group(name)), [])

    def test_texts_are_refused_alike(self):
        for texts in ([b"a\xff"] * 6, [b"a\x01"] * 6, ["\u00e9"] * 6, [b"a\xed\xa0\x80"] * 6,
                      [b"\xc0\xaf"] * 6, [b"x"] * 5):
            with self.subTest(texts[0]):
                self.compare(lambda file: file.create_dataset("train/ids", data=texts,
                                                              dtype=h5py.string_dtype()))
                self.compare(lambda file: file.__setitem__("train/ids", np.array(texts, "S4"))
                             if isinstance(texts[0], bytes) else None)


if __name__ == "__main__":
    unittest.main()
