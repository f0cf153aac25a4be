"""SRAVEN: made small, and at the settings of the paper, at full length and after a fifth of it."""

import math

from recorded import average, difference, final, grouped, mean_and_error, of_kind, pair, published, runs_of, shown

VARIANTS = ("softmax", "linear", "hyla")
ORDER = ("softmax", "linear", "linear_rms_head", "hyla_linear_value", "hyla_no_rms_head", "hyla")
# Files with networks of full length, and the precision that these were trained in.
FULL_LENGTH = {"full-length": "float32", "tf32": "TF32", "bf16": "bf16"}
SEEDS = (1, 2, 3)
PAPER = "S25, table A1, SRAVEN"


def accuracy(run, split="held_out"):
    return final(run, split, "accuracy", 100)


def small():
    return grouped(runs_of("sraven-small"), "variant")


def small_table():
    rows = [["attention", "`test`", "`held_out`", "`held_out`, seeds 1, 2, 3", "`held_out` less `test`, seeds 1, 2, 3"]]
    for variant, runs in small().items():
        rows.append([variant, average(accuracy(run, "test") for run in runs), average(map(accuracy, runs)),
                     ", ".join(shown(accuracy(run)) for run in runs),
                     ", ".join(shown(accuracy(run) - accuracy(run, "test")) for run in runs)])
    return rows


def small_differences():
    """HYLA minus softmax on held-out rule sets, seed by seed."""
    runs = small()
    return [accuracy(a) - accuracy(b) for a, b in zip(runs["hyla"], runs["softmax"], strict=True)]


def small_claim():
    return [average(small_differences())]


def small_gain():
    """How much more HYLA gains than softmax from `test` to `held_out`."""
    gains = {name: [accuracy(run) - accuracy(run, "test") for run in runs] for name, runs in small().items()}
    return [average(a - b for a, b in zip(gains["hyla"], gains["softmax"], strict=True))]


def in_order(runs):
    """{(attention, seed): run}, sorted by ORDER and seed."""
    return dict(sorted(runs.items(), key=lambda one: (ORDER.index(one[0][0]), one[0][1])))


def reference():
    """{(attention, seed): run} of a fifth of the published length."""
    return in_order({(run["label"], run["seed"]): run for run in runs_of("sraven-reference")})


def full_of_each_precision():
    """{precision: {(attention, seed): run}} of the published length."""
    return {precision: in_order({(run["label"], run["seed"]): run for result in of_kind(f"sraven-{name}", "train")
                                 for run in result["runs"]}) for name, precision in FULL_LENGTH.items()}


def full():
    """{(attention, seed): run} of the published length: the networks that are compared. All of one seed are of one precision, which
    is float32 in seed 1 and TF32 in the others."""
    runs = full_of_each_precision()
    return in_order({network: run for precision in ("float32", "TF32") for network, run in runs[precision].items()
                     if (network[1] == 1) == (precision == "float32")})


def by_variant(runs):
    return grouped(runs.values(), "label")


def reference_row(run, words):
    return [run["label"], run["seed"], *words, pair(published(PAPER)[run["label"]]), shown(accuracy(run)), shown(accuracy(run, "test")),
            shown(final(run, "held_out", "accuracy_per_feature", 100)), shown(final(run, "test", "loss"), 3)]


def best_rows(runs, words):
    rows = []
    for seed in sorted({seed for _, seed in runs}):
        ceiling = runs["hyla", seed]["ceiling"]
        rows.append(["best possible", seed, *words, "-", *(shown(100 * ceiling[split]["accuracy"]) for split in ("held_out", "test")),
                     shown(100 * ceiling["held_out"]["accuracy_per_feature"]), "-"])
    return rows


NUMBERS = ["`held_out`", "`test`", "features of `held_out`", "loss on `test`"]


def fifth_table():
    return [["attention", "seed", "published, five times as long", *NUMBERS],
            *(reference_row(run, []) for run in reference().values()), *best_rows(reference(), [])]


def full_table():
    runs = [(network, precision, run) for precision, found in full_of_each_precision().items() for network, run in found.items()]
    runs.sort(key=lambda one: (ORDER.index(one[0][0]), one[0][1]))
    return [["attention", "seed", "precision", "published, three seeds", *NUMBERS],
            *(reference_row(run, [precision]) for _, precision, run in runs), *best_rows(full(), ["-"])]


def reference_means(runs):
    """Means of softmax, linear attention and HYLA over seeds."""
    variants = by_variant(runs)
    return [average(map(accuracy, variants[name])) for name in VARIANTS]


def authors_embedding():
    """HYLA's accuracies in two seeds with the first embedding of the authors' code, their mean, and the same with ours in float32."""
    theirs = {run["seed"]: accuracy(run) for run in runs_of("sraven-authors-embedding")}
    ours = full_of_each_precision()["float32"]
    return [*(shown(theirs[seed]) for seed in (1, 2)), average(theirs.values()), *(shown(accuracy(ours["hyla", seed])) for seed in (1, 2))]


def full_means():
    return reference_means(full())[::-1]


def leads(other):
    """HYLA less another attention, seed by seed."""
    return [accuracy(full()["hyla", seed]) - accuracy(full()[other, seed]) for seed in SEEDS]


def leads_table():
    return [["HYLA less", *(f"seed {seed}" for seed in SEEDS), "mean", "in the paper"],
            *([other, *map(shown, leads(other)), average(leads(other)), lead_in_paper(other)]
              for other in ("softmax", "linear"))]


def half_way():
    """More than the largest distance of HYLA from softmax and linear attention after half of the steps, in any seed."""
    def after_half(run):
        curve = run["curves"]["held_out"]
        return next(100 * value for step, value in zip(curve["step"], curve["accuracy"], strict=True) if step >= run["steps"] / 2)
    apart = [abs(after_half(full()["hyla", seed]) - after_half(full()[other, seed]))
             for seed in SEEDS for other in ("softmax", "linear")]
    return [shown(math.floor(max(apart)) + 1, 0)]


def lead_in_float32():
    """Seed 2: HYLA in float32 less softmax."""
    return [shown(accuracy(full_of_each_precision()["float32"]["hyla", 2]) - accuracy(full()["softmax", 2]))]


def leads_apart():
    """How many errors HYLA's leads over softmax and linear attention lie below the published ones."""
    paper = published(PAPER)
    found = [difference(difference(paper["hyla"], paper[other]), mean_and_error(leads(other))) for other in ("softmax", "linear")]
    return [shown(distance / error) for distance, error in found]


def means_apart(name):
    """How many errors our mean lies from the published one."""
    distance, error = difference(published(PAPER)[name], mean_and_error(list(map(accuracy, by_variant(full())[name]))))
    return distance / error


def rounding():
    """The most that the precision changes HYLA's accuracy in one seed."""
    runs = full_of_each_precision()
    pairs = [(found["hyla", seed], runs["float32"]["hyla", seed]) for precision, found in runs.items() if precision != "float32"
             for seed in SEEDS if ("hyla", seed) in found and ("hyla", seed) in runs["float32"]]
    return [shown(max(abs(accuracy(a) - accuracy(b)) for a, b in pairs))]


def lead_in_paper(other):
    value, error = difference(published(PAPER)["hyla"], published(PAPER)[other])
    return shown(value, 1, error)


def seeds_apart(runs, digits=0):
    """The largest distance between two seeds of one variant."""
    accuracies = [list(map(accuracy, found)) for found in by_variant(runs).values()]
    return [shown(max(max(found) - min(found) for found in accuracies), digits)]


def seeds_apart_in_one_precision():
    """The same at full length."""
    return [max((seeds_apart(runs, 1)[0] for runs in full_of_each_precision().values()), key=float)]


def gain_of_rms_head():
    """Of linear attention, after a fifth of the length, in seed 1."""
    return [shown(accuracy(reference()["linear_rms_head", 1]) - accuracy(reference()["linear", 1]))]


def counting_error():
    """The largest error that an accuracy has because the instances are finitely many."""
    shares = [(run["final"][split]["accuracy"], run["final"][split]["examples"])
              for runs in (reference(), full()) for run in runs.values() for split in ("test", "held_out")]
    return [shown(max(100 * (p * (1 - p) / count) ** 0.5 for p, count in shares))]


TABLES = {"sraven-small": small_table, "sraven": full_table, "sraven-leads": leads_table, "sraven-fifth": fifth_table}
SENTENCES = [
    ("results/sraven-small.md", "HYLA less softmax is {} points on rule sets never seen", small_claim),
    ("results/sraven-small.md", "From `test` to `held_out` HYLA gains {} points more than softmax", small_gain),
    ("results/sraven.md", "HYLA has {} %, linear attention {} % and softmax {} %, over three seeds.", full_means),
    ("results/sraven.md", "Our leads are about half of the published ones, {} and {} errors below them.", leads_apart),
    ("results/sraven.md", "At half of the length HYLA is less than {} points from both others in each seed.", half_way),
    ("results/sraven.md", "HYLA's network in float32 would lead softmax there by {} points only (of unrounded accuracies).", lead_in_float32),
    ("results/sraven.md", "The same seed in another precision, with another version of the program, differs by up to {} points (of unrounded accuracies).",
     rounding),
    ("results/sraven.md", "Two seeds of one variant are up to {} points apart.", seeds_apart_in_one_precision),
    ("results/sraven-fifth.md", "One variant differs by up to {} points between two seeds", lambda: seeds_apart(reference())),
    ("results/sraven-fifth.md", "In seed 1 RMSHead, normalisation across heads, adds {} points to linear attention.", gain_of_rms_head),
    ("results/sraven.md", "| {} points, of 4,096 instances |", counting_error),
    ("results/sraven.md", "HYLA's seeds 1 and 2 have {} and {} % (mean {}) [here](sraven-authors-embedding.json), in place of {} and {} %.", authors_embedding),
]
