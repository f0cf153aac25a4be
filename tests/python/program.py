"""The program `headway` for tests: its place is in the environment variable HEADWAY_PROGRAM."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path


def executable() -> Path:
    """The program; RuntimeError that says what to do if it is not there."""
    place = os.environ.get("HEADWAY_PROGRAM", "")
    if not place or not os.access(place, os.X_OK):
        raise RuntimeError(f"HEADWAY_PROGRAM is {place!r}: it must name the built program `headway` "
                           "(ctest sets it; by hand: HEADWAY_PROGRAM=build/release/bin/headway)")
    return Path(place)


def run(*arguments, code: int = 0) -> subprocess.CompletedProcess:
    """Runs it quietly; AssertionError with its output unless it ends with `code`."""
    found = subprocess.run([executable(), *map(str, arguments)], capture_output=True, text=True,
                           timeout=300)
    if found.returncode != code:
        raise AssertionError(f"headway {' '.join(map(str, arguments))}: exit code "
                             f"{found.returncode}, not {code}\n{found.stdout}{found.stderr}")
    return found


def run_json(*arguments) -> dict:
    return json.loads(run(*arguments, "--json", "-q").stdout)


def studies() -> Path:
    """The folder of the shipped studies."""
    return Path(os.environ["HEADWAY_SOURCE_DIR"]) / "data" / "studies"
