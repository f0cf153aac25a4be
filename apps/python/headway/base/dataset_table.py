"""The table of what a data-set file holds, dataset_members.json, which the C++ library is built with too.

A row is one data set, or one of each split and layer. Its fields:

- `path`: where it lies, with <split> and <l> for the split and the layer.
- `values`: what they are.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

_TABLE = json.loads(Path(__file__).parent.with_name("dataset_members.json").read_text())

SCHEMA_NAME: str = _TABLE["schema_name"]
SCHEMA_VERSION: list[int] = _TABLE["schema_version"]
READOUTS: list[str] = _TABLE["readouts"]
SET_NAME: str = _TABLE["set_name"]

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
    values: str

    @cached_property
    def layered(self) -> bool:
        return self.path.endswith("/layer_<l>")

    def path_in(self, split: str) -> str:
        """Its path in a split, without the layer: the group of the layers, where it has them."""
        return self.path.replace("<split>", split).removesuffix("/layer_<l>")


MEMBERS = [Member(row["path"], row["values"]) for row in _TABLE["members"]]


def set_name_fault(name: str) -> str | None:
    """What is wrong with the name of a further set, or None."""
    if not re.fullmatch(SET_NAME, name):
        return "not a valid set name; allowed: a letter, then letters, digits, - and _, at most 40"
    if name in ("train", "test"):
        return "taken by a split outside sets; allowed: any other name"
    return None


@lru_cache(maxsize=None)
def children(group: str) -> list[str]:
    """Names of the table in a group: the root "", "<split>", "attention", "network"."""
    prefix = group and group + "/"
    names = [member.path[len(prefix):].split("/")[0] for member in MEMBERS
             if member.path.startswith(prefix)]
    return [name for name in dict.fromkeys(names) if name != "<split>"]
