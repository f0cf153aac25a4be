"""Tables and numbers of the page on decodability."""

import functools
import statistics

import decodability
from decodability import MEASURES, PLAN, TRAINING, WHERE, networks_of, planned, rows_of, statistic
from recorded import shown

PAGE = "results/decodability.md"
TASKS = {"fuzzy_logic": "fuzzy logic", "sraven": "SRAVEN"}
WORDS = {("decoded", "as it is"): "decoded", ("decoded", "less untrained"): "decoded, less untrained",
         ("alike", "as it is"): "alike", ("alike", "centred"): "alike, centred"}


def words_of(measure):
    what, where, how = measure
    return f"{WORDS[what, how]}, {WHERE[where]}"


@functools.cache
def of_half(half, measure, partial=True, within=False):
    return statistic(rows_of(networks_of(half), measure), within, partial)


@functools.cache
def with_error(measure, within=False, partial=True):
    """S on half B, with its error."""
    rows = rows_of(networks_of("B"), measure)
    return shown(statistic(rows, within, partial), 2, decodability.bootstrap_error(rows, within, partial))


def p_shown(test):
    return f"{test.p:.4f}" if test.p < 0.01 else f"{test.p:.2f}"


def claim_table():
    rows = [["correlation with the held-out score", "half A", "half B", "p, half B"]]
    measure = decodability.chosen()
    for within, words in ((False, f"**{words_of(measure)}**, given the training score"), (True, "the same, within a variant")):
        test = decodability.tested(within)
        rows.append([words, shown(test.on_a, 2), shown(test.on_b, 2, test.error), p_shown(test)])
    for task, words in TASKS.items():
        halves = [[row for row in rows_of(networks_of(half), measure) if row[0].task == task] for half in "AB"]
        rows.append([f"the first line, {words} alone", *(shown(statistic(half), 2) for half in halves), "-"])
    for of, words in ((measure, "the measure alone"), (TRAINING, "training score alone")):
        rows.append([words, shown(of_half("A", of, partial=False), 2), with_error(of, partial=False), "-"])
    return rows


def measures_table():
    rows = [["measure", "given the training score: half A", "half B", "alone: half A", "half B"]]
    for measure in MEASURES:
        rows.append([words_of(measure), *(shown(of_half(half, measure, partial), 2) for partial in (True, False) for half in "AB")])
    return rows


def decoded(networks, steps):
    """Mean of what is decoded from all layers together after `steps`, over networks."""
    found = decodability.records()
    return statistics.fmean(stage["all_layers"]["decoded"] for network in networks for stage in found[network]["stages"]
                            if stage["steps"] == steps)


def left_of_held_out(rows):
    """Standard deviation of the held-out scores of a cell, after a line in the training score."""
    known, held_out = ([row[at] for row in rows] for at in (3, 4))
    line = statistics.linear_regression(known, held_out)
    return statistics.pstdev(value - line.slope * given for value, given in zip(held_out, known, strict=True))


def networks_table():
    rows = [["task", "held out", "steps", "training score", "held-out score", "left of it (s.d.)", "decoded", "untrained"]]
    for task, plan in PLAN.items():
        for share in plan.shares:
            networks = [network for network in planned() if network[:2] == (task, share)]
            for steps in plan.stages:
                found = [row for row in rows_of(networks, TRAINING) if row[1] == steps]
                ranges = (f"{shown(min(values), 2)} to {shown(max(values), 2)}" for values in zip(*(row[3:] for row in found)))
                rows.append([TASKS[task], share, f"{steps:,}", *ranges, shown(left_of_held_out(found), 3),
                             shown(decoded(networks, steps), 2), shown(decoded(networks, 1), 2)])
    return rows


def claim():
    """Correlation of the chosen measure on half A and, with error and p, on half B; and that of the training score on half B."""
    test = decodability.tested()
    return [shown(test.on_a, 2), shown(test.on_b, 2, test.error), p_shown(test), with_error(TRAINING, partial=False)]


TABLES = {"decodability": claim_table, "decodability-measures": measures_table, "decodability-networks": networks_table}
SENTENCES = [
    (PAGE, "The best had a rank correlation of {} with the held-out score, given the training score. On the other half it has {}, "
     "with p = {}. The training score alone foretells well: its correlation there is {}.", claim),
    (PAGE, "An error of {} leaves room", lambda: [f"{decodability.tested().error:.2f}"]),
]
