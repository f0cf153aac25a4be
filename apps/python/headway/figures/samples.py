"""Posterior samples: order parameters against theory, traces and rank plots."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.figures import accuracy, style
from headway.figures.selection import (PlotOptions, chosen_points, main_temperature, point_label,
                                       share_shown, spread, width_value)
from headway.results.monte_carlo import BY_DRAWS, rhat_text
from headway.results.result import Point, Result

MOST_PANELS = 4  # widths side by side
RANK_BINS = 20


def comparison_available(results: Sequence[Result]) -> bool:
    return bool(_pairs(results))


def traces_available(result: Result) -> bool:
    return any(map(_has_draws, result.points))


def _has_draws(point: Point) -> bool:
    """Not so where sampling was interrupted before the first draw."""
    return point.samples is not None and point.samples.readout_draws is not None and point.samples.readout_draws.size > 0


def _pairs(results: Sequence[Result]) -> list[tuple[Point, Point]]:
    """(sampled point, solved point) at equal widths and temperature, for the data of the first samples."""
    def place(result: Result, point: Point) -> tuple:
        return result.provenance.get("data_hash"), result.heads, point.widths, point.temperature
    solved = {place(result, point): point for result in results
              for point in result.points if point.order_parameters}
    sampled = [result for result in results if any(point.samples for point in result.points)]
    pairs = [(point, solved.get(place(result, point), point.theory)) for result in sampled
             if result.provenance.get("data_hash") == sampled[0].provenance.get("data_hash")
             for point in result.points if point.samples is not None and point.samples.mean
             and all(np.isfinite(layer).all() for layer in point.samples.mean)]  # not so without draws
    return [(sampled, theory) for sampled, theory in pairs if theory is not None]


def draw_comparison(results: Sequence[Result], options: PlotOptions) -> Figure:
    """Every entry of U_1: the mean over samples against the saddle point and its correction, and below
    their difference with error bars; at most MOST_PANELS widths unless the user names them."""
    sample = next(result for result in results if any(point.samples for point in result.points))
    temperature = main_temperature(sample, options, [sampled.temperature for sampled, _ in _pairs(results)
                                                     if sampled.temperature in sample.temperatures])
    every: dict[tuple[int, ...], tuple[Point, Point]] = {}  # the first sampler at each width
    for sampled, theory in _pairs(results):
        if sampled.temperature == temperature:
            every.setdefault(sampled.widths, (sampled, theory))
    points = [sampled for sampled, _ in every.values()]
    points.sort(key=lambda point: (width_value(point, points), point.widths))
    shown = spread(points, sample, options, MOST_PANELS)
    pairs = [every[point.widths] for point in shown]
    figure = style.new_figure(2.3 + 2.6 * len(pairs), 4.5)
    panels = figure.subplots(2, len(pairs), squeeze=False, sharex="col",
                             gridspec_kw={"height_ratios": [1.0, 0.62]})
    for column, (sampled, theory) in enumerate(pairs):
        _against(panels[0, column], panels[1, column], sampled, theory)
    panels[0, 0].set_ylabel(r"posterior mean of $U_1$")
    panels[1, 0].set_ylabel("samples \u2212 theory")
    style.legend_outside(panels[0, -1], handletextpad=0.2)
    known = any(np.isfinite(sampled.samples.mcse[0]).any() for sampled, _ in pairs
                if sampled.samples.mcse)
    bars = [f"bars: ± {BY_DRAWS:g} Monte Carlo standard errors"] if known else []
    style.head_line(figure, "Entries of U₁: theory against posterior samples", sample, temperature,
                    "one point for each entry", *share_shown(shown, points), *bars)
    return figure


def _against(top: Axes, bottom: Axes, sampled: Point, theory: Point) -> None:
    """Samples against theory above, and their difference, with its error bars, below."""
    upper = np.triu_indices(len(theory.order_parameters[0]))
    mean = sampled.samples.mean[0][upper]
    error = (sampled.samples.mcse[0][upper] if sampled.samples.mcse
             else np.full(mean.shape, math.nan))
    kinds = [(theory.order_parameters[0][upper], style.THEORY, "o", style.THEORY, accuracy.THEORY_NAME)]
    corrected = theory.corrected
    if corrected is not None and corrected.defined and corrected.order_parameters:
        kinds.append((corrected.order_parameters[0][upper], style.CORRECTED, "s", "white",
                      accuracy.CORRECTED_NAME))
    every = np.concatenate([mean, *(kind[0] for kind in kinds)])
    pad = 0.06 * (every.max() - every.min()) or 1.0
    ends = (every.min() - pad, every.max() + pad)
    top.plot(ends, ends, color=style.MUTED, linewidth=0.9, zorder=1)
    bottom.axhline(0.0, color=style.MUTED, linewidth=0.9, zorder=1)
    for values, colour, marker, face, name in kinds:
        look = {"color": colour, "marker": marker, "markerfacecolor": face, "linestyle": "none",
                "markersize": 4.5, "zorder": 3}
        top.plot(values, mean, label=name, **look)
        bottom.errorbar(values, mean - values, yerr=style.error_bars(BY_DRAWS * error), elinewidth=1.0,
                        capsize=2.0, **look)
    top.set_title(point_label(theory))
    top.set_ylim(*ends)
    bottom.set_xlim(*ends)
    bottom.set_xlabel("theory")
    for axes in (top, bottom):
        style.light_grid(axes, "both")


def draw_traces(results: Sequence[Result], options: PlotOptions) -> Figure:
    """Traces of all chains and, beside each, the histogram of its ranks among all draws."""
    result = next(result for result in results if traces_available(result))
    point = chosen_points(result, options, _has_draws)[0]
    rows = quantities(result, point)
    figure = style.new_figure(7.6, 0.9 + 1.3 * len(rows))
    panels = figure.subplots(len(rows), 2, squeeze=False, sharex="col",
                             gridspec_kw={"width_ratios": [1.9, 1.0]})
    colours = style.ordered_colours(len(rows[0][1]))
    for (trace, ranks), (name, draws) in zip(panels, rows):
        for chain, colour in zip(draws, colours):
            trace.plot(chain, color=colour, linewidth=0.6, alpha=0.85)
        name, _, heads = name.partition("\n")
        trace.set_ylabel(name)
        trace.text(1.0, 1.0, heads, transform=trace.transAxes, ha="right", va="bottom", fontsize=7.5, color=style.MUTED)
        trace.set_xlim(0, draws.shape[1])
        _rank_plot(ranks, draws, colours)
    panels[0, 0].set_title("draws")
    panels[0, 1].set_title("how often each rank occurs")
    panels[-1, 0].set_xlabel("draw after warm-up")
    panels[-1, 1].set_xlabel("rank among the draws of all chains")
    extra = [point_label(point), *([f"{point.method} sampler"] if point.method else [])]
    rhat = float(point.attributes.get("rhat_max", math.nan))
    if math.isfinite(rhat):
        extra.append(f"largest $\\hat{{R}}$ {rhat_text(rhat)}")
    style.head_line(figure, "Draws of every chain, and their ranks", result, point.temperature,
                    *extra, f"colours: {style.counted(len(colours), 'chain')}",
                    "flat histograms (dashed): the chains agree")
    return figure


def quantities(result: Result, point: Point) -> list[tuple[str, np.ndarray]]:
    """U_a, and at most four diagonal entries of U_1: those that vary most. Each is [chain, draw]. Below the name of an entry are
    those of its heads, if they have any."""
    readout = point.samples.readout_draws
    if readout.ndim == 4:
        readout = np.trace(readout, axis1=2, axis2=3) / readout.shape[2]
    rows = [("$U_a$" if result.outputs == 1 else "tr $U_a/C$", readout)]
    draws = point.samples.draws.get(1)
    if draws is not None:
        diagonal = np.diagonal(draws, axis1=2, axis2=3)
        chosen = np.sort(np.argsort(-diagonal.std(axis=(0, 1)), kind="stable")[:4])
        for entry in chosen:
            path, _, heads = result.path_names[entry // result.outputs].partition(" ")
            output = f", output {entry % result.outputs + 1}" if result.outputs > 1 else ""
            rows.append((f"$U_1$ {path}{output}" + (f"\n{style.plain(heads)}" if heads else ""), diagonal[:, :, entry]))
    return rows


def _rank_plot(axes: Axes, draws: np.ndarray, colours: Sequence) -> None:
    """Vehtari et al. 2021: flat histograms mean that the chains agree."""
    ranks = np.argsort(np.argsort(draws, axis=None, kind="stable"), kind="stable")
    ranks = ranks.reshape(draws.shape)
    edges = np.linspace(0, draws.size, RANK_BINS + 1)
    for chain, colour in zip(ranks, colours):
        counts, _ = np.histogram(chain, bins=edges)
        axes.stairs(counts, edges, color=colour, linewidth=1.1, baseline=None)
    axes.axhline(draws.shape[1] / RANK_BINS, color=style.MUTED, linewidth=0.9,
                 linestyle=(0, (4, 2)))
    axes.set_xlim(0, draws.size)
    axes.set_ylim(bottom=0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
