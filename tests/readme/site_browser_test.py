"""Every page of the site in a browser, at the width of a desktop and of a phone: nothing is complained of, no file is missing,
nothing comes from elsewhere, formulas are typeset and fit, and no page is wider than its window.

HEADWAY_SITE: the folder of a built site.
"""

import json
import os
import re
import sys
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
from browser import Browser, executable  # noqa: E402

DESKTOP, PHONE = (1280, 900), (390, 844)
BROWSERS = 2
RELAYOUT = 0.3  # seconds after which formulas are laid out again for another width
# What a page is like when its formulas are typeset. Text that is no code must hold no command of LaTeX.
LOOK = r"""(async () => {
  if (window.MathJax && MathJax.Hub) await new Promise(done => MathJax.Hub.Queue(() => done()));
  const all = (selector) => [...document.querySelectorAll(selector)];
  const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const raw = [];
  for (let node = text.nextNode(); node; node = text.nextNode()) {
    if (node.parentElement.closest("script, style, pre, code, .highlight, .fragment")) continue;
    if (/\$\$|\\(frac|sum|begin|tag|mathrm|pi|sqrt|left|\(|\[)/.test(node.data)) raw.push(node.data.trim().slice(0, 80));
  }
  return {
    raw, wrong: all(".merror, .MathJax_Error").map(one => one.textContent),
    formulas: all(".math").length, typeset: all(".math .MathJax_SVG").length,
    tags: all("[id^=mjx-eqn-]").map(one => one.id.slice(8)),
    scrolled: all(".math-wrapper").filter(one => one.scrollWidth > one.clientWidth + 1)
      .map(one => `${one.id || "a formula"}: ${one.scrollWidth} in ${one.clientWidth}`),
  };
})()"""
# Puts the contents of another page below the menu of Doxygen, and waits until its pictures are there or missing.
REPLACE = """(async () => {
  const menu = document.getElementById("main-nav"), top = document.getElementById("top");
  for (const one of [menu, top]) while (one.nextSibling) one.nextSibling.remove();
  const other = new DOMParser().parseFromString('<div id="top">' + CONTENTS, "text/html").body;
  top.append(...other.firstChild.childNodes);
  other.firstChild.remove();
  document.body.append(...other.childNodes);
  const pictures = [...document.querySelectorAll("img")].filter(one => !one.complete);
  await Promise.all(pictures.map(one => new Promise(done => { one.onload = one.onerror = done; })));
})()"""
# What is wider than the window, and what sticks out. Furo and Doxygen may let the whole text scroll sideways. That counts as a
# page that is too wide.
WIDTH = """(() => {
  const whole = [document.scrollingElement, ...document.querySelectorAll(".content, div.contents")];
  const room = document.documentElement.clientWidth;
  if (room <= WINDOW && whole.every(one => one.scrollWidth <= one.clientWidth)) return "";
  const apart = ".math-wrapper, .table-wrapper, pre, .fragment, .memproto, table.memberdecls, table.fieldtable, table.directory";
  const ends = [...document.body.querySelectorAll("*")].filter(one => one.getBoundingClientRect().right > WINDOW + 1)
    .filter(one => !one.parentElement.closest(apart)).slice(0, 3)
    .map(one => `${one.tagName.toLowerCase()}.${one.className} (${one.textContent.trim().slice(0, 40)})`);
  return `${Math.max(...whole.map(one => one.scrollWidth))} pixels: ${ends.join(", ")}`;
})()"""


def pages_of(site):
    """All pages, without the one that only leads to the first, and Doxygen's frames of search results for browsers without
    scripts."""
    return [path for path in sorted(site.rglob("*.html"))
            if path != site / "index.html" and path.parent != site / "cpp/search"]


def frame_and_contents(path):
    """What the pages of Doxygen in one folder share (head, scripts, menu), and what each has below; (None, None) of a page
    that is not by Doxygen, or whose contents have scripts."""
    frame, menu, contents = path.read_text(encoding="utf-8").partition('<div id="main-nav"></div>')
    if not menu or "<script" in contents:
        return None, None
    return (path.parent, re.sub("<title>.*?</title>", "", frame)), contents


class Visitor:
    """Goes from page to page in one tab."""

    def __init__(self, browser, first):
        self.browser, self.page = browser, browser.open(first)
        self.page.call("Accessibility.disable")  # it takes a quarter of the time
        self.requests, self.frame = [], None

    def go_to(self, path):
        """Loads a page. If the page before has the same frame, only the contents are loaded, in a quarter of the time."""
        frame, contents = frame_and_contents(path)
        if frame is not None and frame == self.frame:
            self.page.run(REPLACE.replace("CONTENTS", json.dumps(contents)))
            return
        self.frame = frame
        self.page.call("Page.navigate", url=path.as_uri())
        self.browser.wait_for("Page.loadEventFired")

    def visit(self, path):
        """What is wrong with a page, and what LOOK says of it."""
        self.browser.events.clear()
        self.page.size(*DESKTOP)
        self.go_to(path)
        seen = self.page.run(LOOK)
        faults = [f"shows LaTeX: {text}" for text in seen["raw"]]
        faults += [f"wrong formula: {text}" for text in seen["wrong"]]
        if seen["formulas"] != seen["typeset"]:
            faults.append(f"{seen['typeset']} of {seen['formulas']} formulas are typeset")
        faults += [f"scrolls at {DESKTOP[0]} pixels: {text}" for text in seen["scrolled"]]
        faults += self.too_wide(DESKTOP[0])
        self.page.size(*PHONE, phone=True)
        if seen["formulas"]:
            time.sleep(RELAYOUT)
            self.page.run(LOOK)
        faults += self.too_wide(PHONE[0])
        faults += [f"complains: {text}" for text in self.page.complaints()]
        faults += [f"does not load: {text}" for text in self.page.failures()]
        asked = self.page.requests()
        self.requests += asked
        return faults + [f"loads from elsewhere: {url}" for url in asked if not url.startswith("file:")], seen

    def too_wide(self, window):
        found = self.page.run(WIDTH.replace("WINDOW", str(window)))
        return [f"is too wide for {window} pixels: {found}"] if found else []


def visit_all(pages):
    """{page: (faults, what LOOK says)}, by some browsers at once."""
    def part(number):
        with Browser() as browser:
            visitor = Visitor(browser, pages[number])
            return {path: visitor.visit(path) for path in pages[number::BROWSERS]}

    with ThreadPoolExecutor(BROWSERS) as pool:
        return {path: seen for found in pool.map(part, range(min(BROWSERS, len(pages)))) for path, seen in found.items()}


@unittest.skipIf(executable() is None, "no browser: HEADWAY_CHROMIUM, chromium or google-chrome")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Path(os.environ["HEADWAY_SITE"]).resolve()
        if not (cls.site / "README.html").exists():
            raise unittest.SkipTest(f"{cls.site} has no site: what builds it is missing")
        cls.seen = visit_all(pages_of(cls.site))

    def test_no_page_has_a_fault(self):
        faults = [f"{path.relative_to(self.site)} {text}" for path, (found, _) in self.seen.items() for text in found]
        self.assertFalse(faults, "\n" + "\n".join(sorted(faults)))

    def test_every_part_was_visited(self):
        for name in ("README.html", "src/theory/README.html", "notebooks/hidden_markov_study.html", "reference/python.html",
                     "cpp/namespaceheadway_1_1theory.html", "apps/docs/glossary.html", "search.html", "genindex.html"):
            self.assertIn(self.site / name, self.seen)

    def test_search_finds_pages_without_a_server(self):
        with Browser() as browser:
            page = browser.open(self.site / "search.html")
            page.call("Page.navigate", url=(self.site / "search.html").as_uri() + "?q=evidence")
            browser.wait_for("Page.loadEventFired")
            page.wait(lambda: "search query" in page.run("document.getElementById('search-results')?.innerText ?? ''"))
            found = page.run("[...document.querySelectorAll('#search-results li a')].map(one => one.href)")
            self.assertTrue(any("src/theory/README.html" in link for link in found), found)
            self.assertEqual(page.complaints() + page.failures(), [])

    def test_formulas_are_where_they_should_be(self):
        for name in ("notebooks/hidden_markov_study.html",):
            self.assertGreater(self.seen[self.site / name][1]["typeset"], 5, name)


@unittest.skipIf(executable() is None, "no browser: HEADWAY_CHROMIUM, chromium or google-chrome")
class BrokenPages(unittest.TestCase):
    """Each fault on a page that has it, so that no check passes because it looks at nothing."""

    PAGES = {
        "complains": "<script>undefined.thing</script>",
        "does not load": '<link rel="stylesheet" href="/gone.css">',
        "loads from elsewhere": '<img src="http://127.0.0.1:9/a.png">',
        "is too wide for 1280 pixels": '<div style="width: 1300px">a</div>',
        "is too wide for 390 pixels": '<div class="content" style="overflow: auto"><div style="width: 400px">a</div></div>',
        "shows LaTeX": r"<p>The sum \(\sum_k x_k\)</p>",
        "scrolls at 1280 pixels": '<div class="math-wrapper" style="overflow: auto"><div style="width: 1300px">a</div></div>',
        "0 of 1 formulas are typeset": '<div class="math">x</div>',
        "wrong formula": '<span class="merror">x</span>'}

    def test_each_fault_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            names = {}
            for number, (fault, body) in enumerate(self.PAGES.items()):
                path = Path(folder).resolve() / f"{number}.html"
                path.write_text(f'<!DOCTYPE html><meta name="viewport" content="width=device-width"><title>a</title>{body}')
                names[path] = fault
            sound = Path(folder).resolve() / "sound.html"
            sound.write_text('<!DOCTYPE html><meta name="viewport" content="width=device-width"><title>a</title><p>a</p>')
            seen = visit_all([*names, sound])
            for path, fault in names.items():
                self.assertTrue(any(text.startswith(fault) for text in seen[path][0]), (fault, seen[path]))
            self.assertEqual(seen[sound][0], [])


if __name__ == "__main__":
    unittest.main()
