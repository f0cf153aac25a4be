"""Examples of one's own to train on: what headway.train takes in place of a study, and the file that holds them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway import native
from headway.api.dataset_files import create_numbers, new_file
from headway.api.held_arrays import HeldArrays
from headway.base import hdf5
from headway.base.dataset_table import set_name_fault
from headway.base.dataset_texts import masked_fault
from headway.base.files import path_to_write
from headway.base.signatures import explained
from headway.base.tensors import plain_array
from headway.errors import BadDataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_ORDER = ("tokens", "vectors", "targets", "loss_mask", "factors")


class ExampleData(HeldArrays):
    """Examples to train on, set by set. Arrays are not copied where they are C-contiguous, and must then not change while
    they are in use. The extension module checks them."""

    def __init__(self, sets: Mapping[str, Mapping[str, tuple[str, np.ndarray]]]):
        self._sets = sets
        super().__init__({f"{name}/{kind}": array for name, arrays in sets.items() for kind, (_, array) in arrays.items()})

    @cached_property
    def examples(self) -> Any:
        """What the extension module takes."""
        return native.module().Examples(list(self._sets.items()), self.content_hash)

    def as_in_file(self) -> Any:
        """The same: it always has its hash."""
        return self.examples

    def request(self, as_file: bool = False) -> dict[str, Any]:  # noqa: ARG002, as ArrayData has it
        """As a computation takes it."""
        return {"examples": self.examples}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "examples"}


def examples_of(given: Mapping[str, Any]) -> ExampleData:
    """The examples of the arguments named in EXAMPLES. BadDataError with all faults that show before the numbers are read."""
    faults: list[str] = []
    train = {kind: given[kind] for kind in _ORDER if given.get(kind) is not None}
    sets = {"train": _arrays(train, {kind: kind for kind in train}, faults)} | _further(given.get("sets"), faults)
    if faults:
        raise BadDataError(faults)
    # As in a file: test comes before the further sets, and these by name.
    return ExampleData({name: sets[name] for name in sorted(sets, key=lambda name: (name != "train", name != "test", name))})


def _further(sets: Any, faults: list[str]) -> dict[str, dict[str, tuple[str, np.ndarray]]]:
    if sets is None:
        return {}
    if not isinstance(sets, Mapping):
        faults.append("sets: is no mapping; allowed: {\"held_out\": (tokens, targets)}")
        return {}
    found = {}
    for name, value in sets.items():
        fault = None if name == "test" else set_name_fault(str(name))
        if fault:
            faults.append(f"sets: \"{name}\" is {fault}")
        elif isinstance(value, Mapping):
            unknown = [str(kind) for kind in value if kind not in _ORDER]
            if unknown:
                faults.append(f"sets[{name!r}]: has the unknown key {unknown[0]!r}; allowed: {', '.join(_ORDER)}")
            named = {kind: value[kind] for kind in _ORDER if value.get(kind) is not None}
            found[name] = _arrays(named, {kind: f"sets[{name!r}][{kind!r}]" for kind in named}, faults)
        elif isinstance(value, tuple) and len(value) in (2, 3):
            found[name] = _of_tuple(str(name), value, faults)
        else:
            faults.append(f"sets[{name!r}]: is of type {type(value).__name__}; allowed: (tokens, targets), (vectors, targets), "
                          "a loss mask as the third, or a mapping with these names")
    return found


def _of_tuple(name: str, value: tuple, faults: list[str]) -> dict[str, tuple[str, np.ndarray]]:
    """(inputs, targets) or (inputs, targets, mask). The number of dimensions says which inputs they are."""
    place = f"sets[{name!r}]"
    inputs = _array(f"{place}[0]", value[0], faults)
    rest = _arrays(dict(zip(("targets", "loss_mask"), value[1:])), {"targets": f"{place}[1]", "loss_mask": f"{place}[2]"}, faults)
    if inputs is None:
        return rest
    return {"tokens" if inputs.ndim == 2 else "vectors": (f"{place}[0]", inputs)} | rest


def _arrays(given: Mapping[str, Any], places: Mapping[str, str], faults: list[str]) -> dict[str, tuple[str, np.ndarray]]:
    """By kind; factors are each a kind of their own, "factors/NAME"."""
    factors = given.get("factors")
    if factors is not None:
        if not isinstance(factors, Mapping):
            faults.append(f"{places['factors']}: is of type {type(factors).__name__}; allowed: a mapping of names to integers [n]")
            factors = {}
        named = {str(name): factor for name, factor in factors.items()}
        given = {kind: value for kind, value in given.items() if kind != "factors"}
        for name in sorted(named):  # as a file has them
            place = f"{places['factors']}[{name!r}]"
            wrong = set_name_fault(name)
            if wrong:
                faults.append(f"{place}: is {wrong}")
            elif np.asarray(named[name]).dtype.kind in "US":
                faults.append(f"{place}: are words; allowed: whole numbers from 0, such as numpy.unique(words, return_inverse=True)[1]")
            else:
                given, places = given | {f"factors/{name}": named[name]}, {**places, f"factors/{name}": place}
    found = {kind: _array(places[kind], value, faults) for kind, value in given.items()}
    return {kind: (places[kind], array) for kind, array in found.items() if array is not None}


def _array(name: str, value: Any, faults: list[str]) -> np.ndarray | None:
    """A C-contiguous array of integers, booleans, float32 or float64; None, and a fault, where it is not an array of numbers."""
    if np.ma.is_masked(value):
        faults.append(masked_fault(name, value))
        return None
    try:
        with warnings.catch_warnings():  # numpy warns of lists of several lengths
            warnings.simplefilter("error")
            array = plain_array(value)
    except (ValueError, TypeError, RuntimeError, Warning) as error:
        faults.append(f"{name}: is not a rectangular array of numbers ({hdf5.reason(error)})")
        return None
    if array.dtype.kind not in "fiub":
        faults.append(f"{name}: has type {array.dtype}; allowed: integers or real numbers")
        return None
    kept = array.dtype.kind != "f" or array.dtype in (np.float32, np.float64)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=") if kept else np.float64)


@explained("train")
def write_examples(path: str | os.PathLike, *, tokens: ArrayLike | None = None, vectors: ArrayLike | None = None,
                   targets: ArrayLike | None = None, loss_mask: ArrayLike | None = None,
                   factors: Mapping[str, ArrayLike] | None = None, sets: Mapping[str, Any] | None = None, overwrite: bool = False) -> Path:
    """Write examples of your own to a file that a study can train on: `[task] kind = "arrays", file = PATH`.

    Networks that were trained on a file can be evaluated, pruned and ranked later, by the program too. A file without targets
    holds new examples for `headway.predict`.

    Parameters
    ----------
    path : str or path
        The file, which appears whole or not at all. A folder that is missing is made.
    {examples}
    overwrite : bool, default: False
        Replace a file that exists.

    Returns
    -------
    Path
        The path of the file.

    Raises
    ------
    BadDataError
        An array that is missing, or is no array of numbers. `headway.train` checks shapes and numbers.
    CannotWriteError
        The file exists without overwrite=True, or cannot be written.
    UsageError
        It is no path.

    Examples
    --------
    >>> import numpy as np, headway
    >>> rng = np.random.default_rng(1)
    >>> tokens = rng.integers(0, 5, (200, 6))
    >>> path = headway.write_examples("own.h5", tokens=tokens, targets=tokens[:, 0],
    ...                               sets={"test": (tokens[:50], tokens[:50, 0])}, overwrite=True)
    >>> path.name
    'own.h5'
    """
    path = path_to_write(path)
    given = {"tokens": tokens, "vectors": vectors, "targets": targets, "loss_mask": loss_mask, "factors": factors, "sets": sets}
    data = examples_of(given)
    if not {"tokens", "vectors"} & set(data._sets["train"]):
        raise BadDataError("headway.write_examples: needs tokens or vectors")
    with new_file(path, overwrite) as file:
        file.attrs["schema_name"] = "headway-examples"
        file.attrs["schema_version"] = np.array([1, 0], dtype=np.int64)
        for name, arrays in data._sets.items():
            group = name if name in ("train", "test") else f"sets/{name}"
            for kind, (_, array) in arrays.items():
                create_numbers(file, f"{group}/{kind}", array.shape, array.dtype, array)
    return path
