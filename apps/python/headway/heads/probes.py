"""Linear readouts of a network's embeddings: ridge and logistic regression with an offset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from headway.base.readout_checks import require_finite
from headway.base.standardising import CONSTANT
from headway.errors import UsageError

PENALTIES = tuple(10.0 ** k for k in range(-4, 4))
FOLDS = 5

Tensor = torch.Tensor


@dataclass(frozen=True)
class Probe:
    """answers = (x - mean) / scale @ weights + offset; weights [N, C]. kind: "ridge" or "logistic". scale: infinite for a
    column that is constant up to rounding."""

    kind: str
    penalty: float
    mean: Tensor
    scale: Tensor
    weights: Tensor
    offset: Tensor

    def answers(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.scale @ self.weights + self.offset

    def losses(self, x: Tensor, y: Tensor) -> Tensor:
        """[b]: squared error, mean over outputs; or cross-entropy in nats."""
        answers = self.answers(x)
        if self.kind == "ridge":
            return (answers - y).square().mean(1)
        return _cross_entropy(answers, y)

    def right(self, x: Tensor, y: Tensor) -> Tensor | None:
        """[b]: 1 where the class is right, else 0; None where labels are no classes."""
        if not are_classes(y):
            return None
        answers = self.answers(x)
        same = (answers * y > 0.0)[:, 0] if y.shape[1] == 1 else answers.argmax(1) == y.argmax(1)
        return same.to(torch.float64)


def are_classes(y: Tensor) -> bool:
    """Labels +-1 [P, 1] or one-hot [P, C]."""
    if y.shape[1] == 1:
        return bool((y.abs() == 1.0).all())
    return bool(((y == 0.0) | (y == 1.0)).all() and (y.sum(1) == 1.0).all())


def fit_probe(kind: str, x: Tensor, y: Tensor, penalty: float | None) -> Probe:
    """Minimises mean loss + penalty / P |weights|^2 over standardised embeddings x [P, N], for labels y
    [P, C]. Without a penalty the one of PENALTIES whose loss is smallest in 5-fold cross-validation."""
    if kind not in _FITS:
        raise UsageError(f"probe: is {kind!r}; allowed: {', '.join(_FITS)}")
    if kind == "logistic" and not are_classes(y):
        raise UsageError("probe: is 'logistic', and the labels are no classes; allowed: \"ridge\", or "
                         "labels +-1 or one-hot")
    require_finite(x)
    if penalty is None:
        penalty = min(PENALTIES, key=lambda p: _cross_validated(kind, x, y, p))
    return _fit(kind, x, y, penalty)


def _fit(kind: str, x: Tensor, y: Tensor, penalty: float) -> Probe:
    mean = x.mean(0)
    scale = (x - mean).square().mean(0).sqrt()
    scale = torch.where(scale > CONSTANT * mean.abs(), scale, torch.inf)
    weights, offset = _FITS[kind]((x - mean) / scale, y, penalty)
    return Probe(kind, penalty, mean, scale, weights, offset)


def _cross_validated(kind: str, x: Tensor, y: Tensor, penalty: float) -> float:
    fold = torch.randperm(len(x), generator=torch.Generator().manual_seed(1)) % FOLDS
    total = 0.0
    for k in range(FOLDS):
        probe = _fit(kind, x[fold != k], y[fold != k], penalty)
        total += float(probe.losses(x[fold == k], y[fold == k]).sum())
    return total


def _ridge(x: Tensor, y: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    offset = y.mean(0)
    if x.shape[1] <= len(x):
        matrix = x.T @ x + penalty * torch.eye(x.shape[1], dtype=x.dtype)
        return torch.linalg.solve(matrix, x.T @ (y - offset)), offset
    matrix = x @ x.T + penalty * torch.eye(len(x), dtype=x.dtype)
    return x.T @ torch.linalg.solve(matrix, y - offset), offset


def _logistic(x: Tensor, y: Tensor, penalty: float) -> tuple[Tensor, Tensor]:
    weights = torch.zeros(x.shape[1], y.shape[1], dtype=x.dtype, requires_grad=True)
    offset = torch.zeros(y.shape[1], dtype=x.dtype, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, offset], max_iter=200, tolerance_grad=1e-8,
                                  tolerance_change=1e-12, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = (_cross_entropy(x @ weights + offset, y).mean()
                 + penalty / len(x) * weights.square().sum())
        value.backward()
        return value
    with torch.enable_grad():
        optimizer.step(loss)
    return weights.detach(), offset.detach()


def _cross_entropy(answers: Tensor, y: Tensor) -> Tensor:
    if y.shape[1] == 1:
        return torch.nn.functional.softplus(-answers * y)[:, 0]
    return -(torch.log_softmax(answers, 1) * y).sum(1)


_FITS: dict[str, Callable[[Tensor, Tensor, float], tuple[Tensor, Tensor]]] = {
    "ridge": _ridge, "logistic": _logistic}
