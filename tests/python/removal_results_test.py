"""Results of `headway prune-network` in Python: reading, tables, named arrays, figure, clear faults."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

import headway
from headway import cli, figures
from headway.results.network_arrays import removal_groups
from headway.results.network_results import score_kind
from headway.results.table import table

HEADS = 4
NAMES = ("sensitivity", "theory error_rise parts-{} N = 100 T = 0.1")


def spearman(label, seed, name):
    return (0.9 if name == "sensitivity" else 0.3) - 0.1 * seed + (0.05 if label == "hyla" else 0.0)


def write_curve(group, start):
    """Three heads are removed; the last of a layer stays."""
    group["order"] = np.array([2, 0, 3])
    for name, values in (("r2", start - 0.1 * np.arange(4)), ("loss", 0.01 * np.arange(4))):
        group[name] = values
        group[f"{name}_error"] = np.full(4, 0.01)


def write_removals(path, labels=("softmax", "hyla"), seeds=(1, 2), cumulative=True):
    """What the program writes, with values that are known; `cumulative` is that of [prune]."""
    with h5py.File(path, "w") as file:
        file.attrs.update({"schema_name": "headway-result", "schema_version": [1, 0], "kind": "network_prune",
                           "study": "small", "task": "fuzzy_logic", "partial": 0, "seed": 1})
        for index, (label, seed) in enumerate((label, seed) for label in labels for seed in seeds):
            run = file.create_group(f"runs/{index}")
            run.attrs.update({"label": label, "variant": label, "seed": np.uint64(seed), "metric": "r2"})
            heads = run.create_group("heads")
            heads["layer"], heads["head"] = [1, 1, 2, 2], [1, 2, 1, 2]
            heads["gradient_sensitivity"] = np.linspace(0.1, 0.4, HEADS)
            for name in ("r2_drop", "loss_rise", "r2_drop_mean", "loss_rise_mean"):
                heads[name] = seed * np.arange(HEADS) / 10
                heads[f"{name}_error"] = np.full(HEADS, 0.01)
            network = run.create_group("network")
            network.attrs.update({"rescaled": 0, "measured_on": "held_out", "greedy_on": "validation",
                                  "sensitivity_on": "train"})
            sets = network.create_group("sets")
            sets.create_dataset("name", data=["held_out"], dtype=h5py.string_dtype())
            sets["examples"] = [50]
            for name in ("r2", "loss"):
                sets[name], sets[f"{name}_error"] = [0.8], [0.02]
            for name in ("r2_drop", "error_rise"):
                network[name], network[f"{name}_error"] = np.arange(HEADS) / 10, np.full(HEADS, 0.01)
            for name in NAMES:
                score = network.create_group(f"scores/{name.format(index)}")
                score["score"] = np.arange(HEADS, dtype=float)
                for effect in ("r2_drop", "error_rise"):
                    rho = spearman(label, seed, name)
                    score.attrs.update({f"{effect}_spearman": rho, f"{effect}_lower": rho - 0.1,
                                        f"{effect}_upper": rho + 0.1})
                if cumulative:
                    write_curve(score.create_group("rising"), 0.8)
            if not cumulative:
                continue
            write_curve(network.create_group("greedy"), 0.85)
            random = network.create_group("random")
            random["r2"], random["order"] = np.zeros((2, 4)), np.zeros((2, 3), int)
            for name in ("mean", "sd", "error"):
                random[name] = np.full(4, 0.1)


class RemovalResults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "removed.h5"
        write_removals(self.file)

    def test_runs_scores_and_curves_are_read(self):
        result = headway.read_result(self.file)
        self.assertIsInstance(result, headway.RemovalResult)
        self.assertEqual(result.labels, ("softmax", "hyla"))
        run = result.runs_of("softmax")[1]
        self.assertEqual((run.seed, run.metric, run.network.measured_on), (2, "r2", "held_out"))
        np.testing.assert_allclose(run.heads.metric_drop.mean, [0.0, 0.2, 0.4, 0.6])
        self.assertAlmostEqual(run.network.scores["sensitivity"].error_rise.spearman, 0.7)
        np.testing.assert_allclose(run.network.greedy.accuracy.mean, [0.85, 0.75, 0.65, 0.55])
        self.assertIsNone(run.network.order_parameter)
        self.assertIn("heads removed from 4 networks (softmax, hyla)", repr(result))

    def test_older_files_are_read_with_the_sign_of_today(self):
        with h5py.File(self.file, "a") as file:
            for run in file["runs"].values():
                for name in [name for name in run["heads"] if name.startswith(("r2_drop", "loss_rise"))]:
                    old = name.replace("r2_drop", "r2_change").replace("loss_rise", "loss_change")
                    sign = -1.0 if name in ("r2_drop", "r2_drop_mean") else 1.0
                    values = run["heads"][name][()]
                    del run["heads"][name]
                    run["heads"][old] = sign * values
        heads = headway.read_result(self.file).runs[1].heads
        for estimates in (heads.metric_drop, heads.metric_drop_mean, heads.loss_rise, heads.loss_rise_mean):
            np.testing.assert_allclose(estimates.mean, [0.0, 0.2, 0.4, 0.6])
            np.testing.assert_allclose(estimates.error, np.full(HEADS, 0.01))

    def test_scores_of_the_theory_are_joined_over_files(self):
        self.assertEqual(score_kind("theory score a b-1 N = 10 T = 1"), "theory score N = 10 T = 1")
        self.assertEqual(score_kind("weight_norm"), "weight_norm")
        rows = table(headway.read_result(self.file), "csv").splitlines()
        self.assertIn('softmax,"1,2",theory error_rise N = 100 T = 0.1,0.15 +- 0.05,0.15 +- 0.05', rows)
        self.assertIn('hyla,"1,2",sensitivity,0.80 +- 0.05,0.80 +- 0.05', rows)
        self.assertEqual(len(rows), 1 + 2 * 2)

    def test_arrays_have_named_dimensions(self):
        groups = removal_groups(headway.read_result(self.file))
        dimensions, changes = groups["/runs"].variables["loss_rise"]
        self.assertEqual((dimensions, changes.shape), (("run", "removed_head"), (4, HEADS)))
        np.testing.assert_allclose(changes[3], [0.0, 0.2, 0.4, 0.6])
        np.testing.assert_allclose(groups["/scores"].variables["error_rise_spearman"][1][:, 0], [0.8, 0.7, 0.85, 0.75])

    def test_the_figure_shows_costs_curves_and_correlations(self):
        figure = figures.draw_all([headway.read_result(self.file)])["head_removal"]
        self.assertEqual(len(figure.axes), 2 * 3)
        names = [text.get_text() for text in figure.axes[2].get_yticklabels()]
        self.assertEqual(names, ["gradient sensitivity", "theory's predicted rise, N = 100 T = 0.1"])
        greedy = next(one for one in figure.axes[1].containers if one.get_label() == "greedy search on validation examples")
        np.testing.assert_allclose(greedy[0].get_ydata(), [0.85, 0.75, 0.65, 0.55])
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(cli.main(["plot", str(self.file)]), 0)
        self.assertEqual(Path(out.getvalue().strip()).name, "head_removal.png")

    def test_what_is_cut_is_told_and_legends_lie_outside(self):
        self.assertNotIn("not shown", figures.draw_all([headway.read_result(self.file)])["head_removal"]._suptitle.get_text())
        with h5py.File(self.file, "a") as file:
            file["runs/0/network/greedy/r2"][3] = -3.0
        figure = figures.draw_all([headway.read_result(self.file)])["head_removal"]
        self.assertIn("values below \u22121 are not shown", figure._suptitle.get_text())
        figure.draw_without_rendering()
        for axes in figure.axes:
            if axes.get_legend() is not None:
                box = axes.get_legend().get_window_extent()
                self.assertTrue(box.x0 >= axes.bbox.x1 or box.y0 >= axes.bbox.y1, axes.get_xlabel())

    def test_the_figure_does_without_curves(self):
        write_removals(self.file, cumulative=False)
        err = io.StringIO()
        with self.assertNoLogs("matplotlib"), contextlib.redirect_stderr(err):
            figure = figures.draw_all([headway.read_result(self.file)])["head_removal"]
        self.assertEqual(err.getvalue(), "")
        self.assertEqual([axes.get_xlabel() for axes in figure.axes],
                         ["heads, the most needed first", "rank correlation with the rise of the loss"] * 2)
        self.assertNotIn("middle", figure._suptitle.get_text())
        text = headway.write_report(self.file, self.file.with_suffix(".html")).read_text(encoding="utf-8")
        self.assertIn('id="remover"', text)
        self.assertNotIn('id="order"', text)

    def test_the_figure_does_with_curves_of_one_variant_only(self):
        with h5py.File(self.file, "a") as file:
            for run in (0, 1):
                network = file[f"runs/{run}/network"]
                del network["greedy"], network["random"]
                for score in network["scores"].values():
                    del score["rising"]
        with self.assertNoLogs("matplotlib"):
            figure = figures.draw_all([headway.read_result(self.file)])["head_removal"]
        self.assertEqual([axes.get_visible() for axes in figure.axes], [True, False, True, True, True, True])

    def test_several_cannot_share_a_table(self):
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(cli.main(["table", str(self.file), str(self.file)]), 64)
        self.assertIn("removed.h5: is a result of headway prune on a result of headway train; allowed, when "
                      "there are several: results of headway prune on a data set with a trained network", err.getvalue())

    def test_faults_name_their_place(self):
        def fewer_changes(file):
            del file["runs/1/heads/loss_rise"]
            file["runs/1/heads/loss_rise"] = np.zeros(3)

        def short_curve(file):
            del file["runs/2/network/greedy/r2"]
            file["runs/2/network/greedy/r2"] = np.zeros(3)

        for change, words in ((fewer_changes, r"/runs/1/heads/loss_rise: has shape \[3\], not \[4\]"),
                              (short_curve, r"/runs/2/network/greedy/r2: has shape \[3\], not \[4\]"),
                              (lambda file: file.pop("runs/0/network"), "/runs/0/network: is missing"),
                              (lambda file: file["runs/3"].attrs.pop("metric"), "/runs/3: attribute metric")):
            with self.subTest(words=words):
                write_removals(self.file)
                with h5py.File(self.file, "a") as file:
                    change(file)
                with self.assertRaisesRegex(headway.BadDataError, words):
                    headway.read_result(self.file)


if __name__ == "__main__":
    unittest.main()
