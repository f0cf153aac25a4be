"""Results of `headway train` in Python: reading, the table, learning curves, and clear faults."""

import contextlib
import io
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np

import headway
from headway import cli, figures
from headway.figures import learning
from headway.report import training
from headway.results.table import cells, measured_text, table
from headway.results.training_results import mean_and_error
from synthetic_results import Task, write_result

STEPS = np.array([100.0, 200.0, 300.0])
COLUMNS = "record,step,loss,learning_rate,gradient_norm,steps_per_second,r2,r2_pooled"


def r2_at(label, seed):
    """R^2 of a run on the held-out split, at every evaluation."""
    return (0.3 if label == "softmax" else 0.5) + 0.1 * seed + 0.001 * STEPS


def write_training_result(path, labels=("softmax", "hyla"), seeds=(1, 2, 3), partial=False):
    """What the program writes, with values that are known."""
    text = h5py.string_dtype()
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema_name": "headway-result", "schema_version": [1, 0], "kind": "train",
                           "study": "small", "task": "fuzzy_logic", "partial": int(partial),
                           "seed": 1, "planned_runs": len(labels) * len(seeds)})
        runs = [(label, seed) for label in labels for seed in seeds]
        for index, (label, seed) in enumerate(runs):
            group = file.create_group(f"runs/{index}")
            last = partial and index == len(runs) - 1
            group.attrs.update({
                "label": label, "variant": label, "seed": np.uint64(seed), "device": "cpu",
                "parameters": 151009, "flops_per_step": 1.5e9 + 1e8 * (label == "hyla"),
                "outcome": "interrupted" if last else "finished", "steps": 300,
                "train_loss": 0.01 * seed, "splits": "" if last else "held_out,unknown_terms"})
            group.create_dataset("settings", dtype=text,
                                 data=["train.attention", f'"{label}"', "seed", str(seed)])
            for split, shift in (("held_out", 0.0), ("unknown_terms", -1.0)):
                values = np.zeros((3, 8))
                values[:, 1], values[:, 6] = STEPS, r2_at(label, seed) + shift
                curve = group.create_dataset(f"curves/{split}", data=values)
                curve.attrs["columns"] = COLUMNS
                if not last:
                    group.create_group(f"final/{split}").attrs.update(
                        {"r2": values[-1, 6], "loss": 0.1, "examples": 64, "metrics": "r2"})
            group.create_group("ceiling/held_out").attrs.update({"instances": 20000, "r2": 0.93})
            losses = np.zeros((2, 6))
            losses[:, 1] = STEPS[:2]
            train = group.create_dataset("curves/train", data=losses)
            train.attrs["columns"] = COLUMNS.rsplit(",", 2)[0]
            group.create_dataset("weights/logits.weight", data=np.full((1, 4), seed, np.float32))


def end_otherwise(path, outcomes):
    """Makes the runs with these numbers end otherwise. Each keeps only its first record, with a score that would spoil a mean."""
    with h5py.File(path, "a") as file:
        for index, outcome in outcomes.items():
            run = file[f"runs/{index}"]
            run.attrs.update({"outcome": outcome, "splits": "", "train_loss": 1e17})
            del run["final"]
            for split in ("held_out", "unknown_terms"):
                columns, values = run[f"curves/{split}"].attrs["columns"], run[f"curves/{split}"][:1]
                values[:, 6] = -1e30
                del run[f"curves/{split}"]
                run.create_dataset(f"curves/{split}", data=values).attrs["columns"] = columns


def rename_metrics(path, first, second):
    """Puts other names in place of r2 and r2_pooled, as another task has them, and another study."""
    with h5py.File(path, "a") as file:
        file.attrs["study"] = first
        for run in file["runs"].values():
            for split in ("held_out", "unknown_terms"):
                curve, final = run[f"curves/{split}"], run[f"final/{split}"]
                curve.attrs["columns"] = curve.attrs["columns"].replace("r2,r2_pooled", f"{first},{second}")
                final.attrs[first] = final.attrs["r2"]
                del final.attrs["r2"]


class TrainingResultTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "small.h5"
        write_training_result(self.file)

    def run_cli(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()


class Reading(TrainingResultTest):
    def test_the_tokenizer_of_a_text_is_read(self):
        self.assertIsNone(headway.read_result(self.file).runs[0].tokenizer)
        with h5py.File(self.file, "a") as file:
            file["runs/0/tokenizer"] = np.frombuffer(b"\x0amodel\x00", dtype=np.uint8)
        self.assertEqual(headway.read_result(self.file).runs[0].tokenizer, b"\x0amodel\x00")

    def test_runs_curves_and_weights_are_read(self):
        result = headway.read_result(self.file)
        self.assertIsInstance(result, headway.TrainingResult)
        self.assertEqual((result.kind, result.task, len(result.runs)), ("train", "fuzzy_logic", 6))
        self.assertEqual(result.labels, ("softmax", "hyla"))
        self.assertEqual(result.splits, ("held_out", "unknown_terms"))
        run = result.runs_of("hyla")[1]
        self.assertEqual((run.seed, run.parameters, run.outcome), (2, 151009, "finished"))
        self.assertEqual(run.settings, {"train.attention": '"hyla"', "seed": "2"})
        curve = run.curves["held_out"]
        self.assertEqual(curve.main_metric, "r2")
        np.testing.assert_array_equal(curve.steps, STEPS)
        np.testing.assert_allclose(curve.columns["r2"], r2_at("hyla", 2))
        self.assertEqual(run.final["held_out"]["r2"], r2_at("hyla", 2)[-1])
        np.testing.assert_array_equal(run.weights["logits.weight"], np.full((1, 4), 2.0))
        self.assertEqual(run.weights["logits.weight"].dtype, np.float32)

    def test_an_unknown_label_is_refused(self):
        with self.assertRaisesRegex(headway.UsageError, "label: is 'Softmax'; allowed: 'softmax', 'hyla'"):
            headway.read_result(self.file).runs_of("Softmax")
        end_otherwise(self.file, dict.fromkeys((3, 4, 5), "diverged"))  # a label without a finished run has a row
        self.assertIn("hyla", table(headway.read_result(self.file)))

    def test_faults_name_their_place(self):
        def without_label(file):
            del file["runs/1"].attrs["label"]

        def other_columns(file):
            file["runs/0/curves/held_out"].attrs["columns"] = "step,loss"

        def without_runs(file):
            del file["runs"]

        for change, words in ((without_label, "/runs/1: attribute label"),
                              (other_columns, "/runs/0/curves/held_out"),
                              (without_runs, "/runs: is missing")):
            with self.subTest(change=change.__name__):
                write_training_result(self.file)
                with h5py.File(self.file, "a") as file:
                    change(file)
                with self.assertRaisesRegex(headway.BadDataError, words):
                    headway.read_result(self.file)

    def test_pooled_r2_is_the_main_metric_where_it_stands_alone(self):
        rename_metrics(self.file, "r2_pooled", "other")
        result = headway.read_result(self.file)
        self.assertEqual(result.runs[0].curves["held_out"].main_metric, "r2_pooled")
        header, rows = cells(result)
        self.assertIn("held_out r2_pooled", header)
        self.assertNotIn("nan", rows[0][header.index("held_out r2_pooled")])
        axes = figures.draw_all(result)["learning_curves"].axes[0]
        self.assertEqual(axes.get_ylabel(), "$R^2$ (pooled)")

    def test_mean_and_error(self):
        mean, error = mean_and_error(np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 2.0]]))
        np.testing.assert_allclose(mean, [3.0, 2.0])
        np.testing.assert_allclose(error, [np.sqrt(4.0 / 3.0), 0.0])
        self.assertTrue(np.isnan(mean_and_error(np.array([1.0]))[1]))


class TableTest(TrainingResultTest):
    def test_rows_are_variants(self):
        text = table(headway.read_result(self.file), "csv").splitlines()
        self.assertEqual(len(text), 3)
        self.assertIn("held_out r2", text[0])
        self.assertIn("softmax,\"1,2,3\",151009", text[1])
        self.assertIn("0.80 +- 0.06", text[1])  # 0.3 + 0.2 + 0.3, and an error of 0.1 / sqrt(3)
        self.assertIn("1.00 +- ", text[2])

    def test_values_have_the_decimals_of_their_errors_as_in_the_program(self):
        for value, error, said in ((12.998, 0.044, "13.00 +- 0.04"), (0.80421, 0.0323, "0.804 +- 0.032"),
                                   (0.80421, 0.0356, "0.80 +- 0.04"), (-140.7444, 1.3, "-140.7 +- 1.3"),
                                   (1234.5, 67.0, "1234 +- 67"), (2.04e-6, 3.7e-8, "(2.04 +- 0.04)e-06"),
                                   (0.5, np.nan, "0.5000"), (0.5, 0.0, "0.5000 +- 0"),
                                   (1 - 7e-16, 1.8e-16, "1.0000 +- 0"), (np.nan, 0.1, "-")):
            self.assertEqual(measured_text(value, error), said)

    def test_runs_that_were_interrupted_do_not_count(self):
        write_training_result(self.file, partial=True)
        text = table(headway.read_result(self.file), "csv").splitlines()
        self.assertIn("0.95 +- ", text[2])  # seeds 1 and 2 alone
        self.assertTrue(text[2].startswith('hyla,"1,2",151009'), text[2])

    def test_a_variant_without_a_finished_run_has_no_seeds(self):
        end_otherwise(self.file, {3: "diverged", 4: "diverged", 5: "interrupted"})
        text = table(headway.read_result(self.file), "csv").splitlines()
        self.assertEqual(text[2], "hyla,-,151009,1.6e+09,-,-,-")


class LearningCurves(TrainingResultTest):
    def test_lines_are_means_over_seeds(self):
        result = headway.read_result(self.file)
        drawn = figures.draw_all([result])
        self.assertEqual(set(drawn), {"learning_curves"})
        held_out, unknown, costs = drawn["learning_curves"].axes
        self.assertEqual([axes.get_title(loc="left") for axes in (held_out, unknown)],
                         ["held out", "unknown terms"])
        ceiling, *curves = held_out.lines[::-1]  # the ceiling is drawn last
        self.assertEqual(list(ceiling.get_ydata()), [0.93, 0.93])
        self.assertEqual(len(unknown.lines), len(curves))
        for label, line in zip(result.labels, held_out.lines):
            np.testing.assert_array_equal(line.get_xdata(), STEPS)
            np.testing.assert_allclose(line.get_ydata(), r2_at(label, 2))
        words = [text.get_text() for text in costs.texts]
        for word in ("softmax", "hyla", "151 k", "1.5 G", "1.6 G", "0.020 ± 0.006"):
            self.assertIn(word, words)

    def test_only_steps_that_every_seed_has(self):
        result = headway.read_result(self.file)
        runs = list(result.runs_of("hyla"))
        shorter = {name: values[:2] for name, values in runs[0].curves["held_out"].columns.items()}
        runs[0].curves["held_out"].columns.clear()
        runs[0].curves["held_out"].columns.update(shorter)
        steps, mean, error = learning.series(runs, "held_out", "r2")
        np.testing.assert_array_equal(steps, STEPS[:2])
        np.testing.assert_allclose(mean, r2_at("hyla", 2)[:2])
        np.testing.assert_allclose(error, 0.1 / np.sqrt(3))

    def test_runs_that_diverged_or_were_interrupted_are_in_no_mean(self):
        end_otherwise(self.file, {0: "interrupted", 5: "diverged"})  # softmax, seed 1; hyla, seed 3
        result = headway.read_result(self.file)
        figure = figures.draw_all([result])["learning_curves"]
        for line, (label, seeds) in zip(figure.axes[0].lines, (("softmax", (2, 3)), ("hyla", (1, 2)))):
            np.testing.assert_array_equal(line.get_xdata(), STEPS)
            np.testing.assert_allclose(line.get_ydata(), np.mean([r2_at(label, seed) for seed in seeds], axis=0))
        words = [text.get_text() for text in figure.axes[-1].texts]
        self.assertEqual(words[-1], "0.015 ± 0.005")
        self.assertIn("runs left out: 1 interrupted, 1 diverged", figure._suptitle.get_text())
        learned = training.learned(result, "small")["curves"]  # on the page
        self.assertEqual({curve["seeds"] for curve in learned}, {2})
        np.testing.assert_allclose(next(curve["mean"] for curve in learned if (
            curve["label"], curve["split"], curve["metric"]) == ("hyla", "held_out", "r2")),
            (r2_at("hyla", 1) + r2_at("hyla", 2)) / 2)

    def test_a_variant_without_a_finished_run_is_left_out(self):
        end_otherwise(self.file, dict.fromkeys((3, 4, 5), "diverged"))
        held_out, *_, costs = figures.draw_all([headway.read_result(self.file)])["learning_curves"].axes
        self.assertEqual(len(held_out.lines), 2)  # softmax and the ceiling
        self.assertNotIn("hyla", [text.get_text() for text in costs.texts])

    def test_without_a_finished_run_there_is_nothing_to_draw(self):
        end_otherwise(self.file, dict.fromkeys(range(5), "diverged") | {5: "interrupted"})
        for arguments in ((), ("--only", "learning_curves")):
            code, out, err = self.run_cli("plot", self.file, *arguments)
            self.assertEqual((code, out), (65, ""))
            self.assertIn("small.h5: holds no run that was trained to its end (5 diverged, 1 interrupted)", err)
        self.assertFalse((self.folder / "small-figures").exists())
        code, out, _ = self.run_cli("report", self.file)
        self.assertEqual(code, 0)
        text = Path(out.strip()).read_text(encoding="utf-8")
        self.assertIn("No figure: ", text)
        self.assertNotIn('id="learner"', text)

    def test_without_data_for_any_figure_no_folder_is_made(self):
        with h5py.File(self.file, "a") as file:
            for run in file["runs"].values():
                run.attrs["splits"] = ""
                del run["curves/held_out"], run["curves/unknown_terms"], run["final"]
        code, out, err = self.run_cli("plot", self.file)
        self.assertEqual((code, out), (65, ""))
        self.assertIn("small.h5: has not the data for any figure (a result of `headway train`)", err)
        self.assertFalse((self.folder / "small-figures").exists())

    def test_the_command_line_draws_them(self):
        code, out, err = self.run_cli("plot", self.file)
        self.assertEqual((code, err), (0, ""))
        picture = Path(out.strip())
        self.assertEqual(picture.name, "learning_curves.png")
        first = picture.read_bytes()
        self.assertEqual(self.run_cli("plot", self.file, "--force")[0], 0)
        self.assertEqual(picture.read_bytes(), first)
        code, out, _ = self.run_cli("table", self.file, "--format", "markdown")
        self.assertEqual(code, 0)
        self.assertIn("| hyla |", out)

    def test_several_results_share_the_figure(self):
        other = self.folder / "other.h5"
        write_training_result(other, labels=("linear",), seeds=(4,))
        drawn = figures.draw_all([headway.read_result(self.file), headway.read_result(other)])
        self.assertEqual(len(drawn["learning_curves"].axes[0].lines), 4)  # and the ceiling

    def test_results_without_a_common_metric_are_refused(self):
        other = self.folder / "other.h5"
        write_training_result(other, labels=("linear",), seeds=(4,))
        rename_metrics(other, "accuracy", "perplexity")
        with self.assertRaisesRegex(headway.BadDataError, "small.h5 has r2, .*other.h5 has accuracy.*plot each result alone"):
            figures.draw_all([headway.read_result(self.file), headway.read_result(other)])

    def test_results_share_the_metric_that_all_have(self):
        other = self.folder / "other.h5"
        write_training_result(other, labels=("linear",), seeds=(4,))
        rename_metrics(other, "r2_pooled", "other")
        with h5py.File(other, "a") as file:  # and a split of its own
            file.move("runs/0/curves/unknown_terms", "runs/0/curves/test")
        figure = figures.draw_all([headway.read_result(self.file), headway.read_result(other)])["learning_curves"]
        held_out, unknown, test, _ = figure.axes
        self.assertEqual([axes.get_ylabel() for axes in (held_out, unknown, test)], ["$R^2$ (pooled)", "$R^2$", "$R^2$ (pooled)"])
        np.testing.assert_allclose(held_out.lines[0].get_ydata(), 0.0)  # softmax, r2_pooled
        self.assertEqual(len(test.lines), 1)
        self.assertIn("small, r2_pooled", figure._suptitle.get_text())
        figures.rendered(figure)

    def test_seeds_in_several_results_are_one_line(self):
        other = self.folder / "other.h5"
        write_training_result(other, labels=("hyla",), seeds=(4,))
        results = [headway.read_result(self.file), headway.read_result(other)]
        held_out, *_, costs = figures.draw_all(results)["learning_curves"].axes
        self.assertEqual(len(held_out.lines), 3)  # softmax, hyla, the ceiling
        together = [*results[0].runs_of("hyla"), *results[1].runs_of("hyla")]
        self.assertEqual([run.seed for run in together], [1, 2, 3, 4])
        np.testing.assert_allclose(held_out.lines[1].get_ydata(), learning.series(together, "held_out", "r2")[1])
        self.assertEqual([text.get_text() for text in costs.texts].count("hyla"), 1)
        # Runs with other settings are a line of their own.
        longer = self.folder / "longer.h5"
        write_training_result(longer, labels=("hyla",), seeds=(5,))
        with h5py.File(longer, "r+") as file:
            file.attrs["study_toml"] = "[train]\nsteps = 7\n"
        drawn = figures.draw_all([results[0], headway.read_result(longer)])
        self.assertEqual(len(drawn["learning_curves"].axes[0].lines), 4)

    def test_crossed_seeds_are_a_line_for_each_seed_of_the_data(self):
        results = []
        for data, seeds in ((1, (1, 2)), (2, (1, 2))):
            file = self.folder / f"data-{data}.h5"
            write_training_result(file, labels=("hyla",), seeds=seeds)
            with h5py.File(file, "r+") as opened:
                opened.attrs["study_toml"] = f"[task]\nseed = {data}\n"
            results.append(headway.read_result(file))
        held_out, *_, costs = figures.draw_all(results)["learning_curves"].axes
        self.assertEqual(len(held_out.lines), 3)  # and the ceiling
        self.assertLessEqual({"hyla, task.seed = 1", "hyla, task.seed = 2"}, {text.get_text() for text in costs.texts})
        # A file that is given twice counts once.
        twice, once = (figures.draw_all(given)["learning_curves"] for given in ((results[0], results[0]), results[:1]))
        for one, other in zip(twice.axes[0].collections, once.axes[0].collections):
            np.testing.assert_array_equal(one.get_paths()[0].vertices, other.get_paths()[0].vertices)
        self.assertEqual(len(twice.axes[0].collections), len(once.axes[0].collections))
        # With other data for each seed, runs are independent, and one line holds them.
        write_training_result(file, labels=("hyla",), seeds=(3,))
        with h5py.File(file, "r+") as opened:
            opened.attrs["study_toml"] = "[task]\nseed = 2\n"
        first = replace(results[0], runs=results[0].runs[:1])
        held_out, *_ = figures.draw_all([first, headway.read_result(file)])["learning_curves"].axes
        self.assertEqual(len(held_out.lines), 2)
        # One seed on two data sets: the title counts the data.
        seconds = replace(results[1], runs=results[1].runs[:1])
        title = figures.draw_all([first, seconds])["learning_curves"]._suptitle.get_text()
        self.assertIn("2 data seeds", title)

    def test_the_axis_says_how_large_a_step_is(self):
        with h5py.File(self.file, "r+") as file:
            file.attrs["study_toml"] = "[train]\nbatch = 128\n"
        axes = figures.draw_all([headway.read_result(self.file)])["learning_curves"].axes[0]
        self.assertEqual(axes.get_xlabel(), "training step (128 examples)")

    def test_what_cannot_be_drawn_is_refused(self):
        theory = self.folder / "theory.h5"
        write_result(theory, "solve", Task(train=12, test=10, tokens=4, features=6), widths=(10,))
        code, _, err = self.run_cli("plot", self.file, theory)
        self.assertEqual(code, 65)
        self.assertIn("cannot share", err)
        code, _, err = self.run_cli("plot", self.file, "--only", "pruning")
        self.assertEqual(code, 65)
        code, _, err = self.run_cli("plot", theory, "--only", "learning_curves")
        self.assertEqual(code, 65)
        write_training_result(self.file, labels=())
        code, _, err = self.run_cli("plot", self.file)
        self.assertEqual(code, 65)


if __name__ == "__main__":
    unittest.main()
