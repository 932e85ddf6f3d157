"""How well an environment completes recipes: hide an ingredient, rank it among all others.

Every method scores an item by its mean affinity to the visible ingredients plus a prior of
its own, so that all are ranked by the same code. The vectors of a fold are built without its
recipes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fbcore.blocks import Progress
from fbcore.bootstrap import bootstrap
from fbcore.design import Design, quantise
from fbcore.quantiles import intervals
from flavourbench.environment.space import Floats, Indices
from flavourbench.errors import InputError

#: Recipes with fewer known ingredients are not completed.
LEAST_VISIBLE = 3
FOLDS = 5
#: A hidden ingredient counts as found at this rank or better.
TOP = 10
DRAWS, SEED, ALPHA = 10_000, 20261130, 0.05
MEASURES = ("mrr", "recall")


@dataclass(frozen=True, slots=True)
class Affinity:
    """How a method scores items.

    Attributes
    ----------
    pairs : float64 [n, n], affinity of a visible ingredient (row) to an item (column)
    prior : float64 [n], added to the mean of these
    """

    pairs: Floats
    prior: Floats


#: What a method is (its part, and its name there).
Key = tuple[str, str]
#: Key and affinities of each method, from the recipes of a training part (positions of items).
#: The same keys in the same order every time.
Methods = Callable[[Sequence[Indices]], Iterable[tuple[Key, Affinity]]]


def fold_of(page: str, folds: int = FOLDS) -> int:
    """The fold of a recipe, by a hash of its page: the same whatever else there is."""
    return int.from_bytes(hashlib.sha256(page.encode()).digest()[:8], "big") % folds


def complete(
    recipes: Mapping[str, Indices],
    methods: Methods,
    items: int,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Leave one ingredient out of every recipe, by cross-validation over recipes.

    Parameters
    ----------
    recipes : page → positions of its ingredients
    methods : called once for each fold; the first method is compared with the others
    items : number n of items

    Returns
    -------
    ``recipes`` completed and ``hidden`` ingredients in them; ``left_out``, recipes with too
    few; ``items`` ranked; ``folds``; ``top``; and by part of the methods, of each ``mrr`` and
    ``recall`` (share of the hidden at rank ``top`` or better), both means over the hidden of a
    recipe and then over recipes; and, of all but the first, ``behind``: how much better the
    first is. Every figure has ``value``, ``low`` and ``high``, an interval over recipes.

    Raises
    ------
    InputError
        There are fewer recipes to complete than folds.
    """
    pages = sorted(page for page, ids in recipes.items() if len(ids) > LEAST_VISIBLE)
    if len(pages) < FOLDS:
        raise InputError(
            f"{len(pages)} recipes with more than {LEAST_VISIBLE} known ingredients: at least"
            f" {FOLDS} are completed"
        )
    found: dict[Key, Floats] = {}
    for fold in range(FOLDS):
        training = [ids for page, ids in sorted(recipes.items()) if fold_of(page) != fold]
        held = [at for at, page in enumerate(pages) if fold_of(page) == fold]
        for key, affinity in methods(training):
            measured = found.setdefault(key, np.zeros((len(MEASURES), len(pages))))
            for at in held:
                measured[:, at] = _completed(recipes[pages[at]], affinity)
        if progress is not None:
            progress("completion", 1, FOLDS)
    parts: dict[str, dict[str, Any]] = {}
    for (part, name), figures in _figures(found).items():
        parts.setdefault(part, {})[name] = figures
    return {
        "recipes": len(pages),
        "hidden": sum(len(recipes[page]) for page in pages),
        "left_out": len(recipes) - len(pages),
        "items": items,
        "folds": FOLDS,
        "top": TOP,
        **parts,
    }


def _completed(ids: Indices, affinity: Affinity) -> tuple[float, float]:
    """Mean reciprocal rank and recall over the ingredients of a recipe, each hidden once."""
    pairs = affinity.pairs[ids]
    scores = (pairs.sum(axis=0) - pairs) / (len(ids) - 1) + affinity.prior
    own = np.arange(len(ids))
    hidden = scores[own, ids].copy()
    scores[:, ids] = -np.inf  # what is visible is no candidate
    above = (scores > hidden[:, None]).sum(axis=1)
    level = (scores == hidden[:, None]).sum(axis=1)
    ranks = 1 + above + level / 2  # ties share their mean rank
    return float(np.mean(1 / ranks)), float(np.mean(ranks <= TOP))


def _figures(found: Mapping[Key, Floats]) -> dict[Key, dict[str, Any]]:
    """Means over recipes and leads of the first method, with bootstrap intervals.

    ``found`` holds [measures, recipes] of each method.
    """
    keys, values = [*found], np.array([*found.values()])
    figures: dict[Key, dict[str, Any]] = {
        key: {"behind": {} if at else None} for at, key in enumerate(keys)
    }
    every = np.arange(values.shape[2], dtype=np.int32)
    design = Design(np.zeros_like(every), every)
    count = len(keys)
    left = np.concatenate([np.arange(count), np.zeros(count - 1, np.int64)])
    right = np.concatenate([np.full(count, -1), np.arange(1, count)])
    for at, measure in enumerate(MEASURES):
        scores = quantise(np.ascontiguousarray(values[:, at]))
        draws = bootstrap(scores.values, design, scores.exponent, DRAWS, SEED).draws
        means = values[:, at].mean(axis=1)
        bounds = intervals(draws, left, right, ALPHA)
        for m, key in enumerate(keys):
            figures[key][measure] = _figure(means[m], bounds[m])
            if m:
                lead = _figure(means[0] - means[m], bounds[count + m - 1])
                figures[key]["behind"][measure] = lead
    return figures


def _figure(value: float, bounds: Floats) -> dict[str, float]:
    return {"value": float(value), "low": float(bounds[0]), "high": float(bounds[1])}
