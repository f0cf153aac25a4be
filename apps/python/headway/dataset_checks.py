"""What a data set must obey, checked on arrays in memory and on open HDF5 data sets alike.

Arrays are read in blocks of examples, so that a file never has to be in memory as a whole. All faults
are collected; each names the array, the index, the value and what is allowed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

READOUTS = ("last_token", "first_token", "mean")
ROW_SUM_TOLERANCE = {np.dtype(np.float64): 1e-6, np.dtype(np.float32): 1e-4}
FORMS = ("attention/weights", "attention/query and attention/key",
         "train/attention", "train/path_features")
BLOCK_ELEMENTS = 1 << 22
SET_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


@dataclass
class Split:
    """One split; every field is array-like (has shape, dtype and slices) or None.

    Of a further set these are the keys of `sets[name]` of headway.write_dataset.
    """

    inputs: Any = None
    labels: Any = None
    mask: Any = None
    attention: Sequence[Any] | None = None
    path_features: Any = None
    ids: Sequence[str] | None = None

    def empty(self) -> bool:
        return all(value is None for value in vars(self).values())


@dataclass
class Parts:
    """All parts of a data set, under the names of the file's layout."""

    train: Split = field(default_factory=Split)
    test: Split = field(default_factory=Split)
    sets: dict[str, Split] = field(default_factory=dict)
    weights: Sequence[Any] | None = None
    query: Sequence[Any] | None = None
    key: Sequence[Any] | None = None
    heads: Any = None
    head_names: Sequence[Sequence[str]] | None = None
    readout: str | None = None

    def splits(self) -> Iterator[tuple[str, Split]]:
        yield "train", self.train
        if not self.test.empty():
            yield "test", self.test
        for name in self.sets:
            yield f"sets/{name}", self.sets[name]

    def evaluated(self) -> Iterator[tuple[str, Split]]:
        """All splits but train."""
        return ((name, split) for name, split in self.splits() if name != "train")


class Checker:
    """Runs every check on `parts`; `name_of` turns a name of the file's layout into the user's."""

    def __init__(self, parts: Parts, name_of: Callable[[str], str] = lambda name: name):
        self.parts = parts
        self.name_of = name_of
        self.faults: list[str] = []

    def run(self) -> list[str]:
        self._set_names()
        form = self._form()
        if form is None:
            return self.faults
        if form == "train/path_features":
            self._path_features()
        else:
            self._inputs()
            self._masks()
            heads = {FORMS[0]: self._weights, FORMS[1]: self._query_key,
                     FORMS[2]: self._supplied}[form]()
            self._heads(heads, form)
        readout = self.parts.readout
        if readout is not None and readout not in READOUTS:
            self._fault("readout", f"is \"{readout}\"; allowed: {', '.join(READOUTS)}")
        self._labels()
        self._ids()
        return self.faults

    # ---- helpers

    def _fault(self, name: str, what: str) -> None:
        self.faults.append(f"{self.name_of(name)}: {what}")

    def _array(self, name: str, array: Any, shape: Sequence[int | str]) -> bool:
        """True if `array` is a non-empty array of real numbers with this shape; names match any size."""
        if array is None:
            self._fault(name, "is missing")
            return False
        dtype = np.dtype(array.dtype)
        if dtype.kind not in "fiub":
            self._fault(name, f"has type {dtype}; allowed: real numbers")
            return False
        wanted = "[" + ", ".join(map(str, shape)) + "]"
        actual = "[" + ", ".join(map(str, array.shape)) + "]"
        fits = len(shape) == len(array.shape) and all(
            isinstance(want, str) or want == size for want, size in zip(shape, array.shape))
        if not fits:
            self._fault(name, f"has shape {actual}; expected {wanted}")
        elif 0 in array.shape:
            self._fault(name, f"is empty (shape {actual}); every size must be at least 1")
            return False
        return fits

    def _finite(self, name: str, array: Any, mask: Any = None) -> bool:
        """True if all entries are finite; otherwise names the first that is not, and their number.

        mask [P, S]: what stands at masked tokens of [P, S, N_0] does not matter.
        """
        count, first = 0, None
        for begin, block in blocks(array):
            bad = ~np.isfinite(block)
            if mask is not None and mask.shape == array.shape[:2]:
                bad &= (np.asarray(mask[begin:begin + len(block)]) != 0)[:, :, None]
            if bad.any():
                count += int(bad.sum())
                if first is None:
                    index = np.argwhere(bad)[0]
                    first = (_at(index, begin), block[tuple(index)])
        if first is not None:
            more = f" ({count} such values)" if count > 1 else ""
            self._fault(name, f"is {first[1]} at {first[0]}{more}; allowed: finite numbers")
        return first is None

    # ---- names of the further sets

    def _set_names(self) -> None:
        for name in self.parts.sets:
            if not SET_NAME.fullmatch(name):
                self.faults.append(f"sets: \"{name}\" is no name of a set; allowed: a letter, then "
                                   "letters, digits, - and _, at most 40")
            elif name in ("train", "test"):
                self.faults.append(f"sets: \"{name}\" is taken by the split beside sets; allowed: "
                                   "any other name")

    # ---- which form

    def _form(self) -> str | None:
        parts = self.parts
        present = [form for form, given in zip(FORMS, (
            parts.weights is not None, parts.query is not None or parts.key is not None,
            any(split.attention is not None for _, split in parts.splits()),
            any(split.path_features is not None for _, split in parts.splits()))) if given]
        if len(present) == 1:
            return present[0]
        names = [" and ".join(self.name_of(name) for name in form.split(" and ")) for form in FORMS]
        if present:
            found = " beside ".join(names[FORMS.index(form)] for form in present)
            self.faults.append(f"{found}: exactly one form of attention is allowed")
        else:
            self.faults.append("no attention: exactly one of these must be given: "
                               + "; ".join(names))
        return None

    # ---- inputs and masks

    def _inputs(self) -> None:
        train = self.parts.train.inputs
        fits = self._array("train/inputs", train, ("P", "S", "N_0"))
        sizes = train.shape[1:] if fits else ("S", "N_0")
        if fits:
            self._finite("train/inputs", train, self.parts.train.mask)
        for split, data in self.parts.evaluated():
            name = f"{split}/inputs"
            if self._array(name, data.inputs, (_count_of(split), *sizes)):
                self._finite(name, data.inputs, data.mask)
        if self.parts.heads is not None:
            self._fault("heads", "is allowed with path features only; otherwise the attention "
                        "has them")

    def _masks(self) -> None:
        for split, data in self.parts.splits():
            name = f"{split}/mask"
            if data.mask is None:
                continue
            if data.inputs is None or len(data.inputs.shape) != 3:
                continue  # said already
            if not self._array(name, data.mask, data.inputs.shape[:2]):
                continue
            mask = np.asarray(data.mask[...])
            bad = np.argwhere((mask != 0) & (mask != 1))
            if len(bad):
                value = mask[tuple(bad[0])]
                self._fault(name, f"is {value} at {_at(bad[0])}; allowed: 0 (padding) and 1")
            empty = np.flatnonzero(~(mask != 0).any(axis=1))
            if len(empty):
                self._fault(name, f"example {empty[0]} has no real token ({len(empty)} such "
                            "examples); each needs at least one 1")

    # ---- the four forms of attention; each returns the number of heads of every layer

    def _features(self) -> int | str:
        inputs = self.parts.train.inputs
        return inputs.shape[2] if inputs is not None and len(inputs.shape) == 3 else "N_0"

    def _layers(self, name: str, arrays: Any) -> Sequence[Any]:
        if arrays is None or len(arrays) == 0:
            self._fault(name, "has no layers; give one array for each layer")
            return ()
        return arrays

    def _weights(self) -> list[int]:
        heads = []
        for layer, array in enumerate(self._layers("attention/weights", self.parts.weights), 1):
            name, features = f"attention/weights/layer_{layer}", self._features()
            if self._array(name, array, ("H_%d" % layer, features, features)):
                self._finite(name, array)
                heads.append(array.shape[0])
        return heads

    def _query_key(self) -> list[int]:
        heads = []
        query = self._layers("attention/query", self.parts.query)
        key = self._layers("attention/key", self.parts.key)
        if query and key and len(query) != len(key):
            self._fault("attention/key", f"has {len(key)} layers, "
                        f"{self.name_of('attention/query')} has {len(query)}")
        for layer, (q, k) in enumerate(zip(query, key), 1):
            names = [f"attention/{kind}/layer_{layer}" for kind in ("query", "key")]
            wanted = (f"H_{layer}", f"G_{layer}", self._features())
            if self._array(names[0], q, wanted):
                self._finite(names[0], q)
                wanted = q.shape
                heads.append(q.shape[0])
            if self._array(names[1], k, wanted):
                self._finite(names[1], k)
        return heads

    def _supplied(self) -> list[int]:
        heads: list[int] = []
        for split, data in self.parts.splits():
            arrays = self._layers(f"{split}/attention", data.attention)
            if split == "train":
                heads = [array.shape[1] if len(array.shape) == 4 else 0 for array in arrays]
            elif arrays and len(arrays) != len(heads):
                self._fault(f"{split}/attention",
                            f"has {len(arrays)} layers, train has {len(heads)}")
            tokens = ("P", "S")
            if data.inputs is not None and len(data.inputs.shape) == 3:
                tokens = data.inputs.shape[:2]
            for layer, array in enumerate(arrays, 1):
                name = f"{split}/attention/layer_{layer}"
                known = split != "train" and layer <= len(heads)
                count = heads[layer - 1] if known else f"H_{layer}"
                if self._array(name, array, (tokens[0], count, tokens[1], tokens[1])):
                    self._rows(name, array, data.mask)
        return heads

    def _rows(self, name: str, array: Any, mask: Any) -> None:
        """Rows (queries) of weights >= 0 that sum to one, zero at masked keys; masked rows are free."""
        tolerance = ROW_SUM_TOLERANCE.get(np.dtype(array.dtype), 1e-6)
        if mask is not None and mask.shape != (array.shape[0], array.shape[2]):
            mask = None  # said already
        for begin, block in blocks(array):
            block = np.asarray(block, dtype=float)
            real = np.ones((len(block), block.shape[2]), dtype=bool)
            if mask is not None:
                real = np.asarray(mask[begin:begin + len(block)]) != 0
            query, key = real[:, None, :, None], real[:, None, None, :]
            for bad, allowed in ((~np.isfinite(block) & query, "; allowed: finite numbers"),
                                 ((block < 0) & query, "; allowed: at least 0"),
                                 ((block != 0) & query & ~key, ", whose key is masked; allowed: 0")):
                if bad.any():
                    index = np.argwhere(bad)[0]
                    self._fault(name, f"is {block[tuple(index)]:.9g} at {_at(index, begin)}{allowed}")
                    return
            with np.errstate(invalid="ignore"):
                off = (np.abs(block.sum(axis=3) - 1.0) > tolerance) & real[:, None, :]
            if off.any():
                index = np.argwhere(off)[0]
                self._fault(name, f"row {_at(index, begin)} (example, head, query) sums to "
                            f"{block[tuple(index)].sum():.9g}; allowed: 1 within {tolerance:g}")
                return

    def _path_features(self) -> None:
        parts = self.parts
        for split, data in parts.splits():
            for field_name in ("inputs", "mask"):
                if getattr(data, field_name) is not None:
                    self._fault(f"{split}/{field_name}", "is not allowed beside path features")
        heads = self._path_heads()
        paths: int | str = math.prod(heads) if heads else "p"
        if self._array("train/path_features", parts.train.path_features, ("P", paths, "N_0")):
            self._finite("train/path_features", parts.train.path_features)
        for split, data in parts.evaluated():
            train, name = parts.train.path_features, f"{split}/path_features"
            wanted = train.shape[1:] if train is not None and len(train.shape) == 3 else (
                paths, "N_0")
            if self._array(name, data.path_features, (_count_of(split), *wanted)):
                self._finite(name, data.path_features)
        if heads:
            self._heads(heads, "train/path_features")

    def _path_heads(self) -> list[int]:
        if self.parts.heads is None:
            self._fault("heads", "is missing; path features need [H_1, ..., H_L]")
            return []
        heads = np.atleast_1d(np.asarray(self.parts.heads))
        if heads.dtype.kind == "f" and (heads == np.floor(heads)).all():
            heads = heads.astype(int)
        if heads.ndim != 1 or heads.size == 0 or heads.dtype.kind not in "iu":
            self._fault("heads", f"is {heads.tolist()}; allowed: a list of integers "
                        "[H_1, ..., H_L]")
            return []
        if (heads < 1).any():
            at = int(np.flatnonzero(heads < 1)[0])
            self._fault("heads", f"is {heads[at]} at [{at}]; allowed: at least 1")
            return []
        return [int(count) for count in heads]

    def _heads(self, heads: list[int], form: str) -> None:
        """Names of the heads, against their number."""
        names = self.parts.head_names
        if names is None:
            return
        if len(names) != len(heads):
            self._fault("names", f"has {len(names)} layers; the attention has {len(heads)}")
            return
        for layer, (known, count) in enumerate(zip(names, heads), 1):
            if len(known) != count:
                self._fault(f"names/layer_{layer}", f"has {len(known)} names for {count} heads")

    # ---- labels and ids

    def _labels(self) -> None:
        outputs: int | None = None
        for split, data in self.parts.splits():
            name = f"{split}/labels"
            count = self._examples(data)
            if data.labels is not None and len(data.labels.shape) == 2:
                fits = self._array(name, data.labels, (count, "C"))
            else:
                fits = self._array(name, data.labels, (count,))
            if not fits:
                continue
            self._finite(name, data.labels)
            columns = data.labels.shape[1] if len(data.labels.shape) == 2 else 1
            if split == "train":
                outputs = columns
            elif outputs is not None and columns != outputs:
                self._fault(name, f"has {columns} outputs; {self.name_of('train/labels')} has "
                            f"{outputs}")

    def _examples(self, data: Split) -> int | str:
        for array in (data.inputs, data.path_features):
            if array is not None and len(array.shape) == 3:
                return array.shape[0]
        return "P"

    def _ids(self) -> None:
        for split, data in self.parts.splits():
            count = self._examples(data)
            if data.ids is not None and isinstance(count, int) and len(data.ids) != count:
                self._fault(f"{split}/ids", f"has {len(data.ids)} entries for {count} examples")


def _count_of(split: str) -> str:
    """Symbol of the number of examples: "P_test", "P_validation"."""
    return "P_" + split.removeprefix("sets/")


def blocks(array: Any) -> Iterator[tuple[int, np.ndarray]]:
    """(first index, values) over the first axis, about 32 MiB of doubles at a time."""
    row = max(1, math.prod(array.shape[1:]))
    step = max(1, BLOCK_ELEMENTS // row)
    for begin in range(0, array.shape[0], step):
        yield begin, np.asarray(array[begin:begin + step])


def _at(index: Sequence[int], begin: int = 0) -> str:
    first, *rest = (int(i) for i in index)
    return "[" + ", ".join(map(str, (first + begin, *rest))) + "]"
