"""Calibration of a sampler: ranks of networks from the prior among the draws of their posteriors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from headway.figures import style
from headway.figures.selection import PlotOptions, chosen_points, point_label
from headway.results.result import Point, Result

MOST_BINS = 16
NETWORKS_A_BIN = 12  # at least
COLUMNS = 4


def available(result: Result) -> bool:
    return any(map(_is_calibrated, result.points))


def _is_calibrated(point: Point) -> bool:
    return point.samples is not None and point.samples.calibration_ranks is not None


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """A histogram of ranks for each statistic. Grey: where 99 bins of 100 lie if ranks are uniform."""
    result = next(result for result in results if available(result))
    point = chosen_points(result, options, _is_calibrated)[0]
    ranks, names = point.samples.calibration_ranks, point.samples.calibration_statistics
    values = int(point.attributes["calibration_draws"]) + 1
    bins = min(MOST_BINS, values)
    while bins > 2 and len(ranks) / bins < NETWORKS_A_BIN:
        bins //= 2
    edges = np.linspace(0, values, bins + 1)
    rows = -(-len(names) // COLUMNS)
    figure = style.new_figure(8.6, 0.9 + 1.5 * rows)
    panels = figure.subplots(rows, COLUMNS, squeeze=False, sharex=True, sharey=True).ravel()
    share = 1.0 / bins
    spread = 2.576 * np.sqrt(len(ranks) * share * (1.0 - share))
    for axes, name, column, p in zip(panels, names, ranks.T, point.samples.calibration_p_values):
        axes.axhspan(len(ranks) * share - spread, len(ranks) * share + spread, color=style.MUTED, alpha=0.25, linewidth=0)
        axes.hist(column + 0.5, bins=edges, color=style.THEORY, alpha=0.85)
        axes.set_title(f"{name}, p = {p:.2g}", fontsize=8)
        axes.set_xlim(0, values)
    for axes in panels[len(names):]:
        axes.set_axis_off()
    panels[0].set_ylabel("networks")
    panels[COLUMNS * (rows - 1)].set_xlabel("rank")
    style.head_line(figure, "Ranks of networks from the prior", result, point.temperature, point_label(point),
                    f"{point.method} sampler", f"p = {point.attributes['calibration_p_value']:.2g} for all",
                    "flat histograms: the sampler is right")
    return figure
