"""Runs every shipped study of minutes again and compares it with what was recorded and published.

    python3 apps/setup/reproduce.py --program build/release/bin/headway [--update] [--only NAME,...]

Prints one table: the number now, the recorded one, the published one, and their differences in standard errors.
Exit code 1 where one differs from the recorded number by more than its stated error allows. --update records what
was found. The runs and rows are in data/results/reproduce.json; what a run trains, and its codes or orders of heads,
are recorded in a file of their own beside it. Without --only the other files are listed below the table.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "data/results"
RECORD = RESULTS / "reproduce.json"
MOST_ERRORS = 4.0  # a number may differ from the recorded one by so many standard errors
DIGITS = 6         # that must agree in a number without an error


def output_of(words, folder=ROOT):
    """What a command prints. Exit code 2 is accepted: the result was written but is not usable, and the comparison judges it."""
    done = subprocess.run(words, cwd=folder, stdout=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "apps/python")})
    if done.returncode not in (0, 2):
        raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}")
    return done.stdout


def found_by(program, run, keep):
    """The JSON that a run gives: what its command prints for every seed, or the summary of its results. The summary is also
    written to the file `keep`, if that is not None."""
    if "command" in run:
        seeds = range(1, run["seeds"] + 1) if "seeds" in run else [None]
        return [json.loads(output_of([program, *run["command"], "--json", "-q",
                                      *([] if seed is None else ["--seed", str(seed)])])) for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="headway-reproduce-") as folder:
        for command in run["commands"]:
            output_of([program, *command, "-q"], folder)
        output_of([sys.executable, "-m", "headway", "summary", *run["results"], "-o", "summary.json", "--without",
                   run.get("without", "")], folder)
        summary = Path(folder, "summary.json").read_text(encoding="utf-8")
        if keep:
            keep.write_text(summary, encoding="utf-8")
        return [json.loads(summary)]


def entry(result, where):
    """The number that `where` names: fields with dots between them. A name that has dots itself stands in brackets. So does the
    place in a list, from 0 on, or FIELD=VALUE of the entry in a list; of a field that is a list, such as widths, the first
    value counts."""
    at = result
    for name, place in re.findall(r"([^.\[\]]+)|\[([^\]]+)\]", where):
        if name or isinstance(at, dict):
            at = at[name or place]
        elif "=" in place:
            key, value = place.split("=", maxsplit=1)
            at = next(one for one in at if value == str(one[key][0] if isinstance(one[key], list) else one[key]))
        else:
            at = at[int(place)]
    return at


def value_of(result, where):
    """The number `where` names and the error that the result states of it, 0 without one."""
    for error in (where.replace("_mean", "_mcse") if "_mean[" in where else None, where + "_standard_error"):
        try:
            return entry(result, where), entry(result, error)
        except (KeyError, TypeError):
            continue
    return entry(result, where), 0.0


def mean_and_error(values):
    """Mean and standard error over seeds; for one seed, what its result states."""
    if len(values) == 1:
        return values[0]
    numbers = [value for value, _ in values]
    mean = sum(numbers) / len(numbers)
    square = sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)
    return mean, math.sqrt(square / len(numbers))


def recorded(run, row):
    """The recorded number of a row, and its error. They stand in the row, or in the file of a run that has one of its own. The
    error over two seeds may come out small by chance, so it is at least the row's `least_error`."""
    if "recorded" not in run:
        return row["ours"], row["error"]
    path = RESULTS / run["recorded"]
    if not path.exists():
        return None, None
    value, error = value_of(json.loads(path.read_text(encoding="utf-8")), row["of"])
    return value, max(error, row.get("least_error", 0.0))


def distance(value, error, other, other_error):
    """The distance of two numbers in standard errors of their difference; None where there is nothing to compare with."""
    if other is None:
        return None
    together = math.hypot(error, other_error or 0.0) or abs(other) * 10.0 ** -DIGITS
    return (value - other) / together


def text(value, error=None):
    if value is None:
        return "-"
    if not error:
        return f"{value:.7g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} +- {error:.{digits}f}"


def aligned(lines):
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def table_of(rows):
    lines = [["run", "number", "now", "recorded", "differs", "published", "differs", "source"]]
    for row in rows:
        differs = ["-" if x is None else f"{x:+.1f}" for x in (row["from_recorded"], row["from_published"])]
        lines.append([row["run"], row["of"], text(*row["now"]), text(*row["before"]), differs[0],
                      text(row.get("published"), row.get("published_error")), differs[1], row.get("source", "")])
    return aligned(lines)


def longer_runs(runs):
    """A line for every file of data/results that no run makes: results, commits and last day, and the first of the commands, or
    the notebook, that made it."""
    lines = [["file", "results", "commits", "day", "made by; every command is in the file, under made"]]
    for file in sorted(RESULTS.glob("*.json")):
        if file == RECORD or file.name in [run.get("recorded") for run in runs.values()]:
            continue
        made = [result["made"] for result in json.loads(file.read_text(encoding="utf-8"))["results"]]
        commits = dict.fromkeys(one["git_commit"][:7] for one in made)
        first = made[0].get("notebook", made[0].get("command"))
        lines.append([file.name, str(len(made)), " ".join(commits), max(one["started"][:10] for one in made),
                      textwrap.shorten(first, 72, placeholder=" ...", break_on_hyphens=False)])
    return aligned(lines)


def record_again(record, rows):
    """Records what was found for `rows`, which belong to runs without a file of their own."""
    if not rows:
        return
    for row in rows:
        value, error = row["now"]
        row["ours"] = float(f"{value:.{DIGITS if error else DIGITS + 1}g}")
        row["error"] = float(f"{error:.3g}")
    kept = [{key: value for key, value in row.items() if key not in ("now", "before", "from_recorded", "from_published")}
            for row in record["rows"]]
    lines = ",\n".join("    " + json.dumps(row) for row in kept)
    runs = ",\n".join(f"    {json.dumps(name)}: {json.dumps(run)}" for name, run in record["runs"].items())
    RECORD.write_text('{\n  "note": ' + json.dumps(record["note"]) + ',\n  "runs": {\n' + runs +
                      '\n  },\n  "rows": [\n' + lines + "\n  ]\n}\n", encoding="utf-8")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", default=str(ROOT / "build/release/bin/headway"))
    options.add_argument("--only", help="runs of data/results/reproduce.json, with commas between them")
    options.add_argument("--update", action="store_true", help="records what is found")
    given = options.parse_args()
    program = str(Path(given.program).resolve())
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    wanted = given.only.split(",") if given.only else list(record["runs"])
    if not set(wanted) <= set(record["runs"]):
        options.error(f"--only {given.only}: allowed: {', '.join(record['runs'])}")
    rows = []
    for name in wanted:
        run = record["runs"][name]
        print(f"{name} ...", end="", file=sys.stderr, flush=True)
        start = time.monotonic()
        before = [recorded(run, row) for row in record["rows"] if row["run"] == name]
        found = found_by(program, run, RESULTS / run["recorded"] if given.update and "recorded" in run else None)
        print(f" {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        of_run = [row for row in record["rows"] if row["run"] == name]
        for row, row["before"] in zip(of_run, before):
            row["now"] = mean_and_error([value_of(result, row["of"]) for result in found])
            row["from_recorded"] = distance(*row["now"], *row["before"])
            row["from_published"] = distance(*row["now"], row.get("published"), row.get("published_error"))
        rows += of_run
    print("differences in standard errors\n" + table_of(rows))
    if not given.only:
        print("\nother files, which are not made again\n" + longer_runs(record["runs"]))
    if given.update:
        record_again(record, [row for row in rows if "ours" in row])
        return 0
    wrong = [row for row in rows if row["from_recorded"] is None or abs(row["from_recorded"]) > MOST_ERRORS]
    for row in wrong:
        print(f"{row['run']}, {row['of']}: not what was recorded", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
