"""Reading of what `headway prune` says of trained networks."""

from __future__ import annotations

import math

import h5py
import numpy as np

from headway.base import hdf5
from headway.errors import BadDataError
from headway.results.fields import attributes, below
from headway.results.network_results import (Correlation, Curve, Estimates, HeadRemovals, NetworkPruning, NetworkScore,
                                     RandomOrders, RemovalRun)
from headway.results.old_names import before, today, turned

MEASURES = ("accuracy", "mean_squared_error")  # of a linear-value network


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

    def cost(name: str) -> Estimates:
        return _estimates(heads, name, count)

    network = read_network(group.get("network"), count, None, (metric, "loss"))
    if network is None:
        raise BadDataError(f"{group.name}/network: is missing")
    return RemovalRun(
        label=about["label"], variant=about["variant"], seed=int(about["seed"]), metric=metric,
        heads=HeadRemovals(
            layer, _array(heads, "head", (count,)).astype(int), cost(f"{metric}_drop"),
            cost("loss_rise"), cost(f"{metric}_drop_mean"), cost("loss_rise_mean"),
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
    return {today(name): NetworkScore(
        score=_array(item, "score", (heads,)),
        accuracy_drop=_correlation(item, f"{measures[0]}_drop"),
        error_rise=_correlation(item, "error_rise"),
        rising=_curve(item.get("rising"), measures), falling=_curve(item.get("falling"), measures))
        for name, item in group.items()}


def _array(group: h5py.Group, name: str, shape: tuple | None = None) -> np.ndarray:
    older = name not in group and before(name) in group
    item = group.get(before(name) if older else name)
    if not isinstance(item, hdf5.ARRAYS) or item.dtype.kind not in "fiub":
        raise BadDataError(f"{group.name}/{name}: is missing or no array of numbers")
    if shape is not None and item.shape != shape:
        raise BadDataError(f"{item.name}: has shape {list(item.shape)}, not {list(shape)}")
    values = np.asarray(item[()], dtype=float)
    return 0.0 - values if older and turned(before(name)) else values


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
