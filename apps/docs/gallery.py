"""The gallery: every figure of the package, drawn from results that are computed for it, with the commands that make both."""

import importlib.util
import os
import shlex
import subprocess

from headway import figures, read_result

# How the results are made, those that take seconds first. Trainings are cut short: the pictures show what a figure looks
# like, and say nothing of the networks.
QUICK = (
    "headway solve hmm-four-paths -o solve.h5",
    "headway align solve.h5 -o align.h5",
    "headway prune solve.h5 -o prune.h5",
)
SLOW = (
    "headway sample hmm-four-paths --set model.widths=[10,30,100] --set sample.draws=300 --set sample.warmup=300 -o sample.h5",
    "headway train fuzzy-logic-latents --set train.steps=400 --set train.eval_every=50 -o networks.h5",
    "headway latents networks.h5 --set latents.examples=1024 -o codes.h5",
    "headway evaluate networks.h5 --set task.sequence_length=48 -o longer.h5",
    "headway prune-network networks.h5 --set prune.random_orders=10 -o removal.h5",
    *(command.replace("SEED", seed) for seed in "12" for command in (
        "headway train omniglot-one-shot --seed SEED --set train.steps=400 --set train.eval_every=400 -o one-shot-SEED.h5",
        "headway extract one-shot-SEED.h5 --set extract.train_examples=200 -o heads-SEED.h5",
        "headway prune heads-SEED.h5 --set model.widths=[10,100] --set model.temperature=0.5 -o network-SEED.h5")),
)
# What `headway plot` is given; each figure is drawn from the first line that has it.
PLOTS = ("solve.h5", "align.h5", "prune.h5", "sample.h5 solve.h5", "networks.h5", "codes.h5", "longer.h5", "removal.h5",
         "network-1.h5 network-2.h5")
PATH_NAMES = ("good", "adversarial", "denoising", "adversarial")


def compute(folder, program, quick):
    """Computes the results into `folder`. Results that are there already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for command in QUICK if quick else QUICK + SLOW:
        words = shlex.split(command)
        if (folder / words[-1]).exists():
            continue
        print(command, flush=True)
        done = subprocess.run([program, *words[1:], "-q"], cwd=folder, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=os.environ | {"OMP_WAIT_POLICY": "passive"})
        if done.returncode not in (0, 2) or not (folder / words[-1]).exists():  # 2: chains of so few draws may disagree
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}")


def draw(folder, pictures, quick):
    """{name of a figure: the command that draws it}, and the pictures in files."""
    commands = {}
    pictures.mkdir(parents=True, exist_ok=True)
    for plot in PLOTS:
        paths = [folder / name for name in plot.split()]
        if not all(path.exists() for path in paths):
            continue
        results = [read_result(path) for path in paths]
        options = figures.PlotOptions(path_names=PATH_NAMES if plot == "solve.h5" else None)
        for name, figure in figures.draw_all(results, options).items():
            if name not in commands:
                figure.savefig(pictures / f"{name}.svg", format="svg")
                commands[name] = f"python3 -m headway plot {plot} --only {name}" + (
                    f" --path-names {','.join(PATH_NAMES)}" if name == "order_parameters" else "")
    missing = [name for name, kind in figures.FIGURES.items() if name not in commands
               and not (kind.package and importlib.util.find_spec(kind.package) is None)]
    if missing and not quick:
        raise SystemExit(f"gallery.py: no result has the figures {', '.join(missing)}: add one to SLOW and PLOTS")
    return commands


def page(commands):
    """The page as Markdown; figures without a command have no picture."""
    lines = ["# Gallery", "", "Every figure that `python3 -m headway plot` draws, and the command that draws it. The results "
             "were made by the commands at the end of the page, with trainings cut short: the pictures show what a figure "
             "looks like, and nothing of the networks. What each is made from is in the [list](apps/python/README.md#results).", ""]
    for name, kind in figures.FIGURES.items():
        shows = kind.shows[0].upper() + kind.shows[1:] + "."
        lines += [f"## {name.replace('_', ' ').capitalize()}", "", shows, ""]
        if name in commands:
            lines += [f"![{shows}](gallery/{name}.svg)", "", f"    {commands[name]}", ""]
        else:
            lines += ["*Not drawn here: its results take minutes, or its package is missing.*", ""]
    return "\n".join([*lines, "## How the results were made", "", *(f"    {command}" for command in QUICK + SLOW), ""])
