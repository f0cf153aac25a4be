"""A ranking of heads with its errors: the combined estimate against every single column, on the tasks that it was written
on and on fresh ones."""

import math
import statistics

from recorded import average, grouped, load, shown, spearman

SEEN = ("science or games", "net or utils")  # two of the tasks that the rule was written on, run again
FRESH = ("admin, sound or text", "manual 1 or 3", "x11 or text", "copies", "drugs", "admin or devel, glassllm")
SINGLE = {"removal_mean_fixed": "removal at the mean, fixed", "removal_mean_refitted": "removal at the mean, refitted",
          "removal_zero_fixed": "removal at zero, fixed", "removal_zero_refitted": "removal at zero, refitted",
          "cut_without_theory": "cut of frozen parts, U = 1", "cut_of_theory": "cut of frozen parts, theory's U",
          "gradient": "gradient sensitivity", "weight_norm": "weight norm", "attention_entropy": "attention entropy"}
LETTERS = dict(zip(SINGLE, "ABCDEFGHI"))
TARGETS = ("fixed", "refitted")
EXPECTED = "what the readout expects"
COUNTS = (32, 100, 300)
AHEAD = 0.05
NORMAL_90 = 1.645  # so many standard errors on both sides hold 90 % of a normal distribution
EXAMPLE = ("admin, sound or text", 0, 100)  # task, split and number of examples of the figure
HEADS = {"admin, sound or text": [(6, head) for head in range(1, 13)]}  # of the figure's task, row by row


def tasks():
    """{task: its rows, one for each split and number of labelled examples}."""
    return grouped(load("head-ranking"), "task")


def names_of(row):
    """Layer and number of each head."""
    return HEADS[row["task"]]


def values(row, target, column):
    if column == "estimate":
        return row["estimate"][target]["mean"]
    return row["scores"][f"expected_mean_{target}" if column == "expected" else column]


def agreement(rows, target, column):
    """Rank correlation with the truth, row by row."""
    return [spearman(values(row, target, column), row["truth"][target]["mean"]) for row in rows]


def mean_agreement(task, target, column):
    """Mean over splits and numbers of examples. Every number of examples has the same splits."""
    return statistics.mean(agreement(tasks()[task], target, column))


def best_single(task, target):
    """The single column that did best on this task, in hindsight."""
    return max(SINGLE, key=lambda column: mean_agreement(task, target, column))


def lead(task, target):
    """By how much the combined estimate agrees better than the best single column of the task."""
    return mean_agreement(task, target, "estimate") - mean_agreement(task, target, best_single(task, target))


def ceiling(task, target):
    """The most that any order can agree with the measured truth, which is noisy: from how well its halves agree."""
    halves = (row["truth"][target]["halves"] for row in tasks()[task])
    return statistics.mean(math.sqrt(2 * r / (1 + r)) if r > 0 else 0.0 for r in halves)


def coverage(rows, target):
    """The share of true rises that 90 % intervals hold."""
    held = [low <= true <= high for row in rows for low, true, high in zip(
        row["estimate"][target]["low"], row["truth"][target]["mean"], row["estimate"][target]["high"])]
    return statistics.mean(held)


def coverage_less_noise(rows, target):
    """The same with intervals as wide as deviation and error of the truth together, since the truth is measured, too."""
    held = [abs(true - (low + high) / 2) <= math.hypot((high - low) / 2, NORMAL_90 * error) for row in rows
            for low, high, true, error in zip(row["estimate"][target]["low"], row["estimate"][target]["high"],
                                              row["truth"][target]["mean"], row["truth"][target]["error"])]
    return statistics.mean(held)


def claim_table():
    rows = [["task", *(f"{target}: {words}" for target in TARGETS for words in (
        "combined estimate", "best single column", "lead", "ceiling"))]]
    for task in FRESH:
        cells = [task]
        for target in TARGETS:
            best = best_single(task, target)
            cells += [average(agreement(tasks()[task], target, "estimate"), 2),
                      f"{average(agreement(tasks()[task], target, best), 2)} ({LETTERS[best]})", f"{lead(task, target):+.2f}",
                      shown(ceiling(task, target), 2)]
        rows.append(cells)
    return rows


def over_tasks(names, target, column, count=None):
    """Means over splits, task by task, for one number of labelled examples or for all of them."""
    return [statistics.mean(agreement([row for row in tasks()[task] if count in (None, row["n"])], target, column))
            for task in names]


def columns_table():
    """Every column: means over tasks."""
    rows = [["column", *(f"fixed, {count}" for count in COUNTS), "fixed, all", "refitted, all", "seen tasks: refitted, all"]]
    for column, words in {"estimate": "combined estimate", "expected": EXPECTED,
                          **{name: f"{words} ({LETTERS[name]})" for name, words in SINGLE.items()}}.items():
        rows.append([words, *(shown(statistics.mean(over_tasks(FRESH, "fixed", column, count)), 2) for count in COUNTS),
                     *(average(over_tasks(FRESH, target, column), 2) for target in TARGETS),
                     shown(statistics.mean(over_tasks(SEEN, "refitted", column)), 2)])
    return rows


def measured_coverage(rows, target):
    """The share of true rises that lie within 1.645 standard errors of the measured ones."""
    held = [abs(true - rise) <= NORMAL_90 * error for row in rows for rise, true, error in zip(
        row["scores"][f"removal_mean_{target}"], row["truth"][target]["mean"], row["estimate"][target]["error"])]
    return statistics.mean(held)


def shares_by_count(of):
    """Shares of true rises in the intervals, by readout and number of examples."""
    found = [row for task in FRESH for row in tasks()[task]]
    return [of([row for row in found if row["n"] == count], target) for target in TARGETS for count in COUNTS]


def coverage_table():
    rows = [["share of true rises in 90 % intervals", *(f"{count} examples" for count in COUNTS), "all"]]
    found = [row for task in FRESH for row in tasks()[task]]
    for words, of in (("combined estimate, {} readout", coverage), ("measured, {} readout", measured_coverage),
                      ("combined, {}, error of the truth counted", coverage_less_noise)):
        for target in TARGETS:
            rows.append([words.format(target),
                         *(shown(of([row for row in found if row["n"] == count], target), 2) for count in COUNTS),
                         shown(of(found, target), 2)])
    return rows


def removal_less_gradient(target):
    """By how much removal at the mean agrees better than gradient sensitivity, paired over fresh tasks."""
    return average([a - b for a, b in zip(*(over_tasks(FRESH, target, column) for column in (f"removal_mean_{target}", "gradient")), strict=True)], 2)


def tasks_ahead(target):
    """On how many fresh tasks the combined estimate leads every single column by AHEAD."""
    return sum(lead(task, target) >= AHEAD for task in FRESH)


TABLES = {"head-ranking": claim_table, "head-ranking-columns": columns_table, "head-ranking-coverage": coverage_table}
SENTENCES = [("results/head-ranking.md", "With a fixed readout it does so on {} of six.", lambda: [str(tasks_ahead("fixed"))])]
