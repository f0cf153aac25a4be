"""Progress on a terminal: a bar, the share and the time left of the whole study, in one line of its width."""

import os
import re
import unittest

from support import ProgramTest, on_terminal, run, write_path_features
from train_support import TrainTest, needs_training

BAR = re.compile(r"\[#* *\] \d+ %")


def lines_of(text):
    """All lines that were shown: those that replaced each other in place, and those that stayed."""
    return [line for line in text.replace("\r\x1b[K", "\n").splitlines() if line]


class Progress(ProgramTest):
    def check_lines(self, columns, stage, *arguments):
        lines = lines_of(on_terminal(columns, *arguments))
        bars = [line for line in lines if BAR.search(line)]
        self.assertTrue(any(line.startswith(stage + " [") for line in bars), lines)
        self.assertEqual([line for line in bars if len(line) >= columns], [])
        return bars

    def test_a_sweep_of_the_theory_tells_the_time_left(self):
        for columns in (80, 60):
            bars = self.check_lines(columns, "solve", "solve", "hmm-four-paths", "--threads", "1", "--set",
                                    "model.widths=[10,20,50,100]", "--set", "model.temperature=[0.01,0.02,0.05,0.1]")
            self.assertTrue(any(" left" in line for line in bars), bars)

    def test_a_dumb_terminal_gets_plain_lines(self):
        """As the shell in Emacs is one, which shows the letters of ESC [ K. So does a terminal without a name."""
        arguments = ("sample", "hmm-four-paths", "--set", "model.widths=[10]", "--set", "sample.draws=300", "-v")
        for kind in ("dumb", ""):
            text = on_terminal(80, *arguments, TERM=kind)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\r", text)
            self.assertIn("headway: ", text)

    def test_samples_of_a_sweep_have_one_rising_share(self):
        data = self.path("data.h5")
        write_path_features(data)
        for columns in (80, 60):
            bars = self.check_lines(columns, "sampling", "sample", data, "--threads", "1", "--set", "model.widths=[10,20]",
                                    "--set", "sample.draws=8000", "--set", "sample.chains=2", "--set", "sample.predictor_draws=10")
            shares = [int(re.search(r"(\d+) %", line)[1]) for line in bars if line.startswith("sampling [")]
            self.assertEqual(shares, sorted(shares))  # of both points together
            self.assertTrue(any(share > 50 for share in shares), shares)

    def test_plain_lines_have_no_bar(self):
        text = run("solve", "hmm-four-paths", "--threads", "1").stderr
        self.assertNotRegex(text, BAR)


@needs_training
class Training(TrainTest):
    def test_the_share_is_of_the_whole_study(self):
        sweep = ("--set", "sweep.seed=[1, 2, 3]", "--set", "train.steps=1600", "--jobs", "1")
        for columns in (80, 60):
            text = on_terminal(columns, "train", self.tiny, *sweep)
            bars = [line for line in lines_of(text) if BAR.search(line)]
            self.assertEqual([line for line in bars if len(line) >= columns], [])
            shares = [int(re.match(r"train \[#* *\] (\d+) %", line)[1]) for line in bars]
            self.assertEqual(shares, sorted(shares))
            first = [share for share, line in zip(shares, bars) if "run 1 of 3" in line]
            last = [share for share, line in zip(shares, bars) if "run 3 of 3" in line]
            self.assertTrue(first and last, bars)
            self.assertLessEqual(max(first), 34)
            self.assertGreaterEqual(min(last), 66)
            self.assertTrue(any(" left" in line for line in bars), bars)
        self.assertFalse(os.path.exists(self.path("a.h5")))

    def test_a_part_numbers_its_runs_as_the_sweep_does(self):
        text = on_terminal(80, "train", self.tiny, "--set", "sweep.seed=[1, 2, 3, 4]", "--set", "train.steps=1600",
                           "--shard", "1/2", "--jobs", "1")
        bars = [line for line in lines_of(text) if BAR.search(line)]
        self.assertEqual({match[0] for match in map(re.compile(r"run \d of \d").search, bars) if match}, {"run 2 of 4", "run 4 of 4"})


if __name__ == "__main__":
    unittest.main()
