"""Checks what each part of the sources may know of the others, one test for each rule (run by ctest as unit.includes).

    python3 check_includes.py [--root DIR]      DIR: the tree to read, by default the one this file is in

The rules: which module may include which (the arrows); modules that compute know of no files; where third-party headers
may appear; one umbrella header, headway/headway.hpp; include paths from the include root; public headers include what they use of the standard
library; a constant comes from a header that is included, and hides no other; nothing of apps/ in the library.
`RulesCatchViolations` runs the same checks on a small tree that breaks each of them.
"""

import pathlib
import re
import unittest

from header_chains import chains_of, included_by
from trees import ROOT, SOURCE_SUFFIXES, MadeTree, RealTree, files_of, first_tier_stem, root_asked_for, sources_of

# core <- numerics <- {tasks, model, sampling} <- {theory, posterior, training, analysis}
#      <- study <- results <- {verbs, io} <- jobs <- apps
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
for higher in ("study", "results"):
    ARROWS[higher] = set(ARROWS)
ARROWS["verbs"] = ARROWS["io"] = ARROWS["results"] | {"results"}  # files know records, not computations
ARROWS["jobs"] = set(ARROWS)
# What users call lies in include/headway/ itself, and belongs to a module all the same.
FIRST_TIER = {
    "core": "error observer types",
    "tasks": "dataset",
    "model": "architecture path_features",
    "theory": "action order_parameters path_kernels predictor saddle_point solution",
    "study": "shard study theory_options train_task",
    "results": "evaluate_results extract_results gram_results latents_results network_predict_results network_prune_results predict_results provenance prune_results rank_results sample_results theory_results train_results",
    "verbs": "align evaluate extract gram latents predict predict_networks prune prune_network rank sample solve train",
    "io": "dataset_file result_file study_file",
    "jobs": "checkpoints headway schedule",
}
FIRST_TIER_MODULES = {name: module for module, names in FIRST_TIER.items() for name in names.split()}
UMBRELLA = "include/headway/headway.hpp"
SEPARATE_ROOMS = [("verbs/theory", "verbs/networks")]  # folders of which neither may include the other

# Third-party headers and the only places that may see them; prefixes of paths below the root.
THIRD_PARTY = [
    (r"(hdf5|H5\w*)\.h", ("src/io/", "tests/", "apps/benchmarks/")),
    (r"toml\+\+/.*", ("src/study/",)),
    (r"nlohmann/.*", ("src/io/", "src/jobs/", "apps/cli/", "tests/")),
    (r"png(conf)?\.h|zip(conf)?\.h|z(lib|conf)\.h", ("src/io/", "tests/")),
    (r"sentencepiece_\w+\.h", ("src/tasks/bpe/",)),
    (r"mpi\.h", ("src/core/mpi/",)),
    (r"CLI/.*", ("apps/cli/",)),
    (r"torch/.*|ATen/.*|c10/.*", ("src/training/",)),
    (r"ceres/.*", ("src/theory/", "src/analysis/", "tests/unit/theory/", "apps/benchmarks/")),
    (r"benchmark/.*", ("apps/benchmarks/",)),
    (r"catch2/.*", ("tests/support/",)),
    (r"cblas\.h|lapacke?\.h", ("src/numerics/", "apps/live/")),
    (r"fmt/.*", ("src/", "apps/", "tests/")),  # never in a public header
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def includes_of(root, name):
    for number, line in enumerate((root / name).read_text().splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1), match.group(2)


def module_of(name):
    """'theory' for include/headway/theory/x.hpp, src/theory/x.cpp and include/headway/action.hpp, None elsewhere."""
    match = re.match(r"(?:include/headway|src)/([a-z_]+)/", name)
    return match.group(1) if match else FIRST_TIER_MODULES.get(first_tier_stem(name))


def module_included(target):
    """'theory' for headway/theory/x.hpp, theory/x.hpp and headway/action.hpp, None for headers of others."""
    match = re.match(r"(?:headway/)?([a-z_]+)/.+\.hpp$", target)
    module = FIRST_TIER_MODULES.get(first_tier_stem(target)) or (match.group(1) if match else None)
    return module if module in ARROWS else None


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
            used = module_included(target)
            if used is not None and used != module and used not in ARROWS[module]:
                faults.append(f"{name}:{number}: {module} must not include {used} ({target})")
            for rooms in SEPARATE_ROOMS:
                for here, there in (rooms, rooms[::-1]):
                    if f"/{here}/" in name and f"/{there}/" in f"/{target}":
                        faults.append(f"{name}:{number}: {here} must not include {there} ({target})")
    return faults


# Types that say how records lie in files (core/record.hpp). A source that names one knows of files.
FILE_LAYOUT = re.compile(r"core/record\.hpp|\bField(Layout|Place|Form)\b|\bRecordOf<")


def file_layout_faults(root):
    """Modules that compute know of no files. The lists of fields of their records stand in results, or in modules that may see
    results."""
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


def header_faults(root):
    faults = []
    for name in sources_of(root):
        if name.startswith("include/"):
            if module_of(name) is None:
                faults.append(f"{name}: public headers live in include/headway/<module>/, or in "
                              f"include/headway/ and FIRST_TIER")
            others = [line for line in (root / name).read_text().splitlines() if line.strip()]
            if name != UMBRELLA and all(re.match(r"\s*(#|//)", line) for line in others):
                faults.append(f"{name}: only includes other headers; {UMBRELLA} alone does")
            if not any(line.strip() == "#pragma once" for line in others):
                faults.append(f"{name}: no '#pragma once'")
        for number, bracket, target in includes_of(root, name):
            if ".." in target.split("/"):
                faults.append(f"{name}:{number}: include from the include root, not by '{target}'")
            if target.startswith("headway/") and bracket == "<":
                faults.append(f"{name}:{number}: include headway's own headers with quotes")
    return faults


def constants_of(text):
    """Names of constants outside functions."""
    return set(re.findall(r"(?m)^(?:inline |static )?constexpr [^=(;{]*?\b(k[A-Z]\w*)\s*(?:\[[^]]*\]\s*)?[={]", text))


def hidden_constant_faults(root):
    """The sources of a module are compiled as one file. There a constant of an unnamed namespace hides a header's constant of the
    same name from all sources that follow, without a warning."""

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
    """In a module that is compiled as one file, a source sees the constants of headers that earlier sources include. Compiled
    file by file it would not, so it must include them itself."""
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


# Which standard header has a name, of the names that public headers use. Some names have several headers.
STANDARD_NAMES = {
    "algorithm": "find_if max", "array": "array", "chrono": "chrono", "cmath": "isnan sqrt", "concepts": "integral same_as",
    "cstddef": "size_t", "cstdint": "int32_t int64_t uint8_t uint32_t uint64_t", "filesystem": "filesystem",
    "functional": "function", "limits": "numeric_limits", "map": "map",
    "memory": "enable_shared_from_this make_unique shared_ptr unique_ptr", "mutex": "once_flag", "numbers": "numbers",
    "optional": "optional", "set": "set",
    "span": "span", "stdexcept": "domain_error runtime_error", "string": "string to_string", "string_view": "string_view",
    "thread": "jthread", "tuple": "tuple",
    "typeinfo": "type_info",
    "type_traits": "is_arithmetic_v is_const_v is_enum_v is_floating_point_v is_integral_v is_same_v is_signed_v remove_const_t",
    "utility": "move pair swap", "variant": "get_if holds_alternative variant", "vector": "vector",
}
STANDARD_HOMES = {name: header for header, names in STANDARD_NAMES.items() for name in names.split()}
ALSO_BRING = {"pair": {"map"}, "string_view": {"string"}, "size_t": {"array", "span", "string", "string_view", "vector"}}


def standard_include_faults(root):
    """What a public header uses of the standard library and of Eigen is included: by itself, or by a public header that it
    includes. The compiler does not tell, since headers are compiled alone with these precompiled."""
    headers = [name for name in sources_of(root) if name.startswith("include/")]
    texts = {name: re.sub(r"//[^\n]*", "", (root / name).read_text()) for name in headers}
    included = {name: {target for _, _, target in includes_of(root, name)} for name in headers}
    faults = []
    for name in headers:
        reached, ahead = set(), [name]
        while ahead:
            new = included.get(ahead.pop(), set()) - reached
            reached |= new
            ahead += ["include/" + target for target in new]
        for used in sorted(set(re.findall(r"\bstd::(\w+)", texts[name]))):
            home = STANDARD_HOMES.get(used)
            if home is None:
                faults.append(f"{name}: std::{used} has no header in STANDARD_NAMES")
            elif not reached & ({home} | ALSO_BRING.get(used, set())):
                faults.append(f"{name}: std::{used} is that of <{home}>, which it does not include")
        if re.search(r"\bEigen::", texts[name]) and not any(target.startswith("Eigen/") for target in reached):
            faults.append(f"{name}: uses Eigen and does not include it")
    return faults


def upward_faults(root):
    """Nothing in src/ reads a file of apps/, which stand above the library."""
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


class SourcesKnowWhatTheyMay(RealTree):
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

    def test_no_constant_hides_another(self):
        self.check(hidden_constant_faults(ROOT))

    def test_sources_include_the_headers_of_their_constants(self):
        self.check(missing_include_faults(ROOT))

    def test_public_headers_include_the_standard_headers_of_their_names(self):
        self.check(standard_include_faults(ROOT))

    def test_the_library_reads_nothing_of_its_applications(self):
        self.check(upward_faults(ROOT))


class WhatHeadersPullIn(unittest.TestCase):
    def test_a_program_that_solves_sees_nothing_of_the_trainer(self):
        pulled = included_by(ROOT / "include")["headway/solve.hpp"]
        self.assertEqual([header for header in pulled if header.startswith(("headway/training/", "headway/study"))], [])
        said = re.search(r"`headway/solve.hpp` alone pulls in (\d+) of our headers", (ROOT / "src/README.md").read_text())
        self.assertEqual(int(said.group(1)), len(pulled) - ("headway/solve.hpp" in pulled))


class HeadersAreCompiledAlone(unittest.TestCase):
    def test_each_header_sees_only_what_it_includes(self):
        included = included_by(ROOT / "include")
        chains = chains_of(included)
        self.assertEqual(sorted(header for chain in chains for header in chain), sorted(included))
        self.assertGreater(len(included), 100)
        self.assertLess(len(chains), len(included) / 2)
        for chain in chains:
            for number, header in enumerate(chain):
                self.assertLessEqual(set(chain[:number]), included[header], header)

    def test_few_chains(self):
        included = {"a": set(), "b": {"a"}, "c": {"a"}, "d": {"a", "b", "c"}, "e": {"f"}, "f": {"e"}}
        chains = chains_of(included)
        self.assertEqual(len(chains), 4)
        self.assertIn(["e"], chains)  # of two that include each other neither may come first
        self.assertIn(["f"], chains)


class RulesCatchViolations(MadeTree):
    """Each rule on a tree that breaks it, so that no rule passes because it looks at nothing."""

    def test_arrows(self):
        upward = {"src/model/a.cpp": '#include "headway/theory/b.hpp"\n'}
        private = {"src/numerics/a.cpp": '#include "model/b.hpp"\n'}
        sibling = {"include/headway/tasks/a.hpp": '  #  include "headway/model/b.hpp"\n'}
        unknown = {"src/misc/a.cpp": "int a;\n"}
        first_tier = {"src/theory/a.cpp": '#include "headway/solve.hpp"\n'}
        allowed = {"src/theory/a.cpp": '#include "headway/model/b.hpp"\n#include "theory/c.hpp"\n'}
        room = {"src/verbs/theory/a.cpp": '#include "verbs/networks/b.hpp"\n'}
        for tree in (upward, private, sibling, unknown, first_tier, room):
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
        outside = {"include/headway/all.hpp": "#pragma once\nint a;\n"}
        self.assertEqual(self.faults(header_faults, files={UMBRELLA: '#pragma once\n#include "headway/solve.hpp"\n'}), [])
        unguarded = {"include/headway/core/a.hpp": "int a;\n"}
        relative = {"src/core/a.cpp": '#include "../io/b.hpp"\n'}
        brackets = {"src/core/a.cpp": "#include <headway/core/b.hpp>\n"}
        for tree in (umbrella, outside, unguarded, relative, brackets):
            self.assertEqual(len(self.faults(header_faults, files=tree)), 1, tree)

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

    def test_standard_includes(self):
        tree = {"include/headway/core/b.hpp": "#include <vector>\n#include <Eigen/Core>\n"}
        through = '#include "headway/core/b.hpp"\n'
        for text, wrong in (("std::vector<int> x;\n", 1), ("#include <vector>\nstd::vector<int> x;\n", 0),
                            (through + "std::vector<std::size_t> x;\n", 0), ("Eigen::MatrixXd x;\n", 1),
                            (through + "Eigen::MatrixXd x;\n", 0), ("// std::vector\n", 0), ("std::barrier x;\n", 1),
                            (through + "std::string x;\nstd::map<int, int> y;\n", 2)):
            found = self.faults(standard_include_faults, files=tree | {"include/headway/core/c.hpp": text})
            self.assertEqual(len(found), wrong, text)

    def test_upward(self):
        for name, line in (("src/CMakeLists.txt", "file(READ ${PROJECT_SOURCE_DIR}/apps/python/a.json a)"),
                           ("CMakeLists.txt", "set(version_file apps/python/version.py)"),
                           ("src/cmake/a.cpp.in", '#include "apps/cli/a.hpp"'), ("src/io/a.cpp", 'open("../apps/a.json");')):
            self.assertEqual(len(self.faults(upward_faults, files={name: line})), 1, name)
        allowed = {"src/CMakeLists.txt": "# as apps/python says\n", "CMakeLists.txt": "add_subdirectory(apps)\n",
                   "src/io/a.cpp": "// apps/cli prints it\nf(maps/b);\n", "src/README.md": "apps/cli\n",
                   "apps/CMakeLists.txt": "file(READ apps/a b)\n"}
        self.assertEqual(self.faults(upward_faults, files=allowed), [])


if __name__ == "__main__":
    ROOT = root_asked_for()
    unittest.main()
