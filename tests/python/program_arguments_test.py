"""Wrong arguments of the verbs in memory: each is refused with the argument, its value and what is allowed."""

import math
import unittest
import warnings

import numpy as np

import headway
from bindings import file_of, setUpModule, small  # noqa: F401


class WrongArguments(unittest.TestCase):
    def refused(self, kind, words, call):
        with self.assertRaises(kind) as caught:
            call()
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_arrays_are_refused(self):
        good = small()
        labels = good["labels"]
        cases = [
            ({"features": good["features"][:, :3]}, ["heads", "[2, 2]", "p = 3"]),
            ({"features": good["features"][0]}, ["features", "shape [4, 5]", "[P, p, N_0]"]),
            ({"features": np.full((12, 4, 5), np.nan)}, ["features[0, 0, 0]", "nan", "finite"]),
            ({"features": np.full((12, 4, 5), "x")}, ["features", "<U1", "real numbers"]),
            ({"features": good["features"] + 1j}, ["features", "complex128", "real numbers"]),
            ({"features": [[1, 2], [3]]}, ["features", "rectangular"]),
            ({"features": np.zeros((0, 4, 5)), "labels": []}, ["features", "shape [0, 4, 5]", "none zero"]),
            ({"features": object()}, ["features", "object", "real numbers"]),
            ({"features": {}}, ["features", "real numbers"]),
            ({"labels": labels[:5]}, ["labels", "12", "5"]),
            ({"labels": None}, ["labels", "missing"]),
            ({"labels": np.ma.masked_equal(labels, 1)}, ["labels[", "masked"]),
            ({"features": np.ma.masked_less(good["features"], 0)}, ["features[", "masked"]),
            ({"heads": np.ma.array([2, 2], mask=[1, 0])}, ["heads[0]", "masked"]),
            ({"labels": np.where(np.arange(12) == 7, np.inf, labels)}, ["labels[7]", "inf", "finite"]),
            ({"labels": "yes"}, ["labels", "real numbers"]),
            ({"labels": labels.reshape(2, 3, 2)}, ["labels", "shape [2, 3, 2]"]),
            ({"heads": [3, 2]}, ["heads", "3, 2", "p = 4"]),
            ({"heads": None}, ["heads", "missing"]),
            ({"heads": "two"}, ["heads", "two", "whole numbers"]),
            ({"heads": [2.5, 2]}, ["heads", "2.5", "whole numbers"]),
            ({"heads": [-2, -2]}, ["heads", "-2", "positive"]),
            ({"test_features": good["features"]}, ["test_labels", "missing"]),
            ({"test_features": np.zeros((3, 4, 6)), "test_labels": [1, 1, 1]}, ["test_features", "6", "5"]),
            ({"inputs": np.zeros((12, 3, 5))}, ["inputs", "not allowed", "features"]),
            ({"sets": [1]}, ["sets", "mapping"]),
            ({"sets": {"test": {}}}, ["test", "taken"]),
            ({"sets": {"validation": {"features": 1}}}, ["features", "path_features"]),
        ]
        for change, words in cases:
            with self.subTest(change=list(change), words=words), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.refused(headway.BadDataError, words, lambda: headway.solve(**good | change))

    def test_attention_is_refused(self):
        x, y = np.ones((3, 2, 4)), [1, -1, 1]
        rows = np.full((3, 1, 2, 2), 0.5)
        cases = [({}, ["no attention", "attention"]),
                 ({"attention": rows}, ["attention", "a list"]),
                 ({"attention": [rows[:, :, :1]]}, ["attention[0]", "[3, 1, 1, 2]"]),
                 ({"attention": [rows * 0.9]}, ["attention[0]", "sums to 0.9"]),
                 ({"attention": [-rows]}, ["attention[0]", ">= 0"]),
                 ({"attention": [rows], "attention_weights": [np.eye(4)[None]]}, ["exactly one of"]),
                 ({"query": [np.ones((1, 2, 4))]}, ["key"]),
                 ({"attention": [rows], "mask": np.zeros((3, 2))}, ["mask[0]", "at least one real token"]),
                 ({"attention": [rows], "head_names": ["a"]}, ["head_names"]),
                 ({"attention": [rows], "heads": [1]}, ["heads", "features only"])]
        for change, words in cases:
            with self.subTest(change=list(change)):
                self.refused(headway.BadDataError, words,
                             lambda: headway.solve(inputs=x, labels=y, widths=[10], **change))

    def test_settings_are_refused(self):
        cases = [
            ({"widths": []}, ["widths"]), ({"widths": [0]}, ["model.widths[1] = 0", "from 1 to"]),
            ({"widths": [[10, 10]]}, ["model.widths", "[10, 10]", "N_a"]),
            ({"widths": "wide"}, ["model.widths", "wide"]), ({"widths": [1.5]}, ["1.5", "integer"]),
            ({"temperature": -1}, ["model.temperature = -1", ">= 0"]),
            ({"temperature": math.nan}, ["model.temperature = nan"]),
            ({"temperature": np.array([0.1, -3.0])}, ["model.temperature", "-3"]),
            ({"variances": [1.0, 2.0]}, ["model.variances", "2 numbers"]),
            ({"readout": "middle"}, ["middle", "last_token"]),
            ({"attention": "softmx"}, ["softmx", "softmax"]),
            ({"threads": -1}, ["threads = -1"]), ({"seed": 1.5}, ["seed = 1.5"]),
            ({"settings": {"solve.corections": "off"}}, ["corections", "corrections"]),
            ({"optimizer": "fast"}, ["optimizer", "fast", "newton"]),
        ]
        for change, words in cases:
            with self.subTest(change=change):
                self.refused((headway.BadStudyError, headway.BadDataError), words,
                             lambda: headway.solve(**small() | change))

    def test_wrong_usage_is_refused(self):
        cases = [
            ({"width": [10]}, ["unknown argument width", "widths"]),
            ({"widths": object()}, ["widths", "object", "allowed"]),
            ({"seed": 2**70}, ["seed", "64 bits"]), ({"settings": 3}, ["settings", "3", "mapping"]),
            ({"progress": "often"}, ["progress", "often", "True"]), ({"readout": 3}, ["readout", "3"]),
            ({"output": "x.h5"}, ["output", "save"]),
            ({"settings": {"model.widths": [20]}}, ["widths = [10]", "settings['model.widths'] = [20]", "one of them"]),
            ({"settings": {"model.temperature": 0.2}}, ["temperature = 0.1", "settings['model.temperature'] = 0.2"]),
            ({"seed": 1, "settings": {"seed": 2}}, ["seed = 1", "settings['seed'] = 2"]),
            ({"max_iterations": 5, "settings": {"solve.max_iterations": 6}}, ["max_iterations = 5", "= 6"]),
        ]
        for change, words in cases:
            with self.subTest(change=change):
                self.refused(headway.UsageError, words, lambda: headway.solve(**small() | change))
        headway.solve(**small(), settings={"model.widths": [10]})  # twice the same
        self.refused(headway.UsageError, ["needs a study, or arrays"], headway.solve)
        self.refused(headway.UsageError, ["hmm", "features"], lambda: headway.solve("hmm", **small()))
        self.refused(headway.UsageError, ["study", "3"], lambda: headway.solve(3))
        self.refused(headway.UsageError, ["study"], lambda: headway.solve("a\0b"))
        self.refused(headway.UnreadableFileError, ["hmm-four-pats", "hmm-four-paths"],
                     lambda: headway.solve("hmm-four-pats"))
        self.refused(headway.UnreadableFileError, ["no-such.toml"], lambda: headway.read_study("no-such.toml"))

    def test_a_result_is_not_replaced_by_what_another_verb_makes_of_it(self):
        source = file_of("source.h5")
        headway.solve("hmm-four-paths", widths=[10], output=source)
        for given in (source, headway.read_result(source)):
            self.refused(headway.CannotWriteError, ["is the input", "another output"],
                         lambda: headway.prune(given, output=source, overwrite=True))
        self.assertEqual(headway.read_result(source).kind, "solve")
        headway.solve(source, output=source, overwrite=True)  # makes it again

    def test_what_predict_cannot_take_is_named(self):
        solved, xi = headway.solve(**small()), small()["features"]
        data, path = file_of("data.h5"), file_of("solved.h5")
        headway.write_dataset(data, train_path_features=xi, train_labels=small()["labels"], heads=[2, 2])
        headway.solve("hmm-four-paths", widths=[10], output=path)
        for kind, words, call in (
                (headway.UsageError, ["weights: is 'best'", "only a result of headway.train"],
                 lambda: headway.predict(solved, features=xi, weights="best")),
                (headway.UsageError, ["weights: is 'best'"], lambda: headway.predict(path, data, weights="best")),
                (headway.BadStudyError, ["threads=-1: threads = -1"], lambda: headway.predict(solved, features=xi, threads=-1)),
                (headway.BadStudyError, ["threads=\"a\""], lambda: headway.predict(solved, features=xi, threads="a")),
                (headway.BadDataError, ["data.h5: is no result file"], lambda: headway.predict(data, features=xi)),
                (headway.UsageError, ["has both new and inputs"], lambda: headway.predict(solved, data, inputs=xi)),
                (headway.UsageError, ["has both inputs and features"], lambda: headway.predict(solved, inputs=xi, features=xi)),
                (headway.UsageError, ["needs new inputs"], lambda: headway.predict(solved)),
                (headway.UsageError, ["output: is 3; allowed: the path of the file to write"],
                 lambda: headway.predict(solved, features=xi, output=3))):
            with self.subTest(words=words):
                self.refused(kind, words, call)

    def test_a_result_of_the_theory_is_no_trained_network(self):
        solved = headway.solve(**small())
        for call in (headway.evaluate, headway.prune_network):
            self.refused(headway.BadDataError, ["study: is a result of headway.solve; allowed: a result of headway.train"],
                         lambda: call(solved))

    def test_arguments_of_action_and_kernel_are_refused(self):
        action, xi, unit = headway.action(**small()), small()["features"], np.eye(4)
        self.refused(headway.BadStudyError, ["there are 1: must be 3 matrices, U_1 to U_2 and U_a"], lambda: action.evaluate([unit]))
        self.refused(headway.BadStudyError, ["order parameters"], lambda: action.evaluate([]))
        self.refused(headway.UsageError, ["order_parameters", "3"], lambda: action.evaluate(3))
        self.refused(headway.BadDataError, ["order_parameters[0]", "finite"],
                     lambda: action.evaluate([unit * np.nan, np.eye(2), 1.0]))
        self.refused(headway.BadDataError, ["order_parameters[1]", "[2]", "square"],
                     lambda: action.evaluate([unit, np.ones(2), 1.0]))
        self.refused(headway.BadDataError, ["order_parameters[1][0, 1]: 0.0", "[1, 0] is 0.5", "symmetric"],
                     lambda: action.evaluate([unit, np.array([[1.0, 0.0], [0.5, 1.0]]), 1.0]))
        action.evaluate([unit + np.triu(np.full((4, 4), 1e-9), 1), np.eye(2), 1.0])  # rounding
        self.refused(headway.BadDataError, ["order_parameters", "[0]", "p = 4"],
                     lambda: headway.kernel(features=xi, order_parameters=[]))
        self.refused(headway.BadDataError, ["order_parameters", "rectangular"],
                     lambda: headway.kernel(features=xi, order_parameters=[[[1, 2], [3]]]))
        self.refused(headway.BadDataError, ["features", "[12, 4]"],
                     lambda: headway.kernel(features=xi[:, :, 0], order_parameters=unit))
        self.refused(headway.BadDataError, ["order_parameters", "[3, 3]", "p = 4"],
                     lambda: headway.kernel(features=xi, order_parameters=np.eye(3)))
        self.refused(headway.BadDataError, ["other", "[12, 3, 5]"],
                     lambda: headway.kernel(features=xi, order_parameters=unit, other=xi[:, :3]))
        self.refused(headway.UsageError, ["variance", "-1"],
                     lambda: headway.kernel(features=xi, order_parameters=unit, variance=-1))
        self.refused(headway.BadDataError, ["order_parameters", "symmetric"],
                     lambda: headway.kernel(features=xi, order_parameters=np.triu(np.ones((4, 4)))))

    def test_texts_that_are_not_utf8_are_refused_by_name(self):
        name = "lost\udcff.h5"
        solved = headway.solve(**small())
        for argument, call in (
                ("study", lambda: headway.solve(name)), ("study", lambda: headway.train(name)),
                ("output", lambda: headway.solve("hmm-four-paths", output=name)), ("path", lambda: solved.save(name)),
                ("path", lambda: headway.check_dataset(name)), ("path", lambda: headway.read_result(name)),
                ("new", lambda: headway.predict(solved, name)), ("text", lambda: headway.predict(solved, text="\udcff")),
                ("settings", lambda: headway.solve(**small(), settings={"name": "\udcff"}))):
            with self.subTest(argument=argument):
                self.refused(headway.UsageError, [argument, "\\udcff", "UTF-8"], call)
        self.refused(headway.UsageError, ["text", "3"], lambda: headway.predict(solved, text=3))

    def test_a_word_is_no_permission_to_overwrite(self):
        kept = headway.solve("hmm-four-paths", widths=[10], output=file_of("kept.h5"))
        before = file_of("kept.h5").read_bytes()
        for call in (lambda: headway.solve("hmm-four-paths", output=file_of("kept.h5"), overwrite="no"),
                     lambda: headway.gram([file_of("kept.h5")], file_of("kept.h5"), overwrite="no"),
                     lambda: headway.merge([kept], output=file_of("kept.h5"), overwrite="no"),
                     lambda: kept.save(file_of("kept.h5"), overwrite="no"),
                     lambda: headway.write_dataset(file_of("kept.h5"), sets={"new": {"inputs": np.ones((2, 3, 4))}}, overwrite="no")):
            self.refused(headway.UsageError, ["overwrite", "'no'", "True or False"], call)
        self.assertEqual(file_of("kept.h5").read_bytes(), before)


if __name__ == "__main__":
    unittest.main()
