"""What the controls of a page move for trained networks: latent codes, heads removed, other data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headway.figures import latents as latent_figures
from headway.figures.learning import METRIC_NAMES
from headway.report.pieces import choice, element, paragraph, slider
from headway.results.latent_results import EvaluateResult, LatentLayer, LatentRun, LatentsResult
from headway.results.network_results import Curve, RemovalResult, RemovalRun, score_kind
from headway.results.training_results import mean_and_error

DOTS = 400  # codes of a layer that are shown
SCORES = ("train", "held_out", "standard_error", "chance", "shuffled", "untrained")
ALTERNATIVES = {"zero": "set to zero", "mean": "replaced by its mean"}
OWN_METRICS = METRIC_NAMES | latent_figures.METRIC_NAMES


def metric_name(metric: str) -> str:
    return OWN_METRICS.get(metric, metric.replace("_", " ")).replace("$R^2$", "R²")


def plain(value: Any) -> Any:
    """Numbers of five digits, in lists where they are in arrays; what is not finite as None."""
    if np.ndim(value) > 0:
        return [plain(one) for one in value]
    return float(f"{value:.5g}") if math.isfinite(value) else None


# ---- latent codes


def codes(result: LatentsResult, name: str) -> dict[str, Any]:
    """Every network's layers: what was decoded, similarities, where the codes lie."""
    decoders = {decoder.name: metric_name(decoder.metric)
                for run in result.runs for decoder in run.all_layers.decoders}
    return {"name": name, "decoders": decoders, "decoding": {
        decoder: [_decoding(result, label, decoder) for label in result.labels] for decoder in decoders},
        "runs": [{"name": f"{run.label}, seed {run.seed}",
                  "layers": [_layer(run, layer) for layer in run.every_layer]} for run in result.runs]}


def _decoding(result: LatentsResult, label: str, decoder: str) -> dict[str, Any]:
    """Held-out score by layer, all of them together last, and what chance gives."""
    runs = result.runs_of(label)
    places = range(len(runs[0].every_layer))
    scores = {name: np.array([latent_figures.decoded(runs, place, decoder, name) for place in places])
              for name in ("held_out", "chance")}
    return {"label": label, "seeds": len(runs), "mean": plain(scores["held_out"][:, 0]),
            "error": plain(scores["held_out"][:, 1]), "chance": plain(scores["chance"][:, 0])}


def _layer(run: LatentRun, layer: LatentLayer) -> dict[str, Any]:
    alike = layer.similarity
    return {"name": layer.name, "heads": layer.heads,
            "decoders": [[decoder.name, metric_name(decoder.metric),
                          *(plain(decoder.scores.get(score, math.nan)) for score in SCORES)]
                         for decoder in layer.decoders],
            "labels": list(alike.labels), "cosine": plain(alike.cosine),
            "centred_cosine": plain(alike.centred_cosine),
            "same": plain(alike.same_label), "different": plain(alike.different_label),
            "map": _map(run, layer)}


def _map(run: LatentRun, layer: LatentLayer) -> dict[str, Any] | None:
    """The first two principal components of the codes of held-out tasks, by their (first) label."""
    found = layer.codes.get("held_out")
    if found is None or found.shape[1] < 2 or len(found) < 3:
        return None
    centred = found - found.mean(axis=0)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    if not sizes[0] > 0.0:
        return None
    chosen = np.unique(np.linspace(0, len(found) - 1, DOTS).astype(int))
    places = centred[chosen] @ directions[:2].T
    labels = run.labels["held_out"].label[chosen, 0]
    groups = [{"name": layer.similarity.labels[label], "x": plain(places[labels == label, 0]),
               "y": plain(places[labels == label, 1])} for label in np.unique(labels)]
    return {"shares": plain(sizes[:2] ** 2 / (sizes ** 2).sum()), "groups": groups}


def codes_panels(found: Sequence[Mapping[str, Any]]) -> str:
    """Controls of latent codes and the places that the script fills."""
    names = [name if len(found) == 1 else f"{result['name']}: {name}"
             for result in found for name in (run["name"] for run in result["runs"])]
    layers = max((run["layers"] for result in found for run in result["runs"]), key=len)
    decoders = dict.fromkeys(name for result in found for name in result["decoders"])
    return "".join((
        element("form", choice("network", "Network", {str(at): name for at, name in enumerate(names)}),
                choice("code-layer", "Codes of", {str(at): layer["name"] for at, layer in enumerate(layers)}),
                choice("similarity", "Cosines", {"centred_cosine": "about the common mean",
                                                 "cosine": "of the codes themselves"}),
                choice("decoder", "Decoder", {name: name for name in decoders}),
                id="coder", class_="controls", aria_label="Which latent codes are shown"),
        paragraph("", id="coded", class_="status", role="status", aria_live="polite"),
        element("div", _panel("What is decoded, by layer", "decoding"), _panel("Where the codes lie", "code-map"),
                _panel("How alike the mean codes are", "alike"), class_="columns"),
        _panel("Decoders of this network and layer", "decoders", class_="panel")))


def _panel(heading: str, identity: str, class_: str = "panel column") -> str:
    return element("div", element("h3", heading), element("div", id=identity), class_=class_)


# ---- heads removed


def removals(result: RemovalResult, name: str) -> dict[str, Any]:
    """Every network's heads, and its quality as they are removed in each order."""
    return {"name": name, "runs": [_removal(run) for run in result.runs]}


def _removal(run: RemovalRun) -> dict[str, Any]:
    heads, network = run.heads, run.network
    orders = {f"{score_kind(kind)}, lowest first": score.rising for kind, score in network.scores.items()}
    orders |= {f"{score_kind(kind)}, highest first": score.falling for kind, score in network.scores.items()}
    orders[f"greedy search on {network.greedy_on}"] = network.greedy
    found = {kind: _order(curve) for kind, curve in orders.items() if curve is not None}
    if network.random is not None:
        found["random order"] = {"removed": None, "metric": {
            "mean": plain(network.random.mean), "error": plain(network.random.error)}, "loss": None}
    return {"name": f"{run.label}, seed {run.seed}", "label": run.label, "metric": metric_name(run.metric),
            "measured_on": network.measured_on.replace("_", " "), "orders": found,
            "heads": [f"layer {layer} head {head}" for layer, head in zip(heads.layer, heads.head)],
            "sensitivity": plain(heads.gradient_sensitivity),
            "costs": {"metric": {"zero": _estimates(heads.metric_drop),
                                   "mean": _estimates(heads.metric_drop_mean)},
                        "loss": {"zero": _estimates(heads.loss_rise),
                                 "mean": _estimates(heads.loss_rise_mean)}}}


def _order(curve: Curve) -> dict[str, Any]:
    return {"removed": curve.order.tolist(), "metric": _estimates(curve.accuracy),
            "loss": _estimates(curve.mean_squared_error)}


def _estimates(found: Any) -> dict[str, Any]:
    return {"mean": plain(found.mean), "error": plain(found.error)}


def removal_panels(found: Sequence[Mapping[str, Any]]) -> str:
    """Controls of removal and the places that the script fills. Those of orders are left out if heads were only removed one
    at a time."""
    runs = [run for result in found for run in result["runs"]]
    orders = dict.fromkeys(order for run in runs for order in run["orders"])
    metrics = " or ".join(dict.fromkeys(run["metric"] for run in runs))
    one_by_one, curves = [], []
    if orders:
        most = max(len(order["metric"]["mean"]) for run in runs for order in run["orders"].values())
        counts = [f"{count} heads" if count != 1 else "1 head" for count in range(most)]
        one_by_one = [slider("removed", "Removed", counts),
                      choice("order", "Order", {order: order for order in orders})]
        curves = [paragraph("", id="removal-told", class_="status", role="status", aria_live="polite"),
                  _panel("As heads are removed", "removal-curves", class_="panel")]
    return "".join((
        element("form", *one_by_one, choice("quality", "Measure", {"metric": metrics, "loss": "loss"}),
                choice("alternative", "A head removed alone is", ALTERNATIVES),
                id="remover", class_="controls", aria_label="Which heads are removed"),
        *curves, element("div", id="removal-columns", class_="columns")))


# ---- other data


def evaluated(result: EvaluateResult, name: str) -> dict[str, Any]:
    """Mean and standard error over seeds of each metric of each split, by variant."""
    found = []
    names = {label: result.name_of(label) for label in result.labels}
    for split in result.splits:
        for label in result.labels:
            known = [run.evaluations[split] for run in result.runs_of(label) if split in run.evaluations]
            for metric in dict.fromkeys(name for values in known for name in values if name != "examples"):
                mean, error = mean_and_error(np.array([values.get(metric, math.nan) for values in known]))
                found.append({"split": split.replace("_", " "), "label": names[label], "metric": metric,
                              "seeds": len(known), "mean": plain(mean), "error": plain(error)})
    return {"name": name, "values": found}


def evaluation_panels(found: Sequence[Mapping[str, Any]]) -> str:
    """The choice of a metric and the place of its bars."""
    known = dict.fromkeys(value["metric"] for result in found for value in result["values"])
    ordered = sorted(known, key=lambda metric: metric == "loss")  # the loss, which every task has, comes last
    return "".join((
        element("form", choice("evaluated-metric", "Metric", {metric: metric_name(metric) for metric in ordered}),
                id="evaluator", class_="controls", aria_label="Which metric is shown"),
        element("div", id="evaluated", class_="columns")))
