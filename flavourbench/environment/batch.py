"""Operations for many items at once: arrays in, arrays out.

Items are positions in the order of their names, so ties go to the lower position.
``ids`` are int64 [m]; :func:`all_items` gives those of every item.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from flavourbench.environment.space import UNIT, Floats, Indices, ItemSpace
from flavourbench.errors import InputError, shown

#: Bits of :func:`infeasible`: why an item is not feasible.
WRONG_DIET, NOVA_ABOVE, NOVA_UNKNOWN = 1, 2, 4
#: Queries that are ranked together.
_BLOCK = 64
STANDING_PERCENTILES = (10, 25, 50, 75, 90)
#: A direction within this of an item (or of its opposite) gives no plane to rotate in.
_LEAST_SINE = 1e-6


@dataclass(frozen=True, slots=True)
class Ranked:
    """The best items of each query, best first.

    Attributes
    ----------
    ids : int64 [m, k] (k no more than there are items), -1 where fewer are allowed
    similarity : float64 [m, k], NaN there
    """

    ids: Indices
    similarity: Floats


def all_items(space: ItemSpace) -> Indices:
    """Positions of all items, int64 [n]."""
    return np.arange(len(space), dtype=np.int64)


def top(scores: Floats, k: int) -> Ranked:
    """The k highest scores of each row, equal ones by position.

    Parameters
    ----------
    scores : float64 [m, n] without NaN; -inf leaves an item out
    k : int, at least 1
    """
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k = {shown(k)}: ask for at least one item")
    m, n = scores.shape
    k = min(int(k), n)
    found = Ranked(np.full((m, k), -1, np.int64), np.full((m, k), np.nan))
    if not m:
        return found
    # A full sort: a partition takes three times as long where most scores are -inf.
    least = np.sort(scores, axis=1)[:, n - k]
    candidate = scores >= least[:, None]
    candidate &= scores > -np.inf
    rows, columns = np.nonzero(candidate)
    # Rows and, in them, columns ascend already, and lexsort keeps the order of ties.
    order = np.lexsort((-scores[rows, columns], rows))
    rows, columns = rows[order], columns[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(m))[rows]
    kept = place < k
    at = rows[kept], place[kept]
    found.ids[at] = columns[kept]
    found.similarity[at] = scores[rows[kept], columns[kept]]
    return found


def _ranked(
    space: ItemSpace, queries: Indices, k: int, score: Callable[[Indices], Floats]
) -> Ranked:
    """:func:`top` of ``score`` by blocks of queries, whose matrices stay in the cache."""
    if 2 * len(queries) > len(space):
        _ = space.similarity  # made as a whole, it takes half the products
    blocks = [queries[at : at + _BLOCK] for at in range(0, len(queries), _BLOCK)]
    parts = [top(score(block), k) for block in blocks or [queries]]
    return Ranked(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.similarity for part in parts]),
    )


def neighbors(space: ItemSpace, ids: Indices, k: int) -> Ranked:
    """The k most similar items; the item itself is masked."""

    def score(block: Indices) -> Floats:
        scores = space.similarities(block)
        scores[np.arange(len(block)), block] = -np.inf
        return scores

    return _ranked(space, ids, k, score)


def substitutes(space: ItemSpace, ids: Indices, k: int) -> Ranked:
    """Most similar items of the same category that share a region and no word of the name."""

    def score(block: Indices) -> Floats:
        allowed = space.same_category(block) & space.shares_region(block)
        scores = space.similarities(block)
        np.copyto(scores, -np.inf, where=~allowed | space.shares_word(block))
        return scores

    return _ranked(space, ids, k, score)


def pairings(
    space: ItemSpace, sets: Indices, k: int, diet: str | None = None, max_nova: int | None = None
) -> tuple[Ranked, Indices]:
    """Best complements of sets of items, by mean similarity to the set.

    Parameters
    ----------
    sets : int64 [m, q]; an item complements a set when its category complements that of
        any member. Members themselves are masked.

    Returns
    -------
    The best k feasible complements, and int64 [m], how many complements were infeasible.
    """
    feasible = infeasible(space, diet, max_nova) == 0
    dropped: list[Indices] = [np.zeros(0, np.int64)]

    def score(block: Indices) -> Floats:
        # Sums follow the order of names, not that of the query.
        members = np.sort(block, axis=1).T
        total = space.similarities(members[0])
        allowed = space.complementary(members[0])
        for ids in members[1:]:
            total += space.similarities(ids)
            allowed |= space.complementary(ids)
        allowed[np.arange(len(block))[:, None], block] = False
        dropped.append((allowed & ~feasible).sum(axis=1))
        total /= len(members)
        np.copyto(total, -np.inf, where=~(allowed & feasible))
        return total

    return _ranked(space, sets, k, score), np.concatenate(dropped)


def infeasible(
    space: ItemSpace, diet: str | None = None, max_nova: int | None = None
) -> NDArray[np.uint8]:
    """Why each item is infeasible, uint8 [n]: a sum of the bits above, 0 where feasible."""
    reasons = np.zeros(len(space), np.uint8)
    if diet is not None:
        reasons[~(space.vegan if diet == "vegan" else space.vegetarian)] |= WRONG_DIET
    if max_nova is not None:
        reasons[space.nova > max_nova] |= NOVA_ABOVE
        reasons[space.nova == 0] |= NOVA_UNKNOWN
    return reasons


def pair_similarities(space: ItemSpace) -> Floats:
    """Similarities of all pairs of different items, ascending, float64 [n (n - 1) / 2]."""
    s = space.similarity
    pairs = np.concatenate([s[i, i + 1 :] for i in range(len(space))])
    pairs.sort()
    pairs.flags.writeable = False
    return pairs


def standings(space: ItemSpace, percentiles: Floats) -> NDArray[np.uint8]:
    """How many of ``percentiles`` each pair reaches, uint8 [n, n]."""
    reached = np.zeros(space.similarity.shape, np.uint8)
    for value in percentiles:
        reached += space.similarity >= value
    return reached


def sorted_percentiles(ascending: Floats, percents: tuple[int, ...]) -> Floats:
    """Percentiles of at least one sorted value, linear between neighbours, [percents]."""
    last = len(ascending) - 1
    places = [percent * last / 100 for percent in percents]
    low = [math.floor(place) for place in places]
    values = [
        ascending[at] + (place - at) * (ascending[min(at + 1, last)] - ascending[at])
        for at, place in zip(low, places, strict=True)
    ]
    return np.array(values)


def region_spread(space: ItemSpace) -> Floats:
    """10th and 90th percentile of the projections on each direction, float64 [2, r]."""
    columns = np.sort(space.projections, axis=0)
    spread = [sorted_percentiles(column, (10, 90)) for column in columns.T]
    found = np.array(spread).reshape(-1, 2).T
    found.flags.writeable = False
    return found


def morph(
    space: ItemSpace, ids: Indices, direction: NDArray[np.int32], angle: float, k: int
) -> Ranked:
    """Rotate rows by a fixed angle toward a direction; the nearest items but the item itself.

    Parameters
    ----------
    direction : int32 [d], a unit row in multiples of 2**-26
    angle : degrees, 0-180

    Raises
    ------
    InputError
        An angle that is no number or out of range, or an item that lies on the direction.
    """
    number = isinstance(angle, Real) and not isinstance(angle, bool)
    if not (number and 0 <= angle <= 180):
        raise InputError(f"angle {shown(repr(angle))}: use a number of degrees, 0 to 180")
    target = np.multiply(direction, UNIT, dtype=np.float64)
    toward = space.rows @ target
    squares = (space.rows * space.rows).sum(axis=1)
    # Gram-Schmidt. The rest is measured as a row: a difference of squares would be all
    # rounding where item and target nearly agree.
    share = toward / squares
    rest = np.sqrt(np.square(target - share[ids, None] * space.rows[ids]).sum(axis=1))
    if (rest < _LEAST_SINE).any():
        name = space.items[int(ids[int(np.argmin(rest))])]
        raise InputError(f"{name} lies on the direction itself: choose another target")
    radians = math.radians(angle)
    along = math.cos(radians) / np.sqrt(squares)
    across = np.zeros(len(space))
    across[ids] = math.sin(radians) / rest

    def score(block: Indices) -> Floats:
        # Products with the rotated row, which is never made.
        s = space.similarities(block)
        scores: Floats = along[block, None] * s
        scores += across[block, None] * (toward - share[block, None] * s)
        scores[np.arange(len(block)), block] = -np.inf
        return scores

    return _ranked(space, ids, k, score)


def portfolio_utilities(
    space: ItemSpace, relevance: Floats, portfolios: Indices, weights: tuple[float, float]
) -> Floats:
    """Utility of portfolios: weighted sum of mean relevance and coherence, float64 [...].

    Parameters
    ----------
    relevance : float64 [n], similarity to an anchor or projection on a region
    portfolios : int64 [..., 3] positions
    weights : of relevance and coherence; a family of tasks has its own

    Coherence is the mean of the three pairwise similarities.
    """
    # Sums follow the order of names, so that the order within a portfolio changes no bit.
    ordered = np.sort(portfolios, axis=-1)
    a, b, c = (ordered[..., at] for at in range(3))
    s = space.similarity
    mean = (relevance[a] + relevance[b] + relevance[c]) / 3
    coherence = (s[a, b] + s[a, c] + s[b, c]) / 3
    utility: Floats = weights[0] * mean + weights[1] * coherence
    return utility
