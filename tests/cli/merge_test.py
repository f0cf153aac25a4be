"""Parts of a study (`--shard i/n`) and `headway merge`: the undivided result, whatever n is."""

import json
import os
import re
import unittest

import h5py

from support import ProgramTest, check_equal, run, write_many
from train_support import needs_training, small_grid

COUNTS = (1, 2, 3, 7)
SOLVE = ["--set", "model.widths=[5,10,20,40,80]", "--set", "model.temperature=[0.1,1]"]
SAMPLE = ["--set", "model.widths=[4,8]", "--set", "model.temperature=[0.1,1]", "--set", "sample.draws=40",
          "--set", "sample.warmup=60", "--set", "sample.chains=2", "--set", "sample.predictor_draws=10"]
GRID = small_grid('kind = "sraven"\nfeatures = 2\nheld_out = 0.25\n',
                  '"train.attention" = ["softmax", "hyla"]\nseed = [1, 2]')


class Merge(ProgramTest):
    def part(self, index, count):
        return self.path(f"part-{index}.of{count}.h5")

    def make(self, verb, study, count, *options):
        """All parts of a study; the exit codes may be 2, as that of the whole."""
        for i in range(count):
            done = run(verb, study, *options, "--shard", f"{i}/{count}", "-o", self.part(i, count))
            self.assertIn(done.returncode, (0, 2), done.stderr)
        return [self.part(i, count) for i in range(count)]

    def check_verb(self, verb, study, *options, counts=COUNTS):
        whole = self.path("whole.h5")
        undivided = run(verb, study, *options, "-o", whole)
        self.assertIn(undivided.returncode, (0, 2), undivided.stderr)
        for count in counts:
            parts = self.make(verb, study, count, *options)
            if count > 1 and verb != "gram":
                self.assertIn(f"{parts[1]} --shard 1/{count} -o", run("inspect", parts[1]).stdout)
            merged = self.path(f"merged-{count}.h5")
            done = run("merge", *reversed(parts), "-o", merged)
            self.assertEqual(done.returncode, undivided.returncode, done.stderr)
            check_equal(self, whole, merged)
            with h5py.File(merged) as file:
                self.assertNotIn("shard", file.attrs)
                self.assertNotIn("--shard", file.attrs["command"])

    def test_parts_of_solve_become_the_whole(self):
        self.check_verb("solve", self.study, *SOLVE)

    def test_solve_without_warm_start_and_many_temperatures(self):
        self.check_verb("solve", self.study, "--set", "solve.warm_start=false",
                        "--set", "model.temperature=[0.1,0.2,0.5,1,2]")

    def test_parts_of_sample_become_the_whole(self):
        self.check_verb("sample", self.study, *SAMPLE)

    def test_parts_of_samples_of_weights_become_the_whole(self):
        self.check_verb("sample", self.study, *SAMPLE, "--set", "sample.sampler=gibbs",
                        "--set", "sample.keep_weights=true")

    @needs_training
    def test_parts_of_train_become_the_whole(self):
        self.check_verb("train", self.write("grid.toml", GRID), counts=(2, 7))  # each part loads LibTorch

    def test_parts_of_gram_become_the_whole(self):
        data = [self.path("a.h5"), self.path("b.h5")]
        write_many(data[0], 3000, 1)
        write_many(data[1], 2500, 2)
        self.check_verb("gram", *data)
        parts = [self.part(i, 7) for i in range(7)]  # of six leaves
        with h5py.File(parts[0]) as first, h5py.File(parts[6]) as last:
            self.assertNotIn("nodes", first)
            self.assertEqual((last["nodes/0"].attrs["index"], last["nodes/0"].attrs["examples"]), (5, 917))
            self.assertIn("sets", first)
            self.assertNotIn("sets", last)
        self.check(run("solve", parts[6]), 65, "is part 6/7 of Gram matrices; join the parts first")
        self.check(run("inspect", parts[6]), 0)
        whole, merged = (json.loads(run(*words, "--json").stdout) for words in (("gram", *data), ("merge", *parts)))
        for result in (whole, merged):
            result.pop("seconds")
        self.assertEqual(whole, merged)
        refused = run("merge", *parts[:6], "-o", self.path("other.h5"))
        self.check(refused, 66, "of 7 parts one is missing", "--shard 6/7", parts[6])
        other = self.path("other.h5")
        self.check(run("gram", data[0], "--shard", "6/7", "-o", other), 0)
        self.check(run("merge", *parts[:6], other), 65, other, "was computed from other data")

    def test_an_empty_part_says_so_and_the_table_is_that_of_the_whole(self):
        parts = self.make("solve", self.study, 5)
        with h5py.File(parts[4]) as file:
            self.assertEqual((file.attrs["shard"], len(file["points"])), ("4/5", 0))
        self.check(run("inspect", parts[4]), 0)
        whole = json.loads(run("solve", self.study, "--json").stdout)
        merged = json.loads(run("merge", *parts, "--json").stdout)
        for result in (whole, merged):
            result.pop("seconds")
            result.pop("threads")
            for point in result["points"]:
                point.pop("seconds")
        self.assertEqual(whole, merged)

    def test_what_is_missing_is_named_with_its_command_which_makes_it(self):
        parts = self.make("solve", self.study, 3, *SOLVE)
        os.remove(parts[1])
        refused = run("merge", parts[2], parts[0], "-o", self.path("whole.h5"))
        self.check(refused, 66, "of 3 parts one is missing", "--shard 1/3", parts[1])
        command, = re.findall(r"^  \S+ (.*--shard 1/3.*)$", refused.stderr, re.MULTILINE)
        self.check(run(*command.replace("'", "").split()), 0)
        self.check(run("merge", *parts, "-o", self.path("whole.h5")), 0)

    def test_parts_that_do_not_belong_together(self):
        first, second = self.make("solve", self.study, 2)
        other = self.path("other.h5")
        merged = ["-o", self.path("merged.h5")]
        run("solve", self.study, "--set", "model.temperature=0.2", "--shard", "1/2", "-o", other)
        self.check(run("merge", first, other, *merged), 65, other, first, "another study", "temperature")
        run("solve", self.study, "--seed", 4, "--shard", "1/2", "-o", other, "--force")
        self.check(run("merge", first, other, *merged), 65, other, "another study", "seed")
        run("solve", self.study, "--shard", "1/3", "-o", other, "--force")
        self.check(run("merge", first, other, *merged), 65, other, "one of 3 parts, not of 2")
        run("sample", self.study, "--set", "sample.draws=10", "--set", "sample.warmup=10", "--shard", "1/2", "-o", other,
            "--force")
        self.check(run("merge", first, other, *merged), 65, other, "is of headway sample, not of headway solve")
        self.check(run("merge", first, second, second, *merged), 65, "part 1/2, and so is")
        run("solve", self.study, "-o", other, "--force")
        self.check(run("merge", first, other, *merged), 65, "is a whole result")
        self.check(run("merge", first, self.study, *merged), 65, self.study)
        self.check(run("merge", first, self.path("none.h5"), *merged), 66, "none.h5")
        self.check(run("merge", first, second, "-o", first), 73, first)
        self.assertFalse(os.path.exists(merged[1]))

    def test_a_part_lends_no_order_parameters(self):
        part, _ = self.make("solve", self.study, 2)
        self.check(run("align", part), 0, "it is part 0/2 of its study")

    def test_bad_shards_are_refused(self):
        for wrong in ("2/2", "-1/2", "1", "1/0", "a/b", "1/2/3", "1/99999999"):
            with self.subTest(wrong):
                self.check(run("solve", self.study, f"--shard={wrong}"), 64, "--shard", "0 <= i < n")
        self.check(run("align", self.study, "--shard", "0/2"), 64, "--shard")


if __name__ == "__main__":
    unittest.main()
