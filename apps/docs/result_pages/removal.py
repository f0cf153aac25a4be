"""Heads of trained transformers: what removal costs, and what foresees it."""

import re

from recorded import average, of_kind, shown, spearman

NAMES = {"sensitivity": "gradient sensitivity", "weight_norm": "weight norm"}
THEORY = {"theory error_rise": "the theory's rise", "theory score": "score of $U_1$"}
WIDTHS, TEMPERATURES = ("100", "1000"), ("0.01", "0.1", "1")
VARIANTS = ("softmax", "hyla")


def removed(name="hyla-heads"):
    """Two results: in the first the theory saw the parts of both layers, in the second those of layer 2. Both remove every head."""
    both, upper = of_kind(name, "network_prune")
    return both, upper


def removed_again():
    """The same commands with later sources, whose AdamW rounds in another way."""
    return removed("hyla-heads-again")


def correlations(result, variant, name):
    """Rank correlations of a score with the rise of the loss, one for each network of a variant. Scores that cover all layers are
    compared over the ranked heads alone."""
    ranks_all = name.startswith("theory") or result is removed()[0] or result is removed_again()[0]
    found = []
    for run in result["runs"]:
        if run["variant"] != variant:
            continue
        scores = next(score for key, score in run["network"]["scores"].items() if re.sub(r" \S+-\d ", " ", key) == name)
        if ranks_all:
            found.append(scores["error_rise_spearman"])
        else:
            of = [at for at, layer in enumerate(run["heads"]["layer"]) if layer == 2]
            found.append(spearman(*([values[at] for at in of] for values in (scores["score"], run["network"]["error_rise"]))))
    return found


def scores():
    """[(cells that name a score, its key)]."""
    return [([words, "-", "-"], name) for name, words in NAMES.items()] + [
        ([words, width, temperature], f"{name} N = {width} T = {temperature}") for name, words in THEORY.items()
        for width in WIDTHS for temperature in TEMPERATURES]


def table():
    rows = [["score", "N", "T", "softmax", "hyla", "softmax, layer 2 alone", "hyla, layer 2 alone"]]
    for cells, name in scores():
        rows.append(cells + [average(correlations(result, variant, name), 2) for result in removed() for variant in VARIANTS])
    return rows


def again_table():
    """What the same commands gave twice, for both layers."""
    both = removed()[0], removed_again()[0]
    rows = [["", "softmax", "softmax, again", "hyla", "hyla, again"]]
    rows.append(["$R^2$ of the networks", *(average([of_held_out(run, "r2") for run in result["runs"] if run["variant"] == variant], 2)
                                            for variant in VARIANTS for result in both)])
    for cells, name in scores():
        if cells[1:] in (["-", "-"], ["100", "0.01"]):
            rows.append([cells[0], *(average(correlations(result, variant, name), 2) for variant in VARIANTS for result in both)])
    return rows


def networks():
    """[(name, its removals, the theory's result on its parts)] of softmax and HYLA of seed 1, then of seed 2."""
    runs = removed()[0]["runs"]
    return [(f"{run['variant']}, seed {run['seed']}", run, result)
            for run, result in zip(runs, of_kind("hyla-heads", "prune"), strict=True)]


def by_evidence(result):
    return max(result["points"], key=lambda point: point["log_evidence"])


def by_validation(result):
    return min(result["points"], key=lambda point: point["sets"]["validation"]["mean_squared_error"])


def of_held_out(run, name):
    sets = run["network"]["sets"]
    return sets[name][sets["name"].index("held_out")]


def rises(result):
    """{head: rise of the predictor's squared error without it, in %}, at the width and T of largest evidence."""
    point = by_evidence(result)
    names = [name for layer in sorted(result["names"]) for name in result["names"][layer]]
    without = zip(names, point["pruning"]["mean_squared_error_without"], strict=True)
    return {name: 100 * (error / point["test_mean_squared_error"] - 1) for name, error in without
            if re.fullmatch(r"L\dH\d", name)}


def losses(run):
    """{head: R^2 that the network loses without it}."""
    heads = run["heads"]
    return {f"L{layer}H{head}": -change for layer, head, change in zip(heads["layer"], heads["head"], heads["r2_change"])}


def dearest(run):
    """The place of the head without which the network loses most R^2."""
    changes = run["heads"]["r2_change"]
    return min(range(len(changes)), key=changes.__getitem__)


def after_four(run):
    """R^2 with four of 16 heads removed by rising sensitivity, and by random orders."""
    return run["network"]["scores"]["sensitivity"]["rising"]["r2"][4], run["network"]["random"]["mean"][4]


def networks_table():
    rows = [["", *(words for words, _, _ in networks())]]

    def row(words, value, digits):
        rows.append([words, *(shown(value(run, result), digits) for _, run, result in networks())])

    row("$R^2$ of the network", lambda run, _: of_held_out(run, "r2"), 2)
    row("$R^2$ lost without the head that costs most", lambda run, _: max(losses(run).values()), 2)
    row("the same head at its mean", lambda run, _: -run["heads"]["r2_change_mean"][dearest(run)], 2)
    row("largest rise of the predictor's error without one head (%)", lambda _, result: max(rises(result).values()), 1)
    row("squared error of the network", lambda run, _: of_held_out(run, "loss"), 4)
    row("squared error of the predictor", lambda _, result: by_validation(result)["test_mean_squared_error"], 4)
    row("$R^2$ without the four heads of least sensitivity", lambda run, _: after_four(run)[0], 2)
    row("$R^2$ without four heads at random", lambda run, _: after_four(run)[1], 2)
    return rows


def claim(both=None):
    both = both or removed()[0]
    return [average(correlations(both, variant, name), 2) for name in ("theory error_rise N = 100 T = 0.01", "sensitivity")
            for variant in ("hyla", "softmax")]


def claim_again():
    return claim(removed_again()[0])


TABLES = {"trained-heads": table, "trained-heads-again": again_table, "trained-heads-networks": networks_table}
SENTENCES = [
    ("results/trained-heads.md", "Its predicted rise reaches a rank correlation of {} for HYLA and {} for softmax. "
     "Gradient sensitivity reaches {} and {}.", claim),
]
