"""Results of `headway latents` and `headway evaluate` in Python: reading, tables, figures, clear faults."""

import contextlib
import importlib.util
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import h5py
import numpy as np

import headway
from headway import cli, figures
from headway.figures import latents
from headway.results.network_arrays import evaluation_groups, latents_groups
from headway.report import networks
from headway.results.table import cells, table

RULES = ("constant", "plus one", "sum")
CODES = 40


def score(label, seed, layer):
    return (0.4 if label == "softmax" else 0.6) + 0.01 * seed + 0.1 * layer


def write_latents(path, labels=("softmax", "hyla"), seeds=(1, 2), task="sraven"):
    """What the program writes, with values that are known."""
    text = h5py.string_dtype()
    rng = np.random.default_rng(7)
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema_name": "headway-result", "schema_version": [1, 0], "kind": "latents",
                           "study": "small", "task": task, "partial": 0, "seed": 1})
        for index, (label, seed) in enumerate((label, seed) for label in labels for seed in seeds):
            run = file.create_group(f"runs/{index}")
            run.attrs.update({"label": label, "variant": label, "seed": np.uint64(seed), "task": task,
                              "step": 100, "run": index + 1})
            for split in ("train", "held_out"):
                known = run.create_group(f"labels/{split}")
                known["task"] = np.arange(CODES) // 4
                known["label"] = np.arange(CODES)[:, None] % len(RULES)
                known["answer"] = np.arange(CODES, dtype=float) % 5
                if task == "sraven":
                    known["feature"] = np.arange(CODES) % 2
            for place, layer in (("layers/0", 1), ("layers/1", 2), ("all_layers", 0)):
                group = run.create_group(place)
                group.attrs.update({"layer": layer, "codes": CODES, "heads": 3, "pairs": 1})
                for number, name in enumerate(("rule", "answer")):
                    decoder = group.create_group(f"decoders/{number}")
                    decoder.attrs.update({
                        "name": name, "kind": "logistic", "metric": "balanced_accuracy", "train": 0.9,
                        "held_out": score(label, seed, layer), "chance": 1 / 3, "standard_error": 0.02,
                        "shuffled": 0.3, "shuffled_sd": 0.01, "untrained": 0.35,
                        "untrained_standard_error": 0.03, "regularisation": 0.1, "converged": 1})
                similarity = group.create_group("similarity")
                similarity.create_dataset("labels", data=list(RULES), dtype=text)
                similarity["cosine"] = np.eye(3)
                similarity["centred_cosine"] = np.eye(3)
                similarity["mean_codes"] = np.ones((3, 3))
                similarity.attrs.update({"same_label": 0.8, "different_label": 0.2})
                if layer:
                    for split in ("train", "held_out"):
                        group[f"codes/{split}"] = rng.normal(size=(CODES, 3))


SWEPT = """schema = 1
seed = 1

[task]
kind = "fuzzy_logic"
sequence_length = 24
held_out = 0.5
file = "/data/a, b.txt"

[train]
steps = 7

[sweep]
"seed" = [1, 2]
"task.sequence_length" = [8, 16]
"task" = [{held_out = 0.5}, {held_out = 0.25, inputs = "uniform"}]
"""


def swept_task(seed, length, put):
    task = {"kind": '"fuzzy_logic"', "seed": seed, "sequence_length": length, "held_out": 0.25,
            "file": '"/data/a, b.txt"', "inputs": '"uniform"'} | put
    return "\n[task]\n" + "".join(f"{key} = {value}\n" for key, value in task.items())


def write_swept_evaluation(path, put, older=False):
    """One network of each seed and length, held_out = 0.25, evaluated on its own task with the changes `put`. Older files have
    the task of the first network alone."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema_name": "headway-result", "schema_version": [1, 0], "kind": "evaluate",
                           "study": "small", "task": "fuzzy_logic", "study_toml": SWEPT,
                           "evaluated_on": swept_task(1, 8, put) if older else "[task]\n# of each network its own\n"})
        for number in (2, 4, 6, 8):
            seed, length = 1 + number // 5, (16, 8)[number // 2 % 2]
            run = file.create_group(f"runs/{number}")
            run.attrs.update({"label": f"sequence_length = {length}", "variant": "hyla", "seed": np.uint64(seed),
                              "run": number})
            if not older:
                run.attrs["evaluated_on"] = swept_task(seed, length, put)
            run.create_group("evaluations/held_out").attrs.update({"examples": 64, "loss": 0.1, "r2": 0.5})


def write_evaluation(path):
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema_name": "headway-result", "schema_version": [1, 0], "kind": "evaluate",
                           "study": "small", "task": "fuzzy_logic", "evaluated_on": "[task]\n"})
        for index, seed in enumerate((1, 3)):
            run = file.create_group(f"runs/{index}")
            run.attrs.update({"label": "hyla", "variant": "hyla", "seed": np.uint64(seed),
                              "evaluated_on": "[task]\n"})
            for split in ("validation", "held_out"):
                at = run.create_group(f"evaluations/{split}").attrs
                at.update({"examples": 64, "loss": 0.1, "r2": 0.5 + 0.1 * seed, "metrics": "r2"})


class LatentResultsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "codes.h5"
        write_latents(self.file)

    def run_cli(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()


class Reading(LatentResultsTest):
    def test_runs_layers_and_codes_are_read(self):
        result = headway.read_result(self.file)
        self.assertIsInstance(result, headway.LatentsResult)
        self.assertEqual(result.labels, ("softmax", "hyla"))
        run = result.runs_of("hyla")[1]
        self.assertEqual((run.seed, run.task, len(run.layers)), (2, "sraven", 2))
        self.assertEqual([layer.name for layer in run.every_layer], ["layer 1", "layer 2", "all layers"])
        decoder = run.layers[1].decoder("rule")
        self.assertAlmostEqual(decoder.held_out, 0.82)
        self.assertEqual((decoder.metric, decoder.standard_error), ("balanced_accuracy", 0.02))
        self.assertIsNone(run.layers[1].decoder("term"))
        self.assertEqual(run.layers[0].codes["held_out"].shape, (CODES, 3))
        self.assertEqual(run.all_layers.codes, {})
        self.assertEqual(run.layers[0].similarity.labels, RULES)
        self.assertEqual(run.labels["train"].label.shape, (CODES, 1))
        self.assertEqual(run.labels["train"].feature[3], 1)

    def test_evaluations_are_read(self):
        path = self.folder / "evaluated.h5"
        write_evaluation(path)
        result = headway.read_result(path)
        self.assertIsInstance(result, headway.EvaluateResult)
        self.assertEqual(set(result.splits), {"held_out", "validation"})
        self.assertAlmostEqual(result.runs[1].evaluations["held_out"]["r2"], 0.8)
        rows = table(result, "csv").splitlines()
        self.assertIn('hyla,"1,3",held_out,r2,0.70 +- 0.10', rows)

    def test_faults_name_their_place(self):
        def without_score(file):
            del file["runs/1/layers/0/decoders/1"].attrs["chance"]

        def fewer_codes(file):
            del file["runs/0/layers/1/codes/train"]
            file["runs/0/layers/1/codes/train"] = np.zeros((3, 3))

        def fewer_answers(file):
            del file["runs/0/labels/held_out/answer"]
            file["runs/0/labels/held_out/answer"] = np.zeros(3)

        def without_all(file):
            del file["runs/2/all_layers"]

        for change, words in ((without_score, "/runs/1/layers/0/decoders/1: attribute chance"),
                              (fewer_codes, "/runs/0: the codes of layer 2, train"),
                              (fewer_answers, "answer: has 3 rows, not 40"),
                              (without_all, "/runs/2/all_layers: is missing")):
            with self.subTest(change=change.__name__):
                write_latents(self.file)
                with h5py.File(self.file, "a") as file:
                    change(file)
                with self.assertRaisesRegex(headway.BadDataError, words):
                    headway.read_result(self.file)

    def test_a_table_has_means_over_seeds(self):
        rows = table(headway.read_result(self.file), "csv").splitlines()
        self.assertEqual(len(rows), 1 + 2 * 3 * 2)
        # Seeds 1 and 2 of softmax in layer 1: 0.51 and 0.52.
        self.assertIn("softmax,\"1,2\",1,rule,balanced_accuracy,0.9000 +- 0,0.515 +- 0.005,0.0200", rows[1])
        self.assertIn("hyla,\"1,2\",all,answer", rows[-1])


class NamedArrays(LatentResultsTest):
    def test_decoding_and_codes_have_named_dimensions(self):
        groups = latents_groups(headway.read_result(self.file))
        dimensions, scores = groups["/decoding"].variables["held_out"]
        self.assertEqual(dimensions, ("run", "layer", "decoder"))
        np.testing.assert_array_equal(groups["/decoding"].coordinates["layer"][1], [1, 2, 0])
        self.assertAlmostEqual(scores[3, 1, 0], score("hyla", 2, 2))
        self.assertEqual(groups["/layer_2"].variables["codes_held_out"][1].shape, (4, CODES, 3))
        self.assertNotIn("codes_held_out", groups["/all_layers"].variables)
        for group in groups.values():
            for names, array in group.variables.values():
                self.assertEqual(len(names), array.ndim)

    def test_evaluations_have_named_dimensions(self):
        path = self.folder / "evaluated.h5"
        write_evaluation(path)
        result = headway.read_result(path)
        dimensions, values = evaluation_groups(result)["/runs"].variables["r2"]
        self.assertEqual(dimensions, ("run", "split"))
        np.testing.assert_allclose(values, [[0.6, 0.6], [0.8, 0.8]])
        dimensions, tasks = evaluation_groups(result)["/runs"].variables["evaluated_on"]
        self.assertEqual((dimensions, tasks.tolist()), (("run",), 2 * ["[task]\n"]))

    @unittest.skipUnless(importlib.util.find_spec("xarray"), "xarray is not installed")
    def test_xarray_takes_them(self):
        tree = headway.read_result(self.file).to_datatree()
        self.assertEqual(tree["decoding"]["held_out"].sizes["run"], 4)


class Figures(LatentResultsTest):
    def test_decoding_shows_every_score_and_its_error(self):
        result = headway.read_result(self.file)
        mean, error = latents.decoded(result.runs_of("hyla"), 1, "rule", "held_out")
        self.assertAlmostEqual(mean, 0.815)
        self.assertAlmostEqual(error, 0.005)  # over seeds
        self.assertAlmostEqual(latents.decoded(result.runs_of("hyla")[:1], 1, "rule", "held_out")[1],
                               0.02)  # over tasks, where there is one seed
        figure = figures.draw_all([result], only=["latent_decoding"])["latent_decoding"]
        self.assertEqual(figure.axes[0].get_title(loc="left"), "rules of unseen rule sets")
        drawn = {handle.get_label(): handle[0].get_ydata() for handle in figure.axes[0].containers}
        np.testing.assert_allclose(drawn["hyla"], [0.715, 0.815, 0.615])

    def test_similarity_has_a_panel_for_every_layer_and_variant(self):
        result = headway.read_result(self.file)
        figure = figures.draw_all([result], only=["latent_similarity"])["latent_similarity"]
        images = [axes for axes in figure.axes if axes.get_images() and axes.get_title(loc="left")]
        self.assertEqual(len(images), 2 * 3)
        self.assertIn("same 0.80, other 0.20", images[0].get_title(loc="left"))

    def test_evaluation_shows_every_split(self):
        path = self.folder / "evaluated.h5"
        write_evaluation(path)
        code, out, _ = self.run_cli("plot", path)
        self.assertEqual((code, Path(out.strip()).name), (0, "evaluation.png"))

    def test_the_task_of_an_evaluation_is_told_where_it_is_another(self):
        path = self.folder / "evaluated.h5"
        short, long = "sequence_length = 8", "sequence_length = 16"
        cases = [({"sequence_length": 32}, [f"{short}, on sequence_length = 32", f"{long}, on sequence_length = 32"]),
                 ({"sequence_length": 16}, [f"{short}, on sequence_length = 16", long]),
                 ({"sequence_length": 16, "seed": 5, "held_out": 0.5},
                  [f"{short}, on seed = 5, sequence_length = 16, held_out = 0.5",
                   f"{long}, on seed = 5, held_out = 0.5"]),
                 ({"sequence_length": 16, "file": '"/elsewhere/c.txt"'},
                  [f"{short}, on sequence_length = 16, file = c.txt", f"{long}, on file = c.txt"])]
        cases = [(older, *case) for older in (True, False) for case in cases]
        cases += [(False, {}, [short, long]),
                  (False, {"sequence_length": 8}, [short, f"{long}, on sequence_length = 8"]),
                  (True, {}, [short, f"{long}, on sequence_length = 8 or 16"])]  # of which the file has one
        for older, put, names in cases:
            with self.subTest(older=older, put=put):
                write_swept_evaluation(path, put, older)
                result = headway.read_result(path)
                self.assertEqual([row[0] for row in cells(result)[1] if row[3] == "r2"], names)
                axes = figures.draw_all([result])["evaluation"].axes[0]
                self.assertEqual([text.get_text().replace("\n", ", ") for text in axes.get_legend().get_texts()], names)
                shown = networks.evaluated(result, "small")["values"]
                self.assertEqual([value["label"] for value in shown if value["metric"] == "r2"], names)

    def test_without_scikit_learn_the_others_are_drawn(self):
        with mock.patch.object(importlib.util, "find_spec", return_value=None), \
                mock.patch.dict("sys.modules", {"sklearn": None, "sklearn.manifold": None}):
            code, out, err = self.run_cli("plot", self.file)
            self.assertEqual(code, 0)
            self.assertEqual({Path(line).stem for line in out.splitlines()},
                             {"latent_decoding", "latent_similarity"})
            self.assertIn("latent_tsne is left out", err)
            code, out, err = self.run_cli("plot", self.file, "--only", "latent_tsne")
            self.assertEqual((code, out), (69, ""))
            self.assertIn("python3 -m pip install scikit-learn", err)

    @unittest.skipUnless(importlib.util.find_spec("sklearn"), "scikit-learn is not installed")
    def test_tsne_colours_what_is_known(self):
        for task, titles in (("sraven", {"rule", "answer"}), ("fuzzy_logic", {"first term", "task", "answer"})):
            with self.subTest(task=task):
                write_latents(self.file, labels=("hyla",), seeds=(1,), task=task)
                result = headway.read_result(self.file)
                figure = figures.draw_all([result], only=["latent_tsne"])["latent_tsne"]
                found = [axes.get_title(loc="left") for axes in figure.axes if axes.collections]
                self.assertEqual({title.split(": ")[1] for title in found if ": " in title}, titles)
                again = figures.draw_all([result], only=["latent_tsne"])["latent_tsne"]
                self.assertEqual(figures.rendered(figure), figures.rendered(again))

    def test_other_results_cannot_share(self):
        path = self.folder / "evaluated.h5"
        write_evaluation(path)
        code, _, err = self.run_cli("plot", self.file, path)
        self.assertEqual(code, 65)
        self.assertIn("cannot share", err)


if __name__ == "__main__":
    unittest.main()
