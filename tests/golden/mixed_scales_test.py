"""Problems whose numbers have very different sizes, against answers in 100-digit arithmetic, in every
form of the kernel.

A result claims six digits where it has converged and no warning speaks of digits: of the action, the
log evidence, U in units of its diagonal, and of the predictor's mean and variance relative to the
largest. Else it must say so: not converged, a warning, or a refusal (exit code 1 to 3).

Usage: mixed_scales_test.py PROGRAM DATA_FOLDER
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
DIGITS = 1e-6
# Forms that a user may ask for; gram: from a file that `headway gram` made; learned: attention that
# could be learned, all heads frozen.
FORMS = ("auto", "stored", "streamed", "feature_space", "gram", "learned")
# Of the problems, in every form together: how many may be told instead of solved.
MOST_TOLD = {"auto": 1, "stored": 1, "streamed": 1, "feature_space": 1, "gram": 20, "learned": 1}


def write_dataset(path, group):
    count = int(group.attrs["examples"])
    with h5py.File(path, "w") as h:
        h.attrs["schema_name"], h.attrs["schema_version"] = "headway-dataset", [1, 0]
        for split, rows in (("train", slice(0, count)), ("test", slice(count, None))):
            for key in ("inputs", "path_features", "labels"):
                if key in group:
                    h[f"{split}/{key}"] = group[key][rows]
            for layer in group.get("attention", []):
                h[f"{split}/attention/{layer}"] = group[f"attention/{layer}"][rows]
            if "path_features" in group:
                h[f"{split}/path_features"].attrs["heads"] = group.attrs["heads"]


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


class Answer:
    def __init__(self, ended, result):
        self.said = ended.stderr
        self.told = ended.returncode != 0 or "digits" in ended.stderr
        self.refused = not result.exists()
        if self.refused:
            return
        with h5py.File(result) as h:
            point = h["points/0"]
            self.values = {"action": point.attrs["action"], "log_evidence": point.attrs["log_evidence"],
                           "U_a": point["U_a"][()],
                           "mean": point["predictor/mean"][()], "variance": point["predictor/variance"][()]}
            if "gaussian_process/0" in h:  # learned attention has none
                limit = h["gaussian_process/0"]
                self.values["gaussian_process/log_evidence"] = limit.attrs["log_evidence"]
                for name in ("mean", "variance"):
                    self.values["gaussian_process/" + name] = limit[name][()]
            for layer, u in point["order_parameters"].items():
                self.values["order_parameters/" + layer] = u[()]


def answer_of(group, form, folder):
    """What the program says of a problem; None where a form cannot hold it."""
    several = group["labels"].shape[1] > 1
    if (form == "stored" and several) or (form == "learned" and "inputs" not in group):
        return None
    data, result = folder / "data.h5", folder / "result.h5"
    result.unlink(missing_ok=True)
    write_dataset(data, group)
    if form == "gram":
        made = run("gram", data, "-o", folder / "sums.h5", "-q", "--force")
        if made.returncode != 0:
            return Answer(made, result)
        data = folder / "sums.h5"
    widths = "[[" + ",".join(str(int(n)) for n in group.attrs["widths"]) + "]]"
    words = ["solve", data, "-o", result, "-q", "--set", f"model.widths={widths}", "--set",
             f"model.temperature={float(group.attrs['temperature'])!r}"]
    if form in ("stored", "streamed", "feature_space"):
        words += ["--set", f"solve.kernels={form}"]
    if form == "learned":
        frozen = [[l + 1, h + 1] for l, heads in enumerate(group.attrs["heads"]) for h in range(heads)]
        words += ["--set", "model.attention_prior.form=matrix", "--set", "model.attention_prior.variance=1",
                  "--set", f"model.attention_prior.frozen={frozen}"]
    return Answer(run(*words), result)


def error(name, found, expected):
    """In units of what six digits are claimed of."""
    found, expected = np.asarray(found), np.asarray(expected)
    if name.startswith(("U_a", "order_parameters")):
        size = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        return (np.abs(found - expected) / size).max()
    size = np.abs(expected).max()
    if name.endswith(("log_evidence", "action")):
        size = max(1.0, size)
    return np.abs(found.reshape(expected.shape) - expected).max() / size


class MixedScales(unittest.TestCase):
    def test_every_problem_in_every_form(self):
        told = {form: [] for form in FORMS}
        with h5py.File(FOLDER / "mixed_scales.h5") as h, tempfile.TemporaryDirectory() as folder:
            self.assertGreaterEqual(len(h), 40)
            for group in h.values():
                for form in FORMS:
                    answer = answer_of(group, form, pathlib.Path(folder))
                    if answer is None:
                        continue
                    name = group.attrs["name"]
                    with self.subTest(problem=name, form=form):
                        if answer.told:
                            told[form].append(name)
                            continue
                        self.assertFalse(answer.refused, answer.said)
                        for key, found in answer.values.items():
                            expected = np.asarray(group["answers"].attrs[key])
                            if np.isfinite(expected).all():
                                self.assertLess(error(key, found, expected), DIGITS, key)
        for form, names in told.items():
            self.assertLessEqual(len(names), MOST_TOLD[form], f"{form}: {names}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
