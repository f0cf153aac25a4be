"""Every result as rows of a data frame: one for each point, network, head, code or example that it has numbers of."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from headway.results.display import Shown
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.network_predictions import NetworkAnswers, NetworkPredictResult
from headway.results.network_results import RemovalResult
from headway.results.prediction_results import PredictedSet, PredictResult
from headway.results.rank_results import RankResult
from headway.results.result import Result
from headway.results.result_points import width_text
from headway.results.training_results import TrainingResult

Row = dict[str, Any]
_FLAGS = ("converged", "complete", "defined", "biased")


def rows_of(result: Shown) -> list[Row]:
    """The rows of `Shown.to_pandas`, which says what they hold."""
    return [row for kind, rows in _KINDS.items() if isinstance(result, kind) for row in rows(result)]


def width_name(widths: tuple[int, ...]) -> int | str:
    """The width of a point whose layers have the same; else all of them as a text."""
    return widths[0] if len(set(widths)) == 1 else width_text(widths)


def _points(result: Result) -> Iterator[Row]:
    for point in result.points:
        row = _place(point) | _plain(point.attributes)
        if np.isfinite(point.readout_scalar):
            row["U_a"] = point.readout_scalar
        for name, measures in point.sets.items():
            row |= {f"{name}_accuracy": measures.accuracy, f"{name}_mean_squared_error": measures.mean_squared_error}
        if point.corrected is not None and point.corrected.defined:
            row |= {f"corrected_{name}": value for name, value in _plain(point.corrected.attributes).items()}
        yield row


def _trained(result: TrainingResult) -> Iterator[Row]:
    for run in result.runs:
        yield _named(run) | {key: _setting(text) for key, text in run.settings.items()} | _plain(run.attributes) | _by_split(run.final)


def _evaluated(result: EvaluateResult) -> Iterator[Row]:
    for run in result.runs:
        yield _named(run) | {"evaluated_on": run.evaluated_on} | _by_split(run.evaluations)


def _decoded(result: LatentsResult) -> Iterator[Row]:
    for run in result.runs:
        for layer in run.every_layer:
            for decoder in layer.decoders:
                yield _named(run) | {"layer": layer.layer, "decoder": decoder.name, "metric": decoder.metric} | dict(decoder.scores)


def _removed(result: RemovalResult) -> Iterator[Row]:
    for run in result.runs:
        heads = run.heads
        for at in range(len(heads.layer)):
            row = _named(run) | {"metric": run.metric, "layer": int(heads.layer[at]), "head": int(heads.head[at]),
                                 "gradient_sensitivity": float(heads.gradient_sensitivity[at])}
            for name in ("metric_drop", "loss_rise", "metric_drop_mean", "loss_rise_mean"):
                measured = getattr(heads, name)
                row |= {name: float(measured.mean[at]), f"{name}_error": float(measured.error[at])}
            yield row


def _ranked(result: RankResult) -> Iterator[Row]:
    for run in result.runs:
        about = {name: run.attributes[name] for name in ("label", "variant", "seed")}
        for at, name in enumerate(run.names):
            yield about | {"layer": run.layers[at], "head": run.heads[at], "name": name} | {
                column: values[at] for column, values in run.columns.items()}


def _predicted(result: PredictResult) -> Iterator[Row]:
    for point in result.points:
        for name, answers in point.sets.items():
            for row in _examples(answers, len(answers.mean)):
                yield _place(point) | {"set": name} | row


def _answered(result: NetworkPredictResult) -> Iterator[Row]:
    for run in result.runs:
        for name, answers in run.sets.items():
            about = _named(run) | {"set": name}
            if answers.mean is None:  # of a text: how well each token is predicted
                yield from (about | {"token": at, "bits": float(bits)} for at, bits in enumerate(answers.bits))
            else:
                yield from (about | row for row in _examples(answers, answers.examples))


_KINDS: Mapping[type[Shown], Callable[[Any], Iterable[Row]]] = {
    Result: _points, TrainingResult: _trained, EvaluateResult: _evaluated, LatentsResult: _decoded, RemovalResult: _removed,
    RankResult: _ranked, PredictResult: _predicted, NetworkPredictResult: _answered}


def _named(run: Any) -> Row:
    return {name: getattr(run, name) for name in ("label", "variant", "seed")}


def _setting(text: str) -> Any:
    """What the sweep set, which the file has as TOML: numbers, words and lists of them are those of JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _place(point: Any) -> Row:
    return {"width": width_name(point.widths), "temperature": point.temperature}


def _by_split(numbers: Mapping[str, Mapping[str, float]]) -> Row:
    return {f"{split}_{name}": value for split, found in numbers.items() for name, value in found.items()}


def _examples(answers: PredictedSet | NetworkAnswers, count: int) -> Iterator[Row]:
    """A row for each example, counted from 0; of several outputs a column for each, mean_1 and so on."""
    columns: dict[str, np.ndarray] = {}
    for name in ("mean", "sd", "right_sign_probability", "predicted_class"):
        values = getattr(answers, name)
        if values is None:
            continue
        outputs = np.asarray(values).reshape(count, -1)
        single = np.ndim(values) == 1
        columns |= {name if single else f"{name}_{at + 1}": outputs[:, at] for at in range(outputs.shape[1])}
    for at in range(count):
        yield {"example": at} | {name: values[at] for name, values in columns.items()}


def _plain(attributes: Mapping[str, Any]) -> Row:
    """The numbers and words among attributes by name, the order in which files have them; flags as bool."""
    return {name: bool(value) if name in _FLAGS else value for name, value in sorted(attributes.items())
            if isinstance(value, (str, bool, int, float, np.generic)) and name not in ("widths", "temperature")}
