"""The verbs in memory (headway.solve and its like) against the program, bit by bit, and on wrong arguments."""

import copy
import dataclasses
import gc
import math
import os
import pickle
import subprocess
import sys
import threading
import time
import tracemalloc
import unittest
import warnings
from pathlib import Path

import h5py
import numpy as np

import headway
import program
from bindings import differences, file_of, setUpModule  # noqa: F401

HERE = Path(__file__).resolve().parent
GOLDEN = HERE.parent / "data" / "golden"
SOURCE = {"study", "study_toml", "study_hash", "data_hash"}


def four_paths():
    """The hidden-Markov task with four paths as arrays."""
    with h5py.File(GOLDEN / "hmm4_paths.h5") as file:
        return {"features": file["train/path_features"][()], "labels": file["train/labels"][()],
                "heads": [2, 2], "test_features": file["test/path_features"][()],
                "test_labels": file["test/labels"][()]}


def small(seed=1, examples=12, paths=4, features=5, **more):
    rng = np.random.default_rng(seed)
    return {"features": rng.standard_normal((examples, paths, features)), "heads": [2, 2],
            "labels": np.sign(rng.standard_normal(examples)), "widths": [10],
            "temperature": 0.1} | more


class SameAsTheProgram(unittest.TestCase):
    def compare(self, verb, study, result, *arguments, apart=frozenset()):
        theirs, ours = file_of(f"{verb}-program.h5"), file_of(f"{verb}-python.h5")
        program.run(verb, study, *arguments, "-q", "--force", "-o", theirs)
        result.save(ours, force=True)
        self.assertEqual(differences(theirs, ours, apart), [])

    def test_arrays_of_the_four_path_study(self):
        result = headway.solve(**four_paths(), widths=[10, 100], temperature=0.01)
        self.compare("solve", GOLDEN / "hmm4_paths.h5", result, "--set", "model.widths=[10, 100]",
                     apart=SOURCE)

    def test_a_study_by_its_name_in_every_verb_of_the_theory(self):
        few = ["--set", "model.widths=[10]"]
        solved = headway.solve("hmm-four-paths", widths=[10])
        self.compare("solve", "hmm-four-paths", solved, *few)
        self.compare("align", "hmm-four-paths", headway.align(solved), *few)
        self.compare("prune", "hmm-four-paths", headway.prune("hmm-four-paths", widths=[10]), *few)

    def test_draws(self):
        drawn = headway.sample(**four_paths(), widths=[10], temperature=0.01, sampler="exact", chains=2,
                               draws=400, warmup=300, seed=3)
        self.compare("sample", GOLDEN / "hmm4_paths.h5", drawn, "--seed", "3", "--set",
                     "model.widths=[10]", "--set", "sample.chains=2", "--set", "sample.draws=400",
                     "--set", "sample.warmup=300", apart=SOURCE)

    def test_inputs_with_each_form_of_attention(self):
        rng = np.random.default_rng(5)
        x, y = rng.standard_normal((9, 4, 6)), rng.standard_normal((9, 2))
        mask = np.ones((9, 4))
        mask[3, 2:] = 0
        rows = rng.random((9, 2, 4, 4)) * mask[:, None, None, :]
        rows /= rows.sum(axis=3, keepdims=True)
        forms = {"attention_weights": [rng.standard_normal((2, 6, 6))],
                 "query": [rng.standard_normal((2, 3, 6))]}
        forms = [{"attention_weights": forms["attention_weights"]},
                 {"query": forms["query"], "key": [rng.standard_normal((2, 3, 6))]},
                 {"attention": [rows]}]
        for number, form in enumerate(forms):
            path = file_of(f"form-{number}.h5")
            written = {("train_attention" if name == "attention" else name): value
                       for name, value in form.items()}
            headway.write_dataset(path, train_inputs=x, train_labels=y, train_mask=mask, readout="mean",
                                  overwrite=True, **written)
            result = headway.solve(inputs=x, labels=y, mask=mask, readout="mean", widths=[7],
                                   temperature=0.5, **form)
            self.compare("solve", path, result, "--set", "model.widths=[7]", "--set",
                         "model.temperature=0.5", "--set", "model.readout=mean", apart=SOURCE)

    def test_a_saved_result_reads_as_it_was(self):
        result = headway.solve(**four_paths(), widths=[10], temperature=0.01)
        again = headway.read_result(result.save(file_of("saved.h5"), force=True))
        self.assertEqual(sorted(map(str, again.points[0].attributes.items())),
                         sorted(map(str, result.points[0].attributes.items())))
        for ours, theirs in zip(result.points[0].order_parameters, again.points[0].order_parameters):
            np.testing.assert_array_equal(ours, theirs)
        self.assertEqual(dict(again.provenance), dict(result.provenance))
        self.assertEqual((again.summary, again._repr_html_()), (result.summary, result._repr_html_()))
        self.assertIn("order_parameters", result.plot("order_parameters"))
        for made in (result, again):
            with self.assertRaisesRegex(headway.CannotWriteError, "saved.h5.*overwrite=True"):
                made.save(file_of("saved.h5"))
            with self.assertRaisesRegex(headway.CannotWriteError, "overwrite=True"):
                headway.solve("hmm-four-paths", widths=[10], output=file_of("saved.h5"))
        copied = again.save(file_of("copied.h5"))
        self.assertEqual(copied.read_bytes(), file_of("saved.h5").read_bytes())

    def test_order_parameters_of_a_result_are_used_again(self):
        solved = headway.solve(**small())
        notes = []
        pruned = headway.prune(solved, progress=lambda stage, done, total: notes.append(stage))
        self.assertNotIn("solve", notes)
        self.assertEqual(pruned.points[0].action, solved.points[0].action)
        other = headway.align(solved, temperature=0.3)  # another study on the same data
        self.assertEqual(other.points[0].temperature, 0.3)
        direct = headway.align(**small(temperature=0.3))
        np.testing.assert_array_equal(other.points[0].alignment.overlaps,
                                      direct.points[0].alignment.overlaps)


class ReadAtTheFirstLook(unittest.TestCase):
    """A result in memory reads itself when a field is asked for: nothing but time tells it from one that did."""

    LOOKS = {"a field": lambda result: result, "a default": lambda result: (result.set_names, result)[1],
             "pickle": lambda result: pickle.loads(pickle.dumps(result)), "copy": copy.copy,
             "deepcopy": copy.deepcopy, "replace": lambda result: dataclasses.replace(result),
             "a line": lambda result: (repr(result), result)[1]}

    def test_whatever_looks_first(self):
        read = headway.read_result(headway.solve(**small()).save(file_of("looked.h5"), force=True))
        for name, look in self.LOOKS.items():
            with self.subTest(look=name):
                result = headway.solve(**small())
                self.assertNotIn("points", vars(result))
                seen = look(result)
                self.assertIs(type(seen), headway.Result)
                self.assertEqual((repr(seen), seen.points[0].action, dict(seen.provenance)["data_hash"]),
                                 (repr(read), read.points[0].action, read.provenance["data_hash"]))
                self.assertEqual({field.name for field in dataclasses.fields(seen)} - set(vars(seen)), set())
                np.testing.assert_array_equal(seen.train_labels, read.train_labels)

    def test_two_threads_at_once(self):
        result = headway.solve(**small())
        seen = []
        threads = [threading.Thread(target=lambda: seen.append(result.points[0].action)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, [result.points[0].action] * 8)

    def test_a_copy_computes_on_and_a_field_that_is_none_is_refused(self):
        result = copy.copy(headway.solve(**small()))
        self.assertEqual(headway.align(result).points[0].action, result.points[0].action)
        with self.assertRaisesRegex(AttributeError, "'Result' object has no attribute 'point'"):
            result.point


class ActionAndKernel(unittest.TestCase):
    def test_the_action_at_the_saddle_point(self):
        data = small() | {"widths": [[10, 20, 30]]}
        point = headway.solve(**data).points[0]
        at = [*point.order_parameters, point.readout_order_parameter]
        value, gradient = headway.action(**data).evaluate(at)
        self.assertAlmostEqual(value / 30, point.action, 12)
        self.assertLess(max(np.abs(part).max() for part in gradient) / 30, 1e-6)

    def test_the_gradient_is_that_of_the_value(self):
        action = headway.action(**small())
        rng = np.random.default_rng(3)
        matrices = [a @ a.T + np.eye(len(a)) for a in (rng.standard_normal((n, n)) for n in (4, 2, 1))]
        _, gradient = action.evaluate(matrices)
        for layer, matrix in enumerate(matrices):
            direction = rng.standard_normal(matrix.shape)
            direction += direction.T
            step = 1e-5
            sides = [action.evaluate([*matrices[:layer], matrix + sign * step * direction,
                                      *matrices[layer + 1:]])[0] for sign in (1, -1)]
            self.assertAlmostEqual((sides[0] - sides[1]) / (2 * step), np.sum(gradient[layer] * direction), 5)

    def test_nowhere_positive_definite(self):
        value, _ = headway.action(**small()).evaluate([-np.eye(4), np.eye(2), 1.0])
        self.assertEqual(value, math.inf)

    def test_the_kernel(self):
        data, rng = small(), np.random.default_rng(4)
        xi, u = data["features"], rng.standard_normal((4, 4))
        u = u @ u.T
        other = rng.standard_normal((7, 4, 5))
        expected = 2.0 / 20 * np.einsum("ab,man,kbn->mk", u, xi, other)
        found = headway.kernel(features=xi, order_parameters=u, other=other, variance=2.0)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(headway.kernel(features=xi, order_parameters=[u, np.eye(2)]),
                                   np.einsum("ab,man,kbn->mk", u, xi, xi) / 20, rtol=1e-12, atol=1e-12)


class Arrays(unittest.TestCase):
    def test_every_layout_gives_the_same(self):
        data = small()
        first = headway.solve(**data).points[0].action
        features = data["features"]
        frozen = features.copy()
        frozen.flags.writeable = False
        wide = np.zeros((24, 4, 10))
        wide[::2, :, ::2] = features
        for same in (np.asfortranarray(features), frozen, wide[::2, :, ::2], features.tolist()):
            self.assertEqual(headway.solve(**data | {"features": same}).points[0].action, first)
        single = features.astype(np.float32)
        self.assertEqual(headway.solve(**data | {"features": single}).points[0].action,
                         headway.solve(**data | {"features": single.astype(float)}).points[0].action)
        half = features.astype(np.float16)
        self.assertEqual(headway.solve(**data | {"features": half}).points[0].action,
                         headway.solve(**data | {"features": half.astype(float)}).points[0].action)

    def test_single_precision_in_every_array(self):
        """Each array is read in pieces, from the row at which a piece begins."""
        rng = np.random.default_rng(7)
        rows = rng.random((9, 2, 4, 4))
        rows /= rows.sum(axis=3, keepdims=True)
        common = {"inputs": rng.standard_normal((9, 4, 6)), "labels": rng.standard_normal((9, 2))}
        forms = ({"attention_weights": [rng.standard_normal((2, 6, 6))]},
                 {"query": [rng.standard_normal((2, 3, 6))], "key": [rng.standard_normal((2, 3, 6))]},
                 {"attention": [rows]})
        for form in forms:
            with self.subTest(form=list(form)):
                single = {name: [a.astype(np.float32) for a in value] if isinstance(value, list)
                          else value.astype(np.float32) for name, value in (common | form).items()}
                double = {name: [a.astype(float) for a in value] if isinstance(value, list)
                          else value.astype(float) for name, value in single.items()}
                points = [headway.solve(**data, widths=[7], temperature=0.5).points[0] for data in (single, double)]
                self.assertEqual(*(point.action for point in points))
                np.testing.assert_array_equal(*(point.order_parameters[0] for point in points))

    def test_labels_of_every_form(self):
        data = small(test_features=small(2)["features"], test_labels=np.resize([1.0, -1.0], 12))
        first = headway.solve(**data).points[0]
        zero_and_one = {name: (data[name] > 0).astype(int) for name in ("labels", "test_labels")}
        for classes in (None, 2):
            point = headway.solve(**data | zero_and_one, classes=classes).points[0]
            self.assertEqual((point.action, point.accuracy), (first.action, first.accuracy))
        real = headway.solve(**data | zero_and_one, classes=0).points[0]
        self.assertTrue(math.isnan(real.accuracy))
        numbers, rows = np.arange(12) % 3, np.eye(3)[np.arange(12) % 3]
        self.assertEqual(headway.solve(**small(labels=numbers), classes=3).points[0].action,
                         headway.solve(**small(labels=rows)).points[0].action)

    def test_what_lies_right_is_not_copied(self):
        from headway.arrays import data_of
        for kind in (np.float64, np.float32):
            features = small()["features"].astype(kind)
            data = data_of({"features": features, "labels": np.ones(12)}, [2, 2])
            self.assertTrue(np.shares_memory(data._arrays["train/path_features"], features))

    def test_the_hash_tells_data_apart(self):
        hashes = {headway.solve(**data).provenance["data_hash"]
                  for data in (small(), small(seed=2), small(heads=[4]), small(readout="mean"))}
        self.assertEqual(len(hashes), 4)
        self.assertIn(headway.solve(**small()).provenance["data_hash"], hashes)


class WrongArguments(unittest.TestCase):
    def refused(self, kind, words, call):
        with self.assertRaises(kind) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_arrays(self):
        good = small()
        labels = good["labels"]
        cases = [
            ({"features": good["features"][:, :3]}, ["heads", "[2, 2]", "p = 3"]),
            ({"features": good["features"][0]}, ["features", "shape [4, 5]", "[P, p, N_0]"]),
            ({"features": np.full((12, 4, 5), np.nan)}, ["features[0, 0, 0]", "nan", "finite"]),
            ({"features": np.full((12, 4, 5), "x")}, ["features", "<U1", "real numbers"]),
            ({"features": good["features"] + 1j}, ["features", "complex128", "real numbers"]),
            ({"features": [[1, 2], [3]]}, ["features", "rectangular"]),
            ({"features": np.zeros((0, 4, 5)), "labels": []}, ["features", "shape [0, 4, 5]", "none zero"]),
            ({"features": object()}, ["features", "object", "real numbers"]),
            ({"features": {}}, ["features", "real numbers"]),
            ({"labels": labels[:5]}, ["labels", "12", "5"]),
            ({"labels": None}, ["labels", "missing"]),
            ({"labels": np.ma.masked_equal(labels, 1)}, ["labels[", "masked"]),
            ({"features": np.ma.masked_less(good["features"], 0)}, ["features[", "masked"]),
            ({"heads": np.ma.array([2, 2], mask=[1, 0])}, ["heads[0]", "masked"]),
            ({"labels": np.where(np.arange(12) == 7, np.inf, labels)}, ["labels[7]", "inf", "finite"]),
            ({"labels": "yes"}, ["labels", "real numbers"]),
            ({"labels": labels.reshape(2, 3, 2)}, ["labels", "shape [2, 3, 2]"]),
            ({"heads": [3, 2]}, ["heads", "3, 2", "p = 4"]),
            ({"heads": None}, ["heads", "missing"]),
            ({"heads": "two"}, ["heads", "two", "whole numbers"]),
            ({"heads": [2.5, 2]}, ["heads", "2.5", "whole numbers"]),
            ({"heads": [-2, -2]}, ["heads", "-2", "positive"]),
            ({"test_features": good["features"]}, ["test_labels", "missing"]),
            ({"test_features": np.zeros((3, 4, 6)), "test_labels": [1, 1, 1]}, ["test_features", "6", "5"]),
            ({"inputs": np.zeros((12, 3, 5))}, ["inputs", "not allowed", "features"]),
            ({"sets": [1]}, ["sets", "mapping"]),
            ({"sets": {"test": {}}}, ["test", "taken"]),
            ({"sets": {"validation": {"features": 1}}}, ["features", "path_features"]),
        ]
        for change, words in cases:
            with self.subTest(change=list(change), words=words), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.refused(headway.BadDataError, words, lambda: headway.solve(**good | change))

    def test_attention(self):
        x, y = np.ones((3, 2, 4)), [1, -1, 1]
        rows = np.full((3, 1, 2, 2), 0.5)
        cases = [({}, ["no attention", "attention"]),
                 ({"attention": rows}, ["attention", "a list"]),
                 ({"attention": [rows[:, :, :1]]}, ["attention[0]", "[3, 1, 1, 2]"]),
                 ({"attention": [rows * 0.9]}, ["attention[0]", "sums to 0.9"]),
                 ({"attention": [-rows]}, ["attention[0]", ">= 0"]),
                 ({"attention": [rows], "attention_weights": [np.eye(4)[None]]}, ["exactly one of"]),
                 ({"query": [np.ones((1, 2, 4))]}, ["key"]),
                 ({"attention": [rows], "mask": np.zeros((3, 2))}, ["mask[0]", "at least one real token"]),
                 ({"attention": [rows], "head_names": ["a"]}, ["head_names"]),
                 ({"attention": [rows], "heads": [1]}, ["heads", "features only"])]
        for change, words in cases:
            with self.subTest(change=list(change)):
                self.refused(headway.BadDataError, words,
                             lambda: headway.solve(inputs=x, labels=y, widths=[10], **change))

    def test_settings(self):
        cases = [
            ({"widths": []}, ["widths"]), ({"widths": [0]}, ["model.widths[1] = 0", "from 1 to"]),
            ({"widths": [[10, 10]]}, ["model.widths", "[10, 10]", "N_a"]),
            ({"widths": "wide"}, ["model.widths", "wide"]), ({"widths": [1.5]}, ["1.5", "integer"]),
            ({"temperature": -1}, ["model.temperature = -1", ">= 0"]),
            ({"temperature": math.nan}, ["model.temperature = nan"]),
            ({"temperature": np.array([0.1, -3.0])}, ["model.temperature", "-3"]),
            ({"variances": [1.0, 2.0]}, ["model.variances", "2 numbers"]),
            ({"readout": "middle"}, ["middle", "last_token"]),
            ({"attention": "softmx"}, ["softmx", "softmax"]),
            ({"threads": -1}, ["threads = -1"]), ({"seed": 1.5}, ["seed = 1.5"]),
            ({"settings": {"solve.corections": "off"}}, ["corections", "corrections"]),
            ({"optimizer": "fast"}, ["optimizer", "fast", "newton"]),
        ]
        for change, words in cases:
            with self.subTest(change=change):
                self.refused((headway.BadStudyError, headway.BadDataError), words,
                             lambda: headway.solve(**small() | change))

    def test_usage(self):
        cases = [
            ({"width": [10]}, ["unknown argument width", "widths"]),
            ({"widths": object()}, ["widths", "object", "allowed"]),
            ({"seed": 2**70}, ["seed", "64 bits"]), ({"settings": 3}, ["settings", "3", "mapping"]),
            ({"progress": "often"}, ["progress", "often", "True"]), ({"readout": 3}, ["readout", "3"]),
            ({"output": "x.h5"}, ["output", "save"]),
            ({"settings": {"model.widths": [20]}}, ["widths = [10]", "settings['model.widths'] = [20]", "one of them"]),
            ({"settings": {"model.temperature": 0.2}}, ["temperature = 0.1", "settings['model.temperature'] = 0.2"]),
            ({"seed": 1, "settings": {"seed": 2}}, ["seed = 1", "settings['seed'] = 2"]),
            ({"max_iterations": 5, "settings": {"solve.max_iterations": 6}}, ["max_iterations = 5", "= 6"]),
        ]
        for change, words in cases:
            with self.subTest(change=change):
                self.refused(headway.UsageError, words, lambda: headway.solve(**small() | change))
        headway.solve(**small(), settings={"model.widths": [10]})  # twice the same
        self.refused(headway.UsageError, ["needs a study, or arrays"], headway.solve)
        self.refused(headway.UsageError, ["hmm", "features"], lambda: headway.solve("hmm", **small()))
        self.refused(headway.UsageError, ["study", "3"], lambda: headway.solve(3))
        self.refused(headway.UsageError, ["study"], lambda: headway.solve("a\0b"))
        self.refused(headway.UnreadableFileError, ["hmm-four-pats", "hmm-four-paths"],
                     lambda: headway.solve("hmm-four-pats"))
        self.refused(headway.UnreadableFileError, ["no-such.toml"], lambda: headway.read_study("no-such.toml"))

    def test_action_and_kernel(self):
        action, xi, unit = headway.action(**small()), small()["features"], np.eye(4)
        self.refused(headway.BadStudyError, ["0 layers", "2"], lambda: action.evaluate([unit]))
        self.refused(headway.BadStudyError, ["order parameters"], lambda: action.evaluate([]))
        self.refused(headway.UsageError, ["order_parameters", "3"], lambda: action.evaluate(3))
        self.refused(headway.BadDataError, ["order_parameters[0]", "finite"],
                     lambda: action.evaluate([unit * np.nan, np.eye(2), 1.0]))
        self.refused(headway.BadDataError, ["order_parameters[1]", "[2]", "square"],
                     lambda: action.evaluate([unit, np.ones(2), 1.0]))
        self.refused(headway.BadDataError, ["order_parameters[1][0, 1]: 0.0", "[1, 0] is 0.5", "symmetric"],
                     lambda: action.evaluate([unit, np.array([[1.0, 0.0], [0.5, 1.0]]), 1.0]))
        action.evaluate([unit + np.triu(np.full((4, 4), 1e-9), 1), np.eye(2), 1.0])  # rounding
        self.refused(headway.BadDataError, ["order_parameters", "[0]", "p = 4"],
                     lambda: headway.kernel(features=xi, order_parameters=[]))
        self.refused(headway.BadDataError, ["order_parameters", "rectangular"],
                     lambda: headway.kernel(features=xi, order_parameters=[[[1, 2], [3]]]))
        self.refused(headway.BadDataError, ["features", "[12, 4]"],
                     lambda: headway.kernel(features=xi[:, :, 0], order_parameters=unit))
        self.refused(headway.BadDataError, ["order_parameters", "[3, 3]", "p = 4"],
                     lambda: headway.kernel(features=xi, order_parameters=np.eye(3)))
        self.refused(headway.BadDataError, ["other", "[12, 3, 5]"],
                     lambda: headway.kernel(features=xi, order_parameters=unit, other=xi[:, :3]))
        self.refused(headway.UsageError, ["variance", "-1"],
                     lambda: headway.kernel(features=xi, order_parameters=unit, variance=-1))


class AtWork(unittest.TestCase):
    def test_progress_and_what_it_raises(self):
        seen = []
        headway.solve(**small(widths=[10, 20]), progress=lambda *now: seen.append(now))
        self.assertIn(("solve", 2.0, 2.0), seen)
        with self.assertRaisesRegex(RuntimeError, "enough"):
            headway.solve(**small(), progress=self.give_up)

    @staticmethod
    def give_up(*_):
        raise RuntimeError("enough")

    def test_other_threads_run_meanwhile(self):
        counted, over = [0], threading.Event()

        def count():
            while not over.is_set():
                counted[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            headway.sample(**small(), draws=3000, warmup=1000, chains=1, threads=1)
        seconds = time.perf_counter() - began
        over.set()
        thread.join()
        self.assertGreater(counted[0], 20 * seconds)  # of 1000 a second at most

    def test_calls_from_several_threads_give_the_bits_of_one(self):
        """OpenBLAS has one number of threads for the process: the first call to end must not give it back."""
        data = small(examples=300, features=60, widths=[10, 20, 30])

        def bits():
            point = headway.solve(**data).points[0]
            return point.action, point.log_evidence, np.asarray(point.order_parameters[0]).tobytes()

        expected, found = bits(), []
        workers = [threading.Thread(target=lambda: found.extend(bits() for _ in range(6))) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(len(found), 48)
        self.assertEqual(set(found), {expected})

    def test_an_interrupt_gives_what_there_is_until_then(self):
        code = """if True:
            import os, signal, threading, warnings, headway, program_bindings_test as t
            warnings.simplefilter("ignore")
            before = signal.getsignal(signal.SIGINT)
            seen = threading.Event()
            def press(*now):
                if now[0].startswith("sampling") and now[1] > 0 and not seen.is_set():
                    seen.set()
                    os.kill(os.getpid(), signal.SIGINT)
            try:
                headway.sample(**t.small(), draws=1000000, warmup=100, chains=1, progress=press)
            except KeyboardInterrupt as stop:
                assert isinstance(stop, headway.Interrupted) and stop.result.partial, stop
                assert stop.result.points[0].samples is not None
                assert signal.getsignal(signal.SIGINT) is before
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                except KeyboardInterrupt:
                    print("stopped")
            """
        ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True,
                               timeout=120)
        self.assertEqual((ended.stdout.strip(), ended.returncode), ("stopped", 0), ended.stderr)

    def test_what_did_not_converge_is_a_value_with_a_warning(self):
        with self.assertWarnsRegex(headway.NotUsableWarning, "not converged"):
            result = headway.solve(**small(), max_iterations=1)
        self.assertFalse(result.points[0].converged)

    def test_a_thousand_calls_leave_nothing(self):
        data = small(examples=40, features=50, threads=1)

        def memory():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        for _ in range(200):
            headway.solve(**data)
        before = memory()
        for _ in range(800):
            headway.solve(**data)
        self.assertLess(memory() - before, 2 << 20)  # one leaked array of each call: 12 MiB
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        headway.solve(**data)
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            headway.solve(**data)
        gc.collect()
        self.assertLess(tracemalloc.get_traced_memory()[0] - first, 100 * 300)  # an array: 1600 each

    def test_a_dry_run_says_what_it_costs(self):
        plan = headway.solve(**small(), dry_run=True)
        self.assertEqual((plan["verb"], plan["train_examples"]), ("solve", 12))

    def test_a_study_with_settings(self):
        study = headway.read_study("hmm-four-paths", {"model.widths": [10], "model.temperature": 0.3})
        self.assertIn("temperature = 0.3", study.text)
        point = headway.solve(study, corrections="off").points[0]
        self.assertEqual((point.temperature, point.corrected.defined), (0.3, False))


class ArraysInMemory(unittest.TestCase):
    """A result of arrays holds none of them: nothing may claim that it can be computed again from its file."""

    def test_the_program_says_so(self):
        result = headway.solve(**small(), optimizer="newton")
        path = result.save(file_of("memory.h5"))
        said = program.run("inspect", path).stdout
        call = "headway.solve(features=..., labels=..., heads=[2, 2], widths=[10], temperature=0.1, optimizer=\"newton\")"
        for words in (call, "It was made from arrays in memory", "run the command above in Python and pass the same arrays again"):
            self.assertIn(words, said)
        self.assertNotIn("headway solve", said)
        self.assertEqual(result.provenance["command"], f"'{call}'")
        for made in (result, headway.read_result(path)):
            self.assertEqual(made.remake.splitlines()[1], call)
            self.assertIn("pass the same arrays again", made.remake)
        page = headway.write_report(path, file_of("memory.html")).read_text(encoding="utf-8")
        self.assertNotIn("headway solve", page)
        self.assertIn("made from arrays in memory", page)
        for verb in ("solve", "align"):
            done = program.run(verb, path, code=66)
            self.assertIn("memory.h5: was made from arrays in memory, which it does not hold; pass them again", done.stderr)
        with self.assertRaisesRegex(headway.UnreadableFileError, "was made from arrays in memory"):
            headway.prune(path)

    def test_a_study_is_remade_by_a_command(self):
        path = headway.solve("hmm-four-paths", widths=[10]).save(file_of("study.h5"))
        said = program.run("inspect", path).stdout
        self.assertIn(f"headway solve {path} -o NEW.h5", said)
        self.assertIn('headway.solve("hmm-four-paths", widths=[10])', said)
        command = headway.read_result(path).remake.splitlines()[1]
        program.run(*command.replace("again.h5", str(file_of("again.h5"))).split()[1:])
        self.assertEqual(differences(path, file_of("again.h5")), [])


class WithoutTheExtension(unittest.TestCase):
    def test_files_are_read_and_the_rest_says_what_is_missing(self):
        path = headway.solve(**small()).save(file_of("plain.h5"), force=True)
        code = f"""if True:
            import sys
            sys.modules["headway._native"] = None
            import headway
            assert headway.read_result({str(path)!r}).points[0].widths == (10, 10, 10)
            try:
                headway.solve("hmm-four-paths")
            except headway.UnavailableError as error:
                assert "headway._native" in str(error) and "make build" in str(error), error
                print("said")
            """
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
        self.assertEqual(ended.stdout.strip(), "said", ended.stderr)


if __name__ == "__main__":
    unittest.main()
