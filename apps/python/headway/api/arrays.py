"""Arrays as a data set in memory: what headway.solve and its like take in place of a file; headway.Dataset is for users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from headway import native
from headway.api.array_arguments import EMPTY_GROUP, argument_name, arrays_of, given_network, given_sets, with_targets
from headway.api.dataset_files import UNHOLDABLE, check_name_layers
from headway.api.held_arrays import HeldArrays
from headway.base.dataset_table import PLACES
from headway.base.dataset_texts import masked_fault
from headway.base.labels import checked_classes, warn_of_whole_numbers
from headway.errors import BadDataError, UsageError

_NAMES = {place: name for name, place in PLACES.items()}


def _place_of(path: str, names: Mapping[str, str]) -> str:
    """The argument that a place in a data-set file stands for; `names` has those that go by other names than in PLACES."""
    group, _, layer = path.partition("/layer_")
    known = names.get(group) or _NAMES.get(group)
    return argument_name(path) if known is None else known + (f"[{int(layer) - 1}]" if layer else "")


class ArrayData(HeldArrays):
    """Checked arrays of a data set. They are not copied where they are C-contiguous and of float32 or
    float64, and must then not change while they are in use."""

    def __init__(self, arrays: Mapping[str, Any], heads: Any, readout: str | None,
                 name_of: Callable[[str], str], learned: bool = False, rows: str | None = None):
        self._given, self.readout, self.rows = arrays, readout, rows
        checked = native.module().check_arrays({
            "arrays": {path: None if value is EMPTY_GROUP else value for path, value in arrays.items()},
            "heads": None if heads is None else list(map(float, heads)), "readout": readout, "attention_rows": rows,
            "name_of": name_of, "learned": learned})
        if checked["faults"]:
            raise BadDataError(checked["faults"])
        self.heads, self.has_form, self._form = checked["heads"], checked["form"] is not None, checked["form"] or "weights"
        self._splits = checked["splits"]
        check_name_layers(_layers(arrays, "names") or None, self.heads)
        self._beside = f"{self.heads} {readout}" + (f" {rows}" if rows else "")
        super().__init__({path: value for path, value in arrays.items() if value is not EMPTY_GROUP})

    @property
    def arrays(self) -> Mapping[str, Any]:
        """By their places in a data-set file; an empty group is EMPTY_GROUP."""
        return self._given

    @cached_property
    def dataset(self) -> Any:
        """The data set of the extension module."""
        return native.module().Dataset(self._as_taken())

    def as_in_file(self) -> Any:
        """The data set with its hash, by which a result file knows it."""
        self.dataset.content_hash = self.content_hash
        return self.dataset

    def request(self, as_file: bool = False) -> dict[str, Any]:
        """As a computation takes it; `as_file`: with its hash, which a computation needs that reads the result as a file."""
        return {"dataset": self.as_in_file() if as_file else self.dataset}

    def __getstate__(self) -> dict[str, Any]:
        """Another process makes its data set when it needs one. It may lack the extension module."""
        return {name: value for name, value in vars(self).items() if name != "dataset"}

    def _as_taken(self) -> dict[str, Any]:
        """As apps/python/native/arrays.cpp takes them."""
        arrays = self._given
        extent = next(array for path, array in arrays.items() if path.endswith(("/path_features", "/inputs"))).shape[-1]
        given = {"form": self._form, "heads": self.heads, "features": extent,
                 "splits": {split.removeprefix("sets/"): _split(arrays, split) for split in self._splits}}
        for name, path in (("weights", "attention/weights"), ("query", "attention/query"),
                           ("key", "attention/key"), ("names", "names")):
            layers = _layers(arrays, path)
            if layers:
                given[name] = layers
        if "network/input" in arrays:
            given["network"] = {"input": arrays["network/input"],
                                "values": _layers(arrays, "network/values"),
                                "readout": arrays["network/readout"]}
        if self.readout is not None:
            given["readout"] = self.readout
        if self.rows is not None:
            given["any_rows"] = True
        return given


class GivenArrays:
    """Arrays by the names of PLACES, with `sets`, `network`, `heads`, `readout` and `classes`: checked when they are taken.

    BadDataError has all faults. Each names the argument, its value and what is allowed.
    """

    def __init__(self, given: Mapping[str, Any], *, learned: bool = True, dtype: np.dtype | None = None,
                 names: Mapping[str, str] | None = None, now: bool = True):
        """`learned`: inputs may come without attention. `dtype`: what arrays become. `names`: the arguments by their places,
        where they are not as in PLACES. `now`: else they are checked when they are first used."""
        self._given = {name: value for name, value in given.items() if value is not None}
        self._names = names or {}
        self._held = self._taken(learned, dtype) if now else None

    def _checked(self, learned: bool = True) -> ArrayData:
        """What a computation takes. BadDataError where inputs have no attention unless it is `learned`, and where arrays were
        changed in place."""
        if self._held is None or not (learned or self._held.has_form):
            self._held = self._taken(learned, None)
        self._held.require_unchanged()
        return self._held

    def _name_of(self, path: str) -> str:
        return _place_of(path, self._names)

    def _taken(self, learned: bool, dtype: np.dtype | None) -> ArrayData:
        given, faults = self._given, []
        classes, heads, readout = checked_classes(given.get("classes")), given.get("heads"), given.get("readout")
        if readout is not None and not isinstance(readout, str):
            raise UsageError(f"readout: is {readout!r}; allowed: \"last_token\", \"first_token\" or "
                             "\"mean\"")
        if readout is not None and UNHOLDABLE.search(readout):
            raise BadDataError(f"readout: is {readout!r}, which HDF5 cannot hold; allowed: printable text")
        if given.get("attention_rows") not in (None, "any"):
            raise UsageError(f"attention_rows: is {given['attention_rows']!r}; allowed: \"any\", or none")
        places = {PLACES[name]: value for name, value in given.items() if name in PLACES}
        places |= given_sets(given.get("sets"), faults) | given_network(given.get("network"), faults)
        arrays: dict[str, Any] = {}
        for place, value in places.items():
            if value is not None:
                arrays |= arrays_of(place, value, dtype, faults, self._name_of)
        if heads is not None:
            heads = _checked_heads(heads, faults)
            if not any(place.endswith("/path_features") for place in arrays):
                faults.append("heads: is allowed with path features only; otherwise the attention has them")
        arrays = with_targets(arrays, classes, faults, self._name_of)
        if faults:
            raise BadDataError(faults)
        data = ArrayData(arrays, heads, readout, self._name_of, learned, given.get("attention_rows"))
        labels = {place: array for place, array in arrays.items() if place.endswith("/labels")}
        train = labels.pop("train/labels", None)  # new inputs have none
        refused = train is not None and np.isin(train, (0, 1)).all() and any((array == -1).any() for array in labels.values())
        if train is not None and not refused:
            warn_of_whole_numbers(self._name_of("train/labels"), train, classes)
        return data


def _checked_heads(heads: Any, faults: list[str]) -> np.ndarray | None:
    if np.ma.is_masked(heads):
        faults.append(masked_fault("heads", heads))
        return None
    try:
        numbers = np.asarray(heads)
        if numbers.ndim == 1 and numbers.size and numbers.dtype.kind in "iu":
            return numbers
    except ValueError:
        pass
    faults.append(f"heads: is {heads!r}; allowed: a list of whole numbers H_1, ..., H_L")
    return None


def _layers(arrays: Mapping[str, Any], group: str) -> list[Any]:
    found = []
    while f"{group}/layer_{len(found) + 1}" in arrays:
        found.append(arrays[f"{group}/layer_{len(found) + 1}"])
    return found


def _split(arrays: Mapping[str, Any], split: str) -> dict[str, Any]:
    labels = arrays.get(f"{split}/labels")
    if labels is None:  # new inputs
        kind = "path_features" if f"{split}/path_features" in arrays else "inputs"
        labels = np.zeros((len(arrays[f"{split}/{kind}"]), 0))
    labels = np.asarray(labels, dtype=float)
    given = {"labels": np.ascontiguousarray(labels.reshape(len(labels), -1) if labels.size else labels)}
    if f"{split}/ids" in arrays:
        given["ids"] = arrays[f"{split}/ids"]
    if f"{split}/path_features" in arrays:
        return given | {"path_features": arrays[f"{split}/path_features"]}
    inputs, attention = arrays[f"{split}/inputs"], _layers(arrays, f"{split}/attention")
    if f"{split}/mask" in arrays:
        given["mask"] = arrays[f"{split}/mask"]
    return given | {"inputs": inputs} | ({"attention": attention} if attention else {})
