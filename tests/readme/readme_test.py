"""Runs the blocks of every document that has ```console blocks, in order, in one empty folder a document: ```python blocks
as programs, the `$ headway` lines of ```console blocks as commands whose output must be the one shown (times aside; `...`
stands for left-out lines).

With --update the shown output is replaced by what is printed now (HEADWAY_PROGRAM=... HEADWAY_ROOT=... as in ctest);
lines that `...` stood for have to be left out again by hand.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["HEADWAY_PROGRAM"]
ROOT = pathlib.Path(os.environ["HEADWAY_ROOT"])
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


def documents():
    """The documents that show commands, README.md first."""
    found = sorted(path for path in ROOT.rglob("*.md")
                   if "build" not in path.relative_to(ROOT).parts and "```console" in path.read_text())
    return sorted(found, key=lambda path: path != ROOT / "README.md")


def blocks(text):
    return [(match.group(1), match.group(2)) for match in BLOCK.finditer(text)]


def commands(block):
    """[(arguments, lines shown)] of a console block."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((shlex.split(line[2:]), []))
        elif found:
            found[-1][1].append(line)
    return found


def number(word):
    try:
        return float(word)
    except ValueError:
        return None


def same_word(shown, printed):
    if shown == printed:
        return True
    a, b = number(shown), number(printed)
    if a is None or b is None:
        return False
    if shown.isdigit() and printed.isdigit() and max(a, b) < 30:
        return abs(a - b) <= 2  # iterations may differ by rounding between machines
    return abs(a - b) <= 2e-3 * abs(a) or max(abs(a), abs(b)) < 1e-6  # and so do gradients at the solution


def same_line(shown, printed, ends_with_time):
    a, b = shown.split(), printed.split()
    if ends_with_time and a and b and number(a[-1]) is not None:
        a, b = a[:-1], b[:-1]
    return len(a) == len(b) and all(map(same_word, a, b))


def differences(shown, printed):
    """The lines of `shown` that are not in `printed`, in order."""
    printed = [line for line in printed.splitlines() if line.strip()]
    faults, at, ends_with_time = [], 0, False
    for line in shown:
        if not line.strip() or line.strip() == "...":
            continue
        ends_with_time = line.split()[-1] == "seconds" or (ends_with_time and number(line.split()[-1]) is not None)
        here = next((k for k in range(at, len(printed)) if same_line(line, printed[k], ends_with_time)), None)
        if here is None:
            faults.append(line)
        else:
            at = here + 1
    return faults


class Runner:
    """Runs blocks in one empty folder that has the repository's data."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "data").symlink_to(ROOT / "data")
        (self.folder / "results").mkdir()

    def python(self, block):
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "apps" / "python"))
        subprocess.run([sys.executable, "-c", block], cwd=self.folder, env=environment, check=True)

    def console(self, arguments):
        if arguments[0] != "headway":
            raise AssertionError(f"documents may show only headway in console blocks, not {arguments[0]}")
        done = subprocess.run([PROGRAM, *arguments[1:]], cwd=self.folder, text=True, capture_output=True)
        if done.returncode != 0:
            raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stderr}")
        return done.stdout


def updated(text):
    with tempfile.TemporaryDirectory() as directory:
        runner = Runner(directory)

        def rerun(match):
            if match.group(1) == "python":
                runner.python(match.group(2))
                return match.group(0)
            lines = []
            for line in match.group(2).splitlines():
                if line.startswith("$ "):
                    lines += [line, runner.console(shlex.split(line[2:])).rstrip(), ""]
            return "```console\n" + "\n".join(lines[:-1]) + "\n```"

        return BLOCK.sub(rerun, text)


class DocumentsTest(unittest.TestCase):
    def test_blocks_do_what_is_shown(self):
        counts = {"python": 0, "console": 0}
        for document in documents():
            with self.subTest(document=document.name), tempfile.TemporaryDirectory() as directory:
                runner = Runner(directory)
                for kind, block in blocks(document.read_text()):
                    if kind == "python":
                        runner.python(block)
                        counts[kind] += 1
                        continue
                    for arguments, shown in commands(block):
                        printed = runner.console(arguments)
                        self.assertEqual(differences(shown, printed), [], f"{arguments} printed\n{printed}")
                        counts[kind] += 1
        self.assertIn(ROOT / "README.md", documents())
        self.assertGreaterEqual(counts["python"], 1)
        self.assertGreaterEqual(counts["console"], 5)

    def test_a_wrong_number_is_noticed(self):
        printed = "N accuracy seconds\n10 0.951 0.12\n\n30 0.945 0.34\n"
        self.assertEqual(differences(["N accuracy seconds", "10 0.951 9.9", "..."], printed), [])
        self.assertEqual(differences(["10 0.961 0.12"], printed), ["10 0.961 0.12"])
        self.assertEqual(differences(["30 0.945 0.34", "10 0.951 0.12"], printed), ["10 0.951 0.12"])


if __name__ == "__main__":
    if "--update" in sys.argv:
        for shown in documents():
            shown.write_text(updated(shown.read_text()))
    else:
        unittest.main()
