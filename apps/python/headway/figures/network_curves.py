"""Pruning curves of the trained network in every order, for one network or over several seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.figures import style
from headway.figures.selection import (PlotOptions, are_equal, chosen_points, common_temperatures, point_label,
                                       share_shown)
from headway.results.network_results import Curve, Estimates
from headway.results.network_seeds import copied
from headway.results.result import Point, Result
from headway.results.training_results import mean_and_error


SIDE_STEP = 0.06  # by which the error bars of two orders are moved apart


@dataclass(frozen=True)
class Look:
    label: str
    colour: str
    marker: str
    strong: bool = False


LOOKS = {
    "score": Look("theory's score, lowest first", style.THEORY, "o", True),
    "falling": Look("theory's score, highest first", style.CORRECTED, "v", True),
    "greedy": Look("greedy search", style.SAMPLES, "s"),
    "own_score": Look("score of the network's own $U_1$", "#56B4E9", "D"),
    "sensitivity": Look("gradient sensitivity", "#CC79A7", "^"),
    "weight_norm": Look("weight norm", "#E69F00", "<"),
    "path_norm": Look("norm of the network's paths", style.INK, ">"),
}


def available(results: Sequence[Result]) -> bool:
    return any(_curves(result, point) for result in results[:1] for point in result.points)


def seeds_available(results: Sequence[Result]) -> bool:
    """Several different networks of the same shape, each pruned."""
    return len(results) > 1 and copied(results) is None and all(
        result.network is not None and any(_curves(result, point) for point in result.points)
        and result.heads == results[0].heads for result in results)


def _curves(result: Result, point: Point) -> dict[str, Curve]:
    """The curves of a network at one point by their order, those without error bars first."""
    theory = point.network.get("score")
    if result.network is None or theory is None or theory.rising is None:
        return {}
    found = {name: score.rising for name, score in result.network.scores.items()
             if score.rising is not None}
    if result.network.greedy is not None:
        found["greedy"] = result.network.greedy
    found |= {"falling": theory.falling, "score": theory.rising}
    return {name: found[name] for name in reversed(LOOKS) if name in found}


def _measured(curve: Curve) -> Estimates:
    """The accuracy; the mean squared error where labels are no classes."""
    return (curve.accuracy if np.isfinite(curve.accuracy.mean).any() else curve.mean_squared_error)


def _measure_name(result: Result, curve: Curve) -> str:
    measure = "accuracy" if _measured(curve) is curve.accuracy else "squared error"
    return f"network's {measure} on {result.network.measured_on} examples"


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 3: accuracy of the trained network against the number of removed heads, one panel
    for each width of the theory, every order in each."""
    result = results[0]
    points = chosen_points(result, options, partial(_curves, result))
    figure = style.new_figure(2.8 + 3.0 * len(points), 3.8)
    panels = figure.subplots(1, len(points), squeeze=False, sharey=True)[0]
    for axes, point in zip(panels, points):
        _random(axes, result)
        curves = _curves(result, point)
        for index, (name, curve) in enumerate(curves.items()):
            _line(axes, name, _measured(curve).mean, _measured(curve).error,
                  SIDE_STEP * (index - 0.5 * (len(curves) - 1)))
        axes.set_title(f"theory at {point_label(point)}")
        _finish(axes, next(iter(curves.values())))
    panels[0].set_ylabel(_measure_name(result, next(iter(curves.values()))))
    _legend(panels[-1], result)
    random = result.network.random
    style.head_line(figure, "The trained network as its heads are removed one by one", result, points[0].temperature,
                    *share_shown(points, result.points, partial(_curves, result)), f"bars: ± 1 standard error over {result.network.measured_on} examples",
                    *([] if random is None else ["grey band: ± 1 standard deviation over random orders"]),
                    "each layer rescaled for its missing heads" if result.network.rescaled else "layers not rescaled")
    return figure


def _random(axes: Axes, result: Result) -> None:
    random = result.network.random
    if random is None or not np.isfinite(random.mean).any():
        return
    x = np.arange(len(random.mean))
    axes.fill_between(x, random.mean - random.sd, random.mean + random.sd, color="#e2e2e2",
                      linewidth=0, zorder=0)
    axes.plot(x, random.mean, color=style.MUTED, linewidth=1.4, label="random order, mean", zorder=1)


def _line(axes: Axes, name: str, mean: np.ndarray, error: np.ndarray, shift: float) -> None:
    """One curve with its error bars. The first point is the same in every order, so its bar is drawn once."""
    look = LOOKS[name]
    if name != "score":
        error = np.concatenate([[math.nan], error[1:]])
    x = np.arange(len(mean)) + shift
    x[0] = 0.0
    axes.errorbar(x, mean, yerr=style.error_bars(error), color=look.colour,
                  marker=look.marker, markersize=4.6 if look.strong else 3.6,
                  linewidth=2.0 if look.strong else 1.0, elinewidth=0.9, label=look.label,
                  markerfacecolor=look.colour if look.strong else "white",
                  zorder=4 if look.strong else 3)


def _finish(axes: Axes, curve: Curve) -> None:
    axes.set_xlabel("heads removed")
    if _measured(curve) is curve.accuracy:
        style.end_at_one(axes)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.light_grid(axes)


def _legend(axes: Axes, result: Result) -> None:
    handles, labels = axes.get_legend_handles_labels()
    named = {label: handle for handle, label in zip(handles, labels)}
    order = [look.label for look in LOOKS.values()] + ["random order, mean"]
    shown = [label for label in order if label in named]
    greedy = LOOKS["greedy"].label
    texts = [f"{greedy} on {result.network.greedy_on}" if label == greedy else label
             for label in shown]
    style.legend_outside(axes, [named[label] for label in shown], texts)


# ---- several seeds


def _one_each(results: Sequence[Result], options: PlotOptions) -> list[Point]:
    """The point of each result that is shown: of the first its narrowest, of the others the same where they have it."""
    first = chosen_points(results[0], replace(options, temperature=common_temperatures(results, options)[0]),
                          partial(_curves, results[0]))[0]
    points = [first]
    for result, temperature in zip(results[1:], common_temperatures(results, options)[1:]):
        known = chosen_points(result, replace(options, temperature=temperature), partial(_curves, result), len(result.points))
        points.append(next((point for point in known if point.widths == first.widths), known[0]))
    return points


def draw_seeds(results: Sequence[Result], options: PlotOptions) -> Figure:
    """Several trained networks, one result each: curves and rank correlations, mean and standard
    error over the networks, all at one point of the theory where they have one in common."""
    points = _one_each(results, options)
    figure = style.new_figure(10.6, 4.0)
    left, right = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.2, 1.0]})
    every = [_curves(result, point) for result, point in zip(results, points)]
    common = [name for name in every[0] if all(name in curves for curves in every)]
    if all(result.network.random is not None for result in results):
        mean, error = mean_and_error(np.array([result.network.random.mean for result in results]))
        left.errorbar(np.arange(len(mean)), mean, yerr=style.error_bars(error), color=style.MUTED, linewidth=1.6,
                      elinewidth=0.9, label="random order, mean", zorder=2)
    for index, name in enumerate(common):
        mean, error = mean_and_error(np.array([_measured(curves[name]).mean for curves in every]))
        _line(left, name, mean, error, SIDE_STEP * (index - 0.5 * (len(common) - 1)))
    left.set_ylabel(_measure_name(results[0], every[0][common[0]]))
    left.set_title("heads removed one by one")
    _finish(left, every[0][common[0]])
    _legend(left, results[0])
    _correlations(right, results, points)
    alike = all(point.widths == points[0].widths for point in points) and are_equal([point.temperature for point in points])
    differing = "; ".join(dict.fromkeys(f"{point_label(point)}, T = {point.temperature:g}" for point in points))
    # All seeds are shown, so the line does not name that of the first result.
    style.head_line(figure, f"Heads removed from {style.counted(len(results), 'trained network')}",
                    replace(results[0], provenance={}), points[0].temperature if alike else None,
                    f"theory at {point_label(points[0])}" if alike else f"theory at different points: {differing}",
                    "mean, and bars of ± 1 standard error, over networks", "hollow marks at the right: one network each")
    return figure


def rank_correlations(results: Sequence[Result], points: Sequence[Point]) -> dict[str, np.ndarray]:
    """For the theory's score ("score") and every other, the rank correlation with the accuracy drop of
    each network at its point; NaN where it is undefined."""
    every = [{"score": point.network["score"], **result.network.scores}
             for result, point in zip(results, points)]
    return {name: np.array([scores[name].accuracy_drop.spearman for scores in every])
            for name in LOOKS if all(name in scores for scores in every)}


def _correlations(axes: Axes, results: Sequence[Result], points: Sequence[Point]) -> None:
    """One dot a network, and mean ± s.e., for each score."""
    found = rank_correlations(results, points)
    labels = []
    for row, (name, rho) in enumerate(found.items()):
        known, look = rho[np.isfinite(rho)], LOOKS[name]
        axes.plot(known, np.full(len(known), row - 0.18), linestyle="none", marker=look.marker,
                  markersize=4, markerfacecolor="white", color=look.colour)
        mean, error = mean_and_error(known) if len(known) else (math.nan, math.nan)
        axes.errorbar([mean], [row + 0.12], xerr=style.error_bars([error]), color=look.colour, marker=look.marker,
                      markersize=6, capsize=3)
        text = "theory's score" if name == "score" else look.label
        labels.append(f"{text}\n{mean:.2f} ± {error:.2f}".replace("-", "\u2212"))
    axes.axvline(0.0, color=style.INK, linewidth=0.8)
    axes.set_yticks(range(len(found)), labels)
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(-1.05, 1.05)
    axes.set_title("which scores foresee the loss")
    axes.set_xlabel("rank correlation with the network's drop of accuracy")
    style.light_grid(axes, "x")
