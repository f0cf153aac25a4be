"""Trained networks on the page of results, in a browser: latent codes, heads removed, metrics on other data.

Skipped where no Chromium is installed. HEADWAY_PICTURES names a folder for screenshots to look at.
"""

import os
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
import report_browser_test
from browser import Browser, PageTest, executable
from latent_results_test import RULES, score, write_evaluation, write_latents
from removal_results_test import write_removals

FOLDER = tempfile.TemporaryDirectory()
PICTURES = Path(os.environ.get("HEADWAY_PICTURES", FOLDER.name))


def write_results(folder):
    """Results whose numbers differ from run to run, layer to layer and order to order."""
    files = [folder / f"{name}.h5" for name in ("codes", "removed", "evaluated")]
    for write, path in zip((write_latents, write_removals, write_evaluation), files):
        write(path)
    with h5py.File(files[0], "a") as file:
        for run in range(4):
            for at, place in enumerate(("layers/0", "layers/1", "all_layers")):
                for name, sign in (("cosine", 1), ("centred_cosine", -1)):
                    cosine = np.eye(3) + sign * 0.1 * (run + 4 * at) * (1 - np.eye(3)) / 2
                    file[f"runs/{run}/{place}/similarity/{name}"][...] = cosine
    with h5py.File(files[1], "a") as file:
        for run in range(4):
            file[f"runs/{run}/network/scores/sensitivity/rising/r2"][...] = 0.8 - (0.05 + 0.02 * run) * np.arange(4)
    return files


@unittest.skipUnless(executable(), "Chromium is not installed (HEADWAY_CHROMIUM may name it)")
class TrainedNetworks(PageTest):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(FOLDER.cleanup)
        files = write_results(Path(FOLDER.name))
        cls.place = headway.write_report(files, Path(FOLDER.name) / "networks.html")
        cls.codes, cls.removed, _ = (headway.read_result(file) for file in files)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def text(self, selector):
        return self.page.run(f"document.querySelector({selector!r}).textContent")

    def texts(self, selector):
        return self.page.run(f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)")

    def numbers(self, selector):
        return np.array([float(text.replace("−", "-")) for text in self.texts(selector)])

    def test_latent_codes_of_every_network_and_layer_are_shown(self):
        told = set()
        for number, run in enumerate(self.codes.runs):
            for place, layer in enumerate(run.every_layer):
                self.choose("network", number)
                self.choose("code-layer", place)
                for kind in ("cosine", "centred_cosine"):
                    self.choose("similarity", kind)
                    np.testing.assert_allclose(self.numbers("#alike td:not(:empty)"), getattr(layer.similarity, kind).ravel(),
                                               atol=0.006)
                told.add(self.text("#coded"))
                self.assertIn(f"{layer.name}, 3 heads; rule: balanced accuracy {score(run.label, run.seed, layer.layer):.3g}",
                              self.text("#coded"))
                self.assertEqual(len(self.texts("#decoders tbody tr")), 2)
                self.assertEqual(self.texts("#code-map .keys li"), list(RULES) if layer.layer else [])
        self.assertEqual(len(told), 12)

    def test_decoded_scores_stand_by_layer(self):
        self.page.run("document.querySelector('#decoding summary').click()")
        self.choose("decoder", "answer")
        rows = self.texts("#decoding tbody tr")
        self.assertEqual(len(rows), 3)
        self.assertIn("0.815 ± 0.005", rows[1])  # hyla's seeds in layer 2
        self.assertIn("answer on held-out tasks", self.text("#decoding caption"))

    def test_codes_lie_where_their_principal_components_are(self):
        self.choose("network", 0)
        self.choose("code-layer", 1)
        codes = self.codes.runs[0].layers[1].codes["held_out"]
        sizes = np.linalg.svd(codes - codes.mean(axis=0), compute_uv=False)
        self.assertIn(f"first component ({100 * sizes[0] ** 2 / (sizes ** 2).sum():.2g} %)", self.text("#code-map svg.chart"))
        self.assertEqual(self.page.run("document.querySelectorAll('#code-map svg.chart circle').length"), len(codes))

    def test_heads_are_removed_in_every_order(self):
        run = self.removed.runs[2]
        for order, curve in (("sensitivity, lowest first", run.network.scores["sensitivity"].rising),
                             ("greedy search on validation", run.network.greedy)):
            self.choose("order", order)
            for count in range(4):
                self.choose("removed", count)
                self.assertIn(f"hyla, seed 1 {curve.accuracy.mean[count]:.3g}", self.text("#removal-told"))
                gone = self.page.run("[...document.querySelectorAll('#removal-columns section')][2]"
                                     ".querySelectorAll('.gone').length")
                self.assertEqual(gone, count)
                self.assertEqual(self.page.run("document.getElementById('removed').getAttribute('aria-valuetext')"),
                                 "1 head" if count == 1 else f"{count} heads")
        [line] = self.texts("#removal-columns section:nth-child(3) li:nth-child(3) span:first-child")
        self.assertEqual(line, "layer 2 head 1 (removed)")
        self.choose("order", "random order")
        self.assertIn("hyla, seed 1 0.1", self.text("#removal-told"))
        self.choose("quality", "loss")
        self.assertIn("unknown", self.text("#removal-told"))

    def test_one_head_alone_can_be_removed(self):
        for quality in ("metric", "loss"):
            for alternative in ("zero", "mean"):
                self.choose("quality", quality)
                self.choose("alternative", alternative)
                found = self.numbers("#removal-columns section:nth-child(2) .value")
                np.testing.assert_allclose(found, self.removed.runs[1].heads.loss_rise.mean, rtol=1e-3)
        self.assertIn("Rise of the loss on held out", self.text("#removal-columns .status"))

    def test_metrics_on_other_data_are_shown(self):
        self.assertEqual(self.texts("#evaluated h3"), ["held out", "validation"])
        for metric, value in (("r2", "0.7"), ("loss", "0.1")):
            self.choose("evaluated-metric", metric)
            self.assertEqual(self.texts("#evaluated .value"), [value, value])
        self.choose("evaluated-metric", "r2")
        self.assertEqual(self.texts("#evaluated tbody tr:first-child td"), ["2", "0.7", "0.1"] * 2)

    def test_figures_and_tables_are_there(self):
        for word in ("Latent decoding", "Latent similarity", "Head removal", "Evaluation"):
            self.assertIn(word, self.texts("figcaption strong"))
        self.assertLessEqual({"Decoders", "Scores of heads", "Variants"}, set(self.texts("table.sortable caption")))
        self.assertNotIn("no figures for results", self.text("main"))

    def test_the_keyboard_reaches_every_control(self):
        wanted = {"network", "code-layer", "similarity", "decoder", "removed", "order", "quality", "alternative",
                  "evaluated-metric"}
        reached = set()
        for _ in range(60):
            self.page.press("Tab")
            reached.add(self.page.run("document.activeElement.id || ''"))
        self.assertLessEqual(wanted, reached)

    def test_a_screen_reader_light_dark_and_a_phone_are_served(self):
        for node in self.page.accessible():
            if node["role"] in ("slider", "combobox", "button", "image", "img", "region", "form", "table", "heading"):
                self.assertTrue(node["name"].strip(), node)
        levels = self.page.run("[...document.querySelectorAll('h1,h2,h3,h4')].map((one) => Number(one.tagName[1]))")
        self.assertEqual([(a, b) for a, b in zip(levels, levels[1:]) if b > a + 1], [])
        for colours in ("light", "dark"):
            self.choose("theme", colours)
            for ratio, text in self.page.run(report_browser_test.CONTRAST):
                self.assertGreaterEqual(ratio, 4.5, f"{colours}: {text}")
            self.page.picture(PICTURES / f"networks-{colours}.png", whole=True)
        self.page.size(360, 740, phone=True)
        self.page.run("window.dispatchEvent(new Event('resize'))")
        self.page.wait(lambda: self.page.run("document.querySelector('#decoding svg').viewBox.baseVal.width") < 360)
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 360)
        self.page.picture(PICTURES / "networks-phone.png", whole=True)


if __name__ == "__main__":
    unittest.main()
