"""Results of 0.1 and 0.2 with the names of today.

They call what the removal of a head costs a change. Today every such number is the drop of a score or the rise of a loss:
positive where the network needs the head. And they call frozen cuts removals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import h5py
import numpy as np

from headway.base import hdf5, memory, stored

_DROPS = {f"{score}_change": f"{score}_drop" for score in ("accuracy", "r2", "score")}
# The first entry keeps a name of today from being taken for the old one that it begins with.
_TODAY = {"expected_frozen_cut": "expected_frozen_cut"} | _DROPS | {f"{loss}_change": f"{loss}_rise" for loss in ("loss", "squared_error")} | {
    "removal_frozen": "frozen_cut", "expected_frozen": "expected_frozen_cut"}
_BEFORE = {new: old for old, new in _TODAY.items()}


def today(name: str) -> str:
    """The name that stands for an old one now: "accuracy_drop_sd" for "accuracy_change_sd"."""
    return _replaced(name, _TODAY)


def turned(old: str) -> bool:
    """Whether the number of this old name has the other sign today. Errors have none."""
    return any(old.startswith(drop) for drop in _DROPS) and not old.endswith(("_error", "_sd"))


def renamed(found: Any) -> Any:
    """What JSON holds, with the names and signs of today."""
    if isinstance(found, list):
        return [renamed(one) for one in found]
    if not isinstance(found, Mapping):
        return found
    return {today(name): _negative(value) if turned(name) else renamed(value) for name, value in found.items()}


class Renamed(memory.Members):
    """A group whose members have other names in the file: those of before, or, with `names`, those that `names` gives."""

    __slots__ = ("_group", "_names", "attrs", "name")

    def __init__(self, group: h5py.Group | memory.Group | stored.Group, names: Mapping[str, str] | None = None):
        self._group, self._names = group, names
        self.name, self.attrs = group.name, group.attrs if names is None else _Attributes(group.attrs, names)

    def get(self, path: str, default: Any = None) -> Any:
        found, folder, leaf = self._group.get(path), *path.rpartition("/")[::2]
        if found is None:
            other = _replaced(leaf, _BEFORE if self._names is None else self._names)
            found = self._group.get(f"{folder}/{other}" if folder else other)
            if found is not None and self._names is None and turned(other):
                return memory.Array(found.name, found.attrs, 0.0 - np.asarray(found[()]))
        if found is None:
            return default
        return Renamed(found, self._names) if isinstance(found, hdf5.GROUPS) else found

    def __contains__(self, path: str) -> bool:
        return self.get(path) is not None

    def __iter__(self) -> Iterator[str]:
        return map(today, self._group) if self._names is None else iter(self._group)


class _Attributes(Mapping):
    def __init__(self, attributes: Mapping[str, Any], names: Mapping[str, str]):
        self._attributes, self._names = attributes, names

    def __getitem__(self, name: str) -> Any:
        return self._attributes[name if name in self._attributes else _replaced(name, self._names)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)


def _replaced(name: str, names: Mapping[str, str]) -> str:
    stem = next((stem for stem in names if f"{name}_".startswith(f"{stem}_")), "")
    return names.get(stem, "") + name.removeprefix(stem)


def _negative(value: Any) -> Any:
    if isinstance(value, list):
        return [_negative(one) for one in value]
    return None if value is None else 0.0 - value
