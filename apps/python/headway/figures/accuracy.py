"""Accuracy against width: theory, its 1/N correction, samples, and the Gaussian-process limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from headway.errors import UsageError
from headway.figures import style
from headway.figures.selection import (PlotOptions, are_equal, common_temperatures, points_at, samplers,
                                       width_axis, width_value)
from headway.results import monte_carlo
from headway.results.result import Point, Result

Measure = Callable[[Point], float]
ACCURACY = "test accuracy"
THEORY_NAME, CORRECTED_NAME = "theory (saddle point)", "theory with 1/$N$ correction"
SAMPLE_LOOKS = ((style.SAMPLES, "D"), (style.OVERLAY[3], "v"), (style.OVERLAY[4], "^"),
                (style.OVERLAY[5], "P"))
SIDE_STEP = 1.05
LONG_NAME = 38  # letters of a name beside which the legend has room for no other
BANDS_UP_TO = 3  # curves whose test-set errors can be told apart when drawn


def available(result: Result) -> bool:
    return any(math.isfinite(_measure(result)[0](point)) for point in result.points)


def draw(results: Sequence[Result], options: PlotOptions) -> Figure:
    """[T24] figure 2: one result over its temperatures, or several results at a temperature that all have. Where they have
    none in common, each has its own, and the legend says which.

    Bands are the standard error of the theory over test examples, as if these were drawn again.
    """
    if options.labels is not None and len(options.labels) != len(results):
        raise UsageError(f"--labels: has {len(options.labels)} names for {len(results)} results")
    figure = style.new_figure(6.4 if options.limits_only else 5.6, 3.8)
    axes = figure.add_subplot()
    if options.labels is None:
        results = _different(results)
    results, names = _with_theory(results, options.labels or result_names(results))
    main = results[0]
    measure, label = _measure(main)
    temperatures = sorted({point.temperature for point in main.points})
    alone = len(results) == 1 and len(temperatures) > 1 and options.temperature is None
    title = f"{label[0].upper()}{label[1:]} against the width"
    if alone:
        bands = _temperatures(axes, main, temperatures, measure)
        style.head_line(figure, title, main, None, *about_test_set([main], bands))
    else:
        series = [_Series(*one) for one in zip(results, names, common_temperatures(results, options))]
        bands = _results(axes, series, options, measure)
        same = len({result.study for result in results}) == 1
        drawn = [monte_carlo.by_chains(point) for one in series if one.result.kind == "sample"
                 for point in one.points if math.isfinite(measure_error(point))]
        common = are_equal([one.temperature for one in series])
        style.head_line(figure, title, results, series[0].temperature if common else None,
                        *([] if common else ["the temperatures differ: see the legend"]), *about_test_set(
                            [one for one in results if one.kind != "sample"] or results, bands),
                        *([f"bars: {monte_carlo.bars_text(drawn)}"] if drawn else []),
                        study=same or options.limits_only)
    width_axis(axes, [point for result in results for point in result.points
                      if len(point.widths) == len(main.points[0].widths)])
    axes.set_ylabel(label)
    if label == ACCURACY:
        style.end_at_one(axes)
    style.light_grid(axes)
    return figure


@dataclass(frozen=True)
class _Series:
    """What one result shows, and its name in the legend."""

    result: Result
    name: str
    temperature: float

    @property
    def points(self) -> list[Point]:
        return points_at(self.result, self.temperature)


def result_names(results: Sequence[Result]) -> tuple[str, ...]:
    """A name for each result: its study. Where studies share it, the file stands behind. Samples have the name of the theory of
    their study and data where there is one, else that of the first samples."""
    owners = []
    for at, result in enumerate(results):
        alike = [place for place, other in enumerate(results) if _origin(other) == _origin(result)]
        solved = [place for place in alike if results[place].kind != "sample"]
        sampled = [place for place in alike if results[place].kind == "sample"]
        owners.append(at if result.kind != "sample" else (solved if len(solved) == 1 else sampled)[0])
    names: dict[int, str] = {}
    for owner in dict.fromkeys(owners):
        result = results[owner]
        alone = all(other == owner or results[other].study != result.study for other in owners)
        name = result.study if alone else f"{result.study} ({Path(result.file).stem})"
        names[owner] = f"{name} {owner + 1}" if name in names.values() else name
    return tuple(names[owner] for owner in owners)


def _of_samples(result: Result, name: str, options: PlotOptions) -> str:
    """The name of samples: that of their theory, but with their own file where there is one in it."""
    return name if options.labels is not None or name == result.study else f"{result.study} ({Path(result.file).stem})"


def _different(results: Sequence[Result]) -> list[Result]:
    """Without theories whose points another result has, too: one of `prune` or `align` holds what `solve` found."""
    theories = {at: theory_of(result) for at, result in enumerate(results) if result.kind != "sample"}
    return [result for at, result in enumerate(results) if at not in theories or not any(
        theories[at] < other or theories[at] == other and place < at for place, other in theories.items())]


def theory_of(result: Result) -> frozenset:
    """The points of a theory: equal for results that hold the same, less for one that holds some of them."""
    def known(value: float) -> float | None:  # NaN is unequal to itself
        return value if math.isfinite(value) else None
    return frozenset((_origin(result), point.widths, point.temperature, known(point.action), known(point.accuracy),
                      known(point.test_mean_squared_error)) for point in result.points)


def _origin(result: Result) -> tuple:
    return result.study, result.provenance.get("data_hash")


def about_test_set(results: Sequence[Result], bands: bool) -> list[str]:
    """What the bands are. Where there are too many curves for bands, the range of the errors in their place."""
    errors = [set_error(result, point) for result in results for point in result.points]
    errors = [error for error in errors if math.isfinite(error)]
    if not errors:
        return []
    known = [result.test_labels for result in results if result.test_labels is not None]
    shared = all(np.array_equal(labels, known[0]) for labels in known)
    examples = style.counted(len(known[0]), "test example") if shared else "the test examples of each result"
    if bands:
        return [f"bands: ± 1 standard error over {examples}{', which all points share' if shared else ''}"]
    low, high = (f"{value:.2g}" for value in (min(errors), max(errors)))
    span = low if low == high else f"{low} to {high}"
    return [f"not drawn: standard error over {examples}, {span}"]


def _with_theory(results: Sequence[Result], names: Sequence[str]
                 ) -> tuple[list[Result], tuple[str, ...]]:
    """A `sample` result brings its theory, unless a solve result of the same study and data is there."""
    solved = {_origin(result) for result in results if result.kind != "sample"}
    before, before_names = [], []
    for result, name in zip(results, names):
        if result.kind == "sample" and _origin(result) not in solved and result.theory is not None:
            solved.add(_origin(result))
            before.append(result.theory)
            before_names.append(name)
    return [*before, *results], (*before_names, *names)


def _measure(result: Result) -> tuple[Measure, str]:
    """Test accuracy, or the mean squared error where labels are no classes."""
    if any(math.isfinite(point.accuracy) for point in result.points):
        return (lambda point: point.accuracy), ACCURACY
    return (lambda point: point.test_mean_squared_error), "test mean squared error"


def measure_error(point: Point) -> float:
    """Monte Carlo standard error of a sampled point's accuracy; NaN where it is not known, as for the squared error.

    The accuracy is that of the posterior-mean predictor. The scatter of single draws says nothing of it: their mean
    accuracy is another number."""
    if not math.isfinite(point.accuracy):
        return math.nan
    return float(point.attributes.get("accuracy_mcse", math.nan))


def measure_bar(point: Point) -> float:
    """Half the length of the bar that holds 95 % of it."""
    return monte_carlo.by_chains(point) * measure_error(point)


def set_error(result: Result, point: Point) -> float:
    """Standard error over the test examples of the measure that _measure() takes; NaN where it is not known.

    Accuracies are shares of right answers, so that of M examples has sqrt(a (1 - a) / M). All points of a
    study are measured on the same examples: differences between them have smaller errors.
    """
    if result.test_labels is None:
        return math.nan
    count = len(result.test_labels)
    if math.isfinite(point.accuracy):
        return math.sqrt(max(point.accuracy * (1.0 - point.accuracy), 0.0) / count)
    mean = point.predictor.mean
    if mean is None or mean.shape != result.test_labels.shape or count < 2:
        return math.nan
    squares = (mean - result.test_labels).reshape(count, -1) ** 2
    return float(squares.mean(axis=1).std(ddof=1) / math.sqrt(count))


def _gaussian_process(result: Result, temperature: float, measure: Measure) -> float:
    """The measure in the limit of infinite width; NaN where the file has none."""
    limit = result.gaussian_process_at(temperature)
    return measure(limit) if limit is not None else math.nan


def _temperatures(axes: Axes, result: Result, temperatures: Sequence[float],
                  measure: Measure) -> bool:
    """Draws one curve and one dashed line for each temperature; returns whether bands were drawn."""
    bands = len(temperatures) <= BANDS_UP_TO
    colours = style.ordered_colours(len(temperatures))
    for temperature, colour in zip(temperatures, colours):
        points = points_at(result, temperature)
        _curve(axes, points, [measure(point) for point in points], colour, f"{temperature:g}")
        if bands:
            _band(axes, result, points, measure, colour)
        limit = _gaussian_process(result, temperature, measure)
        if math.isfinite(limit):
            axes.axhline(limit, color=colour, linestyle=(0, (4, 2)), linewidth=1.0, zorder=1)
    handles, labels = axes.get_legend_handles_labels()
    style.legend_outside(axes, handles + [_dashed(style.GAUSSIAN_PROCESS)],
                         labels + ["Gaussian process"], title="temperature $T$")
    return bands


def _results(axes: Axes, series: Sequence[_Series], options: PlotOptions, measure: Measure) -> bool:
    """Draws each study in a colour of its own, and samples with marks of their own; returns whether bands were drawn. Names
    have the temperature where not all have the same."""
    sampled, bands = 0, False
    studies = list(dict.fromkeys(one.name for one in series))
    single = len(studies) == 1
    draw_bands = len(studies) <= BANDS_UP_TO
    common = are_equal([one.temperature for one in series])
    limits: dict[tuple, tuple[float, str, str]] = {}  # one of a study and its data at a temperature, however many hold it
    for index, one in enumerate(series):
        result, name, points = one.result, one.name, one.points
        colour = style.OVERLAY[studies.index(name) % len(style.OVERLAY)]
        values = [measure(point) for point in points]
        limit = _gaussian_process(result, one.temperature, measure)
        at = "" if common else f", $T$ = {one.temperature:g}"
        if math.isfinite(limit):
            named = (name if options.limits_only and not single else "GP") + (f"{at}:" if at else "")
            limits.setdefault((_origin(result), one.temperature), (limit, style.GAUSSIAN_PROCESS if single else colour, named))
        if index > 0 and options.limits_only and result.kind != "sample":
            continue
        if result.kind == "sample":
            own = style.INK if options.limits_only else colour  # with limits only, there is one curve to belong to
            of = "posterior samples"
            if not single and not options.limits_only:
                of = f"{_of_samples(result, name, options)}: samples"
            _samples(axes, points, values, SAMPLE_LOOKS[sampled % len(SAMPLE_LOOKS)][0] if single else own, sampled, of, at)
            sampled += 1
        else:
            _curve(axes, points, values, colour,
                   (THEORY_NAME if single or options.limits_only else name) + at)
            if draw_bands:
                bands |= _band(axes, result, points, measure, colour)
            if single or options.limits_only:
                _corrected(axes, points, measure)
    _limit_lines(axes, list(limits.values()))
    handles, labels = axes.get_legend_handles_labels()
    if limits:
        handles.append(_dashed(style.GAUSSIAN_PROCESS))
        labels.append("Gaussian process ($N \\to \\infty$)")
    style.legend_above(axes, handles, labels, columns=2 if max(map(len, labels)) <= LONG_NAME else 1)
    return bands


def _curve(axes: Axes, points: Sequence[Point], values: Sequence[float], colour, label: str) -> None:
    """Line and dots; a point that did not converge is hollow."""
    x = [width_value(point, points) for point in points]
    axes.plot(x, values, color=colour, marker="o", label=label, zorder=3, clip_on=False)
    hollow = [(at, value) for at, value, point in zip(x, values, points) if not point.converged]
    if hollow:
        axes.plot(*zip(*hollow), linestyle="none", marker="o", markerfacecolor="white",
                  markeredgecolor=colour, zorder=4, label="not converged", clip_on=False)


def _band(axes: Axes, result: Result, points: Sequence[Point], measure: Measure, colour) -> bool:
    """Draws the standard error over test examples about a curve; returns whether it is known."""
    errors = np.array([set_error(result, point) for point in points])
    if not np.isfinite(errors).any():
        return False
    x, values = ([of(point) for point in points] for of in (lambda point: width_value(point, points), measure))
    if len(points) == 1:  # a band has no width there
        axes.errorbar(x, values, yerr=errors, color=colour, alpha=0.4, linestyle="none", capsize=2.5, zorder=0)
    else:
        axes.fill_between(x, values - errors, values + errors, color=colour, alpha=0.15, linewidth=0, zorder=0)
    return True


def _corrected(axes: Axes, points: Sequence[Point], measure: Measure) -> None:
    pairs = [(width_value(point, points), measure(point.corrected)) for point in points
             if point.corrected is not None and point.corrected.defined]
    pairs = [pair for pair in pairs if math.isfinite(pair[1])]
    if pairs:
        axes.plot(*zip(*pairs), color=style.CORRECTED, marker="s", markersize=4.2, linewidth=1.0,
                  linestyle=(0, (1, 1.2)), label=CORRECTED_NAME, zorder=2,
                  markerfacecolor="white", clip_on=False)


def _samples(axes: Axes, points: Sequence[Point], values: Sequence[float], colour,
             index: int, name: str, at: str) -> None:
    """The posterior-mean predictor, with bars where its Monte Carlo error is known; several samplers
    stand beside each other."""
    bars = style.error_bars([measure_bar(point) for point in points])
    method = samplers(points)
    x = [width_value(point, points) * SIDE_STEP ** index for point in points]
    name += (f" ({method})" if method else "") + at
    twins = sum(label.startswith(name) for label in axes.get_legend_handles_labels()[1])
    name += f" {twins + 1}" if twins else ""
    axes.errorbar(x, values, yerr=bars, color=colour, linestyle="none",
                  marker=SAMPLE_LOOKS[index % len(SAMPLE_LOOKS)][1], markersize=4.5, capsize=2.5,
                  elinewidth=1.0, zorder=5,
                  label=name)


def _limit_lines(axes: Axes, limits: Sequence[tuple[float, str, str]]) -> None:
    """Dashed lines, each named at the right end; names of close lines are moved apart."""
    for value, colour, _ in limits:
        axes.axhline(value, color=colour, linestyle=(0, (4, 2)), linewidth=1.2, zorder=1)
    bottom, top = axes.get_ylim()
    apart = 0.07 * (top - bottom)
    place = -math.inf
    for value, colour, name in sorted(limits):
        place = max(value, place + apart)
        axes.annotate(f"{name} {value:.3f}", (1.0, place), xycoords=("axes fraction", "data"),
                      xytext=(4, 0), textcoords="offset points", va="center", fontsize=8,
                      color=colour)
    axes.set_ylim(bottom, top)


def _dashed(colour) -> Line2D:
    return Line2D([], [], color=colour, linestyle=(0, (4, 2)), linewidth=1.2)
