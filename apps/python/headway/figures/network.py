"""The trained network beside the theory: head scores and drops, U_1, accuracy on every set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.figures import accuracy, heads, style
from headway.figures.order_parameters import (NUMBERS_UP_TO, entry_scale, entry_ticks,
                                              name_paths)
from headway.figures.path_sizes import size_warning
from headway.figures.selection import (PlotOptions, chosen_points, common_temperatures, path_labels,
                                       point_label, points_at, share_shown, width_axis, width_value)
from headway.results import monte_carlo
from headway.results.network_results import Correlation, NetworkPruning
from headway.results.result import GaussianProcessPoint, Point, Result
from headway.results.sweep_arguments import known_temperature

NETWORK = style.CORRECTED
SET_NAMES = ("validation",)  # shown before sets of another kind


def available(results: Sequence[Result]) -> bool:
    return results[0].network is not None and any(point.network for point in results[0].points)


def _points(result: Result, options: PlotOptions) -> list[Point]:
    return chosen_points(result, options, _has_network)


def _has_network(point: Point) -> bool:
    return bool(point.network)


def correlation_text(correlation: Correlation) -> str:
    """"ρ = 0.62 [0.33, 0.81]": Spearman's rho, and 95 % of the redrawn test examples."""
    if math.isnan(correlation.spearman):
        return r"$\rho$ undefined"
    low, value, high = (f"{number:.2f}".replace("-", "\u2212") for number in (
        correlation.lower, correlation.spearman, correlation.upper))
    return rf"$\rho$ = {value}  [{low}, {high}]"


# ---- head scores beside drops


def draw_heads(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 3: for each width the theory's score of each head, what its removal costs the
    trained network, and one against the other."""
    result = results[0]
    points = _points(result, options)
    count = sum(result.heads)
    figure = style.new_figure(9.0, 1.0 + len(points) * max(1.6, 0.6 + 0.21 * count))
    panels = figure.subplots(len(points), 3, squeeze=False, sharex="col",
                             gridspec_kw={"width_ratios": [1.0, 1.0, 1.0]})
    for row, point in enumerate(points):
        last = row == len(points) - 1
        _score_bars(panels[row, 0], result, point, last)
        _drop_bars(panels[row, 1], result, row == 0, last)
        _scatter(panels[row, 2], result, point, row == 0, last)
    warning = size_warning(result)
    style.head_line(figure, "The theory's scores of heads, and what the trained network loses without each head", result,
                    points[0].temperature, *share_shown(points, result.points, _has_network), "colours: layers",
                    f"bars: ± 1 standard error over {result.network.measured_on} examples",
                    r"$\rho$: rank correlation, with the range of 95 % of redrawn examples",
                    *([warning.replace("U_1", "$U_1$")] if warning else []))
    return figure


def _layers(result: Result) -> list[int]:
    return [layer for layer, number in enumerate(result.heads, 1) for _ in range(number)]


def _colours(result: Result) -> list[str]:
    return [heads.LAYER_COLOURS[(layer - 1) % len(heads.LAYER_COLOURS)] for layer in _layers(result)]


def _bars(axes: Axes, result: Result, values: np.ndarray, errors: np.ndarray | None = None) -> None:
    places = np.arange(len(values))
    axes.barh(places, values, height=0.68, color=_colours(result), xerr=errors,
              error_kw={"elinewidth": 1.0, "capsize": 2.0, "ecolor": style.INK})
    axes.set_ylim(len(values) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.axvline(0.0, color=style.INK, linewidth=0.8)
    style.light_grid(axes, "x")


def _score_bars(axes: Axes, result: Result, point: Point, last: bool) -> None:
    scores = point.network["score"].score
    _bars(axes, result, scores)
    names = [f"layer {layer}, {style.plain(name)}" for layer, of_layer in enumerate(result.head_names, 1)
             for name in of_layer]
    axes.set_yticks(np.arange(len(scores)), names)
    axes.set_xlim(0, 1.04)
    axes.set_title(point_label(point))
    if last:
        axes.set_xlabel("theory: score of the head")


def _drop_bars(axes: Axes, result: Result, first: bool, last: bool) -> None:
    network = result.network
    mean, error, name = _losses(network)
    _bars(axes, result, mean, style.error_bars(error))
    axes.set_yticks(np.arange(len(mean)), [""] * sum(result.heads))
    if first and _is_classes(network):
        accuracy_of, error_of = network.accuracy_on(network.measured_on)
        axes.set_title(f"all heads: {100 * accuracy_of:.1f} ± {100 * error_of:.1f} %")
    if last:
        axes.set_xlabel(f"network: {name}" + ("\n(percentage points)" if _is_classes(network) else ""))


def _is_classes(network: NetworkPruning) -> bool:
    return bool(np.isfinite(network.accuracy_drop.mean).any())


def _losses(network: NetworkPruning) -> tuple[np.ndarray, np.ndarray, str]:
    """What each head's removal costs, its error, and what that is: accuracy in points, or the squared
    error where labels are no classes."""
    if _is_classes(network):
        return (100.0 * network.accuracy_drop.mean, 100.0 * network.accuracy_drop.error,
                "drop of accuracy")
    return network.error_rise.mean, network.error_rise.error, "rise of the squared error"


def _scatter(axes: Axes, result: Result, point: Point, first: bool, last: bool) -> None:
    (mean, error, name), score = _losses(result.network), point.network["score"]
    layers = np.asarray(_layers(result))
    for layer in sorted(set(layers)):
        chosen = layers == layer
        colour = heads.LAYER_COLOURS[(layer - 1) % len(heads.LAYER_COLOURS)]
        axes.errorbar(score.score[chosen], mean[chosen], style.error_bars(error[chosen]),
                      linestyle="none", marker="o", markersize=4.5, elinewidth=0.9, color=colour,
                      label=f"layer {layer}")
    axes.axhline(0.0, color=style.FAINT, linewidth=0.8, zorder=0)
    axes.set_title(correlation_text(score.accuracy_drop if _is_classes(result.network)
                                    else score.error_rise))
    axes.set_ylabel(name)
    style.light_grid(axes, "both")
    if first:
        style.legend_outside(axes, handletextpad=0.1)
    if last:
        axes.set_xlabel("theory: score of the head")


# ---- U_1 of theory, samples and network


def draw_order_parameters(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 3: U_1 of the theory, of posterior samples where a further result has them at the
    same point, and of the trained network, each divided by the mean of its diagonal."""
    result = results[0]
    data = result.provenance.get("data_hash")
    sampled = {(point.widths, point.temperature): point.samples.mean[0] for other in results
               if other.provenance.get("data_hash") == data and other.heads == result.heads
               for point in other.points if point.samples is not None and point.samples.mean}
    panels, points = [], _points(result, options)
    for point in points:
        panels.append((f"theory, {point_label(point)}", point.order_parameters[0]))
        samples = sampled.get((point.widths, point.temperature))
        if samples is not None:
            panels.append((f"samples, {point_label(point)}", samples))
    panels.append(("trained network", result.network.order_parameter))
    scaled = [(name, matrix / np.mean(np.diag(matrix))) for name, matrix in panels]
    return _heat_maps(result, scaled, options, points[0].temperature)


def _heat_maps(result: Result, panels: list[tuple[str, np.ndarray]], options: PlotOptions,
               temperature: float) -> Figure:
    labels = path_labels(result, options)
    size = max(1.7, min(2.6, 0.5 * len(panels[0][1])))
    columns = min(len(panels), 4)
    rows = math.ceil(len(panels) / columns)
    margins = style.Margins(left=0.45 + 0.072 * max(map(len, labels)), top=0.93, row_gap=1.0,
                            bottom=0.72 if len(result.paths) > NUMBERS_UP_TO else 0.5)
    figure, grid, bar_axes = style.image_grid(rows, columns, size, margins)
    largest = max(np.abs(matrix).max() for _, matrix in panels)
    scale = entry_scale(largest, 1.0)
    network = panels[-1][1]
    for place, axes in enumerate(grid.flat):
        if place >= len(panels):
            axes.set_visible(False)
            continue
        name, matrix = panels[place]
        image = axes.imshow(matrix, cmap=style.DIVERGING, norm=scale,
                            interpolation="nearest")
        axes.set_title(name if matrix is network else
                       f"{name}\nagreement {_agreement_text(agreement(matrix, network))}",
                       fontsize=8.5)
        name_paths(axes, result, labels, place % columns == 0)
    bar = figure.colorbar(image, cax=bar_axes)
    bar.outline.set_visible(False)
    bar.set_ticks(entry_ticks(largest, 1.0))
    bar.ax.minorticks_off()
    bar.ax.set_yticklabels([f"{tick:g}".replace("-", "\u2212") for tick in bar.get_ticks()])
    bar.set_label(r"$U_1\,/\,$mean of its diagonal")
    sampled = any(name.startswith("samples") for name, _ in panels)
    style.head_line(figure, "U₁ of the theory, of samples and of the trained network" if sampled else
                    "U₁ of the theory and of the trained network", result, temperature,
                    "each divided by the mean of its diagonal",
                    "agreement: cosine between the deviations from the identity")
    return figure


def agreement(a: np.ndarray, b: np.ndarray) -> float:
    """Cosine between the entries of a - I and b - I; NaN where one of them is the identity.

    Both matrices have a mean diagonal of 1. The identity then stands for a network that uses all paths alike, as the
    Gaussian process does. Two networks agree in what they share beyond it.
    """
    a, b = a - np.eye(len(a)), b - np.eye(len(b))
    norms = math.sqrt(np.sum(a * a) * np.sum(b * b))
    return float(np.sum(a * b) / norms) if norms > 0.0 else math.nan


def _agreement_text(value: float) -> str:
    return "undefined" if math.isnan(value) else f"{value:.2f}".replace("-", "\u2212")


# ---- accuracy on every set


RULES = {"validation": ("$T$ chosen on validation examples", style.THEORY, "-", "o"),
         "evidence": ("$T$ chosen by evidence", "#56B4E9", "-", "s"),
         "test": ("$T$ chosen on test examples (optimistic)", style.THEORY, (0, (1, 1.5)), None)}


@dataclass(frozen=True)
class _Line:
    """The theory over widths at temperatures taken by one rule, and its Gaussian process."""

    label: str
    colour: str
    style: object
    marker: str | None
    points: list[Point]
    limit: GaussianProcessPoint | None


def sets_available(results: Sequence[Result]) -> bool:
    """Whether there is more to show than the test set: further sets, or a trained network."""
    result = results[0]
    known = any(math.isfinite(point.accuracy) for point in result.points)
    return known and (bool(result.set_names) or result.network is not None)


def draw_sets(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 3: accuracy against width in and out of distribution: the theory and its Gaussian
    process, samples of further results, and the trained network of any of them.

    Where several temperatures were swept and the user chose none, each width has the temperature that
    each rule chooses for it.
    """
    result = results[0]
    lines = _lines(results, options)
    further = sorted(result.set_names, key=lambda name: name not in SET_NAMES)
    sets = ["test", *further]
    columns = min(3, len(sets))
    rows = math.ceil(len(sets) / columns)
    figure = style.new_figure(3.2 + 2.6 * columns, 0.8 + 2.5 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for place, axes in enumerate(panels.flat):
        if place < len(sets):
            _set_panel(axes, results, lines, sets[place])
            axes.set_title(sets[place].replace("_", " "))
            axes.set_xlabel(axes.get_xlabel() if place + columns >= len(sets) else "")
            if place % columns == 0:
                axes.set_ylabel("accuracy")
        else:
            axes.set_visible(False)
    handles, labels = panels.flat[0].get_legend_handles_labels()
    style.legend_outside(panels[0, -1], handles, labels)
    style.head_line(figure, "Accuracy on every set against the width", result, lines[0].points[0].temperature
                    if lines[0].label == "theory" else None, *accuracy.about_test_set([result], bands=False))
    return figure


def _lines(results: Sequence[Result], options: PlotOptions) -> list[_Line]:
    """One line of the first result for each rule of choosing temperatures; without rules one at the shown temperature."""
    result, lines = results[0], []
    for rule, (label, colour, dashes, marker) in RULES.items():
        chosen = [choice for choice in result.choices if choice.by == rule]
        points = [choice.chosen for choice in chosen if choice.model == "theory"]
        limits = [choice.chosen for choice in chosen if choice.model != "theory"]
        if points and options.temperature is None:
            points.sort(key=lambda point: width_value(point, points))
            lines.append(_Line(f"theory, {label}", colour, dashes, marker, points,
                               limits[0] if limits else None))
    if lines:
        return lines
    sampled = [other for other in results[1:] if any(point.samples is not None for point in other.points)]
    temperature = common_temperatures([result, *sampled], options)[0]
    return [_Line("theory", style.THEORY, "-", "o", points_at(result, temperature),
                  result.gaussian_process_at(temperature))]


def accuracy_on(measured: Point | GaussianProcessPoint, name: str) -> float:
    """Accuracy of a predictor on "test" or a further set; NaN where it is not known."""
    if name == "test":
        return measured.accuracy
    found = measured.sets.get(name)
    return found.accuracy if found is not None else math.nan


def _set_panel(axes: Axes, results: Sequence[Result], lines: list[_Line], name: str) -> None:
    for line in lines:
        axes.plot([width_value(point, line.points) for point in line.points],
                  [accuracy_on(point, name) for point in line.points], color=line.colour,
                  linestyle=line.style, marker=line.marker, markersize=4, label=line.label, zorder=3,
                  clip_on=False)
    limit = lines[0].limit
    if limit is not None and math.isfinite(accuracy_on(limit, name)):
        axes.axhline(accuracy_on(limit, name), color=style.GAUSSIAN_PROCESS, linestyle=(0, (4, 2)),
                     linewidth=1.2, zorder=1,
                     label=f"Gaussian process{lines[0].label.removeprefix('theory')}")
    _all_samples(axes, results, lines, name)
    network = next((result.network for result in results if result.network is not None), None)
    if network is not None and name in network.set_names:
        mean, error = network.accuracy_on(name)
        axes.axhline(mean, color=NETWORK, linewidth=1.4, label="trained network, ± 1 standard error\nover examples", zorder=2)
        axes.axhspan(mean - error, mean + error, color=NETWORK, alpha=0.15, linewidth=0)
    width_axis(axes, lines[0].points, room=0.2)
    style.end_at_one(axes)
    style.light_grid(axes)


def _all_samples(axes: Axes, results: Sequence[Result], lines: list[_Line], name: str) -> None:
    """Of each result with samples those at the temperatures of the lines, or all where it has none of them."""
    shown, drawn = [point.temperature for line in lines for point in line.points], 0
    for result in results:
        sampled = [point for point in result.points if point.samples is not None]
        every = sorted({point.temperature for point in sampled})
        for temperature in [one for one in every if known_temperature(one, shown) is not None] or every:
            points = [point for point in points_at(result, temperature) if point.samples is not None]
            _samples(axes, points, name, accuracy.SAMPLE_LOOKS[drawn % len(accuracy.SAMPLE_LOOKS)])
            drawn += 1


def _samples(axes: Axes, points: list[Point], name: str, look: tuple[str, str]) -> None:
    """Accuracy of the posterior-mean predictor at one temperature; on the test set with its Monte Carlo error."""
    bars = style.error_bars([accuracy.measure_bar(point) if name == "test" else math.nan for point in points])
    axes.errorbar([width_value(point, points) for point in points],
                  [accuracy_on(point, name) for point in points], yerr=bars, color=look[0],
                  linestyle="none", marker=look[1], markersize=4.5, capsize=2.5, elinewidth=1.0,
                  label=f"posterior samples, T = {points[0].temperature:g}" +
                  ("" if bars is None else f",\n{monte_carlo.bars_text(map(monte_carlo.by_chains, points))}"), zorder=5)
