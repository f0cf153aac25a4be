"""Making and checking of data-set files (schema headway-dataset 1.0) in all four attention forms."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from headway import native
from headway.api.array_arguments import EMPTY_GROUP
from headway.api.arrays import GivenArrays
from headway.api.dataset_files import create_numbers, new_file, write_header
from headway.base import hdf5
from headway.base.dataset_table import ARGUMENTS, PLACES
from headway.base.files import path_to_write
from headway.base.paths import described, text_of_path
from headway.base.signatures import refusing, with_known_arguments
from headway.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from headway.api.dataset import Dataset

#: Names that some arguments of headway.Dataset have in write_dataset, too.
_OLDER = {"train_path_features": "features", "test_path_features": "test_features",
          **{f"train_{name}": name for name in ("inputs", "labels", "attention", "mask", "ids")}}


def write_dataset(path: str | os.PathLike, data: Dataset | None = None, *, note: str | None = None,
                  dtype: DTypeLike | None = None, overwrite: bool = False, **arrays: Any) -> Path:
    """Write a data set that `headway solve FILE.h5` takes, after checking all of it.

    Inputs may come without attention, for studies that let it be learned (`attention_prior`). Further sets alone, without
    training examples, need no labels: they are new inputs for `headway.predict`.

    Parameters
    ----------
    path : str or path
        The file, which appears whole or not at all. A folder that is missing is made.
    data : Dataset, optional
        The arrays.
    note : str, optional
        What the data are, in words.
    dtype : {'float32', 'float64'}, optional
        Type of the arrays in the file; default: float32 stays so, all else becomes float64.
    overwrite : bool, default: False
        Replace a file that exists.
    **arrays : array_like, optional
        In place of `data`: the arguments of `headway.Dataset`. Those of training examples may begin with `train_`, as in
        `train_inputs`; `train_path_features` and `test_path_features` are its `features` and `test_features`.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    BadDataError
        All faults of the arrays, each with argument, index, value and what is allowed.
    CannotWriteError
        The file exists without overwrite=True, or cannot be written.
    UsageError
        `path`, `dtype` or `classes` is not allowed; or an argument does not exist.

    Examples
    --------
    >>> import numpy as np, headway
    >>> rng = np.random.default_rng(1)
    >>> x, w = rng.standard_normal((12, 3, 5)), rng.standard_normal((2, 5, 5))
    >>> data = headway.Dataset(inputs=x, labels=np.resize([1, -1], 12), attention_weights=[w, w])
    >>> path = headway.write_dataset("mine.h5", data)
    >>> headway.check_dataset(path)
    []
    """
    path, dtype = path_to_write(path), _checked_dtype(dtype)
    if data is not None and not isinstance(data, GivenArrays):
        raise UsageError(f"data: is {described(data)}; allowed: a headway.Dataset")
    if data is not None and arrays:
        raise UsageError(f"headway.write_dataset: has both data and the argument {next(iter(arrays))}; allowed: one of them")
    if data is None:
        data = _of_arguments(arrays, dtype)
    elif dtype is not None:
        data = GivenArrays(data._given, dtype=dtype)
    held = data._checked()
    with new_file(path, overwrite) as file:
        write_header(file, note, held.readout, held.rows)
        _fill(file, held.arrays, held.heads)
    return path


write_dataset = refusing("headway.write_dataset", ("path", "data", "note", "dtype", "overwrite", *_OLDER, *ARGUMENTS), write_dataset)


def _of_arguments(arrays: Mapping[str, Any], dtype: np.dtype | None) -> GivenArrays:
    """The data set of the arguments of write_dataset, whose messages have the names that it was given."""
    renamed = {_OLDER.get(name, name): value for name, value in arrays.items() if value is not None}
    if len(renamed) < sum(value is not None for value in arrays.values()):
        twice = next(name for name in arrays if name in _OLDER and _OLDER[name] in arrays)
        raise UsageError(f"headway.write_dataset: has both the arguments {_OLDER[twice]} and {twice}; allowed: one of them")
    names = {PLACES[new]: old for old, new in _OLDER.items() if new not in arrays}
    return GivenArrays(renamed, dtype=dtype, names=names)


@with_known_arguments
def check_dataset(path: str | os.PathLike) -> list[str]:
    """List every fault of a data-set file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    list of str
        One sentence for each fault, in the words of `headway validate`; empty if there are none.

    Raises
    ------
    UsageError
        It is no path.
    UnreadableFileError
        The file is missing or cannot be opened.
    BadDataError
        The file is not HDF5.

    Examples
    --------
    >>> headway.check_dataset("mine.h5")  # doctest: +SKIP
    ['train/labels: shape [10]; allowed: [P] or [P, C] with extents [12, 1], none zero']
    """
    path = text_of_path("path", path, "the path of a data-set file")
    with hdf5.open_file(path):
        return native.module().check_file(path)


def _checked_dtype(dtype: Any) -> np.dtype | None:
    if dtype is None:
        return None
    try:
        known = np.dtype(dtype)
    except (TypeError, ValueError):
        known = None
    # numpy takes None for float64, also where it compares
    if known is None or known not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise UsageError(f"dtype: is {dtype!r}; allowed: \"float32\", \"float64\" or None")
    return known


def _fill(file: h5py.File, arrays: Mapping[str, Any], heads: list[int]) -> None:
    for path, value in arrays.items():
        if value is EMPTY_GROUP:
            file.require_group(path)
        elif isinstance(value, list):
            file.create_dataset(path, data=value, dtype=h5py.string_dtype())
        else:
            numbers = np.asarray(value)
            create_numbers(file, path, numbers.shape, numbers.dtype, numbers)
        if path.endswith("/path_features"):
            file[path].attrs["heads"] = np.asarray(heads)
