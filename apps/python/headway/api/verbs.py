"""headway.solve, align, prune and sample: the theory and its posterior, in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

from headway.api.compute import compute
from headway.api.study_files import Study
from headway.base.signatures import explained

if TYPE_CHECKING:
    from headway.api.dataset import Dataset
    from headway.results.network_results import RemovalResult
    from headway.results.result import Result
    from headway.results.training_results import TrainingResult

    Source = Union[str, os.PathLike, Dataset, Study, Result, TrainingResult]
    Data = Union[Dataset, Mapping[str, Any]]


@explained("solve", "settings", "progress", "shard", "output", "overwrite", "dry_run", arrays=True)
def solve(study: Source | None = None, *, data: Data | None = None, **given: Any) -> Result:
    """Solve the theory: order parameters at the saddle point, and what follows from them.

    For every width and temperature the action S(U) is minimised (eq. 18). The answer is that of the
    program `headway solve`, to the last bit. Give a study, or arrays in its place.

    Parameters
    ----------
    study : str, path, Dataset, Study or Result, optional
        Arrays as a `headway.Dataset`; the path of a study, a data set or a result; the name of a study that comes with
        Headway; what `headway.read_study` gives; or a result, whose study is then computed on the same data.
    data : Dataset, optional
        The arrays that a result in `study` was made from, where it does not hold them: it was read from a file, or came from
        another process without large arrays. Without a study the same as a data set in its place.
    {settings}
    {running}

    Returns
    -------
    Result
        One point for each width and temperature. `result.points[0].order_parameters[0]` is U_1 of the
        first point, [C p, C p]; `result.gaussian_process` is the limit of infinite width;
        `result.save(path)` writes the file that the program would. With dry_run=True a dict.

    Raises
    ------
    {errors}

    Warns
    -----
    NotUsableWarning
        A point that did not converge. It is in the result, marked as such.

    Notes
    -----
    The kernel is K(U) = sum over paths pi, pi' of U[pi, pi'] X_pi X_pi'^T, with X_pi = s_0 xi_pi /
    sqrt(N_0 p) (eqs. 9 and 15). A setting that is None is as the study says; its default holds for arrays
    and for studies that do not say. C-contiguous arrays of float64 or float32 are used where they lie;
    others are copied.

    Examples
    --------
    A study that comes with Headway, at two of its widths:

    >>> import headway
    >>> result = headway.solve("hmm-four-paths", widths=[10, 100])
    >>> [round(point.accuracy, 2) for point in result.points]
    [0.95, 0.92]

    Tokens of your own, with the attention of every head on every example:

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x, y, uniform = rng.standard_normal((12, 3, 5)), np.resize([0, 1], 12), np.full((12, 2, 3, 3), 1 / 3)
    >>> data = headway.Dataset(inputs=x, labels=y, attention=[uniform, uniform])
    >>> headway.solve(data, widths=[10], readout="mean").heads
    (2, 2)

    The arguments of the data set may stand in the call, here path features of four paths:

    >>> result = headway.solve(features=rng.standard_normal((12, 4, 5)), labels=y, heads=[2, 2], widths=[10, 100])
    >>> result.points[0].order_parameters[0].shape
    (4, 4)
    """
    return compute("solve", {"study": study, "data": data, **given})


@explained("align", "settings", "progress", "point", "output", "overwrite", "dry_run", arrays=True)
def align(study: Source | None = None, *, data: Data | None = None, **given: Any) -> Result:
    """Compare the eigenvectors of the kernel with the labels.

    The answer is that of the program `headway align`, to the last bit.

    Parameters
    ----------
    study : str, path, Dataset, Study or Result, optional
        As for `headway.solve`. The order parameters of a result of `headway.solve` are used: only points
        that it lacks are solved.
    data : Dataset, optional
        As for `headway.solve`.
    {settings}
    {running}

    Returns
    -------
    Result
        Its points have `alignment`: `overlaps`, [P], by falling eigenvalue of the kernel K(U_1), and
        `gaussian_process_overlaps`, the same for infinite width. With dry_run=True a dict.

    Raises
    ------
    {errors}

    Notes
    -----
    An overlap is |v_k . y| / |y|, with v_k the k-th eigenvector; the squares sum up to 1 (eq. 52).

    Examples
    --------
    >>> import headway
    >>> solved = headway.solve("hmm-four-paths", widths=[10])
    >>> overlaps = headway.align(solved, components=10).points[0].alignment.overlaps
    >>> overlaps.shape
    (10,)
    """
    return compute("align", {"study": study, "data": data, **given})


@explained("prune", "settings", "progress", "point", "output", "overwrite", "dry_run", arrays=True)
def prune(study: Source | None = None, *, data: Data | None = None, **given: Any) -> Result | RemovalResult:
    """Score the heads, and remove them one by one.

    The answer is that of the program `headway prune`, to the last bit. Of a result of `headway.train`
    heads are removed from the trained networks themselves.

    Parameters
    ----------
    study : str, path, Dataset, Study, Result or TrainingResult, optional
        As for `headway.solve`. The order parameters of a result of `headway.solve` are used: only points
        that it lacks are solved.
    data : Dataset, optional
        As for `headway.solve`.
    {settings}
    {running}

    Returns
    -------
    Result or RemovalResult
        A Result whose points have `pruning`: scores, the accuracy without each head, and cumulative
        pruning. `result.head_table()` is a table of the heads. Of trained networks a RemovalResult. With
        dry_run=True a dict.

    Raises
    ------
    {errors}

    Notes
    -----
    The score of a head is how much of U_1 lies on paths through it, divided by the largest such value
    (eq. 53). It compares paths of like size. Where paths differ much in size, as residual stream and
    heads do, it misleads: look at the accuracy without each head.

    Examples
    --------
    >>> import headway
    >>> pruned = headway.prune("hmm-four-paths", widths=[10], temperature=0.01)
    >>> table = pruned.head_table()
    >>> table.names
    ('same token', 'random', 'uniform', 'random')
    >>> table["accuracy_without"].round(1)
    array([0.5, 0.9, 0.6, 0.9])
    """
    return compute("prune", {"study": study, "data": data, **given})


@explained("sample", "settings", "progress", "point", "shard", "output", "overwrite", "dry_run", arrays=True)
def sample(study: Source | None = None, *, data: Data | None = None, **given: Any) -> Result:
    """Draw from the exact posterior at finite width, with error bars and diagnostics.

    The answer is that of the program `headway sample`, to the last bit. The sampler "exact" draws the order
    parameters U, "collapsed" the first layer and U, and "auto" takes one of them. The others draw all weights.

    Parameters
    ----------
    study : str, path, Dataset, Study or Result, optional
        As for `headway.solve`. The order parameters of a result of `headway.solve` are used: only points
        that it lacks are solved.
    data : Dataset, optional
        As for `headway.solve`.
    {settings}
    {running}

    Returns
    -------
    Result
        Its points have `samples`: means, Monte Carlo errors and draws. `result.points[0].samples.draws[1]`
        is U_1, [chain, draw, p, p]. `result.to_inference_data()` gives the draws to ArviZ. With
        dry_run=True a dict.

    Raises
    ------
    {errors}

    Warns
    -----
    NotUsableWarning
        Chains that do not agree, or divergent trajectories. The draws are in the result all the same.

    Notes
    -----
    The posterior of U is that of eq. 34: a chain of Wishart matrices (eqs. 32 and 33), weighted with the
    likelihood of the labels.

    Examples
    --------
    >>> import numpy as np, headway
    >>> rng = np.random.default_rng(1)
    >>> xi, y = rng.standard_normal((12, 4, 5)), np.resize([1.0, -1.0], 12)
    >>> drawn = headway.sample(features=xi, labels=y, heads=[2, 2], widths=[10], temperature=0.1,
    ...                        chains=4, draws=1000, seed=1)
    >>> drawn.points[0].samples.draws[1].shape
    (4, 1000, 4, 4)
    """
    return compute("sample", {"study": study, "data": data, **given})
