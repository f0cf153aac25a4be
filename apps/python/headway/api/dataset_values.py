"""Checks of the numbers of a data-set file, in blocks; the twin of src/io/dataset_file/values.cpp."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import h5py
import numpy as np

from headway.base import dataset_table as table
from headway.base.dataset_texts import number

BLOCK_ELEMENTS = 1 << 22
HALF_PRECISION = 0.005  # how far the rows of attention computed in half precision are from a sum of 1
NORMALISE_ROWS = " (half precision? cast to float32, then divide each row by its sum)"

UNLESS_ANY_ROWS = ", or any where the root attribute attention_rows is \"any\" (for value networks)"


@np.errstate(invalid="ignore", over="ignore")
def check_values(file: h5py.File, arrays: Iterable[Any], splits: Sequence[str], faults: Any, any_rows: bool = False) -> None:
    """Reads every number once. `arrays`: those of dataset_checks.Checker, whose `faults` this adds to. `any_rows`: supplied
    attention may be signed, with rows of any sum."""
    for split in splits:
        here = [array for array in arrays if array.split == split]
        masks = next((array for array in here if array.member.values == "mask"), None)
        mask: list[np.ndarray] = []
        if masks is not None:
            faults.guard(masks.path, _check_mask, file, masks, faults, mask)
        for array in here:
            by_mask = masks is not None and _token_extents(array) is not None
            # Without a sound mask of the right size it is unknown which values matter.
            if by_mask and (faults.counts[masks.path] or _token_extents(array) != masks.info.shape):
                continue
            real = mask[0] if by_mask else None
            if array.member.values == "finite":
                faults.guard(array.path, _check_finite, file, array, faults, real)
            elif array.member.values == "attention":
                faults.guard(array.path, _check_attention, file, array, faults, real, any_rows)


def _token_extents(array: Any) -> tuple[int, ...] | None:
    """(P, S) of a data set of real and padded tokens."""
    symbols = array.member.shapes[-1]
    return (array.info.shape[0], array.info.shape[symbols.index("S")]) if "S" in symbols else None


def _blocks(file: h5py.File, path: str) -> Iterator[tuple[int, np.ndarray]]:
    """(first index, values) over the first axis, about 32 MiB at a time."""
    dataset = file[path]
    step = max(1, BLOCK_ELEMENTS // max(1, math.prod(dataset.shape[1:])))
    for begin in range(0, dataset.shape[0], step):
        yield begin, np.asarray(dataset[begin:begin + step], dtype=np.float64)


def _check_mask(file: h5py.File, array: Any, faults: Any, out: list[np.ndarray]) -> None:
    parts = []
    for begin, block in _blocks(file, array.path):
        wrong = (block != 0) & (block != 1)
        empty = ~(block == 1).any(axis=1)
        for example in np.flatnonzero(wrong.any(axis=1) | empty):
            for token in np.flatnonzero(wrong[example]):
                faults.add(array.path, f"[{begin + example}, {token}]: "
                           f"{number(block[example, token])}; allowed: 0 or 1")
            if empty[example]:
                faults.add(array.path, f"[{begin + example}]: no token is 1; allowed: at least one "
                           "real token in every example")
        parts.append(block == 1)
    out.append(np.concatenate(parts))


def _check_finite(file: h5py.File, array: Any, faults: Any, mask: np.ndarray | None) -> None:
    """What stands at masked tokens does not matter."""
    for begin, block in _blocks(file, array.path):
        if block.min() >= -table.LARGEST and block.max() <= table.LARGEST:  # false where there is a nan
            continue
        bad = ~(np.abs(block) <= table.LARGEST)
        if mask is not None:
            bad &= mask[begin:begin + len(block), :, None]
        for index in np.argwhere(bad):
            place = [int(index[0]) + begin, *map(int, index[1:])]
            faults.add(array.path, f"{place}: {_size_fault(block[tuple(index)])}")


def _size_fault(value: float) -> str:
    if not math.isfinite(value):
        return f"{number(value)}; allowed: finite numbers"
    return (f"{number(value)}; allowed: up to {table.LARGEST:g} in size, since products of larger ones "
            "overflow")


def _check_attention(file: h5py.File, array: Any, faults: Any, mask: np.ndarray | None, any_rows: bool) -> None:
    """Rows of weights >= 0 that sum to one (`any_rows`: finite ones), zero at masked keys; rows of masked queries are free."""
    if array.info.shape[2] != array.info.shape[3]:
        return
    tolerance = math.inf if any_rows else table.ROW_SUM_TOLERANCE.get(array.info.type_name,
                                                                      table.ROW_SUM_TOLERANCE["otherwise"])
    for begin, block in _blocks(file, array.path):
        real = np.ones((len(block), block.shape[2]), bool) if mask is None else (
            mask[begin:begin + len(block)])
        bad = ~(np.abs(block.sum(axis=3) - 1.0) <= tolerance)
        entries = ~(np.abs(block) <= table.LARGEST) | ((block < 0) & (not any_rows)) | ((block != 0) & ~real[:, None, None, :])
        bad |= entries.any(axis=3)
        for example, head, query in np.argwhere(bad & real[:, None, :]):
            at, fault = _row_fault(block[example, head, query], real[example], tolerance)
            faults.add(array.path, f"[{begin + example}, {head}, {query}{at}]: {fault}")


def _row_fault(row: np.ndarray, real: np.ndarray, tolerance: float) -> tuple[str, str]:
    """(where in the row, what is wrong with it)."""
    for key, value in enumerate(row):
        at = f", {key}"
        if not abs(value) <= table.LARGEST:
            return at, _size_fault(value)
        if value < 0 and not math.isinf(tolerance):
            return at, f"{number(value)}; allowed: attention >= 0{UNLESS_ANY_ROWS}"
        if not real[key] and value != 0:
            return at, f"{number(value)} on a masked key; allowed: 0"
    hint = NORMALISE_ROWS if abs(row.sum() - 1.0) <= HALF_PRECISION else UNLESS_ANY_ROWS
    return "", f"the row sums to {row.sum():.10g}; allowed: 1 within {number(tolerance)}{hint}"
