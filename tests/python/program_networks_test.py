"""The heads of a network, from Python to `headway prune`: a planted head that matters is ranked first."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import headway

PROGRAM = os.environ["HEADWAY_PROGRAM"]
TOKENS, FEATURES = 6, 8
USEFUL = ("L1H2", "L2H1")


class PlantedTransformer:
    """Answers as a Hugging Face encoder does. Layer 1: three heads, of which the second looks from
    [CLS] at the one marked token, whose first number is the label. Layer 2: two heads, of
    which the first keeps [CLS]. The others attend at random, differently for each example."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def examples(self, count):
        x = self.rng.standard_normal((count, TOKENS, FEATURES))
        marked = self.rng.integers(1, TOKENS - 1, count)
        labels = np.resize([1.0, -1.0], count)
        x[np.arange(count), marked, 0] = labels
        mask = np.ones((count, TOKENS), int)
        mask[: count // 2, -1] = 0  # padded to one length
        return {"embeddings": x, "marked": marked, "attention_mask": mask}, labels

    def __call__(self, embeddings, marked, attention_mask, **kwargs):
        count = len(embeddings)
        first = self.rng.random((count, 3, TOKENS, TOKENS)) ** 4 + 1e-3
        second = self.rng.random((count, 2, TOKENS, TOKENS)) ** 4 + 1e-3
        first[:, 1, 0], second[:, 0, 0] = 1e-3, 1e-3
        first[np.arange(count), 1, 0, marked] = second[:, 0, 0, 0] = 1.0
        attention = [a * attention_mask[:, None, None, :] for a in (first, second)]
        attention = [(a / a.sum(axis=3, keepdims=True)).astype(np.float32) for a in attention]
        return SimpleNamespace(attentions=attention, hidden_states=[embeddings] * 3)


class Networks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "planted.h5"
        model = PlantedTransformer(4)
        encoded, labels = model.examples(80)
        test, validation = model.examples(200), model.examples(60)
        headway.from_hugging_face(
            self.path, model, encoded, labels, batch_size=32,
            test={"encoded": test[0], "labels": test[1]},
            sets={"validation": {"encoded": validation[0], "labels": validation[1]}})

    def run_program(self, *arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_file_is_valid_and_described(self):
        self.run_program("validate", self.path)
        text = self.run_program("inspect", self.path)
        for word in ("attention of PlantedTransformer", "first_token", "validation: 60 examples",
                     *USEFUL):
            self.assertIn(word, text)

    def test_prune_ranks_the_planted_heads_first(self):
        """The theory uses the readout that the file names. With the last token's the planted heads would do nothing."""
        found = {}
        for readout in (None, "last_token"):
            options = [] if readout is None else ["--set", f"model.readout={readout}"]
            point = json.loads(self.run_program(
                "prune", self.path, "--json", "--set", "model.widths=[20]", "--set",
                "model.temperature=0.1", *options))["points"][0]
            found[readout] = point
        point = found[None]
        self.assertGreater(point["accuracy"], 0.9)
        self.assertGreater(point["sets"]["validation"]["accuracy"], 0.9)
        self.assertLess(found["last_token"]["accuracy"], 0.8)
        heads = {head["name"]: head for head in point["heads"]}
        for layer in (1, 2):
            mine = [head for head in point["heads"] if head["layer"] == layer]
            self.assertEqual(max(mine, key=lambda head: head["score"])["name"], USEFUL[layer - 1])
        drops = {name: point["accuracy"] - head["accuracy_without"] for name, head in heads.items()}
        self.assertEqual(set(sorted(drops, key=drops.get)[-2:]), set(USEFUL))
        self.assertEqual(set(sorted(heads, key=lambda name: heads[name]["score"])[-2:]), set(USEFUL))
        for name in USEFUL:
            self.assertGreater(drops[name], 0.2)


if __name__ == "__main__":
    unittest.main()
