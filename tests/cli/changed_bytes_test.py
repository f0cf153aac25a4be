"""One changed byte in a file that Headway wrote: the file is refused, or the answer is the same.

HEADWAY_FLIPS=all (`make flips`) changes every byte of each file, one at a time: an hour. Otherwise 120 bytes of each file are
changed, among them those of scalars, for which HDF5 has no check sum.
"""

import json
import os
import shutil
import subprocess
import time
import unittest

import h5py
import numpy as np

import headway
from support import PROGRAM, ProgramTest, run, write_many, write_path_features

SETTINGS = ["--set", "model.widths=[10]", "--set", "model.temperature=0.1"]


def offsets_of_scalars(path):
    """Where the file has the bytes of its scalars: HDF5 keeps them whole, so they are found by their value."""
    with open(path, "rb") as file:
        content = file.read()
    places = []

    def visit(_, item):
        if isinstance(item, h5py.Dataset) and item.shape == () and item.dtype.kind in "fiu":
            begin = content.find(np.asarray(item[()]).tobytes())
            if begin >= 0:
                places.extend(range(begin, begin + item.dtype.itemsize))

    with h5py.File(path) as file:
        file.visititems(visit)
    return places


def without_times(value):
    """JSON without what differs from run to run."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if "seconds" not in key and key not in ("threads", "study_hash")}
    return [without_times(item) for item in value] if isinstance(value, list) else value


def places_in(sound, rng, scalars=()):
    """Which bytes to change."""
    if os.environ.get("HEADWAY_FLIPS") == "all":
        return range(len(sound))
    return [*scalars, *rng.choice(len(sound), 100).tolist(), 0, len(sound) - 1, len(sound) - 40]


class ChangedBytes(ProgramTest):
    """Each kind of file, and a verb that reads all of it."""

    def check_file(self, path, arguments, refusals=(65, 66, 78)):
        """`arguments` name the file as {}."""
        def answer(file_path):
            process = run(*[str(a).format(file_path) for a in arguments])
            return process.returncode, without_times(json.loads(process.stdout)) if process.returncode in (0, 2) else None

        with open(path, "rb") as file:
            sound = file.read()
        expected = answer(path)
        self.assertIn(expected[0], (0, 2))
        rng = np.random.default_rng(5)
        places = places_in(sound, rng, offsets_of_scalars(path))
        counts = {"refused": 0, "the same": 0}
        os.mkdir(self.path("changed"))
        for place in places:
            changed = bytearray(sound)
            changed[place] ^= 1 << int(rng.integers(8))
            broken = self.write(os.path.join("changed", os.path.basename(path)), bytes(changed))  # answers have the name
            code, numbers = answer(broken)
            if code in refusals:  # 78: it is no longer an HDF5 file, so it is read as a study
                counts["refused"] += 1
                continue
            self.assertEqual((code, numbers), expected, f"byte {place} of {os.path.basename(path)} was changed")
            counts["the same"] += 1
        print(f"{os.path.basename(path)}: {len(places)} changed bytes: {counts['refused']} refused, "
              f"{counts['the same']} with the same answer")
        # Only a change of the check sum's own name may pass unnoticed.
        self.assertGreater(counts["refused"], 0.9 * len(places))

    def solved(self, verb="solve"):
        output = self.path(f"{verb}.h5")
        draws = ["--set", "sample.draws=60", "--set", "sample.warmup=60"] if verb == "sample" else []
        process = run(verb, self.study, *SETTINGS, *draws, "-q", "-o", output)
        self.assertIn(process.returncode, (0, 2), process.stderr)  # 2: too few draws
        return output

    def test_a_result_of_solve_is_guarded(self):
        self.check_file(self.solved(), ["align", "{}", "--json", "-q"])

    def test_a_result_of_sample_is_guarded(self):
        self.check_file(self.solved("sample"), ["prune", "{}", "--json", "-q"])

    def test_a_checkpoint_is_guarded(self):
        """It ends with a digest of all its bytes, so no change passes."""
        output = self.path("out.h5")
        arguments = ["sample", self.study, *SETTINGS, "--set", "sample.draws=1000000", "--set", "sample.chains=2",
                     "--set", "sample.checkpoint_seconds=0.01", "-q", "-o", output]
        checkpoint = os.path.join(output + ".checkpoint", "point_0.h5")
        with subprocess.Popen([PROGRAM, *arguments]) as process:
            while not os.path.exists(checkpoint) and process.poll() is None:
                time.sleep(0.001)
            process.kill()
        with open(checkpoint, "rb") as file:
            sound = file.read()
        rng = np.random.default_rng(6)
        places = places_in(sound, rng)
        for place in places:
            changed = bytearray(sound)
            changed[place] ^= 1 << int(rng.integers(8))
            with open(checkpoint, "wb") as file:
                file.write(changed)
            self.check(run(*arguments), 65, "point_0.h5", "truncated or damaged")
        print(f"point_0.h5: {len(places)} changed bytes, all refused")

    def test_a_gram_file_is_guarded(self):
        data, gram = self.path("data.h5"), self.path("gram.h5")
        write_many(data, 1500, 2)
        self.check(run("gram", data, "-q", "-o", gram), 0)
        self.check_file(gram, ["solve", "{}", "--json", "-q", *SETTINGS])

    def test_a_data_set_of_the_package_is_guarded(self):
        data = self.path("written.h5")
        rng = np.random.default_rng(3)
        headway.write_dataset(data, train_path_features=rng.normal(size=(20, 2, 5)), heads=[2],
                              train_labels=np.resize([1.0, -1.0], 20), test_path_features=rng.normal(size=(10, 2, 5)),
                              test_labels=np.resize([1.0, -1.0], 10))
        self.check_file(data, ["solve", "{}", "--json", "-q", *SETTINGS])

    def test_half_written_arrays_are_refused(self):
        """HDF5 reads chunks that nobody wrote as zeros."""
        data = self.path("half.h5")
        write_path_features(data)
        with h5py.File(data, "r+") as file:
            del file["train/path_features"]
            half = file.create_dataset("train/path_features", (12, 2, 5), "f8", chunks=(6, 2, 5))
            half.attrs["heads"] = [2]
            half[:6] = np.random.default_rng(1).normal(size=(6, 2, 5))
        faults = run("validate", data)
        self.assertEqual(faults.returncode, 65)
        self.assertIn("train/path_features: is half written: 1 of its 2 chunks", faults.stdout)
        self.check(run("solve", data, *SETTINGS), 65, "half written")
        with h5py.File(data, "r+") as file:
            del file["train/labels"]
            file.create_dataset("train/labels", (12,), "f8")
        self.assertIn("train/labels: has a shape, but its numbers were never written", run("validate", data).stdout)

    def test_a_file_that_was_edited_is_read_without_its_check_sum(self):
        result = self.solved()
        before = run("inspect", result)
        edited = self.path("edited.h5")
        shutil.copy(result, edited)
        with h5py.File(edited, "r+") as file:
            file.create_dataset("a_note_of_the_user", data=1.0)
        self.check(before, 0)
        self.check(run("align", edited, "-q"), 0)


class GramParts(ProgramTest):
    """Parts of sums belong together only where they are of the same data."""

    def test_parts_of_changed_data_are_not_joined(self):
        data = self.path("data.h5")
        parts = [self.path(f"part-{i}.h5") for i in range(2)]
        for i, part in enumerate(parts):
            write_many(data, 2500, seed=i)  # other numbers, the same sizes
            self.check(run("gram", data, "--shard", f"{i}/2", "-q", "-o", part), 0)
        self.check(run("merge", *parts, "-o", self.path("whole.h5")), 65, "computed from other data")
        self.check(run("gram", data, "--shard", "0/2", "-q", "--force", "-o", parts[0]), 0)
        self.check(run("merge", *parts, "-q", "-o", self.path("whole.h5")), 0)


if __name__ == "__main__":
    unittest.main()
