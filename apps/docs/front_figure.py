"""Draws the figure of README.md: python3 front_figure.py --program build/release/bin/headway [--output FOLDER].

The network and its paths, beside accuracy against width: the theory as the program computes it, and the exact samples that
data/results/where-the-theory-ends.json records.
"""

import argparse
import json
import subprocess
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from theory_figures import SOURCE, STUDY, draw_network, network
from headway.figures import style  # theory_figures makes it known

WIDTHS = (10, 20, 30, 50, 100, 200, 300, 500, 1000)


USEFUL = str(SOURCE / "data/studies/hmm-good-and-denoising.toml")  # two of the four paths, on the same data


def theory(program, study):
    """(accuracies of the theory at WIDTHS, accuracy of the Gaussian process)."""
    command = [program, "solve", study, "--set", f"model.widths=[{','.join(map(str, WIDTHS))}]", "--json", "-q"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return [point["accuracy"] for point in result["points"]], result["gaussian_process"][0]["accuracy"]


def exact():
    """{width: accuracy of the posterior mean over exact draws, and its Monte Carlo error}."""
    (result,) = json.loads((SOURCE / "data/results/where-the-theory-ends.json").read_text(encoding="utf-8"))["results"]
    return {row["width"]: (row["accuracy_exact"], row["accuracy_exact_mcse"]) for row in result["rows"] if row["width"] in WIDTHS}


def draw_accuracy(axes, program):
    accuracies, process = theory(program, STUDY)
    _, of_useful = theory(program, USEFUL)
    samples = exact()
    axes.plot(WIDTHS, accuracies, "o-", color=style.THEORY, markersize=4, label="theory: headway solve")
    axes.errorbar(list(samples), [mean for mean, _ in samples.values()], [3.18 * error for _, error in samples.values()], fmt="D",
                  color=style.INK, markersize=5, capsize=3, label="exact samples: headway sample", zorder=4)
    for value, line, at, side, paths in ((process, "--", WIDTHS[0], "left", "all paths"),
                                         (of_useful, ":", WIDTHS[-1], "right", "(1,1) and (2,1) alone")):
        axes.axhline(value, color=style.MUTED, linestyle=line)
        axes.text(at, value - 0.002, f"infinite width, {paths}: {value:.3f}", ha=side, va="top", fontsize=8.5, color=style.MUTED)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([10, 30, 100, 300, 1000]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticklabels(["10", "30", "100", "300", "1000"])
    axes.set_ylim(0.86, 0.965)
    axes.set_xlabel("width $N$ (neurons in each layer)")
    axes.set_ylabel("test accuracy")
    axes.legend(loc="upper right", fontsize=8.5)


def front_figure(program):
    figure = Figure(figsize=(8.6, 3.2))
    draw_network(figure.add_axes((0.0, 0.15, 0.40, 0.84)), network(program, 10, STUDY).u)
    draw_accuracy(figure.add_axes((0.51, 0.16, 0.475, 0.80)), program)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--output", type=Path, default=SOURCE / "data/figures")
    options = parser.parse_args()
    with style.applied():
        figure = front_figure(options.program)
    options.output.mkdir(parents=True, exist_ok=True)
    style.save(figure, options.output / "front.png")


if __name__ == "__main__":
    main()
