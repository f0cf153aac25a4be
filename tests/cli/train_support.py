"""Small studies of `headway train`, and what its results hold."""

import json
import os
import unittest

import h5py
import numpy as np

from support import STUDIES, ProgramTest, run

SMALL_MODEL = """layers = 1
model_dim = 8
heads = 2
query_dim = 4
value_dim = 4
mlp_dim = 8
"""
SMALL_FUZZY_LOGIC = """kind = "fuzzy_logic"
sequence_length = 6
held_out = 0.5
"""
TINY = f"""name = "tiny"
seed = 3
[task]
{SMALL_FUZZY_LOGIC}[train]
attention = "hyla"
{SMALL_MODEL}attention_dropout = 0.1
steps = 60
batch = 8
learning_rate = 0.01
warmup_steps = 5
log_every = 7
eval_every = 20
eval_examples = 32
checkpoint_every = 6
"""


def small_grid(task, sweep):
    """A study of runs of milliseconds: the keys of its [task] and of its [sweep]."""
    return f"""name = "grid"
[task]
{task}[train]
attention = "hyla"
{SMALL_MODEL}steps = 12
batch = 4
warmup_steps = 2
log_every = 3
eval_every = 6
eval_examples = 8
[sweep]
{sweep}
"""


TEXT = f"""name = "tiny-text"
[task]
kind = "text"
file = "words.txt"
sequence_length = 8
[train]
causal = true
positions = "rotary"
{SMALL_MODEL}steps = 20
batch = 4
warmup_steps = 2
eval_examples = 8
sample_tokens = 40
"""
TIMES = ("DIMENSION_LIST", "training_seconds", "steps_per_second", "flops_per_second")


def can_train():
    plan = run("train", os.path.join(STUDIES, "fuzzy-logic-reference.toml"), "--dry-run", "--json")
    return json.loads(plan.stdout)["can_train"]


needs_training = unittest.skipUnless(can_train(), "this build has no LibTorch")


def lines(process):
    return [json.loads(line) for line in process.stdout.splitlines()]


def content(file_path, group="runs"):
    """Every number and word below the runs of a result but the times, as bytes."""
    found = {}

    def keep(name, item):
        for key, value in item.attrs.items():
            if key not in TIMES:
                found[f"{name}@{key}"] = str(value)
        if not isinstance(item, h5py.Dataset):
            return
        values = item[()]
        if "columns" in item.attrs:
            columns = item.attrs["columns"].split(",")
            values = np.delete(values, columns.index("steps_per_second"), axis=1)
        found[name] = values.tolist() if values.dtype == object else values.tobytes()

    with h5py.File(file_path) as file:
        file[group].visititems(keep)
    return found


class TrainTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.tiny = self.write("tiny.toml", TINY)
        self.text = self.write("text.toml", TEXT)
        self.write("words.txt", "to be or not to be, that is the question; " * 8)
        self.write("latin.txt", b"caf\xe9 " * 100)

    def check_same(self, one, two):
        self.assertEqual(set(one), set(two))
        self.assertEqual([name for name in one if one[name] != two[name]], [])
