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
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.network_predictions import NetworkPredictResult
from headway.results.network_results import RemovalResult
from headway.results.older import Renamed
from headway.results.prediction_results import PredictResult
from headway.results.rank_results import RankResult, ranking_of
from headway.results.reading import Group, Sizes, array, attribute, integers, plain, read, shape_text
from headway.results.result import ALL_HEADS, Result, TemperatureChoice
from headway.results.table import cells  # noqa: F401, a result that was read can be shown
from headway.results.training_results import TrainingResult

_OF_NETWORKS = {"train": TrainingResult, "latents": LatentsResult, "evaluate": EvaluateResult, "network_prune": RemovalResult,
                "predict": PredictResult, "network_predict": NetworkPredictResult, "rank": RankResult}
KINDS = ("solve", "align", "prune", "sample", *_OF_NETWORKS)
PROVENANCE = ("study", "study_toml", "study_hash", "data_hash", "headway_version", "git_commit", "compiler", "blas", "machine",
              "gpu", "command", "started", "seed", "threads", "seconds", "partial", "shard")
DOCUMENTATION = "documentation"  #: the group that says what every field means; 0.2 did not write it

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


def _read(file: h5py.File, path: Path) -> AnyResult:
    group = stored.Group("/", file.id)
    return read_members(group if DOCUMENTATION in group else Renamed(group), path)


def read_members(group: Group, path: Path) -> AnyResult:
    """The result in a group, whose members have the names of today."""
    kind = hdf5.text(attribute(group, "kind"))
    if kind not in KINDS:
        raise BadDataError(f"attribute kind is \"{kind}\"; known: {', '.join(KINDS)}")
    about = {"file": path, "study": hdf5.text(group.attrs.get("study", path.stem)), "provenance": provenance_of(group),
             "partial": bool(group.attrs.get("partial", 0))}
    made = _OF_NETWORKS.get(kind)
    if made is None:
        return _of_theory(group, about)
    about |= {"kind": made.kind, "train_labels": None, "task": hdf5.text(group.attrs.get("task", ""))}
    if made is RankResult:
        about["runs"] = tuple(map(ranking_of, hdf5.numbered(group, "runs")))
    return read(made, group, **about)


def result_of(done: Any, data: Any, name: str) -> AnyResult:
    """The result of a computation of the extension module, as read_result would read it from a file;
    `data`: the arrays that it was made from, if any."""
    def read() -> AnyResult:
        result = read_members(memory.Group("/", done.tree()), Path(name))
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


def _of_theory(file: Group, about: Mapping[str, Any]) -> Result:
    heads = integers(file, "heads")
    if any(count < 1 for count in heads):
        raise BadDataError(f"attribute heads is {list(heads)}; each must be at least 1")
    outputs, joined = int(file.attrs.get("outputs", 1)), bool(file.attrs.get("joined_heads", 0))  # joined: one readout for all heads
    paths = ALL_HEADS if joined else _paths(file, heads)
    sizes = Sizes(tuple(outputs * (1 if joined else math.prod(heads[layer:])) for layer in range(len(heads))), sum(heads),
                  tuple(hdf5.texts(file["sets"])) if "sets" in file else ())
    kernels = array(file, "path_kernels")
    if kernels is not None and (kernels.ndim != 3 or len(kernels) != len(paths) or kernels.shape[1] != kernels.shape[2]):
        raise BadDataError(f"/path_kernels: has shape {shape_text(kernels.shape)}, not [p, P, P] with p = {len(paths)}")
    result = read(Result, file, sizes, **about, heads=heads, outputs=outputs, paths=paths, head_names=_head_names(file, heads),
                  variances=tuple(np.atleast_1d(file.attrs.get("variances", [])).astype(float)), path_kernels=kernels, choices=())
    vars(result)["choices"] = tuple(_choice(group, result) for group in hdf5.numbered(file, "chosen")) if "chosen" in file else ()
    return result


def _paths(file: Group, heads: tuple[int, ...]) -> tuple[str, ...]:
    if "paths" not in file:
        return tuple("(" + ",".join(map(str, path)) + ")" for path in product(*(range(1, count + 1) for count in heads)))
    names = tuple(hdf5.texts(file["paths"]))
    if len(names) != math.prod(heads):
        raise BadDataError(f"/paths: has {len(names)} names, not {math.prod(heads)}")
    return names


def _head_names(file: Group, heads: tuple[int, ...]) -> tuple[tuple[str, ...], ...]:
    names = []
    for layer, count in enumerate(heads, 1):
        item = file.get(f"names/layer_{layer}")
        known = tuple(hdf5.texts(item)) if item is not None else ()
        if item is not None and len(known) != count:
            raise BadDataError(f"{item.name}: has {len(known)} names, not {count}")
        names.append(known or tuple(f"head {head}" for head in range(1, count + 1)))
    return tuple(names)


def _choice(group: Group, result: Result) -> TemperatureChoice:
    theory, index = hdf5.text(attribute(group, "model")) == "theory", int(attribute(group, "point"))
    chosen = result.points if theory else result.gaussian_process
    if not 0 <= index < len(chosen):
        raise BadDataError(f"{group.name}: attribute point is {index}; there are {len(chosen)}")
    return read(TemperatureChoice, group, widths=integers(group, "widths") if theory else (), chosen=chosen[index])
