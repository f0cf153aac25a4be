"""Reference posteriors of small attention networks, in the form of posteriordb: data, Stan programs, exact draws.

    python3 apps/posteriors -o DIR                  all six, in ten minutes
    python3 apps/posteriors -o DIR --only NAME ...  some; `--list` names them
    python3 apps/posteriors --speed                 effective draws a second of the exact chain, median of three runs

The folder is read by the packages `posteriordb` for Python and R. apps/posteriors/check_with_numpyro.py and
apps/posteriors/check_with_stan.py sample the same posteriors over all weights, and compare.
"""

from __future__ import annotations

import argparse
import shlex
import statistics
import sys
import time
from pathlib import Path

import problems

CHAINS = 10


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python3 apps/posteriors", description=__doc__,
                                    formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder of the database; files in it are replaced")
    found.add_argument("--only", nargs="+", metavar="NAME", help="these posteriors")
    found.add_argument("--list", action="store_true", help="print the names")
    found.add_argument("--speed", action="store_true", help="measure the exact chain, and write nothing")
    found.add_argument("--draws", type=int, help=f"of each of {CHAINS} chains (default 1000, of learned attention 200)")
    found.add_argument("--warmup", type=int, help="transitions before the draws (default 1000, 300)")
    found.add_argument("--thin", type=int, help="transitions for a draw (default 5, 1)")
    found.add_argument("--seed", type=int, default=1)
    return found


def main() -> int:
    options = parser().parse_args()
    if options.list:
        print("\n".join(f"{one.name}: {one.about}" for one in problems.PROBLEMS))
        return 0
    import exact
    if options.speed:
        for problem in problems.by_name(options.only):
            print(f"{problem.name}: {statistics.median(exact.speeds(problem, problems.stan_data(problem))):.0f} effective draws a second", flush=True)
        return 0
    if options.output is None:
        parser().error("-o DIR is needed")
    import database
    made = {"date": time.strftime("%Y-%m-%d"),
            "command": shlex.join(["python3", "apps/posteriors", *sys.argv[1:]])}
    for problem in problems.by_name(options.only):
        data = problems.stan_data(problem)
        reference = exact.sample(problem, data, chains=CHAINS, seed=options.seed, draws=options.draws or problem.draws,
                                 warmup=options.warmup or problem.warmup, thin=options.thin or problem.thin)
        found = database.write(options.output, problem, data, reference, made)
        worst = max(one["r_hat"] for one in found.values())
        least = min(one["bulk"] for one in found.values())
        print(f"{problem.name}: {len(found)} quantities, R-hat at most {worst:.4f}, at least {least:.0f} effective draws, "
              f"log p(y) {reference.log_evidence:.3f} +- {reference.log_evidence_error:.3f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
