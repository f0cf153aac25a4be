"""What a result of headway.predict holds, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headway.errors import UsageError
from headway.results.display import Brief, Shown
from headway.results.records import Integers, Stored, record


@record("predicted_point", "sets/<name>")
@dataclass(frozen=True, repr=False, eq=False)
class PredictedSet(Brief, Stored):
    """What one point predicts on one set of inputs.

    Attributes
    ----------
    right_sign_probability : ndarray of shape (example,), or None
        Probability that f has the sign of its mean; of two classes alone.
    predicted_class : ndarray of int, shape (example,), or None
        Of two classes the sign of the mean: -1 and +1, also if the labels were 0 and 1. Of more the largest output, counted
        from 0. Where targets are real numbers there is neither; older files have both.
    """

    mean: np.ndarray
    sd: np.ndarray
    right_sign_probability: np.ndarray | None
    predicted_class: Integers | None


@record("predicted_point")
@dataclass(frozen=True, repr=False, eq=False)
class PredictedPoint(Brief, Stored):
    """What one sweep point predicts.

    Attributes
    ----------
    sets : mapping of str to PredictedSet
        By name; arrays in memory are the set "inputs".
    """

    widths: tuple[int, ...]
    temperature: float
    method: str
    draws: int
    sets: Mapping[str, PredictedSet]

    @property
    def mean(self) -> np.ndarray:
        """ndarray: the mean on the only set."""
        return self._only.mean

    @property
    def sd(self) -> np.ndarray:
        """ndarray: the standard deviation on the only set."""
        return self._only.sd

    @property
    def right_sign_probability(self) -> np.ndarray | None:
        """ndarray or None: the probability of the sign of the mean on the only set; None for real targets."""
        return self._only.right_sign_probability

    @property
    def predicted_class(self) -> np.ndarray | None:
        """ndarray or None: the predicted class on the only set, of two classes -1 or +1; None for real targets."""
        return self._only.predicted_class

    @property
    def _only(self) -> PredictedSet:
        if len(self.sets) != 1:
            raise UsageError(f"sets: has {', '.join(self.sets)}; allowed: one set, or a name as in point.sets[name]")
        return next(iter(self.sets.values()))


@record()
@dataclass(frozen=True, repr=False, eq=False)
class PredictResult(Shown):
    """A result of `headway.predict`, or of the program's verb.

    Attributes
    ----------
    file : Path
        The file that it was read from; of a result in memory the name of the verb.
    study : str
        The name of the study.
    task : str
        "": predictions need none.
    points : tuple of PredictedPoint
        One for each point of the result that predicts.
    predicted_from : str
        The result that predicts.
    inputs : str
        The data set of the inputs.
    provenance : mapping of str to value
        What made it: study, seed, command, version, commit, machine, hashes.
    partial : bool
        Interrupted: only the points that were finished are there.
    kind : str
        "predict".
    train_labels : None
        These results have none; figures ask every result.
    """

    file: Path
    study: str
    task: str
    points: tuple[PredictedPoint, ...]
    predicted_from: str = ""
    inputs: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    kind: str = "predict"
    train_labels: None = None

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        count = len(self.points)
        sets = {name: len(one.mean) for name, one in self.points[0].sets.items()} if count else {}
        return (f"{self.study}, {count} point{'' if count == 1 else 's'}, "
                + ", ".join(f"{size} examples of {name}" for name, size in sets.items()))
