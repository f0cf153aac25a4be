"""The page: what stands where. Everything is in the one file: style, script, data and figures."""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headway import figures
from headway.base.remaking import how_to_remake, unquoted
from headway.errors import HeadwayError, UsageError
from headway.figures import accuracy
from headway.figures.path_sizes import size_warning
from headway.figures.selection import checked_names
from headway.report import explorer, networks, training
from headway.report.cards import cards_of
from headway.report.drawings import drawing
from headway.report.pieces import (choice, code_block, definitions, details, element, escaped,
                                   paragraph, section, slider, table)
from headway.report.reading import OtherResult
from headway.results.latent_results import EvaluateResult, LatentsResult
from headway.results.monte_carlo import BY_DRAWS
from headway.results.network_predictions import NetworkPredictResult
from headway.results.network_results import RemovalResult
from headway.results.prediction_results import PredictResult
from headway.results.rank_results import RankResult
from headway.results.result import Result
from headway.results.table import cells
from headway.results.training_results import TrainingResult
from headway.version import __version__

AnyResult = Result | TrainingResult | LatentsResult | RemovalResult | EvaluateResult | OtherResult
FOLDER = Path(__file__).parent
# What else trained networks give: the section's name, its results, what the script takes of one, heading, controls.
NETWORK_PARTS = {
    "codes": (LatentsResult, networks.codes, "Latent codes", networks.codes_panels),
    "removals": (RemovalResult, networks.removals, "Heads removed", networks.removal_panels),
    "evaluations": (EvaluateResult, networks.evaluated, "On other data", networks.evaluation_panels)}
ROWS = {Result: "Points", LatentsResult: "Decoders", RemovalResult: "Scores of heads", RankResult: "Heads",  # of a result's table
        PredictResult: "Predictions", NetworkPredictResult: "Predictions"}
SHOWN_FIRST = 3  # cards that the explorer shows before anyone chooses


def page(results: Sequence[AnyResult], labels: Sequence[str] | None = None) -> str:
    """The whole page as text. UsageError for a wrong number of labels, or equal ones."""
    labels = checked_names("labels", labels)
    names = _names(results, labels)
    of_theory = [(result, name) for result, name in zip(results, names) if isinstance(result, Result) and result.points]
    cards = cards_of([result for result, _ in of_theory], [name for _, name in of_theory], labels is not None)
    data: dict[str, Any] = {
        "sources": explorer.source_names(cards), "measures": explorer.MEASURES, "agree": BY_DRAWS,
        "cards": list(map(explorer.explored, cards)),
        "training": [training.learned(result, name) for result, name in zip(results, names)
                     if isinstance(result, TrainingResult) and result.finished.splits]}
    data |= {key: [of(result, name) for result, name in zip(results, names)
                   if isinstance(result, kind) and result.runs]
             for key, (kind, of, _, _) in NETWORK_PARTS.items()}
    parts = [("overview", "Results", _overview(results, names))]
    if cards:
        parts.append(("explore", "Explore", _explore(data["cards"], data["sources"])))
    if data["training"]:
        parts.append(("learning", "Learning curves", _learning(data["training"])))
    parts += [(key, heading, panels(data[key]))
              for key, (_, _, heading, panels) in NETWORK_PARTS.items() if data[key]]
    shared = _together(results, names)
    if shared:
        parts.append(("together", "Side by side", shared))
    parts += [(f"result-{index}", name, _result(result, index))
              for index, (result, name) in enumerate(zip(results, names), 1)]
    parts.append(("remake", "Remake this page", _remake(results, labels)))
    title = " · ".join(dict.fromkeys(result.study for result in results))
    return _document(title, parts, data)


def _names(results: Sequence[AnyResult], labels: Sequence[str] | None) -> list[str]:
    """One name a result, no two the same."""
    if labels is not None:
        if len(labels) != len(results):
            raise UsageError(f"labels: has {len(labels)} names for {len(results)} results")
        if len(set(labels)) != len(labels):
            raise UsageError("labels: has equal names; allowed: a name of its own for each result")
        return list(labels)
    names = [f"{result.study} ({result.kind})" for result in results]
    return [name if names.count(name) == 1 else f"{name} {names[:index].count(name) + 1}"
            for index, name in enumerate(names)]


def _document(title: str, parts: Sequence[tuple[str, str, str]], data: dict[str, Any]) -> str:
    style, *scripts = ((FOLDER / name).read_text(encoding="utf-8")
                       for name in ("report.css", "charts.js", "beside.js", "networks.js", "report.js"))
    script = "".join(scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    # Nothing is loaded, and nothing but the script of this package runs, whatever a file may hold.
    policy = (f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
              "img-src data:; base-uri 'none'; form-action 'none'")
    embedded = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    links = "".join(element("li", element("a", escaped(name), href=f"#{identity}"))
                    for identity, name, _ in parts)
    themes = choice("theme", "Colours", {"auto": "as the system", "light": "light", "dark": "dark"})
    return "".join((
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{escaped(policy)}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<link rel="icon" href="data:,">\n', element("title", escaped(f"{title} – Headway")), "\n",
        "<style>\n", style, "</style>\n</head>\n<body>\n",
        '<a class="skip" href="#main">Skip to the results</a>\n',
        element("header", element("h1", escaped(title)), themes), "\n",
        element("nav", element("ul", links), aria_label="Sections"), "\n",
        '<main id="main" tabindex="-1">\n',
        *(section(identity, name, content) for identity, name, content in parts), "</main>\n",
        element("footer", paragraph(f"Made by Headway {__version__}, from result files alone.")),
        '\n<script type="application/json" id="data">', embedded, "</script>\n<script>", script,
        "</script>\n</body>\n</html>\n"))


def _overview(results: Sequence[AnyResult], names: Sequence[str]) -> str:
    rows = []
    for result, name in zip(results, names):
        about = result.provenance
        holds = result.summary.removeprefix(f"{result.study}, ")
        rows.append([name, result.file.name, holds, about.get("seed", "–"), _seconds(about),
                     about.get("headway_version", "–")])
    return table(["result", "file", "holds", "seed", "seconds", "version"], rows,
                 "The results on this page")


def _seconds(about: Mapping[str, Any]) -> str:
    return f"{about['seconds']:.3g}" if isinstance(about.get("seconds"), float) else "–"


# ---- what moves


def _explore(cards: Sequence[dict[str, Any]], sources: Mapping[str, str]) -> str:
    """Controls and the places that the script fills."""
    points = [point for card in cards for point in card["points"]]
    largest = {_width_name(point["widths"]): max(point["widths"]) for point in points}
    widths = sorted(largest, key=lambda name: (largest[name], name))  # of any number of layers
    temperatures = sorted({point["temperature"] for point in points})
    layers = max(card["layers"] for card in cards)
    measures = {name: label for name, label in explorer.MEASURES.items() if any(
        source["measures"][name] is not None for point in points
        for source in point["sources"].values())}
    start = _start(cards)
    first = [index for index, card in enumerate(cards) if start in map(_place, card["points"])][:SHOWN_FIRST]
    opened = _opened(measures, [cards[index] for index in first], cards)
    controls = [slider("width", "Width", widths, widths.index(start[0])),
                slider("temperature", "Temperature", [f"T = {value:g}" for value in temperatures],
                       temperatures.index(start[1])),
                choice("source", "Show", sources)]
    choices = []
    if layers > 1:
        choices.append(choice("layer", "Order parameters of", {
            str(layer): f"layer {layer}" for layer in range(1, layers + 1)}))
    if len(cards) > 1:
        choices.append(element("fieldset", element("legend", "Cards"), *(
            element("label", f'<input type="checkbox" name="shown" value="{index}"'
                    + (" checked> " if index in first else "> "),
                    escaped(card["name"])) for index, card in enumerate(cards))))
    return "".join((
        element("noscript", paragraph("The controls need JavaScript. Everything below works without it.")),
        element("div", *choices, class_="choices") if choices else "",
        element("form", *controls, id="explorer", class_="controls",
                aria_label="What the panels below show",
                data_widths=json.dumps([[name, largest[name]] for name in widths]),
                data_temperatures=json.dumps(temperatures)),
        paragraph("", id="explored", class_="status", role="status", aria_live="polite"),
        element("div", id="columns", class_="columns"),
        element("div", element("h3", "Against the width"),
                choice("measure", "Measure", {opened: measures[opened], **measures}), element("div", id="sweep"), class_="panel")))


def _place(point: Mapping[str, Any]) -> tuple[str, float]:
    return _width_name(point["widths"]), point["temperature"]


def _start(cards: Sequence[Mapping[str, Any]]) -> tuple[str, float]:
    """Where the sliders stand at first: at a point that as many cards as possible have, so that no card is empty. Of equals, the
    one where most cards have theory and samples."""
    def worth(place: tuple[str, float]) -> tuple[int, int]:
        here = [point for card in cards for point in card["points"] if _place(point) == place]
        return len(here), sum({"saddle_point", "samples"} <= set(point["sources"]) for point in here)
    return max((_place(point) for card in cards for point in card["points"]), key=worth)  # of equals the first


def _opened(measures: Iterable[str], shown: Sequence[Mapping[str, Any]], every: Sequence[Mapping[str, Any]]) -> str:
    """The measure that stands first: the one that most cards have of those that are shown, and of all, so that none is empty."""
    def having(name: str) -> tuple[int, ...]:
        return tuple(sum(any(source["measures"][name] is not None for point in card["points"] for source in point["sources"].values())
                         for card in cards) for cards in (shown, every))
    return max(measures, key=having)  # of equals the first


def _width_name(widths: Sequence[int]) -> str:
    if len(set(widths)) == 1:
        return f"N = {widths[0]}"
    names = [f"N{layer}" for layer in range(1, len(widths))] + ["Na"]
    return ", ".join(f"{name} = {width}" for name, width in zip(names, widths))


def _learning(learned: list[dict[str, Any]]) -> str:
    return "".join((
        element("form", choice("split", "Split", training.split_names(learned)),
                choice("metric", "Metric", training.metric_names(learned)),
                element("label", '<input type="checkbox" id="logarithmic"> ', "logarithmic steps"),
                id="learner", class_="controls", aria_label="Which learning curve is shown"),
        element("div", element("div", id="curves"), class_="panel")))


# ---- what stands


def _together(results: Sequence[AnyResult], names: Sequence[str]) -> str:
    """Figures that hold several results at once."""
    content = []
    for kind, prefix in ((Result, "theory"), (TrainingResult, "training")):
        chosen = _different([(result, name) for result, name in zip(results, names)
                             if isinstance(result, kind)])
        if len(chosen) < 2:
            continue
        shown, labels = [result for result, _ in chosen], tuple(name for _, name in chosen)
        kinds = [(result.study, result.kind == "sample") for result in shown]
        own_names = len(set(kinds)) < len(kinds)  # else the names of the studies do, and samples go with their study
        options = figures.PlotOptions(labels=labels if own_names else None)
        try:
            drawn = figures.draw_all(shown, options, together=True)
        except HeadwayError as error:
            content.append(paragraph(f"No figure of all of them: {error}."))
            continue
        content += _drawings(drawn, f"{prefix}-together", shown)
    return "".join(content)


def _different(chosen: list[tuple[AnyResult, str]]) -> list[tuple[AnyResult, str]]:
    """The results without those that hold what an earlier one holds: the same theory, or samples of the same study and data."""
    kept: dict[Any, tuple[AnyResult, str]] = {}
    for result, name in chosen:
        key: Any = name
        if isinstance(result, Result):
            data = result.provenance.get("data_hash", name)
            key = (result.study, data) if result.kind == "sample" else accuracy.theory_of(result)
        kept.setdefault(key, (result, name))
    return list(kept.values())


def _drawings(drawn: dict, prefix: str, results: Sequence[AnyResult]) -> list[str]:
    files = " ".join(shlex.quote(str(result.file)) for result in results)
    return [drawing(name, figure, figures.FIGURES[name].shows, f"{prefix}-{name}",
                    f"python3 -m headway plot {files} --only {name}")
            for name, figure in drawn.items()]


def _result(result: AnyResult, index: int) -> str:
    """A result: its table, its figures, where it comes from."""
    content = [paragraph(f"{result.summary}.")]
    if result.partial:
        content.append(paragraph("This result is partial: what was finished when it was interrupted.",
                                 class_="warning"))
    if isinstance(result, OtherResult):
        content += _members(result)
    else:
        content.append(table(*cells(result), ROWS.get(type(result), "Variants")))
        content += _warnings(result)
        try:
            content += _drawings(figures.draw_all(result), f"result-{index}", [result])
        except HeadwayError as error:
            content.append(paragraph(f"No figure: {error}."))
    return "".join([*content, _provenance(result, index)])


def _members(result: OtherResult) -> list[str]:
    note = (f"This version of Headway has no figures for results of headway {result.kind}. "
            "The table lists what the file holds.")
    more = f" {result.left_out} more are not listed." if result.left_out else ""
    return [paragraph(note + more), table(["member", "what"], result.members, "Members of the file")]


def _warnings(result: AnyResult) -> list[str]:
    """What the program warned of at each point or run."""
    found: list[str] = []
    if isinstance(result, Result):
        if any(point.pruning is not None for point in result.points) and size_warning(result):
            found.append(f"Scores of heads: {size_warning(result)}. Compare it with the predicted rise of the squared error.")
        for point in result.points:
            place = f"{_width_name(point.widths)}, T = {point.temperature:g}"
            said = str(point.attributes.get("warnings", ""))
            found += [f"{place}: {line}" for line in said.splitlines() if line.strip()]
            if not point.converged:
                found.append(f"{place}: not converged. {point.attributes.get('message', '')}")
    elif isinstance(result, TrainingResult):
        found = [f"{run.label}, seed {run.seed}: {run.outcome}. {run.attributes.get('message', '')}"
                 for run in result.runs if run.outcome not in ("finished", "")]
    if not found:
        return []
    return [element("ul", *(element("li", escaped(line)) for line in found), class_="warning")]


def _provenance(result: AnyResult, index: int) -> str:
    about = dict(result.provenance)
    study = str(about.pop("study_toml", ""))
    command = unquoted(str(about.pop("command", "")))
    about |= {"seconds": _seconds(about), "partial": "yes" if result.partial else "no"}
    what, again = how_to_remake(result)
    content = [element("h3", "How to remake it"), paragraph(what),
               code_block(again, "Command that computes the result again")]
    if command and again not in command:
        content += [paragraph("It was made by:"), code_block(command, "Command that made the result")]
    if study:
        content.append(details("The resolved study",
                               code_block(study, f"Study of result {index}")))
    content += [element("h3", "Where it comes from"),
                definitions({name.replace("_", " "): value for name, value in about.items() if value != ""})]
    return element("div", *content, class_="provenance")


def _remake(results: Sequence[AnyResult], labels: Sequence[str] | None) -> str:
    files = " ".join(shlex.quote(str(result.file)) for result in results)
    named = "" if labels is None else f" --labels {shlex.quote(','.join(labels))}"
    return code_block(f"python3 -m headway report {files}{named} -o report.html --force",
                      "Command that makes this page")
