"""A result file written by the C++ library, number by number through h5py.

HEADWAY_RESULT_WRITER is the C++ test that writes it; its numbers count 1.5, 2.5, 3.5, ... in the order of
tests/support/result_builder.hpp, so every array here is known, and none is symmetric.
"""

import csv
import os
import pathlib
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

import headway
from headway.results.table import table


class Counter:
    def __init__(self):
        self.value = 0

    def numbers(self, *shape):
        size = int(np.prod(shape))
        first, self.value = self.value, self.value + size
        return np.arange(first + 1.5, first + 1.5 + size).reshape(shape)


class ResultFile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name) / "result.h5"
        subprocess.run([os.environ["HEADWAY_RESULT_WRITER"], "[.write]"], check=True,
                       stdout=subprocess.DEVNULL,
                       env=os.environ | {"HEADWAY_RESULT_TO_WRITE": str(cls.path)})
        cls.file = h5py.File(cls.path)

    @classmethod
    def tearDownClass(cls):
        cls.file.close()
        cls.folder.cleanup()

    def test_text_is_str_and_numbers_keep_their_type(self):
        attrs = self.file.attrs
        self.assertEqual(attrs["schema_name"], "headway-result")
        self.assertEqual(attrs["study_toml"], 'schema = 1\nname = "café"\n')
        self.assertEqual(int(attrs["seed"]), 2**64 - 2)
        self.assertEqual(list(attrs["schema_version"]), [1, 0])
        self.assertTrue(np.issubdtype(attrs["heads"].dtype, np.integer))
        self.assertEqual(list(attrs["variances"]), [0.5, 0.75, 1.25, 2.0])
        self.assertEqual(list(self.file["names/layer_1"].asstr()), ["good", "été"])
        self.assertEqual(self.file["points/0"].attrs["message"], "gradient below tolerance ≤")
        self.assertTrue(np.isnan(self.file["points/0"].attrs["smallest_hessian_eigenvalue"]))

    def test_arrays_are_in_row_major_order(self):
        count = Counter()
        np.testing.assert_array_equal(self.file["labels/train"], count.numbers(5, 2))
        np.testing.assert_array_equal(self.file["labels/test"], count.numbers(4, 2))
        np.testing.assert_array_equal(self.file["path_kernels"], count.numbers(6, 5, 5))
        limit = self.file["gaussian_process/0"]
        np.testing.assert_array_equal(limit["mean"], count.numbers(4, 2))
        np.testing.assert_array_equal(limit["variance"], count.numbers(4, 2))
        self.assertEqual(limit.attrs["train_accuracy"], count.numbers(1)[0])
        count.numbers(5)
        self.assertEqual(limit.attrs["log_evidence"], count.numbers(1)[0])
        point = self.file["points/0"]
        self.assertEqual(point.attrs["gradient_norm"], count.numbers(1)[0])
        count.numbers(4)
        np.testing.assert_array_equal(point["order_parameters/layer_1"], count.numbers(12, 12))
        np.testing.assert_array_equal(point["order_parameters/layer_2"], count.numbers(6, 6))
        np.testing.assert_array_equal(point["U_a"], count.numbers(2, 2))
        np.testing.assert_array_equal(point["predictor/mean"], count.numbers(4, 2))

    def test_the_package_reads_it(self):
        result = headway.read_result(self.path)
        self.assertEqual((result.kind, result.study, result.heads), ("solve", "a-study", (2, 3)))
        self.assertTrue(result.partial)
        self.assertEqual(result.points[0].widths, (11, 12, 13))
        self.assertFalse(result.points[1].corrected.defined)
        self.assertEqual(result.points[1].corrected.reason, "U_1 is not positive")
        self.assertEqual(result.points[0].gp_accuracy, result.gaussian_process[0].accuracy)

    def test_further_sets_are_read(self):
        """add_sets of result_builder.hpp counts their numbers: first those of the Gaussian processes, then of the points."""
        result, count = headway.read_result(self.path), Counter()
        self.assertEqual(result.set_names, ("validation", "mnist"))
        point = result.points[0]
        for measures in (*result.gaussian_process, point, point.corrected, result.points[1]):
            self.assertEqual(list(measures.sets), ["validation", "mnist"])
            for name in result.set_names:
                self.assertEqual(measures.sets[name].accuracy, count.numbers(1)[0])
                self.assertEqual(measures.sets[name].mean_squared_error, count.numbers(1)[0])
        header, *rows = csv.reader(table(result, "csv").splitlines())
        self.assertEqual([(choice.model, choice.by, choice.widths, choice.temperature)
                          for choice in result.choices],
                         [("theory", by, (11, 12, 13), 0.01) for by in ("validation", "evidence", "test")]
                         + [("gaussian_process", by, (), 0.1) for by in ("validation", "evidence", "test")])
        self.assertIs(result.choices[1].chosen, result.points[0])
        self.assertEqual(result.points[1].log_evidence, -12.25 - 0.1)
        at = header.index("mnist")
        self.assertEqual([row[at] for row in rows],
                         [f"{measures.sets['mnist'].accuracy:.3f}" for measures
                          in (*result.points, *result.gaussian_process)])


if __name__ == "__main__":
    unittest.main()
