"""`--point best|WIDTH,T`: one point of a result for predict, prune, sample and align; the evidence in tables."""

import json
import unittest

import h5py
import numpy as np

from support import SMALL, ProgramTest, run

SWEEP = ("--set", "model.widths=[10,100]", "--set", "model.temperature=[0.01,0.1,1,10]")
FAST = ("--set", "sample.draws=50", "--set", "sample.warmup=50", "--set", "sample.chains=2", "--set", "sample.evidence=false")


def points_of(path):
    with h5py.File(path) as file:
        return {(tuple(point.attrs["widths"]), point.attrs["temperature"]): point.attrs["log_evidence"]
                for point in file["points"].values()}


class Point(ProgramTest):
    def setUp(self):
        super().setUp()
        self.study, self.solved = self.path("small.toml"), self.path("solved.h5")
        with open(self.study, "w", encoding="utf-8") as file:
            file.write(SMALL)
        self.check(run("solve", self.study, "-o", self.solved, "-q", *SWEEP), 0)
        evidence = points_of(self.solved)
        self.best = max(evidence, key=evidence.get)

    def only_point(self, verb, *more, status=(0,)):
        output = self.path(f"{verb}.h5")
        ended = run(verb, self.solved, *more, "-o", output, "--force")
        self.assertIn(ended.returncode, status, ended.stderr)
        with h5py.File(output) as file:
            points = [(tuple(point.attrs["widths"]), point.attrs["temperature"]) for point in file["points"].values()]
        self.assertEqual(len(points), 1)
        return points[0], ended.stderr

    def test_verbs_take_the_best_point_without_solving_again(self):
        # So few draws need not mix.
        for verb, more, status in (("prune", (), (0,)), ("align", (), (0,)), ("sample", FAST, (0, 2))):
            point, _ = self.only_point(verb, "--point", "best", *more, status=status)
            self.assertEqual(point, self.best)
        ended = run("prune", self.solved, "--point", "best", "-v")
        self.assertIn("no point of it is solved again", ended.stderr)

    def test_a_point_by_its_place_has_the_numbers_that_it_has_in_the_sweep(self):
        point, _ = self.only_point("prune", "--point", "10,0.1")
        self.assertEqual(point, ((10, 10, 10), 0.1))
        whole = json.loads(run("prune", self.solved, "--json", "-q").stdout)
        alone = json.loads(run("prune", self.solved, "--json", "-q", "--point", "10,10,10,0.1").stdout)
        same = next(one for one in whole["points"] if one["widths"] == [10, 10, 10] and one["temperature"] == 0.1)
        for one, other in zip(same["heads"], alone["points"][0]["heads"]):
            self.assertEqual(one, other)

    def test_predict_takes_one_point(self):
        new = self.path("new.h5")
        with h5py.File(new, "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", [1, 0]
            file["sets/later/inputs"] = np.random.default_rng(1).normal(size=(3, 7, 17))
        output = self.path("predicted.h5")
        self.check(run("predict", self.solved, new, "--point", "best", "-o", output), 0)
        with h5py.File(output) as file:
            self.assertEqual(len(file["points"]), 1)
            self.assertEqual((tuple(file["points/0"].attrs["widths"]), file["points/0"].attrs["temperature"]), self.best)

    def test_the_best_of_samples_has_their_evidence(self):
        drawn = self.path("drawn.h5")
        self.check(run("sample", self.study, "--set", "model.widths=[10]", "--set", "model.temperature=[0.1,1]", "-o", drawn,
                       "-q", "--set", "sample.draws=500", "--set", "sample.warmup=300"), 0)
        evidence = points_of(drawn)
        output = self.path("pruned.h5")
        self.check(run("prune", drawn, "--point", "best", "-o", output), 0)
        with h5py.File(output) as file:
            self.assertEqual(file["points/0"].attrs["temperature"], max(evidence, key=evidence.get)[1])
            self.assertEqual(file["points/0/pruning"].attrs["posterior_errors"], "draws")

    def test_an_edge_of_the_sweep_is_told(self):
        self.check(run("solve", self.study, "-o", self.solved, "-q", "--force", "--set", "model.widths=[10]", "--set",
                       "model.temperature=[10,100]"), 0)
        words = "has the smallest temperature of the sweep"
        self.assertIn(words, run("prune", self.solved, "--point", "best").stderr)
        self.assertNotIn(words, run("prune", self.solved, "--point", "10,10").stderr)
        self.assertIn(words, " ".join(run("solve", self.solved).stdout.split()))

    def test_tables_say_the_evidence(self):
        table = run("inspect", self.solved).stdout
        self.assertIn("log_evidence", table)
        self.assertIn(f"{points_of(self.solved)[self.best]:.6g}", table)
        self.assertIn("best by evidence: widths", run("solve", self.solved).stdout)

    def test_what_is_no_point_of_a_result_is_refused(self):
        for given, words in (("11,0.1", "must be best, or a point of"), ("0.1", "100,0.1"), ("10,x", "--point 10,x"), ("10,10,0.1", "--point")):
            ended = run("prune", self.solved, "--point", given)
            self.check(ended, 64)
            self.assertIn(words, ended.stderr)
        ended = run("prune", self.study, "--point", "best")
        self.check(ended, 64)
        self.assertIn("needs a result", ended.stderr)
        ended = run("prune", self.solved, "--point", "best", "--set", "model.widths=[10]")
        self.check(ended, 64)
        self.assertIn("--set model.widths", ended.stderr)


if __name__ == "__main__":
    unittest.main()
