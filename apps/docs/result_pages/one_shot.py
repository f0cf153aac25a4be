"""One-shot images: the theory on the heads of trained networks, and which of their heads matter."""

from recorded import average, of_kind, point_at, published, shown
from headway.base.ranks import mean_correlation_p_value

OLD, FRESH = "omniglot-one-shot", "omniglot-one-shot-fresh"
SETS = ("test", "digits")  # new characters, and images out of distribution
WIDTHS, TEMPERATURES = (10, 100, 1000), (0.1, 0.25, 0.5)
HALF = 4  # of the heads
KNOWING = {"sensitivity": "gradient sensitivity", "own_score": "score of the network's own $U_1$", "path_norm": "path norm",
           "weight_norm": "weight norm"}
SHAPES = ("2 layers of 8", "3 layers of 3")


def five(kind, fresh=False):
    """The results of five seeds."""
    return of_kind(FRESH if fresh else OLD, kind)[:5]


def other_shapes(kind):
    return of_kind(FRESH, kind)[5:7]


def by_validation(result, width):
    """{set: accuracy in %} of the theory at the temperature that validation chooses; width None: Gaussian process."""
    model, points = ("theory", "points") if width else ("gaussian_process", "gaussian_process")
    chosen = next(one["point"] for one in result["chosen"] if (one["by"], one["model"]) == ("validation", model)
                  and (width is None or one["widths"][0] == width))
    best = result[points][chosen]
    return {"test": 100 * best["accuracy"], "digits": 100 * best["sets"]["digits"]["accuracy"]}


def of_network(result, name):
    sets = result["network"]["sets"]
    return 100 * sets["accuracy"][sets["name"].index(name)]


def gain(result, name, width=10):
    """What the theory at this width gains in accuracy over the Gaussian process."""
    return by_validation(result, width)[name] - by_validation(result, None)[name]


def images_table():
    solved = {"old": five("solve"), "fresh": five("solve", fresh=True)}
    pruned = {"old": five("prune"), "fresh": five("prune", fresh=True)}
    rows = [["", "characters, seeds 1 to 5", "seeds 6 to 10", "2 x 8", "3 x 3", "digits, seeds 1 to 5", "seeds 6 to 10",
             "2 x 8", "3 x 3"]]

    def row(words, value, results, shapes):
        cells = [words]
        for name in SETS:
            cells += [average(value(one, name) for one in results[group]) for group in ("old", "fresh")]
            cells += [shown(value(one, name)) for one in shapes]
        rows.append(cells)

    row("the trained network", of_network, pruned, other_shapes("prune"))
    for width in (*WIDTHS, None):
        row(f"theory on its heads, N = {width}" if width else "Gaussian process",
            lambda one, name, width=width: by_validation(one, width)[name], solved, other_shapes("solve"))
    for width in (10, 1000):
        row(f"N = {width} less Gaussian process", lambda one, name, width=width: gain(one, name, width), solved,
            other_shapes("solve"))
    return rows


def images_claim():
    every = five("solve") + five("solve", fresh=True)
    return [average(gain(one, name) for one in every) for name in SETS]


def wide_gains():
    """What N = 1000 gains over the Gaussian process in each of the ten networks, on each set."""
    return [[gain(one, name, 1000) for one in five("solve") + five("solve", fresh=True)] for name in SETS]


def gains_are_positive():
    """Whether N = 10 is better on new characters in every network, those of other shapes included."""
    return all(gain(one, "test") > 0 for one in of_kind(OLD, "solve") + of_kind(FRESH, "solve"))


def samples_table():
    """Exact samples on the heads of seed 6 beside the theory."""
    (result,) = of_kind(FRESH, "sample")
    (point,), (limit,) = result["points"], result["gaussian_process"]
    theory, corrected = point["theory"], point["theory"]["corrected"]

    def row(words, response, of):
        return [words, response, shown(100 * of["accuracy"]), shown(100 * of["sets"]["digits"]["accuracy"]),
                shown(of["test_mean_squared_error"], 4)]

    good = f"R-hat {point['rhat_max']:.3f}, {point['ess_bulk_min']:.0f} effective draws"
    return [["seed 6, N = 10, T = 0.5", "$U_a$", "new characters", "digits", "squared error, characters"],
            row(f"exact samples ({good})", shown(point["U_a_mean"], 3, point["U_a_mcse"]), point),
            row("saddle point", shown(theory["U_a"], 3), theory),
            row("1/N-corrected", shown(corrected["U_a"], 3), corrected),
            row("Gaussian process", "1", limit)]


def score_of(result, name, width=None, temperature=None):
    scores = (point_at(result, width, temperature) if width else result)["network"]["scores"]
    return scores[name]


def correlation(score):
    return score["accuracy_drop_spearman"]


def half_less_random(result, score):
    """Accuracy in % with half of the heads removed in rising order of the score, minus that of random orders."""
    return 100 * (score["rising"]["accuracy"][HALF] - result["network"]["random"]["mean"][HALF])


def by_chance(results, scores):
    p = mean_correlation_p_value([(score["score"], result["network"]["accuracy_drop"])
                                  for score, result in zip(scores, results, strict=True)])
    return "< 0.0001" if p < 1e-4 else f"{p:.1g}"


def looks():
    """[(name, where)] of every score that was looked at: the theory's at every width and temperature, then the others."""
    return [(name, (width, temperature)) for name in ("score", "score_weighted") for width in WIDTHS
            for temperature in TEMPERATURES] + [(name, ()) for name in KNOWING]


def scores_table():
    old, fresh = five("prune"), five("prune", fresh=True)
    rows = [["score", "N", "T", "rank correlation, seeds 1 to 5", "p by chance", "seeds 6 to 10",
             "half less random, seeds 1 to 5", "seeds 6 to 10"]]
    for name, where in looks():
        scores = [score_of(result, name, *where) for result in old]
        again = [score_of(result, name, *where) for result in fresh]
        rows.append([KNOWING.get(name, f"`{name}`"), *(where or ("-", "-")), average(map(correlation, scores), 2),
                     by_chance(old, scores), average(map(correlation, again), 2), average(map(half_less_random, old, scores)),
                     average(map(half_less_random, fresh, again))])
    return rows


def rules():
    """The two rules that were written down before seeds 6 to 10 were run. Each has its numbers on old, then on fresh seeds."""
    groups = five("prune"), five("prune", fresh=True)
    first = [average((correlation(score_of(one, "score", 10, 0.25)) for one in group), 2) for group in groups]
    second = [average(half_less_random(one, score_of(one, "score_weighted", 100, 0.5)) for one in group)
              for group in groups]
    return first + second


def first_rule_by_chance():
    fresh = five("prune", fresh=True)
    return [by_chance(fresh, [score_of(one, "score", 10, 0.25) for one in fresh])]


def sensitivity_of_all():
    return [average((correlation(score_of(one, "sensitivity")) for one in five("prune") + five("prune", fresh=True)), 2)]


def sensitivity_of_fresh():
    return [average((correlation(score_of(one, "sensitivity")) for one in five("prune", fresh=True)), 2)]


def half_table():
    """Accuracy in % with all heads, and with half of them removed in several orders."""
    columns = {
        "all heads": lambda one: of_network(one, "test") / 100,
        "half, random orders": lambda one: one["network"]["random"]["mean"][HALF],
        "half, greedy search on the validation set": lambda one: one["network"]["greedy"]["accuracy"][HALF],
        "half, by rule 2": lambda one: score_of(one, "score_weighted", 100, 0.5)["rising"]["accuracy"][HALF]}
    return [["accuracy (%)", *columns]] + [
        [words, *(average(map(of, five("prune", fresh)), scale=100) for of in columns.values())]
        for words, fresh in (("seeds 1 to 5", False), ("seeds 6 to 10", True))]


def changes(result):
    """Rank correlations of the predicted change of squared error, at every width and temperature."""
    return [correlation(score_of(result, "squared_error_rise", width, temperature))
            for width in WIDTHS for temperature in TEMPERATURES]


def shapes_table():
    columns = [(name, ()) for name in KNOWING] + [("score", (10, 0.25)), ("squared_error_rise", (10, 0.25))]
    rows = [["rank correlation", *(KNOWING.get(name, f"`{name}`, N = 10, T = 0.25") for name, _ in columns),
             "`squared_error_rise`, all nine N and T"]]
    groups = {SHAPES[0]: other_shapes("prune")[:1], SHAPES[1]: other_shapes("prune")[1:],
              "2 layers of 4, seeds 6 to 10": five("prune", fresh=True)}
    for words, group in groups.items():
        cells = [average((correlation(score_of(one, name, *where)) for one in group), 2) for name, where in columns]
        found = changes(group[0])
        rows.append([words, *cells, f"{min(found):.2f} to {max(found):.2f}" if len(group) == 1 else "-"])
    return rows


def without_one_head():
    """For each network, accuracies in % without one head, heads by rising score (N = 10, T = 0.25)."""
    found = []
    for result in five("prune") + five("prune", fresh=True):
        scores = score_of(result, "score", 10, 0.25)["score"]
        order = sorted(range(len(scores)), key=scores.__getitem__)
        found.append([of_network(result, "test") - 100 * result["network"]["accuracy_drop"][head] for head in order])
    return found


def without_one_head_table():
    here = [average(column) for column in zip(*without_one_head())]
    paper = published("T24, one-shot images")["accuracy without one head, by rising score"]
    return [["accuracy (%) without one head, by rising `score`", *map(str, range(1, 9))], ["published, one network", *map(str, paper)],
            ["here, seeds 1 to 10", *here]]


TABLES = {"one-shot-images": images_table, "one-shot-samples": samples_table, "one-shot-heads": scores_table,
          "one-shot-shapes": shapes_table, "one-shot-half": half_table,
          "one-shot-without-one-head": without_one_head_table}
SENTENCES = [
    ("results/one-shot-images.md", "is above the Gaussian process by {} points on new characters and {} on digits.**",
     images_claim),
    ("results/one-shot-heads.md", "the rank correlation falls from {} to {}. The gain over random orders "
     "falls from {} to {} points.",
     rules),
    ("results/one-shot-heads.md", "A random order reaches such a mean with probability {}.", first_rule_by_chance),
    ("results/one-shot-heads.md", "Gradient sensitivity does tell: {} over ten networks.",
     sensitivity_of_all),
]
