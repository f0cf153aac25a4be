"""Data-set files on the disk: new ones that appear whole or not at all, and open ones as parts."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway import hdf5
from headway.dataset_checks import Checker, Network, Parts, Split
from headway.errors import CannotWriteError, HeadwayError

# ---- writing


@contextmanager
def new_file(path: Path, overwrite: bool) -> Iterator[h5py.File]:
    """An open file with a temporary name, which takes its own when the block ends without an error."""
    if path.is_dir():
        raise CannotWriteError(f"{path}: is a folder")
    if path.exists() and not overwrite:
        raise CannotWriteError(f"{path}: exists already; overwrite=True replaces it")
    partial = None
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.",
                                           suffix=".h5.partial")
        os.close(handle)
        with h5py.File(partial, "w") as file:
            yield file
        _publish(partial, path)
    except OSError as error:
        if isinstance(error, HeadwayError):
            raise
        reason = error.strerror or str(error).splitlines()[0]
        raise CannotWriteError(f"{path}: cannot be written: {reason}") from None
    finally:
        if partial is not None and os.path.exists(partial):
            os.unlink(partial)


def _publish(partial: str, path: Path) -> None:
    """Gives the finished file the usual permissions and its name, with its bytes on the disk."""
    mask = os.umask(0)
    os.umask(mask)
    os.chmod(partial, 0o666 & ~mask)
    with open(partial, "rb") as written:
        os.fsync(written.fileno())
    os.replace(partial, path)


def write_header(file: h5py.File, note: str | None, readout: str | None) -> None:
    file.attrs["schema_name"] = "headway-dataset"
    file.attrs["schema_version"] = np.array([1, 0], dtype=np.int64)
    if note is not None:
        file.attrs["note"] = str(note)
    if readout is not None:
        file.attrs["readout"] = readout


def write_head_names(file: h5py.File, head_names: Sequence[Sequence[str]]) -> None:
    for layer, names in enumerate(head_names, 1):
        file.create_dataset(f"names/layer_{layer}", data=list(names), dtype=h5py.string_dtype())


# ---- reading


def faults_of(file: h5py.File) -> list[str]:
    """What is wrong with the contents of an open data-set file, one sentence each."""
    faults: list[str] = []
    parts = _parts_of_file(file, faults)
    return faults or Checker(parts).run()


def _parts_of_file(file: h5py.File, faults: list[str]) -> Parts:
    readout = file.attrs.get("readout")
    parts = Parts(weights=_layers_of(file, "attention/weights", faults),
                  query=_layers_of(file, "attention/query", faults),
                  key=_layers_of(file, "attention/key", faults),
                  heads=_file_heads(file, faults),
                  readout=None if readout is None else hdf5.text(readout))
    if isinstance(file.get("network"), h5py.Group):
        parts.network = Network(_dataset_of(file, "network/input", faults),
                                _layers_of(file, "network/values", faults),
                                _dataset_of(file, "network/readout", faults))
    elif "network" in file:
        faults.append("network: is no group")
    names = _layers_of(file, "names", faults)
    if names is not None:
        parts.head_names = [hdf5.texts(layer) for layer in names]
    parts.sets = {name: Split() for name in _set_names(file, faults)}
    named = {"train": parts.train, "test": parts.test} | {
        f"sets/{name}": data for name, data in parts.sets.items()}
    for split, data in named.items():
        for name in ("inputs", "labels", "mask", "path_features"):
            setattr(data, name, _dataset_of(file, f"{split}/{name}", faults))
        data.attention = _layers_of(file, f"{split}/attention", faults)
        ids = _dataset_of(file, f"{split}/ids", faults)
        data.ids = None if ids is None else hdf5.texts(ids)
    return parts


def _file_heads(file: h5py.File, faults: list[str]) -> Any:
    """The attribute heads of train/path_features, which those of other splits must equal; else the
    root's."""
    splits = ["train", "test", *(f"sets/{name}" for name in _set_names(file, []))]
    heads = {split: file[f"{split}/path_features"].attrs.get("heads")
             for split in splits if f"{split}/path_features" in file}
    train = heads.get("train")
    for split, other in heads.items():
        if other is not None and train is not None and not np.array_equal(train, other):
            faults.append(f"{split}/path_features: attribute heads is {np.asarray(other).tolist()}; "
                          f"train/path_features has {np.asarray(train).tolist()}")
    return file.attrs.get("heads") if train is None else train


def _set_names(file: h5py.File, faults: list[str]) -> list[str]:
    """Names of the groups of sets."""
    if "sets" not in file:
        return []
    if not isinstance(file["sets"], h5py.Group):
        faults.append("sets: is no group")
        return []
    names = []
    for name in file["sets"]:
        if isinstance(file["sets"].get(name), h5py.Group):
            names.append(name)
        else:
            faults.append(f"sets/{name}: is no group")
    return names


def _dataset_of(file: h5py.File, name: str, faults: list[str]) -> h5py.Dataset | None:
    item = file.get(name)
    if item is not None and not isinstance(item, h5py.Dataset):
        faults.append(f"{name}: is a group, not a data set")
        return None
    return item


def _layers_of(file: h5py.File, name: str, faults: list[str]) -> list[h5py.Dataset] | None:
    """Data sets <name>/layer_1, layer_2, ... without gaps, or None."""
    group = file.get(name)
    if group is None:
        return None
    if not isinstance(group, h5py.Group):
        faults.append(f"{name}: is a data set, not a group with layer_1, layer_2, ...")
        return None
    numbers = [int(key[6:]) for key in group if re.fullmatch(r"layer_[1-9]\d*", key)]
    unknown = [key for key in group if not re.fullmatch(r"layer_[1-9]\d*", key)]
    if unknown:
        faults.append(f"{name}/{unknown[0]}: unknown; allowed: layer_1, layer_2, ...")
    layers = []
    for layer in range(1, max(numbers, default=0) + 1):
        item = group.get(f"layer_{layer}")
        if not isinstance(item, h5py.Dataset):
            faults.append(f"{name}/layer_{layer}: is missing or not a data set")
        else:
            layers.append(item)
    return layers
