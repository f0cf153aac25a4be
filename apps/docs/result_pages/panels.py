"""The panels of the two papers beside what was found here, each with a verdict."""

import math
import statistics

import codes
import fuzzy_logic
import hidden_markov
import one_shot
import sraven
from recorded import average, difference, mean_and_error, pair, published, reproduced, shown, spearman

AGREES = 0.05  # numbers agree if chance makes a difference as large as theirs more often than this


def apart(ours, theirs):
    """The distance of two numbers with errors, in errors of their difference."""
    distance, error = difference(ours, theirs)
    return abs(distance) / error


def by_chance(distances):
    """p: how often the largest of so many distances, in standard errors, is as large by chance (Sidak, for normal errors)."""
    return 1 - (2 * statistics.NormalDist().cdf(max(distances)) - 1) ** len(distances)


def verdict(distances):
    p = by_chance(list(distances))
    return f"{'agrees' if p > AGREES else 'differs'}: p " + (f"= {p:.2f}" if p > 0.01 else "< 0.01")


def verdict_of_effects(pairs):
    """That of leads or correlations, (ours, theirs): where errors are so wide that none at all would agree, too, nothing is decided."""
    none = by_chance([apart((0.0, ours[1]), theirs) for ours, theirs in pairs])
    return verdict([apart(ours, theirs) for ours, theirs in pairs]) if none < AGREES else "undecided: zero would agree"


def variants(task):
    """({variant: (published, here)} of a task of table A1, each as (mean, error), without an error where it is of one seed, None
    where it was not run; the deviation of one seed of a variant, pooled over variants)."""
    if task == "fuzzy logic":
        scores = {name: list(map(fuzzy_logic.held_out, runs)) for name, runs in fuzzy_logic.ablation_seeds().items()}
        reference = fuzzy_logic.reference()
        scores |= {name: list(map(fuzzy_logic.held_out, runs)) for name, runs in reference.items()}
        paper = published(fuzzy_logic.PAPER)
    else:
        scores = {name: list(map(sraven.accuracy, runs)) for name, runs in sraven.by_variant(sraven.full()).items()}
        paper = published(sraven.PAPER)
    here = {name: mean_and_error(values) if len(values) > 1 else (values[0], None) for name, values in scores.items()}
    pooled = math.sqrt(statistics.mean(statistics.variance(values) for values in scores.values() if len(values) > 1))
    return {name: (paper.get(name), here.get(name)) for name in dict.fromkeys([*paper, *here])}, pooled


def distances_of(task):
    """{variant: distance} of the variants that both have. A number without an error counts as one seed."""
    numbers, deviation = variants(task)
    return {name: apart(*((value, error or deviation) for value, error in (here, paper)))
            for name, (paper, here) in numbers.items() if paper and here}


def leads(task):
    """HYLA less softmax, seed by seed."""
    if task == "SRAVEN":
        return sraven.leads("softmax")
    runs = fuzzy_logic.reference()
    return [fuzzy_logic.held_out(a) - fuzzy_logic.held_out(b) for a, b in zip(runs["hyla"], runs["softmax"], strict=True)]


def chance_of(leads):
    """p of a paired t test of three leads: Student's t with two degrees of freedom, in closed form."""
    if len(leads) != 3:
        raise ValueError(f"{len(leads)} leads, not three")
    mean, error = mean_and_error(leads)
    return 1 - abs(mean) / math.hypot(mean, math.sqrt(2) * error)


def variants_table():
    """Every variant of attention of table A1, on both of its tasks."""
    tasks = [(variants(task)[0], distances_of(task)) for task in ("fuzzy logic", "SRAVEN")]
    fifth = {name: average(map(sraven.accuracy, found)) for name, found in sraven.by_variant(sraven.reference()).items()}
    rows = [["attention", "fuzzy logic, published", "here", "errors apart", "SRAVEN, published", "here", "errors apart",
             "here, a fifth of the length"]]
    for name in tasks[0][0]:
        cells = [name]
        for numbers, distances in tasks:
            paper, here = numbers.get(name, (None, None))
            cells += [pair(paper, 2), pair(here), shown(distances.get(name))]
        rows.append([*cells, fifth.get(name, "-")])
    return rows


def means(study):
    """Distances of the accuracies of eight seeds from those published: of eight seeds, or of one, which has the deviation of
    one of ours."""
    here = hidden_markov.over_seeds(study)
    many = published("T24, hidden Markov, 8 seeds").get(study)
    if many:
        return [apart(here[name], paper) for name, paper in many.items()]
    one = published("T24, hidden Markov, one seed")[study]
    return [apart(here[name], (value, here[name][1] * math.sqrt(8))) for name, value in one.items()]


def _same_digits():
    """Whether the numbers on the authors' own data agree as they were recorded: U_a and S to all digits, overlaps to three."""
    rows = [row for row in hidden_markov.data_table() if row[0].startswith(("S / N", "$U_a$"))]
    overlaps = hidden_markov.overlaps_table()[1:]
    pairs = [(rows[at][1:-1], rows[at + 1][1:-1]) for at in (0, 2)] + [(overlaps[at][1:], overlaps[at + 1][1:]) for at in (0, 2)]
    differing = sum(one != other for a, b in pairs for one, other in zip(a, b, strict=True))
    return "agrees in every digit" if differing == 0 else f"differs in {differing} numbers"


def network():
    """Accuracy of the trained one-shot networks, over all ten seeds: mean, its error, deviation of a seed."""
    values = [one_shot.of_network(one, "test") for fresh in (False, True) for one in one_shot.five("prune", fresh)]
    return *mean_and_error(values), statistics.stdev(values)


def drops():
    """Rank correlation of a head's score with the accuracy that its removal costs: of the published network; mean and error, and
    deviation, of ours: of fresh seeds, since the score was chosen on others, at the published T."""
    paper = published("T24, one-shot images")["accuracy without one head, by rising score"]
    here = [one_shot.correlation(one_shot.score_of(one, "score", 10, 0.5)) for one in one_shot.five("prune", fresh=True)]
    return -spearman(range(len(paper)), paper), mean_and_error(here), statistics.stdev(here)


def _t24():
    name = "[T24] 2"
    rows = []
    for study, words in (("four paths", "accuracy against width, four paths"), ("hard variant", "the same, hard variant"),
                         ("good and denoising", "line: good and denoising path"), ("good path only", "line: good path")):
        here = hidden_markov.over_seeds(study)
        many = published("T24, hidden Markov, 8 seeds").get(study)
        one = published("T24, hidden Markov, one seed").get(study)
        paper = pair(many["Gaussian process"], 3) if many else shown(one["Gaussian process"], 3)
        rows.append([name, words, f"Gaussian process {paper}", pair(here["Gaussian process"], 3), verdict(means(study)),
                     "[page](hidden-markov.md)"])
    limit, ours = (reproduced()["published data: overlaps", f"points[widths=10].overlaps[{at}]"] for at in (2, 2))
    rows.append([name, "order parameters and eigenvectors, authors' data", f"third overlap, N = 10: {shown(limit['published'], 3)}",
                 shown(ours["ours"], 3), _same_digits(), "[page](hidden-markov.md#on-data-drawn-as-the-authors-draw-them)"])
    trained, score = network(), drops()
    gain, digits = one_shot.images_claim()
    theirs = published("T24, one-shot images")["accuracy"]
    images, heads = "[page](one-shot-images.md)", "[page](one-shot-heads.md)"
    return rows + [
        ["[T24] 3", "accuracy of the trained network (%)", f"{theirs}, all of Omniglot", f"{pair(trained[:2])}, a seventh of it",
         f"differs by {theirs - trained[0]:.1f} points: fewer characters", images],
        ["[T24] 3", "accuracy of the theory against width", "a figure: narrow is best", f"N = 10 less Gaussian process {gain}",
         "same direction, no numbers", images],
        ["[T24] 3", "the same on other image sets", "a figure: MNIST, FashionMNIST", f"small digits: {digits}",
         "not run", images],
        ["[T24], pruning", "a head's score and accuracy lost without it: rank correlation", shown(score[0], 2), pair(score[1], 2),
         verdict_of_effects([(score[1], (score[0], score[2]))]), heads]]


def _s25():
    rows = []
    for task, figure, page in (("fuzzy logic", "[S25] table A1", "attention-ablation"), ("SRAVEN", "[S25] table A1", "sraven")):
        paper, here = variants(task)[0]["hyla"]
        compared, listed = len(distances_of(task)), sum(paper is not None for paper, _ in variants(task)[0].values())
        words = "every variant" if compared == listed else f"{compared} of {listed} variants"
        rows.append([figure, f"{task}: {words}", f"HYLA {pair(paper)}", pair(here), verdict(list(distances_of(task).values())),
                     f"[page]({page}.md)"])
        paper_lead = difference(*(variants(task)[0][name][0] for name in ("hyla", "softmax")))
        lead = mean_and_error(leads(task))
        rows.append([figure, f"{task}: HYLA less softmax", pair(paper_lead), pair(lead), verdict_of_effects([(lead, paper_lead)]),
                     f"[page]({page if task == 'SRAVEN' else 'fuzzy-logic'}.md)"])
    least, most, chance = codes.terms_of_trained()
    low, high, _ = codes.sraven_claim()
    return rows + [
        ["[S25] 2", "fuzzy logic: tokens and share held out", "a figure",
         f"HYLA less softmax {fuzzy_logic.cell_of_first_seeds()}, in fresh seeds {fuzzy_logic.cell_claim()[0]}",
         "not run at full length", "[page](fuzzy-logic-scaling.md)"],
        ["[S25] 2", "fuzzy logic: F1 of terms read off codes", "a figure", f"{least} to {most}, chance {chance}", "no numbers to compare",
         "[page](fuzzy-logic-codes.md)"],
        ["[S25] 3, 4", "SRAVEN: instances, depth, width, heads", "a figure", "-", "not run", "-"],
        ["[S25] 5", "SRAVEN: rules read off codes", "a figure", f"{low} to {high}", "no numbers to compare", "[page](sraven-codes.md)"],
        ["[S25] 2, 5", "t-SNE of codes", "a figure", "-", "not run", "-"],
        ["[S25] 6", "C4, 130 billion tokens", "a figure", "a small text", "not run", "[page](text.md)"]]


def table():
    return [["paper, figure", "panel", "published", "here", "verdict", ""], *_t24(), *_s25()]


def counts():
    """Panels that agree, that differ, that are undecided, and that were not run or have no numbers."""
    words = [row[4] for row in table()[1:]]
    found = [sum(word.startswith(start) for word in words) for start in ("agrees", "differs", "undecided")]
    return list(map(str, [*found, len(words) - sum(found)]))


def claim():
    return [str(len(table()) - 1), *counts()]


def pruning_apart():
    paper, here, deviation = drops()
    return [shown(paper, 2), shown(apart(here, (paper, deviation)))]


TABLES = {"published-figures": table, "attention-variants": variants_table}
SENTENCES = [("results/published-figures.md", "Of {} panels {} agree, {} differs and {} is undecided. {} were not run or have no numbers.**", claim),
             ("results/published-figures.md", "{} was computed here from its eight accuracies. It lies {} standard errors from ours.", pruning_apart),
             ("results/sraven.md", "a paired t test of the lead over softmax has p = {}.", lambda: [f"{chance_of(leads('SRAVEN')):.2f}"])]
