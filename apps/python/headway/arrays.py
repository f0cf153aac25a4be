"""Arrays as a data set in memory: what headway.solve and its like take in place of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from headway import memory, native
from headway.dataset_checks import Checker
from headway.dataset_files import check_name_layers
from headway.dataset_table import SCHEMA_NAME, SCHEMA_VERSION
from headway.dataset_texts import masked_fault
from headway.datasets import EMPTY_GROUP, argument_name, arrays_of, given_network, given_sets, with_targets
from headway.errors import BadDataError, UsageError
from headway.held_arrays import HeldArrays
from headway.labels import checked_classes, warn_of_whole_numbers

#: The arguments that are arrays, and where a data-set file has them.
PATHS = {"features": "train/path_features", "inputs": "train/inputs", "labels": "train/labels",
         "mask": "train/mask", "attention": "train/attention",
         "attention_weights": "attention/weights", "query": "attention/query",
         "key": "attention/key", "head_names": "names", "test_features": "test/path_features",
         "test_inputs": "test/inputs", "test_labels": "test/labels", "test_mask": "test/mask",
         "test_attention": "test/attention"}
_NAMES = {path: name for name, path in PATHS.items()}


def _name_of(path: str) -> str:
    """The argument that a place in a data-set file stands for."""
    group, _, layer = path.partition("/layer_")
    if group in _NAMES:
        return _NAMES[group] + (f"[{int(layer) - 1}]" if layer else "")
    return argument_name(path)


class ArrayData(HeldArrays):
    """Checked arrays of a data set. They are not copied where they are C-contiguous and of float32 or
    float64, and must then not change while they are in use."""

    def __init__(self, arrays: Mapping[str, Any], heads: Any, readout: str | None,
                 name_of: Callable[[str], str] | None = None, learned: bool = False):
        self._given, self._readout = arrays, readout
        checker = Checker(_tree(arrays, heads, readout), name_of or _name_of, attribute="", learned=learned)
        faults = checker.run()
        if faults:
            raise BadDataError(faults)
        self.heads, self._form = checker.heads, checker.form or "weights"
        self._splits = sorted(checker.splits, key=_order)
        check_name_layers(_layers(arrays, "names") or None, self.heads)
        self._beside = f"{self.heads} {readout}"
        super().__init__({path: value for path, value in arrays.items() if value is not EMPTY_GROUP})
        self.dataset  # noqa: B018, refuses now what it does not take

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
        if self._readout is not None:
            given["readout"] = self._readout
        return given


def data_of(given: Mapping[str, Any], heads: Any = None, readout: Any = None, classes: Any = None,
            learned: bool = False) -> ArrayData:
    """The data set of the arguments named in PATHS, of `sets` and of `network`. BadDataError with all faults, each naming
    the argument, its value and what is allowed. `learned`: inputs may come without attention."""
    faults: list[str] = []
    classes = checked_classes(classes)
    if readout is not None and not isinstance(readout, str):
        raise UsageError(f"readout: is {readout!r}; allowed: \"last_token\", \"first_token\" or "
                         "\"mean\"")
    places = {PATHS[name]: value for name, value in given.items() if name in PATHS}
    places |= given_sets(given.get("sets"), faults) | given_network(given.get("network"), faults)
    arrays: dict[str, Any] = {}
    for place, value in places.items():
        if value is not None:
            arrays |= arrays_of(place, value, None, faults, _name_of)
    if heads is not None:
        heads = _checked_heads(heads, faults)
        if not any(place.endswith("/path_features") for place in arrays):
            faults.append("heads: is allowed beside features only; otherwise the attention has them")
    arrays = with_targets(arrays, classes, faults, _name_of)
    if faults:
        raise BadDataError(faults)
    data = ArrayData(arrays, heads, readout, learned=learned)
    warn_of_whole_numbers("labels", arrays["train/labels"], classes)
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


def _tree(arrays: Mapping[str, Any], heads: Any, readout: str | None) -> memory.Group:
    root: dict[str, Any] = {}
    for path, value in arrays.items():
        *groups, name = path.split("/")
        members = root
        for group in groups:
            members = members.setdefault(group, ({}, {}))[1]
        attributes = {"heads": heads} if name == "path_features" and heads is not None else {}
        members[name] = ({}, {}) if value is EMPTY_GROUP else (attributes, value)
    attributes = {"schema_name": SCHEMA_NAME, "schema_version": np.array(SCHEMA_VERSION)}
    if readout is not None:
        attributes["readout"] = readout
    return memory.Group("/", (attributes, root))


def _order(split: str) -> tuple:
    """Train, test, then the further sets by name, as in a file."""
    return (("train", "test").index(split) if split in ("train", "test") else 2, split)


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
