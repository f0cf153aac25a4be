"""The page of results: what it holds, that nothing of a file becomes markup, and how it fails."""

import base64
import contextlib
import hashlib
import io
import math
import os
import re
import shutil
import unittest
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

import headway
from headway import cli, figures
from headway.report import explorer
from headway.report.cards import cards_of
from headway.report.drawings import figure_tables, plain_words
from headway.report.page import page
from headway.results.table import cells
from report_pages import EVIL, FOLDER, WithoutPictures, embedded, made, place, setUpModule  # noqa: F401
from training_result_test import r2_at


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.names = ("solve", "align", "prune", "sample", "train")
        cls.text, cls.page = made(*cls.names)
        cls.data = embedded(cls.text)

    def test_every_figure_is_there_with_its_numbers(self):
        labels = [svg["aria-label"] for svg in self.page.all("svg", role="img")]
        for name in self.names:
            for figure in figures.draw_all(headway.read_result(place(name))):
                self.assertTrue([label for label in labels
                                 if label.startswith(figure.replace("_", " ").capitalize())], figure)
        result = headway.read_result(place("solve"))
        rows = self.page.tables["test accuracy"]
        known = {f"{point.accuracy:.6g}" for point in result.points}
        self.assertLessEqual(known, {cell for table in rows for row in table for cell in row})

    def test_results_of_one_study_share_a_card(self):
        self.assertEqual([card["name"] for card in self.data["cards"]], ["hmm-synthetic (solve, align, prune, sample)"])
        self.assertEqual(self.page.all("input", name="shown"), [])  # one card: none to choose
        [card] = self.data["cards"]
        self.assertEqual([(point["widths"][0], point["temperature"]) for point in card["points"]],
                         [(10, 0.01), (10, 0.1), (100, 0.01), (100, 0.1)])
        for point in card["points"]:
            self.assertIsNotNone(point["alignment"])
            self.assertIn("losses", point["sources"]["saddle_point"])
            rises = point["sources"]["saddle_point"]["rises"]  # with the theory's U_1, and with U_1 = 1
            self.assertEqual((len(rises["theory"]), len(rises["control"])), (len(card["heads"]), len(card["heads"])))
        self.assertEqual(list(self.data["sources"]),
                         ["beside", "saddle_point", "corrected", "samples", "gaussian_process"])

    def test_it_opens_on_a_measure_that_all_cards_have(self):
        solved = headway.read_result(place("solve"))
        numbers = replace(solved, study="numbers", points=tuple(
            replace(point, attributes={**point.attributes, "accuracy": math.nan}, corrected=None) for point in solved.points),
            gaussian_process=(), provenance=solved.provenance | {"data_hash": "another"})
        for results, first in (([solved], "accuracy"), ([numbers, solved], "test_mean_squared_error")):
            options = re.search(r'<select id="measure">(.*?)</select>', page(results))[1]
            self.assertTrue(options.startswith(f'<option value="{first}">'), options)
            self.assertEqual(options.count("<option"), len(set(re.findall(r'value="(\w+)"', options))))

    def test_tables_are_those_of_the_package(self):
        for name in ("solve", "sample", "train"):
            header, rows = cells(headway.read_result(place(name)))
            caption = "Variants" if name == "train" else "Points"
            self.assertIn([header, *rows], self.page.tables[caption])

    def test_sliders_move_the_numbers_of_the_points(self):
        result = headway.read_result(place("solve"))
        [found] = self.data["cards"]
        for point, shown in zip(result.points, found["points"]):
            source = shown["sources"]["saddle_point"]
            np.testing.assert_allclose(source["U"][0], point.order_parameters[0], rtol=1e-3)
            self.assertAlmostEqual(source["measures"]["accuracy"], point.accuracy)
            counts = source["prediction"]["counts"]
            right = sum(sum(values[half:] if sign > 0 else values[:half]) for sign, values, half in (
                (1, counts[0]["values"], explorer.BINS // 2),
                (-1, counts[1]["values"], explorer.BINS // 2)))
            self.assertEqual(right, round(point.accuracy * len(result.test_labels)))
        self.assertEqual(set(found["points"][0]["sources"]),
                         {"saddle_point", "corrected", "samples", "gaussian_process"})
        limit = found["points"][0]["sources"]["gaussian_process"]
        np.testing.assert_array_equal(limit["U"][0], np.eye(4))

    def test_predictions_have_students_limit(self):
        for point in self.data["cards"][0]["points"]:
            [table] = point["beside"]
            self.assertAlmostEqual(table["predictor"]["limit"], 3.1824)  # of 4 chains

    def test_head_scores_are_those_of_the_program(self):
        result = headway.read_result(place("prune"))
        for point in result.points:
            np.testing.assert_allclose(explorer.head_scores(point.order_parameters[0], result),
                                       point.pruning.score, rtol=1e-9)

    def test_learning_curves_are_means_over_seeds(self):
        curves = self.data["training"][0]["curves"]
        found = next(curve for curve in curves if (curve["label"], curve["split"], curve["metric"])
                     == ("hyla", "held_out", "r2"))
        np.testing.assert_allclose(found["mean"], r2_at("hyla", 2))
        self.assertFalse([curve for curve in curves if curve["metric"] == "steps_per_second"])

    def test_provenance_is_there_and_how_to_remake_it(self):
        text = " ".join(self.page.texts)
        self.assertIn("schema = 1", text)
        self.assertIn(f"headway solve {place('solve')} -o again.h5", text)
        self.assertIn("python3 -m headway report", text)
        self.assertIn("2024-01-01T00:00:00Z", text)

    def test_nothing_is_loaded_and_only_this_script_runs(self):
        for tag, attributes in self.page.elements:
            for name in ("src", "href", "xlink:href", "action", "data", "srcset"):
                self.assertRegex(attributes.get(name) or "#", r"^(#|data:)", f"<{tag} {name}>")
            self.assertFalse([name for name in attributes if name.startswith("on")], tag)
        [policy] = self.page.all("meta", **{"http-equiv": "Content-Security-Policy"})
        script = self.text[self.text.rindex("<script>") + 8:self.text.rindex("</script>")]
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self.assertIn(f"script-src 'sha256-{digest}'", policy["content"])
        self.assertIn("default-src 'none'", policy["content"])
        self.assertNotIn("innerHTML", script)
        self.assertNotRegex(script.replace("http://www.w3.org/2000/svg", ""), r"https?://|fetch\(|import ")

    def test_names_of_elements_are_unique_and_lead_somewhere(self):
        identities = [attributes["id"] for _, attributes in self.page.elements if "id" in attributes]
        self.assertEqual(len(identities), len(set(identities)))
        for _, attributes in self.page.elements:
            for name in ("href", "xlink:href", "for", "aria-labelledby", "form"):
                target = attributes.get(name) or ""
                if name in ("for", "aria-labelledby", "form") and target or target.startswith("#"):
                    self.assertIn(target.removeprefix("#"), identities)

    def test_everything_has_a_name(self):
        for tag in ("svg", "table", "section", "nav", "form", "pre"):
            for attributes in self.page.all(tag):
                if tag == "svg" and attributes.get("role") != "img":
                    continue
                named = attributes.get("aria-label") or attributes.get("aria-labelledby")
                self.assertTrue(named or tag == "table", f"{tag} {attributes}")
        self.assertNotIn("", self.page.tables)  # every table has a caption
        self.assertEqual([attributes for tag, attributes in self.page.elements if tag == "html"],
                         [{"lang": "en"}])


class Kinds(unittest.TestCase):
    def test_one_head_real_labels_and_several_outputs_have_pages(self):
        self.assertIn("one head", made("one-head")[0])
        shutil.copy(place("sample"), place("real"))
        with h5py.File(place("real"), "r+") as file:
            file["labels/test"][...] = np.linspace(-2.0, 2.0, 40)
            file["labels/train"][...] = np.linspace(-2.0, 2.0, 24)
        data = embedded(made("real")[0])["cards"][0]
        self.assertIsNone(data["bins"])
        dots = data["points"][0]["sources"]["samples"]["prediction"]
        mean = headway.read_result(place("real")).points[0].predictor.mean
        np.testing.assert_allclose(dots["mean"], mean, rtol=1e-3)

    def test_several_results_stand_side_by_side(self):
        text, found = made("solve", "sample", "one-head")
        boxes = found.all("input", name="shown")  # solve and sample share the first
        self.assertEqual([("checked" in box) for box in boxes], [True] * 2)
        prefixed = [attributes["id"] for attributes in found.all("g") if "id" in attributes]
        for name in ("accuracy_against_width", "theory_against_samples"):
            self.assertTrue([identity for identity in prefixed
                             if identity.startswith(f"theory-together-{name}")], name)
        self.assertNotIn("No figure", text)

    def test_an_unknown_kind_is_listed(self):
        text, found = made("other", "solve")
        [members] = found.tables["Members of the file"]
        self.assertIn(["runs/0/codes", "5 × 3, float64"], members)
        self.assertIn("no figures for results of headway dreams", text)
        self.assertFalse(found.all("img"))

    def test_a_result_without_points_says_so(self):
        shutil.copy(place("solve"), place("empty"))
        with h5py.File(place("empty"), "r+") as file:
            del file["points"]
            file.attrs["partial"] = 1
        text, _ = made("empty")
        self.assertIn("holds no points, so there is nothing to draw", text)
        self.assertIn("This result is partial", text)

    def test_words_of_a_file_are_no_markup(self):
        for name, folder in (("solve", "points"), ("train", "runs")):
            shutil.copy(place(name), place("evil"))
            with h5py.File(place("evil"), "r+") as file:
                for group in (file, *file[folder].values()):
                    for key, value in group.attrs.items():
                        if isinstance(value, str) and key not in ("schema_name", "kind", "splits"):
                            group.attrs[key] = EVIL
                if "names/layer_1" in file:
                    file["names/layer_1"][0] = EVIL
                for group in file[folder].values():
                    group.attrs["converged"], group.attrs["warnings"] = 0, EVIL
            text, found = made("evil", labels=[EVIL])
            self.assertFalse(found.all("img"))
            self.assertEqual(len(found.all("script")), 2)
            self.assertNotIn("http://evil", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
                             .replace("http://evil.example/x.png&quot;", ""))
            self.assertIn(EVIL, "".join(found.texts))  # as words

    def test_every_time_gives_the_same_page(self):
        self.assertEqual(made("align", "train")[0], made("align", "train")[0])


class Numbers(unittest.TestCase):
    def test_of_a_figure_are_those_that_are_drawn(self):
        result = headway.read_result(place("prune"))
        figure = result.plot("head_scores", widths=(10,)).only()
        tables = figure_tables(figure)
        score = next(rows for _, header, rows in tables if header[1] == "score of the head")
        self.assertEqual([row[1] for row in score], [f"{value:.6g}" for value in
                                                     result.points[0].pruning.score])
        self.assertEqual(score[0][0], "layer 1, same token")
        figure = headway.read_result(place("solve")).plot("order_parameters", widths=(10,)).only()
        [(caption, header, rows)] = figure_tables(figure)
        self.assertEqual((caption, header[1:]), ("N = 10", ["(1,1)", "(1,2)", "(2,1)", "(2,2)"]))
        self.assertEqual(len(rows), 4)

    def test_mathematics_is_put_into_words(self):
        self.assertEqual(plain_words(r"$N_\mathrm{a}$ = 10"), "N_a = 10")
        self.assertEqual(plain_words(r"path $\pi^\prime$, \$5"), "path π′, $5")

    def test_packed_arrays_keep_sixteen_bits(self):
        values = np.random.default_rng(1).standard_normal((7, 5))
        found = explorer.packed(values)
        integers = np.frombuffer(base64.b64decode(found["data"]), "<i2").reshape(found["shape"])
        np.testing.assert_allclose(found["scale"] * integers, values,
                                   atol=np.abs(values).max() / 32767)

    def test_kernels_are_averages_over_neighbours(self):
        result = headway.read_result(place("solve"))
        found = explorer.explored(cards_of([result], ["x"])[0])["kernel"]
        order = np.argsort(-result.train_labels, kind="stable")
        integers = np.frombuffer(base64.b64decode(found["kernels"]["data"]), "<i2")
        shown = found["kernels"]["scale"] * integers.reshape(found["kernels"]["shape"])
        np.testing.assert_allclose(shown, result.path_kernels[:, order][:, :, order],
                                   atol=np.abs(result.path_kernels).max() / 32767)
        self.assertEqual((found["names"], found["borders"]), (["+1", "−1"], [0.5, 1.0]))


class CommandLine(WithoutPictures):
    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(["report", *map(str, arguments)])
        return code, out.getvalue(), err.getvalue()

    def test_writes_a_page_and_replaces_it_only_when_told(self):
        target = Path(FOLDER.name) / "page.html"
        self.assertEqual(self.run_main(place("align"), "-o", target), (0, f"{target}\n", ""))
        first = target.read_bytes()
        code, out, err = self.run_main(place("one-head"), "-o", target)
        self.assertEqual((code, out), (73, ""))
        self.assertIn("page.html: exists already; --force replaces it", err)
        self.assertEqual(target.read_bytes(), first)
        self.assertEqual(self.run_main(place("one-head"), "-o", target, "--force")[0], 0)
        self.assertNotEqual(target.read_bytes(), first)

    def test_stands_beside_the_result_by_default(self):
        self.assertEqual(self.run_main(place("one-head"))[1], f"{place('one-head').with_suffix('.html')}\n")

    def test_failures_leave_nothing_behind(self):
        for name in ("solve", "align", "one-head"):  # written when first asked for
            place(name)
        before = set(os.listdir(FOLDER.name))
        broken = place("broken")
        broken.write_bytes(place("solve").read_bytes()[:2000])
        target = Path(FOLDER.name) / "never.html"
        for code, words, arguments in (
                (65, "truncated file", (broken, "-o", target)),
                (66, "absent.h5: no such file", (place("solve"), place("absent"), "-o", target)),
                (64, "--labels: has 1 names for 2 results",
                 (place("solve"), place("align"), "--labels", "a", "-o", target)),
                (64, "--labels: has equal names",
                 (place("solve"), place("align"), "--labels", "a,a", "-o", target)),
                (73, "cannot be written", (place("one-head"), "-o", place("solve") / "deeper" / "x.html")),
                (73, "is a folder", (place("one-head"), "-o", FOLDER.name))):
            found, out, err = self.run_main(*arguments)
            self.assertEqual((found, out), (code, ""), err)
            self.assertIn(words, err)
        self.assertEqual(set(os.listdir(FOLDER.name)), before | {"broken.h5"})

    def test_python_writes_the_same_page(self):
        target = Path(FOLDER.name) / "python.html"
        self.assertEqual(headway.write_report(place("one-head"), target), target)
        with self.assertRaises(headway.CannotWriteError):
            headway.write_report(place("one-head"), target)
        with self.assertRaisesRegex(headway.UsageError, "at least one result"):
            headway.write_report([], target)
        for labels, words in ((["a", "b"], "^labels: has 2 names for 1"), ("a", "^labels: is 'a'"), (3, "^labels: is 3"),
                              ([3], r"^labels: is \[3\]")):
            with self.assertRaisesRegex(headway.UsageError, words):
                headway.write_report(place("one-head"), target, labels)


class Documents(unittest.TestCase):
    def test_every_figure_is_in_the_table_of_the_readme(self):
        readme = (Path(__file__).parents[2] / "apps/python/README.md").read_text(encoding="utf-8")
        named = set(re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE))
        self.assertLessEqual(set(figures.FIGURES), named)


if __name__ == "__main__":
    unittest.main()
