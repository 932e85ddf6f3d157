"""Score maps of tasks under other weights, and as another environment sees them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fbcore.design import PORTFOLIOS
from flavourbench.environment import Environment
from flavourbench.environment.space import Mask
from flavourbench.errors import InputError, shown
from flavourbench.settings import Table
from flavourbench.tasks.agreement import own_maps, resolved_in
from flavourbench.tasks.design import Family, read_weights
from flavourbench.tasks.maps import (
    ScoreMaps,
    candidates_of,
    families_of,
    feasible_portfolios,
    portfolios_of,
    score_maps,
)
from flavourbench.tasks.taskset import Task, TaskSet
from flavourbench.tasks.verify import unknown_items


@dataclass(frozen=True, slots=True)
class Weighing:
    """How relevance and coherence are weighed.

    Attributes
    ----------
    name : str
    share : Fraction in [0, 1], of relevance in every family; None for that of each family
    step : Fraction, is added to it; what is below 0 or above 1 then, is 0 or 1
    """

    name: str
    share: Fraction | None = None
    step: Fraction = Fraction(0)

    def of(self, family: Family) -> tuple[int, int]:
        """Weights of relevance and coherence in a family, without a common divisor."""
        first, second = family.weights
        base = Fraction(first, first + second) if self.share is None else self.share
        share = min(max(base + self.step, Fraction(0)), Fraction(1))
        return share.numerator, share.denominator - share.numerator


#: The weights of the design.
DESIGNED = Weighing("as designed")
WEIGHINGS = (
    Weighing("relevance only", Fraction(1)),
    Weighing("coherence only", Fraction(0)),
    Weighing("equal", Fraction(1, 2)),
    Weighing("relevance +0.1", step=Fraction(1, 10)),
    Weighing("relevance -0.1", step=Fraction(-1, 10)),
)


@dataclass(frozen=True, slots=True)
class Remapped:
    """Other score maps of T tasks.

    Attributes
    ----------
    bps : int64 [T, 56], basis points; 0 where the map is not known
    known : bool [T], whether there is a map
    varies : bool [T], whether it tells any portfolios apart
    """

    bps: NDArray[np.int64]
    known: Mask
    varies: Mask


def parse_weighing(text: str) -> Weighing:
    """Weights of relevance and coherence as they are typed, as in ``0.5,0.5``.

    Raises
    ------
    InputError
        With the text.
    """
    try:
        first, second = read_weights(Table("", {"weights": text.split(",")}))
    except InputError as error:
        raise InputError(
            f"weights '{shown(text)}': write two, of relevance and coherence, with at most two"
            " decimals and a sum of 1 or less, as in 0.5,0.5"
        ) from error
    share = Fraction(first, first + second)
    return Weighing(f"{float(share):.4g}, {float(1 - share):.4g}", share)


def reweighed(tasks: TaskSet, weighing: Weighing, environment: Environment) -> Remapped:
    """Score maps under other weights; feasible is what the tasks say.

    Parameters
    ----------
    environment : the one that scored the tasks, see :func:`scorer_of`; where a task does not
        say what is feasible, its tags do

    Raises
    ------
    InputError
        A family that no design knows, or a task without what its family demands.
    """
    found = _unmapped(tasks)
    for family, chosen in families_of(tasks):
        rows = candidates_of(family, chosen, environment)
        feasible = feasible_portfolios(environment, family, rows)
        stated = {at: t.feasible for at, t in enumerate(chosen) if t.feasible is not None}
        feasible[[*stated]] = portfolios_of([*stated.values()])
        other = replace(family, weights=weighing.of(family))
        _enter(found, tasks, chosen, score_maps(environment, other, rows, feasible))
    return found


def seen_in(tasks: TaskSet, environment: Environment) -> Remapped:
    """Score maps of the same candidates by another environment, see :func:`.agreement.own_maps`.

    A task is not known where a name stands for no item there, or two stand for one.

    Raises
    ------
    InputError
        As :func:`reweighed`.
    """
    found = _unmapped(tasks)
    for family, chosen in families_of(tasks):
        own, _ = resolved_in(chosen, environment)
        if own:
            _enter(found, tasks, own, own_maps(family, own, environment))
    return found


def scorer_of(tasks: TaskSet, environments: Iterable[Environment]) -> Environment:
    """The first of some environments that gives back the scores of all tasks.

    Raises
    ------
    InputError
        There is none; or as :func:`reweighed`.
    """
    for environment in environments:
        if unknown_items(tasks.tasks, environment):
            continue
        if np.array_equal(reweighed(tasks, DESIGNED, environment).bps, tasks.scores):
            return environment
    name = tasks.environment.get("name")
    told = "" if name is None else f", which name {shown(name)}"
    raise InputError(
        f"no environment at hand gives back the scores of the tasks{told}: name the one that does"
        " with --env"
    )


def _unmapped(tasks: TaskSet) -> Remapped:
    none = np.zeros((2, len(tasks)), np.bool_)
    return Remapped(np.zeros((len(tasks), PORTFOLIOS), np.int64), *none)


def _enter(found: Remapped, tasks: TaskSet, chosen: Iterable[Task], maps: ScoreMaps) -> None:
    """Put the maps of some tasks where these stand."""
    place = {task.id: at for at, task in enumerate(tasks.tasks)}
    at = [place[task.id] for task in chosen]
    found.bps[at] = maps.scores.bps
    found.known[at] = True
    found.varies[at] = maps.scores.span > 0
