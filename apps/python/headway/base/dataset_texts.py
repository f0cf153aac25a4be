"""Words in messages about arrays."""

from __future__ import annotations

import math

import numpy as np


def number(value: float) -> str:
    """The shortest text that is this number: 0.1, 2, nan."""
    return "nan" if math.isnan(value) else repr(float(value)).removesuffix(".0")


def masked_fault(name: str, array: np.ma.MaskedArray, begin: int = 0) -> str:
    """Of an array with np.ma.is_masked(); `begin`: its first example's number."""
    at = np.argwhere(np.ma.getmaskarray(array))[0].tolist()
    return f"{name}{[at[0] + begin, *at[1:]] if at else ''}: is masked; allowed: numbers"
