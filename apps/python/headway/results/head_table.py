"""Numbers of heads, layer by layer: what scores them, what their removal costs."""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.base.data_frame import data_frame
from headway.base.files import replace_text
from headway.errors import UsageError
from headway.results.layouts import aligned_in_blocks, html_table, paragraph
from headway.results.older import today, turned

if TYPE_CHECKING:
    from pandas import DataFrame

LINE = 120  # letters, where no terminal says how many it has
OWN_COLUMNS = ("layer", "head", "name")  # that every table begins with
_MADE_UP = re.compile(r"(?:layer (\d+) )?head (\d+)")


@dataclass(frozen=True, eq=False)
class HeadTable:
    """A table with one row for each head, layer by layer.

    At a prompt it is aligned text, in a notebook a table. `table["score"]` is one column, and `"score" in table`
    tells whether there is one.

    Attributes
    ----------
    layers : tuple of int
        The layer of each head, counted from 1.
    heads : tuple of int
        The number of each head in its layer, counted from 1.
    names : tuple of str
        The name of each head: its own, or "L3H1" for head 1 of layer 3.
    columns : mapping of str to ndarray
        One array for each quantity, [heads]; NaN where it is not defined.
    attributes : mapping of str to value
        What holds for all heads, such as the width and the temperature.

    Examples
    --------
    >>> import headway
    >>> table = headway.prune("hmm-four-paths", widths=[10]).head_table()
    >>> table.names
    ('same token', 'random', 'uniform', 'random')
    >>> worst = table["squared_error_rise"].argmin()  # the head that can go at the least cost
    >>> table.layers[worst], table.heads[worst]
    (2, 2)
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    names: tuple[str, ...]
    columns: Mapping[str, np.ndarray]
    attributes: Mapping[str, Any] = field(default_factory=dict)

    _fixed = len(OWN_COLUMNS)  # columns that every block of the table begins with

    def __getitem__(self, column: str) -> np.ndarray:
        """Give one column.

        Parameters
        ----------
        column : str
            Its name, as the table shows it: "layer", "head", "name", or one of `columns`. Names of 0.2, such as
            "loss_change" and "accuracy_change", give their numbers with the sign that they had.

        Returns
        -------
        ndarray of shape (heads,)
            Its numbers, or the names.

        Raises
        ------
        UsageError
            There is no such column.
        """
        if isinstance(column, str) and column not in self and today(column) in self:
            return -self.columns[today(column)] if turned(column) else self.columns[today(column)]
        if column not in self:
            raise UsageError(f"column: is {column!r}; allowed: {', '.join(self)}")
        own = {"layer": self.layers, "head": self.heads, "name": self.names}
        return np.array(own[column]) if column in own else self.columns[column]

    def __contains__(self, column: object) -> bool:
        """Say whether there is such a column."""
        return isinstance(column, str) and column in tuple(self)

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns, as the table shows them."""
        return iter((*OWN_COLUMNS, *self.columns))

    def _quantity(self, column: str) -> np.ndarray:
        """A column of numbers that were measured; UsageError for any other."""
        if not isinstance(column, str) or column not in self.columns:
            raise UsageError(f"column: is {column!r}; allowed: {', '.join(self.columns)}")
        return self.columns[column]

    def __len__(self) -> int:
        """Count the heads."""
        return len(self.layers)

    def __repr__(self) -> str:
        """Show the table as aligned text, in blocks of columns that fit into the terminal."""
        width = shutil.get_terminal_size((LINE, 24)).columns
        return "\n".join([*self._about(), aligned_in_blocks(*self._cells(), self._fixed, width)])

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        return "".join(map(paragraph, self._about())) + html_table(*self._cells())

    def _about(self) -> list[str]:
        words = [f"{name} {_short(value)}" for name, value in self.attributes.items()]
        return [", ".join(words)] if words else []

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        header = list(self)
        return header, [[str(self.layers[row]), str(self.heads[row]), name,
                         *(_short(values[row]) for values in self.columns.values())]
                        for row, name in enumerate(self.names)]

    def grid(self, column: str) -> np.ndarray:
        """Arrange one column by layer and head.

        Parameters
        ----------
        column : str
            Its name.

        Returns
        -------
        ndarray of shape (layers, heads)
            The numbers, layers in their order; NaN where a layer has no such head.

        Raises
        ------
        UsageError
            There is no such column.
        """
        values, rows = self._quantity(column), list(dict.fromkeys(self.layers))
        grid = np.full((len(rows), max(self.heads)), np.nan)
        for layer, head, value in zip(self.layers, self.heads, values):
            grid[rows.index(layer), head - 1] = value
        return grid

    def to_csv(self, path: str | os.PathLike | None = None, column: str | None = None) -> str:
        """Write the table as CSV.

        Parameters
        ----------
        path : str or path, optional
            The file. One that exists is replaced, but never one of HDF5. A folder that is missing is made.
        column : str, optional
            Write this column alone, as a grid of layers and heads; default: one row for each head.

        Returns
        -------
        str
            The text. Numbers that are not defined are empty.

        Raises
        ------
        UsageError
            There is no such column.
        CannotWriteError
            The file cannot be written, or is one of HDF5.

        Examples
        --------
        >>> import headway
        >>> text = headway.prune("hmm-four-paths", widths=[10]).head_table().to_csv("heads.csv")
        >>> text.splitlines()[0].split(",")[:4]
        ['layer', 'head', 'name', 'score']
        """
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        if column is None:
            writer.writerow(self)
            for row, name in enumerate(self.names):
                writer.writerow([self.layers[row], self.heads[row], name,
                                 *(_cell(values[row]) for values in self.columns.values())])
        else:
            grid = self.grid(column)
            writer.writerow(["layer", *range(1, grid.shape[1] + 1)])
            for layer, row in zip(dict.fromkeys(self.layers), grid):
                writer.writerow([layer, *map(_cell, row)])
        if path is not None:
            replace_text(out.getvalue(), path)
        return out.getvalue()

    def to_pandas(self) -> DataFrame:
        """Give the table to pandas.

        Returns
        -------
        pandas.DataFrame
            Columns layer, head, name and those of the table; `attrs` has the attributes.

        Raises
        ------
        UnavailableError
            pandas is not installed.
        """
        frame = data_frame({"layer": self.layers, "head": self.heads, "name": self.names, **self.columns})
        frame.attrs.update(self.attributes)
        return frame


def head_table(layers: Sequence[int], heads: Sequence[int], columns: Mapping[str, Sequence[float]],
               names: Sequence[str] | None = None, **attributes: Any) -> HeadTable:
    """The table of these heads, with a name for each."""
    rows = [(int(layer), int(head)) for layer, head in zip(layers, heads)]
    return HeadTable(tuple(layer for layer, _ in rows), tuple(head for _, head in rows),
                     tuple(head_name(*row, name) for row, name in zip(rows, names or [""] * len(rows))),
                     {name: np.asarray(values, dtype=float) for name, values in columns.items()},
                     attributes)


def head_name(layer: int, head: int, name: str = "") -> str:
    """The name of a head in its one form: "L3H1" where `name` is only its numbers, else the name.

    Files say "head 1" of heads that have no name, and older ones "layer 3 head 1".
    """
    numbers = _MADE_UP.fullmatch(name)
    if numbers is None:
        return name or f"L{layer}H{head}"
    return f"L{numbers[1] or layer}H{numbers[2]}"


def head_label(layer: int, head: int, name: str = "") -> str:
    """A head by name where no column says its layer: "L3H1", or "L3H1 induction"."""
    found = head_name(layer, head, name)
    return found if re.match(r"L\d+", found) else f"L{layer}H{head} {found}"


def _cell(value: float) -> str:
    return repr(float(value)) if np.isfinite(value) else ""


def _short(value: Any) -> str:
    """A number with four significant digits, "-" where it is not defined."""
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}" if np.isfinite(value) else "-"
    if isinstance(value, (tuple, list)) and len(set(value)) == 1:
        return str(value[0])
    return str(value)
