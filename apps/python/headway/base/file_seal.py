"""The check sum at the end of every HDF5 file that Headway writes, which the program checks too (src/io/README.md).

HDF5 has no check sum for scalars, texts and some of its headers. It ignores what stands behind its end, and cuts it
off when it writes: a file that somebody edits loses its seal, and is then read without this check.
"""

from __future__ import annotations

import os
import zlib
from typing import BinaryIO

NAME = b"\nheadway crc32 of file: "
BYTES = len(NAME) + 8
_BLOCK = 1 << 20


def seal(path: str | os.PathLike) -> None:
    """Appends the CRC-32 of all bytes of the file."""
    with open(path, "r+b") as file:
        crc = _crc(file, os.path.getsize(path))
        file.seek(0, os.SEEK_END)
        file.write(_text(crc))


def is_sealed(path: str | os.PathLike) -> bool:
    """Whether the file ends with a check sum, right or wrong."""
    content = os.path.getsize(path) - BYTES
    if content < 0:
        return False
    with open(path, "rb") as file:
        file.seek(content)
        return file.read(len(NAME)) == NAME


def is_broken(path: str | os.PathLike) -> bool:
    """Whether the file ends with a check sum that is not that of its bytes."""
    content = os.path.getsize(path) - BYTES
    if content < 0:
        return False
    with open(path, "rb") as file:
        file.seek(content)
        end = file.read(BYTES)
        if not end.startswith(NAME):
            return False
        file.seek(0)
        return end != _text(_crc(file, content))


def _text(crc: int) -> bytes:
    return NAME + b"%08x" % crc


def _crc(file: BinaryIO, count: int) -> int:
    crc = 0
    while count > 0 and (block := file.read(min(count, _BLOCK))):
        crc = zlib.crc32(block, crc)
        count -= len(block)
    return crc
