"""What the sliders of a page move: the numbers of every point of a card, small enough to embed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.figures.accuracy import measure_error
from headway.figures.heads import losses
from headway.figures.path_kernels import sorted_examples
from headway.figures.path_sizes import size_warning
from headway.figures.samples import quantities
from headway.figures.worth import without_theory
from headway.report.beside import beside
from headway.report.cards import Card, Place
from headway.report.drawings import plain_words
from headway.report.numbers import packed, plain, rounded
from headway.results.monte_carlo import BY_DRAWS, by_chains
from headway.results.result import Corrected, GaussianProcessPoint, Point, Predictor, Result

PLAIN_UP_TO = 24  # rows of a matrix that is written as numbers; larger ones as 16-bit integers
LARGEST = 400  # rows of a matrix that is shown at all
BINS = 30  # of the histograms of predictions
DOTS = 150  # examples of real labels that are shown
KERNEL_CELLS = 48  # cells to a side of a kernel
TRACE_DRAWS = 250  # of a chain that are shown
COMPONENTS = 40
MEASURES = {  # of a point, in the order in which the page offers them
    "accuracy": "test accuracy", "test_mean_squared_error": "test squared error",
    "train_accuracy": "training accuracy", "right_sign_probability": "right-sign probability",
    "U_a": "U_a", "action": "action S / max N", "log_evidence": "log p(y)",
    "gradient_norm": "gradient", "smallest_hessian_eigenvalue": "smallest Hessian eigenvalue",
    "rhat_max": "largest R-hat", "ess_bulk_min": "smallest bulk ESS",
    "ess_tail_min": "smallest tail ESS", "divergences": "divergences"}
SOURCES = {"saddle_point": "theory: saddle point", "corrected": "theory with 1/N correction",
           "samples": "posterior samples", "gaussian_process": "Gaussian process"}


def explored(card: Card) -> dict[str, Any]:
    """A card as the page's script takes it (report.js)."""
    result, scale = card.first, _Predictions(card)
    kernels = next((one for one in card.results if one.path_kernels is not None), result)
    return {
        "name": card.name, "outputs": result.outputs, "paths": list(result.paths),
        "path_names": list(result.path_names),
        "layers": len(result.heads),
        "heads": [f"layer {layer}, {head}" for layer, names in enumerate(result.head_names, 1)
                  for head in names],
        "unit": float(np.prod(result.variances[1:])) if result.variances else 1.0,
        "prediction_axis": scale.axis, "bins": scale.bins, "kernel": _path_kernels(kernels),
        "size_warning": size_warning(kernels),
        "points": [_point(card, place, scale) for place in card.places]}


def source_names(cards: Sequence[Card]) -> dict[str, str]:
    """{source of numbers: what the page calls it}, for every source that some point has. "beside" comes first where there are
    samples: it shows them beside the theory."""
    most = max((len(place.samples) for card in cards for place in card.places), default=0)
    names = {"beside": "theory beside samples"} if most else {}
    if any(place.theory is not None for card in cards for place in card.places):
        names["saddle_point"] = SOURCES["saddle_point"]
    if any(_corrected(place) is not None for card in cards for place in card.places):
        names["corrected"] = SOURCES["corrected"]
    for number in range(most):
        names[_sampled(number)] = SOURCES["samples"] + ("" if most == 1 else f" {number + 1}")
    if any(_limit(card, place) is not None for card in cards for place in card.places):
        names["gaussian_process"] = SOURCES["gaussian_process"]
    return names


def _sampled(number: int) -> str:
    """The source of the samples of that number at a point: "samples", "samples_2"."""
    return "samples" if number == 0 else f"samples_{number + 1}"


def _corrected(place: Place) -> Corrected | None:
    corrected = place.theory.corrected if place.theory is not None else None
    return corrected if corrected is not None and corrected.defined and corrected.order_parameters else None


def _limit(card: Card, place: Place) -> GaussianProcessPoint | None:
    if not card.first.variances:
        return None
    limits = (result.gaussian_process_at(place.temperature) for result in card.results)
    return next((limit for limit in limits if limit is not None), None)


def _point(card: Card, place: Place, scale: _Predictions) -> dict[str, Any]:
    result, sources = card.first, {}
    if place.theory is not None:
        sources["saddle_point"] = _source(result, place.theory.order_parameters, place.theory, scale)
        if place.pruned is not None:
            sources["saddle_point"]["losses"] = _losses(place.pruned)
            sources["saddle_point"]["rises"] = _rises(place.pruned)
    corrected = _corrected(place)
    if corrected is not None:
        sources["corrected"] = _source(result, corrected.order_parameters, corrected, scale)
    for number, point in enumerate(place.samples):
        source = _source(result, point.samples.mean, point, scale)
        sources[_sampled(number)] = source | {"traces": _traces(result, point), "errors": _errors(result, point),
                                              "warnings": str(point.attributes.get("warnings", ""))}
    limit = _limit(card, place)
    if limit is not None:
        sources["gaussian_process"] = _source(result, _limit_matrices(result), limit, scale)
    return {"widths": list(place.widths), "temperature": place.temperature, "converged": place.converged,
            "sources": sources, "beside": beside(result, place),
            "alignment": None if place.aligned is None else _alignment(place.aligned)}


def _source(result: Result, matrices: Sequence[np.ndarray],
            measured: Point | Corrected | GaussianProcessPoint, scale: _Predictions) -> dict[str, Any]:
    return {"U": [_matrix(matrix) for matrix in matrices],
            "scores": rounded(head_scores(matrices[0], result)), "measures": _measures(result, measured),
            "prediction": scale.of(measured.predictor)}


def _errors(result: Result, point: Point) -> dict[str, dict[str, float | None]]:
    """Monte Carlo standard errors of the measures that have some, and how many of them hold 95 %."""
    readout = point.samples.readout_mcse
    found = {"accuracy": (measure_error(point), by_chains(point)),
             "log_evidence": (point.attributes.get("log_evidence_error"), BY_DRAWS),
             "U_a": (readout if result.outputs == 1 else None, BY_DRAWS)}
    return {name: {"error": plain(error), "limit": plain(limit)} for name, (error, limit) in found.items()
            if plain(error) is not None}


def head_scores(u: np.ndarray, result: Result) -> np.ndarray:
    """Scores of all heads, layer 1 first: the sum of |U_1[pi, pi']| over the entries with the head on pi
    or on pi', over the largest of them (src/theory/heads.md, eq. 53)."""
    heads = np.repeat(np.array(result.path_heads), result.outputs, axis=0)
    sizes, scores = np.abs(u), []
    for layer, count in enumerate(result.heads):
        for head in range(1, count + 1):
            on = heads[:, layer] == head
            scores.append(sizes[on[:, None] | on[None, :]].sum())
    return np.array(scores) / max(scores) if max(scores) > 0 else np.full(len(scores), math.nan)


def _limit_matrices(result: Result) -> list[np.ndarray]:
    """U_l = s_a^2 s_L^2 ... s_l^2 I."""
    layers = range(len(result.heads))
    return [float(np.prod(result.variances[layer + 1:])) *
            np.eye(result.outputs * math.prod(result.heads[layer:])) for layer in layers]


def _measures(result: Result, measured) -> dict[str, float | None]:
    found = {name: plain(getattr(measured, name, math.nan)) for name in MEASURES if name != "U_a"}
    value = (measured.readout_scalar if isinstance(measured, Point) else
             getattr(measured, "readout_order_parameter", None))
    if isinstance(measured, GaussianProcessPoint):
        value = result.variances[-1]
    elif value is not None and np.ndim(value) == 2:
        value = np.trace(value) / len(value)
    found["U_a"] = plain(math.nan if value is None else float(value))
    return {name: found[name] for name in MEASURES}


def _matrix(matrix: np.ndarray) -> Any:
    if len(matrix) > LARGEST:
        return None
    return rounded(matrix) if len(matrix) <= PLAIN_UP_TO else packed(matrix)


def _losses(point: Point) -> dict[str, Any]:
    found = losses(point)
    return {"axis": found.axis.replace("\n", " "), "values": rounded(found.values)}


def _rises(point: Point) -> dict[str, Any] | None:
    """What the predictor loses without each head, by the theory's U_1, and with 1 as every entry, which has no theory in it."""
    control = without_theory(point)
    if control is None or not np.isfinite(point.pruning.squared_error_rise).any():
        return None
    return {"theory": rounded(point.pruning.squared_error_rise), "control": rounded(control), "set": point.pruning.set[0]}


def _alignment(point: Point) -> dict[str, Any]:
    return {"theory": rounded(point.alignment.cumulative[:COMPONENTS]),
            "gaussian_process": rounded(point.alignment.gaussian_process_cumulative[:COMPONENTS])}


def _traces(result: Result, point: Point) -> list[dict[str, Any]]:
    """The quantities of the figure of traces, every k-th draw of each chain."""
    if point.samples.readout_draws is None:
        return []
    rows = []
    for name, draws in quantities(result, point):
        step = max(1, math.ceil(draws.shape[1] / TRACE_DRAWS))
        rows.append({"name": plain_words(name), "step": step, "draws": rounded(draws[:, ::step])})
    return rows


class _Predictions:
    """Predictions on the test set, on one scale for all points: histograms by class for two classes,
    of the margin for several; mean against label for real labels."""

    def __init__(self, card: Card):
        self.labels, self.outputs = card.first.test_labels, card.first.outputs
        self.bins: list[float] | None = None
        self.axis = "predictor's mean"
        if self.labels is None:
            return
        if self.outputs > 1:
            self.axis = "margin: mean of the right class less the largest other"
        classes = self.outputs > 1 or set(np.unique(self.labels)) <= {-1.0, 1.0}
        if classes:
            values = [self._values(record.predictor.mean) for result in card.results for record in (
                *result.points, *result.gaussian_process) if record.predictor.mean is not None]
            largest = max((float(np.quantile(np.abs(value), 0.998)) for value in values), default=1.0)
            largest = largest if largest > 0.0 else 1.0
            self.bins = [float(f"{edge:.4g}") for edge in np.linspace(-largest, largest, BINS + 1)]

    def _values(self, mean: np.ndarray) -> np.ndarray:
        if self.outputs == 1:
            return mean
        right = self.labels.argmax(axis=1)
        rows = np.arange(len(mean))
        others = mean.copy()
        others[rows, right] = -math.inf
        return mean[rows, right] - others.max(axis=1)

    def of(self, predictor: Predictor) -> dict[str, Any] | None:
        if predictor.mean is None or self.labels is None:
            return None
        if self.bins is None:
            return self._dots(predictor)
        edges = np.array(self.bins)
        values = np.clip(self._values(predictor.mean), edges[0], edges[-1])
        groups = ([("label +1", self.labels > 0), ("label −1", self.labels < 0)]
                  if self.outputs == 1 else [("test examples", np.ones(len(values), dtype=bool))])
        return {"counts": [{"name": name, "values": np.histogram(values[chosen], edges)[0].tolist()}
                           for name, chosen in groups]}

    def _dots(self, predictor: Predictor) -> dict[str, Any]:
        chosen = np.unique(np.linspace(0, len(self.labels) - 1, DOTS).astype(int))
        variance = predictor.variance
        sd = np.full(len(chosen), math.nan) if variance is None else np.sqrt(variance[chosen])
        return {"label": rounded(self.labels[chosen]), "mean": rounded(predictor.mean[chosen]),
                "sd": rounded(sd)}


def _path_kernels(result: Result) -> dict[str, Any] | None:
    """The same-path kernels, examples sorted by label and averaged over blocks of neighbours."""
    if result.path_kernels is None or result.train_labels is None:
        return None
    order, borders, names = sorted_examples(result.train_labels)
    count = len(order)
    cells = min(KERNEL_CELLS, count)
    cell_of = (np.arange(count) * cells) // count
    averages = np.zeros((cells, count))
    averages[cell_of, np.arange(count)] = 1.0
    averages /= averages.sum(axis=1, keepdims=True)
    kernels = result.path_kernels[:, order][:, :, order]
    blocks = averages @ kernels @ averages.T
    return {"kernels": packed(blocks), "names": names,
            "borders": [float(border) / count for border in borders]}
