"""The generator of reference posteriors: its files, its draws against a posterior known in closed form, its diagnostics."""

import json
import sys
import tempfile
import unittest
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from bindings import setUpModule  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "apps/posteriors"))
import comparing  # noqa: E402
import database  # noqa: E402
import diagnostics  # noqa: E402
import problems  # noqa: E402


def sample(problem, **settings):
    import exact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        return exact.sample(problem, problems.stan_data(problem), seed=1, **settings)


class Problems(unittest.TestCase):
    def test_path_features_are_those_of_headway(self):
        """Solving from tokens and attention gives what solving from path features gives."""
        import headway
        problem = problems.PROBLEMS[3]
        tokens = np.random.default_rng(1).standard_normal((20, problems.TOKENS, problems.FEATURES))
        labels = np.resize([1.0, -1.0], 20)
        attention = [np.broadcast_to(np.stack([problems.attention(kind) for kind in layer]),
                                     (20, 2, problems.TOKENS, problems.TOKENS)) for layer in problem.heads]
        common = {"labels": labels, "widths": 10, "temperature": 0.1}
        by_tokens = headway.solve(inputs=tokens, attention=attention, readout="last_token", **common)
        by_paths = headway.solve(features=problems.path_features(problem, tokens), heads=problem.sizes, **common)
        np.testing.assert_allclose(by_tokens.points[0].order_parameters[0], by_paths.points[0].order_parameters[0], atol=1e-8)

    def test_data_have_what_the_stan_programs_read(self):
        for problem in problems.PROBLEMS:
            code = (database.MODELS / f"{problem.model}.stan").read_text()
            block = code[code.index("\ndata {"):code.index("\nparameters {")]
            declared = [line.split(";")[0].split()[-1] for line in block.splitlines() if ";" in line]
            self.assertEqual(set(problems.stan_data(problem)), set(declared), problem.name)

    def test_the_readme_counts_their_weights(self):
        rows = [line for line in (ROOT / "apps/posteriors/README.md").read_text().splitlines() if line.startswith("| `attention_")]
        self.assertEqual([row.split(" | ")[:2] for row in rows if "-attention" in row],
                         [[f"| `{problem.name}`", str(problem.weights)] for problem in problems.PROBLEMS])
        for problem in problems.PROBLEMS:
            self.assertEqual(problems.stan_data(problem)["N_0"], problem.numbers)

    def test_unknown_names(self):
        self.assertRaises(SystemExit, problems.by_name, ["attention"])


class Draws(unittest.TestCase):
    def test_a_wide_network_is_a_gaussian_process(self):
        problem = replace(problems.PROBLEMS[0], width=100000)
        data = problems.stan_data(problem)
        drawn = sample(problem, chains=4, draws=250, warmup=50, thin=1)
        xi, test, y = (np.array(data[name]) for name in ("xi", "xi_test", "y"))
        kernel = lambda a, b: np.einsum("pen,pfn->ef", a, b) / (data["N_0"] * len(xi))
        inverse = np.linalg.inv(kernel(xi, xi) + problem.temperature * np.eye(len(y)))
        mean = kernel(test, xi) @ inverse @ y
        covariance = kernel(test, test) - kernel(test, xi) @ inverse @ kernel(xi, test)
        f = drawn.draws["f_test"].reshape(-1, 3)
        np.testing.assert_allclose(f.mean(axis=0), mean, atol=5 * np.sqrt(covariance.max() / len(f)))
        np.testing.assert_allclose(np.cov(f.T), covariance, atol=5 * covariance.max() * np.sqrt(2 / len(f)))
        evidence = -0.5 * (len(y) * np.log(2 * np.pi) - np.linalg.slogdet(inverse)[1] + y @ inverse @ y)
        self.assertLess(abs(drawn.log_evidence - evidence), 0.01)

    def test_draws_of_learned_attention_sum_to_one(self):
        drawn = sample(problems.PROBLEMS[5], chains=1, draws=8, warmup=8, thin=1).draws
        self.assertEqual(drawn["attention_test"].shape, (1, 8, 3, problems.TOKENS))
        np.testing.assert_allclose(drawn["attention_test"].sum(axis=3), 1)


class Files(unittest.TestCase):
    def test_a_database_has_the_files_of_posteriordb(self):
        problem = problems.PROBLEMS[1]
        drawn = sample(problem, chains=4, draws=50, warmup=100, thin=1)
        made = {"date": "2026-11-25", "command": "python3 apps/posteriors"}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            database.write(folder, problem, problems.stan_data(problem), drawn, made)
            posterior = json.loads((folder / f"posteriors/{problem.name}.json").read_text())
            self.assertEqual(posterior["dimensions"], {"U_1": 4, "U_a": 1, "f_test": 3})
            info = json.loads((folder / f"data/info/{problem.data}.info.json").read_text())
            self.assertEqual(comparing.read_zip(folder / (info["data_file"] + ".zip")), problems.stan_data(problem))
            model = json.loads((folder / f"models/info/{problem.model}.info.json").read_text())
            self.assertIn("generated quantities", (folder / model["model_implementations"]["stan"]["model_code"]).read_text())
            chains = comparing.read_zip(folder / f"reference_posteriors/draws/draws/{problem.name}.json.zip")
            self.assertEqual([len(chain["U_1[1,2]"]) for chain in chains], [50] * 4)
            means = comparing.reference_means(folder, problem.name)
            np.testing.assert_allclose(means["f_test[2]"][0], np.mean([chain["f_test[2]"] for chain in chains]), rtol=1e-4)
            info = json.loads((folder / f"reference_posteriors/draws/info/{problem.name}.info.json").read_text())
            self.assertEqual(info["diagnostics"]["diagnostic_information"]["names"], list(means))
            self.assertTrue(info["versions"]["git_commit"])
            written = (folder / f"data/data/{problem.data}.json.zip").read_bytes()
            database.write_zip(folder / f"data/data/{problem.data}.json.zip", problems.stan_data(problem))
            self.assertEqual((folder / f"data/data/{problem.data}.json.zip").read_bytes(), written)

    def test_distances_see_a_shift(self):
        rng = np.random.default_rng(2)
        reference = {"U_1[1,2]": (0.0, 0.01), "U_1[2,1]": (0.0, 0.01), "f_test[1]": (0.0, 0.01)}
        draws = {name: rng.standard_normal((4, 500)) for name in reference}
        apart = comparing.distances(reference, draws)
        self.assertEqual(set(apart), {"U_1[1,2]", "f_test[1]"})
        self.assertLess(max(map(abs, apart.values())), 3)
        draws["f_test[1]"] += 0.2
        self.assertGreater(comparing.distances(reference, draws)["f_test[1]"], 3)


class Diagnostics(unittest.TestCase):
    def test_independent_draws_all_count(self):
        x = np.random.default_rng(3).standard_normal((10, 1000))
        self.assertLess(abs(diagnostics.effective_bulk(x) / x.size - 1), 0.1)
        self.assertLess(diagnostics.r_hat(x), 1.005)
        self.assertLess(abs(diagnostics.mean_and_error(x)[1] / 0.01 - 1), 0.1)

    def test_an_autoregression_counts_for_less(self):
        """With correlation 0.8 the share (1 - 0.8) / (1 + 0.8) of the draws counts."""
        rng, x = np.random.default_rng(4), np.zeros((10, 1000))
        for at in range(1, 1000):
            x[:, at] = 0.8 * x[:, at - 1] + 0.6 * rng.standard_normal(10)
        self.assertLess(abs(diagnostics.effective_bulk(x) / x.size * 9 - 1), 0.25)

    def test_chains_that_disagree_are_noticed(self):
        x = np.random.default_rng(5).standard_normal((4, 500))
        x[0] += 1
        self.assertGreater(diagnostics.r_hat(x), 1.05)
        x[0] = 4 * (x[0] - 1)
        self.assertGreater(diagnostics.r_hat(x), 1.05)


if __name__ == "__main__":
    unittest.main()
