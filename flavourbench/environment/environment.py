"""The environment: executable ground truth over items, by name.

It is read-only, deterministic and never a contestant. Items may be typed in any form that
:mod:`flavourbench.environment.names` understands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flavourbench.environment import batch
from flavourbench.environment.names import Resolver
from flavourbench.environment.space import Floats, Indices, ItemSpace
from flavourbench.environment.taxonomy import COMPLEMENTS, DIETS, FLAGS_NOTE, NOVA_LEVELS
from flavourbench.errors import InputError, listed, shown


@dataclass(frozen=True, slots=True)
class Hit:
    """An item and its similarity to what was asked, a cosine in [-1, 1]."""

    name: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Pairings:
    """Complements of a set of items.

    Attributes
    ----------
    hits : the best feasible ones, by mean similarity to the set
    dropped : int, complements left out as infeasible
    """

    hits: tuple[Hit, ...]
    dropped: int


@dataclass(frozen=True, slots=True)
class PairScore:
    """Similarity of a pair and where it stands among all pairs.

    Attributes
    ----------
    similarity : float, the cosine
    above : float in [0, 1], share of all pairs that are less similar
    percentiles : percent (10, 25, 50, 75, 90) → similarity over all pairs
    """

    similarity: float
    above: float
    percentiles: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an item is feasible, and why not (empty where it is)."""

    name: str
    feasible: bool
    reason: str


@dataclass(frozen=True, slots=True)
class RegionScore:
    """Projection of an item on a region's direction, with p10 and p90 over all items."""

    region: str
    projection: float
    p10: float
    p90: float


@dataclass(frozen=True, eq=False, repr=False)
class Environment(ItemSpace):
    """Items, tags, unit rows and every operation on them.

    Attributes
    ----------
    name : str, a label outside the identity
    provenance : where it came from, outside the identity

    Each operation raises :class:`InputError` for names that stand for no item, with
    suggestions, and for values out of range.
    """

    name: str = "unnamed"
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def note(self) -> str:
        """What is to be said wherever its diet or NOVA flags are shown."""
        return self._said("flags") or FLAGS_NOTE

    @property
    def title(self) -> str:
        """What prompts call it: a title of its own, or its name."""
        return self._said("title") or self.name

    @property
    def described(self) -> str:
        """Its name, and the label that belongs wherever its answers are shown."""
        label = self._said("label")
        return f"{self.name} ({label})" if label else self.name

    def _said(self, key: str) -> str | None:
        """A text of the provenance, which may hold anything."""
        value = self.provenance.get(key)
        return value if isinstance(value, str) and value.strip() else None

    @cached_property
    def resolver(self) -> Resolver:
        """Understands typed names."""
        return Resolver(self.items)

    def resolve(self, text: str) -> str:
        """The item that a typed name stands for: exact, then normalised, then by alias."""
        return self.resolver.resolve([text])[0]

    def ids(self, texts: Sequence[str]) -> Indices:
        """Positions of typed names, int64 [m]; the error names every miss."""
        if isinstance(texts, str):  # would be taken letter by letter
            raise InputError(f"'{shown(texts)}' is one name: pass a list of names")
        return np.array([self.index[name] for name in self.resolver.resolve(texts)], np.int64)

    def neighbors(self, item: str, k: int = 10) -> list[Hit]:
        """The k most similar items."""
        return self.hits(batch.neighbors(self, self.ids([item]), k))[0]

    def substitutes(self, item: str, k: int = 10) -> list[Hit]:
        """Neighbours of the same category, sharing a region and no word of the name."""
        return self.hits(batch.substitutes(self, self.ids([item]), k))[0]

    def pairings(
        self,
        items: Sequence[str],
        k: int = 10,
        diet: str | None = None,
        max_nova: int | None = None,
    ) -> Pairings:
        """The best complements of ``items`` by mean similarity to them.

        Parameters
        ----------
        diet : "vegan" or "vegetarian"; ``max_nova`` : 1-4. Infeasible ones are dropped.

        Raises
        ------
        InputError
            Also: no item belongs to a category that has complements.
        """
        check_demands(diet, max_nova)
        ids = np.unique(self.ids(items))
        if not len(ids):
            raise InputError("pairings need at least one item")
        self.check_complements(ids)
        found, dropped = batch.pairings(self, ids[None], k, diet, max_nova)
        return Pairings(tuple(self.hits(found)[0]), int(dropped[0]))

    def pairing_score(self, a: str, b: str) -> PairScore:
        """Similarity of two items, and where it stands among all pairs of items."""
        first, second = self.ids([a, b]).tolist()
        if first == second:
            raise InputError(f"{self.items[first]} is paired with itself: name two items")
        similarity = float(self.similarities(np.array([first]))[0, second])
        return PairScore(similarity, self.share_below(similarity), self.pair_percentiles)

    def feasible(
        self, items: Sequence[str], diet: str | None = None, max_nova: int | None = None
    ) -> list[Verdict]:
        """Whether each item passes the diet and has a known NOVA level within the cap."""
        check_demands(diet, max_nova)
        reasons = batch.infeasible(self, diet, max_nova)
        return [self._verdict(at, int(reasons[at]), diet, max_nova) for at in self.ids(items)]

    def region_profile(self, item: str) -> list[RegionScore]:
        """Projections of an item on every region direction, highest first."""
        row = self.projections[self.ids([item])[0]]
        low, high = self.region_spread
        order = sorted(range(len(row)), key=lambda r: (-row[r], self.regions[r]))
        return [
            RegionScore(self.regions[r], float(row[r]), float(low[r]), float(high[r]))
            for r in order
        ]

    def morph(self, item: str, target: str, angle: float = 30.0, k: int = 10) -> list[Hit]:
        """Items nearest to ``item`` rotated by ``angle`` degrees toward a region or an item."""
        ids = self.ids([item])
        return self.hits(batch.morph(self, ids, self.direction(target), angle, k))[0]

    def portfolio_utility(
        self,
        items: Sequence[str],
        *,
        weights: tuple[float, float],
        anchor: str | None = None,
        region: str | None = None,
    ) -> float:
        """Utility of three items: weighted mean relevance and coherence.

        Parameters
        ----------
        weights : of relevance and coherence; a family of tasks has its own
        anchor, region : one of them; relevance is similarity to the item or projection on
            the region's direction
        """
        ids = self.ids(items)
        if len(ids) != 3 or len(set(ids.tolist())) != 3:
            raise InputError(f"a portfolio has three different items, not {listed([*items])}")
        if (anchor is None) == (region is None):
            raise InputError("relevance needs an anchor or a region, and not both")
        if anchor is not None:
            relevance = self.similarities(self.ids([anchor]))[0]
        else:
            relevance = self.projections[:, self.regions.index(self.region(str(region)))]
        return float(batch.portfolio_utilities(self, relevance, ids, weights))

    # --- what the operations share -------------------------------------------------------

    @cached_property
    def _pairs(self) -> Floats:
        return batch.pair_similarities(self)

    @cached_property
    def pair_percentiles(self) -> Mapping[int, float]:
        """Percent → similarity, over all pairs of different items; empty without any."""
        if len(self) < 2:
            return MappingProxyType({})
        values = batch.sorted_percentiles(self._pairs, batch.STANDING_PERCENTILES)
        found = zip(batch.STANDING_PERCENTILES, values.tolist(), strict=True)
        return MappingProxyType(dict(found))

    def share_below(self, similarity: float) -> float:
        """Share of all pairs of items that are less similar.

        Raises
        ------
        InputError
            There is one item only, and so no pair.
        """
        if len(self) < 2:
            raise InputError(f"{self.name} has one item and no pairs to compare with: use another")
        return float(np.searchsorted(self._pairs, similarity, "left") / len(self._pairs))

    @cached_property
    def region_spread(self) -> Floats:
        """10th and 90th percentile of the projections, float64 [2, r]."""
        return batch.region_spread(self)

    def region(self, text: str) -> str:
        """The region that a typed name stands for, among those that have a direction."""
        region = self._region(text)
        if region is None:
            raise InputError(
                f"{shown(text)} is no region of {self.name}: use"
                f" {', '.join(self.regions) or 'another environment, it has none'}"
            )
        return region

    def _region(self, text: str) -> str | None:
        plain = {_plain(region): region for region in self.regions}
        return plain.get(_plain(text))

    def target(self, text: str) -> str:
        """The region or, failing that, the item that a typed name stands for."""
        region, match = self._region(text), self.resolver.find(text)
        name = region or match.name
        if name is None:
            regions = Resolver(sorted(map(_plain, self.regions))).find(text).suggestions
            near = [region for region in self.regions if _plain(region) in regions]
            near += match.suggestions
            there = ", ".join(self.regions) or "none here"
            raise InputError(
                f"{shown(text)} is neither a region nor an item of {self.name}:"
                f" {f'try {listed(near)}; ' if near else ''}regions are {there}"
            )
        return name

    def direction(self, text: str) -> NDArray[np.int32]:
        """Unit row of a region's direction or of an item, int32 [d]."""
        name = self.target(text)
        row: NDArray[np.int32]
        row = self.directions[name] if name in self.directions else self.units[self.index[name]]
        return row

    def check_complements(self, ids: Indices) -> None:
        """Refuse sets of items none of which belongs to a category with complements."""
        found = [self.tags[at].category for at in ids]
        if not any(category in COMPLEMENTS for category in found):
            what = listed([f"{self.items[at]} ({self.tags[at].category})" for at in ids])
            raise InputError(
                f"{what}: this category has no complements, so there are no pairings: leave it"
                f" out; categories that have: {', '.join(COMPLEMENTS)}"
            )

    def hits(self, ranked: batch.Ranked) -> list[list[Hit]]:
        """Positions and similarities as named hits, a list for each query."""
        return [
            [Hit(self.items[at], value) for at, value in zip(row, values, strict=True) if at >= 0]
            for row, values in zip(ranked.ids.tolist(), ranked.similarity.tolist(), strict=True)
        ]

    def _verdict(self, at: int, bits: int, diet: str | None, max_nova: int | None) -> Verdict:
        reasons = []
        if bits & batch.WRONG_DIET:
            reasons.append(f"not {diet}")
        if bits & batch.NOVA_ABOVE:
            reasons.append(f"NOVA {self.tags[at].nova} > {max_nova}")
        if bits & batch.NOVA_UNKNOWN:
            reasons.append("NOVA unknown")
        return Verdict(self.items[at], not bits, ", ".join(reasons))


def check_demands(diet: str | None, max_nova: int | None) -> None:
    """Refuse a diet or a NOVA cap that is none.

    Raises
    ------
    InputError
        With the value.
    """
    if diet is not None and diet not in DIETS:
        raise InputError(f"diet {shown(diet)}: use {' or '.join(DIETS)}")
    whole = isinstance(max_nova, Integral) and not isinstance(max_nova, bool)
    if max_nova is not None and not (whole and max_nova in NOVA_LEVELS):
        raise InputError(f"NOVA cap {shown(repr(max_nova))}: use the number 1, 2, 3 or 4")


def _plain(text: str) -> str:
    return "_".join(text.casefold().replace("-", " ").replace("_", " ").split())
