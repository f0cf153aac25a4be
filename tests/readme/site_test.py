"""The site of the documentation: it is built without a warning or a link that leads nowhere, and faults are noticed."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "apps/docs"
sys.path.insert(0, str(DOCS))
import check_links  # noqa: E402
import docstrings  # noqa: E402

MISSING = 77  # exit code of build_site.py


class TheSite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        done = subprocess.run(
            [sys.executable, "-B", DOCS / "build_site.py", "--program", os.environ["HEADWAY_PROGRAM"], "--output", folder.name,
             "--figures", "quick"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode == MISSING:
            raise unittest.SkipTest(done.stdout)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        cls.site = Path(folder.name) / "site"

    def text(self, name):
        return (self.site / name).read_text(encoding="utf-8")

    def test_every_part_is_there(self):
        for page, words in {"src/theory/README.html": "saddle point", "reference/commands.html": "--shard i/n",
                            "reference/python.html": "C-contiguous arrays of float64", "notebooks/hidden_markov_study.html": "<img",
                            "cpp/namespaceheadway_1_1theory.html": "solve_saddle_point",
                            "gallery.html": "python3 -m headway plot solve.h5 --only accuracy_against_width"}.items():
            self.assertIn(words, self.text(page), page)
        self.assertTrue((self.site / "_images/accuracy_against_width.svg").exists())

    def test_a_link_that_leads_nowhere_is_noticed(self):
        page = self.site / "gallery.html"
        kept = page.read_text(encoding="utf-8")
        self.addCleanup(page.write_text, kept, encoding="utf-8")
        page.write_text(kept + '<a href="gone.html">a</a><a href="README.html#gone">b</a><img src="gone.png">', encoding="utf-8")
        self.assertEqual(len(check_links.faults_of(self.site)[0]), 3)


class Docstrings(unittest.TestCase):
    def test_layout_is_kept_and_nothing_is_markup(self):
        text = ["Takes xi_ and *args of `a", "b_c`.", "    x = y  # kept_", "- one", "  thing", "", "Ends."]
        self.assertEqual(docstrings.restructured(text), [
            "Takes xi\\_ and \\*args of ``a b_c``.", "", "::", "", "      x = y  # kept_", "", "- one", "  thing", "",
            "Ends.", ""])


if __name__ == "__main__":
    unittest.main()
