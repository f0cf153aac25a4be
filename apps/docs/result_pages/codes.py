"""What can be read off attention weights: of fuzzy logic, and of SRAVEN."""

from recorded import average, load, shown, spearman
from sraven import ORDER, accuracy, full_of_each_precision

ALL_LAYERS = 0
FULL = {"full-length-latents": "float32", "tf32-latents": "TF32"}  # files of SRAVEN at full length, and their precision


def fuzzy_results():
    """(networks, codes of one query for all, codes where every example has its own)."""
    return load("fuzzy-logic-latents")


def group_of(groups, label, decoder, layer=ALL_LAYERS):
    return next(group for group in groups if (group["label"], group["decoder"], group["layer"]) == (label, decoder, layer))


def with_error(group, name, digits=3, scale=1.0):
    return shown(scale * group[name], digits, scale * group[f"{name}_standard_error"])


def fuzzy_labels():
    return [group["label"] for group in fuzzy_results()[0]["groups"]]


def fuzzy_table():
    networks, codes, own_query = fuzzy_results()
    rows = [["attention", "terms", "untrained", "shuffled", "bits", "terms, own queries", "held-out $R^2$ of the network"]]
    for label in fuzzy_labels():
        term, bits, own = (group_of(of["groups"], label, name) for of, name in (
            (codes, "term"), (codes, "bits"), (own_query, "term")))
        network = next(group for group in networks["groups"] if group["label"] == label)
        rows.append([label.replace("heads = 1", "one head"), *(with_error(term, name) for name in (
            "held_out", "untrained", "shuffled")), with_error(bits, "held_out"), with_error(own, "held_out"),
            with_error(network["splits"]["held_out"], "last", 2)])
    return rows


def terms_of_trained():
    """F1 of terms of the networks with eight heads: least, largest, chance."""
    groups = fuzzy_results()[1]["groups"]
    found = [group_of(groups, label, "term")["held_out"] for label in fuzzy_labels() if "heads" not in label]
    return [shown(min(found), 2), shown(max(found), 2), shown(group_of(groups, "hyla", "term")["chance"], 2)]


def rises_table():
    """F1 of terms after training minus before, over seeds."""
    rows = [["attention", "F1 added by training", "seeds 1, 2"]]
    for label in fuzzy_labels():
        decoders = [next(one for one in run["all_layers"]["decoders"] if one["name"] == "term")
                    for run in fuzzy_results()[1]["runs"] if run["label"] == label]
        rises = [one["held_out"] - one["untrained"] for one in decoders]
        rows.append([label.replace("heads = 1", "one head"), average(rises, 3), ", ".join(shown(rise, 3) for rise in rises)])
    return rows


def sraven(*names):
    """[(run, {(decoder, layer): decoder})] of the networks of sraven-reference in these files: those of full length unless there
    are names."""
    found = []
    for result in (result for name in names or FULL for result in load(f"sraven-{name}")):
        for run in result["runs"]:
            layers = {ALL_LAYERS: run["all_layers"], **{layer["layer"]: layer for layer in run["layers"]}}
            found.append((run, {(decoder["name"], number): decoder for number, layer in layers.items()
                                for decoder in layer["decoders"]}))
    return sorted(found, key=lambda one: (ORDER.index(one[0]["variant"]), one[0]["seed"]))


def cosines(run, number):
    """Mean cosines of the codes of one rule, and of two rules, in one layer."""
    alike = next(layer for layer in run["layers"] if layer["layer"] == number)["similarity"]
    return alike["same_label"], alike["different_label"]


def sraven_row(run, groups, words):
    rule, answer = (groups[name, ALL_LAYERS] for name in ("rule", "answer"))
    same, different = cosines(run, 3)
    return [run["variant"], run["seed"], *words, shown(rule["held_out"], 3, rule["standard_error"]), shown(rule["untrained"], 3),
            shown(rule["shuffled"], 3), shown(answer["held_out"], 3, answer["standard_error"]),
            shown(answer["untrained"], 3), shown(same, 2), shown(different, 2)]


NUMBERS = ["rule", "untrained", "shuffled", "answer", "answer, untrained", "cosine, same rule", "cosine, two rules"]


def sraven_table():
    rows = [(run, groups, precision) for name, precision in FULL.items() for run, groups in sraven(name)]
    rows.sort(key=lambda one: (ORDER.index(one[0]["variant"]), one[0]["seed"]))
    return [["attention", "seed", "precision", *NUMBERS],
            *(sraven_row(run, groups, [precision]) for run, groups, precision in rows)]


def sraven_fifth_table():
    return [["attention", "seed", *NUMBERS], *(sraven_row(run, groups, []) for run, groups in sraven("latents"))]


def one_head():
    """[(attention, heads, {decoder: group})] of the small matrices."""
    eight, _, single = load("sraven-small-latents")
    return [(label, heads, {name: group_of(result["groups"], label, name) for name in ("rule", "answer")})
            for heads, result in ((8, eight), (1, single)) for label in dict.fromkeys(
                group["label"] for group in result["groups"])]


def one_head_table():
    _, networks, _ = load("sraven-small-latents")
    trained = {8: load("sraven-small")[0]["groups"], 1: networks["groups"]}
    rows = [["attention", "heads", "rule", "untrained", "shuffled", "answer", "accuracy of the network on `held_out`"]]
    for label, heads, decoded in one_head():
        network = next(group for group in trained[heads] if group["label"] == label)["splits"]["held_out"]
        rows.append([label, heads, with_error(decoded["rule"], "held_out"),
                     shown(decoded["rule"]["untrained"], 3), shown(decoded["rule"]["shuffled"], 3),
                     with_error(decoded["answer"], "held_out"), with_error(network, "last")])
    return rows


def sraven_chances():
    """What chance gives for rules and answers, in the large matrices."""
    _, groups = sraven()[0]
    return [shown(groups[name, ALL_LAYERS]["chance"], 3) for name in ("rule", "answer")]


def small_chances():
    decoded = one_head()[0][2]
    return [shown(decoded[name]["chance"], 3) for name in ("rule", "answer")]


def sraven_claim(*names):
    """Scores of rules: the least and the largest over networks, and the largest of untrained networks and shuffled labels."""
    rules = [groups["rule", ALL_LAYERS] for _, groups in sraven(*names)]
    return [shown(min(rule["held_out"] for rule in rules), 2), shown(max(rule["held_out"] for rule in rules), 2),
            shown(max(max(rule["untrained"], rule["shuffled"]) for rule in rules), 2)]


def with_accuracy():
    """[(network, accuracy on held-out rule sets, its decoders)] of full length."""
    trained = full_of_each_precision()
    return [((run["variant"], run["seed"]), accuracy(trained[precision][run["variant"], run["seed"]]), groups)
            for name, precision in FULL.items() for run, groups in sraven(name)]


def correlations_with_accuracy():
    """Over networks of full length, of the accuracy with how well rules and answers are read off codes."""
    _, accuracies, groups = zip(*with_accuracy(), strict=True)
    return [shown(spearman(accuracies, [one[name, ALL_LAYERS]["held_out"] for one in groups]), 2) for name in ("rule", "answer")]


def answers_of_layer_1():
    """Scores of answers in the first layer: least and largest over networks of full length."""
    found = [groups["answer", 1]["held_out"] for _, groups in sraven()]
    return [shown(min(found), 2), shown(max(found), 2)]


def alike_in_layer_2():
    """Of HYLA's seed 2 after a fifth of the training: the accuracy of rules, and the cosine of codes of one rule. Codes of two
    rules have the same cosine."""
    run, groups = next(one for one in sraven("latents") if (one[0]["variant"], one[0]["seed"]) == ("hyla", 2))
    same, different = (shown(cosine, 2) for cosine in cosines(run, 2))
    if same != different:
        raise LookupError(f"the cosines are {same} and {different}")
    return [shown(groups["rule", 2]["held_out"], 2), same]


TABLES = {"fuzzy-logic-codes": fuzzy_table, "fuzzy-logic-codes-rise": rises_table,
          "sraven-codes": sraven_table, "sraven-codes-fifth": sraven_fifth_table, "sraven-codes-one-head": one_head_table}
SENTENCES = [
    ("results/fuzzy-logic-codes.md", "F1 is {} to {}, chance {}.", terms_of_trained),
    ("results/sraven-codes.md", "a balanced accuracy of {} to {}. Before training, or with shuffled labels, it has at most {}.",
     sraven_claim),
    ("results/sraven-fifth.md", "The balanced accuracy of rules is {} to {}.", lambda: sraven_claim("latents")[:2]),
    ("results/sraven-codes.md", "Over all of them the rank correlation of held-out accuracy is {} with rules, and {} with answers.",
     correlations_with_accuracy),
    ("results/sraven-codes.md", "Read from layer 1 alone, answers have {} to {} in every network.", answers_of_layer_1),
    ("results/sraven-codes.md", "Chance is {} for rules, which the position of the feature tells in part, and {} for answers.",
     sraven_chances),
    ("results/sraven-codes.md", "Chance is {} for these rules and {} for these answers.", small_chances),
    ("results/sraven-fifth.md", "In layer 2 of HYLA's second seed the accuracy is {}, and both cosines are {}.",
     alike_in_layer_2),
]
