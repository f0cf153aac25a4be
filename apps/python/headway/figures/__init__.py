"""All figures by name. `draw_all(results)` makes those that the first result has the data for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from headway.errors import BadDataError, UsageError
from headway.figures import (accuracy, alignment, convergence, heads, learning, limits, network,
                             network_curves, order_parameters, path_kernels, samples, style)
from headway.figures.selection import PlotOptions
from headway.results import Result
from headway.training_results import TrainingResult

__all__ = ["FIGURES", "FigureKind", "PlotOptions", "draw_all", "rendered"]

rendered = style.rendered


@dataclass(frozen=True)
class FigureKind:
    """`available` says whether these results hold what the figure shows; `draw` makes it."""

    available: Callable[[Sequence[Result]], bool]
    draw: Callable[[Sequence[Result], PlotOptions], Figure]
    of_training: bool = False  # shows results of `headway train`; the others are of the theory
    needs: str = ""  # what a result of the right verb may still lack


def _first(available: Callable[[Result], bool]) -> Callable[[Sequence[Result]], bool]:
    return lambda results: available(results[0])


FIGURES: dict[str, FigureKind] = {
    "accuracy_against_width": FigureKind(_first(accuracy.available), accuracy.draw),
    "order_parameters": FigureKind(_first(order_parameters.available), order_parameters.draw),
    "kernel_alignment": FigureKind(_first(alignment.available), alignment.draw),
    "path_kernels": FigureKind(_first(path_kernels.available), path_kernels.draw),
    "head_scores": FigureKind(_first(heads.available), heads.draw),
    "pruning": FigureKind(_first(heads.curves_available), heads.draw_curves,
                          needs="labels that are classes"),
    "accuracy_on_sets": FigureKind(network.sets_available, network.draw_sets),
    "network_heads": FigureKind(network.available, network.draw_heads),
    "network_order_parameters": FigureKind(network.available, network.draw_order_parameters),
    "network_pruning": FigureKind(network_curves.available, network_curves.draw),
    "network_pruning_over_seeds": FigureKind(
        network_curves.seeds_available, network_curves.draw_seeds,
        needs="several results of headway prune, each on another trained network"),
    "readout_and_action": FigureKind(_first(order_parameters.scalars_available),
                                     order_parameters.draw_scalars),
    "convergence": FigureKind(_first(convergence.available), convergence.draw),
    "theory_against_samples": FigureKind(samples.comparison_available, samples.draw_comparison),
    "traces": FigureKind(lambda results: any(map(samples.traces_available, results)),
                         samples.draw_traces),
    "where_the_theory_ends": FigureKind(lambda results: any(map(limits.available, results)),
                                        limits.draw, needs="samples at three widths or more"),
    "learning_curves": FigureKind(learning.available, learning.draw, of_training=True),
}


def draw_all(results: Result | Sequence[Result], options: PlotOptions | None = None,
             only: Sequence[str] | None = None) -> dict[str, Figure]:
    """The figures of one result or of several, by name. The first is the one drawn; others are overlaid
    where a figure can.

    Errors: UsageError for an unknown name or choice, BadDataError where there is nothing to draw.
    """
    options = options or PlotOptions()
    results = [results] if isinstance(results, (Result, TrainingResult)) else list(results)
    unknown = [name for name in only or () if name not in FIGURES]
    if unknown:
        raise UsageError(f"--only: is {unknown[0]}; known: {', '.join(FIGURES)}")
    trained = isinstance(results[0], TrainingResult)
    other = next((result for result in results if isinstance(result, TrainingResult) != trained),
                 None)
    if other is not None:
        raise BadDataError(f"{other.file}: a result of training and one of the theory cannot share "
                           "a figure")
    if not (results[0].runs if trained else results[0].points):
        raise BadDataError(f"{results[0].file}: holds no {'runs' if trained else 'points'}, so "
                           "there is nothing to draw")
    kinds = {name: kind for name, kind in FIGURES.items()
             if kind.of_training == trained and kind.available(results)}
    missing = [name for name in only or () if name not in kinds]
    if missing:
        needs = FIGURES[missing[0]].needs
        raise BadDataError(f"{results[0].file}: has not the data for {missing[0]}"
                           f"{', which needs ' + needs if needs else ''} "
                           f"(a result of `headway {results[0].kind}`)")
    names = only or list(kinds)
    with style.applied():
        return {name: FIGURES[name].draw(results, options) for name in names}
