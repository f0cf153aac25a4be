"""One point of a sweep, and what a result file holds of it; headway.results has the whole result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headway.base import hdf5
from headway.errors import BadDataError
from headway.results.display import Brief
from headway.results.heads_and_kernels import Alignment, Pruning
from headway.results.network_results import NetworkScore
from headway.results.reading import Sizes
from headway.results.records import Integers, Numbers, record


def number(attributes: Mapping[str, Any], name: str) -> float:
    return float(attributes.get(name, math.nan))


@record("point", "sets/<name>")
@dataclass(frozen=True)
class SetMeasures:
    """What a predictor scores on a further set of the data, such as "validation"."""

    accuracy: float = math.nan
    mean_squared_error: float = math.nan


class Measures(Numbers):
    """Numbers of a result file under their own names, and what a predictor scores on further sets.

    `accuracy`, `log_evidence` and the like are attributes; they are NaN where the file has none.
    """

    sets: Mapping[str, SetMeasures]


@record("point", "predictor")
@dataclass(frozen=True, repr=False, eq=False)
class Predictor(Brief):
    """The predictor on the test set, without the noise (eqs. 16 and 17); arrays are None without a test set."""

    mean: np.ndarray | None = None
    variance: np.ndarray | None = None


@record("point", "corrected", readout_order_parameter="U_a", readout_deviation="U_a_sd",
        order_parameters="order_parameters/layer_<l>", order_parameter_deviations="order_parameters_sd/layer_<l>")
@dataclass(frozen=True, repr=False, eq=False)
class Corrected(Brief, Measures):
    """Posterior means to order 1/N (eqs. 40 to 42).

    Attributes
    ----------
    attributes : mapping of str to value
        All numbers of the file by their names, such as accuracy.
    predictor : Predictor
        The corrected predictor on the test set.
    sets : mapping of str to SetMeasures
        What it scores on further sets.
    """

    defined: bool = False
    reason: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    readout_order_parameter: np.ndarray | None = None
    readout_deviation: np.ndarray | None = None
    order_parameters: tuple[np.ndarray, ...] = ()
    order_parameter_deviations: tuple[np.ndarray, ...] = ()
    predictor: Predictor = field(default_factory=Predictor)
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)


@record("sample", **{f"{before}{part}": f"{place}_{part}" for part in ("mean", "mcse", "sd", "rhat", "ess_bulk", "ess_tail")
                     for before, place in (("readout_", "U_a"), ("", "order_parameters/layer_<l>"))},
        predictor_mcse="predictor/mcse", readout_draws="draws/U_a", log_density="energies.T", draws="draws/layer_<l>",
        **{name: f"draws/{name}" for name in (
            "attention_entropy", "attention_largest", "log_likelihood", "attention_weights")})
@dataclass(frozen=True, repr=False, eq=False)
class Samples(Brief):
    """Posterior draws of one point and their summaries.

    What begins with `readout` is of U_a. The rest is of U_1, ..., U_L: tuples run over the layers 1 to L.

    Attributes
    ----------
    log_density : ndarray of shape (chain, draw), or None
        Log density of each draw.
    draws : mapping of int to ndarray of shape (chain, draw, C p_l, C p_l)
        Draws of U_l by layer l.
    attention_entropy, attention_largest, log_likelihood : ndarray of shape (chain, draw), or None
        Of learned attention: entropy of a head's attention, its largest weight, and -energy / 2.
    attention_weights, attention_weight_names : ndarray of shape (chain, draw, weight), or None; tuple of str
        Of learned attention: draws of W, or Q and K, with keep_weights=True. "W_1^2[3,4]": layer, head, row, column.
    calibration_statistics, calibration_ranks, calibration_p_values : tuple of str; ndarrays, or None
        With calibrate=1000: names, ranks of shape (network, statistic), and p-values of uniform ranks.
    """

    _needs = "U_a_mean"  # in a point with samples

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
    log_density: np.ndarray | None = None
    draws: Mapping[int, np.ndarray] = field(default_factory=dict)
    attention_entropy: np.ndarray | None = None
    attention_largest: np.ndarray | None = None
    log_likelihood: np.ndarray | None = None
    attention_weights: np.ndarray | None = None
    attention_weight_names: tuple[str, ...] = ()
    S_mean: np.ndarray | None = None
    S_mcse: np.ndarray | None = None
    S_mean_eigenvalues: np.ndarray | None = None
    calibration_statistics: tuple[str, ...] = ()
    calibration_ranks: Integers | None = None
    calibration_p_values: np.ndarray | None = None


@record("minimum", readout_order_parameter="U_a", order_parameters="order_parameters/layer_<l>")
@dataclass(frozen=True, repr=False, eq=False)
class AttentionMinimum(Brief):
    """A joint minimum over order parameters and learned attention.

    Attributes
    ----------
    action : float
        S / max N, with |w|^2 / s_w^2.
    attention_entropy, attention_largest : float
        Of the attention of the last layer, means over the training examples; see the point's fields.
    starts : int
        Starts of the search that led here.
    converged : bool
        Whether the search over attention converged.
    readout_order_parameter : ndarray or None
        U_a.
    order_parameters : tuple of ndarray
        U_1, ..., U_L.
    attention_weights : ndarray of shape (heads, N_0, N_0), or None
        W of each learned head, layer 1 first; Q^T K / sqrt(G) for queries and keys.
    """

    action: float
    attention_entropy: float
    attention_largest: float
    starts: int
    converged: bool
    readout_order_parameter: np.ndarray | None
    order_parameters: tuple[np.ndarray, ...]
    attention_weights: np.ndarray | None = None


@record("point", lists=True, readout_order_parameter="U_a", order_parameters="order_parameters/layer_<l>",
        history_columns="history@columns", network="network/scores", samples=".")
@dataclass(frozen=True, repr=False, eq=False)
class Point(Measures):
    """One point of a sweep: one choice of widths and temperature.

    Arrays that the file does not hold are None, numbers NaN. Shapes name dimensions as `to_datatree` does. Arrays of one
    output lack the dimensions `output` and `output_other`; of several, `path` has C p_l entries.

    Attributes
    ----------
    attributes : mapping of str to value
        All numbers and words of the file by their names.
    predictor : Predictor
        The predictor on the test set.
    gaussian_process : Predictor
        The predictor of infinite width, where the file has it with the point.
    history_columns : tuple of str
        Names of the columns of `history`.
    corrected : Corrected or None
        Posterior means to order 1/N.
    alignment : Alignment or None
        Of a result of `headway.align`.
    pruning : Pruning or None
        Of a result of `headway.prune`.
    samples : Samples or None
        Of a result of `headway.sample`.
    network : mapping of str to NetworkScore
        Of a data set with a trained network: how well each score of the theory ranks its heads.
    theory : Point or None
        Of a sampled point: the saddle point there.
    sets : mapping of str to SetMeasures
        What the predictor scores on further sets.
    minima : tuple of AttentionMinimum
        Where attention is learned: minima that differ, lowest action first. The point is the first.
    """

    widths: tuple[int, ...]
    temperature: float
    attributes: Mapping[str, Any]
    readout_order_parameter: np.ndarray | None
    order_parameters: tuple[np.ndarray, ...]
    predictor: Predictor = field(default_factory=Predictor)
    gaussian_process: Predictor = field(default_factory=Predictor)
    history: np.ndarray | None = None
    history_columns: tuple[str, ...] = ()
    corrected: Corrected | None = None
    alignment: Alignment | None = None
    pruning: Pruning | None = None
    samples: Samples | None = None
    network: Mapping[str, NetworkScore] = field(default_factory=dict)
    theory: Point | None = None
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)
    minima: tuple[AttentionMinimum, ...] = ()

    def _check(self, where: str, sizes: Sizes) -> None:
        if len(self.widths) != len(sizes.paths) + 1:
            raise BadDataError(f"{where}: attribute widths has {len(self.widths)} entries, not L + 1 = {len(sizes.paths) + 1}")

    def __repr__(self) -> str:
        scores = [f"{name} {getattr(self, field):.4g}" for name, field in (
            ("accuracy", "accuracy"), ("test squared error", "test_mean_squared_error"))
            if math.isfinite(getattr(self, field))]
        state = [] if self.converged else ["not converged"]
        return (f"<Point N = {span(self.widths)}, T = {self.temperature:g}, "
                f"{', '.join([self.method or 'no method', *scores, *state])}>")

    @property
    def action(self) -> float:
        """float: S / max(N_1, ..., N_L, N_a) at the saddle point (eq. 18)."""
        old = self.attributes.get("action_over_max_width", math.nan)
        return float(self.attributes.get("action", old))

    @property
    def converged(self) -> bool:
        """bool: whether the solver's stopping test was met."""
        return bool(self.attributes.get("converged", True))

    @property
    def method(self) -> str:
        """str: "saddle_point", or the name of the sampler."""
        for name in ("method", "sampler"):
            if name in self.attributes:
                return hdf5.text(self.attributes[name])
        return ""

    @property
    def readout_scalar(self) -> float:
        """float: U_a; of several outputs tr U_a / C; of samples the posterior mean."""
        value = self.readout_order_parameter
        if value is None and self.samples is not None:
            value = self.samples.readout_mean
        if value is None:
            return math.nan
        value = np.asarray(value)
        return float(np.trace(value) / len(value)) if value.ndim == 2 else float(value)


@record("limit", lists=True, predictor=".")
@dataclass(frozen=True, repr=False, eq=False)
class GaussianProcessPoint(Brief, Measures):
    """The limit of infinite width at one temperature.

    Attributes
    ----------
    attributes : mapping of str to value
        All numbers of the file by their names.
    predictor : Predictor
        The predictor on the test set.
    sets : mapping of str to SetMeasures
        What the predictor scores on further sets.
    """

    temperature: float
    attributes: Mapping[str, Any]
    predictor: Predictor
    sets: Mapping[str, SetMeasures] = field(default_factory=dict)


@record("choice")
@dataclass(frozen=True, eq=False)
class TemperatureChoice:
    """The temperature that one rule takes for one network.

    Attributes
    ----------
    chosen : Point or GaussianProcessPoint
        The sweep point that it took.
    """

    model: str
    widths: tuple[int, ...]
    by: str
    chosen: Point | GaussianProcessPoint

    @property
    def temperature(self) -> float:
        """float: the temperature."""
        return self.chosen.temperature


def width_text(widths: Sequence[int]) -> str:
    """"10" where all layers have one width, else "10,20,30"."""
    return str(widths[0]) if len(set(widths)) == 1 else ",".join(map(str, widths))


def span(values: Sequence[float], to: str = "") -> str:
    """"10" of equal values; else "10 to 1000" with `to`, and all of them without."""
    if len(set(values)) <= 1:
        return "".join(f"{value:g}" for value in values[:1])
    return (f"{min(values):g}{to}{max(values):g}" if to else
            "[" + ", ".join(f"{value:g}" for value in values) + "]")
