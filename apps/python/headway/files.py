"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.errors import CannotWriteError, HeadwayError
from headway.paths import WRITTEN, flag_of, text_of_path

HDF5_BEGINS = b"\x89HDF\r\n\x1a\n"


@contextmanager
def whole_file(path: str | os.PathLike, overwrite: bool, how_to_replace: str) -> Iterator[str]:
    """The name of a new file to be written. When the block ends without an error, the file takes the name `path`, with its
    bytes on the disk and the usual permissions.

    A folder that is missing is made, as the program makes it; and removed if the file does not come to be.

    CannotWriteError where `path` is not a regular file, cannot be written, or exists without `overwrite`; the message then
    has `how_to_replace`. Nothing is left behind. Of several writers without `overwrite` one makes the file, and the others
    get this error. UsageError where `path` is none.
    """
    path = path_to_write(path)
    overwrite = flag_of("overwrite", overwrite)
    partial, folders = None, []
    try:
        if path.is_file() or not path.exists():
            path = Path(os.path.realpath(path))  # through links, also to a file that is not there yet
        exists = CannotWriteError(f"{path}: exists already; {how_to_replace} replaces it")
        if path.is_dir():
            raise CannotWriteError(f"{path}: cannot be written: is a folder")
        if path.exists():
            if not path.is_file():
                raise CannotWriteError(f"{path}: cannot be written: is not a regular file")
            if not overwrite:
                raise exists
        folders = make_folder_of(path)
        partial = _new_file_beside(path)
        yield partial
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        if not _published(partial, path, overwrite):
            raise exists
        folders = []
    except OSError as error:
        if isinstance(error, HeadwayError):
            raise
        reason = error.strerror or str(error).splitlines()[0]
        raise CannotWriteError(f"{path}: cannot be written: {reason}") from None
    finally:
        if partial is not None and os.path.exists(partial):
            os.unlink(partial)
        remove_folders(folders)


def path_to_write(path: Any) -> Path:
    """The argument `path` of a function that writes there; UsageError where it is no path."""
    return Path(text_of_path("path", path, WRITTEN))


def make_folder_of(path: str | os.PathLike) -> list[Path]:
    """Makes the folder of a file where it is missing; returns the new folders, the innermost first.

    CannotWriteError, which names the folder, where that is not possible.
    """
    folder, made = Path(path).parent, []
    missing = []
    while not os.path.lexists(folder):
        missing.append(folder)
        folder = folder.parent
    try:
        for folder in reversed(missing):
            folder.mkdir(exist_ok=True)
            made.insert(0, folder)
    except OSError as error:
        remove_folders(made)
        raise CannotWriteError(f"{path}: cannot be written: the folder {folder} cannot be made: {error.strerror or error}") from None
    return made


def remove_folders(folders: Iterable[Path]) -> None:
    """Removes those of these folders that are empty, the innermost first."""
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def refuse_existing(paths: Iterable[str | os.PathLike], how_to_replace: str) -> None:
    """CannotWriteError where one of these files exists.

    For several files that belong together: asked before the first is written, so that old and new ones do not mix.
    """
    for path in map(Path, paths):
        if path.is_file():
            raise CannotWriteError(f"{path}: exists already; {how_to_replace}")


def same_file(path: str | os.PathLike, other: str | os.PathLike) -> bool:
    """Whether two paths lead to one file that exists, by whatever links."""
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False


def refuse_inputs(target: str | os.PathLike, inputs: Iterable[str | os.PathLike]) -> None:
    """CannotWriteError where the file to be written is one of those that are read: what they hold would be lost."""
    for path in inputs:
        if same_file(target, path):
            raise CannotWriteError(f"{target}: is the input {path}; give another output")


def replace_text(text: str, path: str | os.PathLike) -> Path:
    """Writes a text in place of whatever file is there, except for one of HDF5: a table does not replace a result.

    Errors: as whole_file().
    """
    path = path_to_write(path)
    try:
        begins = b""
        if path.is_file():
            with open(path, "rb") as file:
                begins = file.read(len(HDF5_BEGINS))
    except OSError as error:
        raise CannotWriteError(f"{path}: cannot be written: {error.strerror or error}") from None
    if begins == HDF5_BEGINS:
        raise CannotWriteError(f"{path}: is an HDF5 file, which a table does not replace; give another path")
    return write_text(text, path, overwrite=True)


def write_text(text: str, path: str | os.PathLike, overwrite: bool) -> Path:
    """Writes a text in UTF-8; returns its path. Errors: as whole_file()."""
    return write_bytes(text.encode("utf-8"), path, overwrite)


def write_bytes(data: bytes, path: str | os.PathLike, overwrite: bool) -> Path:
    """Writes these bytes; returns the path. Errors: as whole_file()."""
    with whole_file(path, overwrite, "overwrite=True") as name:
        Path(name).write_bytes(data)
    return Path(path)


def _new_file_beside(path: Path) -> str:
    """An empty file in the same folder under a name of its own."""
    partial = os.fspath(path.with_name(f".{path.name}.{secrets.token_hex(8)}.partial"))
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    return partial


def _published(partial: str, path: Path, overwrite: bool) -> bool:
    """Gives the file its proper name; False where that is taken and `overwrite` is not set."""
    if not overwrite:
        try:
            os.link(partial, path)  # unlike a rename, it fails if someone has made the file meanwhile
            return True
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if path.exists():
                return False
    os.replace(partial, path)
    return True
