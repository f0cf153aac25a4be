"""Which network removes the heads of a model, and which token its answer is read at. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway.base.caller import warn
from headway.errors import UsageError
from headway.heads.named_network import NamedNetwork
from headway.heads.network_batches import evaluating
from headway.heads.network_removal import Network
from headway.heads.projections import attention_modules, named_projections
from headway.heads.ranking.checks import check_model

READOUTS = ("first_token", "last_token", "mean")
UNCHANGED = 1e-6  # a first token that changes by less, relative to itself, does not see the others


def network_of(model: Any, readout: str | None, batch_size: int, grouped: bool = False, heads: Mapping[str, int] | None = None,
               shared: str = "each") -> Network:
    """The network whose heads are removed: of a known kind, or with the heads that the caller names.

    Errors: UsageError for a model without heads that are known or named, and for one that has lost heads already.
    """
    if readout is not None and readout not in READOUTS:
        raise UsageError(f"readout: is {readout!r}; allowed: {', '.join(READOUTS)}, or None")
    if shared not in ("each", "all"):
        raise UsageError(f"shared: is {shared!r}; allowed: each, all")
    model = getattr(model, "_orig_mod", model)  # compiled code may not see hooks
    if heads is None:
        try:
            check_model(model)
            network = Network(model, readout, batch_size, grouped)
        except UsageError:
            heads = attention_modules(model) if hasattr(model, "named_modules") else {}
            if not heads:
                raise
        else:
            if shared == "all" and len({id(one.module) for one in network.projections}) < len(network.heads):
                raise UsageError("shared: is 'all', and its layers are removed one by one; allowed: each, or the shared module by its name in "
                                 "heads, with shared='all'")
            return network
    if not hasattr(model, "named_modules"):
        raise UsageError(f"model: is {type(model).__name__}; allowed: a torch.nn.Module")
    return NamedNetwork(model, named_projections(model, heads), readout, batch_size, shared)


def names_of_heads(model: Any) -> dict[str, int]:
    """The modules that project the heads of a model of a known kind, or every torch.nn.MultiheadAttention, with their numbers of heads.

    Errors: UsageError for any other model.
    """
    try:
        check_model(model)
        places = Network(model, None, 1).projections
    except UsageError:
        heads = attention_modules(model) if hasattr(model, "named_modules") else {}
        if not heads:
            raise
        return heads
    names = {id(module): name for name, module in model.named_modules()}
    return {names[id(place.module)]: place.heads for place in places}


def prepare(network: Network, encoded: Mapping[str, Any]) -> None:
    """Chooses the readout where the caller has left it open: the last token of a causal model, the first of any other.

    A model is causal if its answer at the first real token stays as it is when all later tokens change.
    """
    with evaluating(network.model, network.batch_size, torch_attention=False):
        network.start(encoded)
        if not network.reads_tokens or network.readout in READOUTS[1:]:
            return
        gap = network.gap_if_later_tokens_change(encoded)
    if gap is None and network.readout is None:
        raise UsageError("readout: is not given, and it cannot be seen whether the model is causal, since none of its inputs has a row for each "
                         f"token; allowed: {', '.join(READOUTS)}")
    causal = gap is not None and gap <= UNCHANGED
    if network.readout is None:
        network.readout = READOUTS[causal]
    elif causal:
        warn("readout: is 'first_token', and the model is causal: its first token does not see the others. 'last_token' reads the token that "
             "sees all")
