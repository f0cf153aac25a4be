"""What the checks share: the files of a tree, its C++ sources, and bases of tests on the real tree and on made ones."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE_SUFFIXES = {".cpp", ".hpp"}


def files_of(root):
    """The files under version control and new ones that git does not ignore; every file outside git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, capture_output=True, check=False)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        names = [name for name in names if not re.match(r"(build|results)/|(.*/)?__pycache__/", name)]
    return sorted(name for name in set(names) if (root / name).is_file())


def sources_of(root):
    return [name for name in files_of(root)
            if pathlib.PurePath(name).suffix in SOURCE_SUFFIXES
            and name.startswith(("include/", "src/", "apps/", "tests/"))]


def first_tier_stem(name):
    """'action' for include/headway/action.hpp and headway/action.hpp, None elsewhere."""
    match = re.fullmatch(r"(?:include/)?headway/([a-z_0-9]+)\.hpp", name)
    return match.group(1) if match else None


class RealTree(unittest.TestCase):
    def check(self, faults):
        self.assertFalse(faults, "\n" + "\n".join(faults))


class MadeTree(unittest.TestCase):
    def faults(self, rule, files):
        """What the rule finds in a tree of these files ({name: text})."""
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return rule(root)


def root_asked_for():
    """DIR of --root DIR, which it takes off the command line; else the tree of this file."""
    if "--root" not in sys.argv:
        return ROOT
    at = sys.argv.index("--root")
    root = pathlib.Path(sys.argv[at + 1]).resolve()
    del sys.argv[at:at + 2]
    return root
