"""Runs every shipped study of minutes again and compares it with what was recorded and published.

    python3 apps/setup/reproduce.py --program build/release/bin/headway [--update] [--only NAME]

Prints one table: the number now, the recorded one, the published one, and their differences in standard errors.
Exit code 1 where one differs from the recorded number by more than its stated error allows. --update records what
was found. The runs and rows are in data/results/reproduce.json; longer ones are listed below the table.
"""

import argparse
import json
import math
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "data/results/reproduce.json"
MOST_ERRORS = 4.0  # standard errors between now and what was recorded
DIGITS = 6         # of a number without an error


def computed(program, command, seeds):
    """The JSON of every seed; 2 says that it was written but not usable, which the comparison shall judge."""
    found = []
    for seed in range(1, seeds + 1) if seeds else [None]:
        words = [program, *command, "--json", "-q", *([] if seed is None else ["--seed", str(seed)])]
        done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode not in (0, 2):
            raise SystemExit(f"{' '.join(words)}: exit code {done.returncode}")
        found.append(json.loads(done.stdout))
    return found


def value_of(result, where):
    """The number `where` names and the error that the result states of it, 0 without one."""
    point, name, entry = re.fullmatch(r"(points\[\d+\]|gaussian_process)\.(\w+?)(?:\[(\d+)\])?", where).groups()
    if point == "gaussian_process":
        at = result["gaussian_process"][0]
    else:
        at = next(p for p in result["points"] if p["widths"][0] == int(point[7:-1]))
    if entry is None:
        return at[name], 0.0
    i = int(entry)
    return at[name][i][i], at[name.replace("_mean", "_mcse")][i][i]


def mean_and_error(values):
    """Over seeds; of one, what its samples state."""
    if len(values) == 1:
        return values[0]
    numbers = [value for value, _ in values]
    mean = sum(numbers) / len(numbers)
    square = sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)
    return mean, math.sqrt(square / len(numbers))


def distance(value, error, other, other_error):
    """In standard errors of the difference; None where there is nothing to compare with."""
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


def table_of(rows):
    header = ["run", "number", "now", "recorded", "differs", "published", "differs", "source"]
    lines = [header]
    for row in rows:
        differs = ["-" if x is None else f"{x:+.1f}" for x in (row["from_recorded"], row["from_published"])]
        lines.append([row["run"], row["of"], text(row["now"], row["now_error"]), text(row["ours"], row["error"]),
                      differs[0], text(row["published"], row["published_error"]), differs[1], row["source"]])
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join("  ".join(word.ljust(width) for word, width in zip(line, widths)).rstrip() for line in lines)


def longer_runs():
    """Every other file of data/results: the commands that made it, their commit and day; of older files, which do not
    say it, the row of data/results/README.md."""
    folder = ROOT / "data/results"
    rows = dict(re.findall(r"^\| \[`([^`|]*)`[^|]* \| ([^|]* \| [^|]*) \|$",
                           (folder / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    lines = []
    for file in sorted(folder.glob("*.json")):
        if file == RECORD:
            continue
        made = [result["made"] for result in json.loads(file.read_text(encoding="utf-8")).get("results", [])]
        if made and all("git_commit" in one for one in made):
            lines += [f"  {file.name}:"] + [f"    {one['command']} (commit {one['git_commit'][:7]}, {one['started'][:10]})"
                                           for one in made]
        else:
            command, when = rows[file.name].replace("`", "").split(" | ")
            lines.append(f"  {file.name}: {command} (commit: {when})")
    return lines


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--program", default=str(ROOT / "build/release/bin/headway"))
    options.add_argument("--only", help="a run of data/results/reproduce.json")
    options.add_argument("--update", action="store_true", help="records what is found")
    given = options.parse_args()
    program = str(Path(given.program).resolve())
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    runs = {name: run for name, run in record["runs"].items() if given.only in (None, name)}
    if not runs:
        options.error(f"--only {given.only}: allowed: {', '.join(record['runs'])}")
    rows = [row for row in record["rows"] if row["run"] in runs]
    for name, run in runs.items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        found = computed(program, run["command"], run.get("seeds"))
        for row in rows:
            if row["run"] != name:
                continue
            row["now"], row["now_error"] = mean_and_error([value_of(result, row["of"]) for result in found])
            row["from_recorded"] = distance(row["now"], row["now_error"], row["ours"], row["error"])
            row["from_published"] = distance(row["now"], row["now_error"], row["published"], row["published_error"])
    print("differences in standard errors\n" + table_of(rows))
    print("\nlonger runs: their commands, and the commit and day of the last\n" + "\n".join(longer_runs()))
    if given.update:
        for row in rows:
            exact = not row["now_error"]
            row["ours"] = float(f"{row['now']:.{DIGITS + 1 if exact else DIGITS}g}")
            row["error"] = 0 if exact else float(f"{row['now_error']:.3g}")
        kept = [{key: value for key, value in row.items() if not key.startswith(("now", "from_"))}
                for row in record["rows"]]
        lines = ",\n".join("    " + json.dumps(row) for row in kept)
        runs_text = ",\n".join(f"    {json.dumps(name)}: {json.dumps(run)}" for name, run in record["runs"].items())
        RECORD.write_text('{\n  "note": ' + json.dumps(record["note"]) + ',\n  "runs": {\n' + runs_text +
                          '\n  },\n  "rows": [\n' + lines + "\n  ]\n}\n", encoding="utf-8")
        return 0
    wrong = [row for row in rows if row["from_recorded"] is None or abs(row["from_recorded"]) > MOST_ERRORS]
    for row in wrong:
        print(f"{row['run']}, {row['of']}: not what was recorded", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
