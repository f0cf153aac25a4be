"""The verbs of the program on arrays and studies in memory. headway.solve.__doc__ says what all of them take."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import threading
import warnings
import weakref
from typing import Any

from headway import native
from headway.arrays import PATHS, ArrayData, data_of
from headway.errors import Interrupted, NotUsableWarning, UsageError
from headway.progress import Bars, listener_of
from headway.result_reader import result_of
from headway.settings import overlays_of
from headway.study_files import Study, text_of_path
from headway.training_results import TrainingResult

_LOG = logging.getLogger("headway")
_ARRAY_STUDY = 'name = "arrays"\n[task]\nkind = "dataset"\nfile = "arrays"\n'


def compute(verb: str, study: Any, given: dict[str, Any]) -> Any:
    """The result of a verb; `given`: the arguments of headway.solve and options of the study."""
    request, data = request_of(verb, study, given)
    progress = listener_of(given.get("progress"))
    output = given.get("output")
    try:
        done = native.module().compute(verb, request | {
            "output": "" if output is None else text_of_path("output", output),
            "force": bool(given.get("force")), "jobs": given.get("jobs"),
            "dry_run": bool(given.get("dry_run")), "progress": progress})
    finally:
        if isinstance(progress, Bars):
            progress.close()
    if given.get("dry_run"):
        return json.loads(done.plan)
    result = result_of(done, data, f"headway.{verb}")
    if done.interrupted:
        raise Interrupted(f"headway.{verb}: stopped by Ctrl-C; result has what was finished", result)
    for fault in done.faults:
        warnings.warn(f"headway.{verb}: {fault}", NotUsableWarning, stacklevel=3)
    return result


_ARRAYS = (*PATHS, "sets", "network")
_OWN = ("progress", "output", "force", "jobs", "dry_run", "settings", "task")


def request_of(verb: str, study: Any, given: dict[str, Any]) -> tuple[dict[str, Any], ArrayData | None]:
    """What the extension module takes, and the arrays among the arguments."""
    caller = f"headway.{verb}"
    options = {name: value for name, value in given.items() if name not in _ARRAYS + _OWN}
    arrays = {name: given.get(name) for name in _ARRAYS}
    if isinstance(arrays["attention"], str):  # "softmax" or "hardmax": of the model
        options["attention"] = arrays.pop("attention")
    request: dict[str, Any] = {
        "main_thread": threading.current_thread() is threading.main_thread(),
        "warning": lambda text: warnings.warn(text, UserWarning, stacklevel=4), "note": _LOG.info}
    data = None
    if any(value is not None for value in arrays.values()):
        if study is not None:
            named = next(name for name, value in arrays.items() if value is not None)
            raise UsageError(f"{caller}: has both the study {study!r} and the argument {named}; allowed: "
                             "one of them")
        sets, network = arrays.pop("sets", None), arrays.pop("network", None)
        data = data_of(arrays, options.pop("heads", None), options.get("readout"), sets, network)
        request |= {"input": caller, "text": _ARRAY_STUDY, "dataset": data.dataset}
    elif study is None:
        raise UsageError(f"{caller}: needs a study, or arrays: features with labels and heads, or inputs "
                         "with labels and attention")
    else:
        request |= _source(study)
        data = getattr(study, "_data", None)
    request["overlays"] = overlays_of(caller, verb, options, given.get("settings"))
    if given.get("task") is not None:
        request["task"] = text_of_path("task", given["task"])
    request["command"] = [f"{caller}({', '.join(request['overlays'])})"]
    if data is not None and given.get("output") is not None:
        raise UsageError("output: is not allowed beside arrays; allowed: result.save(path) afterwards, or "
                         "headway.write_dataset and its path in place of the arrays")
    return request, data


def _source(study: Any) -> dict[str, Any]:
    """A path, a name, a Study, or a result in memory, whose data and order parameters are then used."""
    if isinstance(study, Study):
        return {"input": study.name, "text": study.text}
    done = getattr(study, "_computation", None)
    if isinstance(study, TrainingResult) and done is not None:
        return {"input": _file_of(study)}
    if done is not None:
        data = study._data
        return ({"input": "the study of the result", "text": done.study, "earlier": done}
                | ({} if data is None else {"dataset": data.dataset}))
    file = getattr(study, "file", study)
    return {"input": text_of_path("study", file)}


def _file_of(trained: TrainingResult) -> str:
    """A file of a result in memory, from which the program takes networks; it goes with the result."""
    file = trained.__dict__.get("_file")
    if file is None:
        folder = tempfile.mkdtemp(prefix="headway-")
        weakref.finalize(trained, shutil.rmtree, folder, ignore_errors=True)
        file = os.path.join(folder, "trained.h5")
        object.__setattr__(trained, "_file", file)
        trained.save(file)
    return file
