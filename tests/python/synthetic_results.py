"""Result files of a small hidden-Markov task, made by the reference theory: what the program writes.

The layout is that of schema headway-result 1.0, so that reading and drawing are tested without the
program. The task is the one of [T24] figure 2, smaller by default.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import h5py
import numpy as np

import reference_theory as theory


@dataclass(frozen=True)
class Task:
    """The hidden-Markov task (src/tasks/README.md) with same-token, uniform and random heads."""

    train: int = 40
    test: int = 120
    tokens: int = 12
    features: int = 24
    heads: tuple[tuple[str, ...], ...] = (("same_token", "random"), ("uniform", "random"))
    seed: int = 1


def _examples(rng, task: Task, count: int):
    half = task.features // 2
    plus, minus = np.zeros(task.features), np.zeros(task.features)
    plus[:half] = minus[half:] = math.sqrt(2.0)
    labels = np.where(np.arange(count) % 2 == 0, 1.0, -1.0)
    inputs = np.zeros((count, task.tokens + 1, task.features + task.tokens + 1))
    for mu, label in enumerate(labels):
        state = rng.random() < 0.5
        for s in range(1, task.tokens + 1):
            inputs[mu, s, :task.features] = (plus if state else minus) + rng.standard_normal(
                task.features)
            state = state if rng.random() < (0.7 if label > 0 else 0.3) else not state
    inputs[:, np.arange(task.tokens + 1), task.features + np.arange(task.tokens + 1)] = 1.0
    return inputs, labels


def _head(rng, task: Task, kind: str) -> np.ndarray:
    f, s = task.features, task.tokens + 1
    w = np.zeros((f + s, f + s))
    if kind == "same_token":
        q = math.sqrt(2.0) / (2.0 * f / 2.0) * np.where(np.arange(f) < f // 2, 1.0, -1.0)
        w[:f, :f] = np.outer(q, q)
        for query in range(1, s):
            w[f + query, f] = 1.5
            if query >= 2:
                w[f + query, f + query - 1] = 1.0
    elif kind == "uniform":
        w[f:, f:] = 1.0
    else:
        w[:f, :f] = rng.standard_normal((f, f)) / f
        w[f:, f:] = rng.standard_normal((s, s))
        w[:f, f:] = rng.standard_normal((f, s)) / math.sqrt(f)
        w[f:, :f] = rng.standard_normal((s, f)) / math.sqrt(f)
    return 10.0 * w


def attention(inputs: np.ndarray, w: np.ndarray) -> np.ndarray:
    """softmax over keys of x_s^T W x_t, as [example, query, key]."""
    logits = np.einsum("msi,ij,mtj->mst", inputs, w, inputs, optimize=True)
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True)


def path_features(inputs: np.ndarray, layers: list[list[np.ndarray]]) -> np.ndarray:
    """xi [P, p, N_0] with last-token readout, h_1 slowest."""
    omegas = [[attention(inputs, w) for w in layer] for layer in layers]
    features = []
    for path in np.ndindex(*map(len, layers)):
        row = np.zeros(inputs.shape[:2])
        row[:, -1] = 1.0
        for layer in reversed(range(len(layers))):
            row = np.einsum("ms,mst->mt", row, omegas[layer][path[layer]])
        features.append(np.einsum("mt,mti->mi", row, inputs))
    return np.stack(features, axis=1)


class Problems:
    """The task's data and everything the result files say about it."""

    def __init__(self, task: Task):
        self.task = task
        rng = np.random.default_rng(task.seed)
        self.layers = [[_head(rng, task, kind) for kind in layer] for layer in task.heads]
        train, labels = _examples(rng, task, task.train)
        test, self.test_labels = _examples(rng, task, task.test)
        self.train_inputs, self.test_inputs = train, test
        self.x = theory.scaled_features(path_features(train, self.layers), 1.0)
        self.x_test = theory.scaled_features(path_features(test, self.layers), 1.0)
        self.labels = labels[:, None]
        self.heads = tuple(map(len, task.heads))
        self.kernels = theory.path_kernels(self.x, self.x)

    def at(self, width: int, temperature: float) -> theory.Problem:
        return theory.Problem(self.kernels, self.labels, self.heads,
                              (width,) * (len(self.heads) + 1), (1.0,) * (len(self.heads) + 2),
                              temperature)

    @lru_cache(maxsize=None)
    def solved(self, width: int, temperature: float) -> list[np.ndarray]:
        """U_1, ..., U_L, U_a at the saddle point."""
        return theory.saddle_point(self.at(width, temperature))

    @lru_cache(maxsize=None)
    def corrected(self, width: int, temperature: float):
        """The corrected means, and the deviations, of U_1, ..., U_L, U_a."""
        return theory.corrected_means(self.at(width, temperature), self.solved(width, temperature))

    def measured(self, problem, u1) -> dict:
        mean, variance = theory.predict(problem, u1, self.x, self.x_test)
        y = self.test_labels[:, None]
        train, _ = theory.predict(problem, u1, self.x, self.x)
        return {"mean": mean[:, 0], "variance": variance[:, 0],
                "accuracy": theory.accuracy(mean, y),
                "train_accuracy": theory.accuracy(train, self.labels),
                "test_mean_squared_error": float(np.mean((mean - y) ** 2)),
                "squared_bias": float(np.mean((mean - y) ** 2)),
                "predictor_variance": float(variance.mean()), "right_sign_probability": 0.5}


@lru_cache(maxsize=None)
def problems_of(task: Task) -> Problems:
    """The same object for the same task, so that its answers are computed once."""
    return Problems(task)


def _write_measured(group, values: dict, arrays: str) -> None:
    for name, value in values.items():
        if name in ("mean", "variance"):
            group[f"{arrays}{name}"] = value
        else:
            group.attrs[name] = value


def write_result(path, kind: str = "solve", task: Task | None = None,
                 widths=(10, 30, 100, 300, 1000), temperatures=(0.01,), study: str = "hmm-synthetic",
                 corrections: bool = True) -> "Problems":
    """Writes a result file of the given kind; returns the problems behind it."""
    problems = problems_of(task or Task())
    with h5py.File(path, "w") as file:
        _write_root(file, kind, study, problems)
        for j, temperature in enumerate(temperatures):
            problem = problems.at(widths[0], temperature)
            group = file.create_group(f"gaussian_process/{j}")
            limit = theory.gaussian_process_limit(problem)
            group.attrs["temperature"], group.attrs["log_evidence"] = temperature, -12.5
            _write_measured(group, problems.measured(problem, limit[0]), "")
        sweep = [(width, temperature) for width in widths for temperature in temperatures]
        for i, (width, temperature) in enumerate(sweep):
            group = file.create_group(f"points/{i}")
            problem = problems.at(width, temperature)
            u = problems.solved(width, temperature)
            group.attrs["widths"], group.attrs["temperature"] = problem.widths, temperature
            if kind == "sample":
                _write_samples(group, problems, problem, u)
                continue
            _write_solved(group, problems, problem, u)
            if corrections:
                _write_corrected(group.create_group("corrected"), problems, problem)
            if kind == "align":
                _write_alignment(group.create_group("alignment"), problem, u)
            if kind == "prune":
                _write_pruning(group.create_group("pruning"), problems, problem, u)
    return problems


def _write_root(file, kind: str, study: str, problems: Problems) -> None:
    task = problems.task
    file.attrs.update({
        "schema_name": "headway-result", "kind": kind, "study": study, "study_toml": "schema = 1\n",
        "study_hash": "0" * 64, "data_hash": "1" * 64, "headway_version": "0.1.0",
        "git_commit": "unknown", "compiler": "none", "blas": "none", "command": "synthetic",
        "seed": task.seed, "threads": 1, "started": "2024-01-01T00:00:00Z", "seconds": 1.0,
        "partial": 0, "outputs": 1, "train_examples": task.train, "test_examples": task.test,
        "features": problems.x.shape[2]})
    file.attrs["schema_version"] = np.array([1, 0])
    file.attrs["heads"] = np.array(problems.heads)
    file.attrs["variances"] = np.ones(len(problems.heads) + 2)
    text = h5py.string_dtype()
    for layer, kinds in enumerate(task.heads, 1):
        names = [name.replace("_", " ") for name in kinds]
        file.create_dataset(f"names/layer_{layer}", data=names, dtype=text)
    paths = ["(" + ",".join(str(h + 1) for h in path) + ")" for path in np.ndindex(*problems.heads)]
    file.create_dataset("paths", data=paths, dtype=text)
    file["labels/train"], file["labels/test"] = problems.labels[:, 0], problems.test_labels
    file["path_kernels"] = np.stack([problems.kernels[a, a] for a in range(len(paths))])


def _write_solved(group, problems, problem, u) -> None:
    value = theory.action(problem, u) / max(problem.widths)
    group.attrs.update({
        "method": "saddle_point", "converged": 1, "message": "gradient small", "iterations": 6,
        "gradient_norm": theory.gradient_norm(problem, u), "gradient_rounding": 1e-14,
        "action": value, "action_over_max_width": value, "energy": 1.0, "entropy": 2.0,
        "smallest_hessian_eigenvalue": 0.01, "kernels": "stored", "start_spread": 0.0,
        "seconds": 0.01})
    group["U_a"] = float(u[-1][0, 0])
    for layer, matrix in enumerate(u[:-1], 1):
        group[f"order_parameters/layer_{layer}"] = matrix
    _write_measured(group, problems.measured(problem, u[0]), "predictor/")
    limit = problems.measured(problem, theory.gaussian_process_limit(problem)[0])
    group.attrs["gp_accuracy"] = limit["accuracy"]
    group["gaussian_process/mean"] = limit["mean"]
    group["gaussian_process/variance"] = limit["variance"]
    history = [[i, value + 0.5 * 10.0 ** (-1.7 * i * i / 4), 10.0 ** (-i * i / 3.2), 10.0 ** -i]
               for i in range(7)]
    history[-1][1] = value
    group["history"] = np.array(history)
    group["history"].attrs["columns"] = "iteration,action,gradient_norm,step_norm"


def _write_corrected(group, problems, problem) -> None:
    mean, deviation = problems.corrected(problem.widths[0], problem.temperature)
    if min(np.linalg.eigvalsh(matrix)[0] for matrix in mean) <= 0:
        group.attrs["defined"], group.attrs["reason"] = 0, "the corrected U_1 is not positive"
        return
    group.attrs["defined"], group.attrs["reason"] = 1, ""
    group["U_a"], group["U_a_sd"] = float(mean[-1][0, 0]), float(deviation[-1][0, 0])
    for layer, (matrix, sd) in enumerate(zip(mean[:-1], deviation[:-1]), 1):
        group[f"order_parameters/layer_{layer}"] = matrix
        group[f"order_parameters_sd/layer_{layer}"] = sd
    _write_measured(group, problems.measured(problem, mean[0]), "predictor/")


def _write_alignment(group, problem, u) -> None:
    limit = theory.gaussian_process_limit(problem)
    for prefix, u1 in (("", u[0]), ("gaussian_process_", limit[0])):
        eigenvalues, overlaps = theory.alignment(theory.kernel(u1, problem.kernels, 1),
                                                 problem.labels)
        group[f"{prefix}eigenvalues"], group[f"{prefix}overlaps"] = eigenvalues, overlaps
        group[f"{prefix}cumulative"] = np.cumsum(overlaps ** 2)


def _write_pruning(group, problems, problem, u) -> None:
    heads = problems.heads
    count = sum(heads)
    def accuracy(removed):
        return problems.measured(problem, theory.without_heads(u[0], heads, removed))["accuracy"]
    group.attrs["accuracy"] = accuracy([])
    group["layer"] = np.concatenate([[layer] * n for layer, n in enumerate(heads, 1)])
    group["head"] = np.concatenate([np.arange(1, n + 1) for n in heads])
    names = [name.replace("_", " ") for layer in problems.task.heads for name in layer]
    group.create_dataset("name", data=names, dtype=h5py.string_dtype())
    score = theory.head_scores(u[0], heads)
    group["score"], group["score_weighted"] = score, theory.head_scores(u[0], heads, weighted=True)
    group["accuracy_without"] = np.array([accuracy([head]) for head in range(count)])
    group["mean_squared_error_without"] = np.zeros(count)
    group.create_dataset("set", data=["test"] * count, dtype=h5py.string_dtype())
    for name, values in (("squared_error_rise", accuracy([]) - group["accuracy_without"][()]),
                         ("squared_error_rise_sd", np.full(count, 0.02)),
                         ("squared_error_rise_error", np.full(count, 0.05)),
                         ("squared_error_rise_without_theory", np.linspace(-0.1, 0.2, count)),
                         ("squared_error_rise_without_theory_error", np.full(count, 0.04))):
        group[name] = values
    group.create_group("rank_stability").attrs.update(kendall_tau=0.9, top_k_overlap=1.0, k=1)
    order = list(np.argsort(score, kind="stable"))[:count - 1]
    group["cumulative/score_order"] = np.array(order)
    group["cumulative/score"] = np.array([accuracy(order[:n]) for n in range(count)])
    group["cumulative/squared_error"] = group["cumulative/score"][()]
    removed, greedy = [], [accuracy([])]
    while len(removed) < count - 1:
        left = [head for head in range(count) if head not in removed]
        removed.append(max(left, key=lambda head: accuracy(removed + [head])))
        greedy.append(accuracy(removed))
    group["cumulative/greedy"], group["cumulative/greedy_order"] = np.array(greedy), removed
    rng = np.random.default_rng(5)
    orders = np.array([rng.permutation(count)[:count - 1] for _ in range(10)])
    random = np.array([[accuracy(list(row[:n])) for n in range(count)] for row in orders])
    group["cumulative/random"], group["cumulative/random_order"] = random, orders
    group["cumulative/random_mean"], group["cumulative/random_sd"] = random.mean(0), random.std(0)


def _write_samples(group, problems, problem, u, chains: int = 4, draws: int = 400) -> None:
    """Draws of a Gaussian with the corrected mean and covariance: a stand-in of the right layout."""
    mean, _ = problems.corrected(problem.widths[0], problem.temperature)
    sigma = 2.0 * np.linalg.inv(theory.hessian(problem, theory.pack(u)))
    rng = np.random.default_rng(max(problem.widths))
    x = rng.multivariate_normal(theory.pack(mean), sigma, size=(chains, draws))
    samples = [theory.unpack(problem, row) for row in x.reshape(chains * draws, -1)]
    group.attrs.update({
        "sampler": "exact", "chains": chains, "draws": draws, "rhat_max": 1.002,
        "ess_bulk_min": 1400.0, "ess_tail_min": 1300.0, "ebfmi_min": 0.9, "divergences": 0,
        "log_evidence": -60.0, "log_evidence_error": 0.1, "seconds": 1.0})
    for layer in range(len(u) - 1):
        stack = np.array([row[layer] for row in samples])
        name = f"order_parameters/layer_{layer + 1}"
        group[f"{name}_mean"], group[f"{name}_sd"] = stack.mean(0), stack.std(0)
        group[f"{name}_mcse"] = stack.std(0) / math.sqrt(chains * draws)
        group[f"draws/layer_{layer + 1}"] = stack.reshape(chains, draws, *stack.shape[1:])
    readout = np.array([float(row[-1][0, 0]) for row in samples])
    group["U_a_mean"], group["U_a_mcse"] = readout.mean(), readout.std() / math.sqrt(len(readout))
    group["draws/U_a"] = readout.reshape(chains, draws)
    measured = problems.measured(problem, theory.unpack(problem, x.mean((0, 1)))[0])
    group.attrs["accuracy"] = measured["accuracy"]
    group["predictor/mean"], group["predictor/variance"] = measured["mean"], measured["variance"]


def add_network(path, seed: int = 1, classes: bool = True) -> None:
    """Gives a prune result a trained network of random numbers, as the program would have written it."""
    rng = np.random.default_rng(seed)
    with h5py.File(path, "r+") as file:
        heads = int(np.sum(file.attrs["heads"]))
        paths = int(np.prod(file.attrs["heads"]))
        network = file.create_group("network")
        network.attrs.update({"rescaled": 1, "measured_on": "test", "greedy_on": "test",
                              "sensitivity_on": "train"})
        _write_estimates(rng, network, "accuracy_drop", heads, classes)
        _write_estimates(rng, network, "error_rise", heads, True)
        v = rng.standard_normal((paths, 30))
        network["U_1"] = v @ v.T / 30
        sets = network.create_group("sets")
        sets.create_dataset("name", data=["train", "test"], dtype=h5py.string_dtype())
        sets["examples"] = np.array([40, 120])
        _write_estimates(rng, sets, "accuracy", 2, classes)
        _write_estimates(rng, sets, "mean_squared_error", 2, True)
        _write_score(rng, network.create_group("scores/weight_norm"), heads, classes)
        for group in file["points"].values():
            _write_score(rng, group.create_group("network/scores/score"), heads, classes)


def _write_estimates(rng, group, name: str, count: int, known: bool) -> None:
    group[name] = rng.random(count) if known else np.full(count, math.nan)
    group[f"{name}_error"] = 0.1 * rng.random(count) if known else np.full(count, math.nan)


def _write_score(rng, group, heads: int, classes: bool) -> None:
    group["score"] = rng.random(heads)
    for measure in ("accuracy_drop", "error_rise"):
        for part in ("spearman", "kendall", "p_value", "sd", "lower", "upper"):
            known = classes or measure == "error_rise"
            group.attrs[f"{measure}_{part}"] = rng.random() if known else math.nan
    for name in ("rising", "falling"):
        curve = group.create_group(name)
        curve["order"] = rng.permutation(heads)[:heads - 1]
        _write_estimates(rng, curve, "accuracy", heads, classes)
        _write_estimates(rng, curve, "mean_squared_error", heads, True)
