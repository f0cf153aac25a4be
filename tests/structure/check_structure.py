"""Reads the sources and holds them to the rules of the house, one test each (run by ctest as unit.structure).

    python3 check_structure.py [--root DIR]      DIR: the tree to read, by default the one this file is in

The rules: which module may include which (the arrows), where third-party headers may appear, no umbrella header, include
paths from the include root, documented types in the headers that users call, the length of files and functions, their
parameters, nothing of apps/ in the library, the top level, and no leftovers (paths of one machine, to-do notes, numbers of
a tracker). What documents and comments refer to is followed by
check_documents.py. `RulesCatchViolations` runs the same checks on a small tree that breaks each of them.
"""

import ast
import pathlib
import re
import unittest

from trees import ROOT, MadeTree, RealTree, files_of, root_asked_for

MAX_LINES = {"file": 400, "function": 60}
MAX_PARAMETERS = 6
MAX_TEST_LINES = {"file": 600, "function": 150}  # tests list cases, and stay together

# core <- numerics <- {tasks, model, sampling} <- {theory, posterior, training, analysis}
#      <- study <- results <- verbs <- schedule <- io <- apps
ARROWS = {
    "core": set(),
    "numerics": {"core"},
    "tasks": {"core", "numerics"},
    "model": {"core", "numerics"},
    "sampling": {"core", "numerics"},
    "theory": {"core", "numerics", "model"},
    "analysis": {"core", "numerics", "model"},  # takes matrices; the model says how their paths are numbered
    "posterior": {"core", "numerics", "model", "sampling", "theory"},
    "training": {"core", "numerics", "model", "tasks"},
}
for higher in ("study", "results", "verbs", "schedule", "io"):
    ARROWS[higher] = set(ARROWS)
# What users call lies in include/headway/ itself, and belongs to a module all the same.
FIRST_TIER = {
    "core": "error observer types",
    "tasks": "dataset",
    "model": "architecture path_features",
    "theory": "action order_parameters path_kernels predictor saddle_point",
    "posterior": "exact_chain weight_posterior",
    "training": "trainer transformer_options",
    "study": "shard study sweep train_run train_task",
    "results": "evaluate_results gram_results latents_results network_predict_results network_prune_results network_results predict_results provenance sample_results theory_results train_results",
    "verbs": "align evaluate extract gram latents predict predict_networks prune prune_network sample solve train",
    "schedule": "merge schedule",
    "io": "checkpoints dataset_file result_file study_file",
}
FIRST_TIER_MODULES = {name: module for module, names in FIRST_TIER.items() for name in names.split()}
SEPARATE_ROOMS = [("verbs/theory", "verbs/networks")]  # neither includes the other

# Third-party headers and the only places that may see them; prefixes of paths below the root.
THIRD_PARTY = [
    (r"(hdf5|H5\w*)\.h", ("src/io/", "tests/", "apps/benchmarks/")),
    (r"toml\+\+/.*", ("src/study/",)),
    (r"nlohmann/.*", ("src/io/", "apps/cli/", "tests/")),
    (r"png(conf)?\.h|zip(conf)?\.h|z(lib|conf)\.h", ("src/io/", "tests/")),
    (r"sentencepiece_\w+\.h", ("src/tasks/bpe/",)),
    (r"mpi\.h", ("src/core/mpi/",)),
    (r"CLI/.*", ("apps/cli/",)),
    (r"torch/.*|ATen/.*|c10/.*", ("src/training/",)),
    (r"ceres/.*", ("src/theory/", "src/analysis/", "tests/unit/theory/", "apps/benchmarks/")),
    (r"benchmark/.*", ("apps/benchmarks/",)),
    (r"catch2/.*", ("tests/support/",)),
    (r"cblas\.h|lapacke?\.h", ("src/numerics/",)),
    (r"fmt/.*", ("src/", "apps/", "tests/")),  # never in a public header
]

LEFTOVERS = [
    (re.compile(r"(?<![\w./~-])/(work|home|root|mnt|Users)/\w"), "a path of one machine"),
    (re.compile(r"\.\./shared\b"), "a path outside the repository"),
    (re.compile(r"\b(TODO|FIXME|XXX|HACK)\b"), "a note to self"),
    (re.compile(r"\b[Ii]ssues?\s+#?\d"), "the number of a tracker's entry"),
]

TOP_LEVEL = {"apps/", "data/", "include/", "notebooks/", "src/", "tests/", "CMakeLists.txt", "CMakePresets.json", "Makefile",
             "README.md", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE_SUFFIXES = {".cpp", ".hpp"}
TEXT_SUFFIXES = SOURCE_SUFFIXES | {".py", ".md", ".txt", ".cmake", ".in", ".sh", ".toml", ".json", ".ipynb", ""}


def sources_of(root):
    return [name for name in files_of(root)
            if pathlib.PurePath(name).suffix in SOURCE_SUFFIXES
            and name.startswith(("include/", "src/", "apps/", "tests/"))]


def includes_of(root, name):
    for number, line in enumerate((root / name).read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def module_of(name):
    """'theory' for include/headway/theory/x.hpp, src/theory/x.cpp and include/headway/action.hpp, None elsewhere."""
    match = re.match(r"(?:include/headway|src)/([a-z_]+)/", name)
    return match.group(1) if match else FIRST_TIER_MODULES.get(first_tier_stem(name))


def first_tier_stem(name):
    """'action' for include/headway/action.hpp and headway/action.hpp, None elsewhere."""
    match = re.fullmatch(r"(?:include/)?headway/([a-z_0-9]+)\.hpp", name)
    return match.group(1) if match else None


def arrow_faults(root):
    faults = []
    for name in sources_of(root):
        module = module_of(name)
        if module is None:
            continue
        if module not in ARROWS:
            faults.append(f"{name}: '{module}' is no module; modules are {sorted(ARROWS)}")
            continue
        for number, _, target in includes_of(root, name):
            match = re.match(r"(?:headway/)?([a-z_]+)/.+\.hpp$", target)
            used = FIRST_TIER_MODULES.get(first_tier_stem(target)) or (match.group(1) if match else None)
            if used in ARROWS and used != module and used not in ARROWS[module]:
                faults.append(f"{name}:{number}: {module} must not include {used} ({target})")
            for rooms in SEPARATE_ROOMS:
                for here, there in (rooms, rooms[::-1]):
                    if f"/{here}/" in name and f"/{there}/" in f"/{target}":
                        faults.append(f"{name}:{number}: {here} must not include {there} ({target})")
    return faults


# How records lie in files (core/record.hpp), by which a source shows that it knows of files.
FILE_LAYOUT = re.compile(r"core/record\.hpp|\bField(Layout|Place|Form)\b|\bRecordOf<")


def file_layout_faults(root):
    """What computes knows of no files: the lists of fields of its records stand in results and what sees that."""
    computing = ARROWS["training"] | ARROWS["posterior"] | {"training", "posterior", "analysis"}
    return [f"{name}:{number}: {module_of(name)} must not know how records lie in files; results may: {line.strip()[:80]}"
            for name in sources_of(root) if module_of(name) in computing and name != "include/headway/core/record.hpp"
            for number, line in enumerate((root / name).read_text().splitlines(), start=1) if FILE_LAYOUT.search(line)]


def third_party_faults(root):
    faults = []
    for name in sources_of(root):
        for number, _, target in includes_of(root, name):
            for pattern, places in THIRD_PARTY:
                if re.fullmatch(pattern, target) and not name.startswith(places):
                    faults.append(f"{name}:{number}: {target} may be included only in {', '.join(places)}")
    return faults


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


def header_faults(root):
    faults = []
    for name in sources_of(root):
        if name.startswith("include/"):
            if module_of(name) is None:
                faults.append(f"{name}: public headers live in include/headway/<module>/, or in "
                              f"include/headway/ and FIRST_TIER; no umbrella header")
            others = [line for line in (root / name).read_text().splitlines() if line.strip()]
            if all(re.match(r"\s*(#|//)", line) for line in others):
                faults.append(f"{name}: only includes other headers; no umbrella header")
            if not any(line.strip() == "#pragma once" for line in others):
                faults.append(f"{name}: no '#pragma once'")
        for number, bracket, target in includes_of(root, name):
            if ".." in target.split("/"):
                faults.append(f"{name}:{number}: include from the include root, not by '{target}'")
            if target.startswith("headway/") and bracket == "<":
                faults.append(f"{name}:{number}: include headway's own headers with quotes")
    return faults


# Comments, strings and preprocessor lines of C++: what braces in them say nothing about blocks.
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
    """As clang-tidy does, which reads a file in half a minute and not what includes LibTorch. Where another library says what
    the parameters are, a line before the function has NOLINTNEXTLINE and the reason."""
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
            if '"image/png": "' in line:  # of a notebook: any letters follow each other
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


def constants_of(text):
    """Names of constants outside functions."""
    return set(re.findall(r"(?m)^(?:inline |static )?constexpr [^=(;{]*?\b(k[A-Z]\w*)\s*(?:\[[^]]*\]\s*)?[={]", text))


def hidden_constant_faults(root):
    """The sources of a module are compiled as one file, where a constant of an unnamed namespace hides that of a header
    from all sources behind it, without a word of the compiler."""

    def group_of(name):
        return "cli" if name.startswith("apps/cli/") else module_of(name)

    sources = [name for name in sources_of(root) if group_of(name) and not re.search("/(torch|bpe|mpi|cuda)/", name)]
    headers = {name: constants_of((root / name).read_text()) for name in sources if name.endswith(".hpp")}
    faults = []
    for name in sources:
        if not name.endswith(".cpp"):
            continue
        seen = {constant: header for header, constants in headers.items() for constant in constants
                if header.startswith("include/") or group_of(header) == group_of(name)}
        faults += [f"{name}: {constant} hides that of {seen[constant]}"
                   for constant in sorted(constants_of((root / name).read_text()) & set(seen))]
    return faults


def missing_include_faults(root):
    """A module compiled as one file sees the constants of headers that its sources before it include; compiled file by
    file a source has only its own."""
    sources = [name for name in sources_of(root) if not name.startswith("tests/")]
    others = re.compile(r"//[^\n]*|\"(?:[^\"\\\n]|\\.)*\"|\benum class \w+[^{;]*\{[^}]*\}|\w::k\w+")
    texts = {name: others.sub("", (root / name).read_text()) for name in sources}
    homes = {}
    for name in sources:
        for constant in constants_of(texts[name]):
            homes.setdefault(constant, []).append(name)
    included = {name: [base + target for _, _, target in includes_of(root, name)
                       for base in ("include/", "src/", str(pathlib.PurePath(name).parent) + "/")
                       if base + target in texts] for name in sources}
    faults = []
    for name in sources:
        reached, ahead = {name}, [name]
        while ahead:
            new = set(included[ahead.pop()]) - reached
            reached |= new
            ahead += new
        for constant in sorted(set(re.findall(r"\bk[A-Z]\w*", texts[name])) & set(homes)):
            home = homes[constant][0]
            shared = home.startswith("include/") or module_of(home) == module_of(name)
            if len(homes[constant]) == 1 and home.endswith(".hpp") and shared and home not in reached:
                faults.append(f"{name}: {constant} is that of {home}, which it does not include")
    return faults


def version_faults(root):
    """The version stands in one file alone; CMake, the Python package and its wheel take it from there, and the newest
    release of the changelog is it."""
    version = (root / "src/version.txt").read_text().strip()
    newest = re.search(r"(?m)^## \[(\d[^\]]*)\]", (root / "CHANGELOG.md").read_text())
    faults = []
    if newest is None or newest.group(1) != version:
        faults.append(f"CHANGELOG.md: newest release is {newest and newest.group(1)}; src/version.txt has {version}")
    for name in ("CMakeLists.txt", "CITATION.cff", "apps/python/pyproject.toml", "apps/python/headway/version.py"):
        if re.search(rf"(?<![\d.]){re.escape(version)}(?![\d.])", (root / name).read_text()):
            faults.append(f"{name}: has the version {version}, which stands in src/version.txt")
    return faults


def upward_faults(root):
    """What the library is built from lies below it: nothing in src/ reads a file of apps/."""
    faults = []
    for name in files_of(root):
        if name != "CMakeLists.txt" and not name.startswith("src/"):
            continue
        if name.endswith((".cmake", ".in", "CMakeLists.txt")):
            reads = re.compile(r"^(?!\s*(//|# )).*?(?<!\w)apps/")
        elif pathlib.PurePath(name).suffix in SOURCE_SUFFIXES:
            reads = re.compile(r'^(?!\s*//).*"[^"]*(?<!\w)apps/')
        else:
            continue
        faults += [f"{name}:{number}: the library must not need apps/: {line.strip()[:100]}"
                   for number, line in enumerate((root / name).read_text().splitlines(), start=1) if reads.match(line)]
    return faults


def top_level_faults(root):
    """The top level has the folders and files named here, and files whose names begin with a dot."""
    tops = {name.split("/")[0] + ("/" if "/" in name else "") for name in files_of(root)}
    return [f"{top}: nothing else stands at the top level than {', '.join(sorted(TOP_LEVEL))} and dot files"
            for top in sorted(tops) if top not in TOP_LEVEL and not top.startswith(".")]


class SourcesKeepTheRules(RealTree):
    def test_tree_is_there(self):
        self.assertGreater(len(sources_of(ROOT)), 20)

    def test_modules_include_only_what_their_arrows_allow(self):
        self.check(arrow_faults(ROOT))

    def test_third_party_headers_stay_in_their_places(self):
        self.check(third_party_faults(ROOT))

    def test_file_layouts(self):
        self.check(file_layout_faults(ROOT))

    def test_headers_are_no_umbrellas_and_included_from_the_root(self):
        self.check(header_faults(ROOT))

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

    def test_no_constant_hides_another(self):
        self.check(hidden_constant_faults(ROOT))

    def test_sources_include_the_headers_of_their_constants(self):
        self.check(missing_include_faults(ROOT))

    def test_versions_agree(self):
        self.check(version_faults(ROOT))

    def test_the_library_reads_nothing_of_its_applications(self):
        self.check(upward_faults(ROOT))

    def test_top_level_is_what_it_should_be(self):
        self.check(top_level_faults(ROOT))


class RulesCatchViolations(MadeTree):
    """Each rule on a tree that breaks it, so that no rule passes because it looks at nothing."""

    def test_arrows(self):
        upward = {"src/model/a.cpp": '#include "headway/theory/b.hpp"\n'}
        private = {"src/numerics/a.cpp": '#include "model/b.hpp"\n'}
        sibling = {"include/headway/tasks/a.hpp": '  #  include "headway/model/b.hpp"\n'}
        unknown = {"src/misc/a.cpp": "int a;\n"}
        allowed = {"src/theory/a.cpp": '#include "headway/model/b.hpp"\n#include "theory/c.hpp"\n'}
        room = {"src/verbs/theory/a.cpp": '#include "verbs/networks/b.hpp"\n'}
        for tree in (upward, private, sibling, unknown, room):
            self.assertEqual(len(self.faults(arrow_faults, files=tree)), 1, tree)
        self.assertEqual(self.faults(arrow_faults, files=allowed), [])

    def test_file_layouts(self):
        for text in ('#include "headway/core/record.hpp"', "FieldLayout::kLayers", "FieldPlace place", "RecordOf<A> Record"):
            for name, wrong in (("src/theory/a.cpp", 1), ("include/headway/action.hpp", 1), ("src/sampling/a.hpp", 1),
                                ("include/headway/results/a.hpp", 0), ("include/headway/core/record.hpp", 0)):
                self.assertEqual(len(self.faults(file_layout_faults, files={name: text})), wrong, (name, text))

    def test_third_party(self):
        for header in ("hdf5.h", "H5Fpublic.h", "toml++/toml.h", "nlohmann/json.hpp", "CLI/CLI.hpp",
                       "torch/torch.h", "ceres/ceres.h", "fmt/format.h", "cblas.h", "png.h", "zip.h", "zlib.h",
                       "sentencepiece_trainer.h"):
            tree = {"include/headway/core/a.hpp": f"#pragma once\n#include <{header}>\nint a;\n"}
            self.assertEqual(len(self.faults(third_party_faults, files=tree)), 1, header)
        self.assertEqual(self.faults(third_party_faults, files={"src/io/a.cpp": "#include <hdf5.h>\n"}), [])

    def test_headers(self):
        umbrella = {"include/headway/core/all.hpp": '#pragma once\n#include "headway/core/rng.hpp"\n'}
        outside = {"include/headway/headway.hpp": "#pragma once\nint a;\n"}
        unguarded = {"include/headway/core/a.hpp": "int a;\n"}
        relative = {"src/core/a.cpp": '#include "../io/b.hpp"\n'}
        brackets = {"src/core/a.cpp": "#include <headway/core/b.hpp>\n"}
        for tree in (umbrella, outside, unguarded, relative, brackets):
            self.assertEqual(len(self.faults(header_faults, files=tree)), 1, tree)

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
            line = "".join(words)  # not to be found here
            self.assertEqual(len(self.faults(leftover_faults, files={"README.md": line})), 1, line)
        self.assertEqual(self.faults(leftover_faults, files={"README.md": "/usr/bin/python3, work/home/x"}), [])

    def test_catch(self):
        for line in ("x == Approx(1.0)", 'Catch::Matchers::Contains("a")'):
            tree = {"tests/unit/core/a_test.cpp": line}
            self.assertEqual(len(self.faults(catch_faults, files=tree)), 1, line)

    def test_hidden_constants(self):
        header = "namespace headway {\ninline constexpr int kMost = 3;\n}\n"
        for text, wrong in (("constexpr Index kMost = 200;\n", 1), ("constexpr Index kMostDraws = 200;\n", 0),
                            ("int f() {\n  constexpr int kMost = 2;\n}\n", 0)):
            tree = {"include/headway/core/limits.hpp": header, "src/study/a.cpp": text}
            self.assertEqual(len(self.faults(hidden_constant_faults, files=tree)), wrong, text)
        verb = {"include/headway/core/limits.hpp": header, "apps/cli/a.cpp": "constexpr int kMost = 2;\n"}
        self.assertEqual(len(self.faults(hidden_constant_faults, files=verb)), 1)
        private = {"src/core/a.hpp": header, "src/study/a.cpp": "constexpr int kMost = 2;\n"}
        self.assertEqual(self.faults(hidden_constant_faults, files=private), [])

    def test_missing_includes(self):
        tree = {"include/headway/core/a.hpp": "namespace headway {\ninline constexpr int kMost = 3;\n}\n",
                "include/headway/core/b.hpp": '#include "headway/core/a.hpp"\n'}
        for text, wrong in (("int f() { return kMost; }\n", 1), ('#include "headway/core/b.hpp"\nint x = kMost;\n', 0),
                            ('// kMost\nconst char* name = "kMost";\n', 0),
                            ("enum class Share { kMost };\nauto x = Share::kMost;\n", 0)):
            found = self.faults(missing_include_faults, files=tree | {"src/study/c.cpp": text})
            self.assertEqual(len(found), wrong, text)

    def test_versions(self):
        tree = {"CMakeLists.txt": "project(headway VERSION 0.1.0 LANGUAGES CXX)", "apps/python/pyproject.toml": "", "apps/python/headway/version.py": "",
                "src/version.txt": "0.1.0\n", "CHANGELOG.md": "## [0.2.0] - soon",
                "CITATION.cff": "cff-version: 1.2.0\nversion: 0.1.0\n"}
        self.assertEqual(len(self.faults(version_faults, files=tree)), 3)

    def test_upward(self):
        for name, line in (("src/CMakeLists.txt", "file(READ ${PROJECT_SOURCE_DIR}/apps/python/a.json a)"),
                           ("CMakeLists.txt", "set(version_file apps/python/version.py)"),
                           ("src/cmake/a.cpp.in", '#include "apps/cli/a.hpp"'), ("src/io/a.cpp", 'open("../apps/a.json");')):
            self.assertEqual(len(self.faults(upward_faults, files={name: line})), 1, name)
        allowed = {"src/CMakeLists.txt": "# as apps/python says\n", "CMakeLists.txt": "add_subdirectory(apps)\n",
                   "src/io/a.cpp": "// apps/cli prints it\nf(maps/b);\n", "src/README.md": "apps/cli\n",
                   "apps/CMakeLists.txt": "file(READ apps/a b)\n"}
        self.assertEqual(self.faults(upward_faults, files=allowed), [])

    def test_top_level(self):
        tree = {"README.md": "", ".gitignore": "", "src/a.cpp": "", "cmake/a.cmake": "", "NOTES.md": ""}
        self.assertEqual(len(self.faults(top_level_faults, files=tree)), 2)


if __name__ == "__main__":
    ROOT = root_asked_for()
    unittest.main()
