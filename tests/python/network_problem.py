"""A small trained-looking network with its data set, and what pruning does to it, in plain numpy.

The network is run through all of its layers for every removal. The program gets the same numbers in another way, from the
outputs of paths.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import headway

HEADS = (3, 2)
TOKENS, FEATURES, WIDTH = 5, 6, 8
SIZES = {"train": 30, "test": 60, "validation": 40, "other": 25}


class NetworkProblem:
    """Inputs, labels, heads and weights; `outputs` is a forward pass."""

    def __init__(self, seed: int = 1):
        rng = np.random.default_rng(seed)
        self.query = [0.6 * rng.standard_normal((count, 4, FEATURES)) for count in HEADS]
        self.key = [0.6 * rng.standard_normal((count, 4, FEATURES)) for count in HEADS]
        self.inputs = {name: rng.standard_normal((count, TOKENS, FEATURES))
                       for name, count in SIZES.items()}
        self.input = rng.standard_normal((WIDTH, FEATURES))
        widths = (WIDTH, WIDTH + 1, WIDTH - 1)
        # Heads of different worth, the second of each layer the largest.
        scales = ((0.5, 1.6, 0.9), (0.5, 1.4))
        self.values = [np.stack([scale * rng.standard_normal((widths[layer + 1], widths[layer]))
                                 for scale in scales[layer]]) for layer in range(2)]
        self.readout = rng.standard_normal((1, widths[2]))
        self.labels = {}
        for name in SIZES:
            f = self.outputs(name, [])
            noise = 0.5 * f.std() * rng.standard_normal(len(f))
            self.labels[name] = np.where(f + noise > 0, 1.0, -1.0)

    def outputs(self, name: str, removed, rescale: bool = True, masks=None) -> np.ndarray:
        """f(x) of every example, without the heads `removed` (counted from 0 over the layers); or with
        the output of each head times its entry of `masks`."""
        x = self.inputs[name]
        z = np.einsum("nf,psf->psn", self.input, x) / math.sqrt(FEATURES)
        first = 0
        for query, key, values in zip(self.query, self.key, self.values):
            heads = range(len(query))
            kept = [head for head in heads if first + head not in removed]
            total = 0.0
            for head in kept:
                logits = np.einsum("gf,psf,gh,pth->pst", query[head], x, key[head], x,
                                   optimize=True) / math.sqrt(query.shape[1])
                attention = np.exp(logits - logits.max(2, keepdims=True))
                attention /= attention.sum(2, keepdims=True)
                mask = 1.0 if masks is None else masks[first + head]
                total = total + mask * np.einsum("mn,pst,ptn->psm", values[head], attention, z,
                                                 optimize=True)
            scale = math.sqrt(len(query) / len(kept)) if rescale else 1.0
            z = scale * total / math.sqrt(len(query) * values.shape[2])
            first += len(query)
        return (z.mean(1) @ self.readout.T)[:, 0] / math.sqrt(self.readout.shape[1])

    def accuracy(self, name: str, removed, rescale: bool = True) -> float:
        return float(np.mean(self.outputs(name, removed, rescale) * self.labels[name] > 0))

    def write(self, path: Path) -> None:
        headway.write_dataset(
            path, overwrite=True, query=self.query, key=self.key,
            train_inputs=self.inputs["train"], train_labels=self.labels["train"],
            test_inputs=self.inputs["test"], test_labels=self.labels["test"],
            sets={name: {"inputs": self.inputs[name], "labels": self.labels[name]}
                  for name in ("validation", "other")},
            network={"input": self.input, "values": self.values, "readout": self.readout},
            readout="mean")
