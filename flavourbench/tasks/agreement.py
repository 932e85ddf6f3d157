"""How far an environment agrees with released tasks: what its own choices score there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fbcore.effects import spearman
from fbcore.portfolios import MEMBERS
from flavourbench.environment import Environment
from flavourbench.environment.space import Mask, Tags
from flavourbench.environment.words import words_of
from flavourbench.errors import InputError, listed
from flavourbench.tasks.design import Family
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.maps import (
    ScoreMaps,
    candidates_of,
    families_of,
    feasible_portfolios,
    passing,
    score_maps,
)
from flavourbench.tasks.pools import Candidates
from flavourbench.tasks.taskset import Task, TaskSet


def agreement(tasks: TaskSet, environment: Environment) -> dict[str, Any]:
    """Score of the environment's own choices on tasks whose score maps another one made.

    The choice of a task is the portfolio of highest utility by the rows and tags of
    ``environment`` among those it holds feasible; where it holds none feasible, among those
    with the fewest candidates that break the demands.

    Returns
    -------
    ``mean`` and ``chance`` over tasks, in points; ``tasks``; ``resolved``, tasks whose names
    all stand for items; ``unresolved``, task id → names that do not (such a task counts as
    chance); ``families``, of each ``score``, ``chance``, ``spearman`` (mean rank correlation
    of both score maps over resolved tasks, None if there is none) and ``tasks``.

    Raises
    ------
    InputError
        A family that no design knows.
    """
    families, scores, chances = {}, [], []
    unresolved: dict[str, list[str]] = {}
    for family, chosen in families_of(tasks):
        own, missing = resolved_in(chosen, environment)
        unresolved |= missing
        found = _compared(family, own, environment)
        score = [found[task.id][0] if task.id in found else float(task.chance) for task in chosen]
        chance = [float(task.chance) for task in chosen]
        rhos = [rho for _, rho in found.values() if rho is not None]
        families[family.name] = {
            "score": _mean(score) / POINT,
            "chance": _mean(chance) / POINT,
            "spearman": _mean(rhos) if rhos else None,
            "tasks": len(chosen),
        }
        scores += score
        chances += chance
    return {
        "mean": _mean(scores) / POINT,
        "chance": _mean(chances) / POINT,
        "tasks": len(tasks),
        "resolved": len(tasks) - len(unresolved),
        "unresolved": dict(sorted(unresolved.items())),
        "families": families,
    }


def with_flags(environment: Environment, flags: Mapping[str, Tags]) -> Environment:
    """The environment with diet and NOVA flags of another one, where it has the item.

    Of two names that stand for one item, the one that is its own counts, else the first.

    Raises
    ------
    InputError
        No name of ``flags`` is known.
    """
    theirs = {name: tags for name, tags in flags.items() if name in environment.index}
    for name in sorted(flags.keys() - theirs.keys()):
        own = environment.resolver.find(name).name
        if own is not None:
            theirs.setdefault(own, flags[name])
    if not theirs:
        raise InputError(f"no name of the flags, as {listed([*flags], 3)}, is known here")
    taken = tuple(
        replace(tags, vegetarian=other.vegetarian, vegan=other.vegan, nova=other.nova)
        if (other := theirs.get(name)) is not None
        else tags
        for name, tags in zip(environment.items, environment.tags, strict=True)
    )
    return replace(environment, tags=taken)


def resolved_in(
    tasks: Sequence[Task], environment: Environment
) -> tuple[list[Task], dict[str, list[str]]]:
    """Tasks in names of the environment, and by id the names that stand for no item there."""
    own, missing = [], {}
    every = {name for task in tasks for name in (task.anchor, *task.choices)}
    # Without suggestions, which would take longest.
    items_of = {
        name: name if name in environment.index else environment.resolver.item(words_of(name))
        for name in every
    }
    for task in tasks:
        typed = (task.anchor, *task.choices)
        names = [items_of[name] for name in typed]
        lost = [name for name, item in zip(typed, names, strict=True) if item is None]
        if task.region is not None and task.region not in environment.regions:
            lost.append(task.region)
        items = [item for item in names if item is not None]
        # Two names that are one item here leave no 56 portfolios, or an anchor for itself.
        lost += [] if lost else sorted({item for item in items if items.count(item) > 1})
        if lost:
            missing[task.id] = lost
        else:
            own.append(replace(task, anchor=items[0], choices=tuple(items[1:])))
    return own, missing


def own_maps(family: Family, tasks: Sequence[Task], environment: Environment) -> ScoreMaps:
    """Score maps of tasks as the environment's own rows and tags make them.

    Where they hold no portfolio feasible, those with the fewest candidates that break the
    demands are. Names must be items of the environment, see :func:`resolved_in`.
    """
    rows = candidates_of(family, tasks, environment)
    return score_maps(environment, family, rows, _least_broken(environment, family, rows))


def _compared(
    family: Family, tasks: Sequence[Task], environment: Environment
) -> dict[str, tuple[int, float | None]]:
    """By task id, the released score of the own choice and Spearman's ρ of both maps."""
    if not tasks:
        return {}
    maps = own_maps(family, tasks, environment)
    scores = maps.scores
    utility = np.where(maps.feasible, scores.utility, np.iinfo(np.int64).min)
    best = utility.argmax(axis=1).tolist()
    return {
        task.id: (task.scores[choice], spearman(own.tolist(), task.scores))
        for task, choice, own in zip(tasks, best, scores.bps, strict=True)
    }


def _least_broken(environment: Environment, family: Family, found: Candidates) -> Mask:
    """Feasible portfolios; of a task without one, those that break the demands least."""
    feasible = feasible_portfolios(environment, family, found)
    none = ~feasible.any(axis=1)
    if family.feasible == "demands":
        broken = (~passing(environment, found))[:, MEMBERS].sum(axis=2)
        feasible[none] = (broken == broken.min(axis=1, keepdims=True))[none]
    else:
        feasible[none] = True
    return feasible


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
