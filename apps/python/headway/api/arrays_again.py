"""The arrays of a result that a file or another process has: the result does not hold them, and they are given again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import h5py

from headway.api.arrays import GivenArrays
from headway.api.held_arrays import HeldArrays
from headway.base import hdf5
from headway.base.dataset_table import ARGUMENTS
from headway.base.remaking import of_arrays
from headway.errors import BadDataError, UnreadableFileError, UsageError
from headway.results.result_reader import provenance_of

Arrays = TypeVar("Arrays", bound=HeldArrays)
_LACKS = ", which it does not hold"  # the program's words


def made_from_arrays(source: Any) -> bool:
    """Whether it is a result, or the path of one, that was made from arrays in memory."""
    return of_arrays(_provenance(source))


def data_again(source: Any, data: Arrays) -> Arrays:
    """These arrays, as those of the result. BadDataError unless they are the ones that it was made from."""
    if data.content_hash != _provenance(source).get("data_hash"):
        raise BadDataError("the arrays are not those that the result was made from: their hashes differ; allowed: the same numbers, "
                           "types and further arguments, such as heads, classes, sets, head_names and readout")
    data.as_in_file()
    return data


def arrays_as_one(given: Any) -> GivenArrays:
    """The argument `data`: a headway.Dataset, or its arguments as a mapping."""
    if isinstance(given, GivenArrays):
        return given
    if not isinstance(given, Mapping):
        raise UsageError(f"data: is of type {type(given).__name__}; allowed: a headway.Dataset, or a mapping with its arguments, such as "
                         "{\"inputs\": x, \"labels\": y}")
    unknown = [str(name) for name in given if name not in ARGUMENTS]
    if unknown:
        raise UsageError(f"data: has the unknown key {unknown[0]!r}; allowed: {', '.join(ARGUMENTS)}")
    if given.get("labels") is None or not {"features", "inputs"} & set(given):
        raise UsageError("data: has no labels with inputs or features; allowed: the arrays that the result was made from")
    return GivenArrays(given)


@contextmanager
def how_to_go_on(call: str) -> Iterator[None]:
    """In this block an error about a result that lacks its arrays says in which call they can be given again."""
    try:
        yield
    except UnreadableFileError as error:
        what, lacks, _ = str(error).partition(_LACKS)
        if not lacks:
            raise
        raise UnreadableFileError(f"{what}{lacks}; pass the same arrays again: {call}") from None


def _provenance(source: Any) -> Mapping[str, Any]:
    if isinstance(source, (str, os.PathLike)):
        if not os.path.isfile(source) or not h5py.is_hdf5(source):
            return {}
        with hdf5.open_file(source) as file:
            return provenance_of(file)
    return getattr(source, "provenance", {})
