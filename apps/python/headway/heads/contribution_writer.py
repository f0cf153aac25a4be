"""Writing of contributions as path features, block by block, so that memory stays bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import h5py
import numpy as np

from headway.api.dataset_files import create_numbers, new_file, write_head_names, write_header
from headway.base.labels import are_classes
from headway.errors import BadDataError
from headway.heads.network_writer import (Options, Source, check_paths, checked_labels, guarded,
                                    network_errors, write_labels)

ROUNDING = 1e-11  # squared: examples that differ by less, in single precision, are the same


def write_contributions(path: Path, sources: Mapping[str, Source],
                        names: Sequence[Sequence[str]], options: Options, overwrite: bool) -> Path:
    """Path features [P, p, N_0] of parts that `blocks` of each source yield (Contributions); `names`: of
    the parts of each kept layer.

    They are written without their means over the training examples, times one number that makes the
    mean diagonal of the Gaussian process's kernel 1 at variances 1: sum_pi |xi_pi|^2 / (N_0 p). Real
    labels lose their training means too.
    """
    options.check()
    heads = [len(layer) for layer in names]
    check_paths(heads)
    labels = checked_labels(sources, options.classes)
    if options.classes == 0 or not are_classes(labels["train"]):
        mean = labels["train"].mean(axis=0)
        labels = {name: array - mean for name, array in labels.items()}
    with network_errors(), new_file(path, overwrite, checked=True) as file:
        write_header(file, options.note, options.readout)
        write_head_names(file, names)
        for name, source in sources.items():
            write_labels(file, name, source, labels[name])
            _write_split(file, name, source, heads, np.dtype(options.dtype))
        _normalise(file, sources)
    return path


def _write_split(file: h5py.File, name: str, source: Source, heads: Sequence[int],
                 dtype: np.dtype) -> None:
    begin, features = 0, None
    for block in guarded(source.blocks()):
        if features is None:
            shape = (source.count, math.prod(heads), block.parts.shape[2])
            features = create_numbers(file, f"{name}/path_features", shape, dtype)
            features.attrs["heads"] = np.asarray(heads)
        features[begin:begin + len(block.parts)] = block.parts
        begin += len(block.parts)
        file.flush()
    if begin != source.count:
        raise BadDataError(f"{name}: the network answered for {begin} of {source.count} examples")


def _normalise(file: h5py.File, sources: Mapping[str, Source]) -> None:
    train = file["train/path_features"]
    parts = [slice(begin, begin + 64) for begin in range(0, len(train), 64)]
    mean = sum(train[part].sum(axis=0, dtype=np.float64) for part in parts) / len(train)
    diagonal = sum(np.square(train[part] - mean).sum() for part in parts) / train.size
    size = sum(np.square(train[part], dtype=np.float64).sum() for part in parts) / train.size
    if not diagonal > ROUNDING * size:
        raise BadDataError("train: the contributions are the same on all examples: nothing can be "
                           "learned from them")
    for name in sources:
        features = file[f"{name}/path_features"]
        for begin in range(0, len(features), 64):
            part = slice(begin, begin + 64)
            features[part] = (features[part] - mean) / math.sqrt(diagonal)
