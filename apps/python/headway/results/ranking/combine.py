"""The combined estimate: removal as it was measured, shrunk towards what the readout expects.

    theta = a + b P + e,    a ~ normal(0, s^2), b ~ normal(1, B^2), e_h ~ normal(0, tau^2 s D_h)
    m = theta + noise,      noise ~ normal(0, V)
    told = theta + own,     own ~ normal(0, G W)

theta is the true rise of the error without head h, on average over training sets. m is the rise as it was measured, and V
its covariance. P is the rise that the readout expects: labels replaced by its own answers, so without their noise. D_h is
the mean square change of its answers without the head, and s the mean of D_h: heads that change the answers little cannot
cost much. tau is not known: each value on a grid is weighted by how well it explains m (empirical Bayes). So m counts where
its error V is small, and P where V is large.

The estimate reported, told, is not of theta but of the rise for the one readout that was fitted. Leaving examples out does
not measure this difference. Its covariance is taken to be G W, where W is the part of V that comes from pairs of examples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.results.ranking.removal import Change

SLOPE_SPREAD = 0.5  # B
SPREADS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.5)  # of tau
USUAL_SPREAD, SPREAD_OF_SPREADS = 0.8, 0.7  # log tau ~ normal(log 0.8, 0.7^2), on the grid
SMALLEST_SHIFT = 0.05  # smaller D_h are taken to be this, in units of s
OWN_SHARE = 0.5  # G
DRAWS = 4000


@dataclass(frozen=True)
class Posterior:
    """What is known of the rises: a mixture of normal distributions, and draws [DRAWS, H] from it.

    mean: [H]. spread: the posterior mean of tau. reliance: [H], the weight of its own measured rise in each head's mean,
    d mean_h / d m_h.
    """

    mean: np.ndarray
    draws: np.ndarray
    spread: float
    reliance: np.ndarray

    @property
    def deviation(self) -> np.ndarray:
        return self.draws.std(0)

    def interval(self, share: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Bounds, [H] each, that hold this share of the draws, with as many below as above."""
        low, high = np.quantile(self.draws, [(1.0 - share) / 2.0, (1.0 + share) / 2.0], axis=0)
        return low, high

    def among_cheapest(self, k: int) -> np.ndarray:
        """[H]: how likely each head is one of the k that cost least. Heads that cost the same in a draw share its places."""
        places = min(k, self.draws.shape[1])
        last = np.sort(self.draws, 1)[:, places - 1:places]
        below, equal = self.draws < last, self.draws == last
        share = (places - below.sum(1, keepdims=True)) / equal.sum(1, keepdims=True)
        return (below + share * equal).mean(0)


def combine(change: Change, seed: int = 1) -> Posterior:
    """The posterior of the rises, from the changes without each head under one readout (rows of heads)."""
    measured, noise, expected = change.mean, change.covariance, change.belief
    scale = max(float(change.shift.mean()), np.finfo(float).tiny)
    moves = np.maximum(change.shift / scale, SMALLEST_SHIFT)
    moves = moves / moves.mean()
    shared = scale ** 2 * np.ones_like(noise) + SLOPE_SPREAD ** 2 * np.outer(expected, expected)
    weights, means, covariances, gains = [], [], [], []
    for spread in SPREADS:
        prior = shared + np.diag((spread * scale) ** 2 * moves)
        root = np.linalg.cholesky(_lifted(prior + noise))
        seen = np.linalg.solve(root, measured - expected)
        pull = np.linalg.solve(root, prior)
        weights.append(-0.5 * seen @ seen - np.log(np.diag(root)).sum()
                       - 0.5 * (np.log(spread / USUAL_SPREAD) / SPREAD_OF_SPREADS) ** 2)
        means.append(expected + pull.T @ seen)
        covariances.append(prior - pull.T @ pull)
        gains.append(np.diag(np.linalg.solve(root.T, pull)))
    weight = np.exp(np.array(weights) - max(weights))
    weight /= weight.sum()
    draws = _draws(weight, np.array(means), np.array(covariances), change.pairs.astype(float), seed)
    return Posterior(weight @ np.array(means), draws, float(weight @ np.array(SPREADS)), weight @ np.array(gains))


def _lifted(matrix: np.ndarray) -> np.ndarray:
    """The matrix with a tiny diagonal added: positive definite even if no head changes anything."""
    return matrix + max(1e-12 * float(np.trace(matrix)), np.finfo(float).tiny) * np.eye(len(matrix))


def _draws(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, pairs: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(weights), DRAWS, p=weights)
    own = OWN_SHARE * pairs @ pairs.T
    draws = np.empty((DRAWS, means.shape[1]))
    for component in np.unique(chosen):
        values, vectors = np.linalg.eigh(covariances[component] + own)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        rows = chosen == component
        draws[rows] = means[component] + rng.standard_normal((rows.sum(), means.shape[1])) @ root.T
    return draws
