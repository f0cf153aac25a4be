"""Arguments as settings of a study: widths=[10] is what --set model.widths=[10] is to the program."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.base.paths import require_utf8
from headway.base.signatures import keys_of
from headway.errors import UsageError


def overlays_of(caller: str, verb: str, given: Mapping[str, Any],
                settings: Mapping[str, Any] | None) -> dict[str, tuple[str, str]]:
    """{dotted key of a study: (the argument that gives it, its value as a study spells it)}.

    `given` has bare keys of the sections that a verb reads, `settings` has dotted ones. UsageError for a value that a
    study cannot hold, and for two values of one key. The program says whether a value is allowed.
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise UsageError(f"settings: is {settings!r}; allowed: a mapping such as "
                         "{\"solve.corrections\": \"off\"}")
    keys = keys_of(verb)
    overlays = {keys[name].dotted: (name, toml(name, value)) for name, value in given.items()}
    for key, value in (settings or {}).items():
        name = f"settings[{key!r}]"
        given_by, known = overlays.setdefault(key, (name, toml(name, value)))
        if known != toml(name, value):
            raise UsageError(f"{caller}: {given_by} = {known} and {name} = {toml(name, value)} are given; "
                             "allowed: one of them")
    return overlays


def toml(name: str, value: Any) -> str:
    """A value as a study spells it; UsageError naming the argument where it cannot."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -2**63 <= value < 2**63:
            raise UsageError(f"{name}: is {value}; allowed: whole numbers of 64 bits")
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else str(value)
    if isinstance(value, str):
        require_utf8(name, value)
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(toml(f"{name}[{at}]", item) for at, item in enumerate(value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(f'{name}[{key!r}]', item)}"
                               for key, item in value.items()) + "}"
    raise UsageError(f"{name}: is {value!r}, of type {type(value).__name__}; allowed: numbers, texts, "
                     "lists and mappings of them")
