"""What a ranking is made of: numbers of every head on every example, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headway.results.ranking.removal import Change

MODES = ("mean", "zero")  # what a removed head's output is put at
FROZEN = "frozen"  # in place of a mode: the head's part is subtracted, and everything above stays as it is
FROZEN_CUT = "frozen_cut"
AMONG = ("among_cheapest", "among_smallest_cuts")  # columns of removals, and of frozen cuts
READOUTS = ("fixed", "refitted")


def removal_name(mode: str, readout: str) -> str:
    """The name of the column, such as "removal_mean_refitted". A frozen cut is no removal, and no column calls it one."""
    return f"{FROZEN_CUT}_{readout}" if mode == FROZEN else f"removal_{mode}_{readout}"


def expected_name(name: str) -> str:
    """The name of the column with what the readout expects of a removal or a frozen cut."""
    return f"expected_{name.removeprefix('removal_')}"


def among_name(target: str) -> str:
    """The name of the column with the probability to be one of the k smallest."""
    return AMONG[is_frozen(target)]


def is_frozen(target: str) -> bool:
    """Whether a ranking by this column is of frozen cuts."""
    return target.startswith(FROZEN_CUT)


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
