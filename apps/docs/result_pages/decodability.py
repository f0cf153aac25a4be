"""Does what can be read off a network's codes foretell how well it generalises?"""

import math
import random
import statistics

from recorded import load, shown, spearman

CHOSEN_ON, TESTED_ON = (11, 12), (13, 14)
LAYERS = {"all": 0, "first": 1, "last": -1}
WHAT = {"decoded": "labels decoded", "same": "cosine, one label", "gap": "cosine, one label less two"}
NAMES = {"fuzzy_logic": "fuzzy logic", "sraven": "SRAVEN"}
DRAWS = 2000


def networks():
    """{task: networks}."""
    return {result["task"]: result["runs"] for result in load("decodability")}


def of_seeds(seeds):
    return {task: [run for run in runs if run["seed"] in seeds] for task, runs in networks().items()}


def value(run, candidate):
    """A candidate is (what, layer), or "known": the score on tasks of training."""
    if candidate == "known":
        return run["known"]
    what, layer = candidate
    codes = run["layers"][LAYERS[layer]]
    return {"decoded": codes["decoded"], "same": codes["same_label"],
            "gap": codes["same_label"] - codes["different_label"]}[what]


def correlation(runs, a, b):
    """Spearman's; 0 where one of them does not vary."""
    left, right = [a(run) for run in runs], [b(run) for run in runs]
    return 0.0 if len(set(left)) == 1 or len(set(right)) == 1 else spearman(left, right)


def foretells(runs, candidate):
    return correlation(runs, lambda run: value(run, candidate), lambda run: run["held_out"])


def beyond_known(runs, candidate):
    """Partial rank correlation, given the score on tasks of training."""
    to_truth, to_known = foretells(runs, candidate), correlation(runs, lambda run: value(run, candidate), lambda run: run["known"])
    known = foretells(runs, "known")
    rest = (1 - to_known ** 2) * (1 - known ** 2)
    return (to_truth - to_known * known) / math.sqrt(rest) if rest > 1e-12 else 0.0


def over_tasks(by_task, measure, candidate):
    return statistics.mean(measure(runs, candidate) for runs in by_task.values())


def candidates():
    return [(what, layer) for what in WHAT for layer in LAYERS]


def chosen():
    half = of_seeds(CHOSEN_ON)
    return max(candidates(), key=lambda candidate: over_tasks(half, foretells, candidate))


def error(by_task, measure, candidate):
    """Bootstrap over networks of one variant and seed, whose stages of training belong together."""
    rng, found = random.Random(1), []
    for _ in range(DRAWS):
        drawn = {}
        for task, runs in by_task.items():
            groups = {}
            for run in runs:
                groups.setdefault((run["variant"], run["seed"]), []).append(run)
            groups = list(groups.values())
            drawn[task] = [run for group in rng.choices(groups, k=len(groups)) for run in group]
        found.append(over_tasks(drawn, measure, candidate))
    return statistics.stdev(found)


def named(candidate):
    return "score on tasks of training" if candidate == "known" else f"{WHAT[candidate[0]]}, {candidate[1]}"


def chosen_table():
    half = of_seeds(CHOSEN_ON)
    rows = [["measure, layers", *(NAMES[task] for task in half), "mean"]]
    for candidate in sorted(candidates(), key=lambda one: -over_tasks(half, foretells, one)) + ["known"]:
        rows.append([named(candidate), *(shown(foretells(runs, candidate), 2) for runs in half.values()),
                     shown(over_tasks(half, foretells, candidate), 2)])
    return rows


def tested_table():
    half = of_seeds(TESTED_ON)
    rows = [["on the other half", *(NAMES[task] for task in half), "mean"]]
    for name, measure, candidate in ((f"{named(chosen())}: rank correlation", foretells, chosen()),
                                     ("the same, given the score on tasks of training", beyond_known, chosen()),
                                     ("score on tasks of training: rank correlation", foretells, "known")):
        rows.append([name, *(shown(measure({task: runs}[task], candidate), 2, error({task: runs}, measure, candidate))
                             for task, runs in half.items()),
                     shown(over_tasks(half, measure, candidate), 2, error(half, measure, candidate))])
    return rows


def tested():
    """(correlation, given the score on tasks of training), each with its error."""
    half = of_seeds(TESTED_ON)
    return [shown(over_tasks(half, measure, chosen()), 2, error(half, measure, chosen()))
            for measure in (foretells, beyond_known)]


TABLES = {"decodability-choice": chosen_table, "decodability-test": tested_table}
SENTENCES = []
