"""Whether attention ever looks ahead, and so which token a data set of a network is read at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.base.tensors import as_numpy
from headway.heads.network_batches import hugging_face_answers


def readout_by_attention(model: Any, encoded: Mapping[str, Any], batch_size: int, name: str) -> str:
    """"last_token" if no real token of the first batch attends to a later one, in any layer; else "first_token"."""
    first = {key: value[:batch_size] for key, value in encoded.items()}
    answer = next(hugging_face_answers(model, first, batch_size, name))
    seen = False
    for array in answer.attentions:
        weights = as_numpy("attention", array)
        if weights.ndim != 4 or weights.shape[2] != weights.shape[3]:
            return "first_token"  # what writes the file says what is wrong
        weights = weights.astype(float).max(1)
        real = np.ones(weights.shape[:2], bool) if answer.mask is None else as_numpy("mask", answer.mask) != 0
        ahead = np.triu(np.ones(weights.shape[1:], bool), 1) & real[:, :, None] & real[:, None, :]
        seen = seen or bool(ahead.any())
        if (weights[ahead] > 0.0).any():
            return "first_token"
    return "last_token" if seen else "first_token"
