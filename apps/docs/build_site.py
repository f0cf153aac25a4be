"""Builds the site of the documentation: python3 build_site.py --program build/release/bin/headway --output FOLDER.

Its pages are the documents of the tree, in the same places, and pages that are made: the commands from --help, Python from
docstrings (Sphinx), C++ from the headers (Doxygen), notebooks with their outputs, a gallery of every figure. Warnings are
errors, and so are links that lead nowhere.
"""

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = SOURCE / "apps/python"
LIVE = SOURCE / "apps/live"
sys.path[:0] = [str(PACKAGE), str(LIVE)]
# What the documents are, and what they link to.
TREE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff", "apps", "data", "include", "src")
CPP = """# C++ reference

```{raw} html
<p>Made from the headers by Doxygen: <a href="../cpp/index.html">start</a>,
<a href="../cpp/annotated.html">classes</a>, <a href="../cpp/namespaces.html">namespaces</a>,
<a href="../cpp/files.html">files</a>.</p>
```

[The library](../src/README.md) says how it is laid out, how to call it and how to add to it.
"""


LIVE_PAGE = """# Play with the theory

```{raw} html
<p><strong><a href="live/index.html">Open the live page.</a></strong> The hidden-Markov study of the README, with sliders for
width, temperature and examples, and a switch for each head. Every move solves the theory anew, in your browser.</p>
```

[About it](apps/live/README.md): what it shows, and how it is made.
"""


def missing():
    """The tools of the site that are not installed."""
    modules = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]
    import assets
    return modules + ["doxygen"] * (shutil.which("doxygen") is None) + assets.missing()


def lay_out(pages, results, program, figures):
    """The sources of the site: links into the tree, and pages that are made."""
    import gallery
    import notebook_pages
    import reference

    shutil.rmtree(pages, ignore_errors=True)
    pages.mkdir(parents=True)
    for name in TREE:
        (pages / name).symlink_to(SOURCE / name)
    (pages / "notebooks").mkdir()
    notebooks = sorted((SOURCE / "notebooks").glob("*.ipynb"))
    for notebook in notebooks:
        (pages / "notebooks" / notebook.name).symlink_to(notebook)
        text = notebook_pages.page(notebook, pages / "notebooks/pictures")
        (pages / "notebooks" / f"{notebook.stem}.md").write_text(text, encoding="utf-8")
    made = {"notebooks/index.md": notebook_pages.index(notebooks), "reference/commands.md": reference.commands(program, PACKAGE),
            "reference/python.rst": reference.python(), "reference/cpp.md": CPP}
    gallery.compute(results, program, quick=figures == "quick")
    made["gallery.md"] = gallery.page(gallery.draw(results, pages / "gallery", quick=figures == "quick"))
    (pages / "reference").mkdir()
    for name, text in made.items():
        (pages / name).write_text(text, encoding="utf-8")


def add_live_page(pages, target):
    """The live page, and the page that leads to it; both are left out where its compiler is missing."""
    import live_page

    if live_page.missing():
        print(f"the site has no live page: {', '.join(live_page.missing())} missing")
        return
    work = Path(os.environ.get("HEADWAY_LIVE") or target.parents[1] / "live") / "work"
    live_page.build(target, work.resolve())
    (pages / "live.md").write_text(LIVE_PAGE, encoding="utf-8")


def without_dead_links(folder):
    """Removes two kinds of dead links that Doxygen makes: to lists of nested classes, which do not exist for private ones, and to
    places of specialised templates."""
    for page in folder.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        mended = re.sub(r'(href="(namespace\w+)\.html)#\2"', r'\1"', text)
        if 'name="nested-classes"' not in text:
            mended = re.sub(r'<a href="#nested-classes">Classes</a>( &#124;)?', "", mended)
        if mended != text:
            page.write_text(mended, encoding="utf-8")


def build(output, program, figures):
    from headway.version import __version__
    import assets
    import check_links

    extra, static, site = output / "extra", output / "static", output / "site"
    for folder in (extra, static, site):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    lay_out(output / "pages", output / "results", program, figures)
    add_live_page(output / "pages", extra / "live")
    assets.copy_mathjax(static / "mathjax")
    here = SOURCE / "apps/docs"
    environment = os.environ | {"HEADWAY_DOCS_OUTPUT": str(extra), "HEADWAY_DOCS_EXTRA": str(extra),
                                "HEADWAY_DOCS_STATIC": str(static), "HEADWAY_VERSION": __version__, "PYTHONPATH": f"{PACKAGE}:{here}"}
    subprocess.run(["doxygen", here / "Doxyfile"], cwd=SOURCE, env=environment, check=True)
    without_dead_links(extra / "cpp")
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", here, "-d", output / "cache",
                    output / "pages", site], env=environment, check=True)
    assets.mend_furo(site / "_static")
    (site / "index.html").write_text('<!DOCTYPE html>\n<meta charset="utf-8"><title>Headway</title>\n'
                                     '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">Headway</a>\n',
                                     encoding="utf-8")
    return check_links.main(site)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--program", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--figures", choices=("all", "quick"), default="all",
                        help="quick: the gallery has pictures of what takes seconds to compute")
    options = parser.parse_args()
    if missing():
        print(f"the site is not built: {', '.join(missing())} missing (apps/setup/dependencies.sh with DOCS=on installs them)")
        return 77
    try:
        faults = build(options.output.resolve(), options.program.resolve(), options.figures)
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))} ended with {error.returncode}")
        return 1
    print(options.output / "site/index.html")
    return faults


if __name__ == "__main__":
    sys.exit(main())
