"""headway.Dataset gives the numbers that its arguments give, in every function that takes arrays."""

import unittest
import warnings

import numpy as np

import headway
from bindings import differences, file_of, four_paths, setUpModule, small  # noqa: F401


def both(**settings):
    """A data set, and the same arrays by their arguments, with settings."""
    arrays = {name: value for name, value in small().items() if name in ("features", "labels", "heads")}
    return headway.Dataset(**arrays), arrays | {"widths": [10], "temperature": 0.1} | settings, {
        "widths": [10], "temperature": 0.1} | settings


class Computing(unittest.TestCase):
    def test_every_verb_gives_the_same_to_the_last_bit(self):
        for verb, settings in (("solve", {}), ("align", {}), ("prune", {}), ("sample", {"chains": 2, "draws": 50, "seed": 1})):
            data, keywords, alone = both(**settings)
            function, method = getattr(headway, verb), getattr(data, verb)
            first = function(**keywords).save(file_of(f"{verb}.h5"))
            for number, made in enumerate((function(data, **alone), function(data=data, **alone), method(**alone))):
                with self.subTest(verb=verb, number=number):
                    self.assertEqual(differences(first, made.save(file_of(f"{verb}-{number}.h5"))), [])

    def test_real_labels_far_from_zero_are_pointed_out(self):
        given = {name: value for name, value in small().items() if name in ("features", "heads")}
        labels = np.random.default_rng(3).standard_normal(len(given["features"]))
        with self.assertWarnsRegex(UserWarning, "have a mean of 99.9 and a deviation of .*: subtract the mean"):
            headway.solve(**given, labels=labels + 100.0, widths=[10], temperature=0.1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            headway.solve(**given, labels=labels + 1.0, widths=[10], temperature=0.1)
        self.assertFalse([one for one in caught if "subtract the mean" in str(one.message)])

    def test_two_ways_to_write_classes_are_refused_without_advice_on_real_targets(self):
        given, signs = small(), np.resize([1.0, -1.0], 12)
        arrays = {name: given[name] for name in ("features", "heads")} | {"test_features": given["features"], "test_labels": signs}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.assertRaisesRegex(headway.BadDataError, "test_labels: names two classes by -1 and"):
                headway.solve(**arrays, labels=np.resize([1, 0], 12), widths=[10], temperature=0.1)

    def test_the_action_is_the_same(self):
        data, keywords, alone = both()
        u = [np.eye(4), np.eye(2), 1.0]
        value = headway.action(**keywords).evaluate(u)[0]
        self.assertEqual(headway.action(data, **alone).evaluate(u)[0], value)
        self.assertEqual(data.action(**alone).evaluate(u)[0], value)

    def test_a_result_takes_it_again(self):
        data, _, alone = both()
        path = data.solve(**alone).save(file_of("again.h5"))
        pruned = headway.prune(path, data=data)
        self.assertEqual(pruned.points[0].pruning.score.shape, (4,))
        new = small(seed=2)["features"]
        expected = headway.predict(data.solve(**alone), features=new).points[0].mean
        for given in (headway.Dataset(features=new), headway.Dataset(features=new, heads=[2, 2])):
            np.testing.assert_array_equal(headway.predict(path, given, data=data).points[0].mean, expected)

    def test_its_call_can_be_read_in_the_result(self):
        data, _, alone = both()
        self.assertIn("headway.solve(headway.Dataset(features=..., labels=..., heads=[2, 2]), widths=[10], temperature=0.1)",
                      data.solve(**alone).provenance["command"])

    def test_inputs_without_attention_need_a_prior(self):
        x, y = np.random.default_rng(1).standard_normal((12, 3, 4)), np.resize([1, -1], 12)
        data = headway.Dataset(inputs=x, labels=y)
        with self.assertRaisesRegex(headway.BadDataError, "no attention is given"):
            data.solve(widths=[10])
        learned = data.solve(widths=[10], temperature=0.1, attention_prior={"form": "matrix", "heads": [2]}, attention_starts=1)
        self.assertEqual(learned.heads, (2,))

    def test_two_at_once_are_refused(self):
        data, keywords, alone = both()
        for call, words in ((lambda: headway.solve(data, **keywords), "has both a Dataset and the argument features"),
                            (lambda: headway.solve(data, data=data, **alone), "has both the arguments study and data"),
                            (lambda: headway.solve("hmm-four-paths", data=data), "has both the study 'hmm-four-paths' and the argument data"),
                            (lambda: headway.predict(data.solve(**alone), data, features=four_paths()["features"]),
                             "has both new and features")):
            with self.assertRaisesRegex(headway.UsageError, words):
                call()

    def test_new_inputs_are_no_training_set(self):
        with self.assertRaisesRegex(headway.BadDataError, "labels: is missing"):
            headway.solve(headway.Dataset(features=small()["features"], heads=[2, 2]), widths=[10])


if __name__ == "__main__":
    unittest.main()
