"""headway.remove_heads: a model without some of its heads, inside a `with` block or for good.

It needs PyTorch, which is loaded when it is called. headway/heads/head_surgery.py does the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from headway.base.signatures import with_known_arguments
from headway.base.torch_version import require_torch
from headway.heads.model_locks import exclusive

if TYPE_CHECKING:
    from headway.heads.head_surgery import Cut


class RemovedHeads:
    """What `headway.remove_heads` has taken out of a model, and the way back.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    cuts : sequence of Cut
        What was taken out of each module.

    Attributes
    ----------
    heads : tuple of str
        A line for each layer or module: its heads by the names that tables give them, how they were removed, and which calls of a shared
        module lack them.

    Examples
    --------
    >>> with headway.remove_heads(model, {5: [0, 2]}) as removed:  # doctest: +SKIP
    ...     print(removed)
    """

    def __init__(self, model: Any, cuts: Sequence[Cut]):
        self._model, self._cuts = model, list(cuts)
        self.heads = tuple(str(cut) for cut in cuts)

    def __enter__(self) -> RemovedHeads:
        """Begin a block, at whose end the heads come back."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Put the heads back."""
        self.undo()

    def __repr__(self) -> str:
        """Show which heads are gone."""
        return "\n".join(self.heads) or "no heads removed"

    def undo(self) -> None:
        """Put the heads back, to the last bit; not those that another removal still holds. A second call does nothing."""
        with exclusive(self._model):
            while self._cuts:
                self._cuts.pop().undo()


@with_known_arguments
def remove_heads(model: Any, removed: Mapping[Any, Sequence[int]], *, heads: Mapping[str, int] | None = None) -> RemovedHeads:
    """Take heads out of a model: for good, or inside a `with` block.

    The heads go at once. As `with headway.remove_heads(...):` they come back at the end of the block, also after an error.

    Parameters
    ----------
    model : torch.nn.Module
        A model of transformers of a kind that `headway.rank_heads` knows, or any other model of PyTorch.
    removed : mapping of int or str to sequence of int
        {layer: [heads]}, **both counted from 0**, as `ranking.to_prune_heads(k)` gives them. In place of a layer: the name of the
        module that projects its concatenated heads, or (name, call), with the number of one call of a shared module in a pass.
        Where queries share a key and a value, a head is a query.
    heads : mapping of str to int, optional
        The number of heads of each module that is named, where Headway does not know it. A layer is then a module of these, in
        their order.

    Returns
    -------
    RemovedHeads
        A context manager. `undo()` puts the heads back; printed, it says what was removed, and how.

    Raises
    ------
    UsageError
        A layer, a head or a module that the model does not have; a projection that cannot lose heads.
    UnavailableError
        PyTorch is missing, or older than 1.13.

    Notes
    -----
    **What changes.** The columns of the output projection that read the head become zero. Shapes stay, so the model can be saved and
    loaded as before, and neither becomes smaller nor faster. Training afterwards can bring a head back. The numbers are those of
    `headway.rank_heads(..., mode="zero")` and `headway.ablate_heads(mode="zero")`.

    **Shared layers.** A module that several layers share, as in ALBERT, loses a head in every call if it is named, and in the call
    of one layer if that layer, or (name, call), is given. Columns cannot do the latter, nor can weights that are shared, quantised or made by
    another module. Then a hook sets the head's output to zero. A hook is not saved with the weights.

    Examples
    --------
    >>> with headway.remove_heads(model, ranking.to_prune_heads(3)):  # doctest: +SKIP
    ...     evaluate(model)
    >>> headway.remove_heads(model, {"blocks.0.attn.proj": [1]}, heads={"blocks.0.attn.proj": 4})  # doctest: +SKIP
    """
    require_torch("headway.remove_heads")
    from headway.heads.head_surgery import cut_heads
    return RemovedHeads(model, cut_heads(model, removed, heads))
