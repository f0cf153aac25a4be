"""What results of `headway latents` and `headway evaluate` hold, as plain objects of numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway import hdf5
from headway.display import Brief, Shown
from headway.errors import BadDataError
from headway.training_settings import task_changes

SPLITS = ("train", "held_out")


@dataclass(frozen=True, repr=False)
class Decoder(Brief):
    """What one decoder read off the codes of one layer; scores by their names in the file."""

    name: str
    kind: str
    metric: str
    scores: Mapping[str, float]

    @property
    def held_out(self) -> float:
        return self.scores["held_out"]

    @property
    def standard_error(self) -> float:
        """Of held_out, over its tasks."""
        return self.scores["standard_error"]


@dataclass(frozen=True, repr=False)
class Similarity(Brief):
    """Mean codes of terms or rules on held-out tasks, [labels, heads], and their cosines."""

    labels: tuple[str, ...]
    cosine: np.ndarray
    centred_cosine: np.ndarray
    mean_codes: np.ndarray
    same_label: float
    different_label: float


@dataclass(frozen=True, repr=False)
class LatentLayer(Brief):
    """One layer, or (layer 0) all together, which keeps no codes of its own."""

    layer: int
    heads: int
    decoders: tuple[Decoder, ...]
    similarity: Similarity
    #: By split, "train" and "held_out": [codes, pairs heads].
    codes: Mapping[str, np.ndarray]

    @property
    def name(self) -> str:
        return f"layer {self.layer}" if self.layer else "all layers"

    def decoder(self, name: str) -> Decoder | None:
        return next((one for one in self.decoders if one.name == name), None)


@dataclass(frozen=True, repr=False)
class CodeLabels(Brief):
    """What the codes of one split are of, in their order."""

    task: np.ndarray
    #: [codes, terms of a task] (fuzzy logic) or [codes, 1] (the rule): numbers of Similarity.labels.
    label: np.ndarray
    answer: np.ndarray
    feature: np.ndarray | None = None


@dataclass(frozen=True, repr=False)
class LatentRun(Brief):
    """One network."""

    label: str
    variant: str
    seed: int
    task: str
    layers: tuple[LatentLayer, ...]
    all_layers: LatentLayer
    labels: Mapping[str, CodeLabels]

    @property
    def every_layer(self) -> tuple[LatentLayer, ...]:
        """The layers one by one, then all together."""
        return (*self.layers, self.all_layers)


@dataclass(frozen=True, repr=False)
class LatentsResult(Shown):
    """A result file of kind "latents"."""

    file: Path
    study: str
    task: str
    runs: tuple[LatentRun, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    kind: str = "latents"
    train_labels: None = None  # figures' head lines ask every result for them

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        return (f"{self.study}, {self.task}, codes of {len(self.runs)} "
                f"network{'' if len(self.runs) == 1 else 's'} ({', '.join(self.labels)})")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the runs, each once, in their order."""
        return tuple(dict.fromkeys(run.label for run in self.runs))

    def runs_of(self, label: str) -> tuple[LatentRun, ...]:
        """The runs that differ in their seeds alone."""
        return tuple(run for run in self.runs if run.label == label)


@dataclass(frozen=True, repr=False)
class EvaluatedRun(Brief):
    """One network: loss, metrics and number of examples of every split."""

    label: str
    variant: str
    seed: int
    evaluations: Mapping[str, Mapping[str, float]]
    run: int = 0  # of the sweep, counted from 1; 0: the file does not say
    evaluated_on: str = ""  # [task] that it was put on, as a study has it; "" in older files


@dataclass(frozen=True, repr=False)
class EvaluateResult(Shown):
    """A result file of kind "evaluate"."""

    file: Path
    study: str
    task: str
    runs: tuple[EvaluatedRun, ...]
    evaluated_on: str = ""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    kind: str = "evaluate"
    train_labels: None = None

    @property
    def summary(self) -> str:
        """What it is, in one line."""
        return (f"{self.study}, {self.task}, {len(self.runs)} "
                f"network{'' if len(self.runs) == 1 else 's'} ({', '.join(self.labels)}) on "
                f"{', '.join(self.splits)}")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(run.label for run in self.runs))

    def runs_of(self, label: str) -> tuple[EvaluatedRun, ...]:
        return tuple(run for run in self.runs if run.label == label)

    def name_of(self, label: str, between: str = ", ") -> str:
        """The label, which tells how its networks were trained, and what of the task that they were put on
        differs from that: "sequence_length = 8, on sequence_length = 32"."""
        changes = next(filter(None, (task_changes(self, run) for run in self.runs_of(label))), "")
        return f"{label}{between}on {changes}" if changes else label

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(split for run in self.runs for split in run.evaluations))


def read_latent_runs(file: h5py.File) -> tuple[LatentRun, ...]:
    """The groups runs/0, runs/1, ...; BadDataError names what is missing or malformed."""
    return tuple(_latent_run(group) for group in hdf5.numbered(file, "runs"))


def read_evaluated_runs(file: h5py.File) -> tuple[EvaluatedRun, ...]:
    return tuple(_evaluated_run(group) for group in hdf5.numbered(file, "runs"))


def _attribute(group: h5py.Group, name: str) -> Any:
    if name not in group.attrs:
        raise BadDataError(f"{group.name}: attribute {name} is missing")
    return group.attrs[name]


def _array(group: h5py.Group, name: str, *, rows: int | None = None) -> np.ndarray:
    item = group.get(name)
    if not isinstance(item, hdf5.ARRAYS) or item.dtype.kind not in "fiub":
        raise BadDataError(f"{group.name}/{name}: is missing or no array of numbers")
    values = np.asarray(item[()])
    if rows is not None and (values.ndim == 0 or len(values) != rows):
        raise BadDataError(f"{item.name}: has {len(np.atleast_1d(values))} rows, not {rows}")
    return values


def _latent_run(group: h5py.Group) -> LatentRun:
    layers = tuple(_layer(item) for item in hdf5.numbered(group, "layers"))
    if not isinstance(group.get("all_layers"), hdf5.GROUPS):
        raise BadDataError(f"{group.name}/all_layers: is missing")
    run = LatentRun(
        label=hdf5.text(_attribute(group, "label")), variant=hdf5.text(_attribute(group, "variant")),
        seed=int(_attribute(group, "seed")), task=hdf5.text(_attribute(group, "task")),
        layers=layers, all_layers=_layer(group["all_layers"]),
        labels={split: _labels(group, split) for split in SPLITS})
    for layer in layers:
        for split, codes in layer.codes.items():
            if codes.ndim != 2 or len(codes) != len(run.labels[split].task):
                raise BadDataError(f"{group.name}: the codes of {layer.name}, {split}, are not one "
                                   "for each label")
    return run


def _labels(run: h5py.Group, split: str) -> CodeLabels:
    group = run.get(f"labels/{split}")
    if not isinstance(group, hdf5.GROUPS):
        raise BadDataError(f"{run.name}/labels/{split}: is missing")
    task = _array(group, "task").astype(int)
    return CodeLabels(
        task=task, label=_array(group, "label", rows=len(task)).astype(int),
        answer=_array(group, "answer", rows=len(task)).astype(float),
        feature=(_array(group, "feature", rows=len(task)).astype(int) if "feature" in group
                 else None))


def _layer(group: h5py.Group) -> LatentLayer:
    similarity = group.get("similarity")
    if not isinstance(similarity, hdf5.GROUPS) or "labels" not in similarity:
        raise BadDataError(f"{group.name}/similarity: is missing")
    labels = tuple(hdf5.texts(similarity["labels"]))
    return LatentLayer(
        layer=int(_attribute(group, "layer")), heads=int(_attribute(group, "heads")),
        decoders=tuple(_decoder(item) for item in hdf5.numbered(group, "decoders")),
        similarity=Similarity(
            labels=labels, cosine=_array(similarity, "cosine", rows=len(labels)),
            centred_cosine=_array(similarity, "centred_cosine", rows=len(labels)),
            mean_codes=_array(similarity, "mean_codes", rows=len(labels)),
            same_label=float(similarity.attrs.get("same_label", math.nan)),
            different_label=float(similarity.attrs.get("different_label", math.nan))),
        codes={split: _array(group["codes"], split) for split in SPLITS if f"codes/{split}" in group})


def _decoder(group: h5py.Group) -> Decoder:
    scores = {name: float(value) for name, value in group.attrs.items()
              if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu"}
    for name in ("train", "held_out", "chance", "standard_error"):
        if name not in scores:
            raise BadDataError(f"{group.name}: attribute {name} is missing")
    return Decoder(name=hdf5.text(_attribute(group, "name")), kind=hdf5.text(_attribute(group, "kind")),
                   metric=hdf5.text(_attribute(group, "metric")), scores=scores)


def _evaluated_run(group: h5py.Group) -> EvaluatedRun:
    evaluations = group.get("evaluations", {})
    return EvaluatedRun(
        label=hdf5.text(_attribute(group, "label")), variant=hdf5.text(_attribute(group, "variant")),
        seed=int(_attribute(group, "seed")), run=int(group.attrs.get("run", 0)),
        evaluated_on=hdf5.text(group.attrs.get("evaluated_on", "")),
        evaluations={split: {name: float(value) for name, value in item.attrs.items()
                             if np.asarray(value).dtype.kind in "fiu"}
                     for split, item in evaluations.items()})
