"""Trained networks in results of `headway prune`: what their heads are worth, and their pruning.

Of linear-value networks that a data set carries, and (RemovalResult) of the networks of a train result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headway.errors import BadDataError
from headway.results.display import Brief
from headway.results.older import Renamed
from headway.results.reading import Group, Sizes, array, attribute, plain
from headway.results.records import Integers, Stored, record
from headway.results.runs import Runs


CORRELATION = ("spearman", "kendall", "p_value", "sd", "lower", "upper")


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

    stored = ()

    @classmethod
    def _at(cls, group: Group, place: str, sizes: Sizes) -> Estimates:
        values = [array(group, f"{place}{part}") for part in ("", "_error")]
        for name, value in zip((place, f"{place}_error"), values):
            if value is None:
                raise BadDataError(f"{group.name}/{name}: is missing or no array of numbers")
            if value.ndim != 1:
                raise BadDataError(f"{group.name}/{name}: has shape {list(value.shape)}, not [any]")
        return cls(*values)

    def _require(self, group_of: str, name: str, count: int) -> None:
        """BadDataError unless there are so many."""
        for part, values in (("", self.mean), ("_error", self.error)):
            if len(values) != count:
                raise BadDataError(f"{group_of}/{name}{part}: has shape {list(values.shape)}, not {[count]}")


@record("network", "greedy")
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

    order: Integers
    accuracy: Estimates
    mean_squared_error: Estimates

    def _check(self, where: str, sizes: Sizes) -> None:
        for name in ("accuracy", "mean_squared_error"):
            getattr(self, name)._require(where, sizes.names.get(name, name), len(self.order) + 1)


@record("network_score", **{part: f"error_rise_{part}" for part in CORRELATION})
@dataclass(frozen=True)
class Correlation:
    """Rank correlation of a score with what removing each head costs."""

    spearman: float
    kendall: float
    p_value: float
    sd: float
    lower: float
    upper: float

    @classmethod
    def _at(cls, group: Group, place: str, sizes: Sizes) -> Correlation:
        return cls(*(float(group.attrs.get(f"{place}_{part}", math.nan)) for part in CORRELATION))


@record("network_score")
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

    def _check(self, where: str, sizes: Sizes) -> None:
        if sizes.heads and self.score.shape != (sizes.heads,):
            raise BadDataError(f"{where}/score: has shape {list(self.score.shape)}, not {[sizes.heads]}")


@record("network", "random")
@dataclass(frozen=True, repr=False, eq=False)
class RandomOrders(Brief):
    """A network as heads are removed in random orders."""

    accuracy: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    error: np.ndarray


@record("network", order_parameter="U_1", set_names="sets/name", set_examples="sets/examples", set_accuracy="sets/accuracy",
        set_mean_squared_error="sets/mean_squared_error")
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

    accuracy_drop: Estimates
    error_rise: Estimates
    set_names: tuple[str, ...]
    set_examples: np.ndarray
    set_accuracy: Estimates
    set_mean_squared_error: Estimates
    rescaled: bool = True
    measured_on: str = ""
    greedy_on: str = ""
    sensitivity_on: str = ""
    order_parameter: np.ndarray | None = None
    scores: Mapping[str, NetworkScore] = field(default_factory=dict)
    greedy: Curve | None = None
    random: RandomOrders | None = None

    def _check(self, where: str, sizes: Sizes) -> None:
        for name in ("accuracy_drop", "error_rise") if sizes.heads else ():
            getattr(self, name)._require(where, name, sizes.heads)
        for name, values in (("accuracy", self.set_accuracy), ("mean_squared_error", self.set_mean_squared_error)):
            values._require(f"{where}/sets", sizes.names.get(name, name), len(self.set_names))
        if len(self.set_examples) != len(self.set_names):
            raise BadDataError(f"{where}/sets/examples: has shape {list(self.set_examples.shape)}, not {[len(self.set_names)]}")
        if self.order_parameter is not None and sizes.paths and self.order_parameter.shape != (sizes.paths[0],) * 2:
            raise BadDataError(f"{where}/U_1: has shape {list(self.order_parameter.shape)}, not {[sizes.paths[0]] * 2}")

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


@record("network_run", "heads", metric_drop="accuracy_drop", metric_drop_mean="accuracy_drop_mean")
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

    layer: Integers
    head: Integers
    metric_drop: Estimates
    loss_rise: Estimates
    metric_drop_mean: Estimates
    loss_rise_mean: Estimates
    gradient_sensitivity: np.ndarray

    def _check(self, where: str, sizes: Sizes) -> None:
        for name in ("metric_drop", "loss_rise", "metric_drop_mean", "loss_rise_mean"):
            getattr(self, name)._require(where, name.replace("metric", sizes.names["accuracy"]), len(self.layer))
        for name in ("head", "gradient_sensitivity"):
            if getattr(self, name).shape != self.layer.shape:
                raise BadDataError(f"{where}/{name}: has shape {list(getattr(self, name).shape)}, not {[len(self.layer)]}")


@record("network_run")
@dataclass(frozen=True, repr=False, eq=False)
class RemovalRun(Brief, Stored):
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

    @classmethod
    def _view(cls, group: Group, sizes: Sizes) -> tuple[Group, Sizes]:
        """The names of accuracies and errors in the file are those of the metric and the loss."""
        metric, layer = str(plain(attribute(group, "metric"))) or "score", group.get("heads/layer")
        names = {"accuracy": metric, "mean_squared_error": "loss"}
        return Renamed(group, names), sizes._replace(names=names, heads=0 if layer is None else layer.shape[0])


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

    runs: tuple[RemovalRun, ...]
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
