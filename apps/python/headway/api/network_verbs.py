"""headway.train, latents, prune_network and evaluate: transformers that learn, in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headway.api.compute import compute
from headway.base.signatures import explained

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.results.latent_results import EvaluateResult, LatentsResult
    from headway.results.network_results import RemovalResult
    from headway.results.training_results import TrainingResult
    from headway.api.verbs import Source


@explained("train", "settings", "progress", "shard", "output", "overwrite", "jobs", "dry_run")
def train(study: Source | None = None, *, tokens: ArrayLike | None = None, vectors: ArrayLike | None = None,
          targets: ArrayLike | None = None, loss_mask: ArrayLike | None = None, factors: Mapping[str, ArrayLike] | None = None,
          sets: Mapping[str, Any] | None = None, **given: Any) -> TrainingResult:
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
    {errors}

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
    return compute("train", {"study": study, "tokens": tokens, "vectors": vectors, "targets": targets, "loss_mask": loss_mask,
                             "factors": factors, "sets": sets, **given})


@explained("latents", "settings", "progress", "output", "overwrite", "jobs", "dry_run")
def latents(study: Source, **given: Any) -> LatentsResult:
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
    {errors}

    Notes
    -----
    Networks that were trained on examples of your own need the `factors` of these: in the set `validation`, or in training where
    there is no such set, and in a set `held_out` or `test`. A code is then what the last token attends to, token by token. Decoders
    need at least five combinations of factors (`folds`).

    Examples
    --------
    The path of a trained result is enough; its networks are not trained again:

    >>> codes = headway.latents("trained.h5", examples=1000)  # doctest: +SKIP
    >>> codes.runs[0].layers[0].decoders[0].held_out  # doctest: +SKIP
    """
    return compute("latents", {"study": study, **given})


@explained("prune_network", "settings", "progress", "output", "overwrite", "dry_run")
def prune_network(study: Source, **given: Any) -> RemovalResult:
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
    {errors}

    Examples
    --------
    >>> removed = headway.prune_network("trained.h5", cumulative=False)  # doctest: +SKIP
    >>> removed.runs[0].heads.loss_rise.mean  # doctest: +SKIP
    """
    return compute("prune_network", {"study": study, **given})


@explained("evaluate", "settings", "progress", "output", "overwrite", "dry_run")
def evaluate(study: Source, *, task: str | os.PathLike | None = None, **given: Any) -> EvaluateResult:
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
    {errors}

    Examples
    --------
    >>> longer = headway.evaluate("trained.h5", settings={"task.sequence_length": 32})  # doctest: +SKIP
    >>> longer.runs[0].evaluations["held_out"]["r2"]  # doctest: +SKIP
    """
    return compute("evaluate", {"study": study, "task": task, **given})
