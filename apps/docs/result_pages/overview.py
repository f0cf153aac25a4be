"""The tables of all experiments: theory against exact answers, published results, claims that were not confirmed. A verdict has at
most five words, any other cell twelve."""

import compositions
import curves
import decodability_tables
import fuzzy_logic
import hidden_markov
import learned
import one_shot
import panels
import posteriors
import pretrained
import ranking
import removal
import sraven
import validity
import value_validity
from recorded import average, difference, load, mean_and_error, pair, published, shown

MOST_ERRORS_APART = 2.0  # of numbers that agree, in standard errors of their difference


def _link(name, file, *more):
    return f"[page]({name}.md), [data]({file}.json)" + "".join(f", [more]({other}.json)" for other in more)


def _hidden_markov():
    paper, here = published("T24, hidden Markov, 8 seeds")["four paths"], hidden_markov.over_seeds("four paths")
    return [[f"Hidden Markov chains, 8 seeds: accuracy, {name}", pair(paper[end], 3), pair(here[end], 3), _verdict(here[end], paper[end]),
             _link("hidden-markov", "reproduce")] for end, name in (("10", "N = 10"), (hidden_markov.GAUSSIAN, "Gaussian process"))]


def _verdict(ours, theirs, decided=True):
    distance = panels.apart(ours, theirs)
    return f"{'undecided' if not decided else 'agrees' if distance <= MOST_ERRORS_APART else 'differs'}: {distance:.1f} errors apart"


def _one_shot():
    paper, here, deviation = panels.drops()
    trained, theirs = panels.network(), published("T24, one-shot images")["accuracy"]
    decided = not panels.verdict_of_effects([(here, (paper, deviation))]).startswith("undecided")
    return [["One-shot images: accuracy of the trained network (%)", f"{theirs}, one network", pair(trained[:2]), _verdict(trained[:2], (theirs, trained[2])),
             _link("one-shot-images", one_shot.OLD, one_shot.FRESH)],
            ["One-shot heads: theory's score (T = 0.5) with accuracy lost, correlation", f"{shown(paper, 2)}, one network", pair(here, 2),
             _verdict(here, (paper, deviation), decided), _link("one-shot-heads", one_shot.FRESH)]]


def _variants(words, paper, here, leads, link):
    rows = [(name, paper[key], here[key]) for name, key in (("softmax", "softmax"), ("HYLA", "hyla"))]
    rows += [(f"HYLA's lead over {other}", difference(paper["hyla"], paper[other]), mean_and_error(lead)) for other, lead in leads.items()]
    return [[f"{words}: {name}", pair(theirs), pair(ours), _verdict(ours, theirs), link] for name, theirs, ours in rows]


def _fuzzy_logic():
    here = {name: mean_and_error(list(map(fuzzy_logic.held_out, runs))) for name, runs in fuzzy_logic.reference().items()}
    return _variants("Fuzzy logic, 3 seeds, held-out $R^2$ x 100", published(fuzzy_logic.PAPER), here, {"softmax": panels.leads("fuzzy logic")},
                     _link("fuzzy-logic", "fuzzy-logic-reference"))


def _sraven():
    here = {name: mean_and_error(list(map(sraven.accuracy, runs))) for name, runs in sraven.by_variant(sraven.full()).items() if len(runs) > 1}
    return _variants("SRAVEN, 3 seeds, held-out accuracy (%)", published(sraven.PAPER), here, {other: sraven.leads(other) for other in ("softmax", "linear")},
                     _link("sraven", "sraven-full-length", "sraven-tf32"))


def _curves():
    (context, contexts), (within, of) = curves.context_claim(), curves.bilinear_claim()
    link = _link("published-curves", "published-curves")
    return [["In-context regression (another group): points that agree", "a curve", f"Gaussian process: {context} of {contexts}", "agrees", link],
            ["Bilinear sequence regression (another group): points that agree", "a curve", f"exact samples, extrapolated: {within} of {of}", "samples agree; theory off", link]]


def _validity():
    predictor, below = validity.claim()[1], len(validity.between(0.0, 0.1))
    return [f"Is the theory right for linear values? {validity.counts()[0]} random problems", "yes, at small load",
            f"90 % of the {below} below load 0.1: predictor within {predictor} %", _link("validity", "validity")]


def _value_validity():
    count = value_validity.counts()[0]
    predictor, process, order, fixed = (value_validity.below(name, 0.05) for name in ("predictor_adapted", "predictor_gp", "U_1_adapted", "U_1_fixed"))
    link = _link("value-validity", "value-validity")
    return [[f"Is it right if the values have a hidden layer? {count} problems", "mostly not", f"predictor within 5 %: adapted {predictor}, Gaussian process {process}", link],
            ["Is $U_1$ more accurate if the theory adapts hidden features?", "not shown", f"$U_1$ within 5 %: adapted {order}, fixed {fixed}", link]]


def _posteriors():
    _, means, largest = posteriors.claim()
    return ["Do exact draws agree with numpyro's NUTS over all weights?", "yes", f"{means} means, at most {largest} standard errors apart",
            _link("reference-posteriors", "reference-posteriors")]


def _compositions():
    adapted, exact, trained = compositions.with_few_examples()
    link = _link("compositions", "compositions")
    return [["Does it foresee errors on pairs of heads never seen (120 examples)?", "roughly; too high",
             f"adapted {adapted}, exact {exact}, trained {trained}", link],
            ["Does it foresee their change from N = 5 to 100?", "as exact samples; training differs",
             "adapted +{}, exact +{}, trained {}".format(*compositions.wide_less_narrow()), link]]


def _learned():
    cold, hot, exact = learned.by_start()
    return ["Does it find the head a copy needs, with learned attention (accuracy)?", "only from a good start",
            f"good start {hot}, zero attention {cold}; exact {exact}",
            _link("learned-attention", learned.DATA) + ", [transition: page](attention-transition.md)"]


def _known_head():
    theory, gradient = map(pretrained.places_of_known_head, ("the theory's change, all parts", "gradient sensitivity"))
    return ["Where among eight does it rank a known head, in five splits?", "first in most", f"theory {theory}, gradient {gradient}",
            _link("known-head", "pretrained-heads")]


def _ranking():
    return ["Do measured removals (`rank_heads`) foretell costs better than gradient sensitivity?", "yes; refitted readout: not shown",
            "lead in rank correlation: {}, refitted {}".format(*map(ranking.removal_less_gradient, ranking.TARGETS)), _link("head-ranking", "head-ranking")]


def _failed_networks():
    """Claims on trained networks that were not confirmed, or of which no effect was found."""
    decoder, encoder = fuzzy_logic.small_leads()
    early = dict(zip(sraven.VARIANTS, sraven.reference_means(sraven.reference())))
    _, foretold, _, training = decodability_tables.claim()
    return [
        ["HYLA leads softmax on fuzzy logic, 32 tokens, a tenth of training", "not confirmed",
         f"lead: first seeds {fuzzy_logic.cell_of_first_seeds()}, fresh seeds {fuzzy_logic.cell_claim()[0]}", _link("fuzzy-logic-scaling", "fuzzy-logic-scaling")],
        ["HYLA leads softmax on fuzzy logic made small, fresh seeds", "not shown", f"lead: decoder alone {decoder}, with encoder {encoder}",
         _link("fuzzy-logic-small", "fuzzy-logic-small-fresh")],
        ["The authors' first embedding raises HYLA's lead, decoder alone", "not shown",
         "lead: with theirs {2}, theirs minus ours {3}".format(*fuzzy_logic.embedding_table()[-1]), _link("fuzzy-logic-small", "fuzzy-logic-embedding")],
        ["HYLA leads softmax on SRAVEN after a fifth of the training", "not shown",
         f"accuracy (%), two seeds: softmax {early['softmax']}, HYLA {early['hyla']}", _link("sraven-fifth", "sraven-reference")],
        ["HYLA leads softmax on SRAVEN made small", "not shown", f"lead in accuracy (%): {sraven.small_claim()[0]}", _link("sraven-small", "sraven-small")],
        ["At equal training score, networks with readable codes generalise better", "not shown",
         f"36 networks, correlation: codes {foretold}, training score {training}", _link("decodability", "decodability")],
        ["HYLA's form, for teacher and student, answers module pairs never seen", "it does not",
         "error: trained {}, Gaussian process {}".format(*compositions.of_hyla()), _link("compositions", "compositions")],
        ["`rank_heads`: the combined estimate leads each single score by 0.05", "not confirmed",
         "on {} of six fresh tasks, refitted {}; four were required".format(*map(ranking.tasks_ahead, ranking.TARGETS)), _link("head-ranking", "head-ranking")]]


def _failed_rankings():
    theory, gradient = removal.claim()[:2], removal.claim()[2:]
    sensitivity, change = pretrained.claim()
    return [
        ["one-shot networks, five fresh seeds; theory's score at T = 0.25", one_shot.rules()[1], one_shot.sensitivity_of_fresh()[0],
         _link("one-shot-heads", one_shot.FRESH)],
        *([f"small {name} transformers on fuzzy logic, six fresh seeds", *cells, _link("trained-heads", "hyla-heads-fresh") + more]
          for name, more, *cells in zip(("HYLA", "softmax"), (", [own kernel: page](hyla-kernel.md)", ""), theory, gradient)),
        ["pretrained networks, four data sets", change, sensitivity, _link("pretrained-heads", "pretrained-heads")]]


def known_answers():
    return [["question", "answer", "numbers", "sources"], _posteriors(), _validity(), *_value_validity(), *_compositions(), _learned(), _known_head(),
            _ranking()]


def published_results():
    return [["experiment: score", "published", "ours", "verdict", "sources"], *_hidden_markov(), *_one_shot(), *_fuzzy_logic(), *_sraven(),
            *_curves()]


def failed_networks():
    return [["claim", "verdict", "numbers", "sources"], *_failed_networks()]


def failed_rankings():
    return [["heads of", "theory", "gradient sensitivity", "sources"], *_failed_rankings()]


def _percent(value):
    return f"{value:.2g} %" if value < 9.95 else f"{value:.0f} %"


def limits_table():
    """How far the theory is from exact samples, width by width."""
    (result,) = load("where-the-theory-ends")
    rows = [["N", "load $(p + 1) / N$", *(f"{what}: {words}" for what in ("$U_1$", "predictor") for words in ("theory", "with 1/N")),
             "accuracy: theory", "accuracy: exact"]]
    for row in result["rows"]:
        cells = [row["width"], f"{row['order']:.3g}"]
        for what in ("U_1", "predictor"):
            theory, corrected, noise = (100 * row[f"{what}_{kind}"] for kind in ("saddle", "corrected", "noise"))
            cells += [_percent(theory), _percent(corrected) if corrected > 2 * noise else "noise"]
        rows.append([*cells, *(f"{row[name]:.3f}" for name in ("accuracy_saddle", "accuracy_exact"))])
    return rows


# The tables of the overview, of which each row is one experiment.
EXPERIMENTS = {"known-answers": known_answers, "published-results": published_results, "failed-networks": failed_networks,
               "failed-rankings": failed_rankings}
TABLES = EXPERIMENTS | {"theory-against-exact": limits_table}


def _far():
    """How many numbers on fuzzy logic and SRAVEN there are, and how many of them are farther apart than two errors."""
    verdicts = [row[3] for row in (*_fuzzy_logic(), *_sraven())]
    return [str(sum(one.startswith("differs") for one in verdicts)), str(len(verdicts))]


def _leads():
    fuzzy, sraven_leads = map(panels.leads, ("fuzzy logic", "SRAVEN"))
    return [average(fuzzy), average(sraven_leads), f"{panels.chance_of(sraven_leads):.1f}"]


def _accuracies():
    """How far the theory's accuracy is off at most down to N = 4, and at N = 2."""
    off = {row["width"]: abs(row["accuracy_saddle"] - row["accuracy_exact"]) for row in load("where-the-theory-ends")[0]["rows"]}
    narrow = off.pop(2)
    return [f"{max(off.values()):.3f}", f"{narrow:.3f}"]


def _value_predictors():
    count = int(value_validity.counts()[0])
    return [str(count - value_validity.below("predictor_adapted", 0.05)), str(count)]


def _narrow():
    here = hidden_markov.over_seeds("four paths")
    return [*(shown(here[end][0], 3) for end in ("10", hidden_markov.GAUSSIAN)), one_shot.images_claim()[0]]


SENTENCES = [("results/README.md", "On fuzzy logic and SRAVEN all but {} of {} numbers agree within two standard errors, too.", _far),
             ("results/README.md", "From 0.3 to 1 these are {} % and {} %, with the 1/N correction {} % and {} %.", lambda: validity.claim()[2:]),
             ("results/README.md", "With a hidden layer in the values {} of {} predictors are more than 5 % off.", _value_predictors),
             ("results/README.md", "a student of the teacher's form does, in {} of {} forms of values.", compositions.composing_forms),
             ("results/README.md", "With 240 examples the error on such pairs is {} in trained networks, {} in the theory, {} in the Gaussian process.", compositions.claim),
             ("results/README.md", "in each of three seeds, by {} ($R^2$ x 100). On SRAVEN HYLA is ahead in each "
              "seed, too, by {} points, but three seeds do not settle it (p = {}, paired t test).", _leads),
             ("results/README.md", "the theory has an accuracy of {} at ten neurons a layer and of {} at infinite width. On [one-shot images](one-shot-images.md) ten neurons have {} points more "
              "than infinite width, in the theory.", _narrow),
             ("results/README.md", "Below load 0.1 nine of ten random problems have $U_1$ (how much each path is used) within {} % of the exact one, and predictors within {} %.", lambda: validity.claim()[:2]),
             ("results/README.md", "The theory's accuracy is at most {} off down to N = 4, and {} at N = 2;", _accuracies),
             ("results/README.md", "With theirs HYLA leads on fuzzy logic by {} (two seeds). On SRAVEN two seeds of HYLA have {} and {} % with theirs (mean {}), {} and {} % with ours.",
              lambda: [*fuzzy_logic.reference_lead(), *sraven.authors_embedding()])]
