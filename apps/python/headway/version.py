"""The version of Headway. It stands in src/version.txt, of which `version.txt` here is a link or an installed copy."""

from pathlib import Path

__version__ = Path(__file__).with_name("version.txt").read_text().strip()
