"""Compositional generalisation: theory, exact samples and trained networks on pairs of modules that were never seen.

    python3 apps/benchmarks/compositions.py build/release/bin/headway FOLDER [--seeds 10] [--exact-seeds 4] [--only ladder,support]
    python3 apps/benchmarks/compositions.py --record FOLDER data/results/compositions.json [--force]

A problem has five modules of six inputs, two of them on, as in the task `modules` (src/tasks/README.md); a network of three hidden
units makes the labels. Each problem is solved with fixed and with adapted features, sampled exactly where there is time, and the
same network is trained: L-BFGS from a draw of the prior to a minimum of |y - f|^2 / 2T + |weights|^2 / 2. Training needs SciPy.
Results stay in FOLDER, and the same command goes on where it stopped. --record keeps recorded rows of which FOLDER has nothing, and
replaces the others as a whole. Seeds share nothing. All else of a seed is paired: fewer examples are the first of more, and students
see the same examples. Everything takes one to two hours of one core.
"""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import h5py  # noqa: E402
import numpy as np  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from headway.results.result_reader import read_result  # noqa: E402
from headway.results.summary import summary, write_summaries  # noqa: E402
from recording import finished, kept, parser_of  # noqa: E402

MODULES, INPUTS, TEACHER_WIDTH = 5, 6, 3
TEMPERATURE = 0.01  # and the variance of the label noise
MOST, EVALUATED = 960, 400
WIDE = 1_000_000_000  # N_a: U_a stays as the prior has it
PAIRS = list(itertools.combinations(range(MODULES), 2))
FORMS = ("hyla", "after_attention", "per_head", "before_attention", "linear")
EXAMPLES = (30, 60, 120, 240, 480, 960)
TEACHERS = ("after_attention", "hyla", "per_head", "before_attention", "linear")
WIDTHS = (5, 100)
SUPPORTS = ((4, "disconnected"), (4, "connected"), (5, "connected"), (6, "connected"), (8, "connected"), (9, "connected"))


class Network:
    """A network of eq. 79 on examples of one token whose attention weights are the code."""

    def __init__(self, form, codes, contents):
        count, inputs = contents.shape
        self.per_head, self.codes = form == "per_head", codes
        self.weights = np.ones((count, 1)) if form == "after_attention" else codes
        self.relu = form != "linear"
        self.directions = contents / np.sqrt(inputs)
        if form in ("hyla", "after_attention"):
            self.directions = (codes[:, :, None] * self.directions[:, None, :]).reshape(count, -1) / np.sqrt(codes.shape[1])
        self.readouts = self.weights.shape[1]
        self.inputs = self.directions.shape[1] * (codes.shape[1] if self.per_head else 1)

    def draw(self, width, rng):
        return rng.standard_normal((width, self.inputs)), rng.standard_normal((self.readouts, width))

    def arguments(self, hidden):
        """[example, unit], or [example, unit, head] where each head has its own inputs."""
        flat = self.directions @ hidden.reshape(-1, self.directions.shape[1]).T
        return flat.reshape(len(flat), len(hidden), -1) if self.per_head else flat

    def outputs(self, hidden, readout, slope_of=None):
        """f; with `slope_of`, which takes f to d loss / df, also the gradients over both."""
        z = self.arguments(hidden)
        units = np.maximum(z, 0.0) if self.relu else z
        scale = 1.0 / np.sqrt(readout.size)
        mixed = self.codes[:, None, :] * readout.T if self.per_head else self.weights @ readout
        f = scale * (units * mixed).reshape(len(z), -1).sum(1)
        if slope_of is None:
            return f
        slope = scale * slope_of(f)
        down = slope.reshape(-1, *[1] * (z.ndim - 1)) * mixed
        if self.relu:
            down = down * (z > 0.0)
        over_hidden = (down.reshape(len(z), -1).T @ self.directions).reshape(hidden.shape)
        if self.per_head:
            over_readout = np.einsum("p,pr,pir->ri", slope, self.codes, units)
        else:
            over_readout = (slope[:, None] * self.weights).T @ units
        return f, over_hidden, over_readout


def train(network, labels, width, rng):
    """The weights at a minimum of |y - f|^2 / 2T + |weights|^2 / 2, from a draw of the prior, and what the search says."""
    from scipy.optimize import minimize

    hidden, readout = network.draw(width, rng)

    def loss(weights):
        v, o = weights[:hidden.size].reshape(hidden.shape), weights[hidden.size:].reshape(readout.shape)
        f, over_v, over_o = network.outputs(v, o, lambda f: (f - labels) / TEMPERATURE)
        return (0.5 * np.sum((f - labels) ** 2) / TEMPERATURE + 0.5 * weights @ weights,
                weights + np.concatenate([over_v.ravel(), over_o.ravel()]))

    found = minimize(loss, np.concatenate([hidden.ravel(), readout.ravel()]), jac=True, method="L-BFGS-B",
                     options={"maxiter": 5000, "maxfun": 10000, "maxcor": 20, "ftol": 1e-9, "gtol": 1e-3})
    return found.x[:hidden.size].reshape(hidden.shape), found.x[hidden.size:].reshape(readout.shape), found


def relu_mean(a, b):
    """E[relu(z) relu(z')] of normal z along these directions (J of eq. 80)."""
    norms = np.linalg.norm(a, axis=1)[:, None] * np.linalg.norm(b, axis=1)
    angle = np.arccos(np.clip(a @ b.T / norms, -1.0, 1.0))
    return norms * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)


def kernel(a, b):
    """That of infinitely wide networks (eq. 80 with the prior's U and S), between the examples of two."""
    means = relu_mean(a.directions, b.directions) if a.relu else a.directions @ b.directions.T
    return means * (a.weights @ b.weights.T) / a.readouts


def linked(pairs):
    """Is every module reached from the first, over pairs?"""
    reached = {0}
    for _ in range(MODULES):
        reached |= {module for pair in pairs if reached & set(pair) for module in pair}
    return len(reached) == MODULES


def draw_pairs(count, support, rng):
    """(seen, held-out) pairs. Each module is in a seen pair; `disconnected`: no seen pair has modules of both of two groups."""
    while True:
        order = rng.permutation(len(PAIRS))
        seen = [PAIRS[at] for at in sorted(order[:count])]
        covers = len({module for pair in seen for module in pair}) == MODULES
        if covers and linked(seen) == (support == "connected"):
            return seen, [pair for pair in PAIRS if pair not in seen]


def codes_of(pairs):
    return np.array([[float(module in pair) for module in range(MODULES)] for pair in pairs])


@dataclass(frozen=True)
class Problem:
    """Labels of a teacher on some of the pairs. Equal seeds have equal teachers and contents."""
    teacher: str
    seen: int
    support: str
    seed: int

    def make(self):
        """{split: (codes, contents, labels)}, and how far the best additive answer is from the teacher on held-out pairs."""
        choice, weights, examples = (np.random.default_rng([64, self.seed, stream]) for stream in range(3))
        seen, held_out = draw_pairs(self.seen, self.support, choice)
        teacher = Network(self.teacher, codes_of(PAIRS), np.zeros((len(PAIRS), INPUTS))).draw(TEACHER_WIDTH, weights)
        train_contents, noise = examples.standard_normal((MOST, INPUTS)), examples.standard_normal(MOST)

        def outputs(codes, inputs):
            return Network(self.teacher, codes, inputs).outputs(*teacher)

        codes = codes_of(seen)[np.arange(MOST) % len(seen)]
        train_outputs = outputs(codes, train_contents)
        scale = np.sqrt(np.mean(train_outputs ** 2))
        splits = {"train": (codes, train_contents, train_outputs / scale + np.sqrt(TEMPERATURE) * noise)}
        for name, pairs in (("held_out", held_out), ("fresh", seen)):  # every content with every pair
            count = EVALUATED // len(pairs)
            inputs = np.repeat(examples.standard_normal((count, INPUTS)), len(pairs), axis=0)
            set_codes = np.tile(codes_of(pairs), (count, 1))
            splits[name] = set_codes, inputs, outputs(set_codes, inputs) / scale
        return splits, self._additive(held_out, seen, splits["held_out"], lambda c, x: outputs(c, x) / scale)

    @staticmethod
    def _additive(held_out, seen, split, outputs):
        """Relative squared error on held-out pairs of the sum over modules that fits all seen pairs best, content by content."""
        _, inputs, labels = split
        inputs = inputs[::len(held_out)]
        known = np.stack([outputs(np.tile(code, (len(inputs), 1)), inputs) for code in codes_of(seen)])
        parts = np.linalg.lstsq(codes_of(seen), known, rcond=None)[0]
        answers = (codes_of(held_out) @ parts).T.ravel()
        return float(np.sum((answers - labels) ** 2) / np.sum(labels ** 2))


def rank_of(problem):
    """Of the codes of seen pairs: five where they span the codes of all pairs."""
    rng = np.random.default_rng([64, problem.seed, 0])
    return int(np.linalg.matrix_rank(codes_of(draw_pairs(problem.seen, problem.support, rng)[0])))


@dataclass(frozen=True)
class Job:
    """One column of one student on one problem."""
    experiment: str
    problem: Problem
    examples: int
    student: str
    width: int
    column: str  # fixed, adapted, exact, trained

    def file(self, folder):
        p = self.problem
        return folder / (f"{p.teacher}-{p.seen}-{p.support}-{p.seed}-{self.examples}.{self.student}-{self.width}."
                         f"{self.column}.{'json' if self.column == 'trained' else 'h5'}")


def plan(seeds, exact_seeds):
    """All jobs, the cheap ones of all experiments first."""
    jobs = []

    def add(experiment, columns, count, teacher="hyla", seen=8, support="connected", examples=240, student=None, width=20):
        for seed in range(1, count + 1):
            for column in columns:
                if (student or teacher) == "linear" and column == "adapted":
                    continue  # with the identity it would count the adaptation of the values twice
                jobs.append(Job(experiment, Problem(teacher, seen, support, seed), examples, student or teacher, width, column))

    for teacher in TEACHERS[:2]:
        for seen, support in SUPPORTS:
            add("support", ("trained",), seeds, teacher=teacher, seen=seen, support=support)
    for teacher in TEACHERS[:2]:
        for examples in EXAMPLES:
            add("ladder", ("trained",), seeds, teacher=teacher, examples=examples)
    for teacher, student in itertools.product(TEACHERS, FORMS):
        add("forms", ("trained",), seeds, teacher=teacher, student=student)
    for teacher, width in itertools.product(TEACHERS[:2], WIDTHS):
        add("widths", ("trained",), seeds, teacher=teacher, width=width)
    for width in WIDTHS:
        add("widths", ("trained", "fixed", "adapted"), seeds, teacher="after_attention", examples=120, width=width)
        add("widths", ("exact",), exact_seeds, teacher="after_attention", examples=120, width=width)
    for examples in EXAMPLES[:5]:
        add("ladder", ("fixed", "adapted"), seeds, teacher="after_attention", examples=examples)
    for examples in EXAMPLES[:3]:
        add("ladder", ("fixed", "adapted"), seeds, examples=examples)
    for examples in EXAMPLES[1:3]:
        add("ladder", ("exact",), exact_seeds, teacher="after_attention", examples=examples)
    return jobs


def write_data(job, path):
    splits, _ = job.problem.make()
    with h5py.File(path, "w") as file:
        file.attrs["schema_name"] = "headway-dataset"
        file.attrs["schema_version"] = [1, 0]
        file.attrs["attention_rows"] = "any"
        for name, group in (("train", "train"), ("held_out", "test"), ("fresh", "sets/fresh")):
            codes, contents, labels = (part[:job.examples] if name == "train" else part for part in splits[name])
            file[f"{group}/inputs"] = contents[:, None, :]
            file[f"{group}/attention/layer_1"] = codes[:, :, None, None]
            file[f"{group}/labels"] = labels


def compute(program, job, folder):
    """Solves or samples with the program."""
    data = job.file(folder).with_suffix(".data")
    write_data(job, data)
    linear = job.student == "linear"
    settings = {"model.widths": f"[[{job.width},{WIDE}]]", "model.temperature": TEMPERATURE,
                "model.value_network.form": "before_attention" if linear else job.student,
                "model.value_network.nonlinearity": "identity" if linear else "relu",
                "model.value_network.features": "adapted" if job.column == "adapted" else "fixed",
                "solve.hessian": "off", "solve.corrections": "off", "solve.checkpoint_seconds": 0}
    if job.column == "exact":
        settings |= {"sample.chains": 2, "sample.draws": 250, "sample.warmup": 250, "sample.evidence": "false",
                     "sample.replicas": 1, "sample.predictor_draws": 125, "sample.checkpoint_seconds": 0}
    command = [program, "sample" if job.column == "exact" else "solve", str(data), "-q", "--threads", "1", "-o", str(job.file(folder))]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(f"{job}: {done.stderr}")
    data.unlink()


def relative(answers, labels):
    return float(np.sum((answers - labels) ** 2) / np.sum(labels ** 2))


def not_additive(answers, codes):
    """The share of the answers on held-out pairs that no sum over modules gives, content by content; None where any are sums."""
    count = len(np.unique(codes, axis=0))
    design = codes[:count]
    if np.linalg.matrix_rank(design) == count:
        return None
    table = answers.reshape(-1, count).T
    rest = table - design @ np.linalg.lstsq(design, table, rcond=None)[0]
    return float(np.sum(rest ** 2) / np.sum(table ** 2))


def answers_of(job, splits):
    """{column: a function of a network on other examples}, and what the search of the training says. The network is trained."""
    codes, contents, labels = (part[:job.examples] for part in splits["train"])
    network = Network(job.student, codes, contents)
    rng = np.random.default_rng([64, job.problem.seed, 3, job.width])
    hidden, readout, found = train(network, labels, job.width, rng)
    dual = np.linalg.solve(kernel(network, network) + TEMPERATURE * np.eye(len(labels)), labels)
    told = {"converged": bool(found.success), "iterations": int(found.nit), "loss": float(found.fun)}
    return {"trained": lambda other: other.outputs(hidden, readout),
            "gaussian_process": lambda other: kernel(other, network) @ dual}, told


def train_and_answer(job):
    """{column: errors} of the trained network, and of the Gaussian process and the best sum over modules, which cost little."""
    splits, additive = job.problem.make()
    answers, told = answers_of(job, splits)
    found = {"additive": {"held_out": additive}}
    for column, answer in answers.items():
        found[column] = {}
        for name in ("held_out", "fresh"):
            codes, contents, labels = splits[name]
            given = answer(Network(job.student, codes, contents))
            found[column][name] = relative(given, labels)
            if name == "held_out":
                found[column]["not_additive"] = not_additive(given, codes)
    found["trained"] |= told
    return found


def is_there(path):
    return finished(path) if path.suffix == ".h5" else path.exists()


def run(program, job, folder):
    path = job.file(folder)
    if is_there(path):
        return
    if job.column == "trained":
        path.write_text(json.dumps(train_and_answer(job)), encoding="utf-8")
    else:
        compute(program, job, folder)
    print(path.name, flush=True)


def errors_of(measures, mean, splits):
    """Relative squared errors on both sets, from the program's mean squared errors."""
    found = {name: value / float(np.mean(splits[name][2] ** 2))
             for name, value in (("held_out", measures.test_mean_squared_error),
                                 ("fresh", measures.sets["fresh"].mean_squared_error))}
    return found | {"not_additive": not_additive(np.asarray(mean).ravel(), splits["held_out"][0])}


def columns_of(job, folder):
    """{column: its numbers} of the file of a job; one of fixed features has the Gaussian process, too."""
    path = job.file(folder)
    if job.column == "trained":
        return json.loads(path.read_text(encoding="utf-8"))
    splits, _ = job.problem.make()
    result = read_result(path)
    (point,) = result.points
    if job.column == "exact":
        return {"exact": errors_of(point, point.predictor.mean, splits) | {"r_hat": float(point.attributes["rhat_max"])}}
    found = {job.column: errors_of(point, point.predictor.mean, splits) | {"converged": bool(point.converged)}}
    if job.column == "fixed":
        (limit,) = result.gaussian_process
        found["gaussian_process"] = errors_of(limit, limit.predictor.mean, splits)
    return found


def record(folder, jobs):
    rows = {}
    for job in jobs:
        if not is_there(job.file(folder)):
            continue
        key = (job.problem, job.examples, job.student, job.width)
        row = rows.setdefault(key, {"teacher": job.problem.teacher, "seen": job.problem.seen, "support": job.problem.support,
                                    "rank": rank_of(job.problem), "seed": job.problem.seed, "examples": job.examples, "student": job.student, "width": job.width})
        if job.column not in row:
            row |= columns_of(job, folder)
    first = min(folder.glob("*.h5"), default=None)
    if first is None:
        raise SystemExit(f"{folder}: has no result of the theory; run the experiment ladder first")
    made = summary(first)["made"] | {"command": "python3 apps/benchmarks/compositions.py build/release/bin/headway FOLDER"}
    return {"kind": "compositions", "made": made, "rows": list(rows.values())}


def place(row):
    """What tells a row of the record from all others."""
    return tuple(row[name] for name in ("teacher", "seen", "support", "seed", "examples", "student", "width"))


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=10, help="teachers, pairs and inputs of each experiment")
    parser.add_argument("--exact-seeds", type=int, default=4, help="of these the first with exact samples")
    parser.add_argument("--only", default="", help="experiments, by comma")
    options = parser.parse_args()
    jobs = plan(options.seeds, options.exact_seeds)
    experiments, wanted = sorted({job.experiment for job in jobs}), options.only.split(",") if options.only else []
    if unknown := set(wanted).difference(experiments):
        parser.error(f"--only: {', '.join(sorted(unknown))}: allowed: {', '.join(experiments)}")
    jobs = [job for job in jobs if not wanted or job.experiment in wanted]
    if options.record:
        new = record(Path(options.first), jobs)
        again = {place(row) for row in new["rows"]}
        left = kept(Path(options.second), lambda row: place(row) in again)
        print(write_summaries([*left, new], options.second, options.force))
        return
    folder = Path(options.second)
    folder.mkdir(parents=True, exist_ok=True)
    for job in jobs:
        run(options.first, job, folder)


if __name__ == "__main__":
    main()
