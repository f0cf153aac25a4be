"""Scores of trained networks against every number that a sweep changes: depth, heads, data, shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from headway.errors import BadDataError
from headway.figures import learning, style
from headway.figures.selection import PlotOptions
from headway.results.training_results import TrainedRun, TrainingResult, mean_and_error, shared_metric
from headway.results.training_settings import RunSettings, Value, are_crossed, distinct_runs

DATA_SEED = "task.seed"
AXIS_NAMES = {"train.steps": "training examples seen", "train.heads": "heads per layer",
              "task.held_out": "share of the tasks held out", "train.width_multiplier": "width multiplier"}
LOGARITHMIC_FROM = 4.0  # the axis is logarithmic if its largest value is at least this many times the smallest
TASK = ("task.kind", "task.file")  # nothing can be said of numbers between one task and another
NOT_SHOWN = ("train", "validation")  # splits
PANEL_WIDTH, PANEL_HEIGHT, LEGEND_WIDTH = 3.1, 2.7, 1.5  # inches


@dataclass(frozen=True)
class Line:
    """Runs that differ in one number: for each of its values, the runs of all seeds."""

    words: tuple[str, ...]  #: settings that are words and change: attention, say
    numbers: tuple[tuple[str, float], ...]  #: further numbers that change
    runs: Mapping[float, list[TrainedRun]]


@dataclass(frozen=True)
class Axis:
    """One number that the sweep changes, and the lines against it."""

    key: str
    lines: tuple[Line, ...]

    @property
    def name(self) -> str:
        return AXIS_NAMES.get(self.key, self.key.split(".")[-1].replace("_", " "))

    @property
    def values(self) -> list[float]:
        return sorted({value for line in self.lines for value in line.runs})


def axes_of(results: Sequence[TrainingResult]) -> list[Axis]:
    """The numbers that change over the runs, each with its lines. The runs of a line differ only in this number and in
    settings that follow from it; they have the same task and the same metrics. A line has at least two values."""
    scored = _scored(results)
    keys = list(dict.fromkeys(key for one in scored for key in one.settings))
    changing = [key for key in keys if len({one.settings.get(key) for one in scored}) > 1]
    axes: list[Axis] = []
    for key in changing:
        if key == DATA_SEED:
            continue
        known = [one for one in scored if isinstance(one.settings.get(key), float)]
        if any(_follows(axis.key, key, known) and _follows(key, axis.key, known) for axis in axes):
            continue  # two numbers that change together are one axis
        lines = _lines(known, key, [other for other in changing
                                    if other != key and (other in TASK or not _follows(other, key, known))])
        if lines:
            axes.append(Axis(key, lines))
    return axes


def _scored(results: Sequence[TrainingResult]) -> list[RunSettings]:
    """The runs that ended. Where seeds of data and of training are crossed, that of the data is one of the settings, so that
    points are means over independent runs."""
    scored = [one for one in distinct_runs([result.finished for result in results]) if one.run.final]
    alike: dict[tuple, list[tuple[str, int]]] = {}
    for one in scored:
        alike.setdefault(one.alike, []).append((one.data_seed, one.run.seed))
    if not any(map(are_crossed, alike.values())):
        return scored
    return [replace(one, settings={**one.settings, DATA_SEED: float(one.data_seed)}) for one in scored]


def _follows(key: str, leader: str, runs: Sequence[RunSettings]) -> bool:
    """Whether `key` has one value for each value of `leader`."""
    pairs = {(one.settings.get(leader), one.settings.get(key)) for one in runs}
    return len(pairs) == len({first for first, _ in pairs})


def _lines(runs: Sequence[RunSettings], key: str, others: Sequence[str]) -> tuple[Line, ...]:
    found: dict[tuple[Value | None, ...], dict[float, list[TrainedRun]]] = {}
    for one in runs:
        metrics = sorted({str(shared_metric([names])) for names in one.run.final.values()})
        at = found.setdefault((*(one.settings.get(other) for other in others), ",".join(metrics)), {})
        at.setdefault(_place(one, key), []).append(one.run)
    kept = {values: line for values, line in found.items() if len(line) > 1}
    differing = [len({values[column] for values in kept}) > 1 for column in range(len(others))]
    lines = []
    for values, line in kept.items():
        named = [(other, value) for other, value, shown in zip(others, values, differing) if shown]
        lines.append(Line(tuple(str(value) for _, value in named if not isinstance(value, float)),
                          tuple((other, value) for other, value in named if isinstance(value, float)),
                          dict(sorted(line.items()))))
    return tuple(lines)


def _place(one: RunSettings, key: str) -> float:
    """The place on the axis. Steps are counted in training examples seen: one step sees one batch, however many pieces
    train.accumulation cuts it into."""
    examples = float(one.settings.get("train.batch", 1.0)) if key == "train.steps" else 1.0
    return examples * float(one.settings[key])


def available(results: Sequence[TrainingResult]) -> bool:
    return bool(_splits(axes_of(results)))


def _splits(axes: Sequence[Axis]) -> list[str]:
    """The splits that some line has at two of its values."""
    values: dict[str, int] = {}
    for line in (line for axis in axes for line in axis.lines):
        found = Counter(split for runs in line.runs.values() for split in dict.fromkeys(name for run in runs for name in run.final))
        values |= {split: max(count, values.get(split, 0)) for split, count in found.items()}
    return [split for split, count in values.items() if count > 1 and split not in NOT_SHOWN]


def draw(results: Sequence[TrainingResult], options: PlotOptions) -> Figure:
    """The main metric at the end of training, mean and standard error over seeds: a row for each split, a column for each
    number. Colours are variants, dashes are the other numbers that change. Runs that did not end are left out."""
    del options
    columns = axes_of(results)
    metrics = {split: learning.metric_of([result.finished for result in results], split, lambda run: run.final)
               for split in _splits(columns)}
    if not metrics:
        raise BadDataError(f"{results[0].file}: has no runs that differ in a number alone")
    variants = list(dict.fromkeys(line.words for axis in columns for line in axis.lines))
    colours = {words: style.OVERLAY[index % len(style.OVERLAY)] for index, words in enumerate(variants)}
    widths = [PANEL_WIDTH] * len(columns) + ([LEGEND_WIDTH] if len(variants) > 1 else [])
    figure = style.new_figure(sum(widths) + 0.3, PANEL_HEIGHT * len(metrics) + 0.9)
    grid = figure.add_gridspec(len(metrics), len(widths), width_ratios=widths)
    panels = [[figure.add_subplot(grid[row, column]) for column in range(len(columns))] for row in range(len(metrics))]
    for row in panels:
        for axes in row[1:]:
            axes.sharey(row[0])
            axes.tick_params(labelleft=False)
    ceiling = False
    for row, (split, metric) in zip(panels, metrics.items()):
        for axes, axis in zip(row, columns):
            ceiling |= _panel(axes, axis, split, metric, colours)
        for axes in row:  # they share one axis, so it ends where all are drawn
            learning.end_axis(axes, metric)
        row[0].set_ylabel(f"{split.replace('_', ' ')}: {learning.METRIC_NAMES[metric]}")
    for axes, axis in zip(panels[-1], columns):
        axes.set_xlabel(axis.name)
    for axes, axis in zip(panels[0], columns):
        _name_dashes(axes, axis)
    if len(variants) > 1:
        _name_colours(figure.add_subplot(grid[:, -1]), colours)
    seeds = {len(found) for axis in columns for line in axis.lines for found in line.runs.values()}
    left_out = learning.unfinished(results)
    style.head_line(figure, "Scores at the end of training", [replace(result, provenance={}) for result in results], None,
                    _seeds_text(seeds),
                    *(["bars: ± 1 standard error over seeds"] if max(seeds) > 1 else []),
                    *(["dashed: best possible score"] if ceiling else []),
                    *([f"runs left out: {left_out}"] if left_out else []))
    return figure


def _seeds_text(counts: Collection[int]) -> str:
    """The number of seeds at each point: "3 seeds", "1 to 3 seeds"."""
    few, most = min(counts), max(counts)
    return f"{few} to {most} seeds" if few < most else f"{most} seed{'s' if most > 1 else ''}"


def _panel(axes: Axes, axis: Axis, split: str, metric: str, colours: Mapping[tuple[str, ...], str]) -> bool:
    runs = [run for line in axis.lines for found in line.runs.values() for run in found]
    numbers = _numbers(axis)
    for line in axis.lines:
        at = {value: [run.final[split][metric] for run in found if metric in run.final.get(split, {})]
              for value, found in line.runs.items()}
        at = {value: scores for value, scores in at.items() if scores}
        spread = [mean_and_error(np.array(scores)) for scores in at.values()]
        axes.errorbar(list(at), [mean for mean, _ in spread], style.error_bars([error for _, error in spread]),
                      color=colours[line.words], linestyle=_dashes(numbers, line), marker="o", capsize=2.0)
    values = axis.values
    if values[0] > 0.0 and values[-1] >= LOGARITHMIC_FROM * values[0]:
        axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(values))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels([learning.amount(value) for value in values])
    style.light_grid(axes)
    return learning.draw_ceiling(axes, split, metric, runs)


def _numbers(axis: Axis) -> list[tuple[tuple[str, float], ...]]:
    return sorted({line.numbers for line in axis.lines}, key=lambda found: [value for _, value in found])


def _dashes(numbers: Sequence[tuple[tuple[str, float], ...]], line: Line) -> str:
    return learning.DASHES[numbers.index(line.numbers) % len(learning.DASHES)]


def _name_dashes(axes: Axes, axis: Axis) -> None:
    numbers = _numbers(axis)
    if len(numbers) > 1:
        handles = [Line2D([], [], color=style.MUTED, linestyle=learning.DASHES[index % len(learning.DASHES)])
                   for index in range(len(numbers))]
        names = [", ".join(f"{_short_name(key)} {learning.amount(value)}" for key, value in found)
                 for found in numbers]
        style.legend_above(axes, handles, names)


def _short_name(key: str) -> str:
    return "data seed" if key == DATA_SEED else key.split(".")[-1].replace("_", " ")


def _name_colours(axes: Axes, colours: Mapping[tuple[str, ...], str]) -> None:
    style.no_frame(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.legend([Line2D([], [], color=colour, marker="o") for colour in colours.values()],
                [", ".join(words) or "all" for words in colours], loc="center left")
