"""Reference draws from the exact chain of Headway: order parameters, then f given each of them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

import headway
from diagnostics import Draws
from problems import ATTENTION_VARIANCE, Problem

TARGET_ACCEPT = 0.99  # gives short steps: with longer ones trajectories diverge and miss a part of a posterior


@dataclass(frozen=True)
class Reference:
    draws: Draws
    settings: dict
    log_evidence: float
    log_evidence_error: float
    divergences: int
    ebfmi: float
    made: dict  # commit, compiler, machine, ... of the computation


def sample(problem: Problem, data: dict, **settings: int) -> Reference:
    """Draws that are exact up to Monte Carlo error: U (and W) from `headway.sample` with `settings` (chains, draws, warmup, thin,
    seed), and f from its normal law given them."""
    settings["target_accept"] = TARGET_ACCEPT
    chains, draws = settings["chains"], settings["draws"]
    labels, temperature = np.array(data["y"]), problem.temperature
    result = run(problem, data, keep_weights=problem.heads is None, **settings)
    (point,) = result.points
    found = point.samples
    quantities = {f"U_{layer}": values for layer, values in sorted(found.draws.items())} | {"U_a": found.readout_draws}
    u = quantities["U_1"].reshape(chains * draws, problem.paths, problem.paths)
    if problem.heads is None:
        size = data["N_0"]
        w = found.attention_weights.reshape(-1, size, size).transpose(0, 2, 1)  # stored column by column
        looks = {name: attention_weights(w, np.array(data[name])) for name in ("x", "x_test")}
        features, test = (np.einsum("det,etn->den", looks[name], np.array(data[name]))[:, None] for name in looks)
        quantities["attention_test"] = looks["x_test"].reshape(chains, draws, *looks["x_test"].shape[1:])
    else:
        features, test = (np.array(data[name])[None] for name in ("xi", "xi_test"))
    f = draws_of_f(u, features, test, labels, temperature, np.random.default_rng(settings["seed"]))
    quantities["f_test"] = f.reshape(chains, draws, -1)
    return Reference(quantities, settings, point.log_evidence, point.log_evidence_error, point.divergences, point.ebfmi_min,
                     {name: value for name, value in result.provenance.items() if name != "study_toml"})


def run(problem: Problem, data: dict, **settings) -> headway.Result:
    """`headway.sample` of a problem on one thread, without predictions."""
    source = {"inputs": np.array(data["x"]), "readout": "last_token", "attention_prior": {
        "heads": [1], "form": "matrix", "variance": ATTENTION_VARIANCE}} if problem.heads is None else {
        "features": np.array(data["xi"]).transpose(1, 0, 2), "heads": problem.sizes}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*theory is out of its range")  # the theory is not used here
        return headway.sample(labels=np.array(data["y"]), widths=problem.width, temperature=problem.temperature, predictor_draws=0,
                              threads=1, **source, **settings)


def speeds(problem: Problem, data: dict) -> list[float]:
    """Effective draws a second of the slowest order parameter, for seeds 1, 2 and 3. The time is that of warm-up and draws."""
    points = [run(problem, data, sampler="exact", chains=4, warmup=500, draws=2000, evidence=False, seed=seed).points[0] for seed in (1, 2, 3)]
    return [point.ess_bulk_min / point.seconds for point in points]


def attention_weights(w: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Softmax attention of the last token [draw, example, key] with matrices w [draw, N_0, N_0], eqs. 6 and 72."""
    logits = np.einsum("ei,dij,etj->det", tokens[:, -1], w, tokens) / tokens.shape[2]
    weights = np.exp(logits - logits.max(axis=2, keepdims=True))
    return weights / weights.sum(axis=2, keepdims=True)


def draws_of_f(u: np.ndarray, features: np.ndarray, test: np.ndarray, labels: np.ndarray, temperature: float,
               rng: np.random.Generator) -> np.ndarray:
    """One draw of f [draw, example] on the test inputs for each U [draw, path, path]. Given U, f is a Gaussian process
    with the kernel of eq. 15. `features` and `test` are xi [draw or 1, path, example, number]."""
    paths, size = features.shape[1], features.shape[3]

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        b = np.broadcast_to(b, (len(u), *b.shape[1:]))
        mixed = np.einsum("dpq,dqen->dpen", u, b) / (size * paths)
        a = np.broadcast_to(a, (len(u), *a.shape[1:]))
        return np.swapaxes(a, 1, 2).reshape(len(u), a.shape[2], -1) @ np.swapaxes(
            np.swapaxes(mixed, 1, 2).reshape(len(u), b.shape[2], -1), 1, 2)

    across = kernel(test, features)
    solved = np.linalg.solve(kernel(features, features) + temperature * np.eye(len(labels)), np.swapaxes(across, 1, 2))
    mean = np.einsum("dpe,p->de", solved, labels)
    values, vectors = np.linalg.eigh(kernel(test, test) - across @ solved)
    noise = np.sqrt(np.maximum(values, 0)) * rng.standard_normal(mean.shape)
    return mean + np.einsum("dij,dj->di", vectors, noise)
