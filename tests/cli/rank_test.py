"""`headway rank`: the heads of trained networks, and the parts in a data set of contributions."""

import importlib.util
import json
import unittest

import h5py
import numpy as np

import headway
from headway.report import write_report
from heads_test import STUDY, settings
from support import ProgramTest, run
from train_support import needs_training

FEW = ("rank.examples=40",)


class RankOfParts(ProgramTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(1)
        self.parts = rng.standard_normal((40, 4, 6))
        self.parts[:, 3] *= 3.0
        self.labels = np.sign(self.parts[:, 3, 0] + 0.5 * self.parts[:, 1, 1])
        self.data = self.write_parts("parts.h5", self.parts, self.labels)

    def write_parts(self, name, parts, labels, heads=(4,)):
        path = self.path(name)
        headway.write_dataset(path, train_path_features=parts, train_labels=labels, heads=list(heads))
        return path

    def object_of(self, *arguments):
        process = run("rank", *arguments, "--json", "-q")
        self.check(process, 0)
        return json.loads(process.stdout)

    def test_every_measure_is_that_of_python(self):
        """All numbers agree except the draws of the estimate, which are others."""
        (mine,) = self.object_of(self.data)["runs"]
        theirs = headway.rank_parts(self.data)
        both = {name for name in theirs.columns if name.startswith(("frozen_cut", "expected", "cut")) and not name.endswith("_error")}
        of_native = set() if importlib.util.find_spec("headway._native") else {"cut_of_theory"}  # Python needs it for the theory
        self.assertEqual(set(mine["columns"]), both | of_native)
        for name in both:
            column = mine["columns"][name]
            np.testing.assert_allclose(column["value"], theirs[name], rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(column["error"], theirs[f"{name}_error"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(mine["estimate"], theirs["estimate"], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(mine["estimate_low"], theirs["estimate_low"], atol=0.25 * max(mine["estimate_error"]))
        self.assertAlmostEqual(mine["loss"], theirs.attributes["loss"], 10)
        self.assertAlmostEqual(mine["accuracy"], theirs.attributes["accuracy"], 10)
        self.assertEqual(int(np.argmax(mine["estimate"])), 3)
        self.assertEqual(mine["k"], 1)  # a quarter of the heads

    def test_file_json_table_and_python_agree(self):
        file = self.path("ranking.h5")
        found = self.object_of(self.data, "-o", file)
        (run_of_file,) = headway.read_result(file).runs
        (mine,) = found["runs"]
        self.assertEqual(run_of_file["estimate"].tolist(), mine["estimate"])
        self.assertEqual(run_of_file["cut_of_theory"].tolist(), mine["columns"]["cut_of_theory"]["value"])
        self.assertEqual([run_of_file.names[row] for row in run_of_file.order()][-1], "L1H4")
        self.assertEqual(run_of_file["among_smallest_cuts"].tolist(), mine["among_smallest_cuts"])
        self.assertFalse([name for name in run_of_file if "removal" in name or "cheapest" in name])
        with h5py.File(file) as result:
            self.assertEqual(result.attrs["kind"], "rank")
        table = run("rank", self.data, "-q")
        self.check(table, 0)
        for words in ("frozen cut, U = 1", "part", "among 1 smallest cuts", "does not tell what removing a head costs"):
            self.assertIn(words, " ".join(table.stdout.split()))
        self.assertNotIn("removal", table.stdout)
        self.assertNotIn("among 1 cheapest", table.stdout)
        self.check(run("inspect", file), 0)
        page = write_report(file, self.path("page.html")).read_text()
        for words in ("frozen cut, U = 1", "--only head_ranking"):
            self.assertIn(words, page)

    def test_the_refitted_readout_and_k_can_be_chosen(self):
        (mine,) = self.object_of(self.data, *settings("rank.readout=refitted", "rank.cheapest=2", "rank.penalty=3"))["runs"]
        self.assertEqual((mine["target"], mine["k"], mine["penalty"]), ("frozen_cut_refitted", 2, 3))
        self.assertAlmostEqual(sum(mine["among_smallest_cuts"]), 2.0)
        self.assertNotIn("among_cheapest", mine)

    def test_bad_input_is_named(self):
        one_class = self.write_parts("one.h5", self.parts, np.ones(40))
        few = self.write_parts("few.h5", self.parts[:6], np.resize([1.0, -1.0], 6))
        deep = self.write_parts("deep.h5", self.parts, self.labels, heads=(2, 2))
        lonely = np.ones(40)
        lonely[3] = -1.0
        alone = self.write_parts("alone.h5", self.parts, lonely)
        rare = self.write_parts("rare.h5", self.parts, np.eye(50)[:40])
        still = self.write_parts("still.h5", np.tile(self.parts[:1], (40, 1, 1)), self.labels)
        for data, words in ((one_class, "labels: are the same for all 40 examples"), (few, "labels: 6 examples: must be at least 8"),
                            (deep, "layers [2, 2]: must be of one layer"), (alone, "class 0 has 1 of 40 examples"),
                            (rare, "labels: 40 examples of 50 classes"), (still, "the contributions are the same on all examples"),
                            ("hmm-four-paths", "holds no contributions")):
            self.check_refused(run("rank", data), 65, words)
        self.check_refused(run("rank", self.data, "--set", "rank.cheapest=5"), 78, "rank.cheapest = 5: must be at most 4")
        self.check_refused(run("rank", self.data, "--set", "rank.penalty=0"), 78, "rank.penalty")

    def test_small_costs_have_digits_and_one_head_no_order(self):
        small = self.write_parts("small.h5", self.parts, 1e-3 * self.labels)
        table = run("rank", small, "-q")
        self.check(table, 0)
        self.assertRegex(table.stdout, r"\n *\d +L1H4 +\+0\.0000\d*[1-9]\d* ")
        table = run("rank", self.write_parts("one.h5", self.parts[:, :1], self.labels, [1]), "-q")
        self.check(table, 0)
        self.assertIn("One part has no order.", table.stdout)

    def check_refused(self, process, code, words):
        self.check(process, code)
        self.assertIn(words, " ".join(process.stderr.split()))


@needs_training
class RankOfNetworks(ProgramTest):
    def setUp(self):
        super().setUp()
        self.trained = self.path("trained.h5")
        self.check(run("train", self.write("heads.toml", STUDY), "-o", self.trained, "-q"), 0)

    def test_all_networks_have_their_heads_ranked(self):
        process = run("rank", self.trained, "--json", "-q", *settings(*FEW))
        self.check(process, 0)
        runs = json.loads(process.stdout)["runs"]
        self.assertEqual([one["label"] for one in runs], ["softmax", "hyla"])
        for one in runs:
            self.assertEqual(one["names"], ["L1H1", "L1H2", "L2H1", "L2H2"])
            columns = one["columns"]
            norms = np.array(columns["weight_norm"]["value"])
            self.assertTrue((norms > 0).all())
            self.assertEqual("attention_entropy" in columns, one["label"] == "softmax")
            for name in ("removal_mean_fixed", "removal_zero_refitted", "cut_of_theory", "gradient"):
                self.assertTrue(np.isfinite(columns[name]["value"]).all(), name)
        entropy = runs[0]["columns"]["attention_entropy"]["value"]
        self.assertTrue((0 < np.array(entropy)).all() and (np.array(entropy) <= np.log(8) + 1e-9).all(), entropy)

    def test_zero_is_another_removal_than_the_mean(self):
        process = run("rank", self.trained, "--json", "-q", *settings(*FEW, "rank.removed_as=zero"))
        self.check(process, 0)
        one = json.loads(process.stdout)["runs"][0]
        self.assertEqual(one["target"], "removal_zero_fixed")
        self.assertGreater(np.abs(np.array(one["columns"]["removal_zero_fixed"]["value"])
                                  - np.array(one["columns"]["removal_mean_fixed"]["value"])).max(), 0.0)

    def test_any_threads_give_the_same_bits(self):
        alone = run("rank", self.trained, "--json", "-q", "--threads", "1", *settings(*FEW))
        both = run("rank", self.trained, "--json", "-q", "--threads", "2", *settings(*FEW))
        first, second = (json.loads(process.stdout) for process in (alone, both))
        self.assertEqual(first["runs"], second["runs"])

    def test_other_keys_are_refused(self):
        process = run("rank", self.trained, "--set", "train.steps=3")
        self.check(process, 78)
        self.assertIn("a key of [rank]", process.stderr)


if __name__ == "__main__":
    unittest.main()
