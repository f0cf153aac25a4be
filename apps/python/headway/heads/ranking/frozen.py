"""Cuts of frozen parts: what is lost by a predictor that is fitted again to all parts of a layer but those of one head.

The parts xi_a of a layer (headway.network_contributions) sum up to the embedding. The theory's predictor has the kernel
K = sum_ab U_ab xi_a . xi_b / (N_0 p), with temperature T. To cut a head, its row and column of U become 0. With U = 1 there
is no theory in it: K is the kernel of the sum of the parts, and the predictor a ridge regression on it. Both cuts stand
side by side at the same T, so their difference is what U adds.

T matches the readout: with T = penalty V / (N_0 p) and U = 1 the predictor is the readout itself, apart from the scales of
its features. V is the mean square of the sum of the parts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from headway.results.ranking.readouts import left_out_errors

WIDTH = 10  # default width N of the theory's network


def scaled_parts(parts: np.ndarray) -> np.ndarray:
    """Parts [P, p, N_0] without their means over examples, scaled to a mean kernel diagonal of 1 as data sets have them
    (headway.contribution_writer)."""
    centred = parts - parts.mean(0)
    return centred / np.sqrt(np.square(centred).mean())


def matched_temperature(parts: np.ndarray, penalty: float) -> float:
    """T of the readout, for parts as scaled_parts() gives them."""
    _, count, features = parts.shape
    return penalty * float(np.square(parts.sum(1)).mean()) / (features * count)


def cut_changes(parts: np.ndarray, heads: list[list[int]], y: np.ndarray, temperature: float,
                order_parameters: np.ndarray | None = None) -> np.ndarray:
    """Rises of the squared error of every example, left out, without each head: [H, P].

    parts: as scaled_parts() gives them. heads: the parts that each head has. y: [P, C] without its mean.
    order_parameters: U, [C p, C p], the outputs of a part side by side; None: all 1.
    """
    p = parts.shape[1]

    def errors(kept: list[int]) -> np.ndarray:
        return left_out_errors(_kernel(parts[:, kept], p, _between(order_parameters, kept, p)), temperature, y)
    before = errors(list(range(p)))
    return np.array([errors([part for part in range(p) if part not in gone]) - before for gone in heads])


def _between(order_parameters: np.ndarray | None, kept: list[int], p: int) -> np.ndarray | None:
    """U between the parts that are kept, [C, k, C, k]."""
    if order_parameters is None:
        return None
    outputs = len(order_parameters) // p
    return order_parameters.reshape(p, outputs, p, outputs).transpose(1, 0, 3, 2)[:, kept][:, :, :, kept]


def _kernel(parts: np.ndarray, p: int, u: np.ndarray | None) -> np.ndarray:
    count, _, features = parts.shape
    if u is None:
        total = parts.sum(1)
        return total @ total.T / (features * p)
    flat, outputs = parts.reshape(count, -1), len(u)
    found = np.empty((outputs, count, outputs, count))
    for c in range(outputs):
        for d in range(outputs):
            mixed = np.einsum("ab,ian->ibn", u[c, :, d], parts, optimize=True)
            found[c, :, d] = mixed.reshape(count, -1) @ flat.T
    return found.reshape(outputs * count, outputs * count) / (features * p)


def solved_order_parameters(solve: Callable, parts: np.ndarray, y: np.ndarray, temperature: float,
                            width: int = WIDTH) -> np.ndarray:
    """U of the theory at this temperature and width, [C p, C p]; solve: headway.solve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # p parts at N = 10 are at the end of the theory's range, as the documents say
        found = solve(features=parts, labels=y[:, 0] if y.shape[1] == 1 else y, heads=[parts.shape[1]], widths=[width],
                      temperature=temperature, threads=1)
    return np.asarray(found.points[0].order_parameters[0])
