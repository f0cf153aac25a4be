"""A result as groups of arrays whose dimensions have names: what xarray and ArviZ take.

Dimensions: point (sweep points), layer (1..L), head (of all layers, layer 1 first), path and path_other
(the rows and columns of U_1; path_2, ... of U_2, ...), output, example (test), train_example, chain,
draw, component (of the kernel), removed (number of heads), run, split, record; of value networks direction and value_head;
of calibrations network and statistic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from headway.results.result import Corrected, GaussianProcessPoint, Point, Result, Samples
from headway.results.training_results import TrainingResult

Variable = tuple[tuple[str, ...], np.ndarray]

#: Dimensions of arrays by their names, the first that fits. Files of 0.1 and 0.2 do not say them.
_AXES = tuple((re.compile(name), axes) for name, axes in (
    (r"U_a(_\w+)?", "output output_other"), (r"U_\d+(_\w+)?", "path path_other"), (r"(predictor|gaussian_process)_(mean|variance|mcse)", "example output"),
    ("history", "iteration history_column"), ("S|S_mean|S_mcse", "direction direction_other"), (r"S(_mean)?_eigenvalues", "direction"),
    ("S_head_shares", "value_head"), ("calibration_ranks", "network statistic"), ("calibration_p_values", "statistic"),
    ("attention_weights", "weight"), (r"(gaussian_process_)?(eigenvalues|overlaps|cumulative)", "component"),
    ("cumulative_random_order", "order removal"), (r"cumulative_\w+_order", "removal"), ("cumulative_random", "order removed"),
    (r"cumulative_\w+", "removed")))


#: By variable, the attribute of samples that has a value for each draw.
_DRAWS = {"U_a": "readout_draws", **{name: name for name in (
    "log_density", "attention_entropy", "attention_largest", "log_likelihood", "attention_weights")}}


def axes_of(name: str, rank: int, otherwise: str = "") -> str:
    """The dimensions of an array of one record; those of an unknown name are called after it."""
    found = next((axes for pattern, axes in _AXES if pattern.fullmatch(name)), otherwise)
    return found or " ".join(f"{name}_{axis}" for axis in range(rank))


@dataclass
class Group:
    """Variables and coordinates by name, each (dimensions, array), and attributes."""

    variables: dict[str, Variable] = field(default_factory=dict)
    coordinates: dict[str, Variable] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    def add(self, name: str, dimensions: Sequence[str], array: np.ndarray | None) -> None:
        """Adds a variable, unless there is none; its number of dimensions is checked by xarray."""
        if array is not None:
            self.variables[name] = (tuple(dimensions), np.asarray(array))


class Names:
    """Dimensions and coordinates of a result of the theory."""

    def __init__(self, result: Result):
        self.result = result
        self.layers = len(result.heads)
        self.several = result.outputs > 1
        head_of = [(layer, head) for layer, count in enumerate(result.heads, 1)
                   for head in range(1, count + 1)]
        names = [name for layer in result.head_names for name in layer]
        self.coordinates: dict[str, Variable] = {
            "layer": (("layer",), np.arange(1, self.layers + 1)),
            "head": (("head",), np.array([f"{layer}.{head}" for layer, head in head_of])),
            "head_layer": (("head",), np.array([layer for layer, _ in head_of])),
            "head_name": (("head",), np.array(names)),
            "set": (("set",), np.array(result.set_names))}
        for layer in range(1, self.layers + 1):
            labels = np.array(result.paths if layer == 1 else _partial_paths(result.heads[layer - 1:]))
            path = _path(layer)
            self.coordinates |= {path: ((path,), labels), f"{path}_other": ((f"{path}_other",), labels)}
        if self.several:
            outputs = np.arange(1, result.outputs + 1)
            self.coordinates |= {name: ((name,), outputs) for name in ("output", "output_other")}

    def dimensions(self, axes: str, layer: int = 1) -> tuple[str, ...]:
        """Names of the axes for U_l of a layer, [..., p, C, p, C] where there are several outputs."""
        names = {"path": _path(layer), "path_other": f"{_path(layer)}_other"}
        found = []
        for axis in axes.split():
            if axis.startswith("output") and not self.several:
                continue
            found.append(names.get(axis, axis))
            if axis in names and self.several:
                found.append(axis.replace("path", "output"))
        return tuple(found)

    def order_parameter(self, layer: int) -> tuple[str, ...]:
        """Dimensions of U_l."""
        return self.dimensions("path path_other", layer)

    def examples(self, name: str = "example") -> tuple[str, ...]:
        return self.dimensions(f"{name} output")

    def unfolded(self, array: np.ndarray | None, leading: int = 0) -> np.ndarray | None:
        """[..., p C, p C] as [..., p, C, p, C] for several outputs."""
        if array is None or not self.several:
            return array
        paths, outputs = array.shape[-1] // self.result.outputs, self.result.outputs
        return array.reshape(*array.shape[:leading], paths, outputs, paths, outputs)

    def group(self, variables: Mapping[str, Variable],
              attributes: Mapping[str, Any] | None = None) -> Group:
        """A group with the coordinates of the dimensions that it has."""
        used = {dimension for dimensions, _ in variables.values() for dimension in dimensions}
        return Group(dict(variables), {name: known for name, known in self.coordinates.items()
                                       if set(known[0]) <= used and len(known[1])}, dict(attributes or {}))


def _path(layer: int) -> str:
    return "path" if layer == 1 else f"path_{layer}"


def _partial_paths(heads: Sequence[int]) -> list[str]:
    return ["(" + ",".join(map(str, path)) + ")"
            for path in product(*(range(1, count + 1) for count in heads))]


def stacked(arrays: Iterable[np.ndarray | None]) -> np.ndarray | None:
    """The arrays below each other; missing ones, and what shorter ones lack, NaN. None if none is
    there."""
    arrays = [None if array is None else np.asarray(array, dtype=float) for array in arrays]
    known = [array for array in arrays if array is not None]
    if not known:
        return None
    shape = tuple(max(sizes) for sizes in zip(*(array.shape for array in known)))
    whole = np.full((len(arrays), *shape), np.nan)
    for row, array in enumerate(arrays):
        if array is not None:
            whole[(row, *(slice(size) for size in array.shape))] = array
    return whole


def groups_of(result: Result | TrainingResult) -> dict[str, Group]:
    """Every group of a result by its path, "/" first."""
    if isinstance(result, TrainingResult):
        return _training(result)
    names = Names(result)
    groups = {"/": _root(result, names), "/points": _points(result, result.points, names)}
    groups |= _parts(result.points, names)
    if result.theory is not None:
        theory = result.theory
        groups["/theory"] = _points(theory, theory.points, names)
        groups |= {f"/theory{name}": group for name, group in _parts(theory.points, names).items()}
    if result.gaussian_process:
        groups["/gaussian_process"] = _limits(result.gaussian_process, names)
    if result.network is not None:
        groups["/network"] = _network(result, names)
    return {name: group for name, group in groups.items() if group.variables or name == "/"}


def _root(result: Result, names: Names) -> Group:
    group = Group()
    group.add("train_labels", names.examples("train_example"), result.train_labels)
    group.add("test_labels", names.examples(), result.test_labels)
    group.add("path_kernels", ("path", "train_example", "train_example_other"), result.path_kernels)
    group.add("heads", ("layer",), np.array(result.heads))
    return names.group(group.variables, {
        **result.provenance, "kind": result.kind, "study": result.study, "outputs": result.outputs,
        "partial": int(result.partial), "variances": np.array(result.variances)})


def _scalars(records: Sequence[Mapping[str, Any]], dimension: str) -> dict[str, Variable]:
    """The numbers and the words of several records, by name."""
    found = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        if all(isinstance(value, str) for value in values):
            found[name] = ((dimension,), np.array(values))
        elif all(value is None or isinstance(value, (bool, int, float)) for value in values):
            found[name] = ((dimension,), np.array([np.nan if value is None else value
                                                   for value in values], dtype=float))
    return found


def arrays_in(record: Any) -> dict[str, np.ndarray]:
    """The arrays of a record by their names in the file, U_1, ... for those of order parameters; without draws."""
    found: dict[str, np.ndarray] = {}
    for attribute, place in (record.stored if record is not None else {}).items():
        value = getattr(record, attribute)
        name = re.sub(r"order_parameters(\w*)/layer_<l>(\w*)", r"U_<l>\1\2", place).replace("/", "_").replace(".T", "")
        if isinstance(value, np.ndarray) and not name.startswith(("draws", "energies")):
            found[name] = value
        elif isinstance(value, tuple) and "<l>" in name:
            found |= {name.replace("<l>", str(layer)): one for layer, one in enumerate(value, 1)}
    return found | {name: value for name, value in vars(record or Group()).get("_further", {}).items() if isinstance(value, np.ndarray)}


def _stack(group: Group, names: Names, records: Sequence[Mapping[str, np.ndarray]], dimension: str = "point",
           leading: tuple[str, ...] = (), otherwise: str = "") -> None:
    """Arrays of several records as variables; those of several outputs have dimensions of their own."""
    for name in dict.fromkeys(name for record in records for name in record):
        arrays = [record.get(name) for record in records]
        layer = int(found[1]) if (found := re.match(r"U_(\d+)", name)) else 1
        if found:
            arrays = [names.unfolded(one, len(leading)) for one in arrays]
        rank = next(one.ndim for one in arrays if one is not None) - len(leading)
        group.add(name, (dimension, *leading, *names.dimensions(axes_of(name, rank, otherwise), layer)), stacked(arrays))


def _measured(group: Group, names: Names, records: Sequence, dimension: str = "point") -> None:
    """Predictors, and what they score on further sets."""
    _stack(group, names, [{f"predictor_{name}": value for name, value in arrays_in(record.predictor).items()} for record in records], dimension)
    for part in ("accuracy", "mean_squared_error") if names.result.set_names else ():
        group.add(f"set_{part}", (dimension, "set"), stacked(
            [getattr(record.sets[name], part) if name in record.sets else np.nan
             for name in names.result.set_names] for record in records))


def _points(result: Result, points: Sequence[Point], names: Names) -> Group:
    group = Group(_scalars([_without(point.attributes, "temperature") for point in points], "point"))
    _stack(group, names, [arrays_in(point) | arrays_in(point.samples) for point in points])
    _measured(group, names, points)
    whole = names.group(group.variables)
    whole.coordinates |= _sweep(points)
    columns = next((point.history_columns for point in points if point.history_columns), ())
    if columns:
        whole.coordinates["history_column"] = (("history_column",), np.array(columns))
    return whole


def _without(record: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def _sweep(points: Sequence[Point]) -> dict[str, Variable]:
    """Widths and temperature of every point."""
    widths = np.array([point.widths for point in points])
    if not len(widths):
        return {}
    return {"width": (("point", "layer"), widths[:, :-1]),
            "readout_width": (("point",), widths[:, -1]),
            "temperature": (("point",), np.array([point.temperature for point in points])),
            "layer": (("layer",), np.arange(1, widths.shape[1]))}


def _parts(points: Sequence[Point], names: Names) -> dict[str, Group]:
    """What the points hold besides: corrected, alignment, pruning, posterior."""
    parts = {"/corrected": Group(), "/alignment": Group(), "/pruning": Group(), "/posterior": posterior_of([point.samples for point in points], names)}
    if any(point.corrected is not None for point in points):
        known = [point.corrected or Corrected() for point in points]
        parts["/corrected"] = Group(_scalars([record.attributes for record in known], "point"))
        _stack(parts["/corrected"], names, list(map(arrays_in, known)))
        _measured(parts["/corrected"], names, known)
    for name, otherwise in (("alignment", ""), ("pruning", "head")):
        records = [getattr(point, name) for point in points]
        _stack(parts[f"/{name}"], names, [{} if record is None else {
            place.replace("/", "_"): value for place, value in record.values.items()
            if isinstance(value, np.ndarray) and place not in ("layer", "head")} for record in records], otherwise=otherwise)
    for name, group in parts.items():
        parts[name] = names.group(group.variables)
        parts[name].coordinates |= _sweep(points)
    return parts


def posterior_of(records: Sequence[Samples | None], names: Names) -> Group:
    """What has a value for each draw, [point, chain, draw, ...]."""
    found: list[dict[str, np.ndarray]] = []
    for samples in records:
        draws = {} if samples is None else {f"U_{layer}": values for layer, values in sorted(samples.draws.items())} | {
            name: getattr(samples, attribute) for name, attribute in _DRAWS.items()}
        found.append({name: values for name, values in draws.items() if values is not None})
    group = Group()
    _stack(group, names, found, leading=("chain", "draw"))
    return group


def _limits(limits: Sequence[GaussianProcessPoint], names: Names) -> Group:
    group = Group(_scalars([_without(limit.attributes, "temperature") for limit in limits], "temperature"))
    _measured(group, names, limits, "temperature")
    whole = names.group(group.variables)
    whole.coordinates["temperature"] = (("temperature",), np.array([limit.temperature for limit in limits]))
    return whole


def _network(result: Result, names: Names) -> Group:
    """The trained network: what each head's removal costs, and every score of its heads."""
    network, group = result.network, Group()
    group.add("U_1", names.order_parameter(1), names.unfolded(network.order_parameter))
    for name in ("accuracy_drop", "error_rise"):
        estimates = getattr(network, name)
        group.add(name, ("head",), estimates.mean)
        group.add(f"{name}_error", ("head",), estimates.error)
    group.add("score", ("score_name", "head"), stacked(
        score.score for score in network.scores.values()))
    for name, array in (("examples", network.set_examples), ("accuracy", network.set_accuracy.mean),
                        ("accuracy_error", network.set_accuracy.error)):
        group.add(f"set_{name}", ("network_set",), array)
    whole = names.group(group.variables)
    whole.coordinates["network_set"] = (("network_set",), np.array(network.set_names))
    if network.scores:
        whole.coordinates["score_name"] = (("score_name",), np.array(list(network.scores)))
    return whole


def _training(result: TrainingResult) -> dict[str, Group]:
    runs = result.runs
    coordinates = {"label": (("run",), np.array([run.label for run in runs])),
                   "seed": (("run",), np.array([run.seed for run in runs], dtype=float))}
    whole = Group(_scalars([_without(run.attributes, "label", "seed") for run in runs], "run"),
                  dict(coordinates))
    splits = list(dict.fromkeys(split for run in runs for split in run.final))
    metrics = dict.fromkeys(metric for run in runs for final in run.final.values()
                            for metric in final)
    for metric in metrics:
        whole.add(f"final_{metric}", ("run", "split"), np.array(
            [[run.final.get(split, {}).get(metric, np.nan) for split in splits] for run in runs]))
    whole.coordinates["split"] = (("split",), np.array(splits))
    root = Group(attributes={**result.provenance, "kind": result.kind, "study": result.study,
                             "task": result.task, "partial": int(result.partial)})
    groups = {"/": root, "/runs": whole}
    for split in dict.fromkeys(split for run in runs for split in run.curves):
        group = Group(coordinates=dict(coordinates))
        for column in dict.fromkeys(column for run in runs if split in run.curves
                                    for column in run.curves[split].columns):
            group.add(column, ("run", "record"), stacked(
                run.curves[split].columns.get(column) if split in run.curves else None
                for run in runs))
        groups[f"/curves/{split}"] = group
    return groups
