"""Reference posteriors of small networks, and what samplers of weights say of them."""

from recorded import load, shown

SAMPLERS = {"numpyro": "numpyro", "pystan": "Stan"}


def distance(check):
    """Distances of the means in errors: their root mean square, and the largest."""
    return f"{shown(check['root_mean_square'], 2)}, at most {shown(check['largest'], 1)}"


def table():
    rows = [["posterior", "$\\log p(y)$", "draws", "effective draws, at least", "R-hat, at most",
             *(f"{name}: errors apart" for name in SAMPLERS.values())]]
    for one in load("reference-posteriors"):
        checks = [distance(one["checks"][name]) if name in one["checks"] else "-" for name in SAMPLERS]
        rows.append([f"`{one['name']}`", shown(one["log_evidence"], 3, one["log_evidence_error"]), one["draws"],
                     shown(one["effective_draws"], 0), shown(one["r_hat"], 4), *checks])
    return rows


def checks(sampler):
    return [one["checks"][sampler] for one in load("reference-posteriors") if sampler in one["checks"]]


def claim():
    """How many posteriors numpyro was run on, how many means were compared, and the largest distance in errors."""
    found = checks("numpyro")
    return [str(len(found)), str(sum(one["means"] for one in found)), shown(max(one["largest"] for one in found))]


TABLES = {"reference-posteriors": table}
SENTENCES = [
    ("results/reference-posteriors.md", "On {} of six posteriors, with {} means, the largest distance from numpyro's is {} standard errors.", claim),
]
