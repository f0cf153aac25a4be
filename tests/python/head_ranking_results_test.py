"""What a ranking of heads shows, writes and refuses: tables, exports, the cache, data sets with parts, figures."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import h5py
import numpy as np

import headway
from headway.results.older import today
from headway.cli import main
from headway.heads.ranking.cache import Cache
from headway.results.ranking.combine import combine
from headway.results.ranking.exports import heads_by_layer, read_duo_attention, scores_of_layers, write_duo_attention
from headway.results.rank_results import RankResult
from headway.results.ranking.measured import CUTS, REMOVALS, Measured
from headway.results.ranking.removal import Whole, stacked
from headway.results.ranking.table import ranking_of
from headway.results.table import cells
from head_ranking_test import change_of, drawn


def measured_of(change, **attributes):
    count = change.rises.shape[0]
    changes = {name: change for name in REMOVALS}
    return Measured(tuple([1] * (count // 2) + [2] * (count - count // 2)),
                    tuple([*range(1, count // 2 + 1), *range(1, count - count // 2 + 1)]), changes,
                    np.abs(change.rises), {"weight_norm": np.arange(count, dtype=float)}, {"weight_norm": np.zeros(count)},
                    {name: 3.5 for name in REMOVALS} | {"gradient": 3.0}, {"examples": 200, "grouped": True} | attributes)


class Table(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.ranking = ranking_of(measured_of(change_of([0.4, 0.1, 0.3, 0.2], 1e-4)), "mean", "refitted", None, 1)

    def test_columns_have_errors_and_costs_and_the_table_shows_some(self):
        for name in (*REMOVALS, "gradient", "weight_norm", "estimate"):
            self.assertIn(f"{name}_error", self.ranking.columns)
        self.assertEqual(self.ranking.passes["estimate"], 3.5)
        self.assertEqual([self.ranking.names[row] for row in self.ranking.order()], ["L1H2", "L2H2", "L2H1", "L1H1"])
        np.testing.assert_array_equal(self.ranking["rank"], [4, 1, 3, 2])
        text = repr(self.ranking)
        self.assertIn("among 1 cheapest", text)
        self.assertIn("two halves of the examples agree by 1.00", text)
        self.assertLess(text.index("L1H2"), text.index("L1H1"))
        self.assertIn("+0.00012", repr(ranking_of(measured_of(change_of([0.00012, 0.001], 1e-5)), "mean", "fixed", None, 1)))
        self.assertIn("<table", self.ranking._repr_html_())
        self.assertEqual(self.ranking.to_csv().splitlines()[0].split(",")[:5], ["layer", "head", "name", "rank", "estimate"])

    def test_bad_arguments_are_refused(self):
        measured = measured_of(change_of([0.4, 0.1], 1e-4))
        for words, call in (("k: is 3; allowed: None, or an integer from 1 to 2", lambda: ranking_of(measured, "mean", "fixed", 3, 1)),
                            ("mode: is 'off'", lambda: ranking_of(measured, "off", "fixed", None, 1)),
                            ("target: is 'x'", lambda: ranking_of(measured, "mean", "x", None, 1)),
                            ("k: is -1", lambda: self.ranking.cheapest(-1)), ("column: is 'y'", lambda: self.ranking.order("y")),
                            ("sink_size: is 0", lambda: write_duo_attention(self.folder, np.ones((1, 1)), 0, 1))):
            with self.assertRaisesRegex(headway.UsageError, words.replace("(", "\\(")):
                call()

    def test_exports_hold_the_cheapest_heads(self):
        self.assertEqual(self.ranking.to_prune_heads(3, self.folder / "heads.json"), {0: [1], 1: [0, 1]})
        self.assertEqual(json.loads((self.folder / "heads.json").read_text()), {"0": [1], "1": [0, 1]})
        budgets = self.ranking.to_budgets(self.folder / "budgets.json")
        self.assertEqual([one["removed"] for one in budgets], [0, 1, 2, 3, 4])
        self.assertEqual(budgets[2], {"removed": 2, "share": 0.5, "heads": {0: [1], 1: [1]}})
        self.assertEqual(heads_by_layer([(2, 2), (1, 1)], queries=2), {0: [0, 1], 1: [2, 3]})

    def test_duo_attention_keeps_what_was_not_ranked(self):
        scores = scores_of_layers(self.ranking.layers, self.ranking.heads, self.ranking["estimate"], [3, 3, 3])
        np.testing.assert_allclose(scores, [[1, 0, 1], [2 / 3, 1 / 3, 1], [1, 1, 1]])
        write_duo_attention(self.folder / "duo", scores, 4, 8)
        sink, recent, read = read_duo_attention(self.folder / "duo")
        self.assertEqual((sink, recent), (4, 8))
        np.testing.assert_allclose(read, scores, atol=1e-6)
        with self.assertRaisesRegex(headway.UnreadableFileError, "config.json"):
            read_duo_attention(self.folder / "nowhere")
        (self.folder / "duo/config.json").write_text("{}")
        with self.assertRaisesRegex(headway.UsageError, "is no ranking for DuoAttention"):
            headway.kvpress_press(self.folder / "duo")

    def test_the_cache_goes_on_and_refuses_what_is_of_others(self):
        x, z, y = drawn(12, 4, 1)
        changes, path = Whole(x, y).without(z), self.folder / "cache.npz"
        Cache(path, lambda: "ours").keep((1, 2), changes)
        again = Cache(path, lambda: "ours")
        self.assertEqual([(1, 2) in again, (1, 1) in again], [True, False])
        for name, change in changes.items():
            np.testing.assert_array_equal(again[1, 2][name].rises, change.rises)
            self.assertEqual(combine(stacked([change] * 3)).mean.tolist(),
                             combine(stacked([again[1, 2][name]] * 3)).mean.tolist())
        again.keep((1, 1), changes)
        again.keep((1, 3), changes)
        slower = Cache(path, lambda: "ours")
        again.keep((2, 1), changes)
        slower.keep((2, 2), changes)  # keeps what another ranking has found meanwhile
        self.assertTrue(all(row in Cache(path, lambda: "ours") for row in ((1, 1), (1, 2), (1, 3), (2, 1), (2, 2))))
        self.assertRaisesRegex(headway.UsageError, "of another model, other examples or other options", Cache, path, lambda: "theirs")
        path.write_text("words")
        self.assertRaisesRegex(headway.UsageError, "cannot be read as a cache of rank_heads; allowed", Cache, path, lambda: "ours")
        path.write_bytes(b"PK\x03\x04 torn")
        self.assertRaisesRegex(headway.UsageError, "cannot be read as a cache", Cache, path, lambda: "ours")


class Parts(unittest.TestCase):
    """A data set of contributions whose part 2 holds the labels."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "parts.h5"
        rng = np.random.default_rng(11)
        self.parts = rng.standard_normal((60, 5, 8))
        self.y = np.sign(self.parts[:, 2] @ rng.standard_normal(8) + 0.3 * rng.standard_normal(60))
        self.names = ["L6 residual", "L6H1", "L6H2", "L6H3", "L6 feed-forward"]

    def write(self, labels, heads, names):
        headway.write_dataset(self.path, overwrite=True, train_path_features=self.parts[:, :np.prod(heads)], train_labels=labels,
                              heads=heads, readout="mean", head_names=names)

    def test_the_part_that_holds_the_labels_costs_most(self):
        self.write(self.y, [5], [self.names])
        ranking = headway.rank_parts(self.path, target="fixed", theory=False)
        self.assertEqual(ranking.names, tuple(self.names))
        self.assertEqual(ranking.names[ranking.order()[-1]], "L6H2")
        total = self.parts.astype(np.float32).sum(1)
        change = Whole(total, self.y[:, None], ranking.attributes["penalty"]).without(total - self.parts[:, 2])["refitted"]
        self.assertAlmostEqual(ranking["frozen_cut_refitted"][2], change.mean, 4)
        self.assertNotIn("cut_of_theory", ranking.columns)
        self.assertIn("cut_without_theory", ranking.columns)

    def test_frozen_cuts_are_no_removals(self):
        self.write(self.y, [5], [self.names])
        ranking = headway.rank_parts(self.path, theory=False)
        self.assertEqual((ranking.target, ranking.mode), ("frozen_cut_fixed", "frozen"))
        self.assertFalse([name for name in ranking if "removal" in name or "cheapest" in name])
        for call in (lambda: ranking.cheapest(2), lambda: ranking.to_prune_heads(2), ranking.to_budgets,
                     lambda: ranking.check_model([5])):
            with self.assertRaisesRegex(headway.UsageError, "is of frozen cuts, which do not tell what removing a head costs"):
                call()

    def test_a_class_may_be_absent_and_a_head_alone(self):
        self.write(np.eye(3)[(self.y > 0).astype(int)], [1], None)
        ranking = headway.rank_parts(self.path, theory=False)
        self.assertEqual((len(ranking), ranking["among_smallest_cuts"].tolist()), (1, [1.0]))
        self.assertTrue(np.isnan(ranking.ceiling.whole))
        self.assertIn("one part has no order", repr(ranking))

    def test_what_has_no_order_is_not_given_a_bound(self):
        ranking = ranking_of(measured_of(change_of(np.zeros(4), 1.0)), "mean", "fixed", None, 1)
        self.assertFalse(ranking.ceiling.tells)
        self.assertIn("so few examples do not tell an order beyond the ranks", repr(ranking))
        self.assertNotIn("by more than", repr(ranking))
        self.assertIn("no order beyond the ranks", ranking.plot().axes[0].get_xlabel())

    def test_a_ranking_in_place_of_results_is_told_how_to_go_on(self):
        ranking = ranking_of(measured_of(change_of([0.4, 0.1, 0.3, 0.2], 1e-4)), "mean", "fixed", None, 1)
        for call in (lambda: headway.write_report(ranking, "never.html"), lambda: headway.write_report([ranking], "never.html"),
                     lambda: headway.figures.draw_all([ranking]), lambda: headway.figures.draw_all(ranking)):
            with self.assertRaisesRegex(headway.UsageError, r"^results(\[0\])?: is of type HeadRanking; allowed: .*ranking.plot\(\) draws"):
                call()

    def test_the_command_line_ranks_them(self):
        self.write(self.y, [5], [self.names])
        out, csv = io.StringIO(), self.path.with_suffix(".csv")
        with contextlib.redirect_stdout(out):
            self.assertEqual(main(["rank", str(self.path), "-k", "2", "--csv", str(csv)]), 0)
        for words in ("among 2 smallest cuts", "part", "frozen_cut_fixed", "frozen cut, U = 1", "everything else stays as it was"):
            self.assertIn(words, out.getvalue())
        for words in ("removal", "cheapest:", "among 2 cheapest"):
            self.assertNotIn(words, out.getvalue().replace("which head is cheapest: see headway.rank_heads", ""))
        self.assertIn("L6 feed-forward", csv.read_text())
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(out):
            self.assertEqual(main(["rank", str(self.path), "--target", "x"]), 64)
            self.assertEqual(main(["rank", str(self.path), "--csv", str(csv)]), 73)
            self.assertIn("parts.csv: exists already; --force replaces it", said.getvalue())
            self.assertEqual(main(["rank", str(self.path), "--csv", str(csv), "--force"]), 0)
            self.assertEqual(main(["rank", str(self.path), "--csv", str(self.path), "--force"]), 73)
            self.assertIn("is the input", said.getvalue())
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_bad_data_sets_are_refused(self):
        lonely = np.resize([-1.0, *[1.0] * 59], 60)
        for labels, heads, words in ((self.y, [2, 2], "holds contributions of 2 layers"),
                                     (0 * self.y + 1, [5], r"labels: are \[1.0\] for all 60"),
                                     (np.eye(70)[:60], [5], "labels: 60 examples of 70 classes"),
                                     (np.eye(3)[[2, *[0, 1] * 29, 0]], [5], "labels: class 2 has 1 of 60"),
                                     (lonely, [5], "labels: one class has 1 of 60")):
            self.write(labels, heads, None)
            with self.subTest(words=words), self.assertRaisesRegex(headway.HeadwayError, words):
                headway.rank_parts(self.path)
        self.write(self.y, [5], None)
        for wrong in (0, -1.0, np.inf, "a", True, [1.0]):
            with self.assertRaisesRegex(headway.UsageError, "penalty: is .*allowed: None, or a positive number"):
                headway.rank_parts(self.path, penalty=wrong)
        for wrong in (-1, "a", 1.5, None, True, 2**64):
            with self.assertRaisesRegex(headway.UsageError, "seed: is .*allowed: an integer from 0"):
                headway.rank_parts(self.path, seed=wrong)
        ranks = [headway.rank_parts(self.path, theory=False, penalty=one) for one in (1, np.float32(1.0), np.int64(1))]
        self.assertEqual([ranking.attributes["penalty"] for ranking in ranks], [1.0, 1.0, 1.0])
        parts, y = self.parts, self.y
        self.parts, self.y = parts[:5], np.resize([1.0, -1.0], 5)
        self.write(self.y, [5], None)
        with self.assertRaisesRegex(headway.BadDataError, "labels: 5 examples; allowed: at least 8"):
            headway.rank_parts(self.path)
        self.parts, self.y = np.tile(parts[:1] / 3.0, (60, 1, 1)), y
        self.write(y, [5], None)
        with self.assertRaisesRegex(headway.BadDataError, "the contributions are the same on all examples"):
            headway.rank_parts(self.path)
        self.parts = parts
        with self.assertRaises(headway.UnreadableFileError):
            headway.rank_parts(self.path.with_name("none.h5"))
        headway.write_dataset(self.path, overwrite=True, train_inputs=self.parts, train_labels=self.y, readout="mean",
                              attention_weights=[np.zeros((1, 8, 8))])
        with self.assertRaisesRegex(headway.BadDataError, "holds no contributions"):
            headway.rank_parts(self.path)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(main(["rank", str(self.path)]), 65)  # as the program
        self.write(self.y, [5], None)
        other = self.path.with_name("other.h5")
        with h5py.File(self.path) as whole, h5py.File(other, "w") as file:
            for name in whole:
                whole.copy(name, file)
            file["train/path_features"][3, 1, 2] = np.nan
        with self.assertRaisesRegex(headway.BadDataError, "path_features: holds numbers that are not finite"):
            headway.rank_parts(other)


class Drawn(unittest.TestCase):
    """A result of `headway rank` of two networks as table and figure: U = 1 stands beside the theory."""

    def setUp(self):
        def run(mean, label):
            measured = measured_of(change_of(mean, 0.02), label=label, variant="softmax", seed=3, split="test_$_set")
            measured.changes.update(zip(CUTS, (change_of([0.5, 0.1, 0.2, 0.3], 0.03), change_of([0.3, 0.2, 0.1, 0.4], 0.04))))
            return ranking_of(measured, "zero", "fixed", None, 1)
        self.result = RankResult(Path("ranking.h5"), "two networks", "fuzzy_logic",
                                 (run([0.4, 0.1, 0.3, 0.2], "first"), run([0.1, 0.4, 0.2, 0.3], "second")))

    def test_pandas_has_a_row_for_each_head(self):
        with mock.patch.dict(sys.modules, pandas=SimpleNamespace(DataFrame=list)):
            rows = self.result.to_pandas()
        self.assertEqual([(row["label"], row["layer"], row["head"]) for row in rows[:4]],
                         [("first", 1, 1), ("first", 1, 2), ("first", 2, 1), ("first", 2, 2)])
        self.assertEqual([row["estimate"] for row in rows], [value for run in self.result.runs for value in run["estimate"]])

    def test_the_figure_shows_intervals_measurements_cuts_and_the_ceiling(self):
        figure = self.result.plot()["head_ranking"]
        self.assertEqual(len(figure.axes), 4)
        for run, estimates, cuts in zip(self.result.runs, figure.axes[::2], figure.axes[1::2]):
            order = run.order()
            self.assertEqual([label.get_text() for label in estimates.get_yticklabels()],
                             [f"{run.names[row]}   {int(run['rank'][row])}" for row in order])
            low, high = np.array([segment[:, 0] for segment in estimates.collections[0].get_segments()]).T
            np.testing.assert_array_equal((low, high), (run["estimate_low"][order], run["estimate_high"][order]))
            drawn = {bars.get_label(): bars for bars in (*estimates.containers, *cuts.containers)}
            for label, column in (("as measured", "removal_zero_fixed"), ("the theory's $U$", "cut_of_theory"),
                                  ("$U$ = 1, without the theory", "cut_without_theory")):
                line, _, (bars,) = drawn[label]
                np.testing.assert_array_equal(line.get_xdata(), run[column][order])
                ends = np.array([segment[:, 0] for segment in bars.get_segments()])
                np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * run[f"{column}_error"][order])
            self.assertIn(f"ceiling {run.ceiling.whole:.2f}", estimates.get_xlabel())
        self.assertIn("heads at zero, readout as it is", " ".join(text.get_text() for text in figure.texts + [figure._suptitle]))

    def test_the_table_has_both_cuts(self):
        header, rows = cells(self.result)
        self.assertEqual(header[-3:], ["removal", "frozen cut, U = 1", "frozen cut, theory's U"])
        self.assertEqual([row[:4] for row in rows[:2]], [["first", "3", "1", "L1H2"], ["first", "3", "2", "L2H2"]])
        self.assertTrue(rows[0][-2].startswith("0.10") and rows[0][-1].startswith("0.20"), rows[0])

    def test_frozen_cuts_are_called_so_and_files_of_0_2_are_read(self):
        measured = measured_of(change_of([0.4, 0.1, 0.3, 0.2], 0.02), label="parts", variant="", seed=3, split="train")
        measured.changes.update(zip(CUTS, (change_of([0.5, 0.1, 0.2, 0.3], 0.03), change_of([0.3, 0.2, 0.1, 0.4], 0.04))))
        measured.changes["frozen_cut_fixed"] = measured.changes["removal_zero_fixed"]
        ranking = ranking_of(measured, "frozen", "fixed", None, 1)
        ranking = replace(ranking, attributes={**ranking.attributes, "variant": ""})
        result = RankResult(Path("ranking.h5"), "parts", "dataset", (ranking,))
        self.assertEqual(cells(result)[0][3:8], ["part", "estimate", "90 %", "among k smallest cuts", "frozen cut"])
        figure = result.plot()["head_ranking"]
        words = " ".join(text.get_text() for text in figure.texts + [figure._suptitle]) + figure.axes[0].get_xlabel()
        for said in ("Frozen cuts of parts", "this is no removal", "parts taken off", "by a frozen cut"):
            self.assertIn(said, words)
        self.assertNotIn("What the removal", words)
        old = {"removal_frozen_fixed": "frozen_cut_fixed", "expected_frozen_refitted": "expected_frozen_cut_refitted",
               "removal_mean_fixed": "removal_mean_fixed"}
        self.assertEqual({name: today(name) for name in old}, old)


if __name__ == "__main__":
    unittest.main()
