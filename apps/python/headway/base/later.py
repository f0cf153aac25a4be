"""Results in memory that are read when one of their fields is first asked for.

Reading takes most of the time of a small computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


class Later:
    """Stands in a class for a field that an object may not have yet. Python asks it only where the object lacks the field."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        held = vars(owner)
        read = held.get("_read")
        if read is not None:
            held.update(vars(read()))
            held.pop("_read", None)  # last, for other threads
        if self._name not in held:
            raise AttributeError(f"{type(owner).__name__} has no field {self._name!r}")
        return held[self._name]

    def __repr__(self) -> str:
        return f"<field {self._name}>"


def may_come_later(kind: type[T]) -> type[T]:
    """Makes a dataclass one whose objects `unread` can make."""
    for field in fields(kind):
        setattr(kind, field.name, Later(field.name))
    return kind


def unread(kind: type[T], read: Callable[[], T]) -> T:
    """An object that becomes what `read` gives when one of its fields is asked for."""
    made = object.__new__(kind)
    vars(made)["_read"] = read
    return made
