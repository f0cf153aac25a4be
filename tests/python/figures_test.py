"""Figures show the numbers of the file, are the same every time, and the command line fails well."""

import contextlib
import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from dataclasses import replace
from pathlib import Path

import h5py
import matplotlib
import numpy as np
from matplotlib import image
from matplotlib.figure import Figure

import headway
from headway import cli, figures
from headway.figures import selection, style
from headway.base.ranks import rank_correlation
from headway.report import write_report
from synthetic_results import Task, write_result

SMALL = Task(train=24, test=40, tokens=6, features=10)
OTHER = Task(train=24, test=40, tokens=6, features=10, heads=(("same_token",), ("uniform",)))
WIDTHS = (10, 30, 100, 1000)
OF_KIND = {
    "solve": {"accuracy_against_width", "order_parameters", "path_kernels", "readout_and_action",
              "convergence"},
    "align": {"accuracy_against_width", "order_parameters", "path_kernels", "readout_and_action",
              "convergence", "kernel_alignment"},
    "prune": {"accuracy_against_width", "order_parameters", "path_kernels", "readout_and_action",
              "convergence", "head_scores", "head_worth", "pruning"},
    "sample": {"accuracy_against_width", "order_parameters", "path_kernels", "readout_and_action",
               "traces"}}


FOLDER = tempfile.TemporaryDirectory()
FILES = {kind: Path(FOLDER.name) / f"{kind}.h5" for kind in (*OF_KIND, "other", "sweep")}


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    for kind in OF_KIND:
        write_result(FILES[kind], kind, SMALL, widths=WIDTHS, corrections=kind == "solve")
    write_result(FILES["other"], task=OTHER, widths=(10, 100), study="good path only")
    write_result(FILES["sweep"], task=SMALL, widths=(10, 100), temperatures=(0.01, 0.1, 1.0),
                 corrections=False)


class FigureTest(unittest.TestCase):
    folder, files = Path(FOLDER.name), FILES

    @classmethod
    def setUpClass(cls):
        cls.results = {kind: headway.read_result(path) for kind, path in FILES.items()}

    def draw(self, name, *kinds, **options) -> Figure:
        results = [self.results[kind] for kind in kinds]
        return figures.draw_all(results, figures.PlotOptions(**options), [name])[name]


def line(axes, label):
    return next(line for line in axes.lines if line.get_label() == label)


class Contents(FigureTest):
    def test_every_kind_of_result_has_its_figures(self):
        for kind, names in OF_KIND.items():
            self.assertEqual(set(figures.draw_all([self.results[kind]])), names, kind)
        both = figures.draw_all([self.results["sample"], self.results["solve"]])
        self.assertIn("theory_against_samples", both)

    def test_accuracy_is_that_of_the_points(self):
        result = self.results["solve"]
        axes = self.draw("accuracy_against_width", "solve").axes[0]
        theory = line(axes, "theory (saddle point)")
        np.testing.assert_array_equal(theory.get_xdata(), WIDTHS)
        np.testing.assert_array_equal(theory.get_ydata(), [p.accuracy for p in result.points])
        corrected = line(axes, "theory with 1/$N$ correction")
        known = [(p.widths[0], p.corrected.accuracy) for p in result.points if p.corrected.defined]
        np.testing.assert_array_equal(corrected.get_xydata(), known)
        limit = result.gaussian_process[0].accuracy
        self.assertIn(f"GP {limit:.3f}", [text.get_text() for text in axes.texts])
        self.assertTrue(any(set(line.get_ydata()) == {limit} for line in axes.lines))
        self.assertEqual(axes.get_xscale(), "log")

    def test_several_results_are_overlaid(self):
        axes = self.draw("accuracy_against_width", "solve", "other").axes[0]
        np.testing.assert_array_equal(line(axes, "good path only").get_ydata(),
                                      [p.accuracy for p in self.results["other"].points])
        colours = {line(axes, name).get_color() for name in ("hmm-synthetic", "good path only")}
        self.assertEqual(len(colours), 2)
        self.assertEqual(sum(text.get_text().startswith("GP") for text in axes.texts), 2)

    def test_limits_only_draws_the_limits_of_further_results_alone(self):
        axes = self.draw("accuracy_against_width", "solve", "other", limits_only=True,
                         labels=("all", "good")).axes[0]
        known = {f"{name} {self.results[kind].gaussian_process[0].accuracy:.3f}"
                 for name, kind in (("all", "solve"), ("good", "other"))}
        self.assertEqual({text.get_text() for text in axes.texts}, known)
        self.assertNotIn("good", [line.get_label() for line in axes.lines])

    def test_samples_are_named_after_their_result(self):
        figure = self.draw("accuracy_against_width", "solve", "sample", "sample", labels=("T", "A", "B"))
        self.assertEqual(figure.axes[0].get_legend_handles_labels()[1], ["T", "A: samples (exact)", "B: samples (exact)"])
        figure = self.draw("accuracy_against_width", "solve", "sample", "sample")  # of one study, without labels
        self.assertEqual(figure.axes[0].get_legend_handles_labels()[1][-2:],
                         ["posterior samples (exact)", "posterior samples (exact) 2"])

    def test_samples_without_a_theory_of_their_own_name_their_file(self):
        narrow, wide = (replace(self.results["solve"], points=self.results["solve"].points[part], file=Path(f"{name}.h5"))
                        for name, part in (("narrow", slice(2)), ("wide", slice(1, None))))
        sampled = self.results["sample"]
        axes = figures.draw_all([narrow, wide, sampled], only=["accuracy_against_width"])["accuracy_against_width"].axes[0]
        labels = axes.get_legend_handles_labels()[1]
        self.assertEqual(labels[:3], ["hmm-synthetic (narrow)", "hmm-synthetic (wide)", "hmm-synthetic (sample): samples (exact)"])
        other = replace(narrow, provenance={"data_hash": "another"})  # the theory of the samples is that of `wide`
        axes = figures.draw_all([wide, sampled, other], only=["accuracy_against_width"])["accuracy_against_width"].axes[0]
        self.assertIn("hmm-synthetic (sample): samples (exact)", axes.get_legend_handles_labels()[1])

    def test_a_theory_that_another_result_holds_is_drawn_once(self):
        solved = self.results["solve"]
        plain = [replace(result, points=tuple(replace(point, attributes={**point.attributes, "accuracy": math.nan})  # of numbers
                                              for point in result.points)) for result in (solved, self.results["align"])]
        part = replace(plain[0], points=plain[0].points[:1])
        axes = figures.draw_all([part, *plain], only=["accuracy_against_width"])["accuracy_against_width"].axes[0]
        self.assertEqual([name for name in axes.get_legend_handles_labels()[1] if "Gaussian" not in name and "corr" not in name],
                         ["theory (saddle point)"])
        labelled = figures.draw_all(plain, figures.PlotOptions(labels=("a", "b")), ["accuracy_against_width"])
        self.assertEqual(sum(text.get_text().startswith("GP") for text in labelled["accuracy_against_width"].axes[0].texts), 1)

    def test_all_samplers_are_named(self):
        first, *others = self.results["sample"].points
        other = replace(first, attributes={**first.attributes, "method": "collapsed"})
        result = replace(self.results["sample"], points=(other, *others))
        figure = figures.draw_all(result, only=["accuracy_against_width"])["accuracy_against_width"]
        self.assertIn("posterior samples (collapsed, exact)", figure.axes[0].get_legend_handles_labels()[1])

    def test_the_head_line_tells_what_differs_between_results(self):
        solved = self.results["solve"]
        fewer = replace(solved, study="fewer", train_labels=solved.train_labels[:8], partial=True,
                        provenance=solved.provenance | {"seed": 9, "data_hash": "another"})
        said = figures.draw_all([solved, fewer], only=["accuracy_against_width"])["accuracy_against_width"]._suptitle.get_text()
        for words in ("8 and 24 training examples", f"seeds {solved.provenance['seed']} and 9", "1 of 2 results partial"):
            self.assertIn(words, said)

    def test_counted(self):
        self.assertEqual([style.counted(1, "minimum"), style.counted(4, "minimum"), style.counted(3, "seed")],
                         ["1 minimum", "4 minima", "3 seeds"])

    def test_samples_lie_over_the_theory(self):
        axes = self.draw("accuracy_against_width", "solve", "sample").axes[0]
        bars = next(c for c in axes.containers if c.get_label() == "posterior samples (exact)")
        np.testing.assert_array_equal(bars[0].get_ydata(),
                                      [p.accuracy for p in self.results["sample"].points])

    def test_names_of_close_limits_do_not_overlap(self):
        solved = self.results["solve"]
        results = [solved, self.results["other"], replace(solved, provenance={"data_hash": "another"})]
        figure = figures.draw_all(results, figures.PlotOptions(labels=("a", "b", "c")), ["accuracy_against_width"]
                                  )["accuracy_against_width"]
        figure.canvas.draw()
        boxes = [text.get_window_extent() for text in figure.axes[0].texts]
        self.assertEqual(len(boxes), 3)
        for index, box in enumerate(boxes):
            self.assertFalse(any(box.overlaps(other) for other in boxes[index + 1:]))

    def test_temperatures_have_a_curve_each(self):
        axes = self.draw("accuracy_against_width", "sweep").axes[0]
        for temperature in (0.01, 0.1, 1.0):
            known = [p.accuracy for p in self.results["sweep"].points if p.temperature == temperature]
            np.testing.assert_array_equal(line(axes, f"{temperature:g}").get_ydata(), known)
        one = self.draw("accuracy_against_width", "sweep", temperature=0.1).axes[0]
        self.assertEqual(len(line(one, "theory (saddle point)").get_ydata()), 2)

    def test_real_labels_show_the_squared_error(self):
        with h5py.File(self.folder / "real.h5", "w") as copy, h5py.File(self.files["solve"]) as file:
            copy.attrs.update(file.attrs)
            for name in file:
                file.copy(name, copy)
            for group in (*copy["points"].values(), *copy["gaussian_process"].values()):
                group.attrs["accuracy"] = math.nan
            for group in copy["points"].values():
                group["corrected"].attrs["accuracy"] = math.nan
        result = headway.read_result(self.folder / "real.h5")
        axes = figures.draw_all([result], only=["accuracy_against_width"])[
            "accuracy_against_width"].axes[0]
        self.assertEqual(axes.get_ylabel(), "test mean squared error")
        np.testing.assert_array_equal(line(axes, "theory (saddle point)").get_ydata(),
                                      [p.test_mean_squared_error for p in result.points])

    def test_order_parameters_share_one_scale_and_show_their_numbers(self):
        figure = self.draw("order_parameters", "solve", widths=(10, 1000),
                           path_names=tuple("abcd"))
        points = [self.results["solve"].points[index] for index in (0, 3)]
        panels = [axes for axes in figure.axes if axes.images]
        self.assertEqual([axes.get_title(loc="left") for axes in panels],
                         ["$N$ = 10", "$N$ = 1\u2009000"])
        for axes, point in zip(panels, points):
            np.testing.assert_array_equal(axes.images[0].get_array(), point.order_parameters[0])
            numbers = [float(text.get_text().replace("\u2212", "-")) for text in axes.texts]
            np.testing.assert_allclose(numbers, point.order_parameters[0].ravel(), atol=0.051)
        self.assertIs(panels[0].images[0].norm, panels[1].images[0].norm)
        norm = panels[0].images[0].norm
        self.assertEqual(norm.vmin, -norm.vmax)
        self.assertAlmostEqual(float(norm(0.0)), 0.5)
        self.assertEqual([label.get_text() for label in panels[0].get_yticklabels()],
                         ["(1,1) a", "(1,2) b", "(2,1) c", "(2,2) d"])

    def test_alignment_shows_the_first_components(self):
        figure = self.draw("kernel_alignment", "align", components=7, widths=(10,))
        alignment = self.results["align"].points[0].alignment
        bars = figure.axes[0].containers
        np.testing.assert_array_equal([bar.get_height() for bar in bars[0]], alignment.overlaps[:7])
        np.testing.assert_array_equal([bar.get_height() for bar in bars[1]],
                                      alignment.gaussian_process_overlaps[:7])
        cumulative = line(figure.axes[1], "$N$ = 10").get_ydata()
        np.testing.assert_array_equal(cumulative, [0.0, *alignment.cumulative[:7]])

    def test_alignment_with_overlaps_that_are_not_known(self):
        """They are not known beyond the rank of a kernel, nor for labels that are all zero."""
        for begin in (3, 0):
            path = self.folder / f"unknown-{begin}.h5"
            shutil.copy(self.files["align"], path)
            with h5py.File(path, "r+") as file:
                for point in file["points"].values():
                    for name in ("overlaps", "cumulative"):
                        for whose in ("", "gaussian_process_"):
                            point[f"alignment/{whose}{name}"][begin:] = np.nan
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                axes = figures.draw_all(headway.read_result(path), only=["kernel_alignment"])["kernel_alignment"].axes
            known = headway.read_result(path).points[0].alignment.overlaps[:begin]
            np.testing.assert_array_equal([bar.get_height() for bar in axes[0].containers[0]][:begin], known)
            self.assertGreater(axes[0].get_ylim()[1], known.max(initial=0.9 if begin == 0 else 0.0))
            page = write_report([path], path.with_suffix(".html"))
            self.assertNotIn("NaN", page.read_text().partition('id="data"')[2].partition("</script>")[0])

    def test_path_kernels_are_sorted_by_label(self):
        result = self.results["solve"]
        figure = self.draw("path_kernels", "solve")
        order = np.argsort(-result.train_labels, kind="stable")
        for kernel, axes in zip(result.path_kernels, figure.axes):
            shown = axes.images[0].get_array()
            np.testing.assert_allclose(shown * np.trace(kernel) / len(kernel),
                                       kernel[np.ix_(order, order)], rtol=1e-12)
        self.assertEqual([label.get_text() for label in figure.axes[0].get_yticklabels()],
                         ["+1", "\u22121"])

    def test_head_scores_and_drops_are_those_of_the_file(self):
        pruning = self.results["prune"].points[0].pruning
        scores, drops, scatter = self.draw("head_scores", "prune", widths=(10,)).axes
        np.testing.assert_array_equal([bar.get_width() for bar in scores.patches], pruning.score)
        np.testing.assert_allclose([bar.get_width() for bar in drops.patches],
                                   100 * (pruning.accuracy - pruning.accuracy_without))
        self.assertIn(r"$\rho$ =", scatter.get_title(loc="left"))

    def test_what_heads_are_worth(self):
        pruning = self.results["prune"].points[0].pruning
        axes = self.draw("head_worth", "prune", widths=(10,)).axes[0]
        np.testing.assert_array_equal([bar.get_width() for bar in axes.patches],
                                      pruning.squared_error_rise)
        thin, thick = axes.collections
        for lines, errors in ((thin, pruning.squared_error_rise_error),
                              (thick, pruning.squared_error_rise_sd)):
            ends = np.array(lines.get_segments())[:, :, 0]
            np.testing.assert_allclose(np.diff(ends)[:, 0], 2 * errors)
        (control,) = [line for line in axes.lines if line.get_marker() == "D"]
        np.testing.assert_array_equal(control.get_xdata(), pruning.squared_error_rise_without_theory)
        self.assertIn("0.90", axes.get_title(loc="left"))

    def test_ties_have_their_mean_rank(self):
        self.assertAlmostEqual(rank_correlation([1, 2, 3, 4], [10, 20, 30, 31]), 1.0)
        self.assertAlmostEqual(rank_correlation([1, 2, 3, 4], [4, 3, 2, 1]), -1.0)
        # ranks 1, 2.5, 2.5, 4 against 1, 3, 2, 4: 4.5 / sqrt(4.5 * 5)
        self.assertAlmostEqual(rank_correlation([1, 2, 2, 3], [1, 3, 2, 4]),
                               4.5 / math.sqrt(4.5 * 5.0))
        self.assertTrue(math.isnan(rank_correlation([1, 1, 1], [1, 2, 3])))

    def test_pruning_curves_are_those_of_the_file(self):
        pruning = self.results["prune"].points[0].pruning
        axes = self.draw("pruning", "prune", widths=(10,)).axes[0]
        for name, values in (("lowest score first", pruning.by_score),
                             ("lowest predicted rise first", pruning.by_squared_error),
                             ("greedy search", pruning.greedy), ("random order, mean", pruning.random_mean)):
            np.testing.assert_array_equal(line(axes, name).get_ydata(), values)

    def test_readout_and_convergence_are_those_of_the_file(self):
        result = self.results["solve"]
        readout, action = self.draw("readout_and_action", "solve").axes
        np.testing.assert_array_equal(line(readout, "theory (saddle point)").get_ydata(),
                                      [p.readout_scalar for p in result.points])
        np.testing.assert_array_equal(action.lines[0].get_ydata(), [p.action for p in result.points])
        left, _ = self.draw("convergence", "solve").axes
        np.testing.assert_array_equal(line(left, "$N$ = 10").get_ydata(),
                                      result.points[0].history[:, 2])

    def test_theory_stands_against_samples_entry_by_entry(self):
        figure = self.draw("theory_against_samples", "sample", "solve")
        upper = np.triu_indices(4)
        theory = self.results["solve"].points[0].order_parameters[0][upper]
        sampled = self.results["sample"].points[0].samples.mean[0][upper]
        np.testing.assert_array_equal(line(figure.axes[0], "theory (saddle point)").get_xydata(),
                                      np.column_stack([theory, sampled]))

    def test_traces_show_every_draw(self):
        draws = self.results["sample"].points[0].samples
        figure = self.draw("traces", "sample", widths=(10,))
        np.testing.assert_array_equal([line.get_ydata() for line in figure.axes[0].lines],
                                      draws.readout_draws)
        np.testing.assert_array_equal(figure.axes[2].lines[1].get_ydata(), draws.draws[1][1, :, 0, 0])
        counts = [patch.get_data().values.sum() for patch in figure.axes[1].patches]
        self.assertEqual(counts, [400] * 4)


class Selection(FigureTest):
    def test_default_widths_are_narrowest_middle_and_widest(self):
        points = selection.chosen_points(self.results["solve"], figures.PlotOptions())
        self.assertEqual([point.widths[0] for point in points], [10, 100, 1000])

    def test_width_axis_follows_the_width_that_varies(self):
        def points(*widths):
            return [headway.results.Point(w, 0.1, {}, None, (), None, None) for w in widths]
        equal, one = points((5, 5, 5), (9, 9, 9)), points((5, 7, 9), (50, 7, 9))
        mixed = points((5, 7, 9), (50, 70, 9))
        self.assertEqual([selection.width_value(p, equal) for p in equal], [5, 9])
        self.assertEqual([selection.width_value(p, one) for p in one], [5, 50])
        self.assertIn("N_{1}", selection.width_label(one))
        self.assertEqual([selection.width_value(p, mixed) for p in mixed], [9, 70])
        self.assertIn("$N_\\mathrm{a}$ = 9", selection.point_label(one[0]))


class CommandLine(FigureTest):
    def run_main(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main([str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()

    def assert_fails(self, code, message, *arguments):
        found, out, err = self.run_main(*arguments)
        self.assertEqual((found, out), (code, ""), err)
        self.assertIn(message, err)
        self.assertEqual(len(err.splitlines()), 1)
        self.assertNotIn("Traceback", err)

    def test_plot_writes_readable_pictures(self):
        own = {"solve": OF_KIND["solve"], "align": {"kernel_alignment"}, "sample": {"traces"},
               "prune": {"head_scores", "pruning"}}
        for kind, names in own.items():
            code, out, _ = self.run_main("plot", self.files[kind], "-o", self.folder / kind, "--only",
                                         ",".join(sorted(names)))
            self.assertEqual(code, 0)
            self.assertEqual({Path(name).stem for name in out.split()}, names)
            for name in out.split():
                picture = image.imread(name)
                self.assertGreater(picture.shape[1], 500)
                self.assertGreater(picture[..., :3].std(), 0.02, "the picture is blank")
                border = np.concatenate([picture[:2].ravel(), picture[-2:].ravel(),
                                         picture[:, :2].ravel(), picture[:, -2:].ravel()])
                self.assertEqual(border.min(), 1.0, f"{name}: something is cut off at the edge")
                self.assertLess(os.path.getsize(name), 800_000)

    def test_default_folder_lies_beside_the_result(self):
        code, out, _ = self.run_main("plot", self.files["solve"], "--only", "order_parameters")
        self.assertEqual((code, out.strip()),
                         (0, str(self.folder / "solve-figures" / "order_parameters.png")))

    def test_figures_that_exist_are_kept(self):
        folder = self.folder / "kept"
        first, second = folder / "order_parameters.png", folder / "readout_and_action.png"
        plot = ("plot", self.files["solve"], "-o", folder, "--only", f"{first.stem},{second.stem}")
        folder.mkdir()
        second.write_text("mine")
        self.assert_fails(73, f"{second}: exists already; --force replaces it, -o DIR writes elsewhere", *plot)
        self.assertFalse(first.exists())  # none was written beside an older one
        self.assertEqual(second.read_text(), "mine")
        code, out, _ = self.run_main(*plot, "--force")
        self.assertEqual((code, out.split()), (0, [str(first), str(second)]))
        self.assertEqual(image.imread(second).ndim, 3)
        self.assertEqual(self.run_main(*plot, "--format", "svg")[0], 0)  # other files

    def test_output_is_the_same_every_time_and_ignores_user_settings(self):
        for kind in ("png", "pdf", "svg"):
            pictures, names = [], ("kernel_alignment", "order_parameters")
            for run in range(2):
                with matplotlib.rc_context({"font.size": 7 + 11 * run, "savefig.dpi": 50 + run}):
                    self.run_main("plot", self.files["align"], "-o", self.folder / f"run{run}",
                                  "--format", kind, "--only", ",".join(names))
                pictures.append({path.name: path.read_bytes()
                                 for path in (self.folder / f"run{run}").glob(f"*.{kind}")})
            self.assertEqual(len(pictures[0]), len(names))
            self.assertEqual(pictures[0], pictures[1])

    def test_bad_usage_is_64(self):
        solve = self.files["solve"]
        self.assert_fails(64, "--format: is gif; allowed: png, pdf, svg", "plot", solve, "--format",
                          "gif")
        self.assert_fails(64, "--only: has 'nonsense', which is no figure; allowed: accuracy_against_width", "plot", solve,
                          "--only", "nonsense")
        self.assert_fails(64, "--widths: is ten", "plot", solve, "--widths", "ten")
        self.assert_fails(64, "--widths: is 11;", "plot", solve, "--widths", "11")
        self.assert_fails(64, "has 10, 30, 100, 1000", "plot", solve, "--widths", "11")
        self.assert_fails(64, "--temperature: is 0.5", "plot", solve, "--temperature", "0.5")
        self.assert_fails(64, "--path-names: has 2 names", "plot", solve, "--path-names", "a,b")
        self.assert_fails(64, "--labels: has 1 names for 2 results", "plot", solve,
                          self.files["other"], "--labels", "a")
        self.assert_fails(64, "--components: is 0", "plot", solve, "--components", "0")
        self.assert_fails(64, "invalid choice", "draw", solve)
        self.assert_fails(64, "required", "plot")

    def test_bad_data_is_65(self):
        text = self.folder / "text.h5"
        text.write_text("no HDF5")
        self.assert_fails(65, "not a readable HDF5 file", "plot", text)
        self.assert_fails(65, "not a readable HDF5 file", "table", text)
        self.assert_fails(65, "has not the data for kernel_alignment", "plot", self.files["solve"],
                          "--only", "kernel_alignment")
        self.assert_fails(65, "which needs samples at three widths or more", "plot", self.files["sample"],
                          "--only", "where_the_theory_ends")
        for kind, name, verb in (("align", "pruning", "prune"), ("prune", "kernel_alignment", "align"),
                                 ("solve", "traces", "sample"), ("solve", "learning_curves", "train")):
            self.assert_fails(65, f"has not the data for {name}, which needs a result of `headway {verb}` "
                              f"(a result of `headway {kind}`)", "plot", self.files[kind], "--only", name)
        newer = self.folder / "newer.h5"
        shutil.copy(self.files["solve"], newer)
        with h5py.File(newer, "r+") as file:
            file.attrs["schema_version"] = [2, 0]
        self.assert_fails(65, "reads 1.x only", "plot", newer)
        with h5py.File(newer, "r+") as file:
            file.attrs["schema_version"] = [1, 0]
            del file["points"]
        self.assert_fails(65, "holds no points", "plot", newer)

    def test_missing_files_are_66(self):
        self.assert_fails(66, "no such file", "plot", self.folder / "absent.h5")
        self.assert_fails(66, "no such file", "table", self.folder / "absent.h5")
        self.assert_fails(66, "is a folder", "check", self.folder)

    def test_unwritable_output_is_73(self):
        in_the_way = self.folder / "in_the_way"
        in_the_way.write_text("")
        self.assert_fails(73, "cannot be made", "plot", self.files["solve"], "-o", in_the_way)
        blocked = self.folder / "blocked"
        (blocked / "order_parameters.png").mkdir(parents=True)
        self.assert_fails(73, "cannot be written", "plot", self.files["solve"], "-o", blocked,
                          "--only", "order_parameters")

    def test_table_and_check_print_what_they_find(self):
        code, out, _ = self.run_main("table", self.files["solve"], "--format", "csv")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("N,T,accuracy"))
        data = self.folder / "data.h5"
        headway.write_dataset(data, train_inputs=np.ones((2, 3, 4)), train_labels=[1, -1],
                              attention_weights=[np.ones((1, 4, 4))])
        self.assertEqual(self.run_main("check", data)[:2], (0, f"{data}: no fault found\n"))
        with h5py.File(data, "r+") as file:
            file["train/inputs"][1, 2, 3] = np.nan
        self.assert_fails(65, "train/inputs[1, 2, 3]: nan", "check", data)

    def test_process_returns_the_exit_code_and_survives_a_closed_pipe(self):
        command = [sys.executable, "-m", "headway"]
        found = subprocess.run([*command, "table", "absent.h5"], capture_output=True, text=True)
        self.assertEqual((found.returncode, found.stdout), (66, ""))
        self.assertEqual(found.stderr, "headway: error: absent.h5: no such file\n")
        read, write = os.pipe()
        os.close(read)
        found = subprocess.run([*command, "table", str(self.files["solve"])], stdout=write,
                               stderr=subprocess.PIPE, text=True)
        os.close(write)
        self.assertEqual((found.returncode, found.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
