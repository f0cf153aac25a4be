"""Follows every link of a built site: python3 check_links.py FOLDER. Exits with 1 and a line for each that leads nowhere.

Links to other sites are not followed: the site is built and read without a network.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.places = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.places.update(attributes[name] for name in ("id", "name") if attributes.get(name))
        self.links += [attributes[name] for name in ("href", "src") if attributes.get(name)]


def faults_of(folder):
    """A line for each link that leads nowhere, and the number of links followed."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    faults, followed = [], 0
    for path, page in pages.items():
        for link in dict.fromkeys(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                faults.append(f"{path.relative_to(folder)}: {link}: there is no such file")
            elif target in pages and unquote(parts.fragment) not in pages[target].places:
                faults.append(f"{path.relative_to(folder)}: {link}: the page has no such place")
    return faults, followed


def main(folder):
    faults, followed = faults_of(Path(folder).resolve())
    print("\n".join(faults), end="\n" if faults else "")
    print(f"{followed} links, {len(faults)} of which lead nowhere")
    return 1 if faults or not followed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
