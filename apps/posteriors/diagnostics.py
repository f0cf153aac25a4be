"""Draws by name, and their rank-normalised R-hat, effective draws and Monte Carlo errors (Vehtari et al., 2021)."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

Draws = dict[str, np.ndarray]  # {quantity: [chain, draw, ...]}


def split(x: np.ndarray) -> np.ndarray:
    half = x.shape[1] // 2
    return np.concatenate([x[:, :half], x[:, -half:]])


def rank_normalised(x: np.ndarray) -> np.ndarray:
    ranks = np.empty(x.size)
    ranks[np.argsort(x, axis=None)] = np.arange(1, x.size + 1)
    normal = NormalDist()
    return np.array([normal.inv_cdf((rank - 0.375) / (x.size + 0.25)) for rank in ranks]).reshape(x.shape)


def r_hat(x: np.ndarray) -> float:
    """The larger of two R-hats: of the ranks, and of the ranks of distances from the median."""
    def of(z: np.ndarray) -> float:
        z = split(rank_normalised(z))
        within, between = z.var(axis=1, ddof=1).mean(), z.mean(axis=1).var(ddof=1)
        return float(np.sqrt((z.shape[1] - 1) / z.shape[1] + between / within))
    return max(of(x), of(np.abs(x - np.median(x))))


def effective_draws(x: np.ndarray) -> float:
    """Effective number of draws, by Geyer's initial monotone sequence over split chains."""
    z = split(x)
    chains, count = z.shape
    centred = z - z.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * count, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :count].mean(axis=0) / count
    unbiased = count / (count - 1) * covariance
    total = covariance[0] + z.mean(axis=1).var(ddof=1)
    if total == 0:
        return float(z.size)
    rho = 1 - (unbiased[0] - unbiased) / total
    rho[0] = 1
    pairs = rho[:count // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[:np.argmax(pairs < 0)] if (pairs < 0).any() else pairs
    time = max(2 * np.minimum.accumulate(positive).sum() - 1, 1 / np.log10(z.size))
    return float(z.size / time)


def effective_bulk(x: np.ndarray) -> float:
    return effective_draws(rank_normalised(x))


def effective_tail(x: np.ndarray) -> float:
    return min(effective_draws((x <= np.quantile(x, share)).astype(float)) for share in (0.05, 0.95))


def mean_and_error(x: np.ndarray) -> tuple[float, float]:
    """Mean of all draws and its Monte Carlo standard error."""
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(effective_draws(x)))


def scalars(draws: Draws) -> dict[str, np.ndarray]:
    """{"U_1[1,2]": [chain, draw], ...}: every entry of each quantity, under the name that Stan gives it."""
    named = {}
    for name, values in draws.items():
        for at in np.ndindex(values.shape[2:]):
            place = f"[{','.join(str(index + 1) for index in at)}]" if at else ""
            named[name + place] = values[(slice(None), slice(None), *at)]
    return named
