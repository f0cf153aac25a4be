"""How far an order can be trusted: do halves of the examples agree, and which heads can be told apart?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.base.ranks import rank_correlation
from headway.results.ranking.removal import mean_and_error

SPLITS = 200


@dataclass(frozen=True)
class Ceiling:
    """How far the order on all examples can be trusted. Halves on which all heads rise alike have no order and do not count.
    All are NaN where none has: with one head always.

    halves: rank correlation r of the orders on two halves of the examples, mean over random halves. deviation: of r over
    these halves. whole: the rank correlation sqrt(2 r / (1 + r)) that r implies between the order on all examples and the
    true order; 0 if the halves do not agree. No order can be expected to agree better than this with the order on all
    examples."""

    halves: float
    deviation: float
    whole: float

    @property
    def tells(self) -> bool:
        """Whether the halves agree by more than chance would let them; else `whole` says nothing."""
        return self.halves > self.deviation


def ceiling(rises: np.ndarray, seed: int = 1) -> Ceiling:
    """The ceiling of the order by these measured rises [H, P]."""
    rng, count = np.random.default_rng(seed), rises.shape[1]
    found = []
    for _ in range(SPLITS):
        order = rng.permutation(count)
        found.append(rank_correlation(rises[:, order[:count // 2]].mean(1), rises[:, order[count // 2:]].mean(1)))
    found = [agreement for agreement in found if not np.isnan(agreement)]
    if not found:
        return Ceiling(*[float("nan")] * 3)
    mean = float(np.mean(found))
    return Ceiling(mean, float(np.std(found)), float(np.sqrt(2.0 * mean / (1.0 + mean))) if mean > 0.0 else 0.0)


def shared_ranks(draws: np.ndarray, share: float = 0.9) -> np.ndarray:
    """[H]: ranks from 1, the head that costs least, from draws [D, H] of the rises.

    Heads go in the order of their means. A head begins a new rank if it costs more than the first head of the current one
    in this share of the draws; else it cannot be told from that head, and shares its rank.
    """
    order = draws.mean(0).argsort(kind="stable")
    ranks, first, rank = np.empty(len(order), int), order[0], 1
    for place, head in enumerate(order, 1):
        if place > 1 and (draws[:, head] > draws[:, first]).mean() >= share:
            first, rank = head, place
        ranks[head] = rank
    return ranks


def told_apart(rises: np.ndarray) -> float:
    """The share of pairs of heads whose measured rises differ by more than two errors of the difference; rises [H, P]."""
    heads = len(rises)
    pairs = [(one, other) for one in range(heads) for other in range(one)]
    if not pairs:
        return float("nan")
    found = [mean_and_error(rises[one] - rises[other]) for one, other in pairs]
    return float(np.mean([abs(mean) > 2.0 * error for mean, error in found]))
