"""The archive of `make bundle`: what its start script finds, and that it runs with no library but its own and the system's."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["HEADWAY_BUILD"])
VERBS_OF_NETWORKS = ("train", "rank")


class StartScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve() / "a bundle"
        for name in ("bin", "lib"):
            (self.root / name).mkdir(parents=True)
        shutil.copy(SOURCE / "apps/setup/start.sh", self.root / "headway")
        (self.root / "lib/torch.version").write_text("2.15.0+cu132\n")
        self.script(self.root / "bin/headway", 'echo "$LD_LIBRARY_PATH|$*"')

    def script(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    def start(self, *arguments, python="/nowhere/python3"):
        done = subprocess.run([self.root / "headway", *arguments], env={"PATH": os.environ["PATH"], "PYTHON": python},
                              capture_output=True, text=True, check=True)
        libraries, words = done.stdout.strip().split("|")
        return libraries.split(":"), words, done.stderr

    def test_torch_is_looked_for_by_verbs_of_networks_alone(self):
        found = self.script(self.root / "python3", 'echo "2.15.1 /torch/lib:/nvidia/lib"')
        own = str(self.root / "lib/needed")
        for verb in VERBS_OF_NETWORKS:
            self.assertEqual(self.start(verb, "a study", "-q", python=found), ([own, "/torch/lib", "/nvidia/lib"], f"{verb} a study -q", ""))
        self.assertEqual(self.start("solve", python=found), ([own], "solve", ""))
        self.assertEqual(self.start("train"), ([own], "train", ""))  # no Python

    def test_another_pytorch_is_named(self):
        other = self.script(self.root / "python3", 'echo "2.6.0 /torch/lib"')
        libraries, _, warning = self.start("train", python=other)
        self.assertEqual(len(libraries), 2)
        self.assertIn("built for PyTorch 2.15.0+cu132, and 2.6.0 is here", warning)


class Archive(unittest.TestCase):
    def test_it_runs_where_it_is_moved(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([SOURCE / "apps/setup/bundle.sh", BUILD, folder, "folder"], check=True, capture_output=True)
            [made] = Path(folder).iterdir()
            moved = made.rename(Path(folder) / "moved")
            maps = subprocess.run(["ldd", moved / "bin/headway"], env={"LD_LIBRARY_PATH": str(moved / "lib/needed")},
                                  capture_output=True, text=True, check=True).stdout
            foreign = [line for line in maps.splitlines() if "=> /" in line and str(moved) not in line]
            for name in ("hdf5", "ceres", "openblas", "fmt"):
                self.assertEqual([line for line in foreign if name in line], [])
            solved = subprocess.run([moved / "headway", "solve", "hmm-four-paths", "--set", "model.widths=[10]", "-q"],
                                    env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
            self.assertIn("0.9510", solved.stdout)


if __name__ == "__main__":
    unittest.main()
