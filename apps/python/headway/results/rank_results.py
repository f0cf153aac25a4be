"""What `headway rank` writes, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headway.base import hdf5
from headway.results.display import Shown
from headway.results.older import today
from headway.results.reading import Group, plain
from headway.results.records import record
from headway.results.head_table import head_name
from headway.results.ranking.ceiling import Ceiling
from headway.results.ranking.measured import among_name
from headway.results.ranking.table import ESTIMATE, HeadRanking


@record()
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


def ranking_of(group: Group) -> HeadRanking:
    """What the file has of one network, or of a data set."""
    layers, heads = (tuple(int(number) for number in group[name][()]) for name in ("layer", "head"))
    target = today(hdf5.text(group.attrs["target"]))
    columns = {name: np.asarray(group[name][()], float) for name in ESTIMATE}
    among = among_name(target)
    columns[among] = np.asarray(group[among if among in group else "among_cheapest"][()], float)
    passes = {}
    for name, column in group["columns"].items():
        columns |= {name: column["value"][()], f"{name}_error": column["error"][()]}
        passes[name] = float(column.attrs["passes"])
    attributes = {name: plain(group.attrs[name]) for name in
                  ("run", "label", "variant", "seed", "split", "examples", "loss", "accuracy", "penalty", "k")}
    ceiling = Ceiling(*(float(group.attrs[name]) for name in ("halves", "halves_sd", "ceiling")))
    return HeadRanking(layers, heads, tuple(head_name(*row) for row in zip(layers, heads, hdf5.texts(group["names"]))), columns,
                       attributes | {"target": target, "told apart": float(group.attrs["told_apart"])},
                       passes | {"estimate": passes[target]}, ceiling, target)
