"""What a result of `headway train` holds, as plain objects of numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from headway.base import hdf5
from headway.errors import BadDataError
from headway.results.display import Brief
from headway.results.reading import Group, Sizes, attribute
from headway.results.records import Numbers, record
from headway.results.runs import Runs

# The program's order: of one of the first three, else the first that an evaluation has. That is r2_pooled.
MAIN_METRICS = ("r2", "bits_per_byte", "accuracy", "r2_pooled")


@record()
@dataclass(frozen=True, repr=False, eq=False)
class Curve(Brief):
    """What was recorded on one split during training.

    Attributes
    ----------
    columns : mapping of str to ndarray of shape (records,)
        step, loss and the metrics of the task.
    """

    columns: Mapping[str, np.ndarray]

    @classmethod
    def _of_group(cls, table: Group, sizes: Sizes) -> Curve:
        columns = hdf5.text(table.attrs.get("columns", "")).split(",")
        if not isinstance(table, hdf5.ARRAYS) or table.ndim != 2 or table.shape[1] != len(columns) or "step" not in columns:
            raise BadDataError(f"{table.name}: is not a table of the columns {columns}")
        values = np.asarray(table[()], dtype=float)
        return cls({name: values[:, at] for at, name in enumerate(columns)})

    @property
    def steps(self) -> np.ndarray:
        """ndarray of shape (records,): the steps at which it was recorded."""
        return self.columns["step"]

    @property
    def main_metric(self) -> str:
        """str: r2, bits_per_byte, accuracy or r2_pooled, the first that is there; else "loss"."""
        return shared_metric([self.columns]) or "loss"


@record("run", lists=True, ceilings="ceiling")
@dataclass(frozen=True, repr=False, eq=False)
class TrainedRun(Brief, Numbers):
    """One network that was trained.

    Attributes
    ----------
    attributes : mapping of str to value
        All numbers and words of the file by their names.
    settings : mapping of str to str
        What the sweep set for this run, by dotted key.
    curves : mapping of str to Curve
        By split, what was recorded during training.
    final : mapping of str to mapping
        By split, loss and metrics at the end.
    weights : mapping of str to ndarray
        The weights after the last step.
    best_weights : mapping of str to ndarray
        The weights of the best checkpoint.
    tokenizer : bytes or None
        Of texts of byte-pair tokens: the SentencePiece model, as its model_proto takes it.
    ceilings : mapping of str to mapping
        By split, what the examples allow at best (sraven).
    """

    label: str
    seed: int
    attributes: Mapping[str, Any]
    settings: Mapping[str, str]
    curves: Mapping[str, Curve]
    final: Mapping[str, Mapping[str, float]]
    weights: Mapping[str, np.ndarray]
    best_weights: Mapping[str, np.ndarray]
    tokenizer: bytes | None = None
    ceilings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @classmethod
    def _view(cls, group: Group, sizes: Sizes) -> tuple[Group, Sizes]:
        for name in ("parameters", "flops_per_step"):
            attribute(group, name)
        return group, sizes

    @property
    def is_finished(self) -> bool:
        """bool: trained to its end, neither interrupted nor diverged."""
        return self.outcome == "finished"


@record()
@dataclass(frozen=True, repr=False, eq=False)
class TrainingResult(Runs[TrainedRun]):
    """A result of `headway.train`, or of the program's verb.

    Attributes
    ----------
    runs : tuple of TrainedRun
        The networks.

    Examples
    --------
    >>> result = headway.read_result("small.h5")  # doctest: +SKIP
    >>> [run.final["held_out"]["r2"] for run in result.runs_of("softmax")]  # doctest: +SKIP
    """

    runs: tuple[TrainedRun, ...]
    kind: str = "train"

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        count = len(self.runs)
        return (f"{self.study}, {self.task}, {count} run{'' if count == 1 else 's'} of "
                f"{', '.join(self.labels) or 'no variant'}{', partial' if self.partial else ''}")

    @property
    def finished(self) -> TrainingResult:
        """TrainingResult: the same with only the runs that were trained to their end."""
        return replace(self, runs=tuple(run for run in self.runs if run.is_finished))

    @property
    def splits(self) -> tuple[str, ...]:
        """tuple of str: the splits that were evaluated, in the order of the task."""
        return tuple(dict.fromkeys(split for run in self.runs for split in run.curves
                                   if split != "train"))


def shared_metric(evaluations: Sequence[Collection[str]]) -> str | None:
    """The first main metric that all of these have; "loss" where none has one. None where they have different ones: then their
    losses are different quantities, too."""
    return next((name for name in MAIN_METRICS if all(name in names for names in evaluations)),
                None if any(name in names for names in evaluations for name in MAIN_METRICS) else "loss")


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the first axis; the error is NaN for one run."""
    values = np.asarray(values, dtype=float)
    count = values.shape[0]
    error = (values.std(axis=0, ddof=1) / math.sqrt(count) if count > 1
             else np.full(values.shape[1:], math.nan))
    return values.mean(axis=0), error
