"""Trained networks in results of `headway prune`: what their heads are worth, and their pruning.

Of linear-value networks that a data set carries, and (RemovalResult) of the networks of a train result.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway import hdf5
from headway.display import Brief, Shown
from headway.errors import BadDataError
from headway.fields import attributes, below

MEASURES = ("accuracy", "mean_squared_error")  # of a linear-value network


@dataclass(frozen=True, repr=False)
class Estimates(Brief):
    """Means over examples and their standard errors, entry by entry."""

    mean: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, repr=False)
class Curve(Brief):
    """Quality after removing the first 0, 1, 2, ... heads of `order` (counted from 0). Of a transformer
    `accuracy` is the run's metric and `mean_squared_error` the loss; so it is in all that follows."""

    order: np.ndarray
    accuracy: Estimates
    mean_squared_error: Estimates


@dataclass(frozen=True)
class Correlation:
    """Rank correlation of a score with what removing each head costs.

    sd, lower and upper (95 %) are over redrawn test examples; p_value is of random pairings.
    """

    spearman: float
    kendall: float
    p_value: float
    sd: float
    lower: float
    upper: float


@dataclass(frozen=True, repr=False)
class NetworkScore(Brief):
    """One score of all heads; `rising` prunes the lowest first, `falling` the highest."""

    score: np.ndarray
    accuracy_drop: Correlation
    error_rise: Correlation
    rising: Curve | None = None
    falling: Curve | None = None


@dataclass(frozen=True, repr=False)
class RandomOrders(Brief):
    """Accuracy in every random order [orders, removals + 1]; mean, sd and s.e. over the orders."""

    accuracy: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, repr=False)
class NetworkPruning(Brief):
    """What does not depend on the theory's width and temperature."""

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
        """Accuracy and standard error on a set, NaN where it is not known."""
        if name not in self.set_names:
            return math.nan, math.nan
        place = self.set_names.index(name)
        return float(self.set_accuracy.mean[place]), float(self.set_accuracy.error[place])


@dataclass(frozen=True, repr=False)
class HeadRemovals(Brief):
    """What removing each head alone does on the measured split, layer 1 first: without it less with it,
    as zero and with its mean in its place (NaN: not defined)."""

    layer: np.ndarray
    head: np.ndarray
    metric_change: Estimates
    loss_change: Estimates
    metric_change_mean: Estimates
    loss_change_mean: Estimates
    gradient_sensitivity: np.ndarray


@dataclass(frozen=True, repr=False)
class RemovalRun(Brief):
    """Head removal in one network."""

    label: str
    variant: str
    seed: int
    metric: str
    heads: HeadRemovals
    network: NetworkPruning


@dataclass(frozen=True, repr=False)
class RemovalResult(Shown):
    """A result file of kind "network_prune": `headway prune` of a train result."""

    file: Path
    study: str
    task: str
    runs: tuple[RemovalRun, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    kind: str = "prune"
    train_labels: None = None  # figures' head lines ask every result for them

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        return (f"{self.study}, {self.task}, heads removed from {len(self.runs)} "
                f"network{'' if len(self.runs) == 1 else 's'} ({', '.join(self.labels)})")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the runs, each once, in their order."""
        return tuple(dict.fromkeys(run.label for run in self.runs))

    def runs_of(self, label: str) -> tuple[RemovalRun, ...]:
        """The runs that differ in their seeds alone."""
        return tuple(run for run in self.runs if run.label == label)


def score_kind(name: str) -> str:
    """The name of a score without the file that the theory's came from, which differs from run to run."""
    match = re.fullmatch(r"(theory \w+) .* (N = .*)", name)
    return name if match is None else f"{match[1]} {match[2]}"


def read_removals(file: h5py.File) -> tuple[RemovalRun, ...]:
    """The groups runs/0, runs/1, ...; BadDataError names what is missing or malformed."""
    return tuple(_removal_run(group) for group in hdf5.numbered(file, "runs"))


def _removal_run(group: h5py.Group) -> RemovalRun:
    about, heads = attributes(group), group.get("heads")
    for name in ("label", "variant", "seed", "metric"):
        if name not in about:
            raise BadDataError(f"{group.name}: attribute {name} is missing")
    if not isinstance(heads, hdf5.GROUPS):
        raise BadDataError(f"{group.name}/heads: is missing")
    metric = about["metric"] or "score"
    layer = _array(heads, "layer").astype(int)
    count = len(layer)

    def change(name: str) -> Estimates:
        return _estimates(heads, name, count)

    network = read_network(group.get("network"), count, None, (metric, "loss"))
    if network is None:
        raise BadDataError(f"{group.name}/network: is missing")
    return RemovalRun(
        label=about["label"], variant=about["variant"], seed=int(about["seed"]), metric=metric,
        heads=HeadRemovals(
            layer, _array(heads, "head", (count,)).astype(int), change(f"{metric}_change"),
            change("loss_change"), change(f"{metric}_change_mean"), change("loss_change_mean"),
            _array(heads, "gradient_sensitivity", (count,))),
        network=network)


def read_network(group: h5py.Group | None, heads: int, size: int | None,
                 measures: tuple[str, str] = MEASURES) -> NetworkPruning | None:
    """The group "network" of a result with `heads` heads and a U_1 of `size` rows, if any; `measures`
    are the names that its quality has in the file."""
    if group is None:
        return None
    sets = group.get("sets")
    if sets is None:
        raise BadDataError(f"{group.name}/sets: is missing")
    names = tuple(hdf5.texts(sets["name"]))
    random, about = group.get("random"), attributes(group)
    about["rescaled"] = bool(about.get("rescaled", True))
    return NetworkPruning(
        **{name: about.get(name, "") for name in below("network", "", "attribute")
           if name in NetworkPruning.__dataclass_fields__},
        order_parameter=None if size is None else _array(group, "U_1", (size, size)),
        accuracy_drop=_estimates(group, f"{measures[0]}_drop", heads),
        error_rise=_estimates(group, "error_rise", heads),
        set_names=names, set_examples=_array(sets, "examples", (len(names),)),
        set_accuracy=_estimates(sets, measures[0], len(names)),
        set_mean_squared_error=_estimates(sets, measures[1], len(names)),
        scores=read_scores(group.get("scores"), heads, measures),
        greedy=_curve(group.get("greedy"), measures),
        random=None if random is None else RandomOrders(
            _array(random, measures[0]),
            **{name: _array(random, name) for name in ("mean", "sd", "error")}))


def read_scores(group: h5py.Group | None, heads: int,
                measures: tuple[str, str] = MEASURES) -> dict[str, NetworkScore]:
    """Every score below `group` by name."""
    if group is None:
        return {}
    return {name: NetworkScore(
        score=_array(item, "score", (heads,)),
        accuracy_drop=_correlation(item, f"{measures[0]}_drop"),
        error_rise=_correlation(item, "error_rise"),
        rising=_curve(item.get("rising"), measures), falling=_curve(item.get("falling"), measures))
        for name, item in group.items()}


def _array(group: h5py.Group, name: str, shape: tuple | None = None) -> np.ndarray:
    item = group.get(name)
    if not isinstance(item, hdf5.ARRAYS) or item.dtype.kind not in "fiub":
        raise BadDataError(f"{group.name}/{name}: is missing or no array of numbers")
    if shape is not None and item.shape != shape:
        raise BadDataError(f"{item.name}: has shape {list(item.shape)}, not {list(shape)}")
    return np.asarray(item[()], dtype=float)


def _estimates(group: h5py.Group, name: str, count: int) -> Estimates:
    return Estimates(_array(group, name, (count,)), _array(group, f"{name}_error", (count,)))


def _curve(group: h5py.Group | None, measures: tuple[str, str]) -> Curve | None:
    if group is None:
        return None
    order = _array(group, "order").astype(int)
    return Curve(order, *(_estimates(group, name, len(order) + 1) for name in measures))


def _correlation(group: h5py.Group, name: str) -> Correlation:
    return Correlation(**{part: float(group.attrs.get(f"{name}_{part}", math.nan))
                          for part in below("network_score", "error_rise_", "attribute")})
