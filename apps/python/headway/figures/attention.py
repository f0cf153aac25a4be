"""Learned attention: the weights of heads, and how sharp they are against the number of examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from headway.figures import style
from headway.figures.selection import PlotOptions, are_equal, common_temperatures, points_at, shown_points
from headway.results.result import Point, Result

HEADS_UP_TO = 4
STARTS = {"none": "from no attention", "given": "from the given attention", "prior": "from the prior"}


def weights_available(result: Result) -> bool:
    return any(map(_has_weights, result.points))


def _has_weights(point: Point) -> bool:
    return bool(point.minima) and point.minima[0].attention_weights is not None


def draw_weights(results: Sequence[Result], options: PlotOptions) -> Figure:
    """W of the learned heads at the lowest minimum of one point, and the minima that were found."""
    result = results[0]
    point = shown_points(result, options, _has_weights)[0]
    heads = np.asarray(point.minima[0].attention_weights)[:HEADS_UP_TO]
    several = len(point.minima) > 1
    figure = style.new_figure(max(3.4, 3.1 * (len(heads) + several)), 3.1)
    panels = figure.subplots(1, len(heads) + several, squeeze=False)[0]
    largest = max(np.abs(heads).max(), 1e-300)
    for number, (axes, weights) in enumerate(zip(panels, heads), start=1):
        image = axes.imshow(weights, cmap=style.DIVERGING, vmin=-largest, vmax=largest, interpolation="nearest")
        axes.set_title("W of the learned head" if len(heads) == 1 else f"W of learned head {number}")
        _count_features(axes)
        axes.set_ylabel("feature of the query")
        figure.colorbar(image, ax=axes, fraction=0.046).outline.set_visible(False)
    if several:
        _minima(panels[-1], point)
    style.head_line(figure, "Learned attention", result, point.temperature,
                    style.counted(len(point.minima), "minimum"))
    return figure


def _count_features(axes) -> None:
    """Ticks at features, which are counted from 0."""
    axes.set_xlabel("feature of the key")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))


def _minima(axes, point: Point) -> None:
    actions = [minimum.action for minimum in point.minima]
    axes.scatter([minimum.attention_largest for minimum in point.minima], actions,
                 s=[12 + 6 * minimum.starts for minimum in point.minima], color=style.THEORY, alpha=0.7, linewidths=0)
    axes.set_title("minima")
    axes.set_xlabel("largest attention weight")
    axes.set_ylabel(r"$S\,/\,\mathrm{max}\,N$")
    style.light_grid(axes)


# ---- one head before and after it appears


def change_available(results: Sequence[Result]) -> bool:
    return any(len(rows) > 1 for rows in _heads_by_branch(results, PlotOptions()).values())


def _heads_by_branch(results: Sequence[Result], options: PlotOptions) -> dict[str, dict[int, np.ndarray]]:
    """{branch: {examples: W of the first learned head}}, of the first result with that number of examples."""
    found: dict[str, dict[int, np.ndarray]] = {}
    known = [result for result in results if result.kind == "solve" and weights_available(result)]
    for result, name, temperature in _named(known, options):
        point = next(filter(_has_weights, points_at(result, temperature)), None)
        if point is not None:
            found.setdefault(name, {}).setdefault(_examples(result), np.asarray(point.minima[0].attention_weights[0]))
    return found


def _named(results: Sequence[Result], options: PlotOptions) -> list[tuple[Result, str, float]]:
    """Each result with its branch and the temperature that it shows. Temperatures that differ make branches of their own."""
    temperatures = common_temperatures(results, options) if results else []
    return [(result, _branch(result) + ("" if are_equal(temperatures) else f", T = {temperature:g}"), temperature)
            for result, temperature in zip(results, temperatures)]


def draw_change(results: Sequence[Result], options: PlotOptions) -> Figure:
    """W of one head with few and with many examples. A row is a branch."""
    found = {name: rows for name, rows in _heads_by_branch(results, options).items() if len(rows) > 1}
    figure = style.new_figure(7.6, 0.4 + 3.0 * len(found))
    panels = figure.subplots(len(found), 2, squeeze=False)
    for axes, (name, rows) in zip(panels, found.items()):
        ends = [(when, count, rows[count]) for when, count in (("before", min(rows)), ("after", max(rows)))]
        largest = max(*(np.abs(weights).max() for *_, weights in ends), 1e-300)  # one scale, so that both compare
        for panel, (when, count, weights) in zip(axes, ends):
            image = panel.imshow(weights, cmap=style.DIVERGING, vmin=-largest, vmax=largest, interpolation="nearest")
            panel.set_title(f"{when}: {style.counted(count, 'example')}")
            _count_features(panel)
        axes[0].set_ylabel(f"{name}\nfeature of the query")
        figure.colorbar(image, ax=list(axes), fraction=0.046).outline.set_visible(False)
    style.head_line(figure, "W of a learned head before and after", [replace(one, train_labels=None) for one in results],
                    _common([result for result in results if result.kind == "solve" and weights_available(result)], options))
    return figure


def _common(results: Sequence[Result], options: PlotOptions) -> float | None:
    """The temperature that all show; None where they differ."""
    temperatures = common_temperatures(results, options)
    return temperatures[0] if are_equal(temperatures) else None


# ---- order parameter of attention against the number of examples


def examples_available(results: Sequence[Result]) -> bool:
    found = [result for result in results if _measured(result) is not None]
    return len({_examples(result) for result in found}) > 1


def _examples(result: Result) -> int:
    return len(result.train_labels)


def _measured(result: Result, points: Sequence[Point] | None = None) -> tuple[float, float, float] | None:
    """Largest attention weight, its error, and the action of one result; None where attention is given."""
    for point in result.points if points is None else points:
        if math.isfinite(point.attention_largest_mean):
            return point.attention_largest_mean, point.attention_largest_mcse, math.nan
        if point.minima and result.kind == "solve":
            return point.minima[0].attention_largest, math.nan, point.minima[0].action
    return None


def _branch(result: Result) -> str:
    """What a branch is called: the verb, and where the attention started."""
    text = str(result.provenance.get("study_toml", ""))
    section = text.partition(f"[{result.kind}]")[2].partition("\n[")[0]
    default = "none" if result.kind == "solve" else "prior"
    start = next((word for word in STARTS if f'attention_start = "{word}"' in section), default)
    kind = ", linear" if 'kind = "linear"' in text.partition("attention_prior")[2].partition("\n")[0] else ""
    return f"{'samples' if result.kind == 'sample' else 'minimum'} {STARTS[start]}{kind}"


def branches(results: Sequence[Result], options: PlotOptions = PlotOptions()) -> dict[str, list[tuple[int, float, float, float]]]:
    """{branch: [(examples, largest weight, its error, action)]}. Several results of one number of examples, such as those
    of several seeds, become their mean and its standard error."""
    found: dict[str, dict[int, list[tuple[float, float, float]]]] = {}
    for result, name, temperature in _named(list(filter(_measured, results)), options):
        measured = _measured(result, points_at(result, temperature))
        if measured is not None:
            found.setdefault(name, {}).setdefault(_examples(result), []).append(measured)
    return {name: [(count, *_mean(values)) for count, values in sorted(by_count.items())]
            for name, by_count in found.items()}


def _mean(values: Sequence[tuple[float, float, float]]) -> tuple[float, float, float]:
    largest, errors, actions = np.array(values).T
    error = float(largest.std(ddof=1) / math.sqrt(len(largest))) if len(largest) > 1 else float(errors[0])
    return float(largest.mean()), error, float(actions.mean())


def draw_examples(results: Sequence[Result], options: PlotOptions) -> Figure:
    found = branches(results, options)
    actions = any(math.isfinite(row[3]) for rows in found.values() for row in rows)
    figure = style.new_figure(9.6 if actions else 6.6, 3.1)
    panels = figure.subplots(1, 1 + actions, squeeze=False)[0]
    for number, (name, rows) in enumerate(found.items()):
        counts, largest, errors, action = map(np.array, zip(*rows))
        colour = style.OVERLAY[number % len(style.OVERLAY)]
        panels[0].errorbar(counts, largest, yerr=style.error_bars(list(errors)), color=colour, marker="o", capsize=2.0,
                           label=name)
        if actions and np.isfinite(action).any():
            panels[1].plot(counts, action / counts, color=colour, marker="o")
    panels[0].set_title("largest attention weight")
    if actions:
        panels[1].set_title("free energy of the minimum")
        panels[1].set_ylabel(r"$S\,/\,(P\,\mathrm{max}\,N)$")
    for axes in panels:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xlabel("training examples P")
        style.light_grid(axes)
    style.legend_outside(panels[-1], *panels[0].get_legend_handles_labels())
    style.head_line(figure, "Learned attention against the number of examples", [replace(one, train_labels=None) for one in results],
                    _common(list(filter(_measured, results)), options))
    return figure
