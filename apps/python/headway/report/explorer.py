"""What the sliders of a page move: the numbers of every point of a result, small enough to embed."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headway.figures.heads import losses
from headway.results import GaussianProcessPoint, Point, Predictor, Result

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


def explored(result: Result, name: str) -> dict[str, Any]:
    """A result as the page's script takes it (report.js); `name` is what it is called there."""
    scale = _Predictions(result)
    return {
        "name": name, "kind": result.kind, "outputs": result.outputs, "paths": list(result.paths),
        "layers": len(result.heads),
        "heads": [f"layer {layer}, {head}" for layer, names in enumerate(result.head_names, 1)
                  for head in names],
        "unit": float(np.prod(result.variances[1:])) if result.variances else 1.0,
        "prediction_axis": scale.axis, "bins": scale.bins, "kernel": _path_kernels(result),
        "points": [_point(result, point, scale) for point in result.points]}


def _point(result: Result, point: Point, scale: _Predictions) -> dict[str, Any]:
    theory = point.theory if point.theory is not None else point
    sources = {}
    if theory.order_parameters:
        sources["saddle_point"] = _source(result, theory.order_parameters, theory, scale)
        if theory.pruning is not None:
            sources["saddle_point"]["losses"] = _losses(theory)
    corrected = theory.corrected
    if corrected is not None and corrected.defined and corrected.order_parameters:
        sources["corrected"] = _source(result, corrected.order_parameters, corrected, scale)
    if point.samples is not None and point.samples.mean:
        sources["samples"] = _source(result, point.samples.mean, point, scale)
        sources["samples"]["traces"] = _traces(result, point)
        sources["samples"]["warnings"] = str(point.attributes.get("warnings", ""))
    limit = result.gaussian_process_at(point.temperature)
    if limit is not None and result.variances:
        sources["gaussian_process"] = _source(result, _limit_matrices(result), limit, scale)
    for name, source in sources.items():
        measured = {"saddle_point": theory, "corrected": corrected, "samples": point,
                    "gaussian_process": limit}[name]
        source["measures"] = _measures(result, measured)
    return {"widths": list(point.widths), "temperature": point.temperature,
            "converged": point.converged, "sources": sources, "alignment": _alignment(theory)}


def _source(result: Result, matrices: Sequence[np.ndarray],
            measured: Point | GaussianProcessPoint, scale: _Predictions) -> dict[str, Any]:
    return {"U": [_matrix(matrix) for matrix in matrices],
            "scores": _rounded(head_scores(matrices[0], result)),
            "prediction": scale.of(measured.predictor)}


def head_scores(u: np.ndarray, result: Result) -> np.ndarray:
    """Scores of all heads, layer 1 first: the sum of |U_1[pi, pi']| over the entries with the head on pi
    or on pi', over the largest of them (src/theory/README.md, eq. 53)."""
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
    found = {name: _plain(getattr(measured, name, math.nan)) for name in MEASURES if name != "U_a"}
    value = (measured.readout_scalar if isinstance(measured, Point) else
             getattr(measured, "readout_order_parameter", None))
    if isinstance(measured, GaussianProcessPoint):
        value = result.variances[-1]
    elif value is not None and np.ndim(value) == 2:
        value = np.trace(value) / len(value)
    found["U_a"] = _plain(math.nan if value is None else float(value))
    return {name: found[name] for name in MEASURES}


def _plain(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _rounded(values: np.ndarray, digits: int = 4) -> list:
    """Nested lists of numbers of so many digits; what is not finite as None."""
    if np.ndim(values) > 0:
        return [_rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}") if math.isfinite(values) else None


def packed(values: np.ndarray) -> dict[str, Any]:
    """An array as 16-bit integers in base64, the largest magnitude 32767: {"shape", "scale", "data"}."""
    largest = float(np.nanmax(np.abs(values))) if values.size else 0.0
    scale = largest / 32767.0 if largest > 0.0 else 1.0
    integers = np.nan_to_num(np.rint(values / scale)).astype("<i2")
    return {"shape": list(values.shape), "scale": scale,
            "data": base64.b64encode(integers.tobytes()).decode("ascii")}


def _matrix(matrix: np.ndarray) -> Any:
    if len(matrix) > LARGEST:
        return None
    return _rounded(matrix) if len(matrix) <= PLAIN_UP_TO else packed(matrix)


def _losses(point: Point) -> dict[str, Any]:
    found = losses(point)
    return {"axis": found.axis, "values": _rounded(found.values)}


def _alignment(point: Point) -> dict[str, Any] | None:
    if point.alignment is None:
        return None
    return {"theory": _rounded(point.alignment.cumulative[:COMPONENTS]),
            "gaussian_process": _rounded(point.alignment.gaussian_process_cumulative[:COMPONENTS])}


def _traces(result: Result, point: Point) -> list[dict[str, Any]]:
    """The quantities of the figure of traces, every k-th draw of each chain."""
    if point.samples.readout_draws is None:
        return []
    from headway.figures.samples import quantities
    from headway.report.drawings import plain_words
    rows = []
    for name, draws in quantities(result, point):
        step = max(1, math.ceil(draws.shape[1] / TRACE_DRAWS))
        rows.append({"name": plain_words(name), "step": step, "draws": _rounded(draws[:, ::step])})
    return rows


class _Predictions:
    """Predictions on the test set, on one scale for all points: histograms by class for two classes,
    of the margin for several; mean against label for real labels."""

    def __init__(self, result: Result):
        self.labels, self.outputs = result.test_labels, result.outputs
        self.bins: list[float] | None = None
        self.axis = "predictor's mean"
        if self.labels is None:
            return
        if self.outputs > 1:
            self.axis = "margin: mean of the right class less the largest other"
        classes = self.outputs > 1 or set(np.unique(self.labels)) <= {-1.0, 1.0}
        if classes:
            values = [self._values(record.predictor.mean) for record in (
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
        return {"label": _rounded(self.labels[chosen]), "mean": _rounded(predictor.mean[chosen]),
                "sd": _rounded(sd)}


def _path_kernels(result: Result) -> dict[str, Any] | None:
    """The same-path kernels, examples sorted by label and averaged over blocks of neighbours."""
    if result.path_kernels is None or result.train_labels is None:
        return None
    from headway.figures.path_kernels import sorted_examples
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
