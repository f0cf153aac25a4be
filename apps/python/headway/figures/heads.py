"""Scores of heads beside what is lost without each, and accuracy as heads are removed one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.base.ranks import rank_correlation
from headway.figures import style
from headway.figures.path_sizes import size_warning
from headway.figures.selection import PlotOptions, chosen_points, point_label, share_shown
from headway.results.result import Point, Pruning, Result

LAYER_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")


def available(result: Result) -> bool:
    return any(map(_has_pruning, result.points))


def _has_pruning(point: Point) -> bool:
    return point.pruning is not None


def curves_available(result: Result) -> bool:
    """Whether the result has curves of heads removed: of accuracy, or of the squared error where labels are no classes. The
    last head of a layer stays, so layers of one head have a single point."""
    return any(_has_curves(point) for point in result.points)


def _has_curves(point: Point) -> bool:
    return (point.pruning is not None and point.pruning.by_score is not None
            and len(point.pruning.by_score) > 1 and bool(np.isfinite(point.pruning.by_score).any()))


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 3: for each width, scores, what is lost without each head, and one against the
    other."""
    result = results[0]
    points = chosen_points(result, options, _has_pruning)
    count = len(points[0].pruning.score)
    figure = style.new_figure(8.4, 1.1 + len(points) * max(1.5, 0.55 + 0.21 * count))
    panels = figure.subplots(len(points), 3, squeeze=False, sharex="col",
                             gridspec_kw={"width_ratios": [1.0, 1.0, 0.95]})
    for row, point in enumerate(points):
        last = row == len(points) - 1
        _scores(panels[row, 0], point, last)
        _drops(panels[row, 1], point, last)
        _scatter(panels[row, 2], point, last, row == 0)
    warning = size_warning(result)
    style.head_line(
        figure, "Scores of heads, and what is lost without each head", result, points[0].temperature,
        *share_shown(points, result.points, _has_pruning),
        "colours: layers", "ticks: weighted score",
        *(["bars: ± 1 standard error over test examples"] if any(
            losses(point).errors is not None for point in points) else []),
        r"$\rho$: rank correlation of score and loss",
        *([warning.replace("U_1", "$U_1$")] if warning else []))
    return figure


def names(pruning: Pruning) -> list[str]:
    return [f"layer {layer}, {style.plain(name)}" if name else f"layer {layer}, head {head}"
            for layer, head, name in zip(pruning.layer, pruning.head, pruning.name)]


def _colours(pruning: Pruning) -> list[str]:
    return [LAYER_COLOURS[(layer - 1) % len(LAYER_COLOURS)] for layer in pruning.layer]


@dataclass(frozen=True)
class Losses:
    """What is lost without each head: `values`, NaN where the predictor without it is undefined."""

    values: np.ndarray
    errors: np.ndarray | None  # standard errors over test examples, where they are known
    whole: str  # the measure with all heads
    axis: str
    short_axis: str


def losses(point: Point) -> Losses:
    """The drop of the test accuracy in percentage points; the rise of the test squared error where labels
    are no classes."""
    pruning = point.pruning
    if math.isfinite(point.accuracy):
        errors = _errors_on_test(pruning, "accuracy_drop_error")
        return Losses(100.0 * (pruning.accuracy - pruning.accuracy_without),
                      None if errors is None else 100.0 * errors,
                      f"all heads: {100 * pruning.accuracy:.1f} %", "drop of test accuracy\n(percentage points)", "drop of accuracy")
    return Losses(pruning.mean_squared_error_without - point.test_mean_squared_error,
                  _errors_on_test(pruning, "squared_error_rise_error"),
                  f"all heads: {point.test_mean_squared_error:.3g}",
                  "rise of the test\nsquared error", "rise of error")


def _errors_on_test(pruning: Pruning, name: str) -> np.ndarray | None:
    """Errors over redrawn test examples; None where the changes were measured on another set."""
    errors = pruning.values.get(name)
    if errors is None or any(used != "test" for used in pruning.values.get("set", ())):
        return None
    return style.error_bars(errors)


def bars(axes: Axes, pruning: Pruning, values: np.ndarray) -> None:
    axes.barh(np.arange(len(values)), values, height=0.68, color=_colours(pruning))
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.axvline(0.0, color=style.INK, linewidth=0.8)
    style.light_grid(axes, "x")


def _scores(axes: Axes, point: Point, last: bool) -> None:
    pruning = point.pruning
    bars(axes, pruning, pruning.score)
    axes.plot(pruning.score_weighted, np.arange(len(pruning.score)), linestyle="none", marker="|",
              markersize=9, markeredgewidth=1.6, color=style.INK)
    axes.set_yticks(np.arange(len(pruning.score)), names(pruning))
    axes.set_xlim(0, 1.04)
    axes.set_title(point_label(point))
    if last:
        axes.set_xlabel("score of the head")


def _drops(axes: Axes, point: Point, last: bool) -> None:
    found = losses(point)
    bars(axes, point.pruning, found.values)
    if found.errors is not None:
        known = np.isfinite(found.values) & np.isfinite(found.errors)
        axes.errorbar(found.values[known], np.flatnonzero(known), xerr=found.errors[known], fmt="none",
                      ecolor=style.INK, elinewidth=1.0, capsize=2.0)
    axes.set_yticks(np.arange(len(found.values)), [""] * len(found.values))
    for row in np.flatnonzero(np.isnan(found.values)):
        axes.text(0.0, row, " undefined", va="center", fontsize=7.5, color=style.MUTED)
    axes.set_title(found.whole)
    if last:
        axes.set_xlabel(found.axis)


def _scatter(axes: Axes, point: Point, last: bool, first: bool) -> None:
    pruning, found = point.pruning, losses(point)
    for layer in sorted(set(pruning.layer)):
        chosen = pruning.layer == layer
        axes.scatter(pruning.score[chosen], found.values[chosen], s=26, zorder=3,
                     label=f"layer {layer}",
                     color=LAYER_COLOURS[(layer - 1) % len(LAYER_COLOURS)])
    known = np.isfinite(found.values)
    rho = (rank_correlation(pruning.score[known], found.values[known]) if known.sum() > 1
           else math.nan)
    axes.set_title(r"$\rho$ " + ("is undefined" if math.isnan(rho) else f"= {rho:.2f}".replace("-", "\u2212")))
    axes.set_ylabel(found.short_axis)
    style.light_grid(axes, "both")
    if first and len(set(pruning.layer)) > 1:
        style.legend_outside(axes, handletextpad=0.1)
    if last:
        axes.set_xlabel("score of the head")


def draw_curves(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 3: heads removed one by one, by their scores, at random and by greedy search."""
    result = results[0]
    points = chosen_points(result, options, _has_curves)
    figure = style.new_figure(2.6 + 2.45 * len(points), 3.3)
    panels = figure.subplots(1, len(points), squeeze=False, sharey=True)[0]
    for axes, point in zip(panels, points):
        _curves(axes, point.pruning)
        axes.set_title(point_label(point))
        axes.set_xlabel("heads removed")
    panels[0].set_ylabel("test accuracy" if math.isfinite(points[0].accuracy)
                         else "test mean squared error")
    for axes in panels if math.isfinite(points[0].accuracy) else ():
        style.end_at_one(axes)
    style.legend_outside(panels[-1])
    warning = size_warning(result)
    style.head_line(
        figure, f"{'Accuracy' if math.isfinite(points[0].accuracy) else 'Squared error'} as heads are removed one by one", result,
        points[0].temperature, *share_shown(points, result.points, _has_curves),
        *([_random_text(points)] if points[0].pruning.random_sd is not None else []),
        *([warning.replace("U_1", "$U_1$")] if warning else []))
    return figure


def _random_text(points: Sequence[Point]) -> str:
    """What the grey band is."""
    counts = {len(point.pruning.random) for point in points if point.pruning.random is not None}
    orders = f"{counts.pop():,} random orders".replace(",", "\u2009") if len(counts) == 1 else "the random orders"
    return f"grey band: mean ± 1 standard deviation over {orders}"


def _curves(axes: Axes, pruning: Pruning) -> None:
    if pruning.random_mean is not None:
        x = np.arange(len(pruning.random_mean))
        axes.plot(x, pruning.random_mean, color=style.MUTED, linewidth=1.3, label="random order, mean")
        if pruning.random_sd is not None:
            axes.fill_between(x, pruning.random_mean - pruning.random_sd,
                              pruning.random_mean + pruning.random_sd, color="#e2e2e2",
                              linewidth=0, zorder=0)
    if pruning.greedy is not None:
        axes.plot(pruning.greedy, color=style.CORRECTED, marker="s", markersize=7,
                  markerfacecolor="white", linewidth=3.2, label="greedy search" if pruning.greedy_on == "test"
                  else f"greedy search on {pruning.greedy_on} examples")
    if pruning.by_squared_error is not None:
        axes.plot(pruning.by_squared_error, color=LAYER_COLOURS[2], marker="^", markersize=4,
                  label="lowest predicted rise first")
    axes.plot(pruning.by_score, color=style.THEORY, marker="o", markersize=4,
              label="lowest score first")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.light_grid(axes)
