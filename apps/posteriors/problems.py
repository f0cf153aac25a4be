"""The six posteriors: tokens, heads and labels of small attention networks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

TOKENS = 5
TEST_EXAMPLES = 3
FEATURES = 4           # numbers of a token
ATTENTION_VARIANCE = 100.0  # s_w^2 of learned attention, eq. 72


@dataclass(frozen=True)
class Problem:
    """One posterior: `heads` names the attention of each head of each layer; None where it is learned."""

    data: str
    model: str
    width: int
    temperature: float
    examples: int
    heads: tuple[tuple[str, ...], ...] | None
    about: str
    draws: int = 1000  # of each chain
    warmup: int = 1000
    thin: int = 5

    @property
    def name(self) -> str:
        return f"{self.data}-{self.model}"

    @property
    def sizes(self) -> list[int]:
        return [1] if self.heads is None else [len(layer) for layer in self.heads]

    @property
    def paths(self) -> int:
        return int(np.prod(self.sizes))

    @property
    def numbers(self) -> int:
        """N_0."""
        return 2 + TOKENS if self.heads is None else FEATURES

    @property
    def weights(self) -> int:
        """Parameters of the Stan program."""
        values = self.width * (self.numbers + self.width * sum(self.sizes) + 1)
        return values + self.numbers ** 2 if self.heads is None else values


PROBLEMS = (
    Problem("attention_two_heads", "attention_one_layer", 4, 0.1, 20, (("previous", "uniform"),),
            "Two heads, of which one is needed. The easy case."),
    Problem("attention_two_heads_quiet", "attention_one_layer", 4, 0.003, 20, (("previous", "uniform"),),
            "The same with little label noise: weights are tied by stiff products."),
    Problem("attention_four_heads_narrow", "attention_one_layer", 2, 0.1, 20, (("previous", "uniform", "first", "same"),),
            "Fewer units than heads: the order parameter U_1 is singular in every draw."),
    Problem("attention_two_by_two", "attention_two_layers", 6, 0.1, 20, (("previous", "uniform"), ("same", "uniform")),
            "Two layers of two heads make four paths. The label follows one of them."),
    Problem("attention_two_by_two_narrow", "attention_two_layers", 2, 0.1, 20, (("previous", "uniform"), ("same", "uniform")),
            "The same with two units: products of narrow matrices, singular order parameters."),
    Problem("attention_learned", "attention_learned", 4, 0.1, 30, None,
            "One head that learns where to look. Two numbers and a position make a token.", 200, 300, 1),
)


def by_name(names: list[str] | None = None) -> list[Problem]:
    known = {problem.name: problem for problem in PROBLEMS}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise SystemExit(f"no posterior {', '.join(unknown)}; there are {', '.join(known)}")
    return [known[name] for name in names] if names else list(PROBLEMS)


def attention(kind: str) -> np.ndarray:
    """Weights [query, key] of a given head."""
    weights = {"uniform": np.full((TOKENS, TOKENS), 1 / TOKENS), "same": np.eye(TOKENS),
               "first": np.tile(np.eye(TOKENS)[0], (TOKENS, 1)),
               "previous": np.eye(TOKENS)[np.maximum(np.arange(TOKENS) - 1, 0)]}
    return weights[kind]


def path_features(problem: Problem, tokens: np.ndarray) -> np.ndarray:
    """xi [example, path, number], eq. 7 with the readout at the last token; the first layer's head counts slowest."""
    rows = np.eye(TOKENS)[-1:]  # [path of the layers above, token]
    for layer in reversed(problem.heads):
        rows = np.concatenate([rows @ attention(kind) for kind in layer])
    return np.einsum("pt,etn->epn", rows, tokens)


def stan_data(problem: Problem) -> dict:
    """What the Stan program of the model reads. The numbers are drawn with a fixed seed, and rounded."""
    rng = np.random.default_rng(20261125)
    count = problem.examples + TEST_EXAMPLES
    tokens = rng.standard_normal((count, TOKENS, FEATURES))
    if problem.heads is None:
        tokens = np.concatenate([tokens[..., :2], np.tile(np.eye(TOKENS), (count, 1, 1))], axis=2)
    tokens = np.round(tokens, 4)
    looked_at = tokens[:, -2, :2] if problem.heads is None else path_features(problem, tokens)[:, 0, :2]
    labels = looked_at @ np.array([1.0, -1.0]) + np.sqrt(problem.temperature) * rng.standard_normal(count)
    train = slice(0, problem.examples)
    test = slice(problem.examples, count)
    data = {"P": problem.examples, "P_test": TEST_EXAMPLES, "N_0": tokens.shape[2], "N": problem.width,
            "T": problem.temperature, "y": np.round(labels[train], 4).tolist()}
    if problem.heads is None:
        return data | {"S": TOKENS, "s_w": ATTENTION_VARIANCE ** 0.5, "x": tokens[train].tolist(),
                       "x_test": tokens[test].tolist()}
    xi = np.round(path_features(problem, tokens), 6).transpose(1, 0, 2)  # [path, example, number]
    sizes = {"H": problem.sizes[0]} if len(problem.sizes) == 1 else dict(zip(("H_1", "H_2"), problem.sizes))
    return data | sizes | {"xi": xi[:, train].tolist(), "xi_test": xi[:, test].tolist()}
