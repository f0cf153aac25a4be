"""Sphinx's settings. build_site.py lays out the pages and calls Sphinx; links between documents are those of the tree."""

import os
import re
from pathlib import Path

from docutils import nodes

import docstrings
from headway.version import __version__

project = "Headway"
author = copyright = "Headway contributors"
version = release = __version__
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
include_patterns = ["**.md", "**.rst"]
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_update_mathjax = False  # it knows MathJax 3, and Debian has 2.7
mathjax_path = "mathjax/MathJax.js?config=TeX-AMS_SVG"
mathjax2_config = {
    "messageStyle": "none",
    "fast-preview": {"disabled": True},
    "tex2jax": {"inlineMath": [["\\(", "\\)"]], "displayMath": [["\\[", "\\]"]],
                "ignoreClass": "page", "processClass": "math"},  # furo's whole page has the first, Sphinx's formulas the second
    "SVG": {"linebreaks": {"automatic": True}},  # for formulas in a line of text; numbered equations scroll
    # A wrong formula shows its error in place of its source; the browser test looks for them.
    "TeX": {"noErrors": {"disabled": True}, "noUndefined": {"disabled": True}},
}
autodoc_mock_imports = ["torch"]  # only some functions need it, and only when they run
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_custom_sections = [("Attributes", "params_style")]  # a list, like parameters
html_theme = "furo"
html_title = f"Headway {release}"
html_static_path = [str(Path(__file__).with_name("static")), os.environ["HEADWAY_DOCS_STATIC"]]
html_css_files, html_js_files = ["site.css"], ["formulas.js"]
html_extra_path = [os.environ["HEADWAY_DOCS_EXTRA"]]  # what Doxygen made
html_copy_source = False
html_show_search_summary = False  # pages are read from files, and browsers let no script read another file
smartquotes = False  # quotes are those of the program and of Python
pygments_style, pygments_dark_style = "friendly", "monokai"

# The navigation, in the order in which a new user needs it. A line with "*" stands for the further pages of that folder.
PARTS = (
    ("Start", ("Which command answers my question? <apps/docs/questions>", "Play with the theory <live>",
               "About the live page <apps/live/README>", "Gallery of figures <gallery>", "Installing <apps/docs/installing>")),
    ("Tutorials", ("Overview <apps/docs/tutorial/README>", "apps/docs/tutorial/*", "Notebooks <notebooks/index>")),
    ("Tasks", ("What can be learned <src/tasks/README>", "Studies <data/studies/README>", "Characters <data/omniglot/README>",
               "Digits <data/digits/README>", "Published curves <data/curves/README>")),
    ("The program", ("Using it <apps/cli/README>", "Every option <reference/commands>", "GPUs <apps/docs/gpu>",
                     "Files <src/io/README>")),
    ("Python", ("Using it <apps/python/README>", "Every function <reference/python>")),
    ("Theory", ("From weights to U <src/theory/README>", "What heads are worth <src/theory/heads>",
                "Learned attention, value networks <src/theory/value-networks>", "Numerics <src/theory/numerics>",
                "Training <src/training/README>")),
    ("Results", ("All experiments <data/results/README>", "Reference posteriors <apps/posteriors/README>")),
    ("Words", ("Glossary <apps/docs/glossary>",)),
    ("Developers", ("The library <src/README>", "C++ reference <reference/cpp>", "Speed <apps/benchmarks/README>",
                    "CONTRIBUTING", "CHANGELOG")),
)


def navigation(pages):
    """The tables of contents that go below the README; `pages`: the folder of all pages."""
    text = ""
    for caption, entries in PARTS:
        lines = []
        for entry in entries:
            name = re.sub(r".*<(.*)>", r"\1", entry)
            if name.endswith("/*"):
                lines += [f"{name[:-1]}{page}" for page in pages_beside(pages / name[:-2])]
            elif any((pages / f"{name}{suffix}").exists() for suffix in (".md", ".rst")):
                lines.append(entry)
        text += contents(f":caption: {caption}\n", lines)
    return text


def contents(options, pages):
    """A table of contents that only the navigation shows."""
    return "\n\n```{toctree}\n:hidden:\n" + options + "\n".join(pages) + "\n```\n" if pages else ""


def pages_beside(folder):
    """Names of the pages of a folder, without its README: those that the README links to in its order, then the others by name."""
    names = sorted(path.stem for path in folder.glob("*.md") if path.stem != "README")
    index = folder / "README.md"
    linked = re.findall(r"\]\(([\w-]+)\.md", index.read_text(encoding="utf-8")) if index.exists() else []
    return sorted(names, key=lambda name: linked.index(name) if name in linked else len(linked))


def adapt(app, docname, source):
    """The tree of pages goes below the README. Notebooks have pages. A folder has none, so a link to it shows its name."""
    text = source[0]
    if docname == root_doc:
        text += navigation(Path(app.srcdir))
    if docname == "data/results/README":  # experiments go below their table
        text += contents("", pages_beside(Path(app.srcdir) / "data/results"))
    text = re.sub(r"(\]\((?:[\w./-]*/)?[\w-]+)\.ipynb\)", r"\1.md)", text)
    folder = Path(app.env.doc2path(docname)).parent
    source[0] = re.sub(r"\[([^][]+)\]\(([\w./-]+)\)",
                       lambda link: link[1] if (folder / link[2]).is_dir() else link[0], text)


def number_equations(app, doctree):
    """Formulas keep their \\tag{n}, which text and code cite, and get the anchor eq-n. Sphinx would put formulas of several
    lines into an environment that forbids tags."""
    for block in doctree.findall(nodes.math_block):
        text = block.astext()
        block["ids"] += [f"eq-{number}" for number in re.findall(r"\\tag\{(\w+)\}", text)]
        if not block["nowrap"]:
            block["nowrap"] = True
            block.children = [nodes.Text(f"\\[{text.strip()}\\]")]


def setup(app):
    app.connect("source-read", adapt)
    app.connect("doctree-read", number_equations)
    app.connect("autodoc-process-docstring", docstrings.adapt, priority=400)  # before napoleon
