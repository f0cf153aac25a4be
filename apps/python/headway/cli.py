"""`python -m headway plot|report|table|rank|summary|check`. Exit codes are those of the program `headway`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from headway.api.datasets import check_dataset
from headway.base.files import refuse_existing, refuse_inputs
from headway.errors import CannotWriteError, HeadwayError, UsageError
from headway.heads.head_ranking import rank_parts
from headway.results.best_point import best_text
from headway.results.result import Result
from headway.results.result_reader import read_result
from headway.results.summary import write_summary
from headway.results.table import table, table_of_networks
from headway.version import __version__

_ARGUMENT = re.compile(r"^(labels|largest|without|point)(?=: )")  # of functions, whose options have the same names
EXIT_OK, EXIT_BAD_DATA, EXIT_BUG, EXIT_INTERRUPTED = 0, 65, 70, 130


class _Parser(argparse.ArgumentParser):
    """Exits with 64 on a usage error."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} ({self.prog} --help shows the usage)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code. Errors go to stderr, one line a fault."""
    try:
        options = _parser().parse_args(arguments)
        return options.command(options)
    except HeadwayError as error:
        for line in _ARGUMENT.sub(r"--\1", str(error).replace("overwrite=True", "--force")).splitlines():
            print(f"headway: error: {line}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def run() -> NoReturn:
    """Entry point of the process. A closed pipe on stdout is no error; a full disk is one, in one line."""
    try:
        try:
            code = main()
        except SystemExit as end:  # of --help and --version
            code = end.code
        sys.stdout.flush()
    except OSError as error:
        if error.filename is not None:  # of no standard stream
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_OK
        if not isinstance(error, BrokenPipeError):
            print(f"headway: error: standard output: cannot be written: {error.strerror or error}", file=sys.stderr)
            code = CannotWriteError.exit_code
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m headway", description="Figures, pages and tables of Headway's results.")
    parser.add_argument("--version", action="version", version=f"headway {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_plot(commands)
    _add_report(commands)
    table = commands.add_parser(
        "table", help="the numbers of a result",
        description="One result: a row a point. Several results of headway prune, each on a data set "
        "with a trained network (seeds of a study): how well each score ranks their heads, mean and standard error.")
    table.add_argument("results", nargs="+", metavar="RESULT.h5")
    table.add_argument("--format", default="text", metavar="text|markdown|csv")
    table.set_defaults(command=_table)
    _add_rank(commands)
    _add_summary(commands)
    check = commands.add_parser("check", help="all faults of a data-set file")
    check.add_argument("dataset", metavar="DATA.h5")
    check.set_defaults(command=_check)
    return parser


def _add_plot(commands) -> None:
    plot = commands.add_parser(
        "plot", help="the figures of a result",
        description="Draws every figure that a result has the data for. Several results share a figure where it can hold them; "
        "the others show the first result that has the data. Figures that exist are kept: --force replaces them.")
    plot.add_argument("results", nargs="+", metavar="RESULT.h5")
    plot.add_argument("-o", "--output", metavar="DIR",
                      help="folder for the figures (default: RESULT-figures beside the result)")
    plot.add_argument("--format", default="png", metavar="png|pdf|svg")
    plot.add_argument("--force", action="store_true", help="replace figures that exist")
    plot.add_argument("--only", metavar="NAME,...", help="only these figures")
    plot.add_argument("--widths", metavar="N,...", help="widths of the multi-panel figures")
    plot.add_argument("--temperature", type=float, metavar="T",
                      help="the one shown (default: that of the largest evidence, among those that all results have; accuracy of "
                      "one result shows all)")
    plot.add_argument("--point", metavar="best|WIDTH,T", help="in place of both: the point of largest log evidence, or one by its place")
    plot.add_argument("--path-names", metavar="NAME,...",
                      help="a name for each path, for example good,adversarial,denoising,adversarial")
    plot.add_argument("--labels", metavar="NAME,...", help="a name for each result")
    plot.add_argument("--limits-only", action="store_true",
                      help="of further results draw only their Gaussian-process limit")
    plot.add_argument("--components", type=int, default=30, metavar="K",
                      help="principal components in kernel_alignment (default 30)")
    plot.set_defaults(command=_plot)


def _add_report(commands) -> None:
    report = commands.add_parser(
        "report", help="one page that shows results, for any browser and without a network",
        description="Writes one HTML file with every figure, sliders over widths and temperatures, "
        "tables, and how to remake it all; several results stand side by side.")
    report.add_argument("results", nargs="+", metavar="RESULT.h5")
    report.add_argument("-o", "--output", metavar="PAGE.html",
                        help="the page (default: RESULT.html beside the first result)")
    report.add_argument("--labels", metavar="NAME,...", help="a name for each result")
    report.add_argument("--force", action="store_true", help="replace a page that exists")
    report.set_defaults(command=_report)


def _add_rank(commands) -> None:
    rank = commands.add_parser(
        "rank", help="the parts in a data set of contributions, by a frozen cut of each",
        description="Ranks the parts of one layer by frozen cuts: a part is taken off, and everything else stays as it was. That is "
        "no removal. Measured cuts with errors, the combined estimate with intervals, and the theory's cut beside the same cut "
        "with U = 1.")
    rank.add_argument("dataset", metavar="DATA.h5")
    rank.add_argument("--target", default="fixed", metavar="fixed|refitted", help="fit the readout again, or not")
    rank.add_argument("-k", type=int, metavar="K", help="of the probability to be among the K smallest cuts (default: a quarter)")
    rank.add_argument("--csv", metavar="FILE.csv", help="write all columns there, too")
    rank.add_argument("--force", action="store_true", help="replace a table that exists")
    rank.set_defaults(command=_rank)


def _rank(options: argparse.Namespace) -> int:
    if options.csv:  # before the work
        refuse_inputs(options.csv, [options.dataset])
        if not options.force:
            refuse_existing([options.csv], "--force replaces it")
    ranking = rank_parts(options.dataset, target=options.target, k=options.k)
    print(ranking)
    if options.csv:
        ranking.to_csv(options.csv)
    return EXIT_OK


def _add_summary(commands) -> None:
    brief = commands.add_parser(
        "summary", help="results as small JSON, with what made them",
        description="Writes what results say, under the names of their fields: command, commit and machine, "
        "numbers with five significant digits; without weights and large arrays. So are the files of "
        "data/results made.")
    brief.add_argument("results", nargs="+", metavar="RESULT.h5")
    brief.add_argument("-o", "--output", required=True, metavar="SUMMARY.json")
    brief.add_argument("--largest", type=int, default=500, metavar="N",
                       help="leave out arrays of more numbers (default 500)")
    brief.add_argument("--without", default="", metavar="NAME,...", help="leave out what has one of these names")
    brief.add_argument("--force", action="store_true", help="replace a file that exists")
    brief.set_defaults(command=_summary)


def _summary(options: argparse.Namespace) -> int:
    without = [name for name in options.without.split(",") if name]
    print(write_summary(options.results, options.output, options.force, options.largest, without))
    return EXIT_OK


def _report(options: argparse.Namespace) -> int:
    from headway.report import write_report
    path = options.output or Path(options.results[0]).with_suffix(".html")
    print(write_report(options.results, path, _words(options.labels), overwrite=options.force))
    return EXIT_OK


def _plot(options: argparse.Namespace) -> int:
    from headway import figures
    from headway.figures import style
    if options.format not in style.FORMATS:
        raise UsageError(f"--format: is {options.format}; allowed: {', '.join(style.FORMATS)}")
    results = [read_result(path) for path in options.results]
    widths, temperature = _integers("--widths", options.widths), options.temperature
    if options.point is not None:
        if widths is not None or temperature is not None:
            raise UsageError(f"--point: must not be given with {'--widths' if widths is not None else '--temperature'}")
        widths, temperature = figures.place_of(results[0], _point(options.point))
    choice = figures.PlotOptions(
        widths=widths, temperature=temperature,
        path_names=_words(options.path_names), labels=_words(options.labels),
        components=options.components, limits_only=options.limits_only)
    drawn = figures.draw_all(results, choice, _words(options.only))
    first = Path(options.results[0])
    folder = Path(options.output) if options.output else first.with_name(first.stem + "-figures")
    _make_folder(folder)
    files_of = {name: folder / f"{name}.{options.format}" for name in drawn}
    if not options.force:
        refuse_existing(files_of.values(), "--force replaces it, -o DIR writes elsewhere")
    for name, file_path in files_of.items():
        style.save(drawn[name], file_path, overwrite=options.force)
        print(file_path)
    for line in figures.not_shown(results, drawn):
        print(f"headway: {line}", file=sys.stderr)
    if options.only is None:
        for name, package in figures.left_out(results).items():
            print(f"headway: {name} is left out: it needs the package {package}, which is not "
                  "installed", file=sys.stderr)
    return EXIT_OK


def _point(text: str) -> str | tuple[float, ...]:
    """"best", or the numbers of "10,0.3"."""
    try:
        return text if text == "best" else tuple(float(word) for word in text.split(","))
    except ValueError:
        raise UsageError(f"--point: is {text}; allowed: best, or a width and a temperature, as in 10,0.3") from None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWriteError(f"{folder}: cannot be made: {error.strerror or error}") from None


def _table(options: argparse.Namespace) -> int:
    results = [read_result(path) for path in options.results]
    print(table(results[0], options.format) if len(results) == 1
          else table_of_networks(results, options.format))
    best = best_text(results[0]) if len(results) == 1 and isinstance(results[0], Result) else ""
    if best:  # no part of the table, which other programs may read
        print(f"headway: {best}", file=sys.stderr)
    return EXIT_OK


def _check(options: argparse.Namespace) -> int:
    faults = check_dataset(options.dataset)
    for fault in faults:
        print(f"{options.dataset}: {fault}", file=sys.stderr)
    if not faults:
        print(f"{options.dataset}: no fault found")
    return EXIT_BAD_DATA if faults else EXIT_OK


def _words(value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(word.strip() for word in value.split(","))


def _integers(name: str, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        return tuple(int(word) for word in value.split(","))
    except ValueError:
        raise UsageError(f"{name}: is {value}; allowed: whole numbers separated by commas") from None
