"""Records what a folder of reference posteriors says, and what other samplers say of it, in the form of data/results.

    python3 apps/posteriors/record.py DIR -o data/results/reference-posteriors.json [--force]
"""

import argparse
import json
import re
from pathlib import Path

from headway.results.summary import write_summaries

import comparing
import problems


def entry(folder: Path, problem: problems.Problem) -> dict:
    info = json.loads((folder / "reference_posteriors/draws/info" / f"{problem.name}.info.json").read_text())
    found = info["diagnostics"]
    checks = {path.stem: json.loads(path.read_text())[problem.name] for path in sorted((folder / "checks").glob("*.json"))
              if problem.name in json.loads(path.read_text())}
    means = comparing.reference_means(folder, problem.name)
    evidence, error = info["comments"].split(" is ")[-1].rstrip(".").split(" +- ")
    made = info["versions"]
    made["command"] = re.sub(r"(?<!\S)/\S*/(\S)", r"\1", made["command"])  # of absolute paths the last part
    return {"kind": "sample", "made": made, "name": problem.name, "about": problem.about, "width": problem.width,
            "temperature": problem.temperature, "heads": problem.sizes, "learned": problem.heads is None,
            "draws": found["ndraws"], "r_hat": max(found["r_hat"]), "effective_draws": min(found["effective_sample_size_bulk"]),
            "divergences": found["divergent_transitions"], "log_evidence": float(evidence), "log_evidence_error": float(error),
            "names": list(means), "mean": [mean for mean, _ in means.values()], "error": [error for _, error in means.values()],
            "checks": checks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE.json")
    parser.add_argument("--force", action="store_true", help="replace a file that exists")
    options = parser.parse_args()
    made = [problem for problem in problems.PROBLEMS if (options.folder / "posteriors" / f"{problem.name}.json").exists()]
    print(write_summaries([entry(options.folder, problem) for problem in made], options.output, options.force))


if __name__ == "__main__":
    main()
