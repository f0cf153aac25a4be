"""A result in memory, read as h5py reads one in a file: the tree that the extension module makes."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from typing import Any

import h5py
import numpy as np

_TEXTS = h5py.string_dtype()


class Array:
    """Stands for an h5py.Dataset: numbers, or texts."""

    __slots__ = ("attrs", "dtype", "name", "values")

    def __init__(self, name: str, attrs: Mapping[str, Any], values: np.ndarray | list[str]):
        self.name, self.attrs, self.values = name, attrs, values
        self.dtype = _TEXTS if isinstance(values, list) else values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.values),) if isinstance(self.values, list) else self.values.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, key: tuple) -> Any:
        return self.values if key == () else np.asarray(self.values)[key]


class Members:
    """What a group has by the names of its members, from get() and __iter__()."""

    __slots__ = ()
    name: str

    def get(self, path: str, default: Any = None) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[str]:
        raise NotImplementedError

    def __getitem__(self, path: str) -> Any:
        found = self.get(path)
        if found is None:
            raise KeyError(f"{self.name}: has no member {path!r}")
        return found

    def items(self) -> ItemsView:
        return {name: self[name] for name in self}.items()


class Group(Members):
    """Stands for an h5py.Group, and for an h5py.File at the root."""

    __slots__ = ("_members", "attrs", "name")

    def __init__(self, name: str, node: tuple[dict, dict]):
        self.name, (self.attrs, self._members) = name, node

    def _node(self, path: str) -> tuple[dict, Any] | None:
        node = (self.attrs, self._members)
        for part in path.split("/"):
            if node[1].__class__ is not dict or part not in node[1]:
                return None
            node = node[1][part]
        return node

    def kind(self, path: str) -> str:
        """"absent", "group" or "dataset"."""
        node = self._node(path)
        return "absent" if node is None else "group" if node[1].__class__ is dict else "dataset"

    def get(self, path: str, default: Any = None) -> Any:
        node = self._node(path)
        if node is None:
            return default
        where = f"{self.name.rstrip('/')}/{path}"
        return Group(where, node) if node[1].__class__ is dict else Array(where, *node)

    def __contains__(self, path: str) -> bool:
        return self.get(path) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._members))
