"""Reading of results of `headway latents` and `headway evaluate`."""

from __future__ import annotations

from typing import Any

import h5py
import numpy as np

from headway.base import hdf5
from headway.errors import BadDataError
from headway.results.latent_results import (SPLITS, CodeLabels, Decoder, EvaluatedRun, LatentLayer, LatentRun,
                                    Similarity)
from headway.results.record_reader import array, read


def read_latent_runs(file: h5py.File) -> tuple[LatentRun, ...]:
    """The groups runs/0, runs/1, ...; BadDataError names what is missing or malformed."""
    return tuple(_latent_run(group) for group in hdf5.numbered(file, "runs"))


def read_evaluated_runs(file: h5py.File) -> tuple[EvaluatedRun, ...]:
    return tuple(_evaluated_run(group) for group in hdf5.numbered(file, "runs"))


def _latent_run(group: h5py.Group) -> LatentRun:
    run = read(LatentRun, group, labels={split: _labels(group, split) for split in SPLITS},
               layers=tuple(_layer(item) for item in hdf5.numbered(group, "layers")),
               all_layers=_layer(_folder(group, "all_layers")))
    for layer in run.layers:
        for split, codes in layer.codes.items():
            if codes.ndim != 2 or len(codes) != len(run.labels[split].task):
                raise BadDataError(f"{group.name}: the codes of {layer.name}, {split}, are not one "
                                   "for each label")
    return run


def _folder(group: h5py.Group, name: str) -> h5py.Group:
    found = group.get(name)
    if not isinstance(found, hdf5.GROUPS):
        raise BadDataError(f"{group.name}/{name}: is missing")
    return found


def _check_rows(group: h5py.Group, found: Any, rows: int) -> None:
    """BadDataError unless every array has this many rows."""
    for name in type(found).stored:
        values = getattr(found, name)
        if isinstance(values, np.ndarray) and (values.ndim == 0 or len(values) != rows):
            raise BadDataError(f"{group.name}/{name}: has {len(np.atleast_1d(values))} rows, not {rows}")


def _labels(run: h5py.Group, split: str) -> CodeLabels:
    group = _folder(run, f"labels/{split}")
    found = read(CodeLabels, group)
    _check_rows(group, found, len(found.task))
    return found


def _layer(group: h5py.Group) -> LatentLayer:
    place = _folder(group, "similarity")
    similarity = read(Similarity, place)
    _check_rows(place, similarity, len(similarity.labels))
    return read(LatentLayer, group, similarity=similarity,
                decoders=tuple(_decoder(item) for item in hdf5.numbered(group, "decoders")),
                codes={split: array(group, f"codes/{split}") for split in SPLITS if f"codes/{split}" in group})


def _decoder(group: h5py.Group) -> Decoder:
    scores = {name: float(value) for name, value in group.attrs.items()
              if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu"}
    for name in ("train", "held_out", "chance", "standard_error"):
        if name not in scores:
            raise BadDataError(f"{group.name}: attribute {name} is missing")
    return read(Decoder, group, scores=scores)


def _evaluated_run(group: h5py.Group) -> EvaluatedRun:
    return read(EvaluatedRun, group, evaluations={
        split: {name: float(value) for name, value in item.attrs.items() if np.asarray(value).dtype.kind in "fiu"}
        for split, item in group.get("evaluations", {}).items()})
