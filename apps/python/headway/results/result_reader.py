"""Reading of result files (schema headway-result 1.x)."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, Union

import h5py
import numpy as np

from headway.base import file_seal, hdf5, memory, stored
from headway.base.later import unread
from headway.base.paths import text_of_path
from headway.base.signatures import with_known_arguments
from headway.errors import BadDataError
from headway.results.fields import FIELDS, plain
from headway.results.latent_reader import read_evaluated_runs, read_latent_runs
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.network_predictions import NetworkPredictResult, read_network_predictions
from headway.results.network_reader import read_network, read_removals, read_scores
from headway.results.network_results import RemovalResult
from headway.results.prediction_results import PredictResult, read_predictions
from headway.results.rank_results import RankResult, read_rankings
from headway.results.record_reader import Group, array, attribute, integers, listed, read, shape_text
from headway.results.result import (ALL_HEADS, Alignment, Corrected, GaussianProcessPoint, Point, Predictor,
                             Pruning, Result, Samples, SetMeasures, TemperatureChoice)
from headway.results.table import cells  # noqa: F401, a result that was read can be shown
from headway.results.training_results import TrainingResult, read_runs

KINDS = ("solve", "align", "prune", "sample", "train", "latents", "evaluate", "network_prune", "predict",
         "network_predict", "rank")
PROVENANCE = ("study", *FIELDS["provenance"])


AnyResult = Union[Result, TrainingResult, LatentsResult, EvaluateResult, RemovalResult, PredictResult,
                  NetworkPredictResult, RankResult]


@with_known_arguments
def read_result(path: str | os.PathLike) -> AnyResult:
    """Read a result file.

    Parameters
    ----------
    path : str or path
        A file that the program `headway` or `result.save` wrote.

    Returns
    -------
    Result, TrainingResult, LatentsResult, EvaluateResult, RemovalResult, PredictResult, NetworkPredictResult or RankResult
        A Result of solve, align, prune and sample; else that of train, of latents, of evaluate, of
        prune_network, of predict, of predict with trained networks, or of rank.

    Raises
    ------
    UsageError
        It is no path.
    UnreadableFileError
        The file is missing, or may not be read.
    BadDataError
        It is not HDF5, not a result, of a newer major version, or damaged. The message names file and
        part.

    Examples
    --------
    >>> import headway
    >>> path = headway.solve("hmm-four-paths", widths=[10]).save("four.h5", overwrite=True)
    >>> headway.read_result(path).points[0].widths
    (10, 10, 10)
    """
    path = text_of_path("path", path, "the path of a result file; result.save(path) writes a result in memory to one")
    with hdf5.open_file(path) as file:
        hdf5.check_schema(file, "headway-result")
        if not file_seal.is_sealed(path):  # the seal, which open_file has looked at, is that of all texts, too
            hdf5.check_texts(file)
        return _read(file, Path(path))


def _read(file: h5py.File | memory.Group, path: Path) -> AnyResult:
    make = _OF_NETWORKS.get(hdf5.text(file.attrs.get("kind", "")))
    if make is not None:
        return make(file, path)
    return _Reader(file if isinstance(file, memory.Group) else stored.Group("/", file.id)).result(path)


def result_of(done: Any, data: Any, name: str) -> AnyResult:
    """The result of a computation of the extension module, as read_result would read it from a file;
    `data`: the arrays that it was made from, if any."""
    def read() -> AnyResult:
        result = _read(memory.Group("/", done.tree()), Path(name))
        if data is not None:
            vars(result)["provenance"] = Provenance(result.provenance, data)
        return result

    result = read() if done.kind in _OF_NETWORKS else unread(Result, read)
    vars(result).update(_computation=done, _data=data)
    return result


class Provenance(Mapping):
    """How to remake a result of arrays. Their hash is computed when it is asked for."""

    def __init__(self, known: Mapping[str, Any], data: Any):
        self._known, self._data = known, data

    def __getitem__(self, name: str) -> Any:
        return self._data.content_hash if name == "data_hash" else self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __reduce__(self) -> tuple:
        return dict, (dict(self),)


def provenance_of(file: h5py.File) -> dict[str, Any]:
    return {name: plain(file.attrs[name]) for name in PROVENANCE if name in file.attrs}


def kind_of(path: str | os.PathLike) -> str:
    """The verb that made a result file, as its attribute `kind` has it; "" for anything else."""
    if not os.path.isfile(path) or not h5py.is_hdf5(path):
        return ""
    with hdf5.open_file(path) as file:
        return hdf5.text(file.attrs.get("kind", ""))


def _common(file: h5py.File, path: Path) -> dict[str, Any]:
    """What every result of networks has."""
    return {"file": path, "study": hdf5.text(file.attrs.get("study", path.stem)),
            "task": hdf5.text(file.attrs.get("task", "")), "provenance": provenance_of(file),
            "partial": bool(file.attrs.get("partial", 0))}


_OF_NETWORKS = {
    "train": lambda file, path: TrainingResult(runs=read_runs(file), **_common(file, path)),
    "latents": lambda file, path: LatentsResult(runs=read_latent_runs(file),
                                                **_common(file, path)),
    "network_prune": lambda file, path: RemovalResult(runs=read_removals(file),
                                                      **_common(file, path)),
    "predict": read_predictions,
    "network_predict": read_network_predictions,
    "rank": read_rankings,
    "evaluate": lambda file, path: EvaluateResult(
        runs=read_evaluated_runs(file), evaluated_on=hdf5.text(file.attrs.get("evaluated_on", "")),
        **_common(file, path))}


class _Reader:
    """Walks one open result file; every fault names the group or data set."""

    def __init__(self, file: Group):
        self.file = file
        self.heads = integers(file, "heads")
        if any(count < 1 for count in self.heads):
            raise BadDataError(f"attribute heads is {list(self.heads)}; each must be at least 1")
        self.layers = len(self.heads)
        self.outputs = int(file.attrs.get("outputs", 1))
        self.set_names = tuple(hdf5.texts(file["sets"])) if "sets" in file else ()
        self.joined = bool(file.attrs.get("joined_heads", 0))  # one readout for all heads
        self.sizes = {"path": [self.outputs * (1 if self.joined else math.prod(self.heads[layer:])) for layer in range(self.layers)]}

    def result(self, path: Path) -> Result:
        file = self.file
        kind = hdf5.text(attribute(file, "kind"))
        if kind not in KINDS:
            raise BadDataError(f"attribute kind is \"{kind}\"; known: {', '.join(KINDS)}")
        points = tuple(self._point(group) for group in self._numbered("points"))
        limits = tuple(read(GaussianProcessPoint, group, sets=self._sets(group))
                       for group in self._numbered("gaussian_process"))
        return Result(
            file=path, kind=kind, study=hdf5.text(file.attrs.get("study", path.stem)),
            heads=self.heads, paths=self._paths(), head_names=self._head_names(),
            variances=tuple(np.atleast_1d(file.attrs.get("variances", [])).astype(float)),
            outputs=self.outputs, points=points,
            gaussian_process=limits,
            provenance=provenance_of(file),
            partial=bool(file.attrs.get("partial", 0)),
            train_labels=array(file, "labels/train"), test_labels=array(file, "labels/test"),
            path_kernels=self._path_kernels(), set_names=self.set_names,
            choices=tuple(self._choice(group, points, limits)
                          for group in self._numbered("chosen")),
            network=read_network(file.get("network"), sum(self.heads), self.sizes["path"][0]))

    def _numbered(self, name: str) -> list[Group]:
        """Groups <name>/0, <name>/1, ... in order of their numbers."""
        return hdf5.numbered(self.file, name) if name in self.file else []

    def _paths(self) -> tuple[str, ...]:
        if self.joined:
            return ALL_HEADS
        count = math.prod(self.heads)
        if "paths" in self.file:
            names = tuple(hdf5.texts(self.file["paths"]))
            if len(names) != count:
                raise BadDataError(f"/paths: has {len(names)} names, not {count}")
            return names
        indices = product(*(range(1, heads + 1) for heads in self.heads))
        return tuple("(" + ",".join(map(str, heads)) + ")" for heads in indices)

    def _head_names(self) -> tuple[tuple[str, ...], ...]:
        names = []
        for layer, count in enumerate(self.heads, 1):
            item = self.file.get(f"names/layer_{layer}")
            known = tuple(hdf5.texts(item)) if item is not None else ()
            if item is not None and len(known) != count:
                raise BadDataError(f"{item.name}: has {len(known)} names, not {count}")
            names.append(known or tuple(f"head {head}" for head in range(1, count + 1)))
        return tuple(names)

    def _path_kernels(self) -> np.ndarray | None:
        kernels = array(self.file, "path_kernels")
        if kernels is None:
            return None
        paths = len(self._paths())
        if kernels.ndim != 3 or len(kernels) != paths or kernels.shape[1] != kernels.shape[2]:
            raise BadDataError(f"/path_kernels: has shape {shape_text(kernels.shape)}, not [p, P, P] with p = {paths}")
        return kernels

    def _sets(self, group: Group) -> dict[str, SetMeasures]:
        """The further sets at a point, in the order of the data set."""
        found = {name: group.get(f"sets/{name}") for name in self.set_names}
        return {name: read(SetMeasures, item) for name, item in found.items() if item is not None}

    def _choice(self, group: Group, points: tuple[Point, ...],
                limits: tuple[GaussianProcessPoint, ...]) -> TemperatureChoice:
        theory, index = hdf5.text(attribute(group, "model")) == "theory", int(attribute(group, "point"))
        chosen = points if theory else limits
        if not 0 <= index < len(chosen):
            raise BadDataError(f"{group.name}: attribute point is {index}; there are {len(chosen)}")
        return read(TemperatureChoice, group, widths=integers(group, "widths") if theory else (), chosen=chosen[index])

    def _point(self, group: Group) -> Point:
        widths = integers(group, "widths")
        if len(widths) != self.layers + 1:
            raise BadDataError(f"{group.name}: attribute widths has {len(widths)} entries, "
                               f"not L + 1 = {self.layers + 1}")
        history, columns = group.get("history"), ()
        if history is not None:
            columns = tuple(hdf5.text(history.attrs.get(
                "columns", "iteration,action,gradient_norm,step_norm")).split(","))
        corrected, alignment = group.get("corrected"), group.get("alignment")
        return read(
            Point, group, self.sizes, history_columns=columns, sets=self._sets(group),
            predictor=_predictor(group, "predictor"), gaussian_process=_predictor(group, "gaussian_process"),
            corrected=None if corrected is None else read(
                Corrected, corrected, self.sizes, predictor=_predictor(corrected, "predictor"), sets=self._sets(corrected),
                defined=bool(corrected.attrs.get("defined", 0)), reason=hdf5.text(corrected.attrs.get("reason", ""))),
            alignment=None if alignment is None else Alignment(listed(alignment, "alignment")),
            pruning=self._pruning(group.get("pruning")), samples=self._samples(group),
            network=read_scores(group.get("network/scores"), sum(self.heads)),
            theory=self._point(group["theory"]) if "theory" in group else None)

    def _pruning(self, group: Group | None) -> Pruning | None:
        if group is None:
            return None
        found = listed(group, "pruning")
        lengths = {name: len(values) for name, values in found.items()
                   if "/" not in name and np.ndim(values) > 0}
        if set(lengths.values()) != {sum(self.heads)}:
            raise BadDataError(f"{group.name}: expected one entry for each of the "
                               f"{sum(self.heads)} heads, found {lengths}")
        return Pruning(found)

    def _samples(self, group: Group) -> Samples | None:
        if "U_a_mean" not in group:
            return None
        about = Samples.stored["draws"][1]
        draws = {layer: array(group, f"draws/layer_{layer}", about, {"path": size, "path_other": size})
                 for layer, size in enumerate(self.sizes["path"], 1) if f"draws/layer_{layer}" in group}
        return read(Samples, group, self.sizes, draws=draws,
                    log_density=None if "energies" not in group else array(group, "energies").T)


def _predictor(group: Group, name: str) -> Predictor:
    return read(Predictor, group[name]) if name in group else Predictor()
