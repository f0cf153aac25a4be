"""One page that shows results, works without a network, and needs nothing but a browser.

    headway.write_report(["solve.h5", "sample.h5"], "report.html")
    python -m headway report solve.h5 sample.h5 -o report.html
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from headway.errors import CannotWriteError, HeadwayError, UsageError
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
    path = Path(path)
    if path.is_dir():
        raise CannotWriteError(f"{path}: is a folder")
    if path.exists() and not overwrite:
        raise CannotWriteError(f"{path}: exists already; --force (overwrite=True) replaces it")
    text = page([read_any(file) for file in files], labels)
    _publish(text.encode("utf-8"), path)
    return path


def _publish(data: bytes, path: Path) -> None:
    """The bytes under their name, complete, or no file of that name."""
    partial = None
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".partial")
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        os.replace(partial, path)
    except OSError as error:
        if isinstance(error, HeadwayError):
            raise
        raise CannotWriteError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if partial is not None and os.path.exists(partial):
            os.unlink(partial)
