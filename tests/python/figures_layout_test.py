"""Figures draw what their captions promise, and nothing in them is cut off or covered."""

import math
import shutil
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.text import Text

import headway
from headway import figures
from headway.results import monte_carlo
from headway.figures import accuracy, attention, limits, network, path_sizes, style
from headway.results.network_seeds import compare_networks
from headway.results.table import table
from synthetic_results import Task, add_network, write_result

TWO_BY_TWO = Task(train=24, test=40, tokens=6, features=10)
ONE_HEAD = Task(train=16, test=20, tokens=5, features=8, heads=(("same_token",),))
FOLDER = tempfile.TemporaryDirectory()
KINDS = ("solve", "align", "prune", "sample")


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    for kind in KINDS:
        write_result(place(kind), kind, TWO_BY_TWO, widths=(10, 100))
        write_result(place(f"{kind}-one-head"), kind, ONE_HEAD, widths=(10,))
        without_classes(kind)
    for seed in (1, 2):
        shutil.copy(place("prune"), place(f"network-{seed}"))
        add_network(place(f"network-{seed}"), seed)
    shutil.copy(place("real-prune"), place("real-network"))
    add_network(place("real-network"), 3, classes=False)


def place(name) -> Path:
    return Path(FOLDER.name) / f"{name}.h5"


def read(*names):
    return [headway.read_result(place(name)) for name in names]


def without_classes(kind):
    """The result as the program writes it where labels are real: no accuracy anywhere, and curves of the error."""
    shutil.copy(place(kind), place(f"real-{kind}"))

    def forget(_, item):
        for name in item.attrs:
            if "accuracy" in name:
                item.attrs[name] = math.nan
        if isinstance(item, h5py.Dataset) and "accuracy" in item.name:
            item[...] = math.nan

    with h5py.File(place(f"real-{kind}"), "r+") as file:
        file.visititems(forget)
        for group in file["points"].values():
            group.attrs["test_mean_squared_error"] = 0.25


def drawn(name, *results, **options):
    figure = figures.draw_all(read(*results), figures.PlotOptions(**options), [name])[name]
    FigureCanvasAgg(figure).draw()
    return figure


def words_of(figure):
    """The lines above the panels, as one."""
    return " ".join(text.get_text() for text in figure.texts).replace("\n", " ")


def title_of(figure):
    [title] = [text for text in figure.texts if text is not figure._suptitle]
    return title


def labels(axes):
    return axes.get_legend_handles_labels()[1]


class RealLabels(unittest.TestCase):
    def test_every_figure_is_drawn(self):
        for kind in KINDS:
            found = figures.draw_all(read(f"real-{kind}"))
            self.assertIn("accuracy_against_width", found, kind)
            self.assertEqual("pruning" in found, kind == "prune")
        self.assertIn("head_scores", figures.draw_all(read("real-prune")))
        curves = drawn("pruning", "real-prune", widths=(10,)).axes[0]
        self.assertEqual(curves.get_ylabel(), "test mean squared error")
        [result] = read("real-prune")
        np.testing.assert_array_equal(curves.lines[0].get_ydata(), result.points[0].pruning.random_mean)

    def test_curves_that_were_not_asked_for_are_none(self):
        shutil.copy(place("prune"), place("no-curves"))
        with h5py.File(place("no-curves"), "r+") as file:
            for group in file["points"].values():
                del group["pruning/cumulative"]
        self.assertIn("head_scores", figures.draw_all(read("no-curves")))
        with self.assertRaisesRegex(headway.BadDataError, "pruning, which needs test examples, prune.cumulative and a layer of several heads"):
            drawn("pruning", "no-curves")

    def test_samples_of_real_labels_show_the_squared_error(self):
        axes = drawn("accuracy_against_width", "real-sample").axes[0]
        self.assertEqual(axes.get_ylabel(), "test mean squared error")
        self.assertIn("posterior samples (exact)", labels(axes))

    def test_head_scores_show_what_the_squared_error_rises_by(self):
        [result] = read("real-prune")
        _, drops, scatter = drawn("head_scores", "real-prune", widths=(10,)).axes
        pruning = result.points[0].pruning
        np.testing.assert_allclose([bar.get_width() for bar in drops.patches],
                                   pruning.mean_squared_error_without - 0.25)
        words = [text.get_text() for axes in (drops, scatter) for text in axes.findobj(Text)]
        self.assertFalse([word for word in words if "nan" in word])
        self.assertEqual(drops.get_xlabel(), "rise of the test\nsquared error")

    def test_a_head_without_which_nothing_is_left_is_undefined(self):
        shutil.copy(place("prune"), place("alone"))
        with h5py.File(place("alone"), "r+") as file:
            for group in file["points"].values():
                group["pruning/accuracy_without"][1] = math.nan
        _, drops, scatter = drawn("head_scores", "alone", widths=(10,)).axes
        self.assertEqual([text.get_text().strip() for text in drops.texts], ["undefined"])
        self.assertNotIn("undefined", scatter.get_title(loc="left"))

    def test_networks_of_real_labels_show_the_squared_error(self):
        [result] = read("real-network")
        drops = drawn("network_heads", "real-network", widths=(10,)).axes[1]
        np.testing.assert_allclose([bar.get_width() for bar in drops.patches],
                                   result.network.error_rise.mean)
        curves = drawn("network_pruning", "real-network", widths=(10,)).axes[0]
        self.assertEqual(curves.get_ylabel(), "network's squared error on test examples")
        known = result.points[0].network["score"].rising.mean_squared_error.mean
        self.assertTrue(any(np.array_equal(line.get_ydata(), known) for line in curves.lines))

    def test_the_table_has_the_squared_error(self):
        for kind in ("solve", "sample"):
            [result] = read(f"real-{kind}")
            header, first, *_ = (line.split(",") for line in table(result, "csv").splitlines())
            self.assertEqual(first[header.index("test MSE")], "0.2500")
            self.assertEqual(first[header.index("accuracy")], "-")
        self.assertIn("corrected MSE", table(read("real-solve")[0]))
        self.assertNotIn("corrected MSE", table(read("solve")[0]))


class ErrorBars(unittest.TestCase):
    def bars(self, **attributes):
        """The points of the samples, and the head line."""
        shutil.copy(place("sample"), place("bars"))
        with h5py.File(place("bars"), "r+") as file:
            for index, group in enumerate(file["points"].values()):
                group.attrs["accuracy_sd"] = 0.2
                for name, value in attributes.items():
                    group.attrs[name] = value[index]
        figure = drawn("accuracy_against_width", "bars")
        return (next(item for item in figure.axes[0].containers if "samples" in item.get_label()),
                figure._suptitle.get_text())

    def test_bars_of_samples_are_errors_of_what_is_drawn(self):
        bars, head = self.bars(accuracy_mcse=(0.01, 0.02))
        self.assertIn("bars: ± 3.18 Monte Carlo standard errors (95 %)", head)  # 4 chains
        points = read("bars")[0].points
        for segment, point, error in zip(bars[2][0].get_segments(), points, (0.01, 0.02)):
            np.testing.assert_allclose(segment[:, 1], [point.accuracy - 3.1824 * error, point.accuracy + 3.1824 * error])

    def test_limits_are_students(self):
        known = {1: 12.706, 2: 4.303, 3: 3.182, 7: 2.365, 10: 2.228, 11: 2.201, 20: 2.086, 30: 2.042, 120: 1.980, 1e9: 1.960}
        for degrees, limit in known.items():
            self.assertAlmostEqual(monte_carlo.student(degrees), limit, delta=6e-4)
        for degrees in (0, -1, math.nan):
            self.assertTrue(math.isnan(monte_carlo.student(degrees)))
        self.assertEqual(monte_carlo.span([3.1824, math.nan, 3.1824]), "3.18")
        self.assertEqual([monte_carlo.rhat_text(value) for value in (1.0021, 6744475883888558.0, math.nan)], ["1.002", "6.744e+15", "-"])
        self.assertEqual(monte_carlo.span([12.7062, 3.1824]), "3.18 to 12.7")

    def test_errors_of_few_chains_hold_what_they_promise(self):
        means = np.random.default_rng(1).standard_normal((20000, 4))  # of chains; the truth is 0
        off = np.abs(means.mean(1)) / (means.std(1, ddof=1) / 2.0)
        self.assertAlmostEqual(np.mean(off <= monte_carlo.student(3)), 0.95, delta=0.005)
        self.assertLess(np.mean(off <= 2.0), 0.87)

    def test_distances_have_the_limits_of_their_errors(self):
        solved, sampled = read("solve", "sample")
        gaps = limits.gaps(replace(sampled, points=tuple(
            replace(point, theory=theory) for point, theory in zip(sampled.points, solved.points))))
        self.assertEqual([float(gaps[name].limit[0]) for name in ("U_1", "U_a", "predictor", "accuracy")],
                         [2.0, 2.0, 3.1824, 3.1824])

    def test_errors_of_order_parameters_average_out(self):
        [theory, *_], [sampled] = read("solve")[0].points, read("sample")
        first = sampled.points[0]
        gap = limits.gaps(replace(sampled, points=(replace(first, theory=theory),)))["U_1"]
        mean, norm = first.samples.mean[0], np.linalg.norm
        off = mean - theory.order_parameters[0]
        self.assertAlmostEqual(gap.saddle[0], norm(off) / norm(mean), 12)
        self.assertAlmostEqual(gap.saddle_error[0], norm(off * first.samples.mcse[0]) / norm(off) / norm(mean), 12)

    def test_chains_are_off_in_all_predictions_together(self):
        theory, error = np.zeros(400), np.full(400, 0.1)
        mean = np.ones(400) + 0.1 * np.random.default_rng(2).standard_normal((2000, 1))  # the same chance in every entry
        found = [limits._distance(row, error, theory, 20.0, True) for row in mean]
        self.assertAlmostEqual(np.std([distance for distance, _ in found]), found[0][1], delta=0.005)

    def test_nothing_promises_bars_that_are_not_drawn(self):
        for attributes in ({}, {"accuracy_mcse": (math.nan, math.nan)}):
            bars, head = self.bars(**attributes)
            self.assertFalse(bars.has_yerr)
            self.assertNotIn("bars:", head)
        shutil.copy(place("sample"), place("bars"))
        with h5py.File(place("bars"), "r+") as file:
            for group in file["points"].values():
                group["U_a_mcse"][...] = math.nan
                group["order_parameters/layer_1_mcse"][...] = math.nan
        axes = drawn("readout_and_action", "bars").axes[0]
        self.assertFalse([label for label in labels(axes) if "error" in label])
        head = drawn("theory_against_samples", "bars", "solve")._suptitle.get_text()
        self.assertNotIn("bars", head)


class TestSet(unittest.TestCase):
    def test_accuracy_has_the_error_of_the_test_set(self):
        figure = drawn("accuracy_against_width", "solve")
        [result] = read("solve")
        [band] = [item for item in figure.axes[0].collections if isinstance(item, PolyCollection)]
        corners = band.get_paths()[0].vertices
        for point in result.points:
            error = math.sqrt(point.accuracy * (1.0 - point.accuracy) / 40)
            at = corners[corners[:, 0] == point.widths[0], 1]
            np.testing.assert_allclose((at.min(), at.max()), (point.accuracy - error, point.accuracy + error), rtol=1e-12)
        self.assertIn("bands: ± 1 standard error over 40 test examples", words_of(figure))

    def test_squared_errors_have_it_too(self):
        [result] = read("real-solve")
        squares = (result.points[0].predictor.mean - result.test_labels) ** 2
        self.assertAlmostEqual(accuracy.set_error(result, result.points[0]), squares.std(ddof=1) / math.sqrt(40))

    def test_one_width_has_a_bar_in_place_of_a_band(self):
        write_result(place("one"), "solve", ONE_HEAD, widths=(10,), temperatures=(0.01,), corrections=False)
        [axes] = drawn("accuracy_against_width", "one").axes
        self.assertFalse([item for item in axes.collections if isinstance(item, PolyCollection)])
        [result] = read("one")
        [bar] = axes.containers
        [low, high] = bar.lines[2][0].get_segments()[0][:, 1]
        self.assertAlmostEqual((high - low) / 2, accuracy.set_error(result, result.points[0]), 6)

    def test_too_many_curves_for_bands_have_it_in_words(self):
        write_result(place("many"), "solve", ONE_HEAD, widths=(10, 20), temperatures=(0.01, 0.1, 0.2, 0.5),
                     corrections=False)
        figure = drawn("accuracy_against_width", "many")
        self.assertFalse([item for item in figure.axes[0].collections if isinstance(item, PolyCollection)])
        self.assertIn("not drawn: standard error over 20 test examples, 0.", words_of(figure))


class Guides(unittest.TestCase):
    """The lines 1/N and 1/N^2 of where_the_theory_ends."""

    WIDTHS = np.array([3.0, 10.0, 30.0, 100.0, 300.0, 1000.0])

    def test_start_from_a_point_that_is_certain(self):
        values = 1.1 / self.WIDTHS
        values[-1] *= 4.0  # the widest is noise
        errors = np.full(6, 0.001)
        self.assertEqual(limits.anchor(self.WIDTHS, values, errors, paths=4), 3)
        self.assertEqual(limits.anchor(self.WIDTHS, values, 10 * errors, paths=4), 1)

    def test_are_not_drawn_where_nothing_is_certain(self):
        values = 1.1 / self.WIDTHS
        self.assertIsNone(limits.anchor(self.WIDTHS, values, values, paths=4))
        self.assertIsNone(limits.anchor(self.WIDTHS, values, np.full(6, np.nan), paths=4))
        self.assertIsNone(limits.anchor(self.WIDTHS, values, 0.01 * values, paths=1000))  # p / N is no small number

    def test_go_through_that_point(self):
        gap = limits.Gap("", self.WIDTHS, *([1.1 / self.WIDTHS, np.full(6, 0.001)] * 2), np.full(6, 0.001), np.full(6, 2.0))
        axes = style.new_figure(3, 3).subplots()
        limits._guides(axes, gap, paths=4)
        for line, power in zip(axes.lines, (1, 2)):
            np.testing.assert_allclose(line.get_ydata(), 1.1 / 100 * (100 / self.WIDTHS) ** power)


class Told(unittest.TestCase):
    """A figure says what it leaves out and what it shades."""

    def test_how_many_widths_are_shown(self):
        for kind in ("sample", "align"):
            write_result(place(f"wide-{kind}"), kind, ONE_HEAD, widths=(10, 20, 30, 50, 100, 200, 500))
        write_result(place("wide-solve"), "solve", ONE_HEAD, widths=(10, 20, 30, 50, 100, 200, 500))
        figure = drawn("theory_against_samples", "wide-sample", "wide-solve")
        self.assertIn("4 of 7 widths", words_of(figure))
        titles = [axes.get_title(loc="left") for axes in figure.axes[:4]]
        self.assertEqual((titles[0], titles[-1]), ("$N$ = 10", "$N$ = 500"))
        chosen = drawn("theory_against_samples", "wide-sample", "wide-solve", widths=(20, 30))
        self.assertEqual([axes.get_title(loc="left") for axes in chosen.axes[:2]], ["$N$ = 20", "$N$ = 30"])
        self.assertIn("3 of 7 widths", words_of(drawn("kernel_alignment", "wide-align")))
        self.assertNotIn("widths", words_of(drawn("order_parameters", "solve")))  # all two of them

    def test_what_the_grey_band_of_pruning_is(self):
        self.assertIn("grey band: mean ± 1 standard deviation over 10 random orders", words_of(drawn("pruning", "prune")))

    def test_every_figure_says_what_it_draws_and_of_which_study(self):
        for kind in KINDS:
            for name, figure in figures.draw_all(read(kind)).items():
                self.assertGreater(len(title_of(figure).get_text()), 10, name)
                self.assertIn("hmm-synthetic", figure._suptitle.get_text(), name)


class PathSizes(unittest.TestCase):
    """The score of a head sees U_1 alone, so paths of very different sizes are warned of."""

    def scaled(self, factor):
        shutil.copy(place("prune"), place("sizes"))
        with h5py.File(place("sizes"), "r+") as file:
            kernels = file["path_kernels"][()]
            kernels /= np.einsum("ijj->i", kernels)[:, None, None] / kernels.shape[1]
            kernels[2] *= factor ** 2
            file["path_kernels"][...] = kernels
        return read("sizes")[0]

    def test_the_ratio_is_that_of_the_features(self):
        self.assertAlmostEqual(path_sizes.size_ratio(self.scaled(7.0)), 7.0)
        self.assertAlmostEqual(path_sizes.size_ratio(self.scaled(0.1)), 10.0)
        self.assertEqual(path_sizes.size_ratio(self.scaled(0.0)), math.inf)

    def test_a_size_is_that_of_one_example(self):
        np.testing.assert_allclose(path_sizes.path_sizes(self.scaled(7.0)), [1.0, 1.0, 7.0, 1.0])

    def test_warns_above_a_factor_of_four(self):
        for factor, warned in ((1.0, False), (3.9, False), (4.1, True), (30.0, True)):
            self.assertEqual("differ in size" in path_sizes.size_warning(self.scaled(factor)), warned, factor)
            for name in ("head_scores", "pruning"):
                self.assertEqual("differ in size" in words_of(drawn(name, "sizes")), warned, f"{factor} {name}")

    def test_says_nothing_where_sizes_are_not_known(self):
        self.scaled(30.0)
        with h5py.File(place("sizes"), "r+") as file:
            del file["path_kernels"]
        self.assertEqual(path_sizes.size_warning(read("sizes")[0]), "")


class LearnedAttention(unittest.TestCase):
    def test_several_seeds_have_the_standard_error_of_their_mean(self):
        def sampled(examples, largest):
            return self.sampled(examples, largest, 1.0)
        [rows] = attention.branches([sampled(16, 0.7), sampled(8, 0.2), sampled(8, 0.6)]).values()
        np.testing.assert_allclose([row[:3] for row in rows], [(8, 0.4, 0.2), (16, 0.7, 0.05)])

    def test_temperatures_are_not_mixed(self):
        warm, cold = self.sampled(16, 0.7, 1.0), self.sampled(8, 0.2, 0.1)
        self.assertEqual(list(attention.branches([warm, cold])),
                         ["samples from the prior, T = 1", "samples from the prior, T = 0.1"])

    def sampled(self, examples, largest, temperature):
        point = SimpleNamespace(attention_largest_mean=largest, attention_largest_mcse=0.05, temperature=temperature, widths=(10, 10),
                                attributes={}, minima=(), converged=True)
        return SimpleNamespace(kind="sample", provenance={}, points=[point], train_labels=np.ones(examples), temperatures=(temperature,))


class Agreement(unittest.TestCase):
    def test_is_of_what_differs_from_the_identity(self):
        one = np.eye(4) + 0.1 * (np.eye(4, k=1) + np.eye(4, k=-1))
        other = np.eye(4) + 0.1 * (np.eye(4, k=2) + np.eye(4, k=-2))
        self.assertEqual(network.agreement(one, other), 0.0)  # their diagonals alone are alike
        self.assertAlmostEqual(network.agreement(one, one), 1.0)
        self.assertAlmostEqual(network.agreement(one, 2 * np.eye(4) - one), -1.0)
        self.assertTrue(math.isnan(network.agreement(np.eye(4), one)))

    def test_stands_above_each_panel(self):
        [result] = read("network-1")
        figure = drawn("network_order_parameters", "network-1", widths=(10,))
        u, v = result.points[0].order_parameters[0], result.network.order_parameter
        known = network.agreement(u / np.mean(np.diag(u)), v / np.mean(np.diag(v)))
        self.assertIn(f"agreement {known:.2f}".replace("-", "\u2212"),
                      figure.axes[0].get_title(loc="left"))


class Copies(unittest.TestCase):
    def test_are_no_independent_networks(self):
        shutil.copy(place("network-1"), place("copy"))
        with self.assertRaisesRegex(headway.UsageError, "copy.h5: has the same trained network as "
                                                        ".*network-1.h5; allowed: another network"):
            compare_networks(read("network-1", "network-2", "copy"))
        self.assertTrue(compare_networks(read("network-1", "network-2")))
        self.assertIn("network_pruning_over_seeds", figures.draw_all(read("network-1", "network-2")))
        with self.assertRaisesRegex(headway.BadDataError, "each on another trained network"):
            drawn("network_pruning_over_seeds", "network-1", "copy")


class Layout(unittest.TestCase):
    def every_figure(self):
        for kind in KINDS:
            for name in (kind, f"{kind}-one-head"):
                yield from ((f"{name} {key}", figure)
                            for key, figure in figures.draw_all(read(name)).items())
        pairs = [("sample", "solve"), ("sample-one-head", "solve-one-head"), ("network-1", "sample"),
                 ("solve", "solve-one-head")]
        for pair in pairs:
            yield from ((f"{pair} {key}", figure)
                        for key, figure in figures.draw_all(read(*pair)).items())

    def test_nothing_is_cut_off_or_covered(self):
        checked = 0
        for name, figure in self.every_figure():
            canvas = FigureCanvasAgg(figure)
            with style.applied():
                canvas.draw()
            head = figure._suptitle.get_window_extent()
            above = title_of(figure).get_window_extent()
            for text in (head, above):
                self.assertLessEqual(text.x1, figure.bbox.x1, f"{name}: the head line is cut off")
            self.assertLessEqual(above.y1, figure.bbox.y1, f"{name}: the title is cut off")
            blank = len(figure._suptitle.get_text().splitlines()) - figure._suptitle.get_text().lstrip(" \n").count("\n") - 1
            first = head.y1 - blank * head.height / len(figure._suptitle.get_text().splitlines())
            self.assertGreaterEqual(above.y0, first - 2.5, f"{name}: the title covers the line below it")
            for axes in figure.axes:
                top = axes.title.get_window_extent().y1 if axes.title.get_text() else axes.bbox.y1
                self.assertLessEqual(top, head.y0 + 1.0, f"{name}: the head line covers a panel")
                checked += self.check_legend(name, axes)
        self.assertGreater(checked, 15)

    def check_legend(self, name, axes) -> int:
        if axes.get_legend() is None:
            return 0
        box = axes.get_legend().get_window_extent()
        for line in axes.lines:
            if line.get_visible() and len(line.get_xdata()):
                points = line.get_transform().transform(np.column_stack(
                    [np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)]))
                inside = [box.contains(*point) for point in points if np.isfinite(point).all()]
                self.assertFalse(any(inside), f"{name}: the legend covers {line.get_label()}")
        for bar in axes.patches:
            self.assertFalse(box.overlaps(bar.get_window_extent()) and bar.get_height() > 0,
                             f"{name}: the legend covers a bar")
        return 1

    def test_long_names_break_the_head_line(self):
        shutil.copy(place("sample-one-head"), place("long"))
        with h5py.File(place("long"), "r+") as file:
            file.attrs["study"] = "a study of $N$ paths with a rather long name"
        figure = drawn("theory_against_samples", "long", "solve-one-head")
        self.assertGreater(figure._suptitle.get_text().count("\n"), 0)
        self.assertLessEqual(figure._suptitle.get_window_extent().x1, figure.bbox.x1)
        self.assertIn(r"\$N\$ paths", figure._suptitle.get_text())  # no mathematics

    def test_long_names_of_heads_leave_room_for_the_panel(self):
        shutil.copy(place("prune"), place("named"))
        with h5py.File(place("named"), "r+") as file:
            for group in file["points"].values():
                del group["pruning/name"]
                names = [f"encoder.layer.{layer}.attention.self.head.3" for layer in range(4)]
                group["pruning"].create_dataset("name", data=names, dtype=h5py.string_dtype())
        figure = drawn("head_worth", "named", widths=(10,))
        canvas = FigureCanvasAgg(figure)
        with style.applied():
            canvas.draw()
        [axes] = figure.axes
        self.assertLessEqual(axes.xaxis.label.get_window_extent().x1, figure.bbox.x1)
        self.assertGreater(axes.bbox.width, 3.0 * figure.dpi)
        boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
        self.assertFalse(any(one.overlaps(other) for one, other in zip(boxes, boxes[1:])))

    def test_a_curve_has_more_than_one_point(self):
        self.assertNotIn("pruning", figures.draw_all(read("prune-one-head")))


if __name__ == "__main__":
    unittest.main()
