"""Figures of codes and heads: latent codes, one-shot images, heads of trained and of pretrained networks."""

import numpy as np

import codes
import one_shot
import pretrained
import ranking
import removal
from figures_networks import COLOURS, DARKER, PAPER, SEEDS, named, titled
from recorded import mean_and_error, published
from headway.figures import style

SCORE_COLOURS = {"gradient sensitivity": style.SAMPLES, "weight norm": style.MUTED, "focus of attention": "#b0b0b0",
                 "the theory's change, all parts": style.THEORY, "the theory's change, heads alone": "#7fb8d8",
                 "score of $U_1$, all parts": style.CORRECTED, "score of $U_1$, heads alone": "#eab28c"}


def fuzzy_codes():
    figure = style.new_figure(6.6, 2.8)
    axes = figure.subplots()
    groups = codes.fuzzy_results()[1]["groups"]
    labels = codes.fuzzy_labels()
    looks = {"held_out": ("o", "trained"), "untrained": ("s", "before training"), "shuffled": ("x", "shuffled labels")}
    for at, label in enumerate(labels):
        group = codes.group_of(groups, label, "term")
        for place, (name, (marker, words)) in enumerate(looks.items()):
            axes.errorbar(at + 0.2 * (place - 1), group[name], yerr=group[f"{name}_standard_error"], fmt=marker, capsize=2.5,
                          color=COLOURS[label.partition(",")[0]], markerfacecolor="white" if place else None,
                          label=words if at == 0 else None)
    axes.axhline(group["chance"], color=style.MUTED, linestyle=":", linewidth=1)
    axes.annotate("chance", (len(labels) - 0.55, group["chance"]), fontsize=8, color=style.MUTED, va="bottom", ha="right")
    titled(axes, "terms of tasks never seen, read off the codes of all layers", "", "F1")
    named(axes, [label.replace("heads = 1", "one head") for label in labels])
    axes.legend(loc="upper right")
    return figure


def sraven_codes():
    figure = style.new_figure(7.6, 5.0)
    grid = figure.subplots(2, 2, sharey=True, sharex=True)
    for panels, (files, words) in zip(grid, (((), "20 million instances"), (("latents",), "4 million"))):
        for axes, decoder, chance in zip(panels, ("rule", "answer"), map(float, codes.sraven_chances())):
            _codes_by_layer(axes, codes.sraven(*files), decoder)
            axes.axhline(chance, color=style.MUTED, linestyle=":", linewidth=1)
            axes.annotate("chance", (2.6, chance), fontsize=8, color=style.MUTED, va="bottom")
            axes.set_xticks([1, 2, 3, 4, 5.2, 5.95], ["1", "2", "3", "4", "all", "un-\ntrained"])
            titled(axes, f"{decoder}, {words}", "layer" if files else "")
        panels[0].set_ylabel("balanced accuracy")
    style.legend_outside(grid[0][1])
    return figure


def _codes_by_layer(axes, networks, decoder):
    for at, (run, groups) in enumerate(networks):
        found = [groups[decoder, layer] for layer in (1, 2, 3, 4, codes.ALL_LAYERS)]
        colour = (COLOURS | DARKER)[run["variant"]]
        values = [group["held_out"] for group in found]
        first = run["variant"] not in [other["variant"] for other, _ in networks[:at]]
        axes.plot([1, 2, 3, 4], values[:4], color=colour, linestyle=SEEDS[run["seed"]], linewidth=1.2,
                  label=run["variant"] if first else None)
        beside = 0.5 * at / len(networks)
        axes.errorbar(5 + beside, values[4], yerr=found[4]["standard_error"], fmt="o", color=colour, capsize=2, markersize=4)
        axes.plot(5.75 + beside, found[4]["untrained"], "x", color=colour, markersize=4)


def one_shot_images():
    figure = style.new_figure(7.2, 2.9)
    panels = figure.subplots(1, 2, sharey=True)
    places = [*one_shot.WIDTHS, None]
    for axes, name, title in zip(panels, one_shot.SETS, ("new characters", "digits, out of distribution")):
        for fresh, marker, words in ((False, "o", "theory, seeds 1 to 5"), (True, "s", "theory, seeds 6 to 10")):
            points = [mean_and_error([one_shot.by_validation(one, width)[name] for one in one_shot.five("solve", fresh)])
                      for width in places]
            axes.errorbar(np.arange(4) + 0.1 * fresh, *zip(*points), fmt=marker + "-", color=style.THEORY, capsize=2.5,
                          markerfacecolor="white" if fresh else None, linewidth=1, label=words)
            network = [one_shot.of_network(one, name) for one in one_shot.five("prune", fresh)]
            axes.errorbar(-0.6 + 0.1 * fresh, *mean_and_error(network), fmt=marker, color=style.INK, capsize=2.5,
                          markerfacecolor="white" if fresh else None)
        axes.set_xticks([-0.6, 0, 1, 2, 3], ["trained\nnetwork", *map(str, one_shot.WIDTHS), "Gaussian\nprocess"])
        titled(axes, title, "width N of the theory")
    panels[0].set_ylabel("accuracy (%)")
    panels[0].legend(loc="upper right")
    return figure


def one_shot_heads():
    figure = style.new_figure(7.6, 3.2)
    scores, heads = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.25, 1]})
    shown = [("sensitivity", ()), ("own_score", ()), ("path_norm", ()), ("weight_norm", ()), ("score", (10, 0.25)),
             ("score_weighted", (100, 0.5))]
    words = {**one_shot.KNOWING, "score": "score, N = 10, T = 0.25", "score_weighted": "score_weighted, N = 100, T = 0.5"}
    for at, (name, where) in enumerate(reversed(shown)):
        for fresh in (False, True):
            found = [one_shot.correlation(one_shot.score_of(one, name, *where)) for one in one_shot.five("prune", fresh)]
            colour = style.THEORY if where else style.SAMPLES
            y = at + 0.15 - 0.3 * fresh
            scores.plot(found, [y] * 5, ".", color=colour, alpha=0.5, markersize=3)
            mean, error = mean_and_error(found)
            scores.errorbar(mean, y, xerr=error, fmt="s" if fresh else "o", color=colour, capsize=2.5,
                            markerfacecolor="white" if fresh else None)
    scores.set_yticks(range(len(shown)), [words[name] for name, _ in reversed(shown)])
    scores.axvline(0, color=style.FAINT, linewidth=1)
    scores.set(title="rank correlation with the drops\nseeds 1 to 5 (filled), 6 to 10 (open)", xlim=(-0.85, 1.02))
    style.light_grid(scores, "x")
    drops = one_shot.without_one_head()
    heads.plot(range(1, 9), np.array(drops).T, color=style.THEORY, linewidth=0.5, alpha=0.35)
    heads.errorbar(range(1, 9), *zip(*map(mean_and_error, zip(*drops))), fmt="o-", color=style.THEORY, capsize=2.5,
                   label="here")
    paper = published("T24, one-shot images")["accuracy without one head, by rising score"]
    heads.plot(range(1, 9), paper, "D-", color=style.MUTED, markerfacecolor="white", linewidth=1, label=PAPER["label"])
    titled(heads, "without one head", "its place by rising score", "accuracy (%)")
    heads.legend(loc="lower left")
    return figure


def trained_heads():
    figure = style.new_figure(7.4, 3.0)
    panels = figure.subplots(1, 2, sharey=True)
    shown = [("sensitivity", "gradient sensitivity", style.SAMPLES), ("weight_norm", "weight norm", style.MUTED)] + [
        (f"{name} N = 100 T = {t}", f"{words}, T = {t}", colour)
        for name, words, colour in (("theory error_rise", "theory's rise", style.THEORY),
                                    ("theory score", "score of $U_1$", style.CORRECTED)) for t in removal.TEMPERATURES]
    for axes, result, title in zip(panels, removal.removed_fresh(), ("heads of both layers", "heads of layer 2 alone")):
        for at, (name, _, colour) in enumerate(reversed(shown)):
            for variant, marker, y in (("hyla", "o", at + 0.13), ("softmax", "s", at - 0.13)):
                found = removal.correlations(result, variant, name)
                axes.plot(found, [y] * len(found), marker + "-", color=colour, linewidth=0.8,
                          markerfacecolor="white" if variant == "softmax" else None, markersize=3.5)
                axes.plot(sum(found) / len(found), y, "|", color=style.INK, markersize=9)
        axes.axvline(0, color=style.FAINT, linewidth=1)
        axes.set(title=title, xlabel="rank correlation", xlim=(-1.05, 1.05))
        style.light_grid(axes, "x")
    panels[0].set_yticks(range(len(shown)), [words for _, words, _ in reversed(shown)])
    panels[1].plot([], [], "o", color=style.INK, label="HYLA, six seeds")
    panels[1].plot([], [], "s", color=style.INK, markerfacecolor="white", label="softmax, six seeds")
    panels[1].plot([], [], "|", color=style.INK, markersize=9, label="mean")
    style.legend_outside(panels[1])
    return figure


def pretrained_heads():
    figure = style.new_figure(8.0, 3.0)
    axes = figure.subplots()
    names = pretrained.SCORES
    for at, task in enumerate(pretrained.TASKS):
        for place, name in enumerate(names):
            x = at + 0.11 * (place - (len(names) - 1) / 2)
            mean, error = mean_and_error(pretrained.agreement(name, pretrained.splits()[task]))
            axes.errorbar(x, mean, yerr=error, fmt="o", color=SCORE_COLOURS[name], capsize=2,
                          label=name if at == 0 else None)
    axes.axhline(0, color=style.FAINT, linewidth=1)
    titled(axes, "five splits each, head at its mean", "", "rank correlation with removal")
    named(axes, ["packages\n(MiniLM)", "fortunes\n(MiniLM)", "solubility\n(RXNMapper)", "hydration\n(RXNMapper)",
                 "copies\n(RXNMapper)"])
    style.legend_outside(axes)
    return figure


def known_head():
    """Removal and the theory's change on "copies", each divided by its largest, split by split."""
    figure = style.new_figure(7.2, 2.6)
    panels = figure.subplots(1, 2, sharey=True)
    rows = pretrained.splits()["copies"]
    of = {"removal: rise of the loss": lambda row: row["removed"]["mean"]["loss_rise"],
          "theory: predicted change": lambda row: pretrained.predicted(row, "all parts")}
    for axes, (title, values), colour in zip(panels, of.items(), (style.INK, style.THEORY)):
        for split, row in enumerate(rows):
            found = np.array(values(row))
            axes.plot(np.arange(1, 9) + 0.09 * (split - 2), found / found.max(), "o", color=colour, alpha=0.6, markersize=3.5)
        axes.axhline(0, color=style.FAINT, linewidth=1)
        axes.axvspan(5.6, 6.4, color="#f1f1f1", zorder=0)
        titled(axes, title, "head of layer 11 (grey: the known one)")
    panels[0].set_ylabel("share of the largest")
    return figure


def head_ranking():
    """One ranking with its intervals beside the true rises; and how well orders agree with the truth, with the ceiling."""
    figure = style.new_figure(9.2, 3.4)
    left, right = figure.subplots(1, 2, width_ratios=(1.3, 1.35))
    row = next(one for one in ranking.tasks()[ranking.EXAMPLE[0]] if (one["split"], one["n"]) == ranking.EXAMPLE[1:])
    estimate, truth = row["estimate"]["fixed"], row["truth"]["fixed"]["mean"]
    order = np.argsort(estimate["mean"])
    for at, head in enumerate(order):
        left.plot([estimate["low"][head], estimate["high"][head]], [at, at], color=style.THEORY, linewidth=2,
                  label="90 % interval" if at == 0 else None)
    left.plot(np.array(estimate["mean"])[order], range(len(order)), "o", color=style.THEORY, markersize=4, label="combined estimate")
    left.plot(np.array(truth)[order], range(len(order)), "d", color=style.INK, markersize=4, label="truth")
    left.axvline(0, color=style.FAINT, linewidth=1)
    titled(left, f"{ranking.EXAMPLE[0]}, {row['n']} examples", "rise of the squared error")
    left.set_yticks(range(len(order)), [f"L{layer}H{head}" for layer, head in (ranking.names_of(row)[one] for one in order)])
    left.legend(frameon=False, fontsize=7.5, loc="lower right")
    for target, marker, shift in (("fixed", "o", 0.14), ("refitted", "s", -0.14)):
        for at, task in enumerate(reversed(ranking.FRESH)):
            for column, colour in (("estimate", style.THEORY), (ranking.best_single(task, target), style.INK)):
                mean, error = mean_and_error(ranking.agreement(ranking.tasks()[task], target, column))
                right.errorbar(mean, at + shift, xerr=error, fmt=marker, color=colour, capsize=2, markersize=4)
            right.plot([ranking.ceiling(task, target)], [at + shift], "|", color=style.FAINT, markersize=9)
    right.axvline(0, color=style.FAINT, linewidth=1)
    right.set_yticks(range(len(ranking.FRESH)), list(reversed(ranking.FRESH)))
    for marker, colour, words in (("o", style.THEORY, "combined estimate, fixed readout"), ("s", style.THEORY, "refitted"),
                                  ("o", style.INK, "best single column, fixed readout"), ("s", style.INK, "refitted"),
                                  ("|", style.FAINT, "ceiling")):
        right.plot([], [], marker, color=colour, label=words)
    titled(right, "fresh tasks", "rank correlation with the truth")
    style.legend_outside(right)
    return figure


FIGURES = {
    "head-ranking": (head_ranking, ("results/head-ranking.json",)),
    "fuzzy-logic-codes": (fuzzy_codes, ("results/fuzzy-logic-latents.json",)),
    "sraven-codes": (sraven_codes, ("results/sraven-full-length-latents.json", "results/sraven-tf32-latents.json",
                                    "results/sraven-latents.json")),
    "one-shot-images": (one_shot_images, ("results/omniglot-one-shot.json", "results/omniglot-one-shot-fresh.json")),
    "one-shot-heads": (one_shot_heads, ("results/omniglot-one-shot.json", "results/omniglot-one-shot-fresh.json",
                                        "studies/published.json")),
    "trained-heads": (trained_heads, ("results/hyla-heads-fresh.json",)),
    "pretrained-heads": (pretrained_heads, ("results/pretrained-heads.json",)),
    "known-head": (known_head, ("results/pretrained-heads.json",)),
}
