"""Value networks through headway.Dataset: every verb of the theory, and how their results show S."""

import pathlib
import sys
import tempfile
import unittest

import h5py
import numpy as np

import headway
from bindings import GOLDEN, file_of, setUpModule  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "apps/benchmarks"))
import value_validity  # noqa: E402

PRECISION = 1e-6  # of the solver that made the golden file
NETWORK = {"form": "hyla", "nonlinearity": "relu"}


def problem():
    """The golden problem hyla_relu as a data set, its settings, and its group as arrays."""
    with h5py.File(GOLDEN / "value_network.h5") as file:
        group = file["hyla_relu"]
        about, found = dict(group.attrs), {}
        group.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    train = len(found["labels"])
    data = headway.Dataset(inputs=found["inputs"][:train], attention=[found["attention"][:train]], labels=found["labels"],
                           test_inputs=found["inputs"][train:], test_attention=[found["attention"][train:]],
                           test_labels=found["test_targets"], attention_rows="any")
    settings = {"widths": [[int(width) for width in about["widths"]]], "variances": list(map(float, about["variances"])),
                "temperature": float(about["T"]), "readout": about["readout"]}
    return data, settings, found


class Benchmark(unittest.TestCase):
    def test_its_networks_are_those_that_the_theory_has(self):
        """The kernel of many hidden units that the benchmark draws predicts like the Gaussian process of its form, and of no other."""
        forms = {}
        for form in value_validity.FORMS:
            problem = value_validity.Problem(form, "relu", 10, 12, 2, 1)
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "problem.h5"
                variance = value_validity.make(problem, path)
                process = headway.solve(path, widths=[[10, 10**9]], temperature=value_validity.TEMPERATURE, variances=[1.0, variance, 1.0],
                                        readout="last_token", value_network={"form": form, "nonlinearity": "relu"}).gaussian_process[0]
                with h5py.File(path) as file:
                    x, attention = (np.concatenate([file[f"{split}/{name}"] for split in ("train", "test")])
                                    for name in ("inputs", "attention/layer_1"))
                    forms[form] = problem, variance, x, attention, file["train/labels"][()], process.predictor.mean.ravel()

        def distance(form, problem, variance, x, attention, labels, expected):
            units = value_validity.hidden(problem, *value_validity.sites(form, x, attention), 20000, np.random.default_rng(1))
            kernel = variance * np.einsum("eri,fri->ef", units, units) / units[0].size
            train = kernel[:len(labels), :len(labels)] + value_validity.TEMPERATURE * np.eye(len(labels))
            mean = kernel[len(labels):, :len(labels)] @ np.linalg.solve(train, labels)
            return np.linalg.norm(mean - expected) / np.linalg.norm(expected)

        same = {"per_head", "before_attention"}  # their Gaussian processes: hidden units are as many, only shared or not
        for of, problem in forms.items():
            for form in forms:
                near = form == of or {form, of} == same
                (self.assertLess if near else self.assertGreater)(distance(form, *problem), 0.04, (form, of))


class ValueNetworks(unittest.TestCase):
    def test_solve_gives_the_golden_saddle_points(self):
        data, settings, golden = problem()
        for features in ("fixed", "adapted"):
            point, = data.solve(**settings, value_network=NETWORK | {"features": features}).points
            expected = {name: golden[f"{features}_features/{name}"] for name in ("U_1", "S", "mean")}
            np.testing.assert_allclose(point.order_parameters[0], expected["U_1"], atol=PRECISION)
            np.testing.assert_allclose(point.S, expected["S"], atol=PRECISION)
            np.testing.assert_allclose(point.predictor.mean, expected["mean"], atol=PRECISION)
            np.testing.assert_allclose(point.S_eigenvalues, np.linalg.eigvalsh(expected["S"])[::-1], atol=PRECISION)
            self.assertAlmostEqual(float(np.sum(point.S_head_shares)), 1.0)

    def test_samples_have_s_and_the_theory_beside_it(self):
        data, settings, _ = problem()
        result = data.sample(**settings, value_network=NETWORK | {"features": "adapted"}, chains=2, draws=60, warmup=60, seed=1)
        point, = result.points
        self.assertEqual(point.samples.S_mean.shape, (6, 6))
        np.testing.assert_allclose(point.samples.S_mean_eigenvalues, np.linalg.eigvalsh(point.samples.S_mean)[::-1], rtol=1e-9)
        self.assertTrue(np.all(point.samples.S_mcse > 0.0))
        self.assertEqual(point.theory.S.shape, (6, 6))
        self.assertIn("S eigenvalues", result._repr_html_())

    def test_align_and_prune_go_on_from_the_solution(self):
        data, settings, _ = problem()
        solved = data.solve(**settings, value_network=NETWORK | {"features": "adapted"})
        aligned, = headway.align(solved).points
        self.assertAlmostEqual(float(np.sum(np.square(aligned.alignment.overlaps))), 1.0, places=6)
        pruned, = headway.prune(solved).points
        self.assertEqual(pruned.pruning.score.shape, (2,))
        self.assertTrue(np.isfinite(pruned.pruning.squared_error_rise).all())
        np.testing.assert_array_equal(pruned.S, solved.points[0].S)
        path = solved.save(file_of("values.h5"))
        np.testing.assert_array_equal(headway.read_result(path).points[0].S, solved.points[0].S)

    def test_predict_on_the_test_inputs_is_the_predictor(self):
        data, settings, golden = problem()
        train = len(golden["labels"])
        for features in ("fixed", "adapted"):
            solved = data.solve(**settings, value_network=NETWORK | {"features": features})
            new = headway.Dataset(inputs=golden["inputs"][train:], attention=[golden["attention"][train:]], attention_rows="any")
            mean = headway.predict(solved, new).points[0].mean
            np.testing.assert_allclose(np.ravel(mean), golden[f"{features}_features/mean"], atol=PRECISION)

    def test_what_is_wrong_is_named(self):
        data, settings, _ = problem()
        with self.assertRaisesRegex(headway.HeadwayError, "value_network"):
            data.solve(**settings)  # signed attention without a value network
        for key, value, near in (("form", "hila", "hyla"), ("nonlinearity", "gelu", "relu"), ("features", "learned", "fixed")):
            with self.assertRaisesRegex(headway.HeadwayError, f"{key}.*{value}.*{near}"):
                data.solve(**settings, value_network=NETWORK | {key: value})


if __name__ == "__main__":
    unittest.main()
