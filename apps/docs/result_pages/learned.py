"""Learned attention: both branches of the copy task, and a learned head on hidden Markov chains."""

from recorded import average, load, mean_and_error, shown

DATA = "learned-attention"
KINDS = ("softmax", "linear")
STARTS = {"none": "no attention", "given": "the head that knows"}
SHOWN = (10, 30, 50, 80, 120, 160, 200, 300, 1000)


def results(task, **of):
    return [result for result in load(DATA) if result["task"] == task and all(result.get(key) == value for key, value in of.items())]


def branch(kind, start):
    """{examples: runs over seeds} of the copy task."""
    (result,) = results("copy", attention=kind, start=start)
    found = {}
    for run in result["runs"]:
        found.setdefault(run["examples"], []).append(run)
    return found


def values(kind, start, count, name):
    return [run[name] for run in branch(kind, start)[count]]


def copy_table():
    rows = [["attention, from", "", *(f"P = {count}" for count in SHOWN)]]
    for kind in KINDS:
        for start, words in STARTS.items():
            for name, of in (("overlap", "overlap"), ("accuracy", "accuracy")):
                rows.append([f"{kind}, {words}", of, *(average(values(kind, start, count, name), 2) for count in SHOWN)])
    return rows


def gaps(kind, count):
    """By how much the action S / P is lower from the head that knows, seed by seed."""
    cold, hot = (values(kind, start, count, "action") for start in STARTS)
    return [100 * (a - b) / count for a, b in zip(cold, hot)]


def gap_table():
    rows = [["action for each training example, from no attention less from the head that knows", *(f"P = {count}" for count in SHOWN)]]
    for kind in KINDS:
        rows.append([kind, *(average(gaps(kind, count), 2) for count in SHOWN)])
        rows.append([f"{kind}: seeds with the same minimum", *(f"{same(kind, count)} of 5" for count in SHOWN)])
    return rows


def same(kind, count):
    return sum(abs(gap) < 1e-3 for gap in gaps(kind, count))


def sampled():
    """{(attention, examples): {start: run}} of chains without replica exchange, seed 1."""
    found = {}
    for result in results("sample"):
        for run in result["runs"]:
            found.setdefault((result["attention"], run["examples"]), {})[result["start"]] = run
    return found


def sample_table():
    rows = [["one replica, seed 1", "overlap of each chain", "accuracy", "R-hat"]]
    for (kind, count), runs in sorted(sampled().items(), reverse=True):
        both = [runs[start] for start in STARTS]
        rows.append([f"{kind}, P = {count}", *(" / ".join(map(words, both)) for words in (
            lambda run: ", ".join(shown(value, 3) for value in run["overlap_of_chains"]),
            lambda run: shown(run["accuracy"], 3), lambda run: shown(run["rhat_max"], 3)))])
    return rows


def exchanged():
    """{(examples, seed): {start: run}} of chains with replica exchange."""
    found = {}
    for result in results("exchange"):
        for run in result["runs"]:
            found.setdefault((run["examples"], run["seed"]), {})[result["start"]] = run
    return dict(sorted(found.items()))


def exchange_table():
    rows = [["softmax, ten replicas", "overlap", "accuracy", "log evidence", "R-hat"]]
    for (count, seed), runs in exchanged().items():
        both = [runs[start] for start in STARTS]
        rows.append([f"P = {count}, seed {seed}", *(" / ".join(map(words, both)) for words in (
            lambda run: shown(sum(run["overlap_of_chains"]) / len(run["overlap_of_chains"]), 3),
            lambda run: shown(run["accuracy"], 3),
            lambda run: shown(run["log_evidence"], 1, run["log_evidence_error"]),
            lambda run: shown(run["rhat_max"], 3)))])
    return rows


def hmm_rows():
    """{(head, examples): run}, seed 1."""
    return {(result["start"], run["examples"]): run for result in results("hmm") for run in result["runs"]}


def hmm_table():
    found = hmm_rows()
    counts = sorted({count for _, count in found})
    rows = [["head of layer 1", *(f"accuracy, P = {count}" for count in counts), *(f"S / N, P = {count}" for count in counts)]]
    for head, words in (("fixed", "made by hand"), ("none", "learned, from no attention"), ("given", "learned, from the one made by hand")):
        runs = [found[head, count] for count in counts]
        rows.append([words, *(shown(run["accuracy"], 3) for run in runs), *(shown(run["action"], 2) for run in runs)])
    return rows


def claim():
    """At P = 120: accuracies of softmax from both starts, and of linear."""
    return [average(values(kind, start, 120, "accuracy"), 2) for kind in KINDS for start in STARTS]


def small_gap():
    """Accuracies of linear attention from P = 200 on, from the start without attention."""
    return [shown(min(min(values("linear", "none", count, "accuracy")) for count in (200, 300, 500, 1000)), 3)]


def by_start():
    """Accuracies at 120 examples: of the theory started without attention and from the right head, and of exact samples."""
    here = [mean_and_error(values("softmax", start, 120, "accuracy")) for start in STARTS]
    exact = [run["accuracy"] for (count, _), runs in exchanged().items() if count == 120 for run in runs.values()]
    return [*(shown(mean, 2, error) for mean, error in here), f"{sum(exact) / len(exact):.2f}"]


TABLES = {"learned-copy": copy_table, "learned-gap": gap_table, "learned-samples": sample_table, "learned-exchange": exchange_table,
          "learned-hmm": hmm_table}
PAGE = "results/learned-attention.md"
SENTENCES = [
    (PAGE, "from no attention reaches an accuracy of {}, and from the head that knows {}. With linear attention they are "
     "{} and {}", claim),
    (PAGE, "on its accuracy is {} in every run", small_gap),
]
