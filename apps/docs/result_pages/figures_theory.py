"""Figures of the theory against exact samples, and against what others published."""

import compositions
import curves
import validity
import value_validity
from figures_networks import titled
from recorded import mean_and_error
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


def published_curves():
    """Published curves as lines, our points with error bars."""
    drawn = style.new_figure(9.6, 3.2)
    *contexts, sequences = drawn.subplots(1, 3)
    for axes, d in zip(contexts, curves.DIMENSIONS):
        pairs = curves.context_pairs(d)
        theirs = curves.published(f"in_context_regression_d{d}")
        axes.plot([row["kappa"] for row in theirs], [row["gtask_mean"] for row in theirs], color=style.THEORY,
                  label="published simulations")
        axes.errorbar([kappa for kappa, _, _ in pairs], [mine[0] for _, _, mine in pairs], yerr=[mine[1] for _, _, mine in pairs],
                      fmt="o", markersize=3.5, capsize=2.5, color=style.SAMPLES, label="ours, infinite width")
        axes.set(xscale="log", yscale="log")
        titled(axes, f"in-context regression, d = {d}", "tasks of training / d", "gap to new tasks" if d == 10 else "")
    contexts[0].legend(loc="lower left")
    limit = curves.limit()
    sequences.plot(list(limit), list(limit.values()), color=style.THEORY, label="published, $D \\to \\infty$")
    for (size, found), mark, colour in zip(curves.bilinear().items(), "^soD", style.OVERLAY):
        sequences.errorbar(list(found), [mean for mean, _ in found.values()], yerr=[error for _, error in found.values()], fmt=mark,
                           markersize=3.5, capsize=2.5, color=colour, label=f"sampled, D = {size}")
    saddle = curves.averaged("bilinear-solve-20", curves.squared_error)
    sequences.plot(list(saddle), [mean for mean, _ in saddle.values()], "x", color=style.MUTED, label="saddle point, D = 20")
    titled(sequences, "bilinear sequence regression", "$\\alpha$ = P / (L D)", "squared error")
    sequences.legend(loc="upper right")
    return drawn


def seen_and_held_out():
    """Errors against examples on seen and on held-out pairs, in every column."""
    drawn = style.new_figure(8.6, 3.2)
    colours = dict(zip(compositions.COLUMNS, (style.GAUSSIAN_PROCESS, style.CORRECTED, style.THEORY, style.SAMPLES, style.OVERLAY[3])))
    for axes, (part, words) in zip(drawn.subplots(1, 2), (("fresh", "seen pairs, fresh inputs"), ("held_out", "pairs never seen"))):
        for column, label in compositions.COLUMNS.items():
            found = {examples: list(compositions.errors(column, part, examples=examples).values()) for examples in compositions.EXAMPLES}
            found = {examples: mean_and_error(values) for examples, values in found.items() if len(values) > 1}
            axes.errorbar(list(found), [mean for mean, _ in found.values()], yerr=[error for _, error in found.values()], marker="o",
                          linestyle="none" if column == "exact" else "-", capsize=2.5, color=colours[column], label=label)
        axes.set(xscale="log", yscale="log")
        titled(axes, words, "training examples P", "relative squared error" if part == "fresh" else "")
    style.legend_outside(axes)
    return drawn


def value_ladders():
    """Errors of the predictor, of U_1 and of S of value networks (hyla, relu) along N, P and N_0: medians and ranges over seeds."""
    drawn = style.new_figure(9.6, 5.4)
    panels = drawn.subplots(2, 3, sharey="row", sharex="col")
    above = (("predictor_gp", style.GAUSSIAN_PROCESS, "Gaussian process"), ("predictor_fixed", style.CORRECTED, "fixed features"),
             ("predictor_adapted", style.THEORY, "adapted features"), ("predictor_noise", style.MUTED, "noise of the samples"))
    below = (("U_1_fixed", style.CORRECTED, "$U_1$, fixed"), ("U_1_adapted", style.THEORY, "$U_1$, adapted"),
             ("S_adapted", style.SAMPLES, "largest eigenvalue of $S$, adapted"), ("U_1_noise", style.MUTED, "noise of $U_1$"))
    for row, (lines, title, labelled) in zip(panels, ((above, "mean predictor", False), (below, "order parameters", True))):
        for axes, (axis, label) in zip(row, (("width", "width $N_1$"), ("examples", "examples P"), ("inputs", "inputs $N_0$"))):
            ladder = value_validity.ladder(axis)
            for name, colour, words in lines:
                middle, low, high = zip(*(value_validity.spread(found, name) for found in ladder.values()))
                bars = [[m - a for m, a in zip(middle, low)], [b - m for m, b in zip(middle, high)]]
                axes.errorbar(list(ladder), middle, yerr=bars, color=colour, marker="o", markersize=3.5, capsize=2, label=words)
            for level in (0.05, 0.2):
                axes.axhline(level, color=style.FAINT, linewidth=1)
            axes.set(xscale="log", yscale="log")
            axes.set_xticks(list(ladder), [str(value) for value in ladder], minor=False)
            axes.minorticks_off()
            titled(axes, title if axis == "width" else "", label if labelled else "", "relative error" if axis == "width" else "")
        style.legend_outside(row[-1])
    return drawn


FIGURES = {"validity": (errors_against_load, ("results/validity.json",)),
           "compositions": (seen_and_held_out, ("results/compositions.json",)),
           "value-validity": (value_ladders, ("results/value-validity.json",)),
           "published-curves": (published_curves, ("results/published-curves.json", "curves/bilinear_sequence_regression.csv",
                                                   "curves/in_context_regression_d10.csv",
                                                   "curves/in_context_regression_d32.csv"))}
