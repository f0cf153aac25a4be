"""What the package says where something is missing or too old: the Python, a package, the extension module, PyTorch."""

import subprocess
import sys
import tempfile
import types
import unittest
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from unittest import mock

import headway
from headway import native
from headway.base import torch_version
from headway.base.words import in_python, python_words


class ExtensionModule(unittest.TestCase):
    def text(self, *files):
        with tempfile.TemporaryDirectory() as folder:
            for file in files:
                (Path(folder) / file).touch()
            return native._missing(Path(folder))

    def test_a_missing_one_is_told(self):
        for files in ((), ("_native.pyi",), (f"_native{EXTENSION_SUFFIXES[0]}",)):  # the last one: it is hidden
            text = self.text(*files)
            self.assertIn("headway._native is missing: headway.solve and its like need it", text)
            self.assertIn(f"make build PYTHON={sys.executable}", text)
            self.assertIn("pip install ./apps/python", text)

    def test_one_of_another_python_is_told(self):
        text = self.text("_native.cpython-36m-x86_64-linux-gnu.so", "_native.cpython-399-x86_64-linux-gnu.so")
        own = f"Python {sys.version_info.major}.{sys.version_info.minor} ({sys.executable})"
        self.assertIn(f"was built for Python 3.6 and Python 3.99, and this is {own}. Use that Python, or build it for this one", text)
        self.assertIn(f"make build PYTHON={sys.executable}", text)

    def test_it_is_an_error_of_the_package(self):
        with mock.patch.dict(sys.modules, {"headway._native": None}), mock.patch.object(native, "_loaded", None):
            with self.assertRaisesRegex(headway.UnavailableError, "headway._native"):
                headway.solve("hmm-four-paths")


class Importing(unittest.TestCase):
    def imported(self, before):
        code = f"import sys\n{before}\nimport headway"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr.splitlines()[-1]

    def test_an_old_python_is_told(self):
        self.assertIn("ImportError: headway needs Python 3.10 or newer; this is Python",
                      self.imported("sys.version_info = (3, 9, 2, 'final', 0)"))

    def test_a_missing_package_is_told(self):
        said = self.imported("sys.modules['h5py'] = None")
        for words in ("ImportError: headway needs the package h5py", f"{sys.executable} -m pip install numpy h5py matplotlib"):
            self.assertIn(words, said)


class Torch(unittest.TestCase):
    def test_versions_that_are_too_old_are_told(self):
        for version, words in (("1.12.1+cu113", "needs PyTorch 1.13 or newer; this is 1.12.1"), ("1.13.0a0+gitunknown", None),
                               ("1.13.1", None), ("2.10.0", None)):
            with mock.patch.dict(sys.modules, {"torch": types.SimpleNamespace(__version__=version)}):
                if words is None:
                    torch_version.require_torch("headway.ablate_heads")
                    continue
                for call in (headway.ablate_heads, headway.gradient_sensitivity):
                    with self.assertRaisesRegex(headway.UnavailableError, words):
                        call(None, {}, [])
                with self.assertRaisesRegex(headway.UnavailableError, f"from_hugging_face: form=\"contributions\": {words}"):
                    headway.from_hugging_face("a.h5", None, {}, [], form="contributions")

    def test_a_missing_one_is_told(self):
        with mock.patch.dict(sys.modules, {"torch": None}):
            with self.assertRaisesRegex(headway.UnavailableError, "headway.head_baselines: needs PyTorch 1.13 or newer, which is not"):
                headway.head_baselines(None, {})


class Words(unittest.TestCase):
    def test_options_are_arguments(self):
        given = {"model.widths": "widths", "solve.corections": "settings['solve.corections']"}
        for said, expected in (
                ("--set model.widths=[0]: model.widths[1] = 0: must be 1", "widths=[0]: model.widths[1] = 0: must be 1"),
                ('--set solve.corections="off": unknown key', "settings['solve.corections']=\"off\": unknown key"),
                ("r.h5: it exists already (--force overwrites it)", "r.h5: it exists already (overwrite=True overwrites it)"),
                ("choose another -o, or start afresh with --force", "choose another output, or start afresh with overwrite=True"),
                ("need less (--dry-run shows the sizes)", "need less (dry_run=True shows the sizes)"),
                ("allowed: the result of headway train", "allowed: the result of headway.train"),
                ("of mpirun -n R headway solve alone", "of mpirun -n R headway solve alone"),
                ("--path-names: is 3", "path_names: is 3"), ("1 - 2 -- 3, a--b", "1 - 2 -- 3, a--b"),
                ("override the axis, for example --set 'sweep.train=[{attention = \"linear\"}]'",
                 'override the axis, for example settings={"sweep.train": [{"attention": "linear"}]}')):
            self.assertEqual(python_words(said, given), expected)

    def test_errors_keep_their_kind(self):
        with self.assertRaises(headway.BadDataError) as caught:
            with in_python():
                raise headway.BadDataError(["a: --force", "b"])
        self.assertEqual(caught.exception.faults, ("a: overwrite=True", "b"))
        with self.assertRaisesRegex(headway.CannotWriteError, "overwrite=True"):
            with in_python():
                raise headway.CannotWriteError("--force")


if __name__ == "__main__":
    unittest.main()
