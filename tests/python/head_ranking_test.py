"""What rankings of heads are computed from: against fits that really leave examples out, limits, and draws with known answers."""

import unittest
from unittest.mock import patch

import numpy as np

from headway.results.ranking import removal
from headway.results.ranking.ceiling import ceiling, shared_ranks, told_apart
from headway.results.ranking.combine import combine
from headway.heads.ranking.frozen import cut_changes, matched_temperature, scaled_parts
from headway.results.ranking.readouts import fit_readout, left_out_errors
from headway.results.ranking.removal import Change, Whole

PENALTY = 3.0


def drawn(count, features, outputs, seed=1):
    """Embeddings, the same without a head, labels."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((count, features))
    return x, x + 0.3 * rng.standard_normal(x.shape), rng.standard_normal((count, outputs))


def missed(x, z, y, example, gone, readout):
    """By how much a ridge regression misses a label on z. It is fitted to x without the examples `gone`, in the scales of a
    readout."""
    kept = np.array([i for i in range(len(x)) if i not in gone])
    x, z = (x - readout.mean) / readout.scale, (z - readout.mean) / readout.scale
    mean, offset = x[kept].mean(0), y[kept].mean(0)
    matrix = (x[kept] - mean).T @ (x[kept] - mean) + PENALTY * np.eye(x.shape[1])
    weights = np.linalg.solve(matrix, (x[kept] - mean).T @ (y[kept] - offset))
    return y[example] - ((z[example] - mean) @ weights + offset)


class LeavingOut(unittest.TestCase):
    def test_one_and_two_examples_left_out_give_fits_without_them(self):
        for count, features, outputs in ((14, 7, 2), (10, 30, 1)):
            x, z, y = drawn(count, features, outputs)
            whole = Whole(x, y, PENALTY)
            changes, again = whole.without(z), fit_readout(z, y, PENALTY)
            for name, inputs, readout in (("fixed", x, whole.readout), ("refitted", z, again)):
                def rise(i, gone):
                    return (np.square(missed(inputs, z, y, i, gone, readout)).mean()
                            - np.square(missed(x, x, y, i, gone, whole.readout)).mean())
                rises = np.array([rise(i, {i}) for i in range(count)])
                np.testing.assert_allclose(changes[name].rises, rises, atol=1e-10)
                pairs = np.array([[rises[i] - rise(i, {i, k}) for k in range(count)] for i in range(count)])
                pairs = pairs - pairs.mean(0) - pairs.mean(1, keepdims=True) + pairs.mean()
                np.testing.assert_allclose(changes[name].pairs.reshape(count, count) * count, pairs, rtol=1e-4, atol=1e-5)

    def test_errors_and_covariances_are_those_computed_by_hand(self):
        change = Change(np.array([[1.0, 2, 3], [2, 4, 9]]), np.array([[1.0, 2], [0, 3]]), *np.zeros((3, 2)))
        covariance = np.array([[2 / 6 + 5, 7 / 6 * 3 / (3 + 2) + 6], [7 / 6 * 3 / (3 + 2) + 6, 26 / 6 + 9]])
        np.testing.assert_allclose(change.covariance, covariance, rtol=1e-14)
        np.testing.assert_allclose(change.error, np.sqrt(covariance.diagonal()), rtol=1e-14)

    def test_some_pairs_of_many_examples_stand_for_all(self):
        """The sum of squares over some partners is that over all, on average over the partners that seeds draw."""
        x, z, noise = drawn(250, 6, 1)
        z[:, 0], z[:, 1:] = 0.0, x[:, 1:]

        def pairs(seed):
            return Whole(x, x[:, :1] + noise, 1.0, seed).without(z)["fixed"].pairs
        some = [pairs(seed) for seed in range(1, 9)]
        with patch.object(removal, "MOST_PAIRS", 250 ** 2):
            every = pairs(1)
        self.assertEqual((len(some[0]), len(every)), (250 * 120, 250 * 250))
        self.assertLess(abs(np.square(some).sum() / 8 / np.square(every).sum() - 1.0), 0.15)

    def test_the_penalty_of_smallest_error_is_chosen(self):
        x, _, _ = drawn(40, 5, 1)
        noise = fit_readout(x, np.random.default_rng(2).standard_normal((40, 1)))
        exact = fit_readout(x, x[:, :1])
        self.assertEqual((noise.penalty, exact.penalty), (1e3, 1e-4))

    def test_a_head_that_does_nothing_costs_nothing(self):
        x, _, y = drawn(20, 6, 1)
        for change in Whole(x, y).without(x).values():
            for array in (change.rises, change.pairs, change.shift, change.belief):
                np.testing.assert_allclose(array, 0.0, atol=1e-12)

    def test_a_head_that_moves_a_constant_column_costs_nothing_until_the_readout_is_fitted_again(self):
        for constant in (0.1, 0.3, 0.5):
            x, z, y = drawn(14, 7, 2)
            x[:, 3], x[:, 5] = constant, np.float32(constant)
            x[4, 5] = np.nextafter(np.float32(constant), np.float32(1.0))
            z[:, [0, 1, 2, 4, 6]] = x[:, [0, 1, 2, 4, 6]]
            changes = Whole(x, y, PENALTY).without(z)
            np.testing.assert_allclose(changes["fixed"].rises, 0.0, atol=1e-12)
            self.assertGreater(np.abs(changes["refitted"].rises).max(), 1e-3)
            others = np.delete(x, [3, 5], 1)
            np.testing.assert_allclose(Whole(x, y, PENALTY).errors, Whole(others, y, PENALTY).errors, rtol=1e-12)
        counts = x[:, :1] * 1e-5 + 1.0  # varies by a hundred-thousandth
        np.testing.assert_allclose(fit_readout(counts, y, PENALTY).answers(counts), fit_readout(x[:, :1], y, PENALTY).answers(x[:, :1]),
                                   rtol=1e-8)

    def test_errors_cover_what_readouts_of_other_examples_lose(self):
        """The errors are of the mean over training sets. Without the part of pairs, those of the refitted readout are too small."""
        rng = np.random.default_rng(3)
        weights, found, told, first = rng.standard_normal(30), [], [], []
        for _ in range(60):
            x = rng.standard_normal((40, 30))
            z = x.copy()
            z[:, :3] = rng.standard_normal((40, 3))
            y = (x @ weights / 5 + rng.standard_normal(40))[:, None]
            change = Whole(x, y, 10.0).without(z)["refitted"]
            found.append(change.mean)
            told.append(change.error ** 2)
            first.append(change.rises.var(ddof=1) / 40)
        ratio, without = np.var(found, ddof=1) / np.mean(told), np.var(found, ddof=1) / np.mean(first)
        self.assertGreater(without, 1.2)
        self.assertLess(abs(ratio - 1.0), 0.5)

    def test_what_the_readout_expects_has_no_noise_of_labels(self):
        """With labels drawn again it varies less than the measured rise, about the same mean."""
        rng = np.random.default_rng(4)
        x = rng.standard_normal((100, 6))
        z = x.copy()
        z[:, 0] = 0.0
        measured, expected = [], []
        for _ in range(200):
            y = (x @ [1.0, 1, 1, 1, 1, 1] * 0.3 + rng.standard_normal(100))[:, None]
            change = Whole(x, y, 1e-4).without(z)["fixed"]
            measured.append(change.mean)
            expected.append(change.belief)
        self.assertLess(np.std(expected), 0.9 * np.std(measured))
        self.assertLess(abs(np.mean(expected) - np.mean(measured)), 5 * np.std(measured) / 200 ** 0.5)


class FrozenParts(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(5)
        self.parts = scaled_parts(rng.standard_normal((12, 5, 7)))
        self.y = rng.standard_normal((12, 3))
        self.y -= self.y.mean(0)
        self.u = rng.standard_normal((15, 15))
        self.u = self.u @ self.u.T

    def error(self, kernel, i, outputs):
        """The squared error of example i, by solving without it, for features and labels less their means over the others;
        kernel [C P, C P]."""
        count = len(kernel) // outputs
        kept = [c * count + j for c in range(outputs) for j in range(count) if j != i]
        own = [c * count + i for c in range(outputs)]
        mean = np.kron(np.eye(outputs), np.full((count - 1, 1), 1.0 / (count - 1)))
        centre = np.eye(len(kept)) - np.kron(np.eye(outputs), np.full((count - 1, count - 1), 1.0 / (count - 1)))
        between = kernel[np.ix_(kept, kept)]
        y = self.y.T[:outputs].reshape(-1)[kept]
        told = mean.T @ y + (kernel[np.ix_(own, kept)] - mean.T @ between) @ centre @ np.linalg.solve(
            centre @ between @ centre + 0.3 * np.eye(len(kept)), centre @ y)
        return np.square(told - self.y[i, :outputs]).mean()

    def kernel(self, u, outputs):
        count, p, features = self.parts.shape
        u = u.reshape(p, outputs, p, outputs)
        return np.einsum("acbd,ian,jbn->cidj", u, self.parts, self.parts).reshape(outputs * count, -1) / (features * p)

    def test_cuts_are_those_of_kernels_without_rows_and_columns(self):
        for outputs, u in ((3, self.u), (1, self.u[:5, :5]), (1, None)):
            matrix = np.ones((5, 5)) if u is None else u
            found = cut_changes(self.parts, [[1], [2, 3]], self.y[:, :outputs], 0.3, u)
            for row, gone in enumerate(([1], [2, 3])):
                cut = matrix.reshape(5, outputs, 5, outputs).copy()
                cut[gone] = 0.0
                cut[:, :, gone] = 0.0
                expected = [self.error(self.kernel(cut.reshape(matrix.shape), outputs), i, outputs)
                            - self.error(self.kernel(matrix, outputs), i, outputs) for i in range(12)]
                np.testing.assert_allclose(found[row], expected, rtol=1e-8)

    def test_without_theory_it_is_the_readout(self):
        """This holds for features of equal scale, at the matched temperature."""
        rng = np.random.default_rng(6)
        signs = np.where(rng.random((30, 8)) < 0.5, -1.0, 1.0)
        signs -= signs.mean(0)
        signs /= np.sqrt(np.square(signs).mean(0))
        parts = scaled_parts(np.stack([0.3 * signs, 0.7 * signs], 1))
        y = rng.standard_normal((30, 1))
        y -= y.mean(0)
        temperature = matched_temperature(parts, PENALTY)
        total = parts.sum(1)
        kernel = total @ total.T / (8 * 2)
        inverse = np.linalg.inv(kernel + temperature * np.eye(30))
        np.testing.assert_allclose(kernel @ inverse @ y, fit_readout(signs, y, PENALTY).answers(signs), atol=1e-10)
        self.assertEqual(left_out_errors(kernel, temperature, y).shape, (30,))


def change_of(mean, error, count=200, seed=1, shift=None, expected=None):
    """Rises with these means and standard errors; no pairs."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((len(mean), count))
    noise = (noise - noise.mean(1, keepdims=True)) / noise.std(1, ddof=1, keepdims=True)
    mean = np.asarray(mean, float)
    expected = mean * 0 if expected is None else np.asarray(expected, float)
    shift = np.ones(len(mean)) if shift is None else np.asarray(shift, float)
    return Change(mean[:, None] + error * count ** 0.5 * noise, np.zeros((len(mean), 4), np.float32), shift, expected, expected)


class Estimate(unittest.TestCase):
    def test_exact_measurements_are_believed_and_bad_ones_are_not(self):
        measured, expected = np.array([0.1, 0.5, 0.9, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])
        sure = combine(change_of(measured, 1e-4, expected=expected))
        np.testing.assert_allclose(sure.mean, measured, atol=1e-3)
        np.testing.assert_allclose(sure.reliance, 1.0, atol=1e-3)
        unsure = combine(change_of(measured, 100.0, expected=expected))
        np.testing.assert_allclose(unsure.mean, expected, atol=1e-2)
        np.testing.assert_allclose(unsure.reliance, 0.0, atol=1e-2)

    def test_means_lie_between_and_draws_agree_with_them(self):
        change = change_of([0.0, 0.5, 1.0], 0.4, expected=[0.5, 0.5, 0.5])
        found = combine(change)
        self.assertTrue((np.diff(found.mean) > 0.0).all())
        self.assertLess(np.ptp(found.mean), 0.9 * np.ptp(change.mean))
        self.assertTrue(((found.reliance > 0.05) & (found.reliance < 0.95)).all())
        np.testing.assert_allclose(found.draws.mean(0), found.mean, atol=5 * found.deviation.max() / len(found.draws) ** 0.5)
        np.testing.assert_array_equal(combine(change, 1).draws, combine(change, 1).draws)

    def test_half_of_the_variance_of_pairs_is_added_for_the_readout_that_was_fitted(self):
        change = change_of([1.0, 2.0, 3.0, 4.0], 1e-6)
        change.pairs[0, 0] = 0.1
        deviation = combine(change).deviation[0]
        self.assertLess(abs(deviation / np.sqrt(1.5 * 0.1 ** 2) - 1.0), 0.03)

    def test_intervals_hold_truths_drawn_from_the_prior(self):
        rng, held = np.random.default_rng(7), []
        for trial in range(120):
            expected, shift = rng.gamma(2.0, 0.5, 10), rng.gamma(2.0, 0.5, 10)
            scale = shift.mean()
            spread = np.exp(np.log(0.8) + 0.7 * rng.standard_normal())
            truth = (scale * rng.standard_normal() + (1.0 + 0.5 * rng.standard_normal()) * expected
                     + spread * np.sqrt(scale * shift) * rng.standard_normal(10))
            error = 0.5
            low, high = combine(change_of(truth + error * rng.standard_normal(10), error, 400, trial, shift, expected)).interval()
            held.append(((truth >= low) & (truth <= high)).mean())
        self.assertLess(abs(np.mean(held) - 0.9), 0.04)

    def test_the_cheapest_are_among_the_cheapest_with_certainty(self):
        found = combine(change_of([0.0, 1.0, 2.0, 3.0], 1e-3))
        np.testing.assert_allclose(found.among_cheapest(2), [1.0, 1.0, 0.0, 0.0], atol=1e-2)
        self.assertAlmostEqual(combine(change_of([0.0, 1.0, 0.2], 5.0)).among_cheapest(1).sum(), 1.0)


class Trust(unittest.TestCase):
    def test_halves_agree_where_rises_are_exact(self):
        change = change_of([1.0, 2.0, 3.0, 4.0], 1e-6)
        self.assertEqual(ceiling(change.rises).whole, 1.0)
        noise = np.random.default_rng(8).standard_normal((6, 100))
        self.assertLess(ceiling(noise).halves, 0.3)
        self.assertEqual((told_apart(change.rises), told_apart(0 * noise)), (1.0, 0.0))

    def test_pairs_of_heads_are_told_apart_by_two_errors_of_their_difference(self):
        def share(d):  # heads 0 and 1 differ by 1 with error d / sqrt(3); head 2 is far from both
            rises = np.array([[0.0] * 4, [1 + d, 1 - d, 1 + d, 1 - d], [50.0] * 4])
            return told_apart(rises)
        self.assertEqual(share(0.999 * 3 ** 0.5 / 2), 1.0)
        self.assertAlmostEqual(share(1.001 * 3 ** 0.5 / 2), 2 / 3, 14)
        self.assertTrue(np.isnan(told_apart(np.ones((1, 4)))))

    def test_heads_that_cannot_be_told_apart_share_a_rank(self):
        rng = np.random.default_rng(9)
        draws = rng.standard_normal((2000, 4)) * 0.1 + [0.0, 2.0, 0.02, 2.01]
        np.testing.assert_array_equal(shared_ranks(draws), [1, 3, 1, 3])
        np.testing.assert_array_equal(shared_ranks(np.tile([3.0, 1.0, 2.0], (10, 1))), [3, 1, 2])


if __name__ == "__main__":
    unittest.main()
