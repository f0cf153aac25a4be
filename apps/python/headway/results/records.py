"""Classes whose objects hold records of a result file.

The annotations of a class say what its attributes are, and `record` says where they lie; `headway.results.reading` fills them.
What the file has besides is an attribute under its own name. What each field means stands in the extension module, and in the
file itself (group `documentation`).
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from headway import native
from headway.errors import UnavailableError
from headway.results.display import brief

Kind = TypeVar("Kind", bound=type)
Integers = np.ndarray  #: annotates an array that is read as one of integers


def _fields() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """By record and field its kind, meaning and axes; {} without the extension module."""
    try:
        return native.module().fields()
    except UnavailableError:
        return {}


_FIELDS = _fields()
#: Numbers and words of a point or a run that a file may lack. They are then NaN. Newer files list their own.
NUMBERS = set("""
    accuracy accuracy_mcse accuracy_mean accuracy_sd action attention_entropy_mcse attention_entropy_mean
    attention_flops_per_step attention_largest_mcse attention_largest_mean best_loss best_split best_step biased
    calibration_draws calibration_p_value chains complete converged defined device divergences draws ebfmi_min energy entropy
    ess_bulk_min ess_tail_min evaluations evidence_method evidence_reason exchange_rate flops_per_second flops_per_step
    gp_accuracy gradient_norm gradient_rounding hessians iterations kernels label last_train_loss log_evidence
    log_evidence_by_integral log_evidence_by_integral_error log_evidence_error log_evidence_integral
    log_evidence_integral_error log_evidence_leading_order mean_acceptance message method optimizer outcome parameters
    predictor_variance probe_error products reason replica_exchange_rate rhat_max right_sign_probability S_effective_dimension
    sample sampler sampling_seconds seconds seed smallest_hessian_eigenvalue smallest_hessian_eigenvalue_error splits
    squared_bias start_spread step_size steps steps_per_second temperature test_mean_squared_error train_accuracy train_loss
    training_seconds variant warnings widths""".split())


def record(section: str = "", below: str = "", *, lists: bool = False, **places: str) -> Callable[[Kind], Kind]:
    """Decorates a dataclass whose objects are records, or the groups `below` in them.

    `places` has the name in the file of each attribute that has another one there; a group too, as in "predictor/mean". "."
    is the record's own group; "<l>" stands for the layer; "history@columns" is an attribute of an array; "energies.T" is an
    array with its axes exchanged. Attributes that the docstring leaves out get their descriptions from a section of the
    extension module's list. With `lists` the docstring also lists the fields that the class does not name.
    """
    prefix = below and below + "/"
    table = {name.removeprefix(prefix): field for name, field in _FIELDS.get(section, {}).items() if name.startswith(prefix)}

    def stored(kind: Kind) -> Kind:
        own = getattr(kind, "__dataclass_fields__", {})
        kind.stored = {name: places.get(name, name) for name in own}
        kind.__doc__ = _documented(kind, own, table, lists)
        return kind
    return stored


def _documented(kind: type, own: Mapping[str, dataclasses.Field], table: Mapping[str, Mapping[str, str]], lists: bool) -> str | None:
    """The docstring of a class with all its attributes, and a list of further fields if asked for."""
    if not kind.__doc__:  # python -OO
        return None
    text, after, known = "", "", {}
    for base in reversed(kind.__mro__):  # a class inherits what its base says of an attribute
        text, _, section = inspect.cleandoc(vars(base).get("__doc__") or "").partition("\n\nAttributes\n----------\n")
        said, _, after = section.partition("\n\n")
        known |= {name.strip(): f"{name.strip()} : {about}" for names, about in
                  re.findall(r"^(\w[\w, ]*) : (.*(?:\n    .*)*)", said, re.MULTILINE) for name in names.split(",")}
    parts = [text]
    if own:
        places = {name: place.replace(".T", "").replace("<l>", "1") for name, place in kind.stored.items()}
        parts.append("\n".join(["Attributes", "----------", *(
            known.get(name) or _entry(field, table.get(places[name]) or table.get(kind.stored[name], {})) for name, field in own.items())]))
    if after:
        parts.append(after)
    further = {name: field for name, field in table.items() if "/" not in name and name not in kind.stored.values()}
    if lists and further:
        parts += ["Notes\n-----\nFields of the file, each an attribute where the file has it:", "\n".join(
            line for name, field in further.items()
            for line in textwrap.wrap(f"- `{name}`: {field['meaning']}", 100, subsequent_indent="  "))]
    return "\n\n".join(parts)


def _entry(field: dataclasses.Field, about: Mapping[str, str]) -> str:
    """What a docstring says of an attribute that the list has."""
    kind = re.sub(r"tuple\[([^\]]*), \.\.\.\]", r"tuple of \1", field.type)
    kind = re.sub(r"Mapping\[(\w+), (\w+)\]", r"mapping of \1 to \2", kind).replace("np.", "").replace(" | ", " or ")
    kind = kind.replace("Integers", "ndarray of int")
    if about.get("axes"):
        axes = about["axes"].split()
        kind = kind.replace("ndarray", f"ndarray of shape ({', '.join(axes)}{',' * (len(axes) == 1)})", 1)
    meaning = about.get("meaning", "")
    lines = textwrap.wrap(f"{meaning[:1].upper()}{meaning[1:]}." if meaning else "", 100)
    return "\n".join([f"{field.name} : {kind}", *(f"    {line}" for line in lines)])


class Stored:
    """What a file has of a record and the class does not name is an attribute, too, under its own name."""

    stored: ClassVar[Mapping[str, str]] = {}  # by attribute: its place in the file

    def __getattr__(self, name: str) -> Any:
        held = vars(self).get("_further", {})
        if name not in held:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return held[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *vars(self).get("_further", ())})


class Numbers(Stored):
    """Numbers, words and texts under their names in the file; NaN where the file lacks one of NUMBERS."""

    attributes: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        if name in NUMBERS:
            return self.attributes.get(name, math.nan)
        held = vars(self).get("attributes", {})
        return held[name] if name in held else super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.attributes})


@dataclasses.dataclass(frozen=True, repr=False, eq=False)
class Fields:
    """A group of a result file: each of its arrays and numbers is an attribute under its own name.

    Attributes
    ----------
    values : mapping of str to value
        By name; "cumulative/score" of those in groups below.
    """

    values: Mapping[str, Any]

    def __repr__(self) -> str:
        words = [f"{name}={brief(value)}" for name, value in self.values.items()]
        return f"{type(self).__name__}({', '.join(words)})"

    def __getattr__(self, name: str) -> Any:
        if name == "values" or name not in self.values:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        return self.values[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.values})
