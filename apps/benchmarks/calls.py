"""Time that a call of headway.solve takes beside its computation, in a process that has called it before.

    PYTHONPATH=apps/python python3 apps/benchmarks/calls.py [REPEATS]

The four-path study of 100 examples is solved from arrays and by its name, at one width and at all seven, on one thread. The
least and the median over the calls are printed in milliseconds: wall time minus what the computation says of itself
(result.provenance["seconds"], which begins after a study's random heads and examples are made); and the same when every point
of the result is looked at.
"""

import statistics
import sys
import time
from pathlib import Path

import h5py

import headway

GOLDEN = Path(__file__).resolve().parents[2] / "tests/data/golden/hmm4_paths.h5"
WIDTHS = [10, 30, 50, 100, 300, 500, 1000]


def four_paths():
    with h5py.File(GOLDEN) as file:
        return {"features": file["train/path_features"][()], "labels": file["train/labels"][()],
                "heads": [2, 2], "test_features": file["test/path_features"][()],
                "test_labels": file["test/labels"][()], "temperature": 0.01}


def beside(call, repeats):
    """Milliseconds of each call beside its computation: (without a look at the points, with one at each)."""
    bare, looked = [], []
    for repeat in range(repeats + 3):
        began = time.perf_counter()
        result = call()
        returned = time.perf_counter()
        for point in result.points:
            point.order_parameters
        seen = time.perf_counter()
        if repeat >= 3:  # warm
            computing = result.provenance["seconds"]
            bare.append(1e3 * (returned - began - computing))
            looked.append(1e3 * (seen - began - computing))
    return bare, looked


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    data = four_paths()
    print(f"{'ms beside the computation':30}{'least':>8}{'median':>8}   with every point looked at")
    for name, source in (("arrays", data), ("the study by its name", {"study": "hmm-four-paths"})):
        for widths in (WIDTHS[:1], WIDTHS):
            bare, looked = beside(lambda: headway.solve(**source, widths=widths, threads=1), repeats)
            print(f"{name + ', widths: ' + str(len(widths)):30}{min(bare):8.2f}{statistics.median(bare):8.2f}"
                  f"{min(looked):8.2f}{statistics.median(looked):8.2f}")


if __name__ == "__main__":
    main()
