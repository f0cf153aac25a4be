"""Seconds of one plain numpy evaluation of the theory's energy and gradient: the unit of benchmark_paths.

    python3 apps/benchmarks/plain_evaluation.py P PATHS N_0 [repeats]

K = X (U kron I) X^T, its inverse, and <X_a, M X_b> for all pairs of paths, as one would write it; median of the repeats.
"""

import statistics
import sys
import time

import numpy as np


def value_and_gradient(x, y, u, temperature, paths):
    examples, columns = x.shape
    features = columns // paths
    blocks = x.reshape(examples, paths, features)
    mixed = np.einsum("pai,ab->pbi", blocks, u, optimize=True).reshape(examples, columns)
    kernel = mixed @ x.T + temperature * np.eye(examples)
    inverse = np.linalg.inv(kernel)
    alpha = inverse @ y
    value = np.linalg.slogdet(kernel)[1] + y @ alpha
    m = inverse - np.outer(alpha, alpha)
    mx = (m @ x).reshape(examples, paths, features)
    gradient = np.tensordot(blocks, mx, axes=([0, 2], [0, 2]))
    return value, gradient


def main():
    examples, paths, features = (int(word) for word in sys.argv[1:4])
    repeats = int(sys.argv[4]) if len(sys.argv) > 4 else 7
    random = np.random.default_rng(1)
    x = random.standard_normal((examples, paths * features)) / np.sqrt(paths * features)
    y = np.where(random.random(examples) < 0.5, -1.0, 1.0)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        value_and_gradient(x, y, np.eye(paths), 0.1, paths)
        times.append(time.perf_counter() - start)
    print(statistics.median(times))


if __name__ == "__main__":
    main()
