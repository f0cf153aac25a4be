"""Models whose curves others published: their points and ours."""

import csv
import math

from recorded import ROOT, grouped, load, mean_and_error, shown

CURVES = ROOT / "data/curves"
PAGE = "results/published-curves.md"
SIZES = (10, 20, 40, 65)  # D of bilinear sequence regression
DIMENSIONS = (10, 32)  # d of in-context regression
FEWEST = 5
WITHIN = 2.0  # errors: "agrees"


def published(name):
    """The rows of a file in data/curves, as numbers."""
    with open(CURVES / f"{name}.csv", encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def ours(part):
    """{place on the curve: runs} of one curve."""
    rows = [row for result in load("published-curves") for row in result["rows"] if row["part"] == part]
    return dict(sorted(grouped(rows, "at").items()))


def averaged(part, value):
    """{place: (mean, its error)} over seeds."""
    return {at: mean_and_error([value(run) for run in runs]) for at, runs in ours(part).items()}


def task_gap(run):
    return run["error"] - run["seen"]


def squared_error(run):
    return run["error"]


def limit():
    """{alpha: published error at large D} of bilinear sequence regression."""
    return {row["alpha"]: row["bayes_mse"] for row in published("bilinear_sequence_regression")}


def bilinear():
    """{D: {alpha: (mean, error)}} of the exact posterior."""
    return {size: averaged(f"bilinear-{size}", squared_error) for size in SIZES if ours(f"bilinear-{size}")}


def extrapolated(alpha):
    """(value, error) at 1/D = 0: a line through the means, weighted by their errors; None with one size."""
    points = [(1 / size, *found[alpha]) for size, found in bilinear().items() if alpha in found]
    if len(points) < 2:
        return None
    weights = [1 / error ** 2 for _, _, error in points]
    total = sum(weights)
    centre = sum(w * x for w, (x, _, _) in zip(weights, points)) / total
    mean = sum(w * y for w, (_, y, _) in zip(weights, points)) / total
    spread = sum(w * (x - centre) ** 2 for w, (x, _, _) in zip(weights, points))
    slope = sum(w * (x - centre) * y for w, (x, y, _) in zip(weights, points)) / spread
    return mean - slope * centre, math.sqrt(1 / total + centre ** 2 / spread)


def bilinear_table():
    sizes = bilinear()
    theory = averaged("bilinear-solve-20", squared_error)
    rows = [["$\\alpha$", "published, $D \\to \\infty$", *(f"sampled, D = {size}" for size in sizes), "extrapolated", "errors apart",
             "saddle point, D = 20"]]
    for alpha in sorted({alpha for found in sizes.values() for alpha in found}):
        end = extrapolated(alpha)
        apart = "-" if end is None else shown(abs(end[0] - limit()[alpha]) / end[1])
        rows.append([f"{alpha:g}", shown(limit()[alpha], 3), *(shown(found[alpha][0], 3, found[alpha][1]) if alpha in found else "-"
                                                              for found in sizes.values()),
                     "-" if end is None else shown(end[0], 3, end[1]), apart,
                     shown(theory[alpha][0], 3, theory[alpha][1]) if alpha in theory else "-"])
    return rows


def context_pairs(d):
    """(kappa, theirs, our) with means and errors; theirs are over 20 simulations. With fewer than FEWEST seeds our error is from
    the deviation of theirs."""
    found = []
    for row in published(f"in_context_regression_d{d}"):
        runs = ours(f"in-context-{d}").get(row["kappa"], ())
        if len(runs) < 2:
            continue
        mean, error = mean_and_error([task_gap(run) for run in runs])
        error = error if len(runs) >= FEWEST else row["gtask_std"] / math.sqrt(len(runs))
        found.append((row["kappa"], (row["gtask_mean"], row["gtask_std"] / math.sqrt(row["numavg"])), (mean, error)))
    return found


def apart(theirs, mine):
    return abs(theirs[0] - mine[0]) / math.hypot(theirs[1], mine[1])


def context_table():
    rows = [["d", "$\\kappa$", "published", "ours", "errors apart"]]
    for d in DIMENSIONS:
        rows += [[d, f"{kappa:g}", shown(theirs[0], 4, theirs[1]), shown(mine[0], 4, mine[1]), shown(apart(theirs, mine))]
                 for kappa, theirs, mine in context_pairs(d)]
    return rows


def context_claim():
    """Points within two errors, and of how many."""
    distances = [apart(theirs, mine) for d in DIMENSIONS for _, theirs, mine in context_pairs(d)]
    return [str(sum(distance <= WITHIN for distance in distances)), str(len(distances))]


def bilinear_claim():
    alphas = sorted({alpha for found in bilinear().values() for alpha in found if extrapolated(alpha)})
    distances = [abs(extrapolated(alpha)[0] - limit()[alpha]) / extrapolated(alpha)[1] for alpha in alphas]
    return [str(sum(distance <= WITHIN for distance in distances)), str(len(distances))]


def bilinear_error():
    """The largest error of an extrapolated value, in percent of the value."""
    ends = [extrapolated(alpha) for alpha in {alpha for found in bilinear().values() for alpha in found}]
    return [f"{math.ceil(100 * max(error / value for value, error in filter(None, ends)))}"]


def largest_r_hats():
    """Of the two largest D."""
    return [shown(max(run["r_hat"] for runs in ours(f"bilinear-{size}").values() for run in runs), 2) for size in SIZES[-2:]]


TABLES = {"published-in-context": context_table, "published-bilinear": bilinear_table}
SENTENCES = [
    (PAGE, "In-context regression agrees: {} of {} points are within two errors.", context_claim),
    (PAGE, "Extrapolated in 1/D, {} of {} points are within two errors of the published limit.", bilinear_claim),
    (PAGE, "These errors are at most {} % of the values.", bilinear_error),
    (PAGE, "R-hat is at most {} at D = 40 and {} at D = 65.", largest_r_hats),
]
