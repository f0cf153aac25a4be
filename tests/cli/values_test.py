"""Value networks from the command line: solve, sample, align, prune, predict, resuming, and what is refused."""

import json
import math
import signal
import subprocess
import time
import unittest
from pathlib import Path

import h5py
import numpy as np

from support import PROGRAM, ProgramTest, names_in, run

GOLDEN = Path(__file__).parents[1] / "data" / "golden" / "value_network.h5"
PRECISION = 1e-6  # of the solver that made the file
TIMES = ("DIMENSION_LIST", "seconds", "sampling_seconds")  # and references, whose bytes are addresses


def problem(name):
    """Arguments of `--set` for a problem of the golden file."""
    with h5py.File(GOLDEN) as golden:
        about = golden[name].attrs
        return ["--set", f"model.widths=[[{about['widths'][0]}, {about['widths'][1]}]]",
                "--set", f"model.variances={list(map(float, about['variances']))}",
                "--set", f"model.temperature={float(about['T'])}", "--set", f"model.readout={about['readout']}",
                "--set", f"model.value_network.form={about['form']}",
                "--set", f"model.value_network.nonlinearity={about['nonlinearity']}"]


def write_data(path, name="hyla_relu", rows="any", outputs=1):
    """A problem of the golden file as a data set; its further examples are the test set."""
    with h5py.File(GOLDEN) as golden, h5py.File(path, "w") as file:
        group = golden[name]
        labels = group["labels"][()]
        file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
        if rows:
            file.attrs["attention_rows"] = rows
        for split, of, y in (("train", slice(len(labels)), labels), ("test", slice(len(labels), None), group["test_targets"][()])):
            file[f"{split}/inputs"], file[f"{split}/attention/layer_1"] = group["inputs"][of], group["attention"][of]
            file[f"{split}/labels"] = y if outputs == 1 else np.stack([y, -2.0 * y[::-1]], 1)
    return path


def arrays(file_path):
    """The points of a result without times."""
    found = {}
    with h5py.File(file_path) as file:
        def keep(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[()].tobytes()
            found.update({f"{name}@{key}": np.asarray(value).tobytes() for key, value in item.attrs.items()
                          if key not in TIMES})
        file["points"].visititems(keep)
    return found


class Values(ProgramTest):
    def points(self, *arguments, codes=(0,)):
        process = run(*arguments, "--json", "-q")
        self.assertIn(process.returncode, codes, process.stderr)
        return json.loads(process.stdout)["points"]

    def test_saddle_points_are_those_of_an_independent_solver(self):
        for name in ("hyla_relu", "before_relu", "after_relu"):
            data = write_data(self.path(f"{name}.h5"), name)
            for features in ("fixed", "adapted"):
                with self.subTest(name=name, features=features), h5py.File(GOLDEN) as golden:
                    output = self.path(f"{name}_{features}.h5")
                    point, = self.points("solve", data, *problem(name), "--set", f"model.value_network.features={features}",
                                         "-o", output)
                    expected, about = golden[f"{name}/{features}_features"], golden[name].attrs
                    self.assertTrue(point["converged"])
                    np.testing.assert_allclose(point["U"], [expected["U_1"][()]], atol=PRECISION)
                    self.assertAlmostEqual(point["U_a"], expected["U_a"][()], delta=PRECISION)
                    np.testing.assert_allclose(point["S"], expected["S"][()], atol=PRECISION)
                    if about["widths"][1] < 1e8:  # the file leaves out the entropy of a very wide readout
                        action = point["action"] * max(about["widths"])
                        self.assertAlmostEqual(action, expected["action"][()], delta=PRECISION * abs(action))
                    s = np.array(point["S"])
                    np.testing.assert_allclose(point["S_eigenvalues"], np.linalg.eigvalsh(s)[::-1], rtol=1e-10)
                    self.assertAlmostEqual(point["S_effective_dimension"], np.trace(s) ** 2 / np.sum(s * s))
                    block = len(s) // len(point["S_head_shares"])
                    self.assertAlmostEqual(point["S_head_shares"][0], np.trace(s[:block, :block]) / np.trace(s))
                    self.assertAlmostEqual(sum(point["S_head_shares"]), 1.0)
                    with h5py.File(output) as file:
                        group = file["points/0"]
                        np.testing.assert_allclose(group["predictor/mean"], expected["mean"], atol=PRECISION)
                        np.testing.assert_allclose(group["predictor/variance"], expected["variance"], atol=PRECISION)
                        np.testing.assert_array_equal(group["S"], s)

    def test_adapted_features_have_the_lower_action_and_are_corrected_at_their_s(self):
        data = write_data(self.path("data.h5"))
        sweep = ["--set", "model.widths=[[8, 6], [40, 6]]"]
        fixed, adapted = (self.points("solve", data, *problem("hyla_relu"), *sweep, "--set", f"model.value_network.features={of}")
                          for of in ("fixed", "adapted"))
        for one, other in zip(fixed, adapted):
            self.assertLess(other["action"], one["action"])
            self.assertTrue(one["corrected"]["defined"])
            self.assertTrue(other["corrected"]["defined"])
            self.assertNotEqual(one["corrected"]["U"], other["corrected"]["U"])
            self.assertEqual((one["evidence_method"], other["evidence_method"]), ("laplace", "leading_order"))
            gap = 0.5 * max(one["widths"]) * (one["action"] - other["action"])
            self.assertAlmostEqual(other["log_evidence"] - one["log_evidence_leading_order"], gap, places=6)
        # Wider networks learn fewer features.
        self.assertLess(adapted[0]["S_effective_dimension"], adapted[1]["S_effective_dimension"])

    def test_adapted_features_are_fixed_ones_of_inputs_that_s_has_changed(self):
        """Hidden weights of covariance S read x as weights of the prior read x (S / s_0^2)^(1/2). Only the evidence differs."""
        name, output = "before_relu", self.path("adapted.h5")
        data = write_data(self.path("data.h5"), name)
        adapted, = self.points("solve", data, *problem(name), "--set", "model.value_network.features=adapted", "-o", output)
        with h5py.File(output) as file, h5py.File(GOLDEN) as golden:
            values, vectors = np.linalg.eigh(file["points/0/S"][()] / golden[name].attrs["variances"][0])
        root = (vectors * np.sqrt(values)) @ vectors.T
        with h5py.File(data, "r+") as file:
            for split in ("train", "test"):
                file[f"{split}/inputs"][...] = file[f"{split}/inputs"][()] @ root
        fixed, = self.points("solve", data, *problem(name), "--set", "model.value_network.features=fixed")
        np.testing.assert_allclose(adapted["U"], fixed["U"], rtol=1e-5)
        np.testing.assert_allclose(adapted["corrected"]["U"], fixed["corrected"]["U"], rtol=1e-4)
        self.assertGreater(np.abs(np.subtract(fixed["corrected"]["U"], fixed["U"])).max(), 1e-3)

    def test_tables_show_the_hidden_weights(self):
        data, output = write_data(self.path("data.h5")), self.path("out.h5")
        process = run("solve", data, *problem("hyla_relu"), "-o", output, "-q")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("covariance S of the hidden weights", process.stdout)
        self.assertIn("6.00 of 6", process.stdout)
        self.assertIn("S_effective_dimension", run("inspect", output).stdout)
        plain = run("solve", self.study, "-q")
        self.assertNotIn("hidden weights", plain.stdout)

    def test_other_verbs_work_at_the_same_point(self):
        data, solved = write_data(self.path("data.h5")), self.path("solved.h5")
        for features in ("fixed", "adapted"):
            with self.subTest(features=features):
                setting = [*problem("hyla_relu"), "--set", f"model.value_network.features={features}"]
                point, = self.points("solve", data, *setting, "-o", solved, "--force")
                aligned, = self.points("align", solved)
                self.assertAlmostEqual(sum(x * x for x in aligned["overlaps"]), 1.0, places=6)
                with h5py.File(solved) as file, h5py.File(data) as given, h5py.File(self.path("new.h5"), "w") as new:
                    for key, value in given.attrs.items():
                        new.attrs[key] = value
                    for member in ("inputs", "attention/layer_1"):
                        new[f"sets/more/{member}"] = given[f"test/{member}"][()]
                    mean = file["points/0/predictor/mean"][()]
                process = run("predict", solved, self.path("new.h5"), "-o", self.path("p.h5"), "--force", "-q")
                self.assertEqual(process.returncode, 0, process.stderr)
                with h5py.File(self.path("p.h5")) as file:
                    found = [item[()] for name, item in file["points/0/sets/more"].items() if name == "mean"][0]
                    np.testing.assert_allclose(np.squeeze(found), mean, atol=1e-9)
                pruned, = self.points("prune", solved)
                self.assertEqual(len(pruned["heads"]), 2)
                self.assertGreater(len({head["squared_error_rise"] for head in pruned["heads"]}), 1)
                self.assertEqual(pruned["action"], point["action"])

    def test_parts_of_a_sweep_are_the_whole(self):
        data, whole = write_data(self.path("data.h5")), self.path("whole.h5")
        setting = [*problem("hyla_relu"), "--set", "model.widths=[[8, 6], [20, 6], [50, 6]]", "--set", "model.temperature=[0.1, 0.3]",
                   "--set", "model.value_network.features=adapted"]
        self.points("solve", data, *setting, "-o", whole)
        for i in (0, 1):
            self.points("solve", data, *setting, "--shard", f"{i}/2", "-o", self.path(f"part{i}.h5"))
        self.assertEqual(run("merge", self.path("part0.h5"), self.path("part1.h5"), "-o", self.path("merged.h5"), "-q").returncode, 0)
        self.assertEqual(arrays(self.path("merged.h5")), arrays(whole))

    def test_several_outputs_and_padding(self):
        data = write_data(self.path("data.h5"), outputs=2)
        with h5py.File(data, "a") as file:
            for split in ("train", "test"):
                attention = file[f"{split}/attention/layer_1"]
                mask = np.ones(attention.shape[:1] + attention.shape[-1:])
                mask[::3, 0] = 0
                file[f"{split}/mask"] = mask
                attention[...] = attention[()] * mask[:, None, None, :]
        for form in ("hyla", "per_head", "before_attention", "after_attention"):
            for features in ("fixed", "adapted"):
                with self.subTest(form=form, features=features):
                    point, = self.points("solve", data, *problem("hyla_relu"), "--set", f"model.value_network.form={form}",
                                         "--set", f"model.value_network.features={features}")
                    self.assertTrue(point["converged"], point["message"])
                    self.assertEqual(np.array(point["U_a"]).shape, (2, 2))
                    rows = 2 if form == "after_attention" else 4
                    self.assertEqual(np.array(point["U"][0]).shape, (rows, rows))

    def test_samples_have_the_hidden_weights(self):
        data, output = write_data(self.path("data.h5")), self.path("out.h5")
        point, = self.points("sample", data, *problem("hyla_relu"), "--set", "sample.draws=60", "--set", "sample.warmup=60",
                             "-o", output, codes=(0, 2))
        s = np.array(point["S_mean"])
        np.testing.assert_array_equal(s, s.T)
        self.assertEqual(np.array(point["S_mcse"]).shape, s.shape)
        np.testing.assert_allclose(point["S_mean_eigenvalues"], np.linalg.eigvalsh(s)[::-1], rtol=1e-10)
        self.assertEqual(np.array(point["U_1_mean"]).shape, (2, 2))
        self.assertGreater(point["U_a_mean"], 0.0)
        self.assertIsNone(point["log_evidence"])
        self.assertIn("sample.replicas > 1", point["evidence_reason"])
        with h5py.File(output) as file:
            group = file["points/0"]
            self.assertEqual(group["draws/S_trace"].shape, (4, 60))
            self.assertAlmostEqual(group["draws/S_trace"][()].mean(), np.trace(s))
            self.assertEqual(group["predictor/mean"].shape, (12,))
            self.assertTrue(np.all(group["predictor/variance"][()] > 0.0))
        self.assertIn("mean of the draws", run("sample", output, "--set", "sample.draws=10", "-q").stdout)
        refused = run("predict", output, data)
        self.check(refused, 78, "model.value_network", "Take a result of solve")

    def test_an_interrupted_run_goes_on_to_the_same_bits(self):
        data, whole, parts = write_data(self.path("data.h5")), self.path("whole.h5"), self.path("parts.h5")
        setting = [*problem("hyla_relu"), "--set", "sample.draws=300", "--set", "sample.warmup=200",
                   "--set", "sample.checkpoint_seconds=0.05", "--set", "sample.replicas=3"]
        self.assertIn(run("sample", data, *setting, "-o", whole, "-q").returncode, (0, 2))
        process = subprocess.Popen([PROGRAM, "sample", data, *setting, "-o", parts, "-q"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        checkpoint, end = Path(f"{parts}.checkpoint"), time.monotonic() + 60
        while process.poll() is None and not names_in(checkpoint, "point_0") and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertIn(run("sample", data, *setting, "-o", parts, "-q").returncode, (0, 2))
        self.assertEqual(arrays(parts), arrays(whole))

    def test_the_evidence_of_replicas_is_that_of_linear_values(self):
        # With the identity before attention the two networks are the same. Error in error bars aside, six of them are
        # exceeded once in a million runs.
        data = self.path("data.h5")
        rng = np.random.default_rng(5)
        with h5py.File(data, "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
            file["train/inputs"], file["train/labels"] = rng.standard_normal((8, 3, 2)), rng.standard_normal(8)
            attention = np.exp(rng.standard_normal((8, 2, 3, 3)))
            file["train/attention/layer_1"] = attention / attention.sum(-1, keepdims=True)
        setting = ["--set", "model.widths=[[4, 5]]", "--set", "model.temperature=0.3", "--set", "sample.draws=1500",
                   "--set", "sample.warmup=300"]
        linear, = self.points("sample", data, *setting)
        network, = self.points("sample", data, *setting, "--set", "model.value_network.form=before_attention",
                               "--set", "model.value_network.nonlinearity=identity", "--set", "sample.replicas=6")
        for one, other in (("log_evidence", "log_evidence"), ("log_evidence", "log_evidence_by_integral")):
            error = math.hypot(linear[f"{one}_error"], network[f"{other}_error"])
            self.assertLess(abs(linear[one] - network[other]), 6.0 * error, other)
            self.assertLess(error, 0.2)
        for name in ("U_1", "U_a"):
            gap = np.abs(np.array(linear[f"{name}_mean"]) - network[f"{name}_mean"])
            error = np.hypot(linear[f"{name}_mcse"], network[f"{name}_mcse"])
            self.assertTrue(np.all(gap < 6.0 * error), (name, gap, error))
        self.assertGreater(network["replica_exchange_rate"], 0.2)

    def test_bad_input_is_refused_in_whole_sentences(self):
        data, setting = write_data(self.path("data.h5")), problem("hyla_relu")
        self.check(run("solve", data), 65, "attention_rows = \"any\"", "model.value_network")
        self.check(run("solve", write_data(self.path("plain.h5"), rows=None), *setting), 65, "the row sums to", "attention_rows")
        self.check(run("solve", write_data(self.path("odd.h5"), rows="some"), *setting), 65, "attention_rows = \"some\"", "\"any\", or none")
        self.check(run("gram", data, *setting, "-o", self.path("g.h5")), 78, "model.value_network", "must be absent in gram")
        self.check(run("solve", data, *setting, "--set", "solve.memory_limit_gib=1e-9"), 78, "solve.memory_limit_gib", "d = 6 ")
        self.check(run("solve", data, *setting, "--set", "model.temperature=0", "--set", "model.value_network.nonlinearity=identity"),
                   78, "model.temperature = 0", "not positive definite")
        warned = run("solve", data, *setting, "--set", "model.value_network.nonlinearity=identity",
                     "--set", "model.value_network.features=adapted")
        self.assertEqual(warned.returncode, 0, warned.stderr)
        self.assertIn("counted twice", " ".join(warned.stderr.split()))
        for form in ("hyla", "per_head", "after_attention"):
            self.check(run("solve", self.study, "--set", f"model.value_network.form={form}"), 78, f"form = \"{form}\"", "one layer")
        self.check(run("solve", self.study, "--set", "model.value_network.form=before_attention",
                       "--set", "model.value_network.features=adapted"), 78, "features = \"adapted\"", "\"fixed\"")
        self.check(run("solve", data, *setting, "--set", "model.value_network.form=hila"), 78, "hila", "hyla")

    def test_layers_above_the_first_keep_linear_values(self):
        point = self.points("solve", self.study, "--set", "model.value_network.form=before_attention")[0]
        self.assertEqual([len(u) for u in point["U"]], [2, 1])
        self.check(run("sample", self.study, "--set", "model.value_network.form=before_attention"), 78, "model.value_network", "one layer")
        plain = self.points("solve", self.study)[0]
        same = self.points("solve", self.study, "--set", "model.value_network.form=before_attention",
                           "--set", "model.value_network.nonlinearity=identity")[0]
        np.testing.assert_allclose(same["U"][0], plain["U"][0], rtol=1e-7)
        self.assertAlmostEqual(same["test_mean_squared_error"], plain["test_mean_squared_error"], places=8)


class Calibration(ProgramTest):
    SMALL = ["--set", "model.widths=[10]", "--set", "task.train_examples=20", "--set", "task.features=8", "--set",
             "task.test_examples=3", "--set", "sample.chains=2", "--set", "sample.draws=60", "--set", "sample.warmup=60"]

    COPY = [word for key in ("task.train_examples=10", "task.test_examples=3", "task.tokens=3", "model.widths=10",
                             "sample.replicas=3") for word in ("--set", key)]

    def test_ranks_of_networks_from_the_prior_are_in_table_and_file(self):
        result = self.path("r.h5")
        process = run("sample", "hmm-four-paths", *self.SMALL, "--calibrate", "--set", "sample.calibrate=20", "-q", "-o", result)
        self.assertIn(process.returncode, (0, 2), process.stderr)
        self.assertIn("ranks of 20 networks from the prior", " ".join(process.stdout.split()))
        self.assertIn("squared residual", process.stdout)
        with h5py.File(result) as file:
            point = file["points/0"]
            names, ranks = point["calibration_statistics"][()], point["calibration_ranks"][()]
            draws = point.attrs["calibration_draws"]
            self.assertEqual(ranks.shape, (20, len(names)))
            self.assertTrue(((ranks >= 0) & (ranks <= draws)).all() and np.ptp(ranks) > 0)
            self.assertTrue(0 <= point.attrs["calibration_p_value"] <= 1)

    def test_it_is_refused_where_labels_cannot_be_drawn_anew(self):
        data, sums = self.path("d.h5"), self.path("g.h5")
        with h5py.File(data, "w") as file:
            file.attrs["schema_name"], file.attrs["schema_version"] = "headway-dataset", np.array([1, 0])
            rng = np.random.default_rng(1)
            file["train/labels"] = rng.standard_normal(12)
            file["train/path_features"] = rng.standard_normal((12, 2, 3))
            file["train/path_features"].attrs["heads"] = [2]
        self.assertEqual(run("gram", data, "-q", "-o", sums).returncode, 0)
        for setting, words in (("sample.calibrate=20", "must be 0 for"),
                               ("sample.sampler=\"collapsed\"", "must be \"auto\" or \"exact\" for")):
            process = run("sample", sums, "--set", "model.widths=[10]", "--set", setting, "-q", "-o", self.path("r.h5"))
            self.assertEqual(process.returncode, 78, process.stderr)
            self.assertIn(words, process.stderr)

    def test_networks_whose_features_are_not_given_are_calibrated_too(self):
        short = ["--set", "sample.chains=2", "--set", "sample.draws=60", "--set", "sample.warmup=60", "--set",
                 "sample.calibrate=8", "-q"]
        for path, words, names in (
                ("v.h5", [write_data(self.path("v.h5")), *problem("hyla_relu"), "--set", "sample.replicas=3"],
                 (b"trace of S", b"log likelihood")),
                ("a.h5", ["copy-task", *self.COPY], (b"largest attention", b"trace of U_1"))):
            result = self.path("r-" + path)
            process = run("sample", *words, *short, "-o", result)
            self.assertIn(process.returncode, (0, 2), process.stderr)
            with h5py.File(result) as file:
                point = file["points/0"]
                self.assertEqual(point["calibration_ranks"].shape[0], 8)
                for name in names:
                    self.assertIn(name, list(point["calibration_statistics"][()]))

    def test_a_plan_counts_it(self):
        process = run("sample", "hmm-four-paths", *self.SMALL, "--calibrate", "--dry-run")
        self.assertIn("1000 networks with a chain each at every point: 500 times the transitions of the draws",
                      " ".join(process.stdout.split()))
        process = run("sample", "hmm-four-paths", *self.SMALL, "--calibrate", "--dry-run", "--json")
        plan = json.loads(process.stdout)
        self.assertEqual(plan["draw_transitions"], 2 * 120)
        self.assertEqual(plan["calibration_transitions"], 1000 * 120)
        self.assertEqual(plan["calibration_flops"], 1000 * plan["kernel_flops"])


if __name__ == "__main__":
    unittest.main()
