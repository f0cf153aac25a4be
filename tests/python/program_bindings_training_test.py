"""Training in memory, and what follows from trained networks, against the program; skipped without LibTorch."""

import sys
import unittest
import warnings
from types import SimpleNamespace
from unittest import mock

import headway
import numpy as np
import program
from bindings import differences, file_of, setUpModule  # noqa: F401

SMALL = {"steps": 6, "batch": 4, "eval_every": 6, "eval_examples": 8}
SWEEP = {"sweep.seed": [1, 2], "sweep.train.attention": ["softmax"], "train.warmup_steps": 2}


class Training(unittest.TestCase):
    def test_the_same_networks_as_the_program_and_what_is_read_off_them(self):
        said = program.run("train", "fuzzy-logic-small", "--dry-run").stdout
        if "no LibTorch" in said:
            self.skipTest("the program was built without LibTorch")
        seen = []
        trained = headway.train("fuzzy-logic-small", **SMALL, settings=SWEEP, threads=1,
                                progress=lambda *now: seen.append(now))
        self.assertTrue(seen)
        settings = [f"train.{key}={value}" for key, value in SMALL.items()]
        settings += ["sweep.seed=[1, 2]", 'sweep.train.attention=["softmax"]', "train.warmup_steps=2"]
        theirs, ours = file_of("train-program.h5"), trained.save(file_of("train-python.h5"))
        program.run("train", "fuzzy-logic-small", "-q", "--threads", "1", "-o", theirs,
                    *(word for setting in settings for word in ("--set", setting)))
        apart = {"training_seconds", "steps_per_second", "flops_per_second"}
        found = [name for name in differences(theirs, ours, apart) if not name.startswith("runs/")
                 or "curves" not in name]  # curves have steps a second
        self.assertEqual(found, [])
        self.assertEqual([run.seed for run in trained.runs], [1, 2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluated = headway.evaluate(trained, examples=8)
            longer = headway.evaluate(trained, examples=8, settings={"task.sequence_length": 32})
            codes = headway.latents(trained, examples=64, settings={"latents.task.inputs": "fixed_query"})
            removed = headway.prune(trained, settings={"prune.examples": 8, "prune.resamples": 10,
                                                       "prune.random_orders": 2})
            again = headway.prune_network(trained, examples=8, resamples=10, random_orders=2, output=file_of("removed.h5"))
            theirs = file_of("removed-program.h5")
            program.run("prune-network", ours, "-q", "-o", theirs, *(word for setting in (
                "examples=8", "resamples=10", "random_orders=2") for word in ("--set", f"prune.{setting}")))
        self.assertEqual([run.seed for run in evaluated.runs], [1, 2])
        self.assertEqual([one.name_of("softmax") for one in (evaluated, longer)],
                         ["softmax", "softmax, on sequence_length = 32"])
        self.assertEqual(len(codes.runs), 2)
        for one in (removed, again):  # the older spelling does the same
            self.assertIsInstance(one, headway.RemovalResult)
            np.testing.assert_array_equal(one.runs[0].heads.loss_rise.mean, again.runs[0].heads.loss_rise.mean)
        self.assertEqual(differences(theirs, file_of("removed.h5")), [])
        self.check_rows(trained, evaluated, codes, removed)
        with self.assertRaisesRegex(headway.UsageError, "prune_network: unknown argument widths"):
            headway.prune_network(trained, widths=[10])

    def check_rows(self, trained, evaluated, codes, removed):
        """What pandas is given: a row for each network, for each of its decoders or for each of its heads."""
        with mock.patch.dict(sys.modules, pandas=SimpleNamespace(DataFrame=list)):
            rows, others, read, heads = (one.to_pandas() for one in (trained, evaluated, codes, removed))
        for found, run in zip(rows, trained.runs):
            self.assertEqual((found["seed"], found["train.attention"]), (run.seed, "softmax"))
            self.assertEqual((found["held_out_r2"], found["parameters"]), (run.final["held_out"]["r2"], run.parameters))
        self.assertEqual([row["held_out_r2"] for row in others], [run.evaluations["held_out"]["r2"] for run in evaluated.runs])
        layers = codes.runs[0].every_layer
        self.assertEqual(len(read), 2 * sum(len(layer.decoders) for layer in layers))
        self.assertEqual((read[0]["layer"], read[0]["held_out"]), (layers[0].layer, layers[0].decoders[0].held_out))
        first = removed.runs[0].heads
        self.assertEqual(len(heads), 2 * len(first.layer))
        self.assertEqual([row["loss_rise_error"] for row in heads[: len(first.layer)]], list(first.loss_rise.error))


if __name__ == "__main__":
    unittest.main()
