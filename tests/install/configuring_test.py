"""What CMake says of options that are wrong, or that change nothing."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
SMALL = {"HEADWAY_BUILD_TESTS": "OFF", "HEADWAY_BUILD_BENCHMARKS": "OFF", "HEADWAY_TRAINING": "OFF", "HEADWAY_MPI": "OFF",
         "HEADWAY_CUDA": "OFF"}


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.build = folder.name

    def configure(self, **options):
        """Whether CMake accepts the options, and its messages as one line."""
        command = ["cmake", "-S", SOURCE, "-B", self.build, "-G", os.environ["HEADWAY_GENERATOR"],
                   f"-DCMAKE_CXX_COMPILER={os.environ['HEADWAY_CXX']}", "-UPython_*",
                   *(f"-D{name}={value}" for name, value in {**SMALL, "BUILD_SHARED_LIBS": "OFF",
                                                             "HEADWAY_PYTHON": "/usr/bin/python3", **options}.items())]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode == 0, " ".join(done.stdout.split())

    def refused(self, said, **options):
        accepted, text = self.configure(**options)
        self.assertFalse(accepted, text)
        self.assertIn(said, text)

    def test_a_choice_is_one_of_three_words(self):
        for name, word in (("HEADWAY_TRAINING", "YEP"), ("HEADWAY_TRAINING", ""), ("HEADWAY_MPI", "YEP"), ("HEADWAY_CUDA", "auto")):
            with self.subTest(name=name, word=word):
                self.refused(f'{name} = "{word}": must be AUTO, ON or OFF', **{name: word})

    def test_tests_need_a_python(self):
        for python in ("", "/nonexistent", "/bin/false"):
            with self.subTest(python=python):
                self.refused(f'HEADWAY_PYTHON = "{python}": must be a Python of version 3.9 or newer',
                             HEADWAY_PYTHON=python, HEADWAY_BUILD_TESTS="ON")

    def test_an_extension_module_without_python_says_so(self):
        accepted, text = self.configure(HEADWAY_PYTHON="/nonexistent")
        self.assertTrue(accepted, text)
        self.assertIn('HEADWAY_PYTHON = "/nonexistent" is no Python of version 3.9 or newer', text)
        self.assertNotIn("pybind11", text)

    def test_shared_libraries_are_told_to_be_static(self):
        accepted, text = self.configure(BUILD_SHARED_LIBS="ON")
        self.assertTrue(accepted, text)
        self.assertIn("BUILD_SHARED_LIBS=ON has no effect", text)
        self.assertNotIn("BUILD_SHARED_LIBS", self.configure()[1])


if __name__ == "__main__":
    unittest.main()
