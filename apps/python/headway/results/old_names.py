"""Names that results of 0.2 have for what the removal of a head costs.

Today every such number is the drop of a score or the rise of a loss: positive where the network needs the head.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_DROPS = {f"{score}_change": f"{score}_drop" for score in ("accuracy", "r2", "score")}
_TODAY = _DROPS | {f"{loss}_change": f"{loss}_rise" for loss in ("loss", "squared_error")}
_BEFORE = {new: old for old, new in _TODAY.items()}


def today(name: str) -> str:
    """The name that stands for an old one now: "accuracy_drop_sd" for "accuracy_change_sd"."""
    return _replaced(name, _TODAY)


def before(name: str) -> str:
    """The name that 0.2 had."""
    return _replaced(name, _BEFORE)


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


def _replaced(name: str, names: Mapping[str, str]) -> str:
    stem = next((stem for stem in names if f"{name}_".startswith(f"{stem}_")), "")
    return names.get(stem, "") + name.removeprefix(stem)


def _negative(value: Any) -> Any:
    if isinstance(value, list):
        return [_negative(one) for one in value]
    return None if value is None else 0.0 - value
