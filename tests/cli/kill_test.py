"""SIGKILL at random times: the output is what it was or the whole new file, and the same command again ends
with the bits of a run that was never killed.

HEADWAY_KILLS says how many kills of each verb (`make kills KILLS=1000` in all); HEADWAY_KILL_SEED draws the times.
"""

import glob
import os
import random
import signal
import subprocess
import time
import unittest

from support import PROGRAM, STUDIES, ProgramTest, content, run
from train_support import TINY, can_train

KILLS = int(os.environ.get("HEADWAY_KILLS", "3"))
SEED = int(os.environ.get("HEADWAY_KILL_SEED", "1"))
WIDTHS = ["--set", "model.widths=[10,20,40]"]
SAMPLE = [*WIDTHS, "--set", "sample.draws=200", "--set", "sample.warmup=100", "--set", "sample.chains=2",
          "--set", "sample.checkpoint_seconds=0.02"]


class Kills(ProgramTest):
    def setUp(self):
        super().setUp()
        self.times = random.Random(SEED)
        self.output = self.path("out.h5")

    def undisturbed(self, *arguments):
        """The contents of the result, its bytes, and how long it took."""
        began = time.monotonic()
        done = run(*arguments, "-o", self.path("reference.h5"), "-q")
        self.assertIn(done.returncode, (0, 2), done.stderr)
        return content(self.path("reference.h5")), time.monotonic() - began, done.returncode

    def kill(self, seconds, *arguments):
        """Starts the program on the output and kills it. Returns whether it was still running."""
        with subprocess.Popen([PROGRAM, *arguments, "-o", self.output, "-q"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as process:
            time.sleep(seconds)
            running = process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.wait()
        return running

    def check_verb(self, *arguments, replaced=False):
        """`replaced`: an old result stands in the output's place, and --force replaces it."""
        whole, seconds, code = self.undisturbed(*arguments)
        old = None
        if replaced:
            arguments = [*arguments, "--force"]
            self.check(run("solve", self.study, "-o", self.output, "-q"), 0)
            old = content(self.output)
        struck = tried = 0
        while tried < KILLS or (struck == 0 and tried < KILLS + 20):
            # The first run may be the slowest. If all others ended before they were struck, more are, sooner and sooner.
            soon = 1.1 * seconds / (1 + max(0, tried - KILLS + 1))
            struck += self.kill(self.times.uniform(0.0, soon), *arguments)
            tried += 1
            if os.path.exists(self.output):
                found = content(self.output)
                self.assertIn(found, [whole, old] if replaced else [whole])
                if found == whole and not replaced:
                    os.remove(self.output)  # the next begins anew
        if not os.path.exists(self.output) or replaced:
            done = run(*arguments, "-o", self.output, "-q")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(content(self.output), whole)
        # The last process has removed what the killed ones left.
        known = {"small.toml", "tiny.toml", "reference.h5", "out.h5", "part-0.h5", "part-1.h5"}
        left = set(os.listdir(self.directory)) - known
        self.assertEqual(left, set())
        self.assertGreater(struck, 0, "no kill struck a running process")
        print(f"{arguments[0]}: {struck} of {tried} kills struck a running process")

    def test_solve_loses_nothing(self):
        self.check_verb("solve", self.study, *WIDTHS)

    def test_solve_in_place_of_an_old_result_loses_nothing(self):
        self.check_verb("solve", os.path.join(STUDIES, "hmm-four-paths.toml"), "--set",
                        "task.test_examples=50", replaced=True)

    def test_sample_loses_nothing(self):
        self.check_verb("sample", self.study, *SAMPLE)

    @unittest.skipUnless(can_train(), "this build has no LibTorch")
    def test_train_loses_nothing(self):
        self.check_verb("train", self.write("tiny.toml", TINY))

    def test_merge_loses_nothing(self):
        parts = [self.path(f"part-{i}.h5") for i in range(2)]
        for i, part in enumerate(parts):
            self.check(run("sample", self.study, *SAMPLE, "--shard", f"{i}/2", "-o", part, "-q"), 0)
        self.check_verb("merge", *parts)

    def tearDown(self):
        for name in glob.glob(self.path(".headway-*")):
            os.remove(name)


if __name__ == "__main__":
    unittest.main()
