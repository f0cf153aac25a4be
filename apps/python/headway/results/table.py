"""A result's numbers as a table: aligned text, Markdown or CSV."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from headway.errors import UsageError
from headway.results.display import Shown
from headway.results.head_table import head_label
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.layouts import LAYOUTS
from headway.results.monte_carlo import rhat_text
from headway.results.network_predictions import NetworkAnswers, NetworkPredictResult
from headway.results.network_results import RemovalResult, score_kind
from headway.results.network_seeds import compare_networks
from headway.results.prediction_results import PredictResult
from headway.results.rank_results import RankResult
from headway.results.ranking.measured import CUTS, among_name, is_frozen
from headway.results.ranking.table import CUT_HEADS
from headway.results.result import GaussianProcessPoint, Measures, Point, Result
from headway.results.result_points import width_text
from headway.results.training_results import TrainingResult, mean_and_error

FORMATS = tuple(LAYOUTS)
Column = tuple[str, Callable[[Point], str]]


def table(result: Result | TrainingResult | LatentsResult | EvaluateResult | RemovalResult,
          layout: str = "text") -> str:
    """A result as text, Markdown or CSV.

    A result of the theory has a row for each sweep point, then one for each Gaussian process. A result of networks has a row
    for each variant (train), with layer and decoder (latents), split and metric (evaluate), or score of heads (prune_network).
    Its numbers are means and standard errors over seeds.
    """
    if layout not in FORMATS:
        raise UsageError(f"--format: is {layout}; allowed: {', '.join(FORMATS)}")
    return LAYOUTS[layout](*cells(result))


def cells(result: Result | TrainingResult | LatentsResult | EvaluateResult | RemovalResult
          ) -> tuple[list[str], list[list[str]]]:
    """The header and the rows of `table`, as texts."""
    for kind, rows in ((TrainingResult, _training_rows), (LatentsResult, _latent_rows),
                       (EvaluateResult, _evaluated_rows), (RemovalResult, _removal_rows),
                       (PredictResult, _predicted_rows), (NetworkPredictResult, _network_predicted_rows),
                       (RankResult, _rank_rows)):
        if isinstance(result, kind):
            return rows(result)
    columns = _sample_columns(result) if result.kind == "sample" else _solve_columns(result)
    rows = [[cell(point) for _, cell in columns] for point in result.points]
    sets = _set_columns(result)
    rows += [_gaussian_process_row(columns, sets, point) for point in result.gaussian_process]
    return [name for name, _ in columns], rows


Shown._cells = cells  # a result in a notebook is this table


def table_of_networks(results: Sequence[Result | TrainingResult], layout: str = "text") -> str:
    """Several results of `headway prune` on trained networks of one shape: a row for each score of their heads.

    Columns are means and standard errors over the networks: of the rank correlation with the accuracy drops, of the
    accuracy with half of the heads removed, and of that accuracy minus the one of random orders.
    """
    if layout not in FORMATS:
        raise UsageError(f"--format: is {layout}; allowed: {', '.join(FORMATS)}")
    for result in results:
        if not isinstance(result, Result):
            trained = " on a result of headway train" if isinstance(result, RemovalResult) else ""
            raise UsageError(f"{result.file}: is a result of headway {result.kind}{trained}; allowed, when there are several: "
                             "results of headway prune on a data set with a trained network")
    header = ["score", "N", "T", "networks", "rank corr. with drops", "p",
              "accuracy with half pruned", "less random order"]
    rows = [[found.name, "-" if found.widths is None else width_text(found.widths),
             f"{found.temperature:g}" if found.widths is not None else "-",
             str(len(found.correlations)), _spread(found.correlations, 2),
             "-" if math.isnan(found.p_value) else f"{found.p_value:.2g}",
             _spread(found.half, 3), _spread(found.half_over_random, 3)]
            for found in compare_networks(results)]
    return LAYOUTS[layout](header, rows)


def _number(value: float, digits: int = 3) -> str:
    return "-" if not math.isfinite(value) else f"{value:.{digits}f}"


def _attribute(name: str, form: str) -> Callable[[Point], str]:
    def cell(point: Point) -> str:
        value = point.attributes.get(name)
        if value is None or isinstance(value, float) and not math.isfinite(value):
            return "-"
        return format(value, form)
    return cell


def _widths(point: Point) -> str:
    return width_text(point.widths)


def _solve_columns(result: Result) -> list[Column]:
    columns: list[Column] = [
        ("N", _widths), ("T", lambda point: f"{point.temperature:g}"),
        ("accuracy", lambda point: _number(point.accuracy)),
        _corrected_column(result),
        ("test MSE", lambda point: _number(point.test_mean_squared_error, 4)),
        *_set_columns(result),
        ("U_a", lambda point: _number(point.readout_scalar, 4)),
        ("S / max N", lambda point: _number(point.action, 6)),
        ("log evidence", lambda point: _number(point.log_evidence, 2)),
        ("gradient", _attribute("gradient_norm", ".1e")),
        ("iterations", _attribute("iterations", "d")),
        ("converged", lambda point: "yes" if point.converged else "NO")]
    if any(point.pruning is not None for point in result.points):
        columns.append(("least important head", _least))
    if any(point.network for point in result.points):
        columns.append(("rank corr. with network's drops [95 %]", _agreement))
    if any(point.alignment is not None for point in result.points):
        columns.append(("best overlap", _best_overlap))
    return columns + _hidden_weight_columns(result)


def _hidden_weight_columns(result: Result) -> list[Column]:
    """Of a value network: the largest eigenvalues of S, and its effective dimension."""
    def eigenvalues(point: Point) -> str:
        return " ".join(_number(float(value), 3) for value in _eigenvalues(point)[:3]) or "-"

    def dimension(point: Point) -> str:
        values = _eigenvalues(point)
        return f"{values.sum() ** 2 / (values**2).sum():.2f} of {len(values)}" if len(values) else "-"

    if not any(len(_eigenvalues(point)) for point in result.points):
        return []
    return [("S eigenvalues", eigenvalues), ("dimension", dimension)]


def _eigenvalues(point: Point) -> np.ndarray:
    """Of S at the saddle point, or of its posterior mean."""
    found = getattr(point, "S_eigenvalues", getattr(point.samples, "S_mean_eigenvalues", None))
    return np.array([]) if found is None else found


def _corrected_column(result: Result) -> Column:
    """The 1/N-corrected accuracy; the squared error where labels are no classes."""
    classes = any(math.isfinite(point.accuracy) for point in result.points)

    def cell(point: Point) -> str:
        if point.corrected is None or not point.corrected.defined:
            return "-"
        return (_number(point.corrected.accuracy) if classes
                else _number(point.corrected.test_mean_squared_error, 4))
    return "corrected" if classes else "corrected MSE", cell


def _set_columns(result: Result) -> list[Column]:
    """Accuracy on each further set; its mean squared error where the labels are no classes."""
    return [(name if _is_classes(result, name) else f"{name} MSE", lambda point, name=name:
             _set_cell(point, name, _is_classes(result, name))) for name in result.set_names]


def _is_classes(result: Result, name: str) -> bool:
    limits = [point.sets[name] for point in result.gaussian_process if name in point.sets]
    return any(math.isfinite(measures.accuracy) for measures in limits)


def _set_cell(point: Measures, name: str, classes: bool) -> str:
    measures = point.sets.get(name)
    if measures is None:
        return "-"
    return _number(measures.accuracy) if classes else _number(measures.mean_squared_error, 4)


def _least(point: Point) -> str:
    if point.pruning is None:
        return "-"
    found = point.pruning
    index = int(found.score.argmin())
    return f"{head_label(found.layer[index], found.head[index], found.name[index])} ({found.score[index]:.2f})"


def _agreement(point: Point) -> str:
    """How well the theory's score ranks the heads of the trained network, with its range over redrawn test examples."""
    score = point.network.get("score")
    if score is None or not math.isfinite(score.accuracy_drop.spearman):
        return "-"
    found = score.accuracy_drop
    return f"{found.spearman:.2f} [{found.lower:.2f}, {found.upper:.2f}]"


def _best_overlap(point: Point) -> str:
    if point.alignment is None:
        return "-"
    overlaps = point.alignment.overlaps
    if np.isnan(overlaps).all():  # the labels are all zero
        return "-"
    index = int(np.nanargmax(overlaps))
    return f"{overlaps[index]:.3f} (k={index + 1})"


def _sample_columns(result: Result) -> list[Column]:
    return [("N", _widths), ("T", lambda point: f"{point.temperature:g}"),
            ("sampler", lambda point: point.method),
            ("accuracy", lambda point: _number(point.accuracy)),
            ("test MSE", lambda point: _number(point.test_mean_squared_error, 4)),
            *_set_columns(result),
            ("U_a", lambda point: _number(point.readout_scalar, 4)),
            ("R-hat", lambda point: rhat_text(float(point.attributes.get("rhat_max", math.nan)))), ("bulk ESS", _attribute("ess_bulk_min", ".0f")),
            ("tail ESS", _attribute("ess_tail_min", ".0f")),
            ("E-BFMI", _attribute("ebfmi_min", ".2f")), ("divergences", _attribute("divergences", "d")),
            ("log p(y)", _attribute("log_evidence", ".2f")),
            *_hidden_weight_columns(result),
            *([] if all(map(_complete, result.points))
              else [("", lambda point: "" if _complete(point) else "interrupted")])]


def _complete(point: Point) -> bool:
    return bool(point.attributes.get("complete", 1))


def _spread(values: Sequence[float], digits: int = 4) -> str:
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return "-"
    mean, error = mean_and_error(np.array(finite))
    return measured_text(float(mean), float(error), digits)


def measured_text(value: float, error: float, digits: int = 4) -> str:
    """"13.00 +- 0.04", as the program writes it: the error has two digits where they are at most 35, else one, and the value as
    many decimals. "(2.04 +- 0.04)e-06" where that would be long; without an error the value alone, with `digits` decimals."""
    if not math.isfinite(value) or not math.isfinite(error):
        return _number(value, digits)
    if not error > 1e-12 * abs(value):  # the values differ by rounding alone
        return _number(value, digits) + " +- 0"
    power = math.floor(math.log10(error))
    decimals = 1 - power if error / 10.0**power < 3.55 else -power  # the rule of the Particle Data Group
    if decimals <= 6:
        places = max(decimals, 0)
        return f"{value:.{places}f} +- {error:.{places}f}"
    power = math.floor(math.log10(max(abs(value), error)))
    scale, places = 10.0**power, max(decimals + power, 0)
    return f"({value / scale:.{places}f} +- {error / scale:.{places}f})e{power:+03d}"


def _is_of_text(metrics: Iterable[str]) -> bool:
    """Whether the loss is in nats a token, beside bits per byte."""
    return "bits_per_byte" in metrics


def _training_rows(result: TrainingResult) -> tuple[list[str], list[list[str]]]:
    finished = result.finished
    splits = {split: next(run.curves[split].main_metric for run in finished.runs
                          if split in run.curves) for split in finished.splits}
    header = ["variant", "seeds", "parameters", "flops/step", "train loss (nats)" if _is_of_text(splits.values()) else "train loss",
              *(f"{split} {metric}" for split, metric in splits.items())]
    rows = []
    for label in result.labels:
        runs = result.runs_of(label)
        done = [run for run in runs if run.is_finished]
        rows.append([label, ",".join(str(run.seed) for run in done) or "-", str(runs[0].parameters),
                     f"{runs[0].flops_per_step:.4g}", _spread([run.train_loss for run in done]),
                     *(_spread([run.final.get(split, {}).get(metric, math.nan) for run in done])
                       for split, metric in splits.items())])
    return header, rows


def _predicted_rows(result: PredictResult) -> tuple[list[str], list[list[str]]]:
    rows = [[width_text(point.widths), f"{point.temperature:g}", name, str(at + 1),
             " ".join(f"{value:.4f}" for value in np.atleast_1d(one.mean[at])),
             " ".join(f"{value:.4f}" for value in np.atleast_1d(one.sd[at])),
             "-" if one.right_sign_probability is None else f"{one.right_sign_probability[at]:.4f}",
             "-" if one.predicted_class is None else str(int(one.predicted_class[at]))]
            for point in result.points for name, one in point.sets.items() for at in range(len(one.mean))]
    return ["widths", "T", "set", "example", "mean", "sd", "right sign", "class"], rows


def _network_predicted_rows(result: NetworkPredictResult) -> tuple[list[str], list[list[str]]]:
    """A row for each example; for texts one for each likely next token."""
    of_text = any(one.next is not None for group in result.groups for one in group.sets.values())
    rows = []
    for group in result.groups:
        seeds = ",".join(map(str, group.seeds))
        for name, one in group.sets.items():
            if of_text:
                rows += [[group.label, seeds, _number(one.bits_per_byte, 4), repr(token.text),
                          _number(token.probability, 4),
                          "-" if one.next_sd is None else _number(float(one.next_sd[token.token]), 4)]
                         for token in one.likeliest]
            else:
                rows += [[group.label, seeds, name, str(at + 1), *_answer_cells(one, at)] for at in range(one.examples)]
    if of_text:
        return ["variant", "seeds", "bits/byte", "next token", "probability", "sd"], rows
    return ["variant", "seeds", "set", "example", "mean", "sd", "right sign", "class"], rows


def _answer_cells(one: NetworkAnswers, at: int) -> list[str]:
    """Mean, sd, right sign and class of an example; for classes the mean is the probability of the predicted one."""
    mean, sd = np.atleast_1d(one.mean[at]), None if one.sd is None else np.atleast_1d(one.sd[at])
    answer = None if one.predicted_class is None else np.atleast_1d(one.predicted_class[at])
    if answer is not None and one.predicted_class.shape != one.mean.shape:
        of_class = np.expand_dims(one.predicted_class[at], -1)
        mean = np.atleast_1d(np.take_along_axis(one.mean[at], of_class, -1)[..., 0])
        sd = None if sd is None else np.atleast_1d(np.take_along_axis(one.sd[at], of_class, -1)[..., 0])
    return [" ".join(f"{value:.4f}" for value in mean),
            "-" if sd is None else " ".join(f"{value:.4f}" for value in sd),
            "-" if one.right_sign_probability is None else f"{one.right_sign_probability[at]:.4f}",
            "-" if answer is None else " ".join(map(str, answer))]


def _latent_rows(result: LatentsResult) -> tuple[list[str], list[list[str]]]:
    header = ["variant", "seeds", "layer", "decoder", "metric", "train", "held out", "+- tasks", "chance",
              "shuffled", "untrained"]
    rows = []
    for label in result.labels:
        runs = result.runs_of(label)
        for index, layer in enumerate(runs[0].every_layer):
            for decoder in layer.decoders:
                found = [run.every_layer[index].decoder(decoder.name).scores for run in runs]
                scores = {name: [one.get(name, math.nan) for one in found] for name in found[0]}
                rows.append([label, ",".join(str(run.seed) for run in runs), str(layer.layer or "all"),
                             decoder.name, decoder.metric,
                             *(_spread(scores[name]) for name in ("train", "held_out")),
                             _number(float(np.mean(scores["standard_error"])), 4),
                             *(_spread(scores.get(name, [])) for name in ("chance", "shuffled",
                                                                          "untrained"))])
    return header, rows


def _evaluated_rows(result: EvaluateResult) -> tuple[list[str], list[list[str]]]:
    rows = []
    for label in result.labels:
        runs, shown = result.runs_of(label), result.name_of(label)
        for split in result.splits:
            for metric in (name for name in runs[0].evaluations[split] if name != "examples"):
                in_nats = metric == "loss" and _is_of_text(runs[0].evaluations[split])
                rows.append([shown, ",".join(str(run.seed) for run in runs), split, "loss (nats)" if in_nats else metric,
                             _spread([run.evaluations[split].get(metric, math.nan) for run in runs])])
    return ["variant", "seeds", "split", "metric", "value"], rows


def _rank_rows(result: RankResult) -> tuple[list[str], list[list[str]]]:
    """A row for each head of each network, or each part of a data set, the smallest estimate first. The control U = 1 stands
    beside the theory's cut."""
    frozen = any(is_frozen(run.target) for run in result.runs)
    header = ["variant", "seed", "rank", "part" if frozen else "head", "estimate", "90 %",
              "among k smallest cuts" if frozen else "among k cheapest", "frozen cut" if frozen else "removal", *CUT_HEADS.values()]
    rows = []
    for run in result.runs:
        for row in run.order():
            rows.append([run.attributes["label"], str(run.attributes["seed"]), str(int(run["rank"][row])), run.names[row],
                         measured_text(run["estimate"][row], run["estimate_error"][row]),
                         f"{run['estimate_low'][row]:.4g} to {run['estimate_high'][row]:.4g}",
                         f"{run[among_name(run.target)][row]:.2f}",
                         *(measured_text(run[name][row], run[f"{name}_error"][row]) for name in (run.target, *CUTS))])
    return header, rows


def _removal_rows(result: RemovalResult) -> tuple[list[str], list[list[str]]]:
    rows = []
    for label in result.labels:
        runs = result.runs_of(label)
        for kind in dict.fromkeys(score_kind(name) for run in runs for name in run.network.scores):
            scores = [score for run in runs for name, score in run.network.scores.items()
                      if score_kind(name) == kind]
            rows.append([label, ",".join(str(run.seed) for run in runs), kind,
                         *(_spread([one.spearman for one in found], 2)
                           for found in ([score.accuracy_drop for score in scores],
                                         [score.error_rise for score in scores]))])
    metric = result.runs[0].metric if result.runs else "accuracy"
    return ["variant", "seeds", "score", f"rank corr. with {metric} drops", "with rises of the loss"], rows


def _gaussian_process_row(columns: Sequence[Column], sets: Sequence[Column],
                          point: GaussianProcessPoint) -> list[str]:
    cells = {name: cell(point) for name, cell in sets} | {
        "N": "infinite", "T": f"{point.temperature:g}", "accuracy": _number(point.accuracy),
        "test MSE": _number(point.test_mean_squared_error, 4)}
    return [cells.get(name, "") for name, _ in columns]
