"""The ranking of heads as a table: every column with its error and its cost, and the combined estimate."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.errors import UsageError
from headway.results.head_table import HeadTable, head_name
from headway.results.ranking.ceiling import Ceiling, ceiling, shared_ranks, told_apart
from headway.results.ranking.combine import combine
from headway.results.ranking.exports import (RECENT_SIZE, SINK_SIZE, Removals, heads_by_layer, scores_of_layers, write_duo_attention,
                                     write_json)
from headway.results.ranking.measured import (CUTS, FROZEN, MODES, READOUTS, Measured, among_name, expected_name, is_frozen,
                                      removal_name)
from headway.results.ranking.removal import mean_and_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARE = 0.9  # the probability that intervals hold, and that is needed to tell heads apart
CUT_HEADS = {CUTS[0]: "frozen cut, U = 1", CUTS[1]: "frozen cut, theory's U"}  # over these columns in the table that is shown
FEWEST_DECIMALS, MOST_DECIMALS = 4, 9  # of costs in the table that is shown
ESTIMATE = ("rank", "estimate", "estimate_low", "estimate_high", "estimate_error")


@dataclass(frozen=True, repr=False, eq=False)
class HeadRanking(HeadTable):
    """A table with one row for each head: what its removal costs, by every measure, and how sure that is.

    `headway.rank_heads` makes it. That of `headway.rank_parts` has frozen cuts, which are no removals. At a prompt and in a notebook it shows the combined estimate beside the measurement;
    `columns` has everything.

    Attributes
    ----------
    layers : tuple of int
        The layer of each head, counted from 1.
    heads : tuple of int
        The number of each head in its layer, counted from 1.
    names : tuple of str
        The name of each head: "L3H1" for head 1 of layer 3.
    columns : mapping of str to ndarray
        One array for each quantity, [heads]. A column NAME has its standard error in NAME_error.
    attributes : mapping of str to value
        What holds for all heads, such as the number of examples and the penalty of the readout.
    passes : mapping of str to float
        The cost of each column, in forward passes of the network over all examples.
    ceiling : Ceiling
        How far orders of the heads on halves of the examples agree, and so how far any order can be trusted.
    target : str
        The column that the combined estimate is of.
    draws : ndarray of shape (draws, heads)
        What is known of the rises without each head, as draws.
    modules : tuple of str, or of (str, int)
        Where modules were named: the name of each layer's module, with the number of the call, from 0, if the module is shared.

    Examples
    --------
    >>> ranking = headway.rank_heads(model, encoded, labels, layers=[-1])  # doctest: +SKIP
    >>> ranking.cheapest(3)  # the heads to remove first  # doctest: +SKIP
    """

    passes: Mapping[str, float] = field(default_factory=dict)
    ceiling: Ceiling = field(default_factory=lambda: Ceiling(float("nan"), float("nan"), float("nan")))
    target: str = ""
    draws: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    modules: tuple[Any, ...] = ()

    _fixed = 2

    def order(self, column: str = "estimate") -> list[int]:
        """List the rows in the order of a column.

        Parameters
        ----------
        column : str, default: 'estimate'
            Its name.

        Returns
        -------
        list of int
            Rows of the table, the head of the smallest value first.

        Raises
        ------
        UsageError
            There is no such column, or it is not defined for every head.
        """
        values = self._quantity(column)
        if not np.isfinite(values).all():
            raise UsageError(f"column: {column!r} is not defined for every head; allowed: a column without gaps")
        return [int(row) for row in values.argsort(kind="stable")]

    def cheapest(self, k: int, column: str = "estimate") -> list[tuple[int, int]]:
        """Choose the heads to remove first.

        Parameters
        ----------
        k : int
            How many, from 0 to all.
        column : str, default: 'estimate'
            The column that decides.

        Returns
        -------
        list of tuple of int
            Layer and number of each head, counted from 1, the cheapest first.

        Raises
        ------
        UsageError
            A number of heads or a column that is not allowed, or a ranking of frozen cuts.
        """
        self._require_removals()
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 0 <= k <= len(self):
            raise UsageError(f"k: is {k!r}; allowed: an integer from 0 to {len(self)}")
        return [(self.layers[row], self.heads[row]) for row in self.order(column)[:k]]

    @property
    def mode(self) -> str:
        """What the output of a removed head is put at: "mean" or "zero"; "frozen" of frozen cuts."""
        return FROZEN if is_frozen(self.target) else self.target.split("_")[1]

    def _require_removals(self) -> None:
        if is_frozen(self.target):
            raise UsageError("ranking: is of frozen cuts, which do not tell what removing a head costs; allowed: a ranking of "
                             "headway.rank_heads, or of `headway rank` on trained networks")

    def plot(self) -> Figure:
        """Draw the ranking: a row for each head, the smallest estimate first.

        Returns
        -------
        matplotlib.figure.Figure
            Left the combined estimate with its 90 % interval beside the measured rise; right what two cuts of the frozen parts
            lose, where the ranking has them.

        Raises
        ------
        UnavailableError
            matplotlib is missing.

        Examples
        --------
        >>> ranking.plot().savefig("heads.png")  # doctest: +SKIP
        """
        from headway import figures
        return figures.head_ranking.draw_ranking(self)

    def check_model(self, heads: Sequence[int]) -> None:
        """Compare with a model's number of heads in each layer.

        Parameters
        ----------
        heads : sequence of int
            Of every layer, from the input up.

        Raises
        ------
        UsageError
            The model has not all heads of this ranking, or the ranking is of frozen cuts.
        """
        self._require_removals()
        for layer, head, name in zip(self.layers, self.heads, self.names):
            if layer > len(heads) or head > heads[layer - 1]:
                raise UsageError(f"model: has {len(heads)} layers of {sorted(set(heads))} heads, and no {name}, which the ranking "
                                 "has; allowed: the model that was ranked")

    def to_prune_heads(self, k: int, path: str | os.PathLike | None = None, column: str = "estimate") -> dict[int, list[int]]:
        """Give the k cheapest heads to `headway.remove_heads`, to `prune_heads` of transformers 4, and to NNI.

        Parameters
        ----------
        k : int
            How many heads go.
        path : str or path, optional
            A JSON file to write. One that exists is replaced, but never one of HDF5.
        column : str, default: 'estimate'
            The column that decides.

        Returns
        -------
        dict of int to list of int
            {layer: [heads]}, both counted from 0. Where queries share a key and a value, all of a head's queries. Where modules were
            named, their names take the place of layers: {name: [heads]}, or {(name, call): [heads]} if the module is shared.

        Raises
        ------
        UsageError
            A number of heads or a column that is not allowed.
        CannotWriteError
            The file cannot be written.
        """
        found = heads_by_layer(self.cheapest(k, column), int(self.attributes.get("queries_per_head", 1)))
        if self.modules:
            counts = {layer: self.layers.count(layer) for layer in dict.fromkeys(self.layers)}
            names = {layer: module[0] if isinstance(module, tuple) else module for layer, module in enumerate(self.modules, 1)}
            found = Removals({self.modules[layer]: gone for layer, gone in found.items()},
                             {names[layer]: count for layer, count in counts.items()})
        write_json(_with_text_keys(found), path)
        return found

    def to_budgets(self, path: str | os.PathLike | None = None, column: str = "estimate") -> list[dict]:
        """List the heads to remove for every number of them.

        Parameters
        ----------
        path : str or path, optional
            A JSON file to write. One that exists is replaced, but never one of HDF5.
        column : str, default: 'estimate'
            The column that decides.

        Returns
        -------
        list of dict
            For 0, 1, ... heads: `removed`, how many; `share` of the ranked heads; `heads`, as `to_prune_heads` has them.

        Raises
        ------
        UsageError
            A column that is not allowed.
        CannotWriteError
            The file cannot be written.
        """
        found = [{"removed": k, "share": round(k / len(self), 6), "heads": self.to_prune_heads(k, column=column)}
                 for k in range(len(self) + 1)]
        write_json([row | {"heads": _with_text_keys(row["heads"])} for row in found], path)
        return found

    def to_duo_attention(self, folder: str | os.PathLike, model: Any, column: str = "estimate", sink_size: int = SINK_SIZE,
                         recent_size: int = RECENT_SIZE) -> Path:
        """Write the ranking as a pattern of DuoAttention, which kvpress reads, too.

        Parameters
        ----------
        folder : path
            Gets `full_attention_heads.tsv`, a row for each layer, and `config.json`. The folder is made.
        model : transformers.PreTrainedModel
            The model that was ranked, a decoder. Its heads that were not ranked are kept.
        column : str, default: 'estimate'
            The column that decides.
        sink_size, recent_size : int, default: 128, 256
            How many first and recent tokens a streaming head keeps.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        UsageError
            A column or size that is not allowed, another model, or one that is no decoder.
        CannotWriteError
            A file cannot be written.

        Notes
        -----
        Scores go from 0, the cheapest head, to 1, evenly by place: DuoAttention and kvpress use their order alone. With
        `rank_heads(..., grouped=False)` the columns would be queries, so such a ranking is refused.
        """
        from headway.heads.network_blocks import stack_of
        if self.modules:
            raise UsageError("ranking: is of modules that were named; allowed for DuoAttention: one of a known kind, rank_heads without "
                             "heads=")
        stack = stack_of(model)
        if not stack.decoder:
            raise UsageError(f"model: {stack.model_name} is no decoder; allowed for DuoAttention, which shortens what a decoder keeps of earlier "
                             "tokens: one like GPT-2 or Llama")
        blocks = stack.blocks
        if not self.attributes.get("grouped", True) and any(block.heads != block.value_heads for block in blocks):
            raise UsageError("ranking: is of queries that share keys and values; allowed for DuoAttention: one of heads with keys "
                             "and values of their own, rank_heads(..., grouped=True)")
        counts = [block.value_heads for block in blocks]
        self.check_model(counts)
        self.order(column)
        return write_duo_attention(folder, scores_of_layers(self.layers, self.heads, self[column], counts), sink_size, recent_size)

    def _about(self) -> list[str]:
        return [*super()._about(), *self._trust()]

    def _trust(self) -> list[str]:
        found, frozen = self.ceiling, is_frozen(self.target)
        what = "part" if frozen else "head"
        order = f"one {what} has no order" if len(self.heads) == 1 else (
            f"all {what}s cost the same, so they have no order") if np.isnan(found.whole) else (
            f"orders on two halves of the examples agree by {found.halves:.2f} +- {found.deviation:.2f}; " + (
                "so few examples do not tell an order beyond the ranks" if not found.tells else
                f"no order {'of such cuts ' if frozen else ''}can be expected to agree with this one by more than {found.whole:.2f}"))
        about = ["frozen cuts: a part is taken off, and everything else stays as it was. They do not tell what removing a head "
                 "costs, nor which head is cheapest: see headway.rank_heads"] if frozen else []
        return [*about, order,
                f"{what}s of the same rank cannot be told apart. Costs are forward passes: "
                + ", ".join(f"{name} {self.passes[name]:.3g}" for name in self._shown() if name in self.passes)]

    def _shown(self) -> list[str]:
        wanted = ("estimate", self.target, *CUTS, "gradient")
        return [name for name in wanted if name in self.columns and np.isfinite(self.columns[name]).any()]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        shown = [name for name in self._shown() if name != "estimate"]
        digits = decimals(self["estimate_error"])
        frozen, among = is_frozen(self.target), among_name(self.target)
        header = ["rank", "part" if frozen else "head", "estimate", "90 %",
                  f"among {self.attributes['k']} {'smallest cuts' if frozen else 'cheapest'}",
                  *(CUT_HEADS.get(name, name) for name in shown)]
        rows = []
        for row in sorted(range(len(self)), key=lambda row: (self["estimate"][row], row)):
            low, high = self["estimate_low"][row], self["estimate_high"][row]
            rows.append([str(int(self["rank"][row])), self.names[row], f"{self['estimate'][row]:+.{digits}f}",
                         f"{low:+.{digits}f} to {high:+.{digits}f}", f"{self[among][row]:.2f}",
                         *(with_error(self[name][row], self[f"{name}_error"][row], digits) for name in shown)])
        return header, rows


def ranking_of(measured: Measured, mode: str, readout: str, k: int | None, seed: int,
               names: Sequence[str] | None = None, modules: Sequence[Any] = ()) -> HeadRanking:
    """The table of what was measured. mode, readout: which removal the combined estimate is of. k: that of `among_cheapest`
    or `among_smallest_cuts`; default: a quarter of the heads, at least one. names: of the heads. modules: of the layers."""
    count, target = len(measured.layers), removal_name(mode, readout)
    check_choice(mode if mode != FROZEN else MODES[0], readout, k, count)
    k = max(1, count // 4) if k is None else k
    change = measured.changes[target]
    posterior = combine(change, seed)
    low, high = posterior.interval(SHARE)
    columns = dict(zip((*ESTIMATE, among_name(target)), (shared_ranks(posterior.draws, SHARE).astype(float), posterior.mean, low, high,
                                  posterior.deviation, posterior.among_cheapest(k))))
    columns |= _removal_columns(measured) | _score_columns(measured)
    attributes = dict(measured.attributes) | {"target": target, "k": int(k), "told apart": told_apart(change.rises)}
    attributes = {name: value for name, value in attributes.items() if value != ""}
    rows = list(zip(measured.layers, measured.heads))
    own = names or [""] * count
    passes = dict(measured.passes)
    passes |= {"estimate": passes.get(target, float("nan"))}
    return HeadRanking(measured.layers, measured.heads, tuple(head_name(*row, name) for row, name in zip(rows, own)), columns,
                       attributes, passes, ceiling(change.rises, seed), target, posterior.draws, tuple(modules))


def _with_text_keys(heads: Mapping[Any, list[int]]) -> dict[Any, list[int]]:
    """The same for JSON, which has no pairs: "NAME call 1" stands for the call 1 of a module, counted from 0."""
    return {f"{key[0]} call {key[1]}" if isinstance(key, tuple) else key: gone for key, gone in heads.items()}


def _removal_columns(measured: Measured) -> dict[str, np.ndarray]:
    columns = {}
    for name, change in measured.changes.items():
        columns |= {name: change.mean, f"{name}_error": change.error}
        if name not in CUTS:
            expected = expected_name(name)
            columns |= {expected: change.belief, f"{expected}_error": change.belief_error}
    return columns


def _score_columns(measured: Measured) -> dict[str, np.ndarray]:
    columns = {}
    if measured.slopes is not None:
        columns["gradient"], columns["gradient_error"] = mean_and_error(measured.slopes)
    for name, values in measured.scores.items():
        columns |= {name: values, f"{name}_error": measured.score_errors[name]}
    return columns


def check_choice(mode: str, readout: str, k: int | None, count: int) -> None:
    """UsageError unless there is such an estimate of so many heads."""
    if mode not in MODES:
        raise UsageError(f"mode: is {mode!r}; allowed: {', '.join(MODES)}")
    if readout not in READOUTS:
        raise UsageError(f"target: is {readout!r}; allowed: {', '.join(READOUTS)}")
    if k is not None and (isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 1 <= k <= count):
        raise UsageError(f"k: is {k!r}; allowed: None, or an integer from 1 to {count}, the number of heads")


def decimals(errors: np.ndarray) -> int:
    """The number of decimals that gives the median error two digits; at least 4, at most 9."""
    middle = float(np.median(errors))
    return min(max(FEWEST_DECIMALS, 1 + math.ceil(-math.log10(middle))), MOST_DECIMALS) if middle > 0.0 else FEWEST_DECIMALS


def with_error(value: float, error: float, digits: int) -> str:
    return f"{value:+.{digits}f} +- {error:.{digits}f}" if np.isfinite(value) else "-"
