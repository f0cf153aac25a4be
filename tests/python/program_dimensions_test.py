"""Result files have dimensions with names: netCDF-4's scales, which xarray and netCDF tools read without Headway."""

import importlib.util
import math
import re
import unittest

import h5py
import numpy as np

import headway
import program
from bindings import file_of, four_paths, setUpModule, small  # noqa: F401
from headway.results.named_arrays import groups_of

NOT_A_VARIABLE = b"This is a netCDF dimension but not a netCDF variable."


def arrays_of(file):
    found = {}
    file.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


def is_scale(array):
    return array.attrs.get("CLASS") == b"DIMENSION_SCALE"


def dimensions_of(array):
    """Their names, from the scales that the array refers to."""
    return tuple(array.file[reference[0]].name for reference in array.attrs["DIMENSION_LIST"])


def results():
    data = four_paths()
    yield "solve", headway.solve(**data, widths=[10, 100], temperature=0.1)
    yield "align", headway.align(**data, widths=[10], temperature=0.1)
    yield "prune", headway.prune(**small(), sets={"validation": {"path_features": small(2)["features"], "labels": np.resize([1, -1], 12)}})
    yield "sample", headway.sample(**small(), chains=2, draws=40, seed=1)
    yield "classes", headway.solve(**small(labels=np.arange(12) % 3), classes=3)
    solved = headway.solve(**small())
    yield "predict", headway.predict(solved, features=small(2)["features"][:5])


class Dimensions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cls.paths = {name: result.save(file_of(f"dimensions-{name}.h5")) for name, result in results()}

    def test_every_axis_has_a_scale_of_its_size_at_the_root(self):
        for kind, path in self.paths.items():
            with h5py.File(path) as file:
                arrays = arrays_of(file)
                self.assertGreater(sum(map(is_scale, arrays.values())), 0, kind)
                for name, array in arrays.items():
                    with self.subTest(kind=kind, name=name):
                        if is_scale(array):
                            self.assertNotIn("/", name)
                            self.assertTrue(array.attrs["NAME"].startswith(NOT_A_VARIABLE))
                        elif array.shape:
                            found = dimensions_of(array)
                            self.assertEqual(tuple(file[one].shape[0] for one in found), array.shape)
                            self.assertEqual(len(set(found)), len(found))

    def test_names_are_those_of_the_fields(self):
        with h5py.File(self.paths["solve"]) as file:
            for name, expected in (("points/0/order_parameters/layer_1", ("/path", "/path_other")),
                                   ("points/0/order_parameters/layer_2", ("/path_2", "/path_2_other")),
                                   ("points/1/predictor/mean", ("/example",)), ("labels/train", ("/train_example",)),
                                   ("paths", ("/path",)), ("points/0/history", ("/iteration", "/history_column"))):
                self.assertEqual(dimensions_of(file[name]), expected, name)
        with h5py.File(self.paths["sample"]) as file:
            self.assertEqual(dimensions_of(file["points/0/draws/layer_2"]), ("/chain", "/draw", "/path_2", "/path_2_other"))
        with h5py.File(self.paths["classes"]) as file:
            self.assertEqual(dimensions_of(file["points/0/U_a"]), ("/output", "/output_other"))

    def test_the_file_says_what_its_fields_mean(self):
        for kind, path in self.paths.items():
            with h5py.File(path) as file:
                said = dict(zip(file["documentation/field"].asstr()[()], file["documentation/meaning"].asstr()[()]))
                point = file["points/0"]
                known = {f"points/<i>/{name}" for name in point.attrs if name != "gp_accuracy"} | {
                    re.sub(r"layer_\d", "layer_<l>" if kind not in ("sample",) else "layer_1", f"points/<i>/{name}")
                    for name in arrays_of(point) if not name.startswith(("gaussian_process/", "theory/", "sets/"))}
                self.assertEqual(sorted(known - set(said)), [], kind)
                self.assertTrue(all(said.values()))
                self.assertEqual("points/<i>/alignment/overlaps" in said, kind == "align")

    def test_dimensions_in_python_are_those_of_the_file(self):
        for kind, group, variable, place in (
                ("solve", "/points", "U_2", "order_parameters/layer_2"), ("solve", "/points", "predictor_mean", "predictor/mean"),
                ("solve", "/points", "history", "history"), ("solve", "/corrected", "U_1_sd", "corrected/order_parameters_sd/layer_1"),
                ("align", "/alignment", "overlaps", "alignment/overlaps"), ("prune", "/pruning", "score", "pruning/score"),
                ("prune", "/pruning", "cumulative_random_order", "pruning/cumulative/random_order"),
                ("prune", "/pruning", "cumulative_greedy", "pruning/cumulative/greedy"),
                ("sample", "/points", "U_1_mean", "order_parameters/layer_1_mean"), ("sample", "/posterior", "U_2", "draws/layer_2")):
            with self.subTest(variable=variable), h5py.File(self.paths[kind]) as file:
                dimensions, values = groups_of(headway.read_result(self.paths[kind]))[group].variables[variable]
                self.assertEqual(dimensions, ("point", *(re.sub(r"_\d+$", "", name.strip("/")) if "path" not in name else name.strip("/")
                                                         for name in dimensions_of(file[f"points/0/{place}"]))))

    def test_what_is_read_and_shown_is_what_it_was(self):
        path = self.paths["solve"]
        self.assertNotIn("DIMENSION", program.run("inspect", path).stdout)
        self.assertNotIn("path_2", program.run("inspect", path).stdout)
        result = headway.read_result(path)
        self.assertEqual(len(result.points), 2)
        again = result.save(file_of("again.h5"))
        self.assertEqual(again.read_bytes(), path.read_bytes())
        self.assertTrue(math.isfinite(headway.prune(path, **four_paths(), widths=[10]).points[0].accuracy))

    @unittest.skipUnless(importlib.util.find_spec("h5netcdf") and importlib.util.find_spec("xarray"), "needs xarray and h5netcdf")
    def test_xarray_opens_it_without_headway(self):
        import xarray
        if not hasattr(xarray, "open_datatree"):
            self.skipTest("needs xarray 2024.10")
        for kind, path in self.paths.items():
            with xarray.open_datatree(path, engine="h5netcdf", phony_dims=None) as tree:
                self.assertEqual(tree.attrs["kind"], "solve" if kind == "classes" else kind)
        with xarray.open_datatree(self.paths["solve"], engine="h5netcdf", phony_dims=None) as tree:
            found = tree["points/0/order_parameters/layer_1"]
            self.assertEqual(found.dims, ("path", "path_other"))
            np.testing.assert_array_equal(found, headway.read_result(self.paths["solve"]).points[0].order_parameters[0])


if __name__ == "__main__":
    unittest.main()
