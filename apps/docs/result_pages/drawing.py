"""One figure for each page on results. Its file says which files it was drawn from, by their SHA-256."""

import hashlib
import io

import figures_decodability
import figures_heads
import figures_networks
import figures_theory
from recorded import ROOT
from headway.figures import style

# {name of a page: (what draws its figure, the files of data that it is drawn from)}
FIGURES = {**figures_networks.FIGURES, **figures_heads.FIGURES,
           **figures_decodability.FIGURES, **figures_theory.FIGURES}
FOLDER = ROOT / "data/figures"


def file_of(name):
    return FOLDER / f"results-{name}.png"


def digest(sources):
    """The SHA-256 of the files that a figure is drawn from."""
    return hashlib.sha256(b"".join((ROOT / "data" / source).read_bytes() for source in sources)).hexdigest()


def draw(names=()):
    """Draws the figures with these names, or all; gives the files."""
    unknown = set(names) - set(FIGURES)
    if unknown:
        raise SystemExit(f"no figure {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}")
    files = []
    for name in names or FIGURES:
        make, sources = FIGURES[name]
        buffer = io.BytesIO()
        with style.applied():
            make().savefig(buffer, format="png", metadata={"Software": None, "Source": digest(sources)})
        file_of(name).write_bytes(buffer.getvalue())
        files.append(file_of(name))
    return files
