"""Runs what data/results/attention-transition.json holds, and writes it. HEADWAY_PROGRAM is the program.

    python3 apps/docs/result_pages/transition_runs.py FOLDER [SECONDS]

Twenty seeds of the copy task: the search from both starts at every number of examples. Of six of them the exact posterior, with ten
replicas, near the transition. FOLDER keeps one file for each run, so no run is made twice. After SECONDS no further run begins. Then the
file is written with the seeds that have all their runs.
"""

import sys
import time
from pathlib import Path

import h5py
import numpy as np

from learned_runs import COPY, EXAMPLES, SAMPLING, overlap, run
from recorded import RESULTS
from headway.results import summary

SEEDS, CHAIN_SEEDS = range(1, 21), range(1, 7)
SAMPLED = (70, 100)  # examples
STARTS = ("none", "given")
EDGES = np.linspace(0.0, 1.0, 26)


def searches(seed):
    return [(f"search-{kind}-{start}-{count}-{seed}", "solve", study, {"task.train_examples": count, "solve.attention_start": start}, seed)
            for kind, study in COPY.items() for count in EXAMPLES for start in STARTS]


def chains(seed):
    return [(f"chain-{kind}-{start}-{count}-{seed}", "sample", study,
             {"task.train_examples": count, "sample.attention_start": start, **SAMPLING, "sample.chains": 1, "sample.replicas": 10}, seed)
            for kind, study in COPY.items() for count in SAMPLED for start in STARTS]


PARTS = ((searches, SEEDS), (chains, CHAIN_SEEDS))


def numbers(name, file):
    what, *_, count, seed = name.split("-")
    found = {"examples": int(count), "seed": int(seed)}
    with h5py.File(file) as result:
        point = result["points/0"]
        if what == "search":
            return found | {"overlap": float(overlap(point["minima/0/attention_weights"][0])), "action": float(point.attrs["action"]),
                            "converged": int(point.attrs["converged"])}
        drawn = point["draws/attention_weights"][()]
        size = int(round(drawn.shape[2] ** 0.5))
        values = overlap(drawn.reshape(-1, size, size).swapaxes(1, 2))
        return found | {"overlap": float(values.mean()), "deviation": float(values.std()),
                        "histogram": np.histogram(values, EDGES)[0].tolist(), "exchange_rate": float(point.attrs["exchange_rate"])}


def write(folder):
    results = []
    for jobs, seeds in PARTS:
        names = [[name for name, *_ in jobs(seed)] for seed in seeds]
        whole = [one for one in names if all((folder / f"{name}.h5").exists() for name in one)]
        groups = {}
        for name in (name for one in whole for name in one):
            groups.setdefault(tuple(name.split("-")[:3]), []).append(name)
        for (task, kind, start), runs in groups.items():
            made = summary.summary(folder / f"{runs[0]}.h5")
            results.append({"kind": made["kind"], "made": made["made"], "task": task, "attention": kind, "start": start,
                            "runs": [numbers(name, folder / f"{name}.h5") for name in runs]})
    summary.write_summaries(results, RESULTS / "attention-transition.json", overwrite=True)


def main():
    folder, end = Path(sys.argv[1]), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 1e9)
    folder.mkdir(parents=True, exist_ok=True)
    for job in [one for jobs, seeds in PARTS for seed in seeds for one in jobs(seed)]:
        if time.time() > end:
            break
        run(folder, *job)
    write(folder)


if __name__ == "__main__":
    main()
