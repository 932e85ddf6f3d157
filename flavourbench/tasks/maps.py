"""Score maps: the scores of all 56 portfolios of candidate sets, and which are accepted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fbcore.portfolios import FULL, MEMBERS, PAIRS, PortfolioScores, portfolio_scores
from flavourbench.environment import Environment, batch
from flavourbench.environment.space import Mask
from flavourbench.environment.taxonomy import DIETS
from flavourbench.tasks.design import Family, TaskDesign
from flavourbench.tasks.pools import ONE, Candidates, exact


@dataclass(frozen=True, slots=True)
class ScoreMaps:
    """Scores of m candidate sets.

    Attributes
    ----------
    scores : of all portfolios, see :class:`fbcore.portfolios.PortfolioScores`
    feasible : bool [m, 56]
    """

    scores: PortfolioScores
    feasible: Mask


def score_maps(environment: Environment, family: Family, found: Candidates) -> ScoreMaps:
    """Scores of every portfolio of every candidate set; labels follow ``found.choices``."""
    choices = found.choices
    similarity = environment.similarity
    if family.rule == "poles":
        relevance = environment.projections[choices, found.region[:, None]]
    else:
        relevance = similarity[found.anchors[:, None], choices]
    feasible = feasible_portfolios(environment, family, found)
    scores = portfolio_scores(
        exact(relevance),
        exact(similarity[choices[:, PAIRS[:, 0]], choices[:, PAIRS[:, 1]]]),
        np.tile(np.array(family.weights, np.int64), (len(found), 1)),
        feasible,
    )
    return ScoreMaps(scores, feasible)


def feasible_portfolios(environment: Environment, family: Family, found: Candidates) -> Mask:
    """Which portfolios keep what the question demands, bool [m, 56]."""
    members = found.choices[:, MEMBERS]
    if family.feasible == "demands":
        passes = np.zeros(members.shape, np.bool_)
        for diet, cap in {*zip(found.diet.tolist(), found.max_nova.tolist(), strict=True)}:
            rows = (found.diet == diet) & (found.max_nova == cap)
            fits = batch.infeasible(environment, DIETS[diet], cap) == 0
            passes[rows] = fits[members[rows]]
        kept: Mask = np.all(passes, axis=2)
        return kept
    if family.feasible == "distinct_categories":
        a, b, c = np.moveaxis(environment.category[members], 2, 0)
        different: Mask = (a != b) & (a != c) & (b != c)
        return different
    return np.ones(members.shape[:2], np.bool_)


def accepted(maps: ScoreMaps, family: Family, design: TaskDesign) -> Mask:
    """Which candidate sets make a task, bool [m].

    Enough feasible portfolios, a range of the weighted mean that is wide enough, and one
    portfolio alone at the full score.
    """
    scale = 3 * sum(family.weights) * ONE
    least = -(-design.least_range.numerator * scale // design.least_range.denominator)
    found: Mask = np.greater_equal(maps.feasible.sum(axis=1), design.least_feasible)
    found &= maps.scores.span >= max(least, 1)
    found &= (maps.scores.bps == FULL).sum(axis=1) == 1
    return found


def bits_of(feasible: Mask) -> NDArray[np.uint64]:
    """Feasible portfolios as masks, uint64 [m]: bit p is portfolio p."""
    value = np.left_shift(np.uint64(1), np.arange(feasible.shape[1], dtype=np.uint64))
    found: NDArray[np.uint64] = (feasible * value).sum(axis=1, dtype=np.uint64)
    return found
