"""What results of `headway latents` and `headway evaluate` hold, as plain objects of numpy arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from headway.errors import BadDataError
from headway.results.display import Brief
from headway.results.reading import Sizes
from headway.results.records import Integers, Stored, record
from headway.results.runs import Runs
from headway.results.training_settings import task_changes

SPLITS = ("train", "held_out")


def _require_rows(where: str, record: Stored, rows: int) -> None:
    """BadDataError unless every array has this many rows."""
    for name in record.stored:
        values = getattr(record, name)
        if isinstance(values, np.ndarray) and (values.ndim == 0 or len(values) != rows):
            raise BadDataError(f"{where}/{name}: has {len(np.atleast_1d(values))} rows, not {rows}")


@record("latent_run", "layers/<i>/decoders/<i>", scores=".")
@dataclass(frozen=True, repr=False, eq=False)
class Decoder(Brief):
    """What one decoder reads from the codes of one layer.

    Attributes
    ----------
    scores : mapping of str to float
        train, held_out, chance, standard_error, shuffled, untrained, ... by name.
    """

    name: str
    kind: str
    metric: str
    scores: Mapping[str, float]

    def _check(self, where: str, sizes: Sizes) -> None:
        for name in ("train", "held_out", "chance", "standard_error"):
            if name not in self.scores:
                raise BadDataError(f"{where}: attribute {name} is missing")

    @property
    def held_out(self) -> float:
        """float: the score on tasks that network and decoder never saw."""
        return self.scores["held_out"]

    @property
    def standard_error(self) -> float:
        """float: the standard error of `held_out`, over its tasks."""
        return self.scores["standard_error"]


@record("latent_run", "layers/<i>/similarity")
@dataclass(frozen=True, repr=False, eq=False)
class Similarity(Brief, Stored):
    """Mean codes of terms or rules on held-out tasks, and how alike they are."""

    labels: tuple[str, ...]
    cosine: np.ndarray
    centred_cosine: np.ndarray
    mean_codes: np.ndarray
    same_label: float = math.nan
    different_label: float = math.nan

    def _check(self, where: str, sizes: Sizes) -> None:
        _require_rows(where, self, len(self.labels))


@record("latent_run", "layers/<i>")
@dataclass(frozen=True, repr=False, eq=False)
class LatentLayer(Brief, Stored):
    """Codes of one layer and what is decoded from them.

    Attributes
    ----------
    decoders : tuple of Decoder
        One for each thing that is decoded.
    similarity : Similarity
        How alike the mean codes are.
    codes : mapping of str to ndarray of shape (codes, pairs heads)
        The codes of each split, "train" and "held_out".
    """

    layer: int
    heads: int
    decoders: tuple[Decoder, ...]
    similarity: Similarity
    codes: Mapping[str, np.ndarray]

    @property
    def name(self) -> str:
        """str: "layer 1", or "all layers"."""
        return f"layer {self.layer}" if self.layer else "all layers"

    def decoder(self, name: str) -> Decoder | None:
        """Find a decoder.

        Parameters
        ----------
        name : str
            What it decodes.

        Returns
        -------
        Decoder or None
            The decoder; None where there is none of this name.
        """
        return next((one for one in self.decoders if one.name == name), None)


@record("latent_run", "labels/train")
@dataclass(frozen=True, repr=False, eq=False)
class CodeLabels(Brief, Stored):
    """What each code of one split stands for, in their order."""

    task: Integers
    label: Integers
    answer: np.ndarray
    feature: Integers | None = None

    def _check(self, where: str, sizes: Sizes) -> None:
        _require_rows(where, self, len(self.task))


@record("latent_run")
@dataclass(frozen=True, repr=False, eq=False)
class LatentRun(Brief, Stored):
    """The latent codes of one network.

    Attributes
    ----------
    layers : tuple of LatentLayer
        Layer by layer.
    all_layers : LatentLayer
        All layers together.
    labels : mapping of str to CodeLabels
        By split, what each code stands for.
    """

    label: str
    variant: str
    seed: int
    task: str
    layers: tuple[LatentLayer, ...]
    all_layers: LatentLayer
    labels: Mapping[str, CodeLabels]

    def _check(self, where: str, sizes: Sizes) -> None:
        for split in SPLITS:
            if split not in self.labels:
                raise BadDataError(f"{where}/labels/{split}: is missing")
        for layer in self.layers:
            for split, codes in layer.codes.items():
                if codes.ndim != 2 or len(codes) != len(self.labels[split].task):
                    raise BadDataError(f"{where}: the codes of {layer.name}, {split}, are not one for each label")

    @property
    def every_layer(self) -> tuple[LatentLayer, ...]:
        """tuple of LatentLayer: the layers one by one, then all together."""
        return (*self.layers, self.all_layers)


@record()
@dataclass(frozen=True, repr=False, eq=False)
class LatentsResult(Runs[LatentRun]):
    """A result of `headway.latents`, or of the program's verb.

    Attributes
    ----------
    runs : tuple of LatentRun
        The networks.

    Examples
    --------
    >>> result = headway.read_result("codes.h5")  # doctest: +SKIP
    >>> result.runs[0].layers[0].decoder("term").held_out  # doctest: +SKIP
    """

    runs: tuple[LatentRun, ...]
    kind: str = "latents"

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        return f"{self.study}, {self.task}, codes of {self._networks}"


@record("evaluated_run")
@dataclass(frozen=True, repr=False, eq=False)
class EvaluatedRun(Brief, Stored):
    """One network on other data.

    Attributes
    ----------
    evaluations : mapping of str to mapping
        By split, loss, metrics and number of examples.
    """

    label: str
    variant: str
    seed: int
    evaluations: Mapping[str, Mapping[str, float]]
    run: int = 0
    evaluated_on: str = ""


@record()
@dataclass(frozen=True, repr=False, eq=False)
class EvaluateResult(Runs[EvaluatedRun]):
    """A result of `headway.evaluate`, or of the program's verb.

    Attributes
    ----------
    runs : tuple of EvaluatedRun
        The networks.
    evaluated_on : str
        The [task] that they were put on, where it is one for all.

    Examples
    --------
    >>> result = headway.read_result("longer.h5")  # doctest: +SKIP
    >>> result.runs[0].evaluations["held_out"]["r2"]  # doctest: +SKIP
    """

    runs: tuple[EvaluatedRun, ...]
    evaluated_on: str = ""
    kind: str = "evaluate"

    @property
    def summary(self) -> str:
        """str: what it is, in one line."""
        return f"{self.study}, {self.task}, {self._networks} on {', '.join(self.splits)}"

    def name_of(self, label: str, between: str = ", ") -> str:
        """Say how networks were trained, and on what else they were put.

        Parameters
        ----------
        label : str
            The label of their runs.
        between : str, default: ', '
            What stands between the two.

        Returns
        -------
        str
            The label, and what of the task differs: "softmax, on sequence_length = 32".
        """
        changes = next(filter(None, (task_changes(self, run) for run in self.runs_of(label))), "")
        return f"{label}{between}on {changes}" if changes else label

    @property
    def splits(self) -> tuple[str, ...]:
        """tuple of str: the splits that were evaluated."""
        return tuple(dict.fromkeys(split for run in self.runs for split in run.evaluations))
