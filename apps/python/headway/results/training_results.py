"""What a result of `headway train` holds, as plain objects of numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import h5py
import numpy as np

from headway.base import hdf5
from headway.errors import BadDataError
from headway.results.display import Brief
from headway.results.fields import Numbers, attributes, record
from headway.results.runs import Runs

MAIN_METRICS = ("r2", "bits_per_byte", "accuracy")


@dataclass(frozen=True, repr=False, eq=False)
class Curve(Brief):
    """What was recorded on one split during training.

    Attributes
    ----------
    columns : mapping of str to ndarray of shape (records,)
        step, loss and the metrics of the task.
    """

    columns: Mapping[str, np.ndarray]

    @property
    def steps(self) -> np.ndarray:
        """ndarray of shape (records,): the steps at which it was recorded."""
        return self.columns["step"]

    @property
    def main_metric(self) -> str:
        """str: r2, bits_per_byte or accuracy, the first that is there; else "loss"."""
        return next((name for name in MAIN_METRICS if name in self.columns), "loss")


@record("run", lists=True)
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


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over the first axis; the error is NaN for one run."""
    values = np.asarray(values, dtype=float)
    count = values.shape[0]
    error = (values.std(axis=0, ddof=1) / math.sqrt(count) if count > 1
             else np.full(values.shape[1:], math.nan))
    return values.mean(axis=0), error


def read_runs(file: h5py.File) -> tuple[TrainedRun, ...]:
    """The groups runs/0, runs/1, ...; BadDataError names what is missing or malformed."""
    parent = file.get("runs")
    if not isinstance(parent, hdf5.GROUPS):
        raise BadDataError("/runs: is missing")
    keys = sorted((key for key in parent if key.isdigit()), key=int)
    return tuple(_run(parent[key]) for key in keys)


def _run(group: h5py.Group) -> TrainedRun:
    for name in ("label", "seed", "parameters", "flops_per_step"):
        if name not in group.attrs:
            raise BadDataError(f"{group.name}: attribute {name} is missing")
    words = hdf5.texts(group["settings"]) if "settings" in group else []
    final = group.get("final", {})
    order = [name for name in hdf5.text(group.attrs.get("splits", "")).split(",") if name]
    curves = group.get("curves", {})
    names = sorted(curves, key=lambda name: order.index(name) if name in order else -1)
    return TrainedRun(
        label=hdf5.text(group.attrs["label"]), seed=int(group.attrs["seed"]),
        attributes=attributes(group),
        settings=dict(zip(words[::2], words[1::2])),
        curves={name: _curve(curves[name]) for name in names},
        final={name: _numbers(final[name]) for name in order if name in final},
        ceilings={name: _numbers(item) for name, item in group.get("ceiling", {}).items()},
        weights=_arrays(group.get("weights")), best_weights=_arrays(group.get("best_weights")),
        tokenizer=(np.asarray(group["tokenizer"][()], dtype=np.uint8).tobytes()
                   if "tokenizer" in group else None))


def _numbers(group: h5py.Group) -> dict[str, float]:
    return {key: float(value) for key, value in group.attrs.items()
            if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu"}


def _curve(dataset: h5py.Dataset) -> Curve:
    columns = hdf5.text(dataset.attrs.get("columns", "")).split(",")
    if not isinstance(dataset, hdf5.ARRAYS) or dataset.ndim != 2 \
            or dataset.shape[1] != len(columns) or "step" not in columns:
        raise BadDataError(f"{dataset.name}: is not a table of the columns {columns}")
    values = np.asarray(dataset[()], dtype=float)
    return Curve({name: values[:, i] for i, name in enumerate(columns)})


def _arrays(group: h5py.Group | None) -> dict[str, np.ndarray]:
    return {} if group is None else {name: np.asarray(group[name][()]) for name in group}
