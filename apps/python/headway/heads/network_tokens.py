"""Tokens that a Hugging Face model gets: what it cannot take of them, and positions that padding must not move."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.base.caller import warn
from headway.base.dataset_texts import number
from headway.base.tensors import as_numpy
from headway.errors import BadDataError
from headway.heads.network_batches import device_of, evaluating, part_of

_POSITIONS = ("position_embeddings", "position_embedding", "positions_embed", "embed_positions", "wpe")  # tables of learned positions
_GAPS = {"float64": 1e-6, "float32": 1e-3}  # of a token's state with padding from the same without, relative to it
_LOOSEST_GAP = 0.05  # in lower precisions


# ---- what is refused


def require_rows(name: str, encoded: Mapping[str, Any]) -> None:
    """BadDataError where lists have rows of different lengths."""
    for key, value in encoded.items():
        lengths = sorted({len(row) if hasattr(row, "__len__") else 0 for row in value}) if isinstance(value, (list, tuple)) else [0]
        if len(lengths) > 1:
            raise BadDataError(f"{name}: {key}: has rows of {lengths[0]} to {lengths[-1]} tokens; allowed: rows of one length, as the "
                               "tokenizer makes them with padding=True")


def require_tokens_known(model: Any, name: str, encoded: Mapping[str, Any]) -> None:
    """BadDataError for tokens outside the vocabulary of a model, and for texts that are longer than its positions."""
    if encoded.get("input_ids") is None:
        return
    ids = as_numpy("input_ids", encoded["input_ids"])
    if ids.ndim != 2:
        raise BadDataError(f"{name}: input_ids: have shape {list(ids.shape)}; allowed: [P, S], a row of tokens for each example")
    if ids.dtype.kind not in "iu":
        raise BadDataError(f"{name}: input_ids: are of type {ids.dtype}; allowed: integers, the numbers of tokens")
    known = _vocabulary(model)
    wrong = np.argwhere((ids < 0) | (ids >= known)) if known else ()
    if len(wrong):
        at = wrong[0].tolist()
        raise BadDataError(f"{name}: input_ids{at}: {number(ids[tuple(at)])}; allowed: 0 to {known - 1}, the tokens of the model. Is the tokenizer "
                           "that of this model?")
    _require_positions(model, name, encoded, ids)


def _vocabulary(model: Any) -> int | None:
    """How many tokens a model knows; None where it does not say."""
    try:
        return getattr(model.get_input_embeddings(), "num_embeddings", None)
    except (AttributeError, NotImplementedError):
        return None


def _require_positions(model: Any, name: str, encoded: Mapping[str, Any], ids: np.ndarray) -> None:
    table = next((module for path, module in model.named_modules() if path.rpartition(".")[2] in _POSITIONS
                  and hasattr(module, "num_embeddings")), None) if hasattr(model, "named_modules") else None
    if table is None:
        return
    counted, first = getattr(table, "padding_idx", None), getattr(table, "offset", 0)
    if counted is not None:  # RoBERTa: padding has a position of its own, and the first token comes after it
        first = counted + 1
    given = encoded.get("position_ids")
    if given is not None:
        given = as_numpy("position_ids", given)
        if given.max() >= table.num_embeddings or given.min() < 0:
            raise BadDataError(f"{name}: position_ids: go from {given.min()} to {given.max()}; allowed: 0 to {table.num_embeddings - 1}, the "
                               "positions of the model")
        return
    lengths = np.full(len(ids), ids.shape[1]) if counted is None else (ids != counted).sum(1)
    longest, allowed = int(lengths.argmax()), table.num_embeddings - first
    if lengths[longest] > allowed:
        raise BadDataError(f"{name}: input_ids[{longest}]: has {lengths[longest]} tokens; allowed: at most {allowed}, the positions of the model, "
                           f"as the tokenizer makes them with truncation=True, max_length={allowed}")


# ---- positions


def placed(model: Any, name: str, encoded: Mapping[str, Any]) -> Mapping[str, Any]:
    """The examples with the positions of their real tokens, where padding before them would move these.

    Transformers number the tokens of a text from the first column on if they get no position_ids, as GPT-2 does. Then texts
    padded on the left say something else than the same texts padded on the right. Whether the model does so is measured: the
    example that padding moves most is run as it is, without its padding, and with positions. A warning says what was done.

    Cost: two or three passes of one example; none where no padding stands before a real token.
    """
    mask = encoded.get("attention_mask")
    if mask is None or encoded.get("position_ids") is not None or not hasattr(model, "forward"):
        return encoded
    real = as_numpy("attention_mask", mask) != 0
    places = np.maximum(real.cumsum(1) - 1, 0)
    moved = np.where(real, np.arange(real.shape[1]) - places, 0).max(1)
    if not moved.any():
        return encoded
    kind, takes = type(model).__name__, "position_ids" in inspect.signature(model.forward).parameters
    with evaluating(model, 1, torch_attention=False):
        look = _Example(model, encoded, int(moved.argmax()), real)
        if look.gap({}) <= look.limit:
            return encoded
        for first in (0, 1 + (getattr(getattr(model, "config", None), "pad_token_id", None) or 0)) if takes else ():
            if look.gap({"position_ids": look.row(places + first)}) <= look.limit:
                warn(f"{name}: has padding before its tokens, and {kind} counts it when it numbers them. Headway gives the model position_ids "
                     "that do not: without them its answers depend on the padding")
                return dict(encoded) | {"position_ids": places + first}
    warn(f"{name}: has padding before its tokens, and {kind} says something else of them than without it. Pad the texts on the right "
         "(tokenizer.padding_side = \"right\")")
    return encoded


class _Example:
    """One example: what the model says of its real tokens, with its padding and without."""

    def __init__(self, model: Any, encoded: Mapping[str, Any], index: int, real: np.ndarray):
        self._model, self._device, self._index = model, device_of(model), index
        takes = inspect.signature(model.forward).parameters
        any_name = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in takes.values())
        self._options = ({"output_hidden_states": True} if any_name or "output_hidden_states" in takes else {}) | (
            {"use_cache": False} if "use_cache" in takes else {})
        self._given = {key: self.row(value) for key, value in encoded.items()}
        self._tokens = self.row(real)[0]
        self._alone = self._states({key: value[:, self._tokens] if value.shape[1:2] == self._tokens.shape else value
                                    for key, value in self._given.items()})
        self.limit = _GAPS.get(str(self._alone.dtype).rpartition(".")[2], _LOOSEST_GAP)

    def row(self, value: Any) -> Any:
        return part_of(value, self._index, 1, self._device)

    def gap(self, more: Mapping[str, Any]) -> float:
        """How much padding changes what the model says of a real token, relative to it; the largest of all."""
        alone = self._alone.double()
        there = self._states(self._given | more)[self._tokens].double()
        return float(((there - alone).norm(dim=1) / alone.norm(dim=1)).max())

    def _states(self, batch: Mapping[str, Any]) -> Any:
        """[S, N]: of every token of the example."""
        said = self._model(**batch, **self._options)
        return ((getattr(said, "hidden_states", None) or (said[0],))[-1])[0]
