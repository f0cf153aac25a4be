"""How far the theory is from exact samples, on random problems."""

import math
import statistics

from recorded import load, shown

LOADS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, float("inf"))
ERRORS = {"U_1_saddle": "$U_1$: saddle point", "U_1_corrected": "corrected", "predictor_saddle": "predictor: saddle point",
          "predictor_corrected": "corrected"}
PAGE = "results/validity.md"


def problems():
    (result,) = load("validity")
    return result["rows"]


def between(low, high):
    return [row for row in problems() if low <= row["load"] < high]


def bins():
    """(name of the load, its problems), those with any."""
    for low, high in zip(LOADS, LOADS[1:]):
        found = between(low, high)
        name = f"below {high:g}" if low == 0 else f"above {low:g}" if high == float("inf") else f"{low:g} to {high:g}"
        if found:
            yield name, found


def ninth(values):
    """What nine of ten are below."""
    return statistics.quantiles(values, n=10, method="inclusive")[8]


def percent(value):
    return f"{value * 100:.2g} %"


def errors(rows, name):
    return [row[name] for row in rows if row.get(name) is not None]


def table():
    rows = [["largest load", "problems", *ERRORS.values(), "noise of $U_1$, predictor"]]
    for name, found in bins():
        cells = [f"{percent(statistics.median(values))}, {percent(ninth(values))}"
                 for values in (errors(found, error) for error in ERRORS)]
        noise = ", ".join(percent(statistics.median(errors(found, f"{what}_noise"))) for what in ("U_1", "predictor"))
        rows.append([name, len(found), *cells, noise])
    return rows


def claim():
    """Within which error nine of ten are, U_1 and predictor: of the saddle point below load 0.1 and from 0.3 to 1, and corrected from 0.3 to 1."""
    low, high = between(0.0, 0.1), between(0.3, 1.0)
    return [percent(ninth(errors(rows, f"{what}_{kind}"))).removesuffix(" %")
            for rows, kind in ((low, "saddle"), (high, "saddle"), (high, "corrected")) for what in ("U_1", "predictor")]


def counts():
    rows = problems()
    return [str(len(rows)), str(sum(row["converged"] for row in rows)), shown(max(row["r_hat"] for row in rows), 2)]


def ratio():
    """The median error of U_1 over the load, where the load is below 1 and errors stand out from the noise."""
    found = [row["U_1_saddle"] / row["load"] for row in between(0.0, 1.0) if row["U_1_saddle"] > 2 * row["U_1_noise"]]
    return [shown(statistics.median(found), 2)]


def correlations():
    """Of the logarithms of the error of U_1 and of the load: the largest load, and that of the first layer."""
    logarithms = [[math.log(row[name]) for row in problems()] for name in ("U_1_saddle", "load", "load_of_U_1")]
    return [shown(statistics.correlation(logarithms[0], loads), 2) for loads in logarithms[1:]]


TABLES = {"validity": table}
SENTENCES = [
    (PAGE, "Where the load is below 0.1, the saddle point's $U_1$ is within {} % of the exact mean, and  its predictor within {} %.",
     lambda: claim()[:2]),
    (PAGE, "{} random problems were solved and sampled. {} saddle points converged, and R-hat is at most {}.", counts),
    (PAGE, "The logarithm of its error correlates by {} with that of the largest load, by {} with that of the first layer's.", correlations),
    (PAGE, "Up to a load of 1, the median error of $U_1$ is {} of the load.", ratio),
]
