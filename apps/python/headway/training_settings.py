"""What a trained network was trained with: the study's settings, and over them those of the sweep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.training_results import TrainedRun, TrainingResult

Value = float | str

SECTIONS = ("task", "train")
#: Settings of a run's housekeeping, which no score depends on.
_HOUSEKEEPING = frozenset(("log_every", "eval_every", "eval_examples", "eval_batch", "checkpoint_every", "device",
                           "eager", "keep_weights", "sample_tokens", "sample_temperature"))
_SECTION = re.compile(r"\[([\w.]+)\]\s*")
_SETTING = re.compile(r"([\w.\"]+) = (.+)")
_IN_TABLE = re.compile(r"([\w.]+)\s*=\s*(\"[^\"]*\"|[^,{}\[\]]+)")


def settings_of(result: TrainingResult, run: TrainedRun) -> dict[str, Value]:
    """The settings of [task] and [train] by their keys ("train.layers"): numbers, or words as they are
    written. Without seeds, arrays and what only says when to look."""
    found = _of_study(str(result.provenance.get("study_toml", "")))
    for key, text in run.settings.items():
        if text.startswith("{"):
            found |= {f"{key}.{name}": _value(value) for name, value in _IN_TABLE.findall(text)}
        else:
            found[key] = _value(text)
    return {key: value for key, value in found.items()
            if key.startswith(tuple(f"{section}." for section in SECTIONS))
            and key.rsplit(".", 1)[-1] not in _HOUSEKEEPING and key.rsplit(".", 1)[-1] != "seed"}


def _of_study(text: str) -> dict[str, Value]:
    """The program's own form of a study: sections, and one setting a line."""
    section, found = "", {}
    for line in text.splitlines():
        if begun := _SECTION.fullmatch(line):
            section = begun[1]
        elif section.split(".")[0] in SECTIONS and (setting := _SETTING.fullmatch(line)) and setting[2][0] not in "[{":
            found[f"{section}.{setting[1]}"] = _value(setting[2])
    return found


def _value(text: str) -> Value:
    text = text.strip()
    try:
        return float(text)
    except ValueError:
        return text.strip('"')
