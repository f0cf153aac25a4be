"""headway.train, latents, prune_network and evaluate: transformers that learn, in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.compute import compute
from headway.progress import Progress
from headway.signatures import explained

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.latent_results import EvaluateResult, LatentsResult
    from headway.network_results import RemovalResult
    from headway.training_results import TrainingResult
    from headway.verbs import Source


@explained("train")
def train(study: Source | None = None, *, tokens: ArrayLike | None = None, vectors: ArrayLike | None = None,
          targets: ArrayLike | None = None, loss_mask: ArrayLike | None = None,
          sets: Mapping[str, Any] | None = None,
          network: str | None = None, layers: int | None = None, model_dim: int | None = None,
          heads: int | None = None, query_dim: int | None = None, attention: str | None = None,
          nonlinearity: str | None = None, encoder_layers: int | None = None,
          value_dim: int | None = None, mlp_dim: int | None = None,
          feed_forward: str | None = None, experts: int | None = None,
          active_experts: int | None = None, load_balancing: float | None = None,
          embedding_start: str | None = None, norm: str | None = None,
          positions: str | None = None,
          position_buckets: int | None = None, causal: bool | None = None,
          attention_dropout: float | None = None, width_multiplier: int | None = None,
          keys_start_as_queries: bool | None = None, initial_query_scale: float | None = None,
          query_rate: float | None = None, steps: int | None = None, batch: int | None = None,
          accumulation: int | None = None, micro_batches: int | None = None,
          learning_rate: float | None = None, weight_decay: float | None = None,
          beta_1: float | None = None, beta_2: float | None = None, epsilon: float | None = None,
          schedule: str | None = None, warmup_steps: int | None = None,
          final_fraction: float | None = None, gradient_clip: float | None = None,
          log_every: int | None = None, eval_every: int | None = None,
          eval_examples: int | None = None, eval_batch: int | None = None,
          checkpoint_every: int | None = None, best_split: str | None = None,
          device: str | None = None, precision: str | None = None, eager: bool | None = None,
          keep_weights: bool | None = None, sample_tokens: int | None = None,
          sample_temperature: float | None = None,
          name: str | None = None, seed: int | None = None, threads: int | None = None,
          settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
          shard: tuple[int, int] | None = None, output: str | os.PathLike | None = None,
          overwrite: bool = False, jobs: int | None = None, dry_run: bool = False) -> TrainingResult:
    """Train the transformers of a study, or one on examples of your own.

    The answer is that of the program `headway train`, to the last bit.

    Parameters
    ----------
    study : str, path, Study or TrainingResult, optional
        The path or the name of a study, what `headway.read_study` gives, or a result, whose study is
        trained again. Leave it out to train on arrays.
    {examples}
    {settings}
    {running}

    Returns
    -------
    TrainingResult
        Curves, metrics and weights of every run. With dry_run=True a dict.

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
        A run that diverged.

    Notes
    -----
    Keys of the task and axes of a sweep go through `settings`, for example
    {"task.terms_per_task": 3, "sweep.train.attention": ["softmax", "linear"]}. Training needs LibTorch.

    Training goes through the examples in a random order, another one in each epoch, which the seed
    draws; settings={"task.order": "file"} takes them as they are.

    Examples
    --------
    >>> import headway
    >>> plan = headway.train("fuzzy-logic-small", steps=1000, dry_run=True)
    >>> plan["parameters"] > 0
    True

    Arrays of your own: is the first token the same as the last?

    >>> import numpy as np
    >>> x = np.random.default_rng(1).integers(0, 4, (600, 5))
    >>> y = (x[:, 0] == x[:, -1]).astype(int)
    >>> result = headway.train(tokens=x[100:], targets=y[100:], sets={"test": (x[:100], y[:100])},
    ...                        layers=1, model_dim=16, heads=2, steps=400)  # doctest: +SKIP
    """
    return compute("train", locals())


@explained("latents")
def latents(study: Source, *,
            weights: str | None = None, task: Mapping[str, Any] | None = None,
            layers: Sequence[int] | None = None, feature: str | None = None,
            examples: int | None = None, folds: int | None = None, shuffles: int | None = None,
            regularisation: float | Sequence[float] | None = None,
            network: str | None = None, model_dim: int | None = None, heads: int | None = None,
            query_dim: int | None = None, attention: str | None = None,
            nonlinearity: str | None = None, encoder_layers: int | None = None,
            value_dim: int | None = None, mlp_dim: int | None = None,
            feed_forward: str | None = None, experts: int | None = None,
            active_experts: int | None = None, load_balancing: float | None = None,
            embedding_start: str | None = None, norm: str | None = None,
            positions: str | None = None,
            position_buckets: int | None = None, causal: bool | None = None,
            attention_dropout: float | None = None, width_multiplier: int | None = None,
            keys_start_as_queries: bool | None = None, initial_query_scale: float | None = None,
            query_rate: float | None = None, steps: int | None = None, batch: int | None = None,
            accumulation: int | None = None, micro_batches: int | None = None,
            learning_rate: float | None = None, weight_decay: float | None = None,
            beta_1: float | None = None, beta_2: float | None = None, epsilon: float | None = None,
            schedule: str | None = None, warmup_steps: int | None = None,
            final_fraction: float | None = None, gradient_clip: float | None = None,
            log_every: int | None = None, eval_every: int | None = None,
            eval_examples: int | None = None, eval_batch: int | None = None,
            checkpoint_every: int | None = None, best_split: str | None = None,
            device: str | None = None, precision: str | None = None, eager: bool | None = None,
            keep_weights: bool | None = None, sample_tokens: int | None = None,
            sample_temperature: float | None = None,
            name: str | None = None, seed: int | None = None, threads: int | None = None,
            settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
            output: str | os.PathLike | None = None, overwrite: bool = False,
            jobs: int | None = None, dry_run: bool = False) -> LatentsResult:
    """Read the latent codes of trained networks, and decode tasks from them.

    The answer is that of the program `headway latents`, to the last bit.

    Parameters
    ----------
    study : str, path, Study or TrainingResult
        A result of `headway.train` or its path; or a study, whose networks are trained first.
    {settings}
    {running}

    Returns
    -------
    LatentsResult
        Codes, what decoders read from them on tasks that were never seen, and cosines of mean codes. With
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

    Examples
    --------
    The path of a trained result is enough; its networks are not trained again:

    >>> codes = headway.latents("trained.h5", examples=1000)  # doctest: +SKIP
    >>> codes.runs[0].layers[0].decoders[0].held_out  # doctest: +SKIP
    """
    return compute("latents", locals())


@explained("prune_network")
def prune_network(study: Source, *,
                  random_orders: int | None = None, greedy: bool | None = None,
                  cumulative: bool | None = None, rescale: bool | None = None,
                  normalise_sensitivity: bool | None = None, resamples: int | None = None,
                  permutations: int | None = None, removed_as: str | None = None,
                  weights: str | None = None, examples: int | None = None,
                  sensitivity_examples: int | None = None, mean_examples: int | None = None,
                  theory: Sequence[str] | None = None,
                  name: str | None = None, seed: int | None = None, threads: int | None = None,
                  settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
                  output: str | os.PathLike | None = None, overwrite: bool = False,
                  dry_run: bool = False) -> RemovalResult:
    """Remove the heads from trained networks themselves.

    The answer is that of the program `headway prune-network`, to the last bit. `headway.prune` of a result
    of `headway.train` does the same.

    Parameters
    ----------
    study : str, path or TrainingResult
        A result of `headway.train`, or its path.
    {settings}
    {running}

    Returns
    -------
    RemovalResult
        What every head's removal costs, and how well scores of the heads foresee it. With dry_run=True a
        dict.

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

    Examples
    --------
    >>> removed = headway.prune_network("trained.h5", cumulative=False)  # doctest: +SKIP
    >>> removed.runs[0].heads.loss_rise.mean  # doctest: +SKIP
    """
    return compute("prune_network", locals())


@explained("evaluate")
def evaluate(study: Source, *, task: str | os.PathLike | None = None,
             weights: str | None = None, examples: int | None = None,
             device: str | None = None, eval_batch: int | None = None,
             name: str | None = None, threads: int | None = None,
             settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
             output: str | os.PathLike | None = None, overwrite: bool = False,
             dry_run: bool = False) -> EvaluateResult:
    """Put trained networks on other data of their kind.

    The answer is that of the program `headway evaluate`, to the last bit.

    Parameters
    ----------
    study : str, path or TrainingResult
        A result of `headway.train`, or its path.
    task : str or path, optional
        A study whose [task] the networks are put on. Single keys are changed by `settings`, as in
        {"task.sequence_length": 32}.
    {settings}
    {running}

    Returns
    -------
    EvaluateResult
        Loss and metrics of every network on every split. With dry_run=True a dict.

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

    Examples
    --------
    >>> longer = headway.evaluate("trained.h5", settings={"task.sequence_length": 32})  # doctest: +SKIP
    >>> longer.runs[0].evaluations["held_out"]["r2"]  # doctest: +SKIP
    """
    return compute("evaluate", locals())
