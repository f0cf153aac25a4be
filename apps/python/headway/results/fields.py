"""The fields of a result file, as the program lists them, and the classes whose objects hold them.

`fields.json` is written from the program's own lists. A class says which fields its attributes hold. The documentation of
these attributes, and how they are read, come from the list. A field that no class names is an attribute all the same.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import h5py
import numpy as np

from headway.base import hdf5

Kind = TypeVar("Kind", bound=type)

#: What every field of a result file means, by record: its kind, type, meaning and axes. A test compares it with the
#: program's own lists.
FIELDS = json.loads(Path(__file__).parent.with_name("fields.json").read_text(encoding="utf-8"))
_NUMBERS = frozenset(name for record in FIELDS.values() for name, field in record.items()
                     if field["kind"] == "attribute")
#: Classes of records by name, as annotations have it.
KINDS: dict[str, type] = {}


def record(section: str = "", below: str = "", *, lists: bool = False, **names: str) -> Callable[[Kind], Kind]:
    """Decorates a dataclass whose objects are records of a section of `FIELDS`, or of the groups `below` in them.

    `names` has the name in the file of each attribute that has another one there. Attributes that the docstring leaves out
    get their descriptions from `FIELDS`. With `lists` the docstring also lists the fields that the class does not name.
    """
    prefix = below and below + "/"
    table = {name.removeprefix(prefix): field for name, field in FIELDS.get(section, {}).items()
             if name.startswith(prefix)}

    def stored(kind: Kind) -> Kind:
        own = getattr(kind, "__dataclass_fields__", {})
        places = {name: names.get(name, name) for name in own}
        kind.stored = {name: (place, table.get(place.replace("<l>", "1")) or table.get(place, {}))
                       for name, place in places.items()}
        kind.further = {name: field for name, field in table.items() if "/" not in name and name not in places.values()}
        KINDS[kind.__name__] = kind
        kind.__doc__ = _documented(kind, own, lists)
        return kind
    return stored


def _documented(kind: type, own: Mapping[str, dataclasses.Field], lists: bool) -> str | None:
    """The docstring of a class with all its attributes, and a list of further fields if asked for."""
    if not kind.__doc__:  # python -OO
        return None
    text, after, known = "", "", {}
    for base in reversed(kind.__mro__):  # a class inherits what its base says of an attribute
        text, _, section = inspect.cleandoc(vars(base).get("__doc__") or "").partition("\n\nAttributes\n----------\n")
        said, _, after = section.partition("\n\n")
        known |= {name.strip(): f"{name.strip()} : {about}" for names, about in
                  re.findall(r"^(\w[\w, ]*) : (.*(?:\n    .*)*)", said, re.MULTILINE) for name in names.split(",")}
    parts = [text]
    if own:
        parts.append("\n".join(["Attributes", "----------",
                                *(known.get(name) or _entry(field, kind.stored[name][1]) for name, field in own.items())]))
    if after:
        parts.append(after)
    if lists:
        parts += ["Notes\n-----\nFields of the file, each an attribute where the file has it:", "\n".join(
            line for name, field in kind.further.items()
            for line in textwrap.wrap(f"- `{name}`: {field['meaning']}", 100, subsequent_indent="  "))]
    return "\n\n".join(parts)


def _entry(field: dataclasses.Field, about: Mapping[str, str]) -> str:
    """What a docstring says of an attribute that `FIELDS` has."""
    kind = re.sub(r"tuple\[([^\]]*), \.\.\.\]", r"tuple of \1", field.type)
    kind = re.sub(r"Mapping\[(\w+), (\w+)\]", r"mapping of \1 to \2", kind).replace("np.", "").replace(" | ", " or ")
    if about.get("axes"):
        axes = about["axes"].split()
        kind = kind.replace("ndarray", f"ndarray of shape ({', '.join(axes)}{',' * (len(axes) == 1)})", 1)
    meaning = about.get("meaning", "")
    lines = textwrap.wrap(f"{meaning[:1].upper()}{meaning[1:]}." if meaning else "", 100)
    return "\n".join([f"{field.name} : {kind}", *(f"    {line}" for line in lines)])


class Stored:
    """Fields of the file that the class does not name are attributes, too, where the file has them."""

    stored: ClassVar[Mapping[str, tuple[str, Mapping[str, str]]]] = {}  # by attribute: the name in the file, its FIELDS
    further: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # of FIELDS, what no attribute names

    def __getattr__(self, name: str) -> Any:
        held = vars(self).get("_further", {})
        if name not in held:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return held[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *vars(self).get("_further", ())})


class Numbers(Stored):
    """Numbers, words and texts under the names of `FIELDS`; NaN where the file does not have one."""

    attributes: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name not in _NUMBERS and name != "gp_accuracy":
            return super().__getattr__(name)
        return self.attributes.get(name, math.nan)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.attributes})


def below(record: str, prefix: str, kind: str) -> tuple[str, ...]:
    """What follows `prefix` in the names of a record that begin with it: those of one kind."""
    return tuple(name.removeprefix(prefix) for name, field in FIELDS[record].items()
                 if name.startswith(prefix) and field["kind"] == kind)


def attributes(group: h5py.Group) -> dict[str, Any]:
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
