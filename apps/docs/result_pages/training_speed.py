"""How long a training step takes, beside PyTorch and JAX on the same core."""

from recorded import load, shown

TASKS = {"SRAVEN": "SRAVEN", "Fuzzy logic": "fuzzy logic", "Text": "text"}
GOAL = 4  # times as fast as JAX


def _recorded():
    (result,) = load("training-speed")
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


TABLES = {"training-speed": table, "training-speed-limits": limits_table}
SENTENCES = [("benchmarks/README.md", "(an AMD EPYC, peak {} Gflop/s) beside PyTorch {} and JAX {}", machine)]
