"""Records how far the theory is from exact samples, in data/results/where-the-theory-ends.json.

    headway sample hmm-where-the-theory-ends --set 'model.widths=[1000,100,30,10,4,2]' --set sample.draws=16000 \\
        --set sample.predictor_draws=4000 -o ends.h5
    python3 apps/docs/result_pages/record_limits.py ends.h5 [--force]
"""

import argparse
import math

import numpy as np
from recorded import RESULTS

from headway.figures.limits import gaps
from headway.results.result_reader import read_result
from headway.results.summary import summary, write_summaries


def relative(theory, exact):
    """The distance of the predictor's variances from those of the samples, over the test examples, relative to those."""
    return float(np.linalg.norm(theory - exact) / np.linalg.norm(exact))


def entry(path):
    result = read_result(path)
    paths = math.prod(result.heads)
    found = gaps(result)
    by_width = {int(width): at for at, width in enumerate(found["U_1"].widths)}
    rows = []
    for point in sorted(result.points, key=lambda one: -one.widths[0]):
        at = by_width[point.widths[0]]
        row = {"width": int(point.widths[0]), "order": (paths + 1) / point.widths[0], "accuracy_saddle": point.theory.accuracy,
               "accuracy_exact": point.accuracy, "accuracy_exact_mcse": point.accuracy_mcse, "accuracy_of_a_draw": point.accuracy_mean}
        for name in ("U_1", "predictor"):
            gap = found[name]
            row |= {f"{name}_saddle": gap.saddle[at], f"{name}_corrected": gap.corrected[at], f"{name}_noise": gap.noise[at]}
        row |= {"variance_saddle": relative(point.theory.predictor.variance, point.predictor.variance),
                "variance_corrected": relative(point.theory.corrected.predictor.variance, point.predictor.variance)}
        rows.append(row)
    brief = summary(path)
    return {"kind": brief["kind"], "made": brief["made"], "rows": rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", metavar="RESULT.h5")
    parser.add_argument("--force", action="store_true", help="replace the file")
    options = parser.parse_args()
    print(write_summaries([entry(options.result)], RESULTS / "where-the-theory-ends.json", options.force))


if __name__ == "__main__":
    main()
