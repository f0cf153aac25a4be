"""The table of what a data-set file holds, dataset_members.json, which the C++ library is built with too.

A row is one data set, or one of each split and layer. Its fields:

- `path`: where it lies, with <split> and <l> for the split and the layer.
- `shapes`: symbols of the extents, one list for each allowed rank, the highest rank last. An axis that a lower rank leaves
  out has extent 1. A symbol is one number in the whole file. Only P differs from split to split.
- `values`: how the numbers are checked.
- `needed`: "always" (the default), "never", "in its group", or "beside train" (new inputs alone do not need it).
- `forms`: the forms of attention that have it. `is_form`: the form that it makes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

_TABLE = json.loads(Path(__file__).parent.with_name("dataset_members.json").read_text())

SCHEMA_NAME: str = _TABLE["schema_name"]
SCHEMA_VERSION: list[int] = _TABLE["schema_version"]
READOUTS: list[str] = _TABLE["readouts"]
SET_NAME: str = _TABLE["set_name"]
LARGEST: float = _TABLE["largest"]
ROW_SUM_TOLERANCE: dict[str, float] = _TABLE["row_sum_tolerance"]
FORMS: dict[str, str] = {form["form"]: form["name"] for form in _TABLE["forms"]}

#: The arrays among the arguments of headway.Dataset, and their places in a file.
PLACES = {"features": "train/path_features", "inputs": "train/inputs", "labels": "train/labels", "attention": "train/attention",
          "attention_weights": "attention/weights", "query": "attention/query", "key": "attention/key", "mask": "train/mask",
          "ids": "train/ids", "test_features": "test/path_features", "test_inputs": "test/inputs", "test_labels": "test/labels",
          "test_attention": "test/attention", "test_mask": "test/mask", "test_ids": "test/ids", "head_names": "names"}
#: All arguments of headway.Dataset, in its order.
ARGUMENTS = ("features", "inputs", "labels", "classes", "heads", *list(PLACES)[3:], "sets", "network", "readout", "attention_rows")


@dataclass(frozen=True)
class Member:
    path: str
    shapes: list[list[str]]
    values: str
    needed: str = "always"
    forms: tuple[str, ...] = ()
    is_form: str | None = None
    in_memory: bool = True
    attribute: str | None = None
    hints: dict[str, str] = field(default_factory=dict)

    @cached_property
    def in_split(self) -> bool:
        return self.path.startswith("<split>/")

    @cached_property
    def layered(self) -> bool:
        return self.path.endswith("/layer_<l>")

    def has_form(self, form: str) -> bool:
        forms = (self.is_form,) if self.is_form else self.forms
        return not forms or form in forms

    def path_in(self, split: str) -> str:
        """Its path in a split, without the layer: the group of the layers, where it has them."""
        return _path_in(self.path, split)

    def axes(self, layer: int, layers: int) -> str:
        """"[P, H_2, S, S]", "[P] or [P, C]"; layer 0: none."""
        return " or ".join("[" + ", ".join(symbol_in(symbol, layer, layers) for symbol in shape) + "]"
                           for shape in self.shapes)


@lru_cache(maxsize=1000)
def symbol_in(symbol: str, layer: int, layers: int) -> str:
    """"N_<l+1>" in layer 2 of 3: "N_3"; above the last layer stands the readout's: "N_a"."""
    above = "a" if layer == layers else str(layer + 1)
    return symbol.replace("<l>", str(layer)).replace("<l+1>", above)


@lru_cache(maxsize=1000)
def _path_in(path: str, split: str) -> str:
    return path.replace("<split>", split).removesuffix("/layer_<l>")


MEMBERS = [Member(**row) for row in _TABLE["members"]]


@lru_cache(maxsize=None)
def children(group: str) -> list[str]:
    """Names of the table in a group: the root "", "<split>", "attention", "network"."""
    prefix = group and group + "/"
    names = [member.path[len(prefix):].split("/")[0] for member in MEMBERS
             if member.path.startswith(prefix)]
    return [name for name in dict.fromkeys(names) if name != "<split>"]
