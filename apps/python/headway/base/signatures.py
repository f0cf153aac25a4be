"""What the verbs share in their signatures: arguments that are no settings are described here, settings in the program's tables.

The extension module has these tables. A function of a verb takes its settings as **given. `explained` makes the signature
that help() shows. Without the extension module help() shows no settings, and nothing can be computed.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from headway import native
from headway.base.dataset_table import ARGUMENTS
from headway.base.words import python_words
from headway.errors import UnavailableError, UsageError

Function = TypeVar("Function", bound=Callable[..., Any])

SECTIONS = ("", "model", "solve", "align", "prune", "sample", "train", "latents", "evaluate")


def _tables() -> dict[str, dict[str, dict[str, str]]]:
    """{section of a study: {key: its meaning, what is allowed, its default}}; {} without the extension module."""
    try:
        options = native.module().options()
    except UnavailableError:
        return {}
    tables = {section: dict(options[section]) for section in SECTIONS}
    del tables[""]["schema"]
    return tables


SETTINGS = _tables()
_FEW = 15  # arguments of a function that a message lists
LINE = 100  # columns of a docstring


class Key(NamedTuple):
    """A key of a study: `section` is "" outside any table."""

    section: str
    name: str

    @property
    def dotted(self) -> str:
        return f"{self.section}.{self.name}" if self.section else self.name

    @property
    def about(self) -> Mapping[str, str]:
        return SETTINGS[self.section][self.name]


#: Examples to train on in place of a study. n examples of `length` tokens.
EXAMPLES: dict[str, tuple[str, str]] = {
    "tokens": ("array_like of int of shape (n, length), optional", "Ids of tokens, from 0. Give either these or `vectors`."),
    "vectors": ("array_like of shape (n, length, width), optional", "Tokens as numbers."),
    "targets": ("array_like, optional",
                "Integers are classes from 0: (n,) asks the last token, (n, length) every token. Real numbers are asked by squared "
                "error: (n,) or (n, outputs) of the last token, (n, length, outputs) of every token."),
    "loss_mask": ("array_like of shape (n, length), optional",
                  "1 where a target counts, 0 where it does not; with targets of every token. What it hides may be anything."),
    "factors": ("mapping of str to array_like of int of shape (n,), optional",
                "What each example is composed of, by name, such as {'shape': [0, 2, ...], 'colour': [1, 0, ...]}: whole numbers from "
                "0, which `headway.latents` decodes from the codes of a network. Training does not see them."),
    "sets": ("mapping of str to tuple or mapping, optional",
             "Further examples to evaluate, by name: {'test': (tokens, targets)}. The third of a tuple is a loss mask; a "
             "mapping has the names above. The set 'validation' chooses the best weights; without it the loss on the examples of training does."),
}

#: How a computation runs. These arguments change no number; `shard` only chooses which points are computed.
RUNNING: dict[str, tuple[str, str]] = {
    "settings": ("mapping of str to value, optional",
                 "Any other key of a study by its dotted name, for example {'task.noise': [1.0, 0.5, 0.1]}."),
    "progress": ("bool or callable, optional",
                 "True: a bar of tqdm. False: nothing. None: a bar of what takes longer than a second, in a terminal or a "
                 "notebook. A function is called with (stage, done, total)."),
    "shard": ("tuple (i, n) of int, optional",
              "Compute only part i of n, counted from 0, for example on n machines. `headway.merge` joins the parts."),
    "point": ("'best' or tuple (width, temperature), optional",
              "Compute only this point of the result that is given as `study`: the one of largest log evidence, or that of a width, or "
              "of all widths, and a temperature."),
    "output": ("str or path, optional",
               "Also write the result file there. A long computation leaves checkpoints beside it, from which the same call goes "
               "on. Not with arrays: save the result afterwards."),
    "overwrite": ("bool, default: False", "Replace `output` where it exists, and start afresh. `force` is its older name."),
    "jobs": ("int, optional", "Networks that are trained at once; default: as many as cores and threads allow."),
    "dry_run": ("bool, default: False", "Compute nothing, and return sizes and costs as a dict."),
}

#: What every verb raises, as a docstring has it.
_ERRORS = """BadStudyError, BadDataError
    A value that is not allowed. The message names the argument, the value and what is allowed.
UsageError
    An argument that does not exist, or two that exclude each other.
UnreadableFileError, CannotWriteError
    A file that is missing or cannot be read; an `output` that exists or cannot be written.
UnavailableError
    The extension module is missing, or there is not enough memory.
Interrupted
    Ctrl-C was pressed. The computation stopped at the next safe point, and `result` of the exception
    has what was finished."""
_ARRAYS = ("**arrays", "array_like, optional", "In place of `data`: the arguments of `headway.Dataset`, under their names there.")

_TYPES = {"widths": "int or sequence of (int or sequence of int)", "heads": "sequence of int", "variances": "float or sequence of float",
          "temperature": "float or sequence of float", "theory": "sequence of str", "layers": "sequence of int",
          "regularisation": "float or sequence of float", "task": "mapping of str to value",
          "attention_prior": "mapping of str to value", "value_network": "mapping of str to value"}
_ANNOTATIONS = {"widths": "int | Sequence[int | Sequence[int]]", "heads": "Sequence[int]", "variances": "float | Sequence[float]",
                "temperature": "float | Sequence[float]", "theory": "Sequence[str]", "layers": "Sequence[int]",
                "regularisation": "float | Sequence[float]", "task": "Mapping[str, Any]",
                "attention_prior": "Mapping[str, Any]", "value_network": "Mapping[str, Any]"}
_RUNNING_ANNOTATIONS = {"settings": "Mapping[str, Any] | None", "progress": "bool | Progress | None", "shard": "tuple[int, int] | None",
                        "point": "str | int | Sequence[Any] | None", "output": "str | os.PathLike | None", "overwrite": "bool",
                        "jobs": "int | None", "dry_run": "bool"}
#: Meanings that Python shows in place of those in the program's tables.
_MEANINGS = {
    "model.widths": "Each entry is one point of the sweep: one number for all N_l, or [N_1, ..., N_L, N_a].",
    "model.variances": "Prior variances of the weights: one number, or [s_0^2, s_1^2, ..., s_L^2, s_a^2].",
}


@functools.lru_cache(maxsize=None)
def keys_of(verb: str) -> dict[str, Key]:
    """The keys of a study that a verb takes by their bare names. Of two keys of one name the verb's own comes first."""
    if not SETTINGS:
        return {}
    if verb == "evaluate":  # all else is what the networks were trained with
        own = [Key("evaluate", name) for name in SETTINGS["evaluate"]]
        return {key.name: key for key in [*own, Key("train", "device"), Key("train", "eval_batch"), Key("", "name"), Key("", "threads")]}
    if verb == "prune_network":  # likewise
        return {key.name: key for key in [*(Key("prune", name) for name in SETTINGS["prune"]),
                                          *(Key("", name) for name in ("name", "seed", "threads"))]}
    order = [verb, "train", ""] if verb in ("train", "latents") else ["model", verb, "solve", ""]
    found: dict[str, Key] = {}
    for section in dict.fromkeys(section for section in order if section in SETTINGS):
        for name in SETTINGS[section]:
            found.setdefault(name, Key(section, name))
    return found


def annotation_of(key: Key) -> str:
    """The annotation of an argument, without `| None`."""
    known = _is_list(key)
    return _ANNOTATIONS[key.name] if known else {"int": "int", "float": "float", "bool": "bool"}.get(_type_of(key).split()[0], "str")


def _is_list(key: Key) -> bool:
    allowed = key.about["allowed"]
    return key.name in _TYPES and not allowed.startswith("an integer") and "one of" not in allowed


def _type_of(key: Key) -> str:
    """The type of a setting with its range: "int from 1 to 1000"."""
    allowed = key.about["allowed"]
    if _is_list(key):
        return _TYPES[key.name]
    if allowed.startswith("one of "):
        return "{" + ", ".join(repr(word) for word in re.findall(r'"([^"]*)"', allowed)) + "}"
    for begin, kind in (("an integer", "int"), ("a number", "float"), ("true or false", "bool"), ("one line of text", "str")):
        if allowed.startswith(begin):
            rest = allowed[len(begin):]
            return kind if kind == "str" else kind + rest
    raise ValueError(f"{key.dotted}: no type is known for {allowed!r}")


def _default_of(key: Key) -> str:
    """The default in Python's words; "optional" where the table has none."""
    text = key.about["default"]
    if not text:
        return "optional"
    return "default: " + {"true": "True", "false": "False"}.get(text, repr(json.loads(text)) if text[0] == '"' else text)


def _setting(key: Key) -> tuple[str, str]:
    meaning = _MEANINGS.get(key.dotted, key.about["meaning"])
    meaning = python_words(re.sub(r"\babsent: ", "default: ", meaning))
    begin = meaning.split(" ", 1)[0]
    if begin.isalpha() and begin.islower() and begin != "log" and f'"{begin}"' not in key.about["allowed"]:
        meaning = meaning[0].upper() + meaning[1:]
    return f"{_type_of(key)}, {_default_of(key)}", meaning if meaning.endswith(".") else meaning + "."


def _entry(name: str, kind: str, meaning: str) -> list[str]:
    return [f"{name} : {kind}", *textwrap.wrap(meaning, LINE, initial_indent="    ", subsequent_indent="    ")]


def with_older_names(**newer: str) -> Callable[[Function], Function]:
    """Decorates a function whose arguments were renamed, so that it takes their older names, too."""
    def adapt(function: Function) -> Function:
        @functools.wraps(function)
        def renamed(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **{newer.get(name, name): value for name, value in named.items()})
        return renamed  # type: ignore[return-value]
    return adapt


def with_known_arguments(function: Function) -> Function:
    """Decorates a function or a method so that it refuses an unknown argument with the name of the nearest known one."""
    taken = [one for one in inspect.signature(function).parameters.values() if one.kind is not inspect.Parameter.VAR_POSITIONAL]
    names = [one.name for one in taken if one.name != "self"]
    return refusing(f"headway.{function.__name__}" if len(names) == len(taken) else function.__name__, names, function)


def refusing(caller: str, names: Sequence[str], function: Function) -> Function:
    """A function that refuses all arguments but these."""
    @functools.wraps(function)
    def checked(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name not in names:
                near = _nearest(name, names)
                raise UsageError(f"{caller}: unknown argument {name}"
                                 + (f"; did you mean {near}?" if near else
                                    f"; allowed: {', '.join(names) or 'none'}" if len(names) <= _FEW else ""))
        return function(*arguments, **named)
    return checked  # type: ignore[return-value]


def _unavailable(function: Function) -> Function:
    """A function that says why nothing can be computed."""
    @functools.wraps(function)
    def told(*_: Any, **__: Any) -> Any:
        native.module()
        raise UnavailableError("the extension module was built after headway was imported; start Python again")
    return told  # type: ignore[return-value]


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """The known name that an unknown one most likely stands for. Of the training and the test set it is the training set."""
    for same in (f"train_{name}", name.removeprefix("train_")):
        if same in names:
            return same
    near = next(iter(difflib.get_close_matches(name, names, 1)), None)
    if near is None or name.startswith("test") or not near.startswith("test_"):
        return near
    bare = near.removeprefix("test_")
    return next((one for one in (f"train_{bare}", bare) if one in names), near)


def explained(verb: str, *running: str, arrays: bool = False, without: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Decorates a function that takes the settings of a verb as **given. It gets their signature, refuses an unknown argument
    with the name of the nearest known one, and has all of them in its docstring.

    A function without **given takes no settings. `running`: which of RUNNING it takes. `arrays`: it also takes those of headway.Dataset. `without`: settings that it lacks.
    """
    def explain(function: Function) -> Function:
        own = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
        settings = {name: key for name, key in keys_of(verb).items() if name not in (*without, *(one.name for one in own))}
        if len(own) == len(inspect.signature(function).parameters):
            settings = {}
        added = {name: f"{annotation_of(key)} | None" for name, key in settings.items()}
        added |= {name: _RUNNING_ANNOTATIONS[name] for name in running}
        parameters = own + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation,
                                              default=False if annotation == "bool" else None) for name, annotation in added.items()]
        known = [one.name for one in parameters] + [name for name in ARGUMENTS if arrays and name not in added]
        checked = with_older_names(force="overwrite")(refusing(f"headway.{function.__name__}", known, function) if SETTINGS
                                                      else _unavailable(function))
        groups = {"examples": [_entry(name, *about) for name, about in EXAMPLES.items()],
                  "settings": [_entry(name, *_setting(key)) for name, key in settings.items()],
                  "running": [_entry(name, *RUNNING[name]) for name in running] + ([_entry(*_ARRAYS)] if arrays else []),
                  "errors": [_ERRORS.splitlines()]}
        lines: list[str] = []
        for line in inspect.cleandoc(function.__doc__ or "").splitlines():
            word = re.fullmatch(r"\{(\w+)\}", line)
            lines += [line] if word is None else [line for entry in groups[word[1]] for line in entry]
        checked.__doc__ = "\n".join(lines)
        if arrays:
            parameters.append(inspect.Parameter("arrays", inspect.Parameter.VAR_KEYWORD, annotation="Any"))
        checked.__signature__ = inspect.signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]
    return explain
