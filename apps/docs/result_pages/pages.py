"""Tables between marks, and numbers in sentences, of the pages in data: are they what the files say?

A table stands between `<!-- table: NAME -->` and `<!-- end -->`. A sentence is found by its words. Each `{}` in them stands
for a number that is computed. Line breaks do not matter.
"""

import re

from recorded import ROOT

import codes
import compositions
import curves
import decodability_tables
import fuzzy_logic
import hidden_markov
import hyla_kernel
import learned
import one_shot
import overview
import panels
import posteriors
import pretrained
import ranking
import removal
import sraven
import texts
import training_speed
import transition
import validity
import value_validity

PARTS = (overview, panels, hidden_markov, posteriors, one_shot, fuzzy_logic, sraven, codes, decodability_tables, removal, hyla_kernel, pretrained,
         ranking, learned, transition, texts, training_speed, validity, value_validity, curves, compositions)
TABLES = {name: make for part in PARTS for name, make in part.TABLES.items()}
SENTENCES = [sentence for part in PARTS for sentence in part.SENTENCES]

BLOCK = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
NUMBER = r"(-?[\d.,]*\d(?:\s+\+-\s+[\d.]*\d)?)"


def documents():
    """{path below the root: text} of all pages that may have tables or such sentences."""
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
            for folder in ("data/results", "data/studies", "apps/benchmarks") for path in sorted((ROOT / folder).glob("*.md"))}


def path_of(page):
    """Pages are named as seen from data."""
    return page.removeprefix("../") if page.startswith("../") else f"data/{page}"


def markdown(rows):
    header, *body = [[str(cell) for cell in row] for row in rows]
    if any(len(row) != len(header) for row in body):
        raise ValueError(f"rows of other lengths than {header}")
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, *body)).replace(
        "\n", f"\n|{'---|' * len(header)}\n", 1).replace("|  |", "| |").replace("|  |", "| |")


def pattern_of(words):
    """A regular expression for a sentence: its words with any white space between them, and a group for each number."""
    parts = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in words.split("{}")]
    return re.compile(NUMBER.join(parts))


def with_numbers(text, words, numbers):
    """`text` with these numbers in the sentence; LookupError where it is not there exactly once."""
    found = list(pattern_of(words).finditer(text))
    if len(found) != 1:
        raise LookupError(f"{len(found)} sentences with these words, not one: {words}")
    (match,) = found
    if match.re.groups != len(numbers):
        raise ValueError(f"{len(numbers)} numbers for {match.re.groups} places: {words}")
    for group in range(len(numbers), 0, -1):
        if match[group].split() == numbers[group - 1].split():  # the same, even if it is broken over two lines
            continue
        text = text[:match.start(group)] + numbers[group - 1] + text[match.end(group):]
    return text


def renewed(name, text, faults):
    """The page as the files say; what cannot be made is added to `faults`."""
    unknown = [found for found in BLOCK.findall(text) if found[1] not in TABLES]
    faults += [f"{name}: nothing makes the table {found[1]}" for found in unknown]
    text = BLOCK.sub(lambda found: found[1] + markdown(TABLES[found[2]]()) + found[4] if found[2] in TABLES else found[0],
                     text)
    for page, words, numbers in SENTENCES:
        if name == path_of(page):
            try:
                text = with_numbers(text, words, numbers())
            except LookupError as error:
                faults.append(f"{name}: {error}")
    return text


def check(pages=None):
    """({path: page as the files say} of those that differ, faults)."""
    pages = documents() if pages is None else pages
    faults, differing = [], {}
    for name, text in pages.items():
        new = renewed(name, text, faults)
        if new != text:
            differing[name] = new
            old_lines = set(text.splitlines())
            faults += [f"{name}: should be: {line}" for line in new.splitlines() if line not in old_lines]
    used = {found[1] for text in pages.values() for found in BLOCK.findall(text)}
    faults += [f"no page shows the table {table}" for table in TABLES if table not in used]
    faults += [f"{path_of(page)}: there is no such page" for page, _, _ in SENTENCES if path_of(page) not in pages]
    return differing, faults
