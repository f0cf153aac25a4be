"""The Debian packages of this build, unpacked into a folder and used from there as an installation is."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["HEADWAY_BUILD"])
SOURCE = Path(__file__).resolve().parents[2]
FOLDER = tempfile.TemporaryDirectory()
HERE = Path(FOLDER.name)
ROOT = HERE / "root"
PACKAGE = ROOT / "usr/lib/python3/dist-packages"
# Packages that any file may be linked with, even if its package does not depend on them.
ALWAYS = {"libc6", "libgcc-s1", "libstdc++6"}


def run(*command, **variables):
    """What a command prints. It runs outside the source tree, and without the environment variables that point into it."""
    clean = {"PATH": "/usr/bin:/bin", "HOME": str(HERE), "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    done = subprocess.run([str(word) for word in command], cwd=HERE, env=clean | variables, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def linked_with(file):
    return set(re.findall(r"NEEDED.*\[(.+)\]", run("readelf", "-d", file)))


def packages_of(libraries):
    """The Debian packages that have these shared libraries."""
    found = set()
    for line in run("ldconfig", "-p", PATH="/sbin:/usr/sbin").splitlines():
        name, _, place = line.strip().partition(" (")
        if name in libraries and "x86-64" in place:
            file = place.rpartition("=> ")[2]
            for path in (file, os.path.realpath(file), "/usr" + os.path.realpath(file)):
                known = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True, check=False)
                if known.returncode == 0:
                    found.add(known.stdout.split(":")[0])
                    break
    return found


@unittest.skipUnless(shutil.which("dpkg-shlibdeps") and shutil.which("cpack"), "no Debian: dpkg-dev is missing")
class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(FOLDER.cleanup)
        configuration = BUILD / "CPackConfig.cmake"
        parts = re.search(r'CPACK_COMPONENTS_ALL "([^"]+)"', configuration.read_text())[1].split(";")
        cls.parts = [part for part in parts if part != "development"]  # install.consumer tests that part
        run("cpack", "-G", "DEB", "--config", configuration, "-B", HERE / "made",
            "-D", "CPACK_COMPONENTS_ALL=" + ";".join(cls.parts), "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none")
        cls.files = {}
        for file in (HERE / "made").glob("*.deb"):
            cls.files[file.name.split("_")[0]] = file
            run("dpkg-deb", "-x", file, ROOT)
        # Studies that only the unpacked tree has.
        studies = ROOT / "usr/share/headway/studies"
        for name, study in (("only-here", "hmm-four-paths"), ("trained-here", "fuzzy-logic-small")):
            shutil.copy(studies / f"{study}.toml", studies / f"{name}.toml")

    def field(self, package, name):
        return run("dpkg-deb", "-f", self.files[package], name).strip()

    def test_each_part_is_a_package(self):
        self.assertEqual(len(self.files), len(self.parts))
        self.assertLessEqual({"headway", "python3-headway"}, set(self.files))
        version = run(sys.executable, "-B", "-c", "import headway.version as v; print(v.__version__)", PYTHONPATH=PACKAGE).strip()
        for package in self.files:
            self.assertEqual(self.field(package, "Version"), version)
        self.assertIn(f"\nversion: {version}\n", (ROOT / "usr/share/doc/headway/CITATION.cff").read_text())
        self.assertIn(f"headway {version}\n", run(ROOT / "usr/bin/headway", "--version"))

    def test_each_package_has_its_licence(self):
        for package in self.files:
            listed = run("dpkg-deb", "-c", self.files[package])
            self.assertIn(f" ./usr/share/doc/{package}/copyright\n", listed)
            self.assertEqual((ROOT / "usr/share/doc" / package / "copyright").read_bytes(),
                             (SOURCE / "LICENSE").read_bytes())

    def test_packages_depend_on_what_they_are_linked_with(self):
        needs = {package: self.field(package, "Depends") for package in self.files}
        self.assertIn("libhdf5", needs["headway"])
        self.assertIn("python3-numpy", needs["python3-headway"])
        for package, depends in needs.items():
            self.assertEqual("libtorch" in depends, package == "headway-training", depends)
            self.assertEqual("openmpi" in depends, package == "headway-mpi", depends)

    def test_files_say_nothing_of_the_build(self):
        programs = [file for file in ROOT.rglob("*") if file.is_file() and (file.suffix == ".so" or file.parent.name == "bin")]
        self.assertGreaterEqual(len(programs), len(self.parts))
        for file in programs:
            self.assertNotRegex(run("readelf", "-d", file), r"\((RPATH|RUNPATH)\)")
        self.assertEqual([file for file in ROOT.rglob("__pycache__")], [])

    def test_the_program_finds_its_studies_and_parts(self):
        program = ROOT / "usr/bin/headway"
        self.assertIn("0.9510", run(program, "solve", "only-here", "--set", "model.widths=[10]", "-q"))
        plan = run(program, "train", "omniglot-one-shot", "--dry-run")
        self.assertIn("parameters", plan)
        if "training" in self.parts:
            run(program, "train", "trained-here", "--dry-run", "-v", LD_DEBUG="files", LD_DEBUG_OUTPUT=str(HERE / "loaded"))
            loaded = "".join(file.read_text() for file in HERE.glob("loaded.*"))
            self.assertIn(f"calling init: {ROOT}/usr/lib/headway/headway_torch.so", loaded)

    def test_manual_pages_and_completions_are_where_they_are_looked_for(self):
        program = ROOT / "usr/bin/headway"
        verbs = re.findall(r"^  ([\w-]+) {2,}\S", run(program, "--help").partition("Verbs:")[2].partition("\n\n")[0], re.MULTILINE)
        self.assertIn("solve", verbs)
        pages = {file.name for file in (ROOT / "usr/share/man/man1").iterdir()}
        self.assertEqual(pages, {"headway.1", *(f"headway-{verb}.1" for verb in verbs)})
        if shutil.which("man"):
            self.assertIn("--dry-run", run("man", "-M", ROOT / "usr/share/man", "headway-solve", MANWIDTH="80", LC_ALL="C"))
        for shell, file in (("bash", "bash-completion/completions/headway"), ("zsh", "zsh/vendor-completions/_headway")):
            self.assertEqual((ROOT / "usr/share" / file).read_text(), run(program, "completion", shell))
        self.assertIn("only-here", run(program, "studies", "--names").split())

    def test_python_computes_reads_and_draws(self):
        code = """
import pathlib, headway
result = headway.solve("only-here", widths=[10])
assert result.points[0].converged
result.save("solved.h5")
headway.write_report("solved.h5", "solved.html")
print(headway.__file__)
"""
        said = run(sys.executable, "-B", "-c", code, PYTHONPATH=PACKAGE)
        self.assertEqual(said.strip(), str(PACKAGE / "headway/__init__.py"))
        self.assertIn("</html>", (HERE / "solved.html").read_text())

    def test_a_wheel_has_its_studies_in_the_package(self):
        """apps/python/CMakeLists.txt lays a wheel out in this way."""
        package = HERE / "wheel/headway"
        shutil.copytree(PACKAGE / "headway", package)
        shutil.copytree(ROOT / "usr/share/headway/studies", package / "share/headway/studies")
        (package / "share/headway/studies/only-here.toml").rename(package / "share/headway/studies/only-there.toml")
        code = "import headway; print(headway.solve('only-there', widths=[10]).points[0].accuracy)"
        self.assertEqual(run(sys.executable, "-B", "-c", code, PYTHONPATH=HERE / "wheel").strip(), "0.951")

    def test_the_extension_is_linked_with_the_packages_that_it_names(self):
        [module] = PACKAGE.glob("headway/_native*.so")
        named = run(sys.executable, "-B", "-c", "from headway import native; print(*native.RUNTIME_PACKAGES)",
                    PYTHONPATH=PACKAGE).split()
        needed = packages_of(linked_with(module)) - ALWAYS
        self.assertGreater(len(needed), 4)
        if "bookworm" in Path("/etc/os-release").read_text():  # RUNTIME_PACKAGES has the names of this release
            self.assertEqual(sorted(needed), sorted(named))


if __name__ == "__main__":
    unittest.main()
