"""Measures on a pretrained transformer what its heads are worth to a linear readout of it.

To remove a head, its output is replaced before the output projection, and everything above is computed again. Nothing is
frozen, and nothing is linearised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headway.base.readout_checks import checked_penalty, checked_seed
from headway.errors import BadDataError, UsageError
from headway.heads.network_arguments import checked_encoded
from headway.heads.network_batches import evaluating, examples_in, hugging_face_answers
from headway.heads.network_blocks import stack_of_transformers
from headway.heads.network_removal import gradients_of, kept_layers, replacement_of, resampled, rows_of, targets_of
from headway.heads.network_tokens import placed
from headway.heads.probes import Probe, fit_probe
from headway.heads.ranking.ablation import check_removal
from headway.heads.readout_choice import names_of_heads, network_of, prepare
from headway.results.head_table import HeadTable, head_table

MODES = ("zero", "mean", "resample")

Tensor = torch.Tensor


def ablate_heads(model, encoded: Mapping[str, Any], labels, *, test: Mapping[str, Any] | None = None,
                 layers: Sequence[int] | None = None, mode: str = "mean", probe: str = "ridge",
                 penalty: float | None = None, readout: str | None = None,
                 classes: int | None = None, batch_size: int = 16, seed: int = 1, heads: Mapping[str, int] | None = None,
                 shared: str = "each", mask=None, loss: Callable[[Any, Any], Any] | None = None) -> HeadTable:
    """As headway.ablate_heads, which has the description."""
    if mode not in MODES:
        raise UsageError(f"mode: is {mode!r}; allowed: {', '.join(MODES)}")
    if loss is not None:
        if test is not None or probe != "ridge" or mode == "resample" or any(one is not None for one in (penalty, readout, classes)):
            raise UsageError("loss: is given, so no readout is fitted; allowed without test, probe, penalty, readout and classes, and with mode "
                             "'mean' or 'zero'")
        return _own_costs(model, encoded, labels, loss, layers, mode, batch_size, heads, shared, mask)
    penalty, seed = checked_penalty(penalty), checked_seed(seed)
    if test is not None and (not isinstance(test, Mapping) or set(test) - {"mask"} != {"encoded", "labels"}):
        given = list(test) if isinstance(test, Mapping) else type(test).__name__
        raise UsageError(f"test: is {given}; allowed: a mapping with encoded and labels, and perhaps mask")
    network = network_of(model, readout, batch_size, heads=heads, shared=shared)
    sets = {"train": (network.examples("train: encoded", encoded, mask), labels)}
    if test is not None:
        sets["test"] = network.examples("test: encoded", test["encoded"], test.get("mask")), test["labels"]
    targets_by_set = targets_of(model, sets, classes)
    sets = {name: (network.placed(f"{name}: encoded", given), own) for name, (given, own) in sets.items()}
    encoded = sets["train"][0]
    prepare(network, encoded)
    kept = network.kept(layers)
    with evaluating(model, batch_size, torch_attention=False):
        embeddings, means = network.embeddings(encoded)
        if network.stack is None:  # no known kind, so what the caller named is looked at
            check_removal(network, encoded, means, kept)
        fitted = fit_probe(probe, embeddings, targets_by_set["train"], penalty)
        measured = next(reversed(sets))
        encoded, targets = sets[measured][0], targets_by_set[measured]
        order = torch.arange(len(targets))
        if mode == "resample":
            order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(seed))
            encoded = {key: torch.as_tensor(value)[order] for key, value in encoded.items()}
        whole, removed = network.removals(encoded, kept, lambda layer, head: (
            resampled(network.heads[layer - 1], head, network.mask) if mode == "resample" else
            replacement_of(mode, means[layer - 1], network.heads[layer - 1], head)))
    return _costs(fitted, whole, removed, targets[order], network.rows(kept), network.row_names(kept),
                  {"mode": mode, "probe": probe, "penalty": fitted.penalty, "readout": network.used_readout,
                   "set": measured})


def _own_costs(model, encoded: Any, labels: Any, loss: Callable[[Any, Any], Any], layers: Sequence[int] | None, mode: str,
               batch_size: int, heads: Mapping[str, int] | None, shared: str, mask: Any) -> HeadTable:
    """What the model's own loss rises by without each head. Each removal is a pass of the whole model."""
    if not callable(loss):
        raise UsageError(f"loss: is {loss!r:.60}; allowed: a function of what the model returns and of the labels of a batch")
    network = network_of(model, "mean", batch_size, heads=names_of_heads(model) if heads is None else heads, shared=shared)
    network.own_loss = True
    given = network.examples("train: encoded", encoded, mask)
    count = examples_in(given)
    if not hasattr(labels, "__len__") or len(labels) != count:
        raise BadDataError(f"labels: are {len(labels) if hasattr(labels, '__len__') else 'one'} for {count} examples; allowed: one for each")
    given = network.placed("train: encoded", given)
    with evaluating(model, batch_size, torch_attention=False):
        network.start(given)
        kept = network.kept(layers)
        _, means = network.embeddings(given)
        check_removal(network, given, means, kept)
        whole, removed = network.own_losses(given, labels, kept, lambda layer, head: replacement_of(
            mode, means[layer - 1], network.heads[layer - 1], head), loss)
    rise = (removed - whole).T
    return head_table(*network.rows(kept), {"loss_rise": rise.mean(0).numpy(), "loss_rise_error": _error(rise)}, network.row_names(kept),
                      loss=float(whole.mean()), examples=count, mode=mode, readout="the model's own loss")


def gradient_sensitivity(model, encoded: Mapping[str, Any], labels, *,
                         layers: Sequence[int] | None = None, probe: str = "ridge",
                         penalty: float | None = None, readout: str | None = None,
                         classes: int | None = None, batch_size: int = 16, heads: Mapping[str, int] | None = None,
                         shared: str = "each", mask=None) -> HeadTable:
    """As headway.gradient_sensitivity: I_h = mean over examples of |d loss / d m_h| at m = 1."""
    penalty = checked_penalty(penalty)
    network = network_of(model, readout, batch_size, heads=heads, shared=shared)
    encoded = network.examples("train: encoded", encoded, mask)
    targets = targets_of(model, {"train": (encoded, labels)}, classes)["train"]
    encoded = network.placed("train: encoded", encoded)
    prepare(network, encoded)
    kept = network.kept(layers)
    with evaluating(model, batch_size, torch_attention=False):
        embeddings, means = network.embeddings(encoded)
        if network.stack is None:
            check_removal(network, encoded, means, kept)
        fitted = fit_probe(probe, embeddings, targets, penalty)
        gradients = gradients_of(network, encoded, targets, fitted, kept)  # [P, heads of kept layers]
    sensitivity = gradients.abs()
    mean, layer_of = sensitivity.mean(0).numpy(), network.rows(kept)[0]
    norms = {layer: np.sqrt(np.square(mean[np.array(layer_of) == layer]).sum()) for layer in kept}
    return head_table(*network.rows(kept), {
        "sensitivity": mean, "sensitivity_error": _error(sensitivity),
        "sensitivity_in_layer": mean / np.array([norms[layer] for layer in layer_of])}, network.row_names(kept),
        probe=probe, penalty=fitted.penalty, readout=network.used_readout, examples=len(targets))


def head_baselines(model, encoded: Mapping[str, Any], *, layers: Sequence[int] | None = None,
                   batch_size: int = 16) -> HeadTable:
    """As headway.head_baselines."""
    stack = stack_of_transformers(model)
    kept = kept_layers(len(stack.blocks), layers)
    checked_encoded(model, "encoded", encoded)
    encoded = placed(model, "encoded", encoded)
    weights = [torch.linalg.matrix_norm(block.output_weights @ block.value_weights)
               for block in (stack.blocks[layer - 1] for layer in kept)]
    sums, counts = [], []
    with evaluating(model, batch_size, torch_attention=False):
        for answer in hugging_face_answers(model, encoded, batch_size, "encoded"):
            found = entropies([answer.attentions[layer - 1] for layer in kept], answer.mask)
            sums.append(found[0])
            counts.append(found[1])
    entropy = finite_entropies(torch.cat(sums).sum(0) / torch.cat(counts).sum())
    return head_table(*rows_of([block.heads for block in stack.blocks], kept),
                      {"weight_norm": torch.cat(weights).cpu().numpy(), "attention_entropy": entropy.numpy()})


def entropies(attentions: Sequence[Tensor], mask: Any) -> tuple[Tensor, Tensor]:
    """For a batch: the entropy of every head of these layers, summed over the real queries of each example, [b, heads]; and the
    number of these queries, [b]. attentions: [b, H, S, S] of each layer."""
    real = torch.ones(attentions[0].shape[0], attentions[0].shape[2], dtype=torch.float64)
    if mask is not None:
        real = (mask != 0).double().cpu()
    return torch.cat([torch.where(real[:, None] != 0, torch.special.entr(array.double()).sum(-1).cpu(), 0.0).sum(2) for array in attentions],
                     1), real.sum(1)


def finite_entropies(entropy: Any) -> Any:
    """The entropies of all heads; BadDataError where one is not a number."""
    if not np.isfinite(np.asarray(entropy)).all():
        raise BadDataError("model: the attention of a real token is not finite; allowed: a model whose every real token attends to some token")
    return entropy


# ---- tables


def _error(values: Tensor) -> np.ndarray:
    """Standard errors of the means over the first index."""
    return (values.std(0) / len(values) ** 0.5).numpy()


def _costs(probe: Probe, whole: Tensor, removed: Tensor, targets: Tensor,
           rows: tuple[list[int], list[int]], names: Sequence[str] | None, attributes: Mapping[str, Any]) -> HeadTable:
    loss, right = probe.losses(whole, targets), probe.right(whole, targets)
    rise = torch.stack([probe.losses(x, targets) - loss for x in removed], 1)
    lost = torch.full_like(rise, torch.nan)
    if right is not None:
        lost = torch.stack([right - probe.right(x, targets) for x in removed], 1)
    return head_table(*rows, {
        "loss_rise": rise.mean(0).numpy(), "loss_rise_error": _error(rise),
        "accuracy_drop": lost.mean(0).numpy(), "accuracy_drop_error": _error(lost)}, names,
        loss=float(loss.mean()), accuracy=float("nan") if right is None else float(right.mean()),
        examples=len(targets), **attributes)
