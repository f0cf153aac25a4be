"""Embeddings of a network without several heads at once. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headway.base.progress import Progress
from headway.errors import UsageError
from headway.heads.network_batches import evaluating
from headway.heads.network_removal import Network, replacement_of, targets_of
from headway.heads.readout_choice import network_of
from headway.results.ranking.cumulative import Curves, RemovalCurves, checked_most, random_orders
from headway.results.ranking.table import HeadRanking


def remove_in_order(model: Any, sets: Mapping[str, tuple[Any, Any, Any]], ranking: HeadRanking, orders: Sequence[str],
                    random: int, greedy: bool, most: int | None, classes: int | None, batch_size: int, seed: int,
                    progress: Progress | None, heads: Mapping[str, int] | None = None, shared: str = "each") -> RemovalCurves:
    """As headway.remove_in_order. sets: "train" and perhaps "test": inputs, labels and mask."""
    made = ranking.attributes
    readout = None if made["readout"] == "answer" else made["readout"]
    network = network_of(model, readout, batch_size, made["grouped"], heads, shared)
    sets = {name: (network.examples(f"{name}: inputs", inputs, mask), labels) for name, (inputs, labels, mask) in sets.items()}
    rows = list(zip(ranking.layers, ranking.heads))
    targets = {name: array.numpy() for name, array in targets_of(model, sets, classes, "inputs").items()}
    sets = {name: (network.placed(f"{name}: inputs", encoded), labels) for name, (encoded, labels) in sets.items()}
    with evaluating(model, batch_size, torch_attention=False):
        network.start(sets["train"][0])
    if list(ranking.modules) != list(network.modules):
        raise UsageError(f"heads: names {network.modules or 'none'}, and the ranking is of {list(ranking.modules) or 'a known kind'}; allowed: what "
                         "the ranking was made with")
    ranking.check_model(network.heads)
    count, tell = checked_most(most, len(rows)), progress or (lambda stage, done, total: None)
    mode = ranking.mode
    with evaluating(model, batch_size, torch_attention=False):
        embed = _embedding(network, sets, rows, mode)
        curves = Curves(embed, targets["train"], targets.get("test"), made["penalty"])
        found = {}
        for done, name in enumerate(orders):
            found[name] = curves.curve(ranking.order(name), count)
            tell("orders", done + 1, len(orders) + random)
        drawn = []
        for done, order in enumerate(random_orders(len(rows), random, seed)):
            drawn.append(curves.curve(order, count))
            tell("orders", len(orders) + done + 1, len(orders) + random)
        if greedy:
            chooser = curves if "test" not in targets else Curves(lambda gone: embed(gone)[:1], targets["train"], None,
                                                                  made["penalty"])
            order = curves.greedy(len(rows), count, chooser, lambda done, total: tell("greedy search", done, total))
            found["greedy"] = curves.curve(order, count)
    return RemovalCurves(ranking.names, found, tuple(drawn), "test" if "test" in targets else "left out")


def _embedding(network: Network, sets: Mapping[str, tuple[Mapping[str, Any], Any]], rows: Sequence[tuple[int, int]],
               mode: str) -> Callable[[tuple[int, ...]], list[np.ndarray]]:
    _, means = network.embeddings(sets["train"][0])
    lowest = min(layer for layer, _ in rows)
    started = [network.started(encoded, lowest) for encoded, _ in sets.values()]

    def embed(removed: tuple[int, ...]) -> list[np.ndarray]:
        gone: dict[int, list[int]] = {}
        for row in removed:
            gone.setdefault(rows[row][0], []).append(rows[row][1])
        changes = {layer: replacement_of(mode, means[layer - 1], network.heads[layer - 1], *heads)
                   for layer, heads in gone.items()}
        return [network.embeddings_from(batches, changes).numpy() for batches in started]
    return embed
