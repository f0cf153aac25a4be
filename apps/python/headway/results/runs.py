"""What results of several networks share, such as those of `headway.train` and `headway.latents`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from headway.base.paths import described
from headway.errors import UsageError
from headway.results.display import Shown

Run = TypeVar("Run")


@dataclass(frozen=True, repr=False, eq=False)
class Runs(Shown, Generic[Run]):
    """A result with one entry for each network.

    Attributes
    ----------
    file : Path
        The file that it was read from; of a result in memory the name of the verb.
    study : str
        The name of the study.
    task : str
        The kind of task, such as "fuzzy_logic".
    runs : tuple
        The networks.
    provenance : mapping of str to value
        What made it: study, seed, command, version, commit, machine, hashes.
    partial : bool
        Interrupted: only the runs that were finished are there.
    kind : str
        The verb that made it.
    train_labels : None
        These results have none; figures ask every result.
    """

    file: Path
    study: str
    task: str
    runs: tuple[Run, ...]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    partial: bool = False
    kind: str = ""
    train_labels: None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """tuple of str: the labels of the runs, each once, in their order."""
        return tuple(dict.fromkeys(run.label for run in self.runs))

    @property
    def _networks(self) -> str:
        """"2 networks (softmax, hyla)"."""
        return f"{len(self.runs)} network{'' if len(self.runs) == 1 else 's'} ({', '.join(self.labels)})"

    def runs_of(self, label: str) -> tuple[Run, ...]:
        """Find the runs that differ in their seeds alone.

        Parameters
        ----------
        label : str
            The label that they share.

        Returns
        -------
        tuple
            The runs, in the order of the study.

        Raises
        ------
        UsageError
            No run has this label.
        """
        if label not in self.labels:
            raise UsageError(f"label: is {described(label)}; allowed: {', '.join(map(repr, self.labels)) or 'none, since there is no run'}")
        return tuple(run for run in self.runs if run.label == label)
