"""What blind contestants know: the tables of the pantry and published word vectors, by name.

Nothing here has seen a task or a score. But environments are built from tables like these, and the
bundled one from these very tables: what dishes say is close to its answers.

Values are integers, real numbers in millionths, so that the last bit of a logarithm or of a sum
of products decides nothing (it could where a value lies on the edge of rounding, as about one
in 10**9 does).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TypeVar

import numpy as np

from flavourbench.collect.contestants.parameters import SETS
from flavourbench.environment.names import Resolver
from flavourbench.environment.pantry.evaluate import WORD_VECTORS, word_vectors
from flavourbench.environment.pantry.evidence import (
    DISH_WEIGHT,
    Evidence,
    attribute_rows,
    pair_counts,
    positions,
    unit,
)
from flavourbench.environment.pantry.tables import Dish, PantryTables, Recipe, read_tables
from flavourbench.environment.space import Floats
from flavourbench.environment.words import words_of
from flavourbench.errors import InputError

UNIT = 1_000_000
#: Positions of k ingredients → a value of every pair of them, k lists of k integers.
Pairs = Callable[[Sequence[int]], list[list[int]]]
_Arguments = tuple[str, ...]
_T = TypeVar("_T")


def _once(make: Callable[..., _T]) -> Callable[..., _T]:
    """``make``, run once for the same arguments even where threads ask for it together."""
    lock = Lock()
    kept: dict[_Arguments, _T] = {}

    def made(*arguments: str) -> _T:
        if arguments not in kept:
            with lock:
                if arguments not in kept:
                    kept[arguments] = make(*arguments)
        return kept[arguments]

    return made


class Pantry:
    """Ingredients of the tables, by position.

    Attributes
    ----------
    tables : as read
    tags : of the n ingredients
    """

    def __init__(self, tables: PantryTables) -> None:
        self.tables = tables
        self.tags = [ingredient.tags for ingredient in tables.ingredients]
        self._index = {name: at for at, name in enumerate(tables.names)}
        self._resolver = Resolver(tables.names)
        self._found: dict[str, int | None] = {}

    def find(self, name: str) -> int | None:
        """Position of the ingredient that a name stands for; None where it stands for none."""
        if name not in self._found:
            words = words_of(name)
            item = self._resolver.item(words) if words else None
            self._found[name] = None if item is None else self._index[item]
        return self._found[name]

    def counts(self, rows: Sequence[Recipe] | Sequence[Dish]) -> Floats:
        """How many rows hold both ingredients of a pair, [n, n]; one, on the diagonal."""
        return pair_counts(
            positions([row.ingredients for row in rows], self._index), len(self.tags)
        )


@_once
def pantry() -> Pantry:
    """The tables of the package."""
    return Pantry(read_tables())


@_once
def popularity() -> list[int]:
    """Number of recipes with each ingredient."""
    found: list[int] = np.diagonal(_counts(SETS[0])).astype(np.int64).tolist()
    return found


@_once
def co_occurrence(sets: str) -> Pairs:
    """Number of sets with both, a dish counting 0.3."""
    return _within(_counts(sets))


@_once
def association(sets: str) -> Pairs:
    """Normalised pointwise mutual information, 0 where it is negative."""
    return _within(_associations(sets))


@_once
def company(sets: str) -> Pairs:
    """Cosine of associations: how far two go with the same things."""
    return _cosines(unit(_associations(sets)))


@_once
def attributes() -> Pairs:
    """Cosine of attributes: taste, aroma, texture, family, role, processing, and tags."""
    return _cosines(attribute_rows(pantry().tables.ingredients))


@_once
def vectors() -> Pairs:
    """Cosine of word vectors.

    Raises
    ------
    InputError
        The package that has them does not, as installed.
    """
    rows = word_vectors(pantry().tables.names)
    if rows is None:
        raise InputError(
            f"{WORD_VECTORS} as installed holds no word vectors:"
            ' pip install --force-reinstall "flavourbench[pantry]"'
        )
    return _cosines(rows)


def regions(ids: Sequence[int]) -> list[list[int]]:
    """Regions of both over regions of either."""
    held = [{*pantry().tags[at].regions} for at in ids]
    return [[UNIT * len(a & b) // len(a | b) for b in held] for a in held]


@_once
def _counts(sets: str) -> Floats:
    tables = pantry().tables
    found = pantry().counts(tables.recipes)
    if sets != SETS[0]:
        found = found + DISH_WEIGHT * pantry().counts(tables.dishes)
    return found


@_once
def _associations(sets: str) -> Floats:
    counts = _counts(sets).copy()
    np.fill_diagonal(counts, 0.0)
    return Evidence(counts, np.zeros((len(counts), 0))).normalised_pmi


def _within(table: Floats) -> Pairs:
    return lambda ids: _integers(table[np.ix_(ids, ids)])


def _cosines(rows: Floats) -> Pairs:
    def pairs(ids: Sequence[int]) -> list[list[int]]:
        some = rows[list(ids)]
        return _integers(some @ some.T)

    return pairs


def _integers(values: Floats) -> list[list[int]]:
    found: list[list[int]] = np.rint(values * UNIT).astype(np.int64).tolist()
    return found
