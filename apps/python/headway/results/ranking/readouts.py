"""Ridge regression on embeddings, and its answer on each example when fitted without that example.

Leaving an example out needs no second fit. With a_ij = 1/P + x_i^T (X^T X + penalty)^-1 x_j, over embeddings without their
means, the readout fitted without example i misses its label by r_i / (1 - a_ii), where r_i is the residual of the full fit.
On another vector z of the same example its answer is that of the full fit minus b_i r_i / (1 - a_ii). Here b_i is a_ii with
z in place of the x_i on the left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headway.base.readout_checks import require_finite
from headway.base.standardising import CONSTANT

PENALTIES = tuple(10.0 ** k for k in range(-4, 4))


@dataclass(frozen=True)
class Readout:
    """answers = (x - mean) / scale @ weights + offset; weights [N, C]. Fitted to P examples, with what leaving some out needs.

    scale: infinite for a column that is constant up to rounding. reach: [N, P], (X^T X + penalty)^-1 X^T. residuals, missed:
    [P, C], r_i and r_i / (1 - a_ii). left [P, rank] and share [rank]: a = 1/P + left diag(share) left^T.
    """

    penalty: float
    mean: np.ndarray
    scale: np.ndarray
    weights: np.ndarray
    offset: np.ndarray
    reach: np.ndarray
    residuals: np.ndarray
    missed: np.ndarray
    left: np.ndarray
    share: np.ndarray

    def answers(self, x: np.ndarray) -> np.ndarray:
        """[b, C] of embeddings [b, N]."""
        return (x - self.mean) / self.scale @ self.weights + self.offset

    def pull(self, z: np.ndarray, of: np.ndarray) -> np.ndarray:
        """[b, k]: how much the label of each training example `of` moves the answer on each of the vectors z [b, N]."""
        return 1.0 / len(self.left) + (z - self.mean) / self.scale @ self.reach[:, of]

    def answers_left_out(self, z: np.ndarray) -> np.ndarray:
        """[P, C]: of vectors z [P, N], one for each example, by the readout that was fitted without that example."""
        own = 1.0 / len(z) + np.einsum("pn,np->p", (z - self.mean) / self.scale, self.reach)
        return self.answers(z) - own[:, None] * self.missed

    def _spared(self) -> np.ndarray:
        """[P]: 1 - a_ii."""
        return np.maximum(1.0 - 1.0 / len(self.left) - np.square(self.left) @ self.share, TINY)

    def two_left_out(self, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What fitting without examples i and k adds to residuals: (1 - a)^-1 r over the pair, entries of i and of k.

        Both are [P, k, C], for all i and the k of `others`; without i alone where i is k. On its own embedding the readout
        without both misses the label of i by the first.
        """
        spared, examples = self._spared(), np.arange(len(self.left))
        between = -1.0 / len(examples) - (self.left * self.share) @ self.left[others].T
        same = examples[:, None] == others[None, :]
        between[same] = 0.0
        determinant = np.maximum(spared[:, None] * spared[others] - np.square(between), TINY)
        first = spared[others][None, :, None] * self.residuals[:, None] - between[..., None] * self.residuals[others][None]
        second = spared[:, None, None] * self.residuals[others][None] - between[..., None] * self.residuals[:, None]
        second[same] = 0.0
        return first / determinant[..., None], second / determinant[..., None]


TINY = 1e-12


def fit_readout(x: np.ndarray, y: np.ndarray, penalty: float | None = None) -> Readout:
    """Minimises the squared error plus penalty |weights|^2 over standardised embeddings x [P, N], for labels y [P, C].

    Without a penalty the one of PENALTIES whose error is smallest when each example is left out. The offset is free of it.
    Cost: one singular-value decomposition of x.
    """
    require_finite(x)
    mean = x.mean(0)
    scale = np.sqrt(np.square(x - mean).mean(0))
    scale = np.where(scale > CONSTANT * np.abs(mean), scale, np.inf)
    offset = y.mean(0)
    left, values, right = np.linalg.svd((x - mean) / scale, full_matrices=False)
    seen = left.T @ (y - offset)

    def made(one: float) -> Readout:
        shrunk, share = values / (np.square(values) + one), np.square(values) / (np.square(values) + one)
        residuals = y - offset - left @ (share[:, None] * seen)
        spared = np.maximum(1.0 - 1.0 / len(y) - np.square(left) @ share, TINY)
        return Readout(one, mean, scale, right.T @ (shrunk[:, None] * seen), offset, right.T @ (shrunk[:, None] * left.T),
                       residuals, residuals / spared[:, None], left, share)
    if penalty is not None:
        return made(penalty)
    return min(map(made, PENALTIES), key=lambda readout: float(np.square(readout.missed).sum()))


def squared_errors(answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[P]: the mean over outputs."""
    return np.square(answers - y).mean(1)


def right_answers(answers: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[P]: 1 where the class is right, else 0; NaN where labels are no classes."""
    if y.shape[1] == 1:
        if not np.isin(y, (-1.0, 1.0)).all():
            return np.full(len(y), np.nan)
        return (answers * y > 0.0)[:, 0].astype(float)
    if not (np.isin(y, (0.0, 1.0)).all() and (y.sum(1) == 1.0).all()):
        return np.full(len(y), np.nan)
    return (answers.argmax(1) == y.argmax(1)).astype(float)


def left_out_errors(kernel: np.ndarray, temperature: float, y: np.ndarray) -> np.ndarray:
    """[P]: squared errors of the predictor K (K + T)^-1 y of the theory, each example left out; y [P, C] without its mean.

    kernel: [P, P], the same for all outputs, or [C P, C P], output by output; of features without their means. Without an
    example labels and features have other means, so the offset is fitted again, as in fit_readout(). With a = (K + T)^-1 y
    the error of example i is B_ii^-1 a_i. B is (K + T)^-1 without the constant vector of each output, an eigenvector of K,
    and B_ii its entries between the outputs of example i.
    """
    count, outputs = y.shape
    # With the eigenvalue trace(K) + T in place of T the constant vector has a small part in the inverse, so that nothing
    # cancels where it is taken away.
    size, trace = len(kernel) // count, float(np.trace(kernel))
    constant = np.kron(np.eye(size), np.full((count, count), trace / count))
    inverse = np.linalg.inv(kernel + temperature * np.eye(len(kernel)) + constant)
    spare = 1.0 / (count * (trace + temperature))
    if len(kernel) == count:
        return np.square(inverse @ y / (np.diag(inverse) - spare)[:, None]).mean(1)
    told = (inverse @ y.T.reshape(-1)).reshape(outputs, count).T
    own = inverse.reshape(outputs, count, outputs, count)[:, np.arange(count), :, np.arange(count)]  # [P, C, C]
    own = own - spare * np.eye(outputs)
    return np.square(np.linalg.solve(own, told[:, :, None])[:, :, 0]).mean(1)
