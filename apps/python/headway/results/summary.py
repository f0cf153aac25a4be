"""Results as small JSON, for repositories and papers: what the file says under the names of its fields,
with what is needed to make it again, and without its large arrays."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np

from headway.base import hdf5
from headway.base.files import path_to_write, refuse_inputs, write_text
from headway.errors import UsageError
from headway.results.reading import plain
from headway.results.result_reader import provenance_of

DIGITS = 5  #: significant ones that are kept
LARGEST = 500  #: numbers in an array that is kept

_AT_ROOT = frozenset(("schema_name", "schema_version", "study_toml", "text_sha256"))
_LIST = re.compile(r"\[[^\[\]{}\"]*\]")  # of numbers
_ABSOLUTE = re.compile(r"(?<![^\s=\"'\[,])/[^\s\"'\],]+")  # paths, of options too
_LEFT_OUT = frozenset(("weights", "best_weights", "tokenizer", "documentation"))


class _Limits(NamedTuple):
    largest: int
    without: frozenset[str]


def summary(path: str | os.PathLike, largest: int = LARGEST, without: Collection[str] = ()) -> dict[str, Any]:
    """What a result of any kind says: attributes and arrays under the names of src/io/README.md,
    numbered groups (points, runs, ...) as lists, numbers with five significant digits, NaN as None.

    `made` holds what made it: command (of absolute paths the last part), commit, compiler, linear
    algebra with the instruction set that it ran on, threads, seconds. Left out: weights, arrays of more than `largest`
    numbers, and what has a name in `without`, at any depth.
    Errors: as read_result.
    """
    with hdf5.open_file(path) as file:
        hdf5.check_schema(file, "headway-result")
        hdf5.check_texts(file)
        made = {name: _rounded(value) for name, value in provenance_of(file).items()
                if name not in _AT_ROOT}
        made["command"] = _ABSOLUTE.sub(lambda found: os.path.basename(found[0]), str(made.get("command", "")))
        out = {"kind": hdf5.text(file.attrs.get("kind", "")), "made": made}
        found = _group(file, _Limits(largest, _LEFT_OUT.union(without)))
    known = {*made, *out, *_AT_ROOT}
    return out | {name: value for name, value in found.items() if name not in known}


def write_summary(results: str | os.PathLike | Sequence[str | os.PathLike], path: str | os.PathLike,
                  overwrite: bool = False, largest: int = LARGEST, without: Collection[str] = ()) -> Path:
    """Writes {"results": [summary, ...]} of one result file or several, whole or not at all.

    Errors: as summary(); UsageError without results, for a `largest` below 0, and for a name in `without` that no result has; CannotWriteError where the file exists already
    and `overwrite` is not set, is one of the results, or cannot be written.
    """
    files = [results] if isinstance(results, (str, os.PathLike)) else list(results)
    if not files:
        raise UsageError("results: there is none; allowed: at least one result file")
    refuse_inputs(path_to_write(path), files)
    if isinstance(largest, bool) or not isinstance(largest, (int, np.integer)) or largest < 0:
        raise UsageError(f"largest: is {largest!r}; allowed: a whole number from 0")
    _require_known(files, without)
    return write_summaries([summary(file, largest, without) for file in files], path, overwrite)


def write_summaries(summaries: Sequence[dict[str, Any]], path: str | os.PathLike, overwrite: bool = False) -> Path:
    """Writes {"results": [...]}, whole or not at all. An entry is what summary() gives, or holds other numbers, which are
    rounded likewise, beside the `made` of the result that they come from. Errors: CannotWriteError, as write_summary().
    """
    text = json.dumps({"results": _rounded(list(summaries))}, indent=1, allow_nan=False)
    return write_text(_LIST.sub(lambda found: _one_line(found[0]), text) + "\n", path, overwrite)


def _require_known(files: Sequence[str | os.PathLike], without: Collection[str]) -> None:
    """UsageError where a name that is to be left out stands in none of the files: it is hardly what was meant."""
    if not without:
        return
    if isinstance(without, str):
        raise UsageError(f"without: is {without!r}; allowed: a collection of names")
    known: set[str] = set()

    def gather(name: str, item: h5py.Group | h5py.Dataset) -> None:
        known.update(item.attrs, [name.rpartition("/")[2]])
    for path in files:
        with hdf5.open_file(path) as file:
            known.update(file.attrs)
            file.visititems(gather)
    unknown = [name for name in without if name not in known]
    if unknown:
        near = difflib.get_close_matches(str(unknown[0]), sorted(known), 1)
        raise UsageError(f"without: has {unknown[0]!r}, a name that no result has"
                         + (f"; did you mean {near[0]}?" if near else "; allowed: names of their groups, arrays and attributes"))


def _one_line(found: str) -> str:
    return " ".join(found.split()).replace("[ ", "[").replace(" ]", "]")


def _group(group: h5py.Group, limits: _Limits) -> Any:
    members = {name: item for name, item in group.items() if name not in limits.without and not hdf5.is_scale(item)}
    if members and not len(group.attrs) and all(name.isdigit() for name in members):
        return [_item(members[name], limits) for name in sorted(members, key=int)]
    out = {name: _rounded(plain(value)) for name, value in group.attrs.items()
           if name not in limits.without}
    for name, item in members.items():
        value = _item(item, limits)
        if value is not None and value != {}:
            out[name] = value
    return out


def _item(item: h5py.Group | h5py.Dataset, limits: _Limits) -> Any:
    if isinstance(item, h5py.Group):
        return _group(item, limits)
    if item.size is None or item.size > limits.largest:
        return None
    columns = hdf5.text(item.attrs.get("columns", "")).split(",")
    if len(columns) > 1 and item.ndim == 2 and item.shape[1] == len(columns):
        return {name: _rounded(item[:, at]) for at, name in enumerate(columns) if name}
    if h5py.check_string_dtype(item.dtype) is not None:
        return hdf5.texts(item)
    return _rounded(item[()])


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(entry) for name, entry in value.items()}
    if isinstance(value, (np.ndarray, list)):
        return [_rounded(entry) for entry in value]
    if isinstance(value, (bytes, str)):
        return hdf5.text(value)
    if isinstance(value, (float, np.floating)):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
