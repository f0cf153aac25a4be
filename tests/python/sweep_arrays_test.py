"""The best point of a result, and sweeps as tables of pandas and data sets of xarray, on files made by hand."""

import sys
import tempfile
import unittest
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import h5py
import numpy as np

import headway
import synthetic_results
from headway.results.best_point import best_text, number_of_point

WIDTHS, TEMPERATURES = (10, 100), (0.01, 0.1)


class Dataset:
    """Stands in for xarray.Dataset: checks sizes as that does."""

    def __init__(self, variables, coordinates, attributes):
        sizes = {}
        for name, (dimensions, array) in {**variables, **coordinates}.items():
            assert len(dimensions) == np.ndim(array), name
            for dimension, size in zip(dimensions, np.shape(array)):
                assert sizes.setdefault(dimension, size) == size, (name, dimension)
        self.sizes, self.variables, self.coordinates, self.attributes = sizes, variables, coordinates, attributes


class SweepTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "swept.h5"

    def swept(self, verb="solve", evidence=((-30.0, -20.0), (-25.0, -22.0))):
        """Two widths and two temperatures, with these evidences."""
        synthetic_results.write_result(self.file, verb, widths=WIDTHS, temperatures=TEMPERATURES)
        with h5py.File(self.file, "r+") as file:
            for group in file["points"].values():
                place = WIDTHS.index(group.attrs["widths"][0]), TEMPERATURES.index(group.attrs["temperature"])
                group.attrs.update(log_evidence=evidence[place[0]][place[1]], evidence_method="laplace", log_evidence_leading_order=0.0)
        return headway.read_result(self.file)


class Best(SweepTest):
    def test_evidence_chooses_over_widths_and_temperatures(self):
        result = self.swept()
        with self.assertWarnsRegex(UserWarning, "smallest width and the largest temperature of the sweep"):
            best = result.best("evidence")
        self.assertEqual((best.widths, best.temperature), ((10, 10, 10), 0.1))
        self.assertIn("best by evidence: N 10, T 0.1, log evidence -20.00", best_text(result))
        self.assertIn("best by evidence", result._repr_html_())
        self.assertIn("log evidence", headway.results.table.table(result))

    def test_a_point_that_did_not_converge_is_none(self):
        self.swept()
        with h5py.File(self.file, "r+") as file:
            for group in file["points"].values():
                group.attrs["converged"] = int(group.attrs["log_evidence"] < -20)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(headway.read_result(self.file).best().widths, (100, 100, 100))

    def test_accuracy_chooses_by_the_test_set(self):
        result = self.swept()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertEqual(result.best("test").accuracy, max(point.accuracy for point in result.points))

    def test_rules_without_what_they_need_are_refused(self):
        result = self.swept()
        with self.assertRaisesRegex(headway.UsageError, "by: is 'score'; allowed: evidence, validation, test"):
            result.best("score")
        with self.assertRaisesRegex(headway.BadDataError, r'^best: no point of .*h5 has a set "validation", .*; allowed here: "evidence", '
                                                          '"test".*sets='):
            result.best("validation")
        ended = replace(result, points=tuple(replace(point, attributes={**point.attributes, "converged": 0}) for point in result.points))
        with self.assertRaisesRegex(headway.BadDataError, "best: no point of .*h5 converged"):
            ended.best()

    def test_points_have_names(self):
        result = self.swept()
        for name, number in (("best", number_of_point(result, (10, 0.1))), ((100, 0.01), number_of_point(result, ((100, 100, 100), 0.01))),
                             (-1, 3), (np.int64(2), 2)):
            self.assertEqual(number_of_point(result, name), number)
        for wrong in ("first", (10,), (11, 0.1), (10, "0.1"), 4, 0.5, None):
            with self.assertRaisesRegex(headway.UsageError, "point: is"):
                number_of_point(result, wrong)


class Tables(SweepTest):
    def test_pandas_has_a_row_for_each_point(self):
        with mock.patch.dict(sys.modules, pandas=SimpleNamespace(DataFrame=list)):
            rows = self.swept().to_pandas()
        self.assertEqual([(row["width"], row["temperature"]) for row in rows],
                         [(width, temperature) for width in WIDTHS for temperature in TEMPERATURES])
        self.assertIs(rows[0]["converged"], True)
        self.assertEqual(rows[1]["log_evidence"], -20.0)
        self.assertTrue(all(np.isfinite(row["U_a"]) and 0 <= row["accuracy"] <= 1 for row in rows))

    def test_xarray_has_widths_and_temperatures_as_dimensions_and_names_of_heads(self):
        result = self.swept("prune")
        with mock.patch.dict(sys.modules, xarray=SimpleNamespace(Dataset=Dataset)):  # of any age: no DataTree
            data = result.to_xarray()
        dimensions, values = data.variables["U_1"]
        self.assertEqual(dimensions, ("width", "temperature", "path", "path_other"))
        np.testing.assert_array_equal(values[1, 0], result.points[number_of_point(result, (100, 0.01))].order_parameters[0])
        self.assertEqual(data.variables["score"][0], ("width", "temperature", "head"))
        self.assertEqual(list(data.coordinates["width"][1]), list(WIDTHS))
        self.assertEqual(list(data.coordinates["temperature"][1]), list(TEMPERATURES))
        self.assertEqual(list(data.coordinates["head_name"][1]), [name for layer in result.head_names for name in layer])
        self.assertEqual(data.variables["log_evidence"][1][0, 1], -20.0)

    def test_a_point_that_is_missing_is_nan(self):
        self.swept()
        with h5py.File(self.file, "r+") as file:
            del file["points/3"]
        with mock.patch.dict(sys.modules, xarray=SimpleNamespace(Dataset=Dataset)):
            accuracy = headway.read_result(self.file).to_xarray().variables["accuracy"][1]
        self.assertEqual(np.isnan(accuracy).tolist(), [[False, False], [False, True]])

    def test_a_missing_package_is_named(self):
        result = self.swept()
        for package in ("pandas", "xarray"):
            with mock.patch.dict(sys.modules, {package: None}), self.assertRaisesRegex(
                    headway.UnavailableError, f"to_{package}: needs the package {package}"):
                getattr(result, f"to_{package}")()


if __name__ == "__main__":
    unittest.main()
