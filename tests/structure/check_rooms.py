"""Checks which room of the Python package may import which, and that no modules import each other.

    python3 check_rooms.py [--root DIR]      DIR: the tree to read, by default the one this file is in

A room is a folder of apps/python/headway. The docstring of its __init__.py has the sentence "It may import base and results."
Modules outside of the rooms are either what every room stands on (GROUND) or what stands on all rooms. An import inside a
function is there for a package that may be missing (DEFERRED). What only annotations need is not counted.
"""

import ast
import functools
import re
import unittest

from trees import MadeTree, RealTree, files_of, root_asked_for

PACKAGE = "apps/python/headway/"
#: Modules outside of the rooms that every room may import: they import no room.
GROUND = {"errors", "native", "version"}
#: Modules of our own that a function may import, and the package that they need.
DEFERRED = {"figures": "matplotlib", "report": "matplotlib", "heads.head_removal": "PyTorch", "heads.head_surgery": "PyTorch",
            "heads.network_blocks": "PyTorch", "heads.network_contributions": "PyTorch",
            "heads.ranking.ablation": "PyTorch", "heads.ranking.measuring": "PyTorch", "heads.ranking.removing": "PyTorch",
            "results.frames": "pandas", "results.sweep_arrays": "xarray", "results.xarray_export": "xarray"}


@functools.lru_cache(maxsize=2)
def modules_of(root):
    """{"results.table": its syntax tree} of the package; "results" for results/__init__.py."""
    found = {}
    for name in files_of(root):
        if name.startswith(PACKAGE) and name.endswith(".py"):
            dotted = name.removeprefix(PACKAGE).removesuffix(".py").replace("/", ".").removesuffix("__init__").removesuffix(".")
            found[dotted] = ast.parse((root / name).read_text(encoding="utf-8"))
    return found


def imports_of(tree, modules):
    """(modules imported at the top, modules imported inside functions)"""
    top, deferred = set(), set()

    def visit(node, found):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                continue
            names = []
            if isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "headway":
                base = child.module.removeprefix("headway").removeprefix(".")
                inside = [f"{base}.{alias.name}".removeprefix(".") for alias in child.names]
                names = [one if one in modules else base for one in inside]
            elif isinstance(child, ast.Import):
                names = [alias.name.removeprefix("headway.") for alias in child.names if alias.name.startswith("headway.")]
            found.update(names)
            visit(child, deferred if isinstance(child, (ast.FunctionDef, ast.Lambda)) else found)

    visit(tree, top)
    return top, deferred


def room_of(module, rooms):
    first = module.split(".")[0]
    return first if first in rooms else "ground" if first in GROUND else ""


def rooms_of(modules):
    """{room: rooms that it may import}, from the sentences of the rooms."""
    rooms = {}
    for name, tree in modules.items():
        if name and "." not in name and any(other.startswith(f"{name}.") for other in modules):
            said = re.search(r"It may import ([\w, ]+)\.", " ".join((ast.get_docstring(tree) or "").split()))
            rooms[name] = None if said is None else set(re.split(r", | and ", said[1])) - {"nothing"}
    return rooms


def room_faults(root):
    modules = modules_of(root)
    rooms = rooms_of(modules)
    faults = [f"{PACKAGE}{room}/__init__.py: does not say \"It may import ...\"" for room, known in rooms.items() if known is None]
    for name, tree in modules.items():
        here = room_of(name, rooms)
        top, deferred = imports_of(tree, modules)
        for other in sorted(top):
            there = room_of(other, rooms)
            allowed = {here, "ground"} | (set() if here == "ground" else rooms.get(here) or set()) if here else None
            if allowed is not None and there not in allowed:
                faults.append(f"{name}: imports {other}, and {here} may not import {there or 'what stands on all rooms'}")
        for other in sorted(deferred):
            if not any(other == known or other.startswith(f"{known}.") for known in DEFERRED):
                faults.append(f"{name}: imports {other} inside a function; allowed: at the top, or a module of DEFERRED")
    return faults


def circle_faults(root):
    """Modules whose imports at the top lead back to them."""
    modules = modules_of(root)
    graph = {name: imports_of(tree, modules)[0] & set(modules) for name, tree in modules.items()}
    faults, done = [], set()

    def visit(name, path):
        if name in path:
            faults.append(" imports ".join([*path[path.index(name):], name]))
        elif name not in done:
            for other in sorted(graph[name]):
                visit(other, [*path, name])
            done.add(name)

    for name in sorted(graph):
        visit(name, [])
    return faults


def needless_faults(root):
    """Rows of DEFERRED and GROUND that stand for no module."""
    modules = modules_of(root)
    return [f"check_rooms.py: there is no module {name}" for name in [*DEFERRED, *GROUND] if name not in modules]


class Rooms(RealTree):
    def test_there_are_rooms(self):
        self.assertGreater(len(rooms_of(modules_of(ROOT))), 5)

    def test_each_imports_what_it_may(self):
        self.check(room_faults(ROOT))

    def test_there_is_no_circle(self):
        self.check(circle_faults(ROOT))

    def test_the_lists_are_needed(self):
        self.check(needless_faults(ROOT))


class FaultsAreFound(MadeTree):
    TREE = {f"{PACKAGE}{name}": text for name, text in {
        "__init__.py": "from headway.api.a import f\n", "errors.py": "", "base/__init__.py": '"""It may import nothing."""\n',
        "base/b.py": "from headway.errors import E\n", "api/__init__.py": '"""Functions.\n\nIt may import base\nand results."""\n',
        "api/a.py": "from headway.base import b\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from headway.api import c\n",
        "api/c.py": "from headway.api.a import f\n", "results/__init__.py": '"""It may import base."""\n'}.items()}

    def test_a_sound_tree_has_none(self):
        for rule in (room_faults, circle_faults):
            self.assertEqual(self.faults(rule, self.TREE), [])

    def test_a_fault_is_found(self):
        for rule, name, text in ((room_faults, "base/b.py", "from headway.api.a import f\n"),
                                 (room_faults, "results/r.py", "from headway.api import a\n"),
                                 (room_faults, "errors.py", "import headway.base.b\n"),
                                 (room_faults, "api/c.py", "def f():\n    from headway.base import b\n"),
                                 (room_faults, "api/c.py", "from headway.cli import run\n"),
                                 (room_faults, "base/__init__.py", ""),
                                 (circle_faults, "api/a.py", "from headway.api import c\n")):
            with self.subTest(rule=rule, name=name, text=text):
                self.assertEqual(len(self.faults(rule, self.TREE | {PACKAGE + "cli.py": "", PACKAGE + name: text})), 1)


if __name__ == "__main__":
    ROOT = root_asked_for()
    unittest.main()
