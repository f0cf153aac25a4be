"""The script behind the page on compositional generalisation: its networks are those of the program, and its numbers are right."""

import json
import os
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(os.environ.get("HEADWAY_SOURCE_DIR", ".")) / "apps/benchmarks"))
import compositions
import program
import recording
from compositions import Job, Network, Problem


class Results(unittest.TestCase):
    def test_what_an_interrupt_left_is_not_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "solved.h5"
            self.assertFalse(recording.finished(path))
            program.run("solve", "hmm-four-paths", "--set", "model.widths=[10]", "-o", path, "-q")
            self.assertTrue(recording.finished(path) and compositions.is_there(path))
            with h5py.File(path, "r+") as file:
                file.attrs["partial"] = 1
            self.assertFalse(recording.finished(path) or compositions.is_there(path))


class Networks(unittest.TestCase):
    def test_slopes_are_those_of_finite_differences(self):
        rng = np.random.default_rng(1)
        codes, contents = compositions.codes_of(compositions.PAIRS), rng.standard_normal((10, 6))
        for form in compositions.FORMS:
            network = Network(form, codes, contents)
            at = network.draw(4, rng)
            slopes = network.outputs(*at, lambda f: f)[1:]  # of |f|^2 / 2
            for part in range(2):
                with self.subTest(form=form, part=part):
                    along, step = rng.standard_normal(at[part].shape), 1e-6
                    values = []
                    for sign in (1, -1):
                        moved = [w + sign * step * along if k == part else w for k, w in enumerate(at)]
                        values.append(0.5 * np.sum(network.outputs(*moved) ** 2))
                    self.assertAlmostEqual((values[0] - values[1]) / (2 * step), np.sum(slopes[part] * along), places=5)

    def test_infinitely_wide_networks_of_every_form_are_the_gaussian_process_of_the_program(self):
        for form in compositions.FORMS:
            with self.subTest(form=form), tempfile.TemporaryDirectory() as folder:
                job = Job("ladder", Problem("hyla", 8, "connected", 1), 40, form, 10, "fixed")
                compositions.compute(program.executable(), job, Path(folder))
                found = compositions.columns_of(job, Path(folder))["gaussian_process"]
                ours = compositions.train_and_answer(job)["gaussian_process"]
                for name in ("held_out", "fresh"):
                    self.assertAlmostEqual(found[name], ours[name], delta=1e-6 * ours[name])

    def test_the_gaussian_process_is_additive_on_pairs_that_were_never_seen(self):
        with tempfile.TemporaryDirectory() as folder:
            job = Job("support", Problem("hyla", 4, "connected", 2), 60, "hyla", 10, "fixed")
            compositions.compute(program.executable(), job, Path(folder))
            found = compositions.columns_of(job, Path(folder))
        self.assertLess(found["gaussian_process"]["not_additive"], 1e-12)
        self.assertGreater(found["fixed"]["not_additive"], 1e-9)  # its U has entries between heads


class Records(unittest.TestCase):
    def test_rows_that_are_not_recorded_again_are_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "record.json"
            self.assertEqual(recording.kept(file, bool), [])
            made = [{"made": {}, "rows": [{"seed": 1}, {"seed": 2}]}, {"made": {}, "rows": [{"seed": 3}]}]
            file.write_text(json.dumps({"results": made}))
            self.assertEqual(recording.kept(file, lambda row: row["seed"] > 1), [{"made": {}, "rows": [{"seed": 1}]}])


class Problems(unittest.TestCase):
    def test_pairs_are_seen_or_held_out_and_have_the_support_that_was_asked_for(self):
        for seen, support in compositions.SUPPORTS:
            for seed in range(20):
                pairs, held_out = compositions.draw_pairs(seen, support, np.random.default_rng(seed))
                self.assertEqual((len(pairs), len(held_out)), (seen, 10 - seen))
                self.assertEqual(sorted(pairs + held_out), compositions.PAIRS)
                self.assertEqual(compositions.linked(pairs), support == "connected")

    def test_sums_over_modules_answer_teachers_that_are_sums(self):
        self.assertLess(Problem("per_head", 8, "connected", 1).make()[1], 1e-20)
        self.assertGreater(Problem("hyla", 8, "connected", 1).make()[1], 1e-3)

    def test_what_is_not_additive_is_found(self):
        codes = compositions.codes_of([pair for pair in compositions.PAIRS if pair[0] > 0])  # six pairs of four modules
        parts = np.random.default_rng(3).standard_normal(5)
        answers = np.tile(codes @ parts, 2)
        self.assertLess(compositions.not_additive(answers, np.tile(codes, (2, 1))), 1e-20)
        answers[0] += 1.0
        self.assertGreater(compositions.not_additive(answers, np.tile(codes, (2, 1))), 1e-3)
        self.assertIsNone(compositions.not_additive(answers[:2], codes[:2]))


if __name__ == "__main__":
    unittest.main()
