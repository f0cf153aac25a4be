"""headway.solve, align, prune, sample, train, latents, evaluate, kernel and action."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from headway import native
from headway.compute import compute, request_of
from headway.datasets import number_array
from headway.errors import BadDataError, UsageError
from headway.progress import Progress
from headway.study_files import Study

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.latent_results import EvaluateResult, LatentsResult
    from headway.network_results import RemovalResult
    from headway.results import Result
    from headway.training_results import TrainingResult

    Source = Union[str, os.PathLike, Study, Result, TrainingResult]


SYMMETRY_TOLERANCE = 1e-8


def solve(study: Source | None = None, *, features: ArrayLike | None = None,
          inputs: ArrayLike | None = None, labels: ArrayLike | None = None,
          heads: Sequence[int] | None = None, attention: Sequence[ArrayLike] | str | None = None,
          attention_weights: Sequence[ArrayLike] | None = None,
          query: Sequence[ArrayLike] | None = None, key: Sequence[ArrayLike] | None = None,
          mask: ArrayLike | None = None, test_features: ArrayLike | None = None,
          test_inputs: ArrayLike | None = None, test_labels: ArrayLike | None = None,
          test_attention: Sequence[ArrayLike] | None = None, test_mask: ArrayLike | None = None,
          sets: Mapping[str, Mapping[str, Any]] | None = None,
          head_names: Sequence[Sequence[str]] | None = None,
          widths: Sequence[int | Sequence[int]] | None = None,
          temperature: float | Sequence[float] | None = None,
          variances: float | Sequence[float] | None = None, readout: str | None = None,
          seed: int | None = None, threads: int | None = None,
          settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
          output: str | os.PathLike | None = None, force: bool = False, **options: Any) -> Result:
    """Order parameters of the theory and what follows from them: `headway solve` in memory.

    The action S(U) = logdet(K(U_1) + T I) + y^T (K(U_1) + T I)^-1 y + entropy(U_1, ..., U_L, U_a) is
    minimised for every width and temperature, with K(U_1) = sum over paths pi, pi' of U_1[pi, pi']
    X_pi X_pi'^T. The answer is that of the program, to the last bit.

        headway.solve("hmm-four-paths", widths=[10, 100])
        headway.solve(features=xi, labels=y, heads=[2, 2], widths=[10, 100], temperature=0.01,
                      test_features=xt, test_labels=yt)
        headway.solve(inputs=x, attention=[a1, a2], readout="mean", labels=y, widths=[10])

    study: the path of a study, a data set or a result; the name of a study that comes with Headway;
    what headway.read_study gives; or a result, whose study is then solved on the same data.

    Arrays in its place (P examples, S tokens, N_0 features, C outputs, H_l heads in layer l, p = H_1
    ... H_L paths; test_... likewise, with as many examples as they have):
      labels             [P] or [P, C]: real, +-1 for two classes, one-hot for more
      features, heads    [P, p, N_0], path features xi_pi unscaled, and [H_1, ..., H_L]; or
      inputs             [P, S, N_0], with one of
        attention          a list over layers of [P, H_l, S, S], [example, head, query, key]
        attention_weights  a list of [H_l, N_0, N_0]: logits[query s, key t] = x_s^T W x_t
        query, key         lists of [H_l, G_l, N_0]: logits = (Q x_s) . (K x_t) / sqrt(G_l)
      mask               [P, S], 1 for a real token
      sets, head_names   as headway.write_dataset takes them
    C-contiguous arrays of float64 or float32 are used where they lie; others are copied.

    Settings, with the names, defaults and messages of a study file:
      widths       each entry a sweep point: one number for all N_l, or [N_1, ..., N_L, N_a]
      temperature  T, or a list; variances  one number, or [s_0^2, s_1^2, ..., s_L^2, s_a^2]
      readout      "last_token", "first_token" or "mean"; attention="hardmax" in place of "softmax"
      seed, threads (0: all cores), and every key of [model] and [solve] as `options`;
      settings     any others by dotted key: {"solve.corrections": "off"}
    progress: None (a bar of tqdm for what takes long, in a terminal or notebook), True, False, or a
    function of (stage, done, total). output: also write the result file there; a long computation
    then goes on from its checkpoints when it is called again. force: replace that file.
    dry_run=True computes nothing and returns sizes and costs.

    Returns a headway.Result: result.points[0].order_parameters[0] is U_1, [C p, C p], of the first
    point; result.save(path) writes what the program would. Costs that of the program, and about a
    millisecond beside it.

    Errors: BadStudyError and BadDataError name argument, value and what is allowed; UsageError,
    UnreadableFileError; UnavailableError without the extension module. What did not converge is a value,
    with a NotUsableWarning. Ctrl-C stops at the next safe point: headway.Interrupted (a
    KeyboardInterrupt) has what was finished as its `result`.
    """
    return compute("solve", study, _merged(locals()))


def align(study: Source | None = None, **arguments: Any) -> Result:
    """Overlaps |v_k . y| / |y| of the eigenvectors v_k of K(U_1) with the labels, by falling eigenvalue,
    and those of the Gaussian process: `headway align` in memory.

    Takes what headway.solve takes (help(headway.solve)) and every key of [align]. Of a result of
    headway.solve, align(result), the order parameters are used, and nothing is solved again.
    Returns a headway.Result; result.points[0].alignment.overlaps is [P].
    """
    return compute("align", study, arguments)


def prune(study: Source | None = None, *, network: Mapping[str, Any] | None = None,
          **arguments: Any) -> Result | RemovalResult:
    """Head scores (the share of U_1 on paths through a head), the accuracy without each head, and
    cumulative pruning in every order: `headway prune` in memory.

    Takes what headway.solve takes (help(headway.solve)), every key of [prune], and `network`: trained
    weights with these heads, as headway.write_dataset takes them, which are then pruned too. Of a result
    of headway.solve the order parameters are used. Of a result of headway.train, or the path of one,
    heads are removed from the networks themselves.
    Returns a headway.Result whose points have `pruning`, or a headway.RemovalResult.
    """
    return compute("prune", study, {"network": network, **arguments})


def sample(study: Source | None = None, *, sampler: str | None = None,
           chains: int | None = None, draws: int | None = None, warmup: int | None = None,
           **arguments: Any) -> Result:
    """Draws from the exact posterior of U, or of all weights, at finite width, with error bars and
    diagnostics: `headway sample` in memory.

        headway.sample(features=xi, labels=y, heads=[2, 2], widths=[10], chains=4, draws=1000, seed=1)

    Takes what headway.solve takes (help(headway.solve)) and every key of [sample]: sampler is "exact",
    "gibbs", "nuts", "hmc", "mala" or "langevin"; draws and warmup are per chain.
    Returns a headway.Result; result.points[0].samples.draws[1] is U_1, [chain, draw, p, p], and
    result.to_inference_data() gives them to ArviZ. Draws whose chains do not agree come with a
    NotUsableWarning.
    """
    return compute("sample", study, {"sampler": sampler, "chains": chains, "draws": draws,
                                     "warmup": warmup, **arguments})


def train(study: Source, *, steps: int | None = None, seed: int | None = None,
          threads: int | None = None, jobs: int | None = None,
          settings: Mapping[str, Any] | None = None, progress: bool | Progress | None = None,
          output: str | os.PathLike | None = None, force: bool = False, **options: Any) -> TrainingResult:
    """Trains the transformers of a study: `headway train` in memory.

        headway.train("fuzzy-logic-small", steps=1000)

    study: as for headway.solve, without arrays. Every key of [train] may be given by its name, any other as in
    settings={"task.terms_per_task": 3, "sweep.train.attention": ["softmax", "linear"]}. jobs: runs at once.
    progress, output, force, dry_run: as for headway.solve.
    Returns a headway.TrainingResult with curves, metrics and weights of every run. Errors as
    headway.solve; UnavailableError where LibTorch is missing.
    """
    return compute("train", study, _merged(locals()))


def latents(study: Source, **arguments: Any) -> LatentsResult:
    """Latent codes of trained networks and what can be decoded from them on unseen tasks: `headway
    latents`. study: the path of a result of `headway train`, or a study, whose networks are trained
    first; every key of [latents] may be given. Other arguments as headway.train."""
    return compute("latents", study, arguments)


def evaluate(study: Source, *, task: str | os.PathLike | None = None,
             **arguments: Any) -> EvaluateResult:
    """Trained networks on other data of their kind: `headway evaluate`. study: the path of a result of
    `headway train`; task: a study whose [task] the networks are put on; settings={"task.KEY": value}
    changes single keys; every key of [evaluate] may be given."""
    return compute("evaluate", study, {"task": task, **arguments})


class Action:
    """The action S (eq. 18) on given data, at one choice of widths and temperature; see headway.action.
    """

    def __init__(self, native_action: Any):
        self._action = native_action

    def evaluate(self, order_parameters: Sequence[Any]) -> tuple[float, list[np.ndarray]]:
        """S, not divided by a width, and dS/dU_l as matrix derivatives (off-diagonals not doubled), at
        (U_1, ..., U_L, U_a): a list of symmetric matrices [C p_l, C p_l], U_a [C, C] or a number.

        S is inf where a matrix or K(U_1) + T I is not positive definite; there is no gradient then.
        Costs one factorisation of the kernel. Errors: BadDataError, also for a matrix that is not symmetric
        within 1e-8 of its largest entry.
        """
        try:
            matrices = list(order_parameters)
        except TypeError:
            raise UsageError(f"order_parameters: is {order_parameters!r}; allowed: a list of U_1, ..., "
                             "U_L, U_a") from None
        return self._action.evaluate([_square(f"order_parameters[{at}]", matrix)
                                      for at, matrix in enumerate(matrices)])


def action(study: Source | None = None, **arguments: Any) -> Action:
    """The action S(U) = logdet(K(U_1) + T I) + y^T (K(U_1) + T I)^-1 y + entropy(U) as a function.

        value, gradient = headway.action(features=xi, labels=y, heads=[2, 2], widths=[10],
                                         temperature=0.01).evaluate([u_1, u_2, u_a])

    Takes what headway.solve takes; of several widths and temperatures the first.
    """
    request, _ = request_of("solve", study, arguments)
    return Action(native.module().Action(request))


def kernel(*, features: ArrayLike, order_parameters: ArrayLike | Sequence[ArrayLike],
           other: ArrayLike | None = None, variance: float = 1.0) -> np.ndarray:
    """The renormalised kernel K(U) = sum over paths of U[pi, pi'] X_pi X'_pi'^T (eq. 14), without T,
    where X_pi = s_0 xi_pi / sqrt(N_0 p).

    features, other: unscaled path features [P, p, N_0] and [P', p, N_0], by default the same;
    order_parameters: U_1 [C p, C p], or a list that begins with it; variance: s_0^2.
    Returns [P, P']; with C outputs [C P, C P'], output-major. Costs P P' p N_0 multiply-adds and a
    product of U with each feature.
    """
    if isinstance(order_parameters, (list, tuple)) and order_parameters and (
            np.asarray(order_parameters[0], dtype=object).ndim == 2):
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


def _merged(arguments: dict[str, Any]) -> dict[str, Any]:
    """The named arguments of a function and its further options."""
    options = arguments.pop("options")
    del arguments["study"]
    return arguments | options
