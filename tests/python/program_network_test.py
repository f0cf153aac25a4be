"""`headway prune` on a data set that carries a trained network, against the network run in numpy."""

import contextlib
import io
import math
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
import headway.results.table
import program
from headway import cli
from headway.results.network_seeds import compare_networks
from headway.base.ranks import mean_correlation_p_value, rank_correlation
from network_problem import HEADS, SIZES, NetworkProblem

COUNT = sum(HEADS)
FOLDER = tempfile.TemporaryDirectory()
FOLDER_PATH = Path(FOLDER.name)
OPTIONS = ("--set", "model.widths=[10,100]", "--set", "model.temperature=0.1",
           "--set", "prune.resamples=200", "--seed", "4")


class Pruning(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.problem = NetworkProblem()
        cls.data = FOLDER_PATH / "network.h5"
        cls.problem.write(cls.data)
        cls.found = program.run_json("prune", cls.data, *OPTIONS)
        cls.network = cls.found["network"]

    @classmethod
    def tearDownClass(cls):
        FOLDER.cleanup()

    def test_accuracy_is_that_of_the_network_on_every_set(self):
        sets = {entry["name"]: entry for entry in self.network["sets"]}
        self.assertEqual(list(sets), ["train", "test", "other", "validation"])
        for name, entry in sets.items():
            right = self.problem.outputs(name, []) * self.problem.labels[name] > 0
            self.assertEqual(entry["examples"], SIZES[name])
            self.assertAlmostEqual(entry["accuracy"], right.mean(), delta=1e-12)
            self.assertAlmostEqual(entry["accuracy_error"],
                                   right.std(ddof=1) / math.sqrt(len(right)), delta=1e-12)
            error = np.mean((self.problem.outputs(name, []) - self.problem.labels[name]) ** 2)
            self.assertAlmostEqual(entry["mean_squared_error"], error, delta=1e-9)

    def test_removal_of_each_head_alone_costs_what_the_network_loses(self):
        whole = self.problem.outputs("test", []) * self.problem.labels["test"] > 0
        drops = []
        for head, entry in enumerate(self.network["heads"]):
            left = self.problem.outputs("test", [head]) * self.problem.labels["test"] > 0
            lost = whole.astype(float) - left
            drops.append(lost.mean())
            self.assertAlmostEqual(entry["accuracy_drop"], lost.mean(), delta=1e-12)
            self.assertAlmostEqual(entry["accuracy_drop_error"],
                                   lost.std(ddof=1) / math.sqrt(len(lost)), delta=1e-12)
        self.assertGreater(np.ptp(drops), 0.02)
        for point in self.found["points"]:
            score = np.array([head["score"] for head in point["heads"]])
            agreement = point["network"]["score"]["accuracy_drop"]
            self.assertAlmostEqual(agreement["spearman"], rank_correlation(score, np.array(drops)),
                                   delta=1e-12)
            self.assertLessEqual(agreement["lower"], agreement["upper"])

    def test_scores_are_norms_and_sensitivities(self):
        heads = self.network["heads"]
        norms = [np.linalg.norm(v) for layer in self.problem.values for v in layer]
        np.testing.assert_allclose([head["weight_norm"] for head in heads], norms, rtol=1e-12)
        sensitivity, step, ones = [], 1e-5, np.ones(COUNT)
        for head in range(COUNT):
            losses = [(self.problem.outputs("train", [], masks=ones + sign * step *
                                            (np.arange(COUNT) == head))
                       - self.problem.labels["train"]) ** 2 for sign in (1, -1)]
            sensitivity.append(np.abs((losses[0] - losses[1]) / (2 * step)).mean())
        layers = np.repeat(np.arange(len(HEADS)), HEADS)
        for layer in range(len(HEADS)):
            chosen = layers == layer
            np.testing.assert_allclose(
                np.array([head["sensitivity"] for head in heads])[chosen],
                np.array(sensitivity)[chosen] / np.linalg.norm(np.array(sensitivity)[chosen]),
                rtol=1e-6)
        v = self.effective_weights()
        np.testing.assert_allclose(self.network["U_1"], v @ v.T / v.shape[1], rtol=1e-10)

    def effective_weights(self):
        rows = []
        for first in range(HEADS[0]):
            for second in range(HEADS[1]):
                a, v2, v1 = self.problem.readout, self.problem.values[1][second], (
                    self.problem.values[0][first])
                rows.append((a @ v2 @ v1)[0] / math.sqrt(a.shape[1] * v2.shape[1]))
        return np.array(rows)

    def check_curve(self, curve, rescale=True, problem=None):
        problem = problem or self.problem
        self.assertEqual(len(curve["order"]), COUNT - len(HEADS))
        for step, accuracy in enumerate(curve["accuracy"]):
            self.assertAlmostEqual(accuracy,
                                   problem.accuracy("test", curve["order"][:step], rescale),
                                   delta=1e-12)

    def test_curves_in_every_order_are_those_of_the_network(self):
        for scores in (self.network["scores"], *(point["network"] for point in self.found["points"])):
            for name, entry in scores.items():
                with self.subTest(name):
                    self.check_curve(entry["rising"])
                    self.check_curve(entry["falling"])
                    values = [entry["score"][head] for head in entry["rising"]["order"]]
                    self.assertEqual(values, sorted(values))
                    values = [entry["score"][head] for head in entry["falling"]["order"]]
                    self.assertEqual(values, sorted(values, reverse=True))
        self.assertEqual(set(self.network["scores"]),
                         {"weight_norm", "path_norm", "sensitivity", "own_score"})

    def test_greedy_is_searched_on_validation(self):
        self.assertEqual(self.network["greedy_on"], "validation")
        self.check_curve(self.network["greedy"])
        first = self.network["greedy"]["order"][0]
        best = max(self.problem.accuracy("validation", [head]) for head in range(COUNT))
        self.assertEqual(self.problem.accuracy("validation", [first]), best)

    def test_rescaling_can_be_left_out(self):
        found = program.run_json("prune", self.data, *OPTIONS, "--set", "prune.rescale=false")
        self.assertIs(found["network"]["rescaled"], False)
        self.check_curve(found["network"]["scores"]["weight_norm"]["rising"], rescale=False)

    def test_the_result_file_has_everything_and_its_figures_show_it(self):
        path = FOLDER_PATH / "pruned.h5"
        program.run("prune", self.data, *OPTIONS, "-o", path, "-q", "--force")
        result = headway.read_result(path)
        network = result.network
        np.testing.assert_allclose(
            network.accuracy_drop.mean, [h["accuracy_drop"] for h in self.network["heads"]])
        self.assertEqual(network.set_names, ("train", "test", "other", "validation"))
        point, expected = result.points[0], self.found["points"][0]["network"]
        self.assertEqual(set(point.network), {"score", "score_weighted", "squared_error_rise",
                                              "squared_error_rise_without_theory"})
        np.testing.assert_allclose(point.network["score"].falling.accuracy.mean,
                                   expected["score"]["falling"]["accuracy"])
        for name in ("spearman", "p_value", "lower", "upper", "sd", "kendall"):
            self.assertEqual(getattr(point.network["score"].error_rise, name),
                             expected["score"]["error_rise"][name])
        self.assertEqual(network.random.accuracy.shape, (20, COUNT - len(HEADS) + 1))
        np.testing.assert_allclose(network.random.mean, network.random.accuracy.mean(0))
        from headway import figures
        drawn = figures.draw_all([result])
        self.assertLessEqual({"accuracy_on_sets", "network_heads", "network_order_parameters",
                              "network_pruning"}, set(drawn))
        self.assertIn(f"{point.network['score'].accuracy_drop.spearman:.2f} [",
                      headway.results.table.table(result))
        both = figures.draw_all([result, self.another_network()],
                                only=["network_pruning_over_seeds"])
        self.assertEqual(len(both["network_pruning_over_seeds"].axes), 2)

    def another_network(self):
        """The result of a network of other weights."""
        data, path = FOLDER_PATH / "another.h5", FOLDER_PATH / "pruned-another.h5"
        NetworkProblem(seed=2).write(data)
        program.run("prune", data, *OPTIONS, "-o", path, "-q", "--force")
        return headway.read_result(path)

    def test_several_networks_are_compared_score_by_score(self):
        path = FOLDER_PATH / "pruned.h5"
        program.run("prune", self.data, *OPTIONS, "-o", path, "-q", "--force")
        result, other = headway.read_result(path), self.another_network()
        every = compare_networks([result, other])
        self.assertEqual(len(every), len(self.network["scores"]) + 4 * len(result.points))
        point = self.found["points"][0]
        found = {score.name: score for score in every
                 if score.widths in (None, tuple(point["widths"]))}
        self.assertEqual(set(found), {*self.network["scores"], *point["network"]})
        curve = np.array([point["network"]["score"]["rising"]["accuracy"][COUNT // 2],
                          other.points[0].network["score"].rising.accuracy.mean[COUNT // 2]])
        np.testing.assert_allclose(found["score"].half, curve)
        np.testing.assert_allclose(found["score"].half_over_random,
                                   curve - [network.network.random.mean[COUNT // 2]
                                            for network in (result, other)])
        for name, scores in result.network.scores.items():
            one = mean_correlation_p_value([(scores.score, result.network.accuracy_drop.mean)])
            self.assertAlmostEqual(one, scores.accuracy_drop.p_value, delta=0.02, msg=name)
        with self.assertRaisesRegex(headway.errors.UsageError, "the same trained network"):
            compare_networks([result, other, result])
        text = headway.results.table.table_of_networks([result, other], "csv").splitlines()
        self.assertEqual(len(text), 1 + len(every))
        self.assertTrue(text[0].startswith("score,N,T,networks,"))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(cli.main(["table", str(path), str(other.file), "--format", "csv"]), 0)
        self.assertEqual(out.getvalue().splitlines(), text)
        bare = FOLDER_PATH / "no_network.h5"
        program.run("solve", self.data, *OPTIONS[:4], "-o", bare, "-q", "--force")
        with self.assertRaisesRegex(headway.errors.UsageError, "no_network.h5: has no trained network"):
            headway.results.table.table_of_networks([result, headway.read_result(bare)])

    def test_the_chance_of_a_mean_correlation_is_known_in_small_cases(self):
        rising, falling = np.arange(3.0), -np.arange(3.0)
        agree = mean_correlation_p_value([(rising, rising)] * 2)
        self.assertAlmostEqual(agree, 2 / 36, delta=0.01)  # both in order, or both reversed
        self.assertEqual(mean_correlation_p_value([(rising, rising), (rising, falling)]), 1.0)
        self.assertTrue(np.isnan(mean_correlation_p_value([(np.ones(3), rising)])))

    def test_one_thread_gives_the_same(self):
        one = program.run_json("prune", self.data, *OPTIONS, "--threads", "1")
        self.assertEqual(one["network"], self.found["network"])

    def test_another_readout_is_refused(self):
        refused = program.run("prune", self.data, "--set", "model.readout=last_token", code=78)
        self.assertIn("model.readout", refused.stderr)


class BadNetworks(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name) / "bad.h5"
        NetworkProblem().write(self.path)

    def broken(self, change, *parts):
        with h5py.File(self.path, "r+") as file:
            change(file)
        found = program.run("validate", self.path, code=65)
        lines = (found.stdout + found.stderr).splitlines()
        self.assertTrue(any(all(part in line for part in parts) for line in lines), lines)
        faults = headway.check_dataset(self.path)
        self.assertTrue(any(parts[0] in fault for fault in faults), faults)

    def test_wrong_shapes_are_refused(self):
        def put(name, value):
            def change(file):
                del file[name]
                file[name] = value
            return change
        self.broken(put("network/input", np.ones((8, 5))), "network/input", "[8, 5]")

    def test_widths_that_do_not_fit_each_other_are_refused(self):
        def change(file):
            del file["network/values/layer_2"]
            file["network/values/layer_2"] = np.ones((2, 7, 8))
        self.broken(change, "network/values/layer_2", "[2, 7, 8]")

    def test_what_is_not_finite_is_refused(self):
        def change(file):
            file["network/readout"][0, 3] = np.nan
        self.broken(change, "network/readout", "nan")

    def test_a_missing_part_is_refused(self):
        def change(file):
            del file["network/readout"]
        self.broken(change, "network/readout", "missing")

    def test_the_readout_must_be_said(self):
        def change(file):
            del file.attrs["readout"]
        self.broken(change, "readout", "missing")


if __name__ == "__main__":
    unittest.main()
