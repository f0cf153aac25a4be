"""What align and prune add to a point: groups of the file whose arrays and numbers are attributes under their own names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.errors import BadDataError
from headway.results.reading import Group, Sizes, everything
from headway.results.records import Fields, record


#: What the file has of each head, in the order of tables. Older files lack what follows `mean_squared_error_without`.
HEADS = ("layer", "head", "name", "score", "score_weighted", "accuracy_without", "mean_squared_error_without", "set",
         "squared_error_rise", "squared_error_rise_sd", "squared_error_rise_error", "squared_error_rise_without_theory",
         "squared_error_rise_without_theory_error", "accuracy_drop", "accuracy_drop_sd", "accuracy_drop_error")


@record("alignment", lists=True)
class Alignment(Fields):
    """Overlaps of the kernel's eigenvectors with the labels (eq. 52).

    Attributes
    ----------
    values : mapping of str to value
        The fields below by name.
    """

    @classmethod
    def _of_group(cls, group: Group, sizes: Sizes) -> Alignment:
        values = everything(group)
        for name in ("overlaps", "cumulative", "eigenvalues"):
            _require_list(group.name, name, values)
            _require_list(group.name, f"gaussian_process_{name}", values)
        return cls(values)


def _require_list(where: str, name: str, values: Mapping[str, Any]) -> None:
    if name not in values:
        raise BadDataError(f"{where}/{name}: is missing")
    if np.ndim(values[name]) != 1:
        raise BadDataError(f"{where}/{name}: has {np.ndim(values[name])} dimensions, not 1")


@record("pruning", lists=True)
class Pruning(Fields):
    """Head scores, the accuracy without each head, and cumulative pruning (eqs. 53 to 55).

    Curves begin with all heads. They are accuracies, or squared errors for real labels.

    Attributes
    ----------
    values : mapping of str to value
        The fields below by name.
    """

    @classmethod
    def _of_group(cls, group: Group, sizes: Sizes) -> Pruning:
        values = everything(group)
        for name in HEADS[:7]:
            _require_list(group.name, name, values)
        lengths = {name: len(value) for name, value in values.items() if "/" not in name and np.ndim(value) > 0}
        if set(lengths.values()) != {sizes.heads}:
            raise BadDataError(f"{group.name}: expected one entry for each of the {sizes.heads} heads, found {lengths}")
        return cls({name: values[name] for name in HEADS if name in values} | values)

    def _curve(self, name: str) -> np.ndarray | None:
        return self.values.get(f"cumulative/{name}")

    @property
    def by_score(self) -> np.ndarray | None:
        """ndarray or None: the curve of heads removed by score, lowest first."""
        return self._curve("score")

    @property
    def by_squared_error(self) -> np.ndarray | None:
        """ndarray or None: the curve of heads removed by predicted rise of the squared error."""
        return self._curve("squared_error")

    @property
    def greedy(self) -> np.ndarray | None:
        """ndarray or None: the curve of a greedy search, which removes the head that costs least."""
        return self._curve("greedy")

    @property
    def random(self) -> np.ndarray | None:
        """ndarray of shape (orders, heads + 1) or None: one curve for each random order."""
        return self._curve("random")

    @property
    def random_mean(self) -> np.ndarray | None:
        """ndarray or None: the mean curve of the random orders."""
        return self._curve("random_mean")

    @property
    def random_sd(self) -> np.ndarray | None:
        """ndarray or None: the standard deviation over the random orders."""
        return self._curve("random_sd")

    @property
    def greedy_on(self) -> str:
        """str: the set that the greedy order was searched on."""
        return self.values.get("cumulative/greedy_on", "test")

    @property
    def orders(self) -> dict[str, np.ndarray]:
        """dict of str to ndarray: the heads in the order of their removal, by order: "score_order", ..."""
        return {name.removeprefix("cumulative/"): values for name, values in self.values.items()
                if name.endswith("_order")}
