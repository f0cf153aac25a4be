"""Numbers as a page embeds them: short, and None where they are not finite."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np


def plain(value: Any) -> float | None:
    """A finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def rounded(values: Any, digits: int = 4) -> Any:
    """Nested lists of numbers of so many digits; what is not finite is None."""
    if np.ndim(values) > 0:
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}") if math.isfinite(values) else None


def packed(values: np.ndarray) -> dict[str, Any]:
    """An array as 16-bit integers in base64, the largest magnitude 32767: {"shape", "scale", "data"}."""
    largest = float(np.nanmax(np.abs(values))) if values.size else 0.0
    scale = largest / 32767.0 if largest > 0.0 else 1.0
    integers = np.nan_to_num(np.rint(values / scale)).astype("<i2")
    return {"shape": list(values.shape), "scale": scale,
            "data": base64.b64encode(integers.tobytes()).decode("ascii")}
