"""What the tables say of ingredients, as matrices: how often two go together, and attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from flavourbench.environment.pantry.tables import ATTRIBUTES, Ingredient
from flavourbench.environment.space import Floats, Indices

#: A dish written for the project counts so much beside a recipe that somebody cooked.
DISH_WEIGHT = 0.3
#: Share of the longest row below which a row holds rounding errors only.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Evidence:
    """How often pairs of ingredients go together, and attributes of the ingredients.

    Attributes
    ----------
    together : float64 [n, n], weighted number of sets that hold both, symmetric; diagonal 0
    attributes : float64 [n, a], unit rows, see :func:`attribute_rows`
    """

    together: Floats
    attributes: Floats

    @cached_property
    def positive_pmi(self) -> Floats:
        """Positive pointwise mutual information of pairs, [n, n]; see :func:`positive_pmi`."""
        return positive_pmi(self.together)

    @cached_property
    def normalised_pmi(self) -> Floats:
        """Positive PMI over its largest possible value, in [0, 1] (Bouma 2009)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = -np.log(self.together / self.together.sum())
            share = self.positive_pmi / bound
        return np.where(self.together > 0, share, 0.0)


def positive_pmi(together: Floats, shift: float = 0.0) -> Floats:
    """Positive pointwise mutual information of pairs, less ``shift``.

    log of how many times as often two go together as they would if pairs formed at random,
    where a pair has probability its count over the sum of all, and an ingredient that of the
    pairs it is in; 0 where that is negative or they never go together (Church & Hanks 1990;
    Bullinaria & Levy 2007). ``shift`` is the logarithm of a number of negative samples.
    """
    margin = together.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(together * margin.sum()) - np.log(np.outer(margin, margin)) - shift
    return np.where(together > 0, np.maximum(found, 0.0), 0.0)


def pair_counts(sets: Sequence[Indices], size: int) -> Floats:
    """Number of sets that hold both ingredients of a pair, float64 [n, n], whole numbers.

    On the diagonal that of sets with the ingredient.

    Parameters
    ----------
    sets : positions of the ingredients of each set, each once
    size : number n of ingredients
    """
    found = np.zeros((size, size))
    for ids in sets:
        found[np.ix_(ids, ids)] += 1.0
    return found


def evidence(recipes: Floats, dishes: Floats, attributes: Floats) -> Evidence:
    """Evidence from pair counts of recipes and of dishes (see :func:`pair_counts`)."""
    together = recipes + DISH_WEIGHT * dishes
    np.fill_diagonal(together, 0.0)
    return Evidence(together, attributes)


def attribute_rows(ingredients: Sequence[Ingredient]) -> Floats:
    """Attributes and tags of ingredients as unit rows, float64 [n, a].

    One column for each word of each attribute, for each category and region, weighted by
    ``sqrt(log(n / holders))``: what few ingredients share tells more. Words of a cell share
    the weight of their column.
    """
    rows = [_words(ingredient) for ingredient in ingredients]
    columns = {word: at for at, word in enumerate(sorted({word for row in rows for word in row}))}
    found = np.zeros((len(rows), len(columns)))
    for at, row in enumerate(rows):
        for word, weight in row.items():
            found[at, columns[word]] = weight
    holders = (found > 0).sum(axis=0)
    found *= np.sqrt(np.log(len(rows) / holders))
    return unit(found)


def _words(ingredient: Ingredient) -> dict[tuple[str, str], float]:
    cells = {key: ingredient.attributes[key] for key in ATTRIBUTES}
    cells |= {"category": (ingredient.tags.category,), "region": ingredient.tags.regions}
    return {(key, word): len(cell) ** -0.5 for key, cell in cells.items() for word in cell}


def unit(rows: Floats) -> Floats:
    """Rows of length 1; what is nothing but rounding beside the longest row becomes zero."""
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    some = norms > NEGLIGIBLE * norms.max(initial=0.0)
    found: Floats = np.divide(rows, norms, out=np.zeros_like(rows), where=some)
    return found


def positions(sets: Sequence[Sequence[str]], index: Mapping[str, int]) -> list[Indices]:
    """Ingredient sets as positions of items, those without one left out."""
    return [
        np.array(sorted({index[name] for name in names if name in index}), np.int64)
        for names in sets
    ]
