"""Makes the tables, the numbers in sentences and the figures of the pages in data/results and data/studies.

    python3 apps/docs/result_pages             lists what differs from the files in data/results; exit code 1 if anything does
    python3 apps/docs/result_pages --update    writes the tables and numbers
    python3 apps/docs/result_pages --figures   draws data/figures/results-*.png: all, or those whose names follow
"""

import argparse
import sys

import pages
from recorded import ROOT


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write what differs")
    parser.add_argument("--figures", nargs="*", metavar="NAME", help="draw these figures, without a name all")
    options = parser.parse_args()
    if options.figures is not None:
        import drawing
        for path in drawing.draw(options.figures):
            print(path.relative_to(ROOT))
    differing, faults = pages.check()
    if options.update:
        for name, text in differing.items():
            (ROOT / name).write_text(text, encoding="utf-8")
            print(name)
        faults = pages.check()[1]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
