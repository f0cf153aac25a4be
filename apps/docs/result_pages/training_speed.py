"""How long a training step takes, beside PyTorch and JAX on the same core."""

import json

from recorded import ROOT, shown

TASKS = {"SRAVEN": "SRAVEN", "Fuzzy logic": "fuzzy logic", "Text": "text"}
GOAL = 4  # times as fast as JAX


def _recorded():
    (result,) = json.loads((ROOT / "apps/benchmarks/training-speed.json").read_text(encoding="utf-8"))["results"]
    return result


def _ratio(row, name):
    return shown(row[name] / row["milliseconds"]) if row.get(name) else "-"


def table():
    rows = {(row["task"], row["attention"]): row for row in _recorded()["rows"]}
    table = [["attention", *TASKS.values()]]
    for attention in dict.fromkeys(attention for _, attention in rows):
        found = [rows[task, attention] for task in TASKS]
        table.append([f"`{attention}`", *(f"{row['milliseconds']:.0f} ms, {_ratio(row, 'libtorch_milliseconds')}, {_ratio(row, 'jax_milliseconds')}"
                                          for row in found)])
    return table


def share(row, milliseconds):
    """Of the machine's peak, in percent, if a step takes so long."""
    return 100 * row["gflop"] / (1e-3 * milliseconds * _recorded()["peak_gflops"])


def limits_table():
    table = [["task", "attention", "Headway", "JAX", f"{GOAL} times as fast as JAX"]]
    for row in _recorded()["rows"]:
        if row.get("jax_milliseconds"):
            table.append([TASKS[row["task"]], f"`{row['attention']}`", *(
                f"{share(row, milliseconds):.0f} %" for milliseconds in
                (row["milliseconds"], row["jax_milliseconds"], row["jax_milliseconds"] / GOAL))])
    return table


def machine():
    made = _recorded()["made"]
    return [f"{_recorded()['peak_gflops']:.0f}", made["libtorch"], made["jax"]]


def claim():
    """The smallest and the largest ratio, of PyTorch and of JAX."""
    ratios = [[row[name] / row["milliseconds"] for row in _recorded()["rows"] if row.get(name)]
              for name in ("libtorch_milliseconds", "jax_milliseconds")]
    return [shown(end(of)) for of in ratios for end in (min, max)]


def jax_shares():
    shares = [share(row, row["jax_milliseconds"]) for row in _recorded()["rows"] if row.get("jax_milliseconds")]
    return [f"{end(shares):.0f}" for end in (min, max)]


TABLES = {"training-speed": table, "training-speed-limits": limits_table}
PAGE = "../apps/benchmarks/README.md"
SENTENCES = [
    (PAGE, "A training step takes {} to {} times as long in PyTorch's own operations, and {} to {} times as long in JAX.", claim),
    (PAGE, "JAX computes them at {} to {} % of the machine's peak.", jax_shares),
    (PAGE, "(an AMD EPYC, peak {} Gflop/s) beside PyTorch {} and JAX {}", machine)]
