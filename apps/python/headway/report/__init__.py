"""One page that shows results, works without a network, and needs nothing but a browser.

    headway.write_report(["solve.h5", "sample.h5"], "report.html")
    python -m headway report solve.h5 sample.h5 -o report.html
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from headway.errors import UsageError
from headway.files import write_text
from headway.report.page import page
from headway.report.reading import read_any

__all__ = ["page", "read_any", "write_report"]


def write_report(results: str | os.PathLike | Sequence[str | os.PathLike], path: str | os.PathLike,
                 labels: Sequence[str] | None = None, overwrite: bool = False) -> Path:
    """Writes the page of one result file or of several, whole or not at all; returns its path.

    labels: a name for each result (default: its study and verb).
    Errors: as read_result; UsageError for a wrong number of labels or equal ones, CannotWriteError
    where the page exists already and `overwrite` is not set, or cannot be written.
    """
    files = [results] if isinstance(results, (str, os.PathLike)) else list(results)
    if not files:
        raise UsageError("results: there is none; allowed: at least one result file")
    return write_text(page([read_any(file) for file in files], labels), path, overwrite)
