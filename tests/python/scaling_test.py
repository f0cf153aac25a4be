"""The figure `scaling`: which numbers of a sweep it finds, and what it draws of them."""

import math
import re
import unittest
from dataclasses import replace
from pathlib import Path

import numpy as np

import headway
from headway import figures
from headway.figures import learning, scaling
from headway.results.training_results import TrainedRun, TrainingResult
from headway.results.training_settings import settings_of

STUDY = """schema = 1
seed = 1

[task]
kind = "fuzzy_logic"
held_out = 0.7
seed = 4

[train]
attention = "hyla"
layers = 2
heads = 8
steps = 1000
batch = 64
log_every = 10
betas = [0.9, 0.999]

[sweep]
"train.layers" = [2, 4]
"""


def run_of(settings, score, seed=1, ended=True, ceiling=None):
    final = {"validation": {"r2": 0.0}, "held_out": {"r2": score, "loss": 1.0 - score}}
    return TrainedRun(label="", seed=seed, attributes={"outcome": "finished" if ended else "interrupted"},
                      settings={**settings, "seed": str(seed)}, curves={}, final=final if ended else {},
                      weights={}, best_weights={},
                      ceilings={} if ceiling is None else {"held_out": {"r2": ceiling}})


def result_of(runs):
    return TrainingResult(Path("sweep.h5"), "sweep", "fuzzy_logic", tuple(runs), {"study_toml": STUDY})


def one_at_a_time():
    """Two variants, three seeds; from 2 layers of 8 heads to 8 layers (steps with them), or to one head."""
    runs = []
    for words, base in (("softmax", 0.1), ("hyla", 0.3)):
        for table, more in (("{}", 0.0), ("{layers = 8, steps = 4000}", 0.2), ("{heads = 1}", -0.1)):
            for seed in (1, 2, 3):
                runs.append(run_of({"train.attention": f'"{words}"', "train": table}, base + more + 0.01 * seed, seed))
    return result_of(runs)


class Settings(unittest.TestCase):
    def test_the_sweep_goes_over_the_study(self):
        run = run_of({"train": '{attention = "softmax", layers = 8}', "task.held_out": "0.5"}, 0.0)
        self.assertEqual(settings_of(result_of([run]), run), {
            "task.kind": "fuzzy_logic", "task.held_out": 0.5, "train.attention": "softmax", "train.layers": 8.0,
            "train.heads": 8.0, "train.steps": 1000.0, "train.batch": 64.0})


class Axes(unittest.TestCase):
    def test_every_number_that_changes_alone_is_an_axis(self):
        layers, heads = scaling.axes_of([one_at_a_time()])
        self.assertEqual((layers.key, layers.name, layers.values), ("train.layers", "layers", [2.0, 8.0]))
        self.assertEqual((heads.key, heads.name, heads.values), ("train.heads", "heads per layer", [1.0, 8.0]))
        self.assertEqual([line.words for line in layers.lines], [("softmax",), ("hyla",)])
        self.assertEqual([line.numbers for line in layers.lines], [(), ()])
        self.assertEqual([len(found) for line in heads.lines for found in line.runs.values()], [3, 3, 3, 3])

    def test_a_grid_has_a_line_for_each_value_of_the_other(self):
        grid = result_of([run_of({"train.layers": str(layers), "task.held_out": str(share)}, 0.1)
                          for layers in (2, 4) for share in (0.3, 0.5, 0.7)])
        share, layers = scaling.axes_of([grid])
        self.assertEqual([line.numbers for line in layers.lines],
                         [(("task.held_out", value),) for value in (0.3, 0.5, 0.7)])
        self.assertEqual([len(line.runs) for line in share.lines], [3, 3])

    def test_steps_are_counted_in_instances(self):
        (axis,) = scaling.axes_of([result_of([run_of({"train.steps": str(steps)}, 0.1) for steps in (100, 400)])])
        self.assertEqual((axis.name, axis.values), ("training examples seen", [6400.0, 25600.0]))

    def test_pieces_of_a_batch_are_no_more_examples(self):
        runs = [run_of({"train.steps": str(steps), "train.accumulation": "4"}, 0.1) for steps in (1000, 2000)]
        (axis,) = scaling.axes_of([result_of(runs)])
        self.assertEqual((axis.name, axis.values), ("training examples seen", [64000.0, 128000.0]))

    def test_results_are_joined(self):
        (axis,) = scaling.axes_of([result_of([run_of({"train.layers": str(layers)}, 0.1)]) for layers in (2, 4)])
        self.assertEqual(axis.values, [2.0, 4.0])

    def test_other_tasks_and_other_metrics_are_no_line(self):
        few, many = (result_of([run_of({"train.layers": str(layers)}, 0.1)]) for layers in (2, 4))
        elsewhere = replace(many, study="other", provenance={"study_toml": STUDY.replace("fuzzy_logic", "sraven")})
        classes = replace(many, runs=tuple(replace(run, final={"held_out": {"accuracy": 0.5}}) for run in many.runs))
        for other in (elsewhere, classes):
            self.assertEqual(scaling.axes_of([few, other]), [])
            with self.assertRaisesRegex(headway.BadDataError, "scaling, which needs runs that differ in a number"):
                figures.draw_all([few, other], only=["scaling"])
        renamed = figures.draw_all([few, replace(many, study="other")], only=["scaling"])["scaling"]
        self.assertIn("sweep, other", renamed._suptitle.get_text())

    def test_a_split_at_one_value_is_not_drawn(self):
        few, many = (run_of({"train.layers": str(layers)}, 0.1) for layers in (2, 4))
        few.final["test"] = {"r2": 0.3}
        self.assertEqual(len(figures.draw_all(result_of([few, many]), only=["scaling"])["scaling"].axes), 1)
        del few.final["held_out"]
        self.assertFalse(scaling.available([result_of([few, many])]))

    def test_crossed_seeds_have_a_line_for_each_seed_of_the_data(self):
        crossed = [run_of({"train.layers": str(layers), "task.seed": str(data)}, 0.1, seed)
                   for layers in (2, 4) for data in (1, 2) for seed in (1, 2)]
        (axis,) = scaling.axes_of([result_of(crossed)])
        self.assertEqual((axis.key, [line.numbers for line in axis.lines]),
                         ("train.layers", [(("task.seed", 1.0),), (("task.seed", 2.0),)]))
        independent = [run for run in crossed if int(run.settings["task.seed"]) == run.seed]
        (axis,) = scaling.axes_of([result_of(independent)])
        self.assertEqual([len(found) for line in axis.lines for found in line.runs.values()], [2, 2])

    def test_where_there_is_none(self):
        alone = result_of([run_of({"train.attention": f'"{name}"'}, 0.1, seed) for name in ("softmax", "hyla")
                           for seed in (1, 2)])
        unfinished = result_of([run_of({"train.layers": str(n)}, 0.1, ended=n < 4) for n in (2, 4)])
        for result in (alone, unfinished):
            self.assertEqual(scaling.axes_of([result]), [])
            with self.assertRaisesRegex(headway.BadDataError, "scaling, which needs runs that differ in a number"):
                figures.draw_all(result, only=["scaling"])


class Drawing(unittest.TestCase):
    def test_panels_of_one_row_end_where_all_are_drawn(self):
        """Of two results one has low scores; its panel comes first."""
        low = result_of([run_of({"train.layers": str(n)}, score) for n, score in ((2, 0.01), (4, 0.02))])
        high = result_of([run_of({"train.dim": str(n)}, score) for n, score in ((32, 0.6), (64, 0.9))])
        drawn = figures.draw_all([low, high], only=["scaling"])["scaling"]
        panels = [axes for axes in drawn.axes if axes.get_xlabel()]
        self.assertEqual(len(panels), 2)
        for axes in panels:
            bottom, top = axes.get_ylim()
            self.assertLessEqual(bottom, 0.01)
            self.assertGreaterEqual(top, 0.9)

    def test_means_and_errors_over_seeds(self):
        figure = figures.draw_all(one_at_a_time(), only=["scaling"])["scaling"]
        layers, heads, names = figure.axes
        self.assertEqual([axes.get_xlabel() for axes in (layers, heads)], ["layers", "heads per layer"])
        self.assertEqual(layers.get_ylabel(), f"held out: {learning.METRIC_NAMES['r2']}")
        self.assertEqual((layers.get_xscale(), heads.get_xscale()), ("log", "log"))
        for bars, first, last in zip(layers.containers, (0.12, 0.32), (0.32, 0.52)):
            line, _, (errors,) = bars
            np.testing.assert_allclose(line.get_xydata(), [[2.0, first], [8.0, last]])
            for (_, low), (_, high) in (segment for segment in errors.get_segments()):
                self.assertAlmostEqual(high - low, 2 * 0.01 / math.sqrt(3))
        np.testing.assert_allclose(heads.containers[0][0].get_xydata(), [[1.0, 0.02], [8.0, 0.12]])
        self.assertEqual([text.get_text() for text in names.get_legend().get_texts()], ["softmax", "hyla"])

    def test_seeds_that_are_not_everywhere(self):
        runs = [run_of({"train.layers": str(layers)}, 0.1, seed) for layers, seed in ((2, 1), (2, 2), (2, 3), (4, 1))]
        for found, words in ((runs, "1 to 3 seeds"), (runs[:1] + runs[3:], "1 seed")):
            figure = figures.draw_all(result_of(found), only=["scaling"])["scaling"]
            said = [part for text in figure.texts for part in re.split(r"  ·  |\n", text.get_text())]
            self.assertIn(words, said)
            self.assertEqual("bars: ± 1 standard error over seeds" in said, len(found) > 2)

    def test_runs_that_did_not_end_are_counted(self):
        runs = [run_of({"train.layers": str(layers)}, 0.1 * layers) for layers in (2, 4)]
        diverged = run_of({"train.layers": "2"}, -50.0, seed=2)
        diverged.attributes["outcome"] = "diverged"
        figure = figures.draw_all(result_of([*runs, diverged, run_of({"train.layers": "4"}, 0.0, 2, ended=False)]),
                                  only=["scaling"])["scaling"]
        said = [part for text in figure.texts for part in re.split(r"  ·  |\n", text.get_text())]
        self.assertIn("runs left out: 1 diverged, 1 interrupted", said)
        np.testing.assert_allclose(figure.axes[0].containers[0][0].get_xydata(), [[2.0, 0.2], [4.0, 0.4]])

    def test_the_best_possible_where_it_is_one(self):
        runs = [run_of({"train.layers": str(layers)}, 0.1, ceiling=0.93) for layers in (2, 3)]
        (axes,) = figures.draw_all(result_of(runs), only=["scaling"])["scaling"].axes
        self.assertIn(0.93, [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"])
        self.assertEqual(axes.get_xscale(), "linear")

    def test_the_best_possible_of_several_seeds_is_a_line_in_a_band(self):
        runs = [run_of({"train.layers": str(layers)}, 0.1, seed, ceiling=ceiling)
                for layers in (2, 3) for seed, ceiling in ((1, 0.93), (2, 0.95))]
        (axes,) = figures.draw_all(result_of(runs), only=["scaling"])["scaling"].axes
        (line,) = [line for line in axes.lines if line.get_linestyle() == "--"]
        self.assertAlmostEqual(line.get_ydata()[0], 0.94)
        (band,) = axes.patches
        self.assertEqual([band.get_extents().transformed(axes.transData.inverted()).y0.round(6),
                          band.get_extents().transformed(axes.transData.inverted()).y1.round(6)], [0.93, 0.95])
        unknown = runs[:3] + [run_of({"train.layers": "3"}, 0.1, 2)]
        (axes,) = figures.draw_all(result_of(unknown), only=["scaling"])["scaling"].axes
        self.assertFalse([line for line in axes.lines if line.get_linestyle() == "--"])


if __name__ == "__main__":
    unittest.main()
