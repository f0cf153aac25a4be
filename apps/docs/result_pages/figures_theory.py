"""Figures of the theory against exact samples, and against what others published."""

import validity
from headway.figures import style


def errors_against_load():
    drawn = style.new_figure(7.6, 3.2)
    for axes, (what, words) in zip(drawn.subplots(1, 2, sharex=True),
                                   (("U_1", "order parameter $U_1$"), ("predictor", "mean predictor"))):
        for kind, colour, label in (("saddle", style.THEORY, "saddle point"), ("corrected", style.CORRECTED, "1/N-corrected")):
            rows = [row for row in validity.problems() if row.get(f"{what}_{kind}") is not None]
            axes.plot([row["load"] for row in rows], validity.errors(rows, f"{what}_{kind}"), "o", markersize=2.5, alpha=0.6, color=colour,
                      label=label, markeredgewidth=0)
        noise = [(row["load"], row[f"{what}_noise"]) for row in validity.problems()]
        axes.plot(*zip(*noise), ".", markersize=1.5, color=style.MUTED, label="noise of the samples")
        axes.axvline(1, color=style.FAINT, linewidth=1)
        axes.set(xscale="log", yscale="log", xlabel="largest $(p_l + 1) / N_l$", title=f"{words}: relative error")
    style.legend_outside(axes)
    return drawn


FIGURES = {"validity": (errors_against_load, ("results/validity.json",))}
