"""The test of data/results/decodability: its statistic, its p-value and its error on made-up networks whose answer is known,
and what it measures on made-up codes."""

import math
import os
import pathlib
import random
import statistics
import sys
import unittest
from unittest import mock

ROOT = pathlib.Path(os.environ.get("HEADWAY_ROOT", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "apps/docs/result_pages"))
import decodability  # noqa: E402
from decodability import MEASURES, Network, bootstrap_error, halves, p_value, planned, ranks, statistic  # noqa: E402

try:
    import numpy as np
except ModuleNotFoundError:
    np = None
else:
    import decodability_codes


def rows_of(draw, count=16, stages=(1, 2), shares=(0.5,), tasks=("a", "b")):
    """Rows of networks; `draw()` gives the noise of one network: (measure, known, held out)."""
    rows = []
    for task in tasks:
        for share in shares:
            for at in range(count):
                network, values = Network(task, share, decodability.VARIANTS[at % 4], at), draw()
                rows += [(network, stage, *values) for stage in stages]
    return rows


class StatisticTest(unittest.TestCase):
    def test_ranks_have_mean_0_and_deviation_1_and_ties_share_one(self):
        found = ranks([3.0, 1.0, 1.0, 9.0])
        self.assertAlmostEqual(sum(found), 0)
        self.assertAlmostEqual(sum(value ** 2 for value in found) / 4, 1)
        self.assertEqual(found[1], found[2])
        self.assertLess(found[0], found[3])
        self.assertEqual(ranks([2.0, 2.0]), [0.0, 0.0])

    def test_one_cell_has_the_rank_correlation_of_what_a_line_leaves(self):
        draws = random.Random(1)
        measure, known, held_out = ([draws.random() for _ in range(20)] for _ in range(3))
        rows = [(Network("a", 0.5, "hyla", at), 1, *values) for at, values in enumerate(zip(measure, known, held_out))]
        left = []
        for values in (measure, held_out):
            slope, intercept = statistics.linear_regression(known, values)
            left.append(ranks([value - slope * given - intercept for value, given in zip(values, known)]))
        self.assertAlmostEqual(statistic(rows), statistics.correlation(*left))
        self.assertAlmostEqual(statistic(rows, partial=False), statistics.correlation(ranks(measure), ranks(held_out)))

    def test_the_training_score_itself_and_lines_in_it_say_nothing(self):
        draws = random.Random(10)
        rows = [(*row[:2], 3 * row[3] + 1, *row[3:]) for row in rows_of(lambda: confounded(draws))]
        self.assertEqual(statistic(rows), 0)
        self.assertGreater(statistic(rows, partial=False), 0.5)

    def test_what_all_networks_of_a_cell_share_makes_no_correlation(self):
        draws = random.Random(2)
        rows = rows_of(lambda: [draws.random() for _ in range(3)], shares=(0.5, 0.7))
        moved = [(network, stage, *(value + 10 * stage + 100 * network.share for value in values)) for network, stage, *values in rows]
        self.assertAlmostEqual(statistic(moved), statistic(rows))
        shifted = [(row[0], row[1], *(value + len(row[0].variant) for value in row[2:])) for row in rows]
        self.assertAlmostEqual(statistic(shifted, within=True), statistic(rows, within=True))
        self.assertGreater(statistic(shifted, partial=False), statistic(rows, partial=False) + 0.2)

    def test_the_mean_is_over_tasks(self):
        draws = random.Random(3)
        one, other = (rows_of(lambda: [draws.random() for _ in range(3)], count=count, tasks=(task,))
                      for task, count in (("a", 6), ("b", 30)))
        self.assertAlmostEqual(statistic(one + other), (statistic(one) + statistic(other)) / 2)


def confounded(draws):
    """A measure and a held-out score that have the training score in common, and nothing else."""
    known = draws.gauss(0, 1)
    return known + draws.gauss(0, 0.5), known, known + draws.gauss(0, 0.5)


class TestOfTheTest(unittest.TestCase):
    def test_a_measure_that_says_no_more_than_the_training_score_passes_as_often_as_the_level_says(self):
        draws, level, repeats = random.Random(4), 0.1, 300
        found, plain = [], []
        for repeat in range(repeats):
            rows = rows_of(lambda: confounded(draws), count=12, stages=(1,))
            found.append(p_value(rows, 1, within=repeat % 2 == 1, permutations=99) <= level)
            plain.append(statistic(rows, partial=False))
        error = math.sqrt(level * (1 - level) / repeats)
        self.assertLess(abs(statistics.mean(found) - level), 3 * error)
        self.assertGreater(statistics.mean(plain), 0.5, "there is something to be taken off")

    def test_a_measure_that_says_more_passes_in_its_direction_alone(self):
        draws = random.Random(5)
        def draw():
            measure, known = draws.gauss(0, 1), draws.gauss(0, 1)
            return measure, known, measure + known + draws.gauss(0, 0.3)
        rows = rows_of(draw)
        self.assertLess(p_value(rows, 1, permutations=199), 0.01)
        self.assertGreater(p_value(rows, -1, permutations=199), 0.99)

    def test_a_difference_between_variants_passes_only_between_variants(self):
        draws = random.Random(6)
        rows = []
        for network, stage, *_ in rows_of(lambda: (0, 0, 0), count=24, stages=(1,)):
            of_variant = decodability.VARIANTS.index(network.variant)
            rows.append((network, stage, *(part * of_variant + draws.gauss(0, 0.3) for part in (1, 0, 1))))
        self.assertLess(p_value(rows, 1, permutations=199), 0.01)
        self.assertGreater(p_value(rows, 1, within=True, permutations=199), 0.05)

    def test_stages_of_a_network_stay_together(self):
        """Ten equal stages are no more evidence than one."""
        draws = random.Random(7)
        rows = rows_of(lambda: confounded(draws), count=10, stages=(1,))
        many = [(row[0], stage, *row[2:]) for row in rows for stage in range(10)]
        self.assertEqual(p_value(many, 1, permutations=199), p_value(rows, 1, permutations=199))
        self.assertAlmostEqual(bootstrap_error(many, draws_made=99), bootstrap_error(rows, draws_made=99))

    def test_the_error_is_the_spread_of_the_statistic(self):
        draws, errors, found = random.Random(8), [], []
        for _ in range(60):
            rows = rows_of(lambda: confounded(draws), count=30, stages=(1,))
            found.append(statistic(rows))
            errors.append(bootstrap_error(rows, draws_made=60))
        self.assertLess(abs(math.log(statistics.mean(errors) / statistics.stdev(found))), 0.4)


class PlanTest(unittest.TestCase):
    def test_halves_are_equal_and_a_name_decides(self):
        networks = planned()
        self.assertEqual(len(set(networks)), len(networks))
        found = halves(networks)
        self.assertEqual(found, halves(list(reversed(networks))))
        for task, plan in decodability.PLAN.items():
            for share in plan.shares:
                for variant in decodability.VARIANTS:
                    sides = [found[network] for network in networks if network[:3] == (task, share, variant)]
                    self.assertEqual(len(sides), len(plan.seeds))
                    self.assertEqual(sides.count("A"), (len(sides) + 1) // 2)
        self.assertNotEqual([found[network] for network in networks], ["AB"[network.seed % 2] for network in networks])

    def test_studies_have_the_plan(self):
        try:
            import tomllib
        except ModuleNotFoundError:
            self.skipTest("tomllib comes with Python 3.11")
        for task, plan in decodability.PLAN.items():
            study = tomllib.loads((ROOT / f"data/studies/{plan.study}.toml").read_text())
            self.assertEqual((study["name"], study["task"]["kind"]), (plan.study, task))
            self.assertEqual(study["sweep"], {"seed": list(plan.seeds), "task.held_out": list(plan.shares),
                                              "train.attention": list(decodability.VARIANTS), "train.steps": [1, *plan.stages]})

    def test_measures_are_made_of_what_is_recorded(self):
        layers = [{"decoded": 0.3, "same": 0.5, "different": 0.1, "same_centred": 0.2, "different_centred": -0.1},
                  {"decoded": 0.7, "same": 0.9, "different": 0.3, "same_centred": 0.6, "different_centred": 0.0}]
        stage = {"layers": layers, "all_layers": {"decoded": 0.8}}
        untrained = {"layers": [{"decoded": 0.1}, {"decoded": 0.2}], "all_layers": {"decoded": 0.4}}
        found = {measure: decodability.measured(stage, untrained, measure) for measure in MEASURES}
        for measure, value in zip(MEASURES, (0.7, 0.5, 0.5, 0.35, 0.8, 0.4, 0.6, 0.6, 0.5, 0.45), strict=True):
            self.assertAlmostEqual(found[measure], value, msg=measure)

    def test_the_choice_sees_half_a_and_the_test_half_b(self):
        """Records in which one measure is good on half A alone, and another one on half B alone."""
        draws, side = random.Random(9), halves(planned())
        layer = dict.fromkeys(("same", "different", "same_centred", "different_centred", "decoded"), 0.0)
        made = {}
        for network in planned():
            stages = []
            for steps in (1, *decodability.PLAN[network.task].stages):
                held_out, noise = draws.random(), draws.random()
                good_on_a, good_on_b = (held_out, noise) if side[network] == "A" else (noise, held_out)
                last = layer | {"decoded": draws.random(), "same": good_on_a, "same_centred": good_on_b}
                stages.append({"steps": steps, "known": draws.random(), "held_out": held_out, "layers": [layer, last],
                               "all_layers": {"decoded": draws.random()}})
            made[network] = {"stages": stages}
        with mock.patch.object(decodability, "records", lambda: made), mock.patch.object(decodability, "PERMUTATIONS", 99), \
                mock.patch.object(decodability, "BOOTSTRAPS", 19):
            decodability.chosen.cache_clear()
            decodability.tested.cache_clear()
            try:
                self.assertEqual(decodability.chosen()[::2], ("alike", "as it is"))
                self.assertGreater(decodability.tested().on_a, 0.9)
                self.assertLess(abs(decodability.tested().on_b), 0.5)
            finally:
                decodability.chosen.cache_clear()
                decodability.tested.cache_clear()


@unittest.skipIf(np is None, "no numpy")
class CodesTest(unittest.TestCase):
    def setUp(self):
        draws = self.draws = np.random.RandomState(1)
        pairs = [(a, b) for a in range(12) for b in range(a)]
        chosen = draws.permutation(len(pairs))[:30]
        self.tasks = draws.randint(len(chosen), size=3000)
        self.labels = np.zeros((3000, 12), dtype=bool)
        for at, task in enumerate(self.tasks):
            self.labels[at, list(pairs[chosen[task]])] = True
        self.places = draws.randint(2, size=3000)

    def decoded(self, codes):
        return decodability_codes.measures(codes, self.tasks, self.labels, self.places)["decoded"]

    def test_terms_that_codes_tell_are_decoded(self):
        codes = self.labels @ self.draws.randn(12, 16) + 0.05 * self.draws.randn(3000, 16)
        self.assertGreater(self.decoded(codes), 0.95)

    def test_codes_of_tasks_tell_no_terms_of_other_tasks(self):
        """Each task has a random code, from which its terms could be looked up."""
        codes = self.draws.randn(30, 16)[self.tasks] + 0.01 * self.draws.randn(3000, 16)
        rare = self.labels.mean()
        self.assertLess(self.decoded(codes), 2 * rare / (1 + rare) + 0.1)

    def test_rules_are_scored_by_balanced_accuracy(self):
        rule = np.where(self.tasks < 20, 0, self.tasks % 3 + 1)
        labels = rule[:, None] == np.arange(5)
        codes = 2.0 * labels @ self.draws.randn(5, 8) + 0.1 * self.draws.randn(3000, 8)
        self.assertGreater(decodability_codes.measures(codes, self.tasks, labels, self.places)["decoded"], 0.95)
        nothing = decodability_codes.measures(self.draws.randn(3000, 8), self.tasks, labels, self.places)["decoded"]
        self.assertLess(abs(nothing - 0.25), 0.05)

    def test_decoders_are_at_the_minimum_of_their_loss(self):
        codes, there = self.draws.randn(400, 3), self.draws.rand(400) < 0.2
        x = np.column_stack([codes, np.ones(400)])
        scores = decodability_codes.logistic_scores(codes, there, codes)
        found = np.linalg.lstsq(x, scores, rcond=None)[0]
        def loss(w):
            s = x @ w
            weights = np.where(there, 0.5 / there.sum(), 0.5 / (~there).sum())
            return weights @ np.logaddexp(0, np.where(there, -s, s)) + decodability_codes.PENALTY / 2 * w[:3] @ w[:3]
        for direction in np.eye(4):
            self.assertLess(abs(loss(found + 1e-4 * direction) - loss(found - 1e-4 * direction)) / 2e-4, 1e-6)

    def test_cosines_are_means_over_pairs_of_different_tasks(self):
        codes = (self.labels @ self.draws.randn(12, 6) + self.draws.randn(3000, 6))[:120]
        tasks, labels = self.tasks[:120], self.labels[:120]
        unit = codes / np.linalg.norm(codes, axis=1, keepdims=True)
        found = {True: {}, False: {}}
        for i in range(120):
            for j in range(120):
                shared = bool((labels[i] & labels[j]).any())
                for a in np.flatnonzero(labels[i]):
                    for b in np.flatnonzero(labels[j]):
                        if tasks[i] != tasks[j] and shared == (a == b):
                            found[shared].setdefault((a, b), []).append(unit[i] @ unit[j])
        expected = [np.mean([np.mean(values) for values in found[shared].values()]) for shared in (True, False)]
        np.testing.assert_allclose(decodability_codes.cosines(codes, tasks, labels), expected)

    def test_centred_codes_do_not_tell_their_place(self):
        codes = self.draws.randn(3000, 4) + 5.0 * self.places[:, None]
        for place in (0, 1):
            np.testing.assert_allclose(decodability_codes.centred(codes, self.places)[self.places == place].mean(axis=0), 0, atol=1e-12)


if __name__ == "__main__":
    unittest.main()
