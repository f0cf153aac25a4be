"""Results of `headway latents`, `headway evaluate` and `headway prune-network` as groups of arrays whose dimensions have names.

Dimensions: run, layer (its number; 0: all together), decoder, code, column (pairs and heads of a code),
label and label_other (terms or rules), split, removed_head (over all layers), score.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headway.results.latent_results import SPLITS, EvaluateResult, LatentLayer, LatentsResult
from headway.results.named_arrays import Group, stacked
from headway.results.network_results import RemovalResult, score_kind


def latents_groups(result: LatentsResult) -> dict[str, Group]:
    """"/", /runs, /decoding and, for every layer, /layer_<l> with codes, labels' mean codes and cosines.
    Runs of other sizes (fewer heads, say) end in NaN."""
    groups = {"/": _root(result), "/runs": _runs(result), "/decoding": _decoding(result)}
    for index, layer in enumerate(result.runs[0].every_layer):
        name = f"/layer_{layer.layer}" if layer.layer else "/all_layers"
        groups[name] = _layer(result, index)
    return groups


def evaluation_groups(result: EvaluateResult) -> dict[str, Group]:
    """"/" and /runs: every metric, [run, split], and the task that each was put on."""
    runs = _runs(result)
    runs.coordinates["split"] = (("split",), np.array(result.splits))
    runs.add("evaluated_on", ("run",), np.array([run.evaluated_on for run in result.runs]))
    names = dict.fromkeys(name for run in result.runs for numbers in run.evaluations.values()
                          for name in numbers)
    for name in names:
        runs.add(name, ("run", "split"), np.array(
            [[run.evaluations.get(split, {}).get(name, np.nan) for split in result.splits]
             for run in result.runs]))
    return {"/": _root(result), "/runs": runs}


def removal_groups(result: RemovalResult) -> dict[str, Group]:
    """"/", /runs (what removing each head costs) and /scores: what each score says of the heads, and
    its rank correlations. Runs of other sizes end in NaN."""
    runs, heads = _runs(result), [run.heads for run in result.runs]
    for name in ("layer", "head", "gradient_sensitivity"):
        runs.add(name, ("run", "removed_head"), stacked(getattr(one, name) for one in heads))
    for name in ("metric_drop", "loss_rise", "metric_drop_mean", "loss_rise_mean"):
        runs.add(name, ("run", "removed_head"), stacked(getattr(one, name).mean for one in heads))
        runs.add(f"{name}_error", ("run", "removed_head"),
                 stacked(getattr(one, name).error for one in heads))
    by_kind = [{score_kind(name): score for name, score in run.network.scores.items()}
               for run in result.runs]
    kinds = list(dict.fromkeys(kind for scores in by_kind for kind in scores))
    scores = Group(coordinates={"score": (("score",), np.array(kinds))})
    for name in ("accuracy_drop", "error_rise"):
        scores.add(f"{name}_spearman", ("run", "score"), np.array(
            [[getattr(found[kind], name).spearman if kind in found else np.nan for kind in kinds]
             for found in by_kind]))
    return {"/": _root(result), "/runs": runs, "/scores": scores}


def _root(result: LatentsResult | EvaluateResult | RemovalResult) -> Group:
    more = {"evaluated_on": result.evaluated_on} if isinstance(result, EvaluateResult) else {}
    return Group(attributes={**result.provenance, "kind": result.kind, "study": result.study,
                             "task": result.task, "partial": int(result.partial), **more})


def _runs(result: LatentsResult | EvaluateResult | RemovalResult) -> Group:
    group = Group()
    for name in ("label", "variant", "seed"):
        group.add(name, ("run",), np.array([getattr(run, name) for run in result.runs]))
    return group


def _decoding(result: LatentsResult) -> Group:
    first = result.runs[0]
    group = Group(coordinates={
        "layer": (("layer",), np.array([layer.layer for layer in first.every_layer])),
        "decoder": (("decoder",), np.array([one.name for one in first.all_layers.decoders]))})
    for name in first.all_layers.decoders[0].scores:
        group.add(name, ("run", "layer", "decoder"), np.array(
            [[[decoder.scores.get(name, np.nan) for decoder in layer.decoders]
              for layer in run.every_layer] for run in result.runs]))
    return group


def _layer(result: LatentsResult, index: int) -> Group:
    layers = [run.every_layer[index] for run in result.runs]
    group = Group(coordinates={"label": (("label",), np.array(layers[0].similarity.labels)),
                               "label_other": (("label_other",),
                                               np.array(layers[0].similarity.labels))})

    def add(name: str, dimensions: tuple[str, ...], of: Callable[[LatentLayer], np.ndarray | None]):
        group.add(name, ("run", *dimensions), stacked(of(layer) for layer in layers))

    add("cosine", ("label", "label_other"), lambda layer: layer.similarity.cosine)
    add("centred_cosine", ("label", "label_other"), lambda layer: layer.similarity.centred_cosine)
    add("mean_codes", ("label", "column"), lambda layer: layer.similarity.mean_codes)
    for split in SPLITS:
        add(f"codes_{split}", ("code", "column"), lambda layer: layer.codes.get(split))
    return group
