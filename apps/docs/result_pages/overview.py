"""The table of all experiments: published, ours, and a verdict in at most five words."""

import codes
import fuzzy_logic
import hidden_markov
import one_shot
import pretrained
import removal
import sraven
import texts
from recorded import average, pair, published, shown


def _link(name, *files):
    data = ", ".join(f"[data]({file}.json)" if number == 0 else f"[{number + 1}]({file}.json)" for number, file in enumerate(files))
    return f"[page]({name}.md), {data}"


def _hidden_markov():
    paper = published("T24, hidden Markov, 8 seeds")["four paths"]
    here = hidden_markov.over_seeds("four paths")
    ends = ("10", hidden_markov.GAUSSIAN)
    return ["Hidden Markov chains, accuracy: N = 10; Gaussian process", "; ".join(pair(paper[end], 3) for end in ends),
            "; ".join(pair(here[end], 3) for end in ends), "agrees within two errors", _link("hidden-markov", "reproduce")]


def _one_shot():
    network = average((one_shot.of_network(one, "test") for fresh in (False, True) for one in one_shot.five("prune", fresh)))
    gain, _ = one_shot.images_claim()
    images = ["One-shot images, accuracy (%): network; gain of N = 10 over the Gaussian process",
              f"{published('T24, one-shot images')['accuracy']} on all of Omniglot; -", f"{network} on a seventh; {gain}",
              "narrow theory beats infinite width", _link("one-shot-images", one_shot.OLD, one_shot.FRESH)]
    heads = ["Its heads, rank correlation with their worth: theory's score; gradient sensitivity", "-",
             f"{one_shot.rules()[1]} on fresh seeds; {one_shot.sensitivity_of_all()[0]}", "theory's ranking not confirmed",
             _link("one-shot-heads", one_shot.OLD, one_shot.FRESH)]
    return [images, heads]


def _fuzzy_logic():
    paper, runs = published(fuzzy_logic.PAPER), fuzzy_logic.reference()
    softmax, hyla = (average(map(fuzzy_logic.held_out, runs[name])) for name in ("softmax", "hyla"))
    groups = [average(paper[name][0] for name in group if name in paper) for group in (fuzzy_logic.MIXED, fuzzy_logic.NOT_MIXED)]
    decoder, encoder, _, _ = fuzzy_logic.small_leads()
    return [
        ["Fuzzy logic, held-out $R^2$ x 100: softmax; HYLA", f"{pair(paper['softmax'])}; {pair(paper['hyla'])}",
         f"{softmax}; {hyla}", "HYLA ahead, as published", _link("fuzzy-logic", "fuzzy-logic-reference")],
        ["Tokens and pairs held out, a tenth of the length: HYLA less softmax at 32 tokens", "a figure",
         fuzzy_logic.scaling_claim()[0], "HYLA first in every cell", _link("fuzzy-logic-scaling", "fuzzy-logic-scaling")],
        ["Attention ablation, mean over variants: values mixed over heads; not mixed", "; ".join(groups),
         "; ".join(fuzzy_logic.ablation_claim()), "mixing values over heads helps",
         _link("attention-ablation", "attention-ablation")],
        ["Fuzzy logic made small, HYLA less softmax: decoder alone; with an encoder", "-", f"{decoder}; {encoder}",
         "within two errors: not shown", _link("fuzzy-logic-small", "fuzzy-logic-small", "fuzzy-logic-encoder")]]


def _sraven():
    paper, (softmax, _, hyla) = published(sraven.PAPER), sraven.reference_means()
    return [
        ["SRAVEN, accuracy (%) on held-out rule sets, here a fifth of the length: softmax; HYLA",
         f"{pair(paper['softmax'])}; {pair(paper['hyla'])}", f"{softmax}; {hyla}", "too short to tell",
         _link("sraven", "sraven-reference")],
        ["SRAVEN made small, HYLA less softmax (points)", "-", sraven.small_claim()[0], "no effect is shown",
         _link("sraven-small", "sraven-small")]]


def _codes():
    least, most, chance = codes.terms_of_trained()
    low, high, _ = codes.sraven_claim()
    return [
        ["Codes of fuzzy logic, F1 of terms; chance", "a figure", f"{least} to {most}; {chance}", "terms readable, HYLA not ahead",
         _link("fuzzy-logic-codes", "fuzzy-logic-latents")],
        ["Codes of SRAVEN, accuracy of rules; chance", "a figure", f"{low} to {high}; {float(codes.sraven_chances()[0]):.2f}",
         "rules readable in every variant", _link("sraven-codes", "sraven-latents", "sraven-small-latents")]]


def _heads():
    theory, _, hyla, _ = removal.claim()
    sensitivity, change = pretrained.claim()
    return [
        ["Heads of trained transformers, rank correlation with removal (HYLA): gradient sensitivity; theory", "-",
         f"{hyla}; {theory}", "theory does not foresee losses", _link("trained-heads", "hyla-heads")],
        ["Heads of pretrained networks, the same on four data sets", "-", f"{sensitivity}; {change}",
         "gradient sensitivity ranks better", _link("pretrained-heads", "pretrained-heads")]]


def _known_head():
    first, others = pretrained.rises_on_copies()
    return ["A head whose work is known, rise of the loss: without it; without the next", "-", f"{first}; {others}",
            "theory finds it, mostly", _link("known-head", "pretrained-heads")]


def _text():
    return ["Text made small, bits per byte: bytes; byte pairs", "another text", "; ".join(texts.claim()), "runs end to end",
            _link("text", "text-small", "text-bpe-small")]


def table():
    return [["experiment", "published", "ours", "verdict", ""], _hidden_markov(), *_one_shot(), *_fuzzy_logic(), *_sraven(),
            *_codes(), *_heads(), _known_head(), _text()]


def variants_table():
    """Every variant of attention of the paper, on both of its tasks."""
    runs, matrices = fuzzy_logic.reference(), sraven.reference_means()
    single = fuzzy_logic.ablation()
    here = dict(zip(sraven.VARIANTS, matrices, strict=True)) | {
        name: shown(sraven.accuracy(sraven.reference()[name, 1])) for name in ("linear_rms_head", "hyla_linear_value")}
    rows = [["attention", "fuzzy logic, published", "here", "here, seeds", "SRAVEN, published", "here, a fifth of the length"]]
    for name in [*published(fuzzy_logic.PAPER), "linear_rms_head_nonlinear_value"]:
        values = [fuzzy_logic.held_out(run) for run in runs.get(name, [single[name]])]
        rows.append([name, pair(published(fuzzy_logic.PAPER).get(name), 2), average(values), len(values),
                     pair(published(sraven.PAPER).get(name), 2), here.get(name, "-")])
    return rows


TABLES = {"experiments": table, "attention-variants": variants_table}
SENTENCES = []
