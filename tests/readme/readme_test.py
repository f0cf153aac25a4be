"""Runs the blocks of every document that has ```console blocks (documents.py says how), except the tutorials.

With --update the shown output is replaced by what is printed now (HEADWAY_PROGRAM=... HEADWAY_ROOT=... as in ctest), in all
these documents and the tutorials, or in the documents that are named. Lines that `...` stood for have to be left out again by
hand.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from documents import BLOCK, MACHINE, PROGRAM, ROOT, TUTORIAL, DocumentTest, Runner, blocks, commands, differences, documents

MOST_LINES = 150


def updated(text):
    with tempfile.TemporaryDirectory() as directory, Runner(directory) as runner:
        def rerun(match):
            whole, (_, kind, body, shown) = match.group(0), match.groups()
            if kind == "python":
                printed = runner.python(body)
                return whole.replace(shown, printed) if shown else whole
            lines = []
            for line in body.splitlines():
                if line.startswith("$ ") or (lines and lines[-1].endswith("\\")):
                    lines.append(line)
            out = []
            for line in lines:
                out.append(line)
                if not line.endswith("\\"):
                    start = max(k for k in range(len(out)) if out[k].startswith("$ "))
                    (words, _), = commands("\n".join(out[start:]))
                    out += [*runner.console(words).rstrip().splitlines(), ""]
            return whole.replace(body, "\n".join(out[:-1]) + "\n")

        return BLOCK.sub(rerun, text)


class DocumentsTest(DocumentTest):
    def test_blocks_do_what_is_shown(self):
        count = {}
        for document in documents():
            if document.parent == TUTORIAL:
                continue
            with self.subTest(document=str(document.relative_to(ROOT))), tempfile.TemporaryDirectory() as folder:
                text = document.read_text()
                if document == ROOT / "README.md":  # its last example is run with the tutorials on PyTorch
                    text = text.partition("```python\nranking = headway.rank_heads(")[0].removesuffix(f"{MACHINE}\n")
                count[document] = self.run_document(text, folder)
        self.assertIn(ROOT / "README.md", documents())
        self.assertGreaterEqual(count.get(ROOT / "README.md", 4), 4)  # absent where the machine lacks something

    def test_a_wrong_number_is_noticed(self):
        printed = "N accuracy seconds\n10 0.951 0.12\n\n30 0.945 0.34\n"
        self.assertEqual(differences(["N accuracy seconds", "10 0.951 9.9", "..."], printed), [])
        self.assertEqual(differences(["10 0.961 0.12"], printed), ["10 0.961 0.12"])
        self.assertEqual(differences(["30 0.945 0.34", "10 0.951 0.12"], printed), ["10 0.951 0.12"])

    def test_where_machines_differ_words_and_columns_still_count(self):
        printed = "layer  head  change\n    1     4  -10.1+-0.5\nL6H4 nan\n"
        self.assertEqual(differences(["layer head change", "1 4 +0.2+-0.01", "L6H4 0.1"], printed, any_number=True), [])
        for line in ("layer head r2", "1 4 0.2", "1 4 x+-0.5", "L6H5 0.1", "1 4 0.1+-0.2 3"):
            self.assertEqual(differences([line], printed, any_number=True), [line])

    def test_blocks_and_commands_are_found(self):
        text = (f"```python\na = 1\n```\n\n```text\n1\n```\n{MACHINE}\n```console\n$ headway solve a \\\n    --set 'b=[\"c\"]'\n"
                "x 1\n$ headway -h\n```\n```console\n$ headway\n```\n")
        one, two, three = blocks(text)
        self.assertEqual((one.kind, one.shown, one.any_number), ("python", "1\n", False))
        self.assertEqual(commands(two.text), [(["headway", "solve", "a", "--set", 'b=["c"]'], ["x 1"]), (["headway", "-h"], [])])
        self.assertEqual((two.any_number, three.any_number), (True, False))


def solved(widths, study="hmm-four-paths"):
    """Points of a study, and last its Gaussian process."""
    done = subprocess.run([PROGRAM, "solve", study, "--set", f"model.widths={widths}", "--json"], text=True,
                          capture_output=True, check=True)
    result = json.loads(done.stdout)
    return [*result["points"], result["gaussian_process"][0]]


def pruned(*settings):
    """The heads of the first study."""
    done = subprocess.run([PROGRAM, "prune", "hmm-four-paths", *(word for setting in settings for word in ("--set", setting)), "--json"], text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)["points"][0]["heads"]


class ReadmeTest(unittest.TestCase):
    def test_it_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), MOST_LINES)

    def test_its_numbers_are_those_of_solve_and_of_the_results(self):
        point, process = solved([10])
        self.assertLess(process["accuracy"], point["accuracy"] - 0.05)
        row = next(row for row in json.loads((ROOT / "data/results/where-the-theory-ends.json").read_text())["results"][0]["rows"] if row["width"] == 10)
        self.assertIn(f"Its whole matrix $U_1$ is {100 * row['U_1_saddle']:.2g} % off in norm, and {100 * row['U_1_corrected']:.2g} % [with",
                      (ROOT / "README.md").read_text())
        text = " ".join((ROOT / "README.md").read_text().split())
        hidden = (ROOT / "data/results/hidden-markov.md").read_text()
        ends = re.search(r"predicts an accuracy of ([\d. +-]+), that of the infinitely wide network ([\d. +-]+)\.\*\*", " ".join(hidden.split()))
        two_paths = re.search(r"^\| good and denoising \| here.*\| ([\d. +-]+) \|$", hidden, re.MULTILINE)[1]
        self.assertIn(f"The accuracy is {ends[2]} at infinite width and {ends[1]} with N = 10 neurons a layer (theory; mean and standard error over eight data "
                      f"sets). Given the two useful paths alone, the infinite network has {two_paths}.", text)
        (means,) = re.search(r"(\d+ means, at most [\d.]+ standard errors apart)", (ROOT / "data/results/README.md").read_text()).groups()
        self.assertIn(means, text)

    def test_its_table_of_removals_is_that_of_prune(self):
        """Draws are of some machine, so they are compared within their errors."""
        point, process = solved([10])
        wide, saddle, exact = (pruned(*settings) for settings in (("model.widths=[1000000000]", "solve.corrections=off"),
                                                                  ("model.widths=[10]", "solve.corrections=off"), ("model.widths=[10]",)))
        text = (ROOT / "README.md").read_text()
        rows = [[float(cell) for cell in row.split("|")[2:-1]] for row in re.findall(r"^\| (?:Gaussian|N = 10|ridge).*$", text, re.MULTILINE)]
        self.assertEqual(len(rows), 4)
        for row, heads, field, allowed in zip(rows, (wide, saddle, exact, exact), 3 * ["squared_error_rise"] + ["squared_error_rise_without_theory"],
                                              (0.0051, 0.0051, 0.02, 0.0051), strict=True):
            for shown, head in zip(row, heads, strict=True):
                self.assertLessEqual(abs(shown - head[field]), allowed, (row, head))
        for cell, head in zip(re.search(r"^\| `hmm-four-paths` \|(.*)\|$", text, re.MULTILINE)[1].split("|"), wide, strict=True):
            self.assertEqual(cell.strip(), f"layer {head['layer']}, {head['name']}")
        ends = [f"{start['test_mean_squared_error'] + rise:.2f}" for start, heads in ((process, wide), (point, saddle)) for rise in (0, heads[3]["squared_error_rise"])]
        self.assertIn(f"The squared test error is {ends[0]} in the Gaussian process and {ends[2]} at N = 10.", text)
        self.assertIn(f"error of the Gaussian process falls to {ends[1]}. N = 10 gains nothing:", " ".join(text.split()))
        self.assertEqual(ends[2], ends[3])

    def test_its_limits_are_those_of_the_random_problems(self):
        page, text = (" ".join((ROOT / name).read_text().split()) for name in ("data/results/validity.md", "README.md"))
        low, middle, high = (re.search(rf"\| {loads} \| \d+ \| [\d.]+ %, ([\d.]+) % \| [\d.]+ %, ([\d.]+) %", page)
                             for loads in (r"0\.03 to 0\.1", r"0\.1 to 0\.3", r"0\.3 to 1"))
        self.assertIn(f"nine of ten have $U_1$ within {low[1]} % at loads up to 0.1, {middle[1]} % up to 0.3, and {high[1]} % up to 1. With the "
                      f"1/N correction the last is {high[2]} %.", text)

    def test_the_lecture_notes_read_the_first_picture_right(self):
        text = " ".join((ROOT / "src/theory/README.md").read_text().split())
        narrow, wide, _ = solved([10, 1000])
        gain = 1000 * (wide["U_a"] - 1)
        factor = wide["U_a"] * (1 + gain / 2000) * (1 + gain / 4000)
        self.assertIn(f"gain less cost is {gain:.0f} at $N = 1000$", text)
        self.assertIn(f"of about $(1 + 0.121 / d_3)(1 + 0.121 / d_2)(1 + 0.121 / d_1) = {factor:.2f}$", text)
        self.assertAlmostEqual(sum(wide["U"][0][path][path] for path in range(4)) / 4, factor, delta=0.005)
        self.assertIn(f"the entry {narrow['U'][0][0][0]:.1f} of path (1,1) has a deviation of {narrow['corrected']['U_sd'][0][0][0]:.1f}", text)
        alone = solved([10], "hmm-good-path-only")[0]
        self.assertIn(f"There $U_1$ is one number, {alone['U'][0][0][0]:.0f} at $N = 10$ on these data.", text)

    def test_the_comment_on_own_arrays_is_what_they_give(self):
        block = next(block.text for block in blocks((ROOT / "README.md").read_text()) if "import numpy as np\n" in block.text)
        with tempfile.TemporaryDirectory() as folder, Runner(folder) as runner:
            self.assertEqual(runner.python(block).split("\n")[:-1], re.findall(r"# (\[.*\]): [^:]*$", block, re.MULTILINE))

    def test_errors_on_pairs_never_seen_are_those_of_the_results(self):
        page = (ROOT / "data/results/compositions.md").read_text()
        _, process, _, theory, _, trained = re.search(r"^\| 240 \|.*$", page, re.MULTILINE)[0].strip("| ").split(" | ")
        process, trained, theory = (cell.split(",")[0] for cell in (process, trained, theory))
        self.assertIn(f"Over ten seeds of 240 examples the error on pairs never seen is {process} at infinite width, {theory} with twenty units (theory), and "
                      f"{trained} in [trained networks](data/results/compositions.md), of other widths about as much.",
                      " ".join((ROOT / "README.md").read_text().split()))

    def test_the_table_of_results_is_what_solve_says(self):
        """Samples take long, so their columns are compared with the recorded ones elsewhere."""
        text = (ROOT / "data/results/README.md").read_text()
        table = text.partition("<!-- table: theory-against-exact -->\n")[2].partition("<!-- end -->")[0]
        rows = [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]
        self.assertGreaterEqual(len(rows), 6)
        *points, process = solved([int(row[0]) for row in rows])
        self.assertIn(f"infinite width has {process['accuracy']:.3f}.", text)
        for row, point in zip(rows, points, strict=True):
            paths = len(point["U"][0])
            self.assertEqual(row[1], f"{(paths + 1) / point['widths'][0]:.3g}")
            self.assertLessEqual(abs(float(row[-2]) - point["accuracy"]), 0.00051, row)


@unittest.skipUnless(shutil.which("make"), "make is not there")
class DemoTest(unittest.TestCase):
    def test_it_runs_twice_and_the_readme_names_what_it_writes(self):
        """The build and the samples take long, and are left out."""
        with tempfile.TemporaryDirectory() as folder:
            demo = ["make", "--no-print-directory", "-o", "build", "demo", f"HEADWAY={PROGRAM}", f"PYTHON={sys.executable}",
                    f"RESULTS={folder}/results", "SAMPLES=off"]
            for _ in range(2):
                done = subprocess.run(demo, cwd=ROOT, text=True, capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("\n  1000  0.01    0.8780  0.8720 ", done.stdout)
            figures = pathlib.Path(folder) / "results" / "hmm-four-paths-figures"
            of_samples = {"theory_against_samples.png", "traces.png", "where_the_theory_ends.png"}
            self.assertEqual(len({path.name for path in figures.iterdir()} | of_samples), 11)
        readme = (ROOT / "README.md").read_text()
        self.assertIn("eleven figures in `results/hmm-four-paths-figures/`", " ".join(readme.split()))


if __name__ == "__main__":
    if "--update" in sys.argv:
        named = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
        for shown in named or documents():
            shown.write_text(updated(shown.read_text()))
    else:
        unittest.main()
