"""What the files in data/results and data/studies hold, and how pages show it."""

import functools
import json
import math
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "data/results"
STUDIES = ROOT / "data/studies"
sys.path.insert(0, str(ROOT / "apps/python"))
from headway.results.older import renamed  # noqa: E402


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@functools.cache
def load(name):
    """The results in data/results/NAME.json, with the names of today."""
    return renamed(_read(RESULTS / f"{name}.json")["results"])


@functools.cache
def published(table):
    """A table of data/studies/published.json."""
    return _read(STUDIES / "published.json")[table]


@functools.cache
def reproduced():
    """{(run, number): row} of what `make reproduce` compares."""
    return {(row["run"], row["of"]): row for row in _read(RESULTS / "reproduce.json")["rows"]}


def of_kind(name, kind):
    return [result for result in load(name) if result["kind"] == kind]


def runs_of(name):
    return [run for result in load(name) for run in result.get("runs", ())]


def grouped(runs, key):
    """{value: runs}; `key` names a field of a run, or is a function of it."""
    groups = {}
    for run in runs:
        groups.setdefault(key(run) if callable(key) else run[key], []).append(run)
    return groups


def final(run, split, metric, scale=1.0):
    return scale * run["final"][split][metric]


def point_at(result, width, temperature):
    return next(point for point in result["points"]
                if (point["widths"][0], point["temperature"]) == (width, temperature))


def mean_and_error(values):
    """Mean and standard error."""
    return statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))


def difference(a, b):
    """The difference of two independent means, with its error."""
    return a[0] - b[0], math.hypot(a[1], b[1])


def spearman(a, b):
    """Rank correlation; equal values have their mean rank."""
    ranks = [[sorted(values).index(value) + (values.count(value) - 1) / 2 for value in values] for values in (a, b)]
    return statistics.correlation(*ranks)


def shown(value, digits=1, error=None):
    """The number, or `number +- error`, with so many digits after the point; "-" where there is none."""
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    text = text[1:] if text.startswith("-") and float(text) == 0 else text
    return text if error is None else f"{text} +- {error:.{digits}f}"


def average(values, digits=1, scale=1.0):
    """Mean +- standard error; a single value as it is."""
    values = [scale * value for value in values]
    mean, error = mean_and_error(values) if len(values) > 1 else (values[0], None)
    return shown(mean, digits, error)


def pair(values, digits=1, scale=1.0):
    """The published number, with its error where there is one; "-" where there is none."""
    value, error = values or (None, None)
    if value is None:
        return "-"
    return shown(scale * value, digits, None if error is None else scale * error)
