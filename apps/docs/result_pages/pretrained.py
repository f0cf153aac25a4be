"""Heads of pretrained networks: removal against what is said of a head without removing it."""

import math
import statistics

from recorded import average, grouped, load, mean_and_error, shown, spearman

TASKS = ("packages", "fortunes", "solubility", "hydration", "copies")
REAL = TASKS[:4]  # data sets; "copies" is made
HINTED = ("packages", "fortunes")  # a hint was found on their first splits
SPLITS_OF_HINT = 3
HINT = (10, 1.0)  # N, T
KNOWN_HEAD = 5  # of layer 11, from 0 on: the one that maps atoms
SCORES = ("gradient sensitivity", "weight norm", "focus of attention", "the theory's change, all parts",
          "the theory's change, heads alone", "score of $U_1$, all parts", "score of $U_1$, heads alone")


def splits():
    """{task: its splits}."""
    return grouped(load("pretrained-heads"), "task")


def predicted(row, kind, key="squared_error_rise", point=None):
    """What the theory says at the width and T of largest evidence, or at `point`."""
    points = row["theory"][kind]
    if point is None:
        return max(points, key=lambda one: one["log_evidence"])[key]
    return next(one for one in points if (one["width"], one["temperature"]) == point)[key]


def scores_of(row, name):
    if name in row["baselines"]:
        return row["baselines"][name]
    return predicted(row, name.partition(", ")[2], "score" if name.startswith("score") else "squared_error_rise")


def agreement(scores, rows, how="mean"):
    """Rank correlation with the rise of the loss, split by split; `scores` is a score's name, or a function of a split."""
    of = scores if callable(scores) else lambda row: scores_of(row, scores)
    return [spearman(of(row), row["removed"][how]["loss_rise"]) for row in rows]


def table(how):
    return [["score", *TASKS]] + [[name, *(average(agreement(name, splits()[task], how), 2) for task in TASKS)]
                                  for name in SCORES]


def at_hint(row):
    return predicted(row, "all parts", point=HINT)


def hint_table():
    rows = [["task", "N = 10, T = 1, splits of the hint", "N = 10, T = 1, fresh splits", "by evidence, fresh",
             "gradient sensitivity, fresh", "evidence lost there (nats)"]]
    for task in TASKS:
        old = SPLITS_OF_HINT if task in HINTED else 0
        first, fresh = splits()[task][:old], splits()[task][old:]
        lost = [predicted(row, "all parts", "log_evidence") - predicted(row, "all parts", "log_evidence", HINT)
                for row in splits()[task]]
        rows.append([task, average(agreement(at_hint, first), 2) if first else "-", average(agreement(at_hint, fresh), 2),
                     average(agreement("the theory's change, all parts", fresh), 2),
                     average(agreement("gradient sensitivity", fresh), 2), shown(statistics.mean(lost), 0)])
    return rows


def known_head_table():
    """The place of the known head, split by split (1: most needed)."""
    rows = [["order", "place in splits 1 to 5"]]
    for name in ("removal, mean", "removal, zero", *SCORES):
        orders = [row["removed"][name[9:]]["loss_rise"] if name.startswith("removal") else scores_of(row, name)
                  for row in splits()["copies"]]
        rows.append([name, " ".join(str(1 + sum(value > order[KNOWN_HEAD] for value in order)) for order in orders)])
    return rows


def rises_on_copies():
    """Rises of the loss on "copies" with a head at its mean: the known head, and the next most needed one."""
    changes = [row["removed"]["mean"]["loss_rise"] for row in splits()["copies"]]
    return [average((change[KNOWN_HEAD] for change in changes), 2),
            average((max(value for at, value in enumerate(change) if at != KNOWN_HEAD) for change in changes), 2)]


def places_of_known_head(order):
    """The places of the known head in an order of the heads, split by split."""
    return next(row[1] for row in known_head_table() if row[0] == order)


def between_splits(rows):
    """How well the orders of heads by removal (at the mean) agree between two splits: rank correlation, mean over pairs."""
    changes = [row["removed"]["mean"]["loss_rise"] for row in rows]
    return [spearman(a, b) for at, a in enumerate(changes) for b in changes[at + 1:]]


def above_two_errors(name, tasks=REAL):
    """The tasks on which the score's correlation with removal (at the mean) is above 0 by more than two standard errors."""
    found = {task: mean_and_error(agreement(name, splits()[task])) for task in tasks}
    return [task for task, (mean, error) in found.items() if mean > 2 * error]


def within_error(row):
    """The share of the theory's changes that are smaller than their error, of the posterior and of redrawn examples together."""
    changes, *errors = (predicted(row, "all parts", key) for key in (
        "squared_error_rise", "squared_error_rise_sd", "squared_error_rise_error"))
    return sum(abs(change) < math.hypot(*both) for change, both in zip(changes, zip(*errors))) / len(changes)


def tasks_table():
    """What else is known of the tasks: means over splits."""
    rows = [["", *TASKS]]

    def row(words, of, digits):
        rows.append([words, *(shown(statistics.mean(of(splits()[task])), digits) for task in TASKS)])

    row("right on test texts, the network", lambda task: [one["accuracy"] for one in task], 3)
    row("right on test texts, the theory", lambda task: [predicted(one, "all parts", "accuracy") for one in task], 3)
    row("rank correlation of removal, one split and another", between_splits, 2)
    row("rise of the loss without the dearest head", lambda task: [max(one["removed"]["mean"]["loss_rise"])
                                                                   for one in task], 3)
    row("rise of the loss, its error", lambda task: [statistics.mean(one["removed"]["mean"]["loss_rise_error"])
                                                     for one in task], 3)
    row("Kendall's tau of the theory's own order",
        lambda task: [predicted(one, "all parts", "kendall_tau") for one in task], 2)
    row("share of the theory's changes within their error", lambda task: list(map(within_error, task)), 2)
    return rows


def claim():
    """Rank correlation with removal over the four real data sets: gradient sensitivity, the theory's change."""
    return [average((statistics.mean(agreement(name, splits()[task])) for task in REAL), 2)
            for name in ("gradient sensitivity", "the theory's change, all parts")]


def dearest_heads(task):
    """For each split the number, from 1 on, of the head whose removal (at the mean) raises the loss most."""
    changes = [row["removed"]["mean"]["loss_rise"] for row in splits()[task]]
    return [1 + change.index(max(change)) for change in changes]


TABLES = {"pretrained-heads": lambda: table("mean"), "pretrained-heads-zero": lambda: table("zero"),
          "pretrained-heads-hint": hint_table, "known-head": known_head_table, "pretrained-heads-tasks": tasks_table}
SENTENCES = [
    ("results/pretrained-heads.md", "Over the four real data sets gradient sensitivity agrees with removal by {}, "
     "the theory's predicted change by {}.", claim),
    ("results/known-head.md", "Without this head the loss rises by {}, without the next head by {} (its mean in its place; "
     "errors over splits).", rises_on_copies),
]
