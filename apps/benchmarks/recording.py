"""What the scripts share that make the data of pages of results: `PROGRAM FOLDER` computes, `--record FOLDER FILE.json` writes."""

import argparse

import numpy as np


def parser_of(about):
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the errors of the results in a folder")
    parser.add_argument("first", metavar="PROGRAM|FOLDER")
    parser.add_argument("second", metavar="FOLDER|FILE.json")
    parser.add_argument("--force", action="store_true", help="replace the file")
    return parser


def relative(theory, mean):
    """The distance from the mean, relative to its norm."""
    return float(np.linalg.norm(theory - mean) / np.linalg.norm(mean))
