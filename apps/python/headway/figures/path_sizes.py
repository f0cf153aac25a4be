"""How large the paths are, and whether they differ so much that the score of a head misleads."""

from __future__ import annotations

import numpy as np

from headway.results.result import Result

#: Largest over smallest size above which the score is warned of. The kernel has the square of a size, so
#: U_1 of the largest path may then be 16 times smaller than that of the smallest and count for as much.
MUCH = 4.0


def path_sizes(result: Result) -> np.ndarray | None:
    """Root mean square over training examples of each path's scaled features, [p]; None where the file
    keeps no path kernels (it does for few paths and examples)."""
    if result.path_kernels is None:
        return None
    diagonals = np.einsum("ijj->ij", result.path_kernels)
    return np.sqrt(np.maximum(diagonals.mean(axis=1), 0.0))


def size_ratio(result: Result) -> float:
    """Largest over smallest size of a path; NaN where sizes are not known, infinite where one path is zero."""
    sizes = path_sizes(result)
    if sizes is None or not sizes.max() > 0.0:
        return float("nan")
    return float(sizes.max() / sizes.min()) if sizes.min() > 0.0 else float("inf")


def size_warning(result: Result) -> str:
    """A sentence for the head tables where paths differ in size by more than MUCH, else ""."""
    ratio = size_ratio(result)
    if not ratio > MUCH:
        return ""
    by = f"by a factor of {ratio:.2g}" if np.isfinite(ratio) else "without bound: one is zero"
    return f"paths differ in size {by}: the score, which sees U_1 alone, may mislead"
