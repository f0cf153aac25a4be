"""Trains the networks of data/results/decodability.json, reads their codes, and writes it. HEADWAY_PROGRAM is the program.

    python3 apps/docs/result_pages/decodability_runs.py FOLDER

FOLDER keeps networks, codes and checkpoints, so that the same command goes on where it was stopped. Hours on two cores.
"""

import os
import subprocess
import sys
from pathlib import Path

from recorded import ROOT, RESULTS
from headway import summary

SEEDS = "[11,12,13,14]"
TRAININGS = {
    "fuzzy-logic-small": {"sweep.seed": SEEDS, "sweep.train.attention": '["softmax","linear","linear_rms_head","hyla"]',
                          "sweep.train.steps": "[2000,5000,16000]"},
    "sraven-small": {"sweep.seed": SEEDS, "sweep.train.steps": "[5000,20000]"}}
CODED = {"fuzzy_logic": "term", "sraven": "rule"}
KNOWN = {"fuzzy_logic": ("validation", "r2"), "sraven": ("test", "accuracy")}  # fresh examples of tasks of training


def run(*words):
    if subprocess.run([os.environ["HEADWAY_PROGRAM"], *words, "--threads", "1", "-q"], cwd=ROOT, stdout=subprocess.DEVNULL,
                      check=False).returncode:
        raise SystemExit(f"headway {' '.join(map(str, words))} failed")


def numbers(network, codes):
    """What is kept of a network: how well it does, and for each layer (0: all together) what its codes say."""
    task, (split, metric) = codes["task"], KNOWN[codes["task"]]
    found = {"variant": network["variant"].split(",")[0], "seed": network["seed"], "steps": network["steps"],
             "known": network["final"][split][metric], "held_out": network["final"]["held_out"][metric], "layers": []}
    for layer in [codes["all_layers"], *codes["layers"]]:
        decoder = next(one for one in layer["decoders"] if one["name"] == CODED[task])
        alike = layer["similarity"]
        found["layers"].append({"layer": layer["layer"], "decoded": decoder["train"], "decoded_held_out": decoder["held_out"],
                                "same_label": alike["same_label"], "different_label": alike["different_label"]})
    return found


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    results = []
    for study, settings in TRAININGS.items():
        networks, codes = folder / f"{study}.h5", folder / f"{study}-codes.h5"
        if not networks.exists() or (folder / f"{study}.h5.checkpoint").exists():
            run("train", f"data/studies/{study}.toml", *(word for key, value in settings.items()
                                                         for word in ("--set", f"{key}={value}")), "-o", networks)
        if not codes.exists():
            run("latents", networks, "-o", codes)
        trained, decoded = (summary.summary(file, largest=1000) for file in (networks, codes))
        of_run = dict(enumerate(trained["runs"], start=1))
        results.append({"kind": decoded["kind"], "made": decoded["made"], "networks": trained["made"], "task": decoded["task"],
                        "runs": [numbers(of_run[one["run"]], one) for one in decoded["runs"]]})
    summary.write_summaries(results, RESULTS / "decodability.json", overwrite=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
