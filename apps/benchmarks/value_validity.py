"""How far the theory of value networks is from exact samples, along ladders of N, P, N_0, form and nonlinearity.

    python3 apps/benchmarks/value_validity.py build/release/bin/headway FOLDER [--seeds 5]
    python3 apps/benchmarks/value_validity.py --record FOLDER data/results/value-validity.json [--force]

Each problem has two heads and three tokens. Inputs and signed attention are normal. A network of the same form with three
hidden units makes the labels, which are scaled to mean square 1; noise of variance T = 0.1 is added. The prior is scaled so that
networks have outputs of mean square 1, too. `headway solve` solves it with fixed and with adapted features, and
`headway sample` draws 2 x 400 times. A problem takes seconds on one core. Results stay in FOLDER, and the same command goes
on where it stopped. The second command writes the errors of U_1, S and the predictor.
"""

import itertools
import math
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import headway  # noqa: E402
from headway.results.summary import summary, write_summaries  # noqa: E402
from recording import finished, parser_of, relative  # noqa: E402

TEST, HEADS, TOKENS, TEMPERATURE, TEACHER = 100, 2, 3, 0.1, 3
FORMS = ("hyla", "per_head", "before_attention", "after_attention")


class Problem(NamedTuple):
    form: str
    phi: str
    width: int
    examples: int
    inputs: int
    seed: int

    @property
    def name(self):
        return f"{self.form}-{self.phi}-N{self.width}-P{self.examples}-d{self.inputs}-s{self.seed}"


def ladders():
    """(form, phi, N, P, N_0), each once."""
    found = [("hyla", "relu", n, 40, 3) for n in (10, 4, 20, 50, 100)]
    found += [("hyla", "relu", 10, p, 3) for p in (10, 20, 80, 160)]
    found += [("hyla", "relu", 10, 40, d) for d in (1, 8, 20)]
    found += [("hyla", "erf", n, 40, 3) for n in (10, 4, 50)]
    found += [("hyla", "erf", 10, p, 3) for p in (10, 160)]
    found += [("hyla", "erf", 10, 40, d) for d in (1, 8, 20)]
    found += [(form, "relu", n, 40, 3) for form in FORMS[1:] for n in (10, 4, 50)]
    found += [(form, "erf", 10, 40, 3) for form in FORMS[1:]]
    found += [("hyla", "relu", n, 160, 3) for n in (4, 50)]
    return sorted(found, key=lambda one: one[2] * one[3] * one[4])  # the cheapest first


def problems(seeds):
    return [Problem(*one, seed) for seed in range(1, seeds + 1) for one in ladders()]


def sites(form, x, attention):
    """psi [examples, sites, d] and A [examples, sites, R] of eq. 79; the last token is read."""
    a = attention[:, :, -1, :]  # [example, head, key]
    count, tokens, n0 = x.shape
    scaled = np.einsum("eht,etk->ethk", a, x) / math.sqrt(HEADS * n0)
    if form == "hyla":
        return scaled.reshape(count, tokens, -1), a.transpose(0, 2, 1)
    if form == "after_attention":
        return scaled.sum(1).reshape(count, 1, -1), np.ones((count, 1, 1))
    if form == "before_attention":
        return x / math.sqrt(n0), a.transpose(0, 2, 1)
    slots, rows = np.eye(HEADS), np.einsum("eht,hr->ethr", a, np.eye(HEADS))
    psi = np.einsum("etk,hg->ethgk", x, slots) / math.sqrt(n0)
    return psi.reshape(count, tokens * HEADS, -1), rows.reshape(count, tokens * HEADS, HEADS)


def hidden(problem, psi, a, units, rng):
    """h_ri(x) of eq. 82 of `units` hidden units from the prior: [example, R, unit]."""
    z = psi @ rng.standard_normal((psi.shape[2], units))
    phi = np.maximum(z, 0.0) if problem.phi == "relu" else np.vectorize(math.erf)(z)
    return np.einsum("emr,emi->eri", a, phi)


def make(problem, path):
    """Writes the data set; returns s_1^2."""
    rng = np.random.default_rng([64, FORMS.index(problem.form), problem.phi == "erf", *problem[2:]])
    count = problem.examples + TEST
    x = rng.standard_normal((count, TOKENS, problem.inputs))
    attention = rng.standard_normal((count, HEADS, TOKENS, TOKENS))
    psi, a = sites(problem.form, x, attention)
    variance = 1.0 / np.mean(hidden(problem, psi, a, 500, rng) ** 2)
    taught = hidden(problem, psi, a, TEACHER, rng)
    y = np.einsum("eri,ri->e", taught, rng.standard_normal(taught.shape[1:]))
    y /= math.sqrt(np.mean(y**2))
    train = slice(None, problem.examples)
    y[train] += math.sqrt(TEMPERATURE) * rng.standard_normal(problem.examples)
    with h5py.File(path, "w") as file:
        file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", [1, 0]
        file.attrs["attention_rows"] = "any"
        for split, part in (("train", train), ("test", slice(problem.examples, None))):
            file[f"{split}/inputs"], file[f"{split}/labels"] = x[part], y[part]
            file[f"{split}/attention/layer_1"] = attention[part]
    return variance


def files_of(folder, problem):
    """The results of a problem: saddle points with fixed and with adapted features, and exact samples."""
    return {part: folder / f"{problem.name}.{part}.h5" for part in ("fixed", "adapted", "sample")}


def run(program, folder, problem):
    data, output = folder / f"{problem.name}.data.h5", files_of(folder, problem)
    if all(map(finished, output.values())):
        return
    variance = make(problem, data)
    shared = [f"model.widths=[[{problem.width},1000000000]]", f"model.temperature={TEMPERATURE}",
              f"model.variances=[1.0,{variance:.17g},1.0]", "model.readout=last_token",
              f"model.value_network.form={problem.form}", f"model.value_network.nonlinearity={problem.phi}"]
    settings = {"fixed": ["model.value_network.features=fixed", "solve.corrections=on"],
                "adapted": ["model.value_network.features=adapted", "solve.corrections=on"],
                "sample": ["model.value_network.features=fixed", "sample.chains=2", "sample.draws=400", "sample.warmup=250",
                           "sample.evidence=false", "sample.checkpoint_seconds=0"]}
    for part, path in output.items():
        if finished(path):
            continue
        command = [program, "sample" if part == "sample" else "solve", str(data), "-q", "--threads", "1", "--force", "-o", str(path)]
        command += itertools.chain.from_iterable(("--set", one) for one in shared + settings[part])
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode not in (0, 2):
            raise SystemExit(f"{problem.name}: {done.stderr}")
        print(problem.name, part, "exit code", done.returncode, flush=True)


def row(folder, problem):
    """The errors of one problem relative to the norm of the exact means, what the draws' noise would show, and squared errors
    on test targets without noise."""
    files = files_of(folder, problem)
    result, (fixed,), (adapted,) = (headway.read_result(files["sample"]),
                                    *(headway.read_result(files[part]).points for part in ("fixed", "adapted")))
    (point,), (limit,) = result.points, result.gaussian_process
    samples = point.samples
    mean, targets = point.predictor.mean, result.test_labels
    u, s = samples.mean[0], samples.S_mean
    values, vectors = np.linalg.eigh(s)
    moved = np.outer(vectors[:, -1], vectors[:, -1]) * samples.S_mcse  # of v^T S v; entries above and below are one
    found = problem._asdict() | {
        "heads": HEADS, "temperature": TEMPERATURE, "r_hat": float(point.attributes["rhat_max"]),
        "effective": float(point.attributes["ess_bulk_min"]), "converged": bool(adapted.converged and fixed.converged),
        "sampling_seconds": float(point.attributes["sampling_seconds"]),
        "U_1_noise": float(np.linalg.norm(samples.mcse[0]) / np.linalg.norm(u)),
        "S_eigenvalue_exact": float(values[-1]), "S_eigenvalue_adapted": float(adapted.S_eigenvalues[0]),
        "S_noise": float(np.sqrt(2 * np.sum(moved**2) - np.sum(np.diag(moved) ** 2)) / values[-1]),
        "predictor_noise": float(np.linalg.norm(samples.predictor_mcse) / np.linalg.norm(mean)),
        "test_exact": float(np.mean((mean - targets) ** 2))}
    for name, predictor in (("gp", limit.predictor), ("fixed", fixed.predictor), ("adapted", adapted.predictor)):
        found[f"predictor_{name}"] = relative(predictor.mean, mean)
        found[f"test_{name}"] = float(np.mean((predictor.mean - targets) ** 2))
    for name, theory in (("fixed", fixed), ("adapted", adapted)):
        found[f"U_1_{name}"] = relative(theory.order_parameters[0], u)
        if theory.corrected is not None and theory.corrected.defined:
            found |= {f"U_1_{name}_corrected": relative(theory.corrected.order_parameters[0], u),
                      f"predictor_{name}_corrected": relative(theory.corrected.predictor.mean, mean)}
    return found


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="of each problem")
    options = parser.parse_args()
    if options.record:
        folder = Path(options.first)
        done = [problem for problem in problems(options.seeds)
                if all(map(finished, files_of(folder, problem).values()))]
        if not done:
            raise SystemExit(f"{folder}: has no problem with all its results")
        made = summary(folder / f"{done[0].name}.sample.h5")["made"]
        made["command"] = "python3 apps/benchmarks/value_validity.py build/release/bin/headway FOLDER"
        print(write_summaries([{"kind": "value_validity", "made": made, "rows": [row(folder, one) for one in done]}],
                              options.second, options.force))
        return
    folder = Path(options.second)
    folder.mkdir(parents=True, exist_ok=True)
    for problem in problems(options.seeds):
        run(options.first, folder, problem)


if __name__ == "__main__":
    main()
