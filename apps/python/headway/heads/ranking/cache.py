"""A file that keeps what is finished, so that an interrupted ranking goes on where it stopped."""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from headway.base.files import write_bytes
from headway.base.paths import text_of_path
from headway.base.tensors import as_numpy
from headway.errors import UsageError
from headway.results.ranking.removal import CHANGE_FIELDS, Change
from headway.version import __version__

Row = tuple[int, int]  # layer and head


class Cache:
    """The changes without each head that is finished. With a path they are written whole after every head.

    Errors: UsageError where the file is of another model, other examples or other options.
    """

    def __init__(self, path: str | os.PathLike | None, fingerprint: Callable[[], str]):
        self._path = None if path is None else Path(text_of_path("cache", path, "the path of a file, or None"))
        self._found: dict[Row, Mapping[str, Change]] = {}
        self._fingerprint = "" if path is None else fingerprint()
        self._seen: tuple[int, ...] | None = None  # the file as it was read or written last
        self._read()

    def __contains__(self, row: Row) -> bool:
        return row in self._found

    def __getitem__(self, row: Row) -> Mapping[str, Change]:
        return self._found[row]

    def keep(self, row: Row, changes: Mapping[str, Change]) -> None:
        self._found[row] = changes
        if self._path is None:
            return
        self._read()  # another ranking may have added heads to the same file; if it does so from here on, its head is lost
        arrays = {f"{layer}/{head}/{name}/{part}": getattr(change, part) for (layer, head), changes in self._found.items()
                  for name, change in changes.items() for part in CHANGE_FIELDS}
        out = io.BytesIO()
        np.savez(out, fingerprint=np.array(self._fingerprint), **arrays)
        write_bytes(out.getvalue(), self._path, overwrite=True)
        self._seen = self._now()

    def _now(self) -> tuple[int, ...] | None:
        """What tells the file from another in its place; None where there is none."""
        try:
            found = os.stat(self._path)
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _read(self) -> None:
        """Takes the heads of the file that are not known here, unless it was read before."""
        now = None if self._path is None else self._now()
        if now is None or now == self._seen:
            return
        self._seen = now
        try:
            with open(self._path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except FileNotFoundError:
            return
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile) as error:
            why = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
            raise UsageError(f"cache: {self._path} cannot be read as a cache of rank_heads{why}; allowed: a file that it wrote, "
                             "or a name that is free") from None
        if str(arrays.pop("fingerprint", "")) != self._fingerprint:
            raise UsageError(f"cache: {self._path} is of another model, other examples or other options; allowed: the same again, "
                             "or a name that is free")
        found: dict[Row, dict[str, dict[str, np.ndarray]]] = {}
        for key, array in arrays.items():
            layer, head, name, part = key.split("/")
            found.setdefault((int(layer), int(head)), {}).setdefault(name, {})[part] = array
        for row, changes in found.items():
            self._found.setdefault(row, {name: Change(**parts) for name, parts in changes.items()})


def fingerprint(model: Any, encoded: Mapping[str, Any], y: np.ndarray, options: Any, rows: Any) -> str:
    """A hash of all that the removals depend on: weights, examples, labels, options, version."""
    digest = hashlib.sha256()
    for name, parameter in model.state_dict().items():
        array = as_numpy(name, parameter)
        digest.update(f"{name} {array.shape} {array.dtype}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    for name, value in sorted(encoded.items()):
        digest.update(name.encode() + np.ascontiguousarray(as_numpy(name, value)).tobytes())
    said = {"readout": options.readout, "penalty": options.penalty, "seed": options.seed, "grouped": options.grouped,
            "heads": None if options.heads is None else {name: int(count) for name, count in options.heads.items()}, "shared": options.shared,
            "rows": [[int(one) for one in column] for column in rows], "version": __version__}
    digest.update(np.ascontiguousarray(y).tobytes() + json.dumps(said).encode())
    return digest.hexdigest()
