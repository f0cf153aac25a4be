"""What `headway rank` writes, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from headway.base import hdf5, memory
from headway.results.display import Shown
from headway.results.fields import FIELDS, plain
from headway.results.head_table import head_name
from headway.results.ranking.ceiling import Ceiling
from headway.results.ranking.measured import FROZEN, FROZEN_CUT, among_name
from headway.results.ranking.table import ESTIMATE, HeadRanking


@dataclass(frozen=True, repr=False, eq=False)
class RankResult(Shown):
    """A result of `headway rank`, the verb of the program.

    Attributes
    ----------
    file : Path
        The file that it was read from.
    study : str
        The name of the study.
    task : str
        The kind of task, such as "fuzzy_logic"; "dataset" for the parts of a data set.
    runs : tuple of HeadRanking
        One for each trained network, or the one of a data set. `attributes` says which: run, label, variant, seed.
    provenance : mapping of str to value
        What made it: study, seed, command, version, commit, machine, hashes.
    partial : bool
        Interrupted: only the networks that were finished are there.
    kind : str
        "rank".
    train_labels : None
        These results have none; figures ask every result.
    """

    file: Path
    study: str
    task: str
    runs: tuple[HeadRanking, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    kind: str = "rank"
    train_labels: None = None

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        count = len(self.runs)
        return f"{self.study}, {count} ranking{'' if count == 1 else 's'} of " + ", ".join(
            f"{len(run)} heads" for run in self.runs)


def read_rankings(file: h5py.File | memory.Group, path: Path) -> RankResult:
    """A result of the verb from its open file."""
    return RankResult(
        file=path, study=hdf5.text(file.attrs.get("study", path.stem)), task=hdf5.text(file.attrs.get("task", "")),
        runs=tuple(map(_ranking, hdf5.numbered(file, "runs"))),
        provenance={name: plain(file.attrs[name]) for name in ("study", *FIELDS["provenance"]) if name in file.attrs},
        partial=bool(file.attrs.get("partial", 0)))


def _ranking(group: h5py.Group | memory.Group) -> HeadRanking:
    layers, heads = (tuple(int(number) for number in group[name][()]) for name in ("layer", "head"))
    names = [hdf5.text(name) for name in group["names"][()]]
    target = _of_today(hdf5.text(group.attrs["target"]))
    columns = {name: np.asarray(group[name][()], float) for name in ESTIMATE}
    among = among_name(target)
    columns[among] = np.asarray(group[among if among in group else "among_cheapest"][()], float)
    passes = {}
    for stored, column in group["columns"].items():
        name = _of_today(stored)
        columns |= {name: column["value"][()], f"{name}_error": column["error"][()]}
        passes[name] = float(column.attrs["passes"])
    attributes = {name: plain(group.attrs[name]) for name in
                  ("run", "label", "variant", "seed", "split", "examples", "loss", "accuracy", "penalty", "target", "k")}
    attributes["target"] = target
    ceiling = Ceiling(*(float(group.attrs[name]) for name in ("halves", "halves_sd", "ceiling")))
    return HeadRanking(layers, heads, tuple(head_name(*row) for row in zip(layers, heads, names)), columns,
                       attributes | {"told apart": float(group.attrs["told_apart"])},
                       passes | {"estimate": passes[target]}, ceiling, target)


def _of_today(name: str) -> str:
    """The name of a column: 0.2 called frozen cuts removals."""
    return name.replace(f"removal_{FROZEN}_", f"{FROZEN_CUT}_").replace(f"expected_{FROZEN}_", f"expected_{FROZEN_CUT}_")
