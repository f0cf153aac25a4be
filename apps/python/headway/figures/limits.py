"""Where the theory ends: its distance from exact posterior samples against the width."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.figures import accuracy, style
from headway.figures.selection import (PlotOptions, main_temperature, points_at, samplers, width_axis,
                                       width_value)
from headway.results.monte_carlo import BY_DRAWS, bars_text, by_chains, span
from headway.results.result import Point, Result

FEWEST_WIDTHS = 3
CLEAR = 5.0  # errors by which a gap must stand out for a guide line to go through it


@dataclass(frozen=True)
class Gap:
    """Distances of two theories from the samples at the points of `widths`, NaN where undefined.

    `noise` is the distance that Monte Carlo error alone would give an exact theory. The errors are standard errors of the
    distances, and 95 % of them lie within `limit` errors.
    """

    name: str
    widths: np.ndarray
    saddle: np.ndarray
    saddle_error: np.ndarray
    corrected: np.ndarray
    corrected_error: np.ndarray
    noise: np.ndarray
    limit: np.ndarray


def available(result: Result) -> bool:
    return result.kind == "sample" and bool(_shown(result))


def _shown(result: Result) -> list[float]:
    """The temperatures with samples and theory at FEWEST_WIDTHS or more."""
    return [temperature for temperature in result.temperatures if len(_points(result, temperature)) >= FEWEST_WIDTHS]


def _points(result: Result, temperature: float) -> list[Point]:
    """The points of a temperature that have samples and theory."""
    return [point for point in points_at(result, temperature) if point.theory is not None
            and point.samples is not None and point.samples.mean and point.theory.order_parameters]


def gaps(result: Result, temperature: float | None = None) -> dict[str, Gap]:
    """The gaps in U_1, U_a, the mean predictor and the accuracy, by name, over rising widths.

    U_1: Frobenius norm of the difference over that of the posterior mean; U_a: absolute difference
    over the mean (Frobenius for several outputs); predictor: root mean square over the test set;
    accuracy: absolute difference.
    """
    points = _points(result, result.points[0].temperature if temperature is None else temperature)
    widths = np.array([width_value(point, points) for point in points], dtype=float)
    found = {
        "U_1": _gap("order parameter $U_1$: relative distance", widths, points, _order_parameter),
        "U_a": _gap("readout $U_a$: relative distance", widths, points, _readout),
    }
    if all(point.predictor.mean is not None for point in points):
        found["predictor"] = _gap("mean predictor: root-mean-square distance", widths, points, _predictor, by_chains)
    if all(math.isfinite(point.accuracy) for point in points):
        found["accuracy"] = _gap("test accuracy: difference", widths, points, _accuracy, by_chains)
    return found


Quantity = Callable[[Point], tuple]  # sampled mean, its error, saddle point, corrected, unit


def _by_draws(point: Point) -> float:
    return BY_DRAWS


def _gap(name: str, widths: np.ndarray, points: Sequence[Point], quantity: Quantity,
         limit: Callable[[Point], float] = _by_draws) -> Gap:
    rows = []
    for point in points:
        mean, error, saddle, corrected, unit = quantity(point)
        together = limit is by_chains
        rows.append([*_distance(mean, error, saddle, unit, together), *_distance(mean, error, corrected, unit, together),
                     math.sqrt(np.sum(np.square(error))) / unit, limit(point)])
    return Gap(name, widths, *np.array(rows).T)


def _distance(mean, error, theory, unit: float, together: bool) -> tuple[float, float]:
    """|mean - theory| in Frobenius norm, divided by `unit`, and its standard error to first order.

    `together`: the means of the same few chains are off in all entries together, as those of predictions are. Then errors do
    not average out: theirs add up, and the sum has no more degrees of freedom than one of them.
    """
    if theory is None:
        return math.nan, math.nan
    difference = np.atleast_1d(np.asarray(mean) - theory)
    distance = math.sqrt(np.sum(difference ** 2))
    error = np.broadcast_to(error, difference.shape)
    if distance == 0.0:
        return 0.0, math.sqrt(np.sum(error ** 2)) / unit
    terms = np.abs(difference) * error / distance / unit
    return distance / unit, float(np.sum(terms)) if together else math.sqrt(np.sum(terms ** 2))


def _corrected(point: Point):
    corrected = point.theory.corrected
    return corrected if corrected is not None and corrected.defined else None


def _order_parameter(point: Point) -> tuple:
    corrected = _corrected(point)
    mean = point.samples.mean[0]
    return (mean, point.samples.mcse[0], point.theory.order_parameters[0],
            corrected.order_parameters[0] if corrected else None, np.linalg.norm(mean))


def _readout(point: Point) -> tuple:
    corrected = _corrected(point)
    mean = point.samples.readout_mean
    return (mean, point.samples.readout_mcse, point.theory.readout_order_parameter,
            corrected.readout_order_parameter if corrected else None,
            float(np.linalg.norm(np.atleast_1d(mean))))


def _predictor(point: Point) -> tuple:
    corrected = _corrected(point)
    mean = point.predictor.mean
    error = point.samples.predictor_mcse
    return (mean, np.zeros_like(mean) if error is None else error, point.theory.predictor.mean,
            corrected.predictor.mean if corrected else None, math.sqrt(mean.size))


def _accuracy(point: Point) -> tuple:
    corrected = _corrected(point)
    return (point.accuracy, float(point.attributes.get("accuracy_mcse", math.nan)),
            point.theory.accuracy, corrected.accuracy if corrected else None, 1.0)


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """One panel a quantity: both gaps with error bars, the Monte Carlo floor, 1/N and 1/N^2."""
    result = next(result for result in results if available(result))
    temperature = main_temperature(result, options, _shown(result))
    found = gaps(result, temperature)
    rows = (len(found) + 1) // 2
    figure = style.new_figure(8.7, 3.1 * rows + 0.5)
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    points = _points(result, temperature)
    for axes, gap in zip(panels, found.values()):
        _panel(axes, gap, len(result.paths), discrete=gap is found.get("accuracy"), test=result.test_labels)
        width_axis(axes, points)
        _load_axis(axes, len(result.paths))
        style.light_grid(axes, "both")
    for axes in panels[len(found):]:
        axes.remove()
    named = {label: handle for axes in panels[:len(found)] for handle, label in zip(*axes.get_legend_handles_labels())}
    style.legend_outside(panels[1], list(named.values()), list(named))
    method = samplers(points)
    style.head_line(figure, "Where the theory ends: its distance from posterior samples", result, temperature,
                    f"{method} samples" if method else "samples", _bars_text(found),
                    "grey: what the Monte Carlo error alone would show",
                    *(["arrows: no difference"] if _equal(found.get("accuracy")) else []))
    return figure


def _bars_text(found: dict[str, Gap]) -> str:
    names = [name for name in ("predictor", "accuracy") if name in found]
    others = span(limit for name in names for limit in found[name].limit)
    return f"bars: {bars_text([BY_DRAWS])}" + (f"; {' and '.join(names)} ± {others}" if others else "")


def _equal(gap: Gap | None) -> bool:
    """Whether some accuracies of theory and samples are equal."""
    return gap is not None and bool(np.any(gap.saddle == 0.0) or np.any(gap.corrected == 0.0))


def _panel(axes: Axes, gap: Gap, paths: int, discrete: bool, test) -> None:
    axes.set_yscale("log")
    floor = 0.5 / len(test) if discrete and test is not None else None
    for values, errors, colour, marker, face, name in (
            (gap.saddle, gap.saddle_error, style.THEORY, "o", style.THEORY, accuracy.THEORY_NAME),
            (gap.corrected, gap.corrected_error, style.CORRECTED, "s", "white", accuracy.CORRECTED_NAME)):
        if floor is not None:  # equal accuracies have distance 0, which a logarithmic axis cannot show
            equal = values == 0.0
            arrows, = axes.plot(gap.widths[equal], np.full(equal.sum(), floor), linestyle="none", marker=7,
                                color=colour, clip_on=False)
            arrows.set_in_layout(False)  # without a width to show it would take the whole figure
            values = np.where(equal, math.nan, values)
        bars = gap.limit * errors
        axes.errorbar(gap.widths, values, color=colour,
                      yerr=style.error_bars([np.minimum(bars, 0.999 * values), bars]),
                      marker=marker, markerfacecolor=face, linewidth=1.0, elinewidth=1.0,
                      capsize=2.0, label=name, zorder=3)
    if floor is None and np.any(gap.noise > 0.0):
        axes.fill_between(gap.widths, gap.noise, 1e-30, color=style.FAINT, alpha=0.6, linewidth=0,
                          zorder=0, label="Monte Carlo error")
    if floor is None:  # accuracies change in jumps, so they follow no law from width to width
        _guides(axes, gap, paths)
    lows = [values[np.isfinite(values) & (values > 0.0)] for values in
            (gap.saddle, gap.corrected, gap.noise if floor is None else np.array([floor]))]
    lows = np.concatenate([values for values in lows if values.size] or [np.array([1.0])])
    axes.set_ylim(0.5 * lows.min(), 2.5 * lows.max())
    axes.set_title(gap.name)


def _guides(axes: Axes, gap: Gap, paths: int) -> None:
    """Lines of slope -1 and -2, each through the point of its theory that anchor() chooses."""
    for values, errors, power, dashes, name in (
            (gap.saddle, gap.saddle_error, 1, (0, (4, 2)), "slope of 1/$N$"),
            (gap.corrected, gap.corrected_error, 2, (0, (1, 1.5)), "slope of 1/$N^2$")):
        at = anchor(gap.widths, values, np.hypot(errors, gap.noise), paths)
        if at is not None:
            axes.plot(gap.widths, values[at] * (gap.widths[at] / gap.widths) ** power, color=style.MUTED,
                      linewidth=0.9, linestyle=dashes, zorder=1, label=name)


def anchor(widths: np.ndarray, values: np.ndarray, errors: np.ndarray, paths: int) -> int | None:
    """The index of the widest point whose gap is CLEAR times its error; None without such a point.

    The laws 1/N and 1/N^2 hold at large N. So the widest such point is taken, and never one with p/N >= 1. `errors` must
    include the Monte Carlo floor: a distance near the floor is mostly noise, however small its own error.
    """
    clear = np.isfinite(values) & np.isfinite(errors) & (values > CLEAR * errors) & (widths > paths)
    return int(np.flatnonzero(clear)[-1]) if clear.any() else None


def _load_axis(axes: Axes, paths: int) -> None:
    """p/N above: paths over neurons, the load of the order parameters."""
    top = axes.secondary_xaxis("top", functions=(lambda n: paths / np.maximum(n, 1e-9),
                                                 lambda load: paths / np.maximum(load, 1e-9)))
    top.set_xlabel("paths per neuron, $p/N$", fontsize=8)
    top.tick_params(labelsize=7.5)
