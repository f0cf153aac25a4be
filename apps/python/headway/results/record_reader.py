"""Reading of the records of a result file into the classes that hold them, as `headway.results.fields` says where they lie."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import h5py
import numpy as np

from headway.base import hdf5, memory, stored
from headway.errors import BadDataError
from headway.results.fields import FIELDS, KINDS, Numbers, attributes, plain
from headway.results.old_names import before, turned

T = TypeVar("T")
Group = h5py.Group | memory.Group | stored.Group
#: The number of entries along each axis of `FIELDS`; for "path" a list over the layers.
Sizes = Mapping[str, Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})

#: Fields of heads that files of older programs lack.
_LATER = frozenset({"set", *(f"{cost}{part}" for cost in ("squared_error_rise", "accuracy_drop")
                             for part in ("", "_sd", "_error")),
                    *(f"squared_error_rise_without_theory{part}" for part in ("", "_error"))})


def read(kind: type[T], group: Group, sizes: Sizes = NOTHING, **given: Any) -> T:
    """An object of a class that `fields.record` knows, from its group; `given` has the attributes that are read elsewhere.

    A field may be missing in the file if it has a default, may be None, or is a collection.
    """
    values = {field.name: _value(kind, field, group, sizes)
              for field in dataclasses.fields(kind) if field.name not in given}
    made = kind(**given, **values)
    further = {}
    for name, about in kind.further.items():
        if about["kind"] == "array" and name in group:
            further[name] = array(group, name, about, sizes)
        elif about["kind"] != "array" and name in group.attrs and not issubclass(kind, Numbers):
            further[name] = plain(group.attrs[name])
    if further:
        vars(made)["_further"] = further
    return made


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


def array(group: Group, name: str, about: Mapping[str, str] = NOTHING, sizes: Sizes = NOTHING) -> Any:
    """The data set `name`, None if it is missing; BadDataError if it is no array of numbers, or has another size along an
    axis that `sizes` has. A list where it is one of texts."""
    item = group.get(name)
    if item is None:
        return None
    if isinstance(item, hdf5.ARRAYS) and about.get("type") == "str":
        return hdf5.texts(item)
    if not isinstance(item, hdf5.ARRAYS) or item.dtype.kind not in "fiub":
        raise BadDataError(f"{group.name}/{name}: is not an array of numbers")
    axes = about.get("axes", "").split()
    wanted = [sizes.get(axis) for axis in axes]
    if any(size is not None and (item.ndim != len(axes) or size != item.shape[at]) for at, size in enumerate(wanted)):
        words = [axis if size is None else size for axis, size in zip(axes, wanted)]
        raise BadDataError(f"{item.name}: has shape {shape_text(item.shape)}, not {shape_text(words)}")
    values = np.asarray(item[()])
    whole = about.get("type") == "int"
    return values if values.dtype.kind == "f" and not whole else values.astype(int if whole else float)


def layers(group: Group, place: str, about: Mapping[str, str], sizes: Sizes) -> tuple[np.ndarray, ...]:
    """The arrays at `place` with <l> = 1, 2, ..., L; () if none is there."""
    found = [array(group, place.replace("<l>", str(layer)), about, {**sizes, "path": size, "path_other": size})
             for layer, size in enumerate(sizes["path"], 1)]
    missing = [layer for layer, one in enumerate(found, 1) if one is None]
    if missing and len(missing) < len(found):
        raise BadDataError(f"{group.name}/{place.replace('<l>', str(missing[0]))}: is missing")
    return () if missing else tuple(found)


def listed(group: Group, record: str) -> dict[str, Any]:
    """Everything that `FIELDS` lists for a record, by name. Attributes, fields in groups of their own and those of _LATER may be
    missing. Arrays of 0.2 have the names and signs of today."""
    found = {}
    for name, about in FIELDS[record].items():
        folder, _, leaf = name.rpartition("/")
        if about["kind"] == "attribute":
            owner = group.get(folder) if folder else group
            if owner is not None and leaf in owner.attrs:
                found[name] = plain(owner.attrs[leaf])
        elif name in group or before(name) in group or not folder and name not in _LATER:
            found[name] = _of_today(group, name, about)
            if found[name] is None:
                raise BadDataError(f"{group.name}/{name}: is missing")
            axes = about.get("axes", "").split()
            if axes and not folder and np.ndim(found[name]) != len(axes):
                raise BadDataError(f"{group.name}/{name}: has {np.ndim(found[name])} dimensions, not {len(axes)}")
    return found


def _of_today(group: Group, name: str, about: Mapping[str, str]) -> Any:
    """The data set `name`, which older files have under another name, and some with the other sign."""
    if name in group or before(name) not in group:
        return array(group, name, about)
    found = array(group, before(name), about)
    return 0.0 - found if turned(before(name)) else found


def shape_text(shape: Any) -> str:
    """"[4, 4]"."""
    return "[" + ", ".join(map(str, shape)) + "]"


@functools.lru_cache(maxsize=None)
def _words(annotation: str) -> tuple[str, ...]:
    return tuple(re.findall(r"\w+", annotation))


def _value(kind: type, field: dataclasses.Field, group: Group, sizes: Sizes) -> Any:
    place, about = kind.stored[field.name]
    part = next((KINDS[word] for word in _words(field.type) if word in KINDS), None)
    if part is not None and field.type.startswith("tuple"):
        if place not in group and field.default == ():
            return ()
        return tuple(read(part, item, sizes) for item in hdf5.numbered(group, place))
    if part is not None and field.type.startswith("Mapping"):
        return {name: read(part, item, sizes) for name, item in group.get(place, {}).items()}
    if part is not None:
        item = group if place == "." else group.get(place)
        return read(part, item, sizes) if isinstance(item, hdf5.GROUPS) else _absent(field, f"{group.name}/{place}: is missing")
    if field.name == "attributes":
        return attributes(group)
    if "<l>" in place:
        return layers(group, place, about, sizes)
    if about.get("kind") == "array":
        found = array(group, place, about, sizes)
        if found is None:
            return _absent(field, f"{group.name}/{place}: is missing")
        return tuple(found) if field.type.startswith("tuple") else found
    if place not in group.attrs:
        return _absent(field, f"{group.name}: attribute {place} is missing")
    if field.type == "tuple[int, ...]":
        return integers(group, place)
    value = plain(group.attrs[place])
    return {"int": int, "float": float, "bool": bool}.get(field.type, lambda same: same)(value)


def _absent(field: dataclasses.Field, fault: str) -> Any:
    """The default of what a file lacks."""
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    if "None" in field.type:
        return None
    raise BadDataError(fault)
