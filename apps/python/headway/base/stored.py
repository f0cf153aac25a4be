"""A group of an open HDF5 file, read as h5py reads it, several times faster: results have ten thousands of small members.

It has what the readers of results use, as `headway.base.memory` has it for results in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import h5py
import numpy as np
from h5py import h5a, h5d, h5g, h5o, h5s

from headway.base.memory import Members

_NUMBERS = "fiu"  # kinds of numpy types that are read here; h5py reads all else


class Attributes(Mapping):
    """Stands for h5py.AttributeManager. A value is read when it is asked for."""

    __slots__ = ("_id", "_names")

    def __init__(self, owner: h5g.GroupID | h5d.DatasetID):
        self._id = owner
        names: list[bytes] = []
        h5a.iterate(owner, lambda name: names.append(name))  # ends where anything but None is returned
        self._names = {_name(name): name for name in names}

    def __getitem__(self, name: str) -> Any:
        attribute = h5a.open(self._id, self._names[name])
        kind, shape = attribute.dtype, attribute.shape
        if shape is None or 0 in shape:
            return h5py.AttributeManager(_Owner(self._id))[name]
        if kind.kind in _NUMBERS and kind.subdtype is None:
            values = np.zeros(shape, kind)
            attribute.read(values)
            return values if shape else values[()]
        if shape == () and kind.kind == "O" and h5py.check_string_dtype(kind) is not None:
            texts = np.zeros(shape, kind)
            attribute.read(texts)
            if isinstance(texts[()], bytes):
                return _text(texts[()])
        return h5py.AttributeManager(_Owner(self._id))[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Array:
    """Stands for an h5py.Dataset."""

    __slots__ = ("_attrs", "dtype", "id", "name", "shape")

    def __init__(self, name: str, own: h5d.DatasetID):
        self.name, self.id, self.dtype, self.shape, self._attrs = name, own, own.dtype, own.shape, None

    @property
    def attrs(self) -> Attributes:
        if self._attrs is None:
            self._attrs = Attributes(self.id)
        return self._attrs

    @property
    def ndim(self) -> int:
        return self.id.rank

    def __getitem__(self, key: tuple) -> Any:
        if key != () or self.dtype.kind not in _NUMBERS or self.dtype.subdtype is not None or self.shape is None \
                or 0 in self.shape:
            return h5py.Dataset(self.id)[key]
        values = np.zeros(self.shape, self.dtype)
        self.id.read(h5s.ALL, h5s.ALL, values)
        return values if self.shape else values[()]


class Group(Members):
    """Stands for an h5py.Group, and for an h5py.File at the root."""

    __slots__ = ("_attrs", "_links", "id", "name")

    def __init__(self, name: str, own: h5g.GroupID):
        self.name, self.id, self._attrs, self._links = name, own, None, frozenset(own)

    @property
    def attrs(self) -> Attributes:
        if self._attrs is None:
            self._attrs = Attributes(self.id)
        return self._attrs

    def get(self, path: str | bytes, default: Any = None) -> Any:
        key = path if isinstance(path, bytes) else _bytes(path)
        first, deeper, _ = key.partition(b"/")
        if first not in self._links or deeper and key not in self.id:
            return default
        own, name = h5o.open(self.id, key), f"{self.name.rstrip('/')}/{path}"
        if isinstance(own, h5g.GroupID):
            return Group(name, own)
        return Array(name, own) if isinstance(own, h5d.DatasetID) else own

    def __contains__(self, path: str) -> bool:
        key = _bytes(path)
        return key in self._links or b"/" in key and key in self.id

    def __iter__(self) -> Iterator[str]:
        return map(_name, sorted(self._links))


class _Owner:
    """What an AttributeManager asks of the object whose attributes it has."""

    def __init__(self, own: Any):
        self.id = own


def _name(name: bytes) -> str | bytes:
    """As h5py gives it: bytes that are no UTF-8 stay."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
