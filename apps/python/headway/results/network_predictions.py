"""What a result of headway.predict of trained networks holds, and how it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from headway.errors import UsageError
from headway.results.display import Brief
from headway.results.records import Integers, record
from headway.results.runs import Runs


class LikelyToken(NamedTuple):
    """A token that may follow a text.

    Attributes
    ----------
    token : int
        Its id.
    text : str
        What it stands for; U+FFFD for bytes that are no text by themselves.
    probability : float
        That it follows.
    """

    token: int
    text: str
    probability: float


@record()
@dataclass(frozen=True, repr=False, eq=False)
class NetworkAnswers(Brief):
    """What a trained network, or the mean of several, says on one set of inputs, or on a text.

    Attributes
    ----------
    mean : ndarray of shape (M,), (M, O) or (M, scored, O), or None
        Output of the network on each of the M examples, or the probabilities of classes. Of a group the mean over seeds.
        None for a text.
    sd : ndarray, or None
        Standard deviation of `mean` over seeds, which is not that of a posterior; None for one network.
    right_sign_probability : ndarray of shape (M,), or None
        Share of the networks whose output has the sign of the mean, for several networks and labels -1 and +1.
    predicted_class : ndarray of int, shape (M,) or (M, scored), or None
        Sign of the output, or the likeliest class, counted from 0; None for real labels.
    bits : ndarray of shape (tokens,), or None
        For a text: -log2 of the probability of each token, given those before it in its window; the first is NaN.
    bits_per_byte : float
        For a text: the bits over its bytes; else NaN.
    bits_per_byte_sd : float
        Standard deviation of `bits_per_byte` over seeds; NaN for one network.
    next : ndarray of shape (vocabulary,), or None
        For a text: probability of each token to be the next after its end.
    next_sd : ndarray, or None
        Standard deviation of `next` over seeds.
    likeliest : tuple of LikelyToken
        For a text: the five likeliest next tokens.
    """

    mean: np.ndarray | None = None
    sd: np.ndarray | None = None
    right_sign_probability: np.ndarray | None = None
    predicted_class: Integers | None = None
    bits: np.ndarray | None = None
    bits_per_byte: float = math.nan
    bits_per_byte_sd: float = math.nan
    next: np.ndarray | None = None
    next_sd: np.ndarray | None = None
    likeliest: tuple[LikelyToken, ...] = ()

    @property
    def examples(self) -> int:
        """int: examples of the set; tokens of a text."""
        return len(self.bits if self.mean is None else self.mean)


class _Sets:
    """Short ways to the set of a record that has only one."""

    sets: Mapping[str, NetworkAnswers]

    @property
    def mean(self) -> np.ndarray | None:
        """ndarray or None: the output, or the probabilities, on the only set."""
        return self.only.mean

    @property
    def sd(self) -> np.ndarray | None:
        """ndarray or None: its standard deviation over seeds on the only set."""
        return self.only.sd

    @property
    def predicted_class(self) -> np.ndarray | None:
        """ndarray or None: the predicted class on the only set."""
        return self.only.predicted_class

    @property
    def only(self) -> NetworkAnswers:
        """NetworkAnswers: those to the only set; UsageError where there are several."""
        if len(self.sets) != 1:
            raise UsageError(f"sets: has {', '.join(self.sets)}; allowed: one set, or a name as in group.sets[name]")
        return next(iter(self.sets.values()))


@record("predicting_run")
@dataclass(frozen=True, repr=False, eq=False)
class PredictingRun(_Sets, Brief):
    """What one trained network says.

    Attributes
    ----------
    run : int
        Number of the run in the training study, counted from 1.
    label : str
        The run in short: what the sweep sets, without seed; with `task.seed` if both are swept.
    variant : str
        Attention variant.
    seed : int
        Seed of the run.
    step : int
        Updates of its weights.
    sets : mapping of str to NetworkAnswers
        By name; arrays in memory are the set "inputs", a text is "text".
    """

    run: int
    label: str
    variant: str
    seed: int
    step: int
    sets: Mapping[str, NetworkAnswers]


@record("predicting_group")
@dataclass(frozen=True, repr=False, eq=False)
class PredictingGroup(_Sets, Brief):
    """What the networks say that differ in their seeds alone.

    Attributes
    ----------
    label : str
        The runs in short.
    seeds : tuple of int
        Seeds of the runs.
    sets : mapping of str to NetworkAnswers
        Mean and spread over seeds, by the name of the set.
    """

    label: str
    seeds: tuple[int, ...]
    sets: Mapping[str, NetworkAnswers]


@record()
@dataclass(frozen=True, repr=False, eq=False)
class NetworkPredictResult(Runs[PredictingRun]):
    """A result of `headway.predict` with trained networks, or of the program's verb.

    Attributes
    ----------
    runs : tuple of PredictingRun
        The networks.
    groups : tuple of PredictingGroup
        Mean and spread over the seeds of each label.
    predicted_from : str
        The train result.
    inputs : str
        The data set, or the text, of the inputs.
    """

    runs: tuple[PredictingRun, ...]
    groups: tuple[PredictingGroup, ...] = ()
    predicted_from: str = ""
    inputs: str = ""
    kind: str = "network_predict"

    @property
    def _verb(self) -> str:
        return "predict"

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        count = len(self.runs)
        sets = self.runs[0].sets if count else {}
        return (f"{self.study}, {self.task}, {count} network{'' if count == 1 else 's'} on "
                + ", ".join(f"{one.examples} {'examples' if one.bits is None else 'tokens'} of {name}"
                            for name, one in sets.items()))
