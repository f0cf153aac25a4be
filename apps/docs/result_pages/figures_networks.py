"""Figures of trained networks: fuzzy logic, SRAVEN, texts, and the hidden Markov chains of the theory."""

import numpy as np

import fuzzy_logic
import hidden_markov
import learned
import panels
import sraven
import texts
import transition
from recorded import mean_and_error, published, runs_of
from headway.figures import style

COLOURS = {"softmax": style.OVERLAY[5], "linear": style.OVERLAY[4], "hyla": style.OVERLAY[3]}
DARKER = {"linear_rms_head": "#8a5a00", "hyla_linear_value": "#7a3b62", "hyla_no_rms_head": "#c0392b"}
SEEDS = {1: "-", 2: "--", 3: ":"}  # lines
PAPER = {"fmt": "D", "color": style.MUTED, "markerfacecolor": "white", "capsize": 2.5, "label": "published"}


def titled(axes, title, xlabel="", ylabel=""):
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    style.light_grid(axes)


def dots(axes, at, values, colour, label=None):
    """One dot a seed, and mean +- standard error beside them."""
    axes.plot([at] * len(values), values, "o", color=colour, markersize=3, alpha=0.55, markeredgewidth=0)
    mean, error = mean_and_error(values)
    axes.errorbar(at + 0.16, mean, yerr=error, fmt="s", color=colour, capsize=2.5, label=label)


def named(axes, names):
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.5)


def reference():
    figure = style.new_figure(7.4, 2.9)
    curves, ends = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.5, 1]})
    for at, (variant, runs) in enumerate(fuzzy_logic.reference().items()):
        scores = 100 * np.array([run["curves"]["held_out"]["r2"] for run in runs])
        steps = np.array(runs[0]["curves"]["held_out"]["step"]) / 1000
        curves.plot(steps, scores.T, color=COLOURS[variant], linewidth=0.6, alpha=0.5)
        curves.plot(steps, scores.mean(axis=0), color=COLOURS[variant], label=variant)
        dots(ends, at, [fuzzy_logic.held_out(run) for run in runs], COLOURS[variant])
        value, error = published(fuzzy_logic.PAPER)[variant]
        ends.errorbar(at - 0.2, value, yerr=error, **PAPER | {"label": "published" if at == 0 else None})
    titled(curves, "three seeds (thin) and their mean", "steps (thousands)", "held-out $R^2$ x 100")
    curves.legend(loc="lower right")
    titled(ends, "at the end")
    named(ends, fuzzy_logic.VARIANTS)
    ends.legend(loc="upper left")
    for axes in (curves, ends):
        axes.set_ylim(20, 100)
    return figure


def scaling():
    figure = style.new_figure(7.4, 2.7)
    panels = figure.subplots(1, 3, sharey=True)
    cells = fuzzy_logic.scaling()
    tokens = sorted({tokens for tokens, _ in cells})
    for axes, share in zip(panels, sorted({share for _, share in cells})):
        for variant in fuzzy_logic.VARIANTS:
            scores = [[score[0] for score in cells[count, share][variant].values()] for count in tokens]
            spread = [mean_and_error(values)[1] if len(values) > 1 else np.nan for values in scores]
            axes.errorbar(tokens, [np.mean(values) for values in scores], yerr=spread, marker="o", capsize=2.5,
                          color=COLOURS[variant], label=variant)
        axes.set_xscale("log", base=2)
        axes.set_xticks(tokens, tokens)
        axes.minorticks_off()
        titled(axes, f"{100 * float(share):.0f} % of pairs held out", "tokens")
    panels[0].set_ylabel("held-out $R^2$ x 100")
    panels[0].legend(loc="upper left")
    return figure


def ablation():
    runs = fuzzy_logic.ablation()
    order = sorted(runs, key=lambda label: fuzzy_logic.held_out(runs[label]))
    figure = style.new_figure(7.0, 3.7)
    axes = figure.subplots()
    for at, label in enumerate(order):
        colour = COLOURS["softmax"] if "softmax" in label else COLOURS["hyla" if "hyla" in label else "linear"]
        end, best = fuzzy_logic.held_out(runs[label]), fuzzy_logic.best(runs[label])[0]
        axes.plot([end, best], [at, at], color=colour, linewidth=1)
        axes.plot(best, at, "o", markerfacecolor="white", color=colour, label="seed 1 at its best step" if at == 0 else None)
        axes.plot(end, at, "o", color=colour, label="seed 1 at the end" if at == 0 else None)
        others = [fuzzy_logic.held_out(run) for run in fuzzy_logic.ablation_seeds()[label] if run["seed"] != 1]
        axes.plot(others, [at] * len(others), "|", color=colour, label="seeds 2 and 3 at the end" if label == "hyla" else None)
        value, error = published(fuzzy_logic.PAPER).get(label, (None, None))
        if value is not None:
            axes.errorbar(value, at - 0.28, xerr=error, **PAPER | {"label": "published" if at == 0 else None, "markersize": 3})
    axes.set_yticks(range(len(order)), order)
    axes.set(xlabel="held-out $R^2$ x 100")
    style.light_grid(axes, "x")
    axes.legend(loc="upper left")
    return figure


def small():
    figure = style.new_figure(6.2, 2.7)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, title) in zip(panels, (("fuzzy-logic-small", "decoder alone, eight seeds"),
                                            ("fuzzy-logic-encoder", "encoder and decoder, seven seeds"))):
        runs = fuzzy_logic.small_of_all_seeds(name)
        for at, variant in enumerate(fuzzy_logic.VARIANTS):
            dots(axes, at, [fuzzy_logic.held_out(run) for run in runs[variant]], COLOURS[variant])
        titled(axes, title)
        named(axes, fuzzy_logic.VARIANTS)
    panels[0].set_ylabel("held-out $R^2$ x 100")
    return figure


def sraven_reference():
    figure = style.new_figure(7.8, 3.2)
    curves, ends = figure.subplots(1, 2, gridspec_kw={"width_ratios": [1.2, 1]}, sharey=True)
    colours = COLOURS | DARKER
    named_before = set()
    for (label, seed), run in sraven.full().items():
        curve = run["curves"]["held_out"]
        curves.plot(128 * np.array(curve["step"]) / 1e6, 100 * np.array(curve["accuracy"]), color=colours[label],
                    linestyle=SEEDS[seed], label=label if label not in named_before else None)
        named_before.add(label)
    for (label, seed), run in sraven.reference().items():
        curve = run["curves"]["held_out"]
        curves.plot(128 * np.array(curve["step"]) / 1e6, 100 * np.array(curve["accuracy"]), color=colours[label],
                    linewidth=0.7, alpha=0.6)
    ceiling = sraven.full()["hyla", 1]["ceiling"]["held_out"]["accuracy"]
    curves.axhline(100 * ceiling, color=style.MUTED, linewidth=1, linestyle=":")
    curves.annotate("best possible", (20.0, 100 * ceiling - 5.5), ha="right", color=style.MUTED, fontsize=8.5)
    curves.set_ylim(0, 100)
    titled(curves, "seeds 1 (lines), 2 (dashes), 3 (dots), a fifth (thin)", "instances (millions)",
           "accuracy on held-out rule sets (%)")
    curves.legend(loc="lower right")
    for at, label in enumerate(sraven.ORDER):
        for runs, marker, shift, words in ((sraven.full(), "o", 0.1, "here, 20 million"),
                                           (sraven.reference(), "_", 0.24, "here, 4 million")):
            values = [sraven.accuracy(run) for (name, _), run in runs.items() if name == label]
            ends.plot([at + shift] * len(values), values, marker, color=colours[label], markersize=5 if marker == "o" else 7,
                      label=words if at == 0 else None, linestyle="none")
        value, error = published(sraven.PAPER)[label]
        ends.errorbar(at - 0.12, value, yerr=error, **PAPER | {"label": "published, 20 million" if at == 0 else None})
    titled(ends, "at the end")
    named(ends, [label.replace("linear_rms_head", "linear_\nrms_head").replace("hyla_linear_value", "hyla_linear\n_value")
                 .replace("hyla_no_rms_head", "hyla_no_\nrms_head")
                 for label in sraven.ORDER])
    ends.tick_params(axis="x", labelsize=7.5)
    ends.legend(loc="lower left")
    return figure


def sraven_small():
    figure = style.new_figure(5.6, 2.7)
    axes = figure.subplots()
    runs = sraven.small()
    for at, variant in enumerate(sraven.VARIANTS):
        for run in runs[variant]:
            ends = [sraven.accuracy(run, split) for split in ("test", "held_out")]
            axes.plot([at - 0.18, at + 0.18], ends, "o-", color=COLOURS[variant], linewidth=1)
            axes.annotate(f"seed {run['seed']}", (at + 0.23, ends[1]), fontsize=7.5, va="center", color=style.MUTED)
    titled(axes, "left: fresh instances of the rule sets of training;  right: rule sets never seen", "", "accuracy (%)")
    named(axes, sraven.VARIANTS)
    return figure


def hidden_markov_chains():
    figure = style.new_figure(7.4, 2.8)
    panels = figure.subplots(1, 2, sharey=True, gridspec_kw={"width_ratios": [1, 1]})
    for axes, study in zip(panels, ("four paths", "hard variant")):
        ours = hidden_markov.over_seeds(study)
        paper = published("T24, hidden Markov, 8 seeds")[study]
        places = {name: at for at, name in enumerate(ours)}
        axes.errorbar([at + 0.08 for at in places.values()], [value for value, _ in ours.values()],
                      yerr=[error for _, error in ours.values()], fmt="o", color=style.THEORY, capsize=2.5,
                      label="here, 8 seeds")
        axes.errorbar([places[name] - 0.08 for name in paper], [value for value, _ in paper.values()],
                      yerr=[error for _, error in paper.values()], **PAPER | {"label": "authors' code, 8 seeds"})
        titled(axes, study, "width N")
        axes.set_xticks(list(places.values()), [name.replace("Gaussian process", "infinite") for name in places])
        axes.set_xlim(-0.5, len(places) - 0.5)
    panels[0].set_ylabel("accuracy")
    panels[1].legend(loc="upper right")
    return figure


def beside_published():
    """Every variant of table A1 on both tasks."""
    figure = style.new_figure(7.8, 3.6)
    axes_of = figure.subplots(1, 2, sharey=True)
    numbers = {task: panels.variants(task)[0] for task in ("fuzzy logic", "SRAVEN")}
    order = list(reversed(numbers["fuzzy logic"]))
    for axes, (task, found) in zip(axes_of, numbers.items()):
        for at, name in enumerate(order):
            for (value, error), shift, look in ((one, *of) for one, of in zip(found.get(name, (None, None)), (
                    (-0.15, PAPER), (0.15, {"fmt": "o", "color": style.THEORY, "capsize": 2.5, "label": "here"}))) if one):
                axes.errorbar(value, at + shift, xerr=error, **look | {"markersize": 4, "label": look["label"] if at == 8 else None})
        titled(axes, task, "held-out $R^2$ x 100" if task == "fuzzy logic" else "accuracy on held-out rule sets (%)")
    axes_of[0].set_yticks(range(len(order)), order)
    axes_of[0].legend(loc="lower left")
    return figure


def language_models():
    figure = style.new_figure(5.6, 2.6)
    axes = figure.subplots()
    for (study, words), colour in zip(texts.STUDIES.items(), (style.OVERLAY[0], style.OVERLAY[1])):
        for at, run in enumerate(runs_of(study)):
            curve = run["curves"]["held_out"]
            axes.plot(curve["step"], curve["bits_per_byte"], "o-", color=colour, linewidth=1, markersize=3,
                      label=f"{study}: {words}" if at == 0 else None)
    titled(axes, "last tenth of the text, three seeds each", "steps", "bits per byte")
    axes.legend()
    return figure


def _of(*names):
    return tuple(f"results/{name}.json" for name in names)


_PAPERS = ("studies/published.json",)
def learned_attention():
    figure = style.new_figure(9.0, 2.9)
    *panels, energy = figure.subplots(1, 3)
    colours = dict(zip(learned.STARTS, (style.OVERLAY[1], style.OVERLAY[0])))
    for axes, kind in zip(panels, learned.KINDS):
        for start, words in learned.STARTS.items():
            runs = learned.branch(kind, start)
            means = [mean_and_error([run["overlap"] for run in runs[count]]) for count in sorted(runs)]
            axes.errorbar(sorted(runs), [mean for mean, _ in means], yerr=[error for _, error in means], fmt="o-",
                          markersize=3.5, capsize=2.5, color=colours[start], label=f"from {words}")
        titled(axes, f"{kind}: overlap with the answer", "training examples P")
        axes.set_ylim(0, 1.3)
        axes.set_yticks(np.linspace(0, 1, 6))
        axes.legend(loc="upper left")
    for kind, colour in zip(learned.KINDS, (style.OVERLAY[2], style.OVERLAY[3])):
        counts = sorted(learned.branch(kind, "none"))
        gaps = [learned.gaps(kind, count) for count in counts]
        energy.plot(counts, [np.median(gap) for gap in gaps], "s-", color=colour, markersize=3.5, label=kind)
    titled(energy, "action above the other branch, S / P", "training examples P", "median over seeds")
    energy.set_ylim(0, 1.6)
    energy.legend(loc="upper right", ncols=2)
    for axes in (*panels, energy):
        axes.set_xscale("log")
    return figure


def attention_transition():
    figure = style.new_figure(9.6, 2.9)
    *panels, samples = figure.subplots(1, 3)
    colours = dict(zip(transition.STARTS, (style.OVERLAY[1], style.OVERLAY[0])))
    for axes, kind in zip(panels, transition.KINDS):
        for start, words in zip(transition.STARTS, ("no attention", "the head that knows")):
            found = transition.runs("search", kind, start)
            counts = sorted({count for count, _ in found})
            for seed in sorted({seed for _, seed in found}):
                axes.plot(counts, [found[count, seed]["overlap"] for count in counts], "-", linewidth=0.6, alpha=0.35, color=colours[start])
            axes.plot(counts, [np.mean(transition.overlaps("search", kind, start, count)) for count in counts], "o-", markersize=3.5,
                      color=colours[start], label=f"from {words}")
        titled(axes, f"{kind}: overlap at the minimum", "training examples P", "thin: one seed" if kind == "softmax" else "")
        axes.set(xscale="log", ylim=(0, 1.3))
        axes.set_yticks(np.linspace(0, 1, 6))
        axes.legend(loc="upper left")
    for kind, lines in zip(transition.KINDS, ("-", "--")):
        for count, colour in zip(transition.sampled_counts(), style.OVERLAY):
            found = transition.histogram(kind, count)
            samples.stairs(found / found.sum(), transition.EDGES, color=colour, linestyle=lines, linewidth=1.4, label=f"{kind}, P = {count}")
    titled(samples, "exact samples, all seeds", "overlap", "share of draws")
    samples.legend(loc="upper right")
    return figure


FIGURES = {
    "fuzzy-logic": (reference, _of("fuzzy-logic-reference") + _PAPERS),
    "fuzzy-logic-scaling": (scaling, _of("fuzzy-logic-scaling")),
    "attention-ablation": (ablation, _of("fuzzy-logic-reference", "attention-ablation") + _PAPERS),
    "fuzzy-logic-small": (small, _of("fuzzy-logic-small", "fuzzy-logic-encoder", "fuzzy-logic-small-fresh")),
    "sraven": (sraven_reference, _of("sraven-full-length", "sraven-tf32", "sraven-reference") + _PAPERS),
    "sraven-small": (sraven_small, _of("sraven-small")),
    "hidden-markov": (hidden_markov_chains, _of("reproduce") + _PAPERS),
    "attention-transition": (attention_transition, _of("attention-transition")),
    "learned-attention": (learned_attention, _of("learned-attention")),
    "published-figures": (beside_published, _of("fuzzy-logic-reference", "attention-ablation", "sraven-full-length", "sraven-tf32")
                          + _PAPERS),
    "text": (language_models, _of("text-small", "text-bpe-small")),
}
