"""Learned attention from the command line: solve, sample, resuming, parts, and what is refused."""

import json
import signal
import subprocess
import time
import unittest
from pathlib import Path

import h5py
import numpy as np

from support import PROGRAM, ProgramTest, run

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "learned_attention.h5"
PRIOR = ["--set", "model.attention_prior.heads=[2,2]", "--set", "model.attention_prior.form=matrix",
         "--set", "model.attention_prior.variance=6", "--set", "model.widths=[[5,4,3]]",
         "--set", "model.temperature=0.15", "--set", "model.readout=last_token"]
QUICK = ["--set", "sample.draws=40", "--set", "sample.warmup=60", "--set", "sample.replicas=4",
         "--set", "solve.attention_starts=6"]
TIMES = ("DIMENSION_LIST", "seconds", "sampling_seconds", "ess_bulk_min_per_second")


def write_data(path, name="two_layers", with_heads=False):
    """The problem of the golden file as a data set without attention, or with that of given heads."""
    with h5py.File(GOLDEN) as golden, h5py.File(path, "w") as file:
        group = golden[name]
        count, inputs, labels = int(group.attrs["P"]), group["inputs"][()], group["labels"][()]
        file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
        for split, of in (("train", slice(count)), ("test", slice(count, None))):
            file[f"{split}/inputs"], file[f"{split}/labels"] = inputs[of], labels[of]
        if with_heads:
            weights = np.random.default_rng(1).standard_normal((2, 2, 2, 2))
            for layer in (1, 2):
                file[f"attention/weights/layer_{layer}"] = weights[layer - 1]
    return path


def arrays(file_path):
    found = {}
    with h5py.File(file_path) as file:
        def keep(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[()].tobytes()
            kept = {key: value for key, value in item.attrs.items() if key not in TIMES}
            found.update({f"{name}@{key}": np.asarray(value).tobytes() for key, value in kept.items()})
        file["points"].visititems(keep)
    return found


class Learned(ProgramTest):
    def data(self, **how):
        return write_data(self.path("data.h5"), **how)

    def test_sample_has_attention_and_two_evidences(self):
        output = self.path("out.h5")
        process = run("sample", self.data(), *PRIOR, *QUICK, "--set", "sample.keep_weights=true", "-o", output,
                      "--json")
        self.assertIn(process.returncode, (0, 2), process.stderr)
        point, = json.loads(process.stdout)["points"]
        for name in ("attention_entropy_mean", "attention_entropy_mcse", "attention_largest_mean",
                     "attention_largest_mcse", "log_evidence", "log_evidence_error", "log_evidence_integral"):
            self.assertIsInstance(point[name], float, name)
        self.assertTrue(0.25 < point["attention_largest_mean"] < 1.0)
        self.assertTrue(0.0 < point["attention_entropy_mean"] < np.log(4))
        with h5py.File(output) as file:
            group = file["points/0"]
            self.assertEqual(group["draws/attention_weights"].shape, (4, 40, 16))
            self.assertEqual(group["draws/attention_entropy"].shape, (4, 40))
            self.assertEqual(group["attention_weight_names"][0], b"W_1^1[1,1]")
            self.assertAlmostEqual(group["draws/attention_largest"][()].mean(), point["attention_largest_mean"])

    def test_solve_lists_minima_that_differ(self):
        process = run("solve", self.data(), *PRIOR, "--set", "solve.attention_starts=12", "--json")
        self.assertEqual(process.returncode, 0, process.stderr)
        point, = json.loads(process.stdout)["points"]
        minima = point["minima"]
        self.assertGreater(len(minima), 1)
        self.assertEqual(sum(one["starts"] for one in minima), 12)
        actions = [one["action"] for one in minima]
        self.assertEqual(actions, sorted(actions))
        self.assertEqual(point["action"], actions[0])
        for one in minima:
            self.assertEqual([len(u) for u in one["U"]], [4, 2])
            self.assertGreater(one["U_a"], 0.0)
            self.assertTrue(0.25 <= one["attention_largest"] <= 1.0)
        self.assertEqual(point["U_a"], minima[0]["U_a"])

    def test_an_interrupted_run_goes_on_to_the_same_bits(self):
        data, whole, parts = self.data(), self.path("whole.h5"), self.path("parts.h5")
        long = [*PRIOR, *QUICK, "--set", "sample.draws=80", "--set", "sample.chains=2", "--set",
                "sample.checkpoint_seconds=0.01", "--threads", "1"]
        self.assertIn(run("sample", data, *long, "-o", whole).returncode, (0, 2))
        checkpoint = Path(parts + ".checkpoint")
        with subprocess.Popen([PROGRAM, "sample", data, *long, "-o", parts], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not (checkpoint.is_dir() and list(checkpoint.glob("point_0*"))):
                time.sleep(0.002)
            self.assertIsNone(process.poll(), "too quick to be interrupted")
            process.send_signal(signal.SIGINT)
            said = process.communicate()[1]
        self.assertEqual(process.returncode, 130, said)
        again = run("sample", data, *long, "-o", parts)
        self.assertIn(again.returncode, (0, 2), again.stderr)
        self.assertIn("resuming from ", again.stderr)  # and not from the start, which gives the same bits
        self.assertEqual(arrays(parts), arrays(whole))

    def test_parts_are_the_whole(self):
        data, whole = self.data(), self.path("whole.h5")
        swept = [*PRIOR, *QUICK, "--set", "model.temperature=[0.15,0.3]", "--set", "sample.draws=10", "--set",
                 "sample.warmup=10", "-q"]
        for verb in ("sample", "solve"):
            self.assertIn(run(verb, data, *swept, "-o", whole, "--force").returncode, (0, 2))
            parts = [self.path(f"part{i}.h5") for i in range(2)]
            for i, part in enumerate(parts):
                self.assertIn(run(verb, data, *swept, "--shard", f"{i}/2", "-o", part, "--force").returncode, (0, 2))
            merged = self.path("merged.h5")
            self.assertIn(run("merge", *parts, "-o", merged, "--force").returncode, (0, 2))
            self.assertEqual(arrays(merged), arrays(whole), verb)

    def test_frozen_heads_alone_are_the_chain_of_given_attention(self):
        data = self.data(with_heads=True)
        process = run("solve", data, "--set", "model.widths=[[5,4,3]]", "--set", "model.temperature=0.15", "--json")
        given, = json.loads(process.stdout)["points"]
        frozen = ["--set", "model.attention_prior.frozen=[[1,1],[1,2],[2,1],[2,2]]", "--set",
                  "model.widths=[[5,4,3]]", "--set", "model.temperature=0.15", "--json"]
        process = run("solve", data, *frozen)
        self.assertEqual(process.returncode, 0, process.stderr)
        point, = json.loads(process.stdout)["points"]
        self.assertAlmostEqual(point["action"], given["action"], 10)
        np.testing.assert_allclose(point["U"][0], given["U"][0], rtol=1e-6)

    def test_a_frozen_head_may_be_given_example_by_example(self):
        """The same attention by matrices and example by example, beside heads that are learned."""
        matrices, supplied = self.path("matrices.h5"), self.path("supplied.h5")
        for path in (matrices, supplied):
            write_data(path, with_heads=True)
            with h5py.File(path, "a") as file:
                for split in ("train", "test"):
                    mask = np.ones(file[f"{split}/inputs"].shape[:2])
                    mask[0, -1] = 0
                    file[f"{split}/mask"] = mask
        with h5py.File(supplied, "a") as file:
            for layer in (1, 2):
                weights = file[f"attention/weights/layer_{layer}"][()]
                for split in ("train", "test"):
                    x, mask = file[f"{split}/inputs"][()], file[f"{split}/mask"][()]
                    attention = np.exp(np.einsum("psi,hij,ptj->phst", x, weights, x)) * mask[:, None, None, :]
                    file[f"{split}/attention/layer_{layer}"] = attention / attention.sum(axis=3, keepdims=True)
            del file["attention"]
        frozen = [*PRIOR, "--set", "model.attention_prior.frozen=[[1,2],[2,1]]", "--set", "solve.attention_starts=2", "--json"]
        for readout in ("last_token", "mean"):
            points = []
            for path in (matrices, supplied):
                process = run("solve", path, *frozen, "--set", f"model.readout={readout}")
                self.assertEqual(process.returncode, 0, process.stderr)
                points.append(json.loads(process.stdout)["points"][0])
            self.assertAlmostEqual(points[0]["action"], points[1]["action"], 7, readout)
            self.assertAlmostEqual(points[0]["test_mean_squared_error"], points[1]["test_mean_squared_error"], 5, readout)
        for verb in ("solve", "sample"):  # a start needs matrices
            process = run(verb, supplied, *PRIOR, "--set", f"{verb}.attention_start=given")
            self.assertEqual(process.returncode, 78, process.stderr)
            self.assertIn("by matrices that act on the inputs, and gives it example by example", process.stderr)

    def test_the_copy_task_starts_where_it_is_told(self):
        """Near no attention the search stays in a bad minimum; from the head that knows the answer it finds a lower one."""
        task = ["copy.toml", "--set", "task.train_examples=60", "--set", "task.test_examples=200", "--set",
                "solve.attention_starts=1", "--threads", "1"]
        Path(self.path("copy.toml")).write_text("schema = 1\n[task]\nkind = \"copy\"\n[model]\nwidths = 100\ntemperature = 0.1\n"
                                                "[model.attention_prior]\nvariance = 4.0\n")
        task[0] = self.path("copy.toml")
        minima = {}
        for start in ("none", "given"):
            process = run("solve", *task, "--set", f"solve.attention_start={start}", "--json")
            self.assertEqual(process.returncode, 0, process.stderr)
            point, = json.loads(process.stdout)["points"]
            minima[start] = point["minima"][0]
            self.assertEqual(point["minima"][0]["starts"], 1)
        self.assertLess(minima["given"]["action"], minima["none"]["action"] - 0.1)
        process = run("solve", *task, "--json")
        self.assertEqual(json.loads(process.stdout)["points"][0]["minima"][0], minima["none"])

    def test_chains_start_where_they_are_told(self):
        few = ["--set", "sample.draws=1", "--set", "sample.warmup=0", "--set", "sample.replicas=1", "--set",
               "sample.chains=1", "--set", "sample.keep_weights=true", "--set", "solve.attention_starts=1", "--set",
               "sample.attention_start=given", "-q", "-o"]
        data, output = self.data(with_heads=True), self.path("out.h5")
        process = run("sample", data, *PRIOR, *few, output)
        self.assertIn(process.returncode, (0, 2), process.stderr)
        with h5py.File(output) as file, h5py.File(data) as given:
            drawn = file["points/0/draws/attention_weights"][0, 0].reshape(2, 2, 2, 2)
            names = file["points/0/attention_weight_names"][:2]
            start = np.stack([given[f"attention/weights/layer_{layer}"][()] for layer in (1, 2)]) * 2  # logits are over N_0
        self.assertEqual(list(names), [b"W_1^1[1,1]", b"W_1^1[2,1]"])
        start = start.transpose(0, 1, 3, 2)  # column by column
        # One transition later: draws of the prior would be some deviations, sqrt(6), away.
        self.assertLess(np.abs(drawn - start).max(), 6.0)
        self.assertGreater(np.corrcoef(drawn.ravel(), start.ravel())[0, 1], 0.5)

    def test_a_search_of_many_badly_conditioned_weights_converges(self):
        """289 weights at T = 0.01. L-BFGS that remembers twenty steps does not get there in 2000."""
        self.check(run("solve", "copy-task-linear", "--set", "task.train_examples=1000", "--set", "task.test_examples=10",
                       "--threads", "1", "-q"), 0)

    def test_a_table_says_what_it_is(self):
        process = run("sample", self.data(), *PRIOR, *QUICK)
        self.assertIn("learned attention", process.stdout)
        process = run("solve", self.data(), *PRIOR, "--set", "solve.attention_starts=4")
        self.assertIn("minima over order parameters and attention", process.stdout)


class Refused(ProgramTest):
    def refused(self, words, *arguments, verb="sample", code=78, data=None):
        process = run(verb, data or write_data(self.path("data.h5")), *PRIOR, *arguments)
        self.assertEqual(process.returncode, code, process.stderr)
        for word in words:
            self.assertIn(word, process.stderr)

    def test_bad_values_are_named(self):
        key = "model.attention_prior"
        for setting, words in [
                (f"{key}.variance=0", [f"{key}.variance = 0", "> 0"]),
                (f"{key}.variance=-1", [f"{key}.variance = -1"]),
                (f"{key}.form=matrx", [f"{key}.form", '"matrix"']),
                (f"{key}.kind=hard", [f"{key}.kind", '"linear"']),
                (f"{key}.dims=2", [f"{key}.dims = 2", "absent"]),
                (f"{key}.heads=[0]", [f"{key}.heads[1] = 0", "from 1 to"]),
                (f"{key}.frozen=[[1,1]]", [f"{key}.frozen", "gives none"]),
                (f"{key}.frozen=[[3,1]]", [f"{key}.frozen = [3, 1]", "from 1 to 2"]),
                (f"{key}.varience=1", ["varience", "variance"]),
                ("solve.attention_start=given", ["solve.attention_start = \"given\"", "gives none"]),
                ("sample.attention_start=given", ["sample.attention_start = \"given\"", "gives none"]),
                ("solve.attention_start=hot", ["solve.attention_start", '"given"']),
                ("model.temperature=0", ["model.temperature = 0", "above 0"]),
                ("sample.sampler=gibbs", ['sample.sampler = "gibbs"', '"exact"']),
                ("sample.metric=information", ["sample.metric"]),
                ("model.heads=[2,2]", ["model.heads", "attention_prior"]),
                ("solve.kernels=distributed", ["solve.kernels"])]:
            with self.subTest(setting):
                self.refused(words, "--set", setting)
        self.refused([f"{key}.dims = 3", "from 1 to 2"], "--set", f"{key}.form=queries_keys", "--set", f"{key}.dims=3")
        self.refused([f"{key}.dims is missing"], "--set", f"{key}.form=queries_keys")

    def test_data_that_no_attention_can_be_learned_on_are_named(self):
        path = self.path("features.h5")
        with h5py.File(path, "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
            file["train/path_features"] = np.ones((3, 4, 2))
            file["train/path_features"].attrs["heads"] = [2, 2]
            file["train/labels"] = [1.0, -1.0, 1.0]
        self.refused(["holds path features", "inputs"], data=path, code=65)

    def test_inspect_shows_what_was_learned(self):
        data, output = write_data(self.path("data.h5")), self.path("out.h5")
        run("solve", data, *PRIOR, "--set", "solve.attention_starts=6", "-q", "-o", output)
        lines = run("inspect", output).stdout.split("Contents:")[0].splitlines()
        columns = next(line.split() for line in lines if "attention_largest" in line)
        self.assertEqual(columns, ["name", "action", "attention_entropy", "attention_largest", "starts", "converged?"])
        with h5py.File(output) as file:
            minima = file["points/0/minima"]
            rows = [line.split() for line in lines[lines.index(next(l for l in lines if "attention_largest" in l)) + 1:]]
            for number in minima:
                self.assertAlmostEqual(float(rows[int(number)][3]), minima[number].attrs["attention_largest"], 5)
        run("sample", data, *PRIOR, *QUICK, "-q", "-o", self.path("draws.h5"))
        self.assertIn("attention_largest_mean", run("inspect", self.path("draws.h5")).stdout.split("Contents:")[0])

    def test_masks_that_hide_every_key_are_named(self):
        path = write_data(self.path("masked.h5"))
        with h5py.File(path, "a") as file:
            mask = np.ones((6, 4))
            mask[2] = 0
            file["train/mask"] = mask
        process = run("sample", path, *PRIOR)
        self.assertEqual(process.returncode, 65, process.stderr)
        self.assertIn("mask", process.stderr)

    def test_without_the_prior_the_data_need_attention(self):
        process = run("solve", write_data(self.path("data.h5")))
        self.assertEqual(process.returncode, 65)
        self.assertIn("no attention is given", process.stderr)
        self.assertIn("model.attention_prior", process.stderr)

    def test_data_without_attention_are_valid_and_described(self):
        data = write_data(self.path("data.h5"))
        process = run("validate", data)
        self.assertEqual(process.returncode, 0, process.stdout)
        self.assertIn("valid. It gives no attention: a study must let it be learned", process.stdout)
        text = run("inspect", data).stdout
        self.assertIn("attention  none", text)
        self.assertNotIn("fault", text)
        self.assertIn("--set model.attention_prior.heads=[1]", text)
        self.assertEqual(run("validate", write_data(self.path("heads.h5"), with_heads=True)).stdout.split(": ")[1], "valid\n")
        with h5py.File(data, "a") as file:
            del file["train/inputs"]
        process = run("validate", data)
        self.assertEqual(process.returncode, 65)
        self.assertIn("no attention is given", process.stdout)

    def test_other_verbs_say_that_they_cannot(self):
        for verb in ("align", "prune"):
            self.refused(["attention is learned by solve and sample alone"], verb=verb)

    def test_replicas_need_the_prior(self):
        process = run("sample", "hmm-four-paths", "--set", "sample.replicas=4")
        self.assertEqual(process.returncode, 78)
        self.assertIn("sample.replicas = 4", process.stderr)


if __name__ == "__main__":
    unittest.main()
