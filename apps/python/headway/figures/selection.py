"""Which sweep points a figure shows, and what stands on its width axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from headway.base.paths import described
from headway.errors import UsageError
from headway.results.best_point import best_of, named_point
from headway.results.result import Point, Result
from headway.results.sweep_arguments import known_temperature, number_of_a_temperature


@dataclass(frozen=True)
class PlotOptions:
    """What the user chose. None: the figure chooses.

    widths: values of the width axis that the multi-panel figures show.
    temperature: the one shown where a figure shows only one.
    path_names: one name a path, shown beside (h_1, ..., h_L). labels: one name a result.
    components: principal components shown. limits_only: of further results draw only their
    Gaussian-process limit.
    """

    widths: tuple[int, ...] | None = None
    temperature: float | None = None
    path_names: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    components: int = 30
    limits_only: bool = False

    def __post_init__(self):
        """UsageError for a choice that no figure could take. Names are those of the command line, as in all figures."""
        checked = {"widths": _checked_widths(self.widths), "path_names": checked_names("--path-names", self.path_names),
                   "labels": checked_names("--labels", self.labels)}
        if self.temperature is not None:
            checked["temperature"] = number_of_a_temperature("--temperature", self.temperature)
        if not _is_whole(self.components) or self.components < 1:
            raise UsageError(f"--components: is {described(self.components)}; allowed: at least 1, a whole number")
        if not isinstance(self.limits_only, (bool, np.bool_)):
            raise UsageError(f"--limits-only: is {described(self.limits_only)}; allowed: true or false")
        for name, value in checked.items():
            object.__setattr__(self, name, value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _checked_widths(widths: Any) -> tuple[int, ...] | None:
    """One width, or several."""
    if widths is None:
        return None
    if _is_whole(widths):
        return (int(widths),)
    several = isinstance(widths, Iterable) and not isinstance(widths, (str, bytes, Mapping))
    found = tuple(widths) if several else ()
    if not found or not all(map(_is_whole, found)):
        raise UsageError(f"--widths: is {described(widths)}; allowed: whole numbers, at least one")
    return tuple(map(int, found))


def checked_names(option: str, names: Any) -> tuple[str, ...] | None:
    """Names that someone gave, or None; UsageError, with this name of the option, for anything but texts."""
    if names is None:
        return None
    several = isinstance(names, Iterable) and not isinstance(names, (str, bytes, Mapping))
    found = tuple(names) if several else ()
    if not several or not all(isinstance(name, str) for name in found):
        raise UsageError(f"{option}: is {described(names)}; allowed: texts, one for each")
    return found


def varying_layer(points: Sequence[Point]) -> int | None:
    """The index of the one width that varies over the points where not all are equal, else None."""
    if all(len(set(point.widths)) == 1 for point in points):
        return None
    table = np.array([point.widths for point in points])
    varying = [column for column in range(table.shape[1]) if len(set(table[:, column])) > 1]
    return varying[0] if len(varying) == 1 else None


def width_value(point: Point, points: Sequence[Point]) -> int:
    """The point's place on the width axis of `points`."""
    layer = varying_layer(points)
    return max(point.widths) if layer is None else point.widths[layer]


def layer_symbol(layer: int, layers: int) -> str:
    """"N_1" .. "N_L", "N_a" for index 0..L."""
    return r"N_\mathrm{a}" if layer == layers else f"N_{{{layer + 1}}}"


def width_label(points: Sequence[Point]) -> str:
    """The label of the width axis."""
    layers = len(points[0].widths) - 1
    if all(len(set(point.widths)) == 1 for point in points):
        return "width $N$ (neurons per layer)"
    layer = varying_layer(points)
    if layer is not None:
        return f"width ${layer_symbol(layer, layers)}$ (neurons)"
    return "largest width (neurons per layer)"


def point_label(point: Point, points: Sequence[Point] | None = None) -> str:
    """"N = 10", or "N_1 = 10, N_2 = 20, N_a = 30" where the widths differ; only "N_1 = 10" where it
    alone varies among `points`."""
    if len(set(point.widths)) == 1:
        return f"$N$ = {point.widths[0]:,}".replace(",", "\u2009")
    layers = len(point.widths) - 1
    layer = varying_layer(points) if points else None
    if layer is not None:
        return f"${layer_symbol(layer, layers)}$ = {point.widths[layer]}"
    return ", ".join(f"${layer_symbol(layer, layers)}$ = {width}"
                     for layer, width in enumerate(point.widths))


def main_temperature(result: Result, options: PlotOptions, among: Sequence[float] = ()) -> float:
    """The temperature shown where a figure shows only one: the user's, else that of the largest evidence. `among`: those of
    the sweep that the figure can show; all without any."""
    temperature = options.temperature
    if temperature is None:
        return best_temperature(result, among or result.temperatures)
    found = known_temperature(temperature, result.temperatures)
    if found is None:
        known = ", ".join(f"{value:g}" for value in result.temperatures)
        raise UsageError(f"--temperature: is {temperature:g}; {result.file} has {known}")
    return found


def best_temperature(result: Result, among: Sequence[float]) -> float:
    """The temperature of the point with the largest evidence; without evidence the study's first."""
    points = [point for point in result.points if point.temperature in among]
    return (best_of(points) or points[0]).temperature


def are_equal(temperatures: Sequence[float]) -> bool:
    """Whether all are the same up to rounding."""
    return all(known_temperature(one, temperatures[:1]) is not None for one in temperatures)


def temperature_text(result: Result, temperature: float) -> str:
    """"T = 0.1"; of a sweep, which of its temperatures that is."""
    text, every = f"T = {temperature:g}", result.temperatures
    if len(every) < 2:
        return text
    best = best_of(result.points)
    chosen = best is not None and temperature == best.temperature
    return f"{text} (1 of {len(every)} temperatures{', largest evidence' if chosen else ''})"


def common_temperatures(results: Sequence[Result], options: PlotOptions) -> list[float]:
    """The temperature that each result shows in a figure of several: one that all have, where there is one."""
    if options.temperature is not None:
        return [main_temperature(result, options) for result in results]
    shared = [temperature for temperature in results[0].temperatures
              if all(known_temperature(temperature, result.temperatures) is not None for result in results)]
    if not shared:
        return [main_temperature(result, options) for result in results]
    chosen = best_temperature(results[0], shared)
    return [known_temperature(chosen, result.temperatures) for result in results]


def place_of(result: Result, point: Any) -> tuple[tuple[int], float]:
    """The widths and the temperature to show of a point: its number, "best", or (width, temperature)."""
    if not isinstance(result, Result):
        raise UsageError(f"point: is {described(point)}; allowed: None, since {result.file} has no points")
    found, _ = named_point(result, point)
    return (width_value(found, points_at(result, found.temperature)),), found.temperature


def points_at(result: Result, temperature: float) -> list[Point]:
    """The points at this temperature by rising width."""
    points = [point for point in result.points if point.temperature == temperature]
    return sorted(points, key=lambda point: (width_value(point, points), point.widths))


def shown_points(result: Result, options: PlotOptions, has: Callable[[Point], bool]) -> list[Point]:
    """The points at the temperature that a figure shows, by rising width; `has`: whether a point has the data."""
    temperature = main_temperature(result, options, [point.temperature for point in result.points if has(point)])
    points = [point for point in points_at(result, temperature) if has(point)]
    if not points:
        raise UsageError(f"--temperature: is {temperature:g}, where {result.file} has not the data for this figure")
    return points


def chosen_points(result: Result, options: PlotOptions, has: Callable[[Point], bool] = bool, most: int = 3) -> list[Point]:
    """The points of a multi-panel figure: the user's widths, else `most` from narrowest to widest."""
    return spread(shown_points(result, options, has), result, options, most)


def spread(points: Sequence[Point], result: Result, options: PlotOptions, most: int) -> list[Point]:
    """Those of `points`, by rising width, that the user chose; else `most` of them, evenly spaced in log width."""
    if options.widths is not None:
        by_width = {width_value(point, points): point for point in points}
        missing = [width for width in options.widths if width not in by_width]
        if missing:
            known = ", ".join(map(str, by_width))
            raise UsageError(f"--widths: is {missing[0]}; {result.file} has {known}")
        return [by_width[width] for width in options.widths]
    if len(points) <= most:
        return list(points)
    logs = np.log([width_value(point, points) for point in points])
    targets = np.linspace(logs[0], logs[-1], most)
    picks = sorted({int(np.argmin(np.abs(logs - target))) for target in targets})
    return [points[index] for index in picks]


def samplers(points: Sequence[Point]) -> str:
    """"exact", or all that occur: "collapsed, exact"; "" where none is known."""
    return ", ".join(dict.fromkeys(point.method for point in points if point.method))


def share_shown(points: Sequence[Point], every: Sequence[Point], has: Callable[[Point], bool] = bool) -> list[str]:
    """["3 of 7 widths"] where a figure leaves out some of those at its temperature; [] where it shows them all."""
    count = sum(point.temperature == points[0].temperature and bool(has(point)) for point in every)
    return [] if len(points) >= count else [f"{len(points)} of {count} widths"]


def width_axis(axes: Axes, points: Sequence[Point], room: float = 0.085) -> None:
    """A logarithmic axis with ticks at widths. Each label needs the share `room` of the axis; a width without room has none."""
    values = sorted({width_value(point, points) for point in points})
    axes.set_xscale("log")
    axes.set_xlabel(width_label(points))
    span = np.log(values[-1] / values[0]) if len(values) > 1 else 1.0
    shown = values[-1:]
    for value in reversed(values[:-1]):
        if np.log(shown[0] / value) > room * span:
            shown.insert(0, value)
    axes.xaxis.set_major_locator(FixedLocator(shown))
    axes.set_xticklabels([f"{value:,}".replace(",", "\u2009") for value in shown])
    axes.xaxis.set_minor_locator(FixedLocator(values) if len(shown) < len(values) else NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    if len(values) == 1:
        axes.set_xlim(values[0] / 2, values[0] * 2)


HEADS_NAMED_UP_TO = 6


def path_labels(result: Result, options: PlotOptions) -> list[str]:
    """"(1,2) adversarial" where the user named the paths, "(1,2) same token → random" where the heads
    have names and the paths are few, else "(1,2)"."""
    names = options.path_names
    if names is None:
        return list(result.paths if len(result.paths) > HEADS_NAMED_UP_TO else result.path_names)
    if len(names) != len(result.paths):
        raise UsageError(f"--path-names: has {len(names)} names; {result.file} has "
                         f"{len(result.paths)} paths: {' '.join(result.paths)}")
    return [f"{path} {name}" for path, name in zip(result.paths, names)]
