"""The verbs of the program on arrays and studies in memory: from the arguments of a function to its result."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from headway import native
from headway.api.arrays import GivenArrays
from headway.api.arrays_again import arrays_as_one, data_again, how_to_go_on, made_from_arrays
from headway.api.examples import examples_of
from headway.api.held_arrays import HeldArrays
from headway.api.settings import overlays_of
from headway.api.study_files import Study
from headway.base.caller import warn
from headway.base.dataset_table import ARGUMENTS, PLACES
from headway.base.files import refuse_inputs, same_file
from headway.base.paths import described, flag_of, output_of, text_of_path
from headway.base.progress import Bars, listener_of
from headway.base.signatures import EXAMPLES, RUNNING, with_known_arguments
from headway.base.words import in_python, python_words, raise_unwritten, with_names
from headway.errors import BadDataError, Interrupted, NotUsableWarning, UsageError
from headway.results.best_point import named_point
from headway.results.display import Shown
from headway.results.result import Result
from headway.results.result_reader import kind_of, read_result, result_of
from headway.results.training_results import TrainingResult

_LOG = logging.getLogger("headway")
_ARRAY_STUDY = 'name = "arrays"\n[task]\nkind = "{}"\nfile = "arrays"\n'


def compute(verb: str, given: Mapping[str, Any]) -> Any:
    """The result of a verb. `given` has the arguments of its function by name; None stands for one that was not given."""
    request, data, arguments = request_of(verb, verb, given)
    progress, names = listener_of(given.get("progress")), names_of(given.get("study"), "study")
    names += _ARRAYS_BY_NAME if data is not None else []
    output = output_of(given.get("output"))
    _refuse_other_result(verb, request["input"], output)
    request |= {"output": output, "force": flag_of("overwrite", given.get("overwrite")),
                "jobs": given.get("jobs"), "dry_run": bool(given.get("dry_run")), "progress": progress}
    try:
        with in_python(arguments, names), how_to_go_on(
                f"headway.{verb}(result, inputs=..., labels=..., ...) with the arguments of the call that made it"
                if verb in ("solve", "align", "prune", "sample") else
                "headway.write_examples puts them into a file, and a study with its path trains on it again"):
            own, ranks = (0, 1) if request["shard"] else rank_and_ranks()  # a part needs no MPI
            if data is not None and ranks > 1:  # they compare what they were given
                data.as_in_file()
            done = native.module().compute(verb.replace("_", "-"), request)
    finally:
        if isinstance(progress, Bars):
            progress.close()
    if given.get("dry_run"):
        return json.loads(done.plan)
    result = result_of(done, data, f"headway.{verb}")
    raise_unwritten(done.unwritten, result, arguments, names)
    if done.interrupted:
        raise Interrupted(f"headway.{verb}: stopped by Ctrl-C; result has what was finished", result)
    for fault in done.faults if own == 0 else ():
        warn(f"headway.{verb}: {python_words(fault, arguments)}", NotUsableWarning)
    return result


def _refuse_other_result(verb: str, source: str, output: str) -> None:
    """CannotWriteError where the output would take the place of a result that it is computed from. The verb that made a result
    may replace it: it goes on from a partial one, or makes it again."""
    if output and same_file(source, output) and kind_of(source).replace("network_prune", "prune_network") != verb:
        refuse_inputs(output, [source])


def rank_and_ranks() -> tuple[int, int]:
    """The number of this process among those that mpirun started, and how many there are: (0, 1) where it is alone."""
    return native.module().rank()


@with_known_arguments
def rank() -> int:
    """Tell which of the processes that mpirun started this one is.

    Under `mpirun -n 4 python3 SCRIPT` four processes run the script. `headway.solve`, `headway.sample`,
    `headway.train` and `headway.gram` then share their work, and every process gets the whole result.

    Returns
    -------
    int
        The rank, from 0; 0 where the process is alone.

    Raises
    ------
    UnavailableError
        The extension module or MPI is missing.

    Examples
    --------
    Print and save once:

    >>> import headway
    >>> result = headway.solve("hmm-four-paths", widths=[10])
    >>> if headway.rank() == 0:
    ...     print(result.points[0].widths)
    (10, 10, 10)
    """
    return rank_and_ranks()[0]


_MOST_PARTS = 1_000_000  # as the program's --shard


def _shard_of(shard: Any) -> str:
    """(0, 4) as the program spells it, "0/4"; "" for the whole study. UsageError for anything else."""
    if shard is None:
        return ""
    if isinstance(shard, (tuple, list)) and len(shard) == 2:
        index, count = shard
        if all(isinstance(number, (int, np.integer)) and not isinstance(number, bool) for number in shard) \
                and 0 <= index < count <= _MOST_PARTS:
            return f"{index}/{count}"
    raise UsageError(f"shard: is {shard!r}; allowed: (i, n), part i of n, whole numbers with 0 <= i < n <= {_MOST_PARTS}")


_ARRAYS = (*PLACES, "sets", "network", "attention_rows")
#: What the program calls arrays, and the arguments that they are.
_MEMORY = [("arrays in memory: ", "")]
_ARRAYS_BY_NAME = [*_MEMORY, *((place, name) for name, place in PLACES.items() if place.startswith(("train/", "test/")))]
_NO_SETTINGS = ("study", "data", "classes", *RUNNING)


def request_of(verb: str, function: str, given: Mapping[str, Any]
               ) -> tuple[dict[str, Any], HeldArrays | None, dict[str, str]]:
    """What the extension module takes; the data set of the arrays among the arguments; and {dotted key of a setting: the
    argument that gave it}.

    `verb` says which settings there are, and `function` whose name messages have.
    """
    of_theory = verb in ("solve", "align", "prune", "sample")
    caller, study, shard = f"headway.{function}", given.get("study"), _shard_of(given.get("shard"))
    named = own = _own_data(caller, given) if of_theory else None
    study = None if study is own else study
    options = {name: value for name, value in given.items() if value is not None and name not in _NO_SETTINGS}
    if given.get("point") is not None:
        options |= _settings_of_point(caller, study, given["point"], options)
    arrays = _arrays_among(options) if of_theory else {
        name: options.pop(name) for name in EXAMPLES if verb == "train" and name in options}
    task = options.pop("task", None) if verb == "evaluate" else None
    data = None
    if arrays or own is not None:
        name = next(iter(arrays), "data")
        if arrays and own is not None:
            raise UsageError(f"{caller}: has both a Dataset and the argument {name}; allowed: one of them")
        if study is not None and not made_from_arrays(study):
            raise UsageError(f"{caller}: has both the study {described(study)} and the argument {name}; allowed: "
                             "one of them, or a result of arrays and the same arrays again")
        if of_theory:
            settings = given.get("settings")
            learned = study is not None or "attention_prior" in options or isinstance(settings, Mapping) and any(
                str(key).startswith("model.attention_prior") for key in settings)
            if own is None:
                own = GivenArrays(arrays | {"heads": options.pop("heads", None), "readout": options.get("readout"),
                                            "classes": given.get("classes")}, learned=learned)
            data = own._checked(learned)
        else:
            data = examples_of(arrays)
        if study is None:
            request = {"input": caller, "text": _ARRAY_STUDY.format("dataset" if of_theory else "arrays")} | data.request()
        else:
            request = _source(verb, study) | data_again(study, data).request()
    elif study is None and not of_theory:
        raise UsageError(f"{caller}: needs a study, a result, or the path of one"
                         + (", or tokens or vectors with targets" if verb == "train" else ""))
    elif study is None:
        raise UsageError(f"{caller}: needs a study, or arrays: features with labels and heads, or inputs "
                         "with labels and attention")
    else:
        request = _source(verb, study)
        data = getattr(study, "_data", None)
    overlays = overlays_of(caller, verb, options, given.get("settings"))
    arguments = {key: name for key, (name, _) in overlays.items()}
    if task is not None:
        request["task"] = text_of_path("task", task)
    if data is not None and given.get("output") is not None:
        written = "headway.write_dataset and its path" if of_theory else "headway.write_examples and a study of its path"
        raise UsageError("output: is not allowed beside arrays; allowed: result.save(path) afterwards, or "
                         f"{written} in place of the arrays")
    return request | {
        "main_thread": threading.current_thread() is threading.main_thread(),
        "overlays": [f"{key}={value}" for key, (_, value) in overlays.items()],
        "command": [_call(caller, given, named)], "shard": shard,
        "warning": lambda text: warn(with_names(python_words(text, arguments), names_of(study, "study") + _MEMORY)),
        "note": _LOG.info}, data, arguments


def _own_data(caller: str, given: Mapping[str, Any]) -> GivenArrays | None:
    """The arrays that are given as one object: as the study, or beside a result of arrays."""
    study, data = given.get("study"), given.get("data")
    if data is None:
        return study if isinstance(study, GivenArrays) else None
    if isinstance(study, GivenArrays):
        raise UsageError(f"{caller}: has both the arguments study and data, which are data sets; allowed: one of them")
    return arrays_as_one(data)


def _settings_of_point(caller: str, study: Any, point: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """The widths and the temperature of the point that an argument `point` names, of the result that is given as the study."""
    beside = next((name for name in ("widths", "temperature") if name in options), None)
    if beside is not None:
        raise UsageError(f"{caller}: has both the arguments point and {beside}; allowed: one of them")
    result = study if isinstance(study, Shown) or study is None else _result_in(study)
    if not isinstance(result, Result):
        raise UsageError(f"point: needs a result of headway.solve or headway.sample as the study; {described(study)} is none")
    found, edge = named_point(result, point)
    if edge:
        warn(f"{caller}: {edge}")
    return {"widths": [list(found.widths)], "temperature": found.temperature}


def _result_in(study: Any) -> Any:
    """The result in the file of this path; None where it is no result file."""
    return read_result(study) if isinstance(study, (str, os.PathLike)) and kind_of(study) else None


def _arrays_among(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the arrays out of the options. Attention that is a word, "softmax" or "hardmax", is a setting, and stays."""
    return {name: options.pop(name) for name in _ARRAYS
            if name in options and not (name == "attention" and isinstance(options[name], str))}


def _call(caller: str, given: Mapping[str, Any], own: GivenArrays | None) -> str:
    """The call as a line of Python. Arrays are dots. Arguments that change no number are left out."""
    study = given.get("study")
    words = [] if study is None or study is own else [_spelled(os.fspath(study)) if isinstance(study, (str, os.PathLike)) else "..."]
    if own is not None:
        made = f"headway.Dataset({', '.join(_words_of(own._given))})"
        words.append(made if not words else f"data={made}")
    words += _words_of({name: value for name, value in given.items() if name not in ("study", "data", *RUNNING)})
    if given.get("settings"):
        words.append(f"settings={_spelled(given['settings'])}")
    if given.get("point") is not None:
        words.append(f"point={_spelled(given['point'])}")
    if given.get("shard") is not None:  # as headway merge looks for it
        words.append("shard=({}, {})".format(*given["shard"]))
    return f"{caller}({', '.join(words)})"


def _words_of(arguments: Mapping[str, Any]) -> list[str]:
    """"name=value" of each argument that is given: those of a data set first."""
    order = [*(name for name in ARGUMENTS if name != "readout"), *EXAMPLES]
    arrays = {*_ARRAYS, *EXAMPLES}
    names = sorted(arguments, key=lambda name: order.index(name) if name in order else len(order))
    return [f"{name}={'...' if name in arrays and not isinstance(arguments[name], str) else _spelled(arguments[name])}"
            for name in names if arguments[name] is not None]


def _spelled(value: Any) -> str:
    """A value as Python spells it. Texts have double quotes, since the shell puts single ones around the whole."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_spelled, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_spelled(str(key))}: {_spelled(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _source(verb: str, study: Any) -> dict[str, Any]:
    """A path, a name, a Study, or a result in memory, whose data and order parameters are then used."""
    if isinstance(study, Study):
        return {"input": study.name, "text": study.text}
    if isinstance(study, Shown):
        study._require_origin()
    if getattr(study, "_is_in_memory", False):
        if verb in ("evaluate", "prune_network") and study.kind != "train":
            raise BadDataError(f"study: is a result of headway.{study._verb.replace('-', '_')}; allowed: a result of headway.train")
        done, data = study._computation, study._data
        if data is not None:
            data.require_unchanged()
        # Networks, parts and merged results are handed on as a file: their computations in memory lend nothing. Of a pickled
        # result there is only the file.
        as_file = done is None or isinstance(study, (TrainingResult, Result)) and not done.lends
        source = {"input": file_of(study)} if as_file else {
            "input": "the study of the result", "text": done.study, "earlier": done}
        return source | ({} if data is None else data.request(as_file))
    file = getattr(study, "file", study)
    return {"input": text_of_path("study", file)}


def names_of(result: Any, name: str) -> list[tuple[str, str]]:
    """For messages: the name of an argument that is a result in memory, where a file of ours stands for it."""
    return [(file_of(result), name)] if "_file" in getattr(result, "__dict__", ()) else []


def file_of(trained: Any) -> str:
    """A file of a result in memory, for the program to read. It is deleted with the result."""
    file = trained.__dict__.get("_file")
    if file is None:
        folder = tempfile.mkdtemp(prefix="headway-")
        weakref.finalize(trained, shutil.rmtree, folder, ignore_errors=True)
        file = os.path.join(folder, f"{trained.kind}.h5")
        object.__setattr__(trained, "_file", file)
        trained.save(file)
    return file
