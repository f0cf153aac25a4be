"""What the scripts share that make the data of pages of results: `PROGRAM FOLDER` computes, `--record FOLDER FILE.json` writes."""

import argparse
import json

import numpy as np

from headway.results.result_reader import read_result


def parser_of(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the errors of the results in a folder")
    parser.add_argument("first", metavar="PROGRAM|FOLDER")
    parser.add_argument("second", metavar="FOLDER|FILE.json")
    parser.add_argument("--force", action="store_true", help="replace the file")
    return parser


def finished(path):
    """Whether a result is there, and whole: Ctrl-C keeps what it has."""
    return path.exists() and not read_result(path).partial


def kept(path, again):
    """What a file has recorded, without the rows for which `again(row)` is true: they are recorded again, each as a whole."""
    recorded = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
    left = [one | {"rows": [row for row in one["rows"] if not again(row)]} for one in recorded]
    return [one for one in left if one["rows"]]


def relative(theory, mean):
    """The distance from the mean, relative to its norm."""
    return float(np.linalg.norm(theory - mean) / np.linalg.norm(mean))
