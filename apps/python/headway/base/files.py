"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

from headway.base.paths import WRITTEN, flag_of, text_of_path
from headway.errors import CannotWriteError, HeadwayError

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
    partial, held, folders = None, None, []
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
        partial, held = _new_file_beside(path)
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
        if held is not None:
            os.close(held)
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


# The program's temporary files have such names, too. Whoever writes one holds its lock, so one without is an orphan, and the
# next writer in the folder removes it.
TEMPORARY_PREFIX, TEMPORARY_SUFFIX = ".headway-", ".tmp"


def _new_file_beside(path: Path) -> tuple[str, int]:
    """An empty file in the same folder under a name of its own, and the descriptor that holds its lock."""
    _remove_orphans(path.parent)
    while True:
        partial = os.fspath(path.with_name(f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"))
        held = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        if _lock(held, partial) is not Lock.TAKEN:
            return partial, held
        os.close(held)  # another process took it for an orphan before it was locked


class Lock(Enum):
    HELD = "held"
    TAKEN = "by another process, or the name is no longer that of this file"
    NONE = "this system or file system has no locks"


def _lock(descriptor: int, name: str | os.PathLike) -> Lock:
    """Locks a file under its name until the descriptor is closed.

    A lock of the open file (Linux): HDF5 asks for other ones.
    """
    try:
        import fcntl
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except (ImportError, AttributeError):
        return Lock.NONE
    except OSError as error:
        return Lock.TAKEN if error.errno in (errno.EAGAIN, errno.EACCES) else Lock.NONE
    try:
        return Lock.HELD if os.path.samestat(os.fstat(descriptor), os.stat(name, follow_symlinks=False)) else Lock.TAKEN
    except OSError:
        return Lock.TAKEN


def _remove_orphans(folder: Path) -> None:
    """Removes the temporary files that killed processes left in a folder; those of living ones stay."""
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        if not (name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)):
            continue
        try:
            left = os.open(folder / name, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            if stat.S_ISREG(os.fstat(left).st_mode) and _lock(left, folder / name) is Lock.HELD:
                os.unlink(folder / name)
        except OSError:
            pass
        finally:
            os.close(left)


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
    elif path.exists():
        os.chmod(partial, stat.S_IMODE(path.stat().st_mode) & 0o777)  # who may read a file stays as it was
    os.replace(partial, path)
    return True
