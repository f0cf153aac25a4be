"""How long a training step takes, beside PyTorch and JAX on the same core."""

import json

from recorded import ROOT, shown

TASKS = {"SRAVEN": "SRAVEN", "Fuzzy logic": "fuzzy logic", "Text": "text"}
GOAL = 4  # times as fast as JAX


def recorded(instructions="AVX-512"):
    results = json.loads((ROOT / "apps/benchmarks/training-speed.json").read_text(encoding="utf-8"))["results"]
    return next(result for result in results if result["made"]["about"].endswith(instructions))


def _ratio(row, name):
    return shown(row[name] / row["milliseconds"]) if row.get(name) else "-"


def table():
    rows = {(row["task"], row["attention"]): row for row in recorded()["rows"]}
    table = [["attention", *TASKS.values()]]
    for attention in dict.fromkeys(attention for _, attention in rows):
        found = [rows[task, attention] for task in TASKS]
        table.append([f"`{attention}`", *(f"{row['milliseconds']:.0f} ms, {_ratio(row, 'libtorch_milliseconds')}, {_ratio(row, 'jax_milliseconds')}"
                                          for row in found)])
    return table


def share(row, milliseconds, peak):
    """Of the machine's peak, in percent, if a step takes so long."""
    return 100 * row["gflop"] / (1e-3 * milliseconds * peak)


def shares(result):
    """{(task, attention): of Headway, of JAX, and of four times JAX}, of those that were written in JAX."""
    return {(row["task"], row["attention"]): [share(row, milliseconds, result["peak_gflops"]) for milliseconds in (
        row["milliseconds"], row["jax_milliseconds"], row["jax_milliseconds"] / GOAL)]
        for row in result["rows"] if row.get("jax_milliseconds")}


def limits_table():
    """With AVX-512, then with AVX2."""
    wide, narrow = recorded(), recorded("AVX2")
    times = {(row["task"], row["attention"]): row for row in narrow["rows"]}
    share_of = ["share: Headway", "share: JAX", f"share: {GOAL} times JAX"]
    table = [["task", "attention", *share_of, "AVX2: a step", "AVX2: JAX", *(f"AVX2, {name}" for name in share_of)]]
    for (task, attention), of_wide in shares(wide).items():
        row = times[task, attention]
        table.append([TASKS[task], f"`{attention}`", *(f"{one:.0f} %" for one in of_wide), f"{row['milliseconds']:.0f} ms",
                      f"{_ratio(row, 'jax_milliseconds')} times as long", *(f"{one:.0f} %" for one in shares(narrow)[task, attention])])
    return table


def machine():
    made = recorded()["made"]
    return [f"{recorded()['peak_gflops']:.0f}", made["libtorch"], made["jax"]]


def claim():
    """The smallest and the largest ratio, of PyTorch and of JAX."""
    ratios = [[row[name] / row["milliseconds"] for row in recorded()["rows"] if row.get(name)]
              for name in ("libtorch_milliseconds", "jax_milliseconds")]
    return [shown(end(of)) for of in ratios for end in (min, max)]


def jax_shares():
    of_jax = [one[1] for one in shares(recorded()).values()]
    return [f"{end(of_jax):.0f}" for end in (min, max)]


def narrow_claim():
    ratios = [row["jax_milliseconds"] / row["milliseconds"] for row in recorded("AVX2")["rows"] if row.get("jax_milliseconds")]
    return [shown(end(ratios)) for end in (min, max)]


TABLES = {"training-speed": table, "training-speed-limits": limits_table}
PAGE = "../apps/benchmarks/README.md"
SENTENCES = [
    (PAGE, "A training step takes {} to {} times as long in PyTorch's own operations, and {} to {} times as long in JAX.", claim),
    (PAGE, "With AVX2 alone, which has the same peak here, JAX takes {} to {} times as long.", narrow_claim),
    (PAGE, "JAX computes them at {} to {} % of the machine's peak.", jax_shares),
    (PAGE, "(an AMD EPYC, peak {} Gflop/s) beside PyTorch {} and JAX {}", machine)]
