"""The cards of the page of results: which results share one, and what stands there beside each other."""

import json
import shutil
import unittest

import h5py
import numpy as np

import headway
from headway.report.beside import beside
from headway.report.cards import cards_of
from report_pages import ONE_HEAD, WithoutPictures, embedded, made, place, setUpModule  # noqa: F401
from synthetic_results import Task, write_result


class Cards(WithoutPictures):
    """Results of one network on the same data share a card; others do not."""

    def cards(self, *names, **options):
        return cards_of([headway.read_result(place(name)) for name in names], names, **options)

    def changed(self, name, **attributes):
        shutil.copy(place("sample"), place(name))
        with h5py.File(place(name), "r+") as file:
            file.attrs.update(attributes)
        return name

    def test_of_other_data_prior_or_readout_stand_alone(self):
        model = "schema = 1\n\n[model]\nwidths = [{}]\nreadout = \"{}\"\n\n[solve]\nstart = \"x\"\n"
        for attributes in ({"data_hash": "2" * 64}, {"variances": np.full(4, 2.0)}, {"study_toml": model.format(10, "mean")}):
            self.assertEqual(len(self.cards("solve", self.changed("changed", **attributes))), 2, attributes)
        first = self.changed("first", study_toml=model.format(10, "mean"))
        other = self.changed("other-widths", study_toml=model.format(20, "mean"), study="another name")
        self.assertEqual([card.name for card in self.cards(first, other)], ["first + other-widths"])

    def test_without_a_hash_of_the_data_stand_alone(self):
        for name in ("unknown-1", "unknown-2"):
            self.changed(name)
            with h5py.File(place(name), "r+") as file:
                del file.attrs["data_hash"]
        self.assertEqual(len(self.cards("unknown-1", "unknown-2", "solve")), 3)

    def test_labels_of_the_user_name_them(self):
        self.assertEqual(self.cards("solve", "sample", labelled=True)[0].name, "solve + sample")
        self.assertEqual(self.cards("solve", "sample")[0].name, "hmm-synthetic (solve, sample)")

    def test_two_samplers_keep_their_numbers(self):
        self.changed("gibbs")
        with h5py.File(place("gibbs"), "r+") as file:
            for point in file["points"].values():
                point.attrs["sampler"] = "gibbs"
        data = embedded(made("solve", "sample", "gibbs")[0])
        self.assertEqual([table["sampler"] for table in data["cards"][0]["points"][0]["beside"]], ["exact", "gibbs"])
        self.assertLessEqual({"samples": "posterior samples 1", "samples_2": "posterior samples 2"}.items(),
                             data["sources"].items())

    def test_sliders_start_where_no_card_is_empty(self):
        write_result(place("few"), "solve", ONE_HEAD, widths=(100, 30), temperatures=(0.1,), study="few points")
        text, found = made("solve", "sample", "few")
        [width] = found.all("input", id="width")
        names = json.loads(found.all("form", id="explorer")[0]["data-widths"])
        self.assertEqual(names[int(width["value"])][0], "N = 100")
        self.assertEqual([("checked" in box) for box in found.all("input", name="shown")], [True, True])
        write_result(place("elsewhere"), "solve", ONE_HEAD, widths=(7,), study="elsewhere")
        _, found = made("solve", "sample", "elsewhere")
        self.assertEqual([("checked" in box) for box in found.all("input", name="shown")], [True, False])


class Beside(WithoutPictures):
    """Theory beside samples: numbers of the files, and differences in the samples' standard errors."""

    def table(self, *names):
        results = [headway.read_result(place(name)) for name in names]
        [card] = cards_of(results, names)
        return results, [beside(card.first, spot) for spot in card.places]

    def rows(self, table):
        return {row["name"]: row for row in (*table["scalars"], *table["entries"])}

    def test_differences_are_in_standard_errors_of_the_samples(self):
        (solved, sampled), tables = self.table("solve", "sample")
        for theory, samples, [table] in zip(solved.points, sampled.points, tables):
            rows = self.rows(table)
            u, mean, error = theory.order_parameters[0], samples.samples.mean[0], samples.samples.mcse[0]
            self.assertEqual(len(table["entries"]), 10)
            for (a, b), name in (((0, 0), "(1,1) (1,1)"), ((0, 2), "(1,1) (2,1)"), ((3, 3), "(2,2) (2,2)")):
                self.assertAlmostEqual(rows[name]["theory"], u[a, b])
                self.assertAlmostEqual(rows[name]["mean"], mean[a, b])
                self.assertAlmostEqual(rows[name]["error"], error[a, b])
                self.assertAlmostEqual(rows[name]["apart"][0] / ((u[a, b] - mean[a, b]) / error[a, b]), 1.0, delta=0.01)
                corrected = theory.corrected
                known = (corrected.order_parameters[0][a, b] - mean[a, b]) / error[a, b] if corrected.defined else None
                if known is None:
                    self.assertIsNone(rows[name]["apart"][1])
                else:
                    self.assertAlmostEqual(rows[name]["apart"][1] / known, 1.0, delta=0.01)
            upper = np.triu_indices(4)
            self.assertEqual(table["within"][0], int(np.sum(np.abs((u - mean) / error)[upper] <= 2.0)))
            self.assertAlmostEqual(rows["U_a"]["mean"], float(samples.samples.readout_mean))
            self.assertEqual(rows["test accuracy"]["mean"], samples.accuracy)
            self.assertIsNone(rows["test accuracy"]["apart"][0])  # this file has no error of it

    def test_accuracy_and_predictor_have_errors_where_the_file_has(self):
        shutil.copy(place("sample"), place("errors"))
        with h5py.File(place("errors"), "r+") as file:
            for point in file["points"].values():
                point.attrs["accuracy_mcse"] = 0.01
                point["predictor/mcse"] = np.concatenate([[1e-6], np.full(39, 0.02)])  # one is tiny by chance
        (solved, sampled), tables = self.table("solve", "errors")
        theory, samples, [table] = solved.points[0], sampled.points[0], tables[0]
        self.assertAlmostEqual(self.rows(table)["test accuracy"]["apart"][0], (theory.accuracy - samples.accuracy) / 0.01, places=1)
        distance, error = theory.predictor.mean - samples.predictor.mean, samples.samples.predictor_mcse
        ratio = np.sqrt(np.mean(distance ** 2) / np.mean(error ** 2))
        self.assertAlmostEqual(table["predictor"]["ratio"][0] / ratio, 1.0, delta=0.01)
        self.assertAlmostEqual(table["predictor"]["within"][0], np.mean(np.abs(distance) <= 3.1824 * error), places=3)

    def test_limits_follow_the_chains(self):
        shutil.copy(place("sample"), place("chains"))
        for chains, limit in ((2, 12.7062), (4, 3.1824), (20, 2.0930)):
            with h5py.File(place("chains"), "r+") as file:
                for point in file["points"].values():
                    point.attrs["accuracy_mcse"], point.attrs["chains"] = 0.01, chains
            rows = self.rows(self.table("solve", "chains")[1][0][0])
            self.assertAlmostEqual(rows["test accuracy"]["limit"], limit, places=3)
            self.assertEqual(rows["U_a"]["limit"], 2.0)  # its error comes from effective draws
            [source] = [point["sources"]["samples"] for point in embedded(made("chains")[0])["cards"][0]["points"][:1]]
            self.assertAlmostEqual(source["errors"]["accuracy"]["limit"], limit, places=3)

    def test_no_error_is_no_agreement(self):
        shutil.copy(place("sample"), place("exact"))
        with h5py.File(place("exact"), "r+") as file:
            for point in file["points"].values():
                point["order_parameters/layer_1_mcse"][...] = 0.0
        _, tables = self.table("solve", "exact")
        self.assertEqual([row["apart"][0] for row in tables[0][0]["entries"]], [None] * 10)
        self.assertEqual(tables[0][0]["known"][0], 0)

    def test_theory_or_samples_alone_have_a_table_too(self):
        _, tables = self.table("solve")
        self.assertIsNone(tables[0][0]["sampler"])
        self.assertIsNone(tables[0][0]["predictor"])
        self.assertNotIn("beside", embedded(made("solve")[0])["sources"])
        _, tables = self.table("sample")
        self.assertEqual({row["theory"] for row in tables[0][0]["entries"]}, {None})

    def test_many_entries_are_cut_to_the_largest(self):
        many = Task(train=12, test=8, tokens=4, features=6, heads=(("same_token", "random", "uniform"), ("random",) * 3))
        write_result(place("many"), "solve", many, widths=(50,), corrections=False)
        [result], [[table]] = self.table("many")
        upper = np.abs(result.points[0].order_parameters[0][np.triu_indices(9)])
        self.assertEqual((len(table["entries"]), table["of"]), (21, 45))
        np.testing.assert_allclose(sorted(abs(row["theory"]) for row in table["entries"]), np.sort(upper)[-21:])

    def test_paths_of_different_size_are_warned_of(self):
        shutil.copy(place("prune"), place("sizes"))
        for factor, warned in ((1.0, False), (400.0, True)):
            with h5py.File(place("sizes"), "r+") as file:
                file["path_kernels"][1] *= factor
            text, found = made("sizes")
            self.assertEqual("paths differ in size" in " ".join(found.texts), warned)
            self.assertEqual("differ in size" in embedded(text)["cards"][0]["size_warning"], warned)


if __name__ == "__main__":
    unittest.main()
