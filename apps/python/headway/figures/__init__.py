"""All figures by name. `draw_all(results)` makes those that the first result has the data for."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from headway.errors import BadDataError, UsageError
from headway.figures import (accuracy, alignment, convergence, heads, latents, learning, limits,
                             network, network_curves, order_parameters, path_kernels, samples,
                             style)
from headway.figures.selection import PlotOptions
from headway.latent_results import EvaluateResult, LatentsResult
from headway.results import Result
from headway.training_results import TrainingResult

__all__ = ["FIGURES", "FigureKind", "PlotOptions", "draw_all", "left_out", "rendered"]

rendered = style.rendered


@dataclass(frozen=True)
class FigureKind:
    """`available` says whether these results hold what the figure shows; `draw` makes it."""

    available: Callable[[Sequence[Result]], bool]
    draw: Callable[[Sequence[Result], PlotOptions], Figure]
    made_from: type = Result  # the results that it shows
    needs: str = ""  # what a result of the right verb may still lack
    package: str = ""  # a Python package that not everyone has, as it is imported


def _first(available: Callable[[Result], bool]) -> Callable[[Sequence[Result]], bool]:
    return lambda results: available(results[0])


def _always(results: Sequence) -> bool:
    return True


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
    "learning_curves": FigureKind(learning.available, learning.draw, made_from=TrainingResult),
    "latent_decoding": FigureKind(_always, latents.draw_decoding, made_from=LatentsResult),
    "latent_similarity": FigureKind(_always, latents.draw_similarity, made_from=LatentsResult),
    "latent_tsne": FigureKind(_always, latents.draw_tsne, made_from=LatentsResult,
                              package="sklearn"),
    "evaluation": FigureKind(_always, latents.draw_evaluation, made_from=EvaluateResult),
}


def draw_all(results: Result | Sequence[Result], options: PlotOptions | None = None,
             only: Sequence[str] | None = None) -> dict[str, Figure]:
    """The figures of one result or of several, by name. The first is the one drawn; others are overlaid
    where a figure can.

    Those that need a package that is not installed are left out, unless asked for: left_out().
    Errors: UsageError for an unknown name or choice and for a package that a figure asked for needs,
    BadDataError where there is nothing to draw.
    """
    options = options or PlotOptions()
    results = list(results) if isinstance(results, Sequence) else [results]
    unknown = [name for name in only or () if name not in FIGURES]
    if unknown:
        raise UsageError(f"--only: is {unknown[0]}; known: {', '.join(FIGURES)}")
    made_from = type(results[0])
    other = next((result for result in results if type(result) is not made_from), None)
    if other is not None:
        raise BadDataError(f"{other.file}: a result of {_maker(other)} and one of "
                           f"{_maker(results[0])} cannot share a figure")
    parts = "points" if made_from is Result else "runs"
    if not getattr(results[0], parts):
        raise BadDataError(f"{results[0].file}: holds no {parts}, so there is nothing to draw")
    kinds = {name: kind for name, kind in FIGURES.items()
             if kind.made_from is made_from and kind.available(results)}
    missing = [name for name in only or () if name not in kinds]
    if missing:
        needs = FIGURES[missing[0]].needs
        raise BadDataError(f"{results[0].file}: has not the data for {missing[0]}"
                           f"{', which needs ' + needs if needs else ''} "
                           f"(a result of `headway {results[0].kind}`)")
    names = only or [name for name, kind in kinds.items() if _installed(kind)]
    with style.applied():
        return {name: FIGURES[name].draw(results, options) for name in names}


def left_out(results: Sequence[Result]) -> dict[str, str]:
    """Figures of the first result that draw_all() leaves out, with the package that each needs."""
    return {name: kind.package for name, kind in FIGURES.items()
            if kind.made_from is type(results[0]) and not _installed(kind)}


def _installed(kind: FigureKind) -> bool:
    return not kind.package or importlib.util.find_spec(kind.package) is not None


def _maker(result: Result) -> str:
    return {"Result": "the theory", "TrainingResult": "training"}.get(
        type(result).__name__, f"headway {result.kind}")
