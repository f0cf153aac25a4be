"""Compositional generalisation: theory, exact samples and trained networks on pairs of modules that were never seen."""

from recorded import load, mean_and_error, shown

PAGE = "results/compositions.md"
COLUMNS = {"gaussian_process": "Gaussian process", "fixed": "theory, fixed", "adapted": "theory, adapted", "exact": "exact samples, fewer seeds",
           "trained": "trained"}
FORMS = {"after_attention": "`after_attention`", "hyla": "`hyla`", "per_head": "`per_head`", "before_attention": "`before_attention`",
         "linear": "linear values"}
TEACHERS = ("after_attention", "hyla")
EXAMPLES = (30, 60, 120, 240, 480, 960)
WIDTHS = (5, 20, 100)
SUPPORTS = ((4, "disconnected"), (4, "connected"), (5, "connected"), (6, "connected"), (8, "connected"), (9, "connected"))
BASE = {"teacher": "after_attention", "student": "after_attention", "seen": 8, "support": "connected", "examples": 240, "width": 20}
HYLA = {"teacher": "hyla", "student": "hyla"}


def recorded():
    return [row for result in load("compositions") for row in result["rows"]]


def rows(**changes):
    """Those of one setting, by seed."""
    wanted = BASE | changes
    return {row["seed"]: row for row in recorded() if all(row[name] == value for name, value in wanted.items())}


def errors(column, part="held_out", **changes):
    """{seed: relative squared error}, of those seeds that have it."""
    return {seed: row[column][part] for seed, row in rows(**changes).items() if row.get(column, {}).get(part) is not None}


def cell(column, part="held_out", **changes):
    values = list(errors(column, part, **changes).values())
    if len(values) < 3:
        return "-"
    mean, error = mean_and_error(values)
    return shown(mean, 3 if mean < 0.1 else 2, error)


def difference(one, other):
    """Mean and error over seeds of one dictionary less another, seed by seed."""
    return mean_and_error([one[seed] - other[seed] for seed in one if seed in other])


def less(one, other):
    mean, error = difference(one, other)
    return shown(mean, 2, error)


def ladder_table():
    """Errors on held-out pairs, then on seen ones."""
    body = [["P", *COLUMNS.values()]]
    for examples in EXAMPLES:
        cells = ([cell(column, part, examples=examples) for part in ("held_out", "fresh")] for column in COLUMNS)
        body.append([examples, *(", ".join(both) if "-" not in both else "-" for both in cells)])
    return body


def widths_table():
    """As the ladder, at P = 120; then the trained network at P = 240."""
    body = [["N", *COLUMNS.values(), "trained, P = 240"]]
    for width in WIDTHS:
        cells = ([cell(column, part, examples=120, width=width) for part in ("held_out", "fresh")] for column in COLUMNS)
        more = [cell("trained", part, width=width) for part in ("held_out", "fresh")]
        body.append([width, *(", ".join(both) if "-" not in both else "-" for both in (*cells, more))])
    return body


def forms_table():
    body = [["teacher", *(f"{name}: process, trained" for name in FORMS.values())]]
    for teacher in FORMS:
        body.append([FORMS[teacher], *(", ".join(cell(column, teacher=teacher, student=student) for column in ("gaussian_process", "trained"))
                                       for student in FORMS)])
    return body


def support_table():
    body = [["seen pairs of ten", *(f"{FORMS[form]}: {COLUMNS[column]}" for form in TEACHERS for column in ("gaussian_process", "trained"))]]
    for seen, support in SUPPORTS:
        chosen = [cell(column, teacher=form, student=form, seen=seen, support=support)
                  for form in TEACHERS for column in ("gaussian_process", "trained")]
        body.append([f"{seen}, {support}" if seen == 4 else seen, *chosen])
    return body


def with_few_examples():
    """Squared errors on held-out pairs at 120 examples: of the theory, exact samples and trained networks."""
    return [cell(name, examples=120).split(",")[0] for name in ("adapted", "exact", "trained")]


def wide_less_narrow():
    """Errors on held-out pairs at the largest width less those at the smallest, 120 examples: theory, exact samples, trained networks."""
    return [less(*(errors(name, examples=120, width=width) for width in (WIDTHS[-1], WIDTHS[0]))) for name in ("adapted", "exact", "trained")]


def of_hyla():
    """Errors on held-out pairs where teacher and student have HYLA's form: trained networks, Gaussian process."""
    return [cell(name, **HYLA).split(",")[0] for name in ("trained", "gaussian_process")]


def claim():
    return [cell("trained"), cell("adapted"), cell("gaussian_process")]


def claims_table():
    """Differences of errors on held-out pairs, paired by seed."""
    four, apart = (errors("trained", seen=4, support=support) for support in ("connected", "disconnected"))
    pairs = [(f"adapted theory less {words}, P = {examples}", errors("adapted", examples=examples), errors(column, examples=examples))
             for column, words, examples in (("gaussian_process", "Gaussian process", 120), ("trained", "trained", 120),
                                             ("exact", "exact", 120))]
    pairs += [("`hyla`: adapted theory less Gaussian process, P = 120",
               errors("adapted", examples=120, **HYLA), errors("gaussian_process", examples=120, **HYLA)),
              ("trained: four pairs that link all modules, less four that do not", four, apart),
              ("trained: five pairs less four that link all modules", errors("trained", seen=5), four),
              ("`hyla`: Gaussian process at P = 960, less at P = 240",
               errors("gaussian_process", examples=960, **HYLA), errors("gaussian_process", **HYLA)),
              ("`hyla`: trained less Gaussian process, P = 960",
               errors("trained", examples=960, **HYLA), errors("gaussian_process", examples=960, **HYLA))]
    narrow, *_, wide = WIDTHS
    pairs += [(f"{words}, N = {narrow}, less the same, N = {wide}, P = 120", errors(column, examples=120, width=narrow),
               errors(column, examples=120, width=wide))
              for words, column in (("adapted theory", "adapted"), ("exact", "exact"), ("trained", "trained"))]
    body = [["error on pairs never seen", "seeds", "difference, paired by seed"]]
    return body + [[words, len(one.keys() & other.keys()), less(one, other)] for words, one, other in pairs]


def composing_forms():
    """In how many forms the trained student of the teacher's form has an error below a tenth on pairs never seen."""
    means = [mean_and_error(errors("trained", teacher=form, student=form).values())[0] for form in FORMS]
    return [str(sum(mean < 0.1 for mean in means)), str(len(means))]


def hyla_seen():
    return [cell("trained", "fresh", examples=960, **HYLA)]


def not_additive():
    """The largest share that is no sum over modules, in percent: of trained networks, where seen pairs are four and linked."""
    shares = [row["trained"]["not_additive"] for form in TEACHERS for row in rows(teacher=form, student=form, seen=4).values()
              if row.get("trained")]
    return [f"{100 * max(shares):.1g}"]


def stops():
    trained = [row["trained"]["converged"] for row in recorded() if "trained" in row]
    return [str(len(trained)), str(len(trained) - sum(trained))]


def mixing():
    """The largest R-hat of the exact samples."""
    return [shown(max(row["exact"]["r_hat"] for row in recorded() if "exact" in row), 2)]


TABLES = {"compositions-ladder": ladder_table, "compositions-widths": widths_table, "compositions-forms": forms_table, "compositions-support": support_table,
          "compositions-claims": claims_table}
SENTENCES = [
    (PAGE, "**In {} of {} forms of values, a trained student of the teacher's form answers pairs that were never seen.**", composing_forms),
    (PAGE, "With `after_attention` and P = 240 the error on pairs never seen is {} in trained networks, {} in the theory with adapted features, and {} in the "
           "Gaussian process.", claim),
    (PAGE, "With the most examples its trained network has an error of {} on seen pairs, and more than half of the labels' size on others.", hyla_seen),
    (PAGE, "Of trained networks' answers up to {} % is no such sum.", not_additive),
    (PAGE, "Of {} trainings {} ended because the search found no lower point or had no steps left.", stops),
    (PAGE, "R-hat of the samples is at most {}.", mixing),
]
