"""Draws the figures of src/theory: python3 theory_figures.py --program build/release/bin/headway --output FOLDER.

Every number in them is computed on the spot by the program. The pictures in data/figures are what it draws.
"""

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.ticker import FixedLocator

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "apps/python"))

from headway import write_dataset  # noqa: E402
from headway.figures import style  # noqa: E402
from headway.figures.order_parameters import entry_scale  # noqa: E402

STUDY = str(SOURCE / "data/studies/hmm-four-paths.toml")
PATHS = ((1, 1), (1, 2), (2, 1), (2, 2))
ROLES = ("good", "adversarial", "denoising", "adversarial")
COLOURS = ("#D55E00", "#8c8c8c", "#009E73", "#bdbdbd")  # of the paths
HEADS = (("same token", "random"), ("uniform", "random"))
CHAIN = (3, 2, 4)  # heads of the layers in the picture of the chain


@dataclass(frozen=True)
class Head:
    """What the program says of one head."""

    layer: int
    head: int
    score: float
    weighted: float
    accuracy: float  # of the predictor without the head
    rise: float  # of the squared error without the head
    error: float  # of the rise, from posterior and examples together


@dataclass(frozen=True)
class Network:
    u: np.ndarray  # U_1 at the saddle point
    accuracy: float
    heads: list[Head]


def network(program, width, *study, temperature=0.01):
    """The theory of a study or data set at one width."""
    options = ["--set", f"model.widths=[{width}]", "--set", f"model.temperature={temperature}", "--json", "-q"]
    command = [program, "prune", *study, *options]
    point = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["points"][0]
    heads = [Head(h["layer"], h["head"], h["score"], h["score_weighted"], h["accuracy_without"], h["squared_error_rise"],
                  np.hypot(h["squared_error_rise_sd"], h["squared_error_rise_error"])) for h in point["heads"]]
    return Network(np.array(point["U"][0]), point["accuracy"], heads)


def number(value):
    text = f"{value:.1f}" if abs(value) >= 9.95 else f"{value:.2f}"
    return ("0.00" if float(text) == 0.0 else text).replace("-", "\u2212")


def matrix(axes, u, scale, counted=None, labels=(), fontsize=8.5):
    """A matrix over paths as a heat map with numbers; entries outside of `counted` are pale."""
    axes.imshow(u, cmap=style.DIVERGING, norm=scale, interpolation="nearest")
    size = len(u)
    for row, column in itertools.product(range(size), repeat=2):
        faint = counted is not None and not counted[row, column]
        if faint:
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color="white", alpha=0.86, linewidth=0))
        dark = not faint and abs(scale(u[row, column]) - 0.5) > 0.3
        colour = "#b5b5b5" if faint else style.ON_DARK if dark else style.ON_LIGHT
        axes.text(column, row, number(u[row, column]), ha="center", va="center", fontsize=fontsize, color=colour)
    for line in range(1, size):
        axes.axhline(line - 0.5, color="white", linewidth=1.2)
        axes.axvline(line - 0.5, color="white", linewidth=1.2)
    axes.set_xticks(range(size), [f"({a},{b})" for a, b in PATHS] if size == 4 else labels, fontsize=8)
    axes.set_yticks(range(size), [f"({a},{b})" for a, b in PATHS] if size == 4 else labels, fontsize=8)
    axes.tick_params(length=0)
    style.no_frame(axes)


def box(axes, x, y, text, width=1.5, height=0.62, colour="#f2f2f2", fontsize=8.5):
    axes.add_patch(FancyBboxPatch((x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.12",
                                  facecolor=colour, edgecolor=style.INK, linewidth=0.8, zorder=3))
    axes.text(x, y, text, ha="center", va="center", fontsize=fontsize, zorder=4, linespacing=1.3)


def draw_network(axes, u):
    """Two layers of two heads, and the four paths, as wide as the root of their entry on the diagonal of `u`."""
    levels = (0.0, 2.1, 4.2, 6.3)
    for path, ((first, second), role, colour) in enumerate(zip(PATHS, ROLES, COLOURS)):
        shift = (path - 1.5) * 0.16
        x = np.array([shift, (first - 1.5) * 2.6 + shift, (second - 1.5) * 2.6 + shift, shift])
        # Smooth between the levels, vertical at each of them.
        t = np.linspace(0.0, 1.0, 40)
        ease = t * t * (3.0 - 2.0 * t)
        curve = np.concatenate([x[i] + (x[i + 1] - x[i]) * ease for i in range(3)])
        height = np.concatenate([levels[i] + (levels[i + 1] - levels[i]) * t for i in range(3)])
        axes.plot(curve, height, color=colour, linewidth=1.3 * np.sqrt(u[path, path]) + 0.4, zorder=2,
                  label=f"({first},{second}) {role}: {number(u[path, path])}")
    box(axes, 0.0, levels[0], "tokens $x$,  $V_0$", 1.9)
    for layer, names in enumerate(HEADS):
        for head, name in enumerate(names):
            box(axes, (head - 0.5) * 2.6, levels[layer + 1], f"head {head + 1}\n{name}", 1.75, 0.95)
        axes.text(-2.75, levels[layer + 1], f"layer {layer + 1}", ha="center", va="center", rotation=90, color=style.MUTED)
    box(axes, 0.0, levels[3], "readout $a$,  output $f$", 2.75)
    axes.legend(loc="upper left", bbox_to_anchor=(0.015, 0.03), ncol=2, fontsize=7.8, columnspacing=1.0, handlelength=1.3,
                title="how much each path is used, N = 10", title_fontsize=7.8, alignment="left", borderpad=0.0)
    axes.set_xlim(-3.1, 2.6)
    axes.set_ylim(-0.5, 6.8)
    axes.axis("off")


def paths_figure(narrow, wide):
    figure = Figure(figsize=(7.5, 3.0))
    draw_network(figure.add_axes((0.0, 0.15, 0.38, 0.84)), narrow.u)
    scale = entry_scale(max(np.abs(narrow.u).max(), np.abs(wide.u).max()), 1.0)
    for left, width, item in ((0.455, 10, narrow), (0.735, 1000, wide)):
        axes = figure.add_axes((left, 0.17, 0.255, 0.255 * 7.5 / 3.0))
        matrix(axes, item.u, scale)
        axes.set_title(f"$U_1$,  N = {width},  accuracy {item.accuracy:.3f}", fontsize=8.8)
        axes.set_xlabel(r"path $\pi'$")
        if width == 10:
            axes.set_ylabel(r"path $\pi$", labelpad=2)
        else:
            axes.set_yticklabels([])
    return figure


def chain_figure():
    """U_a, ..., U_1 as squares of their sizes, with the diagonal blocks that the layer above makes."""
    figure = Figure(figsize=(7.2, 2.85))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    sizes = [int(np.prod(CHAIN[layer:])) for layer in range(len(CHAIN) + 1)][::-1]  # of U_a, U_L, ..., U_1
    names = ["U_a", *(f"U_{layer}" for layer in range(len(CHAIN), 0, -1))]
    over = ["the output", *("paths $(" + ", ".join(f"h_{k}" for k in range(layer, len(CHAIN) + 1)) + ")$"
                            for layer in range(len(CHAIN), 0, -1))]
    left, unit, middle = 1.0, 0.19, 2.75
    for step, (size, name, kind) in enumerate(zip(sizes, names, over)):
        side = size * unit
        bottom = middle - side / 2
        axes.add_patch(Rectangle((left, bottom), side, side, facecolor="white", edgecolor=style.INK, linewidth=1.0))
        block = sizes[step - 1] if step else size
        for corner in range(0, size, block):
            axes.add_patch(Rectangle((left + corner * unit, bottom + side - (corner + block) * unit), block * unit, block * unit,
                                     facecolor=style.THEORY, alpha=0.28, edgecolor=style.THEORY, linewidth=0.8))
        if block > 1:
            above, layer = names[step - 1], len(CHAIN) + 1 - step
            for corner in range(0, size, block):
                axes.text(left + (corner + block / 2) * unit, bottom + side - (corner + block / 2) * unit,
                          f"$s_{layer}^2 {above}$", ha="center", va="center", fontsize=8)
        axes.text(left + side / 2, bottom + side + 0.16, f"${name}$:  {size} \u00d7 {size}", ha="center", va="bottom")
        axes.text(left + side / 2, bottom - 0.16, f"over {kind}", ha="center", va="top", fontsize=8, color=style.MUTED)
        if step + 1 < len(sizes):
            start, end = left + side + (0.4 if step else 0.9), left + side + (1.8 if step else 2.3)
            axes.annotate("", (end, middle), (start, middle), arrowprops={"arrowstyle": "-|>", "color": style.INK, "linewidth": 1.0})
            heads = CHAIN[len(CHAIN) - 1 - step]
            axes.text((start + end) / 2, middle + 0.12, f"{heads} heads", ha="center", va="bottom", fontsize=8)
            left = end + 0.4
    axes.set_xlim(-0.05, left + sizes[-1] * unit + 0.3)
    axes.set_ylim(0.0, 5.5)
    axes.set_aspect("equal")
    axes.axis("off")
    return figure


def head_masks(layer, head):
    """(entries with the head on both paths, on one of them) of a matrix over the four paths."""
    on = np.array([path[layer - 1] == head for path in PATHS])
    return np.outer(on, on), on[:, None] ^ on[None, :]


def worked_example(figure, item):
    """Score, weighted score and cut of the random head of layer 2; sums are checked against the program's."""
    layer, head = 2, 2
    chosen = next(h for h in item.heads if (h.layer, h.head) == (layer, head))
    size = np.abs(item.u)
    sums, weighted = {}, {}
    for h in item.heads:
        both, one = head_masks(h.layer, h.head)
        sums[h.layer, h.head] = size[both | one].sum()
        weighted[h.layer, h.head] = size[both].sum() + size[one].sum() / (2 * len(HEADS[h.layer - 1]))
    own, largest = sums[layer, head], max(sums.values())
    own_weighted, largest_weighted = weighted[layer, head], max(weighted.values())
    assert abs(own / largest - chosen.score) < 1e-6 and abs(own_weighted / largest_weighted - chosen.weighted) < 1e-6
    both, one = head_masks(layer, head)
    scale = entry_scale(size.max(), 1.0)
    captions = (
        ("score", f"sum of sizes {own:.2f}\nof the best head {largest:.2f}\nscore = {own / largest:.2f}"),
        ("weighted score", f"{size[both].sum():.2f} + outlined {size[one].sum():.2f} / 4 = {own_weighted:.2f}\n"
         f"of the best head {largest_weighted:.2f}\nweighted = {own_weighted / largest_weighted:.2f}"),
        ("cut", f"accuracy {item.accuracy:.3f} \u2192 {chosen.accuracy:.3f}\nsquared error {chosen.rise:+.3f}".replace("-", "\u2212")
         + f" \u00b1 {chosen.error:.3f}\n(not solved again)"))
    for column, (title, caption) in enumerate(captions):
        axes = figure.add_axes((0.075 + 0.325 * column, 0.585, 0.235, 0.235 * 7.5 / 5.7))
        counted = ~(both | one) if title == "cut" else both | one
        matrix(axes, np.where(counted, item.u, 0.0) if title == "cut" else item.u, scale, counted)
        if title == "weighted score":
            for row, place in zip(*np.nonzero(one)):
                axes.add_patch(Rectangle((place - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=style.CORRECTED, linewidth=1.1))
        axes.set_title(title)
        axes.set_xlabel(caption, fontsize=8.5, linespacing=1.35)
    figure.text(0.012, 0.985, "A.  Head 2 of layer 2 in hmm-four-paths at N = 10. It is on the paths (1,2) and (2,2).", va="top",
                weight="bold")


def previous_token(factor, folder):
    """A data set of one layer: a head that reads the token before, which tells the label, and one that averages. The features
    of the first are multiplied by `factor`."""
    rng = np.random.default_rng(1)
    tokens, features = 8, 12
    before, uniform = np.zeros((features, features)), np.zeros((features, features))
    before[4 + np.arange(1, tokens), 4 + np.arange(tokens - 1)] = 10.0
    splits = []
    for examples in (100, 1000):
        x = np.zeros((examples, tokens, features))
        x[:, :, :4] = rng.normal(size=(examples, tokens, 4))
        x[:, :, 4:] = np.eye(tokens)
        attention = [np.exp(np.einsum("pi,ij,ptj->pt", x[:, -1], logits, x)) for logits in (before, uniform)]
        paths = [np.einsum("pt,pti->pi", weights / weights.sum(1, keepdims=True), x) for weights in attention]
        splits.append((np.stack([factor * paths[0], paths[1]], axis=1), np.sign(x[:, -2, 0])))
    file = folder / f"previous-token-{factor}.h5"
    (train, train_labels), (test, test_labels) = splits
    write_dataset(file, train_path_features=train, train_labels=train_labels, test_path_features=test,
                  test_labels=test_labels, heads=[2])
    return str(file)


def misleading_case(figure, plain, large):
    """The same two heads twice: their worth stays the same, but their scores change places."""
    names = ("previous\ntoken", "uniform")
    scale = entry_scale(max(np.abs(plain.u).max(), np.abs(large.u).max()), 1.0)
    for left, item, title in ((0.075, plain, "$U_1$, features as they are"), (0.305, large, "$U_1$, first head's \u00d7 10")):
        axes = figure.add_axes((left, 0.075, 0.165, 0.165 * 7.5 / 5.7))
        matrix(axes, item.u, scale, labels=("previous", "uniform"))
        axes.set_title(title, fontsize=8.8)
        if item is large:
            axes.set_yticklabels([])
    for left, title, values in ((0.59, "score", lambda h: h.score), (0.795, "squared error rises by", lambda h: h.rise)):
        axes = figure.add_axes((left, 0.075, 0.14, 0.165 * 7.5 / 5.7))
        for shift, item, colour, label in ((-0.19, plain, style.THEORY, "as they are"), (0.19, large, style.CORRECTED, "\u00d7 10")):
            lengths = [values(h) for h in item.heads]
            axes.barh(np.arange(2) + shift, lengths, 0.34, color=colour, label=label)
            for place, length in enumerate(lengths):
                text = f"{length:.2f}" if title == "score" else f"{length:+.3f}".replace("-", "\u2212")
                axes.text(max(length, 0.0) + 0.02, place + shift, text, ha="left", va="center", fontsize=8)
        axes.set_yticks(range(2), names if title == "score" else ["", ""], fontsize=8)
        axes.set_ylim(1.5, -0.5)
        axes.set_xlim(0.0 if title == "score" else -0.01, 1.0 if title == "score" else 0.6)
        axes.xaxis.set_major_locator(FixedLocator([0.0, 0.5, 1.0] if title == "score" else [0.0, 0.3, 0.6]))
        axes.axvline(0.0, color=style.INK, linewidth=0.8)
        axes.set_title(title, fontsize=8.8)
        if title == "score":
            axes.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.12), ncol=2, fontsize=8, handlelength=1.0, columnspacing=1.0)
    figure.text(0.012, 0.415, "B.  A case in which the score misleads: one layer, N = 10. Only the first head tells the label.", va="top",
                weight="bold")


def scores_figure(narrow, plain, large):
    figure = Figure(figsize=(7.5, 5.7))
    worked_example(figure, narrow)
    misleading_case(figure, plain, large)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--output", type=Path, default=SOURCE / "data/figures")
    options = parser.parse_args()
    narrow, wide = (network(options.program, width, STUDY) for width in (10, 1000))
    with tempfile.TemporaryDirectory() as folder:
        plain, large = (network(options.program, 10, previous_token(factor, Path(folder))) for factor in (1, 10))
    with style.applied():
        drawn = {"theory_paths": paths_figure(narrow, wide), "theory_chain": chain_figure(),
                 "theory_scores": scores_figure(narrow, plain, large)}
    options.output.mkdir(parents=True, exist_ok=True)
    for name, figure in drawn.items():
        style.save(figure, options.output / f"{name}.png")
    print("\n".join(f"{h.layer} {h.head}: score {h.score:.4f}, weighted {h.weighted:.4f}, squared error {h.rise:+.4f} +- {h.error:.4f}"
                    for item in (narrow, wide, plain, large) for h in item.heads))


if __name__ == "__main__":
    main()
