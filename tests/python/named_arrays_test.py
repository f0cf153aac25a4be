"""Results as arrays with named dimensions: what xarray and ArviZ are given."""

import dataclasses
import importlib.util
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
from headway.results import named_arrays
from headway.results.named_arrays import groups_of, stacked
from synthetic_results import Task, add_network, write_result
from training_result_test import STEPS, r2_at, write_training_result

SMALL = Task(train=24, test=40, tokens=6, features=10)
DEEP = Task(train=12, test=10, tokens=4, features=8,
            heads=(("same_token",), ("uniform", "random"), ("random", "uniform")))
FOLDER = tempfile.TemporaryDirectory()
KINDS = ("solve", "align", "prune", "sample")


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    for kind in KINDS:
        write_result(place(kind), kind, SMALL, widths=(10, 100), temperatures=(0.01, 0.1),
                     corrections=kind == "solve")
    write_result(place("deep"), "solve", DEEP, widths=(10,), corrections=False)
    add_network(place("prune"))
    write_training_result(place("train"))
    with h5py.File(place("sample"), "r+") as file:
        for group in file["points"].values():
            draws = group["draws/U_a"].shape
            group["energies"] = np.arange(np.prod(draws), dtype=float).reshape(draws[::-1])


def place(name) -> Path:
    return Path(FOLDER.name) / f"{name}.h5"


def read(name):
    return headway.read_result(place(name))


class NamedArrays(unittest.TestCase):
    def test_dimensions_fit_their_arrays_and_coordinates(self):
        for name in (*KINDS, "deep", "train"):
            for path, group in groups_of(read(name)).items():
                sizes = {}
                for label, (dimensions, array) in (*group.variables.items(),
                                                   *group.coordinates.items()):
                    self.assertEqual(len(dimensions), np.ndim(array), f"{name}{path} {label}")
                    self.assertEqual(len(set(dimensions)), len(dimensions))
                    for dimension, size in zip(dimensions, np.shape(array)):
                        self.assertEqual(sizes.setdefault(dimension, size), size,
                                         f"{name}{path} {label} {dimension}")

    def test_points_are_those_of_the_result(self):
        result = read("solve")
        group = groups_of(result)["/points"]
        dimensions, u = group.variables["U_1"]
        self.assertEqual(dimensions, ("point", "path", "path_other"))
        for index, point in enumerate(result.points):
            np.testing.assert_array_equal(u[index], point.order_parameters[0])
            self.assertEqual(group.variables["accuracy"][1][index], point.accuracy)
            np.testing.assert_array_equal(group.variables["predictor_mean"][1][index],
                                          point.predictor.mean)
            np.testing.assert_array_equal(group.coordinates["width"][1][index], point.widths[:-1])
            self.assertEqual(group.coordinates["readout_width"][1][index], point.widths[-1])
        self.assertEqual(list(group.coordinates["path"][1]), list(result.paths))
        self.assertEqual(list(group.coordinates["path_2"][1]), ["(1)", "(2)"])
        self.assertEqual(group.variables["predictor_mean"][0], ("point", "example"))

    def test_heads_keep_their_names(self):
        group = groups_of(read("prune"))["/pruning"]
        self.assertEqual(group.variables["score"][0], ("point", "head"))
        self.assertEqual(list(group.coordinates["head"][1]), ["1.1", "1.2", "2.1", "2.2"])
        self.assertEqual(list(group.coordinates["head_layer"][1]), [1, 1, 2, 2])
        self.assertEqual(list(group.coordinates["head_name"][1])[0], "same token")
        self.assertEqual(group.variables["cumulative_random"][0], ("point", "order", "removed"))
        self.assertEqual(group.variables["cumulative_score_order"][0], ("point", "removal"))

    def test_every_layer_has_paths_of_its_own(self):
        group = groups_of(read("deep"))["/points"]
        self.assertEqual(group.variables["U_3"][0], ("point", "path_3", "path_3_other"))
        self.assertEqual(list(group.coordinates["path_2"][1]), ["(1,1)", "(1,2)", "(2,1)", "(2,2)"])

    def test_several_outputs_have_a_dimension(self):
        result = read("solve")
        both = dataclasses.replace(result, heads=(2,), outputs=2, paths=("(1)", "(2)"),
                                       head_names=(("a", "b"),))
        names = named_arrays.Names(both)
        matrix = np.arange(16.0).reshape(4, 4)
        unfolded = names.unfolded(matrix)
        self.assertEqual(names.order_parameter(1), ("path", "output", "path_other", "output_other"))
        # row (path 2, output 1) is 2, column (path 1, output 2) is 1: outputs vary fastest
        self.assertEqual(unfolded[1, 0, 0, 1], matrix[2, 1])

    def test_shorter_arrays_end_in_nan(self):
        found = stacked([np.ones((2, 3)), None, np.zeros((1, 4))])
        self.assertEqual(found.shape, (3, 2, 4))
        np.testing.assert_array_equal(found[0, :, 3], [np.nan] * 2)
        self.assertTrue(np.isnan(found[1]).all())
        np.testing.assert_array_equal(found[2, 0], np.zeros(4))
        self.assertIsNone(stacked([None, None]))

    def test_trained_networks_have_runs_and_records(self):
        groups = groups_of(read("train"))
        dimensions, values = groups["/curves/held_out"].variables["r2"]
        self.assertEqual(dimensions, ("run", "record"))
        np.testing.assert_allclose(values[4], r2_at("hyla", 2))
        np.testing.assert_array_equal(groups["/curves/held_out"].variables["step"][1][0], STEPS)
        self.assertEqual(groups["/runs"].variables["final_r2"][0], ("run", "split"))
        self.assertEqual(list(groups["/runs"].coordinates["label"][1]), ["softmax"] * 3 + ["hyla"] * 3)

    def test_what_is_not_there_is_refused(self):
        if importlib.util.find_spec("xarray") is None:
            with self.assertRaisesRegex(headway.UnavailableError, "pip install xarray"):
                read("solve").to_datatree()
        with self.assertRaisesRegex(headway.UsageError, "point: is 9; allowed: 0 to 3"):
            read("sample").to_inference_data(9)
        with self.assertRaisesRegex(headway.BadDataError, "holds no draws"):
            read("solve").to_inference_data()

if __name__ == "__main__":
    unittest.main()
