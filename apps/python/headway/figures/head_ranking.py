"""Rankings of heads with their errors: results of `headway rank`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headway.figures import style
from headway.figures.selection import PlotOptions
from headway.results.rank_results import RankResult
from headway.results.ranking.measured import is_frozen
from headway.results.ranking.table import HeadRanking

APART = 0.16  # of a row: the two marks of a head lie this far above and below its middle


def draw(results: Sequence[RankResult], options: PlotOptions) -> Figure:
    """A row for each ranking, its smallest estimate first. Left: the combined estimate with its interval, and the removal, or
    the frozen cut, as it was measured. Right: what two cuts of the frozen parts lose, with the theory's U and without the theory."""
    del options
    result = results[0]
    most = max(map(len, result.runs))
    figure = style.new_figure(8.2, 1.2 + len(result.runs) * max(1.9, 0.95 + 0.24 * most))
    cuts = all("cut_of_theory" in run.columns for run in result.runs)  # of models that the theory has no parts of there are none
    panels = figure.subplots(len(result.runs), 1 + cuts, squeeze=False)
    for row, run in zip(panels, result.runs):
        order = run.order()
        _estimates(row[0], run, order)
        if cuts:
            _cuts(row[1], run, order)
    first = result.runs[0]
    about = first.attributes
    frozen = is_frozen(first.target)
    style.head_line(figure, "Frozen cuts of parts: what each is worth while everything else stays as it was" if frozen else
                    "What the removal of each head costs", replace(result, provenance={}), None,
                    f"{about['examples']} {style.plain(str(about['split']).replace('_', ' '))} examples, each left out of the readout",
                    f"{_words(first.target)}", f"{'parts' if frozen else 'heads'} of one rank cannot be told apart",
                    *(["this is no removal"] if frozen else []),
                    f"{'left: ' if cuts else ''}bars hold 90 %, whiskers are ± 1 standard error",
                    *(["right: the parts of the layer are frozen, ± 1 standard error over examples"] if cuts else []))
    return figure


def draw_ranking(ranking: HeadRanking) -> Figure:
    """As `draw`, of a model's ranking that is in memory."""
    known = {"label": "your model", "variant": "", "seed": "", "split": "labelled"} | dict(ranking.attributes)
    run = replace(ranking, attributes=known)
    return draw([RankResult(Path("headway.rank_heads"), "headway.rank_heads", "", (run,))], PlotOptions())


def _words(target: str) -> str:
    """removal_zero_fixed: "heads at zero, readout fixed"."""
    mode, readout = target.split("_")[1:]
    what = "parts taken off" if is_frozen(target) else "heads at their mean" if mode == "mean" else "heads at zero"
    return f"{what}, readout {'as it is' if readout == 'fixed' else 'fitted again'}"


def _title(run: HeadRanking) -> str:
    name, seed = str(run.attributes["label"]), run.attributes["seed"]
    return style.plain(f"{name}, seed {seed}" if run.attributes["variant"] else name)


def _estimates(axes: Axes, run: HeadRanking, order: Sequence[int]) -> None:
    rows = np.arange(len(order))
    axes.hlines(rows - APART, run["estimate_low"][order], run["estimate_high"][order], color=style.THEORY, linewidth=5.0,
                alpha=0.35)
    axes.plot(run["estimate"][order], rows - APART, linestyle="none", marker="o", markersize=4.5, color=style.THEORY,
              label="combined estimate")
    _marks(axes, run, run.target, order, rows + APART, "s", style.INK, "as measured")
    axes.set_yticks(rows, [f"{style.plain(run.names[row])}   {int(run['rank'][row])}" for row in order])
    axes.set_title(_title(run))
    of = "by a frozen cut" if is_frozen(run.target) else "without the head"
    axes.set_xlabel(f"rise of the squared error {of}\n" + _trust(run))
    _look(axes, len(order))
    axes.text(0.0, 1.0, "rank ", transform=axes.transAxes, ha="right", va="bottom", fontsize=7.5, color=style.MUTED)


def _trust(run: HeadRanking) -> str:
    """What orders on two halves of the examples say."""
    found = run.ceiling
    if not math.isfinite(found.halves):
        return f"one {'part' if is_frozen(run.target) else 'head'} alone has no order"
    ceiling = f"; ceiling {found.whole:.2f}" if found.tells else f" ± {found.deviation:.2f}: no order beyond the ranks"
    return f"halves of the examples agree by {found.halves:.2f}{ceiling}".replace("-", "\u2212")


def _cuts(axes: Axes, run: HeadRanking, order: Sequence[int]) -> None:
    rows = np.arange(len(order))
    _marks(axes, run, "cut_of_theory", order, rows - APART, "o", style.CORRECTED, "the theory's $U$")
    _marks(axes, run, "cut_without_theory", order, rows + APART, "D", style.MUTED, "$U$ = 1, without the theory")
    axes.set_yticks(rows, [""] * len(rows))
    axes.set_xlabel("rise for a predictor by a frozen cut\nof the parts of the head")
    _look(axes, len(order))


def _marks(axes: Axes, run: HeadRanking, column: str, order: Sequence[int], rows: np.ndarray, marker: str, colour: str,
           label: str) -> None:
    values, errors = run[column][order], run[f"{column}_error"][order]
    axes.errorbar(values, rows, xerr=style.error_bars(errors), linestyle="none", marker=marker, markersize=4.2,
                  color=colour, markerfacecolor="white", elinewidth=1.0, label=label)


def _look(axes: Axes, count: int) -> None:
    axes.axvline(0.0, color=style.INK, linewidth=0.8)
    axes.set_ylim(count - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncol=2, fontsize=7.5, borderaxespad=0.1, handletextpad=0.2,
                columnspacing=1.0)
    style.light_grid(axes, "x")
