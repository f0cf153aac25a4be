"""How far the theory of value networks is from exact samples, along ladders."""

import statistics

from recorded import load, shown
from validity import percent

PAGE = "results/value-validity.md"
FORMS = {"hyla": "hyla", "per_head": "per head", "before_attention": "before attention", "after_attention": "after attention"}
BASE = {"width": 10, "examples": 40, "inputs": 3}
ERRORS = {"predictor_gp": "predictor: GP", "predictor_fixed": "fixed", "predictor_adapted": "adapted", "U_1_fixed": "$U_1$: fixed",
          "U_1_adapted": "adapted", "U_1_adapted_corrected": "corrected", "S_adapted": "$S$"}


def rows():
    (result,) = load("value-validity")
    return [one | {"S_adapted": abs(one["S_eigenvalue_adapted"] / one["S_eigenvalue_exact"] - 1)} for one in result["rows"]]


def problems():
    """{(form, phi, N, P, N_0): its rows, one for each seed}"""
    found = {}
    for one in rows():
        found.setdefault(tuple(one[name] for name in ("form", "phi", "width", "examples", "inputs")), []).append(one)
    return dict(sorted(found.items(), key=lambda item: (list(FORMS).index(item[0][0]), item[0][1] != "relu", item[0][3], item[0][4], item[0][2])))


def ladder(axis):
    """{value of the axis: rows} of hyla with relu, all else as in BASE."""
    fixed = [name for name in BASE if name != axis]
    chosen = [one for one in rows() if (one["form"], one["phi"]) == ("hyla", "relu") and all(one[name] == BASE[name] for name in fixed)]
    return {value: [one for one in chosen if one[axis] == value] for value in sorted({one[axis] for one in chosen})}


def spread(found, name):
    """Median, least and largest over seeds."""
    values = [one[name] for one in found]
    return statistics.median(values), min(values), max(values)


def median(found, name):
    return statistics.median(one[name] for one in found)


def table():
    out = [["network", "N", "P", "$N_0$", "seeds", *ERRORS.values(), "noise: predictor, $U_1$"]]
    for (form, phi, width, examples, inputs), found in problems().items():
        noise = ", ".join(percent(median(found, f"{what}_noise")) for what in ("predictor", "U_1"))
        out.append([f"{FORMS[form]}, {phi}", width, examples, inputs, len(found), *(percent(median(found, name)) for name in ERRORS), noise])
    return out


def counts():
    found = rows()
    return [str(len(problems())), str(len(found)), shown(max(one["r_hat"] for one in found), 2)]


def below(name, level):
    return sum(median(found, name) < level for found in problems().values())


def levels():
    """Of all problems: predictor and U_1 with adapted features below 5 %, and below 20 %."""
    return [str(below(name, level)) for level in (0.05, 0.2) for name in ("predictor_adapted", "U_1_adapted")]


def levels_table():
    """In how many problems each median error is small, and the largest."""
    out = [["error of", "below 5 %", "below 20 %", "largest"]]
    names = {"predictor_gp": "predictor, Gaussian process", "predictor_fixed": "predictor, fixed features",
             "predictor_adapted": "predictor, adapted features", "U_1_fixed": "$U_1$, fixed features",
             "U_1_adapted": "$U_1$, adapted features", "S_adapted": "largest eigenvalue of $S$"}
    for name, words in names.items():
        out.append([words, below(name, 0.05), below(name, 0.2), percent(max(median(found, name) for found in problems().values()))])
    return out


def gains():
    """Runs in which adapting brings the predictor nearer than fixed features, and than the Gaussian process."""
    found = rows()
    return [str(sum(one["predictor_adapted"] < one[name] for one in found)) for name in ("predictor_fixed", "predictor_gp")]


def by_width():
    """The largest median of the predictor with adapted features and few inputs, from N = 10 on and below."""
    errors = {wide: [median(found, "predictor_adapted") for key, found in problems().items() if (key[2] >= 10) == wide and key[4] <= 3]
              for wide in (True, False)}
    return [percent(max(found)).removesuffix(" %") for found in errors.values()]


def many_inputs():
    """Problems with 8 or 20 inputs, and in how many of them U_1 with adapted features is further off than with fixed ones."""
    found = [one for key, one in problems().items() if key[4] >= 8]
    return [str(len(found)), str(sum(median(one, "U_1_adapted") > median(one, "U_1_fixed") for one in found))]


def corrections():
    """Runs in which the correction brings U_1 nearer, of all; the median error before and after."""
    found = [one for one in rows() if "U_1_adapted_corrected" in one]
    return [str(sum(one["U_1_adapted_corrected"] < one["U_1_adapted"] for one in found)), str(len(found)),
            *(percent(median(found, name)).removesuffix(" %") for name in ("U_1_adapted", "U_1_adapted_corrected"))]


TABLES = {"value-validity": table, "value-validity-levels": levels_table}
SENTENCES = [
    (PAGE, "{} problems were solved and sampled, {} runs with all their seeds; R-hat is at most {}.", counts),
    (PAGE, "The predictor with adapted features is nearer to the exact one than with fixed features in {} runs, and than the Gaussian process in {}.", gains),
    (PAGE, "With at most three inputs the predictor with adapted features is within {} % from N = 10 on, and within {} % at N = 4.", by_width),
    (PAGE, "Of {} problems with 8 or 20 inputs adapting leads $U_1$ away from the exact one in {}.", many_inputs),
    (PAGE, "At the adapted $S$ the 1/N correction of $U_1$ leads nearer in {} of {} runs; the median error goes from {} to {} %.", corrections),
]
