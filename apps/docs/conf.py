"""Sphinx's settings. build_site.py lays out the pages and calls Sphinx; links between documents are those of the tree."""

import os
import re
from pathlib import Path

import docstrings
from headway.version import __version__

project = "Headway"
author = copyright = "Headway contributors"
version = release = __version__
root_doc = "README"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
include_patterns = ["**.md", "**.rst"]
myst_heading_anchors = 4
autodoc_mock_imports = ["torch"]  # which only some functions need, when they run
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
html_theme = "furo"
html_title = f"Headway {release}"
html_extra_path = [os.environ["HEADWAY_DOCS_EXTRA"]]  # what Doxygen made
html_copy_source = False
pygments_style, pygments_dark_style = "friendly", "monokai"

TREE = """

```{toctree}
:hidden:
:caption: Using it
apps/cli/README
apps/python/README
data/studies/README
gallery
data/results/README
notebooks/index
```

```{toctree}
:hidden:
:caption: Reference
reference/commands
reference/python
reference/cpp
src/io/README
```

```{toctree}
:hidden:
:caption: How it works
src/theory/README
src/tasks/README
src/training/README
src/README
apps/benchmarks/README
```

```{toctree}
:hidden:
:caption: The project
CHANGELOG
CONTRIBUTING
data/omniglot/README
data/digits/README
```
"""

RESULTS = """

```{toctree}
:hidden:
PAGES
```
"""


def adapt(app, docname, source):
    """The tree of pages goes below the README, the experiments below their table. Notebooks have pages. A folder has none,
    so a link to it shows its name."""
    text = source[0]
    if docname == root_doc:
        text += TREE
    if docname == "data/results/README":
        text += RESULTS.replace("PAGES", "\n".join(re.findall(r"\[page\]\(([\w-]+)\.md\)", text)))
    text = re.sub(r"(\]\((?:[\w./-]*/)?[\w-]+)\.ipynb\)", r"\1.md)", text)
    folder = Path(app.env.doc2path(docname)).parent
    source[0] = re.sub(r"\[([^][]+)\]\(([\w./-]+)\)",
                       lambda link: link[1] if (folder / link[2]).is_dir() else link[0], text)


def setup(app):
    app.connect("source-read", adapt)
    app.connect("autodoc-process-docstring", docstrings.adapt)
