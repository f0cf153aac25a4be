"""What the tests of the verbs in memory share: a folder, and the differences of two result files."""

import importlib.util
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import program

FOLDER = tempfile.TemporaryDirectory()
GOLDEN = Path(__file__).resolve().parent.parent / "data" / "golden"
#: Fields in which two computations of the same numbers may differ. The commit is one of them, since program and module may be
#: built one after the other.
RUN = {"DIMENSION_LIST",  # references, which program_dimensions_test.py follows
       "seconds", "started", "command", "threads", "text_sha256", "sampling_seconds", "evidence_seconds",
       "solve_seconds", "git_commit"}


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    program.executable()
    if importlib.util.find_spec("headway._native") is None:
        raise unittest.SkipTest("the extension module headway._native is not built")


def file_of(name):
    return Path(FOLDER.name) / name


def differences(first, second, apart=frozenset()):
    """Everything that two result files do not have in common, to the last bit."""
    found = []

    def places(file):
        names = [""]
        file.visit(names.append)
        return names

    with h5py.File(first) as one, h5py.File(second) as other:
        if places(one) != places(other):
            return [f"members {set(places(one)) ^ set(places(other))}"]
        for name in places(one):
            a, b = (one[name], other[name]) if name else (one, other)
            for key in (set(a.attrs) | set(b.attrs)) - RUN - apart:
                if np.asarray(a.attrs.get(key)).tobytes() != np.asarray(b.attrs.get(key)).tobytes() \
                        and a.attrs.get(key) != b.attrs.get(key):
                    found.append(f"{name}@{key}")
            if isinstance(a, h5py.Dataset):
                x, y = a[()], b[()]
                same = x.tolist() == y.tolist() if a.dtype.kind == "O" else (
                    np.asarray(x).tobytes() == np.asarray(y).tobytes())
                if not same and name.rpartition("/")[2] not in RUN:
                    found.append(name)
    return found


def four_paths():
    """The hidden-Markov task with four paths as arrays."""
    with h5py.File(GOLDEN / "hmm4_paths.h5") as file:
        return {"features": file["train/path_features"][()], "labels": file["train/labels"][()],
                "heads": [2, 2], "test_features": file["test/path_features"][()],
                "test_labels": file["test/labels"][()]}


def small(seed=1, examples=12, paths=4, features=5, **more):
    rng = np.random.default_rng(seed)
    return {"features": rng.standard_normal((examples, paths, features)), "heads": [2, 2],
            "labels": np.sign(rng.standard_normal(examples)), "widths": [10],
            "temperature": 0.1} | more
