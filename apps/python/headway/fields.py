"""The fields of a result file, as the program lists them, and records of numbers under these names."""

from __future__ import annotations

import inspect
import json
import math
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import h5py
import numpy as np

from headway import hdf5

Kind = TypeVar("Kind", bound=type)

#: What every field of a result file means, by record. A test compares it with the program's own lists.
FIELDS = json.loads(Path(__file__).with_name("fields.json").read_text(encoding="utf-8"))
_NUMBERS = frozenset(name for record in FIELDS.values() for name, field in record.items()
                     if field["kind"] == "attribute")


def lists_fields(record: str) -> Callable[[Kind], Kind]:
    """For a class whose objects have the fields of a record under their names: lists them in its docstring."""
    def listed(kind: Kind) -> Kind:
        own = getattr(kind, "__dataclass_fields__", {})
        lines = [line for name, field in FIELDS[record].items()
                 if "/" not in name and name not in own and not (field["kind"] == "array" and issubclass(kind, Numbers))
                 for line in textwrap.wrap(f"- `{name}`: {field['meaning']}", 100, subsequent_indent="  ")]
        if kind.__doc__:
            kind.__doc__ = "\n".join([inspect.cleandoc(kind.__doc__), "", "Notes", "-----",
                                      "Fields of the file, each an attribute where the file has it:", "", *lines])
        return kind
    return listed


class Numbers:
    """Numbers, words and texts under the names of `FIELDS`; NaN where the file does not have one."""

    attributes: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name not in _NUMBERS and name != "gp_accuracy":
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
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
