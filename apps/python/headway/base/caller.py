"""Warnings that point at the line which called the package, however deep inside the package they arise."""

from __future__ import annotations

import sys
import warnings


def warn(text: str, kind: type[Warning] = UserWarning) -> None:
    """Gives a warning that names the first line outside of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("headway", "contextlib"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, kind, stacklevel=level)
