"""What the theory says that each head is worth: predicted rise of the squared error, with errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.figures import heads, style
from headway.figures.selection import PlotOptions, chosen_points, point_label, share_shown
from headway.results.result import Point, Result

LEAST_WIDTH = 4.0  # inches of the panels together: of less, the lines above them take the height


def _has_rises(point: Point) -> bool:
    rises = point.pruning.values.get("squared_error_rise") if point.pruning else None
    return rises is not None and bool(np.isfinite(rises).any())


def available(result: Result) -> bool:
    return any(map(_has_rises, result.points))


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """A panel for each width: the rise without each head. Thick bars are its deviation over the posterior
    of U_1, thin ones over redrawn examples. Diamonds: the same cut without the theory, where the file has it."""
    result = results[0]
    points = chosen_points(result, options, _has_rises)
    count, names = len(points[0].pruning.score), heads.names(points[0].pruning)
    figure = style.new_figure(0.95 + max(map(style.text_width, names)) + max(LEAST_WIDTH, 2.5 * len(points)), 1.75 + 0.22 * max(count, 4))
    panels = figure.subplots(1, len(points), squeeze=False, sharey=True)[0]
    for axes, point in zip(panels, points):
        _panel(axes, point)
    panels[0].set_yticks(np.arange(count), names)
    style.head_line(figure, "Predicted rise of the squared error without each head", result, points[0].temperature,
                    *share_shown(points, result.points, _has_rises), "thick bars: ± 1 standard deviation over the posterior of $U_1$",
                    "thin bars: ± 1 standard error over examples",
                    *(["diamonds: the same with $U_1$ = 1, without the theory"] if any(
                        without_theory(point) is not None for point in points) else []), r"$\tau$: how sure the order of the heads is (1: certain)")
    return figure


def without_theory(point: Point) -> np.ndarray | None:
    """The control with 1 as every entry of U_1; older files lack it."""
    return point.pruning.values.get("squared_error_rise_without_theory")


def _panel(axes: Axes, point: Point) -> None:
    pruning = point.pruning
    rises, rows = pruning.squared_error_rise, np.arange(len(pruning.score))
    heads.bars(axes, pruning, rises)
    for errors, width in ((pruning.squared_error_rise_error, 1.0),
                          (pruning.squared_error_rise_sd, 3.0)):
        known = np.isfinite(errors)
        axes.errorbar(rises[known], rows[known], xerr=errors[known], fmt="none",
                      ecolor=style.INK, elinewidth=width)
    control = without_theory(point)
    if control is not None:
        axes.plot(control, rows, linestyle="none", marker="D", markersize=4.5, markerfacecolor="white",
                  markeredgecolor=style.INK, markeredgewidth=1.0, zorder=4)
    tau = pruning.values.get("rank_stability/kendall_tau", np.nan)
    stable = "\n" + rf"$\tau$ = {tau:.2f}" if np.isfinite(tau) else ""
    axes.set_title(point_label(point) + stable.replace("-", "\u2212"))
    axes.set_xlabel(f"rise of the squared error\non {pruning.set[0]} examples")
