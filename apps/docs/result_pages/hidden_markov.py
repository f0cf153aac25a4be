"""Hidden Markov chains: the theory beside the authors' code, on their data and on data of our own."""

from recorded import pair, published, reproduced, shown

DATA = "published data"  # name of a run: the authors' data
WIDTHS = (10, 30, 50, 100, 300, 500, 1000)
GAUSSIAN = "Gaussian process"
STUDIES = ("four paths", "hard variant", "good and denoising", "good path only")


def ours(run, of):
    """[value, error] that `make reproduce` recorded."""
    row = reproduced()[run, of]
    return row["ours"], row["error"]


def over_seeds(study):
    """{width, or Gaussian process: (accuracy, error) of seeds 1 to 8}."""
    found = {str(width): ours(study, f"points[widths={width}].accuracy") for width in (10, 100, 1000)}
    return found | {GAUSSIAN: ours(study, "gaussian_process[0].accuracy")}


def seeds_table():
    rows = [["accuracy", "", "N = 10", "N = 100", "N = 1000", GAUSSIAN]]
    for study in STUDIES:
        here = over_seeds(study)
        paper = published("T24, hidden Markov, 8 seeds").get(study)
        one = published("T24, hidden Markov, one seed").get(study)
        if paper:
            rows.append([study, "authors' code, 8 seeds", *(pair(paper.get(name), 3) for name in here)])
        if one:
            rows.append([study, "authors' code, one seed", *(shown(one.get(name), 3) for name in here)])
        rows.append([study, "here, 8 seeds", *(pair(value, 3) for value in here.values())])
    return rows


def data_table():
    paper = published("T24, hidden Markov, data of the authors")
    limit = paper[GAUSSIAN]
    rows = [["four paths, data drawn as the authors draw them", *(f"N = {width}" for width in WIDTHS), GAUSSIAN]]
    rows.append(["accuracy, authors' code", *(shown(value, 3) for value in paper["accuracy"]), shown(limit["accuracy"], 3)])
    for words, of, digits, theirs in (("S / N", "action", 6, "independent solver"), ("$U_a$", "U_a", 4, "authors' code")):
        last = ["1"] if of == "U_a" else ["-"]
        rows.append([f"{words}, {theirs}", *(shown(value, digits) for value in paper[of]), *last])
        here = [ours(DATA, f"points[widths={width}].{of}")[0] for width in WIDTHS]
        rows.append([f"{words}, here", *(shown(value, digits) for value in here), *last])
    return rows


def posterior_table():
    """The diagonal of U_1 at N = 10 on the authors' data."""
    rows = [["$U_1$, diagonal, N = 10", "(1,1) good", "(1,2)", "(2,1) denoising", "(2,2)"]]

    def row(words, values, digits, error=None):
        rows.append([words, shown(values[0], digits[0], error), *(map(shown, values[1:], digits[1:]))])

    digits = (2, 3, 2, 3)
    theirs = published("hidden Markov, posterior at N = 10")
    for name in ("independent sampler", "block Gibbs over all weights"):
        row(name, theirs[name], digits, theirs[f"{name}, error of the first"])
    samples = [ours(f"{DATA}: posterior", f"points[widths=10].U_1_mean[{at}][{at}]") for at in range(4)]
    rows.append(["exact samples, here", *(shown(value, places, error) for (value, error), places in zip(samples, digits))])
    for words, of in (("saddle point, here", "U"), ("1/N-corrected, here", "corrected.U")):
        row(words, [ours(DATA, f"points[widths=10].{of}[0][{at}][{at}]")[0] for at in range(4)], digits)
    return rows


def overlaps_table():
    rows = [["overlap with the labels of eigenvector", *map(str, range(1, 6))]]
    for words, of in (("N = 10", "overlaps"), (GAUSSIAN, "gaussian_process_overlaps")):
        keys = [(f"{DATA}: overlaps", f"points[widths=10].{of}[{at}]") for at in range(5)]
        rows.append([f"{words}, authors' code", *(shown(reproduced()[key]["published"], 3) for key in keys)])
        rows.append([f"{words}, here", *(shown(ours(*key)[0], 3) for key in keys)])
    return rows


def largest_distance():
    """Between the authors' means over 8 seeds and ours, in standard errors of the difference."""
    found = []
    for study, paper in published("T24, hidden Markov, 8 seeds").items():
        for name, (value, error) in paper.items():
            here, own = over_seeds(study)[name]
            found.append(abs(here - value) / (error ** 2 + own ** 2) ** 0.5)
    return [shown(max(found))]


def claim():
    return [pair(over_seeds("four paths")[name], 3) for name in ("10", GAUSSIAN)] + largest_distance()


TABLES = {"hidden-markov": seeds_table, "hidden-markov-data": data_table, "hidden-markov-posterior": posterior_table,
          "hidden-markov-overlaps": overlaps_table}
SENTENCES = [
    ("results/hidden-markov.md", "the theory of ten neurons a layer predicts an accuracy of {}, that of the infinitely wide network {}.** "
     "Means over eight seeds agree with the authors' code within {} standard errors", claim),
]
