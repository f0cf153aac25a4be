"""Arguments as settings of a study: widths=[10] is what --set model.widths=[10] is to the program."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from headway import native
from headway.errors import UsageError


def overlays_of(caller: str, verb: str, given: Mapping[str, Any],
                settings: Mapping[str, Any] | None) -> list[str]:
    """"section.key=value" of every argument that is not None; `given` by bare keys of the sections
    that a verb reads, `settings` by dotted ones. UsageError for an unknown name, a value that a study
    cannot hold, and two values of one key; whether it is allowed the program says."""
    if settings is not None and not isinstance(settings, Mapping):
        raise UsageError(f"settings: is {settings!r}; allowed: a mapping such as "
                         "{\"solve.corrections\": \"off\"}")
    places = key_places(verb)
    overlays: dict[str, tuple[str, str]] = {}  # dotted key: the argument, and its value
    for name, value in given.items():
        if value is None:
            continue
        if name not in places:
            near = difflib.get_close_matches(name, places, 1)
            raise UsageError(f"{caller}: unknown argument {name}"
                             + (f"; did you mean {near[0]}?" if near else ""))
        overlays[places[name]] = name, toml(name, value)
    for key, value in (settings or {}).items():
        name = f"settings[{key!r}]"
        given_by, known = overlays.setdefault(key, (name, toml(name, value)))
        if known != toml(name, value):
            raise UsageError(f"{caller}: {given_by} = {known} and {name} = {toml(name, value)} are given; "
                             "allowed: one of them")
    return [f"{key}={value}" for key, (_, value) in overlays.items()]


@lru_cache(maxsize=None)
def key_places(verb: str) -> dict[str, str]:
    """Bare key: dotted key, of the sections that a verb reads; the verb's own section comes first."""
    sections = native.module().options()
    training = verb in ("train", "latents", "evaluate")
    order = (["", verb, "train"] if training else ["", "model", verb, "solve"])
    places: dict[str, str] = {}
    for section in dict.fromkeys(order):
        for key in sections.get(section, ()):
            places.setdefault(key, f"{section}.{key}" if section else key)
    places.pop("schema", None)
    return places


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
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple, range)):
        return "[" + ", ".join(toml(f"{name}[{at}]", item) for at, item in enumerate(value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml(f'{name}[{key!r}]', item)}"
                               for key, item in value.items()) + "}"
    raise UsageError(f"{name}: is {value!r}, of type {type(value).__name__}; allowed: numbers, texts, "
                     "lists and mappings of them")
