"""Which results share a card of the page: those of one network on the same data, whatever verb made them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from headway.results.result import Point, Result

SWEPT = ("widths", "temperature")  # settings of [model] that points differ in


@dataclass
class Place:
    """All that the results of a card know of one point: its theory, and samples of one sampler or of several."""

    widths: tuple[int, ...]
    temperature: float
    theory: Point | None = None
    pruned: Point | None = None  # the theory's point with scores of heads
    aligned: Point | None = None
    samples: list[Point] = field(default_factory=list)

    @property
    def converged(self) -> bool:
        return self.theory is None or self.theory.converged


@dataclass(frozen=True)
class Card:
    """Results of one network on the same data, and what they know of each point, in the order of the files."""

    name: str
    results: tuple[Result, ...]
    places: tuple[Place, ...]

    @property
    def first(self) -> Result:
        return self.results[0]


def cards_of(results: Sequence[Result], names: Sequence[str], labelled: bool = False) -> list[Card]:
    """One card for each network and data, in the order of the results. `labelled`: the names are the user's."""
    groups: dict[tuple, list[tuple[Result, str]]] = {}
    for result, name in zip(results, names):
        groups.setdefault(_identity(result), []).append((result, name))
    cards = []
    for group in groups.values():
        members = tuple(result for result, _ in group)
        cards.append(Card(_name(group, labelled), members, _places(members)))
    return cards


def _identity(result: Result) -> tuple:
    """What two results must share for their theory to be the same: data, paths, prior and the fixed settings of [model]. A file
    without a hash of its data has a card of its own."""
    data = result.provenance.get("data_hash") or str(result.file)
    model = re.search(r"^\[model\]\n(.*?)(?=^\[|\Z)", str(result.provenance.get("study_toml", "")), re.DOTALL | re.MULTILINE)
    fixed = tuple(line for line in (model[1] if model else "").splitlines()
                  if line.strip() and not line.startswith(SWEPT))
    return data, result.heads, result.outputs, result.variances, fixed


def _name(group: Sequence[tuple[Result, str]], labelled: bool) -> str:
    names = list(dict.fromkeys(name for _, name in group))
    studies = {result.study for result, _ in group}
    if len(names) > 1 and len(studies) == 1 and not labelled:
        kinds = ", ".join(dict.fromkeys(result.kind for result, _ in group))
        return f"{studies.pop()} ({kinds})"
    return " + ".join(names)


def _places(results: Sequence[Result]) -> tuple[Place, ...]:
    found: dict[tuple, Place] = {}
    for result in results:
        for point in result.points:
            place = found.setdefault((point.widths, point.temperature), Place(point.widths, point.temperature))
            theory = point.theory if point.samples is not None else point
            if point.samples is not None and point.samples.mean:
                place.samples.append(point)
            if theory is None or not theory.order_parameters:
                continue
            if place.theory is None or not place.theory.converged and theory.converged:
                place.theory = theory
            if theory.pruning is not None and place.pruned is None:
                place.pruned = theory
            if theory.alignment is not None and place.aligned is None:
                place.aligned = theory
    return tuple(found.values())
