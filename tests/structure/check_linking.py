"""Checks which instance of a template the linker kept, if a module compiled for speed and a light one both have it.

    python3 check_linking.py NM LINKED... --fast ARCHIVE... --light ARCHIVE...
                                        fails where a program or library has a light module's instance

An instance is known by its size: one that was compiled for speed has one of the sizes that the template has in the fast
archives.
`AnotherInstanceIsFound` gives it a program with a light instance, so that the check cannot pass because it reads nothing.
"""

import argparse
import collections
import subprocess
import sys
import unittest

FEWEST = 100  # templates that both have; none would mean that nm was not understood


def functions_of(listing, kinds="W"):
    """{mangled name: sizes} of the functions that `nm -S --defined-only` printed. W: those that several files may define."""
    sizes = collections.defaultdict(set)
    for line in listing.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in kinds:
            sizes[words[3]].add(int(words[1], 16))
    return sizes


def read(nm, files, kinds="W"):
    listing = subprocess.run([nm, "-S", "--defined-only", *files], check=True, capture_output=True, text=True).stdout
    return functions_of(listing, kinds)


def light_instances(linked, fast, light):
    """(templates in both kinds of archives and in the program; those of them whose size no fast module has)"""
    both = [name for name in linked if name in fast and name in light]
    return both, [name for name in both if not linked[name] <= fast[name]]


class AnotherInstanceIsFound(unittest.TestCase):
    FAST = functions_of("0000 0000000000000120 W product\n0000 0000000000000020 W copy")
    LIGHT = functions_of("0000 00000000000000f0 W product\n0000 0000000000000040 W print")

    def test_the_fast_one(self):
        linked = functions_of("4000 0000000000000120 W product\n4200 0000000000000040 W print")
        self.assertEqual(light_instances(linked, self.FAST, self.LIGHT), (["product"], []))

    def test_the_light_one(self):
        linked = functions_of("4000 00000000000000f0 W product\n4200 0000000000000040 W print")
        self.assertEqual(light_instances(linked, self.FAST, self.LIGHT), (["product"], ["product"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("nm")
    parser.add_argument("linked", nargs="+")
    parser.add_argument("--fast", nargs="+", required=True)
    parser.add_argument("--light", nargs="+", required=True)
    args = parser.parse_args()
    own = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(AnotherInstanceIsFound))
    fast, light = read(args.nm, args.fast), read(args.nm, args.light)
    faults = 0
    for file in args.linked:
        both, wrong = light_instances(read(args.nm, [file], "WtT"), fast, light)
        print(f"{file}: {len(both)} functions of fast and light modules, {len(wrong)} light ones kept")
        for name in wrong[:20]:
            print(f"  {name}")
        faults += len(wrong) + (len(both) < FEWEST)
    sys.exit(1 if faults or not own.wasSuccessful() else 0)


if __name__ == "__main__":
    main()
