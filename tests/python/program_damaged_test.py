"""Damaged files, on which the HDF5 library itself breaks, read from Python."""

import unittest
from pathlib import Path

import headway
from bindings import setUpModule  # noqa: F401

HERE = Path(__file__).resolve().parent


class DamagedFiles(unittest.TestCase):
    def test_crashes_and_hangs_of_hdf5_stay_in_a_copy(self):
        """Each of these ended or hung the interpreter."""
        for name, words in (("heap_crash", "reading it crashed"), ("heap_loop", "took too long")):
            for read in (headway.read_result, headway.check_dataset):
                path = HERE.parent / "data" / "damaged" / f"{name}.h5"
                with self.subTest(name=name, read=read), self.assertRaisesRegex(
                        headway.BadDataError, f"^{path}: .*{words}"):
                    read(path)


if __name__ == "__main__":
    unittest.main()
