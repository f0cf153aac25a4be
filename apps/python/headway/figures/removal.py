"""Heads removed from trained networks themselves: results of `headway prune-network`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.figures import style
from headway.figures.heads import LAYER_COLOURS
from headway.figures.selection import PlotOptions
from headway.results.network_results import RemovalResult, RemovalRun, score_kind
from headway.results.training_results import mean_and_error

METRIC_NAMES = {"r2": "$R^2$"}
OTHERS = {"sensitivity": ("gradient sensitivity", "#CC79A7"), "weight_norm": ("weight norm", "#E69F00")}
THEORY = {"theory error_rise": "Blues", "theory U=1": "Greens", "theory score": "Greys"}
LOWEST_R2 = -1.0  # lower values are cut: they are as bad, and would squeeze the rest


def draw(results: Sequence[RemovalResult], options: PlotOptions) -> Figure:
    """A row for each variant. Left: what each head's removal costs. Middle, where heads were removed one by one:
    the metric. Right: rank correlations of the scores with the rise of the loss, in the colours of the middle."""
    del options
    result = results[0]
    rows = max(len(_kinds(result.runs_of(label))) for label in result.labels)
    curves = any(map(_has_curves, result.runs))
    columns = [_losses, *([_curves] if curves else []), _correlations]
    figure = style.new_figure(0.9 + 12.4 * len(columns) / 3, 0.9 + len(result.labels) * max(2.9, 0.9 + 0.24 * rows))
    panels = figure.subplots(len(result.labels), len(columns), squeeze=False)
    cut = False
    for row, label in zip(panels, result.labels):
        runs = result.runs_of(label)
        for axes, show in zip(row, columns):
            show(axes, runs)
        row[0].set_title(label)
        cut |= curves and runs[0].metric == "r2" and row[1].dataLim.y0 < LOWEST_R2
    measured = result.runs[0].network.measured_on.replace("_", " ")
    style.head_line(figure, "Heads removed from trained networks", replace(result, provenance={}), None,
                    f"measured on {measured} examples", "left: bars ± 1 standard error over examples",
                    *(["middle: lowest score first, in the colours of the right, mean ± 1 standard error over networks",
                       *(["grey band: ± 1 standard deviation over random orders"] if all(
                           run.network.random is not None for run in result.runs) else []),
                       *([f"middle: values below {LOWEST_R2:g} are not shown".replace("-", "\u2212")] if cut else [])] if curves else []),
                    "right: diamonds are means ± 1 standard error over networks, circles are single networks with the range "
                    "of 95 % of redrawn examples")
    return figure


def _has_curves(run: RemovalRun) -> bool:
    """Whether heads were removed from it one by one, which prune.cumulative = false leaves out."""
    network = run.network
    return any(order is not None for order in (
        network.random, network.greedy, *(score.rising for score in network.scores.values())))


def _kinds(runs: Sequence[RemovalRun]) -> list[str]:
    return list(dict.fromkeys(score_kind(name) for run in runs for name in run.network.scores))


def _scores(runs: Sequence[RemovalRun], kind: str) -> list:
    return [score for run in runs for name, score in run.network.scores.items()
            if score_kind(name) == kind]


def _name(kind: str) -> str:
    if kind in OTHERS:
        return OTHERS[kind][0]
    return (kind.replace("theory error_rise", "theory's predicted rise,")
            .replace("theory U=1", "the same with U = 1,")
            .replace("theory score", "theory's score,"))


def _colours(kinds: Sequence[str]) -> dict[str, object]:
    """Points of the theory have shades of one colour, dark for the first."""
    found = {kind: OTHERS[kind][1] for kind in kinds if kind in OTHERS}
    for begin, shades in THEORY.items():
        mine = [kind for kind in kinds if kind.startswith(begin)]
        found |= {kind: colormaps[shades](value)
                  for kind, value in zip(mine, np.linspace(0.95, 0.5, max(len(mine), 2)))}
    return found


def _with_curves(kinds: Sequence[str]) -> list[str]:
    """The kinds that get a curve: of the theory its first point alone, since all would hide the rest."""
    first = [next((kind for kind in kinds if kind.startswith(begin)), None) for begin in THEORY]
    return [kind for kind in kinds if kind in OTHERS or kind in first]


def _losses(axes: Axes, runs: Sequence[RemovalRun]) -> None:
    """The rise of the loss without each head, sorted in each network."""
    markers = "osD^v<>"
    for number, run in enumerate(runs):
        order = np.argsort(-run.heads.loss_rise.mean)
        x = np.arange(1, len(order) + 1)
        for layer in sorted(set(run.heads.layer)):
            here = run.heads.layer[order] == layer
            axes.errorbar(x[here], run.heads.loss_rise.mean[order][here],
                          yerr=style.error_bars(run.heads.loss_rise.error[order][here]),
                          linestyle="none", marker=markers[number % len(markers)], markersize=3.8,
                          elinewidth=0.8, color=LAYER_COLOURS[(layer - 1) % len(LAYER_COLOURS)],
                          label=f"layer {layer}, seed {run.seed}")
    axes.axhline(0.0, color=style.INK, linewidth=0.8)
    axes.set_xlabel("heads, the most needed first")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("rise of the loss without the head")
    style.legend_outside(axes, fontsize=7.0)
    style.light_grid(axes)


def _curves(axes: Axes, runs: Sequence[RemovalRun]) -> None:
    if not any(map(_has_curves, runs)):
        axes.set_visible(False)
        return
    if all(run.network.random is not None for run in runs):
        mean = np.mean([run.network.random.mean for run in runs], axis=0)
        sd = np.mean([run.network.random.sd for run in runs], axis=0)
        x = np.arange(len(mean))
        axes.fill_between(x, mean - sd, mean + sd, color="#e2e2e2", linewidth=0, zorder=0)
        axes.plot(x, mean, color=style.MUTED, linewidth=1.4, label="random order, mean", zorder=1)
    kinds = _kinds(runs)
    colours = _colours(kinds)
    for kind in _with_curves(kinds):
        found = [score.rising for score in _scores(runs, kind) if score.rising is not None]
        if found:
            _curve(axes, found, colours[kind])
    greedy = [run.network.greedy for run in runs if run.network.greedy is not None]
    if greedy:
        _curve(axes, greedy, style.SAMPLES, f"greedy search on {runs[0].network.greedy_on} examples")
    axes.set_xlabel("heads removed")
    metric = runs[0].metric
    axes.set_ylabel(METRIC_NAMES.get(metric, metric))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))  # one tick, 0, where no head was removed
    if metric == "r2":
        whole = max(run.network.accuracy_on(run.network.measured_on)[0] for run in runs)
        axes.set_ylim(max(LOWEST_R2, axes.get_ylim()[0]), min(1.0, whole + 0.15))
    elif metric == "accuracy":
        style.end_at_one(axes)
    style.light_grid(axes)
    if axes.get_legend_handles_labels()[1]:
        style.legend_above(axes, columns=1, fontsize=7.0)


def _curve(axes: Axes, found: Sequence, colour, label: str | None = None) -> None:
    mean, error = mean_and_error(np.array([curve.accuracy.mean for curve in found]))
    axes.errorbar(np.arange(len(mean)), mean, yerr=style.error_bars(error), color=colour, marker="o",
                  markersize=2.8, linewidth=1.2, elinewidth=0.8, label=label)


def _correlations(axes: Axes, runs: Sequence[RemovalRun]) -> None:
    """A circle for each network, with the range of 95 % of redrawn examples, and the mean over networks."""
    kinds = _kinds(runs)
    colours = _colours(kinds)
    for row, kind in enumerate(kinds):
        found = [score.error_rise for score in _scores(runs, kind)]
        for number, one in enumerate(found):
            y = row + 0.16 + 0.14 * number
            axes.plot([one.lower, one.upper], [y, y], color=colours[kind], linewidth=0.9)
            axes.plot([one.spearman], [y], marker="o", markersize=3.2, color=colours[kind],
                      markerfacecolor="white")
        mean, error = mean_and_error(np.array([one.spearman for one in found]))
        axes.errorbar([mean], [row - 0.12], xerr=style.error_bars([error]), color=colours[kind],
                      marker="D", markersize=4.5, capsize=2.5)
    axes.axvline(0.0, color=style.INK, linewidth=0.8)
    axes.set_yticks(range(len(kinds)), [_name(kind) for kind in kinds], fontsize=7.0)
    axes.set_ylim(len(kinds) - 0.4, -0.6)
    axes.set_xlim(-1.05, 1.05)
    axes.set_xlabel("rank correlation with the rise of the loss")
    style.light_grid(axes, "x")
