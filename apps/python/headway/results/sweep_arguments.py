"""Arguments that name a place of a sweep: a point by its number, a temperature by its value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from headway.base.paths import described
from headway.errors import UsageError

SAME_TEMPERATURE = 1e-6  # relative: float32(0.1) is 0.1


def number_of_a_temperature(name: str, temperature: Any) -> float:
    """A temperature that someone gave; UsageError, with this name of the argument, where it is no number."""
    if isinstance(temperature, (bool, np.bool_)) or not isinstance(temperature, (int, float, np.integer, np.floating)):
        raise UsageError(f"{name}: is {described(temperature)}; allowed: a number")
    return float(temperature)


def known_temperature(temperature: float, known: Iterable[float]) -> float | None:
    """The one of the known temperatures that this one is up to rounding; None if it is none of them."""
    near = [one for one in known if math.isclose(one, temperature, rel_tol=SAME_TEMPERATURE)]
    return min(near, key=lambda one: abs(one - temperature), default=None)


def checked_point(point: Any, count: int, file: object) -> int:
    """The argument `point` among so many points of a result; UsageError where there is no such one."""
    if isinstance(point, bool) or not isinstance(point, (int, np.integer)) or not -count <= point < count:
        raise UsageError(f"point: is {described(point)}; allowed: 0 to {count - 1}, the points of {file}, or "
                         "from -1, the last, down; \"best\"; or (width, temperature)")
    return int(point)
