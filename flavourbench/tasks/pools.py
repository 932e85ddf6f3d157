"""Candidate rules: which eight items every possible anchor of a family shows, in batch.

Similarities are multiples of 2**-52 and compared as integers, so that no threshold, order
or tie depends on rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fbcore.portfolios import CANDIDATES
from flavourbench.environment import Environment, batch
from flavourbench.environment.space import UNIT, Floats, Indices, Mask
from flavourbench.environment.taxonomy import COMPLEMENTS, DIETS
from flavourbench.tasks.design import Family, TaskDesign

#: One in the integer grid of cosines and projections.
ONE = round(UNIT**-2)
#: Candidates on each side of a rule that parts them.
_HALF = CANDIDATES // 2
#: Anchors whose matrices are made together.
_BLOCK = 64


@dataclass(frozen=True, slots=True)
class Candidates:
    """Possible tasks of one family, m of them, by anchor and variant.

    Attributes
    ----------
    anchors : int64 [m], positions of items
    choices : int64 [m, 8]
    ease : int64 [m], ascends as difficulty falls
    diet : int64 [m], index in ``DIETS``; max_nova, region : int64 [m], region an index in
        the environment's ``regions``. -1 where the family demands none.
    """

    anchors: Indices
    choices: Indices
    ease: Indices
    diet: Indices
    max_nova: Indices
    region: Indices

    def __len__(self) -> int:
        return len(self.anchors)

    def take(self, rows: NDArray[np.int64] | Mask) -> Candidates:
        """Some of them, in the order of ``rows``."""
        return Candidates(*(getattr(self, entry.name)[rows] for entry in fields(self)))


def eligible(environment: Environment, design: TaskDesign) -> Mask:
    """Items that may be anchors and candidates: bool [n].

    Those of core categories whose names are words of letters, unless the design bars them.
    """
    return np.array(
        [
            tags.category in COMPLEMENTS
            and name not in design.excluded
            and not any(c.isdigit() for c in name)
            for name, tags in zip(environment.items, environment.tags, strict=True)
        ],
        np.bool_,
    )


def candidates(environment: Environment, family: Family, allowed: Mask) -> Candidates:
    """All possible tasks of a family, before acceptance.

    Parameters
    ----------
    allowed : bool [n], see :func:`eligible`
    """
    draw = {"spaced": _spaced, "sparse": _sparse, "poles": _poles}[family.rule]
    return draw(environment, family, allowed)


def evenly(k: int, n: int) -> list[int]:
    """``k`` evenly spaced indices of ``n``: i (n - 1) / (k - 1), rounded half-even."""
    return [round(Fraction(i * (n - 1), k - 1)) for i in range(k)]


def exact(cosines: Floats) -> Indices:
    """Cosines or projections as multiples of 2**-52."""
    return np.rint(cosines * ONE).astype(np.int64)


def _least(value: Fraction) -> int:
    """The smallest integer on the grid that is not below a threshold."""
    return -(-value.numerator * ONE // value.denominator)


_RELATIONS: dict[str, Callable[[Environment, Indices], Mask]] = {
    "same_category": lambda space, ids: space.same_category(ids),
    "complementary": lambda space, ids: space.complementary(ids),
    "shared_region": lambda space, ids: space.shares_region(ids),
    "no_shared_word": lambda space, ids: ~space.shares_word(ids),
    "nova_known": lambda space, ids: np.broadcast_to(space.nova > 0, (len(ids), len(space))),
}


def _pools(
    environment: Environment, family: Family, allowed: Mask
) -> Iterator[tuple[Indices, Mask, Floats]]:
    """By blocks of anchors: their positions, their pools bool [b, n], similarities [b, n]."""
    _ = environment.similarity  # made as a whole, it takes half the products
    anchors = np.flatnonzero(allowed)
    for at in range(0, len(anchors), _BLOCK):
        block = anchors[at : at + _BLOCK]
        pool = np.repeat(allowed[None], len(block), axis=0)
        for relation in family.pool:
            pool &= _RELATIONS[relation](environment, block)
        pool[np.arange(len(block)), block] = False
        yield block, pool, environment.similarities(block)


def _best(similarities: Floats, pool: Mask, k: int) -> batch.Ranked:
    return batch.top(np.where(pool, similarities, -np.inf), k)


def _spaced(environment: Environment, family: Family, allowed: Mask) -> Candidates:
    """Eight evenly spaced of the most similar items of the pool."""
    places = {n: evenly(CANDIDATES, n) for n in range(CANDIDATES, family.among + 1)}
    anchors, choices, spreads = [_none(0)], [_none(0, CANDIDATES)], [_none(0)]
    for block, pool, similarities in _pools(environment, family, allowed):
        size = pool.sum(axis=1)
        ranked = _best(similarities, pool, family.among)
        rows = np.flatnonzero(size >= max(family.least_pool, CANDIDATES))
        at = np.array([places[min(int(n), family.among)] for n in size[rows]], np.int64)
        at = at.reshape(-1, CANDIDATES)
        known = exact(np.take_along_axis(ranked.similarity[rows], at, axis=1))
        anchors.append(block[rows])
        choices.append(np.take_along_axis(ranked.ids[rows], at, axis=1))
        spreads.append(known[:, 0] - known[:, -1])
    spread = np.concatenate(spreads)
    found = _of(np.concatenate(anchors), np.concatenate(choices), spread)
    return found.take(spread >= _least(family.least_spread))


def _sparse(environment: Environment, family: Family, allowed: Mask) -> Candidates:
    """The four most similar feasible items, and four evenly spaced among infeasible ones."""
    places = {n: evenly(_HALF, n) for n in range(_HALF, family.among + 1)}
    parts = []
    for block, pool, similarities in _pools(environment, family, allowed):
        for diet in family.diets:
            for cap in family.nova_caps:
                passes = batch.infeasible(environment, diet, cap) == 0
                high = _best(similarities, pool & passes, _HALF).ids
                low = _best(similarities, pool & ~passes, family.among).ids
                size = (low >= 0).sum(axis=1)
                rows = np.flatnonzero((high >= 0).all(axis=1) & (size >= _HALF))
                at = np.array([places[n] for n in size[rows].tolist()], np.int64)
                at = at.reshape(-1, _HALF)
                drawn = np.take_along_axis(low[rows], at, axis=1)
                difficulty = cap + (family.vegetarian_step if diet == "vegetarian" else 0)
                parts.append(
                    _of(
                        block[rows],
                        np.concatenate([high[rows], drawn], axis=1),
                        np.full(len(rows), -_least(Fraction(difficulty))),
                        DIETS.index(diet),
                        cap,
                    )
                )
    return _joined(parts)


def _poles(environment: Environment, family: Family, allowed: Mask) -> Candidates:
    """Four items of distinct categories at the top of a region's direction, four of the lowest.

    Anchors have exactly one region, the one that is asked for.
    """
    parts = []
    projections = exact(environment.projections)
    for r, region in enumerate(environment.regions):
        at_home = np.array([tags.regions == (region,) for tags in environment.tags], np.bool_)
        column = projections[:, r]
        order = np.flatnonzero(allowed)
        order = order[np.lexsort((order, -column[order]))]
        anchors = np.flatnonzero(allowed & at_home)
        rows = [_pole_choices(environment, order[order != a], family.among) for a in anchors]
        choices = np.array([row for row in rows if row is not None], np.int64)
        choices = choices.reshape(-1, CANDIDATES)
        sums = column[choices].reshape(-1, 2, _HALF).sum(axis=2)
        spread = sums[:, 0] - sums[:, 1]
        kept = np.array([row is not None for row in rows], np.bool_)
        found = _of(anchors[kept], choices, spread, region=r)
        parts.append(found.take(spread >= _least(family.least_spread * _HALF)))
    return _joined(parts)


def _pole_choices(environment: Environment, order: Indices, among: int) -> list[int] | None:
    """Choices out of items by falling projection; None where there are too few."""
    high: dict[int, int] = {}
    category = environment.category
    for item in order.tolist():
        high.setdefault(int(category[item]), item)
        if len(high) == _HALF:
            break
    low = [item for item in order[-among - _HALF :].tolist() if item not in high.values()]
    low = low[-among:]
    if len(high) < _HALF or len(low) < _HALF:
        return None
    return [*high.values(), *(low[at] for at in evenly(_HALF, len(low)))]


def _none(*shape: int) -> Indices:
    return np.zeros(shape, np.int64)


def _of(
    anchors: Indices,
    choices: Indices,
    ease: Indices,
    diet: int = -1,
    max_nova: int = -1,
    region: int = -1,
) -> Candidates:
    demands = (np.full(len(anchors), value, np.int64) for value in (diet, max_nova, region))
    return Candidates(anchors, choices, ease, *demands)


def _joined(parts: list[Candidates]) -> Candidates:
    empty = _of(_none(0), _none(0, CANDIDATES), _none(0))
    columns = (
        np.concatenate([getattr(part, entry.name) for part in (empty, *parts)])
        for entry in fields(Candidates)
    )
    return Candidates(*columns)
