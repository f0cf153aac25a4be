"""Fuzzy logic in context: at the settings of the paper, over tokens and shares held out, all variants, and made small."""

import statistics

import numpy as np

from recorded import average, difference, final, grouped, load, mean_and_error, pair, published, runs_of, shown

VARIANTS = ("softmax", "linear", "hyla")
PAPER = "S25, table A1, fuzzy logic"
# Variants whose weights are no softmax: those that mix values over heads before they are used, and the others.
MIXED = ("hyla", "hyla_no_rms_head", "hyla_linear_value", "hyla_linear_value_no_rms_head", "hyla_deep",
         "hyla, mixture of experts")
NOT_MIXED = ("linear", "linear_rms_head", "linear_rms_head_nonlinear_value", "linear, mixture of experts")
EARLY = ("softmax", "softmax, mixture of experts", "softmax_hyla")  # best early, and worse from there


def held_out(run):
    """R^2 x 100 on pairs of known terms that training never shows, at the end."""
    return final(run, "held_out", "r2", 100)


def best(run):
    """(R^2 x 100, step) where the curve on held-out pairs is highest."""
    curve = run["curves"]["held_out"]
    value, step = max(zip(curve["r2"], curve["step"]))
    return 100 * value, step


def reference():
    return grouped(runs_of("fuzzy-logic-reference"), "variant")


def reference_table():
    rows = [["attention", "published", "at the end", "seeds 1, 2, 3", "at its best step", "seeds 1, 2, 3 (step)",
             "unknown terms", "train loss"]]
    for variant, runs in reference().items():
        rows.append([variant, pair(published(PAPER)[variant]), average(map(held_out, runs)),
                     ", ".join(shown(held_out(run)) for run in runs), average(best(run)[0] for run in runs),
                     ", ".join(f"{best(run)[0]:.1f} ({best(run)[1]:,.0f})" for run in runs),
                     average(final(run, "unknown_terms", "r2", 100) for run in runs),
                     shown(statistics.mean(run["train_loss"] for run in runs), 5)])
    return rows


def lead_of_hyla(runs, other):
    """HYLA's lead over another variant, seed by seed."""
    return average(a - b for a, b in zip(map(held_out, runs["hyla"]), map(held_out, runs[other]), strict=True))


def reference_numbers():
    runs = reference()
    return [average(map(held_out, runs[name])) for name in ("hyla", "softmax")]


def lead_at_best_steps():
    runs = reference()
    return [average(best(a)[0] - best(b)[0] for a, b in zip(runs["hyla"], runs["softmax"], strict=True))]


def softmax_falls():
    return [average(best(run)[0] - held_out(run) for run in reference()["softmax"])]


def scaling():
    """{(tokens, share held out): {variant: {seed: (R^2 x 100 of held-out pairs, of unknown terms)}}}."""
    cells = {}
    for run in runs_of("fuzzy-logic-scaling"):
        settings = dict(zip(run["settings"][::2], run["settings"][1::2]))
        cell = int(settings["task.sequence_length"]), settings["task.held_out"]
        scores = held_out(run), final(run, "unknown_terms", "r2", 100)
        cells.setdefault(cell, {}).setdefault(run["variant"], {})[run["seed"]] = scores
    return cells


def scaling_table():
    return [["tokens", "held out", *(f"{of}: {name}" for of in ("known", "unknown") for name in VARIANTS)]] + [
        [*cell, *(average(score[of] for score in scores[name].values()) for of in (0, 1) for name in VARIANTS)]
        for cell, scores in scaling().items()]


def scaling_leads():
    """HYLA's lead over the next best variant in each cell, between means over seeds."""
    means = [{name: statistics.mean(score[0] for score in scores[name].values()) for name in VARIANTS}
             for scores in scaling().values()]
    return [mean["hyla"] - max(mean["softmax"], mean["linear"]) for mean in means]


def leads_at_32(other):
    """{seed: [lead of HYLA at every share]} with 32 tokens."""
    leads = {}
    for (tokens, _), scores in scaling().items():
        if tokens == 32:
            for seed, score in scores["hyla"].items():
                leads.setdefault(seed, []).append(score[0] - scores[other][seed][0])
    return leads


def scaling_claim():
    return [average(statistics.mean(leads) for leads in leads_at_32(other).values()) for other in ("softmax", "linear")]


def leads_table():
    softmax, linear = ([lead for leads in leads_at_32(other).values() for lead in leads] for other in ("softmax", "linear"))
    rows = [["HYLA ahead of", "over", "smallest lead", "largest lead"]]
    for cells, leads in ((["the next variant", "all twelve cells"], scaling_leads()),
                         (["softmax", "every seed and share with 32 tokens"], softmax),
                         (["linear attention", "every seed and share with 32 tokens"], linear)):
        rows.append([*cells, shown(min(leads)), shown(max(leads))])
    return rows


def seeds_apart_at_32():
    """The largest distance between two seeds of one variant with 32 tokens."""
    scores = [[score[0] for score in cell[name].values()] for (tokens, _), cell in scaling().items() if tokens == 32
              for name in VARIANTS]
    return [shown(max(max(found) - min(found) for found in scores), 0)]


def ablation_seeds():
    """{variant: its runs, one a seed}; three of them are of the reference study."""
    runs = [run for name in ("fuzzy-logic-reference", "attention-ablation") for run in runs_of(name)]
    return grouped(runs, lambda run: run["label"].replace(", feed_forward = mixture", ", mixture of experts"))


def ablation():
    """{variant: its run of seed 1}"""
    return {label: run for label, runs in ablation_seeds().items() for run in runs if run["seed"] == 1}


def at_the_end(label):
    """R^2 x 100 on held-out pairs at the end, the mean over the seeds of a variant."""
    return float(np.mean([held_out(run) for run in ablation_seeds()[label]]))


def ablation_table():
    runs = ablation()
    order = ["softmax", "softmax, mixture of experts", "softmax_hyla", *NOT_MIXED, *MIXED]
    rows = [["attention", "values mixed", "published", "at the end", "seeds", "seed 1 at the end", "at its best step",
             "unknown terms", "train loss", "parameters"]]
    for label in order:
        run, seeds = runs[label], ablation_seeds()[label]
        value, step = best(run)
        rows.append([label, "yes" if "hyla" in label else "no", pair(published(PAPER).get(label)),
                     average(map(held_out, seeds)), len(seeds), shown(held_out(run)), f"{value:.1f} at {step:,.0f}", shown(final(run, "unknown_terms", "r2", 100)),
                     shown(run["train_loss"], 5), f"{run['parameters']:,}"])
    return rows


def ablation_claim():
    return [average(at_the_end(label) for label in group) for group in (MIXED, NOT_MIXED)]


def seed_spread():
    """The largest distance between two seeds of one variant at these settings."""
    return [shown(max(max(map(held_out, runs)) - min(map(held_out, runs)) for runs in ablation_seeds().values()), 0)]


def rms_head_gain():
    """Of RMSHead to linear attention: the difference of the means, with its standard error."""
    scores = [[held_out(run) for run in ablation_seeds()[name]] for name in ("linear_rms_head", "linear")]
    (gain, error), (less, other) = map(mean_and_error, scores)
    return [pair((gain - less, float(np.hypot(error, other))))]


def early_losses():
    runs = ablation()
    return [shown(best(runs[label])[0] - held_out(runs[label]), 0) for label in EARLY]


def more_parameters():
    """How many times as many parameters a mixture of experts has."""
    runs = ablation()
    return [shown(runs["hyla, mixture of experts"]["parameters"] / runs["hyla"]["parameters"])]


def of_mixtures():
    """The largest change of the mean of R^2 x 100 by a mixture of experts."""
    return more_parameters() + [
        shown(max(abs(at_the_end(f"{name}, mixture of experts") - at_the_end(name)) for name in VARIANTS), 1)]


def reference_starts():
    """({variant: R^2 x 100 by seed} with our first embedding, the same with that of the authors' code), of the seeds that both have."""
    ours, theirs = reference(), started_by("features", "fuzzy-logic-reference")
    seeds = {variant: [run["seed"] for run in runs] for variant, runs in theirs.items()}
    return tuple({variant: [held_out(run) for run in runs[variant] if run["seed"] in seeds[variant]] for variant in theirs}
                 for runs in (ours, theirs))


def reference_starts_table():
    dims, features = reference_starts()
    rows = [["held-out pairs, seeds 1 and 2", "published", "variance 1 / D", "by the features, as [S25]", "change"]]
    rows += [[name, pair(published(PAPER)[name]), average(dims[name]), average(features[name]),
              paired(features[name], dims[name])] for name in dims]
    leads = [[a - b for a, b in zip(of["hyla"], of["softmax"], strict=True)] for of in (dims, features)]
    return rows + [["HYLA less softmax", "", *map(average, leads), paired(leads[1], leads[0])]]


def reference_lead():
    """HYLA's lead over softmax at the settings of the paper, with the first embedding of the authors' code."""
    return [reference_starts_table()[-1][3]]


FIRST_SEEDS = (1, 2, 3)  # of the cell that was trained with fresh seeds, too
SMALL = {"decoder alone": "fuzzy-logic-small", "encoder and decoder": "fuzzy-logic-encoder"}


def small(name, fresh=False):
    """{variant: runs} of a small study, seed by seed: the seeds of the study itself, or those trained later. The encoder's name is
    cut off its variants."""
    runs = [run for result in load("fuzzy-logic-small-fresh") if result["made"]["study"] == name for run in result["runs"]
            ] if fresh else runs_of(name)
    return grouped(runs, lambda run: run["variant"].partition(" + ")[0])


def small_of_all_seeds(name):
    runs = [small(name), small(name, fresh=True)]
    return {variant: runs[0][variant] + runs[1][variant] for variant in runs[0]}


def small_table():
    rows = [["network", "attention", "held-out pairs", "seeds 1, 2, ...", "unknown terms", "train loss", "parameters"]]
    for words, name in SMALL.items():
        for variant, runs in small_of_all_seeds(name).items():
            (parameters,) = {run["parameters"] for run in runs}
            rows.append([words, variant, average(map(held_out, runs)), ", ".join(shown(held_out(run)) for run in runs),
                         average(final(run, "unknown_terms", "r2", 100) for run in runs),
                         average((run["train_loss"] for run in runs), 4), f"{parameters:,}"])
    return rows


def small_leads_table():
    rows = [["network", "HYLA less", "first seeds", "fresh seeds", "all"]]
    for words, name in SMALL.items():
        for other in ("softmax", "linear"):
            rows.append([words, other, *(lead_of_hyla(runs, other) for runs in (
                small(name), small(name, fresh=True), small_of_all_seeds(name)))])
    return rows


def small_leads():
    """HYLA's lead over softmax in fresh seeds."""
    return [lead_of_hyla(small(name, fresh=True), "softmax") for name in SMALL.values()]


def started_by(start, study):
    """{variant: runs} with this first embedding, of the file on embeddings."""
    return grouped([run for result in load("fuzzy-logic-embedding") if result["made"]["study"] == study and
                    f"train.embedding_start={start} " in result["made"]["command"]
                    for run in result["runs"]], "variant")


def embedding_starts():
    """{start of the embedding: {variant: R^2 x 100 of held-out pairs, seed by seed}}: the decoder alone, eight seeds."""
    ours, theirs = small_of_all_seeds("fuzzy-logic-small"), started_by("features", "fuzzy-logic-small")
    for variant, runs in theirs.items():
        if [run["seed"] for run in runs] != [run["seed"] for run in ours[variant]]:
            raise ValueError(f"{variant}: seeds differ")
    return {start: {variant: list(map(held_out, runs[variant])) for variant in theirs}
            for start, runs in (("dims", ours), ("features", theirs))}


def paired(one, other):
    return average(a - b for a, b in zip(one, other, strict=True))


def embedding_table():
    dims, features = embedding_starts().values()
    rows = [["held-out pairs, eight seeds", "variance 1 / D", "by the features, as [S25]", "change"]]
    rows += [[name, average(dims[name]), average(features[name]), paired(features[name], dims[name])] for name in dims]
    leads = [[a - b for a, b in zip(of["hyla"], of["softmax"], strict=True)] for of in (dims, features)]
    return rows + [["HYLA less softmax", *map(average, leads), paired(leads[1], leads[0])]]


def cell_leads():
    """{first embedding: HYLA's lead over softmax at 32 tokens and 70 % held out, seed by seed}: three seeds that chose the claim, then
    fresh ones."""
    first = scaling()[32, "0.7"]
    leads = {"dims": [first["hyla"][seed][0] - first["softmax"][seed][0] for seed in FIRST_SEEDS], "features": []}
    for start, found in leads.items():
        runs = started_by(start, "fuzzy-logic-scaling")
        seeds = [run["seed"] for run in runs["hyla"]]
        if seeds != list(range(len(found) + 1, 9)) or seeds != [run["seed"] for run in runs["softmax"]]:
            raise ValueError(f"{start}: seeds {seeds}")
        found += [held_out(one) - held_out(other) for one, other in zip(runs["hyla"], runs["softmax"])]
    return leads


def cell_table():
    dims, features = cell_leads().values()
    change = [b - a for a, b in zip(dims, features, strict=True)]
    count = len(FIRST_SEEDS)
    return [["HYLA less softmax", "seeds 1, 2, 3", "fresh seeds 4 to 8", "all"]] + [
        [words, average(leads[:count]), average(leads[count:]), average(leads)]
        for words, leads in (("variance 1 / D", dims), ("by the features, as [S25]", features), ("change", change))]


def cell_claim():
    """The lead in fresh seeds, with either embedding."""
    return [average(leads[len(FIRST_SEEDS):]) for leads in cell_leads().values()]


def cell_of_first_seeds():
    return average(cell_leads()["dims"][:len(FIRST_SEEDS)])


def gains_by_mixing():
    """How far variants that mix values over heads are above those that do not, published and here: of those that the paper has."""
    paper = published(PAPER)
    groups = [[name for name in group if name in paper] for group in (MIXED, NOT_MIXED)]
    return [difference(*(mean_and_error([score(name) for name in group]) for group in groups))
            for score in (lambda name: paper[name][0], at_the_end)]


def has_failed(run):
    """Whether a network did not learn its training tasks."""
    return final(run, "validation", "r2") < 0.5


def lead_without_the_failed():
    """With an encoder, over all seeds but those where HYLA failed to train."""
    runs = small_of_all_seeds("fuzzy-logic-encoder")
    failed = {run["seed"] for run in runs["hyla"] if has_failed(run)}
    return [lead_of_hyla({name: [run for run in found if run["seed"] not in failed] for name, found in runs.items()}, "softmax")]


TABLES = {"fuzzy-logic": reference_table, "fuzzy-logic-scaling": scaling_table, "attention-ablation": ablation_table,
          "fuzzy-logic-small": small_table, "fuzzy-logic-small-leads": small_leads_table,
          "fuzzy-logic-leads": leads_table, "fuzzy-logic-embedding": embedding_table, "fuzzy-logic-cell": cell_table,
          "fuzzy-logic-starts": reference_starts_table}
SENTENCES = [
    ("results/fuzzy-logic.md", "HYLA reaches {} on pairs of terms that training never showed, softmax {}.**",
     reference_numbers),
    ("results/fuzzy-logic.md", "It also leads with the first embedding of the authors' code: by {} points in two seeds.",
     reference_lead),
    ("results/fuzzy-logic.md", "and HYLA leads softmax by {}.", lead_at_best_steps),
    ("results/fuzzy-logic.md", "Softmax peaks early and then loses {} points.", softmax_falls),
    ("results/fuzzy-logic-scaling.md", "With 32 tokens it leads softmax by {} points and linear attention by {}",
     scaling_claim),
    ("results/fuzzy-logic-scaling.md", "There its lead over softmax is {} points, and {} with the first embedding of the authors' "
     "code.", cell_claim),
    ("results/fuzzy-logic-scaling.md", "seeds of one variant lie up to {} points apart", seeds_apart_at_32),
    ("results/attention-ablation.md", "Over the variants that the paper has, the lead is {} there and {} here.",
     lambda: list(map(pair, gains_by_mixing()))),
    ("results/attention-ablation.md", "Variants that mix values over heads reach {} on held-out pairs, those that do not {}.**",
     ablation_claim),
    ("results/attention-ablation.md", "Seeds of one variant are up to {} points apart", seed_spread),
    ("results/attention-ablation.md", "RMSHead adds {} points to linear attention", rms_head_gain),
    ("results/attention-ablation.md", "they lose {}, {} and {} points after their best step.", early_losses),
    ("results/attention-ablation.md", "have {} times the parameters. They change the mean by at most {} points", of_mixtures),
    ("results/fuzzy-logic-small.md", "not shown at this size, over five fresh seeds: {} points with a decoder alone, {} with an "
     "encoder.**", small_leads),
    ("results/fuzzy-logic-small.md", "Without that seed it leads softmax by {} points.", lead_without_the_failed),
]
