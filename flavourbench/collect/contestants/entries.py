"""The slots of the demonstration: contestants from chance to nearly perfect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One slot.

    Attributes
    ----------
    slot : its slug
    name : display name; of those that see the scores it begins with "Simulated"
    contestant : one of :data:`NAMES`
    parameters : of the contestant, where not as by default
    extra : the extra of the package that it needs, or None
    """

    slot: str
    name: str
    contestant: str
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    extra: str | None = None


_DEMANDS = {"demands": True}
_DISHES = {"sets": "recipes-and-dishes"}
#: Simulated cooks by temperature, in points; some refuse, or slip, now and then.
_COOKS: tuple[tuple[str, Mapping[str, float]], ...] = (
    ("6", {}),
    ("8.5", {}),
    ("11", {"format_errors": 0.5}),
    ("13", {}),
    ("15.5", {"refusals": 1}),
    ("18", {}),
    ("20.5", {}),
    ("24", {"refusals": 0.5, "format_errors": 1}),
    ("28", {}),
    ("34", {}),
    ("50", {"format_errors": 2}),
)


def _cook(temperature: str, rates: Mapping[str, float]) -> Entry:
    slot = f"cook-{temperature.replace('.', '-')}"
    name = f"Simulated cook {temperature}"
    return Entry(slot, name, "cook", {"temperature": float(temperature), **rates})


ENTRIES: tuple[Entry, ...] = (
    Entry("chance", "Chance", "chance"),
    Entry("first-three", "First three", "first-three"),
    Entry("label-biased", "Early labels", "label-biased"),
    Entry("lexical-overlap", "Letters of names", "lexical-overlap"),
    Entry("popularity", "Popularity", "popularity"),
    Entry("popularity-demands", "Popularity, heeds demands", "popularity", _DEMANDS),
    Entry("co-occurrence", "Co-occurrence", "co-occurrence"),
    Entry("co-occurrence-dishes", "Co-occurrence with dishes", "co-occurrence", _DISHES),
    Entry(
        "co-occurrence-dishes-demands",
        "Co-occurrence with dishes, heeds demands",
        "co-occurrence",
        {**_DISHES, **_DEMANDS},
    ),
    Entry("npmi", "Co-occurrence, NPMI", "npmi"),
    Entry("shared-company", "Shared company", "shared-company"),
    Entry("tag-rules", "Tag rules", "tag-rules"),
    Entry("attributes", "Attributes", "attributes"),
    Entry("attributes-demands", "Attributes, heeds demands", "attributes", _DEMANDS),
    *(_cook(temperature, rates) for temperature, rates in _COOKS),
    Entry("word-vectors", "Word vectors", "word-vectors", extra="pantry"),
    Entry(
        "word-vectors-demands", "Word vectors, heeds demands", "word-vectors", _DEMANDS, "pantry"
    ),
)
