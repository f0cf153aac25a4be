"""Ranks heads from a data set of contributions, without the network that it is of: its parts are frozen."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from headway.base import hdf5
from headway.base.paths import text_of_path
from headway.errors import BadDataError
from headway.heads.contribution_writer import ROUNDING
from headway.heads.ranking.frozen import cut_changes, matched_temperature, scaled_parts, solved_order_parameters
from headway.heads.ranking.label_checks import label_faults
from headway.heads.ranking.solver import theory_solver
from headway.results.ranking.measured import CUTS, FROZEN, Measured, removal_name
from headway.results.ranking.readouts import right_answers
from headway.results.ranking.removal import Change, Whole, stacked


def measure_parts(path: str | os.PathLike, penalty: float | None, theory: bool | None, seed: int
                  ) -> tuple[Measured, list[str]]:
    """What is measured on the training examples of a data set of contributions, and the names of the ranked parts."""
    parts, y, names = _read(Path(text_of_path("path", path, "the path of a data set of contributions")))
    whole = Whole(parts.sum(1), y, penalty, seed)
    changes = [whole.without(parts.sum(1) - parts[:, part]) for part in range(parts.shape[1])]
    found = {removal_name(FROZEN, readout): stacked([change[readout] for change in changes]) for readout in changes[0]}
    left_out: list[str] = []
    solve = theory_solver(theory, left_out)
    scaled, centred = scaled_parts(parts), y - y.mean(0)
    temperature = matched_temperature(scaled, whole.readout.penalty)
    alone = [[part] for part in range(parts.shape[1])]
    for name in CUTS[:1] if solve is None else CUTS:
        u = None if name == CUTS[0] else solved_order_parameters(solve, scaled, centred, temperature)
        rises = cut_changes(scaled, alone, centred, temperature, u)
        found[name] = Change(rises, np.zeros((len(rises), 0), np.float32), *np.full((3, len(rises)), np.nan))
    count = parts.shape[1]
    right = right_answers(y - whole.readout.missed, y)
    return Measured((1,) * count, tuple(range(1, count + 1)), found, passes=dict.fromkeys(found, 0.0), attributes={
        "examples": len(y), "loss": float(whole.errors.mean()), "accuracy": float(right.mean()),
        "penalty": whole.readout.penalty, "left out": ", ".join(left_out)}), names


def _read(path: Path) -> tuple[np.ndarray, np.ndarray, list[str]]:
    with hdf5.open_file(path) as file:
        if "train/path_features" not in file:
            raise BadDataError("holds no contributions; allowed: a data set of headway extract --form contributions, or "
                               "of from_hugging_face and from_torch with form=\"contributions\"")
        features = file["train/path_features"]
        heads = [int(count) for count in features.attrs["heads"]]
        if len(heads) != 1:
            raise BadDataError(f"holds contributions of {len(heads)} layers; allowed: of one layer, so that each part is "
                               "a path of its own")
        parts, y = features[()].astype(float), file["train/labels"][()].astype(float)
        names = [str(name) for name in file["names/layer_1"].asstr()] if "names/layer_1" in file else [""] * heads[0]
    y = y[:, None] if y.ndim == 1 else y
    for name, array in (("path_features", parts), ("labels", y)):
        if not np.isfinite(array).all():
            raise BadDataError(f"{path}: train/{name}: holds numbers that are not finite; allowed: finite numbers")
    faults = label_faults(y, absent=True)
    spread = np.square(parts - parts.mean(0)).mean()
    if not spread > ROUNDING * np.square(parts).mean():
        faults.append("train: the contributions are the same on all examples; allowed: some that differ")
    if faults:
        raise BadDataError([f"{path}: {fault}" for fault in faults])
    return parts, y, names
