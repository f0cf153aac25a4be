"""Writes the files of a posterior database: the layout and the names of github.com/stan-dev/posteriordb."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import diagnostics
from diagnostics import scalars
from exact import Reference
from problems import Problem

MODELS = Path(__file__).parent / "stan"
TITLES = {"attention_one_layer": "One layer of attention heads with linear values",
          "attention_two_layers": "Two layers of attention heads with linear values",
          "attention_learned": "One attention head that learns where to look, with linear values"}
REFERENCES = ["tiberi2024dissecting"]
PAPER = "https://arxiv.org/abs/2405.15926"
IDENTIFIED = ("The weights have symmetries of sign, scale and rotation. The draws hold what these leave unchanged: order "
              "parameters of the layers (U_1, ..., U_a), the output f on test inputs and, where it is learned, the attention "
              "there. In the Stan program they are generated quantities.")


def as_text(value) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write_json(path: Path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(as_text(value), encoding="utf-8")


def write_zip(path: Path, value) -> None:
    """`path` ends in .json.zip; the same bytes for the same value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(path.stem), json.dumps(value), zipfile.ZIP_DEFLATED, 9)


def summaries(reference: Reference) -> dict[str, dict[str, float]]:
    """{quantity: mean, its error, effective draws and R-hat}."""
    found = {}
    for name, values in scalars(reference.draws).items():
        mean, error = diagnostics.mean_and_error(values)
        found[name] = {"mean": mean, "error": error, "bulk": diagnostics.effective_bulk(values),
                       "tail": diagnostics.effective_tail(values), "r_hat": diagnostics.r_hat(values)}
    return found


def write(folder: Path, problem: Problem, data: dict, reference: Reference, made: dict) -> dict[str, dict[str, float]]:
    """All files of one posterior; gives summaries()."""
    name, by = problem.name, {"added_by": "Headway", "added_date": made["date"]}
    found = summaries(reference)
    write_json(folder / "posteriors" / f"{name}.json", {
        "name": name, "keywords": ["attention", "headway"], "model_name": problem.model, "data_name": problem.data,
        "reference_posterior_name": name, "references": REFERENCES,
        "dimensions": {quantity: int(values[0, 0].size) for quantity, values in reference.draws.items()}, **by})
    write_json(folder / "data/info" / f"{problem.data}.info.json", {
        "name": problem.data, "keywords": ["attention"], "title": problem.about, "description": problem.about,
        "urls": [PAPER], "references": REFERENCES, "data_file": f"data/data/{problem.data}.json", **by})
    write_zip(folder / "data/data" / f"{problem.data}.json.zip", data)
    code = f"models/stan/{problem.model}.stan"
    write_json(folder / "models/info" / f"{problem.model}.info.json", {
        "name": problem.model, "keywords": ["attention"], "title": TITLES[problem.model],
        "description": IDENTIFIED, "urls": [PAPER], "references": REFERENCES,
        "model_implementations": {"stan": {"model_code": code, "stan_version": ">=2.26.0"}}, **by})
    (folder / code).parent.mkdir(parents=True, exist_ok=True)
    (folder / code).write_text((MODELS / f"{problem.model}.stan").read_text(encoding="utf-8"), encoding="utf-8")
    draws = folder / "reference_posteriors/draws"
    write_zip(draws / "draws" / f"{name}.json.zip", [
        {quantity: [float(f"{value:.6g}") for value in values[chain]] for quantity, values in scalars(reference.draws).items()}
        for chain in range(reference.settings["chains"])])
    info = about_draws(name, reference, found, made) | by
    write_json(draws / "info" / f"{name}.info.json", info)
    means = folder / "reference_posteriors/summary_statistics/mean_value"
    write_json(means / "mean_value" / f"{name}.json", {
        "names": list(found), "mean_value": [one["mean"] for one in found.values()],
        "mcse_mean": [one["error"] for one in found.values()]})
    write_json(means / "info" / f"{name}.info.json", info)
    return found


def about_draws(name: str, reference: Reference, found: dict, made: dict) -> dict:
    settings, columns = reference.settings, list(found.values())
    count = settings["chains"] * settings["draws"]
    return {
        "name": name,
        "inference": {"method": "headway_exact_chain", "method_arguments": settings},
        "diagnostics": {
            "diagnostic_information": {"names": list(found)}, "ndraws": count, "nchains": settings["chains"],
            "effective_sample_size_bulk": [one["bulk"] for one in columns],
            "effective_sample_size_tail": [one["tail"] for one in columns],
            "r_hat": [one["r_hat"] for one in columns],
            "divergent_transitions": reference.divergences,
            "expected_fraction_of_missing_information": reference.ebfmi},
        "checks_made": {
            "ndraws_is_10k": count == 10000, "nchains_is_gte_4": settings["chains"] >= 4,
            "ess_above_a_tenth": min(one["bulk"] for one in columns) > count / 10,
            "r_hat_below_1_01": max(one["r_hat"] for one in columns) < 1.01, "efmi_above_0_2": reference.ebfmi > 0.2},
        "comments": f"{IDENTIFIED} log p(y), with the density of the noise normalised, is {reference.log_evidence:.4f} +- "
                    f"{reference.log_evidence_error:.4f}.",
        "versions": reference.made | {"command": made["command"]}}
