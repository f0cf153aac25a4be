"""An independent, slow and obvious numpy version of the theory, for tests only.

Everything follows src/theory/README.md literally: dense path-path kernels C_{pi pi'}, plain
inverses, one formula a line. Shared code with the C++ library: none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass
class Problem:
    """One sweep point. kernels [p, p, P, P]; labels [P, C]; widths N_1..N_L, N_a; variances s_l^2."""

    kernels: np.ndarray
    labels: np.ndarray
    heads: tuple[int, ...]
    widths: tuple[int, ...]
    variances: tuple[float, ...]
    temperature: float

    @property
    def layers(self) -> int:
        return len(self.heads)

    @property
    def outputs(self) -> int:
        return self.labels.shape[1]

    @property
    def sizes(self) -> list[int]:
        """C p_l for l = 1..L, and C for U_a."""
        return [self.outputs * math.prod(self.heads[layer:]) for layer in range(self.layers + 1)]


def scaled_features(path_features: np.ndarray, input_variance: float) -> np.ndarray:
    """X_pi = s_0 xi_pi / sqrt(N_0 p), from xi [P, p, N_0]."""
    _, paths, features = path_features.shape
    return math.sqrt(input_variance / (features * paths)) * path_features


def path_kernels(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """C_{pi pi'}[mu, nu] = X_pi(mu) . X_pi'(nu), as [p, p, P_left, P_right]."""
    return np.einsum("mai,nbi->abmn", left, right, optimize=True)


def kernel(order_parameter: np.ndarray, kernels: np.ndarray, outputs: int) -> np.ndarray:
    """K[(mu, c), (nu, c')] = sum_{pi pi'} U_1[(pi, c), (pi', c')] C_{pi pi'}[mu, nu]."""
    paths, _, left, right = kernels.shape
    u = order_parameter.reshape(paths, outputs, paths, outputs)
    summed = np.tensordot(u, kernels, axes=([0, 2], [0, 1]))  # [c, c', mu, nu]
    return summed.transpose(2, 0, 3, 1).reshape(left * outputs, right * outputs)


def partial_trace(u: np.ndarray, heads: int) -> np.ndarray:
    """u_l[g, g'] = sum_h U_l[(h, g), (h, g')]."""
    size = len(u) // heads
    return np.einsum("hahb->ab", u.reshape(heads, size, heads, size))


def gaussian_process_limit(problem: Problem) -> list[np.ndarray]:
    """U_l = s_a^2 prod_{k >= l} s_k^2 I, for U_1, ..., U_L, U_a."""
    return [math.prod(problem.variances[layer:]) * np.eye(size)
            for layer, size in enumerate(problem.sizes, 1)]


def logdet(matrix: np.ndarray) -> float:
    sign, value = np.linalg.slogdet(matrix)
    return value if sign > 0 else math.inf


def action(problem: Problem, u: list[np.ndarray]) -> float:
    """S(U_a, U_L, ..., U_1); u = [U_1, ..., U_L, U_a]."""
    if any(np.linalg.eigvalsh(matrix)[0] <= 0 for matrix in u):
        return math.inf
    y = problem.labels.reshape(-1)
    k = kernel(u[0], problem.kernels, problem.outputs)
    k = k + problem.temperature * np.eye(len(k))
    value = logdet(k) + y @ np.linalg.solve(k, y)
    readout, s2 = u[-1], problem.variances
    value += problem.widths[-1] * (np.trace(readout) / s2[-1] - logdet(readout))
    for layer in range(problem.layers):
        n, heads, below, above = problem.widths[layer], problem.heads[layer], u[layer], u[layer + 1]
        value += n * (np.trace(np.linalg.solve(above, partial_trace(below, heads))) / s2[layer + 1]
                      - logdet(below) + heads * logdet(above))
    return value


def gradient(problem: Problem, u: list[np.ndarray]) -> list[np.ndarray]:
    """dS/dU as matrix derivatives (off-diagonals not doubled), in the order of `u`."""
    y = problem.labels.reshape(-1)
    outputs = problem.outputs
    k = kernel(u[0], problem.kernels, outputs)
    inverse = np.linalg.inv(k + problem.temperature * np.eye(len(k)))
    alpha = inverse @ y
    m = (inverse - np.outer(alpha, alpha)).reshape(len(y) // outputs, outputs, -1, outputs)
    energy = np.tensordot(m, problem.kernels, axes=([0, 2], [2, 3]))  # [c, c', pi, pi']
    grad = [np.zeros_like(matrix) for matrix in u]
    grad[0] = energy.transpose(2, 0, 3, 1).reshape(u[0].shape)
    grad[-1] += problem.widths[-1] * (np.eye(outputs) / problem.variances[-1]
                                      - np.linalg.inv(u[-1]))
    for layer in range(problem.layers):
        n, heads, below, above = problem.widths[layer], problem.heads[layer], u[layer], u[layer + 1]
        s2, inverse = problem.variances[layer + 1], np.linalg.inv(above)
        grad[layer] += n * (np.kron(np.eye(heads), inverse) / s2 - np.linalg.inv(below))
        grad[layer + 1] += n * (-inverse @ partial_trace(below, heads) @ inverse / s2
                                + heads * inverse)
    return [0.5 * (matrix + matrix.T) for matrix in grad]


def gradient_norm(problem: Problem, u: list[np.ndarray]) -> float:
    """gradient_norm: largest absolute entry of dS/dU over max N."""
    return max(np.abs(matrix).max() for matrix in gradient(problem, u)) / max(problem.widths)


# ---- the independent entries of all U as one vector


def pack(u: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([matrix[np.triu_indices(len(matrix))] for matrix in u])


def unpack(problem: Problem, x: np.ndarray) -> list[np.ndarray]:
    matrices, begin = [], 0
    for size in problem.sizes:
        upper = np.triu_indices(size)
        matrix = np.zeros((size, size))
        matrix[upper] = x[begin:begin + len(upper[0])]
        matrices.append(matrix + np.triu(matrix, 1).T)
        begin += len(upper[0])
    return matrices


def packed_gradient(problem: Problem, x: np.ndarray) -> np.ndarray:
    """dS/dx: off-diagonal entries count twice."""
    grad = gradient(problem, unpack(problem, x))
    return pack([2.0 * matrix - np.diag(np.diag(matrix)) for matrix in grad])


def hessian(problem: Problem, x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """d2S/dx2 by central differences of the exact gradient (symmetrised)."""
    rows = []
    for index in range(len(x)):
        h = step * max(1.0, abs(x[index]))
        up, down = x.copy(), x.copy()
        up[index] += h
        down[index] -= h
        rows.append((packed_gradient(problem, up) - packed_gradient(problem, down)) / (2 * h))
    matrix = np.array(rows)
    return 0.5 * (matrix + matrix.T)


def saddle_point(problem: Problem, start: list[np.ndarray] | None = None,
                 tolerance: float = 1e-10, most: int = 200) -> list[np.ndarray]:
    """Newton's method with the Hessian's eigenvalues made positive and a halving line search."""
    x = pack(gaussian_process_limit(problem) if start is None else start)
    value = action(problem, unpack(problem, x))
    for _ in range(most):
        g = packed_gradient(problem, x)
        if gradient_norm(problem, unpack(problem, x)) < tolerance:
            break
        eigenvalues, vectors = np.linalg.eigh(hessian(problem, x))
        floor = 1e-8 * np.abs(eigenvalues).max()
        step = -vectors @ ((vectors.T @ g) / np.maximum(np.abs(eigenvalues), floor))
        size = 1.0
        while size > 1e-12:
            candidate = action(problem, unpack(problem, x + size * step))
            if candidate <= value + 1e-4 * size * (g @ step) or (
                    size == 1.0 and abs(candidate - value) <= 1e-12 * abs(value)):
                break
            size *= 0.5
        else:
            break  # nothing lower in double precision
        x, value = x + size * step, candidate
    return unpack(problem, x)


def corrected_means(problem: Problem, u: list[np.ndarray]
                    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The 1/N-corrected means (eq. 40) and the deviations sqrt(Sigma_ii).

    E[x]_i ~ x*_i - sum_j Sigma_ij (1/2 dD/dx_j + 1/4 sum_kl S_jkl Sigma_kl), Sigma = 2 (d2S/dx2)^-1,
    D = sum_l (C p_l + 1) logdet U_l + (C + 1) logdet U_a.
    """
    x = pack(u)
    sigma = 2.0 * np.linalg.inv(hessian(problem, x))
    prior = pack([(len(matrix) + 1) * (2.0 * np.linalg.inv(matrix)
                                       - np.diag(np.diag(np.linalg.inv(matrix)))) for matrix in u])
    third = np.empty_like(x)
    for index in range(len(x)):
        h = 1e-3 * max(0.1, abs(x[index]))
        up, down = x.copy(), x.copy()
        up[index] += h
        down[index] -= h
        change = hessian(problem, up) - hessian(problem, down)
        third[index] = np.sum(change * sigma) / (2 * h)
    mean = x - sigma @ (0.5 * prior + 0.25 * third)
    return unpack(problem, mean), unpack(problem, np.sqrt(np.diag(sigma)))


def predict(problem: Problem, u1: np.ndarray, train: np.ndarray, test: np.ndarray
            ) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance [P_test, C] at the test examples; `train`, `test` are scaled features."""
    outputs = problem.outputs
    y = problem.labels.reshape(-1)
    k = kernel(u1, problem.kernels, outputs)
    k = k + problem.temperature * np.eye(len(k))
    cross = kernel(u1, path_kernels(train, test), outputs)
    mean = cross.T @ np.linalg.solve(k, y)
    same = np.einsum("mai,mbi->abm", test, test)
    u = u1.reshape(len(same), outputs, len(same), outputs)
    prior = np.einsum("acbc,abm->mc", u, same).reshape(-1)
    variance = prior - np.einsum("ij,ij->j", cross, np.linalg.solve(k, cross))
    return mean.reshape(-1, outputs), variance.reshape(-1, outputs)


def accuracy(mean: np.ndarray, labels: np.ndarray) -> float:
    """Right signs (a mean of exactly 0 is wrong), or right largest outputs."""
    if labels.shape[1] == 1:
        return float(np.mean(mean * labels > 0))
    return float(np.mean(mean.argmax(axis=1) == labels.argmax(axis=1)))


def alignment(matrix: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(eigenvalues falling, overlaps |v_k . y| / |y|)."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    y = labels.reshape(-1)
    return eigenvalues[::-1], np.abs(vectors[:, ::-1].T @ y) / np.linalg.norm(y)


def head_scores(u1: np.ndarray, heads: tuple[int, ...], weighted: bool = False) -> np.ndarray:
    """Head scores (eq. 53) for one output: sum of |U_1| over entries with the head on either path, largest = 1."""
    paths = list(np.ndindex(*heads))
    scores = []
    for layer, count in enumerate(heads):
        for head in range(count):
            on = np.array([path[layer] == head for path in paths])
            both, one = np.outer(on, on), np.logical_xor.outer(on, on)
            weight = both + one * (1.0 / (2 * count) if weighted else 1.0)
            scores.append(np.sum(weight * np.abs(u1)))
    return np.array(scores) / max(scores)


def without_heads(u1: np.ndarray, heads: tuple[int, ...], removed: list[int]) -> np.ndarray:
    """U_1 with the rows and columns of all paths through the removed heads set to zero.

    `removed` indexes the heads of all layers in a row: layer 1's first.
    """
    first = np.concatenate([[0], np.cumsum(heads)[:-1]])
    keep = np.array([not any(first[layer] + head in removed for layer, head in enumerate(path))
                     for path in np.ndindex(*heads)])
    return u1 * np.outer(keep, keep)
