"""Trains the networks of decodability.py one after the other, and records each in data/results/decodability.json as soon as it
is measured. HEADWAY_PROGRAM is the program.

    python3 apps/docs/result_pages/decodability_runs.py FOLDER [SECONDS]

Networks that are recorded are not trained again, so the same command goes on where it was stopped. A network in training keeps
its checkpoints in FOLDER. After SECONDS no further network begins.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np

import decodability
import decodability_codes
from recorded import RESULTS, ROOT
from headway.results import summary

RECORDS = RESULTS / f"{decodability.DATA}.json"


def run(*words, allowed=(0,)):
    """Runs the program on one core; RuntimeError with its message where it fails."""
    command = [os.environ["HEADWAY_PROGRAM"], *map(str, words), "--threads", "1", "-q"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode not in allowed:
        raise RuntimeError(done.stderr.strip() or f"exit code {done.returncode}")


def trained(network, folder):
    """The result of `headway train` with all stages of a network."""
    file = folder / f"{network.name.replace(' ', '-')}.h5"
    if not file.exists() or Path(f"{file}.checkpoint").exists():  # with checkpoints: interrupted, and the program goes on
        run("train", f"data/studies/{decodability.PLAN[network.task].study}.toml",
            "--set", f"sweep.seed=[{network.seed}]", "--set", f"sweep.task.held_out=[{network.share}]",
            "--set", f'sweep.train.attention=["{network.variant}"]', "--jobs", 1, "-o", file)
    return file


def measures_of_layer(layer, labels):
    """Measures of the codes of training tasks in one layer of a result of `headway latents`, or in several together."""
    codes = np.column_stack([one["codes/train"][()] for one in layer])
    task = labels["task"][()]
    names = layer[0]["similarity/labels"].shape[0]
    there = np.zeros((len(codes), names), dtype=bool)
    np.put_along_axis(there, labels["label"][()].reshape(len(codes), -1).astype(int), True, axis=1)
    place = labels["feature"][()] if "feature" in labels else np.zeros(len(codes), dtype=int)
    return decodability_codes.measures(codes, task, there, place)


def numbered(group):
    return [group[name] for name in sorted(group, key=int)]


def codes_of(file):
    """{steps: what is measured of the codes} of all stages of a network."""
    codes = file.with_suffix(".codes.h5")
    run("latents", file, "--force", "-o", codes, allowed=(0, 2))  # 2: a decoder of the program's own did not converge
    found = {}
    with h5py.File(codes) as result:
        for one in numbered(result["runs"]):
            layers, labels = numbered(one["layers"]), one["labels/train"]
            held_out = next(decoder.attrs["held_out"] for decoder in numbered(one["all_layers/decoders"])
                            if decoder.attrs["name"] in ("term", "rule", b"term", b"rule"))
            found[int(one.attrs["step"])] = {
                "layers": [measures_of_layer([layer], labels) for layer in layers],
                "all_layers": measures_of_layer(layers, labels), "decoded_on_held_out_tasks": float(held_out)}
    codes.unlink()
    return found


def record_of(network, folder):
    file, plan = trained(network, folder), decodability.PLAN[network.task]
    codes, result = codes_of(file), summary.summary(file, without=("curves",))
    stages = []
    for one in sorted(result["runs"], key=lambda one: one["steps"]):
        final = one["final"]
        stages.append({"steps": one["steps"], "train_loss": one["train_loss"], "known": final[plan.known][plan.score],
                       "held_out": final["held_out"][plan.score], **codes[one["steps"]]})
    if [stage["steps"] for stage in stages] != [1, *plan.stages]:
        raise RuntimeError(f"stages of {[stage['steps'] for stage in stages]} steps")
    return {"kind": "decodability", "made": result["made"], "task": network.task, "held_out_share": network.share,
            "variant": network.variant, "seed": network.seed, "stages": stages}


def add(record):
    """Adds a network to the records, in the order of the plan."""
    found = json.loads(RECORDS.read_text())["results"] if RECORDS.exists() else []
    place = {network: at for at, network in enumerate(decodability.planned())}
    found = sorted([*found, record], key=lambda one: place[decodability.network_of(one)])
    summary.write_summaries(found, RECORDS, overwrite=True)


def main():
    folder, end = Path(sys.argv[1]).resolve(), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 1e9)
    folder.mkdir(parents=True, exist_ok=True)
    failed = False
    for network in decodability.missing():
        if time.time() > end:
            return 1
        begin = time.time()
        try:
            add(record_of(network, folder))
            print(f"{network.name}: {time.time() - begin:.0f} s", flush=True)
        except RuntimeError as error:
            failed = True
            print(f"{network.name}: {error}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
