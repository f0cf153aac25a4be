"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.errors import CannotWriteError, HeadwayError


@contextmanager
def whole_file(path: str | os.PathLike, overwrite: bool, how_to_replace: str) -> Iterator[str]:
    """The name of a new file to be written, which takes the name `path` when the block ends without
    an error: with its bytes on the disk and the usual permissions.

    CannotWriteError where `path` is a folder, exists and `overwrite` is not set (`how_to_replace`
    says how it is), or cannot be written; nothing is left behind then.
    """
    path = Path(path)
    if path.is_dir():
        raise CannotWriteError(f"{path}: is a folder")
    if path.exists() and not overwrite:
        raise CannotWriteError(f"{path}: exists already; {how_to_replace} replaces it")
    partial = None
    try:
        handle, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.",
                                           suffix=f"{path.suffix}.partial")
        os.close(handle)
        yield partial
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(partial, 0o666 & ~mask)
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    except OSError as error:
        if isinstance(error, HeadwayError):
            raise
        reason = error.strerror or str(error).splitlines()[0]
        raise CannotWriteError(f"{path}: cannot be written: {reason}") from None
    finally:
        if partial is not None and os.path.exists(partial):
            os.unlink(partial)


def write_text(text: str, path: str | os.PathLike, overwrite: bool) -> Path:
    """Writes a text in UTF-8; returns its path. Errors: as whole_file()."""
    with whole_file(path, overwrite, "--force (overwrite=True)") as name:
        Path(name).write_text(text, encoding="utf-8", newline="\n")
    return Path(path)
