"""Rankings of heads in the formats that other tools read.

| tool | format | numbers count from |
|---|---|---|
| Hugging Face `prune_heads`, and NNI, which calls it | JSON {layer: [heads]} | 0 |
| DuoAttention, kvpress | full_attention_heads.tsv, a row a layer, and config.json | rows and columns in order |
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headway.base.files import replace_text
from headway.base.signatures import with_known_arguments
from headway.errors import CannotWriteError, UnavailableError, UnreadableFileError, UsageError

SINK_SIZE, RECENT_SIZE = 128, 256  # defaults: first and recent tokens that DuoAttention's streaming heads keep
SCORES_FILE, CONFIG_FILE = "full_attention_heads.tsv", "config.json"


class Removals(dict):
    """{layer: [heads]}, or {name of a module: [heads]} with the number of heads of each such module in `heads`.

    A plain dict to all but `headway.remove_heads`, which need not be told those numbers again.
    """

    def __init__(self, found: Mapping[Any, list[int]], heads: Mapping[str, int] | None = None):
        super().__init__(found)
        self.heads = heads


def heads_by_layer(heads: Sequence[tuple[int, int]], queries: int = 1) -> dict[int, list[int]]:
    """{layer: [heads]}, counted from 0, from pairs counted from 1. Each given head stands for `queries` heads of the model, which
    share a key and a value."""
    found: dict[int, list[int]] = {}
    for layer, head in heads:
        found.setdefault(layer - 1, []).extend(range((head - 1) * queries, head * queries))
    return {layer: sorted(found[layer]) for layer in sorted(found)}


def write_json(value: Any, path: str | os.PathLike | None) -> None:
    if path is not None:
        replace_text(json.dumps(value, indent=1) + "\n", path)


def scores_of_layers(layers: Sequence[int], heads: Sequence[int], costs: np.ndarray, counts: Sequence[int]) -> np.ndarray:
    """[layers, heads]: the place of each ranked head, from 0 for the cheapest to 1. Heads that were not ranked have 1, so they
    are kept. counts: heads of every layer of the model."""
    if len(set(counts)) != 1:
        raise UsageError(f"model: has layers of {sorted(set(counts))} heads; allowed for DuoAttention: as many in each")
    scores = np.ones((len(counts), counts[0]))
    places = costs.argsort(kind="stable").argsort()
    for layer, head, place in zip(layers, heads, places):
        scores[layer - 1, head - 1] = place / max(1, len(places) - 1)
    return scores


def write_duo_attention(folder: str | os.PathLike, scores: np.ndarray, sink_size: int, recent_size: int) -> Path:
    """full_attention_heads.tsv and config.json in a folder, which is made."""
    for name, size in (("sink_size", sink_size), ("recent_size", recent_size)):
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise UsageError(f"{name}: is {size!r}; allowed: an integer from 1")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(f"{folder}: cannot be made: {error.strerror or error}") from None
    rows = "\n".join("\t".join(f"{score:.6f}" for score in row) for row in scores)
    replace_text(rows + "\n", folder / SCORES_FILE)
    replace_text(json.dumps({"sink_size": sink_size, "recent_size": recent_size}) + "\n", folder / CONFIG_FILE)
    return folder


def read_duo_attention(folder: str | os.PathLike) -> tuple[int, int, np.ndarray]:
    """sink_size, recent_size and scores, as DuoAttention and kvpress take them."""
    folder = Path(folder)
    try:
        config: Mapping[str, Any] = json.loads((folder / CONFIG_FILE).read_text())
        scores = np.loadtxt(folder / SCORES_FILE, dtype=float, delimiter="\t", ndmin=2)
        return int(config["sink_size"]), int(config["recent_size"]), np.clip(scores, 0.0, 1.0)
    except OSError as error:
        raise UnreadableFileError(f"{folder}: holds no ranking for DuoAttention: {error.strerror or error}: "
                                  f"{Path(error.filename or folder).name}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder}: is no ranking for DuoAttention: {error}; allowed: what HeadRanking.to_duo_attention wrote") from None


@with_known_arguments
def kvpress_press(folder: str | os.PathLike, head_compression_ratio: float = 0.5) -> Any:
    """Make a press of kvpress from a ranking that `HeadRanking.to_duo_attention` wrote.

    kvpress has patterns for a few models alone, and loads them from the net. This press takes them from the folder, for any
    model.

    Parameters
    ----------
    folder : path
        What `HeadRanking.to_duo_attention` wrote.
    head_compression_ratio : float, default: 0.5
        The share of heads, the cheapest ones, that keep only the first and the recent tokens.

    Returns
    -------
    kvpress.DuoAttentionPress
        A press: `with press(model): ...`.

    Raises
    ------
    UsageError
        A ratio outside 0 to 1, or a folder that holds something else.
    UnreadableFileError
        A file is missing.
    UnavailableError
        The package kvpress is missing.

    Examples
    --------
    >>> ranking.to_duo_attention("heads", model)  # doctest: +SKIP
    >>> press = headway.kvpress_press("heads", head_compression_ratio=0.25)  # doctest: +SKIP
    """
    if not isinstance(head_compression_ratio, (int, float)) or not 0.0 <= head_compression_ratio <= 1.0:
        raise UsageError(f"head_compression_ratio: is {head_compression_ratio!r}; allowed: a number from 0 to 1")
    pattern = read_duo_attention(folder)
    try:
        from kvpress import DuoAttentionPress
    except ImportError:
        raise UnavailableError("headway.kvpress_press: needs the package kvpress (pip install kvpress)") from None
    press = DuoAttentionPress(head_compression_ratio=float(head_compression_ratio))
    press.load_attention_pattern = lambda model: pattern
    return press
