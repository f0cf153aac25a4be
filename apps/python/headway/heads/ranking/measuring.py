"""Measures on a pretrained transformer everything that a ranking of its heads is made of. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headway.base.progress import Progress
from headway.errors import UsageError
from headway.heads.head_removal import entropies, finite_entropies
from headway.heads.network_batches import evaluating, hugging_face_answers
from headway.heads.network_contributions import PartsMissError, contribution_blocks, hugging_face_states
from headway.heads.network_removal import Network, NoGradientError, gradients_of, replacement_of, targets_of
from headway.heads.probes import Probe
from headway.heads.ranking.ablation import check_removal
from headway.heads.ranking.cache import Cache, fingerprint
from headway.heads.ranking.frozen import cut_changes, matched_temperature, scaled_parts, solved_order_parameters
from headway.heads.ranking.solver import theory_solver
from headway.heads.readout_choice import network_of, prepare
from headway.results.ranking.measured import CUTS, MODES, Measured, removal_name
from headway.results.ranking.readouts import Readout, right_answers
from headway.results.ranking.removal import Change, Whole, stacked

BACKWARD = 2.0  # what a backward pass costs, in forward passes


@dataclass(frozen=True)
class Options:
    """What measure() is asked; headway.rank_heads describes each."""

    layers: Sequence[int] | None = None
    readout: str | None = None
    classes: int | None = None
    penalty: float | None = None
    grouped: bool = True
    theory: bool | None = None
    batch_size: int = 16
    seed: int = 1
    cache: Any = None
    heads: Mapping[str, int] | None = None
    shared: str = "each"
    mask: Any = None


def measure(model: Any, encoded: Mapping[str, Any], labels: Any, options: Options, progress: Progress | None,
            check: Callable[[int], None]) -> tuple[Measured, list[str] | None, list[Any]]:
    """Removal of every head, and every score, on these examples; names of the heads, and modules of all layers, where they are
    named. headway.rank_heads has the description.

    check: is told how many heads there are before they are removed, and may refuse.
    """
    network = network_of(model, options.readout, options.batch_size, options.grouped, options.heads, options.shared)
    encoded = network.examples("train: inputs", encoded, options.mask)
    y = targets_of(model, {"train": (encoded, labels)}, options.classes, "inputs")["train"].numpy()
    encoded = network.placed("train: inputs", encoded)
    prepare(network, encoded)
    options, kept = replace(options, readout=network.readout), network.kept(options.layers)
    rows = network.rows(kept)
    check(len(rows[0]))
    tell = progress or (lambda stage, done, total: None)
    cache = Cache(options.cache, lambda: fingerprint(model, encoded, y, options, rows))
    with evaluating(model, options.batch_size, torch_attention=False):
        embeddings, means = network.embeddings(encoded)
        whole = Whole(embeddings.numpy(), y, options.penalty, options.seed)
        checks = check_removal(network, encoded, means, kept)
        changes = _removals(network, encoded, kept, means, whole, cache, tell)
        scores = _Scores(network, encoded, kept, y, whole.readout, options, tell)
        scores.measure()
    columns = {removal_name(mode, readout): network.cost(kept, len(MODES)) for mode in MODES for readout in ("fixed", "refitted")}
    queries = {network.projections[layer - 1].heads // network.heads[layer - 1] for layer in kept}
    right = right_answers(y - whole.readout.missed, y)
    found = Measured(
        *map(tuple, rows), changes=changes | scores.changes, slopes=scores.slopes, scores=scores.values,
        score_errors=scores.errors, passes=columns | scores.passes,
        attributes={"examples": len(y), "loss": float(whole.errors.mean()), "accuracy": float(right.mean()),
                    "penalty": whole.readout.penalty, "readout": network.used_readout, "grouped": options.grouped, "queries_per_head": max(queries), "checks": len(checks),
                    "left out": ", ".join(scores.left_out)})
    return found, network.row_names(kept), network.modules


def _removals(network: Network, encoded: Mapping[str, Any], kept: Sequence[int], means: Sequence[torch.Tensor], whole: Whole,
              cache: Cache, tell: Progress) -> dict[str, Change]:
    rows = list(zip(*network.rows(kept)))
    done = 0
    for layer in kept:
        heads = [head for own, head in rows if own == layer]
        batches = None
        for head in heads:
            if (layer, head) not in cache:
                batches = batches or network.started(encoded, layer)
                cache.keep((layer, head), _without(network, batches, layer, head, means, whole))
            done += 1
            tell("removal of heads", done, len(rows))
    return {name: stacked([cache[row][name] for row in rows]) for name in cache[rows[0]]}


def _without(network: Network, batches: Sequence[Any], layer: int, head: int, means: Sequence[torch.Tensor],
             whole: Whole) -> dict[str, Change]:
    found = {}
    for mode in MODES:
        change = replacement_of(mode, means[layer - 1], network.heads[layer - 1], head)
        removed = network.embeddings_from(batches, {layer: change}).numpy()
        found |= {removal_name(mode, readout): change for readout, change in whole.without(removed).items()}
    return found


class _Scores:
    """Scores of the heads of the layers `kept`; those that the model does not allow are named in `left_out`."""

    def __init__(self, network: Network, encoded: Mapping[str, Any], kept: Sequence[int], y: np.ndarray, readout: Readout,
                 options: Options, tell: Progress):
        self.network, self.encoded, self.kept, self.y, self.readout = network, encoded, kept, y, readout
        self.options, self.tell = options, tell
        self.slopes: np.ndarray | None = None
        self.changes: dict[str, Change] = {}
        self.values: dict[str, np.ndarray] = {}
        self.errors: dict[str, np.ndarray] = {}
        self.passes: dict[str, float] = {}
        self.left_out: list[str] = []

    def measure(self) -> None:
        self._gradient()
        if self.network.stack is None:
            self.left_out.append("weight_norm, attention_entropy and cuts (for models of known kinds)")
            return
        self._weights()
        try:
            self._attention()
        except UsageError as error:  # an implementation of attention that keeps its weights to itself
            if "no attention" not in str(error):
                raise
            self.left_out.append("attention_entropy and cuts (load the model with attn_implementation=\"eager\")")
            return
        try:
            self._cuts()
        except PartsMissError as error:
            self.left_out.append(f"cuts ({error})")

    def _gradient(self) -> None:
        readout = self.readout
        probe = Probe("ridge", readout.penalty, *map(torch.as_tensor, (readout.mean, readout.scale, readout.weights, readout.offset)))
        try:
            found = gradients_of(self.network, self.encoded, torch.as_tensor(self.y), probe, self.kept)
        except NoGradientError as error:
            self.left_out.append(f"gradient ({str(error).removeprefix('model: ')})")
            return
        self.slopes = found.abs().numpy().T
        self.passes["gradient"] = 1.0 + BACKWARD
        self.tell("scores", 1, 3)

    def _weights(self) -> None:
        norms = []
        for layer in self.kept:
            block, heads = self.network.stack.blocks[layer - 1], self.network.heads[layer - 1]
            squares = torch.linalg.matrix_norm(block.output_weights @ block.value_weights).square().reshape(heads, -1).sum(1)
            norms.append(squares.sqrt().cpu().numpy())
        self.values["weight_norm"] = np.concatenate(norms)
        self.errors["weight_norm"] = np.zeros(len(self.values["weight_norm"]))
        self.passes["weight_norm"] = 0.0

    def _attention(self) -> None:
        sums, counts = [], []
        for answer in hugging_face_answers(self.network.model, self.encoded, self.options.batch_size, "encoded"):
            found = entropies([answer.attentions[layer - 1] for layer in self.kept], answer.mask)
            sums.append(found[0].numpy())
            counts.append(found[1].numpy())
        count = np.concatenate(counts)
        total = self._of_units(np.concatenate(sums).T)
        entropy = finite_entropies(total.sum(1) / count.sum())
        self.values["attention_entropy"] = entropy
        self.errors["attention_entropy"] = np.sqrt(np.square(total - entropy[:, None] * count).sum(1)) / count.sum()
        self.passes["attention_entropy"] = 1.0

    def _of_units(self, queries: np.ndarray) -> np.ndarray:
        """[heads, ..]: rows of query heads, averaged over the queries that share a key and a value."""
        found, begin = [], 0
        for layer in self.kept:
            count, heads = self.network.stack.blocks[layer - 1].heads, self.network.heads[layer - 1]
            found.append(queries[begin:begin + count].reshape(heads, count // heads, -1).mean(1))
            begin += count
        return np.concatenate(found)

    def _cuts(self) -> None:
        solve = theory_solver(self.options.theory, self.left_out)
        found: dict[str, list[np.ndarray]] = {name: [] for name in CUTS if name == CUTS[0] or solve is not None}
        y = self.y - self.y.mean(0)
        for done, layer in enumerate(self.kept):
            parts = np.concatenate([block.parts for block in contribution_blocks(
                self.network.stack, hugging_face_states(self.network.model, self.encoded, layer, self.options.batch_size,
                                                        "encoded"), [layer], self.options.readout, "encoded")])
            parts = scaled_parts(parts)
            temperature = matched_temperature(parts, self.readout.penalty)
            heads, queries = self.network.heads[layer - 1], self.network.stack.blocks[layer - 1].heads
            groups = np.arange(1, queries + 1).reshape(heads, -1).tolist()
            for name, rises in found.items():
                u = None if name == CUTS[0] else solved_order_parameters(solve, parts, y, temperature)
                rises.append(cut_changes(parts, groups, y, temperature, u))
            self.tell("scores", 1 + 2 * (done + 1) / len(self.kept), 3)
        for name, rises in found.items():
            rows = np.concatenate(rises)
            self.changes[name] = Change(rows, np.zeros((len(rows), 0), np.float32), *np.full((3, len(rows)), np.nan))
            self.passes[name] = float(len(self.kept))
