"""Theory, samples and training in one process again and again: memory, open files and threads stay what they are.

HEADWAY_SOAK_SECONDS says for how long (`make soak MINUTES=120`); a few seconds unless given.
"""

import gc
import importlib.util
import os
import statistics
import tempfile
import time
import unittest
import warnings
from pathlib import Path

import numpy as np

import headway
import program

SECONDS = float(os.environ.get("HEADWAY_SOAK_SECONDS", "6"))
#: Bytes of memory, between the second and the last quarter of the rounds. The allocator alone moves it by nearly as much.
MOST_GROWTH = 4 * 2**20
TINY = """name = "tiny"
[task]
kind = "fuzzy_logic"
sequence_length = 6
held_out = 0.5
[train]
attention = "hyla"
layers = 1
model_dim = 8
heads = 2
query_dim = 4
value_dim = 4
mlp_dim = 8
steps = 12
batch = 4
warmup_steps = 2
eval_every = 6
eval_examples = 8
"""


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def handles() -> tuple[int, int]:
    """Open files and threads."""
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def trains() -> bool:
    try:
        headway.train(TRAINED, settings={"train.steps": 1})
    except headway.UnavailableError:
        return False
    return True


def setUpModule():
    global FOLDER, TRAINED
    program.executable()
    if importlib.util.find_spec("headway._native") is None:
        raise unittest.SkipTest("the extension module headway._native is not built")
    kept = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(kept.cleanup)
    FOLDER = Path(kept.name)
    TRAINED = FOLDER / "tiny.toml"
    TRAINED.write_text(TINY)


def arrays(examples):
    random = np.random.default_rng(examples)
    return {"features": random.standard_normal((examples, 4, 7)), "heads": [2, 2],
            "labels": np.sign(random.standard_normal(examples))}


def theory_round(number):
    """Results in memory and in files, of sizes that change from round to round."""
    given = arrays(10 + number % 7)
    output = FOLDER / "result.h5"
    headway.align(headway.solve(**given, widths=[10, 100], temperature=0.1))
    headway.solve("hmm-four-paths", widths=[10], settings={"task.test_examples": 50 + number % 9},
                  output=output, force=True)
    headway.prune(output)
    with warnings.catch_warnings():  # of chains as short as these
        warnings.simplefilter("ignore")
        headway.sample(**given, widths=[10], temperature=0.1,
                       settings={"sample.draws": 20, "sample.warmup": 20, "sample.chains": 2})
    headway.action(**given, widths=[10], temperature=0.1)
    headway.kernel(features=given["features"], order_parameters=np.eye(4))
    repr(headway.read_result(output).points[0].order_parameters)
    for wrong in ({"labels": given["labels"][1:]}, {"heads": [3, 2]}):
        try:
            headway.solve(**(given | wrong), widths=[10], temperature=0.1)
        except headway.HeadwayError:
            continue
        raise AssertionError(f"{list(wrong)[0]} should have been refused")


def training_round(number):
    output = FOLDER / "trained.h5"
    headway.train(TRAINED, seed=1 + number % 5, output=output, force=True)
    headway.evaluate(output)
    headway.prune(output)
    with warnings.catch_warnings():  # of networks as raw as these
        warnings.simplefilter("ignore")
        headway.latents(output, settings={"latents.examples": 64})


class Soak(unittest.TestCase):
    def test_memory_files_and_threads_stay(self):
        also_trained = trains()
        end = time.monotonic() + SECONDS
        sizes, things, number = [], [], 0
        while time.monotonic() < end or number < 16:
            theory_round(number)
            if also_trained and number % 4 == 0:
                training_round(number)
            number += 1
            gc.collect()
            sizes.append(resident())
            things.append(handles())
        quarter = number // 4

        def middles(values):
            """The medians of the second quarter and of the last. A thread that is just ending counts in one look, not in many."""
            return statistics.median(values[quarter:2 * quarter]), statistics.median(values[-quarter:])

        early, late = middles(sizes)
        growth = late - early
        print(f"{number} rounds in {SECONDS:.0f} s: {sizes[quarter] / 2**20:.1f} MiB after a quarter, "
              f"{sizes[-1] / 2**20:.1f} at the end, {growth / 2**20:+.2f} between the medians")
        self.assertLess(growth, MOST_GROWTH)
        for name, counts in zip(("open files", "threads"), zip(*things)):
            early, late = middles(counts)
            self.assertEqual(late, early, name)


if __name__ == "__main__":
    unittest.main()
