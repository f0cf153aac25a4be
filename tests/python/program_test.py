"""The program against the Python package and the independent reference theory, end to end.

Data sets are written by headway.write_dataset, solved by the program, read by headway.read_result, and
compared with tests/python/reference_theory.py, which shares no code with either.
"""

import contextlib
import io
import itertools
import math
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
import program
import reference_theory as theory
from headway import cli, figures
from synthetic_results import attention

FOLDER = tempfile.TemporaryDirectory()
P, P_TEST, S, N0 = 18, 25, 5, 7


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    program.executable()


class Case:
    """A random data set with attention weights, and everything the reference says about it."""

    def __init__(self, seed, heads, outputs=1, readout="last_token", masked=False):
        rng = np.random.default_rng(seed)
        self.heads, self.outputs, self.readout = heads, outputs, readout
        self.inputs = {"train": rng.standard_normal((P, S, N0)),
                       "test": rng.standard_normal((P_TEST, S, N0))}
        self.labels = {split: self._labels(rng, len(x)) for split, x in self.inputs.items()}
        self.weights = [rng.standard_normal((h, N0, N0)) for h in heads]
        self.mask = {split: np.ones(x.shape[:2]) for split, x in self.inputs.items()}
        if masked:
            for mask in self.mask.values():
                for row in mask:
                    row[rng.integers(2, S + 1):] = 0
        self.masked = masked
        self.omega = {split: [np.stack([self._attention(split, w) for w in layer], axis=1)
                              for layer in self.weights] for split in self.inputs}
        self.xi = {split: self._path_features(split) for split in self.inputs}

    def _labels(self, rng, count):
        if self.outputs > 1:
            return np.eye(self.outputs)[rng.integers(0, self.outputs, count)]
        return np.where(rng.random(count) < 0.5, -1.0, 1.0)

    def _attention(self, split, w):
        """softmax over the real keys."""
        weights = attention(self.inputs[split], w) * self.mask[split][:, None, :]
        return weights / weights.sum(axis=2, keepdims=True)

    def _path_features(self, split):
        mask = self.mask[split]
        row = np.zeros_like(mask)
        if self.readout == "last_token":
            last = [int(np.flatnonzero(real)[-1]) for real in mask]
            row[np.arange(len(mask)), last] = 1.0
        elif self.readout == "first_token":
            row[:, 0] = 1.0
        else:
            row = mask / mask.sum(axis=1, keepdims=True)
        features = []
        for path in itertools.product(*map(range, self.heads)):
            w = row
            for layer in reversed(range(len(self.heads))):
                w = np.einsum("ms,mst->mt", w, self.omega[split][layer][:, path[layer]])
            features.append(np.einsum("mt,mti->mi", w, self.inputs[split]))
        return np.stack(features, axis=1)

    def problem(self, widths, variances, temperature):
        x = theory.scaled_features(self.xi["train"], variances[0])
        labels = self.labels["train"].reshape(P, -1)
        return theory.Problem(theory.path_kernels(x, x), labels, self.heads, tuple(widths),
                              tuple(variances), temperature)

    def write(self, form="weights"):
        path = Path(FOLDER.name) / f"{form}.h5"
        given = {"train_labels": self.labels["train"], "test_labels": self.labels["test"]}
        if form == "paths":
            given |= {f"{split}_path_features": xi for split, xi in self.xi.items()}
            given |= {"heads": self.heads, "readout": self.readout}
        else:
            given |= {f"{split}_inputs": x for split, x in self.inputs.items()}
            if self.masked:
                given |= {f"{split}_mask": mask for split, mask in self.mask.items()}
        if form == "weights":
            given["attention_weights"] = self.weights
        elif form == "query_key":
            given["query"] = [np.tile(math.sqrt(N0) * np.eye(N0), (len(w), 1, 1)) for w in self.weights]
            given["key"] = self.weights
        elif form == "supplied":
            given |= {f"{split}_attention": omega for split, omega in self.omega.items()}
        return headway.write_dataset(path, **given, overwrite=True)


def solved(data, *options, verb="solve"):
    """Runs a verb on a data set; (its JSON, its result file)."""
    path = Path(FOLDER.name) / "result.h5"
    object_ = program.run_json(verb, data, "-o", path, "--force", "--threads", 1, *options)
    return object_, headway.read_result(path)


class DataSets(unittest.TestCase):
    FORMS = ("weights", "query_key", "supplied", "paths")

    def test_validate_accepts_what_write_dataset_writes(self):
        for masked in (False, True):
            case = Case(1, (2, 3), masked=masked)
            for form in self.FORMS:
                with self.subTest(form=form, masked=masked):
                    program.run("validate", case.write(form))

    def test_validate_and_check_dataset_agree_on_faults(self):
        def poke(name, index, value):
            def change(file):
                file[name][index] = value
            return change
        def delete(name):
            return lambda file: file.__delitem__(name)
        def attribute(name, value):
            return lambda file: file.attrs.__setitem__(name, value)
        changes = {
            "weights": [poke("train/inputs", (1, 2, 3), np.nan), poke("test/labels", 0, np.inf),
                        delete("train/labels"), delete("attention/weights/layer_1"),
                        delete("test/inputs"), attribute("schema_version", [2, 0]),
                        attribute("schema_name", "other"), poke("attention/weights/layer_2",
                                                                (0, 1, 2), np.nan)],
            "supplied": [poke("train/attention/layer_2", (3, 1, 2, 0), 2.0),
                         poke("test/attention/layer_1", (3, 1, 2, 0), -1.0),
                         poke("test/attention/layer_1", (3, 1, 2, 0), np.nan),
                         delete("test/attention")],
            "paths": [poke("train/path_features", (0, 1, 2), np.nan), attribute("readout", "third"),
                      lambda file: file["train/path_features"].attrs.__setitem__("heads", [5])],
            "query_key": [delete("attention/key"), delete("attention/key/layer_2")]}
        case = Case(2, (2, 3))
        for form, broken in changes.items():
            for number, change in enumerate(broken):
                with self.subTest(form=form, change=number):
                    path = case.write(form)
                    with h5py.File(path, "r+") as file:
                        change(file)
                    program.run("validate", path, code=65)
                    self.assertNotEqual(headway.check_dataset(path), [])

    def test_all_forms_give_the_same_answer(self):
        for masked, readout in ((False, "last_token"), (True, "last_token"), (True, "mean")):
            case = Case(3, (2, 2), readout=readout, masked=masked)
            answers = {}
            for form in self.FORMS:
                options = [] if form == "paths" else ["--set", f"model.readout={readout}"]
                answers[form], _ = solved(case.write(form), "--set", "model.widths=[9]", *options)
            known = answers["weights"]["points"][0]
            for form, answer in answers.items():
                with self.subTest(form=form, masked=masked, readout=readout):
                    self.assertAlmostEqual(answer["points"][0]["action"], known["action"], delta=1e-10)
                    np.testing.assert_allclose(answer["points"][0]["U"][0], known["U"][0], atol=1e-8)


class SolveAgainstReference(unittest.TestCase):
    CASES = (  # heads, outputs, widths, variances, temperature, readout
        ((1,), 1, (6, 9), (1.0, 0.8, 1.2), 0.05, "last_token"),
        ((3,), 1, (2, 30), (0.7, 1.3, 0.9), 0.1, "mean"),
        ((2, 2), 1, (12, 12, 12), (1.0, 1.0, 1.0, 1.0), 0.01, "first_token"),
        ((2, 3), 1, (40, 15, 25), (1.1, 0.9, 1.3, 0.7), 0.05, "last_token"),
        ((2, 1, 2), 1, (20, 30, 25, 35), (1.0, 0.8, 1.2, 0.9, 1.1), 0.03, "mean"),
        ((2, 2), 3, (25, 30, 20), (1.0, 0.9, 1.1, 1.2), 0.05, "last_token"))

    def answers(self):
        for seed, (heads, outputs, widths, variances, temperature, readout) in enumerate(self.CASES):
            case = Case(10 + seed, heads, outputs, readout)
            object_, result = solved(
                case.write(), "--set", f"model.widths=[{list(widths)}]",
                "--set", f"model.variances={list(variances)}", "--set",
                f"model.temperature={temperature}", "--set", f"model.readout={readout}")
            with self.subTest(heads=heads, outputs=outputs):
                yield case, case.problem(widths, variances, temperature), object_, result

    def test_saddle_point_and_predictor_are_those_of_the_reference(self):
        for case, problem, object_, result in self.answers():
            point = result.points[0]
            u = theory.saddle_point(problem)
            widest = max(problem.widths)
            self.assertTrue(point.converged)
            self.assertAlmostEqual(point.action / (theory.action(problem, u) / widest), 1.0, delta=1e-9)
            found = [*point.order_parameters, np.atleast_2d(point.readout_order_parameter)]
            for matrix, known in zip(found, u):
                self.assertLess(np.abs(matrix - known).max(), 1e-5 * np.abs(known).max())
            self.assertLess(theory.gradient_norm(problem, found), 1e-9)
            if case.outputs == 1:
                self.check_which_paths_win(problem, case, found)
            x, x_test = (theory.scaled_features(case.xi[split], problem.variances[0])
                         for split in ("train", "test"))
            labels = case.labels["test"].reshape(P_TEST, -1)
            for u1, predictor, accuracy in (
                    (u[0], point.predictor, point.accuracy),
                    (theory.gaussian_process_limit(problem)[0], result.gaussian_process[0].predictor,
                     result.gaussian_process[0].accuracy)):
                mean, variance = theory.predict(problem, u1, x, x_test)
                np.testing.assert_allclose(predictor.mean.reshape(mean.shape), mean, atol=1e-6)
                np.testing.assert_allclose(predictor.variance.reshape(mean.shape), variance, atol=1e-6)
                self.assertAlmostEqual(accuracy, theory.accuracy(mean, labels), delta=1e-12)
            reported = object_["points"][0]
            self.assertEqual(reported["accuracy"], point.accuracy)
            np.testing.assert_array_equal(reported["U"][0], point.order_parameters[0])
            eigenvalue = np.linalg.eigvalsh(theory.hessian(problem, theory.pack(u)))[0] / widest
            self.assertAlmostEqual(reported["smallest_hessian_eigenvalue"] / eigenvalue, 1.0, delta=1e-4)

    def check_which_paths_win(self, problem, case, found):
        """Eq. 88, written out."""
        x = np.moveaxis(theory.scaled_features(case.xi["train"], problem.variances[0]), 1, 0)  # path, example, feature
        kernel = np.einsum("ab,aie,bje->ij", found[0], x, x)
        inverse = np.linalg.inv(kernel + problem.temperature * np.eye(P))
        v = np.einsum("aie,i->ae", x, inverse @ case.labels["train"].ravel())
        b = np.einsum("aie,ij,bje->ab", x, inverse, x) - v @ v.T
        prior = np.kron(np.eye(case.heads[0]), np.linalg.inv(found[1])) / problem.variances[1]
        np.testing.assert_allclose(np.linalg.inv(found[0]), prior + b / problem.widths[0], atol=1e-6)

    def test_corrected_means_are_those_of_the_reference(self):
        checked = 0
        for _, problem, _, result in self.answers():
            corrected = result.points[0].corrected
            if not corrected.defined or len(theory.pack(theory.gaussian_process_limit(problem))) > 60:
                continue
            mean, deviation = theory.corrected_means(problem, theory.saddle_point(problem))
            for found, known, sd, known_sd in zip(
                    corrected.order_parameters, mean, corrected.order_parameter_deviations, deviation):
                np.testing.assert_allclose(found, known, atol=1e-4 * np.abs(known).max())
                np.testing.assert_allclose(sd, known_sd, atol=1e-4 * np.abs(known_sd).max())
            checked += 1
        self.assertGreaterEqual(checked, 3)


class AlignAndPrune(unittest.TestCase):
    def setUp(self):
        self.case = Case(30, (2, 3))
        self.options = ["--set", "model.widths=[8]", "--set", "model.temperature=0.05"]
        self.problem = self.case.problem((8, 8, 8), (1.0,) * 4, 0.05)
        self.u = theory.saddle_point(self.problem)

    def test_alignment_is_that_of_the_reference(self):
        _, result = solved(self.case.write(), *self.options, verb="align")
        found = result.points[0].alignment
        limit = theory.gaussian_process_limit(self.problem)
        for u1, overlaps, eigenvalues, cumulative in (
                (self.u[0], found.overlaps, found.eigenvalues, found.cumulative),
                (limit[0], found.gaussian_process_overlaps, found.gaussian_process_eigenvalues,
                 found.gaussian_process_cumulative)):
            known_values, known = theory.alignment(theory.kernel(u1, self.problem.kernels, 1),
                                                   self.problem.labels)
            np.testing.assert_allclose(eigenvalues, known_values[:len(eigenvalues)], rtol=1e-6,
                                       atol=1e-9)
            np.testing.assert_allclose(overlaps, known[:len(overlaps)], atol=1e-5)
            np.testing.assert_allclose(cumulative, np.cumsum(overlaps ** 2), atol=1e-12)

    def test_pruning_is_that_of_the_reference(self):
        _, result = solved(self.case.write(), *self.options, verb="prune")
        pruning = result.points[0].pruning
        heads = self.case.heads
        np.testing.assert_allclose(pruning.score, theory.head_scores(self.u[0], heads), atol=1e-6)
        np.testing.assert_allclose(pruning.score_weighted,
                                   theory.head_scores(self.u[0], heads, weighted=True), atol=1e-6)
        x, x_test = (theory.scaled_features(self.case.xi[split], 1.0) for split in ("train", "test"))

        def accuracy(removed):
            u1 = theory.without_heads(self.u[0], heads, list(removed))
            mean, _ = theory.predict(self.problem, u1, x, x_test)
            return theory.accuracy(mean, self.case.labels["test"][:, None])
        np.testing.assert_allclose(pruning.accuracy_without, [accuracy([h]) for h in range(5)])
        for name, curve in (("score", pruning.by_score), ("greedy", pruning.greedy)):
            order = pruning.orders[f"{name}_order"]
            np.testing.assert_allclose(curve, [accuracy(order[:n]) for n in range(len(curve))])
        for order, curve in zip(pruning.orders["random_order"], pruning.random):
            np.testing.assert_allclose(curve, [accuracy(order[:n]) for n in range(len(curve))])
        np.testing.assert_allclose(pruning.random_mean, pruning.random.mean(axis=0))


class Figures(unittest.TestCase):
    def test_every_verb_has_its_figures(self):
        known = {"solve": "convergence", "align": "kernel_alignment", "prune": "pruning"}
        for verb, name in known.items():
            _, result = solved(Case(40, (2, 2)).write(), "--set", "model.widths=[5,50]", verb=verb)
            drawn = figures.draw_all([result])
            self.assertTrue({"accuracy_against_width", "order_parameters", "path_kernels",
                             "readout_and_action", name} <= set(drawn))

    def test_several_outputs_widths_and_temperatures_are_drawn(self):
        data = Case(41, (2, 2), outputs=3).write()
        path = Path(FOLDER.name) / "outputs.h5"
        program.run("solve", data, "-q", "--set", "model.widths=[[5,50,9],[20,50,9]]", "--set",
                    "model.temperature=[0.1,0.3]", "-o", path, "--force")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(cli.main(["plot", str(path), "-o", FOLDER.name]), 0)
            self.assertEqual(cli.main(["table", str(path)]), 0)
        self.assertIn("5,50,9  0.1", out.getvalue())


if __name__ == "__main__":
    unittest.main()
