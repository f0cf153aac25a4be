"""Learning curves of trained networks, beside what each variant costs."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.errors import BadDataError
from headway.figures import style
from headway.figures.selection import PlotOptions
from headway.results.training_results import TrainingResult, TrainedRun, mean_and_error, shared_metric
from headway.results.training_settings import RunSettings, are_crossed, distinct_runs, settings_of

LINES = 8  # of the table at the right; with fewer, the rest of its height stays empty
NAME_INCHES, LETTER_INCHES, COST_INCHES = 1.5, 0.086, 3.0  # of the table: variants, and the rest
DASHES = ("-", "--", ":", "-.")
METRIC_NAMES = {"r2": "$R^2$", "accuracy": "accuracy", "bits_per_byte": "bits per byte",
                "r2_pooled": "$R^2$ (pooled)", "loss": "loss"}
LARGEST_IS_ONE = {"r2": None, "r2_pooled": None, "accuracy": 0.0}  # metrics that are at most 1, and the least that they can be


def available(results: Sequence[TrainingResult]) -> bool:
    return any(result.finished.splits for result in results)


def unfinished(results: Sequence[TrainingResult]) -> str:
    """"2 diverged, 1 interrupted": the runs that every mean leaves out; "" without any."""
    ends = Counter(run.outcome for result in results for run in result.runs if not run.is_finished)
    return ", ".join(f"{count} {end}" for end, count in ends.items())


def draw(results: Sequence[TrainingResult], options: PlotOptions) -> Figure:
    """The metric of every evaluated split against steps, mean and standard error over seeds. At the right is
    a table of parameters, floating-point operations and training loss. Runs that did not end are left out."""
    del options
    left_out = unfinished(results)
    results = [result.finished for result in results]
    metrics = {split: metric_of(results, split, lambda run: {name: curve.columns for name, curve in run.curves.items()})
               for split in dict.fromkeys(split for result in results for split in result.splits)}
    if not metrics:
        raise BadDataError(f"{results[0].file}: no split was evaluated, so there is no curve to draw")
    rows, splits = _rows(results), list(metrics)
    names = max(NAME_INCHES, LETTER_INCHES * max(len(name) for name, _ in rows))
    costs = names + COST_INCHES
    figure = style.new_figure(3.1 * len(splits) + costs, 3.5)
    panels = figure.subplots(1, len(splits) + 1, squeeze=False,
                             gridspec_kw={"width_ratios": [3.1] * len(splits) + [costs]})[0]
    looks = [_look(index) for index in range(len(rows))]
    ceiling = False
    batch = _batch(results)
    for axes, (split, metric) in zip(panels, metrics.items()):
        for (name, runs), look in zip(rows, looks):
            _curve(axes, split, metric, runs, name, look)
        ceiling |= draw_ceiling(axes, split, metric, [run for _, runs in rows for run in runs])
        axes.set_title(split.replace("_", " "))
        axes.set_xlabel(f"training step{batch}")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.set_ylabel(METRIC_NAMES[metric])
        end_axis(axes, metric)
        style.light_grid(axes)
    _costs(panels[-1], rows, looks, names / costs)
    # All seeds are shown, so the line does not name the seed of the study.
    style.head_line(figure, "Learning curves", [replace(result, provenance={}) for result in results], None, _seeds_text(results),
                    *(["bands: ± 1 standard error over seeds"] if any(len(runs) > 1 for _, runs in rows) else []),
                    *(["dashed: best possible score"] if ceiling else []),
                    *([f"runs left out: {left_out}"] if left_out else []))
    return figure


def metric_of(results: Sequence, split: str, evaluations: Callable[[Any], Mapping[str, Any]]) -> str:
    """The main metric that the networks of all results have of a split; `evaluations` of a run has names of metrics by split.

    Errors: BadDataError where they share none: on one axis would stand different quantities.
    """
    found = [(result, [evaluations(run)[split] for run in result.runs if split in evaluations(run)]) for result in results]
    found = [(result, tables) for result, tables in found if tables]
    tables = found[0][1][:1] if len(found) == 1 else [names for _, several in found for names in several]
    metric = shared_metric(tables)
    if metric is None:
        each = ", ".join(f"{result.file} has {shared_metric(tables[:1])}" for result, tables in found)
        raise BadDataError(f"{results[0].file}: its networks and the others have no metric of the split {split} in common, so they "
                           f"cannot share a figure ({each}); plot each result alone")
    return metric


def end_axis(axes: Axes, metric: str) -> None:
    """Ends the axis of a metric that is at most 1 there."""
    if metric in LARGEST_IS_ONE:
        style.end_at_one(axes, LARGEST_IS_ONE[metric])


def draw_ceiling(axes: Axes, split: str, metric: str, runs: Sequence[TrainedRun]) -> bool:
    """The score of the best possible solver, where it is known of all runs: a dashed line at their mean.
    Each seed draws its own held-out rule sets, so a band goes from the lowest to the highest score."""
    known = [run.ceilings.get(split, {}).get(metric) for run in runs]
    if not known or None in known:
        return False
    axes.axhline(np.mean(np.unique(known)), color=style.MUTED, linestyle="--", linewidth=1.2, zorder=1)
    if min(known) < max(known):
        axes.axhspan(min(known), max(known), color=style.MUTED, alpha=0.3, linewidth=0, zorder=0.5)
    return True


def _rows(results: Sequence[TrainingResult]) -> list[tuple[str, tuple[TrainedRun, ...]]]:
    """Name and runs of every curve: runs of one study, of any result, that differ in their seeds alone. Where these are
    crossed, each seed of the data has a curve."""
    found: dict[tuple, list[RunSettings]] = {}
    for one in distinct_runs(results):
        found.setdefault(one.alike, []).append(one)
    several = len({result.study for result in results}) > 1
    rows = []
    for (study, label, _), alike in found.items():
        name = f"{study}: {label}" if several else label
        if are_crossed([(one.data_seed, one.run.seed) for one in alike]):
            rows += [(f"{name}, task.seed = {seed}", tuple(one.run for one in alike if one.data_seed == seed))
                     for seed in dict.fromkeys(one.data_seed for one in alike)]
        else:
            rows.append((name, tuple(one.run for one in alike)))
    return rows


def _seeds_text(results: Sequence[TrainingResult]) -> str:
    """"3 seeds", or "3 data seeds" where networks of one seed were trained on several data sets."""
    runs = distinct_runs(results)
    seeds, data = len({one.run.seed for one in runs}), len({one.data_seed for one in runs})
    return style.counted(data, "data seed") if data > seeds else style.counted(seeds, "seed")


def _batch(results: Sequence[TrainingResult]) -> str:
    """" (128 examples)" where all runs have the same batch, else ""."""
    sizes = {settings_of(result, run).get("train.batch") for result in results for run in result.runs}
    size = sizes.pop() if len(sizes) == 1 else None
    return f" ({size:.0f} examples)" if isinstance(size, float) else ""


def _look(index: int) -> dict[str, str]:
    """Colour and dashes of a variant: different ones for up to 24."""
    count = len(style.OVERLAY)
    return {"color": style.OVERLAY[index % count], "linestyle": DASHES[index // count % len(DASHES)]}


def series(runs: Sequence[TrainedRun], split: str, metric: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps that every run has, mean and standard error of the metric there."""
    curves = [run.curves[split] for run in runs if split in run.curves and metric in run.curves[split].columns]
    if not curves:
        return np.zeros(0), np.zeros(0), np.zeros(0)
    steps = curves[0].steps
    for curve in curves[1:]:
        steps = np.intersect1d(steps, curve.steps)
    values = [curve.columns[metric][np.isin(curve.steps, steps)] for curve in curves]
    return steps, *mean_and_error(np.array(values))


def _curve(axes: Axes, split: str, metric: str, runs: Sequence[TrainedRun], name: str,
           look: dict[str, str]) -> None:
    steps, mean, error = series(runs, split, metric)
    if len(steps) == 0:  # of another result, which has not this split; matplotlib's layout fails on an empty line
        return
    axes.plot(steps, mean, **look, label=name, marker="o" if len(steps) < 2 else None)
    if np.isfinite(error).any():
        axes.fill_between(steps, mean - error, mean + error, color=look["color"], alpha=0.2,
                          linewidth=0)


def amount(value: float) -> str:
    for scale, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value:.3g}"


def _spread(values: Sequence[float]) -> str:
    """The mean with as many digits as its error has: "0.0048 ± 0.0007"."""
    mean, error = mean_and_error(np.array(values))
    if not (math.isfinite(error) and error > 0.0):
        return f"{mean:.4g}"
    digits = max(0, -math.floor(math.log10(error)))
    return f"{mean:.{digits}f} ± {error:.{digits}f}"


def _costs(axes: Axes, rows: Sequence[tuple[str, Sequence[TrainedRun]]],
           looks: Sequence[dict[str, str]], names: float) -> None:
    """A table in place of a legend. Names of variants take the share `names` of its width."""
    of_text = any("bits_per_byte" in curve.columns for _, runs in rows for run in runs for curve in run.curves.values())
    loss = "loss (nats)" if of_text else "training loss"
    style.no_frame(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlim(0, 1)
    axes.set_ylim(max(len(rows), LINES), -1.0)
    places = (0.06, *(names + share * (1.0 - names) for share in (0.18, 0.46, 1.0)))
    for place, title in zip(places, ("variant", "parameters", "FLOP/step", loss)):
        axes.text(place, -0.6, title, color=style.MUTED, fontsize=8.0, va="center",
                  ha="left" if place == places[0] else "right")
    for row, ((name, runs), look) in enumerate(zip(rows, looks)):
        cells = (name, amount(runs[0].parameters), amount(runs[0].flops_per_step),
                 _spread([run.train_loss for run in runs]))
        axes.plot([0.0, 0.045], [row, row], **look, linewidth=2.0, clip_on=False)
        for place, cell in zip(places, cells):
            axes.text(place, row, cell, fontsize=8.0, va="center",
                      ha="left" if place == places[0] else "right")
