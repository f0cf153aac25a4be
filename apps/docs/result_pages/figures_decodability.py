"""The figure of the test: does decodability foretell generalisation?"""

import decodability
import decodability_tables
from figures_networks import COLOURS, DARKER, titled
from headway.figures import style

MARKS = ("^", "s", "o")  # of the stages, the shortest first


def foretelling():
    """Ranks of half B beyond the training score, task by task; and all measures on both halves."""
    figure = style.new_figure(9.4, 3.2)
    *panels, both = figure.subplots(1, 3, width_ratios=(1, 1, 1.1))
    rows = decodability.rows_of(decodability.networks_of("B"), decodability.chosen())
    for axes, (task, words) in zip(panels, decodability_tables.TASKS.items()):
        for blocks in decodability.ranked(rows)[task].values():
            for network, stages in blocks.items():
                for mark, (measure, held_out) in zip(MARKS, stages):
                    axes.plot(measure, held_out, mark, color=(COLOURS | DARKER)[network.variant], markersize=3.5, alpha=0.8)
        titled(axes, f"{words}, half B", "measure, rank", "held-out score, rank" if axes is panels[0] else "")
        axes.axhline(0, color=style.FAINT, linewidth=1)
        axes.axvline(0, color=style.FAINT, linewidth=1)
    _measures(both)
    for variant in decodability.VARIANTS:
        both.plot([], [], "o", color=(COLOURS | DARKER)[variant], label=variant)
    (stages,) = {plan.stages for plan in decodability.PLAN.values()}
    for mark, steps in zip(MARKS, stages, strict=True):
        both.plot([], [], mark, color=style.MUTED, markerfacecolor="white", label=f"{steps:,} steps")
    style.legend_outside(both)
    return figure


def _measures(axes):
    for measure in decodability.MEASURES:
        there = [decodability_tables.of_half(half, measure) for half in "AB"]
        picked = measure == decodability.chosen()
        axes.plot(*there, "D" if picked else "x", color=style.THEORY if picked else style.INK, markersize=6 if picked else 4.5)
    axes.plot([-1, 1], [-1, 1], ":", color=style.MUTED, linewidth=1)
    axes.axhline(0, color=style.FAINT, linewidth=1)
    axes.axvline(0, color=style.FAINT, linewidth=1)
    axes.set(xlim=(-0.8, 0.8), ylim=(-0.8, 0.8))
    titled(axes, "all measures (diamond: the one tested)", "correlation, half A", "correlation, half B")


FIGURES = {"decodability": (foretelling, ("results/decodability.json",))}
