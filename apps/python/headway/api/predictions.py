"""headway.predict: what a result of solve, sample or train says of new inputs, which have no labels."""

from __future__ import annotations

import logging
import math
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headway import native
from headway.api.array_arguments import arrays_of
from headway.api.arrays import ArrayData, GivenArrays
from headway.api.arrays_again import arrays_as_one, data_again, how_to_go_on, made_from_arrays
from headway.api.compute import file_of, names_of
from headway.api.settings import toml
from headway.base import hdf5, memory
from headway.base.caller import warn
from headway.base.paths import described, flag_of, output_of, require_utf8, text_of_path
from headway.base.signatures import with_known_arguments
from headway.base.words import in_python, python_words, raise_unwritten
from headway.errors import BadDataError, UsageError
from headway.results.best_point import named_point
from headway.results.display import Shown
from headway.results.network_predictions import NetworkPredictResult
from headway.results.prediction_results import PredictResult
from headway.results.result_reader import kind_of, read_members, read_result

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from headway.api.dataset import Dataset
    from headway.results.result import Result
    from headway.api.verbs import Data

_LOG = logging.getLogger("headway")
_SET = "sets/inputs"  # where a data-set file would have the arrays
_PLACES = {"features": f"{_SET}/path_features", "inputs": f"{_SET}/inputs", "mask": f"{_SET}/mask",
           "attention": f"{_SET}/attention"}
_NAMES = {place: name for name, place in _PLACES.items()}


@with_known_arguments
def predict(result: str | os.PathLike | Result, new: str | os.PathLike | Dataset | None = None, *,
            inputs: ArrayLike | None = None, attention: Sequence[ArrayLike] | None = None,
            features: ArrayLike | None = None, mask: ArrayLike | None = None, tokens: ArrayLike | None = None,
            vectors: ArrayLike | None = None, text: str | None = None,
            data: Data | None = None, weights: str | None = None, threads: int | None = None,
            point: str | int | Sequence[Any] | None = None, output: str | os.PathLike | None = None, overwrite: bool = False) -> PredictResult | NetworkPredictResult:
    """Predict new inputs, which have no labels.

    The answer is that of the program `headway predict`, to the last bit.

    Parameters
    ----------
    result : str, path, Result or TrainingResult
        A result of `headway.solve` or `headway.sample`, or its path. Its data must still be there. Or a result of
        `headway.train`, whose networks predict; their data are not needed.
    new : Dataset, str or path, optional
        The new inputs: a data set, whose labels and weights of attention are not used, or the file of one; for networks that
        were trained on examples of your own a file of `headway.write_examples`, with or without targets; for networks of
        text a text file.
    inputs : array_like of shape (M, S, N_0), optional
        Tokens of the new examples. The heads are those of the result's data. Of trained networks the tokens of their task:
        numbers for fuzzy logic (any S) and images, one-hot panels for SRAVEN.
    attention : sequence of array_like of shape (M, H_l, S, S), optional
        With `inputs`, where the result's data hold the attention of every example.
    features : array_like of shape (M, p, N_0), optional
        Path features, unscaled, where the result's data hold them.
    mask : array_like of shape (M, S), optional
        With `inputs`: 1 for a real token, 0 for padding. Not of trained networks.
    tokens : array_like of shape (M, S), optional
        For networks that were trained on `tokens`: ids of the tokens of new examples.
    vectors : array_like of shape (M, S, F), optional
        For networks that were trained on `vectors`: the same as `inputs`.
    text : str, optional
        For networks of text, in place of a file.
    data : Dataset, optional
        The arrays that the result was made from, as a data set or as a mapping of its arguments. Needed only where the result does not hold them: it was read from a file, or came from another process without large arrays.
    weights : {'best', 'last'}, optional
        Of trained networks: those of the best checkpoint (default), or those at the end.
    threads : int, optional
        Number of threads, 0 for all cores. Changes no result but of networks with `train.eager`.
    point : int, 'best' or tuple (width, temperature), optional
        Predict with this point of the result alone: by its number; the one of largest log evidence; or that of a width, or of
        all widths, and a temperature. Not of trained networks.
    output : str or path, optional
        Also write the result file there.
    overwrite : bool, default: False
        Replace `output` where it exists.

    Returns
    -------
    PredictResult or NetworkPredictResult
        For each point the arrays `mean`, `sd`, `right_sign_probability` and `predicted_class`. Two classes are -1 and +1, also
        if the labels were 0 and 1. Of real targets the last two are None. Of trained networks the same for each group of runs
        that differ in their seeds alone.

    Raises
    ------
    BadDataError
        Inputs that do not fit the result's data or the networks, or data that have changed since.
    UsageError
        Both a file and arrays, or neither; a text for networks that read numbers.
    UnreadableFileError, CannotWriteError
        A file that is missing or cannot be read; an `output` that exists or cannot be written.
    UnavailableError
        The extension module is missing, or LibTorch for trained networks.
    Interrupted
        Ctrl-C was pressed.

    Notes
    -----
    A result of solve predicts with eqs. 16 and 17 at its saddle point. A result of sample predicts with the mean over its
    draws of U_1; its variance is the mean variance given a draw plus the variance of the means. A trained network has no
    posterior: its standard deviation is the spread over seeds.

    Examples
    --------
    >>> import numpy as np, headway
    >>> rng = np.random.default_rng(1)
    >>> xi, y = rng.standard_normal((12, 4, 5)), np.resize([1.0, -1.0], 12)
    >>> solved = headway.solve(features=xi, labels=y, heads=[2, 2], widths=[10], temperature=0.1)
    >>> headway.predict(solved, features=rng.standard_normal((3, 4, 5))).points[0].mean.shape
    (3,)
    """
    caller = "headway.predict"
    given = {name: value for name, value in (("inputs", inputs), ("attention", attention), ("features", features),
                                             ("mask", mask)) if value is not None}
    rows = None
    if isinstance(new, GivenArrays) and not given:
        rows = new._given.get("attention_rows")
        given, new = {name: value for name, value in new._given.items() if name in _PLACES}, None
    examples = {name: value for name, value in (("tokens", tokens), ("vectors", vectors)) if value is not None}
    sources = [*(["new"] if new is not None else []), *list(given)[:1], *examples, *(["text"] if text is not None else [])]
    if len(sources) != 1:
        raise UsageError(f"{caller}: has both {sources[0]} and {sources[1]}; allowed: one of them" if sources else
                         f"{caller}: needs new inputs: either the path of a data set, or inputs or features, or tokens or vectors, or a text")
    if "inputs" in given and "features" in given:
        raise UsageError(f"{caller}: has both inputs and features; allowed: one of them, as the result's data have")
    request: dict[str, Any] = {"input": _input_of(result)}
    asked = weights is not None or given or examples  # else nothing here depends on it
    kind = result.kind if isinstance(result, Shown) else kind_of(request["input"]) if asked else ""
    if weights is not None and kind not in ("train", ""):
        raise UsageError(f"weights: is {described(weights)}; allowed: None, since only a result of headway.train has weights to choose")
    given = _inputs_of_examples(examples, kind) or given
    if point is not None:
        request["point"] = _name_of_point(caller, result, point)
    known = getattr(result, "_data", None)
    if data is not None:
        if not made_from_arrays(result):
            raise UsageError("data: is allowed only beside a result of arrays in memory; of other results the data are known")
        known = data_again(result, arrays_as_one(data)._checked())
    if known is not None:
        known.require_unchanged()
        request |= known.request()
    if new is not None:
        request["more_inputs"] = [text_of_path("new", new)]
    elif text is not None:
        if not isinstance(text, str):
            raise UsageError(f"text: is {described(text)}; allowed: a text, which a network of a text task goes on from")
        require_utf8("text", text)
        request["new_text"] = text
    else:
        inside = _arrays(given, kind, getattr(result, "heads", None) or _heads_of(request["input"]), rows, *examples)
        request["new_inputs"] = inside.dataset
    overlays = [] if threads is None else [f"threads={toml('threads', threads)}"]
    if weights is not None:
        overlays.append(f"evaluate.weights={weights}")
    request |= {"overlays": overlays, "force": flag_of("overwrite", overwrite),
                "output": output_of(output),
                "main_thread": threading.current_thread() is threading.main_thread(),
                "command": [f"{caller}(...)"], "warning": lambda text: warn(python_words(text)), "note": _LOG.info}
    names = [*names_of(result, "result"), *_names_of_arrays(given, known is not None, *examples)]
    with in_python({"evaluate.weights": "weights", "threads": "threads"}, names), how_to_go_on(
            "train again, since results of older versions do not say what their examples were like" if kind == "train" else
            f"{caller}(result, inputs=..., data={{\"inputs\": x, \"labels\": y, ...}}), all arrays of the call that made it in data"):
        done = native.module().compute("predict", request)
    made = read_members(memory.Group("/", done.tree()), Path(caller))
    vars(made).update(_computation=done)
    raise_unwritten(done.unwritten, made, names=names)
    return made


def _name_of_point(caller: str, result: Any, point: Any) -> str:
    """The point that the argument names, as the program spells it: "10,10,0.3"."""
    whole = result if isinstance(result, Shown) else read_result(result)
    if whole.kind not in ("solve", "align", "prune", "sample"):
        raise UsageError(f"point: is {described(point)}; allowed: None, since a result of headway.{whole.kind} has no points")
    found, edge = named_point(whole, point)
    if edge:
        warn(f"{caller}: {edge}")
    return ",".join(map(repr, (*found.widths, found.temperature)))


def _input_of(result: Any) -> str:
    """The path of a result. A result in memory is written to a file, which is deleted with it."""
    if isinstance(result, Shown):
        result._require_origin()
        if result._is_in_memory:
            return file_of(result)
    return text_of_path("result", getattr(result, "file", result), "a result of headway.solve, sample or train, or the path of one")


def _heads_of(path: str) -> list[int]:
    """Of the data of a result of the theory; [] of trained networks. BadDataError for a file that is no result."""
    with hdf5.open_file(path) as file:
        if "kind" not in file.attrs:
            raise BadDataError("is no result file; allowed: a result of solve, sample or train")
        return [int(count) for count in np.atleast_1d(file.attrs.get("heads", []))]


def _arrays(given: Mapping[str, Any], kind: str, heads: Any, rows: str | None, called: str = "") -> ArrayData:
    if kind == "train" and "inputs" not in given:
        raise UsageError(f"{next(iter(given))}: is not allowed with a result of headway.train; allowed: inputs, tokens or vectors, or text")
    faults: list[str] = []
    arrays: dict[str, Any] = {}
    name_of = (lambda _: called) if called else _name_of
    for name, value in given.items():
        arrays |= arrays_of(_PLACES[name], value, None, faults, name_of)
    paths, features = math.prod(heads), arrays.get(_PLACES["features"])
    if features is not None and features.ndim == 3 and features.shape[1] != paths:
        faults.append(f"features: has {features.shape[1]} paths (the second extent); allowed: {paths}, as the heads {list(heads)} of the "
                      "result have; where its data hold inputs, give inputs")
    if faults:
        raise BadDataError(faults)
    return ArrayData(arrays, np.asarray(heads) if "features" in given else None, None, name_of, rows=rows)


def _inputs_of_examples(examples: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """As the argument `inputs`, which trained networks read: ids [M, S] are [M, S, 1]. What is no such array is refused later."""
    for name, value in examples.items():
        if kind != "train":
            raise UsageError(f"{name}: is not allowed with a result of headway.{kind}; allowed: inputs or features")
        found = np.asarray(value)
        return {"inputs": found[..., np.newaxis] if name == "tokens" and found.ndim == 2 else value}
    return {}


def _names_of_arrays(given: Mapping[str, Any], known: bool, of_examples: str = "") -> list[tuple[str, str]]:
    """For messages: what the program calls arrays in memory are the argument with the new inputs, and the result's own data."""
    arrays, data = "arrays in memory", "the data of the result"
    told = "features" if "features" in given else "inputs"
    new = of_examples or told
    return [(f"the training data ({arrays})", data), *([(f"{arrays}: {told}", new), (arrays, new)] if given else []), *([(arrays, data)] if known else [])]


def _name_of(path: str) -> str:
    group, _, layer = path.partition("/layer_")
    return _NAMES.get(group, group) + (f"[{int(layer) - 1}]" if layer else "")
