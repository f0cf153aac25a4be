"""What a point of a result holds of posterior draws, and of learned attention; headway.results has the whole result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from headway.display import Brief


@dataclass(frozen=True, repr=False)
class Samples(Brief):
    """Posterior draws of one point and their summaries; tuples run over the layers 1 to L.

    Attributes
    ----------
    readout_mean : ndarray
        Posterior mean of U_a.
    readout_mcse : ndarray
        Its Monte Carlo standard error.
    mean : tuple of ndarray
        Posterior means of U_1, ..., U_L.
    mcse : tuple of ndarray
        Their Monte Carlo standard errors.
    sd : tuple of ndarray
        Posterior standard deviations.
    rhat : tuple of ndarray
        R-hat of each entry: 1 where the chains agree.
    ess_bulk, ess_tail : tuple of ndarray
        Effective number of draws, for means and for quantiles.
    readout_sd : ndarray or None
        Posterior standard deviation of U_a.
    readout_rhat : ndarray or None
        R-hat of U_a.
    readout_ess_bulk, readout_ess_tail : ndarray or None
        Effective number of draws of U_a.
    predictor_mcse : ndarray or None
        Monte Carlo standard errors of the predictor's mean.
    readout_draws : ndarray of shape (chain, draw) or (chain, draw, C, C), or None
        Draws of U_a.
    log_density : ndarray of shape (chain, draw), or None
        Log density of each draw.
    draws : mapping of int to ndarray of shape (chain, draw, C p_l, C p_l)
        Draws of U_l by layer l.
    attention_entropy, attention_largest : ndarray of shape (chain, draw), or None
        Of learned attention: draws of the entropy of a head's attention, and of the largest weight.
    log_likelihood : ndarray of shape (chain, draw), or None
        Of learned attention: -energy / 2 of each draw.
    attention_weights : ndarray of shape (chain, draw, weight), or None
        Of learned attention: draws of W, or Q and K, with keep_weights=True.
    attention_weight_names : tuple of str
        Names of these weights, such as "W_1^2[3,4]": layer, head, row, column.
    """

    readout_mean: np.ndarray
    readout_mcse: np.ndarray
    mean: tuple[np.ndarray, ...]
    mcse: tuple[np.ndarray, ...]
    sd: tuple[np.ndarray, ...]
    rhat: tuple[np.ndarray, ...] = ()
    ess_bulk: tuple[np.ndarray, ...] = ()
    ess_tail: tuple[np.ndarray, ...] = ()
    readout_sd: np.ndarray | None = None
    readout_rhat: np.ndarray | None = None
    readout_ess_bulk: np.ndarray | None = None
    readout_ess_tail: np.ndarray | None = None
    predictor_mcse: np.ndarray | None = None
    readout_draws: np.ndarray | None = None
    log_density: np.ndarray | None = None
    draws: Mapping[int, np.ndarray] = field(default_factory=dict)
    attention_entropy: np.ndarray | None = None
    attention_largest: np.ndarray | None = None
    log_likelihood: np.ndarray | None = None
    attention_weights: np.ndarray | None = None
    attention_weight_names: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class AttentionMinimum(Brief):
    """A joint minimum over order parameters and learned attention.

    Attributes
    ----------
    action : float
        S / max N, with |w|^2 / s_w^2.
    attention_entropy, attention_largest : float
        Of the attention of the last layer, means over the training examples; see the point's fields.
    starts : int
        Starts of the search that led here.
    converged : bool
        Whether the search over attention converged.
    readout_order_parameter : ndarray or None
        U_a.
    order_parameters : tuple of ndarray
        U_1, ..., U_L.
    attention_weights : ndarray of shape (heads, N_0, N_0), or None
        W of each learned head, layer 1 first; Q^T K / sqrt(G) for queries and keys.
    """

    action: float
    attention_entropy: float
    attention_largest: float
    starts: int
    converged: bool
    readout_order_parameter: np.ndarray | None
    order_parameters: tuple[np.ndarray, ...]
    attention_weights: np.ndarray | None = None
