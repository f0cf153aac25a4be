"""Every expected/ case of the golden data sets (answers of an independent solver) through the program.

Usage: golden_answers_test.py PROGRAM DATA_FOLDER
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import h5py
import numpy as np

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])

# 1/N-corrected U_1 diagonals (eq. 40) of the hidden-Markov data, by width.
CORRECTED = {10: [14.76, 0.535, 7.15, 0.345], 100: [2.932, 1.324, 2.590, 1.354]}
# Smallest Hessian eigenvalues of S / max N there.
HESSIAN = {10: 0.01458, 100: 0.05004, 1000: 0.09468}


def solve(file, case, *extra):
    a = case.attrs
    numbers = lambda values: "[" + ",".join(repr(float(v)) for v in values) + "]"
    widths = "[[" + ",".join(str(int(n)) for n in a["widths"]) + "]]"
    command = [PROGRAM, "solve", str(file), "--json", "-q",
               "--set", "model.widths=" + widths,
               "--set", "model.temperature=" + repr(float(a["temperature"])),
               "--set", "model.variances=" + numbers(a["variances"]), *extra]
    with h5py.File(file) as h:
        if "path_features" not in h["train"]:
            command += ["--set", f'model.readout="{a["readout"]}"']
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)["points"][0]


class GoldenAnswers(unittest.TestCase):
    def check_case(self, file, case, *extra):
        point = solve(file, case, *extra)
        self.assertTrue(point["converged"])
        self.assertLess(point["gradient_norm"], 1e-9)
        action = float(case.attrs["action_over_max_width"])
        self.assertLess(abs(point["action"] / action - 1), 1e-9)
        self.assertEqual(point["accuracy"], float(case.attrs["accuracy"]))
        for layer, u in enumerate(point["U"], start=1):
            expected = case[f"order_parameters/layer_{layer}"][()]
            self.assertLess(np.abs(np.array(u) - expected).max(), 1e-5 * np.abs(expected).max())
        expected = case["U_a"][()]
        self.assertLess(np.abs(np.array(point["U_a"]) - expected).max(), 1e-5 * np.abs(expected).max())
        return point

    def test_every_expected_case(self):
        cases = 0
        for file in sorted(FOLDER.glob("*.h5")):
            with h5py.File(file) as h:
                for name in h.get("expected", {}):  # learned attention has a test of its own
                    with self.subTest(file=file.name, case=name):
                        self.check_case(file, h["expected"][name])
                        cases += 1
        self.assertGreaterEqual(cases, 8)

    def test_every_solver_and_kernel_form(self):
        with h5py.File(FOLDER / "hmm4_paths.h5") as h:
            for extra in (["solve.kernels=streamed"], ["solve.optimizer=quasi_newton"],
                          ["solve.elimination=closed_form"], ["solve.warm_start=false", "solve.start=random"]):
                with self.subTest(extra=extra):
                    sets = [x for e in extra for x in ("--set", e)]
                    self.check_case(FOLDER / "hmm4_paths.h5", h["expected/case_1"], *sets)

    def test_corrected_means_and_hessian(self):
        with h5py.File(FOLDER / "hmm4_paths.h5") as h:
            for case in h["expected"].values():
                width = int(case.attrs["widths"][0])
                point = solve(FOLDER / "hmm4_paths.h5", case)
                self.assertAlmostEqual(point["smallest_hessian_eigenvalue"], HESSIAN[width], delta=6e-6)
                if width in CORRECTED:
                    diagonal = np.diag(np.array(point["corrected"]["U"][0]))
                    np.testing.assert_allclose(diagonal, CORRECTED[width], rtol=1.5e-3)


def conjunctions(similarity):
    """{pattern: weight} of a kernel that depends on which components two inputs share, as a sum over all sets of components that
    they share: Moebius inversion."""
    kernel = {tuple(row[:-1].astype(int)): row[-1] for row in similarity}
    smaller = lambda one, other: all(a <= b for a, b in zip(one, other))
    return {of: sum((-1) ** (sum(of) - sum(part)) * kernel[part] for part in kernel if smaller(part, of)) for of in kernel}


def one_hot(components, pattern):
    """Which conjunction of these components each input has: [inputs, conjunctions]."""
    shown = [tuple(row[np.array(pattern) == 1]) for row in components]
    kinds = sorted(set(shown))
    return np.array([[float(kind == one) for kind in kinds] for one in shown])


class Compositional(unittest.TestCase):
    """Kernels of Lippl and Stachenfeld (2024): each set of components is a path, and the answer that of infinite width."""

    def each(self):
        with h5py.File(FOLDER / "compositional.h5") as h:
            for name, group in h.items():
                with self.subTest(case=name):
                    yield name, group, group["train"][()] == 1, group["components"][()]

    def test_the_gaussian_process_is_their_kernel_regression(self):
        for _, group, train, components in self.each():
            paths = {pattern: weight for pattern, weight in conjunctions(group["similarity"][()]).items() if weight > 1e-12}
            codes = [one_hot(components, pattern) * np.sqrt(weight) for pattern, weight in paths.items()]
            features = max(code.shape[1] for code in codes)
            inputs = np.stack([np.pad(code, ((0, 0), (0, features - code.shape[1]))) for code in codes], axis=1)
            inputs *= np.sqrt(features * len(codes))  # eq. 9
            with tempfile.TemporaryDirectory() as folder:
                file, out = pathlib.Path(folder) / "data.h5", pathlib.Path(folder) / "out.h5"
                with h5py.File(file, "w") as h:
                    h.attrs["schema_name"], h.attrs["schema_version"] = "headway-dataset", [1, 0]
                    for split, rows in (("train", train), ("test", ~train)):
                        h[f"{split}/path_features"], h[f"{split}/labels"] = inputs[rows], group["labels"][()][rows]
                        h[f"{split}/path_features"].attrs["heads"] = [len(codes)]
                subprocess.run([PROGRAM, "solve", file, "-q", "-o", out, "--set", "model.widths=[1000]", "--set",
                                f"model.temperature={float(group.attrs['T'])!r}"], check=True, capture_output=True)
                with h5py.File(out) as h:
                    mean = h["gaussian_process/0/mean"][()].ravel()
            np.testing.assert_allclose(mean, group["mean"][()][~train], atol=1e-8 * np.abs(group["labels"]).max())

    def test_unseen_inputs_get_a_sum_over_what_was_seen(self):
        """Theirs: a conjunction that training lacks adds nothing. And context dependence is solved by one of two kernels."""
        solved = {}
        for name, group, train, components in self.each():
            codes = [one_hot(components, pattern) for pattern in conjunctions(group["similarity"][()])]
            seen = np.concatenate([code[:, code[train].any(axis=0)] for code in codes], axis=1)
            mean = group["mean"][()]
            unseen = seen[~train][:, seen[~train].any(axis=0)]
            left = mean[~train] - unseen @ np.linalg.lstsq(unseen, mean[~train], rcond=None)[0]
            self.assertLess(np.abs(left).max(), 1e-9)
            if name.startswith("context"):
                solved[name] = np.mean(np.sign(mean[~train]) == group["labels"][()][~train])
        self.assertEqual(solved, {"context_1_0.35": 1, "context_1_0.4": 0, "context_3_0.35": 1, "context_3_0.4": 0})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
