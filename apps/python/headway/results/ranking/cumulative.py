"""The error of a network that loses head after head, in any order, the readout fitted again each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headway.errors import UsageError
from headway.results.layouts import aligned, html_table
from headway.results.ranking.readouts import Readout, fit_readout, right_answers, squared_errors
from headway.results.ranking.removal import mean_and_error
from headway.results.ranking.table import FEWEST_DECIMALS, decimals, with_error

Removed = tuple[int, ...]  # rows of the ranking
Embed = Callable[[Removed], Sequence[np.ndarray]]  # embeddings of the labelled examples and, if there are any, of the test set


@dataclass(frozen=True, eq=False)
class RemovalCurve:
    """What a network costs without its first 0, 1, ..., K heads of one order.

    Attributes
    ----------
    order : tuple of int
        Rows of the ranking, the head that goes first.
    squared_error, accuracy : ndarray of shape (K + 1,)
        Means over the examples, with the readout fitted again; accuracy is NaN where labels are no classes.
    rise, rise_error : ndarray of shape (K + 1,)
        Squared error minus that of the whole network, with the standard error of the paired difference.
    rise_fixed, rise_fixed_error : ndarray of shape (K + 1,)
        The same with the readout of the whole network.
    """

    order: tuple[int, ...]
    squared_error: np.ndarray
    accuracy: np.ndarray
    rise: np.ndarray
    rise_error: np.ndarray
    rise_fixed: np.ndarray
    rise_fixed_error: np.ndarray


@dataclass(frozen=True, eq=False)
class RemovalCurves:
    """What removal in several orders costs; `headway.remove_in_order` makes it.

    Attributes
    ----------
    names : tuple of str
        The names of the heads, row by row.
    curves : mapping of str to RemovalCurve
        The curve of each order: a column of the ranking, or "greedy".
    random : tuple of RemovalCurve
        The curves of random orders.
    measured_on : str
        "test", or "left out": on the labelled examples themselves, each left out in turn. Orders that were chosen on these
        look better there than they are.
    """

    names: tuple[str, ...]
    curves: Mapping[str, RemovalCurve]
    random: tuple[RemovalCurve, ...]
    measured_on: str

    def random_rise(self) -> tuple[np.ndarray, np.ndarray]:
        """Average the random orders.

        Returns
        -------
        mean, deviation : ndarray of shape (K + 1,)
            Mean and standard deviation of the rise over the random orders; NaN without any.
        """
        if not self.random:
            count = len(next(iter(self.curves.values())).rise) if self.curves else 0
            return np.full(count, np.nan), np.full(count, np.nan)
        rises = np.array([curve.rise for curve in self.random])
        return rises.mean(0), rises.std(0, ddof=1) if len(rises) > 1 else np.full(rises.shape[1], np.nan)

    def __repr__(self) -> str:
        """Show the rises as aligned text."""
        return aligned(*self._cells())

    def _repr_html_(self) -> str:
        """Show the rises in a notebook."""
        return html_table(*self._cells())

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["removed", *self.curves, *(["random"] if self.random else [])]
        lengths = [len(curve.rise) for curve in (*self.curves.values(), *self.random)]
        mean, deviation = self.random_rise()
        errors = [curve.rise_error[1:] for curve in (*self.curves.values(), *self.random)]  # without any removal there is none
        digits = decimals(np.concatenate(errors)) if lengths and max(lengths) > 1 else FEWEST_DECIMALS
        rows = []
        for k in range(max(lengths, default=0)):
            cells = [with_error(curve.rise[k], curve.rise_error[k], digits) for curve in self.curves.values()]
            spread = f" (sd {deviation[k]:.{digits}f})" if len(self.random) > 1 else ""  # one order has none
            rows.append([str(k), *cells, *([f"{mean[k]:+.{digits}f}{spread}"] if self.random else [])])
        return header, rows


@dataclass
class Curves:
    """Makes curves. embed: gives the embeddings without some heads. y, test_y: labels [P, C]. Each set of removed heads is
    computed once."""

    embed: Embed
    y: np.ndarray
    test_y: np.ndarray | None
    penalty: float | None
    _known: dict[frozenset[int], tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=dict)
    _whole: Readout | None = None

    def curve(self, order: Sequence[int], most: int) -> RemovalCurve:
        """The curve of an order, up to its first `most` heads."""
        steps = [self.errors(tuple(order[:k])) for k in range(most + 1)]
        before = steps[0][0]
        rises = mean_and_error(np.array([refitted - before for refitted, _, _ in steps]))
        fixed = mean_and_error(np.array([fixed - before for _, fixed, _ in steps]))
        return RemovalCurve(tuple(order[:most]), np.array([refitted.mean() for refitted, _, _ in steps]),
                            np.array([right.mean() for _, _, right in steps]), *rises, *fixed)

    def greedy(self, heads: int, most: int, chosen: Curves, tell: Callable[[int, int], None]) -> list[int]:
        """The order that always takes the head whose loss costs least next, by the error that `chosen` measures."""
        order: list[int] = []
        for step in range(most):
            left = [row for row in range(heads) if row not in order]
            order.append(min(left, key=lambda row: (float(chosen.errors((*order, row))[0].mean()), row)))
            tell(step + 1, most)
        return order

    def errors(self, removed: Removed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Three numbers of every example, [P] each: the squared error with the readout fitted again; that with the readout of
        the whole network; and 1 where the readout fitted again has the right class, else 0."""
        key = frozenset(removed)
        if key not in self._known:
            self._known[key] = self._measured(removed)
        return self._known[key]

    def _measured(self, removed: Removed) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._whole is None:
            self._whole = fit_readout(self.embed(())[0], self.y, self.penalty)
        labelled, *test = self.embed(removed)
        again = fit_readout(labelled, self.y, self._whole.penalty)
        if self.test_y is None:
            answers, fixed, y = self.y - again.missed, self._whole.answers_left_out(labelled), self.y
        else:
            answers, fixed, y = again.answers(test[0]), self._whole.answers(test[0]), self.test_y
        return squared_errors(answers, y), squared_errors(fixed, y), right_answers(answers, y)


def random_orders(heads: int, count: int, seed: int) -> list[list[int]]:
    """Orders of the rows, from the seed alone."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(heads).tolist() for _ in range(count)]


def checked_most(most: int | None, heads: int) -> int:
    """How many heads are removed: `most`, or all of them."""
    if most is None:
        return heads
    if isinstance(most, bool) or not isinstance(most, (int, np.integer)) or not 1 <= most <= heads:
        raise UsageError(f"most: is {most!r}; allowed: None, or an integer from 1 to {heads}, the number of heads")
    return int(most)
