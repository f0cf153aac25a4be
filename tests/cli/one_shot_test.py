"""One-shot images on the command line: `headway train` on drawings, `headway extract`, and the theory on it."""

import gzip
import json
import os
import shutil
import signal
import struct
import subprocess
import time
import unittest
import zlib

import h5py
import numpy as np

from support import PROGRAM, STUDIES, ProgramTest, run

SHIPPED = os.path.join(STUDIES, "..", "omniglot", "images_background_small1.zip")
TINY = f"""name = "drawings"
seed = 2
[task]
kind = "omniglot"
files = "drawings"
validation = 0.2
test = 0.3
[train]
network = "linear_value"
layers = 2
heads = 2
model_dim = 8
query_dim = 6
keys_start_as_queries = true
steps = 40
batch = 8
warmup_steps = 2
eval_every = 10
eval_examples = 20
log_every = 5
checkpoint_every = 4
[extract]
train_examples = 30
test_examples = 20
validation_examples = 10
out_of_distribution_examples = 12
"""

def png(pixels):
    """A grey PNG of [height, width] bytes."""
    height, width = pixels.shape

    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def idx(magic, *sizes, data):
    return struct.pack(f">{1 + len(sizes)}I", magic, *sizes) + data


class OneShotTest(ProgramTest):
    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(5)
        for character in range(10):
            folder = self.path(f"drawings/Alphabet{character % 2}/character{character:02d}")
            os.makedirs(folder)
            pattern = rng.integers(0, 2, size=(8, 8))
            for drawing in range(4):
                noisy = np.where(rng.random((8, 8)) < 0.05, 1 - pattern, pattern)
                pixels = np.kron(255 * noisy, np.ones((4, 4))).astype(np.uint8)
                with open(os.path.join(folder, f"{drawing}.png"), "wb") as file:
                    file.write(png(pixels))
        self.tiny = self.write("drawings.toml", TINY)
        pixels = rng.integers(0, 256, size=(12, 28, 28)).astype(np.uint8)
        self.write("images.gz", gzip.compress(idx(0x803, 12, 28, 28, data=pixels.tobytes())))
        self.write("labels.gz", gzip.compress(idx(0x801, 12, data=bytes([1, 7, 3] * 4))))
        one_set = f'{{name="digits", images="{self.path("images.gz")}", labels="{self.path("labels.gz")}"}}'
        self.sets = f"task.out_of_distribution=[{one_set}]"

    def trained(self, *more):
        output = self.path("trained.h5")
        self.check(run("train", self.tiny, "-o", output, *more), 0)
        return output


def can_train():
    plan = run("train", os.path.join(STUDIES, "fuzzy-logic-reference.toml"), "--dry-run", "--json")
    return json.loads(plan.stdout)["can_train"]


needs_training = unittest.skipUnless(can_train(), "this build has no LibTorch")


class Plans(OneShotTest):
    def test_the_shipped_study_has_its_number_of_parameters(self):
        for name in ("omniglot-one-shot", os.path.join(STUDIES, "omniglot-one-shot.toml")):
            process = run("train", name, "--dry-run", "--json", cwd=self.directory)
            self.check(process, 0)
            plan = json.loads(process.stdout)
            self.assertEqual(plan["parameters"],
                             512 * 192 + 2 * (2 * 512 * 192 + 4 * 512 * 512) + 512)
            self.assertEqual(plan["variant"], "linear_value")
            self.assertGreater(plan["flops_per_step"], 1e9)

    def test_bad_settings_are_refused(self):
        folder = self.path("drawings/Alphabet1/character09")
        cases = [
            ("train.mlp_dim=8", 78, ["train.mlp_dim = 8", "linear-value network has"]),
            ("train.heads=4", 78, ["train.query_dim = 6", "train.heads = 4"]),
            ("train.best_split=mnist", 78, ["train.best_split", "validation"]),
            ("task.validation=0.0", 78, ["task.validation = 0"]),
            ("task.test=0.7", 78, ["task."]),
            ("task.fils=3", 78, ["task.fils", 'did you mean "files"']),
            ('task.files="none.zip"', 66, ["none.zip"]),
            (f"task.files={json.dumps(folder)}", 65, ["character09"]),
            (f'task.files="{self.path("images.gz")}"', 65, ["images.gz"]),
            (self.sets.replace("labels.gz", "images.gz"), 65, ["images.gz", "magic"]),
            (self.sets.replace("images.gz", "none.gz"), 66, ["none.gz"]),
        ]
        for setting, code, words in cases:
            with self.subTest(setting=setting):
                self.check(run("train", self.tiny, "--dry-run", "--set", setting), code, *words)

    def test_a_damaged_drawing_is_named(self):
        path = self.path("drawings/Alphabet0/character04/2.png")
        with open(path, "r+b") as file:
            file.seek(45)
            file.write(b"\xff\xff")
        self.check(run("train", self.tiny, "--dry-run"), 65, "2.png")

    def test_too_few_characters_are_refused(self):
        for character in range(3, 10):
            shutil.rmtree(self.path(f"drawings/Alphabet{character % 2}/character{character:02d}"))
        self.check(run("train", self.tiny, "--dry-run"), 65, "drawings", "3")

    def test_verbs_of_the_theory_say_what_to_do(self):
        self.check(run("solve", self.tiny), 78, 'task.kind = "omniglot"', "headway train")


@needs_training
class Training(OneShotTest):
    def test_every_split_has_its_accuracy(self):
        process = run("train", self.tiny, "--set", self.sets, "--json")
        self.check(process, 0)
        summary = json.loads(process.stdout.splitlines()[-1])
        evaluations = summary["runs"][0]["evaluations"]
        self.assertEqual(list(evaluations), ["validation", "test", "digits"])
        for split in evaluations.values():
            self.assertGreaterEqual(split["accuracy"], 0.0)
            self.assertLessEqual(split["accuracy"], 1.0)
            self.assertIn("r2_pooled", split)
        text = run("train", self.tiny, "--set", self.sets).stdout
        for word in ("linear_value", "validation accuracy", "digits accuracy"):
            self.assertIn(word, text)

    def test_a_killed_run_resumes_to_the_same_bits_on_any_threads(self):
        whole = self.trained("--threads", "1")
        output = self.path("resumed.h5")
        arguments = ["train", self.tiny, "-o", output, "--threads", "2"]
        process = subprocess.Popen([PROGRAM, *arguments, "--json"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True)
        for line in process.stdout:
            if json.loads(line).get("step", 0) >= 10:
                break
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        self.check(run(*arguments), 0, "resuming at step")
        with h5py.File(whole) as one, h5py.File(output) as two:
            for group in ("weights", "best_weights"):
                self.assertEqual(len(one["runs/0"][group]), 8)
                for name, values in one["runs/0"][group].items():
                    np.testing.assert_array_equal(values[()], two["runs/0"][group][name][()])


    def test_a_stop_amid_matrix_products_does_no_harm(self):
        """A signal's frame must not land in what a matrix product keeps below the stack pointer."""
        sizes = [word for key in ("model_dim=256", "heads=4", "query_dim=512", "batch=64",
                                  "log_every=1", "steps=100000", "eval_every=0",
                                  "checkpoint_every=0")
                 for word in ("--set", "train." + key)]
        for attempt in range(4):
            with subprocess.Popen([PROGRAM, "train", self.tiny, *sizes, "--json"], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  stdin=subprocess.DEVNULL) as process:
                for _ in range(attempt + 1):
                    process.stdout.readline()
                time.sleep(0.01 * attempt)
                process.send_signal(signal.SIGTERM)
                _, messages = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 130, messages)


@needs_training
class Extracting(OneShotTest):
    def setUp(self):
        super().setUp()
        self.result = self.trained("--set", self.sets)
        self.heads = self.path("heads.h5")

    def test_the_data_set_is_the_network_on_its_task(self):
        process = run("extract", self.result, "-o", self.heads, "--json")
        self.check(process, 0)
        told = json.loads(process.stdout)
        self.assertEqual(told["heads"], [2, 2])
        self.assertEqual([(s["name"], s["examples"]) for s in told["splits"]],
                         [("train", 30), ("test", 20), ("validation", 10), ("digits", 12)])
        with h5py.File(self.result) as result, h5py.File(self.heads) as heads:
            best = result["runs/0/best_weights"]
            self.assertEqual(heads.attrs["readout"], "mean")
            self.assertEqual(heads["train/inputs"].shape, (30, 48, 192))
            for layer in (1, 2):
                for kind in ("query", "key"):
                    np.testing.assert_array_equal(heads[f"attention/{kind}/layer_{layer}"][()],
                                                  best[f"layers.{layer}.{kind}.weight"][()])
            # The network by hand, from the file alone.
            x = heads["test/inputs"][()].astype(float)
            rows = np.full((20, 1, 48), 1 / 48)
            for layer in (2, 1):
                q = np.einsum("psf,hgf->phsg", x, heads[f"attention/query/layer_{layer}"][()])
                k = np.einsum("psf,hgf->phsg", x, heads[f"attention/key/layer_{layer}"][()])
                logits = np.einsum("phsg,phtg->phst", q, k) / np.sqrt(3)
                weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
                weights /= weights.sum(axis=-1, keepdims=True)
                rows = np.einsum("pns,phst->phnt", rows, weights).reshape(20, -1, 48)
            features = np.einsum("pns,psf->pnf", rows, x)
            v = best["readout.weight"][()].astype(float) / np.sqrt(8)
            for layer in (2, 1):
                value = best[f"layers.{layer}.value.weight"][()].astype(float) / np.sqrt(2 * 8)
                v = np.einsum("ni,hij->hnj", v, value).reshape(-1, 8)
            effective = v * np.sqrt(4 * 8)  # V of the theory: without 1 / sqrt(p N_1)
            w = v @ best["input.weight"][()].astype(float) / np.sqrt(192)
            outputs = np.einsum("pnf,nf->pn", features, w)
            np.testing.assert_array_equal(heads["network/input"][()], best["input.weight"][()])
            np.testing.assert_array_equal(heads["network/values/layer_2"][()],
                                          best["layers.2.value.weight"][()])
            np.testing.assert_array_equal(heads["network/readout"][()], best["readout.weight"][()])
            np.testing.assert_allclose(told["U_1"], effective @ effective.T / 8, rtol=1e-5,
                                       atol=1e-7)
            labels = heads["test/labels"][()]
            right = np.mean(outputs.sum(axis=1) * labels > 0)
            evaluated = result["runs/0/curves/test"]
            columns = evaluated.attrs["columns"].split(",")
            step = result["runs/0"].attrs["best_step"]
            row = evaluated[()][evaluated[:, columns.index("step")] == step][0]
            self.assertEqual(row[columns.index("accuracy")], right)
        self.assertEqual(told["splits"][1]["accuracy"], right)
        self.check(run("validate", self.heads), 0)
        self.assertIn("linear-value network", run("inspect", self.heads).stdout)
        solved = run("solve", self.heads, "--set", "model.widths=[10,100]", "--set",
                     "model.temperature=0.1", "--json")
        self.check(solved, 0)
        self.assertEqual(len(json.loads(solved.stdout)["points"]), 2)
        pruned = run("prune", self.heads, "--set", "model.widths=10", "--set",
                     "model.temperature=0.1", "--json")
        self.check(pruned, 0)
        sets = {s["name"]: s for s in json.loads(pruned.stdout)["network"]["sets"]}
        self.assertEqual(sets["test"]["accuracy"], right)
        self.assertAlmostEqual(sets["test"]["mean_squared_error"],
                               np.mean((outputs.sum(axis=1) - labels) ** 2), delta=1e-5)

    def test_the_network_predicts_the_extracted_inputs(self):
        told = json.loads(run("extract", self.result, "-o", self.heads, "--json").stdout)
        found = json.loads(run("predict", self.result, self.heads, "-q", "--json").stdout)["table"][0]["sets"]
        self.assertEqual(list(found), ["train", "test", "digits", "validation"])
        with h5py.File(self.heads) as heads:
            for split in told["splits"]:
                name = split["name"] if split["name"] in ("train", "test") else f"sets/{split['name']}"
                labels, one = heads[f"{name}/labels"][()], found[split["name"]]
                self.assertAlmostEqual(np.mean(np.array(one["predicted_class"]) == labels), split["accuracy"])
                self.assertAlmostEqual(np.mean((np.array(one["mean"]) - labels) ** 2), split["mean_squared_error"], delta=1e-5)
        note = run("predict", self.result, self.heads, "-v").stderr
        self.assertIn("its attention heads are not used", note)

    def test_options_do_what_they_say(self):
        last = json.loads(run("extract", self.result, "--set", " extract.weights =last", "--json",
                              "--set", "extract.out_of_distribution_examples=0").stdout)
        self.assertEqual((last["weights"], last["step"]), ("last", 40))
        self.assertEqual([s["name"] for s in last["splits"]], ["train", "test", "validation"])
        os.remove(self.path("images.gz"))  # the other images of the training run
        self.check(run("extract", self.result), 66, "images.gz")
        fewer = run("extract", self.result, "--json", "-v", "--set", "task.out_of_distribution=[]")
        self.check(fewer, 0)
        self.assertIn("is not checked", fewer.stderr)
        self.assertEqual([s["name"] for s in json.loads(fewer.stdout)["splits"]],
                         ["train", "test", "validation"])

    def test_plan_and_table_say_what_is_extracted(self):
        plan = run("extract", self.result, "--dry-run", "-o", self.heads)
        self.check(plan, 0)
        self.assertIn("30 train", plan.stdout)
        plan_object = json.loads(run("extract", self.result, "--dry-run", "--json").stdout)
        self.assertEqual(plan_object["examples"]["train"], 30)
        self.assertFalse(os.path.exists(self.heads))
        table = run("extract", self.result).stdout
        for word in ("the trained network itself", "validation", "digits", "heads [2, 2]"):
            self.assertIn(word, table)

    def test_a_run_of_a_sweep(self):
        sweep = self.path("sweep.h5")
        self.check(run("train", self.tiny, "--set", "sweep.train.heads=[1,2]", "-o", sweep), 0)
        for number, heads in ((1, [1, 1]), (2, [2, 2])):
            process = run("extract", sweep, "--set", f"extract.run={number}", "--json")
            self.check(process, 0)
            self.assertEqual(json.loads(process.stdout)["heads"], heads)
        self.check(run("extract", sweep, "--set", "extract.run=3"), 78, "extract.run = 3",
                   "from 1 to 2")

    def test_a_run_of_a_sweep_over_files_from_another_directory(self):
        sweep = self.path("sweep.h5")
        sets = 'sweep.task.out_of_distribution=[[{name="d", images="images.gz", labels="labels.gz"}], []]'
        self.check(run("train", self.tiny, "--set", sets, "-o", sweep, cwd=self.directory), 0)
        for number, further in ((1, ["d"]), (2, [])):
            process = run("extract", sweep, "--set", f"extract.run={number}", "--json", cwd="/")
            self.check(process, 0)
            self.assertEqual([one["name"] for one in json.loads(process.stdout)["splits"]],
                             ["train", "test", "validation", *further])

    def test_bad_requests_are_refused(self):
        self.check(run("extract", self.path("none.h5")), 66, "none.h5")
        self.check(run("extract", self.tiny), 65, "drawings.toml", "headway train")
        self.check(run("extract", self.result, "-o", self.result, "--force"), 73, "is the input")
        for setting, words in (("train.heads=1", ["train.heads"]), ("seed=3", ["seed"]),
                               ("task.rotations=true", ["task.rotations"]),
                               ("extract.weights=middle", ['"best", "last"']),
                               ("extract.train_examples=0", ["extract.train_examples = 0"])):
            with self.subTest(setting=setting):
                self.check(run("extract", self.result, "--set", setting), 78, *words)
        self.check(run("extract", self.result, "--set", f"task.files={json.dumps(SHIPPED)}"), 65,
                   "not the images")
        self.check(run("extract", self.result, "--set", f"task.files={json.dumps(SHIPPED)}",
                       "--set", "task.out_of_distribution=[]"), 65, "not the images")
        without = self.path("without.h5")
        self.check(run("train", self.tiny, "--set", "train.keep_weights=false", "-o", without), 0)
        self.check(run("extract", without), 65, "train.keep_weights")
        self.check(run("extract", self.write("x.h5", b"not HDF5")), 65, "x.h5", "headway train")
        for given in (("--layers", "1"), ("--form", "attention"), ("--set", "extract.position=1")):
            self.check(run("extract", self.result, *given), 78, "must be absent", "linear_value")
        self.check(run("prune", self.result, "--set", "prune.removed_as=mean"), 78, "prune.removed_as", "linear_value")

    def test_weights_of_another_architecture_are_refused(self):
        def put(name, values):
            with h5py.File(self.result, "r+") as file:
                weights = file["runs/0/best_weights"]
                old = weights[name][()] if name in weights else None
                if old is not None:
                    del weights[name]
                if values is not None:
                    weights[name] = values
                return old

        value = put("layers.2.value.weight", np.ones((2, 4, 4), np.float32))
        self.check(run("extract", self.result), 65, "trained.h5", "layers.2.value.weight",
                   "[2, 4, 4]")
        put("layers.2.value.weight", value)
        readout = put("readout.weight", None)
        self.check(run("extract", self.result), 65, "trained.h5", "readout.weight is missing")
        put("readout.weight", readout)
        for kind in ("query", "key", "value"):  # a layer less than the study has
            put(f"layers.2.{kind}.weight", None)
        self.check(run("extract", self.result), 65, "trained.h5",
                   "heads [2], 192 features, width 8 and 3 query dims a head: must have 2 layers of 2 heads, "
                   "192 features, width 8 and 3 query dims a head, as in the study")


if __name__ == "__main__":
    unittest.main()
