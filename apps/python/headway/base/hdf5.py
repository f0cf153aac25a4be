"""Opening HDF5 files with clear errors, and reading attributes whatever their string type."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway import native
from headway.base import file_seal, memory, stored
from headway.base.paths import require_utf8
from headway.errors import BadDataError, HeadwayError, UnavailableError, UnreadableFileError

SUPPORTED_MAJOR_VERSION = 1
#: What a group and an array of a result may be: in a file, or in memory.
GROUPS = (h5py.Group, memory.Members)
ARRAYS = (h5py.Dataset, memory.Array, stored.Array)
#: What h5py raises on a damaged file, and what code raises that trusts such a file. Errors of the package are among them.
DAMAGE = (OSError, RuntimeError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError)


@contextmanager
def open_file(path: str | os.PathLike) -> Iterator[h5py.File]:
    """`path` open for reading; UnreadableFileError if there is none, BadDataError if not HDF5.

    A BadDataError in the block gets the name of the file. Errors of h5py on damage (DAMAGE) become a BadDataError.
    """
    try:
        with _opened(Path(path)) as file:
            yield file
    except BadDataError as error:
        raise BadDataError([f"{path}: {fault}" for fault in error.faults]) from None
    except HeadwayError:
        raise
    except DAMAGE as error:
        raise BadDataError(f"{path}: damaged: {reason(error)}") from error


def reason(error: BaseException) -> str:
    """The first line of what an error says."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _opened(path: Path) -> h5py.File:
    if not os.path.exists(path):  # unlike Path.exists, it bears names that are too long
        raise UnreadableFileError(f"{path}: no such file")
    require_utf8("path", os.fspath(path))
    if path.is_dir():
        raise UnreadableFileError(f"{path}: is a folder, not an HDF5 file")
    if not os.access(path, os.R_OK):
        raise UnreadableFileError(f"{path}: no permission to read it")
    if h5py.is_hdf5(path):
        _try_elsewhere(path)
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise BadDataError(f"not a readable HDF5 file ({reason(error)})") from None


def _try_elsewhere(path: Path) -> None:
    """Reads the file in a copy of this process first: HDF5 may crash or hang on a damaged file, and then only the copy does.
    Without the extension module there is no copy, and only the check sum is looked at."""
    try:
        native.module().try_file(os.fspath(path))
    except UnavailableError:
        if file_seal.is_broken(path):
            raise BadDataError("damaged: its bytes are not those that were written") from None
    except BadDataError as error:
        raise BadDataError([fault.removeprefix(f"{path}: ") for fault in error.faults]) from None


def text(value: Any) -> str:
    """A string attribute or element as str, from any of HDF5's string types."""
    if isinstance(value, np.ndarray):
        value = value.item() if value.size == 1 else value.tolist()
    return (value if isinstance(value, bytes) else _bytes(str(value))).decode("utf-8", "replace")


def texts(dataset: h5py.Dataset) -> list[str]:
    """A one-dimensional string data set as a list of str."""
    return [text(value) for value in np.atleast_1d(dataset[()])]


def is_scale(item: h5py.Group | h5py.Dataset) -> bool:
    """Whether it is a dimension of a result file: a name and a size, without numbers."""
    return isinstance(item, h5py.Dataset) and text(item.attrs.get("CLASS", "")) == "DIMENSION_SCALE"


def numbered(parent: h5py.Group, name: str) -> list[h5py.Group]:
    """The groups <name>/0, <name>/1, ... in order; BadDataError where there is no group `name`."""
    group = parent.get(name)
    if not isinstance(group, GROUPS):
        raise BadDataError(f"{parent.name.rstrip('/')}/{name}: is missing")
    return [group[key] for key in sorted((key for key in group if key.isdigit()), key=int)]


#: What a file is by its schema, and what takes it.
_KINDS = {"headway-result": ("a result", "headway.read_result reads it"),
          "headway-dataset": ("a data set", "headway.check_dataset checks it, and headway.solve(path) computes with it"),
          "headway-gram": ("a file of Gram matrices", "headway.solve(path) computes with it"),
          "headway-checkpoint": ("a checkpoint", "the command that was interrupted goes on from it when it is given again")}


def schema_faults(file: h5py.File, schema_name: str) -> list[str]:
    """What is wrong with the root attributes schema_name and schema_version, if anything."""
    name = file.attrs.get("schema_name")
    if name is None:
        return [f"attribute schema_name is missing; it must be \"{schema_name}\""]
    if text(name) != schema_name:
        known = _KINDS.get(text(name))
        return [f"attribute schema_name is \"{text(name)}\", not \"{schema_name}\"" if known is None else
                f"is {known[0]}, not {_KINDS[schema_name][0]}; {known[1]}"]
    version = file.attrs.get("schema_version")
    if version is None:
        return [f"attribute schema_version is missing; it must be [{SUPPORTED_MAJOR_VERSION}, 0]"]
    version = np.atleast_1d(version)
    if version.ndim != 1 or version.size != 2 or not np.issubdtype(version.dtype, np.integer):
        return [f"attribute schema_version is {version.tolist()}, not two integers "
                f"such as [{SUPPORTED_MAJOR_VERSION}, 0]"]
    if version[0] != SUPPORTED_MAJOR_VERSION:
        return [f"schema_version is {version[0]}.{version[1]}, but this version of headway reads "
                f"{SUPPORTED_MAJOR_VERSION}.x only"]
    return []


def check_schema(file: h5py.File, schema_name: str) -> None:
    """BadDataError unless `file` has the given schema in a version that this package reads."""
    faults = schema_faults(file, schema_name)
    if faults:
        raise BadDataError(faults)


def check_texts(file: h5py.File) -> None:
    """BadDataError unless the texts are those that the program sealed (src/io/README.md).

    HDF5 has checksums for everything else. A file that was never sealed passes.
    """
    sealed = file.attrs.get("text_sha256")
    if sealed is None:
        return
    texts = {}

    def gather(name: str, item: h5py.Group | h5py.Dataset) -> None:
        for key in item.attrs:
            if h5py.check_string_dtype(item.attrs.get_id(key).dtype) is not None:
                texts[f"{name}@{key}"] = [text(item.attrs[key])]
        if isinstance(item, ARRAYS) and h5py.check_string_dtype(item.dtype) is not None:
            texts[name] = [*map(text, np.atleast_1d(item[()])), ""]

    gather("", file)
    file.visititems(gather)
    del texts["@text_sha256"]
    digest = hashlib.sha256()
    for place in sorted(texts, key=_bytes):
        content = "\0".join(texts[place])
        digest.update(_bytes(f"{place}\0{content}\0"))
    if digest.hexdigest() != text(sealed):
        raise BadDataError("attribute text_sha256: the texts of the file have changed since it was "
                           "written: damaged, or edited by hand")


def _bytes(words: str) -> bytes:
    return words.encode("utf-8", "surrogateescape")  # h5py's mark of bytes that are no UTF-8
