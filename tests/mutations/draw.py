"""Puts small mistakes into the library, one at a time, and finds out which of them the tests notice.

    make mutations MUTATIONS=100 SEED=1

or by hand, with universalmutator installed:

    python3 tests/mutations/draw.py --count 100 --seed 1 [--tree DIR] [--wider]

The mistakes are those of universalmutator (PyPI): an operator, a number, a condition or a whole line is changed. A line
of src or of apps/python/native is drawn at random, then one of its mutations. Each is put into a copy of the
sources in DIR (by default build/mutations), built, and given to the tests of its module: unit, property, golden,
statistical. The first test that fails has noticed it. --wider gives those that no test noticed to the tests of the program
and of the Python package, too.

DIR/build/draw-COMMIT-SEED.jsonl keeps what was found, so that a run that was stopped goes on. DIR/build/draw.md is the
table. Mutations that do not compile, and those that compile to the same machine code, are counted separately, and others are
drawn in their place.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/structure"))
from check_includes import includes_of, module_included  # noqa: E402
# Files that only a GPU runs get no mutations. The kernels themselves do: the emulator runs them.
ON_A_GPU = re.compile(r"((attention|step)\.cu|attention_launches|cublas_product|gpu_step|/launch|cuda_device"
                      r"|gpu_attention|cuda_stream|device_attention|device_update|host_memory|bfloat16_products|built_gpu_kernels)(\.\w+)?$")
RULES = ["universal.rules", "cpp.rules", "c_like.rules"]  # as `mutate FILE cpp` takes them
NATIVE = "apps/python/native"
PROGRAM = ["headway_cli", "headway_python", "clock_jumps", "emulated_torch"]  # and what its tests load
TARGETS = ["unit_tests", "property_tests", "golden_tests", "statistical_tests", *PROGRAM]
LEAST_SECONDS = 60.0    # a test that became much slower counts as failed, but not before this time
MOST_BYTES = 12 << 30   # limit of memory, for mutations that take ever more
MOST_FILE_BYTES = 4 << 30


def sources(tree):
    """The files that mutations are put into, as paths below the tree."""
    listing = subprocess.run(["git", "ls-files", "-z", "src", NATIVE], cwd=tree, capture_output=True, check=True)
    names = [name for name in listing.stdout.decode().split("\0") if name.endswith((".cpp", ".hpp"))]
    return sorted(name for name in names if not ON_A_GPU.search(name))


def balance(text):
    return [text.count(a) - text.count(b) for a, b in ("()", "[]", "{}")]


def in_a_loop(lines, at):
    """Whether line `at` ends a statement of a loop, as the indentation of the lines above tells."""
    def indent(text):
        return len(text) - len(text.lstrip())
    if not lines[at].rstrip().endswith((";", "{", "}")):
        return False
    depth = indent(lines[at]) + 1
    for line in reversed(lines[:at + 1]):
        if not line.strip() or indent(line) >= depth:
            continue
        depth = indent(line)
        if re.match(r"\s*(for|while) \(", line):
            return True
        if depth == 0 or re.search(r"\]( \(|\(| \{)", line):  # a function, or one without a name
            return False
    return False


# `Type name` with a comma, an end or a value behind it, but for statements that begin with a word.
DECLARATION = re.compile(r"^\s*(?!return |throw |delete |else |goto )((const|static|constexpr|virtual|auto) )*"
                         r"[A-Za-z_][\w:]*(<.*>)?[&*]* \w+ ?(=|;|\(|\{|\[)")
PARAMETER = re.compile(r"[\w>][&*]* \w+( = [\w.:{}]+)?(,|\) (const )?(override )?[{;]$|$)")
NONSENSE = re.compile(r"[<>!]==|=<|%[+-]|-\+|\+[-*]|\)x|[=(,] ?[|%/]\w|\)\.\d|\d\.[(-]|\[&,|\w\(,|,\)")


def may_compile(lines, at, after):
    """False for the mutations that surely do not compile, or only change comments. It relies on the format: operators
    have blanks on both sides, template arguments and references do not."""
    before = lines[at]
    if before.lstrip().startswith(("//", "#", "namespace", "using", "template", "class", "struct")):
        return False
    if len(after.splitlines()) > 1:
        return in_a_loop(lines, at)
    if after.lstrip().startswith("/*"):
        return balance(before) == [0, 0, 0] and before.rstrip().endswith(";") and not DECLARATION.match(before)
    if balance(before) != balance(after) or len(NONSENSE.findall(after)) > len(NONSENSE.findall(before)):
        return False
    changed = len(os.path.commonprefix([before, after]))
    if "//" in before[:changed]:
        return False
    operator = changed - 1 if before[changed - 1] in "<>" and after[changed] == "=" else changed
    if before[operator] in "<>&|*" and before[operator - 1] != " ":
        return False
    swapped = sorted(before.replace(" ", "")) == sorted(after.replace(" ", ""))
    if swapped and PARAMETER.search(before.split("//")[0].strip()):
        return False
    word = re.search(r"\w*$", before[:changed]).group()
    if word and re.match(r"[A-Za-z_]", word) and re.match(r"\w", before[changed:]):  # a part of a name
        return False
    return not (before[changed:changed + 1].isdigit() or word[-1:].isdigit()) or not re.match(r"[A-Za-z_]", word)


def mutations_of(path):
    """(line number, changed line) of all mutations of a file, except those inside quoted texts."""
    from universalmutator import mutator  # pylint: disable=import-outside-toplevel
    lines = path.read_text().splitlines(keepends=True)
    with contextlib.redirect_stdout(io.StringIO()):
        found = mutator.mutants_regexp(lines, ruleFiles=RULES, ignorePatterns=[], ignoreStringOnly=True)
    return [(line, text) for line, text, *_ in found if may_compile(lines, line - 1, text)]


def drawn(tree, seed):
    """Mutations without end. For each a line is drawn that was not drawn before, then one of its mutations."""
    lines = {}
    for name in sources(tree):
        for line, text in mutations_of(tree / name):
            lines.setdefault((name, line), []).append(text)
    order = sorted(lines)
    rng = random.Random(seed)
    rng.shuffle(order)
    for name, line in order:
        yield name, line, rng.choice(lines[name, line])


class Tests:
    """The tests of a build tree: their commands, as ctest runs them, and how long each takes on sound sources."""

    def __init__(self, tree, seconds_file):
        listing = subprocess.run(["ctest", "--test-dir", str(tree.build), "--show-only=json-v1"], capture_output=True,
                                 check=True)
        self.sources = tree.folder
        self.entries = {test["name"]: self.entry(test) for test in json.loads(listing.stdout)["tests"]}
        self.seconds_file = seconds_file
        self.seconds = json.loads(seconds_file.read_text()) if seconds_file.is_file() else {}

    @staticmethod
    def entry(test):
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        return {"command": test.get("command", []), "labels": properties.get("LABELS", []),
                "environment": dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", [])),
                "skips": properties.get("SKIP_RETURN_CODE"), "disabled": bool(properties.get("DISABLED", False)),
                "folder": properties["WORKING_DIRECTORY"]}

    def program(self, name):
        command = self.entries[name]["command"]
        return Path(command[0]).name if command else ""

    def named(self, chosen):
        return [name for name, entry in self.entries.items() if entry["command"] and not entry["disabled"] and chosen(name)]

    def stages(self, source):
        """(what to build, its tests) for a source, the nearest first."""
        module = source.split("/")[1]
        if source.startswith(NATIVE):
            yield ["headway_python", "headway_cli"], self.nearest(source, self.named(lambda n: re.match(r"python\.program_", n)
                                                                                     and not re.search("soak", n)))
            return
        unit = f"unit_{module}_tests"
        if unit in map(self.program, self.entries):
            yield [unit], self.nearest(source, self.named(lambda n: self.program(n) == unit))
        if "/mpi/" in source:
            yield ["headway_cli", "headway_mpi"], self.named(lambda n: n.startswith("cluster.") and "slurm" not in n)
        yield ["property_tests"], self.nearest(source, self.named(lambda n: self.program(n) == "property_tests"))
        yield ["golden_tests", "headway_cli"], self.named(lambda n: n.startswith("golden."))
        yield ["statistical_tests"], self.nearest(source, self.named(lambda n: self.program(n) == "statistical_tests"
                                                                     and self.includes(n, module)))

    def wider_stages(self, source):
        """The tests of the other modules, of the program and of the package."""
        unit = f"unit_{source.split('/')[1]}_tests"
        yield ["unit_tests"], self.named(lambda n: re.match(r"unit_\w+_tests$", self.program(n)) and self.program(n) != unit)
        yield PROGRAM, self.named(lambda n: re.match(r"(cli|readme|python)\.", n)
                                                            and not re.search("soak|kill|site|notebook|changed_bytes", n))

    def includes(self, name, module):
        """Whether a test includes a header of a module."""
        label, stem = name.split(".", 1)
        return any(module_included(target) == module
                   for _, _, target in includes_of(self.sources, f"tests/{label}/{stem}.cpp"))

    def nearest(self, source, names):
        """The tests in order: those named like the source first, then the others, quicker ones first."""
        words = set(re.split(r"[_.]", Path(source).stem))
        return sorted(names, key=lambda n: (-len(words & set(re.split(r"[_.]", n))), self.seconds.get(n, 0.0)))

    def run(self, name, limit):
        """True where a test passes."""
        entry = self.entries[name]
        with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
            process = subprocess.Popen(entry["command"], cwd=entry["folder"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=limited,
                                       env={**os.environ, **entry["environment"], "TMPDIR": folder})
            try:
                process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                pass
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return process.returncode == 0 or process.returncode == entry["skips"]

    def failing(self, names):
        """The first test that fails, or None."""
        for name in names:
            if name in self.seconds and not self.run(name, max(LEAST_SECONDS, 10 * self.seconds[name])):
                return name
        return None

    def measure(self, tree, targets, names):
        """Runs tests on sound sources. A test that fails there is not used."""
        new = [name for name in names if name not in self.seconds and f"-{name}" not in self.seconds]
        if new:
            tree.compile(targets)
        for name in new:
            start = time.monotonic()
            passed = self.run(name, 1200)
            self.seconds[name if passed else f"-{name}"] = round(time.monotonic() - start, 2)
            self.seconds_file.write_text(json.dumps(self.seconds, indent=0))
            if not passed:
                print(f"{name} fails on sound sources and is left out", file=sys.stderr)


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_FILE_BYTES, MOST_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Tree:
    """A copy of the sources of one commit, with a build folder of its own."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.build = folder / "build/release"
        self.codes = {}

    def make(self, commit):
        if not self.folder.is_dir():
            # --force: git remembers a worktree whose folder was deleted with build/.
            subprocess.run(["git", "worktree", "add", "--force", "--detach", str(self.folder), commit], cwd=ROOT, check=True)
        # A folder that is there may have the sources of an earlier commit, or a mutation that a killed draw left.
        subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=self.folder, check=True)
        launcher = shutil.which("ccache")
        subprocess.run(["cmake", "--preset", "release", "-DCMAKE_UNITY_BUILD=ON", "-DHEADWAY_BUILD_BENCHMARKS=OFF",
                        "-DHEADWAY_CUDA=OFF", f"-DHEADWAY_PYTHON={os.environ.get('HEADWAY_PYTHON', '/usr/bin/python3')}",
                        f"-DCMAKE_PROJECT_headway_INCLUDE={Path(__file__).parent / 'library.cmake'}",
                        *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else [])],
                       cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        if not self.compile(TARGETS):
            raise SystemExit("the sound sources do not build")
        self.codes = {path: self.code(path) for path in self.objects()}

    def compile(self, targets):
        return subprocess.run(["cmake", "--build", str(self.build), "--parallel", str(self.jobs), "--target", *targets],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def objects(self):
        return [path for path in self.build.rglob("*.o") if "cmake_pch" not in path.name]

    @staticmethod
    def code(path):
        return hashlib.sha1(path.read_bytes()).hexdigest()

    def same_code(self, since):
        """True where nothing that was compiled since then differs from the sound sources'."""
        return all(self.codes.get(path) == self.code(path) for path in self.objects() if path.stat().st_mtime >= since)


def judge(tree, tests, mutation, stages):
    """What becomes of a mutation: `does not compile`, `same code`, `survived`, or the test that noticed it."""
    name, line, text = mutation
    path = tree.folder / name
    sound = path.read_text()
    lines = sound.splitlines(keepends=True)
    lines[line - 1] = text
    stages = list(stages)
    for targets, names in stages:
        tests.measure(tree, targets, names)
    start = time.time()
    try:
        path.write_text("".join(lines))
        for targets, names in stages:
            if not tree.compile(targets):
                return "does not compile"
            if tree.same_code(start - 1):
                return "same code"
            noticed = tests.failing(names)
            if noticed:
                return noticed
    finally:
        path.write_text(sound)
    return "survived"


NOT_COUNTED = ("does not compile", "same code")


def table(found, commit, seed):
    """The draw as a page of Markdown."""
    counted = [f for f in found if f["outcome"] not in NOT_COUNTED]
    survived = [f for f in counted if f["outcome"] == "survived"]
    yield f"Commit {commit}, seed {seed}.\n"
    yield "| drawn | number |\n|---|---|"
    yield f"| noticed by a test | {len(counted) - len(survived)} |"
    yield f"| survived | {len(survived)} |"
    for other in NOT_COUNTED:
        yield f"| {other} | {sum(f['outcome'] == other for f in found)} |"
    yield "\n| file | line | before | after | noticed by |\n|---|---|---|---|---|"
    for f in counted:
        cells = ["`` " + f[word].strip().replace("|", "\\|").replace("\n", " ") + " ``" for word in ("before", "after")]
        yield f"| {f['file']} | {f['line']} | {' | '.join(cells)} | {f['outcome']} |"


class Draw:
    """What was found of one commit with one seed, kept after every mutation."""

    def __init__(self, folder, commit, seed):
        self.folder, self.commit, self.seed = folder, commit, seed
        self.file = folder / f"draw-{commit}-{seed}.jsonl"
        self.found = [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.is_file() else []

    def counted(self):
        return sum(f["outcome"] not in NOT_COUNTED for f in self.found)

    def knows(self, name, line):
        return any((f["file"], f["line"]) == (name, line) for f in self.found)

    def keep(self):
        self.file.write_text("".join(json.dumps(f) + "\n" for f in self.found))
        (self.folder / "draw.md").write_text("\n".join(table(self.found, self.commit, self.seed)) + "\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=100, help="mutations that compile to other code")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tree", type=Path, default=ROOT / "build/mutations", help="where to build")
    parser.add_argument("--commit", default="HEAD", help="the sources to change")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--wider", action="store_true", help="give those that survived to more tests")
    return parser.parse_args()


def main():
    options = arguments()
    commit = subprocess.run(["git", "rev-parse", "--short", options.commit], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.strip()
    tree = Tree(options.tree.resolve(), options.jobs)
    tree.make(commit)
    draw = Draw(tree.folder / "build", commit, options.seed)
    tests = Tests(tree, draw.folder / "seconds.json")
    for name, line, text in drawn(tree.folder, options.seed):
        if options.wider or draw.counted() >= options.count:
            break
        if draw.knows(name, line):
            continue
        start = time.monotonic()
        before = (tree.folder / name).read_text().splitlines()[line - 1]
        outcome = judge(tree, tests, (name, line, text), tests.stages(name))
        draw.found.append({"file": name, "line": line, "before": before, "after": text, "outcome": outcome,
                           "seconds": round(time.monotonic() - start, 1)})
        print(f"{len(draw.found)}: {name}:{line}: {outcome}", flush=True)
        draw.keep()
    for f in draw.found if options.wider else []:
        if f["outcome"] == "survived":
            f["outcome"] = judge(tree, tests, (f["file"], f["line"], f["after"]), tests.wider_stages(f["file"]))
            print(f"{f['file']}:{f['line']}: {f['outcome']}", flush=True)
            draw.keep()
    print(draw.folder / "draw.md")


if __name__ == "__main__":
    main()
