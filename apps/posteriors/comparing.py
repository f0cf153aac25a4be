"""Means of other samplers beside those of the reference draws."""

from __future__ import annotations

import json
import time
import zipfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import diagnostics
from problems import by_name

MOST_ERRORS = 3.0


def read_zip(path: Path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(archive.namelist()[0]))


def reference_means(folder: Path, name: str) -> dict[str, tuple[float, float]]:
    found = json.loads((folder / "reference_posteriors/summary_statistics/mean_value/mean_value" / f"{name}.json").read_text())
    return {quantity: (mean, error) for quantity, mean, error in zip(
        found["names"], found["mean_value"], found["mcse_mean"], strict=True)}


def distances(reference: dict[str, tuple[float, float]], other: dict[str, np.ndarray]) -> dict[str, float]:
    """{quantity: difference of the means in errors}; `other` has [chain, draw]. Equal entries of a symmetric matrix count once."""
    found = {}
    for name, (mean, error) in reference.items():
        place = name.partition("[")[2].rstrip("]").split(",")
        if name.startswith("U_") and place[0] > place[-1]:
            continue
        value, other_error = diagnostics.mean_and_error(other[name])
        found[name] = (value - mean) / np.hypot(error, other_error)
    return found


def run(folder: Path, names: list[str] | None, sampled, package: str) -> int:
    """Prints a row for each posterior in the folder, and keeps it in checks/PACKAGE.json there. `sampled(problem, data)` gives
    {quantity: [chain, draw]}. Exit code 1 if a mean differs by more than three errors; 2 if the other sampler's chains have
    not mixed, which says nothing of the reference draws."""
    code = 0
    record = folder / "checks" / f"{package}.json"
    rows = json.loads(record.read_text()) if record.exists() else {}
    record.parent.mkdir(exist_ok=True)
    for problem in by_name(names):
        began = time.process_time()
        reference = reference_means(folder, problem.name)
        other = sampled(problem, read_zip(folder / "data/data" / f"{problem.data}.json.zip"))
        apart = distances(reference, other)
        worst = max(apart, key=lambda name: abs(apart[name]))
        r_hat = max(diagnostics.r_hat(other[name]) for name in apart)
        least = min(diagnostics.effective_bulk(other[name]) for name in apart)
        square = float(np.sqrt(np.mean(np.square(list(apart.values())))))
        rows[problem.name] = {"means": len(apart), "root_mean_square": square, "largest": abs(apart[worst]), "at": worst,
                              "r_hat": r_hat, "effective_draws": least, "package": f"{package} {version(package)}",
                              "seconds": time.process_time() - began}
        record.write_text(json.dumps(rows, indent=1) + "\n")
        print(f"{problem.name}: {len(apart)} means, root mean square {square:.2f} errors apart, at most "
              f"{abs(apart[worst]):.2f} ({worst}); the other sampler: R-hat {r_hat:.3f}, {least:.0f} effective draws", flush=True)
        if r_hat > 1.05:
            code = max(code, 2)
        elif abs(apart[worst]) > MOST_ERRORS:
            code = 1 if code == 0 else code
    return code
