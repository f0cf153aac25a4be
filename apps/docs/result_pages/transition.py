"""The transition of learned attention: both branches of the copy task over twenty seeds, and exact samples near it."""

import numpy as np

from recorded import average, load, shown
from transition_runs import EDGES

DATA = "attention-transition"
KINDS = ("softmax", "linear")
STARTS = ("none", "given")
SHOWN = (10, 30, 50, 80, 120, 160, 200, 300, 1000)
SAME = 1e-3  # of S / P: two ends of this distance are one minimum


def runs(task, kind, start):
    """{(examples, seed): run}"""
    (result,) = [one for one in load(DATA) if (one["task"], one["attention"], one["start"]) == (task, kind, start)]
    return {(run["examples"], run["seed"]): run for run in result["runs"]}


def seeds(task):
    return len({seed for _, seed in runs(task, "softmax", "none")})


def overlaps(task, kind, start, count):
    return [run["overlap"] for (examples, _), run in runs(task, kind, start).items() if examples == count]


def gaps(kind, count):
    """S / P of the end from no attention less that of the end from the head that knows, seed by seed."""
    cold, hot = (runs("search", kind, start) for start in STARTS)
    return np.array([100 * (cold[of]["action"] - hot[of]["action"]) / count for of in cold if of[0] == count])


def same(kind, count):
    return int((abs(gaps(kind, count)) < SAME).sum())


def search_table():
    rows = [["minimum of the action", "", *(f"P = {count}" for count in SHOWN)]]
    for kind in KINDS:
        for start, words in zip(STARTS, ("no attention", "the head that knows")):
            rows.append([kind, f"overlap, from {words}", *(average(overlaps("search", kind, start, count), 2) for count in SHOWN)])
        rows.append([kind, "seeds with one minimum", *(f"{same(kind, count)} of {seeds('search')}" for count in SHOWN)])
        rows.append([kind, "median gap of S / P", *(shown(float(np.median(gaps(kind, count))) + 0.0, 2) for count in SHOWN)])
    return rows


def sampled_counts():
    return sorted({count for count, _ in runs("chain", "softmax", "none")})


def histogram(kind, count):
    """Of the overlap, over all seeds and both starts."""
    return sum(np.array(run["histogram"]) for start in STARTS for (examples, _), run in runs("chain", kind, start).items()
               if examples == count)


def of_both_starts(kind, count):
    """Pairs of chains, one for each seed. They share the data, so that seeds alone are independent."""
    cold, hot = (runs("chain", kind, start) for start in STARTS)
    return [(cold[of], hot[of]) for of in cold if of[0] == count]


def apart(kind, count):
    """How far the mean overlaps of the two starts are apart, seed by seed."""
    return [abs(one["overlap"] - other["overlap"]) for one, other in of_both_starts(kind, count)]


def sample_table():
    rows = [["exact samples", "P", "overlap", "deviation within a chain", "apart by start: median", "at most"]]
    for kind in KINDS:
        for count in sampled_counts():
            pairs = of_both_starts(kind, count)
            rows.append([kind, count, *(average([(one[name] + other[name]) / 2 for one, other in pairs], 2) for name in ("overlap", "deviation")),
                         shown(float(np.median(apart(kind, count))), 2), shown(max(apart(kind, count)), 2)])
    return rows


def lower_without():
    """Pairs of searches of both kinds whose end from no attention has the lower action, and all pairs."""
    counts = sorted({count for count, _ in runs("search", "softmax", "none")})
    found = [gaps(kind, count) for kind in KINDS for count in counts]
    return [str(int(sum((gap < -SAME).sum() for gap in found))), str(sum(len(gap) for gap in found))]


def unmixed():
    """Softmax, P = 70: the seed whose starts are farthest apart, and by how much."""
    return [shown(max(apart("softmax", 70)), 2)]


def claim():
    counts = (30, 50, 80)
    return [str(max(same("softmax", count) for count in counts)), str(seeds("search")), str(min(same("linear", count) for count in counts))]


TABLES = {"transition-searches": search_table, "transition-samples": sample_table}
PAGE = "results/attention-transition.md"
SENTENCES = [(PAGE, "at most {} of {} seeds with softmax, and in at least {} with linear attention", claim),
             (PAGE, "In {} of {} pairs the end from no attention has the lower action", lower_without),
             (PAGE, "one softmax seed at P = 70, whose starts are {} apart", unmixed)]
