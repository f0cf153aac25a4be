"""What a readout loses with each head, from embeddings with and without it: fixed or fitted again, with errors.

Every number is of examples that the readout did not see: each is left out in turn (headway.results.ranking.readouts).

The mean over examples has an error of two parts. The examples are few, and the readout was fitted to few. Let d_i be
the rise of example i, left out, and d_ik the same with k left out, too. The first part is the variance of d_i over P. The
second is what a pair does that neither example does alone: with c_ik = d_i - d_ik, less its means over i and over k,

    V = sum_i (d_i - d)^2 / P (P - 1) + sum_ik c_ik^2 / P^2

Without the second part the errors of a refitted readout are too small by a half or more where P is about N.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.results.ranking.readouts import fit_readout, squared_errors

MOST_PAIRS = 30_000  # pairs of examples for each head; if there are more, some are drawn


@dataclass(frozen=True)
class Change:
    """What the removal of one head changes, or of several, in rows.

    rises: [.., P], the rise of every example. pairs: [.., pairs], c_ik / P. shift: [..], the mean square change of the
    left-out answers. belief, belief_error: [..], the mean rise if labels were what the readout expects (Whole), and its
    standard error over examples.
    """

    rises: np.ndarray
    pairs: np.ndarray
    shift: np.ndarray
    belief: np.ndarray
    belief_error: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        return self.rises.mean(-1)

    @property
    def covariance(self) -> np.ndarray:
        """[H, H]: the covariance V of the mean rises of H heads.

        Few examples tell little about the correlations in the first part of V. So they are multiplied by P / (P + H).
        """
        heads, count = self.rises.shape
        found = np.cov(self.rises, ddof=1).reshape(heads, heads) / count
        return (np.where(np.eye(heads, dtype=bool), found, found * count / (count + heads))
                + self.pairs.astype(float) @ self.pairs.T.astype(float))

    @property
    def error(self) -> np.ndarray:
        return np.sqrt(self.rises.var(-1, ddof=1) / self.rises.shape[-1] + np.square(self.pairs.astype(float)).sum(-1))


CHANGE_FIELDS = tuple(Change.__dataclass_fields__)


def stacked(changes: list[Change]) -> Change:
    """Rows of heads from those of each."""
    return Change(*(np.stack([getattr(change, name) for change in changes]) for name in CHANGE_FIELDS))


class Whole:
    """The readout of the whole network, fitted to embeddings [P, N] and labels [P, C], and what removals are held against.

    Most of the noise of a measured rise is that of the labels. Without it one can ask what the rise would be if the labels
    were those that the readout expects: its own left-out answers f, times the factor that makes them right on average,
    factor = sum f y / sum f^2, both without their means. This factor is above 1 where the penalty has made f too small.
    """

    def __init__(self, embeddings: np.ndarray, y: np.ndarray, penalty: float | None = None, seed: int = 1):
        self.y, self.readout = y, fit_readout(embeddings, y, penalty)
        count = len(y)
        kept = min(count, max(8, MOST_PAIRS // count))
        self.others = np.sort(np.random.default_rng(seed).permutation(count)[:kept])
        self.answers = y - self.readout.missed
        self.factor = _factor(self.answers, y)
        centre = self.answers.mean(0)
        self.expected = y.mean(0) + self.factor * (self.answers - centre)
        self._twice = self.readout.two_left_out(self.others)
        self._errors_of_pairs = np.square(self._twice[0]).mean(2)

    @property
    def errors(self) -> np.ndarray:
        """[P]: squared errors, each example left out."""
        return np.square(self.readout.missed).mean(1)

    def without(self, removed: np.ndarray) -> dict[str, Change]:
        """The changes under both readouts, from the embeddings [P, N] of the same examples without a head.

        "fixed": the readout stays as it is. "refitted": it is fitted to what is left, with the same penalty.
        """
        again = fit_readout(removed, self.y, self.readout.penalty)
        first, second = self._twice
        own = self.readout.pull(removed, np.arange(len(removed))).diagonal()[:, None, None]
        missed = ((self.y - self.readout.answers(removed))[:, None] + own * first
                  + self.readout.pull(removed, self.others)[:, :, None] * second)
        return {"fixed": self._change(self.y - self.readout.answers_left_out(removed), missed),
                "refitted": self._change(again.missed, again.two_left_out(self.others)[0])}

    def _change(self, missed: np.ndarray, missed_by_pairs: np.ndarray) -> Change:
        rises = np.square(missed).mean(1) - self.errors
        pairs = rises[:, None] - (np.square(missed_by_pairs).mean(2) - self._errors_of_pairs)
        pairs = pairs - pairs.mean(0) - pairs.mean(1, keepdims=True) + pairs.mean()
        count = len(rises)
        scale = np.sqrt(count / len(self.others)) / count
        expected = squared_errors(self.y - missed, self.expected) - squared_errors(self.answers, self.expected)
        return Change(rises, (scale * pairs).reshape(-1).astype(np.float32),
                      np.asarray(np.square(missed - self.readout.missed).mean()), *mean_and_error(expected))


FACTOR_SPREAD = 0.3  # how far from 1 the factor is expected


def _factor(answers: np.ndarray, y: np.ndarray) -> float:
    """sum f y / sum f^2, shrunk towards 1: the more, the larger its own error is beside FACTOR_SPREAD."""
    f, y = answers - answers.mean(0), y - y.mean(0)
    size = np.square(f).sum()
    if not size > 0.0:
        return 1.0
    found = float((f * y).sum() / size)
    variance = float(np.square(f * (y - found * f)).sum() / size ** 2)
    return 1.0 + (found - 1.0) * FACTOR_SPREAD ** 2 / (FACTOR_SPREAD ** 2 + variance)


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the examples, the last index."""
    return values.mean(-1), values.std(-1, ddof=1) / np.sqrt(values.shape[-1])
