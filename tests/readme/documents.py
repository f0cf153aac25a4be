"""Runs what documents show, and compares what is printed with what they say.

The blocks of a document run in order, in one empty folder that has the repository's data:

    ```python     lines of one Python session; a ```text block right after them is what they print
    ```console    the lines `$ headway ...`, `$ python3 ...` and `$ mpirun ... headway ...` are commands, a line that ends
                  in \\ goes on in the next, and the lines below a command are what it prints

`...` stands for lines that are left out. Times may differ. After the comment MACHINE all numbers of the next block may differ,
since training and chains go another way on another processor.
"""

import dataclasses
import glob
import importlib.util
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import unittest

PROGRAM = os.environ["HEADWAY_PROGRAM"]
ROOT = pathlib.Path(os.environ["HEADWAY_ROOT"])
PACKAGE = ROOT / "apps" / "python"
TUTORIAL = ROOT / "apps" / "docs" / "tutorial"
MACHINE = "<!-- numbers differ between machines -->"
BLOCK = re.compile(rf"({re.escape(MACHINE)}\n)?```(python|console)\n(.*?)```(?:\n+```text\n(.*?)```)?", re.DOTALL)
NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?(?:\d[\d,]*\.?\d*(?:e[-+]?\d+)?|nan)")

# What MPI needs to run where tests run: as root, on one machine, which may have fewer cores than ranks.
RANKS = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "sh",
         "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@dataclasses.dataclass
class Block:
    """One block. `shown` is what a program prints, None where the document does not say."""

    kind: str
    text: str
    shown: str | None
    any_number: bool


def blocks(text):
    return [Block(kind, body, shown or None, bool(machine)) for machine, kind, body, shown in BLOCK.findall(text)]


def documents():
    """The documents that show commands, README.md first."""
    found = sorted(path for path in ROOT.rglob("*.md")
                   if "build" not in path.relative_to(ROOT).parts and "```console" in path.read_text())
    return sorted(found, key=lambda path: path != ROOT / "README.md")


def commands(block):
    """[(words, lines shown)] of the text of a console block."""
    found, goes_on = [], False
    for line in block.splitlines():
        if goes_on or line.startswith("$ "):
            words = shlex.split(line.removeprefix("$ ").removesuffix("\\"))
            if goes_on:
                found[-1][0].extend(words)
            else:
                found.append((words, []))
            goes_on = line.endswith("\\")
        elif found:
            found[-1][1].append(line)
    return found


# ---- what is printed against what is shown


def number(word):
    try:
        return float(word.rstrip(","))
    except ValueError:
        return None


def same_word(shown, printed):
    if shown == printed:
        return True
    a, b = number(shown), number(printed)
    if a is None or b is None:
        return False
    return abs(a - b) <= 2e-3 * abs(a) or max(abs(a), abs(b)) < 1e-6  # gradients at the solution differ by rounding


def same_line(shown, printed, ends_with_time, any_number=False):
    if any_number:
        shown, printed = (" ".join(NUMBER.sub("#", line).split()) for line in (shown, printed))
        return shown == printed
    a, b = shown.split(), printed.split()
    if ends_with_time and a and b and number(a[-1]) is not None:
        a, b = a[:-1], b[:-1]
    return len(a) == len(b) and all(map(same_word, a, b))


def differences(shown, printed, any_number=False):
    """The lines of `shown` that are not in `printed`, in order."""
    printed = [line for line in printed.splitlines() if line.strip()]
    faults, at, ends_with_time = [], 0, False
    for line in shown:
        if not line.strip() or line.strip() == "...":
            continue
        ends_with_time = line.split()[-1] == "seconds" or (ends_with_time and number(line.split()[-1]) is not None)
        here = next((k for k in range(at, len(printed)) if same_line(line, printed[k], ends_with_time, any_number)), None)
        if here is None:
            faults.append(line)
        else:
            at = here + 1
    return faults


# ---- running


def has_module(name):
    return importlib.util.find_spec(name) is not None


def can_train():
    plan = subprocess.run([PROGRAM, "train", "fuzzy-logic-small", "--dry-run", "--json"], text=True, capture_output=True,
                          check=True)
    return json.loads(plan.stdout)["can_train"]


def missing_for(block):
    """What this machine lacks to run a block; None if it lacks nothing."""
    if block.kind == "python":
        needed = [name for name in ("torch", "transformers") if re.search(rf"\b{name}\b", block.text)]
        lacking = [name for name in needed if not has_module(name)]
        computes = re.search(r"\bheadway\.(solve|sample|prune|align|train|latents|evaluate|kernel|action)\(", block.text)
        if computes and not list(PACKAGE.glob("headway/_native*.so")):
            lacking.append("the extension module")
        return " and ".join(lacking) or None
    words = [word for command, _ in commands(block.text) for word in command]
    if "mpirun" in words and not (os.environ.get("HEADWAY_HAS_MPI") == "1" and shutil.which("mpirun")):
        return "MPI"
    trains = re.search(r"headway train (?!.*--dry-run)", block.text, re.MULTILINE)
    return "LibTorch" if trains and not can_train() else None


SESSION = """
import contextlib, io, json, sys, traceback
names = {"__name__": "__main__"}
for line in sys.stdin:
    out, fault = io.StringIO(), ""
    try:
        with contextlib.redirect_stdout(out):
            exec(json.loads(line), names)
    except BaseException:
        fault = traceback.format_exc()
    print(json.dumps([out.getvalue(), fault]), flush=True)
"""


class Runner:
    """Runs blocks in one folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "data").symlink_to(ROOT / "data")
        self.environment = os.environ | RANKS | {"PYTHONPATH": str(PACKAGE), "PYTHONDONTWRITEBYTECODE": "1"}
        self.environment.pop("COLUMNS", None)  # documents show lines as a file gets them
        self.session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.session:
            self.session.communicate()

    def _run(self, words):
        done = subprocess.run(words, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"{words} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def python(self, text):
        if self.session is None:
            self.session = subprocess.Popen([sys.executable, "-c", SESSION], cwd=self.folder, env=self.environment,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.session.stdin.write(json.dumps(text) + "\n")
        self.session.stdin.flush()
        printed, fault = json.loads(self.session.stdout.readline())
        if fault:
            raise AssertionError(f"{text}\nended with {fault}")
        return printed

    def console(self, words):
        if words[0] not in ("headway", "python3", "mpirun"):
            raise AssertionError(f"documents may show headway, python3 and mpirun in console blocks, not {words[0]}")
        real = {"headway": [PROGRAM], "python3": [sys.executable]}
        command = list(real.get(words[0], words[:1]))
        for word in words[1:]:
            if word == "headway" and words[0] == "mpirun":
                command.append(PROGRAM)
            elif "*" in word:
                command += sorted(glob.glob(word, root_dir=self.folder)) or [word]
            else:
                command.append(word)
        return self._run(command)


class DocumentTest(unittest.TestCase):
    """Base of the tests that run documents."""

    def run_document(self, text, folder):
        """Runs all blocks; a block for which this machine lacks something ends the test as skipped. Returns the number of
        commands and programs."""
        count = 0
        with Runner(folder) as runner:
            for block in blocks(text):
                lacking = missing_for(block)
                if lacking:
                    self.skipTest(f"needs {lacking} after {count} of its commands")
                runs = [(block.text, block.shown)] if block.kind == "python" else commands(block.text)
                for what, shown in runs:
                    printed = runner.python(what) if block.kind == "python" else runner.console(what)
                    lines = shown.splitlines() if isinstance(shown, str) else shown or []
                    self.assertEqual(differences(lines, printed, block.any_number), [], f"{what} printed\n{printed}")
                    count += 1
        return count
