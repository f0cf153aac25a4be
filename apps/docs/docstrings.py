"""Docstrings as reStructuredText: plain text with `code`, indented lines that keep their layout, and the sections of numpydoc.

Sphinx's napoleon comes after this and makes lists of the sections. Only what is no markup is escaped here.
"""

import re

# Sections whose entries are "name : type" or a type alone, each with an indented text below it.
OF_ENTRIES = ("Parameters", "Other Parameters", "Attributes", "Methods", "Returns", "Yields", "Raises", "Warns")
OF_TEXT = ("Notes", "Examples", "See Also", "References", "Warnings")


def adapt(app, what, name, thing, options, lines):
    """For autodoc: changes `lines` in place."""
    lines[:] = converted(lines)


def converted(lines):
    """A whole docstring: its text, then its sections."""
    out = []
    for title, body in sections(lines):
        if title:
            out += [title, "-" * len(title)]
        out += entries(body) if title in OF_ENTRIES else restructured(body)
    return out


def sections(lines):
    """[(title, lines)]; the text before the first section has the title ""."""
    found = [("", [])]
    at = 0
    while at < len(lines):
        underlined = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip())
        if lines[at] in OF_ENTRIES + OF_TEXT and underlined:
            found.append((lines[at], []))
            at += 2
        else:
            found[-1][1].append(lines[at])
            at += 1
    return found


def entries(lines):
    """The entries of a section, each with its text."""
    out, text = [], []

    def end_text():
        depth = min((len(line) - len(line.lstrip()) for line in text if line.strip()), default=0)
        out.extend("    " + line if line else "" for line in restructured([line[depth:] for line in text]))
        text.clear()

    for line in lines:
        if line.strip() and not line.startswith(" "):
            end_text()
            name, colon, kind = line.partition(" : ")
            out.append(name + colon + escaped(kind))
        else:
            text.append(line)
    end_text()
    return out


def restructured(lines):
    """Indented runs become literal blocks, and what is no code is escaped. The further lines of a list's entry stay with it, and
    the answers below an example (">>> ") with the example."""
    joined = re.sub(r"`([^`\n]+)\n *([^` \n][^`\n]*)`", r"`\1 \2`", "\n".join(lines))  # code that goes on in the next line
    out, literal, in_list, in_example = [], False, False, False
    for line in joined.split("\n"):
        if not line.strip():
            in_example = False
            out.append("")
            continue
        if line.startswith(">>>") and not in_example:
            in_example, literal = True, False
            out.append("")
        if in_example:
            out.append(line)
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
    """A line with `code` as reStructuredText writes it, and every other letter as itself. "C." at its beginning begins no list."""
    parts = re.split(r"`([^`]+)`", line)
    text = "".join(f"``{part}``" if at % 2 else re.sub(r"([\\*_|`])", r"\\\1", part) for at, part in enumerate(parts))
    return re.sub(r"^(?=\(?[A-Za-z][.)](?:\s|$))", r"\\", text)
