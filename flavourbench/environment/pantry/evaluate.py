"""Completion of the recipes by an environment and by what it has to beat."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from fbcore.blocks import Progress
from flavourbench.environment.environment import Environment
from flavourbench.environment.pantry.build import METHODS, Rows
from flavourbench.environment.pantry.completion import (
    Affinity,
    complete,
)
from flavourbench.environment.pantry.evidence import (
    Evidence,
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
    vectors = word_vectors([row.name for row in known])
    rows: dict[str, Rows] = {name: METHODS[name] for name in methods}
    if fixed is not None:
        taken = fixed.rows[fixed.ids([row.name for row in known])]
        rows = {fixed.name: lambda _: taken}

    def measured(
        training: Sequence[Indices], dishes: Sequence[Indices]
    ) -> Iterator[tuple[str, Affinity]]:
        found = evidence([*training, *dishes], attributes)
        for name, made in rows.items():
            yield from _by_cosines(name, made(found), found)
        yield "popularity", Affinity(np.zeros_like(found.together), found.occurrences)
        yield "co-occurrence", _by_counts(found)
        yield "co-occurrence, recipes alone", _by_counts(evidence(training, attributes))
        yield from _by_cosines("attributes alone", attributes, found)
        if vectors is not None:
            yield from _by_cosines("word vectors", vectors, found)

    sets = positions([recipe.ingredients for recipe in tables.recipes], index)
    recipes = {recipe.page: ids for recipe, ids in zip(tables.recipes, sets, strict=True)}
    dishes = positions([dish.ingredients for dish in tables.dishes], index)
    completed = complete(recipes, dishes, measured, len(known), progress)
    return completed | {"cross_validated": fixed is None}


def _by_cosines(name: str, rows: Floats, found: Evidence) -> Iterator[tuple[str, Affinity]]:
    """A method by cosines of unit rows: with popularity as a prior, and alone."""
    pairs = rows @ rows.T
    # An ingredient that never occurred counts half.
    yield name + WITH_PRIOR, Affinity(pairs, PRIOR * np.log(found.occurrences + 0.5))
    yield name, Affinity(pairs, np.zeros(len(pairs)))


def _by_counts(found: Evidence) -> Affinity:
    """How many training sets hold the item and each visible ingredient; ties by popularity."""
    return Affinity(found.together, found.occurrences * 1e-6)


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
