"""The result of the theory or of sampling, as plain objects of numpy arrays; `read_result` fills them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.base.caller import warn
from headway.base.later import may_come_later
from headway.base.signatures import with_known_arguments
from headway.errors import UsageError
from headway.results.best_point import best_point, best_text, edge_warning, number_of_point
from headway.results.display import Shown
from headway.results.records import record
from headway.results.head_table import HeadTable, head_table
from headway.results.layouts import paragraph
from headway.results.network_results import NetworkPruning
from headway.results.result_points import (Alignment, AttentionMinimum, Corrected, GaussianProcessPoint, Measures, Point, Predictor,
                                   Pruning, Samples, SetMeasures, TemperatureChoice, number, span, width_text)
from headway.results.sweep_arguments import known_temperature, number_of_a_temperature

ALL_HEADS = ("all heads",)  #: The only path where the readout of a value network sees all heads together.

if TYPE_CHECKING:
    from arviz import InferenceData
    from xarray import Dataset, DataTree

__all__ = ["Alignment", "AttentionMinimum", "Corrected", "GaussianProcessPoint", "Measures", "Point", "Predictor", "Pruning",
           "Result", "Samples", "SetMeasures", "TemperatureChoice", "number"]


@may_come_later
@record("result", train_labels="labels/train", test_labels="labels/test", set_names="sets")
@dataclass(frozen=True, repr=False, eq=False)
class Result(Shown):
    """A result of `headway.solve`, `align`, `prune` or `sample`, or of the program's verbs of these names.

    It is a line at a prompt and a table in a notebook.

    Attributes
    ----------
    file : Path
        The file that it was read from; of a result in memory the name of the verb.
    kind : {'solve', 'align', 'prune', 'sample'}
        The verb that made it.
    study : str
        The name of the study.
    paths : tuple of str
        Names of the p = H_1 ... H_L paths, "(h_1,...,h_L)", h_L fastest. They are the rows of U_1.
    head_names : tuple of tuple of str
        Names of the heads of each layer.
    points : tuple of Point
        The points of the sweep, widths outer, temperatures inner.
    gaussian_process : tuple of GaussianProcessPoint
        The limit of infinite width, one for each temperature.
    provenance : mapping of str to value
        What made it: study, seed, command, version, commit, machine, hashes of study and data.
    partial : bool
        Interrupted: only the points that were finished are there.
    network : NetworkPruning or None
        Of prune on data with a trained network: what does not depend on width and temperature.
    choices : tuple of TemperatureChoice
        The temperature that each rule takes; empty unless several were swept.

    Examples
    --------
    >>> import headway
    >>> result = headway.solve("hmm-four-paths", widths=[10, 100])
    >>> result
    <Result of headway solve: hmm-four-paths, 2 points (N 10 to 100, T 0.01), heads [2, 2], 4 paths, 100 train and 1000 test examples>
    >>> result.paths
    ('(1,1)', '(1,2)', '(2,1)', '(2,2)')
    >>> result.points[0].order_parameters[0].shape
    (4, 4)
    """

    file: Path
    kind: str
    study: str
    heads: tuple[int, ...]
    paths: tuple[str, ...]
    head_names: tuple[tuple[str, ...], ...]
    variances: tuple[float, ...]
    outputs: int
    points: tuple[Point, ...] = ()
    gaussian_process: tuple[GaussianProcessPoint, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    train_labels: np.ndarray | None = None
    test_labels: np.ndarray | None = None
    path_kernels: np.ndarray | None = None
    network: NetworkPruning | None = None
    set_names: tuple[str, ...] = ()
    choices: tuple[TemperatureChoice, ...] = ()

    @with_known_arguments
    def best(self, by: str = "evidence") -> Point:
        """Give the best point of the sweep.

        Parameters
        ----------
        by : {'evidence', 'validation', 'test'}, default: 'evidence'
            What the best point has most of: log evidence; accuracy on the set "validation"; accuracy on the test set, which
            makes that accuracy optimistic. Of equal accuracies the smaller squared error wins. If labels are no classes,
            the squared error decides.

        Returns
        -------
        Point
            The point, among those that converged.

        Warns
        -----
        UserWarning
            It has the smallest or largest width or temperature of the sweep. A wider sweep may have a better one.

        Raises
        ------
        UsageError
            There is no such rule.
        BadDataError
            No point has a log evidence, or there is no such set.

        Examples
        --------
        >>> import headway
        >>> result = headway.solve("hmm-four-paths", widths=[30], temperature=[0.01, 0.1, 1])
        >>> result.best("evidence").temperature
        0.1
        """
        best = best_point(self, by)
        edge = edge_warning(self, best)
        if edge:
            warn(f"best: {edge}")
        return best

    def to_xarray(self) -> Dataset:
        """Give the sweep to xarray as one data set.

        Returns
        -------
        xarray.Dataset
            Variables over `width` and `temperature`: numbers such as `accuracy`, and `U_1` with `path` and `path_other`. What
            `headway.prune` adds has the dimension `head`, with its names as `head_name`. Names of the 1/N correction begin
            with `corrected_`, those of draws with `draws_`, those of the theory beside samples with `theory_`, those of
            infinite width with `gaussian_process_`. NaN where the sweep has no such point. Any xarray will do;
            `to_datatree` needs a newer one.

        Raises
        ------
        UnavailableError
            xarray is not installed.

        Examples
        --------
        >>> import headway
        >>> data = headway.solve("hmm-four-paths", widths=[10, 100]).to_xarray()  # doctest: +SKIP
        >>> data.U_1.sel(width=10, temperature=0.01, path="(1,1)", path_other="(1,1)")  # doctest: +SKIP
        """
        from headway.results.sweep_arrays import to_xarray
        return to_xarray(self)

    def _repr_html_(self) -> str:
        best = best_text(self)
        return super()._repr_html_() + (paragraph(best) if best else "")

    @with_known_arguments
    def to_inference_data(self, point: Any = 0) -> InferenceData | DataTree:
        """Give the draws of one sweep point to ArviZ.

        Parameters
        ----------
        point : int, 'best' or (width, temperature), default: 0
            The sweep point: its number from 0, or from -1, the last, down; the one of largest evidence; or by its place.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            As `headway.to_inference_data` says.

        Raises
        ------
        UsageError
            There is no such point.
        UnavailableError
            xarray is missing.
        BadDataError
            The result is not one of `headway.sample`.
        """
        from headway.results.xarray_export import to_inference_data
        return to_inference_data(self, point)

    @with_known_arguments
    def head_table(self, point: Any = 0) -> HeadTable:
        """Give what `headway.prune` says of every head.

        Parameters
        ----------
        point : int, 'best' or (width, temperature), default: 0
            The sweep point: its number from 0, or from -1, the last, down; the one of largest evidence; or by its place.

        Returns
        -------
        HeadTable
            A row for each head. Columns: `score` and `score_weighted` (eqs. 53 and 54),
            `accuracy_without` and `mean_squared_error_without` (eq. 55), and the predicted
            `squared_error_rise` and `accuracy_drop` without the head, positive where the head is
            needed, each with its deviation over the posterior (`_sd`) and over redrawn examples
            (`_error`). `squared_error_rise_without_theory` is the same rise with 1 as every entry
            of U_1: a ridge regression on the sum of all paths.

        Raises
        ------
        UsageError
            The result is not one of `headway.prune`, or there is no such point.

        Examples
        --------
        >>> import headway
        >>> pruned = headway.prune("hmm-four-paths", widths=[10])
        >>> pruned.head_table().names
        ('same token', 'random', 'uniform', 'random')
        """
        if not self.points:
            raise UsageError(f"{self.file}: has no points; allowed: a result of headway.prune")
        point = number_of_point(self, point)
        found = self.points[point].pruning
        if found is None:
            raise UsageError(f"{self.file}: point {point} has no head scores; allowed: a result of headway.prune")
        columns = {name: values for name, values in found.values.items()
                   if isinstance(values, np.ndarray) and values.shape == found.score.shape
                   and values.dtype.kind == "f" and "/" not in name}
        names = [name for layer in self.head_names for name in layer]
        return head_table(found.layer, found.head, columns, names,
                          widths=self.points[point].widths,
                          temperature=self.points[point].temperature)

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        count, paths = len(self.points), len(self.paths)
        widths = [width_text(each) for each in sorted({point.widths for point in self.points}, key=lambda each: (max(each), each))]
        sizes = [" to ".join(dict.fromkeys((*widths[:1], *widths[-1:]))),
                 span([point.temperature for point in self.points], " to ")]
        points = f"{count} point{'' if count == 1 else 's'}"
        if count:
            points += f" (N {sizes[0]}, T {sizes[1]})"
        examples = "" if self.train_labels is None else f", {len(self.train_labels)} train"
        examples += "" if self.test_labels is None else f" and {len(self.test_labels)} test"
        last = self.train_labels if self.test_labels is None else self.test_labels
        return (f"{self.study}, {points}, heads {list(self.heads)}, {paths} "
                f"path{'' if paths == 1 else 's'}{examples and examples + ' example' + ('' if len(last) == 1 else 's')}"
                f"{', partial' if self.partial else ''}")

    @property
    def path_heads(self) -> tuple[tuple[int, ...], ...]:
        """tuple of tuple of int: the heads (h_1, ..., h_L) of every path, counted from 1; 0 where a path is all heads together."""
        if self.paths == ALL_HEADS:
            return ((0,) * len(self.heads),)
        return tuple(product(*(range(1, count + 1) for count in self.heads)))

    @property
    def path_names(self) -> tuple[str, ...]:
        """tuple of str: every path with the names of its heads, "(1,2) same token → random"; "(1,2)" where they have none."""
        if self.paths == ALL_HEADS or all(re.fullmatch(r"head \d+", name) for layer in self.head_names for name in layer):
            return self.paths
        return tuple(f"{path} {' → '.join(names[head - 1] for names, head in zip(self.head_names, heads))}"
                     for path, heads in zip(self.paths, self.path_heads))

    @property
    def temperatures(self) -> tuple[float, ...]:
        """tuple of float: the temperatures of the sweep, rising."""
        return tuple(sorted({point.temperature for point in self.points}))

    @property
    def theory(self) -> Result | None:
        """Result or None: the theory that a result of `headway.sample` holds beside its points."""
        points = tuple(point.theory for point in self.points if point.theory is not None)
        return replace(self, kind="solve", points=points) if points else None

    def gaussian_process_at(self, temperature: float) -> GaussianProcessPoint | None:
        """Find the limit of infinite width at a temperature.

        Parameters
        ----------
        temperature : float
            The temperature, as the sweep has it up to rounding.

        Returns
        -------
        GaussianProcessPoint or None
            The limit; None where the sweep has no such temperature.

        Raises
        ------
        UsageError
            It is no number.
        """
        limits = {point.temperature: point for point in reversed(self.gaussian_process)}
        return limits.get(known_temperature(number_of_a_temperature("temperature", temperature), limits))
