"""All figures by name. `draw_all(results)` makes those that the first result has the data for.

It may import base and results.
"""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from headway.errors import BadDataError, UnavailableError, UsageError

try:
    from matplotlib.figure import Figure
except ImportError:
    raise UnavailableError("figures need the package matplotlib (pip install matplotlib)") from None

from headway.base.paths import described
from headway.figures import (accuracy, alignment, attention, calibration, convergence, head_ranking, heads,
                             hidden_weights, latents, learning, limits, network, network_curves, order_parameters, path_kernels, removal,
                             samples, scaling, style, worth)
from headway.figures.selection import PlotOptions, place_of
from headway.results.display import Shown
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.network_results import RemovalResult
from headway.results.rank_results import RankResult
from headway.results.ranking.table import HeadRanking
from headway.results.result import Result
from headway.results.training_results import TrainingResult

__all__ = ["FIGURES", "FigureKind", "PlotOptions", "draw_all", "known_names", "left_out", "not_shown", "place_of", "rendered"]

rendered = style.rendered


@dataclass(frozen=True)
class FigureKind:
    """`available` says whether these results hold what the figure shows; `draw` makes it."""

    available: Callable[[Sequence[Result]], bool]
    draw: Callable[[Sequence[Result], PlotOptions], Figure]
    shows: str  # the caption: one sentence or more, without the last full stop
    made_from: type = Result  # the results that it shows
    verb: str = "solve"  # the verb that makes these results; "solve" stands for all verbs of the theory
    together: bool = False  # further results add to it
    needs: str = ""  # what some results of that verb lack
    package: str = ""  # an optional Python package that the figure needs, by the name of its import


def _first(available: Callable[[Result], bool]) -> Callable[[Sequence[Result]], bool]:
    return lambda results: available(results[0])


def _always(results: Sequence) -> bool:
    return True


def _any(available: Callable[[Result], bool]) -> Callable[[Sequence[Result]], bool]:
    return lambda results: any(map(available, results))


_NETWORK = "a data set with a trained network"

FIGURES: dict[str, FigureKind] = {
    "accuracy_against_width": FigureKind(
        _first(accuracy.available), accuracy.draw, together=True,
        shows="Test accuracy against the width, or the squared error where labels are numbers. The dashed line "
              "is the Gaussian process. Bands are standard errors over the test examples"),
    "order_parameters": FigureKind(
        _first(order_parameters.available), order_parameters.draw,
        shows="The order parameter U_1, a matrix over paths. The diagonal says how strongly each path is used"),
    "kernel_alignment": FigureKind(
        _first(alignment.available), alignment.draw, verb="align",
        shows="Left: overlap of each eigenvector of the kernel with the labels. Right: share of the labels in "
              "the first k eigenvectors"),
    "path_kernels": FigureKind(
        _first(path_kernels.available), path_kernels.draw,
        shows="How alike each path sees two training examples. Examples are sorted by label"),
    "head_scores": FigureKind(
        _first(heads.available), heads.draw, verb="prune",
        shows="Left: the score of each head. Middle: what the theory's predictor loses without it. Right: one "
              "against the other"),
    "pruning": FigureKind(
        _first(heads.curves_available), heads.draw_curves, verb="prune", needs="test examples, prune.cumulative and a layer of several heads",
        shows="Accuracy as heads are removed one by one, in four orders, or the squared error where labels are "
              "numbers. The grey band is the standard deviation over random orders"),
    "head_worth": FigureKind(
        _first(worth.available), worth.draw, verb="prune", needs="a test or validation set",
        shows="The rise of the squared error that the theory predicts without each head. Thick bars: the "
              "posterior's standard deviation. Thin bars: standard error over examples"),
    "accuracy_on_sets": FigureKind(
        network.sets_available, network.draw_sets, together=True,
        shows="Accuracy against the width, on the test set and on every further set"),
    "network_heads": FigureKind(
        network.available, network.draw_heads, verb="prune", needs=_NETWORK,
        shows="Left: the theory's score of each head. Middle: what the trained network loses without it. Right: "
              "one against the other"),
    "network_order_parameters": FigureKind(
        network.available, network.draw_order_parameters, together=True, verb="prune", needs=_NETWORK,
        shows="U_1 of the theory, of posterior samples and of the trained network. Each is divided by the mean "
              "of its diagonal"),
    "network_pruning": FigureKind(
        network_curves.available, network_curves.draw, verb="prune", needs=_NETWORK,
        shows="Accuracy of the trained network as its heads are removed one by one, in several orders"),
    "network_pruning_over_seeds": FigureKind(
        network_curves.seeds_available, network_curves.draw_seeds, together=True, verb="prune",
        needs="several results of headway prune, each on another trained network",
        shows="Left: accuracy as heads are removed. Right: rank correlation of each score with the drop of "
              "accuracy. Bars are standard errors over trained networks"),
    "readout_and_action": FigureKind(
        _first(order_parameters.scalars_available), order_parameters.draw_scalars,
        shows="Left: the order parameter U_a of the readout. Right: the action at the saddle point. Both "
              "against the width"),
    "learned_attention": FigureKind(
        _first(attention.weights_available), attention.draw_weights, needs="attention that was learned",
        shows="Left: the weights W of learned heads, in the lowest minimum. Right: all minima that were found. "
              "Larger dots were found from more starts"),
    "attention_before_and_after": FigureKind(
        attention.change_available, attention.draw_change, together=True,
        needs="minima of learned attention at several numbers of examples",
        shows="The weights W of the first learned head with the fewest examples and with the most. A row is one "
              "start of the search"),
    "attention_against_examples": FigureKind(
        attention.examples_available, attention.draw_examples, together=True,
        needs="results of learned attention at several numbers of examples",
        shows="Left: the largest attention weight against the number of examples, for each start. Bars are "
              "standard errors over results, or of the samples. Right: the action of the minima for each example"),
    "hidden_weights": FigureKind(
        _first(hidden_weights.available), hidden_weights.draw, needs="a value network whose features adapt, or its samples",
        shows="The covariance S of a value network's hidden weights, as the prior has it and as the data choose it; its "
              "eigenvalues; the share of each head's inputs in its trace"),
    "convergence": FigureKind(
        _first(convergence.available), convergence.draw,
        shows="Gradient and action at each iteration of the solver"),
    "theory_against_samples": FigureKind(
        samples.comparison_available, samples.draw_comparison, together=True, verb="sample",
        shows="Every entry of U_1. Above: the mean over posterior samples against the theory. Below: their "
              "difference, with two Monte Carlo standard errors"),
    "traces": FigureKind(
        _any(samples.traces_available), samples.draw_traces, verb="sample",
        shows="Left: the draws of every chain. Right: their ranks among all draws. Flat histograms mean that "
              "the chains agree"),
    "calibration": FigureKind(
        _any(calibration.available), calibration.draw, verb="sample", needs="a result of sample with calibrate",
        shows="Ranks of networks from the prior among draws given their labels. Flat histograms mean that the "
              "sampler is right; grey is where 99 bins of 100 lie then"),
    "where_the_theory_ends": FigureKind(
        _any(limits.available), limits.draw, verb="sample", needs="samples at three widths or more",
        shows="Distance of the theory from posterior samples, against the width. Grey: what the Monte Carlo "
              "error alone would show"),
    "learning_curves": FigureKind(
        learning.available, learning.draw, made_from=TrainingResult, verb="train", together=True,
        shows="The score on every split during training. Bands are standard errors over seeds"),
    "scaling": FigureKind(
        scaling.available, scaling.draw, made_from=TrainingResult, verb="train", together=True,
        needs="runs that differ in a number: a [sweep] over one",
        shows="The score at the end of training, against each number that the study changes. Bars are standard "
              "errors over seeds"),
    "latent_decoding": FigureKind(
        _always, latents.draw_decoding, made_from=LatentsResult, verb="latents", together=True,
        shows="How well terms or rules are decoded from the latent codes of each layer, on tasks held out of "
              "training"),
    "latent_similarity": FigureKind(
        _always, latents.draw_similarity, made_from=LatentsResult, verb="latents", together=True,
        shows="Cosine similarity of the mean latent codes of terms or rules"),
    "latent_tsne": FigureKind(
        _always, latents.draw_tsne, made_from=LatentsResult, verb="latents", together=True,
        package="sklearn",
        shows="Latent codes in the plane (t-SNE), coloured by what they stand for"),
    "head_removal": FigureKind(
        _always, removal.draw, made_from=RemovalResult, verb="prune",
        shows="Left: what trained networks lose without each head. Middle: the score as heads are removed one "
              "by one. Right: which rankings foresee the loss"),
    "head_ranking": FigureKind(
        _always, head_ranking.draw, made_from=RankResult, verb="rank",
        shows="Left: the combined estimate of what each head's removal costs, with its 90 % interval, and the "
              "measured rise of the squared error; of a data set, frozen cuts in place of removals. Right: what a frozen "
              "cut loses, with the theory's U and with U = 1"),
    "evaluation": FigureKind(
        _always, latents.draw_evaluation, made_from=EvaluateResult, verb="evaluate",
        shows="The score of trained networks on other data. Bars are standard errors over seeds"),
}


def draw_all(results: Result | Sequence[Result], options: PlotOptions | None = None,
             only: Sequence[str] | None = None, together: bool = False) -> dict[str, Figure]:
    """The figures of one result or of several, by name. A figure shows the first result that has the data for it. Figures that
    can hold several results overlay the others; `together` leaves out those that cannot. not_shown() tells what no figure shows.

    A figure whose package is not installed is left out unless `only` names it; left_out() tells which.
    Errors: UsageError for an unknown name or choice, UnavailableError for a package that a figure asked for needs,
    BadDataError where there is nothing to draw.
    """
    options = options or PlotOptions()
    several = isinstance(results, Iterable) and not isinstance(results, (str, HeadRanking))
    results = list(results) if several else [results]
    for at, result in enumerate(results):
        if not isinstance(result, Shown):
            raise UsageError(f"results[{at}]: is {described(result)}; allowed: what headway.read_result gives"
                             + (". ranking.plot() draws a ranking" if isinstance(result, HeadRanking) else ""))
    if not results:
        raise UsageError("results: there is none; allowed: at least one result")
    only = known_names("--only", (only,) if isinstance(only, str) else only or ())
    made_from = type(results[0])
    other = next((result for result in results if type(result) is not made_from), None)
    if other is not None:
        raise BadDataError(f"{other.file}: a result of {_maker(other)} and one of "
                           f"{_maker(results[0])} cannot share a figure")
    parts = "runs" if hasattr(results[0], "runs") else "points"
    if not getattr(results[0], parts):
        raise BadDataError(f"{results[0].file}: holds no {parts}, so there is nothing to draw")
    kept = [at for at, result in enumerate(results) if getattr(result, parts)]  # an empty part of a study shows nothing
    if options.labels is not None and len(options.labels) == len(results):
        options = replace(options, labels=tuple(options.labels[at] for at in kept))
    results = [results[at] for at in kept]
    if made_from is TrainingResult and not any(result.finished.runs for result in results):
        raise BadDataError(f"{results[0].file}: holds no run that was trained to its end "
                           f"({learning.unfinished(results)}), so there is nothing to draw")
    kinds = {name: _order(kind, results) for name, kind in FIGURES.items()
             if kind.made_from is made_from and (kind.together or not together)}
    kinds = {name: order for name, order in kinds.items() if order}
    missing = [name for name in only if name not in kinds]
    if missing:
        needs = _needs(FIGURES[missing[0]], results[0])
        raise BadDataError(f"{results[0].file}: has not the data for {missing[0]}"
                           f"{', which needs ' + needs if needs else ''} "
                           f"({_origin(results[0]._verb)})")
    names = only or [name for name in kinds if _installed(FIGURES[name])]
    if not names and not together:
        raise BadDataError(f"{results[0].file}: has not the data for any figure "
                           f"({_origin(results[0]._verb)})")
    with style.applied():
        return {name: _drawn(name, results, kinds[name], options) for name in names}


def _order(kind: FigureKind, results: Sequence[Result]) -> list[int]:
    """The places of the results that a figure shows, the first that has the data in front; [] where none has."""
    for first in range(len(results)):
        order = [first, *(at for at in range(len(results)) if at != first)] if kind.together else [first]
        if kind.available([results[at] for at in order]):
            return order
    return []


def _drawn(name: str, results: Sequence[Result], order: Sequence[int], options: PlotOptions) -> Figure:
    labels = options.labels
    if labels is not None and len(labels) == len(results):
        options = replace(options, labels=tuple(labels[at] for at in order))
    return FIGURES[name].draw([results[at] for at in order], options)


def known_names(argument: str, names: Sequence[str]) -> tuple[str, ...]:
    """The names of figures that someone gave for this argument; UsageError for one that is none."""
    for name in names:
        if isinstance(name, str) and name in FIGURES:
            continue
        near = difflib.get_close_matches(str(name), FIGURES, 1)
        raise UsageError(f"{argument}: has {name!r}, which is no figure; "
                         + (f"did you mean {near[0]}?" if near else f"allowed: {', '.join(FIGURES)}"))
    return tuple(names)


def not_shown(results: Sequence[Result], names: Iterable[str]) -> list[str]:
    """What these figures do not show of several results, a line each: figures of one result where others have the data, too,
    and results without data for any figure."""
    alone: dict[str, list[str]] = {}
    for name in names:
        kind = FIGURES[name]
        having = [result for result in results if not kind.together and kind.available([result])]
        if len({accuracy.theory_of(result) if kind.verb == "solve" else id(result) for result in having}) > 1:
            alone.setdefault(str(having[0].file), []).append(name)
    lines = [f"of {file} alone: {', '.join(found)}. Plot the other results one by one to see theirs"
             for file, found in alone.items()]
    return lines + [f"{result.file}: has not the data for any figure" for result in results
                    if not any(_order(kind, [result]) for kind in FIGURES.values() if kind.made_from is type(result))]


def left_out(results: Sequence[Result]) -> dict[str, str]:
    """Figures of the first result that draw_all() leaves out, with the package that each needs."""
    return {name: kind.package for name, kind in FIGURES.items()
            if kind.made_from is type(results[0]) and not _installed(kind)}


def _installed(kind: FigureKind) -> bool:
    return not kind.package or importlib.util.find_spec(kind.package) is not None


def _needs(kind: FigureKind, result: Result) -> str:
    if isinstance(result, kind.made_from) and kind.verb in ("solve", result.kind):
        return kind.needs
    return _origin("prune-network" if kind.made_from is RemovalResult else kind.verb)


def _origin(verb: str) -> str:
    return f"a result of `headway {verb}`"


def _maker(result: Result) -> str:
    return {"Result": "the theory", "TrainingResult": "training"}.get(
        type(result).__name__, f"headway {result._verb}")
