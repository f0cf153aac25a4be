"""headway.solve, align, prune and sample: the theory and its posterior, in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from headway.compute import compute
from headway.progress import Progress
from headway.signatures import explained
from headway.study_files import Study

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.network_results import RemovalResult
    from headway.results import Result
    from headway.training_results import TrainingResult

    Source = Union[str, os.PathLike, Study, Result, TrainingResult]


@explained("solve")
def solve(study: Source | None = None, *,
          features: ArrayLike | None = None, inputs: ArrayLike | None = None,
          labels: ArrayLike | None = None, classes: int | None = None,
          heads: Sequence[int] | None = None, attention: Sequence[ArrayLike] | str | None = None,
          attention_weights: Sequence[ArrayLike] | None = None,
          query: Sequence[ArrayLike] | None = None, key: Sequence[ArrayLike] | None = None,
          mask: ArrayLike | None = None, test_features: ArrayLike | None = None,
          test_inputs: ArrayLike | None = None, test_labels: ArrayLike | None = None,
          test_attention: Sequence[ArrayLike] | None = None, test_mask: ArrayLike | None = None,
          sets: Mapping[str, Mapping[str, Any]] | None = None,
          head_names: Sequence[Sequence[str]] | None = None,
          widths: int | Sequence[int | Sequence[int]] | None = None,
          variances: float | Sequence[float] | None = None,
          temperature: float | Sequence[float] | None = None, readout: str | None = None,
          attention_prior: Mapping[str, Any] | None = None,
          gradient_tolerance: float | None = None, max_iterations: int | None = None,
          optimizer: str | None = None, elimination: str | None = None, kernels: str | None = None,
          start: str | None = None, attention_starts: int | None = None, attention_start: str | None = None,
          extra_starts: int | None = None, warm_start: bool | None = None, hessian: str | None = None,
          corrections: str | None = None, memory_limit_gib: float | None = None,
          checkpoint_seconds: float | None = None,
          name: str | None = None, seed: int | None = None, threads: int | None = None,
          settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
          shard: tuple[int, int] | None = None, output: str | os.PathLike | None = None,
          overwrite: bool = False, dry_run: bool = False) -> Result:
    """Solve the theory: order parameters at the saddle point, and what follows from them.

    For every width and temperature the action S(U) is minimised (eq. 18). The answer is that of the
    program `headway solve`, to the last bit. Give a study, or arrays in its place.

    Parameters
    ----------
    study : str, path, Study or Result, optional
        The path of a study, a data set or a result; the name of a study that comes with Headway; what
        `headway.read_study` gives; or a result, whose study is then computed on the same data.
    {arrays}
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
    BadStudyError, BadDataError
        A value that is not allowed. The message names the argument, the value and what is allowed.
    UsageError
        An argument that does not exist, or two that exclude each other.
    UnreadableFileError, CannotWriteError
        A file that is missing or cannot be read; an `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing, or there is not enough memory.
    Interrupted
        Ctrl-C was pressed. The computation stopped at the next safe point, and `result` of the exception
        has what was finished.

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

    Arrays in place of a study, here path features of four paths:

    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> xi, y = rng.standard_normal((12, 4, 5)), np.resize([1.0, -1.0], 12)
    >>> result = headway.solve(features=xi, labels=y, heads=[2, 2], widths=[10, 100], temperature=0.1)
    >>> result.points[0].order_parameters[0].shape
    (4, 4)

    Tokens, with the attention of every head on every example:

    >>> x, uniform = rng.standard_normal((12, 3, 5)), np.full((12, 2, 3, 3), 1 / 3)
    >>> result = headway.solve(inputs=x, attention=[uniform, uniform], readout="mean", labels=y, widths=[10])
    >>> result.heads
    (2, 2)
    """
    return compute("solve", locals())


@explained("align")
def align(study: Source | None = None, *,
          features: ArrayLike | None = None, inputs: ArrayLike | None = None,
          labels: ArrayLike | None = None, classes: int | None = None,
          heads: Sequence[int] | None = None, attention: Sequence[ArrayLike] | str | None = None,
          attention_weights: Sequence[ArrayLike] | None = None,
          query: Sequence[ArrayLike] | None = None, key: Sequence[ArrayLike] | None = None,
          mask: ArrayLike | None = None, test_features: ArrayLike | None = None,
          test_inputs: ArrayLike | None = None, test_labels: ArrayLike | None = None,
          test_attention: Sequence[ArrayLike] | None = None, test_mask: ArrayLike | None = None,
          sets: Mapping[str, Mapping[str, Any]] | None = None,
          head_names: Sequence[Sequence[str]] | None = None,
          widths: int | Sequence[int | Sequence[int]] | None = None,
          variances: float | Sequence[float] | None = None,
          temperature: float | Sequence[float] | None = None, readout: str | None = None,
          attention_prior: Mapping[str, Any] | None = None,
          components: int | None = None,
          gradient_tolerance: float | None = None, max_iterations: int | None = None,
          optimizer: str | None = None, elimination: str | None = None, kernels: str | None = None,
          start: str | None = None, attention_starts: int | None = None, attention_start: str | None = None,
          extra_starts: int | None = None, warm_start: bool | None = None, hessian: str | None = None,
          corrections: str | None = None, memory_limit_gib: float | None = None,
          checkpoint_seconds: float | None = None,
          name: str | None = None, seed: int | None = None, threads: int | None = None,
          settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
          point: str | int | Sequence[Any] | None = None,
          output: str | os.PathLike | None = None, overwrite: bool = False, dry_run: bool = False) -> Result:
    """Compare the eigenvectors of the kernel with the labels.

    The answer is that of the program `headway align`, to the last bit.

    Parameters
    ----------
    study : str, path, Study or Result, optional
        As for `headway.solve`. The order parameters of a result of `headway.solve` are used: only points
        that it lacks are solved.
    {arrays}
    {settings}
    {running}

    Returns
    -------
    Result
        Its points have `alignment`: `overlaps`, [P], by falling eigenvalue of the kernel K(U_1), and
        `gaussian_process_overlaps`, the same for infinite width. With dry_run=True a dict.

    Raises
    ------
    BadStudyError, BadDataError
        A value that is not allowed. The message names the argument, the value and what is allowed.
    UsageError
        An argument that does not exist, or two that exclude each other.
    UnreadableFileError, CannotWriteError
        A file that is missing or cannot be read; an `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing, or there is not enough memory.
    Interrupted
        Ctrl-C was pressed. The computation stopped at the next safe point, and `result` of the exception
        has what was finished.

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
    return compute("align", locals())


@explained("prune")
def prune(study: Source | None = None, *, network: Mapping[str, Any] | None = None,
          features: ArrayLike | None = None, inputs: ArrayLike | None = None,
          labels: ArrayLike | None = None, classes: int | None = None,
          heads: Sequence[int] | None = None, attention: Sequence[ArrayLike] | str | None = None,
          attention_weights: Sequence[ArrayLike] | None = None,
          query: Sequence[ArrayLike] | None = None, key: Sequence[ArrayLike] | None = None,
          mask: ArrayLike | None = None, test_features: ArrayLike | None = None,
          test_inputs: ArrayLike | None = None, test_labels: ArrayLike | None = None,
          test_attention: Sequence[ArrayLike] | None = None, test_mask: ArrayLike | None = None,
          sets: Mapping[str, Mapping[str, Any]] | None = None,
          head_names: Sequence[Sequence[str]] | None = None,
          widths: int | Sequence[int | Sequence[int]] | None = None,
          variances: float | Sequence[float] | None = None,
          temperature: float | Sequence[float] | None = None, readout: str | None = None,
          attention_prior: Mapping[str, Any] | None = None,
          random_orders: int | None = None, greedy: bool | None = None,
          cumulative: bool | None = None, rescale: bool | None = None,
          normalise_sensitivity: bool | None = None, resamples: int | None = None,
          permutations: int | None = None, removed_as: str | None = None,
          weights: str | None = None, examples: int | None = None,
          sensitivity_examples: int | None = None, mean_examples: int | None = None,
          theory: Sequence[str] | None = None,
          gradient_tolerance: float | None = None, max_iterations: int | None = None,
          optimizer: str | None = None, elimination: str | None = None, kernels: str | None = None,
          start: str | None = None, attention_starts: int | None = None, attention_start: str | None = None,
          extra_starts: int | None = None, warm_start: bool | None = None, hessian: str | None = None,
          corrections: str | None = None, memory_limit_gib: float | None = None,
          checkpoint_seconds: float | None = None,
          name: str | None = None, seed: int | None = None, threads: int | None = None,
          settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
          point: str | int | Sequence[Any] | None = None,
          output: str | os.PathLike | None = None, overwrite: bool = False, dry_run: bool = False) -> Result | RemovalResult:
    """Score the heads, and remove them one by one.

    The answer is that of the program `headway prune`, to the last bit. Of a result of `headway.train`
    heads are removed from the trained networks themselves.

    Parameters
    ----------
    study : str, path, Study, Result or TrainingResult, optional
        As for `headway.solve`. The order parameters of a result of `headway.solve` are used: only points
        that it lacks are solved.
    network : mapping of str to array_like, optional
        Trained weights with the heads of the arrays, as `headway.write_dataset` takes them. They are
        pruned beside the theory.
    {arrays}
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
    BadStudyError, BadDataError
        A value that is not allowed. The message names the argument, the value and what is allowed.
    UsageError
        An argument that does not exist, or two that exclude each other.
    UnreadableFileError, CannotWriteError
        A file that is missing or cannot be read; an `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing, or there is not enough memory.
    Interrupted
        Ctrl-C was pressed. The computation stopped at the next safe point, and `result` of the exception
        has what was finished.

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
    return compute("prune", locals())


@explained("sample")
def sample(study: Source | None = None, *,
           features: ArrayLike | None = None, inputs: ArrayLike | None = None,
           labels: ArrayLike | None = None, classes: int | None = None,
           heads: Sequence[int] | None = None, attention: Sequence[ArrayLike] | str | None = None,
           attention_weights: Sequence[ArrayLike] | None = None,
           query: Sequence[ArrayLike] | None = None, key: Sequence[ArrayLike] | None = None,
           mask: ArrayLike | None = None, test_features: ArrayLike | None = None,
           test_inputs: ArrayLike | None = None, test_labels: ArrayLike | None = None,
           test_attention: Sequence[ArrayLike] | None = None, test_mask: ArrayLike | None = None,
           sets: Mapping[str, Mapping[str, Any]] | None = None,
           head_names: Sequence[Sequence[str]] | None = None,
           widths: int | Sequence[int | Sequence[int]] | None = None,
           variances: float | Sequence[float] | None = None,
           temperature: float | Sequence[float] | None = None, readout: str | None = None,
           attention_prior: Mapping[str, Any] | None = None,
           sampler: str | None = None, chains: int | None = None, draws: int | None = None,
           warmup: int | None = None, thin: int | None = None, metric: str | None = None,
           target_accept: float | None = None, max_tree_depth: int | None = None, replicas: int | None = None,
           attention_start: str | None = None,
           predictor_draws: int | None = None, evidence: bool | None = None,
           keep_weights: bool | None = None, checkpoint_seconds: float | None = None,
           gradient_tolerance: float | None = None, max_iterations: int | None = None,
           optimizer: str | None = None, elimination: str | None = None,
           kernels: str | None = None, start: str | None = None,
           attention_starts: int | None = None, extra_starts: int | None = None,
           warm_start: bool | None = None, hessian: str | None = None,
           corrections: str | None = None, memory_limit_gib: float | None = None,
           name: str | None = None, seed: int | None = None, threads: int | None = None,
           settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
           point: str | int | Sequence[Any] | None = None,
           shard: tuple[int, int] | None = None, output: str | os.PathLike | None = None,
           overwrite: bool = False, dry_run: bool = False) -> Result:
    """Draw from the exact posterior at finite width, with error bars and diagnostics.

    The answer is that of the program `headway sample`, to the last bit. The sampler "exact" draws the order
    parameters U; the others draw all weights of the network.

    Parameters
    ----------
    study : str, path, Study or Result, optional
        As for `headway.solve`. The order parameters of a result of `headway.solve` are used: only points
        that it lacks are solved.
    {arrays}
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
    BadStudyError, BadDataError
        A value that is not allowed. The message names the argument, the value and what is allowed.
    UsageError
        An argument that does not exist, or two that exclude each other.
    UnreadableFileError, CannotWriteError
        A file that is missing or cannot be read; an `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing, or there is not enough memory.
    Interrupted
        Ctrl-C was pressed. The computation stopped at the next safe point, and `result` of the exception
        has what was finished.

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
    return compute("sample", locals())
