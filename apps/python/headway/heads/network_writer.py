"""Writing of data sets from the attention of networks, block by block, so that memory stays bounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway.api.dataset_files import check_name_layers, create_numbers, new_file, write_head_names, write_header
from headway.base.caller import warn
from headway.base.dataset_table import READOUTS
from headway.base.labels import as_targets, checked_classes, warn_of_whole_numbers
from headway.base.tensors import as_numpy
from headway.errors import BadDataError, UsageError
from headway.heads.network_batches import Block
from headway.heads.network_masks import require_attended

ROW_SUM_SLACK = 0.05  # rows of a network may miss a sum of 1 by this; dropout and scores before the softmax miss by more
ROW_SUM_ROUNDING = 0.005  # half precision explains gaps up to this; larger ones give a warning
MOST_PATHS = 2**31 - 1
MANY_PATHS = 256  # the theory is slow with more


@dataclass
class Source:
    """Examples of one split in order, `count` in all. `given` has labels and perhaps ids. `inputs` is the argument that
    holds the examples."""

    blocks: Callable[[], Iterator[Block]]
    count: int
    given: Mapping[str, Any]
    inputs: str = "inputs"


@dataclass
class Options:
    readout: str
    classes: int | None
    head_names: Sequence[Sequence[str]] | None
    note: str
    dtype: Any
    layers: Sequence[int] | None  # of the network, counted from 1; None: all

    def check(self) -> None:
        if self.readout not in READOUTS:
            raise UsageError(f"readout: is {self.readout!r}; allowed: {', '.join(READOUTS)}")
        if self.dtype not in ("float32", "float64", np.float32, np.float64):
            raise UsageError(f"dtype: is {self.dtype!r}; allowed: \"float32\" or \"float64\"")
        checked_classes(self.classes)


def checked_labels(sources: Mapping[str, Source], classes: int | None) -> dict[str, np.ndarray]:
    """The labels of all splits as the theory takes them (headway.base.labels), with its warning of class numbers."""
    labels: dict[str, np.ndarray] = {}
    for name, source in sources.items():
        array = as_numpy(f"{name}: labels", source.given["labels"])
        if array.ndim in (1, 2) and len(array) != source.count:
            raise BadDataError(f"{name}: {source.inputs}: have {source.count} examples, and labels have shape "
                               f"{list(array.shape)}; allowed: as many examples as labels, the first index of both "
                               "being the example")
        if array.ndim not in (1, 2) or array.dtype.kind not in "fiub":
            raise BadDataError(f"{name}: labels: have shape {list(array.shape)} and type {array.dtype}; "
                               f"allowed: numbers [{source.count}] or [{source.count}, C]")
        if not np.isfinite(array).all():
            at = int(np.flatnonzero(~np.isfinite(array.reshape(len(array), -1)).all(1))[0])
            raise BadDataError(f"{name}: labels[{at}]: {array[at]}; allowed: finite numbers")
        labels[f"{name}: labels"] = array.astype(np.float64)
    faults: list[str] = []
    targets = as_targets(labels, classes, faults)
    if faults:
        raise BadDataError(faults)
    found = dict(zip(sources, targets.values()))
    warn_of_whole_numbers("labels", found["train"], classes)
    return found


def write_labels(file: h5py.File, name: str, source: Source, labels: np.ndarray) -> None:
    """Labels of a split, and its ids where there are any."""
    create_numbers(file, f"{name}/labels", labels.shape, labels.dtype, labels)
    if source.given.get("ids") is not None:
        file.create_dataset(f"{name}/ids", data=[str(i) for i in source.given["ids"]],
                            dtype=h5py.string_dtype())


class _OwnError(Exception):
    """Carries an OSError of the network past code that would take it for an error of the file that is written."""

    def __init__(self, error: OSError):
        super().__init__()
        self.error = error


def guarded(blocks: Iterator[Block]) -> Iterator[Block]:
    try:
        yield from blocks
    except OSError as error:
        raise _OwnError(error) from None


@contextmanager
def network_errors() -> Iterator[None]:
    """Raises the error of the network that `guarded` noted."""
    try:
        yield
    except _OwnError as error:
        raise error.error from None


def write_network(path: Path, sources: Mapping[str, Source], options: Options, overwrite: bool) -> Path:
    options.check()
    labels = checked_labels(sources, options.classes)
    with network_errors(), new_file(path, overwrite, checked=True) as file:
        write_header(file, options.note, options.readout)
        shape: list[Any] = []
        for name, source in sources.items():
            write_labels(file, name, source, labels[name])
            _SplitWriter(file, name, source, np.dtype(options.dtype), shape).run()
        heads = shape[1:]
        check_name_layers(options.head_names, heads)
        write_head_names(file, options.head_names or _numbered_heads(heads, options.layers))
    return path


def _numbered_heads(heads: Sequence[int], layers: Sequence[int] | None) -> list[list[str]]:
    """"L11H3": the network's own numbers, counted from 1."""
    numbers = layers or range(1, len(heads) + 1)
    return [[f"L{layer}H{head}" for head in range(1, count + 1)]
            for layer, count in zip(numbers, heads)]


class _SplitWriter:
    """Writes the blocks of one split one after another.

    `shape` is shared by all splits: (S, N_0), H_1, ..., H_L of the first block of all.
    """

    def __init__(self, file: h5py.File, name: str, source: Source, dtype: np.dtype,
                 shape: list[Any]):
        self.file, self.name, self.source, self.dtype, self.shape = file, name, source, dtype, shape
        self.masked: bool | None = None
        self.row_sum_error = 0.0

    def run(self) -> None:
        begin = 0
        for block in guarded(self.source.blocks()):
            inputs = as_numpy(f"{self.name}: inputs", block.inputs, begin)
            attentions = [as_numpy(f"{self.name}: attention of layer {layer}", array, begin)
                          for layer, array in enumerate(block.attentions, 1)]
            mask = None if block.mask is None else as_numpy(f"{self.name}: mask", block.mask, begin) != 0
            self._check(begin, inputs, attentions, mask)
            if begin == 0:
                self._create(inputs, attentions, mask)
            part = slice(begin, begin + len(inputs))
            if mask is not None:
                self.file[f"{self.name}/mask"][part] = mask
                inputs = np.where(mask[:, :, None], inputs, 0.0)
            self.file[f"{self.name}/inputs"][part] = inputs
            for layer, array in enumerate(attentions, 1):
                where = f"{self.name}: attention of layer {layer}"
                rows, error = _clean_rows(array, mask, where, begin)
                self.file[f"{self.name}/attention/layer_{layer}"][part] = rows
                self.row_sum_error = max(self.row_sum_error, error)
            begin += len(inputs)
            self.file.flush()
        if begin != self.source.count:
            raise BadDataError(f"{self.name}: the network answered for {begin} of "
                               f"{self.source.count} examples")
        if self.row_sum_error > ROW_SUM_ROUNDING:
            warn(f"{self.name}: attention: rows sum to 1 within {self.row_sum_error:.2g} only; "
                 "they are normalised")

    def _check(self, begin: int, inputs: np.ndarray, attentions: Sequence[np.ndarray],
               mask: np.ndarray | None) -> None:
        name = self.name
        if inputs.ndim != 3:
            raise BadDataError(f"{name}: inputs: have shape {list(inputs.shape)}; allowed: [P, S, N_0]")
        b, s = inputs.shape[:2]
        for layer, array in enumerate(attentions, 1):
            if array.ndim != 4 or array.shape != (b, array.shape[1], s, s):
                raise BadDataError(f"{name}: attention of layer {layer}: has shape "
                                   f"{list(array.shape)}; allowed: [{b}, H, {s}, {s}]")
        if mask is not None and mask.shape != (b, s):  # a mask that is given was checked before
            raise BadDataError(f"{name}: the network answered for {b} of {len(mask)} examples of a batch")
        shape = [inputs.shape[1:], *(array.shape[1] for array in attentions)]
        if not self.shape:
            self.shape.extend(shape)
            check_paths(shape[1:])
        elif self.shape != shape:
            raise BadDataError(
                f"{name}: [S, N_0] = {list(shape[0])} and heads {shape[1:]}; the first examples have "
                f"{list(self.shape[0])} and {self.shape[1:]}. Pad all splits to one length")
        if begin > 0 and self.masked != (mask is not None):
            raise BadDataError(f"{name}: mask: is there for some examples and missing for others; allowed: all or none")
        self.masked = mask is not None

    def _create(self, inputs: np.ndarray, attentions: Sequence[np.ndarray],
                mask: np.ndarray | None) -> None:
        def create(part: str, shape: Sequence[int], dtype: Any) -> None:
            create_numbers(self.file, f"{self.name}/{part}", (self.source.count, *shape), dtype)
        create("inputs", inputs.shape[1:], self.dtype)
        if mask is not None:
            create("mask", mask.shape[1:], np.uint8)
        for layer, array in enumerate(attentions, 1):
            create(f"attention/layer_{layer}", array.shape[1:], self.dtype)


def check_paths(heads: Sequence[int]) -> None:
    paths = math.prod(heads)
    advice = "keep fewer layers with layers=[...]"
    if paths > MOST_PATHS:
        raise UsageError(f"heads {list(heads)} make {paths} attention paths; {advice}")
    if paths > MANY_PATHS:
        warn(f"heads {list(heads)} make {paths} attention paths, and the cost of the theory "
             f"grows as their square: {advice}")


def _clean_rows(attention: np.ndarray, mask: np.ndarray | None, where: str,
                begin: int) -> tuple[np.ndarray, float]:
    """The attention with rows that sum to one over the real keys, and zeros at masked keys and in rows of masked queries; and
    the largest distance of a given row's sum from one.

    Errors: BadDataError where a real row is not finite, negative, or does not sum to about one.
    """
    rows = attention.astype(np.float64)
    real = np.ones((len(rows), rows.shape[2]), bool) if mask is None else mask
    rows = np.where(real[:, None, :, None], rows, 0.0)
    with np.errstate(invalid="ignore"):
        sums = rows.sum(axis=3)
        bad = ~((np.abs(sums - 1.0) <= ROW_SUM_SLACK) & (rows.min(axis=3) >= 0.0))
    _refuse_rows(bad & real[:, None, :], rows, where, begin)
    error = float(np.abs(sums - 1.0).max(where=real[:, None, :], initial=0.0))
    rows *= real[:, None, None, :]
    sums = rows.sum(axis=3, keepdims=True)
    require_attended(where, sums[..., 0], real, begin)
    return rows / np.where(sums > 0.0, sums, 1.0), error


def _refuse_rows(bad: np.ndarray, rows: np.ndarray, where: str, begin: int) -> None:
    if not bad.any():
        return
    example, head, query = (int(i) for i in np.argwhere(bad)[0])
    row = rows[example, head, query]
    raise BadDataError(f"{where}: row [{begin + example}, {head}, {query}] (example, head, query) sums "
                       f"to {row.sum():.6g}, its smallest entry is {row.min():.6g}; are these weights after the "
                       "softmax, without dropout?")
