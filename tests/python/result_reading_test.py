"""headway.read_result on files of every kind, and on files with faults; headway.results.table."""

import csv
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import h5py
import numpy as np

import headway
import reference_theory as theory
from headway.report.reading import read_any
from headway.results.summary import summary
from headway.results.table import table
from synthetic_results import Task, problems_of, write_result

SMALL = Task(train=24, test=40, tokens=6, features=10)


FOLDER = tempfile.TemporaryDirectory()
KINDS = ("solve", "align", "prune", "sample")


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    for kind in KINDS:
        write_result(Path(FOLDER.name) / f"{kind}.h5", kind, SMALL, widths=(10, 100),
                     study=f"study-{kind}")


class ReadingTest(unittest.TestCase):
    folder = Path(FOLDER.name)
    files = {kind: Path(FOLDER.name) / f"{kind}.h5" for kind in ("solve", "align", "prune", "sample")}
    problems = problems_of(SMALL)


class Reading(ReadingTest):
    def test_heads_of_an_older_result_have_the_names_and_signs_of_today(self):
        drops, errors = np.array([0.3, -0.1, 0.0, 0.2]), np.array([0.1, 0.1, 0.2, 0.1])
        file = shutil.copy(self.files["prune"], self.folder / "older.h5")
        with h5py.File(file, "a") as changed:
            for point in changed["points"].values():
                heads = point["pruning"]
                for name in [name for name in heads if name.startswith("squared_error_rise")]:
                    heads.move(name, name.replace("rise", "change"))
                heads["accuracy_change"], heads["accuracy_change_error"] = -drops, errors
        today, older = (headway.read_result(path).head_table(1) for path in (self.files["prune"], file))
        np.testing.assert_array_equal(older["accuracy_drop"], drops)
        np.testing.assert_array_equal(older["accuracy_drop_error"], errors)
        for name in ("squared_error_rise", "squared_error_rise_error", "squared_error_rise_without_theory"):
            np.testing.assert_array_equal(older[name], today[name])
        self.assertFalse([name for name in older if "change" in name])

    def test_a_result_of_solve_is_read(self):
        result = headway.read_result(self.files["solve"])
        self.assertEqual((result.kind, result.study), ("solve", "study-solve"))
        self.assertEqual((result.heads, result.outputs), ((2, 2), 1))
        self.assertEqual(result.paths, ("(1,1)", "(1,2)", "(2,1)", "(2,2)"))
        self.assertEqual(result.path_heads, ((1, 1), (1, 2), (2, 1), (2, 2)))
        self.assertEqual(result.head_names, (("same token", "random"), ("uniform", "random")))
        self.assertEqual(result.provenance["seed"], 1)
        self.assertFalse(result.partial)
        self.assertEqual([point.widths for point in result.points], [(10,) * 3, (100,) * 3])
        problem = self.problems.at(10, 0.01)
        u = theory.saddle_point(problem)
        point = result.points[0]
        for found, known in zip(point.order_parameters, u):
            np.testing.assert_allclose(found, known, rtol=1e-12)
        self.assertAlmostEqual(point.readout_scalar, float(u[-1][0, 0]))
        self.assertAlmostEqual(point.action, theory.action(problem, u) / 10)
        mean, _ = theory.predict(problem, u[0], self.problems.x, self.problems.x_test)
        np.testing.assert_allclose(point.predictor.mean, mean[:, 0])
        self.assertEqual(point.accuracy, theory.accuracy(mean, self.problems.test_labels[:, None]))
        self.assertEqual(point.history.shape[1], len(point.history_columns))
        self.assertTrue(point.converged)
        limit = result.gaussian_process_at(0.01)
        self.assertEqual(limit.accuracy, point.gp_accuracy)
        self.assertIsNone(result.gaussian_process_at(0.02))

    def test_corrections_alignment_and_pruning_are_read(self):
        point = headway.read_result(self.files["solve"]).points[1]
        self.assertTrue(point.corrected.defined)
        self.assertEqual(point.corrected.order_parameters[0].shape, (4, 4))
        self.assertEqual(point.corrected.order_parameter_deviations[1].shape, (2, 2))
        alignment = headway.read_result(self.files["align"]).points[0].alignment
        np.testing.assert_allclose(alignment.cumulative, np.cumsum(alignment.overlaps ** 2))
        self.assertAlmostEqual(alignment.cumulative[-1], 1.0)
        pruning = headway.read_result(self.files["prune"]).points[0].pruning
        self.assertEqual(pruning.name, ["same token", "random", "uniform", "random"])
        self.assertEqual(list(pruning.layer), [1, 1, 2, 2])
        table = headway.read_result(self.files["prune"]).head_table()
        self.assertEqual(table.names, tuple(pruning.name))
        np.testing.assert_array_equal(table.grid("score"), pruning.score.reshape(2, 2))
        self.assertIn("accuracy_without", table.to_csv().splitlines()[0])
        with self.assertRaisesRegex(headway.UsageError, "point 0 has no head scores; allowed: a result of headway.prune"):
            headway.read_result(self.files["solve"]).head_table()
        self.assertEqual(pruning.random.shape, (10, 4))
        self.assertEqual(pruning.by_score[0], pruning.accuracy)

    def test_a_result_of_sample_is_read(self):
        point = headway.read_result(self.files["sample"]).points[0]
        self.assertEqual(point.method, "exact")
        np.testing.assert_allclose(point.samples.mean[0], point.samples.draws[1].mean((0, 1)))
        np.testing.assert_allclose(point.readout_scalar, point.samples.readout_draws.mean())

    def test_newer_minor_version_is_read(self):
        with self.changed(lambda file: file.attrs.__setitem__("schema_version", [1, 7])) as path:
            self.assertEqual(len(headway.read_result(path).points), 2)

    def test_fixed_and_variable_length_strings_are_the_same(self):
        def change(file):
            file.attrs["study"] = np.bytes_("fixed")
            del file["paths"]
            file["paths"] = np.array([b"(1,1)", b"(1,2)", b"(2,1)", b"(2,2)"])
        with self.changed(change) as path:
            result = headway.read_result(path)
            self.assertEqual((result.study, result.paths[3]), ("fixed", "(2,2)"))

    def test_optional_parts_may_be_missing(self):
        def change(file):
            for name in ("paths", "names", "path_kernels", "labels"):
                del file[name]
            for name in ("corrected", "history", "predictor"):
                del file[f"points/0/{name}"]
            for name in ("accuracy", "gp_accuracy"):
                del file["points/0"].attrs[name]
        with self.changed(change) as path:
            result = headway.read_result(path)
            self.assertEqual(result.paths[2], "(2,1)")
            self.assertEqual(result.head_names[0], ("head 1", "head 2"))
            self.assertIsNone(result.path_kernels)
            self.assertTrue(np.isnan(result.points[0].accuracy))
            self.assertIsNone(result.points[0].corrected)

    def test_points_come_in_the_order_of_their_numbers(self):
        def change(file):
            for i in range(2, 12):
                file.copy("points/0", f"points/{i}")
                file[f"points/{i}"].attrs["temperature"] = float(i)
        with self.changed(change) as path:
            found = [point.temperature for point in headway.read_result(path).points]
            self.assertEqual(found[2:], [float(i) for i in range(2, 12)])

    def changed(self, change, kind="solve"):
        return Changed(self.files[kind], change)


class Changed:
    """A copy of a file with a change, gone afterwards."""

    def __init__(self, source, change):
        self.path = source.with_name("changed.h5")
        shutil.copy(source, self.path)
        with h5py.File(self.path, "r+") as file:
            change(file)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.path.unlink()


class Faults(ReadingTest):
    def test_a_file_of_headway_that_is_no_result_is_called_what_it_is(self):
        for schema, words in (("headway-dataset", "is a data set, not a result; headway.check_dataset checks it, and headway.solve(path)"),
                              ("headway-gram", "is a file of Gram matrices, not a result"), ("headway-checkpoint", "is a checkpoint, not a result"),
                              ("other", 'attribute schema_name is "other", not "headway-result"')):
            self.assert_fault(lambda file: file.attrs.__setitem__("schema_name", schema), words)

    def assert_fault(self, change, *words, kind="solve"):
        with Changed(self.files[kind], change) as path:
            with self.assertRaises(headway.BadDataError) as caught:
                headway.read_result(path)
            for word in (str(path), *words):
                self.assertIn(word, str(caught.exception))

    def test_faults_of_the_schema_are_named(self):
        def attribute(name, value):
            return lambda file: file.attrs.__setitem__(name, value)
        self.assert_fault(attribute("schema_version", [2, 0]), "reads 1.x only")
        self.assert_fault(attribute("schema_name", "other"), "not \"headway-result\"")
        self.assert_fault(attribute("kind", "guess"), "kind is \"guess\"")
        self.assert_fault(attribute("heads", [2.0, 2.0]), "heads is not a list of integers")
        self.assert_fault(attribute("heads", [2, 0]), "heads is [2, 0]")
        self.assert_fault(lambda file: file.attrs.__delitem__("heads"), "attribute heads is missing")

    def test_wrong_shapes_and_missing_parts_are_named(self):
        def replace(name, value):
            def change(file):
                del file[name]
                if value is not None:
                    file[name] = value
            return change
        self.assert_fault(replace("points/1/order_parameters/layer_1", np.ones((3, 3))),
                          "/points/1/order_parameters/layer_1: has shape [3, 3], not [4, 4]")
        self.assert_fault(replace("points/1/order_parameters/layer_2", None),
                          "/points/1/order_parameters/layer_2: is missing")
        self.assert_fault(replace("points/0/U_a", "text"), "/points/0/U_a: is not an array of numbers")
        self.assert_fault(replace("paths", np.array([b"(1,1)"])), "/paths: has 1 names, not 4")
        self.assert_fault(replace("path_kernels", np.ones((4, 5, 6))), "/path_kernels: has shape")
        self.assert_fault(replace("points/0/alignment/overlaps", None),
                          "/points/0/alignment/overlaps: is missing", kind="align")
        self.assert_fault(replace("points/0/pruning/score", np.ones(3)), "expected one entry",
                          kind="prune")
        self.assert_fault(replace("points/0/draws/layer_1", np.ones((2, 9, 4))),
                          "not [chain, draw, 4, 4]", kind="sample")
        self.assert_fault(lambda file: file["points/0"].attrs.__setitem__("widths", [10, 10]),
                          "/points/0: attribute widths has 2 entries, not L + 1 = 3")
        self.assert_fault(lambda file: file["points/0"].attrs.__delitem__("temperature"),
                          "/points/0: attribute temperature is missing")

    def test_whatever_h5py_raises_names_the_file(self):
        """Damaged attributes, which no checksum guards, raise such errors. Each of these was seen."""
        path = self.files["solve"]
        for error in (KeyError("Can't open attribute"), TypeError("expected bytes"), IndexError(),
                      ValueError("Insufficient precision"),
                      UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates not allowed")):
            for read in (headway.read_result, summary, read_any):
                with self.subTest(error=error, read=read.__name__), mock.patch.object(
                        h5py.AttributeManager, "get", side_effect=error), self.assertRaisesRegex(
                        headway.BadDataError, f"^{path}: damaged: "):
                    read(path)

    def test_errors_of_the_package_stay_what_they_are(self):
        with mock.patch.object(h5py.AttributeManager, "get", side_effect=headway.UsageError("mine")):
            with self.assertRaisesRegex(headway.UsageError, "^mine$"):
                headway.read_result(self.files["solve"])
        with Changed(self.files["solve"], lambda file: file.attrs.__delitem__("schema_name")) as path:
            for read in (headway.read_result, summary, read_any):
                with self.assertRaises(headway.BadDataError) as caught:
                    read(path)
                self.assertEqual(str(caught.exception).count(str(path)), 1)

    def test_texts_that_are_no_utf8_are_named(self):
        def words(file):
            file.attrs.create("study", b"caf\xe9", dtype=h5py.string_dtype())

        def sealed(file):
            words(file)
            file.attrs["text_sha256"] = "0" * 64
        self.assert_fault(sealed, "attribute text_sha256: the texts of the file have changed")
        with Changed(self.files["solve"], words) as path:
            self.assertEqual(headway.read_result(path).study, "caf\ufffd")

    def test_unreadable_files_are_named(self):
        with self.assertRaisesRegex(headway.UnreadableFileError, "no such file"):
            headway.read_result(self.folder / "absent.h5")
        text = self.folder / "text.h5"
        text.write_text("no HDF5")
        with self.assertRaisesRegex(headway.BadDataError, "not a readable HDF5 file"):
            headway.read_result(text)


class Tables(ReadingTest):
    def test_columns_hold_the_numbers(self):
        result = headway.read_result(self.files["solve"])
        rows = [line.split(",") for line in table(result, "csv").splitlines()]
        self.assertEqual(rows[0][:3], ["N", "T", "accuracy"])
        self.assertEqual([row[0] for row in rows[1:]], ["10", "100", "infinite"])
        self.assertEqual(rows[1][2], f"{result.points[0].accuracy:.3f}")
        self.assertEqual(rows[3][2], f"{result.gaussian_process[0].accuracy:.3f}")
        self.assertEqual(rows[1][rows[0].index("S / max N")], f"{result.points[0].action:.6f}")

    def test_text_is_aligned_and_markdown_has_a_rule(self):
        for kind, path in self.files.items():
            result = headway.read_result(path)
            header, rule, *rows = table(result).splitlines()
            ends = [match.end() for match in re.finditer(r"\S+( \S+)*", header)]
            self.assertEqual([match.end() for match in re.finditer("-+", rule)], ends)
            for row in rows:  # each cell ends where its column does
                self.assertLessEqual({match.end() for match in re.finditer(r"\S+( \S+)*", row)}, set(ends), row)
            self.assertTrue(table(result, "markdown").splitlines()[1].startswith("|---:|"))

    def test_unconverged_points_stand_out(self):
        with Changed(self.files["solve"],
                     lambda file: file["points/1"].attrs.__setitem__("converged", 0)) as path:
            self.assertIn("NO", table(headway.read_result(path)).splitlines()[3])

    def test_overlaps_that_are_not_known(self):
        """They are not known beyond the rank of a kernel, nor for labels that are all zero."""
        def unknown(begin):
            return lambda file: file["points/0/alignment/overlaps"].__setitem__(slice(begin, None), np.nan)
        for begin, words in ((1, r"0\.\d{3} \(k=1\)"), (0, "-")):
            with Changed(self.files["align"], unknown(begin)) as path:
                header, first, *_ = csv.reader(table(headway.read_result(path), "csv").splitlines())
                self.assertRegex(first[header.index("best overlap")], f"^{words}$")

    def test_an_unknown_layout_is_refused(self):
        with self.assertRaises(headway.UsageError):
            table(headway.read_result(self.files["solve"]), "html")


if __name__ == "__main__":
    unittest.main()
