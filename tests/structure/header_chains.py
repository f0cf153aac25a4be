"""Writes source files that include every public header as if it were alone, and prints their paths, with semicolons between.

    python3 header_chains.py INCLUDE_DIR OUTPUT_DIR

A header may follow another in one file if it includes that one anyway, directly or through others. Then it sees nothing that
it would not see alone. So a file has a chain of headers, each of which includes the one before it. There are as few chains as
possible, since a compiler reads the headers of each anew.
"""

import pathlib
import re
import sys


def included_by(folder):
    """{header: the headers of the folder that it includes, directly or through others}."""
    direct = {str(path.relative_to(folder)): set(re.findall(r'^\s*#\s*include\s*"([^"]+)"', path.read_text(encoding="utf-8"), re.M))
              for path in sorted(folder.rglob("*.hpp"))}
    found = {}
    for header in direct:
        reached, ahead = set(), [header]
        while ahead:
            new = (direct[ahead.pop()] & direct.keys()) - reached
            reached |= new
            ahead += new
        found[header] = reached - {header}
    return found


def chains_of(included):
    """The fewest chains: a largest matching of headers with the next in their chain (Dilworth 1950)."""
    before = {}

    def matched(header, seen):
        for follower in included:
            if header in included[follower] and follower not in included[header] and follower not in seen:
                seen.add(follower)
                if follower not in before or matched(before[follower], seen):
                    before[follower] = header
                    return True
        return False

    for header in included:
        matched(header, set())
    after = {first: second for second, first in before.items()}
    chains = []
    for header in included:
        if header not in before:
            chain = [header]
            while chain[-1] in after:
                chain.append(after[chain[-1]])
            chains.append(chain)
    return chains


def main():
    folder, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    names = []
    for chain in chains_of(included_by(folder)):
        file = output / (chain[-1].replace("/", "_") + ".cpp")
        text = "".join(f'#include "{header}"\n' for header in chain)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
        names.append(str(file))
    print(";".join(names), end="")


if __name__ == "__main__":
    main()
