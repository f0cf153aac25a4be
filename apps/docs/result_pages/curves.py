"""Models whose curves others published: their points and ours."""

import csv
import math

from recorded import ROOT, grouped, load, mean_and_error, shown

CURVES = ROOT / "data/curves"
PAGE = "results/published-curves.md"
SIZES = (10, 20, 40)  # D of bilinear sequence regression
DIMENSIONS = (10, 32)  # d of in-context regression
WITHIN = 2.0  # errors: "agrees"


def published(name):
    """The rows of a file in data/curves, as numbers."""
    with open(CURVES / f"{name}.csv", encoding="utf-8") as file:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]


def ours(part):
    """{place on the curve: runs} of one curve."""
    (result,) = load("published-curves")
    return dict(sorted(grouped([row for row in result["rows"] if row["part"] == part], "at").items()))


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
    """(kappa, theirs, our) with means and errors; theirs are over 20 simulations."""
    mine = averaged(f"in-context-{d}", task_gap)
    return [(row["kappa"], (row["gtask_mean"], row["gtask_std"] / math.sqrt(row["numavg"])), mine[row["kappa"]])
            for row in published(f"in_context_regression_d{d}") if row["kappa"] in mine]


def apart(theirs, mine):
    return abs(theirs[0] - mine[0]) / math.hypot(theirs[1], mine[1])


def context_table():
    rows = [["d", "$\\kappa$", "published", "ours", "errors apart"]]
    for d in DIMENSIONS:
        rows += [[d, f"{kappa:g}", shown(theirs[0], 4, theirs[1]), shown(mine[0], 4, mine[1]), shown(apart(theirs, mine))]
                 for kappa, theirs, mine in context_pairs(d)]
    return rows


def width_table():
    gaps, new = averaged("in-context-width", task_gap), averaged("in-context-width", squared_error)
    rows = [["$N_1$", "error on new tasks", "less that on tasks of training"]]
    rows += [[f"{int(width):,}", shown(new[width][0], 3, new[width][1]), shown(gaps[width][0], 3, gaps[width][1])] for width in gaps]
    infinite = {at: mean_and_error([task_gap(run) for run in runs[:len(next(iter(ours("in-context-width").values())))]])
                for at, runs in ours("in-context-10").items()}
    errors = averaged("in-context-10", squared_error)
    return [*rows, ["infinite", shown(errors[1.0][0], 3, errors[1.0][1]), shown(infinite[1.0][0], 3, infinite[1.0][1])]]


def context_claim():
    """Points within two errors, of how many, and the largest distance in errors."""
    distances = [apart(theirs, mine) for d in DIMENSIONS for _, theirs, mine in context_pairs(d)]
    return [str(sum(distance <= WITHIN for distance in distances)), str(len(distances)), shown(max(distances))]


def bilinear_claim():
    alphas = sorted({alpha for found in bilinear().values() for alpha in found if extrapolated(alpha)})
    distances = [abs(extrapolated(alpha)[0] - limit()[alpha]) / extrapolated(alpha)[1] for alpha in alphas]
    return [str(sum(distance <= WITHIN for distance in distances)), str(len(distances)), shown(max(distances))]


def theory_claim():
    """At alpha = 0.998, D = 20: error of the saddle point and of the samples."""
    theory, exact = averaged("bilinear-solve-20", squared_error), averaged("bilinear-20", squared_error)
    return [shown(*(theory[0.998][:1]), 3, theory[0.998][1]), shown(exact[0.998][0], 3, exact[0.998][1])]


TABLES = {"published-in-context": context_table, "published-bilinear": bilinear_table, "in-context-width": width_table}
SENTENCES = []
