"""Trained networks in results of `headway prune`: what their heads are worth, and their pruning.

Of linear-value networks that a data set carries, and (RemovalResult) of the networks of a train result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headway.results.display import Brief
from headway.results.fields import below, record
from headway.results.runs import Runs


@dataclass(frozen=True, repr=False, eq=False)
class Estimates(Brief):
    """Means over examples and their standard errors, entry by entry.

    Attributes
    ----------
    mean : ndarray
        The means.
    error : ndarray
        Their standard errors.
    """

    mean: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, repr=False, eq=False)
class Curve(Brief):
    """Quality of a network after the first 0, 1, 2, ... heads are removed.

    Here and below, `accuracy` of a transformer is its metric, and `mean_squared_error` its loss.

    Attributes
    ----------
    order : ndarray of int
        The heads in the order of their removal, counted from 0 over all layers.
    accuracy : Estimates
        After each removal.
    mean_squared_error : Estimates
        After each removal.
    """

    order: np.ndarray
    accuracy: Estimates
    mean_squared_error: Estimates


@record("network_score", **{part: f"error_rise_{part}" for part in below("network_score", "error_rise_", "attribute")})
@dataclass(frozen=True)
class Correlation:
    """Rank correlation of a score with what removing each head costs."""

    spearman: float
    kendall: float
    p_value: float
    sd: float
    lower: float
    upper: float


@dataclass(frozen=True, repr=False, eq=False)
class NetworkScore(Brief):
    """One score of all heads, and how well it ranks them.

    Attributes
    ----------
    score : ndarray of shape (heads,)
        Layer 1 first.
    accuracy_drop, error_rise : Correlation
        With what the removal of each head costs.
    rising, falling : Curve or None
        The network as heads are removed, lowest or highest score first.
    """

    score: np.ndarray
    accuracy_drop: Correlation
    error_rise: Correlation
    rising: Curve | None = None
    falling: Curve | None = None


@record("network", "random")
@dataclass(frozen=True, repr=False, eq=False)
class RandomOrders(Brief):
    """A network as heads are removed in random orders."""

    accuracy: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    error: np.ndarray


@record("network", order_parameter="U_1", set_names="sets/name", set_examples="sets/examples")
@dataclass(frozen=True, repr=False, eq=False)
class NetworkPruning(Brief):
    """A trained network as its heads are removed: what does not depend on the theory's width and temperature.

    Attributes
    ----------
    accuracy_drop, error_rise : Estimates
        What the removal of each head alone costs.
    set_accuracy, set_mean_squared_error : Estimates
        Of the whole network on each set.
    scores : mapping of str to NetworkScore
        By name, every score that needs no theory.
    greedy : Curve or None
        Removal by a greedy search.
    random : RandomOrders or None
        Removal in random orders.
    """

    rescaled: bool
    measured_on: str
    greedy_on: str
    sensitivity_on: str
    order_parameter: np.ndarray | None
    accuracy_drop: Estimates
    error_rise: Estimates
    set_names: tuple[str, ...]
    set_examples: np.ndarray
    set_accuracy: Estimates
    set_mean_squared_error: Estimates
    scores: Mapping[str, NetworkScore] = field(default_factory=dict)
    greedy: Curve | None = None
    random: RandomOrders | None = None

    def accuracy_on(self, name: str) -> tuple[float, float]:
        """Find the accuracy of the whole network on a set.

        Parameters
        ----------
        name : str
            The set.

        Returns
        -------
        accuracy : float
            NaN where it is not known.
        error : float
            Its standard error.
        """
        if name not in self.set_names:
            return math.nan, math.nan
        place = self.set_names.index(name)
        return float(self.set_accuracy.mean[place]), float(self.set_accuracy.error[place])


@dataclass(frozen=True, repr=False, eq=False)
class HeadRemovals(Brief):
    """What the removal of each head alone costs, layer 1 first: positive where the network needs the head.

    Attributes
    ----------
    layer, head : ndarray of int
        Which head, counted from 1.
    metric_drop, loss_rise : Estimates
        With nothing in place of the head.
    metric_drop_mean, loss_rise_mean : Estimates
        With its mean output in its place; NaN where that is not defined.
    gradient_sensitivity : ndarray of shape (heads,)
        Mean of |d loss / d m_h| over training examples (eq. 56).
    """

    layer: np.ndarray
    head: np.ndarray
    metric_drop: Estimates
    loss_rise: Estimates
    metric_drop_mean: Estimates
    loss_rise_mean: Estimates
    gradient_sensitivity: np.ndarray


@record("network_run")
@dataclass(frozen=True, repr=False, eq=False)
class RemovalRun(Brief):
    """Heads removed from one trained network.

    Attributes
    ----------
    heads : HeadRemovals
        Each head removed alone.
    network : NetworkPruning
        Heads removed one after the other, and how well scores rank them.
    """

    label: str
    variant: str
    seed: int
    metric: str
    heads: HeadRemovals
    network: NetworkPruning


@record()
@dataclass(frozen=True, repr=False, eq=False)
class RemovalResult(Runs[RemovalRun]):
    """A result of `headway.prune_network`, or of the program's `prune-network`.

    Attributes
    ----------
    runs : tuple of RemovalRun
        The networks.

    Examples
    --------
    >>> removed = headway.prune_network("trained.h5")  # doctest: +SKIP
    >>> removed.runs[0].heads.loss_rise.mean  # doctest: +SKIP
    """

    kind: str = "prune"

    @property
    def _verb(self) -> str:
        return "prune-network"

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        return f"{self.study}, {self.task}, heads removed from {self._networks}"


def score_kind(name: str) -> str:
    """The name of a score without the file that the theory's came from, which differs from run to run."""
    match = re.fullmatch(r"(theory \w+) .* (N = .*)", name)
    return name if match is None else f"{match[1]} {match[2]}"
