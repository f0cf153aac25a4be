"""What a result file holds, as plain objects of numpy arrays; `read_result` fills them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from headway import hdf5
from headway.display import Brief, Shown, brief
from headway.errors import UsageError
from headway.fields import Numbers
from headway.head_table import HeadTable, head_table
from headway.later import may_come_later
from headway.network_results import NetworkPruning, NetworkScore

def number(attributes: Mapping[str, Any], name: str) -> float:
    return float(attributes.get(name, math.nan))


@dataclass(frozen=True)
class SetMeasures:
    """What a predictor scores on a further set of the data set, such as "validation"."""

    accuracy: float
    mean_squared_error: float


class Measures(Numbers):
    """What a predictor scores on the test set, and all other numbers of the file, read from
    `attributes`: `accuracy`, `log_evidence`, ... under the names of `FIELDS`; NaN where it has none.

    `sets` has the same for each further set of the data set, by name.
    """

    sets: Mapping[str, SetMeasures]


@dataclass(frozen=True, repr=False)
class Predictor(Brief):
    """Test mean and variance of a predictor, [P_test] or [P_test, C]; None without a test set."""

    mean: np.ndarray | None = None
    variance: np.ndarray | None = None


@dataclass(frozen=True, repr=False)
class Corrected(Brief, Measures):
    """The 1/N-corrected means; where `defined` is false, `reason` says why."""

    defined: bool
    reason: str
    attributes: Mapping[str, Any]
    readout_order_parameter: np.ndarray | None = None
    readout_deviation: np.ndarray | None = None
    order_parameters: tuple[np.ndarray, ...] = ()
    order_parameter_deviations: tuple[np.ndarray, ...] = ()
    predictor: Predictor = field(default_factory=Predictor)
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Fields:
    """A group of the file: its arrays and numbers under its own names, which `FIELDS` explains."""

    values: Mapping[str, Any]

    def __repr__(self) -> str:
        words = [f"{name}={brief(value)}" for name, value in self.values.items()]
        return f"{type(self).__name__}({', '.join(words)})"

    def __getattr__(self, name: str) -> Any:
        if name == "values" or name not in self.values:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return self.values[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.values})


class Alignment(Fields):
    """Overlaps |v_k . y| / |y| by falling eigenvalue, and the running sums of their squares."""


class Pruning(Fields):
    """Head scores, accuracy without each head, and cumulative pruning (None where not computed)."""

    def _curve(self, name: str) -> np.ndarray | None:
        return self.values.get(f"cumulative/{name}")

    by_score = property(lambda self: self._curve("score"))
    by_squared_error = property(lambda self: self._curve("squared_error"))
    greedy = property(lambda self: self._curve("greedy"))
    random = property(lambda self: self._curve("random"))
    random_mean = property(lambda self: self._curve("random_mean"))
    random_sd = property(lambda self: self._curve("random_sd"))

    @property
    def greedy_on(self) -> str:
        """The set that the greedy order was searched on."""
        return self.values.get("cumulative/greedy_on", "test")

    @property
    def orders(self) -> dict[str, np.ndarray]:
        """The heads removed, by the name of the order: "score_order", ..."""
        return {name.removeprefix("cumulative/"): values for name, values in self.values.items()
                if name.endswith("_order")}


@dataclass(frozen=True, repr=False)
class Samples(Brief):
    """Posterior summaries and draws of a `sample` point; lists run over the layers 1..L."""

    readout_mean: np.ndarray
    readout_mcse: np.ndarray
    mean: tuple[np.ndarray, ...]
    mcse: tuple[np.ndarray, ...]
    sd: tuple[np.ndarray, ...]
    rhat: tuple[np.ndarray, ...] = ()
    ess_bulk: tuple[np.ndarray, ...] = ()
    ess_tail: tuple[np.ndarray, ...] = ()
    readout_sd: np.ndarray | None = None
    readout_rhat: np.ndarray | None = None
    readout_ess_bulk: np.ndarray | None = None
    readout_ess_tail: np.ndarray | None = None
    predictor_mcse: np.ndarray | None = None
    readout_draws: np.ndarray | None = None
    log_density: np.ndarray | None = None  # of each draw, [chain, draw]
    draws: Mapping[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, repr=False)
class Point(Measures):
    """One sweep point. Numbers that the file does not hold are NaN, arrays None.

    `attributes` has everything the file says, under the file's own names.
    """

    widths: tuple[int, ...]
    temperature: float
    attributes: Mapping[str, Any]
    readout_order_parameter: np.ndarray | None
    order_parameters: tuple[np.ndarray, ...]
    predictor: Predictor
    gaussian_process: Predictor
    history: np.ndarray | None = None
    history_columns: tuple[str, ...] = ()
    corrected: Corrected | None = None
    alignment: Alignment | None = None
    pruning: Pruning | None = None
    samples: Samples | None = None
    network: Mapping[str, NetworkScore] = field(default_factory=dict)  # theory's scores on it
    theory: Point | None = None  # of a sampled point: the saddle point there
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)

    def __repr__(self) -> str:
        scores = [f"{name} {getattr(self, field):.4g}" for name, field in (
            ("accuracy", "accuracy"), ("test squared error", "test_mean_squared_error"))
            if math.isfinite(getattr(self, field))]
        state = [] if self.converged else ["not converged"]
        return (f"<Point N = {_span(self.widths)}, T = {self.temperature:g}, "
                f"{', '.join([self.method or 'no method', *scores, *state])}>")

    @property
    def action(self) -> float:
        """S / max(N_1..N_L, N_a)."""
        old = self.attributes.get("action_over_max_width", math.nan)
        return float(self.attributes.get("action", old))

    @property
    def converged(self) -> bool:
        return bool(self.attributes.get("converged", True))

    @property
    def method(self) -> str:
        for name in ("method", "sampler"):
            if name in self.attributes:
                return hdf5.text(self.attributes[name])
        return ""

    @property
    def readout_scalar(self) -> float:
        """U_a, or tr U_a / C for several outputs (posterior mean for samples)."""
        value = self.readout_order_parameter
        if value is None and self.samples is not None:
            value = self.samples.readout_mean
        if value is None:
            return math.nan
        value = np.asarray(value)
        return float(np.trace(value) / len(value)) if value.ndim == 2 else float(value)


@dataclass(frozen=True, repr=False)
class GaussianProcessPoint(Brief, Measures):
    """The limit of infinite width at one temperature."""

    temperature: float
    attributes: Mapping[str, Any]
    predictor: Predictor
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)


@dataclass(frozen=True)
class TemperatureChoice:
    """The temperature that one rule takes for one network: `by` "validation", "evidence" or "test".

    `chosen` is the sweep point it took; `widths` is () for the Gaussian process.
    """

    model: str  # "theory" | "gaussian_process"
    widths: tuple[int, ...]
    by: str
    chosen: Point | GaussianProcessPoint

    @property
    def temperature(self) -> float:
        return self.chosen.temperature


@may_come_later
@dataclass(frozen=True, repr=False)
class Result(Shown):
    """A result file. `heads` = H_1..H_L; `paths` = names of the p head paths, h_1 slowest."""

    file: Path
    kind: str
    study: str
    heads: tuple[int, ...]
    paths: tuple[str, ...]
    head_names: tuple[tuple[str, ...], ...]
    variances: tuple[float, ...]
    outputs: int
    points: tuple[Point, ...]
    gaussian_process: tuple[GaussianProcessPoint, ...]
    provenance: Mapping[str, Any]
    partial: bool
    train_labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None
    path_kernels: np.ndarray | None = None
    network: NetworkPruning | None = None
    set_names: tuple[str, ...] = ()  # of the data set's further sets
    choices: tuple[TemperatureChoice, ...] = ()  # empty unless several temperatures were swept

    def to_inference_data(self, point: int = 0) -> Any:
        """Draws of a sweep point for ArviZ; see headway.xarray_export.to_inference_data."""
        from headway.xarray_export import to_inference_data
        return to_inference_data(self, point)

    def head_table(self, point: int = 0) -> HeadTable:
        """What `headway prune` says of every head at one sweep point."""
        found = self.points[point].pruning
        if found is None:
            raise UsageError(f"{self.file}: point {point} has no heads: must be a result of headway "
                             "prune")
        columns = {name: values for name, values in found.values.items()
                   if isinstance(values, np.ndarray) and values.shape == found.score.shape
                   and values.dtype.kind == "f" and "/" not in name}
        names = [name for layer in self.head_names for name in layer]
        return head_table(found.layer, found.head, columns, names,
                          widths=self.points[point].widths,
                          temperature=self.points[point].temperature)

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        count, paths = len(self.points), len(self.paths)
        sizes = [_span([max(point.widths) for point in self.points], " to "),
                 _span([point.temperature for point in self.points], " to ")]
        points = f"{count} point{'' if count == 1 else 's'}"
        if count:
            points += f" (N {sizes[0]}, T {sizes[1]})"
        examples = "" if self.train_labels is None else f", {len(self.train_labels)} train"
        examples += "" if self.test_labels is None else f" and {len(self.test_labels)} test"
        return (f"{self.study}, {points}, heads {list(self.heads)}, {paths} "
                f"path{'' if paths == 1 else 's'}{examples and examples + ' examples'}"
                f"{', partial' if self.partial else ''}")

    @property
    def path_heads(self) -> tuple[tuple[int, ...], ...]:
        """Heads (h_1, ..., h_L), counted from 1, of every path."""
        return tuple(product(*(range(1, count + 1) for count in self.heads)))

    @property
    def temperatures(self) -> tuple[float, ...]:
        return tuple(sorted({point.temperature for point in self.points}))

    @property
    def theory(self) -> Result | None:
        """The theory that a `sample` result holds beside its points, as a result of its own."""
        points = tuple(point.theory for point in self.points if point.theory is not None)
        return replace(self, kind="solve", points=points) if points else None

    def gaussian_process_at(self, temperature: float) -> GaussianProcessPoint | None:
        """The Gaussian process at this temperature, or None."""
        for point in self.gaussian_process:
            if point.temperature == temperature:
                return point
        return None


def _span(values: Sequence[float], to: str = "") -> str:
    """"10" of equal values; else "10 to 1000" with `to`, and all of them without."""
    if len(set(values)) <= 1:
        return "".join(f"{value:g}" for value in values[:1])
    return (f"{min(values):g}{to}{max(values):g}" if to else
            "[" + ", ".join(f"{value:g}" for value in values) + "]")
