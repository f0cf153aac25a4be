"""What an open HDF5 file says of its objects: kind, shape, type, storage. The C++ twin is src/io/hdf5/.

Arrays in memory (headway.memory) answer the same questions. They have no storage."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import h5py
import numpy as np
from h5py import h5d, h5l, h5o, h5t, h5z

from headway.base import memory
from headway.base.dataset_texts import number

MOST_ELEMENTS = 1 << 46
MOST_EXPANSION = 1100  # deflate stores at best one byte for 1032
ALWAYS_PLAUSIBLE_BYTES = 16 << 20
ALWAYS_PLAUSIBLE_CHUNK = 256 << 20
MOST_CHUNK_EXPANSION = 16
OWN_FILTERS = 256  # numbers from here on are those of plug-ins
BOOLEAN = {b"FALSE": 0, b"TRUE": 1}


class Fault(Exception):
    """What is wrong with an object of a file: a whole message."""


def kind(file: h5py.File | memory.Group, path: str) -> str:
    """"absent", "group", "dataset", "other", "dangling" or "external"."""
    if isinstance(file, memory.Group):
        return file.kind(path)
    group, parts = file.id, path.encode().split(b"/")
    for at, name in enumerate(parts, 1):
        if not group.links.exists(name):
            return "absent"
        link = group.links.get_info(name).type
        if link == h5l.TYPE_EXTERNAL:
            return "external"
        if link == h5l.TYPE_SOFT and not _leads_somewhere(group, name):
            return "dangling"
        found = h5o.open(group, name)
        is_group = isinstance(found, h5py.h5g.GroupID)
        if at == len(parts):
            return "group" if is_group else "dataset" if isinstance(found, h5d.DatasetID) else "other"
        if not is_group:
            return "absent"
        group = found
    return "group"


def _leads_somewhere(group: h5py.h5g.GroupID, name: bytes) -> bool:
    try:
        return h5o.exists_by_name(group, name)
    except (OSError, RuntimeError):  # a link to itself
        return False


def members(file: h5py.File | memory.Group, group: str) -> list[str]:
    if group and kind(file, group) != "group":
        return []
    return sorted(file[group] if group else file, key=os.fsencode)


@dataclass
class ArrayInfo:
    shape: tuple[int, ...]
    type_name: str
    is_number: bool
    is_text: bool  # strings, or integers that name things
    element_bytes: int
    stored_bytes: int
    outside: bool  # virtual, or raw data in other files
    missing_filter: str | None
    chunk_bytes: int = 0  # 0: not in chunks
    pieces: int = 1       # chunks, or the whole
    written: int = 1      # pieces that the file has


def info(file: h5py.File | memory.Group, path: str) -> ArrayInfo:
    dataset = file[path]
    if isinstance(dataset, memory.Array):
        text = isinstance(dataset.values, list)
        return ArrayInfo(dataset.shape, "string" if text else _name_of(dataset.dtype), not text, text, 1,
                         0, False, None)
    kind_of_type, name, size = _type_of(dataset.id.get_type())
    space = dataset.id.get_space()
    shape = (0,) if space.get_simple_extent_type() == h5py.h5s.NULL else tuple(dataset.shape)
    plist = dataset.id.get_create_plist()
    missing = None
    for at in range(plist.get_nfilters()):
        code, _, _, called = plist.get_filter(at)
        if code >= OWN_FILTERS or not h5z.filter_avail(code):
            missing = f"{called.decode('ascii', 'replace') or '?'} (number {code})"
    return ArrayInfo(shape, name, kind_of_type in ("number", "integer"),
                     kind_of_type in ("text", "integer"), size, dataset.id.get_storage_size(),
                     bool(dataset.is_virtual) or plist.get_external_count() > 0, missing,
                     math.prod(dataset.chunks) * max(size, 1) if dataset.chunks else 0, *_pieces(dataset, shape))


def _pieces(dataset: h5py.Dataset, shape: tuple[int, ...]) -> tuple[int, int]:
    """How many pieces a data set has, and how many of them were ever written."""
    if 0 in shape or dataset.is_virtual:
        return 1, 1
    if dataset.chunks is None:
        return 1, int(dataset.id.get_space_status() != h5d.SPACE_STATUS_NOT_ALLOCATED)
    pieces = math.prod(-(-extent // max(chunk, 1)) for extent, chunk in zip(shape, dataset.chunks))
    try:
        return pieces, dataset.id.get_num_chunks()
    except (OSError, RuntimeError):  # damaged: reading it says how
        return pieces, pieces


@lru_cache(maxsize=100)
def _name_of(dtype: np.dtype) -> str:
    return dtype.name


def _type_of(found: h5t.TypeID) -> tuple[str, str, int]:
    """(what it is, its name, bytes)."""
    size = found.get_size()
    bits = 8 * size
    of_class = found.get_class()
    if of_class == h5t.FLOAT:
        exponent_bits = found.get_fields()[2]
        return "number" if bits in (32, 64) else "", "bfloat16" if (bits, exponent_bits) == (16, 8) else f"float{bits}", size
    if of_class == h5t.INTEGER:
        unsigned = "u" if found.get_sign() == h5t.SGN_NONE else ""
        return "integer" if bits <= 64 else "", f"{unsigned}int{bits}", size
    if of_class == h5t.ENUM:
        names = {found.get_member_name(at): found.get_member_value(at)
                 for at in range(found.get_nmembers())}
        return ("number", "boolean", size) if names == BOOLEAN else ("", "enumeration", size)
    names = {h5t.STRING: "string", h5t.COMPOUND: "compound", h5t.REFERENCE: "reference", h5t.VLEN: "lists of different lengths"}
    return "text" if of_class == h5t.STRING else "", names.get(of_class, "another type"), size


def shape_text(shape: tuple[int, ...]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]" if shape else "a scalar"


def implausible_storage(found: ArrayInfo, file_bytes: int, in_memory: bool) -> str | None:
    """Why the data set cannot be what it claims, or None."""
    if found.outside:
        return ("keeps its data in other files (virtual or external storage); allowed: data in this "
                "file")
    if found.missing_filter:
        return (f"is compressed with the filter {found.missing_filter}, which this HDF5 library lacks; "
                "allowed: gzip or no compression")
    count, shape = math.prod(found.shape), shape_text(found.shape)
    if count > MOST_ELEMENTS:
        return f"has shape {shape}: more than 2^46 numbers"
    claimed = count * max(found.element_bytes, 1)
    if found.stored_bytes > file_bytes:
        return f"stores {found.stored_bytes} bytes in a file of {file_bytes} bytes: damaged"
    if claimed > ALWAYS_PLAUSIBLE_BYTES and claimed // MOST_EXPANSION > found.stored_bytes:
        return (f"claims {claimed} bytes (shape {shape}), but the file stores only "
                f"{found.stored_bytes} of them")
    if found.chunk_bytes > ALWAYS_PLAUSIBLE_CHUNK and found.chunk_bytes // MOST_CHUNK_EXPANSION > found.stored_bytes:
        return (f"has chunks of {found.chunk_bytes} bytes, of which the file stores only {found.stored_bytes}; "
                f"allowed: chunks of up to {ALWAYS_PLAUSIBLE_CHUNK} bytes, or less compression")
    if not found.written:
        return "has a shape, but its numbers were never written"
    if found.written < found.pieces:
        return f"is half written: {found.written} of its {found.pieces} chunks are in the file"
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    if in_memory and 8 * count > memory:
        return (f"needs {8 * count / 2**30:.1f} GiB of memory (shape {shape}); this machine has "
                f"{memory / 2**30:.1f} GiB")
    return None


def texts(file: h5py.File, path: str) -> list[bytes]:
    """A data set of strings or integers as bytes."""
    values = np.atleast_1d(file[path][()]).ravel()
    return [_as_bytes(value) for value in values]


def _as_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return str(value).encode("utf-8", "surrogateescape")


# ---- attributes


def _label(path: str, name: str) -> str:
    return f"{path}, attribute {name}" if path else f"root attribute {name}"


def text_attribute(file: h5py.File, path: str, name: str) -> bytes | None:
    value = (file[path] if path else file).attrs.get(name)
    if value is None:
        return None
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    if not isinstance(value, (str, bytes)):
        raise Fault(f"{_label(path, name)}: allowed: one string")
    return _as_bytes(value)


def number_attribute(file: h5py.File, path: str, name: str) -> list[float] | None:
    value = (file[path] if path else file).attrs.get(name)
    if value is None:
        return None
    array = np.atleast_1d(value)
    if array.dtype.kind not in "fiub":
        raise Fault(f"{_label(path, name)}: allowed: numbers")
    return [float(v) for v in array.ravel()]


def numbers(values: list[float]) -> str:
    return "[" + ", ".join(number(v) for v in values) + "]"
