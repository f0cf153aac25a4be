"""Order parameters as heat maps, and the scalars U_a and action against width."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure

from headway.figures import accuracy, style
from headway.figures.selection import (PlotOptions, chosen_points, main_temperature, path_labels,
                                       point_label, points_at, samplers, share_shown, width_axis, width_value)
from headway.results import monte_carlo
from headway.results.result import Point, Result

NUMBERS_UP_TO = 6
NAMES_UP_TO = 16


def available(result: Result) -> bool:
    return any(map(_has_matrix, result.points))


def _has_matrix(point: Point) -> bool:
    return _matrix(point) is not None


def _matrix(point: Point) -> np.ndarray | None:
    """U_1: the saddle point's, or the posterior mean of samples. None where it is not finite: a point without draws."""
    sampled = point.samples.mean if point.samples is not None else None
    found = point.order_parameters or sampled
    return found[0] if found and np.isfinite(found[0]).all() else None


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 2: U_1 at chosen widths, on one colour scale with zero in its middle."""
    result = results[0]
    points = chosen_points(result, options, _has_matrix)
    labels = path_labels(result, options)
    size = max(1.6, min(3.0, 0.5 * len(_matrix(points[0]))))
    many = len(result.paths) > NUMBERS_UP_TO
    margins = style.Margins(left=0.45 + 0.072 * max(map(len, labels)), bottom=0.72 if many else 0.5)
    figure, panels, bar_axes = style.image_grid(1, len(points), size, margins)
    largest = max(np.abs(_matrix(point)).max() for point in points)
    unit = math.prod(result.variances[1:]) if result.variances else 1.0
    scale = entry_scale(largest, unit)
    for column, (axes, point) in enumerate(zip(panels[0], points)):
        image = axes.imshow(_matrix(point), cmap=style.DIVERGING, norm=scale,
                            interpolation="nearest")
        axes.set_title(point_label(point, points))
        name_paths(axes, result, labels, column == 0)
        _numbers(axes, _matrix(point), scale)
    bar = figure.colorbar(image, cax=bar_axes)
    bar.outline.set_visible(False)
    bar.set_ticks(entry_ticks(largest, unit))
    bar.ax.minorticks_off()
    bar.ax.set_yticklabels([f"{tick:g}".replace("-", "\u2212") for tick in bar.get_ticks()])
    bar.set_label(r"order parameter $U_1$")
    style.head_line(figure, "Order parameter U₁ over paths", result, points[0].temperature, *share_shown(points, result.points, _has_matrix),
                    f"Gaussian process: {unit:g} on the diagonal, 0 elsewhere")
    return figure


def entry_scale(largest: float, unit: float) -> FuncNorm:
    """Linear below the Gaussian-process value, logarithmic above, symmetric about zero."""
    largest = max(largest, unit)
    return FuncNorm((lambda x: np.arcsinh(np.asarray(x) / unit),
                     lambda x: unit * np.sinh(np.asarray(x))), vmin=-largest, vmax=largest)


def entry_ticks(largest: float, unit: float) -> list[float]:
    """Round numbers for the colour bar of entry_scale."""
    largest = max(largest, unit)
    steps, lowest = ((1, 3), 0.95 * unit) if largest >= 2.5 * unit else ((1, 2, 5), 0.3 * unit)
    positive = [step * 10.0 ** power for power in range(-6, 9) for step in steps]
    positive = [tick for tick in positive if lowest <= tick <= largest]
    return [-tick for tick in reversed(positive)] + [0.0] + positive


def name_paths(axes: Axes, result: Result, labels: list[str], first: bool) -> None:
    """Ticks of a matrix over paths; the rows are named in the first panel only."""
    paths, outputs = len(result.paths), result.outputs
    style.no_frame(axes)
    if paths > NAMES_UP_TO:  # only the blocks of equal h_1
        block = paths * outputs // result.heads[0]
        centres = block * (np.arange(result.heads[0]) + 0.5) - 0.5
        names = [str(head) for head in range(1, result.heads[0] + 1)]
        lines = block * np.arange(1, result.heads[0]) - 0.5
    else:
        centres, names = outputs * (np.arange(paths) + 0.5) - 0.5, labels
        lines = outputs * np.arange(1, paths) - 0.5
    for line in lines:
        axes.axhline(line, color="white", linewidth=1.0)
        axes.axvline(line, color="white", linewidth=1.0)
    axes.set_xticks(centres, [name.split(" ")[0] if paths <= NAMES_UP_TO else name
                              for name in names], rotation=90 if NUMBERS_UP_TO < paths <= NAMES_UP_TO else 0)
    axes.set_yticks(centres, names if first else [""] * len(names))
    by_head = ", by its head in layer 1" if paths > NAMES_UP_TO else ""
    over = " (each over the outputs)" if outputs > 1 else ""
    axes.set_xlabel(r"path $\pi$" + by_head + over)
    if first:
        axes.set_ylabel(r"path $\pi^\prime$" + by_head)


def _numbers(axes: Axes, matrix: np.ndarray, scale: FuncNorm) -> None:
    """The entries as numbers of two decimals, where there is room."""
    if len(matrix) > NUMBERS_UP_TO:
        return
    for (row, column), value in np.ndenumerate(matrix):
        shade = colormaps[style.DIVERGING](float(scale(value)))
        dark = 0.299 * shade[0] + 0.587 * shade[1] + 0.114 * shade[2] < 0.55
        digits = 1 if abs(value) >= 9.95 else 2
        written = f"{value:.{digits}f}"
        if float(written) == 0.0:
            written = f"{0:.{digits}f}"
        axes.text(column, row, written.replace("-", "\u2212"), ha="center", va="center",
                  fontsize=8.0 if len(matrix) <= 4 else 6.5, color=style.ON_DARK if dark else style.ON_LIGHT)


# ---- U_a and the action


def scalars_available(result: Result) -> bool:
    return any(math.isfinite(point.readout_scalar) for point in result.points)


def draw_scalars(results: Sequence[Result], options: PlotOptions) -> Figure:
    """U_a and S / max N against width, with the limit and the corrected means."""
    samples = results[0] if results[0].theory is not None else None
    result = samples.theory if samples is not None else results[0]
    temperature = main_temperature(result, options)
    points = points_at(result, temperature)
    x = [width_value(point, points) for point in points]
    actions = [point.action for point in points]
    both = any(math.isfinite(action) for action in actions)
    figure = style.new_figure(9.6 if both else 6.6, 3.1)
    panels = figure.subplots(1, 1 + both, squeeze=False)[0]
    _readout_panel(panels[0], result, points, x)
    if samples is not None:
        _sampled_readout(panels[0], points_at(samples, temperature), result.outputs)
    style.legend_outside(panels[-1], *panels[0].get_legend_handles_labels())
    if both:
        panels[1].plot(x, actions, color=style.THEORY, marker="o", zorder=3, clip_on=False)
        panels[1].set_title("action at the saddle point")
        panels[1].set_ylabel(r"$S\,/\,\mathrm{max}\,N$")
    for axes in panels:
        width_axis(axes, points)
        style.light_grid(axes)
    style.head_line(figure, "Readout and action against the width" if both else "Readout against the width", result,
                    temperature)
    return figure


def _readout_panel(axes: Axes, result: Result, points: Sequence[Point], x: list[int]) -> None:
    values = [point.readout_scalar for point in points]
    sampled = result.kind == "sample"
    axes.plot(x, values, color=style.SAMPLES if sampled else style.THEORY, marker="o", zorder=3,
              label="posterior mean" if sampled else accuracy.THEORY_NAME, clip_on=False)
    pairs = [(at, _trace(point.corrected.readout_order_parameter),
              _trace(point.corrected.readout_deviation) if result.outputs == 1 else math.nan)
             for at, point in zip(x, points) if point.corrected is not None
             and point.corrected.defined and point.corrected.readout_order_parameter is not None]
    if pairs:
        at, mean, deviation = zip(*pairs)
        bars = style.error_bars(deviation)
        axes.errorbar(at, mean, yerr=bars, color=style.CORRECTED, marker="s", markersize=4.2,
                      markerfacecolor="white", linestyle="none", elinewidth=1.0, capsize=2.0,
                      zorder=2, label=accuracy.CORRECTED_NAME +
                      ("" if bars is None else "\n± 1 standard deviation of the posterior"))
    if result.variances:
        axes.axhline(result.variances[-1], color=style.GAUSSIAN_PROCESS, linestyle=(0, (4, 2)),
                     linewidth=1.2, label=r"Gaussian process ($s_a^2$)", zorder=1)
    axes.set_title("order parameter of the readout")
    axes.set_ylabel(r"$U_a$" if result.outputs == 1 else r"tr $U_a\,/\,C$")


def _sampled_readout(axes: Axes, points: Sequence[Point], outputs: int) -> None:
    bars = style.error_bars([monte_carlo.BY_DRAWS * _trace(point.samples.readout_mcse) for point in points]
                            if outputs == 1 else [])
    axes.errorbar([width_value(point, points) for point in points],
                  [point.readout_scalar for point in points], yerr=bars, color=style.SAMPLES,
                  marker="D", markersize=4.2, linestyle="none", elinewidth=1.0, capsize=2.0,
                  zorder=5, label=f"posterior samples ({samplers(points)})" +
                  ("" if bars is None else f"\n± {monte_carlo.BY_DRAWS:g} Monte Carlo standard errors"))


def _trace(value: np.ndarray | None) -> float:
    if value is None:
        return math.nan
    return float(np.trace(value) / len(value)) if value.ndim == 2 else float(value)
