"""Docstrings as reStructuredText: they are plain text with `code`, and indented lines keep their layout."""

import re


def adapt(app, what, name, thing, options, lines):
    """For autodoc: changes `lines` in place."""
    lines[:] = restructured(lines)


def restructured(lines):
    """Indented runs become literal blocks, what is no code is escaped. Lines of a list that go on stay with it."""
    joined = re.sub(r"`([^`\n]+)\n([^` \n][^`\n]*)`", r"`\1 \2`", "\n".join(lines))  # code that goes on in the next line
    out, literal, in_list = [], False, False
    for line in joined.split("\n"):
        if not line.strip():
            out.append("")
            continue
        indented = line.startswith(" ") and not in_list
        if not line.startswith(" "):
            in_list = line.startswith("- ")
        if indented and not literal:
            out += ["", "::", ""]
        elif literal and not indented:
            out.append("")
        literal = indented
        out.append("  " + line if indented else escaped(line))
    return [*out, ""]


def escaped(line):
    """`code` as reStructuredText writes it, and every other letter as itself."""
    parts = re.split(r"`([^`]+)`", line)
    return "".join(f"``{part}``" if at % 2 else re.sub(r"([\\*_|`])", r"\\\1", part) for at, part in enumerate(parts))
