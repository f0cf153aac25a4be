"""Reading of results of `headway latents` and `headway evaluate`."""

from __future__ import annotations

import math
from typing import Any

import h5py
import numpy as np

from headway import hdf5
from headway.errors import BadDataError
from headway.latent_results import (SPLITS, CodeLabels, Decoder, EvaluatedRun, LatentLayer, LatentRun,
                                    Similarity)


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
