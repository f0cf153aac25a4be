"""How the solver got to the saddle point: gradient and action against iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.figures import style
from headway.figures.selection import PlotOptions, point_label, points_at, shown_points
from headway.results.result import Point, Result

LEGEND_UP_TO = 8


def available(result: Result) -> bool:
    return any(_has_history(point) for point in result.points)


def _has_history(point: Point) -> bool:
    return point.history is not None and len(point.history) > 0


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """Largest gradient entry, and how far the action is above its final value."""
    result = results[0]
    points = shown_points(result, options, _has_history)
    every = points_at(result, points[0].temperature)
    figure = style.new_figure(7.2, 3.1)
    left, right = figure.subplots(1, 2)
    for point, colour in zip(every, style.ordered_colours(len(every))):
        if point not in points:
            continue
        columns = dict(zip(point.history_columns, point.history.T))
        iteration = columns["iteration"]
        _lines(left, iteration, columns["gradient_norm"], colour, point_label(point, every))
        above = columns["action"] - point.action
        above = above if np.isfinite(above).all() else columns["action"] - columns["action"][-1]
        _lines(right, iteration, np.where(above > 0, above, np.nan), colour, point_label(point, every))
    left.set_title("largest entry of the action's gradient")
    left.set_ylabel(r"$|dS/dU|_\infty\,/\,\mathrm{max}\,N$")
    right.set_title("action above its final value")
    right.set_ylabel(r"$(S - S_\mathrm{final})\,/\,\mathrm{max}\,N$")
    for axes in (left, right):
        axes.set_yscale("log")
        axes.set_xlabel("iteration")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        style.light_grid(axes)
    if len(points) <= LEGEND_UP_TO:
        style.legend_outside(right)
    style.head_line(figure, "Convergence of the saddle-point solver", result, points[0].temperature)
    return figure


def _lines(axes: Axes, x: np.ndarray, y: np.ndarray, colour, label: str) -> None:
    positive = np.where(y > 0, y, np.nan)
    axes.plot(x, positive, color=colour, marker="o", markersize=3, linewidth=1.2, label=label)
