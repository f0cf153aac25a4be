"""What a ranking is made of: numbers of every head on every example, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headway.ranking.removal import Change

MODES = ("mean", "zero")  # what a removed head's output is put at
FROZEN = "frozen"  # in place of a mode: the head's part is subtracted, and everything above stays as it is
READOUTS = ("fixed", "refitted")


def removal_name(mode: str, readout: str) -> str:
    """The name of the column, such as "removal_mean_refitted"."""
    return f"removal_{mode}_{readout}"


REMOVALS = tuple(removal_name(mode, readout) for mode in MODES for readout in READOUTS)
CUTS = ("cut_without_theory", "cut_of_theory")  # of frozen parts, with U = 1 and with the theory's U


@dataclass(frozen=True)
class Measured:
    """Everything that was measured of H heads on P examples.

    Attributes
    ----------
    layers, heads : tuple of int
        The layer and the number of each head, counted from 1.
    changes : mapping of str to Change
        What each removal (REMOVALS) and each cut (CUTS) changes, a row for each head.
    slopes : ndarray of shape (H, P), optional
        |d loss / d m_h| of every example.
    scores, score_errors : mapping of str to ndarray
        Scores that need no loss, [H], and their standard errors over examples.
    passes : mapping of str to float
        What each column costs, in forward passes of the network over all examples.
    attributes : mapping of str to value
        What holds for all heads: loss, accuracy, penalty, readout, ...
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    changes: Mapping[str, Change]
    slopes: np.ndarray | None = None
    scores: Mapping[str, np.ndarray] = field(default_factory=dict)
    score_errors: Mapping[str, np.ndarray] = field(default_factory=dict)
    passes: Mapping[str, float] = field(default_factory=dict)
    attributes: Mapping[str, object] = field(default_factory=dict)
