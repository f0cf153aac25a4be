"""What the tests of the page of results share: results to show, a reader of pages, and pages without pictures."""

import json
import re
import tempfile
import unittest
import unittest.mock
from html.parser import HTMLParser
from pathlib import Path

import h5py
import numpy as np

from headway.report import read_any
from headway.report.page import page
from synthetic_results import Task, add_network, write_result
from training_result_test import write_training_result

SMALL = Task(train=24, test=40, tokens=6, features=10)
ONE_HEAD = Task(train=16, test=20, tokens=5, features=8, heads=(("same_token",),))
FOLDER = tempfile.TemporaryDirectory()
EVIL = '</script><script>alert("1")</script><img src="http://evil.example/x.png" onerror=alert(2)>'


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)


def _write(name, path):
    if name in ("solve", "align", "prune", "sample"):
        write_result(path, name, SMALL, widths=(10, 100), temperatures=(0.01, 0.1), corrections=name == "solve")
    if name == "prune":
        add_network(path)
    if name == "one-head":
        write_result(path, "solve", ONE_HEAD, widths=(10,), study="one head")
    if name == "train":
        write_training_result(path)
    if name == "other":
        with h5py.File(path, "w") as file:
            file.attrs.update({"schema_name": "headway-result", "schema_version": [1, 0],
                               "kind": "dreams", "study": "to come", "command": "headway dreams"})
            file["runs/0/codes"] = np.zeros((5, 3))
            file["runs/0/codes"].attrs["meaning"] = EVIL


def place(name) -> Path:
    """The file of that name. The results named above are written when they are first asked for."""
    path = Path(FOLDER.name) / f"{name}.h5"
    if not path.exists():
        _write(name, path)
    return path


class Reader(HTMLParser):
    """Elements with their attributes; tables by caption; text of the scripts and styles left out."""

    VOID = {"meta", "link", "input", "br", "img"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.stack, self.tables, self.texts = [], [], {}, []
        self.rows, self.caption = [], ""
        self.feed(text)
        assert not self.stack, f"never closed: {self.stack}"

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.stack.append(tag)
        if tag == "table":
            self.rows, self.caption = [], ""
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        opened = self.stack.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"
        if tag == "table":
            self.tables.setdefault(self.caption, []).append(self.rows)

    def handle_data(self, data):
        if not {"script", "style"} & set(self.stack):
            self.texts.append(data)
        if "caption" in self.stack:
            self.caption += data
        elif {"td", "th"} & set(self.stack):
            self.rows[-1][-1] += data

    def all(self, tag, **attributes):
        return [found for name, found in self.elements if name == tag
                and all(found.get(key) == value for key, value in attributes.items())]


def made(*names, labels=None):
    text = page([read_any(place(name)) for name in names], labels)
    return text, Reader(text)


class WithoutPictures(unittest.TestCase):
    """Tests of what stands beside the pictures of a page. They draw none, which would take most of the time."""

    def setUp(self):
        patch = unittest.mock.patch("headway.report.drawings.themed_svg", lambda figure, prefix, label: f'<svg id="{prefix}-drawn"></svg>')
        patch.start()
        self.addCleanup(patch.stop)


def embedded(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.DOTALL)[1])
