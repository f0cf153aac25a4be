"""Numbers of heads, layer by layer: what scores them, what their removal costs."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headway.errors import UsageError
from headway.files import write_text


@dataclass(frozen=True)
class HeadTable:
    """One row a head, layer by layer. `layers` and `heads` count from 1, as the network's own.

    `columns` has one array a quantity; `attributes` say what holds for all heads.
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    names: tuple[str, ...]
    columns: Mapping[str, np.ndarray]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, column: str) -> np.ndarray:
        if column not in self.columns:
            raise UsageError(f"column: is {column!r}; allowed: {', '.join(self.columns)}")
        return self.columns[column]

    def grid(self, column: str) -> np.ndarray:
        """[layer, head], layers in their order; NaN where a layer has no such head."""
        values, rows = self[column], list(dict.fromkeys(self.layers))
        grid = np.full((len(rows), max(self.heads)), np.nan)
        for layer, head, value in zip(self.layers, self.heads, values):
            grid[rows.index(layer), head - 1] = value
        return grid

    def to_csv(self, path: str | os.PathLike | None = None, column: str | None = None) -> str:
        """The table as CSV, one row a head; with `column` that one alone as [layer x head]. Returns the
        text, and writes it to `path` where there is one, in place of a file that exists. Undefined numbers
        are empty. Errors: UsageError for an unknown column, CannotWriteError."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if column is None:
            writer.writerow(["layer", "head", "name", *self.columns])
            for row, name in enumerate(self.names):
                writer.writerow([self.layers[row], self.heads[row], name,
                                 *(_cell(values[row]) for values in self.columns.values())])
        else:
            grid = self.grid(column)
            writer.writerow(["layer", *range(1, grid.shape[1] + 1)])
            for layer, row in zip(dict.fromkeys(self.layers), grid):
                writer.writerow([layer, *map(_cell, row)])
        if path is not None:
            write_text(out.getvalue(), path, overwrite=True)
        return out.getvalue()


def head_table(layers: Sequence[int], heads: Sequence[int], columns: Mapping[str, Sequence[float]],
               names: Sequence[str] | None = None, **attributes: Any) -> HeadTable:
    """The table of these heads; heads without a name are called "L6H3"."""
    rows = [(int(layer), int(head)) for layer, head in zip(layers, heads)]
    made_up = [f"L{layer}H{head}" for layer, head in rows]
    return HeadTable(tuple(layer for layer, _ in rows), tuple(head for _, head in rows),
                     tuple(names or made_up),
                     {name: np.asarray(values, dtype=float) for name, values in columns.items()},
                     attributes)


def _cell(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else ""
