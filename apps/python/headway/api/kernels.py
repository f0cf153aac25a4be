"""headway.action, Action and kernel: the theory's functions at any order parameters U."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headway import native
from headway.api.array_arguments import number_array
from headway.api.compute import request_of
from headway.base.signatures import explained, with_known_arguments
from headway.base.tensors import without_torch
from headway.base.words import in_python
from headway.errors import BadDataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.api.verbs import Data, Source

SYMMETRY_TOLERANCE = 1e-8


class Action:
    """The action S(U) on given data, at one choice of widths and temperature (eq. 18).

    `headway.action` makes it.

    Parameters
    ----------
    native_action : object
        What the extension module made.
    """

    def __init__(self, native_action: Any):
        self._action = native_action

    def evaluate(self, order_parameters: Sequence[ArrayLike]) -> tuple[float, list[np.ndarray]]:
        """Compute S and its gradient.

        Parameters
        ----------
        order_parameters : sequence of array_like
            U_1, ..., U_L, U_a: symmetric matrices [C p_l, C p_l], with p_l paths from layer l up, and U_a
            [C, C] or, of one output, a number.

        Returns
        -------
        value : float
            S, not divided by a width. It is inf where a matrix or K(U_1) + T I is not positive definite;
            the gradient is then empty.
        gradient : list of ndarray
            dS/dU_l as matrix derivatives: off-diagonal entries are not doubled.

        Raises
        ------
        BadDataError
            A matrix that is not finite, not square, or not symmetric within 1e-8 of its largest entry.
        BadStudyError
            The wrong number of matrices, or one of the wrong size.

        Notes
        -----
        S = logdet(K(U_1) + T I) + y^T (K(U_1) + T I)^-1 y + entropy(U_1, ..., U_L, U_a), eqs. 18 to 20; the
        gradient has eqs. 22 and 23. A call costs one factorisation of the kernel.

        Examples
        --------
        >>> import numpy as np, headway
        >>> rng = np.random.default_rng(1)
        >>> xi, y = rng.standard_normal((12, 4, 5)), np.resize([1.0, -1.0], 12)
        >>> action = headway.action(features=xi, labels=y, heads=[2, 2], widths=[10], temperature=0.1)
        >>> value, gradient = action.evaluate([np.eye(4), np.eye(2), 1.0])
        >>> [part.shape for part in gradient]
        [(4, 4), (2, 2), (1, 1)]
        """
        try:
            matrices = list(order_parameters)
        except TypeError:
            raise UsageError(f"order_parameters: is {order_parameters!r}; allowed: a list of U_1, ..., "
                             "U_L, U_a") from None
        return self._action.evaluate([_square(f"order_parameters[{at}]", matrix)
                                      for at, matrix in enumerate(matrices)])


@explained("solve", "settings", arrays=True, without=("attention_prior", "attention_starts", "attention_start"))
def action(study: Source | None = None, *, data: Data | None = None, **given: Any) -> Action:
    """The action S(U) of the theory as a function.

    Parameters
    ----------
    study : str, path, Study or Result, optional
        As for `headway.solve`. Of several widths and temperatures the first is taken.
    data : Dataset, optional
        As for `headway.solve`.
    {settings}
    {running}

    Returns
    -------
    Action
        `action.evaluate(U)` gives the value and the gradient.

    Raises
    ------
    BadStudyError, BadDataError, UsageError, UnreadableFileError, UnavailableError
        As `headway.solve`.

    Examples
    --------
    >>> import numpy as np, headway
    >>> action = headway.action("hmm-four-paths", widths=[10])
    >>> value, gradient = action.evaluate([np.eye(4), np.eye(2), 1.0])
    >>> round(value, 1)
    220.5
    """
    request, _, arguments = request_of("solve", "action", {"study": study, "data": data, **given})
    with in_python(arguments):
        return Action(native.module().Action(request))


@with_known_arguments
def kernel(*, features: ArrayLike, order_parameters: ArrayLike | Sequence[ArrayLike],
           other: ArrayLike | None = None, variance: float = 1.0) -> np.ndarray:
    """The renormalised kernel K(U), without the temperature.

    Parameters
    ----------
    features : array_like of shape (P, p, N_0)
        Path features xi_pi, unscaled.
    order_parameters : array_like of shape (C p, C p), or sequence of array_like
        U_1, or a list that begins with it.
    other : array_like of shape (P', p, N_0), optional
        Path features of other examples; default: `features`.
    variance : float, default: 1.0
        The prior variance s_0^2 of the input weights.

    Returns
    -------
    ndarray of shape (P, P')
        The kernel between both sets of examples; of C outputs [C P, C P'], output by output.

    Raises
    ------
    BadDataError
        An array of the wrong shape, or with entries that are not finite.
    UsageError
        A variance that is not positive.
    UnavailableError
        The extension module is missing.

    Notes
    -----
    K(U) = sum over paths of U[pi, pi'] X_pi X'_pi'^T (eq. 14), with X_pi = s_0 xi_pi / sqrt(N_0 p). It
    costs P P' p N_0 multiply-adds, and a product of U with each feature.

    Examples
    --------
    >>> import numpy as np, headway
    >>> xi = np.random.default_rng(1).standard_normal((12, 4, 5))
    >>> headway.kernel(features=xi, order_parameters=np.eye(4)).shape
    (12, 12)
    """
    if isinstance(order_parameters, (list, tuple)) and order_parameters and (
            np.asarray(without_torch(order_parameters[0]), dtype=object).ndim == 2):
        order_parameters = order_parameters[0]
    left = _features("features", features)
    right = left if other is None else _features("other", other)
    if left.shape[1:] != right.shape[1:]:
        raise BadDataError(f"other: has shape {list(right.shape)}; allowed: [P', {left.shape[1]}, "
                           f"{left.shape[2]}] as features")
    u, paths = _matrix("order_parameters", order_parameters), left.shape[1]
    if u.ndim != 2 or u.shape[0] != u.shape[1] or u.shape[0] % paths or not u.size:
        raise BadDataError(f"order_parameters: has shape {list(u.shape)}; allowed: [C p, C p] with the "
                           f"p = {paths} paths of features")
    if np.abs(u - u.T).max() > SYMMETRY_TOLERANCE * np.abs(u).max():
        raise BadDataError("order_parameters: is not symmetric; allowed: a symmetric matrix")
    if not (isinstance(variance, (int, float, np.number)) and variance > 0):
        raise UsageError(f"variance: is {variance!r}; allowed: a number > 0")
    return native.module().kernel(left.reshape(len(left), -1), right.reshape(len(right), -1), u, paths,
                                  float(variance))


def _features(name: str, value: Any) -> np.ndarray:
    array = _matrix(name, value)
    if array.ndim != 3 or not array.size:
        raise BadDataError(f"{name}: has shape {list(array.shape)}; allowed: [P, p, N_0], none zero")
    return array


def _square(name: str, value: Any) -> np.ndarray:
    """A symmetric matrix, or a number as one of one entry."""
    array = _matrix(name, value)
    if array.size == 1:
        return array.reshape(1, 1)
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise BadDataError(f"{name}: has shape {list(array.shape)}; allowed: a square matrix")
    apart = np.abs(array - array.T)
    if apart.max(initial=0.0) > SYMMETRY_TOLERANCE * np.abs(array).max(initial=0.0):
        row, column = (int(i) for i in np.unravel_index(apart.argmax(), apart.shape))
        raise BadDataError(f"{name}[{row}, {column}]: {array[row, column]}, and [{column}, {row}] is "
                           f"{array[column, row]}; allowed: a symmetric matrix")
    return array


def _matrix(name: str, value: Any) -> np.ndarray:
    faults: list[str] = []
    array = number_array(name, value, np.dtype(float), faults)
    if not faults and not np.isfinite(array).all():
        at = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        faults.append(f"{name}{at if at else ''}: {array[tuple(at)]}; allowed: finite numbers")
    if faults:
        raise BadDataError(faults)
    return array
