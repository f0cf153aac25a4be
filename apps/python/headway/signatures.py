"""What the verbs share in their signatures: every argument is described once, here or in settings.json.

settings.json is a copy of the program's own tables, so that help() works without the extension module; a test compares
the two. A docstring names a group of arguments in braces, as in {arrays}, and `explained` puts their descriptions there.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from headway.errors import UsageError
from headway.words import python_words

Function = TypeVar("Function", bound=Callable[..., Any])

SETTINGS: dict[str, dict[str, dict[str, str]]] = json.loads(
    Path(__file__).with_name("settings.json").read_text(encoding="utf-8"))
SECTIONS = ("", "model", "solve", "align", "prune", "sample", "train", "latents", "evaluate")
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


#: Arrays in place of a study, with the type and the meaning that help() shows. P examples, S tokens, N_0
#: features, C outputs, H_l heads in layer l, p = H_1 ... H_L paths.
ARRAYS: dict[str, tuple[str, str]] = {
    "features": ("array_like of shape (P, p, N_0), optional",
                 "Path features xi_pi, unscaled: N_0 numbers for each of the p = H_1 ... H_L paths of heads. Give `heads` with them."),
    "inputs": ("array_like of shape (P, S, N_0), optional",
               "Tokens that enter the first layer, in place of `features`. Give one form of attention with them: `attention`, "
               "`attention_weights`, or `query` and `key`; none where `attention_prior` lets it be learned."),
    "labels": ("array_like of shape (P,) or (P, C), optional",
               "Targets. Two classes: -1 and +1, or 0 and 1. C classes: one-hot rows, or class numbers together with `classes`. "
               "All else are real targets."),
    "classes": ("int, optional",
                "Number of classes C: `labels` are then class numbers 0 to C - 1, or of the forms above, and anything else is an "
                "error. 0: labels are real targets, even if they are 0 and 1."),
    "heads": ("sequence of int, optional",
              "H_1, ..., H_L, the heads of each layer. Give them with `features`; elsewhere data or task have them."),
    "attention": ("sequence of array_like of shape (P, H_l, S, S), or {'softmax', 'hardmax'}, optional",
                  "The attention of every example, one array for each layer, indexed [example, head, query, key]; rows sum to 1. "
                  "A word says how logits become weights, where attention is computed; default: 'softmax'."),
    "attention_weights": ("sequence of array_like of shape (H_l, N_0, N_0), optional",
                          "One array for each layer: the logit of query s and key t is x_s^T W x_t."),
    "query": ("sequence of array_like of shape (H_l, G_l, N_0), optional",
              "With `key`, one array for each layer: logits are (Q x_s) . (K x_t) / sqrt(G_l)."),
    "key": ("sequence of array_like of shape (H_l, G_l, N_0), optional", "See `query`."),
    "mask": ("array_like of shape (P, S), optional",
             "1 for a real token, 0 for padding. Padding gets no attention and is not read."),
    "test_features": ("array_like of shape (P_test, p, N_0), optional", "As `features`, of the test set."),
    "test_inputs": ("array_like of shape (P_test, S, N_0), optional", "As `inputs`, of the test set."),
    "test_labels": ("array_like of shape (P_test,) or (P_test, C), optional", "As `labels`, of the test set."),
    "test_attention": ("sequence of array_like of shape (P_test, H_l, S, S), optional", "As `attention`, of the test set."),
    "test_mask": ("array_like of shape (P_test, S), optional", "As `mask`, of the test set."),
    "sets": ("mapping of str to mapping, optional",
             "Further sets on which the result reports, by name: {'validation': {'path_features': x, 'labels': y}}. Keys of a set "
             "are inputs, labels, mask, attention, path_features and ids."),
    "head_names": ("sequence of sequence of str, optional", "Names of the heads for tables and figures, one list for each layer."),
}

#: Examples to train on in place of a study. n examples of `length` tokens.
EXAMPLES: dict[str, tuple[str, str]] = {
    "tokens": ("array_like of int of shape (n, length), optional", "Ids of tokens, from 0. Give either these or `vectors`."),
    "vectors": ("array_like of shape (n, length, width), optional", "Tokens as numbers."),
    "targets": ("array_like, optional",
                "Integers are classes from 0: (n,) asks the last token, (n, length) every token. Real numbers are asked by squared "
                "error: (n,) or (n, outputs) of the last token, (n, length, outputs) of every token."),
    "loss_mask": ("array_like of shape (n, length), optional",
                  "1 where a target counts, 0 where it does not; with targets of every token. What it hides may be anything."),
    "sets": ("mapping of str to tuple or mapping, optional",
             "Further examples to evaluate, by name: {'test': (tokens, targets)}. The third of a tuple is a loss mask. The set "
             "'validation' chooses the best weights; without it the loss on the examples of training does."),
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

_TYPES = {"widths": "int or sequence of (int or sequence of int)", "heads": "sequence of int", "variances": "float or sequence of float",
          "temperature": "float or sequence of float", "theory": "sequence of str", "layers": "sequence of int",
          "regularisation": "float or sequence of float", "task": "mapping of str to value",
          "attention_prior": "mapping of str to value"}
_ANNOTATIONS = {"widths": "int | Sequence[int | Sequence[int]]", "heads": "Sequence[int]", "variances": "float | Sequence[float]",
                "temperature": "float | Sequence[float]", "theory": "Sequence[str]", "layers": "Sequence[int]",
                "regularisation": "float | Sequence[float]", "task": "Mapping[str, Any]",
                "attention_prior": "Mapping[str, Any]"}
#: Meanings that Python shows in place of those in the program's tables.
_MEANINGS = {
    "model.widths": "Each entry is one point of the sweep: one number for all N_l, or [N_1, ..., N_L, N_a].",
    "model.variances": "Prior variances of the weights: one number, or [s_0^2, s_1^2, ..., s_L^2, s_a^2].",
}


@functools.lru_cache(maxsize=None)
def keys_of(verb: str) -> dict[str, Key]:
    """The keys of a study that a verb takes by their bare names. Of two keys of one name the verb's own comes first."""
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


def _group(word: str, verb: str, names: list[str]) -> list[str]:
    """The descriptions of those arguments of a group that the function has, in the order of its signature."""
    keys = keys_of(verb)
    if word == "arrays":
        known = ARRAYS
    elif word == "examples":
        known = EXAMPLES
    elif word == "running":
        known = RUNNING
    else:
        known = {name: _setting(key) for name, key in keys.items() if name not in ARRAYS or "features" not in names}
    return [line for name in names if name in known for line in _entry(name, *known[name])]


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
    caller = f"headway.{function.__name__}" if len(names) == len(taken) else f"{function.__name__}"

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


def explained(verb: str) -> Callable[[Function], Function]:
    """Decorates a function whose arguments are settings of `verb`: fills the groups of its docstring, and refuses an unknown
    argument with the name of the nearest known one.

    A line "{arrays}", "{examples}", "{settings}" or "{running}" of the docstring stands for all arguments of that group.
    """
    def explain(function: Function) -> Function:
        names = list(inspect.signature(function).parameters)
        checked = with_older_names(force="overwrite")(with_known_arguments(function))
        lines: list[str] = []
        for line in inspect.cleandoc(function.__doc__ or "").splitlines():
            word = re.fullmatch(r"\{(\w+)\}", line)
            lines += [line] if word is None else _group(word[1], verb, names)
        checked.__doc__ = "\n".join(lines)
        return checked  # type: ignore[return-value]
    return explain
