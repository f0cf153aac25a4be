"""One reader for the records of every result: it fills the classes that `headway.results.records` knows.

How an attribute is read follows from its annotation:

- a class of records: the group at its place; `tuple` of it: the numbered groups, or the columns of a table; `Mapping[str, ...]`:
  the groups by their names;
- `np.ndarray`, `Integers`: an array; `tuple[np.ndarray, ...]`: one for each layer; `Mapping[str, np.ndarray]`: the arrays of a group;
- `Mapping[str, float]`: the numbers among the attributes of a group; `Mapping[str, Mapping[str, float]]`: of the groups below;
- `attributes`: all attributes; all else: the attribute of this name.

What the class does not name is read, too: arrays as they are, groups as `Fields`.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import h5py
import numpy as np

from headway.base import hdf5, memory
from headway.errors import BadDataError
from headway.results.records import Fields, Numbers, Stored

T = TypeVar("T")
Group = h5py.Group | memory.Members


class Sizes(NamedTuple):
    """What is known of the whole result when a record is read."""

    paths: tuple[int, ...] = ()  # C p_l of every layer
    heads: int = 0  # of all layers
    order: tuple[str, ...] = ()  # of sets or splits
    names: Mapping[str, str] = MappingProxyType({})  # in the file, of what goes by another one here


NOTHING = Sizes()


def read(kind: type[T], group: Group, sizes: Sizes = NOTHING, /, **given: Any) -> T:
    """An object of a class that `records.record` knows, from its group; `given` has the attributes that are read elsewhere.

    A field may be missing in the file if it has a default, may be None, or is a collection. BadDataError names what is missing
    or malformed, and what the class's own `_check(where, sizes)` finds.
    """
    if hasattr(kind, "_of_group"):
        return kind._of_group(group, sizes)
    if hasattr(kind, "_view"):
        group, sizes = kind._view(group, sizes)
    if "splits" in group.attrs:
        sizes = sizes._replace(order=tuple(hdf5.text(group.attrs["splits"]).split(",")))
    made = kind(**given, **{name: _value(kind, field, group, sizes) for name, field in kind.__dataclass_fields__.items() if name not in given})
    if issubclass(kind, Stored):
        further = {name: _unnamed(group, name) for name in sorted(set(group) - _named(kind))}
        if not issubclass(kind, Numbers):
            further |= {name: value for name, value in attributes(group).items() if name not in kind.stored.values()}
        if further:
            vars(made)["_further"] = further
    if hasattr(made, "_check"):
        made._check(group.name, sizes)
    return made


def attributes(group: Group) -> dict[str, Any]:
    """All attributes of a group as Python str, numbers or numpy arrays."""
    return {name: plain(value) for name, value in group.attrs.items()}


def plain(value: Any) -> Any:
    """An attribute as Python str, number or numpy array."""
    if isinstance(value, (bytes, str)):
        return hdf5.text(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray) and value.size == 1:
        return plain(value.reshape(-1)[0])
    return value


def attribute(group: Group, name: str) -> Any:
    """An attribute that must be there."""
    if name not in group.attrs:
        raise BadDataError(f"{group.name}: attribute {name} is missing")
    return group.attrs[name]


def integers(group: Group, name: str) -> tuple[int, ...]:
    """An attribute that is a list of integers."""
    values = np.atleast_1d(attribute(group, name))
    if values.ndim != 1 or values.size == 0 or not np.issubdtype(values.dtype, np.integer):
        raise BadDataError(f"{group.name}: attribute {name} is not a list of integers")
    return tuple(int(value) for value in values)


def array(group: Group, place: str, whole: bool | None = False, shape: tuple | None = None) -> Any:
    """The array at `place`, None if it is missing: floats; if `whole` integers; if `whole` is None as the file has it. A list
    where it is one of texts. BadDataError if it is no array of numbers, or has another shape than `shape`, in which words
    stand for any size."""
    name = place.removesuffix(".T")
    item = group.get(name)
    if item is None:
        return None
    if not isinstance(item, hdf5.ARRAYS) or item.dtype.kind not in "fiub":
        if whole is None and isinstance(item, hdf5.ARRAYS) and h5py.check_string_dtype(item.dtype) is not None:
            return hdf5.texts(item)
        raise BadDataError(f"{group.name.rstrip('/')}/{name}: is not an array of numbers")
    if shape is not None and (item.ndim != len(shape) or any(
            size != have for size, have in zip(shape, item.shape) if not isinstance(size, str))):
        raise BadDataError(f"{item.name}: has shape {shape_text(item.shape)}, not {shape_text(shape)}")
    values = np.asarray(item[()])
    if whole or values.dtype.kind != "f" and whole is not None:
        values = values.astype(int if whole else float)
    return values.T if name != place else values


def layers(group: Group, place: str, sizes: Sizes) -> tuple[np.ndarray, ...]:
    """The arrays at `place` with <l> = 1, 2, ..., L, each square; () if none is there."""
    found = [array(group, place.replace("<l>", str(layer)), shape=(size, size)) for layer, size in enumerate(sizes.paths, 1)]
    missing = [layer for layer, one in enumerate(found, 1) if one is None]
    if missing and len(missing) < len(found):
        raise BadDataError(f"{group.name}/{place.replace('<l>', str(missing[0]))}: is missing")
    return () if missing else tuple(found)


def everything(group: Group, prefix: str = "") -> dict[str, Any]:
    """All attributes and arrays of a group and of those below, by their paths in it."""
    found = {prefix + name: value for name, value in attributes(group).items()}
    for name in group:
        item = group[name]
        found |= everything(item, f"{prefix}{name}/") if isinstance(item, hdf5.GROUPS) else {prefix + name: array(group, name, whole=None)}
    return found


def shape_text(shape: tuple) -> str:
    """"[4, 4]"."""
    return "[" + ", ".join(map(str, shape)) + "]"


@functools.lru_cache(maxsize=None)
def _part_of(kind: type, annotation: str) -> type | None:
    """The class of records that an annotation names, in the module of the class that has it."""
    known = vars(sys.modules[kind.__module__])
    found = (known.get(word) for word in re.findall(r"\w+", annotation))
    return next((one for one in found if isinstance(one, type) and (hasattr(one, "stored") or hasattr(one, "_fields"))), None)


@functools.lru_cache(maxsize=None)
def _named(kind: type) -> frozenset[str]:
    """Members of its group that the class names, or a part of it whose group is the same."""
    found: set[str] = set()
    for name, place in kind.stored.items():
        part = _part_of(kind, kind.__dataclass_fields__[name].type)
        found |= _named(part) if place == "." and part is not None else {re.split("[/@.]", place)[0]}
    return frozenset(found)


def _unnamed(group: Group, name: str) -> Any:
    item = group[name]
    return Fields(everything(item)) if isinstance(item, hdf5.GROUPS) else array(group, name, whole=None)


def _value(kind: type, field: dataclasses.Field, group: Group, sizes: Sizes) -> Any:
    place, annotation = kind.stored[field.name], field.type
    part = _part_of(kind, annotation)
    if part is not None:
        return _part(part, field, place, group, sizes)
    if field.name == "attributes":
        return attributes(group)
    if annotation.startswith("Mapping[str, "):
        return _mapping(annotation, place, group, sizes)
    if annotation.startswith("Mapping[int, "):
        found = {layer: array(group, place.replace("<l>", str(layer)), shape=("chain", "draw", size, size)) for layer, size in enumerate(sizes.paths, 1)}
        return {layer: values for layer, values in found.items() if values is not None}
    if "<l>" in place:
        return layers(group, place, sizes)
    if "ndarray" in annotation or annotation.startswith("Integers") or annotation == "tuple[str, ...]" and "@" not in place:
        words = annotation == "tuple[str, ...]"
        found = array(group, place, whole=None if words else annotation.startswith("Integers"))
        return _absent(field, f"{group.name}/{place}: is missing") if found is None else tuple(found) if words else found
    if annotation.startswith("bytes"):
        return np.asarray(group[place][()], dtype=np.uint8).tobytes() if place in group else _absent(field, f"{group.name}/{place}: is missing")
    owner, _, name = place.rpartition("@")
    owned = group.get(owner) if owner else group
    if owned is None or name not in owned.attrs:
        return _absent(field, f"{group.name}: attribute {place} is missing")
    if annotation == "tuple[int, ...]":
        return integers(owned, name)
    value = plain(owned.attrs[name])
    if annotation == "tuple[str, ...]":
        return tuple(str(value).split(","))
    return {"int": int, "float": float, "bool": bool}.get(annotation, lambda same: same)(value)


def _part(part: type, field: dataclasses.Field, place: str, group: Group, sizes: Sizes) -> Any:
    if hasattr(part, "_at"):  # several members that begin with this name
        return part._at(group, place, sizes)
    item = group if place == "." else group.get(place)
    if item is None and field.type.startswith("Mapping"):
        return {}
    if not isinstance(item, hdf5.GROUPS) or getattr(part, "_needs", None) not in (None, *item):
        return _absent(field, f"{group.name.rstrip('/')}/{place}: is missing")
    if field.type.startswith("tuple"):
        if issubclass(part, tuple):  # the columns of a table
            return tuple(map(part, *(array(item, name, whole=None) for name in part._fields)))
        return tuple(read(part, one, sizes) for one in hdf5.numbered(group, place))
    if field.type.startswith("Mapping"):
        return {name: read(part, item[name], sizes) for name in _in_order(item, sizes)}
    return read(part, item, sizes)


def _mapping(annotation: str, place: str, group: Group, sizes: Sizes) -> dict[str, Any]:
    """A mapping by names that are not those of records."""
    item = group if place == "." else group.get(place)
    if item is None:
        return {}
    if annotation == "Mapping[str, np.ndarray]":
        return {name: np.asarray(item[name][()]) for name in _in_order(item, sizes)}
    if annotation == "Mapping[str, float]":
        return numbers(item)
    if annotation == "Mapping[str, str]":
        words = hdf5.texts(item)
        return dict(zip(words[::2], words[1::2]))
    return {name: numbers(item[name]) for name in _in_order(item, sizes)}


def numbers(group: Group) -> dict[str, float]:
    """The attributes of a group that are one number each."""
    return {name: float(value) for name, value in group.attrs.items() if np.ndim(value) == 0 and np.asarray(value).dtype.kind in "fiu"}


def _in_order(group: Group, sizes: Sizes) -> list[str]:
    """Names of the members: those that the result has no order for first."""
    return sorted(group, key=lambda name: sizes.order.index(name) if name in sizes.order else -1)


def _absent(field: dataclasses.Field, fault: str) -> Any:
    """The default of what a file lacks."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    if "None" in field.type:
        return None
    raise BadDataError(fault)
