"""Items with tags and exact unit rows, and what follows from them alone.

Rows hold multiples of 2**-26 as int32, so every dot product of two of them is a multiple
of 2**-52 below 2, and so is each partial sum: float64 holds them exactly. BLAS, a loop and a
reversed loop give the same bits on any machine.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from flavourbench.environment.taxonomy import (
    CATEGORIES,
    COMPLEMENTS,
    NOVA_LEVELS,
    REGION_TAGS,
    REGIONS,
    UNIVERSAL,
)
from flavourbench.errors import InputError, listed, shown
from flavourbench.identity import table_sha256

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Mask = NDArray[np.bool_]

IDENTITY_RECIPE = "flavourbench-environment-identity/1"
#: Rows are stored in units of 2**-26; cosines of the published rows move by 3e-8 at most.
UNIT = 2.0**-26
NORM_FLOOR = 1e-9
_NAME = re.compile(r"[a-z0-9]+(_[a-z0-9]+)*")
_LONGEST_NAME = 80
_UNIVERSAL_BIT = np.uint16(1 << REGION_TAGS.index(UNIVERSAL))
_Array = TypeVar("_Array", bound=NDArray[Any])


@dataclass(frozen=True, slots=True)
class Tags:
    """Tags of one item.

    Attributes
    ----------
    category : str, the primary category
    regions : tuple of str, in the order of ``REGION_TAGS``; ``universal`` counts as one
    vegetarian, vegan : bool, rules of the benchmark and no dietary advice
    nova : int 1-4, or None where unknown
    """

    category: str
    regions: tuple[str, ...]
    vegetarian: bool
    vegan: bool
    nova: int | None


@dataclass(frozen=True, eq=False, repr=False)
class ItemSpace:
    """Items, sorted by name, with tags and unit rows. Immutable; matrices are made once.

    Attributes
    ----------
    items : tuple of n names, lower-case ASCII snake_case, ascending
    units : int32 [n, d], unit rows in multiples of 2**-26, read-only
    tags : tuple of n :class:`Tags`

    Raises
    ------
    InputError
        Names are no names, not ascending or not unique; rows are no unit rows; tags hold
        an unknown category, region or NOVA level.
    """

    items: tuple[str, ...]
    units: NDArray[np.int32]
    tags: tuple[Tags, ...]

    def __post_init__(self) -> None:
        _check(self.items, self.units, self.tags)
        rows = np.ascontiguousarray(self.units).copy()
        rows.flags.writeable = False
        object.__setattr__(self, "units", rows)

    def __len__(self) -> int:
        return len(self.items)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self):,} items, {self.dimensions} dimensions>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Copies are made anew: checked, read-only, without what was derived.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    @property
    def dimensions(self) -> int:
        """Length d of a row."""
        return int(self.units.shape[1])

    @cached_property
    def identity(self) -> str:
        """Hex SHA-256 of names, rows and tags; files and their row order play no part."""
        return table_sha256(self.columns(), IDENTITY_RECIPE)

    def columns(self) -> dict[str, NDArray[np.generic] | list[str]]:
        """Everything the identity covers, by column, rows ascending by name."""
        return {
            "name": list(self.items),
            "category": [tags.category for tags in self.tags],
            "regions": [";".join(tags.regions) for tags in self.tags],
            "vegetarian": self.vegetarian,
            "vegan": self.vegan,
            "nova": np.ma.masked_equal(self.nova, 0),
            "row": self.units,
        }

    @cached_property
    def index(self) -> dict[str, int]:
        """Name → position."""
        return {name: at for at, name in enumerate(self.items)}

    @cached_property
    def rows(self) -> Floats:
        """The unit rows, float64 [n, d]."""
        return _frozen(np.multiply(self.units, UNIT, dtype=np.float64))

    @cached_property
    def similarity(self) -> Floats:
        """Cosines of all pairs, float64 [n, n], exact dot products of the unit rows."""
        return _frozen(self.rows @ self.rows.T)

    def similarities(self, ids: Indices) -> Floats:
        """Rows ``ids`` of :attr:`similarity`, [m, n], a copy; the rest need not be made."""
        if "similarity" in self.__dict__:
            known: Floats = self.similarity[ids]
            return known
        made: Floats = self.rows[ids] @ self.rows.T
        return made

    # --- tags as arrays ------------------------------------------------------------------

    @cached_property
    def vegetarian(self) -> Mask:
        """Bool [n]."""
        return _frozen(np.array([tags.vegetarian for tags in self.tags], np.bool_))

    @cached_property
    def vegan(self) -> Mask:
        """Bool [n]."""
        return _frozen(np.array([tags.vegan for tags in self.tags], np.bool_))

    @cached_property
    def nova(self) -> NDArray[np.int8]:
        """NOVA level, int8 [n]; 0 where unknown."""
        return _frozen(np.array([tags.nova or 0 for tags in self.tags], np.int8))

    @cached_property
    def region_bits(self) -> NDArray[np.uint16]:
        """Bit r is set where an item has ``REGION_TAGS[r]``, uint16 [n]."""
        value = {tag: 1 << bit for bit, tag in enumerate(REGION_TAGS)}
        bits = [sum(value[region] for region in tags.regions) for tags in self.tags]
        return _frozen(np.array(bits, np.uint16))

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The categories that occur, ascending."""
        return tuple(sorted({tags.category for tags in self.tags}))

    @cached_property
    def category(self) -> Indices:
        """Position of an item's category in :attr:`categories`, int64 [n]."""
        place = {name: at for at, name in enumerate(self.categories)}
        return _frozen(np.array([place[tags.category] for tags in self.tags], np.int64))

    @cached_property
    def complements(self) -> Mask:
        """Whether category j complements category i, bool [categories, categories]."""
        return _frozen(
            np.array(
                [[b in COMPLEMENTS.get(a, ()) for b in self.categories] for a in self.categories],
                np.bool_,
            )
        )

    @cached_property
    def word_holders(self) -> dict[str, Indices]:
        """Word of a name → positions of the items whose names have it."""
        holders: dict[str, list[int]] = {}
        for at, name in enumerate(self.items):
            for word in set(name.split("_")):
                holders.setdefault(word, []).append(at)
        return {word: _frozen(np.array(found, np.int64)) for word, found in holders.items()}

    # --- relations of items, by row ------------------------------------------------------

    def same_category(self, ids: Indices) -> Mask:
        """Whether items ``ids`` and j share the primary category, bool [m, n]."""
        return np.equal(self.category[ids, None], self.category)

    def complementary(self, ids: Indices) -> Mask:
        """Whether the category of j complements that of items ``ids``, bool [m, n]."""
        of_items: Mask = self.complements[self.category[ids]]
        by_item: Mask = of_items[:, self.category]
        return by_item

    def shares_region(self, ids: Indices) -> Mask:
        """Whether items ``ids`` and j share a region or either is universal, bool [m, n]."""
        bits = self.region_bits
        universal = (bits & _UNIVERSAL_BIT) != 0
        shared: Mask = (bits[ids, None] & bits) != 0
        shared |= universal[ids, None] | universal
        return shared

    def shares_word(self, ids: Indices) -> Mask:
        """Whether names of items ``ids`` and j have a word in common, bool [m, n]."""
        shared = np.zeros((len(ids), len(self)), np.bool_)
        for row, at in zip(shared, ids.tolist(), strict=True):
            for word in self.items[at].split("_"):
                row[self.word_holders[word]] = True
        return shared

    # --- region directions ---------------------------------------------------------------

    @cached_property
    def directions(self) -> dict[str, NDArray[np.int32]]:
        """Region → unit direction, int32 [d] (see :func:`region_directions`)."""
        return region_directions(self.units, self.region_bits)

    @property
    def regions(self) -> tuple[str, ...]:
        """The regions that have a direction."""
        return tuple(self.directions)

    @cached_property
    def projections(self) -> Floats:
        """Projection of every row on the direction of each of :attr:`regions`, [n, r], exact."""
        units = np.array([*self.directions.values()], np.int32).reshape(-1, self.dimensions)
        return _frozen(self.rows @ np.multiply(units, UNIT, dtype=np.float64).T)


def region_directions(
    units: NDArray[np.int32], region_bits: NDArray[np.uint16]
) -> dict[str, NDArray[np.int32]]:
    """Unit direction of each region that has one, int32 [d] in multiples of 2**-26.

    The mean row of the items tagged with the region minus the mean row of those tagged
    only with others; universal items are in neither. It is the published construction,
    checked on its steering results.

    A region without items, or without others to compare with, has none.
    """
    found = {}
    rows = units.astype(np.int64)
    regional = (region_bits & _UNIVERSAL_BIT) == 0
    for bit, region in enumerate(REGIONS):
        tagged = (region_bits & (1 << bit)) != 0
        inside, outside = regional & tagged, regional & ~tagged
        counts = int(inside.sum()), int(outside.sum())
        if not all(counts):
            continue
        # Times both counts, the difference of the means is an integer: nothing is rounded.
        scaled = rows[inside].sum(axis=0) * counts[1] - rows[outside].sum(axis=0) * counts[0]
        norm = math.sqrt(sum(value * value for value in scaled.tolist()))
        if norm > 0:
            found[region] = _frozen(_quantised(scaled / norm))
    return found


def unit_rows(vectors: NDArray[np.floating], names: Sequence[str]) -> NDArray[np.int32]:
    """L2-normalised rows in multiples of 2**-26, int32 [n, d].

    Norms are correctly rounded sums, so that no order of summation enters.

    Raises
    ------
    InputError
        A row has a NaN or an infinity, or its norm is below 1e-9.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN; it is refused as any other
        rows = np.asarray(vectors, np.float64)
    infinite = np.flatnonzero(~np.isfinite(rows).all(axis=1))
    if len(infinite):
        bad = [names[at] for at in infinite.tolist()]
        raise InputError(f"the row of {listed(bad)} holds NaN or an infinity: mend the vectors")
    # Float32 squares are exact in float64; fsum rounds their sum once.
    norms = np.array([math.sqrt(math.fsum(row)) for row in np.square(rows).tolist()])
    small = np.flatnonzero(norms < NORM_FLOOR)
    if len(small):
        bad = [names[at] for at in small.tolist()]
        raise InputError(f"the row of {listed(bad)} is zero (norm below {NORM_FLOOR:g})")
    return _quantised(rows / norms[:, None])


def _quantised(rows: Floats) -> NDArray[np.int32]:
    units: NDArray[np.int32] = np.rint(rows / UNIT).astype(np.int32)
    return units


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are not unique lower-case ASCII snake_case.

    Raises
    ------
    InputError
        With the offending names.
    """
    bad = [name for name in names if len(name) > _LONGEST_NAME or not _NAME.fullmatch(name)]
    if bad:
        raise InputError(
            f"item name {listed(bad)} is not lower-case ASCII snake_case of up to"
            f" {_LONGEST_NAME} letters: rename it"
        )
    if len(set(names)) < len(names):
        twice = sorted(name for name, count in Counter(names).items() if count > 1)
        raise InputError(f"item name {listed(twice)} occurs twice: remove one")


def _check(items: tuple[str, ...], units: NDArray[np.int32], tags: tuple[Tags, ...]) -> None:
    check_names(items)
    if list(items) != sorted(items):
        raise InputError("items are not in ascending order of their names")
    if not items:
        raise InputError("an environment needs at least one item")
    if units.dtype != np.int32 or units.ndim != 2 or units.shape[0] != len(items):
        raise InputError(
            f"rows are {units.dtype} of shape {units.shape}, not int32 of {len(items)} rows"
        )
    if len(tags) != len(items):
        raise InputError(f"{len(tags)} tags for {len(items)} items")
    norms = np.linalg.norm(units * UNIT, axis=1)
    # Rounding moves a norm by at most half a unit for each dimension.
    off = np.abs(norms - 1) > UNIT * units.shape[1]
    if off.any():
        at = int(np.argmax(off))
        raise InputError(f"the row of {items[at]} has norm {norms[at]:.9g}, not 1")
    for name, tag in zip(items, tags, strict=True):
        if tag.category not in CATEGORIES:
            raise InputError(f"{name}: category '{shown(tag.category)}' is unknown")
        if not tag.regions or tag.regions != tuple(r for r in REGION_TAGS if r in tag.regions):
            raise InputError(
                f"{name}: regions '{shown(';'.join(tag.regions))}' are not some of"
                f" {', '.join(REGION_TAGS)}, in this order"
            )
        if tag.nova not in (None, *NOVA_LEVELS):
            raise InputError(f"{name}: NOVA {shown(tag.nova)} is not 1, 2, 3 or 4")


def _frozen(array: _Array) -> _Array:
    array.flags.writeable = False
    return array
