"""Latent codes of trained networks: what is decoded from them, how alike they are, where they lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headway.errors import BadDataError, UnavailableError
from headway.figures import learning, style
from headway.figures.selection import PlotOptions
from headway.results.latent_results import LatentLayer, LatentRun, LatentsResult
from headway.results.training_results import mean_and_error

METRIC_NAMES = {"f1": "F1", "balanced_accuracy": "balanced accuracy", "r2": "$R^2$"}
TITLES = {"term": "terms of unseen pairs", "bits": "latent bits of unseen pairs",
          "rule": "rules of unseen rule sets", "answer": "the answer"}
MOST_POINTS = 1500  # of a t-SNE, whose cost grows faster than their number
PERPLEXITY = 30.0
CONSTANT = 1e-6  # of the largest weight: codes that vary by less are single-precision noise
SHORT, LETTER_INCHES = 15, 0.075  # the evaluation's legend has room for SHORT letters; each further one needs this
LOWEST_R2 = -0.3  # lower values are triangles there: they are as bad, and would squeeze the rest


# --- decoding ------------------------------------------------------------------------------------

def draw_decoding(results: Sequence[LatentsResult], options: PlotOptions) -> Figure:
    """A panel for each decoder: its score on held-out tasks by layer, beside chance and the same network
    before training. Bars are standard errors over seeds, or over tasks where there is one seed."""
    del options
    result = _joined(results)
    decoders = result.runs[0].all_layers.decoders
    panels_width, legend_width = 2.9, 1.9
    figure = style.new_figure(panels_width * len(decoders) + legend_width, 3.4)
    panels = figure.subplots(1, len(decoders) + 1, squeeze=False, gridspec_kw={
        "width_ratios": [panels_width] * len(decoders) + [legend_width]})[0]
    cut = False
    for axes, decoder in zip(panels, decoders):
        cut |= _decoding_panel(axes, result, decoder.name)
        axes.set_title(TITLES.get(decoder.name, decoder.name))
        axes.set_ylabel(METRIC_NAMES.get(decoder.metric, decoder.metric))
    _legend(panels[-1], panels[0])
    several = any(len(result.runs_of(label)) > 1 for label in result.labels)
    style.head_line(figure, "What is decoded from the latent codes of held-out tasks", replace(result, provenance={}), None,
                    _seeds(result), f"bars: ± 1 standard error over {'seeds' if several else 'held-out tasks'}",
                    "hollow: the network before training", "dashed: chance", *([f"triangles: below {LOWEST_R2:g}"] if cut else []))
    return figure


def _joined(results: Sequence[LatentsResult]) -> LatentsResult:
    """All runs as if of one result. Where there are several studies, each label begins with its study."""
    first = results[0]
    for other in results:
        if other.task != first.task:
            raise BadDataError(f"{other.file}: codes of {other.task} and those of {first.task} cannot share a figure")
    several = len({result.study for result in results}) > 1
    return replace(first, runs=tuple(replace(run, label=f"{result.study}: {run.label}") if several else run
                                     for result in results for run in result.runs))


def _seeds(result: LatentsResult) -> str:
    return style.counted(len({run.seed for run in result.runs}), "seed")


def decoded(runs: Sequence[LatentRun], layer: int, decoder: str, score: str) -> tuple[float, float]:
    """Mean over seeds of a score of layer number `layer` of the list, and its error."""
    found = [run.every_layer[layer].decoder(decoder) for run in runs
             if layer < len(run.every_layer)]
    found = [one for one in found if one is not None]
    mean, error = mean_and_error(np.array([one.scores.get(score, np.nan) for one in found]))
    over_tasks = {"held_out": "standard_error", "untrained": "untrained_standard_error"}.get(score)
    if len(found) == 1 and over_tasks is not None:
        error = found[0].scores.get(over_tasks, np.nan)
    return float(mean), float(error)


def _decoding_panel(axes: Axes, result: LatentsResult, decoder: str) -> bool:
    """Whether values were cut."""
    layers = max((run.every_layer for run in result.runs), key=len)
    width = 0.7 / len(result.labels)
    lowest = 0.0
    for index, label in enumerate(result.labels):
        runs = result.runs_of(label)
        colour = style.OVERLAY[index % len(style.OVERLAY)]
        x = np.arange(len(runs[0].every_layer)) + (index - 0.5 * (len(result.labels) - 1)) * width
        for score, face in (("untrained", "white"), ("held_out", colour)):
            points = np.array([decoded(runs, layer, decoder, score)
                               for layer in range(len(runs[0].every_layer))])
            lowest = min(lowest, np.nanmin(points[:, 0], initial=0.0))
            value, error = points[:, 0], np.nan_to_num(points[:, 1])
            far = value < LOWEST_R2
            ends = np.clip([value - error, value + error], LOWEST_R2 - 0.1, 1.1)  # no further, or the layout makes room for them
            if not far.all():
                axes.errorbar(x[~far], value[~far], yerr=np.abs(ends - value)[:, ~far], fmt="o", color=colour, markerfacecolor=face,
                              elinewidth=1.0, capsize=2.0, label=label if score == "held_out" else None)
            if far.any():
                axes.plot(x[far], np.full(far.sum(), LOWEST_R2 + 0.02), "v", color=colour, markerfacecolor=face)
        chance = [decoded(runs, layer, decoder, "chance")[0]
                  for layer in range(len(runs[0].every_layer))]
        for place, value in zip(x, chance):
            axes.plot([place - 0.5 * width, place + 0.5 * width], [value, value], color=style.MUTED,
                      linestyle=(0, (2, 1)), linewidth=1.0)
    axes.set_xticks(range(len(layers)), [layer.name.removeprefix("layer ").removesuffix(" layers") for layer in layers])
    axes.set_xlabel("layer whose codes are decoded")
    axes.set_ylim(max(LOWEST_R2, lowest - 0.03), 1.0)
    style.end_at_one(axes, None)
    style.light_grid(axes)
    return lowest < LOWEST_R2


def _legend(axes: Axes, source: Axes) -> None:
    """The variants, in a panel of their own."""
    style.no_frame(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    handles, names = source.get_legend_handles_labels()
    axes.legend(handles, names, loc="upper left", borderaxespad=0.0)


# --- similarity ----------------------------------------------------------------------------------

def draw_similarity(results: Sequence[LatentsResult], options: PlotOptions) -> Figure:
    """Cosines between the mean codes of terms or rules on held-out tasks, about their common mean. A row is
    the first seed of a variant; a column is a layer, the last one all layers together. Where all codes are
    the same, as those of one head are, the panel says so."""
    del options
    result = _joined(results)
    runs = [result.runs_of(label)[0] for label in result.labels]
    columns = max(len(run.every_layer) for run in runs)
    labels = runs[0].all_layers.similarity.labels
    longest = max(len(label) for label in labels)
    margins = style.Margins(left=0.75 + 0.065 * longest, bottom=0.25 + 0.065 * longest)
    figure, panels, bar = style.image_grid(len(runs), columns, 1.9, margins)
    image = None
    for row, run in enumerate(runs):
        for column in range(columns):
            axes = panels[row, column]
            style.no_frame(axes)
            axes.set_xticks([])
            axes.set_yticks([])
            if column >= len(run.every_layer):
                axes.set_visible(False)
                continue
            layer = run.every_layer[column]
            cosines = layer.similarity.centred_cosine
            image = axes.imshow(cosines, cmap=style.DIVERGING, vmin=-1, vmax=1)
            if not np.isfinite(cosines).any():
                axes.text(0.5, 0.5, "all codes alike", transform=axes.transAxes, color=style.MUTED, fontsize=8.0,
                          ha="center", va="center")
            axes.set_title(f"{layer.name}: same {layer.similarity.same_label:.2f}, "
                           f"other {layer.similarity.different_label:.2f}", fontsize=7.5)
            if row == len(runs) - 1:
                axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7)
            if column == 0:
                axes.set_yticks(range(len(labels)), labels, fontsize=7)
                axes.set_ylabel(run.label)
    figure.colorbar(image, cax=bar)
    what = {"sraven": "rules", "arrays": "values of factors"}.get(result.task, "terms")
    style.head_line(figure, f"How alike the latent codes of {what} are", replace(result, provenance={}), None,
                    f"seed {runs[0].seed}", f"colours: cosine between the mean codes of two {what} on held-out tasks, "
                    "about the common mean",
                    "same, other: mean cosine of a training code and a held-out code of the same label, of other labels")
    return figure


# --- t-SNE ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Colouring:
    """A number for each point; names where it stands for one of them."""

    title: str
    values: np.ndarray
    names: tuple[str, ...] | None = None


def draw_tsne(results: Sequence[LatentsResult], options: PlotOptions) -> Figure:
    """t-SNE of the codes of held-out tasks, coloured by what is known of them. A row is the first or the last
    layer of a variant's first seed; codes that are all the same are left out. UnavailableError without
    scikit-learn."""
    del options
    result = _joined(results)
    embed = _embedding()
    shown = [(run, layer) for label in result.labels for run in result.runs_of(label)[:1]
             for layer in _first_and_last(run.layers)]
    shown = [(run, layer) for run, layer in shown if _vary(layer.codes["held_out"])] or shown[:1]
    colourings = _colourings(shown[0][0], shown[0][1])
    legends = 1.5
    figure = style.new_figure(2.6 * len(colourings) + legends, 2.4 * len(shown) + 0.3)
    panels = figure.subplots(len(shown), len(colourings) + 1, squeeze=False, gridspec_kw={
        "width_ratios": [2.6] * len(colourings) + [legends]})
    for row, (run, layer) in zip(panels, shown):
        codes = layer.codes["held_out"][:MOST_POINTS]
        points = embed(codes) if _vary(codes) else None
        for axes, colouring in zip(row, _colourings(run, layer)):
            _scatter(axes, points, colouring)
            axes.set_title(f"{run.label}, {layer.name}: {colouring.title}")
        style.no_frame(row[-1])
        row[-1].set_xticks([])
        row[-1].set_yticks([])
    _key(panels[0, -1], colourings)
    style.head_line(figure, "Latent codes in the plane", replace(result, provenance={}), None, f"seed {shown[0][0].seed}",
                    f"t-SNE of {min(MOST_POINTS, len(shown[0][1].codes['held_out']))} codes of held-out tasks",
                    "one point for each code")
    return figure


def _first_and_last(layers: Sequence[LatentLayer]) -> list[LatentLayer]:
    return [layers[0], layers[-1]] if len(layers) > 1 else list(layers)


def _vary(codes: np.ndarray) -> bool:
    return bool(np.any(codes.std(axis=0) > CONSTANT * np.abs(codes).max()))


def _embedding():
    """[n, H] to [n, 2], always the same."""
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise UnavailableError(
            "latent_tsne needs scikit-learn, which is not installed: python3 -m pip install "
            "scikit-learn (or apt install python3-sklearn); the other figures need none") from None

    def embed(codes: np.ndarray) -> np.ndarray:
        spread = codes.std(axis=0)
        scaled = (codes - codes.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        perplexity = min(PERPLEXITY, max(1.0, (len(codes) - 1) / 3.0))
        return TSNE(n_components=2, perplexity=perplexity, init="pca",
                    random_state=0).fit_transform(scaled)
    return embed


def _colourings(run: LatentRun, layer: LatentLayer) -> list[Colouring]:
    labels = run.labels["held_out"]
    names = layer.similarity.labels
    first = labels.label[:MOST_POINTS, 0]
    answer = labels.answer[:MOST_POINTS]
    if run.task == "sraven":
        symbols = tuple(str(symbol) for symbol in range(int(labels.answer.max()) + 1))
        return [Colouring("rule", first, names), Colouring("answer", answer, symbols)]
    tasks = labels.task[:MOST_POINTS]
    if run.task == "arrays":
        factors = [decoder.name for decoder in layer.decoders][:labels.label.shape[1]]
        return [Colouring(name, labels.label[:MOST_POINTS, at], names) for at, name in enumerate(factors)]
    return [Colouring("first term", first, names), Colouring("task", tasks.astype(float)),
            Colouring("answer", answer)]


def _palette(colouring: Colouring) -> np.ndarray:
    """A colour for each point."""
    if colouring.names is None:
        spread = np.ptp(colouring.values)
        return colormaps["viridis"]((colouring.values - colouring.values.min()) /
                                    (spread if spread > 0 else 1.0))
    return colormaps["tab20"](np.asarray(colouring.values, dtype=int) % 20)


def _scatter(axes: Axes, points: np.ndarray | None, colouring: Colouring) -> None:
    style.no_frame(axes)
    axes.set_xticks([])
    axes.set_yticks([])
    if points is None:
        axes.text(0.5, 0.5, "all codes are the same", color=style.MUTED, ha="center", va="center",
                  transform=axes.transAxes)
        return
    axes.scatter(points[:, 0], points[:, 1], s=5.0, c=_palette(colouring), linewidths=0)


def _key(axes: Axes, colourings: Sequence[Colouring]) -> None:
    """A legend of the first colouring that has names."""
    named = next((one for one in colourings if one.names is not None), None)
    if named is None:
        return
    for index, name in enumerate(named.names):
        axes.scatter([], [], s=14.0, color=colormaps["tab20"](index % 20), label=name)
    axes.legend(title=named.title, loc="upper left", fontsize=7, title_fontsize=7.5,
                borderaxespad=0.0, handletextpad=0.1)


# --- evaluations ---------------------------------------------------------------------------------

def draw_evaluation(results: Sequence, options: PlotOptions) -> Figure:
    """The main metric of every split of results of `headway evaluate`, mean and standard error over seeds.
    Several results stand side by side. The legend says where the task is not that of training."""
    del options
    first = results[0]
    rows = [((f"{result.study}: " if len(results) > 1 else "") + result.name_of(label, between="\n"),
             result.runs_of(label)) for result in results for label in result.labels]
    metric = learning.metric_of(results, first.splits[0], lambda run: run.evaluations)
    longest = max(len(line) for label, _ in rows for line in label.splitlines())
    figure = style.new_figure(2.2 + 1.1 * len(first.splits) + LETTER_INCHES * max(0, longest - SHORT), 3.3)
    axes = figure.subplots()
    width = 0.7 / len(rows)
    for index, (label, runs) in enumerate(rows):
        colour = style.OVERLAY[index % len(style.OVERLAY)]
        for place, split in enumerate(first.splits):
            values = [run.evaluations[split].get(metric, np.nan) for run in runs
                      if split in run.evaluations]
            if not values:
                continue
            mean, error = mean_and_error(np.array(values))
            axes.errorbar([place + (index - 0.5 * (len(rows) - 1)) * width], [mean],
                          yerr=[np.nan_to_num(error)], fmt="o", color=colour, capsize=2.0,
                          label=label if place == 0 else None)
    axes.set_xticks(range(len(first.splits)), [split.replace("_", " ") for split in first.splits])
    axes.set_ylabel(learning.METRIC_NAMES[metric])
    learning.end_axis(axes, metric)
    style.light_grid(axes)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    seeds = len({run.seed for _, runs in rows for run in runs})
    style.head_line(figure, "Trained networks on other data", [replace(result, provenance={}) for result in results], None,
                    style.counted(seeds, "seed"), *(["bars: ± 1 standard error over seeds"] if seeds > 1 else []))
    return figure
