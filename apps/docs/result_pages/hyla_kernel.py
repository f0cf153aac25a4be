"""Heads of HYLA under their own kernel: six fresh seeds, compared by a rule that was written down before."""

import removal
from recorded import average, mean_and_error, of_kind, shown, spearman

FILE, PAGE = "hyla-kernel", "results/hyla-kernel.md"
VALUES, LINEAR, GRADIENT = "values", "linear", "sensitivity"
NAMES = {VALUES: "the theory's rise, HYLA's kernel", LINEAR: "the theory's rise, linear values", GRADIENT: "gradient sensitivity"}
TEMPERATURES = (0.01, 0.1, 1)


def networks():
    """{seed: its removals}, of networks where heads of layer 2 move the loss."""
    (removed,) = of_kind(FILE, "network_prune")
    return {run["seed"]: run for run in removed["runs"] if not removal.is_idle(run)}


def theory(run, kind):
    """What `prune` says of a network's layer 2 under one theory."""
    stem = next(key.split()[2] for key in run["network"]["scores"] if key.startswith(f"theory error_rise {kind}-"))
    return next(result for result in of_kind(FILE, "prune") if f" {stem}.h5" in result["made"]["command"])


def best(run, kind):
    """The point of largest evidence."""
    return max(theory(run, kind)["points"], key=lambda point: point["log_evidence"])


def correlations(kind, temperature=None):
    """{seed: rank correlation with the rise of the loss}; of a theory at this temperature, by default at that of largest evidence."""
    found = {}
    for seed, run in networks().items():
        scores = run["network"]["scores"]
        if kind == GRADIENT:
            of = removal.upper_heads(run)
            found[seed] = spearman(*([values[at] for at in of] for values in (scores[GRADIENT]["score"], run["network"]["error_rise"])))
        else:
            at = best(run, kind)["temperature"] if temperature is None else temperature
            found[seed] = next(score["error_rise_spearman"] for key, score in scores.items()
                               if key.startswith(f"theory error_rise {kind}-") and key.endswith(f" N = 100 T = {at:g}"))
    return found


def differences(other):
    """HYLA's kernel less another score, seed by seed."""
    ours, theirs = correlations(VALUES), correlations(other)
    return [ours[seed] - theirs[seed] for seed in ours]


def ranks_better(other):
    """By the rule of the page."""
    mean, error = mean_and_error(differences(other))
    return mean > 2 * error


def table():
    rows = [["score", "T of largest evidence", "rank correlation", "HYLA's kernel less this, paired"]]
    for kind, words in NAMES.items():
        chosen = "-" if kind == GRADIENT else ", ".join(f"{best(run, kind)['temperature']:g}" for run in networks().values())
        rows.append([words, chosen, average(correlations(kind).values(), 2),
                     "-" if kind == VALUES else average(differences(kind), 2)])
    return rows


def networks_table():
    """One column a network."""
    runs = networks()
    rows = [["seed", *runs]]

    def row(words, values, digits=2):
        rows.append([words, *(shown(value, digits) for value in values)])

    for kind, words in NAMES.items():
        row(f"rank correlation: {words}", correlations(kind).values())
    row("$R^2$ of the network", (removal.of_held_out(run, "r2") for run in runs.values()))
    for kind in (VALUES, LINEAR):
        row(f"error of the predictor in units of the network's: {NAMES[kind].partition(', ')[2]}",
            (best(run, kind)["test_mean_squared_error"] / removal.of_held_out(run, "loss") for run in runs.values()))
    return rows


def temperatures_table():
    rows = [["score", *(f"T = {temperature:g}" for temperature in TEMPERATURES)]]
    for kind in (VALUES, LINEAR):
        rows.append([NAMES[kind], *(average(correlations(kind, temperature).values(), 2) for temperature in TEMPERATURES)])
    return rows


def paired():
    return [average(differences(kind), 2) for kind in (LINEAR, GRADIENT)]


TABLES = {"hyla-kernel": table, "hyla-kernel-networks": networks_table, "hyla-kernel-temperatures": temperatures_table}
SENTENCES = [(PAGE, "is higher by {}, paired by seed. Against gradient sensitivity the difference is {}: that", paired)]
