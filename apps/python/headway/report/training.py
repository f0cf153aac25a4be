"""What the controls of a page move for trained networks: learning curves of every split and metric."""

from __future__ import annotations

import math
from typing import Any

from headway.figures.learning import METRIC_NAMES, series
from headway.results.training_results import MAIN_METRICS, TrainingResult

PLAIN_COLUMNS = ("record", "step", "learning_rate", "steps_per_second")


def learned(result: TrainingResult, name: str) -> dict[str, Any]:
    """Mean and standard error over seeds of each metric on each split, by variant."""
    result, curves = result.finished, []
    for label in result.labels:
        runs = result.runs_of(label)
        splits = dict.fromkeys(split for run in runs for split in run.curves)
        for split in splits:
            columns = dict.fromkeys(column for run in runs if split in run.curves
                                    for column in run.curves[split].columns)
            for metric in columns:
                if metric in PLAIN_COLUMNS:
                    continue
                steps, mean, error = series(runs, split, metric)
                curves.append({"label": label, "split": split, "metric": metric,
                               "steps": steps.tolist(), "mean": _plain(mean),
                               "error": _plain(error), "seeds": len(runs)})
    return {"name": name, "curves": curves}


def metric_names(results: list[dict[str, Any]]) -> dict[str, str]:
    """Every metric that some curve has, the main ones first, and what it is called."""
    found = {curve["metric"] for result in results for curve in result["curves"]}
    order = [*(name for name in (*MAIN_METRICS, "loss") if name in found)]
    return {name: METRIC_NAMES.get(name, name.replace("_", " ")).replace("$R^2$", "R²")
            for name in [*order, *sorted(found - set(order))]}


def split_names(results: list[dict[str, Any]]) -> dict[str, str]:
    """Every split, those that are evaluated first."""
    found = dict.fromkeys(curve["split"] for result in results for curve in result["curves"])
    ordered = sorted(found, key=lambda split: split == "train")
    return {split: split.replace("_", " ") for split in ordered}


def _plain(values) -> list[float | None]:
    return [float(f"{value:.5g}") if math.isfinite(value) else None for value in values]
