"""The signatures of the verbs follow from the program's tables: every key, its type, its default and its order."""

import inspect
import unittest

import headway
from bindings import setUpModule  # noqa: F401
from headway import native
from headway.base import signatures

VERBS = ("solve", "align", "prune", "sample", "train", "latents", "evaluate", "prune_network")


class Settings(unittest.TestCase):
    def test_every_section_that_is_no_task_and_no_verb_of_the_program_alone_is_there(self):
        self.assertEqual(set(native.module().options()) - set(signatures.SECTIONS), {"task", "extract", "rank"})


class Signatures(unittest.TestCase):
    def test_every_key_is_an_argument(self):
        for verb in VERBS:
            parameters = inspect.signature(getattr(headway, verb)).parameters
            self.assertEqual(set(signatures.keys_of(verb)) - set(parameters), set(), verb)
            self.assertEqual(str(parameters["threads"]), "threads: 'int | None' = None")

    def test_the_theory_takes_the_arguments_of_a_dataset(self):
        for verb in (*VERBS, "action"):
            last = list(inspect.signature(getattr(headway, verb)).parameters.values())[-1]
            self.assertEqual(last.kind is last.VAR_KEYWORD, verb in ("solve", "align", "prune", "sample", "action"), verb)

    def test_a_default_is_that_of_the_table(self):
        """What the docstring shows is what the program does without the argument."""
        resolved = headway.read_study("hmm-four-paths").text
        for name, shown in (("optimizer", "default: 'auto'"), ("max_iterations", "default: 200")):
            self.assertIn(shown, headway.solve.__doc__)
            self.assertIn(f"{name} = {signatures.SETTINGS['solve'][name]['default']}", resolved)

    def test_an_argument_that_is_not_there_is_refused_with_the_nearest(self):
        for call, words in ((lambda: headway.sample("hmm-four-paths", chians=2), "chians; did you mean chains?"),
                            (lambda: headway.evaluate("a.h5", steps=2), "unknown argument steps")):
            with self.assertRaises(headway.UsageError) as caught:
                call()
            self.assertIn(words, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
