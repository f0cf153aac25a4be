"""Checks every file against the rules of the house, one test for each rule (run by ctest as unit.structure).

    python3 check_structure.py [--root DIR]      DIR: the tree to read, by default the one this file is in

The rules: documented types in the headers that users call; the length of files and functions, and their parameters; names
that both versions of Catch2 have; no bound that a NaN keeps; one version; the top level; long tests that exist; no leftovers (paths of one machine,
to-do notes, numbers of a tracker). check_includes.py checks includes, check_documents.py what documents and comments refer to.
`RulesCatchViolations` runs the same checks on a small tree that breaks each of them.
"""

import ast
import json
import pathlib
import re
import unittest

from trees import ROOT, SOURCE_SUFFIXES, MadeTree, RealTree, files_of, first_tier_stem, root_asked_for, sources_of

MAX_LINES = {"file": 400, "function": 60}
MAX_PARAMETERS = 6
MAX_TEST_LINES = {"file": 600, "function": 150}  # tests list cases, and stay together

LEFTOVERS = [
    (re.compile(r"(?<![\w./~-])/(work|home|root|mnt|Users)/\w"), "a path of one machine"),
    (re.compile(r"\.\./shared\b"), "a path outside the repository"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "a note to self"),
    (re.compile(r"\b[Ii]ssues?\s+#?\d"), "the number of a tracker's entry"),
]

TOP_LEVEL = {"apps/", "data/", "include/", "notebooks/", "src/", "tests/", "CMakeLists.txt", "CMakePresets.json", "Makefile",
             "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"}

TEXT_SUFFIXES = SOURCE_SUFFIXES | {".cu", ".py", ".pyi", ".js", ".css", ".stan", ".dox", ".md", ".txt", ".cmake", ".in", ".sh", ".toml",
                                   ".json", ".ipynb", ".cff", ""}


def undocumented_faults(root):
    """Each type of the first tier says what it is, in a comment that the C++ reference shows."""
    faults = []
    for name in files_of(root):
        if not first_tier_stem(name):
            continue
        before = ""
        for number, line in enumerate((root / name).read_text().splitlines(), start=1):
            if re.match(r"(struct|class|enum class) \w+[^;]*\{", line) and not before.startswith("///"):
                faults.append(f"{name}:{number}: what is it? {line}")
            before = before if line.startswith("template") else line
    return faults


# Comments, strings and preprocessor lines of C++. Braces in them begin and end no blocks.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'
                     r"(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.DOTALL | re.MULTILINE)
# What stands before the brace of a function: parameters, and perhaps qualifiers, a result type or initializers.
FUNCTION_HEAD = re.compile(r"\)\s*(?:(?:const|noexcept|override|final|mutable|&)\s*)*(?:->[^;{}]*|:[^:].*)?$", re.DOTALL)


def cpp_functions(text):
    """(first line, last line, head) of every function that is not inside another one."""
    code = NO_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)
    open_blocks, begin, line = [], 0, 1  # blocks as (is a function, first line, where its head begins)
    for at, letter in enumerate(code):
        if letter == "\n":
            line += 1
        elif letter == "{":
            head = code[begin:at].strip()
            first = line - code[begin:at].lstrip().count("\n")
            open_blocks.append((FUNCTION_HEAD.search(head) is not None, first, begin))
        elif letter == "}" and open_blocks:
            is_function, first, head_begin = open_blocks.pop()
            if re.match(r"\s*[,{]", code[at + 1:at + 200]):  # b_{} of a constructor's initializers
                begin = head_begin
                continue
            if is_function and not any(block[0] for block in open_blocks):
                yield first, line, code[head_begin:].split("{", 1)[0]
        if letter in "{};":
            begin = at + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            documented = ast.get_docstring(node) is not None  # in C++ that stands before the function
            yield node.body[0].end_lineno if documented else node.lineno, node.end_lineno, ""


def length_faults(root):
    faults = []
    for name in files_of(root):
        suffix = pathlib.PurePath(name).suffix
        if suffix not in SOURCE_SUFFIXES | {".py"}:
            continue
        most = MAX_TEST_LINES if name.startswith("tests/") else MAX_LINES
        text = (root / name).read_text()
        count = len(text.splitlines())
        if count > most["file"]:
            faults.append(f"{name}: {count} lines; at most {most['file']}")
        for first, last, _ in (python_functions if suffix == ".py" else cpp_functions)(text):
            if last - first + 1 > most["function"]:
                faults.append(f"{name}:{first}: a function of {last - first + 1} lines; at most {most['function']}")
    return faults


def parameter_count(head):
    """The number of parameters in the head of a function."""
    head = re.sub(r"^\s*template\s*<[^(]*?>\s*(?=\w)", "", head)
    depth, count = {"(": 0, "<": 0}, 0
    pairs = {"(": ("(", 1), ")": ("(", -1), "[": ("(", 1), "]": ("(", -1), "<": ("<", 1), ">": ("<", -1)}
    parameters = re.sub(r"operator\s*\S+?(?=\()|->", "f", head).partition("(")[2]
    for letter in parameters:
        if letter == ")" and depth["("] == 0:
            break
        if letter == "," and not any(depth.values()):
            count += 1
        kind, step = pairs.get(letter, ("(", 0))
        depth[kind] += step
    return count + (parameters.partition(")")[0].strip() != "")


def parameter_faults(root):
    """Functions with more than six parameters. clang-tidy finds them too, but takes half a minute a file and does not read files
    that include LibTorch. Where another library prescribes the parameters, the line before has NOLINTNEXTLINE and the reason."""
    faults = []
    for name in sources_of(root):
        if name.startswith("tests/"):
            continue
        text = (root / name).read_text()
        lines = text.splitlines()
        for first, _, head in cpp_functions(text):
            count = parameter_count(head)
            before = "\n".join(lines[max(first - 2, 0):first + 1])
            if count > MAX_PARAMETERS and not re.search(r"NOLINTNEXTLINE\(readability-function-size\): \w", before):
                faults.append(f"{name}:{first}: a function of {count} parameters; at most {MAX_PARAMETERS}")
    return faults


def leftover_faults(root):
    faults = []
    for name in files_of(root):
        if pathlib.PurePath(name).suffix not in TEXT_SUFFIXES or name.endswith("check_structure.py"):
            continue
        try:
            lines = (root / name).read_text().splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, start=1):
            if '"image/png": "' in line:  # a picture in a notebook, in which any letters follow each other
                continue
            faults += [f"{name}:{number}: {what}: {line.strip()[:120]}"
                       for pattern, what in LEFTOVERS if pattern.search(line)]
    return faults


def catch_faults(root):
    """What Catch2 2 and 3 spell differently goes through tests/support/catch.hpp."""
    spelled = re.compile(r"\bApprox\b|Matchers::Contains\b|Catch::Contains\b|\bCATCH_CONFIG_MAIN\b")
    return [f"{name}:{number}: differs between Catch2 2 and 3: {line.strip()[:100]}"
            for name in sources_of(root) if name.startswith("tests/") and not name.startswith("tests/support/")
            for number, line in enumerate((root / name).read_text().splitlines(), start=1)
            if spelled.search(line)]


# A bound on the largest or smallest number of an Eigen matrix, or on a maximum that a loop gathers.
BLIND = re.compile(r"\b(?:CHECK|REQUIRE)\([^;]*?\.(?:maxCoeff\(\)\s*(?:<|==)|minCoeff\(\)\s*(?:>|==))|"
                   r"(\w+) = std::max\(\1,\s*std::abs\(")


def blind_faults(root):
    """Bounds that a NaN keeps. Eigen's maxCoeff() leaves out a NaN that is not the first number of a matrix, and std::max(x, NaN)
    is x: an answer that is NaN would pass."""
    faults = []
    for name in sources_of(root):
        if name.startswith("tests/"):
            text = (root / name).read_text()
            faults += [f"{name}:{text.count(chr(10), 0, match.start()) + 1}: holds for NaN; maxCoeff<Eigen::PropagateNaN>() or "
                       f"larger() of tests/support/larger.hpp does not" for match in BLIND.finditer(text)]
    return faults


def version_faults(root):
    """CMake, the Python package and its wheel take the version from src/version.txt. It is the newest release of the changelog,
    whose version and date CITATION.cff has."""
    version = (root / "src/version.txt").read_text().strip()
    newest = re.search(r"(?m)^## \[(\d[^\]]*)\] - (.*)$", (root / "CHANGELOG.md").read_text())
    release = newest.groups() if newest else (None, None)
    faults = []
    if release[0] != version:
        faults.append(f"CHANGELOG.md: newest release is {release[0]}; src/version.txt has {version}")
    cited = dict(re.findall(r"(?m)^(version|date-released): (.*)$", (root / "CITATION.cff").read_text()))
    for key, due in zip(("version", "date-released"), release):
        if cited.get(key) != due:
            faults.append(f"CITATION.cff: {key} is {cited.get(key)}; CHANGELOG.md has {due}")
    for name in ("CMakeLists.txt", "apps/python/pyproject.toml", "apps/python/headway/version.py"):
        if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", (root / name).read_text()):
            faults.append(f"{name}: has the version {version}, which stands in src/version.txt")
    return faults


def top_level_faults(root):
    """The top level has the folders and files named here, and files whose names begin with a dot."""
    tops = {name.split("/")[0] + ("/" if "/" in name else "") for name in files_of(root)}
    return [f"{top}: nothing else stands at the top level than {', '.join(sorted(TOP_LEVEL))} and dot files"
            for top in sorted(tops) if top not in TOP_LEVEL and not top.startswith(".")]


def long_test_faults(root):
    """What `make test` leaves out by name, in CMakePresets.json, are tests that there are."""
    presets = json.loads((root / "CMakePresets.json").read_text())["testPresets"]
    (left_out,) = [one["filter"]["exclude"]["name"] for one in presets if one["name"] == "ci"]
    names = []
    for label, several, ending, one in re.findall(r"(\w+)\\\.(?:\(([^()]*)\)(\w*)|([^|()]+))", left_out):
        names += [(label, name + ending) for name in (one or several).split("|") if not re.search(r"[*\[]", name)]
    known = {pathlib.PurePath(name).stem for name in files_of(root) if name.startswith("tests/")}
    known |= set(re.findall(r"\w+", "".join((root / name).read_text() for name in files_of(root)
                                            if name.startswith("tests/") and name.endswith("CMakeLists.txt"))))
    return [f"CMakePresets.json: {label}.{name} is left out, and there is no such test" for label, name in names if name not in known]


class SourcesKeepTheRules(RealTree):
    def test_tree_is_there(self):
        self.assertGreater(len(sources_of(ROOT)), 20)

    def test_types_that_users_see_are_documented(self):
        self.check(undocumented_faults(ROOT))

    def test_files_and_functions_are_short(self):
        self.check(length_faults(ROOT))

    def test_functions_have_few_parameters(self):
        self.check(parameter_faults(ROOT))

    def test_no_leftovers(self):
        self.check(leftover_faults(ROOT))

    def test_tests_build_with_both_catch_versions(self):
        self.check(catch_faults(ROOT))

    def test_no_bound_holds_for_nan(self):
        self.check(blind_faults(ROOT))

    def test_versions_agree(self):
        self.check(version_faults(ROOT))

    def test_top_level_is_what_it_should_be(self):
        self.check(top_level_faults(ROOT))

    def test_long_tests_are_there(self):
        self.check(long_test_faults(ROOT))


class RulesCatchViolations(MadeTree):
    """Each rule on a tree that breaks it, so that no rule passes because it looks at nothing."""

    def test_undocumented(self):
        for text, wrong in (("struct A {\n", 1), ("/// a\nstruct A {\n", 0), ("/// a\ntemplate <class B>\nclass A : C {\n", 0),
                            ("// a\nenum class A { kB };\n", 1), ("struct A;\n", 0)):
            self.assertEqual(len(self.faults(undocumented_faults, files={"include/headway/a.hpp": text})), wrong, text)

    def test_length_of_files(self):
        for name, most in (("src/core/a.cpp", MAX_LINES), ("tests/unit/a_test.py", MAX_TEST_LINES)):
            self.assertEqual(len(self.faults(length_faults, files={name: "\n" * (most["file"] + 1)})), 1)
            self.assertEqual(self.faults(length_faults, files={name: "\n" * most["file"]}), [])

    def test_length_of_functions(self):
        heads = {"a.cpp": ["int f(int a) {", "A::A(int a) : a_(a), b_{} {", "auto f() const -> int {",
                           "class A {\n  void f(int a = {}) override {", 'namespace x {\nTEST_CASE("}") {'],
                 "a.py": ["def f():", "class A:\n    async def f(self):"]}
        bodies = {"a.cpp": "  // }\n", "a.py": "        pass\n"}
        ends = {"a.cpp": "}\n", "a.py": ""}
        for name, beginnings in heads.items():
            for head in beginnings:
                for lines, wrong in ((59, 1), (58, 0)):
                    lines += 1 if name == "a.py" else 0
                    text = f"{head}\n{bodies[name] * lines}{ends[name]}{'}' if head.count('{') > 1 and ends[name] else ''}"
                    faults = self.faults(length_faults, files={f"src/core/{name}": text})
                    self.assertEqual(len(faults), wrong, (head, lines, faults))
        apart = "struct A {\n" + "  int f() { return 1; }\n" * 100 + "};\nint a[] = {\n" + "1,\n" * 100 + "};\n"
        self.assertEqual(self.faults(length_faults, files={"src/core/a.cpp": apart}), [])

    def test_parameters(self):
        six = "int a, const std::map<int, int>& b, int (*c)(int, int), std::function<int(int, int)> d, int e = f(1, 2), int g"
        body = " {\n  call(1, 2, 3, 4, 5, 6, 7, 8);\n}\n"
        for head, wrong in ((f"int f({six}, int h)", 1), (f"int f({six})", 0), ("int f()", 0),
                            (f"template <class A, class B>\nA A::f({six}, int h) const", 1),
                            (f"bool operator()({six}, int h)", 1), (f"bool operator<({six})", 0),
                            (f"// NOLINTNEXTLINE(readability-function-size): as BLAS\nint f({six}, int h)", 0),
                            (f"// NOLINTNEXTLINE(readability-function-size)\nint f({six}, int h)", 1),
                            (f"A::A({six}, int h) : a_(a), b_{{b}}", 1),
                            (f"struct B {{\n  int f({six}, int h)", 1)):
            text = head + body + ("};\n" if head.startswith("struct") else "")
            self.assertEqual(len(self.faults(parameter_faults, files={"src/core/a.cpp": text})), wrong, head)

    def test_leftovers(self):
        for words in (("see /", "home/someone/data"), ("# TO", "DO: later"), ("as in iss", "ue #12"), ("in ../sha", "red/golden")):
            line = "".join(words)  # put together here, so that the rule does not find it in this file
            self.assertEqual(len(self.faults(leftover_faults, files={"README.md": line})), 1, line)
        self.assertEqual(self.faults(leftover_faults, files={"README.md": "/usr/bin/python3, work/home/x"}), [])

    def test_catch(self):
        for line in ("x == Approx(1.0)", 'Catch::Matchers::Contains("a")'):
            tree = {"tests/unit/core/a_test.cpp": line}
            self.assertEqual(len(self.faults(catch_faults, files=tree)), 1, line)

    def test_bounds(self):
        for text, wrong in (("CHECK((a - b).cwiseAbs().maxCoeff() < 1e-9);", 1), ("REQUIRE(u.minCoeff() >\n        0.0);", 1),
                            ("CHECK(a.maxCoeff() == 0.0);", 1), ("most = std::max(most, std::abs(x - y));", 1),
                            ("CHECK(a.maxCoeff<Eigen::PropagateNaN>() < 1.0);", 0), ("CHECK(a.maxCoeff() > 0.0);", 0),
                            ("CHECK(x < y);\na = b.maxCoeff() < 1;", 0), ("most = std::max(least, std::abs(x));", 0)):
            self.assertEqual(len(self.faults(blind_faults, files={"tests/unit/core/a_test.cpp": text})), wrong, text)

    def test_versions(self):
        tree = {"CMakeLists.txt": "project(headway VERSION 0.1.0 LANGUAGES CXX)", "apps/python/pyproject.toml": "", "apps/python/headway/version.py": "",
                "src/version.txt": "0.1.0\n", "CHANGELOG.md": "## [0.2.0] - soon",
                "CITATION.cff": "cff-version: 1.2.0\nversion: 0.1.0\ndate-released: soon\n"}
        self.assertEqual(len(self.faults(version_faults, files=tree)), 3)
        right = {**tree, "CMakeLists.txt": "", "CHANGELOG.md": "## [0.1.0] - soon"}
        self.assertEqual(self.faults(version_faults, files=right), [])

    def test_top_level(self):
        tree = {"README.md": "", ".gitignore": "", "src/a.cpp": "", "cmake/a.cmake": "", "NOTES.md": ""}
        self.assertEqual(len(self.faults(top_level_faults, files=tree)), 2)

    def test_long_tests(self):
        left_out = r"^(statistical\..*|cli\.(kept_test|gone_test|site)|golden\.lost|python\.(notebook_[a-z_]*|kept|lost)_test)$"
        presets = {"testPresets": [{"name": "ci", "filter": {"exclude": {"name": left_out}}}]}
        tree = {"CMakePresets.json": json.dumps(presets), "tests/cli/kept_test.py": "", "tests/a/CMakeLists.txt": "add_test(NAME cli.site)"}
        self.assertEqual([fault.split()[1] for fault in self.faults(long_test_faults, files=tree)],
                         ["cli.gone_test", "golden.lost", "python.lost_test"])


if __name__ == "__main__":
    ROOT = root_asked_for()
    unittest.main()
