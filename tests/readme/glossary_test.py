"""The glossary has a line for every column of the tables that the program and Python print, and for no other.

Columns are read from the sources, where tables are made, so that those of rare tables are found as well. The output of short
studies is read too, to see that reading the sources finds its headers.

A name in the glossary may have words in capitals that stand for others: `SET MSE`, `SPLIT METRIC`.
"""

import ast
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GLOSSARY = ROOT / "apps/docs/glossary.md"
STRING = r'"((?:[^"\\]|\\.)*)"'
# Where a table or a part of its header begins: Table rows({...}), header({...}), header = {...}, header.push_back(...).
HEADER = re.compile(r"\bTable(?: \w+)?(?=\()|\bheader(?=\()|\bheader =\s*(?=\{)|\bheader\.(?:push_back|emplace_back|insert)(?=\()")
WORDS = ("Theory", "Value networks", "Heads", "Samples", "Training", "Studies and files")  # sections of the glossary that are of no table
# Records whose fields are the columns of a table in files, and of arrays in Python.
RECORDS = {"Iteration": "include/headway/results/theory_fields.hpp", "TrainRecord": "include/headway/results/training_records.hpp"}


def enclosed(text, at):
    """What stands between the bracket at `at` and its own end."""
    depth = 0
    for end in range(at, len(text)):
        depth += text[end] in "({["
        depth -= text[end] in ")}]"
        if depth == 0:
            return text[at + 1:end]
    raise AssertionError(f"no end of {text[at:at + 40]!r}")


def strings_of(code):
    """The strings in code, without formats and marks of a column's alignment ("<")."""
    return [text.rstrip("<") for text in re.findall(STRING, code) if not re.search(r"\{.*\}", text)]


def printed_columns(root=ROOT):
    """{name: file} of the tables of the program. A string that begins with a space follows words that are made at run time."""
    found = {}
    for path in sorted([*(root / "apps/cli").glob("*.[ch]pp"), *(root / "src/jobs").rglob("*.[ch]pp")]):  # plans are of jobs
        text = path.read_text(encoding="utf-8")
        parts = [enclosed(text, match.end()) for match in HEADER.finditer(text)]
        parts += re.findall(r"\bname\(\) const \{ return ([^;]*);", text)  # of the measure, accuracy or squared error
        found |= {"*" * name.startswith(" ") + name: path.name for part in parts for name in strings_of(part) if name.strip()}
    return found


def inspected_columns(root=ROOT):
    """{name: file} of the tables of `headway inspect`."""
    path = root / "src/io/result_file/describe.cpp"
    text = path.read_text(encoding="utf-8")
    listings = re.search(r"kPoints =(.*?);\s*constexpr Listing kListings\[\] = \{(.*?)\};", text, re.DOTALL)
    columns = ["".join(re.findall(STRING, listings[1])), *(texts[-1] for texts in (re.findall(STRING, row) for row in re.findall(r"\{(.*?)\}", listings[2], re.DOTALL))
                              if len(texts) == 2)]
    return {name: path.name for names in columns for name in names.rstrip("?").replace("? ", " ").split()}


def spelled(node):
    """The texts that an expression of Python may be. Parts that are made at run time are "*"."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        return spelled(node.body) + spelled(node.orelse)
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "*" for part in node.values)]
    return []


def python_columns(root=ROOT):
    """{name: file} of the tables of Python: those of table.py, and HeadTable."""
    found = {}
    path = root / "apps/python/headway/results/table.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        lists = []
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "header" or isinstance(node, ast.Return):
            value = node.value.elts[0] if isinstance(node.value, ast.Tuple) else node.value
            lists = value.elts if isinstance(value, ast.List) else [value] if isinstance(value, ast.IfExp) else []
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and isinstance(node.elts[1], (ast.Lambda, ast.Call, ast.Name)):
            lists = [node.elts[0]]
        found |= {name: path.name for element in lists for name in spelled(element) if name not in ("", "-", "*")}
    for path in sorted((root / "apps/python/headway").glob("*/*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "head_table":
                found |= {key.value: path.name for one in node.args if isinstance(one, ast.Dict) for key in one.keys}
    found |= ranking_columns(root / "apps/python/headway/results/ranking")
    fields = (root / "src/io/README.md").read_text(encoding="utf-8").partition("\n`points/<i>/pruning`:\n")[2].partition("\n\n`")[0]
    return found | {name: "io/README.md" for name in re.findall(r"^\| `(\w+)` \(array\)", fields, re.MULTILINE)}


def ranking_columns(folder):
    """{name: file} of rankings of heads: names in tuples, and names that are made of what was removed and how."""
    found = {"removal_*_*": "measured.py", "frozen_cut_*": "measured.py", "expected_*_*": "measured.py"}
    for name, constant in (("table.py", "ESTIMATE"), ("measured.py", "AMONG"), ("measured.py", "CUTS")):
        for node in ast.parse((folder / name).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == constant:
                found |= {one.value: name for one in node.value.elts}
    return found


def record_columns(root=ROOT):
    """{name: file} of tables in result files that Python gives as arrays with names: history, curves."""
    found = {}
    for record, name in RECORDS.items():
        text = (root / name).read_text(encoding="utf-8")
        at = re.search(rf"RecordOf<(?:\w+::)*{record}> Record>\s*void fields\([^)]*\) (?=\{{)", text)
        found |= {field: name for field in re.findall(r"\bvisit\(" + STRING, enclosed(text, at.end()))}
    return found


def glossary(text):
    """[(section, name, meaning)] of the lines of its tables."""
    lines, section = [], ""
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        names, bar, meaning = line.strip("| ").partition(" | ")
        if line.startswith("| ") and bar and not names.startswith("-"):
            lines += [(section, name, meaning) for name in re.findall(r"(?:`|\*\*)([^`*]+)(?:`|\*\*)", names)]
    return lines


def canonical(name):
    """A name with "*" for its words in capitals, which stand for others."""
    return re.sub(r"\b(?!MSE\b|ESS\b|BFMI\b)[A-Z]{3,}\b", "*", name)


def fits(column, name):
    """Whether a line of this name describes this column. "*" in the column is made at run time."""
    return re.fullmatch(re.escape(column).replace(r"\*", ".+"), canonical(name)) is not None


def without_a_line(columns, names):
    return [f"{column!r} ({file})" for column, file in columns.items() if not any(fits(column, name) for name in names)]


class TheGlossary(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lines = glossary(GLOSSARY.read_text(encoding="utf-8"))
        cls.names = {name for _, name, _ in cls.lines}
        cls.columns = printed_columns() | inspected_columns() | python_columns() | record_columns()

    def test_every_column_has_a_line(self):
        self.assertGreater(len(self.columns), 100)
        self.assertEqual(without_a_line(self.columns, self.names), [])

    def test_every_line_is_of_a_column(self):
        names = {name for section, name, _ in self.lines if section not in WORDS and canonical(name).strip("* ")}
        self.assertGreater(len(names), 100)
        self.assertEqual([name for name in sorted(names) if not any(fits(column, name) for column in self.columns)], [])

    def test_a_name_has_one_line_a_section(self):
        seen = [(section, name) for section, name, _ in self.lines]
        self.assertEqual([one for one in seen if seen.count(one) > 1], [])

    def test_every_line_says_something(self):
        self.assertEqual([name for _, name, meaning in self.lines if len(meaning) < 8], [])

    def test_a_new_column_is_noticed(self):
        self.assertEqual(len(without_a_line({"of a new kind": "x.cpp", "widths": "x.cpp", "* of a new kind": "x.cpp"}, self.names)), 2)

    def test_words_are_there(self):
        words = {name.lower() for section, name, _ in self.lines if section in WORDS}
        for word in ("path", "order parameter", "U_1", "load", "score", "weighted score", "cut", "Gaussian process", "evidence"):
            self.assertIn(word.lower(), words)


class WhatIsPrinted(unittest.TestCase):
    """Tables begin with a line of names, two blanks or more between them."""

    COMMANDS = ("solve", "align", "prune")

    def test_headers_are_in_the_glossary(self):
        names = {name for _, name, _ in glossary(GLOSSARY.read_text(encoding="utf-8"))}
        first = {"widths", "layer", "score"}
        with tempfile.TemporaryDirectory() as folder:
            for verb in self.COMMANDS:
                done = subprocess.run([os.environ["HEADWAY_PROGRAM"], verb, "hmm-four-paths", "--set", "model.widths=[10]", "--set",
                                       "model.temperature=[0.01,0.1]", "-q"], cwd=folder, text=True, stdout=subprocess.PIPE, check=True)
                lines = [re.split(r" {2,}", line.strip()) for line in done.stdout.splitlines()]
                headers = [cells for cells in lines if cells[0] in first and len(cells) > 2]
                self.assertTrue(headers, done.stdout)
                columns = {cell: verb for cells in headers for cell in cells}
                self.assertEqual(without_a_line(columns, names), [])


if __name__ == "__main__":
    unittest.main()
