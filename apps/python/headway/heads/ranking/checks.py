"""What is refused before any head is removed, each with a sentence of its own. Needs PyTorch."""

from __future__ import annotations

from typing import Any

from headway.errors import UsageError


def check_model(model: Any) -> None:
    """UsageError for a model without heads, and for one that has lost some already."""
    from headway.heads.network_blocks import stack_of_transformers
    for layer, block in enumerate(stack_of_transformers(model).blocks, 1):
        for module in block.module.modules():
            gone = sorted(getattr(module, "pruned_heads", None) or ())
            if gone:
                raise UsageError(f"model: head {gone[0] + 1} of layer {layer} was pruned already, so its heads have lost their "
                                 "numbers; allowed: the model with all of its heads. headway.remove_in_order says what is lost "
                                 "as heads go one after another")
