"""The verbs in memory (headway.solve and its like) against the program, bit by bit, and with arrays of every layout."""

import copy
import dataclasses
import math
import pickle
import subprocess
import sys
import threading
import unittest
import warnings

import numpy as np

import headway
import program
from bindings import GOLDEN, differences, file_of, four_paths, setUpModule, small  # noqa: F401

SOURCE = {"study", "study_toml", "study_hash", "data_hash"}


class SameAsTheProgram(unittest.TestCase):
    def compare(self, verb, study, result, *arguments, apart=frozenset()):
        theirs, ours = file_of(f"{verb}-program.h5"), file_of(f"{verb}-python.h5")
        program.run(verb, study, *arguments, "-q", "--force", "-o", theirs)
        result.save(ours, force=True)
        self.assertEqual(differences(theirs, ours, apart), [])

    def test_arrays_of_the_four_path_study_give_the_same(self):
        result = headway.solve(**four_paths(), widths=[10, 100], temperature=0.01)
        self.compare("solve", GOLDEN / "hmm4_paths.h5", result, "--set", "model.widths=[10, 100]",
                     apart=SOURCE)

    def test_a_study_by_its_name_gives_the_same_in_every_verb_of_the_theory(self):
        few = ["--set", "model.widths=[10]"]
        solved = headway.solve("hmm-four-paths", widths=[10])
        self.compare("solve", "hmm-four-paths", solved, *few)
        self.compare("align", "hmm-four-paths", headway.align(solved), *few)
        self.compare("prune", "hmm-four-paths", headway.prune("hmm-four-paths", widths=[10]), *few)

    def test_draws_are_the_same(self):
        drawn = headway.sample(**four_paths(), widths=[10], temperature=0.01, sampler="exact", chains=2,
                               draws=400, warmup=300, seed=3)
        self.compare("sample", GOLDEN / "hmm4_paths.h5", drawn, "--seed", "3", "--set",
                     "model.widths=[10]", "--set", "sample.chains=2", "--set", "sample.draws=400",
                     "--set", "sample.warmup=300", apart=SOURCE)

    def test_inputs_with_each_form_of_attention_give_the_same(self):
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
    """A result in memory is read when one of its fields is first asked for. A user notices nothing but the time."""

    LOOKS = {"a field": lambda result: result, "a default": lambda result: (result.set_names, result)[1],
             "pickle": lambda result: pickle.loads(pickle.dumps(result)), "copy": copy.copy,
             "deepcopy": copy.deepcopy, "replace": lambda result: dataclasses.replace(result),
             "a line": lambda result: (repr(result), result)[1]}

    def test_whatever_looks_first_finds_everything(self):
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

    def test_two_threads_may_look_at_once(self):
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

    def test_a_result_lends_what_it_computed_in_memory_and_writes_no_file(self):
        result = headway.solve(**small())
        aligned = headway.align(result)
        self.assertEqual(aligned.points[0].action, result.points[0].action)
        self.assertNotIn("_file", set(vars(result)))


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

    def test_the_action_is_infinite_where_nothing_is_positive_definite(self):
        value, _ = headway.action(**small()).evaluate([-np.eye(4), np.eye(2), 1.0])
        self.assertEqual(value, math.inf)

    def test_the_kernel_is_that_of_its_formula(self):
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

    def test_single_precision_may_stand_in_every_array(self):
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

    def test_labels_of_every_form_mean_the_same(self):
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
        for kind in (np.float64, np.float32):
            features = small()["features"].astype(kind)
            data = headway.Dataset(features=features, labels=np.resize([1, -1], 12), heads=[2, 2])._checked()
            self.assertTrue(np.shares_memory(data._arrays["train/path_features"], features))

    def test_the_hash_tells_data_apart(self):
        hashes = {headway.solve(**data).provenance["data_hash"]
                  for data in (small(), small(seed=2), small(heads=[4]), small(readout="mean"))}
        self.assertEqual(len(hashes), 4)
        self.assertIn(headway.solve(**small()).provenance["data_hash"], hashes)


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
            self.assertIn("memory.h5: was made from arrays in memory, which it does not hold; in Python, give them again", done.stderr)
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


class DrawsOfAResult(unittest.TestCase):
    SMALL = {"widths": [100], "settings": {"task.train_examples": 20, "task.test_examples": 30}}

    def test_a_result_in_memory_lends_its_draws_as_its_file_does(self):
        sampled = headway.sample("hmm-four-paths", **self.SMALL, draws=400, warmup=300, seed=3)
        file = sampled.save(file_of("sampled.h5"), overwrite=True)
        of_memory, of_file = headway.prune(sampled), headway.prune(file)
        self.assertEqual(of_memory.points[0].pruning.posterior_errors, "draws")
        for result in (of_memory, of_file):
            result.save(file_of(f"{'m' if result is of_memory else 'f'}.h5"), overwrite=True)
        self.assertEqual(differences(file_of("m.h5"), file_of("f.h5"), {"study_hash", "study_toml", "data_file"}), [])

    def test_draws_that_are_not_usable_are_not_used(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            few = headway.sample("hmm-four-paths", **self.SMALL, draws=2, warmup=0, chains=2, seed=3)
        for study in (few, few.save(file_of("few.h5"), overwrite=True)):
            with self.assertWarnsRegex(UserWarning, "the draws of the result are not used"):
                pruned = headway.prune(study)
            self.assertEqual(pruned.points[0].pruning.posterior_errors, "draws")  # of prune's own chains


if __name__ == "__main__":
    unittest.main()
