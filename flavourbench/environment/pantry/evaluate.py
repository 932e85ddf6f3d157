"""Completion of the recipes by an environment and by what it has to beat."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

from fbcore.blocks import Progress
from flavourbench.environment.environment import Environment
from flavourbench.environment.pantry.build import METHODS, Rows
from flavourbench.environment.pantry.completion import (
    Affinity,
    Method,
    complete,
)
from flavourbench.environment.pantry.evidence import (
    attribute_rows,
    evidence,
    positions,
    unit,
)
from flavourbench.environment.pantry.tables import PantryTables
from flavourbench.environment.space import Floats, Indices

#: Weight of the logarithm of an ingredient's count beside a mean cosine. Cosines tell what
#: goes together more often than by chance; how common an ingredient is has to be added.
PRIOR = 0.05
WITH_PRIOR = " + popularity"
WORD_VECTORS = "ingredient-parser-nlp"
_VECTOR_FILE = "ingredient_embeddings.35d.glove.txt.gz"


def completion(
    tables: PantryTables,
    methods: Sequence[str],
    fixed: Environment | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Complete the recipes of the tables by cross-validation.

    Parameters
    ----------
    methods : of :data:`METHODS`, built anew without each fold's recipes
    fixed : instead of these, an environment whose rows are taken as they are; recipes are
        read in its items

    Returns
    -------
    See :func:`complete`; ``cross_validated`` unless ``fixed``. The first method is compared
    with all others: the baselines are popularity, raw co-occurrence, attributes alone and,
    where ``ingredient-parser-nlp`` is installed, its word vectors. Each method of cosines is
    there alone and with popularity as a prior.
    """
    known = tables.ingredients
    if fixed is not None:
        known = tuple(row for row in known if fixed.resolver.find(row.name).name is not None)
    index = {row.name: at for at, row in enumerate(known)}
    attributes = attribute_rows(known)
    by_name: dict[str, Method] = {}
    if fixed is None:
        for name in methods:
            by_name |= _both(name, METHODS[name], attributes)
    else:
        rows = fixed.rows[fixed.ids([row.name for row in known])]
        by_name |= _both(fixed.name, lambda _: rows, attributes)
    recipes = positions([recipe.ingredients for recipe in tables.recipes], index)
    dishes = positions([dish.ingredients for dish in tables.dishes], index)
    counted = _raw_counts(attributes)
    by_name |= {
        "popularity": _popularity(attributes),
        "co-occurrence": counted,
        # Dishes come last in a training part, and there are as many in each.
        "co-occurrence, recipes alone": lambda sets: counted(sets[: len(sets) - len(dishes)]),
    }
    by_name |= _both("attributes", lambda _: attributes, attributes)
    vectors = word_vectors([row.name for row in known])
    if vectors is not None:
        by_name |= _both("word vectors", lambda _: vectors, attributes)
    pages = [recipe.page for recipe in tables.recipes]
    found = complete(dict(zip(pages, recipes, strict=True)), dishes, by_name, len(known), progress)
    return found | {"cross_validated": fixed is None}


def _both(name: str, rows: Rows, attributes: Floats) -> dict[str, Method]:
    """A method by cosines, alone and with popularity as a prior."""

    def method(weight: float) -> Method:
        def affinity(sets: Sequence[Indices]) -> Affinity:
            counts = evidence(sets, attributes)
            made = rows(counts)
            # An ingredient that never occurred counts half.
            return Affinity(made @ made.T, weight * np.log(counts.occurrences + 0.5))

        return affinity

    return {name + WITH_PRIOR: method(PRIOR), name: method(0.0)}


def _popularity(attributes: Floats) -> Method:
    def affinity(sets: Sequence[Indices]) -> Affinity:
        counts = evidence(sets, attributes)
        return Affinity(np.zeros_like(counts.together), counts.occurrences)

    return affinity


def _raw_counts(attributes: Floats) -> Method:
    """How many training sets hold the item and each visible ingredient."""

    def affinity(sets: Sequence[Indices]) -> Affinity:
        counts = evidence(sets, attributes)
        return Affinity(counts.together, counts.occurrences * 1e-6)  # ties by popularity

    return affinity


def word_vectors(names: Sequence[str]) -> Floats | None:
    """Food word vectors of names, unit rows [n, 35]; None where their package is missing.

    The mean of the vectors of a name's words (35-dimensional GloVe over recipes, in the data
    of ``ingredient-parser-nlp``); zero where no word has one.
    """
    try:
        files = metadata.files(WORD_VECTORS) or ()
    except metadata.PackageNotFoundError:
        return None
    path = next(file.locate() for file in files if file.name == _VECTOR_FILE)
    with gzip.open(str(path), "rt", encoding="utf-8") as lines:
        rows = (line.split() for line in lines)
        wanted = {word for name in names for word in name.split("_")}
        known = {row[0]: np.array(row[1:], np.float64) for row in rows if row[0] in wanted}
    size = len(next(iter(known.values())))
    found = np.zeros((len(names), size))
    for at, name in enumerate(names):
        vectors = [known[word] for word in name.split("_") if word in known]
        if vectors:
            found[at] = np.mean(vectors, axis=0)
    return unit(found)
