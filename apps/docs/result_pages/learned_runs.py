"""Runs what data/results/learned-attention.json holds, and writes it. HEADWAY_PROGRAM is the program.

    python3 apps/docs/result_pages/learned_runs.py FOLDER [SECONDS]

FOLDER keeps one file for each run, so no run is made twice. After SECONDS no further run begins. The file is written once
all runs are there.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np

from recorded import ROOT, RESULTS
from headway.results import summary

EXAMPLES = (10, 30, 50, 80, 120, 160, 200, 300, 500, 1000)
SAMPLED = (("softmax", 30), ("linear", 30), ("softmax", 120))
EXCHANGED = (30, 120)  # examples of softmax, with replica exchange
EXCHANGE_SEEDS = range(1, 4)
FEW_EXAMPLES = (30, 100)
SEEDS = range(1, 6)
COPY = {"softmax": "copy-task", "linear": "copy-task-linear"}
SAMPLING = {"sample.replicas": 1, "sample.chains": 2, "sample.warmup": 300, "sample.draws": 300, "sample.predictor_draws": 100,
            "sample.keep_weights": "true", "task.test_examples": 500}


def jobs():
    """(name of the file, verb, study, settings, seed) of every run, the most telling ones first."""
    found = []
    for seed in SEEDS:
        for kind, study in COPY.items():
            for count in EXAMPLES:
                for start in ("none", "given"):
                    found.append((f"copy-{kind}-{start}-{count}-{seed}", "solve", study,
                                  {"task.train_examples": count, "solve.attention_start": start}, seed))
    for count in FEW_EXAMPLES:
        found.append((f"hmm-fixed-{count}-1", "solve", "hmm-good-path-only",
                      {"task.train_examples": count, "model.widths": "[10]"}, 1))
        for start in ("none", "given"):
            found.append((f"hmm-{start}-{count}-1", "solve", "hmm-learned-head",
                          {"task.train_examples": count, "solve.attention_start": start}, 1))
    for kind, count in SAMPLED:
        for start in ("none", "given"):
            found.append((f"sample-{kind}-{start}-{count}-1", "sample", COPY[kind],
                          {"task.train_examples": count, "sample.attention_start": start, **SAMPLING}, 1))
    for seed in EXCHANGE_SEEDS:
        for count in EXCHANGED:
            for start in ("none", "given"):
                found.append((f"exchange-softmax-{start}-{count}-{seed}", "sample", COPY["softmax"],
                              {"task.train_examples": count, "sample.attention_start": start, **SAMPLING,
                               "sample.replicas": 10}, seed))
    return found


def run(folder, name, verb, study, settings, seed):
    file = folder / f"{name}.h5"
    if file.exists():
        return
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    command = [os.environ["HEADWAY_PROGRAM"], verb, f"data/studies/{study}.toml", *sets, "--seed", str(seed), "--threads", "1",
               "-q", "-o", file]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if process.returncode not in (0, 2):  # 2: not converged; such runs are counted
        raise SystemExit(f"{name}: {process.stderr}")


def overlap(weights, tokens=8):
    """|cosine| between W and the head that takes pointers to positions; over the last two axes."""
    block = weights[..., 1 + tokens:, 1:1 + tokens]
    trace = np.abs(np.trace(block, axis1=-2, axis2=-1))
    return trace / np.sqrt(tokens * (weights ** 2).sum((-2, -1)))


def numbers(name, file):
    """What is kept of a run: `overlap`, and numbers of the result under the names of its fields."""
    what, *words, count, seed = name.split("-")
    found = {"examples": int(count), "seed": int(seed)}
    with h5py.File(file) as result:
        point = result["points/0"]
        if what in ("sample", "exchange"):
            drawn = point["draws/attention_weights"][()]
            size = int(round(drawn.shape[2] ** 0.5))
            matrices = drawn.reshape(*drawn.shape[:2], size, size).swapaxes(2, 3)
            chains = overlap(matrices).mean(axis=1)
            found["overlap_of_chains"] = [float(value) for value in chains]
            keys = ("accuracy", "rhat_max", "ess_bulk_min", "divergences", "attention_largest_mean", "attention_largest_mcse")
            if what == "exchange":
                keys += ("exchange_rate", "log_evidence", "log_evidence_error", "log_evidence_integral",
                         "log_evidence_integral_error")
        else:
            keys = ("action", "accuracy", "train_accuracy", "converged")
            if "minima" in point:
                minimum = point["minima/0"]
                found["attention_largest"] = float(minimum.attrs["attention_largest"])
                if what == "copy":
                    found["overlap"] = float(overlap(minimum["attention_weights"][0]))
        for key in keys:
            value = point.attrs[key]
            found[key] = None if isinstance(value, float) and not np.isfinite(value) else value.item()
    return (what, *words), found


def write(folder):
    groups = {}
    for name, *_ in jobs():
        of, found = numbers(name, folder / f"{name}.h5")
        groups.setdefault(of, []).append((name, found))
    results = []
    for of, runs in groups.items():
        first = summary.summary(folder / f"{runs[0][0]}.h5")
        results.append({"kind": first["kind"], "made": first["made"], "task": of[0], "start": of[-1],
                        **({"attention": of[1]} if len(of) == 3 else {}), "runs": [found for _, found in runs]})
    summary.write_summaries(results, RESULTS / "learned-attention.json", overwrite=True)


def main():
    folder, end = Path(sys.argv[1]), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 1e9)
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs():
        if time.time() > end:
            return 1
        run(folder, *job)
    write(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
