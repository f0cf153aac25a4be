"""Kernel alignment: overlap of the kernel's eigenvectors with the labels, theory against Gaussian process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.figures import style
from headway.figures.selection import PlotOptions, chosen_points, point_label, points_at, share_shown
from headway.results.result import Alignment, Point, Result

LEGEND_ROOM = 1.3  # height of the panels over that of the highest bar


def available(result: Result) -> bool:
    return any(map(_has_alignment, result.points))


def _has_alignment(point: Point) -> bool:
    return point.alignment is not None


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 2: |v_k . y| / |y| of the first eigenvectors, and the running sum of its square."""
    result = results[0]
    points = chosen_points(result, options, _has_alignment)
    every = points_at(result, points[0].temperature)
    palette = style.ordered_colours(len(every))
    colours = [palette[every.index(point)] for point in points]
    figure = style.new_figure(9.0, max(2.8, 0.7 + 1.05 * len(points)))
    grid = figure.add_gridspec(len(points), 2, width_ratios=[1.75, 1.0])
    top = _top([point.alignment for point in points], options.components)
    first = None
    for row, (point, colour) in enumerate(zip(points, colours)):
        axes = figure.add_subplot(grid[row, 0], sharex=first)
        first = first or axes
        _overlaps(axes, point.alignment, colour, point_label(point, points),
                  options.components)
        axes.legend(*(entries[:1 + (row == 0)] for entries in axes.get_legend_handles_labels()),
                    loc="upper right", ncol=2, columnspacing=1.0, handlelength=1.0,
                    borderaxespad=0.0)
        if row == 0:
            axes.set_title("overlap of each eigenvector with the labels")
        axes.set_ylim(0, top)
        axes.tick_params(labelbottom=row == len(points) - 1)
        if row == len(points) // 2:
            axes.set_ylabel(r"overlap $|v_k \cdot y|\,/\,|y|$")
    axes.set_xlabel(r"eigenvector $k$ of the kernel, by falling eigenvalue")
    cumulative = figure.add_subplot(grid[:, 1])
    for point, colour in zip(points, colours):
        _steps(cumulative, point.alignment.cumulative, colour, point_label(point, points),
               options.components)
    _steps(cumulative, points[0].alignment.gaussian_process_cumulative, style.GAUSSIAN_PROCESS,
           "Gaussian process", options.components, linestyle=(0, (4, 2)))
    cumulative.set_xlabel(r"number of eigenvectors $k$")
    cumulative.set_ylabel(r"$\sum_{j \leq k}\,(v_j \cdot y)^2 / |y|^2$")
    cumulative.set_title("share of the labels explained")
    cumulative.set_ylim(0, 1.02)
    style.legend_outside(cumulative)
    style.light_grid(cumulative)
    style.head_line(figure, "Alignment of the kernel with the labels", result, points[0].temperature,
                    *share_shown(points, every, _has_alignment))
    return figure


def _top(alignments: Sequence[Alignment], components: int) -> float:
    """The upper end of the bar panels. An overlap is NaN beyond the rank of a kernel, and for labels that are all
    zero."""
    shown = np.concatenate([values[:components] for alignment in alignments
                            for values in (alignment.overlaps, alignment.gaussian_process_overlaps)])
    return LEGEND_ROOM * (np.max(shown, where=np.isfinite(shown), initial=0.0) or 1.0)


def _overlaps(axes: Axes, alignment: Alignment, colour, label: str, components: int) -> None:
    """Bars side by side: the renormalised kernel and the Gaussian process."""
    for values, shift, shade, name in (
            (alignment.overlaps, -0.2, colour, label),
            (alignment.gaussian_process_overlaps, 0.2, "#b8b8b8", "Gaussian process")):
        shown = values[:components]
        axes.bar(np.arange(1, len(shown) + 1) + shift, shown, width=0.4, color=shade, label=name)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.set_xlim(0.2, min(components, len(alignment.overlaps)) + 0.8)
    style.light_grid(axes)


def _steps(axes: Axes, values: np.ndarray, colour, label: str, components: int,
           linestyle="-") -> None:
    shown = values[:components]
    axes.plot(np.arange(len(shown) + 1), np.concatenate([[0.0], shown]), color=colour, label=label,
              linestyle=linestyle, drawstyle="default")
    axes.set_xlim(0, len(shown))
