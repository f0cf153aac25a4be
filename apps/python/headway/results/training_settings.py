"""What a network was trained with: the settings of the study, replaced by those of the sweep where it has some. And what
task it was evaluated on instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.results.latent_results import EvaluatedRun, EvaluateResult
    from headway.results.training_results import TrainedRun, TrainingResult

Value = float | str

SECTIONS = ("task", "train")
#: Settings of a run's housekeeping, which no score depends on.
_HOUSEKEEPING = frozenset(("log_every", "eval_every", "eval_examples", "eval_batch", "checkpoint_every", "device",
                           "eager", "keep_weights", "sample_tokens", "sample_temperature"))
_SECTION = re.compile(r"\[\[?([\w.]+)\]\]?\s*")
_SETTING = re.compile(r"([\w.\"]+) = (.+)")
_IN_TABLE = re.compile(r"([\w.]+)\s*=\s*(\"[^\"]*\"|[^,{}\[\]]+)")
_IN_LIST = re.compile(r"\{[^{}]*\}|\[[^\[\]]*\]|\"[^\"]*\"|[^\s,]+")
_FOLDERS = re.compile(r"[^\s\"\[,]*/")


def settings_of(result: TrainingResult, run: TrainedRun) -> dict[str, Value]:
    """The settings of [task] and [train] by their keys ("train.layers"): numbers, or words as they are written. Seeds, arrays
    and settings of housekeeping are left out."""
    study = _written(str(result.provenance.get("study_toml", "")))
    found = {key: text for key, text in study.items() if text[0] not in "[{"} | _settings(run.settings)
    return {key: _value(text) for key, text in found.items()
            if key.startswith(tuple(f"{section}." for section in SECTIONS))
            and key.rsplit(".", 1)[-1] not in _HOUSEKEEPING and key.rsplit(".", 1)[-1] != "seed"}


def data_seed_of(result: TrainingResult, run: TrainedRun) -> str:
    """The seed that the run's data were drawn with: task.seed where the sweep or the study gives it, else the run's own."""
    study = _written(str(result.provenance.get("study_toml", "")))
    return (study | _settings(run.settings)).get("task.seed", str(run.seed))


@dataclass(frozen=True)
class RunSettings:
    """A run with all its settings but the seeds, and the seed of its data."""

    study: str
    run: TrainedRun
    settings: Mapping[str, Value]
    data_seed: str

    @property
    def alike(self) -> tuple:
        """Equal for runs that differ in their seeds alone."""
        return self.study, self.run.label, tuple(sorted(self.settings.items(), key=repr))


def distinct_runs(results: Sequence[TrainingResult]) -> list[RunSettings]:
    """The runs of all results. One that stands in several results is there once: counted twice, it would make the error of a
    mean too small."""
    found: dict[tuple, RunSettings] = {}
    for result in results:
        for run in result.runs:
            one = RunSettings(result.study, run, settings_of(result, run), data_seed_of(result, run))
            found.setdefault((one.alike, one.data_seed, run.seed), one)
    return list(found.values())


def are_crossed(seeds: Collection[tuple[str, int]]) -> bool:
    """Whether runs with these seeds of data and of training are crossed: there are several data sets, and one of them was
    trained on with several seeds. Runs on the same data are alike, so the mean over all would have too small an error."""
    data = [seed for seed, _ in set(seeds)]
    return 1 < len(set(data)) < len(data)


def task_changes(result: EvaluateResult, run: EvaluatedRun) -> str:
    """How the task that a network was evaluated on differs from the one it was trained on, as in "sequence_length = 32"; ""
    where it does not. Older files have the evaluated task of the first network alone. Where it keeps a setting of that
    network and this one was trained with another value, either may hold ("held_out = 0.5 or 0.7")."""
    own = _trained(result, run)
    first = {} if run.evaluated_on else _trained(result, result.runs[0])
    changes = []
    for key, text in _written(run.evaluated_on or result.evaluated_on).items():
        kept = _same(text, first.get(key))
        if _same(text, own.get(key)) or kept and key == "task.seed":  # every network keeps its own seed
            continue
        words = [text, own[key]] if kept and key in own else [text]
        changes.append(f"{key.removeprefix('task.')} = {' or '.join(map(_short, words))}")
    return ", ".join(changes)


def _trained(result: EvaluateResult, run: EvaluatedRun) -> dict[str, str]:
    """The settings of one network of the sweep, as they are written."""
    study = _written(str(result.provenance.get("study_toml", "")))
    sweep = {key.removeprefix("sweep.").strip('"'): _IN_LIST.findall(text[1:-1])
             for key, text in study.items() if key.startswith("sweep.")}
    chosen = next(islice(product(*sweep.values()), max(run.run - 1, 0), None), ())
    return {"task.seed": str(run.seed)} | study | _settings(dict(zip(sweep, chosen)))


def _settings(swept: Mapping[str, str]) -> dict[str, str]:
    """What a run's part of a sweep sets, its tables key by key."""
    found = {}
    for key, text in swept.items():
        if text.startswith("{"):
            found |= {f"{key}.{name}": value.strip() for name, value in _IN_TABLE.findall(text)}
        else:
            found[key] = text
    return found


def _written(text: str) -> dict[str, str]:
    """{key: value as it is written} of a study in the program's own form, which has sections and one setting a line."""
    section, found = "", {}
    for line in text.splitlines():
        if begun := _SECTION.fullmatch(line):
            section = f"{begun[1]}."
        elif setting := _SETTING.fullmatch(line):
            found[f"{section}{setting[1]}"] = setting[2]
    return found


def _same(text: str, other: str | None) -> bool:
    return other is not None and _value(text) == _value(other)


def _short(text: str) -> str:
    """The last part of a path; anything else as it is."""
    return _FOLDERS.sub("", text).strip('"')


def _value(text: str) -> Value:
    text = text.strip()
    try:
        return float(text)
    except ValueError:
        return text.strip('"')
