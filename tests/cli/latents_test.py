"""`headway latents` and `headway evaluate` from the outside: what they read, print, write and refuse."""

import json
import unittest

import h5py
import numpy as np

from support import ProgramTest, run
from train_support import SMALL_MODEL, TEXT, can_train, needs_training

FUZZY = f"""name = "codes"
seed = 3
[task]
kind = "fuzzy_logic"
sequence_length = 10
held_out = 0.5
[train]
attention = "hyla"
{SMALL_MODEL.replace("layers = 1", "layers = 2")}steps = 30
batch = 8
warmup_steps = 3
eval_every = 10
eval_examples = 64
checkpoint_every = 6
[latents]
examples = 400
shuffles = 2
regularisation = [0.1, 0.001]
[sweep]
seed = [3, 4]
"""
SRAVEN = FUZZY.replace('kind = "fuzzy_logic"\nsequence_length = 10', 'kind = "sraven"\nfeatures = 2\nvalues = 5')
DECODER = {"name", "kind", "metric", "train", "held_out", "chance", "standard_error"}


class NetworksTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.fuzzy = self.write("fuzzy.toml", FUZZY)
        self.sraven = self.write("sraven.toml", SRAVEN)

    def trained(self, study, *more, output="trained.h5"):
        output = self.path(output)
        self.check(run("train", study, "-o", output, "-q", *more), 0)
        return output

    def object_of(self, *arguments):
        process = run(*arguments, "--json", "-q")
        self.check(process, 0)
        return json.loads(process.stdout)


@needs_training
class Latents(NetworksTest):
    def test_json_is_that_of_the_contract(self):
        found = self.object_of("latents", self.trained(self.fuzzy))
        self.assertEqual([one["seed"] for one in found["runs"]], [3, 4])
        for one in found["runs"]:
            self.assertEqual((one["variant"], one["task"]), ("hyla", "fuzzy_logic"))
            self.assertEqual([layer["layer"] for layer in one["layers"]], [1, 2])
            for layer in one["layers"]:
                self.assertEqual((layer["codes"], layer["heads"]), (400, 2))
                names = [decoder["name"] for decoder in layer["decoders"]]
                self.assertEqual(names, ["term", "bits", "answer"])
                for decoder in layer["decoders"]:
                    self.assertLessEqual(DECODER, set(decoder))
                    self.assertGreater(decoder["standard_error"], 0.0)
                cosine = np.array(layer["similarity"]["cosine"])
                self.assertEqual(cosine.shape, (12, 12))
                self.assertEqual(len(layer["similarity"]["labels"]), 12)
                np.testing.assert_allclose(np.diag(cosine), 1.0)
        self.assertIn("seconds", found)

    def test_file_holds_codes_with_what_they_are_of(self):
        output = self.path("codes.h5")
        self.check(run("latents", self.trained(self.sraven), "-o", output), 0, "2 of 2 networks")
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["kind"], "latents")
            for split in ("train", "held_out"):
                codes = file[f"runs/0/layers/1/codes/{split}"]
                self.assertEqual(codes.shape, (400, 4))  # two pairs of two heads
                labels = file[f"runs/0/labels/{split}"]
                self.assertEqual(labels["label"].shape, (400, 1))
                self.assertEqual(set(np.unique(labels["feature"])), {0, 1})
                self.assertTrue(np.all((labels["answer"][()] >= 0) & (labels["answer"][()] < 5)))
            # The mean codes in the file are the means of the codes in the file.
            label = file["runs/0/labels/held_out/label"][:, 0]
            codes = file["runs/0/layers/1/codes/held_out"][()]
            means = file["runs/0/layers/1/similarity/mean_codes"][()]
            for rule in np.unique(label):
                np.testing.assert_allclose(means[rule], codes[label == rule].mean(axis=0))
            names = [name.decode() for name in file["runs/0/layers/1/similarity/labels"][()]]
            self.assertEqual(names[0], "constant")
        text = run("inspect", output).stdout
        for words in (" 2 +rule +balanced_accuracy ", "runs +2 of 2", "headway latents"):
            self.assertRegex(text, words)

    def test_a_study_is_trained_first_to_the_same_codes(self):
        from_result = self.object_of("latents", self.trained(self.fuzzy))
        output = self.path("codes.h5")
        from_study = self.object_of("latents", self.fuzzy, "-o", output)
        self.assertEqual(from_study["runs"], from_result["runs"])
        again = self.object_of("latents", output)  # a result in place of its study
        self.assertIn("holds no networks, so 2 networks must be trained again", run("latents", output, "--dry-run").stderr)
        self.assertNotIn("trained again", run("latents", self.fuzzy, "--dry-run").stderr)
        self.assertEqual(again["runs"], from_result["runs"])

    def test_options_do_what_they_say(self):
        trained = self.trained(self.fuzzy)
        found = self.object_of("latents", trained, "--set", "latents.layers=[2]", "--set",
                               "latents.weights=last", "--set", "latents.task.inputs=fixed_query")
        self.assertEqual([layer["layer"] for layer in found["runs"][0]["layers"]], [2])
        self.assertEqual(found["runs"][0]["step"], 30)
        plain = self.object_of("latents", trained)
        self.assertNotEqual(found["runs"][0]["layers"][0]["decoders"],
                            plain["runs"][0]["layers"][1]["decoders"])
        table = run("latents", trained, "-q").stdout
        for word in ("held out", "shuffled", "untrained", "chance", "same label"):
            self.assertIn(word, table)

    def test_another_split_is_warned_of(self):
        trained = self.trained(self.fuzzy, "--set", "sweep.seed=[3]")
        process = run("latents", trained, "--set", "latents.task.seed=9")
        self.check(process, 0, "of these held-out tasks")
        process = run("latents", trained, "--set", "latents.task.variables=3")  # of other tokens: there is no share
        self.check(process, 78, "as in the training of the network")
        self.assertNotIn("of these held-out tasks", process.stderr)

    def test_bad_requests_are_refused(self):
        trained = self.trained(self.fuzzy)
        bare = self.trained(self.fuzzy, "--set", "train.keep_weights=false", output="bare.h5")
        for arguments, code, words in (
                ((bare,), 65, ["bare.h5", "holds no weights"]),
                ((trained, "--set", "latents.layers=[3]"), 78, ["latents.layers[1] = 3", "from 1 to 2"]),
                ((trained, "--set", "latents.examples=3"), 65, ["training tasks: must be at least 5", "latents.folds = 5",
                                                              "latents.examples = 3"]),
                ((trained, "--set", "latents.fold=3"), 78, ["latents.fold", 'did you mean "folds"']),
                ((trained, "--set", "latents.task.sequence_lenth=3"), 78, ["did you mean"]),
                ((trained, "--set", "latents.task=3"), 78, ["must be a table of keys of [task]"]),
                ((trained, "--set", "train.heads=4"), 78, ["train.heads=4", "fixed by the training"]),
                ((self.sraven, "--set", "latents.task.permuted=true"), 78, ["must be false"]),
                ((self.path("none.h5"),), 66, ["none.h5"]),
                ((trained, "-o", trained, "--force"), 73, ["is the input"])):
            with self.subTest(arguments=arguments):
                self.check(run("latents", *arguments), code, *words)


@needs_training
class Evaluate(NetworksTest):
    def test_the_last_weights_give_the_numbers_of_training(self):
        trained = self.trained(self.fuzzy)
        found = self.object_of("evaluate", trained, "--set", "evaluate.weights=last")
        with h5py.File(trained) as file:
            for index, one in enumerate(found["runs"]):
                for split, wanted in file[f"runs/{index}/final"].items():
                    for name in ("loss", "r2", "r2_pooled"):
                        self.assertEqual(one["evaluations"][split][name], wanted.attrs[name])
        self.assertEqual(set(found["runs"][0]["evaluations"]),
                         {"train", "validation", "held_out", "unknown_terms"})

    def test_other_data_of_the_same_kind_give_other_scores(self):
        trained = self.trained(self.sraven)
        output = self.path("evaluated.h5")
        own = self.object_of("evaluate", trained)
        unpermuted = self.object_of("evaluate", trained, "--set", "task.permuted=false", "-o", output)
        self.assertIn("permuted = false", unpermuted["evaluated_on"])
        self.assertNotEqual(own["runs"][0]["evaluations"], unpermuted["runs"][0]["evaluations"])
        study = self.write("other.toml", '[task]\nkind = "sraven"\nfeatures = 2\nvalues = 5\n'
                           'held_out = 0.5\npermuted = false\n')
        same = self.object_of("evaluate", trained, "--task", study)
        self.assertEqual(same["runs"], unpermuted["runs"])
        with h5py.File(output) as file:
            self.assertEqual(file.attrs["kind"], "evaluate")
            at = file["runs/1/evaluations/held_out"].attrs
            self.assertEqual(at["accuracy"], unpermuted["runs"][1]["evaluations"]["held_out"]["accuracy"])
        self.assertRegex(run("inspect", output).stdout, r"0/evaluations/held_out +\d+ +[\d.]+ +[\d.]+ +-\n")

    def test_the_task_of_each_network_is_told(self):
        """In the sweep over seeds every network has its own split, and here also its own length."""
        trained = self.trained(self.fuzzy, "--set", "sweep.task.sequence_length=[8, 12]")
        output = self.path("evaluated.h5")
        found = self.object_of("evaluate", trained, "-o", output)
        self.assertIn("# seed: 3, 4, of each network its own\n", found["evaluated_on"])
        self.assertIn("# sequence_length: 8, 12, of each network its own\n", found["evaluated_on"])
        self.assertIn("held_out = 0.5\n", found["evaluated_on"])
        with h5py.File(output) as file:
            texts = [file[f"runs/{i}"].attrs["evaluated_on"] for i in range(4)]
        self.assertEqual([one["evaluated_on"] for one in found["runs"]], texts)
        self.assertEqual(len({text for text in texts}), 4)
        for text in texts:
            self.assertNotIn("#", text)
        one = self.object_of("evaluate", trained, "--set", "task.sequence_length=9", "--set", "task.seed=7", "--dry-run")
        self.assertNotIn("#", one["evaluated_on"])
        named = self.object_of("evaluate", trained, "--task", "fuzzy-logic-small", "--dry-run")
        self.assertIn("sequence_length = 24", named["evaluated_on"])

    def test_changes_of_length_and_of_held_out_tasks_are_told(self):
        trained = self.trained(self.fuzzy)
        process = run("evaluate", trained, "--set", "task.sequence_length=25")
        self.check(process, 0)
        self.assertIn("sequence_length = 25", process.stdout)
        process = run("evaluate", trained, "--set", "task.seed=9")
        self.check(process, 0, "of these held-out tasks")

    def test_bad_requests_are_refused(self):
        trained = self.trained(self.fuzzy)
        solved = self.path("solved.h5")
        self.check(run("solve", self.study, "-o", solved), 0)
        evaluated = self.path("evaluated.h5")
        self.check(run("evaluate", trained, "-o", evaluated), 0)
        with open(trained, "rb") as file:
            cut = self.write("cut.h5", file.read()[:20000])
        swept = self.write("swept.toml", '[task]\nkind = "fuzzy_logic"\n[sweep]\n"task.held_out" = [0.3, 0.5]\n')
        for arguments, code, words in (
                ((trained, "--set", "task.kind=sraven"), 78, ['must be "fuzzy_logic"']),
                ((trained, "--task", self.sraven), 78, ['must be "fuzzy_logic"', "codes"]),
                ((trained, "--task", swept), 78, ["sweep.task.held_out"]),
                ((trained, "--set", "task.variables=3"), 78, ["tokens of 4 numbers", "5 and 1"]),
                ((trained, "--set", "task.sequence_length=1"), 78, ["task.sequence_length = 1"]),
                ((trained, "--set", "train.heads=4"), 78, ["train.heads=4"]),
                ((trained, "--task", self.path("none.toml")), 66, ["none.toml"]),
                ((self.fuzzy,), 65, ["is not an HDF5 file", "headway train"]),
                ((cut,), 65, ["cut.h5", "truncated"]),
                ((evaluated,), 65, ["is a result of headway evaluate", "headway train"]),
                ((solved,), 65, ["is a result of headway solve", "headway train"]),
                ((trained, "-o", trained, "--force"), 73, ["is the input"])):
            with self.subTest(arguments=arguments):
                self.check(run("evaluate", *arguments), code, *words)


class WithoutTraining(NetworksTest):
    def test_a_plan_says_what_would_be_trained(self):
        plan = self.object_of("latents", self.fuzzy, "--dry-run")
        self.assertEqual((plan["networks"], plan["trains_first"], plan["examples"]), (2, True, 400))
        self.check(run("latents", self.fuzzy, "--dry-run"), 0)

    def test_tasks_without_codes_are_refused(self):
        self.write("words.txt", "to be or not to be, that is the question; " * 8)
        text = self.write("text.toml", TEXT)
        self.check(run("latents", text), 78, 'task.kind = "text"', 'must be "fuzzy_logic", "sraven" or "arrays"')
        self.check(run("latents", self.study), 78, "task.kind", 'must be "fuzzy_logic", "sraven" or "arrays"')

    @unittest.skipIf(can_train(), "this build has LibTorch")
    def test_a_build_without_libtorch_says_so(self):
        self.check(run("latents", self.fuzzy), 69, "LibTorch")


if __name__ == "__main__":
    unittest.main()
