"""Rank correlation, and how likely one arises by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

PAIRINGS = 20_000


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman's rho with average ranks for ties; NaN where one of the two is constant."""
    return float(_standardised_ranks(x) @ _standardised_ranks(y))


def mean_correlation_p_value(pairs: Sequence[tuple[np.ndarray, np.ndarray]], seed: int = 1) -> float:
    """Two-sided p-value of the mean of Spearman's rho over `pairs`: how often it is at least as far
    from 0 when the entries of every pair are matched at random (PAIRINGS draws, so that it is at least
    1 / (PAIRINGS + 1)); NaN where one of them is constant."""
    ranks = [(_standardised_ranks(x), _standardised_ranks(y)) for x, y in pairs]
    observed = abs(sum(float(x @ y) for x, y in ranks))
    if math.isnan(observed):
        return math.nan
    rng = np.random.default_rng(seed)
    drawn = np.zeros(PAIRINGS)
    for x, y in ranks:
        drawn += rng.permuted(np.broadcast_to(x, (PAIRINGS, len(x))), axis=1) @ y
    return float((np.sum(np.abs(drawn) >= observed - 1e-9) + 1) / (PAIRINGS + 1))


def _standardised_ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, equal values their mean rank, shifted and scaled to mean 0 and norm 1."""
    _, inverse, counts = np.unique(np.asarray(values, float), return_inverse=True,
                                   return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse.reshape(-1)]
    centred = ranks - ranks.mean()
    norm = float(np.linalg.norm(centred))
    return centred / norm if norm > 0 else np.full(len(ranks), math.nan)
