"""shard=(i, n) in Python: the parts of the program, and the whole to the last bit when they are merged."""

import unittest
from unittest import mock

import h5py
import numpy as np

import headway
import program
from bindings import differences, file_of, setUpModule, small  # noqa: F401
from headway.figures import PlotOptions, draw_all

SWEEP = {"widths": [5, 10, 20], "temperature": [0.1, 1.0]}
SETTINGS = ["--set", "model.widths=[5, 10, 20]", "--set", "model.temperature=[0.1, 1.0]"]
DRAWS = {"chains": 2, "draws": 40, "warmup": 60, "predictor_draws": 10}


def parts_of(verb, study, count, **settings):
    return [verb(study, **settings, shard=(index, count)) for index in range(count)]


class Parts(unittest.TestCase):
    def check_merged(self, whole, parts, apart=frozenset()):
        expected, found = file_of("whole.h5"), file_of("merged.h5")
        whole.save(expected, overwrite=True)
        merged = headway.merge(parts[::-1], output=found, overwrite=True)
        self.assertEqual(differences(expected, found, apart), [])
        merged.save(found, overwrite=True)
        self.assertEqual(differences(expected, found, apart), [])
        self.assertNotIn("shard", merged.provenance)
        self.assertEqual(merged.provenance["command"], whole.provenance["command"])
        return merged

    def test_a_part_is_that_of_the_program(self):
        for index in range(2):
            ours, theirs = file_of("ours.h5"), file_of("theirs.h5")
            part = headway.solve("hmm-four-paths", **SWEEP, shard=(index, 2))
            self.assertEqual(part.provenance["shard"], f"{index}/2")
            self.assertIn(f"shard=({index}, 2)", part.provenance["command"])
            part.save(ours, overwrite=True)
            program.run("solve", "hmm-four-paths", *SETTINGS, "--shard", f"{index}/2", "-q", "--force", "-o", theirs)
            self.assertEqual(differences(theirs, ours), [])

    def test_parts_of_solve_become_the_whole(self):
        whole = headway.solve("hmm-four-paths", **SWEEP)
        for count in (2, 3):  # of three parts one is empty
            merged = self.check_merged(whole, parts_of(headway.solve, "hmm-four-paths", count, **SWEEP))
        self.assertEqual(headway.align(merged).points[0].action, whole.points[0].action)

    def test_parts_of_draws_become_the_whole(self):
        whole = headway.sample("hmm-four-paths", widths=[4, 8], **DRAWS)
        self.check_merged(whole, parts_of(headway.sample, "hmm-four-paths", 2, widths=[4, 8], **DRAWS))

    def test_parts_of_arrays_become_the_whole_and_may_have_numpy_integers(self):
        data = small(widths=[10, 20], temperature=[0.1, 1.0])
        parts = [headway.solve(**data, shard=(np.int64(index), np.int64(2))) for index in range(2)]
        merged = self.check_merged(headway.solve(**data), parts)
        self.assertEqual(merged.provenance["data_hash"], parts[0].provenance["data_hash"])

    def test_the_program_merges_them_too(self):
        files = [part.save(file_of(f"part-{at}.h5"), overwrite=True)
                 for at, part in enumerate(parts_of(headway.solve, "hmm-four-paths", 2, **SWEEP))]
        program.run("merge", *files, "-q", "--force", "-o", file_of("by-program.h5"))
        headway.solve("hmm-four-paths", **SWEEP, output=file_of("undivided.h5"))
        self.assertEqual(differences(file_of("undivided.h5"), file_of("by-program.h5")), [])
        with h5py.File(file_of("by-program.h5")) as merged:
            self.assertEqual(merged.attrs["command"], "'headway.solve(\"hmm-four-paths\", widths=[5, 10, 20], temperature=[0.1, 1.0])'")

    def test_a_part_needs_no_mpi(self):
        """A build without MPI refuses to run under mpirun, but it computes a part."""
        no_mpi = mock.patch("headway.api.compute.rank_and_ranks", side_effect=headway.UnavailableError("no MPI"))
        with no_mpi:
            self.assertEqual(len(headway.solve("hmm-four-paths", **SWEEP, shard=(0, 2)).points), 3)
            self.assertEqual(len(headway.solve(**small(temperature=[0.1, 1.0]), shard=(0, 2)).points), 1)
            with self.assertRaises(headway.UnavailableError):
                headway.solve("hmm-four-paths", **SWEEP)

    def test_a_part_lends_nothing(self):
        part = headway.solve("hmm-four-paths", **SWEEP, shard=(0, 2))
        with self.assertWarnsRegex(UserWarning, "not used: it is part 0/2 of its study"):
            aligned = headway.align(part)
        self.assertEqual(len(aligned.points), 6)


class Refusals(unittest.TestCase):
    def test_a_shard_that_is_none_is_refused(self):
        for wrong in ((4, 4), (-1, 4), (0, 0), (0, 1_000_001), "0/4", 3, (0, 1, 2), (0.0, 2), (True, 2), (0, None)):
            with self.subTest(shard=wrong), self.assertRaises(headway.UsageError) as caught:
                headway.solve("hmm-four-paths", shard=wrong)
            for words in ("shard", repr(wrong), "allowed: (i, n)", "0 <= i < n <= 1000000"):
                self.assertIn(words, str(caught.exception))

    def test_verbs_without_parts_refuse_a_shard(self):
        with self.assertRaisesRegex(headway.UsageError, "unknown argument shard"):
            headway.align("hmm-four-paths", shard=(0, 2))

    def test_parts_that_are_missing_or_strange_are_named(self):
        parts = parts_of(headway.solve, "hmm-four-paths", 3, **SWEEP)
        call = 'headway.solve("hmm-four-paths", widths=[5, 10, 20], temperature=[0.1, 1.0], shard=(1, 3))'
        with self.assertRaises(headway.UnreadableFileError) as caught:
            headway.merge([parts[0], parts[2]])
        self.assertEqual(str(caught.exception), f"of 3 parts one is missing:\n  {call}")
        with self.assertRaisesRegex(headway.BadDataError, "so is"):
            headway.merge([parts[0], parts[0], parts[2]])
        with self.assertRaisesRegex(headway.BadDataError, r"a whole result, not a part; parts are made with shard=\(i, n\)"):
            headway.merge([headway.solve("hmm-four-paths", widths=[10])])
        for wrong in ([], "part.h5", 3, [3]):
            with self.subTest(parts=wrong), self.assertRaisesRegex(headway.UsageError, "parts.*allowed"):
                headway.merge(wrong)

    def test_a_command_of_the_program_stays_one(self):
        part = file_of("first-of-two.h5")
        program.run("solve", "hmm-four-paths", *SETTINGS, "--shard", "0/2", "-q", "-o", part)
        with self.assertRaises(headway.UnreadableFileError) as caught:
            headway.merge([part])
        command = str(caught.exception).splitlines()[1].strip()
        self.assertIn("--shard 1/2", command)
        self.assertIn(" solve hmm-four-paths ", command)

    def test_a_part_without_points_adds_nothing_to_figures(self):
        parts = parts_of(headway.solve, "hmm-four-paths", 2, widths=[10])
        self.assertEqual([len(part.points) for part in parts], [1, 0])
        self.assertEqual(set(draw_all(parts)), set(draw_all(parts[0])))
        self.assertIn("accuracy_against_width", draw_all(parts, PlotOptions(labels=("first", "second"))))
        with self.assertRaisesRegex(headway.BadDataError, "holds no points"):
            draw_all(parts[::-1])


if __name__ == "__main__":
    unittest.main()
