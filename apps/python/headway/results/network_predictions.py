"""What a result of headway.predict of trained networks holds, and how it is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np

from headway.base import hdf5, memory
from headway.errors import UsageError
from headway.results.display import Brief
from headway.results.fields import FIELDS, plain, record
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
    predicted_class: np.ndarray | None = None
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


def read_network_predictions(file: h5py.File | memory.Group, path: Path) -> NetworkPredictResult:
    """A result of the verb on trained networks from its open file."""
    runs = tuple(PredictingRun(
        run=int(group.attrs["run"]), label=hdf5.text(group.attrs["label"]), variant=hdf5.text(group.attrs["variant"]),
        seed=int(group.attrs["seed"]), step=int(group.attrs["step"]), sets=_sets(group))
        for group in hdf5.numbered(file, "runs"))
    groups = tuple(PredictingGroup(
        label=hdf5.text(group.attrs["label"]), seeds=tuple(int(seed) for seed in np.atleast_1d(group.attrs["seeds"])),
        sets=_sets(group)) for group in hdf5.numbered(file, "groups")) if "groups" in file else ()
    return NetworkPredictResult(
        file=path, study=hdf5.text(file.attrs.get("study", path.stem)), task=hdf5.text(file.attrs.get("task", "")),
        runs=runs, groups=groups, predicted_from=hdf5.text(file.attrs.get("predicted_from", "")),
        inputs=hdf5.text(file.attrs.get("inputs", "")),
        provenance={name: plain(file.attrs[name]) for name in ("study", *FIELDS["provenance"]) if name in file.attrs},
        partial=bool(file.attrs.get("partial", 0)))


def _sets(group: h5py.Group | memory.Group) -> dict[str, NetworkAnswers]:
    return {name: _answers(one) for name, one in group["sets"].items()} if "sets" in group else {}


def _answers(group: h5py.Group | memory.Group) -> NetworkAnswers:
    arrays = {name: group[name][()] for name in
              ("mean", "sd", "right_sign_probability", "predicted_class", "bits", "next", "next_sd") if name in group}
    if "predicted_class" in arrays:
        arrays["predicted_class"] = arrays["predicted_class"].astype(int)
    numbers = {name: float(group.attrs[name]) for name in ("bits_per_byte", "bits_per_byte_sd") if name in group.attrs}
    likeliest = group.get("likeliest")
    tokens = () if likeliest is None else tuple(
        LikelyToken(int(token), text, float(probability)) for token, text, probability in
        zip(likeliest["token"][()], hdf5.texts(likeliest["text"]), likeliest["probability"][()]))
    return NetworkAnswers(**arrays, **numbers, likeliest=tokens)
