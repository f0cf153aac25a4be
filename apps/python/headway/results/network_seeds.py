"""Several trained networks of one shape (seeds of a study): does a score rank their heads?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headway.base.ranks import mean_correlation_p_value
from headway.errors import UsageError
from headway.results.network_results import NetworkPruning, NetworkScore
from headway.results.result import Point, Result


@dataclass(frozen=True)
class ScoreOverNetworks:
    """One score of the heads of several networks. Each array has an entry for each network, NaN where unknown.

    correlations: Spearman's rho with the accuracy drop of each head. p_value: two-sided, of their mean if heads are paired at
    random (ranks.mean_correlation_p_value). half: accuracy with half of the heads removed, lowest score first.
    half_over_random: `half` minus the mean over random orders.
    """

    name: str
    widths: tuple[int, ...] | None  # of the theory; None for scores of the network itself
    temperature: float
    correlations: np.ndarray
    p_value: float
    half: np.ndarray
    half_over_random: np.ndarray


def compare_networks(results: Sequence[Result]) -> list[ScoreOverNetworks]:
    """Scores of the networks themselves, then the theory's at every width and temperature that all
    results have. UsageError unless each result is of `headway prune` with a network, all of one shape
    and no two the same."""
    copies = copied([result for result in results if result.network is not None])
    if copies is not None:
        raise UsageError(f"{copies[1].file}: has the same trained network as {copies[0].file}; allowed: "
                         "another network, since copies are not independent")
    for result in results:
        if result.network is None:
            raise UsageError(f"{result.file}: has no trained network; allowed, when there are several: results of "
                             "headway prune on a data set with one")
        if result.heads != results[0].heads:
            raise UsageError(f"{result.file}: has heads {list(result.heads)}; allowed: "
                             f"{list(results[0].heads)}, as the first result has")
    networks = [result.network for result in results]
    found = [_over(name, None, [network.scores[name] for network in networks], networks)
             for name in networks[0].scores if all(name in network.scores for network in networks)]
    for first in results[0].points:
        points = [_same_point(result, first) for result in results]
        if all(point is not None for point in points):
            found += [_over(name, first, [point.network[name] for point in points], networks)
                      for name in first.network if all(name in point.network for point in points)]
    return found


def copied(results: Sequence[Result]) -> tuple[Result, Result] | None:
    """The first two results that are of one and the same trained network, or None. Such results agree to the last bit in
    the effective weights and in what each head's removal costs."""
    for index, second in enumerate(results):
        for first in results[:index]:
            if first.network is not None and second.network is not None and _is_copy(
                    first.network, second.network):
                return first, second
    return None


def _is_copy(first: NetworkPruning, second: NetworkPruning) -> bool:
    return (np.array_equal(first.order_parameter, second.order_parameter)
            and np.array_equal(first.error_rise.mean, second.error_rise.mean))


def _same_point(result: Result, wanted: Point) -> Point | None:
    return next((point for point in result.points if tuple(point.widths) == tuple(wanted.widths)
                 and point.temperature == wanted.temperature), None)


def _over(name: str, point: Point | None, scores: Sequence[NetworkScore],
          networks: Sequence[NetworkPruning]) -> ScoreOverNetworks:
    pairs = [(score.score, network.accuracy_drop.mean) for score, network in zip(scores, networks)]
    half = [_half(score, network) for score, network in zip(scores, networks)]
    return ScoreOverNetworks(
        name=name, widths=None if point is None else tuple(point.widths),
        temperature=math.nan if point is None else point.temperature,
        correlations=np.array([score.accuracy_drop.spearman for score in scores]),
        p_value=mean_correlation_p_value(pairs),
        half=np.array([pruned for pruned, _ in half]),
        half_over_random=np.array([pruned - random for pruned, random in half]))


def _half(score: NetworkScore, network: NetworkPruning) -> tuple[float, float]:
    """Accuracy with half of the heads removed, by the score and in random orders."""
    count = len(score.score) // 2
    if score.rising is None or len(score.rising.accuracy.mean) <= count:
        return math.nan, math.nan
    random = math.nan if network.random is None else float(network.random.mean[count])
    return float(score.rising.accuracy.mean[count]), random
