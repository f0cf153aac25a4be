"""The page of results in a browser: every control, the keyboard, a screen reader's view, phone and dark.

Skipped where no Chromium is installed. HEADWAY_PICTURES names a folder for screenshots to look at.
"""

import os
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np
from matplotlib import image

import headway
from browser import Browser, PageTest, executable
from synthetic_results import Task, write_result
from training_result_test import r2_at, write_training_result

SMALL = Task(train=24, test=40, tokens=6, features=10)
DEEP = Task(train=16, test=20, tokens=4, features=8,
            heads=(("same_token",), ("uniform", "random"), ("random",)))  # another number of layers
WIDTHS, TEMPERATURES = (10, 100, 1000), (0.01, 0.1)
FOLDER = tempfile.TemporaryDirectory()
PAGE = Path(FOLDER.name) / "report.html"
PICTURES = Path(os.environ.get("HEADWAY_PICTURES", FOLDER.name))
# Contrast of every visible text with what lies behind it, the worst first.
CONTRAST = """(() => {
  const numbers = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (colour) => { const [r, g, b] = colour.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const behind = (node) => { for (; node; node = node.parentElement) {
    const colour = numbers(getComputedStyle(node).backgroundColor);
    if (colour.length === 3 || colour[3] === 1) return colour; } return [255, 255, 255]; };
  const found = [];
  for (const node of document.querySelectorAll("main *, header *, nav *, footer *")) {
    if (node.closest("svg") || !node.checkVisibility()) continue;
    if (![...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim())) continue;
    const [a, b] = [light(numbers(getComputedStyle(node).color)), light(behind(node))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), node.tagName + " " + node.textContent.trim().slice(0, 30)]);
  }
  return found.sort((a, b) => a[0] - b[0]).slice(0, 3);
})()"""


# Visible charts whose letters do not have the right size, because they were drawn for another width than the chart has. The
# script looks after a frame is painted.
WRONG_SIZES = """new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(
  [...document.querySelectorAll("svg.chart")].filter((one) => one.checkVisibility()).map((one) => [
    one.getAttribute("aria-label").slice(0, 40), one.viewBox.baseVal.width, one.getBoundingClientRect().width])
    .filter(([, drawn, shown]) => Math.abs(drawn - shown) > 1 && drawn > 260)))))"""


def add_errors(path):
    """Monte Carlo errors of accuracy and predictor, as the program writes them."""
    with h5py.File(path, "r+") as file:
        for index, point in enumerate(file["points"].values()):
            point.attrs["accuracy_mcse"] = 0.01
            point["predictor/mcse"] = np.full(point["predictor/mean"].shape, 0.05 + 0.01 * index)


@unittest.skipUnless(executable(), "Chromium is not installed (HEADWAY_CHROMIUM may name it)")
class InTheBrowser(PageTest):
    place = PAGE

    @classmethod
    def setUpClass(cls):
        files = {name: Path(FOLDER.name) / f"{name}.h5" for name in ("solve", "prune", "sample", "train")}
        for kind in ("solve", "prune", "sample"):
            write_result(files[kind], kind, DEEP if kind == "prune" else SMALL, widths=WIDTHS, temperatures=TEMPERATURES,
                         corrections=kind == "solve", study=f"hmm-{kind}")
        add_errors(files["sample"])
        write_training_result(files["train"])
        headway.write_report(list(files.values()), PAGE)
        files["align"] = Path(FOLDER.name) / "align.h5"
        write_result(files["align"], "align", SMALL, widths=WIDTHS, temperatures=TEMPERATURES, study="hmm-solve")
        cls.copies = headway.write_report([files[name] for name in ("solve", "align", "sample")],
                                           Path(FOLDER.name) / "copies.html")
        cls.results = {name: headway.read_result(path) for name, path in files.items()}
        cls.addClassCleanup(FOLDER.cleanup)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def click(self, selector):
        self.page.run(f"document.querySelector({selector!r}).click()")

    def column(self, number):
        return f"document.querySelectorAll('#columns > .column')[{number}]"

    def entries(self, number):
        """The numbers of the table of U."""
        words = self.page.run(f"[...{self.column(number)}.querySelectorAll('.heat td')]"
                              ".map((cell) => cell.textContent).filter((text) => text)")
        return np.array([float(word.replace("−", "-")) for word in words])

    def point(self, name, width, temperature):
        return next(point for point in self.results[name].points
                    if point.widths[0] == width and point.temperature == temperature)

    def test_sliders_move_every_panel(self):
        self.assertEqual(self.page.run("document.getElementById('width-shown').textContent"), "N = 10")
        self.choose("source", "saddle_point")
        seen = {}
        for width in range(3):
            for temperature in range(2):
                self.choose("width", width)
                self.choose("temperature", temperature)
                point = self.point("solve", WIDTHS[width], TEMPERATURES[temperature])
                np.testing.assert_allclose(self.entries(0), point.order_parameters[0].ravel(),
                                           rtol=0.06, atol=0.006)
                deep = self.point("prune", WIDTHS[width], TEMPERATURES[temperature])
                np.testing.assert_allclose(self.entries(1), deep.order_parameters[0].ravel(),
                                           rtol=0.06, atol=0.006)
                text = self.page.run(f"{self.column(0)}.querySelector('dl').textContent")
                self.assertIn(f"{point.accuracy:.4g}", text)
                seen[width, temperature] = self.page.run(
                    f"(() => {{ const one = {self.column(0)}; return [one.querySelector('.scores').textContent,"
                    "one.querySelector('.prediction path').getAttribute('d'), one.querySelector('canvas').toDataURL(),"
                    "document.querySelector('#sweep svg').outerHTML,"
                    "document.getElementById('explored').textContent]; })()")
        for part in zip(*seen.values()):
            self.assertGreater(len(set(part)), 3)  # scores, predictions, kernel, sweep, what is told
        self.assertEqual(len(set(list(zip(*seen.values()))[4])), 6)

    def test_the_keyboard_alone_moves_everything(self):
        self.page.run("document.activeElement.blur()")
        self.page.press("Tab")
        self.assertEqual(self.page.run("document.activeElement.className"), "skip")
        self.assertGreaterEqual(self.page.run("document.activeElement.getBoundingClientRect().left"), 0)
        reached, sliders = set(), {}
        for _ in range(60):
            self.page.press("Tab")
            identity = self.page.run("document.activeElement.id || document.activeElement.name || ''")
            reached.add(identity)
            outline = self.page.run("getComputedStyle(document.activeElement).outlineStyle")
            self.assertNotEqual(outline, "none", identity)
            if identity in ("width", "temperature"):
                self.page.press("End")
                sliders[identity] = self.page.run("document.activeElement.getAttribute('aria-valuetext')")
                self.page.press("ArrowLeft")
            if identity == "measure":
                break
        self.assertEqual(sliders, {"width": "N = 1000", "temperature": "T = 0.1"})
        self.assertLessEqual({"theme", "width", "temperature", "source", "layer", "shown", "measure"},
                             reached)
        self.choose("source", "saddle_point")
        np.testing.assert_allclose(self.entries(0), self.point("solve", 100, 0.01)
                                   .order_parameters[0].ravel(), rtol=0.06, atol=0.006)

    def test_every_source_shows_its_own_numbers_or_says_that_it_has_none(self):
        self.choose("source", "corrected")
        known = self.point("solve", 10, 0.01).corrected
        if known.defined:
            np.testing.assert_allclose(self.entries(0), known.order_parameters[0].ravel(), rtol=0.06,
                                       atol=0.006)
        self.assertIn("is not known at this point; known: theory: saddle point",
                      self.page.run(f"{self.column(1)}.querySelector('.warning').textContent"))
        for part in (".parts", "dl"):  # nothing of another point stays in sight
            self.assertFalse(self.page.run(f"{self.column(1)}.querySelector('{part}').checkVisibility()"))
        self.choose("source", "samples")
        samples = self.point("sample", 10, 0.01).samples
        np.testing.assert_allclose(self.entries(0), samples.mean[0].ravel(), rtol=0.06, atol=0.006)
        self.choose("layer", 2)
        np.testing.assert_allclose(self.entries(0), samples.mean[1].ravel(), rtol=0.06, atol=0.006)
        self.choose("source", "gaussian_process")
        np.testing.assert_array_equal(self.entries(0), np.eye(2).ravel())

    def test_traces_of_every_quantity_are_drawn(self):
        self.choose("source", "samples")
        select = f"{self.column(0)}.querySelector('.traces select')"
        count = self.page.run(f"{select}.options.length")
        self.assertEqual(count, 5)
        lines = set()
        for quantity in range(count):
            self.page.run(f"(() => {{ {select}.value = {quantity};"
                          f"{select}.dispatchEvent(new Event('input', {{bubbles: true}})); }})()")
            paths = self.page.run(f"[...{self.column(0)}.querySelectorAll('.traces svg.chart path')]"
                                  ".map((path) => path.getAttribute('d'))")
            self.assertEqual(len(paths), 4)  # chains
            lines.update(paths)
        self.assertEqual(len(lines), 4 * count)

    def test_results_come_and_go(self):
        visible = "[...document.querySelectorAll('#columns > .column')].map((one) => one.checkVisibility())"
        self.assertEqual(self.page.run(visible), [True, True])
        self.click("[name=shown][value='1']")
        self.assertEqual(self.page.run(visible), [True, False])
        self.assertTrue(self.page.run(f"{self.column(0)}.classList.contains('alone')"))
        self.click("[name=shown][value='0']")
        self.assertEqual(self.page.run(visible), [False] * 2)

    def test_numbers_behind_the_charts_follow(self):
        self.click("#sweep summary")
        rows = "[...document.querySelectorAll('#sweep tbody tr')].map((row) => row.textContent)"
        for measure in ("accuracy", "U_a", "action"):
            self.choose("measure", measure)
            point = self.point("solve", 1000, 0.01)
            value = {"accuracy": point.accuracy, "U_a": point.readout_scalar,
                     "action": point.action}[measure]
            self.assertIn(f"{value:.4g}".rstrip("0"), self.page.run(rows)[-1])

    # ---- theory beside samples, the first thing that is seen

    def cells(self, number, table):
        """Rows of a table of comparison, as texts."""
        return self.page.run(f"[...{self.column(number)}.querySelector('.{table}').querySelectorAll('tr')]"
                             ".map((row) => [...row.cells].map((cell) => cell.textContent))")

    def test_theory_stands_beside_samples_at_first(self):
        self.assertEqual(self.page.run("document.getElementById('source').value"), "beside")
        theory, sampled = self.point("solve", 10, 0.01), self.point("sample", 10, 0.01)
        rows = {row[0]: row[1:] for row in self.cells(0, "numbers")}
        self.assertEqual(rows["quantity"][:3], ["saddle point", "1/N-corrected", "posterior samples (exact) ± standard error"])
        saddle, _, samples, apart, _ = rows["U₁ (1,1) (1,1)"]
        u, mean, error = theory.order_parameters[0][0, 0], sampled.samples.mean[0][0, 0], sampled.samples.mcse[0][0, 0]
        self.assertEqual(saddle, f"{u:.4g}")
        self.assertAlmostEqual(float(samples.split(" ± ")[0]), mean, delta=6e-4 * abs(mean))
        self.assertAlmostEqual(float(samples.split(" ± ")[1]), error, delta=0.06 * error)
        self.assertAlmostEqual(float(apart[:-2].replace("−", "-")), (u - mean) / error, delta=0.06 + 0.01 * abs(u - mean) / error)
        known = {**{name: row[-2] for name, row in rows.items() if name.startswith("U")},
                 "accuracy": rows["test accuracy"][-2]}
        self.assertGreater(len(set(text[-1] for text in known.values())), 1)
        for name, text in known.items():
            limit = 3.18 if name == "accuracy" else 2.0  # 4 chains
            self.assertEqual(text[-1], "✓" if abs(float(text[:-2].replace("−", "-"))) <= limit else "✗", f"{name} {text}")
        caption = self.page.run(f"{self.column(0)}.querySelector('.numbers caption').textContent")
        self.assertIn("✓: at most 2, ✗: more. Of the test accuracy, whose error comes from 4 chains, 3.18.", caption)
        names = [row[0] for row in self.cells(0, "predictor")]
        self.assertIn("predictions at most 3.18 standard errors apart: 95 % if the theory is exact", names)
        agree = sum(text[-1] == "✓" for name, text in known.items() if name.startswith("U₁"))
        self.assertEqual(rows["entries of U₁ that agree"][-2], f"{agree} of 10")

    def test_samples_have_error_bars(self):
        bars = "[...{}.querySelectorAll('svg line.bar')].filter((bar) => bar.getBoundingClientRect().height > 0).length"
        self.assertEqual(self.page.run(bars.format(f"{self.column(0)}.querySelector('.entries')")), 10)
        self.assertGreater(self.page.run(bars.format(f"{self.column(0)}.querySelector('.predictions')")), 30)
        self.assertEqual(self.page.run(bars.format("document.getElementById('sweep')")), 3)  # accuracy at each width
        self.choose("measure", "U_a")
        self.assertEqual(self.page.run(bars.format("document.getElementById('sweep')")), 3)

    def test_no_card_is_empty_and_no_two_are_alike_at_first(self):
        texts = self.page.run("[...document.querySelectorAll('#columns > .column')].filter((one) => one.checkVisibility())"
                              ".map((one) => one.querySelector('.parts').innerText)")
        self.assertGreater(len(texts), 1)
        self.assertEqual(len(texts), len(set(texts)))
        for text in texts:
            self.assertIn("U₁ (1,1", text)

    def test_a_card_without_samples_shows_the_theory_alone(self):
        rows = self.cells(1, "numbers")
        self.assertEqual(rows[0], ["quantity", "saddle point"])
        point = self.point("prune", 10, 0.01)
        self.assertIn(["U_a", f"{point.readout_scalar:.4g}"], rows)

    def test_what_is_compared_follows_the_sliders(self):
        seen = set()
        for width in range(3):
            self.choose("width", width)
            point = self.point("sample", WIDTHS[width], 0.01)
            rows = {row[0]: row[1:] for row in self.cells(0, "numbers")}
            self.assertAlmostEqual(float(rows["U_a"][2].split(" ± ")[0]), float(point.samples.readout_mean), places=3)
            seen.add(str(self.cells(0, "predictor")))
        self.assertEqual(len(seen), 3)

    # ---- sizes

    def test_every_chart_has_its_right_size_when_it_is_first_drawn(self):
        for width in (1280, 1000, 360):
            page = self.browser.open(self.place, (width, 900))
            self.assertEqual(page.run(WRONG_SIZES), [], f"first, {width} pixels")
            for source in ("samples", "corrected", "gaussian_process", "beside", "saddle_point"):
                self.choose("source", source, page)
                self.assertEqual(page.run(WRONG_SIZES), [], f"{source}, {width} pixels")
            for box in (1, 0, 1):
                page.run(f"document.querySelectorAll('[name=shown]')[{box}].click()")
                self.assertEqual(page.run(WRONG_SIZES), [], f"card {box}, {width} pixels")
            page.size(700, 900)
            page.wait(lambda page=page: page.run(WRONG_SIZES) == [])
            self.assertEqual(page.complaints(), [])

    def test_charts_of_one_study_alone_have_it_too(self):
        """Several results of one study, of which not all are shown. How wide a shown one is depends on the others."""
        page = self.browser.open(self.copies, (1280, 900))
        self.assertGreater(page.run("document.querySelectorAll('#columns svg.chart').length"), 0)
        self.assertEqual(page.run(WRONG_SIZES), [])

    def test_every_figure_lies_within_the_page(self):
        for width in (1280, 1000):
            page = self.browser.open(self.place, (width, 900))
            self.assertEqual(page.run("""[...document.querySelectorAll("figure svg[role=img]")].map((one) => {
              const place = one.getBoundingClientRect(), box = one.viewBox.baseVal;
              return [place.width / box.width * box.height - place.height, place.right - one.parentNode.getBoundingClientRect().right];
            }).filter(([taller, beyond]) => Math.abs(taller) > 1 || beyond > 1)"""), [])

    # ---- the rest

    def test_learning_curves_follow_the_controls(self):
        self.click("#curves summary")
        rows = "[...document.querySelectorAll('#curves tbody tr')].map((row) => row.textContent)"
        for split, shift in (("held_out", 0.0), ("unknown_terms", -1.0)):
            self.choose("split", split)
            self.choose("metric", "r2")
            for word in (f"{r2_at(label, 2)[-1] + shift:.4g}" for label in ("softmax", "hyla")):
                self.assertIn(word.replace("-", "−"), self.page.run(rows)[-1])
        path = "document.querySelector('#curves svg.chart path').getAttribute('d')"
        before = self.page.run(path)
        self.click("#logarithmic")
        self.assertNotEqual(self.page.run(path), before)
        self.choose("metric", "loss")
        self.choose("split", "train")

    def test_tables_sort(self):
        table = "[...document.querySelectorAll('table.sortable')].find((one) => one.caption.textContent === 'Points')"
        column = "2"  # accuracy
        cells = f"[...{table}.tBodies[0].rows].map((row) => Number(row.cells[{column}].textContent))"
        button = f"{table}.tHead.rows[0].cells[{column}].querySelector('button')"
        for order, word in ((1, "ascending"), (-1, "descending")):
            self.page.run(f"{button}.focus()")
            self.page.press("Space")
            self.page.wait(lambda word=word: self.page.run(
                f"{button}.parentNode.getAttribute('aria-sort')") == word)
            values = self.page.run(cells)
            self.assertEqual(values, sorted(values, reverse=order < 0))
        self.page.run(f"{table}.tHead.rows[0].cells[0].querySelector('button').click()")
        first = self.page.run(f"[...{table}.tBodies[0].rows].map((row) => row.cells[0].textContent)")
        self.assertEqual(first, ["10", "10", "100", "100", "1000", "1000", "infinite", "infinite"])

    def test_a_screen_reader_is_told_everything(self):
        nodes = self.page.accessible()
        roles = {node["role"] for node in nodes}
        self.assertLessEqual({"main", "navigation", "banner", "contentinfo", "heading", "slider",
                              "combobox", "checkbox", "table", "columnheader", "rowheader", "status",
                              "form", "region"}, roles)
        for node in nodes:
            if node["role"] in ("slider", "combobox", "checkbox", "button", "link", "image", "img",
                                "region", "form", "table", "Canvas", "heading"):
                self.assertTrue(node["name"].strip(), node)
        [told] = [node["name"] for node in nodes if node["role"] in ("image", "img")
                  and node["name"].startswith("Accuracy against width: ")][:1]
        self.assertIn("Gaussian process", told)
        self.choose("source", "gaussian_process")
        kernels = [node["name"] for node in self.page.accessible() if "Mean within +1" in node["name"]]
        self.assertEqual(len(kernels), 2)
        skipped = [(a, b) for a, b in zip(self.levels(), self.levels()[1:]) if b > a + 1]
        self.assertEqual(skipped, [])

    def levels(self):
        return self.page.run("[...document.querySelectorAll('h1,h2,h3,h4')]"
                             ".map((heading) => Number(heading.tagName[1]))")

    def test_both_light_and_dark_can_be_read(self):
        papers = {}
        for system in ("light", "dark"):
            self.page.prefers(system)
            for chosen in ("auto", "light", "dark"):
                self.choose("theme", chosen)
                colours = self.page.run(
                    "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color,"
                    "getComputedStyle(document.querySelector('figure svg path[style*=theory]') || document.body).stroke]")
                papers[system, chosen] = tuple(colours)
                for ratio, text in self.page.run(CONTRAST):
                    self.assertGreaterEqual(ratio, 4.5, f"{system}, {chosen}: {text}")
            self.choose("theme", "auto")
            self.page.picture(PICTURES / f"desktop-{system}.png", whole=True)
        self.assertEqual(papers["dark", "auto"], papers["light", "dark"])
        self.assertEqual(papers["light", "auto"], papers["dark", "light"])
        for light, dark in zip(papers["light", "auto"], papers["light", "dark"]):
            self.assertNotEqual(light, dark)
        shown = image.imread(PICTURES / "desktop-dark.png")[..., :3]
        self.assertLess(np.median(shown), 0.25)

    def test_a_phone_shows_everything(self):
        self.page.size(360, 740, phone=True)
        self.page.run("window.dispatchEvent(new Event('resize'))")
        self.page.wait(lambda: self.page.run("document.querySelector('#sweep svg').viewBox.baseVal.width") < 360)
        self.assertLessEqual(self.page.run("document.documentElement.scrollWidth"), 360)
        small = self.page.run(
            "[...document.querySelectorAll('select, button, summary, input[type=range]')]"
            ".filter((one) => one.checkVisibility() && one.getBoundingClientRect().height < 24)"
            ".map((one) => one.outerHTML.slice(0, 80))")
        self.assertEqual(small, [])
        self.page.picture(PICTURES / "phone.png", whole=True)
        self.choose("source", "saddle_point")
        self.page.run("document.querySelector('#columns canvas').scrollIntoView({behavior: 'instant'})")
        top = self.page.run("document.getElementById('explorer').getBoundingClientRect().top")
        self.assertLess(abs(top), 2)  # the sliders stay in sight of what they move

    def test_without_a_script_the_rest_stands(self):
        self.page.call("Emulation.setScriptExecutionDisabled", value=True)
        self.page.call("Page.reload")
        self.page.call("Emulation.setScriptExecutionDisabled", value=False)
        self.page.wait(lambda: self.page.run("document.readyState") == "complete")
        self.assertGreater(self.page.run("document.querySelectorAll('figure svg').length"), 10)
        self.assertTrue(self.page.run("document.querySelector('noscript') !== null"))


if __name__ == "__main__":
    unittest.main()
