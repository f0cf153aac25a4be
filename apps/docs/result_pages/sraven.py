"""SRAVEN: made small, and at the settings of the paper, at full length and after a fifth of it."""

from recorded import average, difference, final, grouped, mean_and_error, of_kind, pair, published, runs_of, shown

VARIANTS = ("softmax", "linear", "hyla")
ORDER = ("softmax", "linear", "linear_rms_head", "hyla_linear_value", "hyla")
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


def reference(length="reference"):
    """{(attention, seed): run}, sorted by VARIANTS, of a fifth of the published length ("reference") or of all of it ("full-length")."""
    runs = {(run["label"], run["seed"]): run for result in of_kind(f"sraven-{length}", "train") for run in result["runs"]}
    return dict(sorted(runs.items(), key=lambda one: (ORDER.index(one[0][0]), one[0][1])))


def full():
    return reference("full-length")


def by_variant(runs):
    return grouped(runs.values(), "label")


def reference_row(run, name):
    return [name, run["seed"], pair(published(PAPER)[run["label"]]), shown(accuracy(run)), shown(accuracy(run, "test")),
            shown(final(run, "held_out", "accuracy_per_feature", 100)), shown(run["train_loss"], 3)]


def reference_table(length="reference", column="published, five times as long", rounded=()):
    runs = reference(length)
    rows = [["attention", "seed", column, "`held_out`", "`test`", "features of `held_out`", "train loss"]]
    rows += [reference_row(run, label) for (label, _), run in runs.items()]
    rows += [reference_row(run, f"{run['label']}, trained in bf16") for run in rounded]
    for seed in (1, 2):
        ceiling = runs["hyla", seed]["ceiling"]
        rows.append(["best possible", seed, "-", *(shown(100 * ceiling[split]["accuracy"]) for split in ("held_out", "test")),
                     shown(100 * ceiling["held_out"]["accuracy_per_feature"]), "-"])
    return rows


def full_table():
    return reference_table("full-length", "published, three seeds", runs_of("sraven-bf16"))


def reference_means(length="reference"):
    """Means of softmax, linear attention and HYLA; a mean of one seed has no error."""
    runs = by_variant(reference(length))
    return [average(map(accuracy, runs[name])) for name in VARIANTS]


def full_of_seed_1():
    return [shown(accuracy(full()[name, 1])) for name in ("hyla", "linear", "softmax")]


def full_lead():
    """HYLA's lead over softmax: here, in seed 1, and as published."""
    return [shown(accuracy(full()["hyla", 1]) - accuracy(full()["softmax", 1])), gain_in_paper("hyla", "softmax")]


def full_hyla():
    """HYLA's mean, and how many errors it lies below the published one."""
    mean = mean_and_error(list(map(accuracy, by_variant(full())["hyla"])))
    distance, error = difference(published(PAPER)["hyla"], mean)
    return [shown(mean[0], 1, mean[1]), shown(distance / error)]


def gain_in_paper(name, other):
    return shown(published(PAPER)[name][0] - published(PAPER)[other][0])


def one_seed_apart(length="reference", digits=0):
    """The largest distance between two seeds of one variant."""
    runs = [found for found in by_variant(reference(length)).values() if len(found) > 1]
    return [shown(max(abs(accuracy(a) - accuracy(b)) for a, b in runs), digits)]


def counting_error():
    """The largest error that an accuracy has because the instances are finitely many."""
    shares = [(run["final"][split]["accuracy"], run["final"][split]["examples"])
              for runs in (reference(), full()) for run in runs.values() for split in ("test", "held_out")]
    return [shown(max(100 * (p * (1 - p) / count) ** 0.5 for p, count in shares))]


TABLES = {"sraven-small": small_table, "sraven": full_table, "sraven-fifth": reference_table}
SENTENCES = [
    ("results/sraven-small.md", "HYLA less softmax is {} points on rule sets never seen", small_claim),
    ("results/sraven-small.md", "From `test` to `held_out` HYLA gains {} points more than softmax", small_gain),
    ("results/sraven.md", "HYLA has {} %, linear attention {} % and softmax {} % in seed 1.", full_of_seed_1),
    ("results/sraven.md", "HYLA leads softmax by {} points in seed 1, and by {} in the paper.", full_lead),
    ("results/sraven.md", "HYLA's mean is {} %, {} errors below the published one.", full_hyla),
    ("results/sraven.md", "HYLA's two seeds are {} points apart.", lambda: one_seed_apart("full-length", 1)),
    ("results/sraven.md", "One variant differs by up to {} points between two seeds", one_seed_apart),
    ("results/sraven.md", "| {} points, of 4,096 instances |", counting_error),
]
