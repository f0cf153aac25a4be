"""`headway train`: plans, refusals, results, JSON lines, weights for others."""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time
import unittest

import h5py
import numpy as np

from support import PROGRAM, STUDIES, measured, names_in, on_terminal, run
from train_support import TEXT, TrainTest, can_train, content, lines, needs_training

# (study, value of --set, exit code, words of the message)
REFUSALS = [
    ("tiny", "train.attention=hila", 78, ['train.attention = "hila"', 'did you mean "hyla"']),
    ("tiny", "train.heads=3", 78, ["train.query_dim = 4", "multiple of train.heads = 3"]),
    ("tiny", "task.held_out=1.0", 78, ["task.held_out = 1", "leaves 0 of 66 tasks for training"]),
    ("tiny", "task.held_out=2.0", 78, ["task.held_out = 2", "<= 1"]),
    ("tiny", "task.terms_per_task=9", 78, ["task.terms_per_task = 9"]),
    ("tiny", "task.features=3", 78, ["task.features", 'kind = "fuzzy_logic"']),
    ("tiny", "train.nonlinearity=rulu", 78, ['train.nonlinearity = "rulu"', '"relu"']),
    ("tiny", "train.warmup_steps=50", 78, ["train.warmup_steps = 50", "below half of train.steps"]),
    ("tiny", "train.steps=0", 78, ["train.steps = 0", "from 1 to"]),
    ("tiny", "train.load_balancing=-1", 78, ["train.load_balancing = -1", ">= 0"]),
    ("tiny", "train.experts=4", 78, ["train.experts = 4", 'train.feed_forward = "mixture"']),
    ("text", "train.position_buckets=4", 78, ["train.position_buckets = 4", '"relative"']),
    ("text", "train.encoder_layers=1", 78, ["train.encoder_layers = 1", "scores all of its"]),
    ("tiny", "train.accumulation=3", 78, ["train.accumulation = 3", "must divide train.batch"]),
    ("tiny", "train.learning_rate=-1", 78, ["train.learning_rate = -1", "> 0"]),
    ("tiny", "train.learning_rate=nan", 78, ["train.learning_rate = nan"]),
    ("tiny", "train.schedule=linear", 78, ['train.schedule = "linear"', '"cosine"']),
    ("tiny", "train.best_split=heldout", 78, ['train.best_split = "heldout"', "held_out"]),
    ("tiny", "train.best_split=train", 78, ["train.best_split", "evaluated"]),
    ("tiny", "train.device=tpu", 78, ['train.device = "tpu"', '"auto", "cpu", "cuda"']),
    ("tiny", "train.lairs=3", 78, ["train.lairs", 'did you mean "layers"']),
    ("tiny", "model.widths=[3]", 78, ["[model]", "belongs to studies of the theory"]),
    ("tiny", "sweep.seed=3", 78, ["sweep.seed = 3", "a list"]),
    ("tiny", "sweep.train.lairs=[3]", 78, ["train.lairs", 'did you mean "layers"']),
    ("tiny", "sweep.train.heads=[2, 3]", 78, ["multiple of train.heads = 3"]),
    ("tiny", "sweep.name=[\"a\"]", 78, ["sweep.name"]),
    ("tiny", "sweep.seed=[1,1]", 78, ["sweep.seed = [1, 1]", "different values"]),
    ("text", "train.causal=false", 78, ["train.causal = false", "text"]),
    ("text", "task.level=words", 78, ['task.level = "words"', '"bytes", "bpe"']),
    ("text", "task.file=none.txt", 66, ["none.txt", "cannot be opened"]),
    ("text", "task.file=latin.txt", 65, ["latin.txt", "line 1, byte 3", "0xe9", "not UTF-8"]),
    ("text", "task.vocabulary=300", 78, ["task.vocabulary = 300", "from 512 to 1e6"]),
    ("text", "task.sequence_length=100000", 78, ["task."]),
    ("small", "seed=1", 78, ['task.kind = "hidden_markov_chain"', "for headway train"]),
    ("small", "train.steps=3", 78, ["[train]", "belongs to studies of headway train"]),
]


class Plans(TrainTest):
    def test_networks_have_the_published_sizes(self):
        larger = "sweep.train=[{layers = 4}, {layers = 8}, {layers = 16}, {width_multiplier = 2}]"
        for study, settings, parameters in (
                ("fuzzy-logic-reference", "task.sequence_length=16", [151009]),
                ("sraven-reference", larger, [402824, 803208, 1603976, 1592072])):
            with self.subTest(study=study):
                process = run("train", os.path.join(STUDIES, study + ".toml"), "--dry-run", "--json",
                              "--set", settings)
                self.check(process, 0)
                plan = json.loads(process.stdout)
                self.assertEqual([one["parameters"] for one in plan["runs"]], parameters)
                for one in plan["runs"]:
                    self.assertEqual(one["variant"], "hyla")
                    self.assertGreater(one["flops_per_step"], 1e8)
                    self.assertIn(one["device"], ("cpu", "cuda"))

    def test_json_is_one_object_on_one_line(self):
        for more in ((), ("--set", "sweep.seed=[1,2]")):
            process = run("train", self.tiny, "--dry-run", "--json", *more)
            self.check(process, 0)
            plan, = lines(process)
            for name in ("parameters", "flops_per_step", "device", "variant"):
                self.assertIn(name, plan)
            self.assertEqual(len(plan["runs"]), 2 if more else 1)

    def test_every_shipped_study_of_training_has_a_plan(self):
        names = [path.name for path in sorted(pathlib.Path(STUDIES).glob("*.toml"))
                 if "[train]" in path.read_text(encoding="utf-8")]
        self.assertGreaterEqual(len(names), 6)
        for name in names:
            with self.subTest(study=name):
                process = run("train", os.path.join(STUDIES, name), "--dry-run")
                if process.returncode == 69 and "bpe" in name:
                    self.check(process, 69, "libsentencepiece-dev")
                    continue
                self.check(process, 0)
                self.assertTrue(process.stdout.startswith(name.removesuffix(".toml") + ":"), process.stdout)
                self.assertIn("flop", process.stdout)

    def test_a_sweep_is_a_grid_and_a_set_key_takes_its_place(self):
        sweep = ["--set", "sweep.seed=[1,2]", "--set",
                 'sweep.train=[{attention = "linear"}, {attention = "hyla", feed_forward = "mixture"}]']
        plan = json.loads(run("train", self.tiny, "--dry-run", "--json", *sweep).stdout)
        self.assertEqual([(one["seed"], one["variant"]) for one in plan["runs"]],
                         [(1, "linear"), (1, "hyla + mixture"), (2, "linear"), (2, "hyla + mixture")])
        self.assertGreater(plan["runs"][1]["parameters"], plan["runs"][0]["parameters"])
        plan = json.loads(run("train", self.tiny, "--dry-run", "--json", *sweep, "--seed",
                              "7").stdout)
        self.assertEqual([one["seed"] for one in plan["runs"]], [7, 7])
        part = json.loads(run("train", self.tiny, "--dry-run", "--json", "--shard", "1/3", *sweep).stdout)
        self.assertEqual([(one["seed"], one["variant"]) for one in part["runs"]], [(1, "hyla + mixture")])
        self.assertIn("1 of 4 runs", run("train", self.tiny, "--dry-run", "--shard", "1/3", *sweep).stdout)
        self.check(run("train", self.tiny, "--dry-run", "--json", "--shard", "7/8", *sweep), 0)
        text = run("train", self.tiny, "--dry-run", *sweep).stdout
        self.assertIn("hyla, feed_forward = mixture", text)

    def test_plans_fit_a_terminal(self):
        for arguments in (("train", self.tiny), ("train", "sraven-small"), ("solve", "hmm-four-paths"), ("sample", "hmm-four-paths")):
            text = on_terminal(72, *arguments, "--dry-run", "-o", self.path("a.h5"))
            wide = [line for line in text.splitlines() if len(line) > 72 and "study hash" not in line]
            self.assertEqual(wide, [], arguments)
            self.assertIn("study hash", text)

    def test_nothing_is_written(self):
        before = sorted(os.listdir(self.directory))
        self.check(run("train", self.tiny, "--dry-run", "-o", self.path("out.h5"), "--export",
                       self.path("w.npz")), 0)
        self.assertEqual(sorted(os.listdir(self.directory)), before)

    def test_keys_are_in_the_help(self):
        text = run("train", "--help").stdout
        for word in ("fuzzy_logic", "sraven", "attention_dropout", "[sweep]", "--export",
                     "sample_tokens", "hyla_deep"):
            self.assertIn(word, text)

    def test_resolved_study_reads_back(self):
        sweep = ["--set", 'sweep.train.attention=["softmax","hyla"]', "--set", "sweep.seed=[1,2]"]
        first = run("inspect", self.tiny, *sweep)
        self.check(first, 0)
        again = self.write("again.toml", first.stdout)
        self.assertEqual(run("inspect", again).stdout, first.stdout)
        self.assertIn('"train.attention" = ["softmax", "hyla"]', first.stdout)


class Refusals(TrainTest):
    def test_bad_settings_are_refused(self):
        before = sorted(os.listdir(self.directory))
        studies = {"tiny": self.tiny, "text": self.text, "small": self.study}
        for study, setting, code, words in REFUSALS:
            with self.subTest(study=study, setting=setting):
                if setting.startswith("task.file="):
                    setting = "task.file=" + json.dumps(self.path(setting.split("=")[1]))
                self.check(run("train", studies[study], "-o", self.path("out.h5"), "--set", setting),
                           code, *words)
                self.assertEqual(sorted(os.listdir(self.directory)), before)

    def test_verbs_of_the_theory_refuse_training_tasks(self):
        for verb in ("solve", "align", "prune", "sample"):
            self.check(run(verb, self.tiny), 78, 'task.kind = "fuzzy_logic"', "headway train")

    def test_bad_paths_of_outputs_are_refused(self):
        self.check(run("train", self.tiny, "--export", self.path("w.pt")), 64, ".safetensors")
        self.check(run("train", self.tiny, "-o", "/proc/none/out.h5"), 73, "none")
        self.check(run("train", self.tiny, "-o", self.tiny), 73, "is the input")
        self.check(run("train", self.text, "-o", self.path("words.txt"), "--force"), 73,
                   "is the input")

    def test_cuda_where_there_is_none(self):
        if shutil.which("nvidia-smi"):
            self.skipTest("this machine may have CUDA")
        for more in ([], ["--dry-run"]):
            self.check(run("train", self.tiny, "--set", "train.device=cuda", *more), 69)

    @unittest.skipIf(can_train(), "this build has LibTorch")
    def test_a_build_without_libtorch_says_so(self):
        self.check(run("train", self.tiny, "-o", self.path("out.h5")), 69, "LibTorch")
        self.assertFalse(os.path.exists(self.path("out.h5")))


class SweptFiles(TrainTest):
    """Sweeps over data: a run trains on its own file, wherever the program is started."""

    def setUp(self):
        super().setUp()
        self.write("other.txt", "zwei, drei, vier! und noch etwas anderes? " * 9)
        self.swept = self.write(
            "swept.toml", TEXT + '[sweep]\n"task.file" = ["words.txt", "other.txt"]\n')

    def numbers(self, *arguments):
        process = run("train", self.swept, *arguments, "--json")
        self.check(process, 0)
        return [one["evaluations"]["held_out"] for one in lines(process)[-1]["runs"]]

    def test_plans_find_the_files_from_another_directory(self):
        # Paths of a study are taken from where it lies, typed ones from where one stands.
        for study, more, here in (
                (self.swept, (), "/"),
                (self.text, ("--set", 'sweep.task.file=["words.txt","other.txt"]'), self.directory),
                (self.text, ("--set", 'sweep.task=[{file="words.txt"},{file="other.txt"}]'), self.directory)):
            process = run("train", study, *more, "--dry-run", "--json", cwd=here)
            self.check(process, 0)
            self.assertEqual(len(json.loads(process.stdout)["runs"]), 2)

    @needs_training
    def test_rows_are_those_of_their_texts(self):
        plain = self.numbers()
        self.assertNotEqual(plain[0], plain[1])
        output = self.path("out.h5")
        self.assertEqual(self.numbers("-o", output), plain)
        again = self.path("again.h5")  # of the stored study, from elsewhere
        self.check(run("train", output, "-o", again, cwd="/"), 0)
        self.check_same(content(output), content(again))

    @needs_training
    def test_an_interrupted_one_goes_on(self):
        settings = ["--set", "train.steps=1000", "--set", "train.eval_every=500"]
        output, folder = self.path("out.h5"), self.path("out.h5.checkpoint")
        with subprocess.Popen([PROGRAM, "train", self.swept, *settings, "--jobs", "1", "-o", output],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            limit = time.monotonic() + 100
            while process.poll() is None and time.monotonic() < limit:
                if len(names_in(folder, "run_")) == 2:
                    break
                time.sleep(0.002)
            self.assertIsNone(process.poll(), "too quick to be interrupted")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=100), 130)
        self.check(run("train", self.swept, *settings, "-o", output), 0, "done before", "resuming at step")
        whole = self.path("whole.h5")
        self.check(run("train", self.swept, *settings, "-o", whole), 0)
        self.check_same(content(output), content(whole))

    @needs_training
    def test_swept_threads_are_timed_each(self):
        process = run("train", self.tiny, "--set", "sweep.threads=[1,2]", "-o", self.path("out.h5"))
        self.check(process, 0)
        self.assertNotIn("done before", process.stderr)


@needs_training
class Output(TrainTest):
    def test_json_lines_table_and_file_agree(self):
        output = self.path("out.h5")
        process = run("train", self.tiny, "--set", "sweep.seed=[1,2]", "-o", output, "--json")
        self.check(process, 0)
        *records, summary = lines(process)
        self.assertTrue(summary["summary"])
        for record in records:
            for name in ("step", "split", "loss", "steps_per_second", "run", "seed", "variant"):
                self.assertIn(name, record)
        steps = [r["step"] for r in records if r["run"] == 2 and r["split"] == "train"]
        self.assertEqual(steps, [7, 14, 21, 28, 35, 42, 49, 56, 60])
        held_out = [r for r in records if r["run"] == 2 and r["split"] == "held_out"]
        self.assertEqual([r["step"] for r in held_out], [20, 40, 60])
        row, = summary["table"]
        chosen = [r for r in records if r["run"] == 2 and r["split"] == "validation"]
        self.assertEqual(summary["runs"][1]["best_split"], "validation")
        self.assertEqual(summary["runs"][1]["best_loss"], min(r["loss"] for r in chosen))
        both = [one["evaluations"]["held_out"]["r2"] for one in summary["runs"]]
        spread = row["splits"]["held_out"]["last"]
        self.assertAlmostEqual(spread["mean"], np.mean(both))
        self.assertAlmostEqual(spread["standard_error"], np.std(both, ddof=1) / np.sqrt(2))
        self.assertEqual(row["seeds"], [1, 2])
        with h5py.File(output) as file:
            self.assertEqual((file.attrs["kind"], file.attrs["partial"]), ("train", 0))
            curve = file["runs/1/curves/held_out"]
            columns = curve.attrs["columns"].split(",")
            np.testing.assert_array_equal(curve[:, columns.index("r2")],
                                          [r["r2"] for r in held_out])
            self.assertEqual(file["runs/1/final/held_out"].attrs["r2"], held_out[-1]["r2"])
            self.assertEqual(file["groups/0/splits/held_out"].attrs["last"], spread["mean"])
            self.assertEqual(file["runs/0/weights/embedding.weight"].dtype, np.float32)
        self.assertFalse(os.path.exists(output + ".checkpoint"))
        text = run("train", self.tiny, "--set", "sweep.seed=[1,2]").stdout
        self.assertIn(measured(spread["mean"], spread["standard_error"]), text)
        for word in ("held_out r2", "train loss", "hyla", str(row["parameters"])):
            self.assertIn(word, text)
        self.assertRegex(run("inspect", output).stdout, r"hyla +1 +finished +60 ")

    def test_a_result_is_run_again_to_the_same_bits_on_any_number_of_threads(self):
        one, two = self.path("one.h5"), self.path("two.h5")
        self.check(run("train", self.tiny, "-o", one, "--threads", "1"), 0)
        self.check(run("train", one, "-o", two, "--threads", "2"), 0)
        self.check_same(content(one), content(two))

    def test_texts_are_measured_and_continued(self):
        output = self.path("out.h5")
        process = run("train", self.text, "-o", output)
        self.check(process, 0)
        for word in ("bits per byte", "perplexity", "it writes:", "held_out bits_per_byte"):
            self.assertIn(word, process.stdout)
        with h5py.File(output) as file:
            sample = file["runs/0"].attrs["sample"]
        self.assertGreaterEqual(len(sample), 40)
        shown = re.sub("[\x00-\x08\x0b-\x1f\x7f-\x9f]",  # a terminal would obey these
                       lambda one: "".join(f"\\x{byte:02X}" for byte in one[0].encode()), sample)
        self.assertNotEqual(shown, sample)
        self.assertIn(shown, process.stdout)

    def test_an_encoder_and_cross_attention_are_trained(self):
        output = self.path("out.h5")
        settings = ["--set", "train.encoder_layers=2", "--set", "train.positions=rotary"]
        plan = json.loads(run("train", self.tiny, *settings, "--dry-run", "--json").stdout)
        self.assertEqual(plan["variant"], "hyla + encoder")
        process = run("train", self.tiny, *settings, "-o", output)
        self.check(process, 0)
        self.assertIn("hyla + encoder", process.stdout)
        with h5py.File(output) as file:
            weights = {name: item[()] for name, item in file["runs/0/weights"].items()}
        self.assertEqual(sum(array.size for array in weights.values()), plan["parameters"])
        for name, shape in (("encoder.2.query.weight", (2, 2, 8)), ("layers.1.cross.norm.scale", (8,)),
                            ("layers.1.cross.memory_norm.bias", (8,)), ("layers.1.cross.key.weight", (2, 2, 8)),
                            ("layers.1.value.weight", (2, 2, 8))):
            self.assertEqual(weights[name].shape, shape)

    def test_byte_pair_tokens_are_learned_and_kept(self):
        one, two = self.path("one.h5"), self.path("two.h5")
        process = run("train", self.text, "--set", "task.level=bpe", "--set", "task.vocabulary=512",
                      "--set", "task.validation=0.15", "--set", "train.steps=5", "-o", one)
        if process.returncode == 69:
            self.check(process, 69, "libsentencepiece-dev")
            self.skipTest("this build has no SentencePiece")
        self.check(process, 0)
        for word in ("bits per byte", "perplexity", "it writes:"):
            self.assertIn(word, process.stdout)
        with h5py.File(one) as file:
            weights = file["runs/0/weights/logits.weight"].shape
            model = file["runs/0/tokenizer"][()].tobytes()
            self.assertEqual(file["runs/0/final/held_out"].attrs["metrics"],
                             "accuracy,bits_per_byte,perplexity")
        self.assertGreater(weights[0], 256)  # 256 bytes, and pieces
        self.assertIn(b"question", model)
        self.check(run("train", one, "-o", two), 0)  # learned again to the same bits
        self.check_same(content(one), content(two))
        words = "to be or not to be, that is the question; " * 8
        self.write("words.txt", words + "\u2581")  # in the held-out part
        self.check(run("train", self.text, "--set", "task.level=bpe", "--set",
                       "task.vocabulary=512"), 65, f"words.txt: byte {len(words)} starts U+2581")

    def test_sraven_has_its_splits_and_ceilings(self):
        study = os.path.join(STUDIES, "sraven-reference.toml")
        process = run("train", study, "--json", "--set", "train.layers=1", "--set", "train.steps=3",
                      "--set", "train.warmup_steps=1", "--set", "train.eval_examples=16", "--set",
                      "train.batch=4", "--set", "train.model_dim=16", "--set", "train.mlp_dim=16")
        self.check(process, 0)
        evaluations = lines(process)[-1]["runs"][0]["evaluations"]
        self.assertEqual(set(evaluations), {"validation", "test", "held_out"})
        self.assertIn("accuracy_per_feature", evaluations["test"])
        ceilings = lines(process)[-1]["runs"][0]["ceilings"]  # of the data, whatever the network
        self.assertEqual(list(ceilings), ["test", "held_out", "all"])
        self.assertAlmostEqual(ceilings["all"]["accuracy"], 0.929, delta=0.004)
        self.assertAlmostEqual(ceilings["all"]["several_answers"], 0.244, delta=0.013)
        self.assertAlmostEqual(ceilings["all"]["every_feature_wrong"], 0.0026, delta=0.0015)
        plan = run("train", study, "--dry-run")
        best = ceilings["all"]
        for word in ("best possible accuracy", f"all {measured(best['accuracy'], best['accuracy_error'])}"):
            self.assertIn(word, plan.stdout)
        self.assertEqual(json.loads(run("train", study, "--dry-run", "--json").stdout)["ceilings"]["all"]
                         ["accuracy"], ceilings["all"]["accuracy"])

    def test_a_network_larger_than_memory_is_refused(self):
        for more in (("--dry-run",), ()):
            self.check(run("train", self.tiny, "--set", "train.model_dim=1000000", "--set", "train.layers=100", *more),
                       78, "train.model_dim", "GiB", "the memory of this machine")

    def test_divergence_is_told(self):
        output = self.path("out.h5")
        process = run("train", self.tiny, "--set", "train.attention=linear", "--set",
                      "train.learning_rate=1000", "--set", "train.layers=4", "--set",
                      "train.steps=400", "-o", output)
        self.check(process, 2, "not usable", "learning rate")
        self.assertNotIn("-nan", process.stderr)  # its sign says nothing
        with h5py.File(output) as file:
            self.assertEqual(file["runs/0"].attrs["outcome"], "diverged")
            self.assertEqual(file["groups/0"].attrs["diverged"], 1)
            self.assertNotIn("splits", file["groups/0"])  # scores from before it diverged count nowhere
            self.assertTrue(np.isfinite(file["runs/0/weights/logits.weight"][()]).all())

    def test_exported_weights_are_numbered_as_runs_of_the_whole_sweep(self):
        for part in ("0/2", "1/2"):
            self.check(run("train", self.tiny, "--set", "sweep.seed=[1,2,3]", "--shard", part,
                           "-o", self.path(f"part-{part[0]}.h5"), "--export", self.path("w.npz")), 0)
        weights = [np.load(self.path(f"w-{number}.npz"))["logits.bias"] for number in (1, 2, 3)]
        for part, numbers in (("0", (1, 3)), ("1", (2,))):
            with h5py.File(self.path(f"part-{part}.h5")) as file:
                for run_, number in enumerate(numbers):
                    np.testing.assert_array_equal(file[f"runs/{run_}/weights/logits.bias"][()], weights[number - 1])

    def test_weights_are_exported_for_other_programs(self):
        output = self.path("out.h5")
        npz, tensors = self.path("w.npz"), self.path("w.safetensors")
        self.check(run("train", self.tiny, "-o", output, "--export", npz), 0)
        self.check(run("train", self.tiny, "--export", tensors), 0)
        self.check(run("train", self.tiny, "--export", tensors), 73, "--force")
        self.check(run("train", self.tiny, "-o", npz, "--export", npz, "--force"), 64, "another file than --output")
        self.check(run("train", self.tiny, "-o", ""), 64, "--output", "must not be empty")
        with h5py.File(output) as file:
            weights = {name: item[()] for name, item in file["runs/0/weights"].items()}
        loaded = np.load(npz)
        self.assertEqual(set(loaded.files), set(weights))
        with open(tensors, "rb") as file:
            data = file.read()
        length, = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + length])
        self.assertEqual(header.pop("__metadata__")["step"], "60")
        self.assertEqual(set(header), set(weights))
        body = data[8 + length:]
        self.assertEqual(sum(e["data_offsets"][1] - e["data_offsets"][0] for e in header.values()),
                         len(body))
        for name, expected in weights.items():
            np.testing.assert_array_equal(loaded[name], expected)
            self.assertEqual(header[name]["dtype"], "F32")
            begin, end = header[name]["data_offsets"]
            values = np.frombuffer(body[begin:end], "<f4").reshape(header[name]["shape"])
            np.testing.assert_array_equal(values, expected)


if __name__ == "__main__":
    unittest.main()
