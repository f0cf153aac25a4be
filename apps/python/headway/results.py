"""What a result file holds, as plain objects of numpy arrays; `read_result` fills them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from headway import hdf5
from headway.network_results import NetworkPruning, NetworkScore

def number(attributes: Mapping[str, Any], name: str) -> float:
    return float(attributes.get(name, math.nan))


@dataclass(frozen=True)
class SetMeasures:
    """What a predictor scores on a further set of the data set, such as "validation"."""

    accuracy: float
    mean_squared_error: float


class Measures:
    """What a predictor scores on the test set, read from `attributes`; NaN where the file has none.

    `sets` has the same for each further set of the data set, by name.
    """

    attributes: Mapping[str, Any]
    sets: Mapping[str, SetMeasures]

    @property
    def accuracy(self) -> float:
        return number(self.attributes, "accuracy")

    @property
    def test_mean_squared_error(self) -> float:
        return number(self.attributes, "test_mean_squared_error")


@dataclass(frozen=True)
class Predictor:
    """Test mean and variance of a predictor, [P_test] or [P_test, C]; None without a test set."""

    mean: np.ndarray | None = None
    variance: np.ndarray | None = None


@dataclass(frozen=True)
class Corrected(Measures):
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


@dataclass(frozen=True)
class Alignment:
    """Overlaps |v_k . y| / |y| by falling eigenvalue, and the running sums of their squares."""

    overlaps: np.ndarray
    gaussian_process_overlaps: np.ndarray
    cumulative: np.ndarray
    gaussian_process_cumulative: np.ndarray
    eigenvalues: np.ndarray
    gaussian_process_eigenvalues: np.ndarray


@dataclass(frozen=True)
class Pruning:
    """Head scores, accuracy without each head, and cumulative pruning (None where not computed)."""

    accuracy: float
    layer: np.ndarray
    head: np.ndarray
    name: list[str]
    score: np.ndarray
    score_weighted: np.ndarray
    accuracy_without: np.ndarray
    mean_squared_error_without: np.ndarray
    by_score: np.ndarray | None = None
    greedy: np.ndarray | None = None
    greedy_on: str = "test"  # the set that its order was searched on
    random: np.ndarray | None = None
    random_mean: np.ndarray | None = None
    random_sd: np.ndarray | None = None
    orders: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Samples:
    """Posterior summaries and draws of a `sample` point; lists run over the layers 1..L."""

    readout_mean: np.ndarray
    readout_mcse: np.ndarray
    mean: tuple[np.ndarray, ...]
    mcse: tuple[np.ndarray, ...]
    sd: tuple[np.ndarray, ...]
    readout_sd: np.ndarray | None = None
    predictor_mcse: np.ndarray | None = None
    readout_draws: np.ndarray | None = None
    draws: Mapping[int, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
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

    @property
    def gp_accuracy(self) -> float:
        return number(self.attributes, "gp_accuracy")

    @property
    def train_accuracy(self) -> float:
        return number(self.attributes, "train_accuracy")

    @property
    def action(self) -> float:
        """S / max(N_1..N_L, N_a)."""
        value = number(self.attributes, "action_over_max_width")
        return value if not math.isnan(value) else number(self.attributes, "action")

    @property
    def log_evidence(self) -> float:
        """log p(y) in nats: by the saddle point, or exact with an error for samples."""
        return number(self.attributes, "log_evidence")

    @property
    def gradient_norm(self) -> float:
        return number(self.attributes, "gradient_norm")

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


@dataclass(frozen=True)
class GaussianProcessPoint(Measures):
    """The limit of infinite width at one temperature."""

    temperature: float
    attributes: Mapping[str, Any]
    predictor: Predictor
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)

    @property
    def log_evidence(self) -> float:
        return number(self.attributes, "log_evidence")


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


@dataclass(frozen=True)
class Result:
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
