"""Tasks with the scores of all their portfolios, and sets of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, islice, zip_longest
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.portfolios import FULL
from flavourbench.environment.environment import check_demands
from flavourbench.errors import InputError, listed, shown
from flavourbench.tasks.design import TaskDesign
from flavourbench.tasks.labels import LABELS, PORTFOLIOS, normalised

#: The family of published tasks that never enters a ranking: its questions are few, and repeat.
REGIONAL = "regional"


@dataclass(frozen=True, slots=True)
class Task:
    """One task.

    Attributes
    ----------
    id, panel, split, family : str
    stratum : int, of difficulty, from 1
    anchor, category : str, the item that the task is about, and its category
    prompt : str, exactly as it is sent
    choices : eight names, of labels A to H
    scores : 56 int, basis points 0 … 10,000 of the portfolios ABC, ABD, … FGH
    feasible : int, bit p is set where portfolio p is feasible; None where that is unknown
    diet, max_nova, region : what is demanded, or None
    ranked : bool, whether the family enters a ranking
    parser : str, how answers are read
    extra : keys of a published file that have no field here, kept for its export

    Raises
    ------
    InputError
        Not 56 scores with one optimum, eight different names, texts that can be printed and
        known demands.
    """

    id: str
    panel: str
    split: str
    family: str
    stratum: int
    anchor: str
    category: str
    prompt: str
    choices: tuple[str, ...]
    scores: tuple[int, ...]
    feasible: int | None = None
    diet: str | None = None
    max_nova: int | None = None
    region: str | None = None
    ranked: bool = True
    parser: str = "fb-1"
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        try:
            for key in ("id", "panel", "split", "family", "anchor", "category"):
                check_text(key, getattr(self, key))
            if self.region is not None:
                check_text("region", self.region)
            _check_stratum(self.stratum)
            _check_choices(self.choices)
            check_scores(self.scores)
            _check_feasible(self.feasible, self.scores)
            check_demands(self.diet, self.max_nova)
        except InputError as error:
            raise InputError(f"task {shown(self.id)}: {error}") from error

    @property
    def prompt_sha256(self) -> str:
        """Hex SHA-256 of the prompt in UTF-8."""
        return hashlib.sha256(self.prompt.encode()).hexdigest()

    @property
    def optimum(self) -> str:
        """Labels of the best portfolio."""
        return PORTFOLIOS[self.scores.index(FULL)]

    @property
    def chance(self) -> Fraction:
        """Mean score of all 56 portfolios, in basis points."""
        return Fraction(sum(self.scores), len(PORTFOLIOS))

    @property
    def top_gap(self) -> int:
        """Best minus second best score, in basis points."""
        return FULL - max(score for score in self.scores if score != FULL)

    @property
    def distinct_scores(self) -> int:
        """Number of different scores."""
        return len({*self.scores})

    @property
    def cluster(self) -> str:
        """What is resampled together: the anchor, or the region that is asked for."""
        return self.anchor if self.region is None else self.region


def check_text(key: str, value: Any) -> str:
    """A short text that can be printed, as it is.

    Raises
    ------
    InputError
        With the key and the value.
    """
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise InputError(f"{key} '{shown(value)}' is no name")
    return value


def _check_stratum(stratum: Any) -> None:
    if isinstance(stratum, bool) or not isinstance(stratum, int) or not 1 <= stratum <= 127:
        raise InputError(f"stratum is {shown(stratum)}: use a number from 1 on")


def _check_choices(choices: Sequence[Any]) -> None:
    if len(choices) != len(LABELS):
        raise InputError(f"{len(choices)} candidates: a task has {len(LABELS)}")
    for label, name in zip(LABELS, choices, strict=True):
        check_text(f"choice {label}", name)
        if not normalised(name):
            raise InputError(f"choice {label} '{shown(name)}' is no name")
    counts = Counter(normalised(name) for name in choices)
    twice = [name for name in choices if counts[normalised(name)] > 1]
    if twice:
        raise InputError(f"candidates {listed(twice)} are one name: use different ones")


def check_scores(scores: Sequence[Any]) -> None:
    """Refuse what is no score map: 56 integers 0 … 10,000, the largest one 10,000 and single.

    Raises
    ------
    InputError
        With the value.
    """
    if len(scores) != len(PORTFOLIOS):
        raise InputError(f"{len(scores)} scores: a task has {len(PORTFOLIOS)}, one a portfolio")
    for label, score in zip(PORTFOLIOS, scores, strict=True):
        if isinstance(score, bool) or not isinstance(score, int) or not 0 <= score <= FULL:
            raise InputError(f"score of {label} is {shown(score)}: use an integer, 0 to {FULL:,}")
    best = [label for label, score in zip(PORTFOLIOS, scores, strict=True) if score == FULL]
    if len(best) != 1:
        many = (
            f"{len(best)} portfolios with the full score, {listed(best)}" if best else "no optimum"
        )
        raise InputError(f"{many}: exactly one portfolio has {FULL:,}")


def _check_feasible(mask: int | None, scores: Sequence[int]) -> None:
    if mask is None:
        return
    if not 0 <= mask < 1 << len(PORTFOLIOS):
        raise InputError(f"feasible mask {shown(mask)} has more than {len(PORTFOLIOS)} bits")
    wrong = [label for p, label in enumerate(PORTFOLIOS) if scores[p] and not mask >> p & 1]
    if wrong:
        raise InputError(f"portfolio {wrong[0]} is infeasible but has a score: use 0")


@dataclass(frozen=True, eq=False, repr=False)
class TaskSet:
    """Tasks in the order of a study: by panel, family and number, as compiled or imported.

    Attributes
    ----------
    tasks : tuple of T :class:`Task`, no id twice
    environment : name and identity of what scored them; empty where unknown
    design : the task design they were compiled with, or None
    sources : what they were imported from: one object a file, ``name`` and ``sha256``

    Raises
    ------
    InputError
        No task, an id twice, or tasks that are read by different parsers.
    """

    tasks: tuple[Task, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    design: TaskDesign | None = None
    sources: tuple[Mapping[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.tasks:
            raise InputError("no task: a set has at least one")
        twice = [name for name, count in Counter(t.id for t in self.tasks).items() if count > 1]
        if twice:
            raise InputError(f"task id {listed(twice)} occurs twice: keep one task of each id")
        parsers = sorted({task.parser for task in self.tasks})
        if len(parsers) > 1:
            raise InputError(
                f"answers would be read by {' and '.join(parsers)}: do not mix panels of both"
            )

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        return f"<TaskSet: {len(self):,} tasks of {', '.join(self.panels)}>"

    @property
    def parser(self) -> str:
        """How answers to all tasks are read."""
        return self.tasks[0].parser

    @property
    def panels(self) -> tuple[str, ...]:
        """Names of the panels, in order of appearance."""
        return tuple(dict.fromkeys(task.panel for task in self.tasks))

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the families, in order of appearance."""
        return tuple(dict.fromkeys(task.family for task in self.tasks))

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        """Task id → task."""
        return MappingProxyType({task.id: task for task in self.tasks})

    @cached_property
    def scores(self) -> NDArray[np.int16]:
        """Basis points, int16 [T, 56]."""
        found = np.array([task.scores for task in self.tasks], np.int16)
        found.flags.writeable = False
        return found

    def of_family(self, family: str) -> TaskSet:
        """The tasks of one family.

        Raises
        ------
        InputError
            There is none.
        """
        kept = tuple(task for task in self.tasks if task.family == family)
        if not kept:
            raise InputError(f"no task of family {shown(family)}: use {listed([*self.families])}")
        return replace(self, tasks=kept)

    def smoke(self, limit: int) -> TaskSet:
        """``limit`` of the tasks in their order: the first of every panel and family in turn."""
        groups: dict[tuple[str, str], list[Task]] = {}
        for task in self.tasks:
            groups.setdefault((task.panel, task.family), []).append(task)
        turns = chain.from_iterable(zip_longest(*groups.values()))
        chosen = {task.id for task in islice(filter(None, turns), limit)}
        return replace(self, tasks=tuple(task for task in self.tasks if task.id in chosen))


def joined(sets: Sequence[TaskSet]) -> TaskSet:
    """Several sets as one, as the panels of a study.

    Raises
    ------
    InputError
        They were scored by different environments or compiled with different designs, or
        share a task id.
    """
    first = sets[0]
    holders: dict[str, TaskSet] = {}
    for other in sets:
        shared = [task.id for task in other.tasks if task.id in holders]
        if shared:
            origins = [", ".join(_origins(s)) for s in (holders[shared[0]], other)]
            raise InputError(
                f"{' and '.join(origins)} both hold the task id {listed(shared, 3)}:"
                " give every task once"
            )
        holders |= dict.fromkeys(other.by_id, other)
        for what, a, b in (
            ("environments", first.environment, other.environment),
            ("designs", first.design, other.design),
        ):
            if a != b:
                if not (a and b):
                    silent, told = (other, first) if a else (first, other)
                    raise InputError(
                        f"panels {listed([*silent.panels])} do not say which {what[:-1]} they come"
                        f" from, {listed([*told.panels])} do: do not mix them"
                    )
                raise InputError(
                    f"panels {listed([*first.panels])} and {listed([*other.panels])} come from"
                    f" different {what}: do not mix them"
                )
    sources = tuple(dict(s) for group in sets for s in group.sources)
    tasks = tuple(task for group in sets for task in group.tasks)
    return TaskSet(tasks, first.environment, first.design, sources)


def _origins(tasks: TaskSet) -> list[str]:
    """Names of the files that tasks are from, else of their panels."""
    return [shown(source["name"]) for source in tasks.sources] or [*map(shown, tasks.panels)]
