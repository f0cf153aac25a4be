"""What is wrong with an open data-set file: the same walk over the same table as `headway validate`.

All faults are collected; each names the data set, the place, the value and what is allowed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import h5py

from headway.api.dataset_arrays import (ArrayInfo, Fault, implausible_storage, info, kind, members, numbers,
                                    number_attribute, shape_text, text_attribute, texts)
from headway.api.dataset_values import check_values
from headway.base import dataset_table as table
from headway.base import hdf5, memory
from headway.base.dataset_table import Member, symbol_in
from headway.base.dataset_texts import nearly, number, printable, text_fault

MOST_FAULTS = 5  # shown of one data set; the rest are only counted
MOST_PATHS = 2**31 - 1
ABSENCE = {"absent": "is missing", "dangling": "is a link that leads nowhere",
           "external": "is a link to another file"}
SPLIT = "a group with labels and inputs or path_features"


def _no_group(found: str) -> str:
    return ABSENCE.get(found, "is not a group")


class Faults:
    """Messages in the order in which the faults were found, at most MOST_FAULTS of each data set.

    `name_of` turns the path of a data set into the name by which the reader knows it.
    """

    def __init__(self, name_of: Callable[[str], str]):
        self.name_of, self.found, self.counts = name_of, [], Counter()

    def add(self, path: str, what: str) -> None:
        """`what` follows the name of the data set: ": is missing", "[3]: nan; ...". The root has no name."""
        self.add_text(path, what.removeprefix(": ") if path == "/" else self.name_of(path) + what)

    def add_text(self, path: str, text: str) -> None:
        self.counts[path] += 1
        if self.counts[path] <= MOST_FAULTS:
            self.found.append(text)

    def messages(self) -> list[str]:
        return self.found + [f"{self.name_of(path)}: {count - MOST_FAULTS} more faults"
                             for path, count in sorted(self.counts.items()) if count > MOST_FAULTS]

    def guard(self, path: str, check: Callable[..., None], *arguments) -> None:
        """Runs one part of the checks; damage found on the way is a fault like any other."""
        try:
            check(*arguments)
        except Fault as fault:
            self.add_text(path, str(fault))
        except hdf5.DAMAGE as error:
            self.add(path, f": cannot be read: damaged (HDF5: {hdf5.reason(error)})")


@dataclass
class FoundArray:
    """A data set that the table has, and the file too, of the right type and rank."""

    path: str
    split: str
    member: Member
    layer: int  # 0: has none
    info: ArrayInfo


def set_name_fault(name: str) -> str | None:
    if not re.fullmatch(table.SET_NAME, name):
        return "not a valid set name; allowed: a letter, then letters, digits, - and _, at most 40"
    if name in ("train", "test"):
        return "taken by a split outside sets; allowed: any other name"
    return None


class Checker:
    """Walks the table over `file`; the twin of src/io/dataset_file/layout.cpp and arrays.cpp."""

    def __init__(self, file: h5py.File | memory.Group, name_of: Callable[[str], str] = lambda path: path,
                 attribute: str = "root attribute ", learned: bool = False):
        self.learned = learned  # inputs may come without attention
        self.file, self.name_of, self.attribute = file, name_of, attribute
        self.faults = Faults(name_of)
        self.splits: list[str] = []
        self.new_inputs = False  # the file has further sets alone, for headway.predict
        self.form: str | None = None
        self.any_rows = False  # supplied attention may be signed, with rows of any sum
        self.arrays: list[FoundArray] = []
        self.extents: dict[str, tuple[int, str]] = {}  # symbol: (extent, the data set that has it)

    def run(self) -> list[str]:
        for check in (self._schema, self._note, self._find_splits, self._names, self._find_form, self._attention_rows):
            self.faults.guard("/", check)
        for split in self.splits:
            for member in table.MEMBERS:
                if member.in_split:
                    self.faults.guard(member.path_in(split), self._member, member, split)
        for member in table.MEMBERS:
            if not member.in_split:
                self.faults.guard(member.path, self._member, member, "")
        self._paths()
        self.faults.guard("network", self._network)
        self.faults.guard("/", self._readout)
        check_values(self.file, self.arrays, [*self.splits, ""], self.faults, self.any_rows)
        return self.faults.messages()

    @property
    def heads(self) -> list[int]:
        """H_1, ..., H_L; 0 where unknown."""
        return [self._extent(f"H_{layer}") for layer in range(1, self._extent("L") + 1)]

    def _extent(self, key: str) -> int:
        return self.extents.get(key, (0, ""))[0]

    # ---- the root

    def _root_fault(self, what: str) -> None:
        self.faults.add("/", f": {self.attribute}{what}")

    def _schema(self) -> None:
        name = text_attribute(self.file, "", "schema_name")
        if name is None or name.decode("utf-8", "replace") != table.SCHEMA_NAME:
            said = "is missing" if name is None else f"= \"{printable(name)}\""
            self._root_fault(f"schema_name {said}; allowed: \"{table.SCHEMA_NAME}\"")
        version = number_attribute(self.file, "", "schema_version")
        ours = table.SCHEMA_VERSION
        if not version or len(version) > len(ours):
            said = "is missing" if version is None else "has the wrong length"
            self._root_fault(f"schema_version {said}; allowed: {ours}")
        elif version[0] != ours[0]:
            newer = version[0] > ours[0]
            self._root_fault(f"schema_version = {numbers(version)}" + (
                f": a newer major version; this Headway reads {ours[0]}.x" if newer
                else f"; allowed: {ours}"))

    def _note(self) -> None:
        fault = text_fault(text_attribute(self.file, "", "note") or b"", lines=True)
        if fault:
            self._root_fault(f"note {fault}")

    def _find_splits(self) -> None:
        self.new_inputs = bool(members(self.file, "sets")) and all(
            kind(self.file, name) == "absent" for name in ("train", "test"))
        for name in ("train", "test"):
            found = kind(self.file, name)
            if found == "group":
                self.splits.append(name)
            elif found != "absent" or name == "train" and not self.new_inputs:
                self.faults.add(name, f": {_no_group(found)}; allowed: {SPLIT}")
        found = kind(self.file, "sets")
        if found not in ("absent", "group"):
            self.faults.add("sets", f": {_no_group(found)}; allowed: a group with one group for each further set")
        for name in members(self.file, "sets"):
            fault = set_name_fault(name)
            if fault:
                self.faults.add(f"sets/{printable(name.encode())}", f": is {fault}")
            elif kind(self.file, f"sets/{name}") != "group":
                self.faults.add(f"sets/{name}", f": {_no_group(kind(self.file, f'sets/{name}'))}; allowed: {SPLIT}")
            else:
                self.splits.append(f"sets/{name}")

    def _names(self) -> None:
        """Names that are nearly names of the table: such data sets would be ignored in silence."""
        known = {"": ["train", "test", "sets", *table.children("")]}
        known |= {split: table.children("<split>") for split in self.splits}
        known |= {group: table.children(group) for group in ("attention", "network")}
        for group, names in known.items():
            prefix = group and group + "/"
            for name in members(self.file, group):
                if name in names:
                    continue
                near = [word for word in names if nearly(name, word)]
                if near:
                    self.faults.add(prefix + printable(name.encode()),
                                    f": unknown name; did you mean {prefix}{near[0]}?")

    def _find_form(self) -> None:
        found = [form for form in table.FORMS
                 if any(member.is_form == form and self._is_there(member) for member in table.MEMBERS)]
        if len(found) == 1:
            self.form = found[0]
            return
        # Inputs alone may be meant for learned attention. Beside a group `attention` they are not: its form is wrong then.
        may_be_learned = not found and self._has_inputs() and kind(self.file, "attention") == "absent"
        if (may_be_learned and self.learned) or (not found and self.new_inputs and self._has_inputs()):
            return  # the attention will be learned, or a result has it
        names = {form: " and ".join(self.name_of(part) for part in name.split(" and "))
                 for form, name in table.FORMS.items()}
        said = ", ".join(names[form] for form in found) + " are given" if found else (
            "no attention is given")
        unless = ", or none where a study has model.attention_prior" if may_be_learned else ""
        self.faults.add("/", f": {said}; allowed: exactly one of {', '.join(names.values())}{unless}")

    def _has_inputs(self) -> bool:
        return all(kind(self.file, f"{split}/inputs") != "absent" for split in self.splits)

    def _is_there(self, member: Member) -> bool:
        return any(kind(self.file, member.path_in(split)) != "absent"
                   for split in (self.splits if member.in_split else [""]))

    # ---- members

    def _member(self, member: Member, split: str) -> None:
        path = member.path_in(split)
        if self.form is not None and not member.has_form(self.form):
            if kind(self.file, path) != "absent":
                form = table.FORMS[self.form].split("/", 1)[1]
                self.faults.add(path, f": not allowed beside {form}")
        elif member.layered:
            self._layers(member, split)
        else:
            self._array(member, split, 0, self._needed(member))
            if member.attribute and self.arrays and self.arrays[-1].path == path:
                self._path_heads(self.arrays[-1])

    def _needed(self, member: Member) -> bool:
        if member.needed == "beside train":
            return not self.new_inputs
        if member.needed == "in its group":
            return kind(self.file, member.path.split("/")[0]) == "group"
        return member.needed == "always" and (
            self.form is not None or not (member.forms or member.is_form))

    def _layers(self, member: Member, split: str) -> None:
        group = member.path_in(split)
        found = kind(self.file, group)
        if found == "absent" and not self._needed(member):
            return
        if found != "group":
            self.faults.add(group, f": {_no_group(found)}; allowed: a group with layer_1, layer_2, ...")
            return
        given = members(self.file, group)
        if "L" not in self.extents and member.is_form:
            self._count_layers(group, given)
        if "L" not in self.extents:
            return
        layers, source = self.extents["L"]
        known = {f"layer_{layer}" for layer in range(1, layers + 1)}
        for name in given if source != group else ():
            welcome = member.needed == "never" and not name.startswith("layer_")
            if not welcome and name not in known:
                self.faults.add(f"{group}/{printable(name.encode())}",
                                f": no such layer; allowed: layer_1 to layer_{layers}")
        for layer in range(1, layers + 1):
            self._array(member, split, layer, self._needed(member))

    def _count_layers(self, group: str, given: list[str]) -> None:
        """The first group of layers says how many there are."""
        layers = 0
        while f"layer_{layers + 1}" in given:
            layers += 1
        known = {f"layer_{layer}" for layer in range(1, layers + 1)}
        for name in given:
            if name not in known:
                self.faults.add(f"{group}/{printable(name.encode())}", ": unexpected; allowed: "
                                "layer_1, layer_2, ... without a gap "
                                f"(layer_{layers + 1} is missing)")
        if not given:
            self.faults.add(group, ": is empty; allowed: layer_1, layer_2, ...")
        if layers:
            self.extents["L"] = (layers, group)

    def _array(self, member: Member, split: str, layer: int, needed: bool) -> None:
        path = member.path_in(split) + (f"/layer_{layer}" if layer else "")
        self.faults.guard(path, self._check_array, FoundArray(path, split, member, layer, None), needed)

    def _check_array(self, array: FoundArray, needed: bool) -> None:
        found = kind(self.file, array.path)
        if found == "absent" and not needed:
            return
        layers = self._extent("L")
        if found != "dataset":
            said = ABSENCE.get(found, "is not a data set")
            axes = array.member.axes(array.layer, layers)
            allowed = f"a data set {axes} in this file" if self.attribute else f"an array {axes}"
            self.faults.add(array.path, f": {said}; allowed: {allowed}")
            return
        symbols = [symbol_in(symbol, array.layer, layers) for symbol in array.member.shapes[-1]]
        keys = [f"{array.split}: P" if symbol == "P" else symbol for symbol in symbols]
        array.info = info(self.file, array.path)
        fault = self._unreadable(array, keys)
        if fault:
            self.faults.add(array.path, f": {fault}")
            return
        notes = self._wrong_extents(array, symbols, keys)
        if notes:
            self.faults.add(array.path, f": {self._shape_fault(array, keys)} "
                            f"({', '.join(notes)})")
        if array.member.values == "text":
            for at, text in enumerate(texts(self.file, array.path)):
                fault = text_fault(text, lines=False)
                if fault:
                    self.faults.add(array.path, f"[{at}] {fault}")
        self.arrays.append(array)

    def _unreadable(self, array: FoundArray, keys: list[str]) -> str | None:
        found, text = array.info, array.member.values == "text"
        if not (found.is_text if text else found.is_number):
            allowed = "strings" if text else "float32, float64 or integers"
            return f"type {found.type_name}; allowed: {allowed}"
        if len(found.shape) not in map(len, array.member.shapes) or 0 in found.shape:
            return self._shape_fault(array, keys)
        if isinstance(self.file, memory.Group):
            return None
        return implausible_storage(found, self.file.id.get_filesize(), array.member.in_memory)

    def _wrong_extents(self, array: FoundArray, symbols: list[str], keys: list[str]) -> list[str]:
        """Extents that another data set, or another index of this one, has otherwise.

        When there are none, new extents are noted.
        """
        new: dict[str, tuple[int, str]] = {}
        notes = []
        for at, (symbol, key) in enumerate(zip(symbols, keys)):
            extent = array.info.shape[at] if at < len(array.info.shape) else 1
            known, source = self.extents.get(key) or new.setdefault(key, (extent, array.path))
            if known == extent:
                continue
            note = (f"{symbol} is {known} and {extent}" if source == array.path
                    else f"{symbol} = {known} as in {self.name_of(source)}")
            hint = array.member.hints.get(symbol)
            notes.append(f"{note}: {hint}" if hint else note)
        if not notes:
            self.extents |= new
        return notes

    def _shape_fault(self, array: FoundArray, keys: list[str]) -> str:
        axes = array.member.axes(array.layer, self._extent("L"))
        extents = ", ".join(str(self._extent(key) or "any") for key in keys)
        return (f"shape {shape_text(array.info.shape)}; allowed: {axes} with extents [{extents}], "
                "none zero")

    # ---- heads, network, readout

    def _path_heads(self, array: FoundArray) -> None:
        """The attribute `heads` of path features says how many heads each layer has."""
        paths = array.info.shape[1]
        heads = number_attribute(self.file, array.path, "heads")
        if heads is None:
            heads = number_attribute(self.file, "", "heads")
        if not heads:
            self._heads_fault(array.path, "is missing; allowed: [H_1, ..., H_L] with product "
                              f"p = {paths}")
            return
        said = f"= {numbers(heads)}; allowed:"
        if not all(1 <= h <= MOST_PATHS and h == math.floor(h) for h in heads) or (
                math.prod(heads) != paths):
            self._heads_fault(array.path, f"{said} positive integers with product p = {paths} (the "
                              "second extent)")
        elif "L" not in self.extents:
            self.extents["L"] = (len(heads), array.path)
            self.extents |= {f"H_{layer}": (int(h), array.path) for layer, h in enumerate(heads, 1)}
        elif heads != self.heads:
            self._heads_fault(array.path, f"{said} {self.heads} as in "
                              f"{self.name_of(self.extents['L'][1])}")

    def _heads_fault(self, path: str, what: str) -> None:
        if self.attribute:
            self.faults.add(path, f": attribute heads {what}")
        elif not self.faults.counts["heads"]:  # in memory one argument serves all splits: one fault is enough
            self.faults.add("heads", f" {what}")

    def _paths(self) -> None:
        paths = math.prod(max(h, 1) for h in self.heads)
        if paths > MOST_PATHS:
            self.faults.add(self.extents["L"][1], f": heads {self.heads} make {number(paths)} paths; "
                            f"allowed: at most {MOST_PATHS}")

    def _network(self) -> None:
        found = kind(self.file, "network")
        if found not in ("absent", "group"):
            self.faults.add("network", f": {_no_group(found)}; allowed: a group with "
                            f"{', '.join(table.children('network'))}")

    def _readout(self) -> None:
        name = text_attribute(self.file, "", "readout")
        if name is None and kind(self.file, "network") != "group":
            return
        if name is None or name.decode("utf-8", "replace") not in table.READOUTS:
            said = "is missing beside network" if name is None else f"= \"{printable(name)}\""
            allowed = ", ".join(f'"{readout}"' for readout in table.READOUTS)
            self._root_fault(f"readout {said}; allowed: {allowed}")

    def _attention_rows(self) -> None:
        rows = text_attribute(self.file, "", "attention_rows")
        self.any_rows = rows == b"any"
        if rows is not None and not self.any_rows:
            self._root_fault(f"attention_rows = \"{printable(rows)}\"; allowed: \"any\", or none")
        elif self.any_rows and self.form not in (None, "supplied"):
            self._root_fault(f"attention_rows = \"any\"; allowed with {table.FORMS['supplied']} only")
