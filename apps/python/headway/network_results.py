"""The trained network in a result of `headway prune`: what its heads are worth, and its pruning."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import h5py
import numpy as np

from headway import hdf5
from headway.display import Brief
from headway.errors import BadDataError
from headway.fields import attributes, below


@dataclass(frozen=True, repr=False)
class Estimates(Brief):
    """Means over examples and their standard errors, entry by entry."""

    mean: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, repr=False)
class Curve(Brief):
    """Test quality after removing the first 0, 1, 2, ... heads of `order` (counted from 0)."""

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
    order_parameter: np.ndarray
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


def read_network(group: h5py.Group | None, heads: int, size: int) -> NetworkPruning | None:
    """The group "network" of a result with `heads` heads and a U_1 of `size` rows."""
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
        order_parameter=_array(group, "U_1", (size, size)),
        accuracy_drop=_estimates(group, "accuracy_drop", heads),
        error_rise=_estimates(group, "error_rise", heads),
        set_names=names, set_examples=_array(sets, "examples", (len(names),)),
        set_accuracy=_estimates(sets, "accuracy", len(names)),
        set_mean_squared_error=_estimates(sets, "mean_squared_error", len(names)),
        scores=read_scores(group.get("scores"), heads), greedy=_curve(group.get("greedy")),
        random=None if random is None else RandomOrders(
            **{name: _array(random, name) for name in RandomOrders.__dataclass_fields__}))


def read_scores(group: h5py.Group | None, heads: int) -> dict[str, NetworkScore]:
    """Every score below `group` by name."""
    if group is None:
        return {}
    return {name: NetworkScore(
        score=_array(item, "score", (heads,)),
        accuracy_drop=_correlation(item, "accuracy_drop"),
        error_rise=_correlation(item, "error_rise"),
        rising=_curve(item.get("rising")), falling=_curve(item.get("falling")))
        for name, item in group.items()}


def _array(group: h5py.Group, name: str, shape: tuple | None = None) -> np.ndarray:
    item = group.get(name)
    if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "fiub":
        raise BadDataError(f"{group.name}/{name}: is missing or no array of numbers")
    if shape is not None and item.shape != shape:
        raise BadDataError(f"{item.name}: has shape {list(item.shape)}, not {list(shape)}")
    return np.asarray(item[()], dtype=float)


def _estimates(group: h5py.Group, name: str, count: int) -> Estimates:
    return Estimates(_array(group, name, (count,)), _array(group, f"{name}_error", (count,)))


def _curve(group: h5py.Group | None) -> Curve | None:
    if group is None:
        return None
    order = _array(group, "order").astype(int)
    return Curve(order, _estimates(group, "accuracy", len(order) + 1),
                 _estimates(group, "mean_squared_error", len(order) + 1))


def _correlation(group: h5py.Group, name: str) -> Correlation:
    return Correlation(**{part: float(group.attrs.get(f"{name}_{part}", math.nan))
                          for part in below("network_score", f"{name}_", "attribute")})
