"""Completion of the recipes by an environment and by what it has to beat."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from fbcore.blocks import Progress
from flavourbench.environment.environment import Environment
from flavourbench.environment.pantry.build import METHODS, Rows
from flavourbench.environment.pantry.completion import Affinity, Key, complete
from flavourbench.environment.pantry.evidence import (
    attribute_rows,
    evidence,
    pair_counts,
    positions,
    unit,
)
from flavourbench.environment.pantry.tables import RECIPES, PantryTables
from flavourbench.environment.space import Floats, Indices
from flavourbench.environment.tagfile import file_facts

#: Weight of the logarithm of an ingredient's count beside a mean cosine. Cosines tell what
#: goes together more often than by chance; how common an ingredient is has to be added.
PRIOR = 0.05
WITH_PRIOR = " + popularity"
WORD_VECTORS = "ingredient-parser-nlp"
_VECTOR_FILE = "ingredient_embeddings.35d.glove.txt.gz"


Named = Iterator[tuple[Key, Affinity]]


def completion(
    tables: PantryTables,
    methods: Mapping[str, str],
    fixed: Environment | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Complete the recipes of the tables by cross-validation.

    Parameters
    ----------
    methods : label → one of :data:`METHODS`, built anew without each fold's recipes
    fixed : instead of these, an environment whose rows are taken as they are; recipes are
        read in its items

    Returns
    -------
    See :func:`complete`. ``methods`` and ``baselines``: popularity; the number of recipes that
    hold an item and a visible ingredient, and its share of those with the ingredient (raw and
    conditional co-occurrence); attributes; and, where ``ingredient-parser-nlp`` is installed,
    its word vectors. What goes by cosines is there with popularity as a prior, and alone.
    Counts are of the recipes of the other folds. ``cross_validated`` unless ``fixed``;
    ``seen``, whether ``fixed`` was built from these very recipes.

    Raises
    ------
    InputError
        Too few recipes have enough known ingredients.
    """
    known = tables.ingredients
    if fixed is not None:
        known = tuple(row for row in known if fixed.resolver.find(row.name).name is not None)
    index = {row.name: at for at, row in enumerate(known)}
    attributes = attribute_rows(known)
    vectors = word_vectors([row.name for row in known])
    rows: dict[str, Rows] = {label: METHODS[name] for label, name in methods.items()}
    if fixed is not None:
        taken = fixed.rows[fixed.ids([row.name for row in known])]
        rows = {fixed.name: lambda _: taken}
    sets = positions([recipe.ingredients for recipe in tables.recipes], index)
    recipes = {recipe.page: ids for recipe, ids in zip(tables.recipes, sets, strict=True)}
    dishes = pair_counts(positions([d.ingredients for d in tables.dishes], index), len(known))

    def measured(training: Sequence[Indices]) -> Named:
        counts = pair_counts(training, len(known))
        holders = np.diagonal(counts)
        found = evidence(counts, dishes, attributes)
        for name, made in rows.items():
            yield from _by_cosines("methods", name, made(found), holders)
        nothing, ties = np.zeros_like(counts), holders * 1e-6
        yield ("baselines", "popularity"), Affinity(nothing, holders)
        yield ("baselines", "co-occurrence"), Affinity(counts, ties)
        share = counts / np.maximum(holders, 1.0)[:, None]
        yield ("baselines", "co-occurrence, conditional"), Affinity(share, ties)
        yield from _by_cosines("baselines", "attributes", attributes, holders)
        if vectors is not None:
            yield from _by_cosines("baselines", "word vectors", vectors, holders)

    completed = complete(recipes, measured, len(known), progress)
    seen = fixed is not None and _digest(fixed) == file_facts(tables.files)[RECIPES]["sha256"]
    return completed | {"cross_validated": fixed is None, "seen": seen}


def _by_cosines(part: str, name: str, rows: Floats, holders: Floats) -> Named:
    """A method by cosines of unit rows: with popularity as a prior, and alone."""
    pairs = rows @ rows.T
    # An ingredient that no recipe holds counts half.
    yield (part, name + WITH_PRIOR), Affinity(pairs, PRIOR * np.log(holders + 0.5))
    yield (part, name), Affinity(pairs, np.zeros(len(pairs)))


def _digest(environment: Environment) -> object:
    """Digest of the recipes table that an environment says it was built from, if any."""
    files = environment.provenance.get("files", {})
    return files.get(RECIPES, {}).get("sha256")


def word_vectors(names: Sequence[str]) -> Floats | None:
    """Food word vectors of names, unit rows [n, 35]; None without their package, or any word.

    The mean of the vectors of a name's words (35-dimensional GloVe over recipes, in the data
    of ``ingredient-parser-nlp``); zero where no word has one.
    """
    try:
        files = metadata.files(WORD_VECTORS) or ()
    except metadata.PackageNotFoundError:
        return None
    path = next((file.locate() for file in files if file.name == _VECTOR_FILE), None)
    if path is None:
        return None
    with gzip.open(str(path), "rt", encoding="utf-8") as lines:
        rows = (line.split() for line in lines)
        wanted = {word for name in names for word in name.split("_")}
        known = {row[0]: np.array(row[1:], np.float64) for row in rows if row[0] in wanted}
    if not known:
        return None
    size = len(next(iter(known.values())))
    found = np.zeros((len(names), size))
    for at, name in enumerate(names):
        vectors = [known[word] for word in name.split("_") if word in known]
        if vectors:
            found[at] = np.mean(vectors, axis=0)
    return unit(found)
