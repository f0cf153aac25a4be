"""Training on examples of one's own: from memory, from a file and by the program."""

import json
import re
import subprocess
import unittest
import warnings

import h5py
import numpy as np

import headway
import program
from headway.figures import latents as latents_figures
from bindings import differences, file_of, setUpModule  # noqa: F401

SMALL = {"layers": 1, "model_dim": 8, "heads": 2, "query_dim": 8, "value_dim": 8, "mlp_dim": 8, "steps": 12, "batch": 16,
         "warmup_steps": 0, "eval_every": 6, "eval_examples": 40, "threads": 1, "progress": False}


def same_ends(seed, n=200, length=5):
    """Is the first token the last one?"""
    x = np.random.default_rng(seed).integers(0, 4, (n, length))
    x[:: 2, -1] = x[:: 2, 0]
    return x, (x[:, 0] == x[:, -1]).astype(int)


def copies(seed, n=200, length=5):
    """Every token asks for the one before it; the first asks for nothing."""
    x = np.random.default_rng(seed).integers(0, 4, (n, length))
    y = np.roll(x, 1, axis=1)
    y[:, 0] = -100
    mask = np.ones_like(x)
    mask[:, 0] = 0
    return x, y, mask


def averages(seed, n=200, length=4, width=3):
    x = np.random.default_rng(seed).standard_normal((n, length, width))
    return x, x.mean(axis=1)[:, :2]


def bytes_of(result):
    """The weights at the end, to compare them to the bit."""
    return {name: value.tobytes() for name, value in result.runs[0].weights.items()}


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.result = headway.train(tokens=same_ends(1)[0], targets=same_ends(1)[1], sets={"test": same_ends(2)}, **SMALL)
        except headway.UnavailableError as error:
            raise unittest.SkipTest(str(error)) from None

    def trained(self, **given):
        return headway.train(**given, **SMALL)

    def test_a_file_gives_the_numbers_of_memory_and_of_the_program(self):
        x, y = same_ends(1)
        path = headway.write_examples(file_of("own.h5"), tokens=x, targets=y, sets={"test": same_ends(2)}, overwrite=True)
        study = file_of("own.toml")
        lines = [f"{key} = {value}" for key, value in SMALL.items() if key not in ("threads", "progress")]
        study.write_text('name = "arrays"\nthreads = 1\n[task]\nkind = "arrays"\nfile = "own.h5"\n[train]\n' + "\n".join(lines) + "\n")
        from_file = headway.train(study, progress=False)
        self.assertEqual(bytes_of(from_file), bytes_of(self.result))
        self.result.save(file_of("memory.h5"), overwrite=True)
        from_file.save(file_of("file.h5"), overwrite=True)
        apart = {"study_toml", "study_hash", "data_hash", "training_seconds", "steps_per_second", "flops_per_second"}
        different = [name for name in differences(file_of("memory.h5"), file_of("file.h5"), apart) if "curves" not in name]
        self.assertEqual(different, [])
        done = subprocess.run([program.executable(), "train", study, "-o", file_of("program.h5"), "-q", "--force"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        different = [name for name in differences(file_of("program.h5"), file_of("file.h5"), apart) if "curves" not in name]
        self.assertEqual(different, [])  # curves have steps a second
        self.assertEqual(path, file_of("own.h5"))

    def test_every_kind_of_target_has_its_metrics(self):
        x, y, mask = copies(1)
        reals, means = averages(1)
        every = np.cumsum(reals, axis=1)
        signs = np.where(reals[:, 0, 0] > 0, 1.0, -1.0)
        for given, wanted in (({"tokens": x, "targets": y, "loss_mask": mask}, {"loss", "accuracy"}),
                              ({"tokens": x, "targets": x}, {"loss", "accuracy", "perplexity"}),
                              ({"vectors": reals, "targets": x[:, 0]}, {"loss", "accuracy"}),
                              ({"vectors": reals, "targets": means}, {"loss", "r2_pooled"}),
                              ({"vectors": reals, "targets": means[:, 0]}, {"loss", "r2_pooled"}),
                              ({"vectors": reals, "targets": every}, {"loss", "r2", "r2_pooled"}),
                              ({"vectors": reals, "targets": signs}, {"loss", "r2_pooled", "accuracy"})):
            with self.subTest(wanted=wanted):
                inputs = given.get("tokens", given.get("vectors"))
                rest = (given["loss_mask"],) if "loss_mask" in given else ()
                result = self.trained(**given, sets={"held_out": (inputs[:50], given["targets"][:50], *(r[:50] for r in rest))})
                found = result.runs[0].final["held_out"]
                self.assertEqual(set(found) - {"examples"}, wanted)
                self.assertTrue(np.isfinite(found["loss"]))

    def test_it_learns(self):
        options = SMALL | {"steps": 400, "learning_rate": 0.01, "batch": 64, "eval_every": 0, "eval_examples": 200}
        x, y, mask = copies(1, n=2000)
        result = headway.train(tokens=x, targets=y, loss_mask=mask, sets={"test": copies(2)}, **options)
        self.assertGreater(result.runs[0].final["test"]["accuracy"], 0.9)

    def test_order_and_seed(self):
        x, y = same_ends(1)
        again = self.trained(tokens=x.astype(np.int8), targets=y.astype(bool), sets={"test": same_ends(2)})
        self.assertEqual(bytes_of(again), bytes_of(self.result))
        for settings in ({"task.seed": 9}, {"task.order": "file"}):
            self.assertNotEqual(bytes_of(self.trained(tokens=x, targets=y, settings=settings)), bytes_of(self.result))

    def test_other_verbs_take_such_a_network(self):
        evaluated = headway.evaluate(self.result, progress=False)
        self.assertEqual(evaluated.kind, "evaluate")
        removed = headway.prune_network(self.result, cumulative=False, random_orders=1, examples=50, progress=False)
        self.assertEqual(len(removed.runs[0].heads.layer), 2)
        with self.assertRaisesRegex(headway.BadDataError, "^train: has no factors; allowed: .* integers"):
            headway.latents(self.result, progress=False)

    def test_factors_of_own_examples_are_decoded_from_codes(self):
        def pairs(seed, held_out, n=120):
            """Two factors of four values; of the pairs that are held out the sum is 3."""
            rng = np.random.default_rng(seed)
            known = np.array([(a, b) for a in range(4) for b in range(4) if (a + b == 3) == held_out])
            factors = known[rng.integers(0, len(known), n)]
            x = np.concatenate([factors, 4 + rng.integers(0, 3, (n, 3))], axis=1)
            return {"tokens": x, "targets": factors.sum(1) % 3, "factors": {"size": factors[:, 1], "hue": factors[:, 0]}}
        train, held_out = pairs(1, False), pairs(2, True)
        trained = self.trained(**train, sets={"held_out": held_out}, settings={"task.order": "file"})
        options = {"progress": False, "examples": 100, "shuffles": 2}
        codes = headway.latents(trained, **options)
        run = codes.runs[0]
        layer = run.layers[0]
        self.assertEqual([decoder.name for decoder in layer.decoders], ["hue", "size", "answer"])
        self.assertEqual(layer.similarity.labels, tuple(f"{name}={value}" for name in ("hue", "size") for value in range(4)))
        for split, given in (("train", train), ("held_out", held_out)):
            of_keys = layer.codes[split].reshape(100, 5, 2)  # example, key, head
            np.testing.assert_allclose(of_keys.sum(axis=1), 1.0, atol=1e-5)  # softmax
            wanted = np.stack([given["factors"]["hue"], 4 + given["factors"]["size"]], axis=1)[:100]
            np.testing.assert_array_equal(run.labels[split].label, wanted)
            np.testing.assert_array_equal(run.labels[split].answer, given["targets"][:100])
        self.assertEqual(set(run.labels["train"].task) & set(run.labels["held_out"].task), set())
        self.check_figures(codes)
        headway.write_examples(file_of("pairs.h5"), **train, sets={"held_out": held_out}, overwrite=True)
        study = file_of("pairs.toml")
        lines = [f"{key} = {value}" for key, value in SMALL.items() if key not in ("threads", "progress")]
        study.write_text('name = "arrays"\nthreads = 1\n[task]\nkind = "arrays"\nfile = "pairs.h5"\norder = "file"\n[train]\n'
                         + "\n".join(lines) + "\n")
        of_file = headway.latents(headway.train(study, progress=False), **options)
        np.testing.assert_array_equal(of_file.runs[0].layers[0].codes["held_out"], layer.codes["held_out"])
        hidden = np.arange(len(train["targets"])) % 2  # the answer of every other example
        masked = {"targets": np.tile(train["targets"][:, None], 5), "loss_mask": np.column_stack([np.ones((len(hidden), 4), int), hidden])}
        of_masked = headway.latents(self.trained(**train | masked, sets={"held_out": held_out | {
            "targets": np.tile(held_out["targets"][:, None], 5)}}), **options)
        self.assertEqual([decoder.name for decoder in of_masked.runs[0].layers[0].decoders], ["hue", "size"])
        constant = {"factors": train["factors"] | {"shade": np.ones(len(hidden), int)}}
        with self.assertRaisesRegex(headway.BadDataError, "^train: factors/shade: is 1 in all 100 examples .*; allowed: at least two values"):
            headway.latents(self.trained(**train | constant, sets={"held_out": held_out | {
                "factors": held_out["factors"] | {"shade": np.ones(len(hidden), int)}}}), **options)
        with self.assertRaisesRegex(headway.BadDataError, "^has neither a set held_out nor test; allowed: one of them"):
            headway.latents(self.trained(**train), **options)
        with self.assertRaisesRegex(headway.BadDataError, "^held_out: has no factors"):
            del held_out["factors"]
            headway.latents(self.trained(**train, sets={"held_out": held_out}), **options)

    def check_figures(self, codes):
        """Panels have the names of the factors, and a score below the axis is a triangle at its end."""
        run = codes.runs[0]
        self.assertEqual([one.title for one in latents_figures._colourings(run, run.layers[0])], ["hue", "size"])
        run.all_layers.decoder("answer").scores["held_out"] = -2.0
        run.all_layers.decoder("answer").scores["untrained"] = 0.5
        figures = codes.plot("latent_decoding", "latent_similarity")
        panels = figures["latent_decoding"].axes[:3]
        self.assertEqual([axes.get_title() or axes.get_title(loc="left") for axes in panels], ["hue", "size", "the answer"])
        triangles = [[line for line in axes.lines if line.get_marker() == "v"] for axes in panels]
        self.assertEqual([len(found) for found in triangles[:2]], [0, 0])
        self.assertIn(1.0, np.concatenate([line.get_xdata() for line in triangles[2]]).round())  # the codes of all layers
        self.assertIn("values of factors", " ".join(text.get_text() for text in figures["latent_similarity"].texts))

    def test_it_predicts_new_tokens_of_arrays_and_of_a_file(self):
        x, y = same_ends(2)
        whole = headway.train(tokens=x, targets=y, **SMALL | {"eval_examples": len(x)})
        answers = headway.predict(whole, tokens=x).groups[0].sets["inputs"]
        self.assertEqual(headway.evaluate(whole, progress=False).runs[0].evaluations["train"]["accuracy"], np.mean(answers.predicted_class == y))
        answers = headway.predict(self.result, tokens=x).groups[0].sets["inputs"]
        as_numbers = headway.predict(self.result, inputs=x[..., np.newaxis]).groups[0].sets["inputs"]
        np.testing.assert_array_equal(as_numbers.mean, answers.mean)
        path = headway.write_examples(file_of("new.h5"), tokens=x, overwrite=True)
        of_file = headway.predict(self.result, path).groups[0].sets["train"]
        np.testing.assert_array_equal(of_file.mean, answers.mean)
        saved = self.result.save(file_of("predicts.h5"), overwrite=True)  # which holds no examples: the networks need none
        np.testing.assert_array_equal(headway.predict(saved, tokens=x).groups[0].sets["inputs"].mean, answers.mean)
        np.testing.assert_array_equal(headway.predict(headway.read_result(saved), path).groups[0].sets["train"].mean, answers.mean)
        done = subprocess.run([program.executable(), "evaluate", saved], capture_output=True, text=True, check=False)
        self.assertIn("which it does not hold; headway.write_examples in Python puts them into a file", done.stderr)
        with self.assertRaisesRegex(headway.UnreadableFileError, "headway.write_examples puts them into a file"):
            headway.prune_network(saved, progress=False)
        for words, arguments in (("To predict on it:    headway predict RESULT.h5", ["inspect", path]), (": valid", ["validate", path])):
            done = subprocess.run([program.executable(), *arguments], capture_output=True, text=True, check=False)
            self.assertIn(words, done.stdout + done.stderr)
        for words, given in (("tokens: token 1 of example 2 is 9; allowed: the ids 0 to 3", {"tokens": np.where(np.arange(15).reshape(3, 5) == 11, 9, 0)}),
                             ("tokens: has 4 tokens an example; allowed: 5", {"tokens": x[:, 1:]}),
                             ("inputs: has 2 numbers a token; allowed: one, its id from 0 to 3", {"inputs": np.ones((2, 5, 2))}),
                             ("vectors: shape [2, 5]", {"vectors": np.ones((2, 5))}),
                             ("has both tokens and vectors", {"tokens": x, "vectors": x})):
            with self.assertRaises(headway.HeadwayError) as caught:
                headway.predict(self.result, **given)
            self.assertIn(words, str(caught.exception))
        for words, arrays in (("bad.h5: train: token 0 of example 0 is 4; allowed: the ids 0 to 3", {"tokens": x + 4 - x[0, 0]}),
                              ("bad.h5: train: has both tokens and vectors", {"tokens": x, "vectors": np.ones((2, 5, 1))}),
                              ("bad.h5: train/vectors: has shape [2, 5]; allowed: numbers [n, length, width]", {"vectors": np.ones((2, 5))})):
            bad = headway.write_examples(file_of("bad.h5"), **arrays, overwrite=True)
            with self.assertRaisesRegex(headway.BadDataError, re.escape(words)):
                headway.predict(self.result, bad)

    def test_a_file_of_another_program_needs_no_attribute(self):
        x, y = same_ends(1)
        with h5py.File(file_of("plain.h5"), "w") as file:
            file["train/tokens"], file["train/targets"] = x, y
        settings = [f"--set=train.{key}={value}" for key, value in SMALL.items() if key not in ("threads", "progress")]
        for command in (["validate", file_of("plain.h5")], ["train", file_of("plain.h5"), *settings, "--dry-run"]):
            done = subprocess.run([program.executable(), *command], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
        with h5py.File(file_of("other.h5"), "w") as file:
            file["train/numbers"] = x
        done = subprocess.run([program.executable(), "train", file_of("other.h5")], capture_output=True, text=True, check=False)
        self.assertIn("must be a study, a data set or a result", done.stderr)

    def test_a_saved_result_says_that_it_lacks_its_arrays(self):
        path = self.result.save(file_of("lacks.h5"), overwrite=True)
        with self.assertRaisesRegex(headway.UnreadableFileError, "made from arrays in memory, which it does not hold.*write_examples"):
            headway.evaluate(path, progress=False)
        x, y = same_ends(1)
        again = headway.train(path, tokens=x, targets=y, sets={"test": same_ends(2)}, progress=False)
        self.assertEqual(bytes_of(again), bytes_of(self.result))
        with self.assertRaisesRegex(headway.BadDataError, "not those that the result was made from"):
            headway.train(path, tokens=x, targets=1 - y, progress=False)


class Refusals(unittest.TestCase):
    def refused(self, words, kind=headway.BadDataError, **given):
        with self.assertRaises(kind) as caught:
            headway.train(**given, dry_run=True)
        self.assertIn(words, str(caught.exception))
        self.assertNotIn("arrays in memory", str(caught.exception))

    def test_bad_arrays_are_refused_by_argument_place_and_value(self):
        x, y = same_ends(1, 6)
        bad = y.astype(float)
        bad[3] = np.nan
        self.refused("targets[3]: nan; allowed: finite numbers", tokens=x, targets=bad)
        self.refused("sets['held_out'][1][2]: 7; allowed: classes from 0 to 1", tokens=x, targets=y,
                     sets={"held_out": (x, np.where(np.arange(6) == 2, 7, y))})
        self.refused("sets['a'][0]: has shape [6, 4], and tokens has [6, 5]; allowed: one length", tokens=x, targets=y,
                     sets={"a": (x[:, 1:], y)})
        self.refused("loss_mask: hides every target of train", tokens=x, targets=x, loss_mask=np.zeros((6, 5)))
        self.refused("tokens: is not a rectangular array of numbers", tokens=[[1, 2], [3]], targets=[0, 1])
        self.refused("tokens: has real numbers; allowed: integers", tokens=x.astype(float), targets=y)
        self.refused("vectors: has type complex128", vectors=np.ones((6, 5, 1), complex), targets=y)
        self.refused("targets: has shape [5]; allowed: classes as integers", tokens=x, targets=y[:5])
        self.refused('sets: "train" is', tokens=x, targets=y, sets={"train": (x, y)})
        self.refused("sets['b']: has the unknown key 'labels'", tokens=x, targets=y, sets={"b": {"tokens": x, "labels": y}})
        self.refused("train: has neither tokens nor vectors", targets=y)
        self.refused("factors['a/b']: is not a valid", tokens=x, targets=y, factors={"a/b": y})
        self.refused("factors['hue']: are words; allowed: whole numbers from 0", tokens=x, targets=y, factors={"hue": ["red", "blue"] * 3})
        self.refused("factors['0']: is not a valid", tokens=x, targets=y, factors={0: y})
        self.refused("has both the study", headway.UsageError, study="fuzzy-logic-small", tokens=x, targets=y)
        self.refused("needs a study, a result, or the path of one, or tokens", headway.UsageError)

    def test_equal_targets_are_pointed_out(self):
        x, _ = same_ends(1, 6)
        with self.assertWarnsRegex(UserWarning, "targets: are all 1: there is nothing to tell apart"):
            headway.train(tokens=x, targets=np.ones(6, int), dry_run=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            headway.train(tokens=x, targets=np.arange(6), dry_run=True)

    def test_files_are_refused_by_group_and_type(self):
        x, y = same_ends(1, 6)

        def message(change):
            path = headway.write_examples(file_of("bad.h5"), tokens=x, targets=y, sets={"test": (x, y), "far": (x, y)}, overwrite=True)
            with h5py.File(path, "r+") as file:
                change(file)
            toml = file_of("bad.toml")
            toml.write_text('[task]\nkind = "arrays"\nfile = "bad.h5"\n')
            with self.assertRaises(headway.HeadwayError) as caught:
                headway.train(toml, dry_run=True)
            return str(caught.exception)

        def ragged(file):
            del file["train/tokens"]
            file.create_dataset("train/tokens", (6,), h5py.vlen_dtype(np.int64))[0] = [1, 2]
        for change, words in ((lambda f: f.__delitem__("train"), "bad.h5: train: is missing; allowed: a group with tokens"),
                              (lambda f: f.__delitem__("test/targets"), "bad.h5: test: has no targets"),
                              (lambda f: f.move("sets/far", "sets/9"), "sets/9"),
                              (lambda f: f.move("train/targets", "train/target"), 'train/target: is no array of examples; allowed: tokens, '
                               'vectors, targets, loss_mask, factors (did you mean "targets"?)'),
                              (lambda f: f.attrs.__setitem__("schema_name", "headway-dataset"), "A data set of the theory has other arrays"),
                              (ragged, "train/tokens: type lists of different lengths")):
            self.assertIn(words, message(change))

    def test_a_damaged_file_is_noticed(self):
        x, y = same_ends(1, 6)
        path = headway.write_examples(file_of("own2.h5"), tokens=x, targets=y, overwrite=True)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        toml = file_of("own2.toml")
        toml.write_text('[task]\nkind = "arrays"\nfile = "own2.h5"\n')
        with self.assertRaisesRegex(headway.BadDataError, "damaged"):
            headway.train(toml, dry_run=True)


class Memory(unittest.TestCase):
    def test_a_large_file_is_not_held(self):
        """640 MB as the trainer has them; the file has the same numbers packed."""
        rows, length = 1_000_000, 160
        path = file_of("large.h5")
        with h5py.File(path, "w") as file:
            tokens = file.create_dataset("train/tokens", (rows, length), np.uint8, chunks=(4096, length), compression="gzip", compression_opts=1)
            row = np.resize(np.arange(7, dtype=np.uint8), length)
            block = np.broadcast_to(row, (20_000, length))
            for begin in range(0, rows, 20_000):
                tokens[begin:begin + 20_000] = block
            file["train/targets"] = np.resize([0, 1], rows).astype(np.uint8)
        toml = file_of("large.toml")
        toml.write_text('threads = 1\n[task]\nkind = "arrays"\nfile = "large.h5"\n[train]\nlayers = 1\nmodel_dim = 8\nheads = 2\n'
                        "query_dim = 8\nvalue_dim = 8\nmlp_dim = 8\nsteps = 3\nbatch = 64\nwarmup_steps = 0\neval_examples = 64\n")
        code = ("import json, resource, subprocess, sys; done = subprocess.run(sys.argv[1:], capture_output=True, text=True); "
                "print(json.dumps([done.returncode, done.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))")
        told = subprocess.run(["/usr/bin/python3", "-c", code, program.executable(), "train", toml, "--json"], capture_output=True, text=True,
                              check=True)
        returncode, errors, kibibytes = json.loads(told.stdout)
        if "LibTorch" in errors and returncode == 69:
            self.skipTest(errors)
        self.assertEqual(returncode, 0, errors)
        self.assertLess(kibibytes / 1024, 600)


if __name__ == "__main__":
    unittest.main()
