"""New data-set files, which appear whole or not at all."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import h5py
import numpy as np

from headway import native
from headway.base import file_seal
from headway.base.dataset_table import SCHEMA_NAME, SCHEMA_VERSION
from headway.base.files import whole_file
from headway.base.hdf5_target import NewFile, written_file
from headway.errors import BadDataError

_CHUNK_BYTES = 1 << 20
UNHOLDABLE = re.compile("[\0\ud800-\udfff]")  # characters that texts in HDF5 cannot hold


@contextmanager
def new_file(path: Path, overwrite: bool, checked: bool = False) -> Iterator[NewFile]:
    """An open file with a temporary name, which takes its own when the block ends without an error.

    Its flush() raises the OSError of a write that failed before, so that long work may end early. `checked`: BadDataError
    unless it is a sound data set.
    """
    with whole_file(path, overwrite, "overwrite=True") as name:
        with written_file(name) as file:
            yield file
        file_seal.seal(name)
        if checked and (faults := native.module().check_file(name)):
            raise BadDataError([fault.removeprefix(f"{name}: ") for fault in faults])


def create_numbers(file: h5py.File, path: str, shape: Sequence[int], dtype: np.dtype | type,
                   data: np.ndarray | None = None) -> h5py.Dataset:
    """An array in chunks along its first indices, each with HDF5's check sum; a scalar has none."""
    if 0 in shape or not shape:
        return file.create_dataset(path, shape, dtype, data=data)
    chunk, size = list(shape), np.dtype(dtype).itemsize
    for axis in range(len(shape)):
        rest = size * math.prod(shape[axis + 1:])
        chunk[axis] = min(shape[axis], max(1, _CHUNK_BYTES // rest))
        if rest <= _CHUNK_BYTES:
            break
    return file.create_dataset(path, shape, dtype, data=data, chunks=tuple(chunk), fletcher32=True)


def write_header(file: h5py.File, note: str | None, readout: str | None, attention_rows: str | None = None) -> None:
    file.attrs["schema_name"] = SCHEMA_NAME
    file.attrs["schema_version"] = np.array(SCHEMA_VERSION, dtype=np.int64)
    for name, words in (("note", note), ("readout", readout), ("attention_rows", attention_rows)):
        if words is None:
            continue
        if UNHOLDABLE.search(str(words)):
            raise BadDataError(f"{name}: is {words!r}, which HDF5 cannot hold; allowed: printable text")
        fault = native.module().text_fault(str(words), True)
        if fault:
            raise BadDataError(f"{name} {fault}")
        file.attrs[name] = str(words)


def check_name_layers(head_names: Sequence[Sequence[str]] | None, heads: Sequence[int]) -> None:
    """BadDataError unless there are names for all layers or none (a file may have some)."""
    if head_names is not None and heads and len(head_names) != len(heads):
        raise BadDataError(f"head_names: has {len(head_names)} layers; the attention has {len(heads)}")


def write_head_names(file: h5py.File, head_names: Sequence[Sequence[str]]) -> None:
    for layer, names in enumerate(head_names, 1):
        file.create_dataset(f"names/layer_{layer}", data=list(names), dtype=h5py.string_dtype())
