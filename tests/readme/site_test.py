"""The site of the documentation: it is built without a warning or a link that leads nowhere, and faults are noticed.

HEADWAY_DOCS: the folder to build it in, where site_browser_test.py finds it. Without it the site is deleted after the test.
"""

import os
import re
import shutil
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
        folder = os.environ.get("HEADWAY_DOCS")
        if folder is None:
            temporary = tempfile.TemporaryDirectory()
            cls.addClassCleanup(temporary.cleanup)
            folder = temporary.name
        else:
            shutil.rmtree(folder, ignore_errors=True)
        done = subprocess.run(
            [sys.executable, "-B", DOCS / "build_site.py", "--program", os.environ["HEADWAY_PROGRAM"], "--output", folder,
             "--figures", "quick"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode == MISSING:
            raise unittest.SkipTest(done.stdout)
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        cls.site = Path(folder) / "site"

    def text(self, name):
        return (self.site / name).read_text(encoding="utf-8")

    def test_every_part_is_there(self):
        for page, words in {"src/theory/README.html": "saddle point", "reference/commands.html": "--shard i/n",
                            "reference/python.html": "C-contiguous arrays of float64", "notebooks/hidden_markov_study.html": "<img",
                            "cpp/namespaceheadway_1_1theory.html": "solve_saddle_point",
                            "apps/docs/glossary.html": "weighted score",
                            "README.html": "learns which paths to use", "apps/docs/questions.html": "Is the theory right in my case?",
                            "gallery.html": "python3 -m headway plot solve.h5 --only accuracy_against_width"}.items():
            self.assertIn(words, self.text(page), page)
        self.assertTrue((self.site / "_images/accuracy_against_width.svg").exists())

    def test_cpp_reference_shows_what_users_call(self):
        headers = {path.stem for path in DOCS.parents[1].glob("include/headway/*.hpp")}
        pages = {path.name.partition("_8hpp")[0].replace("__", "_") for path in (self.site / "cpp").glob("*_8hpp*.html")}
        self.assertEqual(pages, headers)

    def test_every_document_has_a_page(self):
        for document in [*DOCS.glob("tutorial/*.md"), *DOCS.glob("*.md"), *DOCS.parents[1].glob("data/results/*.md")]:
            self.assertTrue((self.site / document.relative_to(DOCS.parents[1]).with_suffix(".html")).exists(), document)

    def test_numbered_equations_keep_their_numbers(self):
        for document in (DOCS.parents[1] / "src/theory").glob("*.md"):
            page = self.text(f"src/theory/{document.stem}.html")
            for number in re.findall(r"\\tag\{(\d+)\}", document.read_text(encoding="utf-8")):
                self.assertIn(f'id="eq-{number}"', page)
                self.assertIn(rf"\tag{{{number}}}", page)

    def test_sections_of_docstrings_are_lists(self):
        self.assertRegex(self.text("reference/python.html"), r"(?s)>Parameters<.*>Returns<.*>Raises<.*>Examples<")

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

    def test_sections_stay_and_their_texts_are_converted(self):
        text = ["Adds *a*.", "", "Parameters", "----------", "x_ : array_like of shape (P, N_0), optional", "    One `x_`.", "    Two.",
                "y : {'a_', 'b'}", "    Three:", "", "    - four", "C : int", "    C.", "", "Examples", "--------", ">>> add(1, 2_0)", "[*3*]"]
        self.assertEqual([line for line in docstrings.converted(text) if line], [
            r"Adds \*a\*.", "Parameters", "----------", r"x_ : array\_like of shape (P, N\_0), optional", "    One ``x_``.", "    Two.",
            r"y : {'a\_', 'b'}", "    Three:", "    - four", "C : int", r"    \C.", "Examples", "--------", ">>> add(1, 2_0)", "[*3*]"])

    def test_a_heading_of_another_kind_is_text(self):
        self.assertEqual(docstrings.sections(["A", "Parameters", "of it"]), [("", ["A", "Parameters", "of it"])])


if __name__ == "__main__":
    unittest.main()
