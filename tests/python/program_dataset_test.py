"""Data sets as h5py can write them, sound and not, given to `headway validate` and `headway solve`."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import h5py
import numpy as np

import headway

PROGRAM = os.environ["HEADWAY_PROGRAM"]
P, S, N, HEADS = 9, 5, 4, (2, 1)


def write(path):
    """A sound data set with head matrices; the caller changes it."""
    rng = np.random.default_rng(3)
    file = h5py.File(path, "w")
    file.attrs["schema_name"] = "headway-dataset"
    file.attrs["schema_version"] = [1, 0]
    for split in ("train", "test"):
        file[f"{split}/inputs"] = rng.standard_normal((P, S, N))
        file[f"{split}/labels"] = np.where(np.arange(P) % 2 == 0, 1.0, -1.0)
    for layer, heads in enumerate(HEADS, 1):
        file[f"attention/weights/layer_{layer}"] = rng.standard_normal((heads, N, N))
    return file


def put(file, name, *args, **kwargs):
    if name in file:
        del file[name]
    return file.create_dataset(name, *args, **kwargs)


def virtual(file):
    layout = h5py.VirtualLayout((P,), "f8")
    layout[:] = h5py.VirtualSource("other.h5", "labels", (P,))
    del file["train/labels"]
    file.create_virtual_dataset("train/labels", layout)


def link(file, target):
    del file["train/inputs"]
    file["train/inputs"] = target


def bfloat16(file):
    del file["train/labels"]
    kind = h5py.h5t.IEEE_F16LE.copy()
    kind.set_fields(15, 7, 8, 0, 7)
    kind.set_ebias(127)
    space = h5py.h5s.create_simple((P,))
    h5py.h5d.create(file.id, b"train/labels", kind, space).write(space, space, np.ones(P, np.float32))


def group_elsewhere(file):
    del file["train"]
    file["train"] = h5py.ExternalLink("there.h5", "/train")


SOUND = {
    "as it is": lambda f: None,
    "boolean mask": lambda f: put(f, "train/mask", data=np.ones((P, S), bool)),
    "float mask": lambda f: put(f, "test/mask", data=np.ones((P, S), "f4")),
    "integer labels": lambda f: put(f, "train/labels", data=np.resize([1, -1], P).astype("i2")),
    "compressed and shuffled inputs": lambda f: put(
        f, "train/inputs", data=f["train/inputs"][()].astype("f4"), chunks=(4, 2, 4),
        compression="gzip", shuffle=True, fletcher32=True),
    "growable labels": lambda f: put(f, "train/labels", data=f["train/labels"][()],
                                     maxshape=(None,), chunks=(4,)),
    "big-endian inputs": lambda f: put(f, "test/inputs", data=f["test/inputs"][()].astype(">f8")),
    "names of fixed length": lambda f: put(f, "names/layer_1", data=np.array([b"a", b"bc"])),
    "names as str": lambda f: put(f, "names/layer_1", data=["é", "b"]),
    "numbers as ids": lambda f: put(f, "train/ids", data=np.arange(P)),
    "no test set": lambda f: f.__delitem__("test"),
    "labels as a column": lambda f: [put(f, f"{s}/labels", data=np.ones((P, 1)))
                                     for s in ("train", "test")],
    "a further set": lambda f: [f.__setitem__("sets/validation/inputs", np.ones((3, S, N))),
                                f.__setitem__("sets/validation/labels", np.ones(3))],
    "a soft link": lambda f: [f.move("train/inputs", "mine"),
                              f["train"].__setitem__("inputs", h5py.SoftLink("/mine"))],
}

FAULTY = {  # what is done, and parts of the message
    "lzf": (lambda f: put(f, "train/inputs", data=np.zeros((P, S, N)), compression="lzf"),
            "train/inputs", "lzf"),
    "virtual": (virtual, "train/labels", "other files"),
    "external link": (lambda f: link(f, h5py.ExternalLink("other.h5", "/x")), "train/inputs",
                      "another file"),
    "float16": (lambda f: put(f, "train/inputs", data=np.zeros((P, S, N), "f2")), "train/inputs",
                "float16"),
    "bfloat16": (bfloat16, "train/labels: type bfloat16; allowed: float32, float64 or integers"),
    "lists of different lengths": (lambda f: put(f, "train/labels", (P,), dtype=h5py.vlen_dtype(np.float64)),
                                   "train/labels: type lists of different lengths"),
    "a group elsewhere": (group_elsewhere, "train: is a link to another file; allowed: a group with labels"),
    "a NUL in a name": (lambda f: put(f, "names/layer_1", data=np.array([b"a\0b", b"c"], "S4")),
                        "names/layer_1[0] contains the control character 0 (byte 1)"),
    "a name that turns its row around": (lambda f: put(f, "names/layer_1", data=["a", "b\u202ec"]),
                                         "names/layer_1[1] contains the control character U+202E (byte 1)"),
    "a name of two lines": (lambda f: put(f, "names/layer_1", data=["a\u0085b", "c"]),
                            "names/layer_1[0] contains the control character U+0085 (byte 1)"),
    "complex": (lambda f: put(f, "train/labels", data=np.ones(P, complex)), "train/labels",
                "compound"),
    "empty": (lambda f: put(f, "train/labels", data=h5py.Empty("f8")), "train/labels", "[0]"),
    "references": (lambda f: put(f, "train/labels", (P,), dtype=h5py.ref_dtype), "train/labels",
                   "reference"),
    "variable-length rows": (lambda f: put(f, "train/labels", (P,), dtype=h5py.vlen_dtype("f8")),
                             "train/labels", "type"),
    "strings": (lambda f: put(f, "train/labels", data=["1"] * P), "train/labels", "string"),
    "an empty set": (lambda f: f.create_group("sets/validation"), "sets/validation/inputs",
                     "missing"),
    "a bomb": (lambda f: put(f, "train/inputs", (P, 10**9, 10**6), dtype="f8", chunks=(1, 1, 1024)),
               "train/inputs", "10000"),
    "nan": (lambda f: f["train/inputs"].__setitem__((3, 2, 1), np.nan), "train/inputs[3, 2, 1]",
            "finite"),
    "half written": (lambda f: put(f, "train/labels", (P,), "f8", chunks=(4,)).__setitem__(slice(0, 8), 1.0),
                     "train/labels: is half written: 2 of its 3 chunks are in the file"),
    "never written": (lambda f: put(f, "train/labels", (P,), "f8"),
                      "train/labels: has a shape, but its numbers were never written"),
    "chunks never written": (lambda f: put(f, "train/labels", (P,), "f8", chunks=(4,)),
                             "train/labels: has a shape, but its numbers were never written"),
    "a chunk of half a gigabyte": (lambda f: put(f, "train/labels", (P,), "f8", chunks=(1 << 26,), maxshape=(None,)),
                                   "train/labels: has chunks of 536870912 bytes, of which the file stores only 0"),
}


class DataSets(unittest.TestCase):
    def run_program(self, *arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False)
        return done.returncode, done.stdout + done.stderr

    def test_sound_ones_are_solved(self):
        for name, change in SOUND.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "data.h5"
                with write(path) as file:
                    change(file)
                code, text = self.run_program("validate", path)
                self.assertEqual(code, 0, text)

    def test_faulty_ones_are_refused(self):
        for name, (change, *parts) in FAULTY.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "data.h5"
                with write(path) as file:
                    change(file)
                for verb in ("validate", "solve"):
                    code, text = self.run_program(verb, path)
                    self.assertEqual(code, 65, text)
                    for part in parts:
                        self.assertIn(part, text)
                said = "\n".join(headway.check_dataset(path))
                for part in parts if name != "lzf" else ():  # beside h5py, which brings this filter, the file can be read
                    self.assertIn(part, said)
                self.assertEqual(os.listdir(folder), ["data.h5"])

    def test_a_type_of_a_newer_hdf5_is_told_apart_from_damage(self):
        """A complex number of HDF5 2 has class 11 and version 5; the readers of older versions know neither."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "data.h5"
            with write(path) as file:
                put(file, "train/labels", data=np.ones(P, "f2"))
            content = path.read_bytes()
            half = bytes.fromhex("11200f00 02000000")  # IEEE, little-endian, two bytes
            self.assertEqual(content.count(half), 1)
            path.write_bytes(content.replace(half, b"\x5b" + half[1:]))
            code, text = self.run_program("validate", path)
            self.assertEqual(code, 65)
            self.assertIn("written by a newer HDF5 than 1.", text)

    def test_attention_in_half_precision_is_refused_with_advice(self):
        """Rows that were computed in float16 are refused by program and package in the same words, which say what to do."""
        rows = np.random.default_rng(1).random((P, 2, S, S)).astype("f2")
        rows = (rows / rows.sum(axis=3, keepdims=True)).astype("f4")
        hint = "(half precision? cast to float32, then divide each row by its sum)"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "data.h5"
            for factor, hinted in ((1.0, True), (0.9, False)):
                with write(path) as file:
                    del file["attention"], file["test"]
                    put(file, "train/attention/layer_1", data=rows * np.float32(factor))
                code, text = self.run_program("validate", path)
                self.assertEqual(code, 65)
                faults = headway.check_dataset(path)
                for fault in faults:
                    self.assertIn(fault, text)
                self.assertEqual(hint in faults[0], hinted, faults[0])
            single = rows / rows.sum(axis=3, keepdims=True)  # what the hint says
            headway.write_dataset(path, train_inputs=np.ones((P, S, N)), train_labels=np.resize([1, -1], P),
                                  train_attention=[single], overwrite=True)


if __name__ == "__main__":
    unittest.main()
