"""Results of every kind, those that this package has no object for as the list of their members."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py

from headway.base import hdf5
from headway.results.display import Brief
from headway.results.result_reader import KINDS, provenance_of, read_result

MEMBERS = 400  # the most that are listed


@dataclass(frozen=True, repr=False, eq=False)
class OtherResult(Brief):
    """A result of a verb that the pages do not know: its provenance, and (name, what it is) of its members, `left_out` of
    which are not listed."""

    file: Path
    kind: str
    study: str
    partial: bool
    members: tuple[tuple[str, str], ...]
    left_out: int = 0
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        return f"{self.study}, {len(self.members) + self.left_out} members"


def read_any(path: str | os.PathLike) -> Any:
    """read_result, or for other verbs than it knows an OtherResult. Errors as of read_result."""
    with hdf5.open_file(path) as file:
        hdf5.check_schema(file, "headway-result")
        kind = hdf5.text(file.attrs.get("kind", ""))
        if kind not in KINDS and kind:
            return _other(file, Path(path), kind)
    return read_result(path)


def _other(file: h5py.File, path: Path, kind: str) -> OtherResult:
    members: list[tuple[str, str]] = []

    def note(name: str, item: h5py.Group | h5py.Dataset) -> None:
        if hdf5.is_scale(item):
            return
        if isinstance(item, h5py.Dataset):
            shape = " × ".join(map(str, item.shape)) or "one value"
            what = "text" if h5py.check_string_dtype(item.dtype) is not None else str(item.dtype)
            members.append((name, f"{shape}, {what}"))
        members.extend((f"{name} @ {key}", _short(item.attrs[key])) for key in item.attrs if key != "DIMENSION_LIST")

    hdf5.check_texts(file)
    file.visititems(note)
    return OtherResult(
        file=path, kind=kind, study=hdf5.text(file.attrs.get("study", path.stem)),
        partial=bool(file.attrs.get("partial", 0)), members=tuple(members[:MEMBERS]),
        left_out=max(0, len(members) - MEMBERS), provenance=provenance_of(file))


def _short(value: Any) -> str:
    text = hdf5.text(value)
    return text if len(text) <= 120 else text[:117] + "..."
