"""headway.base.stored against h5py: the same values of the same members, and the same results."""

import dataclasses
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import h5py
import numpy as np

import headway
from headway.base import file_seal, hdf5, stored
from headway.results.older import Renamed
from headway.results.result_reader import read_members
from synthetic_results import Task, write_result

FOLDER = tempfile.TemporaryDirectory()
KINDS = ("solve", "align", "prune", "sample")


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)


def place(name) -> Path:
    return Path(FOLDER.name) / f"{name}.h5"


def flat(value, at="", out=None):
    """Everything in an object by its place, with its type and bytes."""
    out = {} if out is None else out
    if dataclasses.is_dataclass(value):
        value = vars(value)
    if isinstance(value, Mapping):
        for name, item in value.items():
            flat(item, f"{at}/{name}", out)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            flat(item, f"{at}/{index}", out)
    else:
        out[at] = (type(value), (value.dtype, value.shape, value.tolist() if value.dtype.kind == "O" else value.tobytes()) if isinstance(value, (np.ndarray, np.generic)) else
                   repr(value))
    return out


class Members(unittest.TestCase):
    def setUp(self):
        self.path = place("members")
        with h5py.File(self.path, "w") as file:
            group = file.create_group("a/b")
            kind = h5py.enum_dtype({"no": 0, "yes": 1}, "i1")
            for name, value in {"text": "wörds", "empty": "", "bytes": np.bytes_(b"fixed"), "number": 2.5, "whole": 3, "single": np.float32(1.5),
                                "true": True, "big": np.array([1, 2], ">i4"), "list": [1.0, 2.0], "none": h5py.Empty("f8"),
                                "texts": ["x", "yy"], "no numbers": np.zeros(0), "square": np.eye(2)}.items():
                group.attrs[name] = value
                file[f"a/{name}"] = value
            group.attrs.create("enum", 1, dtype=kind)
            group.attrs.create("pair", np.array((1, 2.0), dtype=[("x", int), ("y", float)]))
            group.attrs["\udcff".encode("utf-8", "surrogateescape")] = 1  # a name that is no UTF-8
            file["soft"], file["broken"] = h5py.SoftLink("/a/list"), h5py.SoftLink("/nowhere")
            file["type"] = np.dtype("f8")

    def test_attributes_and_arrays_are_those_of_h5py(self):
        with h5py.File(self.path) as file:
            group = stored.Group("/", file.id)
            ours, theirs = group["a/b"].attrs, file["a/b"].attrs
            self.assertEqual(list(ours), list(theirs))
            self.assertEqual(len(ours), len(theirs))
            for name in theirs:
                self.assertEqual(flat(ours[name]), flat(theirs[name]), name)
            self.assertEqual(list(group), list(file))
            self.assertEqual(list(group["a"]), list(file["a"]))
            for name, theirs in file["a"].items():
                ours = group["a"][name]
                self.assertEqual(ours.name, theirs.name)
                if name != "b":
                    self.assertEqual((ours.shape, ours.ndim, ours.dtype), (theirs.shape, theirs.ndim, theirs.dtype))
                    self.assertEqual(flat(ours[()]), flat(theirs[()]), name)
            self.assertEqual(list(group["soft"][()]), [1.0, 2.0])

    def test_what_is_not_there(self):
        with h5py.File(self.path) as file:
            group = stored.Group("/", file.id)
            for name in ("nothing", "a/nothing", "nothing/a", "a/list/deeper"):
                self.assertNotIn(name, group)
                self.assertNotIn(name, file)
                self.assertIsNone(group.get(name))
                with self.assertRaises(KeyError):
                    group[name]
            self.assertNotIn("nothing", group["a/b"].attrs)
            with self.assertRaises(KeyError):
                group["a/b"].attrs["nothing"]
            self.assertNotIsInstance(group["type"], (*hdf5.GROUPS, *hdf5.ARRAYS))
            with self.assertRaises(hdf5.DAMAGE):
                group.get("broken")


class Results(unittest.TestCase):
    def test_a_result_is_that_which_h5py_reads(self):
        for kind in KINDS:
            path = place(kind)
            write_result(path, kind, Task(train=12, test=14, tokens=4, features=5), widths=(10, 100))
            with h5py.File(path) as file:
                theirs = read_members(Renamed(file), path)
            self.assertEqual(flat(headway.read_result(path)), flat(theirs), kind)

    def test_texts_are_checked_where_no_seal_does(self):
        path = place("sealed")
        write_result(path, "solve", Task(train=12, test=14, tokens=4, features=5), widths=(10,))
        with h5py.File(path, "r+") as file:
            file.attrs["text_sha256"] = "0" * 64
        with self.assertRaisesRegex(headway.BadDataError, "text_sha256: the texts of the file have changed"):
            headway.read_result(path)
        file_seal.seal(path)
        self.assertTrue(file_seal.is_sealed(path))
        with mock.patch("headway.base.hdf5.check_texts", side_effect=AssertionError):
            headway.read_result(path)
        with h5py.File(path, "r+") as file:  # who edits a file breaks its seal
            file["points/0"].attrs["accuracy"] = 0.5
        self.assertFalse(file_seal.is_sealed(path))
        data = bytearray(place("solve").read_bytes())
        place("broken").write_bytes(bytes(data))
        file_seal.seal(place("broken"))
        data = bytearray(place("broken").read_bytes())
        data[len(data) // 2] ^= 1
        place("broken").write_bytes(bytes(data))
        with self.assertRaises(headway.BadDataError):
            headway.read_result(place("broken"))


if __name__ == "__main__":
    unittest.main()
