"""Every expected/ case of the golden data sets (answers of an independent solver) through the program.

Usage: golden_answers_test.py PROGRAM DATA_FOLDER
"""

import json
import pathlib
import subprocess
import sys
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
