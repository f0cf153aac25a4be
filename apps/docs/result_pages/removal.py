"""Heads of trained transformers: what removal costs, and what foresees it."""

import re
import statistics

from recorded import average, of_kind, shown, spearman

NAMES = {"sensitivity": "gradient sensitivity", "weight_norm": "weight norm"}
THEORY = {"theory error_rise": "the theory's rise", "theory score": "score of $U_1$"}
WIDTHS, TEMPERATURES = ("100", "1000"), ("0.01", "0.1", "1")
VARIANTS = ("softmax", "hyla")


def removed(name="hyla-heads"):
    """Two results: in the first the theory saw the parts of both layers, in the second those of layer 2. Both remove every head."""
    both, upper = of_kind(name, "network_prune")
    return both, upper


def removed_fresh():
    """Of six more seeds, which were trained after the first two had led to claims."""
    return removed("hyla-heads-fresh")


def removed_again():
    """Both layers of the first two seeds, made again with sources whose AdamW rounds in another way."""
    return of_kind("hyla-heads-again", "network_prune")[0]


def upper_heads(run):
    """The places of the heads of layer 2."""
    return [at for at, layer in enumerate(run["heads"]["layer"]) if layer == 2]


def is_idle(run):
    """Whether layer 2 does nothing: the loss does not move with any of its heads, so nothing ranks them."""
    sensitivity = run["network"]["scores"]["sensitivity"]["score"]
    return not any(sensitivity[at] for at in upper_heads(run))


def scores_of(run, name):
    """The record of a score. The names of theory's scores in a file have the file of the theory's result, too."""
    return next(score for key, score in run["network"]["scores"].items() if re.sub(r" \S+-\d+ ", " ", key) == name)


def correlations(result, variant, name):
    """Rank correlations of a score with the rise of the loss, one for each network of a variant. Of both layers, or of layer 2 alone
    where the theory saw that alone; networks where it does nothing are left out there."""
    both = any(result is one for one in (removed()[0], removed_fresh()[0], removed_again()))
    found = []
    for run in result["runs"]:
        if run["variant"] != variant or (not both and is_idle(run)):
            continue
        scores = scores_of(run, name)
        if both or name.startswith("theory"):
            found.append(scores["error_rise_spearman"])
        else:
            of = upper_heads(run)
            found.append(spearman(*([values[at] for at in of] for values in (scores["score"], run["network"]["error_rise"]))))
    return found


def scores():
    """[(cells that name a score, its key)]."""
    return [([words, "-", "-"], name) for name, words in NAMES.items()] + [
        ([words, width, temperature], f"{name} N = {width} T = {temperature}") for name, words in THEORY.items()
        for width in WIDTHS for temperature in TEMPERATURES]


def table():
    rows = [["score", "T", "softmax", "hyla", "softmax, layer 2 alone", "hyla, layer 2 alone, five seeds"]]
    for (words, width, temperature), name in scores():
        if width in ("-", WIDTHS[0]):
            rows.append([words, temperature, *(average(correlations(result, variant, name), 2) for result in removed_fresh()
                                               for variant in VARIANTS)])
    return rows


def narrow():
    """[(run, the theory's result at N = 10 and T = 0.01 on its parts)] of the fresh seeds, over both layers."""
    return list(zip(removed_fresh()[0]["runs"], of_kind("hyla-heads-narrow", "prune"), strict=True))


def rise_of_narrow():
    """Rank correlations of the theory's rise at N = 10, of HYLA and softmax."""
    found = {variant: [] for variant in ("hyla", "softmax")}
    for run, result in narrow():
        names = [name for layer in sorted(result["names"]) for name in result["names"][layer]]
        without = dict(zip(names, result["points"][0]["pruning"]["mean_squared_error_without"], strict=True))
        heads = zip(run["heads"]["layer"], run["heads"]["head"])
        found[run["variant"]].append(spearman([without[f"L{layer}H{head}"] for layer, head in heads], run["network"]["error_rise"]))
    return [average(values, 2) for values in found.values()]


def wider():
    """The most that a mean in the table differs with N = 1000."""
    names = [name for (_, width, _), name in scores() if width == WIDTHS[0]]
    apart = [abs(statistics.mean(correlations(result, variant, name)) -
                 statistics.mean(correlations(result, variant, name.replace("N = 100 ", "N = 1000 "))))
             for result in removed_fresh() for variant in VARIANTS for name in names]
    return [shown(max(apart), 2)]


EVIDENCE = "N = 100 T = 0.01"  # what evidence picks in every network, of N = 100 and 1000
CLAIMED = {**NAMES, f"theory error_rise {EVIDENCE}": "the theory's rise", f"theory score {EVIDENCE}": "score of $U_1$"}


def first_table():
    """The first two seeds, over both layers, and HYLA's made again."""
    rows = [["score", "softmax", "hyla", "hyla, made again"]]
    for name, words in CLAIMED.items():
        rows.append([words, *(average(correlations(result, variant, name), 2) for result, variant in
                              ((removed()[0], "softmax"), (removed()[0], "hyla"), (removed_again(), "hyla")))])
    return rows


def correlations_at_the_mean(variant, name):
    """Of fresh seeds, both layers: with the rise of the loss where a head is replaced by its mean."""
    return [spearman(scores_of(run, name)["score"], run["heads"]["loss_rise_mean"])
            for run in removed_fresh()[0]["runs"] if run["variant"] == variant]


def mean_table():
    return [["score", "softmax", "hyla"],
            *([words, *(average(correlations_at_the_mean(variant, name), 2) for variant in VARIANTS)]
              for name, words in CLAIMED.items())]


def by_evidence(result):
    return max(result["points"], key=lambda point: point["log_evidence"])


def by_validation(result):
    return min(result["points"], key=lambda point: point["sets"]["validation"]["mean_squared_error"])


def of_held_out(run, name):
    sets = run["network"]["sets"]
    return sets[name][sets["name"].index("held_out")]


def dearest(run):
    """The place of the head without which the network loses most R^2."""
    drops = run["heads"]["r2_drop"]
    return max(range(len(drops)), key=drops.__getitem__)


def lost(run, drop="r2_drop"):
    """R^2 that the network loses without that head, or ("r2_drop_mean") with its mean in its place."""
    return run["heads"][drop][dearest(run)]


def largest_rise(run, result):
    """The largest rise of the predictor's squared error without one head, in %, at the width and T of largest evidence."""
    return 100 * max(scores_of(run, f"theory error_rise {EVIDENCE}")["score"]) / by_evidence(result)["test_mean_squared_error"]


def fresh_networks():
    """[(its removals, the theory's result on its parts)], a network each."""
    return list(zip(removed_fresh()[0]["runs"], of_kind("hyla-heads-fresh", "prune"), strict=True))


def networks_table():
    rows = [["six fresh networks each, seeds 3 to 8", *VARIANTS]]

    def row(words, value, digits):
        rows.append([words, *(", ".join(shown(value(run, result), digits) for run, result in fresh_networks()
                                        if run["variant"] == variant) for variant in VARIANTS)])

    row("$R^2$ of the network", lambda run, _: of_held_out(run, "r2"), 2)
    row("$R^2$ lost without the head that costs most", lambda run, _: lost(run), 2)
    row("$R^2$ lost with that head's output at its mean", lambda run, _: lost(run, "r2_drop_mean"), 2)
    row("largest rise of the predictor's error without one head (%)", largest_rise, 1)
    row("error of the predictor, in units of the network's",
        lambda run, result: by_validation(result)["test_mean_squared_error"] / of_held_out(run, "loss"), 2)
    return rows


def less_weight_norm():
    """The theory's rise less the weight norm, paired, of HYLA and softmax over both layers."""
    both = removed_fresh()[0]
    return [average((a - b for a, b in zip(correlations(both, variant, f"theory error_rise {EVIDENCE}"),
                                           correlations(both, variant, "weight_norm"), strict=True)), 2)
            for variant in ("hyla", "softmax")]


def claim():
    return [average(correlations(removed_fresh()[0], variant, name), 2) for name in (f"theory error_rise {EVIDENCE}", "sensitivity")
            for variant in ("hyla", "softmax")]


TABLES = {"trained-heads": table, "trained-heads-mean": mean_table, "trained-heads-first": first_table,
          "trained-heads-networks": networks_table}
SENTENCES = [
    ("results/trained-heads.md", "On six fresh seeds its predicted rise reaches a rank correlation of {} for HYLA and {} for "
     "softmax. Gradient sensitivity reaches {} and {}.", claim),
    ("results/trained-heads.md", "With $N = 1000$ no mean differs by more than {}.", wider),
    ("results/trained-heads.md", "has larger evidence in every network, and a rise of {} for HYLA and {} for softmax.", rise_of_narrow),
    ("results/trained-heads.md", "Paired over seeds it has {} more for HYLA and {} for softmax.", less_weight_norm),
]
