"""Runs the models whose curves others published (data/curves), and records the numbers.

    python3 apps/benchmarks/published_curves.py build/release/bin/headway FOLDER PART...
    python3 apps/benchmarks/published_curves.py --record FOLDER data/results/published-curves.json [--force]

PART is a curve and a size: in-context-10, in-context-32, in-context-width, bilinear-solve-20, bilinear-10, bilinear-20,
bilinear-40, bilinear-65. Runs are those of the studies in-context-regression and bilinear-sequence-regression with other sizes and seeds.
Their results stay in FOLDER, and the same command goes on where it stopped. --seeds takes fewer. --record keeps recorded runs that
FOLDER does not have.
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from headway.results.result_reader import read_result  # noqa: E402
from headway.results.summary import summary, write_summaries  # noqa: E402
from recording import finished, kept, parser_of  # noqa: E402

PENALTY, RANK, NOISE = 1e-6, 0.2, 0.5
KAPPAS = {10: (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.6, 2.0, 4.0, 8.0, 16.0, 32.0), 32: (0.2, 0.6, 1.0, 1.6, 2.0, 4.0, 8.0)}
ALPHAS = (0.2, 0.398, 0.6, 0.998, 1.4, 2.0)
LOADS = {10: ALPHAS} | dict.fromkeys((20, 40, 65), (0.398, 0.998))
WIDTHS = (5, 10, 30, 100)


def in_context(d, kappa, widths):
    """Settings of in-context regression with alpha = tau = 10."""
    return {"task.dimension": d, "task.context": 10 * d, "task.tasks": int(kappa * d),
            "task.train_examples": round(10 * d * d / int(kappa * d)) * int(kappa * d), "task.test_examples": 4000,
            "model.temperature": 10 * d * PENALTY, "model.widths": widths}


def bilinear(d, alpha):
    rank = round(RANK * d)
    return {"task.dimension": d, "task.tokens": d, "task.rank": rank, "task.noise": NOISE, "model.temperature": NOISE,
            "task.train_examples": round(alpha * d * d), "model.widths": f"[[{rank},1000000000]]"}


def runs(part, seeds):
    """(name, verb, study, settings) of each run."""
    name, _, size = part.rpartition("-")
    for seed in range(1, seeds + 1):
        if part == "in-context-width":
            widths = "[" + ",".join(f"[{n},1000000000]" for n in WIDTHS) + "]"
            yield f"{part}_{seed}", "solve", "in-context-regression", in_context(10, 1.0, widths) | {"task.seed": seed}
        elif name == "in-context":
            d = int(size)
            for kappa in KAPPAS[d]:
                settings = in_context(d, kappa, 1000000000) | {"task.seed": seed, "solve.corrections": "off"}
                yield f"{part}_{kappa}_{seed}", "solve", "in-context-regression", settings
        else:
            d = int(size)
            solve = name == "bilinear-solve"
            for alpha in LOADS[d]:
                settings = bilinear(d, alpha) | {"task.seed": seed}
                if not solve:
                    settings |= {"sample.evidence": "false"}
                if d == 40:  # a teacher takes half a minute to a minute of a free core
                    settings |= {"sample.chains": 2, "sample.warmup": 300, "sample.draws": 500}
                elif d == 65:  # minutes of a free core; 0.2 d is whole, which it is not at 64
                    settings |= {"sample.chains": 2, "sample.warmup": 200, "sample.draws": 300, "sample.predictor_draws": 100}
                yield f"{part}_{alpha}_{seed}", "solve" if solve else "sample", "bilinear-sequence-regression", settings


def run(program, folder, name, verb, study, settings):
    result = folder / f"{name}.h5"
    if finished(result):
        return
    command = [program, verb, study, "-q", "--threads", "1", "-o", str(result)]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    print(name, "exit code", done.returncode, flush=True)


def squared_error(point):
    return float(point.attributes["test_mean_squared_error"])


def row(path):
    """What is compared, of one result."""
    result = read_result(path)
    part, *rest = path.stem.split("_")
    found = {"part": part, "seed": int(rest[-1])} | ({"at": float(rest[0])} if len(rest) == 2 else {})
    points = [result.gaussian_process[0]] if part in ("in-context-10", "in-context-32") else result.points
    rows = []
    for point in points:
        one = found | {"error": squared_error(point)}
        if part == "in-context-width":
            one["at"] = float(point.widths[0])
        if part.startswith("in-context"):
            one["seen"] = point.sets["seen_tasks"].mean_squared_error
        elif point.samples is not None:
            one |= {"r_hat": float(point.attributes["rhat_max"]), "effective": float(point.attributes["ess_bulk_min"]),
                    "seconds": float(point.attributes["seconds"]), "sampler": str(point.attributes["sampler"]),
                    "theory": squared_error(point.theory)}
        rows.append(one)
    return rows


def run_of(recorded):
    return recorded["part"], recorded["seed"], recorded.get("at")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("parts", metavar="PART", nargs="*")
    parser.add_argument("--seeds", type=int, default=12)
    options = parser.parse_args()
    if options.record:
        parts = {}
        for path in filter(finished, sorted(Path(options.first).glob("*.h5"))):
            parts.setdefault(path.stem.partition("_")[0], []).append(path)
        new = [{"kind": "published_curves", "made": summary(paths[0])["made"], "rows": [one for path in paths for one in row(path)]}
               for paths in parts.values()]
        runs_of = {run_of(one) for made in new for one in made["rows"]}
        made = kept(Path(options.second), lambda recorded: run_of(recorded) in runs_of) + new
        print(write_summaries(made, options.second, options.force))
        return
    folder = Path(options.second)
    folder.mkdir(parents=True, exist_ok=True)
    for part in options.parts:
        for one in runs(part, options.seeds):
            run(options.first, folder, *one)


if __name__ == "__main__":
    main()
