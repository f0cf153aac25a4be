"""How far the theory is from exact samples, on random problems.

    python3 apps/benchmarks/validity.py build/release/bin/headway FOLDER [--problems 240]
    python3 apps/benchmarks/validity.py --record FOLDER data/results/validity.json [--force]

Each problem has one or two layers, one to four heads in each, 1 to 8 paths, random widths from 3 to 300, 15 to 60 examples, 2 to 12
inputs and a temperature from 0.01 to 1. A network drawn from the prior, of the problem's own widths, makes the labels: its
outputs with noise of variance T, or in every second problem their signs. `headway sample` solves it and draws 2 x 1000 times.
A problem takes seconds to a minute on one core. Results stay in FOLDER, and the same command goes on where it stopped. The
second command writes the errors of U_1 and of the predictor beside (p_l + 1) / N_l.
"""

import math
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
from headway.results.result_reader import read_result  # noqa: E402
from headway.results.summary import summary, write_summaries  # noqa: E402
from recording import finished, parser_of, relative  # noqa: E402

TEST = 100
HEADS = ([1], [2], [3], [4], [1, 1], [1, 2], [2, 1], [2, 2], [2, 3], [3, 2], [2, 4], [4, 2])


def log_uniform(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def prior_outputs(rng, features, heads, widths):
    """A draw of the network at these path features [examples, paths, N_0] (eq. 9): layer by layer from the input."""
    inputs = features.shape[2]
    below = [rng.standard_normal((widths[0], inputs)) / math.sqrt(inputs)]  # effective weights of each path so far
    for count, width, above in zip(heads, widths, widths[1:]):
        mixers = [rng.standard_normal((above, width)) / math.sqrt(width) for _ in range(count)]
        below = [mixer @ path for path in below for mixer in mixers]  # h_L fastest
    readout = rng.standard_normal(widths[-1]) / math.sqrt(widths[-1])
    return np.einsum("ipn,pn->i", features, [readout @ path for path in below]) / math.sqrt(features.shape[1])


def make_problem(number, path):
    """Writes the data set; returns the settings of the run."""
    rng = np.random.default_rng([65, number])
    heads = HEADS[rng.integers(len(HEADS))]
    widths = [round(log_uniform(rng, 3, 300)) for _ in range(len(heads) + 1)]
    examples, inputs = int(rng.integers(15, 61)), int(rng.integers(2, 13))
    temperature = float(f"{log_uniform(rng, 0.01, 1.0):.3g}")
    features = rng.standard_normal((examples + TEST, math.prod(heads), inputs))
    outputs = prior_outputs(rng, features, heads, widths)
    labels = outputs + math.sqrt(temperature) * rng.standard_normal(len(outputs)) * (np.arange(len(outputs)) < examples)
    if number % 2 == 1:
        labels = np.where(outputs >= 0, 1.0, -1.0)
    with h5py.File(path, "w") as file:
        file.attrs["schema_name"] = "headway-dataset"
        file.attrs["schema_version"] = [1, 0]
        for name, part in (("train", slice(None, examples)), ("test", slice(examples, None))):
            file[f"{name}/path_features"] = features[part]
            file[f"{name}/path_features"].attrs["heads"] = heads
            file[f"{name}/labels"] = labels[part]
    return widths, temperature


def run(program, folder, number):
    data, result = folder / f"{number:03}.data.h5", folder / f"{number:03}.h5"
    if finished(result):
        return
    widths, temperature = make_problem(number, data)
    settings = [f"model.widths=[[{','.join(map(str, widths))}]]", f"model.temperature={temperature}", "sample.chains=2",
                "sample.draws=1000", "sample.warmup=500", "sample.sampler=exact", "sample.evidence=false",
                "sample.checkpoint_seconds=0"]
    command = [program, "sample", str(data), "-q", "--threads", "1", "-o", str(result)]
    for setting in settings:
        command += ["--set", setting]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 2):
        raise SystemExit(f"problem {number}: {done.stderr}")
    print(number, "exit code", done.returncode, flush=True)


def row(path):
    """The errors of one problem, each relative to the norm of the exact mean, and what the draws' noise would show."""
    result = read_result(path)
    (point,) = result.points
    theory, samples = point.theory, point.samples
    heads = [int(count) for count in result.heads]
    paths = [math.prod(heads[layer:]) for layer in range(len(heads))] + [1]  # above each layer, and of the readout
    load = [(count + 1) / width for count, width in zip(paths, point.widths)]
    mean, predicted = samples.mean[0], point.predictor.mean
    found = {"problem": int(Path(path).name[:3]), "heads": heads, "widths": [int(width) for width in point.widths],
             "examples": len(result.train_labels), "temperature": point.temperature, "load": max(load),
             "load_of_U_1": load[0], "r_hat": float(point.attributes["rhat_max"]), "converged": bool(theory.converged),
             "U_1_saddle": relative(theory.order_parameters[0], mean),
             "U_1_noise": float(np.linalg.norm(samples.mcse[0]) / np.linalg.norm(mean)),
             "predictor_saddle": relative(theory.predictor.mean, predicted),
             "predictor_noise": float(np.linalg.norm(samples.predictor_mcse) / np.linalg.norm(predicted))}
    corrected = theory.corrected
    if corrected is not None and corrected.defined:
        found |= {"U_1_corrected": relative(corrected.order_parameters[0], mean),
                  "predictor_corrected": relative(corrected.predictor.mean, predicted)}
    return found


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--problems", type=int, default=240, help="how many")
    options = parser.parse_args()
    if options.record:
        files = sorted(path for path in Path(options.first).glob("*.h5") if not path.name.endswith(".data.h5"))
        made = summary(files[0])["made"] | {"command": "python3 apps/benchmarks/validity.py build/release/bin/headway FOLDER"}
        print(write_summaries([{"kind": "validity", "made": made, "rows": [row(path) for path in files]}],
                              options.second, options.force))
        return
    folder = Path(options.second)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(options.problems):
        run(options.first, folder, number)


if __name__ == "__main__":
    main()
