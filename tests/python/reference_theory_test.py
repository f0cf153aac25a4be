"""The reference against closed forms and finite differences: it must be right to judge others."""

import math
import unittest

import numpy as np

import reference_theory as theory


def random_problem(seed, heads, outputs=1, widths=None, examples=9):
    rng = np.random.default_rng(seed)
    paths, features = math.prod(heads), 6
    xi = rng.standard_normal((examples, paths, features))
    x = theory.scaled_features(xi, 1.3)
    labels = rng.standard_normal((examples, outputs))
    widths = widths or tuple(rng.integers(5, 40, len(heads) + 1))
    variances = tuple(rng.uniform(0.6, 1.5, len(heads) + 2))
    return theory.Problem(theory.path_kernels(x, x), labels, heads, widths, variances, 0.07), x


def random_order_parameters(problem, seed):
    rng = np.random.default_rng(seed)
    factors = [rng.standard_normal((size, size + 3)) for size in problem.sizes]
    return [factor @ factor.T / (size + 3) + 0.3 * np.eye(size)
            for factor, size in zip(factors, problem.sizes)]


class ReferenceTheory(unittest.TestCase):
    def test_gradient_is_the_derivative_of_the_action(self):
        for heads, outputs in (((1,), 1), ((3,), 1), ((2, 2), 1), ((2, 3, 2), 1), ((2, 2), 3)):
            with self.subTest(heads=heads, outputs=outputs):
                problem, _ = random_problem(1, heads, outputs)
                x = theory.pack(random_order_parameters(problem, 2))
                gradient = theory.packed_gradient(problem, x)
                for index in range(len(x)):
                    step = np.zeros_like(x)
                    step[index] = 1e-6
                    difference = (theory.action(problem, theory.unpack(problem, x + step))
                                  - theory.action(problem, theory.unpack(problem, x - step))) / 2e-6
                    self.assertAlmostEqual(gradient[index], difference,
                                           delta=2e-6 * max(1, np.abs(gradient).max()))

    def test_one_head_is_a_one_dimensional_root(self):
        """L = H = 1: with all widths N the saddle solves two scalar equations."""
        problem, _ = random_problem(3, (1,), widths=(12, 12))
        u1, ua = (float(matrix[0, 0]) for matrix in theory.saddle_point(problem))
        s1, sa = problem.variances[1:]
        k = problem.kernels[0, 0]
        y = problem.labels[:, 0]
        inverse = np.linalg.inv(u1 * k + problem.temperature * np.eye(len(y)))
        energy = np.trace(inverse @ k) - y @ inverse @ k @ inverse @ y
        self.assertAlmostEqual(energy + 12 * (1 / (s1 * ua) - 1 / u1), 0.0, delta=1e-7)
        self.assertAlmostEqual(ua * ua, sa / s1 * u1, delta=1e-8)  # H_L N_L / N_a = 1

    def test_infinite_width_is_the_gaussian_process(self):
        problem, _ = random_problem(4, (2, 2), widths=(10**8,) * 3)
        for found, limit in zip(theory.saddle_point(problem),
                                theory.gaussian_process_limit(problem)):
            np.testing.assert_allclose(found, limit, atol=1e-5)

    def test_the_closed_form_of_the_readout_holds_at_the_saddle(self):
        problem, _ = random_problem(5, (2, 3))
        u = theory.saddle_point(problem)
        n_l, n_a, s_l, s_a = (*problem.widths[1:], *problem.variances[2:])
        ua, heads = float(u[-1][0, 0]), problem.heads[-1]
        root = ua**2 + s_a * (heads * n_l / n_a - 1) * ua - n_l * s_a / (n_a * s_l) * np.trace(u[1])
        self.assertAlmostEqual(root, 0.0, delta=1e-7)

    def test_predictor_of_one_path_is_ridge_regression(self):
        problem, x = random_problem(6, (1,))
        u1 = np.array([[1.7]])
        mean, variance = theory.predict(problem, u1, x, x[:4])
        design = math.sqrt(1.7) * x[:, 0]
        weights = np.linalg.solve(design.T @ design + 0.07 * np.eye(6), design.T @ problem.labels)
        np.testing.assert_allclose(mean, design[:4] @ weights, atol=1e-10)
        posterior = 0.07 * np.linalg.inv(design.T @ design + 0.07 * np.eye(6))
        np.testing.assert_allclose(variance[:, 0], np.diag(design[:4] @ posterior @ design[:4].T),
                                   atol=1e-10)

    def test_corrected_mean_of_a_prior_is_exact(self):
        """Without data E[U_a] = s_a^2 exactly, at any width; the saddle point is there too."""
        problem, _ = random_problem(7, (1,), widths=(30, 20))
        problem.kernels = np.zeros_like(problem.kernels)
        problem.labels = np.zeros_like(problem.labels)
        corrected, deviation = theory.corrected_means(problem, theory.saddle_point(problem))
        s1, sa = problem.variances[1:]
        self.assertAlmostEqual(float(corrected[1][0, 0]), sa, delta=1e-4)
        self.assertAlmostEqual(float(corrected[0][0, 0]), s1 * sa, delta=1e-4)
        self.assertAlmostEqual(float(deviation[1][0, 0]), sa * math.sqrt(2 / 20), delta=1e-4)

    def test_head_scores_count_entries_with_the_head_on_either_path(self):
        u1 = np.array([[4.0, 0.0], [0.0, 1.0]])
        np.testing.assert_allclose(theory.head_scores(u1, (2,)), [1.0, 0.25])
        u1 = np.array([[4.0, -1.0], [-1.0, 1.0]])
        np.testing.assert_allclose(theory.head_scores(u1, (2,)), [1.0, 3 / 6])
        np.testing.assert_allclose(theory.head_scores(u1, (2,), weighted=True), [1.0, 1.5 / 4.5])

    def test_removing_a_head_removes_its_paths(self):
        u1 = np.arange(16.0).reshape(4, 4)
        left = theory.without_heads(u1, (2, 2), [0])  # layer 1, head 1: paths (1,1) and (1,2)
        self.assertEqual(np.abs(left[:2]).sum() + np.abs(left[:, :2]).sum(), 0.0)
        np.testing.assert_array_equal(left[2:, 2:], u1[2:, 2:])


if __name__ == "__main__":
    unittest.main()
