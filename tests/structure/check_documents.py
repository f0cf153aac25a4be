"""Follows what documents and comments refer to, one test a kind of reference (run by ctest as unit.documents).

    python3 check_documents.py [--root DIR]      DIR: the tree to read, by default the one this file is in

In Markdown and in the text cells of notebooks: links with their anchors, names of files in `code`. In documents and
comments: equations ("eq. 12", "eqs. 3 and 4", "eqs. 5 to 7"), sections (README.md, "Title"), keys of papers ([T24]).
An equation stands between two lines `$$` and has its number in \\tag{12}. The pages of src/theory share one count, in any
order. A comment, or a document without equations, that names no document cites one of these pages. Mathematics must
survive GitHub, which reads it as Markdown first.
`RulesCatchViolations` shows that each rule notices a made-up reference.
"""

import json
import pathlib
import posixpath
import re
import unittest

from trees import ROOT, MadeTree, RealTree, files_of, root_asked_for

MAX_README_LINES = 170
THEORY = "src/theory/"  # the folder whose pages share one count of equations

COMMENTED = {".cpp": "//", ".hpp": "//", ".cu": "//", ".js": "//", ".py": "#", ".txt": "#", ".cmake": "#", ".toml": "#", ".sh": "#"}
TAG = re.compile(r"\\tag\{(\d+)\}")
DISPLAYED = re.compile(r"^\$\$\n(.*?)^\$\$$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<![\\$\w])\$(?! )([^$\n]+)\$(?!\d)")
PLAIN_EQUATION = re.compile(r"^ {4}.*  \((\d+)\)$", re.MULTILINE)
# What Markdown takes out of a formula before MathJax sees it, or MathJax on GitHub refuses.
UNSAFE = (
    (re.compile(r"\\[^\w\s\\]"), "a backslash before punctuation"),
    (re.compile(r"\\\\(?!$)", re.MULTILINE), "a \\\\ within a line"),
    (re.compile(r"[*~<`]"), "one of * ~ < `"),
    (re.compile(r"(?<!\w)_"), "a _ that does not follow a letter or digit"),
    (re.compile(r"\]\("), "what reads as a link"),
    (re.compile(r"\\(operatorname|label|def|newcommand|require)\b"), "a macro that GitHub refuses"),
)
# Lines of a display that Markdown takes for a list, a heading, a quotation, or the end of the paragraph.
UNSAFE_LINE = re.compile(r"^\s*(?:$|[-+] |[-=]+$|>|#{1,6} |\d+[.)] )", re.MULTILINE)
CITED = re.compile(r"(?:([\w/.]+\.md), )?\b[Ee]qs?\. (\d+)((?:(?:,| and| to| or) (?:eq\. )?\d+)*)")
SECTION = re.compile(r'((?:[\w.]+/)*[\w-]+\.md), "([^"]+)"')
KEY = re.compile(r"\[([A-Z]{1,2}\d{2})\b")
DEFINED = re.compile(r"(?:\*\*\[([A-Z]{1,2}\d{2})\]\*\*|^\s*(?://|#)\s+\[([A-Z]{1,2}\d{2})\] [A-Z])", re.MULTILINE)
FILE_NAME = re.compile(r"(?<![\w./<*-])((?:[\w.-]+/)*[\w.-]+\.(?:cpp|hpp|py|md|ipynb|toml|json|sh))(?![\w/*<(])")
TREES = ("apps/", "data/", "include/", "notebooks/", "src/", "tests/")
# Names that stand for files which users make, or for any file.
EXAMPLES = {"x_test.cpp", "study.toml", "data/studies/NAME.toml", "numpy/lib/format.py", "src/cmake/build_info.cpp"}


def markdown_of(root):
    """{file name: text}: documents, and the text cells of notebooks."""
    texts = {}
    for name in files_of(root):
        if name.endswith(".md"):
            texts[name] = (root / name).read_text()
        elif name.endswith(".ipynb"):
            cells = json.loads((root / name).read_text())["cells"]
            texts[name] = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    return texts


def comments_of(root):
    """{file name: its comments, a run of comment lines joined to one line}."""
    texts = {}
    for name in files_of(root):
        path = pathlib.PurePath(name)
        mark = COMMENTED.get(path.suffix)
        if mark is None or path.name == "check_documents.py":
            continue
        try:
            source = (root / name).read_text()
        except UnicodeDecodeError:
            continue
        if path.suffix == ".py":
            source = re.sub(r'("""|\'\'\')(.*?)\1', lambda match: "\n".join(
                "# " + line for line in match.group(2).splitlines()), source, flags=re.DOTALL)
        runs, open_run = [], False
        for line in source.splitlines():
            match = re.match(rf"(.*?)(?:{mark}[/!]*<?)(?:\s(.*))?$", line)
            if match is None:
                open_run = False
                continue
            text = (match.group(2) or "").strip()
            if open_run and not match.group(1).strip():
                runs[-1] += " " + text
            else:
                runs.append(text)
            open_run = True
        texts[name] = "\n".join(runs)
    return texts


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower().replace("`", "")).replace(" ", "-")


def headings_of(text):
    return re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)


def link_faults(root):
    faults, documents = [], markdown_of(root)
    for name, text in documents.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            if not (root / file).exists():
                faults.append(f"{name}: link to {target}: there is no {file}")
            elif anchor and anchor not in map(slug, headings_of(documents.get(file, ""))):
                faults.append(f"{name}: link to {target}: no such heading")
    return faults


def named_file_exists(root, files, document, named):
    if (root / named).exists() or named in EXAMPLES:
        return True
    beside = posixpath.normpath(posixpath.join(posixpath.dirname(document), named))
    return (root / beside).exists() or (root / (named + ".in")).exists() or any(file == named or file.endswith("/" + named) for file in files)


def file_name_faults(root):
    faults, files = [], files_of(root)
    for name, text in markdown_of(root).items():
        if name == "CHANGELOG.md":  # tells of files that are gone
            continue
        for code in re.findall(r"`([^`\n]+)`", without_code(text)):
            named = [code] if code.startswith(TREES) and not re.search(r"[\s<*={]", code) else FILE_NAME.findall(code)
            faults += [f"{name}: there is no file {file}" for file in named
                       if not named_file_exists(root, files, name, file)]
    for name, text in comments_of(root).items():
        if not name.startswith(("include/", "src/")):
            continue
        faults += [f"{name}: a comment names {file}, which does not exist" for file in FILE_NAME.findall(text)
                   if not named_file_exists(root, files, name, file)]
    return faults


def equations_of(text):
    """(numbers in the tags of a document's equations, what is wrong with how they are written)."""
    numbers, faults = [], []
    text = re.sub(r"`[^`\n]*`", "", without_code(text))
    for body in DISPLAYED.findall(text):
        tags = [int(number) for number in TAG.findall(body)]
        numbers += tags
        if len(tags) > 1:
            faults.append(f"equations {tags} share one display")
    outside = DISPLAYED.sub("", text)
    if "$$" in outside:
        faults.append("a $$ is not alone in its line, or not closed")
    faults += [f"the tag of equation {number} is outside of a display" for number in TAG.findall(outside)]
    faults += [f"equation {number} is not typeset" for number in PLAIN_EQUATION.findall(outside)]
    return numbers, faults


def mathematics_faults(root):
    faults = []
    for name, text in markdown_of(root).items():
        if not name.endswith(".md"):
            continue
        text = re.sub(r"`[^`\n]*`", "", without_code(text))
        displays = DISPLAYED.findall(text)
        for formula in displays + INLINE.findall(DISPLAYED.sub("", text)):
            shown = " ".join(formula.split())[:60]
            faults += [f"{name}: {what} in the formula {shown}" for pattern, what in UNSAFE if pattern.search(formula)]
            if formula.count("{") != formula.count("}") or formula.count("\\begin{") != formula.count("\\end{"):
                faults.append(f"{name}: braces or environments are not closed in the formula {shown}")
        faults += [f"{name}: a line of a display begins like Markdown: {' '.join(body.split())[:60]}"
                   for body in displays if UNSAFE_LINE.search(body[:-1])]
    return faults


def numbers_of(text):
    """[(document or "", number)] of the equations that a text cites."""
    cited = []
    for document, first, rest in CITED.findall(text):
        numbers = [int(first)] + [int(number) for number in re.findall(r"\d+", rest)]
        cited += [(document, number) for number in numbers]
    return cited


def equation_faults(root):
    faults, known = [], {}
    documents = markdown_of(root)
    theory = [name for name in documents if name.startswith(THEORY)]
    for name, text in documents.items():
        known[name], written = equations_of(text)
        faults += [f"{name}: {fault}" for fault in written]
        if name not in theory and known[name] != list(range(1, len(known[name]) + 1)):
            faults.append(f"{name}: equations are numbered {known[name]}")
    known[THEORY] = sorted(number for name in theory for number in known[name])
    if known[THEORY] != list(range(1, len(known[THEORY]) + 1)):
        faults.append(f"{THEORY}: together the pages have the equations {known[THEORY]}")
    texts = [(name, text, name if known[name] and name not in theory else THEORY) for name, text in documents.items()]
    texts += [(name, text, THEORY) for name, text in comments_of(root).items()]
    for name, text, default in texts:
        for document, number in numbers_of(text):
            if number not in known.get(document or default, ()):
                faults.append(f"{name}: {document or default} has no eq. {number}")
    return faults


def section_faults(root):
    documents = markdown_of(root)
    return [f"{name}: {document} has no section \"{title}\""
            for name, text in comments_of(root).items() for document, title in SECTION.findall(text)
            if title not in headings_of(documents.get(document, ""))]


def key_faults(root):
    documents = markdown_of(root)
    everywhere = {key for text in documents.values() for pair in DEFINED.findall(text) for key in pair if key}
    faults = []
    for name, text in documents.items():  # a document has its own references, notebooks link
        own = {key for pair in DEFINED.findall(text) for key in pair if key}
        faults += [f"{name}: [{key}] stands for no paper" for key in sorted(set(KEY.findall(without_code(text))) - own)]
    for name, text in comments_of(root).items():
        used = set(KEY.findall(text)) - everywhere
        own = {key for pair in DEFINED.findall((root / name).read_text()) for key in pair if key} if used else set()
        faults += [f"{name}: [{key}] stands for no paper" for key in sorted(used - own)]
    return faults


def listing_faults(root):
    """Tables that list all of something: studies, results, figures, members of a data set."""
    faults = []
    for folder, suffix, pages in (("data/studies", ".toml", "README.md"), ("data/results", ".json", "*.md")):
        text = "".join(page.read_text() for page in (root / folder).glob(pages))
        faults += [f"{folder}/{pages}: no word of {file.name}" for file in sorted((root / folder).glob("*" + suffix))
                   if f"({file.name})" not in text]
    figures = re.findall(r'^    "(\w+)": FigureKind', (root / "apps/python/headway/figures/__init__.py").read_text(),
                         re.MULTILINE)
    listed = re.findall(r"^\| `(\w+)` \|", (root / "apps/python/README.md").read_text(), re.MULTILINE)
    faults += [f"apps/python/README.md: no row for the figure {name}" for name in figures if name not in listed]
    rows = [line for line in (root / "src/io/README.md").read_text().splitlines() if line.startswith("|")]
    for member in json.loads((root / "src/io/dataset_file/dataset_members.json").read_text())["members"]:
        path = member["path"].replace("<split>", "train")
        shapes = ["[" + re.sub(r"<(\w+)>", r"\1", re.sub(r"<(l\+1)>", r"{\1}", ", ".join(shape))) + "]"
                  for shape in member["shapes"]]
        if not any(f"`{path}`" in row and all(shape in row for shape in shapes) for row in rows):
            faults.append(f"src/io/README.md: no row for {path} {' or '.join(shapes)}")
    return faults


def readme_length_faults(root):
    count = len((root / "README.md").read_text().splitlines())
    return [f"README.md: {count} lines; at most {MAX_README_LINES}"] if count > MAX_README_LINES else []


class DocumentsResolve(RealTree):
    def test_there_are_equations(self):
        for document, count in (("src/theory/README.md", 25), ("src/theory/numerics.md", 25), ("src/theory/heads.md", 10),
                                ("src/training/README.md", 23), ("src/tasks/README.md", 5)):
            self.assertGreaterEqual(len(equations_of((ROOT / document).read_text())[0]), count, document)

    def test_links_lead_somewhere(self):
        self.check(link_faults(ROOT))

    def test_named_files_exist(self):
        self.check(file_name_faults(ROOT))

    def test_cited_equations_exist(self):
        self.check(equation_faults(ROOT))

    def test_mathematics_survives_markdown(self):
        self.check(mathematics_faults(ROOT))

    def test_cited_sections_exist(self):
        self.check(section_faults(ROOT))

    def test_papers_are_named(self):
        self.check(key_faults(ROOT))

    def test_tables_list_everything(self):
        self.check(listing_faults(ROOT))

    def test_readme_is_short(self):
        self.check(readme_length_faults(ROOT))


class RulesCatchViolations(MadeTree):
    """Each rule on references that lead nowhere, so that no rule passes because it looks at nothing."""

    def test_links(self):
        tree = {"README.md": "[a](src/none.md) [b](src/README.md#no-such) ![c](none.png)\n# Here",
                "src/README.md": "# One thing\n[up](../README.md#here) [d](#one-thing) [web](https://example.org)"}
        self.assertEqual(len(self.faults(link_faults, tree)), 3)

    def test_notebooks(self):
        cells = [{"cell_type": "markdown", "source": ["[a](none.md)"]}, {"cell_type": "code", "source": ["[b](c)"]}]
        self.assertEqual(len(self.faults(link_faults, {"notebooks/a.ipynb": json.dumps({"cells": cells})})), 1)

    def test_file_names(self):
        tree = {"README.md": "`src/core/none.cpp` `data/none/` `here.hpp` `gone.py --flag`",
                "src/core/here.hpp": "/// see there.hpp and\n/// core/here.hpp; notes.md section 5\n"}
        self.assertEqual(len(self.faults(file_name_faults, tree)), 5)

    def test_equations(self):
        document = "# Theory\n\n$$\na = b \\tag{1}\n$$\n\n$$\nc = d \\tag{2}\n$$\n\nby eq. 2\n"
        for comment, count in (("/// of eq. 2", 0), ("int a;  ///< eqs. 1 and\n/// 3", 1), ("// eqs. 1 to 4", 1),
                               ("/// (src/training/README.md, eq. 2)", 1), ("/// (src/training/README.md, eq. 1)", 0)):
            tree = {"src/theory/README.md": document, "src/training/README.md": "$$\ne = f \\tag{1}\n$$\n", "src/core/a.hpp": comment + "\n"}
            self.assertEqual(len(self.faults(equation_faults, tree)), count, comment)

    def test_numbers_of_equations(self):
        one, two = "$$\na \\tag{1}\n$$\n", "$$\nb \\tag{2}\n$$\n"
        for what, document, count in (("in order", one + two, 0), ("out of order", two + one, 1), ("doubled", one + two + two, 1),
                                      ("one left out", one + "$$\nc \\tag{3}\n$$\n", 1), ("cited but absent", one + "\neq. 2\n", 1),
                                      ("two in a display", "$$\na \\tag{1}\nb \\tag{2}\n$$\n", 1),
                                      ("outside", one + "\\tag{2}\n", 1), ("not closed", one + "$$\nb \\tag{2}\n", 2),
                                      ("in a line", one + "$$ b \\tag{2} $$\n", 2), ("plain", one + "    b  (2)\n", 1),
                                      ("in code", one + "```\n$$\n\\tag{7}\n```\n and `$$ \\tag{8}`\n", 0)):
            self.assertEqual(len(self.faults(equation_faults, {"src/tasks/README.md": document})), count, what)

    def test_pages_of_the_theory_share_their_numbers(self):
        one, two, three = (f"$$\na \\tag{{{number}}}\n$$\n" for number in (1, 2, 3))
        for what, first, second, count in (("in any order", three + one, two + "\neqs. 1 to 3\n", 0), ("doubled", one + two, two, 1),
                                           ("one left out", one, three, 1), ("cited but absent", one + "\neq. 3\n", two, 1),
                                           ("of another page", one, two + "\n(src/theory/README.md, eq. 2)\n", 1)):
            tree = {"src/theory/README.md": first, "src/theory/numerics.md": second, "src/core/a.hpp": "/// eqs. 1 and 2\n"}
            self.assertEqual(len(self.faults(equation_faults, tree)), count + (what == "one left out"), what)

    def test_mathematics(self):
        good = "Here $a_{b} < 3$ costs `$5 _` and $\\mathcal S_0$.\n\n$$\n\\begin{aligned}\na &= b \\\\\n&= c\n\\end{aligned}\n$$\n"
        good = good.replace(" < ", r" \lt ")
        self.assertEqual(self.faults(mathematics_faults, {"README.md": good}), [])
        for bad in (r"$a\,b$", r"$a * b$", r"${a}_b$", r"$f[x](y)$", r"$a < b$", r"$\operatorname{tr} U$", r"$\frac{a}{b$",
                    "$$\na \\\\ b\n$$", "$$\na\n===\n$$", "$$\na\n\nb\n$$", "$$\na\n- b\n$$", "$$\n\\begin{aligned}\na\n$$"):
            self.assertEqual(len(self.faults(mathematics_faults, {"README.md": bad + "\n"})), 1, bad)

    def test_sections(self):
        tree = {"src/io/README.md": "# Files\n## Data-set file\n", "src/io/b-c.md": "# Files\n",
                "src/io/a.hpp": '/// (src/io/README.md, "Data-set file"); src/io/README.md,\n/// "Dataset file"; src/io/b-c.md, "None"\n'}
        self.assertEqual(len(self.faults(section_faults, tree)), 2)

    def test_papers(self):
        tree = {"README.md": "as in [T24]\n", "src/README.md": "[S25, figure 1]\n- **[S25]** Someone\n",
                "src/core/a.hpp": "/// [S25] [V21]\n", "src/core/b.hpp": "// [V21] Vehtari\n\n/// [V21, 3]\n"}
        self.assertEqual(len(self.faults(key_faults, tree)), 2)

    def test_listings(self):
        tree = {"data/studies/README.md": "[a](a.toml)", "data/studies/a.toml": "", "data/studies/b.toml": "",
                "data/results/README.md": "", "data/results/c.json": "", "apps/python/README.md": "| `curve` | |\n",
                "apps/python/headway/figures/__init__.py": '    "curve": FigureKind(a),\n    "bars": FigureKind(b),\n',
                "src/io/README.md": "| `train/ids`, `test/ids` | [P] | |\n| `network/input` | [N_0, N_1] | |\n",
                "src/io/dataset_file/dataset_members.json": json.dumps({"members": [
                    {"path": "<split>/ids", "shapes": [["P"]]}, {"path": "network/input", "shapes": [["N_1", "N_0"]]}]})}
        self.assertEqual(len(self.faults(listing_faults, tree)), 4)

    def test_length(self):
        self.assertEqual(len(self.faults(readme_length_faults, {"README.md": "\n" * (MAX_README_LINES + 1)})), 1)


if __name__ == "__main__":
    ROOT = root_asked_for()
    unittest.main()
