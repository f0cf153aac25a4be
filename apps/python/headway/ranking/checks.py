"""What is refused before any head is removed, each with a sentence of its own. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from headway.errors import BadDataError, UsageError
from headway.network_batches import as_numpy, examples_in
from headway.ranking.label_checks import label_faults


def check_model(model: Any) -> None:
    """UsageError for a model without heads, and for one that has lost some already."""
    from headway.network_blocks import stack_of
    if not hasattr(model, "modules"):
        raise UsageError(f"model: is {type(model).__name__}, which has no heads that are known; allowed: a model of transformers")
    try:
        blocks = stack_of(model).blocks
    except UsageError as error:
        if "no blocks that are known" not in str(error):
            raise
        raise UsageError(f"model: {type(model).__name__} has no heads that are known; allowed: blocks like those of BERT, "
                         "DistilBERT, ALBERT, GPT-2 and Llama") from None
    for layer, block in enumerate(blocks, 1):
        for module in block.module.modules():
            gone = sorted(getattr(module, "pruned_heads", None) or ())
            if gone:
                raise UsageError(f"model: head {gone[0] + 1} of layer {layer} was pruned already, so its heads have lost their "
                                 "numbers; allowed: the model with all of its heads. headway.remove_in_order says what is lost "
                                 "as heads go one after another")


def check_examples(encoded: Mapping[str, Any], y: np.ndarray, name: str = "train") -> None:
    """BadDataError for masks that hide everything, labels of one class, and too few examples."""
    count = examples_in(encoded)
    mask = encoded.get("attention_mask")
    if mask is not None:
        hidden = np.flatnonzero(~(as_numpy(f"{name}: attention_mask", mask) != 0).any(axis=-1))
        if len(hidden):
            raise BadDataError(f"{name}: attention_mask: hides every token of {len(hidden)} of {count} examples, first of example "
                               f"{hidden[0]}; allowed: at least one real token in each")
    if name != "train":
        return
    faults = label_faults(y)
    if faults:
        raise BadDataError(faults)
