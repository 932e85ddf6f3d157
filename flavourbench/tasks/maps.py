"""Score maps: the scores of all 56 portfolios of candidate sets, and which are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fbcore.design import PORTFOLIOS
from fbcore.portfolios import FULL, MEMBERS, PAIRS, PortfolioScores, portfolio_scores
from flavourbench.environment import Environment, batch
from flavourbench.environment.space import Mask
from flavourbench.environment.taxonomy import DIETS
from flavourbench.errors import InputError, listed, shown
from flavourbench.tasks.design import Family, TaskDesign, read_design
from flavourbench.tasks.pools import ONE, Candidates, exact
from flavourbench.tasks.taskset import Task, TaskSet


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


def score_maps(
    environment: Environment, family: Family, found: Candidates, feasible: Mask | None = None
) -> ScoreMaps:
    """Scores of every portfolio of every candidate set; labels follow ``found.choices``.

    Parameters
    ----------
    feasible : bool [m, 56]; those of :func:`feasible_portfolios` if None
    """
    if feasible is None:
        feasible = feasible_portfolios(environment, family, found)
    return ScoreMaps(portfolio_scores(*weighed(environment, family, found), feasible), feasible)


def weighed(
    environment: Environment, family: Family, found: Candidates
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """What utilities are made of: relevance [m, 8], similarity of pairs [m, 28], weights [m, 2]."""
    choices = found.choices
    similarity = environment.similarity
    if family.rule == "poles":
        relevance = environment.projections[choices, found.region[:, None]]
    else:
        relevance = similarity[found.anchors[:, None], choices]
    return (
        exact(relevance),
        exact(similarity[choices[:, PAIRS[:, 0]], choices[:, PAIRS[:, 1]]]),
        np.tile(np.array(family.weights, np.int64), (len(found), 1)),
    )


def by_family(tasks: TaskSet) -> Iterator[tuple[Family, list[Task]]]:
    """Families and their tasks; those of the packaged design where there is none."""
    for family in (tasks.design or read_design()).families:
        chosen = [task for task in tasks.tasks if task.family == family.name]
        if chosen:
            yield family, chosen


def families_of(tasks: TaskSet) -> list[tuple[Family, list[Task]]]:
    """All of :func:`by_family`.

    Raises
    ------
    InputError
        A family that no design knows.
    """
    found = [*by_family(tasks)]
    unknown = {*tasks.families} - {family.name for family, _ in found}
    if unknown:
        raise InputError(f"no design knows the family {listed(sorted(unknown))}")
    return found


def candidates_of(family: Family, tasks: Sequence[Task], environment: Environment) -> Candidates:
    """The candidates of tasks of one family; their names must be items of the environment.

    Raises
    ------
    InputError
        A task lacks what its family demands: a diet and a NOVA cap, or a region that the
        environment knows.
    """
    for task in tasks:
        if family.feasible == "demands" and (task.diet is None or task.max_nova is None):
            raise InputError(f"task {shown(task.id)}: no diet or no NOVA cap, which it demands")
        if family.rule == "poles" and task.region not in environment.regions:
            raise InputError(
                f"task {shown(task.id)}: region {shown(task.region)} has no direction here"
            )
    at = environment.index
    diets = {diet: place for place, diet in enumerate(DIETS)}
    regions = {region: place for place, region in enumerate(environment.regions)}
    columns = (
        [at[task.anchor] for task in tasks],
        [[at[name] for name in task.choices] for task in tasks],
        [0] * len(tasks),
        [diets.get(task.diet or "", -1) for task in tasks],
        [task.max_nova or -1 for task in tasks],
        [regions.get(task.region or "", -1) for task in tasks],
    )
    return Candidates(*(np.array(column, np.int64) for column in columns))


def feasible_portfolios(environment: Environment, family: Family, found: Candidates) -> Mask:
    """Which portfolios keep what the question demands, bool [m, 56]."""
    if family.feasible == "demands":
        kept: Mask = np.all(passing(environment, found)[:, MEMBERS], axis=2)
        return kept
    members = found.choices[:, MEMBERS]
    if family.feasible == "distinct_categories":
        a, b, c = np.moveaxis(environment.category[members], 2, 0)
        different: Mask = (a != b) & (a != c) & (b != c)
        return different
    return np.ones(members.shape[:2], np.bool_)


def passing(environment: Environment, found: Candidates) -> Mask:
    """Which candidates meet the diet and the NOVA cap of their task, bool [m, 8]."""
    passes = np.zeros(found.choices.shape, np.bool_)
    for diet, cap in {*zip(found.diet.tolist(), found.max_nova.tolist(), strict=True)}:
        rows = (found.diet == diet) & (found.max_nova == cap)
        fits = batch.infeasible(environment, DIETS[diet], cap) == 0
        passes[rows] = fits[found.choices[rows]]
    return passes


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


def portfolios_of(masks: Sequence[int]) -> Mask:
    """Feasible portfolios bool [m, 56] of masks as :func:`bits_of` makes them."""
    bits = np.array(masks, np.uint64)[:, None] >> np.arange(PORTFOLIOS, dtype=np.uint64)
    found: Mask = (bits & np.uint64(1)).astype(np.bool_)
    return found
