"""What a network costs without its first heads of an order, on embeddings whose heads are columns."""

import unittest

import numpy as np

from headway.results.ranking.cumulative import Curves, RemovalCurve, RemovalCurves, random_orders
from headway.results.ranking.readouts import fit_readout


class Cumulative(unittest.TestCase):
    """Heads are columns of the embeddings: head 0 is noise, head 3 holds the labels."""

    def setUp(self):
        rng = np.random.default_rng(10)
        self.x = rng.standard_normal((300, 4))
        self.y = np.where(self.x @ [0.0, 0.2, 0.5, 2.0] + 0.3 * rng.standard_normal(300) > 0, 1.0, -1.0)[:, None]
        self.calls = []

    def embed(self, removed):
        self.calls.append(removed)
        x = self.x.copy()
        x[:, list(removed)] = 0.0
        return [x[:40], x[40:]]

    def test_the_greedy_order_keeps_the_head_that_holds_the_labels_to_the_last(self):
        chooser = Curves(lambda removed: self.embed(removed)[:1], self.y[:40], None, 1.0)
        curves = Curves(self.embed, self.y[:40], self.y[40:], 1.0)
        order = curves.greedy(4, 4, chooser, lambda done, total: None)
        self.assertEqual(order[-1], 3)
        curve = curves.curve(order, 4)
        self.assertEqual((curve.rise[0], curve.rise_error[0], curve.order), (0.0, 0.0, tuple(order)))
        self.assertGreater(curve.rise[4], 5 * curve.rise_error[4])
        bare = fit_readout(0 * self.x[:40], self.y[:40], 1.0)
        self.assertAlmostEqual(curve.squared_error[4], np.square(bare.answers(0 * self.x[40:]) - self.y[40:]).mean())
        self.assertGreater(curve.accuracy[0], 0.9)
        before = len(self.calls)
        curves.curve(order[::-1], 0)
        self.assertEqual(len(self.calls), before)  # each set once

    def test_the_greedy_order_is_that_of_the_chooser(self):
        def curves(worth):
            return Curves(lambda removed: self.embed(removed)[:1], (self.x[:40] @ worth)[:, None], None, 1.0)
        last_counts, first_counts = curves([0.0, 1.0, 2.0, 3.0]), curves([3.0, 2.0, 1.0, 0.0])
        self.assertEqual(last_counts.greedy(4, 4, first_counts, lambda done, total: None), [3, 2, 1, 0])
        self.assertEqual(first_counts.greedy(4, 4, last_counts, lambda done, total: None), [0, 1, 2, 3])

    def test_the_penalty_of_the_whole_network_stays(self):
        penalty = fit_readout(self.x[:40], self.y[:40]).penalty
        found = Curves(self.embed, self.y[:40], self.y[40:], None).curve([3, 2, 1, 0], 4).squared_error
        best = []
        for k in range(5):
            x = self.x * (np.arange(4) < 4 - k)
            readout = fit_readout(x[:40], self.y[:40], penalty)
            self.assertAlmostEqual(found[k], np.square(readout.answers(x[40:]) - self.y[40:]).mean(), 12)
            best.append(fit_readout(x[:40], self.y[:40]).penalty)
        self.assertGreater(max(best), penalty)  # chosen anew it would be another

    def test_the_table_has_the_digits_of_its_errors_and_no_deviation_of_one_order(self):
        def curve(rise):
            zero = np.zeros(3)
            return RemovalCurve((0, 1), zero, zero, rise, np.array([0.0, 1e-6, 2e-6]), zero, zero)
        first, second = curve(np.array([0.0, 1.23456e-5, 2e-5])), curve(np.array([0.0, 3e-5, 4e-5]))
        alone = repr(RemovalCurves(("a", "b"), {"estimate": first}, (second,), "test"))
        self.assertNotIn("sd", alone)
        self.assertNotIn("nan", alone)
        self.assertIn("+0.0000123 +- 0.0000010", alone)
        self.assertIn("+0.0000300", alone)
        self.assertIn("(sd 0.0000125)", repr(RemovalCurves(("a", "b"), {"estimate": first}, (first, second), "test")))
        self.assertIn("removed", repr(RemovalCurves((), {}, (), "test")))

    def test_random_orders_are_those_of_the_seed(self):
        self.assertEqual(random_orders(5, 3, 1), random_orders(5, 3, 1))
        self.assertNotEqual(random_orders(5, 3, 1), random_orders(5, 3, 2))


if __name__ == "__main__":
    unittest.main()
