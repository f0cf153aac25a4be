"""The live page in a browser, at the width of a desktop and of a phone: it has the digits of the program, follows sliders and
keys, logs no error, loads nothing, and fits.

HEADWAY_PROGRAM: the program. HEADWAY_LIVE: the folder to build the page in. What was compiled there before is kept.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import unittest
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/python"), str(ROOT / "apps/python"), str(ROOT / "apps/live")]
import live_page  # noqa: E402
import headway  # noqa: E402
from browser import Browser, executable  # noqa: E402

STUDY = ROOT / "data/studies/hmm-four-paths.toml"
DESKTOP, PHONE = (1280, 900), (390, 844)
SECONDS = 500.0  # that a page may take on a machine that is busy
DIGITS = 1e-9
MOST_BYTES = 5e6


@unittest.skipIf(live_page.missing(), "emscripten is missing: apps/setup/dependencies.sh with DOCS=on installs it")
@unittest.skipIf(executable() is None, "no browser: HEADWAY_CHROMIUM, chromium or google-chrome")
class LivePage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = Path(os.environ["HEADWAY_LIVE"]).resolve()
        subprocess.run([sys.executable, "-B", ROOT / "apps/live/live_page.py", "--output", folder / "page", "--work", folder / "work"],
                       check=True)
        cls.place = folder / "page/index.html"
        cls.browser = cls.enterClassContext(Browser())
        cls.page = cls.browser.open(cls.place, DESKTOP)
        cls.wait_until("curve.length === CURVE_POINTS")

    @classmethod
    def wait_until(cls, condition):
        end = time.monotonic() + SECONDS
        while not cls.page.run(condition):
            if time.monotonic() > end:
                raise AssertionError(f"never: {condition}; {cls.page.run('document.body.innerText')}; {cls.page.complaints()}")
            time.sleep(0.1)

    def setUp(self):
        self.page.size(*DESKTOP)
        self.page.run("document.querySelector('button[data-set=\"{}\"]').click()")
        self.settle()

    def tearDown(self):
        self.assertEqual(self.page.complaints(), [])
        self.assertEqual(self.page.requests(), [])

    def settle(self):
        self.wait_until("document.body.dataset.shown === JSON.stringify(wish)")

    def shown(self):
        return self.page.run("document.getElementById('pictures').innerText")

    def solved(self, **change):
        """A point of the page."""
        return self.page.run(f"core.solve({{...START, ...{json.dumps(change)}}})")

    def program(self, study, *options):
        """The first point of `headway solve`, and its Gaussian process."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.h5"
            subprocess.run([os.environ["HEADWAY_PROGRAM"], "solve", study, "-o", path, "--quiet", *options], check=True, stdout=subprocess.DEVNULL)
            result = headway.read_result(path)
            return result.points[0], result.gaussian_process[0]

    def compare(self, page, point, limit):
        for name, expected in (("accuracy", point.accuracy), ("error", point.test_mean_squared_error), ("action", point.action),
                               ("readout", float(point.readout_order_parameter)), ("gaussianAccuracy", limit.accuracy),
                               ("gaussianError", limit.test_mean_squared_error)):
            self.assertAlmostEqual(page[name] / expected, 1.0, delta=DIGITS, msg=name)
        u = point.order_parameters[0]
        np.testing.assert_allclose(np.reshape(page["u"], u.shape), u, rtol=0, atol=DIGITS * np.abs(u).max())

    def test_digits_are_those_of_the_program(self):
        tight = ("--set", "solve.gradient_tolerance=1e-12")
        for width, temperature, train in ((10, 0.01, 100), (1000, 0.01, 100), (3, 0.5, 40), (100, 0.002, 61)):
            with self.subTest(width=width, temperature=temperature, train=train):
                point, limit = self.program(STUDY, *tight, "--set", f"model.widths=[{width}]", "--set",
                                            f"model.temperature={temperature}", "--set", f"task.train_examples={train}")
                self.compare(self.solved(width=width, temperature=temperature, train=train), point, limit)

    def test_a_head_that_is_off_is_a_network_without_it(self):
        task = tomllib.loads(STUDY.read_text(encoding="utf-8"))["task"]
        train, inputs = 100, task["features"] + task["tokens"] + 1
        features = np.array(self.page.run(f"core.features({train}, {4 * inputs})")).reshape(-1, 4, inputs)
        labels = np.where(np.arange(train) < train // 2, 1.0, -1.0)
        tests = features.shape[0] - train
        test_labels = np.where(np.arange(tests) < tests // 2, 1.0, -1.0)
        for bits, paths, heads in ((0b0111, [0, 2], [2, 1]), (0b1110, [2, 3], [1, 2]), (0b1001, [1], [1, 1])):
            with self.subTest(bits=bits), tempfile.TemporaryDirectory() as folder:
                data = headway.write_dataset(
                    Path(folder) / "some.h5", train_path_features=features[:train, paths], train_labels=labels,
                    test_path_features=features[train:, paths], test_labels=test_labels, heads=heads)
                point, limit = self.program(data, "--set", "model.widths=[20]", "--set", "model.temperature=0.01",
                                            "--set", "solve.gradient_tolerance=1e-12")
                self.compare(self.solved(width=20, heads=bits), point, limit)

    def test_keys_move_sliders_and_pictures_follow(self):
        for name in ("width", "temperature", "train"):
            before, value = self.shown(), self.page.run(f"wish.{name}")
            self.page.run(f"document.getElementById('{name}').focus()")
            for _ in range(4):
                self.page.press("ArrowLeft")
            self.settle()
            self.assertLess(self.page.run(f"wish.{name}"), value)
            self.assertNotEqual(self.shown(), before, name)

    def test_a_head_is_a_switch_and_a_layer_keeps_one(self):
        self.page.run("document.getElementById('head-2-2').focus()")
        self.page.press("Space")
        self.settle()
        self.assertEqual(self.page.run("wish.heads"), 0b0111)
        self.assertEqual(self.page.run("document.querySelectorAll('#u rect').length"), 4)
        self.page.run("document.getElementById('head-2-1').focus()")
        self.page.press("Space")
        self.assertEqual(self.page.run("wish.heads"), 0b0111)
        self.assertTrue(self.page.run("document.getElementById('head-2-1').checked"))
        self.assertIn("at least one head", self.page.run("document.body.innerText"))

    def test_controls_have_names(self):
        names = {node["role"]: [] for node in self.page.accessible()}
        for node in self.page.accessible():
            names[node["role"]].append(node["name"])
        self.assertEqual(len(names["slider"]), 3)
        self.assertEqual(len(names["switch"]), 4)
        self.assertTrue(all(names["slider"] + names["switch"] + names["button"]))

    def test_it_fits_a_desktop_and_a_phone(self):
        self.assertLess(self.place.stat().st_size, MOST_BYTES)
        for size in (DESKTOP, PHONE):
            self.page.size(*size, phone=size == PHONE)
            self.page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")
            self.assertLessEqual(self.page.run("document.scrollingElement.scrollWidth"), size[0])
            cut = self.page.run("""[...document.querySelectorAll("svg text")].filter((text) => {
              const box = text.getBoundingClientRect(), room = text.closest("svg").getBoundingClientRect();
              return box.left < room.left - 1 || box.right > room.right + 1 || box.bottom > room.bottom + 1; })
              .map((text) => text.textContent)""")
            self.assertEqual(cut, [])


class WithoutACompiler(unittest.TestCase):
    def test_the_page_is_left_out_with_a_message(self):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", ROOT / "apps/live/live_page.py", "--output", folder], env=os.environ | {"PATH": folder},
                                  text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, 77)
        self.assertIn("emscripten missing", done.stdout)


if __name__ == "__main__":
    unittest.main()
