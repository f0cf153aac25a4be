"""Theory beside samples at one point: the numbers of both, and how many standard errors they lie apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from headway.figures.accuracy import measure_error
from headway.report.cards import Place
from headway.report.numbers import plain, rounded
from headway.results.monte_carlo import BY_DRAWS, by_chains
from headway.results.result import Corrected, Point, Result

MOST_ENTRIES = 21  # of U_1 that are listed: all of them for six paths
MOST_DOTS = 150  # predictions that are drawn at most


def beside(result: Result, place: Place) -> list[dict[str, Any]]:
    """A table for each sampler, or one of the theory alone; [] where nothing is known of the point.

    A row has "theory" (the saddle point), "corrected", the samples' "mean" with its Monte Carlo standard
    "error" and the "sd" of the posterior, and "apart": how many of these errors theory and corrected theory
    lie above the samples. At most "limit" of them are chance. All are None where they are not known.
    """
    if place.samples:
        return [_table(result, place.theory, sampled) for sampled in place.samples]
    return [_table(result, place.theory, None)] if place.theory is not None else []


def _table(result: Result, theory: Point | None, sampled: Point | None) -> dict[str, Any]:
    corrected = theory.corrected if theory is not None else None
    corrected = corrected if corrected is not None and corrected.defined else None
    entries = _entries(result, theory, corrected, sampled)
    return {"sampler": sampled.method if sampled is not None else None,
            "chains": plain(sampled.attributes.get("chains")) if sampled is not None else None,
            "warnings": str(sampled.attributes.get("warnings", "")) if sampled is not None else "",
            "scalars": _scalars(result, theory, corrected, sampled), **entries,
            "predictor": _predictor(theory, corrected, sampled)}


def _row(name: str, theory: Any, corrected: Any, mean: Any = math.nan, error: Any = math.nan,
         sd: Any = math.nan, limit: float = BY_DRAWS) -> dict[str, Any]:
    values = [math.nan if value is None else float(value) for value in (theory, corrected, mean, error, sd)]
    return {"name": name, "limit": plain(limit), **dict(zip(("theory", "corrected", "mean", "error", "sd"), map(plain, values))),
            "apart": [_apart(values[0], values[2], values[3]), _apart(values[1], values[2], values[3])]}


def _apart(theory: float, mean: float, error: float) -> float | None:
    """(theory - mean) / error. Without an error only equal numbers have one: 0."""
    difference = theory - mean
    if error > 0.0:
        return rounded(difference / error, 3)
    return 0.0 if difference == 0.0 and error == 0.0 else None


# ---- accuracy, evidence and readout


def _scalars(result: Result, theory: Point | None, corrected: Corrected | None, sampled: Point | None) -> list[dict[str, Any]]:
    rows = [_measured("test accuracy", "accuracy", theory, corrected, sampled),
            _measured("test squared error", "test_mean_squared_error", theory, corrected, sampled),
            _measured("log p(y)", "log_evidence", theory, None, sampled),
            _row("U_a" if result.outputs == 1 else "tr U_a / C", _readout(theory), _readout(corrected), _readout(sampled),
                 _readout_spread(sampled, "readout_mcse"), _readout_spread(sampled, "readout_sd"))]
    return [row for row in rows if any(row[name] is not None for name in ("theory", "corrected", "mean"))]


def _measured(name: str, attribute: str, theory: Point | None, corrected: Corrected | None,
              sampled: Point | None) -> dict[str, Any]:
    values = [getattr(measured, attribute, math.nan) if measured is not None else math.nan
              for measured in (theory, corrected, sampled)]
    error, limit = math.nan, BY_DRAWS
    if sampled is not None and attribute == "accuracy":
        error, limit = measure_error(sampled), by_chains(sampled)
    elif sampled is not None and attribute == "log_evidence":
        error = sampled.attributes.get("log_evidence_error", math.nan)
    return _row(name, *values, error, limit=limit)


def _readout(measured: Point | Corrected | None) -> float:
    if measured is None:
        return math.nan
    if isinstance(measured, Point):
        return measured.readout_scalar
    value = measured.readout_order_parameter
    return math.nan if value is None else float(np.trace(value) / len(value) if np.ndim(value) == 2 else value)


def _readout_spread(sampled: Point | None, name: str) -> float:
    """The spread of U_a for a single output, else NaN: a trace sums entries that depend on each other."""
    value = None if sampled is None else getattr(sampled.samples, name)
    return float(value) if value is not None and np.ndim(value) == 0 else math.nan


# ---- entries of U_1


def _entries(result: Result, theory: Point | None, corrected: Corrected | None, sampled: Point | None) -> dict[str, Any]:
    matrices = {"theory": theory.order_parameters[0] if theory is not None else None,
                "corrected": corrected.order_parameters[0] if corrected is not None and corrected.order_parameters else None,
                "mean": sampled.samples.mean[0] if sampled is not None else None,
                "error": sampled.samples.mcse[0] if sampled is not None and sampled.samples.mcse else None,
                "sd": sampled.samples.sd[0] if sampled is not None and sampled.samples.sd else None}
    shown = next(matrix for name, matrix in matrices.items() if name != "corrected" and matrix is not None)
    upper = np.triu_indices(len(shown))
    columns = [np.full(len(upper[0]), math.nan) if matrix is None else matrix[upper] for matrix in matrices.values()]
    rows = [_row(_entry_name(result, *place), *values) for place, values in zip(zip(*upper), zip(*columns))]
    within = [sum(abs(row["apart"][which]) <= BY_DRAWS for row in rows if row["apart"][which] is not None)
              for which in (0, 1)]
    known = [sum(row["apart"][which] is not None for row in rows) for which in (0, 1)]
    largest = np.sort(np.argsort(-np.abs(shown[upper]), kind="stable")[:MOST_ENTRIES])
    return {"entries": [rows[index] for index in largest], "of": len(rows), "within": within, "known": known}


def _entry_name(result: Result, row: int, column: int) -> str:
    names = []
    for index in (row, column):
        output = f" {index % result.outputs + 1}" if result.outputs > 1 else ""
        names.append(result.paths[index // result.outputs] + output)
    return " ".join(names)


# ---- predictor


def _predictor(theory: Point | None, corrected: Corrected | None, sampled: Point | None) -> dict[str, Any] | None:
    """Distances of the mean predictors on the test set, and some of the predictions to draw.

    An error of few chains may be tiny by chance, which says nothing of the prediction. So "ratio" divides the root mean
    squares, and is about 1 if the theory is exact. Errors of predictions depend on each other, so that the ratio varies by
    more than independent errors would make it. "within" asks each prediction, by Student's t.
    """
    if sampled is None or sampled.predictor.mean is None:
        return None
    mean = sampled.predictor.mean.ravel()
    error = sampled.samples.predictor_mcse
    error = np.full(mean.shape, math.nan) if error is None else error.ravel()
    chosen = np.unique(np.linspace(0, len(mean) - 1, MOST_DOTS).astype(int))
    limit, typical = by_chains(sampled), _root_mean_square(error)
    found: dict[str, Any] = {"examples": len(mean), "error": typical, "limit": plain(limit), "distance": [], "ratio": [], "within": [],
                             "dots": {"mean": rounded(mean[chosen]), "error": rounded(error[chosen])}}
    for name, measured in (("theory", theory), ("corrected", corrected)):
        other = measured.predictor.mean if measured is not None else None
        difference = np.full(mean.shape, math.nan) if other is None else other.ravel() - mean
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = difference / np.where(error > 0.0, error, math.nan)
        known = np.isfinite(apart)
        distance = _root_mean_square(difference)
        found["distance"].append(distance)
        found["ratio"].append(rounded(distance / typical, 3) if typical and distance is not None else None)
        found["within"].append(rounded(np.mean(np.abs(apart[known]) <= limit), 3) if known.any() else None)
        found["dots"][name] = rounded((difference + mean)[chosen])
    return found


def _root_mean_square(values: np.ndarray) -> float | None:
    return rounded(math.sqrt(np.mean(values ** 2)), 3) if values.size and np.isfinite(values).all() else None
