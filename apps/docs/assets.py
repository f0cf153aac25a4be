"""What pages load beside their text: MathJax from the system, and furo as Debian 12 and Ubuntu 24.04 ship it, mended.

Pages are read from files, without a server or a network, so everything lies in the site and no address begins with "/".
"""

import shutil
from pathlib import Path

MATHJAX = Path("/usr/share/javascript/mathjax")
NORMALIZE = Path("/usr/share/javascript/normalize.css/normalize.css")
# TeX in, SVG out. Fonts for other outputs are 20 MB; and browsers refuse font files to a page that is a file itself.
MATHJAX_PARTS = ("MathJax.js", "config/TeX-AMS_SVG.js", "extensions", "jax/element", "jax/input/TeX", "jax/output/SVG/*.js",
                 "jax/output/SVG/autoload", "jax/output/SVG/fonts/TeX", "localization/en")


def missing():
    return ["libjs-mathjax"] * (not (MATHJAX / "MathJax.js").exists())


def copy_mathjax(folder):
    for part in MATHJAX_PARTS:
        for source in sorted(MATHJAX.glob(part)):
            target = folder / source.relative_to(MATHJAX)
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)


def mend_furo(static):
    """Debian ships furo's sources in place of its bundle: a script that imports another one as a module, and a style sheet that
    imports one from a server's root. A furo from elsewhere stays as it is."""
    script = static / "scripts/furo.js"
    text = script.read_text(encoding="utf-8")
    wanted = 'import Gumshoe from "./gumshoe-patched.js";'
    if wanted in text:
        gumshoe = script.with_name("gumshoe-patched.js").read_text(encoding="utf-8")
        own = text.replace(wanted, "")
        script.write_text(f"{gumshoe}\n(() => {{\n{own}\n}})();\n", encoding="utf-8")
    style = static / "styles/furo.css"
    text = style.read_text(encoding="utf-8")
    wanted = "url(/javascript/normalize.css/normalize.css)"
    if wanted in text:
        shutil.copyfile(NORMALIZE, style.with_name("normalize.css"))
        style.write_text(text.replace(wanted, "url(normalize.css)"), encoding="utf-8")
