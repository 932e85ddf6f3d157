"""What models answered, and what it is worth: the evidence under a score matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fbcore.design import Quantised
from flavourbench.analysis.core import MISSING, Core, Coverage, Place, check_routes
from flavourbench.analysis.matrix import ScoreMatrix, build_matrix, stratum_of
from flavourbench.collect.outcomes import ANSWERED, UNPARSEABLE
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.identity import Column, table_sha256
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.panel import columns_of
from flavourbench.tasks.parsing import parser_named
from flavourbench.tasks.reward import score_of
from flavourbench.tasks.taskset import TaskSet, check_text

#: Decimals of a point in basis points.
EXPONENT = 2
SIMULATED = "some of these are simulated: they choose by the scores themselves, as a test"


@dataclass(frozen=True)
class Model:
    """A model, and how it was asked.

    Attributes
    ----------
    slot, name : id and display name
    route_digest : what says that cells may be pooled
    route : what the digest covers
    source : where its answers are from: ``kind`` and ``content_sha256``
    simulated : whether its answers are made from the scores

    Raises
    ------
    InputError
        A slot, a name or a source that cannot be printed.
    """

    slot: str
    name: str
    route_digest: str
    route: Mapping[str, Any]
    source: Mapping[str, str]
    simulated: bool = False

    def __post_init__(self) -> None:
        check_text("slot", self.slot)
        check_text(f"name of {self.slot}", self.name)
        for key in ("kind", "content_sha256"):
            check_text(f"{key} of the source of {self.slot}", self.source.get(key))


class Answer(NamedTuple):
    """How one cell ended: ``micro_dollars`` over all its attempts, None where unknown."""

    slot: str
    task_id: str
    repeat: int
    outcome: str
    reason: str
    text: str
    micro_dollars: int | None


@dataclass(frozen=True)
class Answers:
    """Answers of models to tasks. A cell that has none was not asked.

    Attributes
    ----------
    models : by slot, in whatever order they came
    rows : the cells, by slot, task and repeat

    Raises
    ------
    InputError
        A slot twice, one route in two slots, a cell twice, or a cell of no model.
    """

    models: tuple[Model, ...]
    rows: tuple[Answer, ...]

    def __post_init__(self) -> None:
        models = sorted(self.models, key=lambda model: model.slot)
        object.__setattr__(self, "models", tuple(models))
        object.__setattr__(self, "rows", tuple(sorted(self.rows, key=lambda row: row[:3])))
        check_routes(routes_of(self.models))
        cells = Counter((row.slot, row.task_id, row.repeat) for row in self.rows)
        for (slot, task_id, repeat), count in cells.items():
            if count > 1:
                raise InputError(
                    f"slot {shown(slot)}, task {shown(task_id)}, repeat {repeat}: {count} answers"
                    " to one cell: keep one"
                )
        alien = sorted({row.slot for row in self.rows} - {model.slot for model in self.models})
        if alien:
            raise InputError(f"answers of {listed(alien)}, which is no model here")

    def coverage(self, tasks: TaskSet) -> Coverage:
        """How the cells ended at tasks of ranked families; the first repeat counts."""
        ended = {(row.slot, row.task_id): row.outcome for row in self.rows if row.repeat == 0}
        return coverage_of(routes_of(self.models), ended, tasks)


def routes_of(models: Iterable[Model]) -> list[tuple[str, str]]:
    """Slots and digests of the routes of models."""
    return [(model.slot, model.route_digest) for model in models]


def coverage_of(
    models: Iterable[tuple[str, str]], ended: Mapping[tuple[str, str], str], tasks: TaskSet
) -> Coverage:
    """The coverage of models at tasks of ranked families.

    Parameters
    ----------
    models : slots and digests of their routes
    ended : outcome by slot and task id; what is not there is missing
    """
    places = sorted(Place(t.id, t.panel, t.family) for t in tasks.tasks if t.ranked)
    ordered = tuple(sorted(models))
    return Coverage(
        ordered,
        tuple(places),
        tuple(
            tuple(ended.get((slot, place.task_id), MISSING) for place in places)
            for slot, _ in ordered
        ),
    )


class Observation(NamedTuple):
    """What a model's answer to a task came to; selection and basis points where it is valid."""

    slot: str
    task_id: str
    outcome: str
    reason: str
    selection: str | None
    bps: int | None


def observe(answers: Answers, tasks: TaskSet) -> tuple[Observation, ...]:
    """Read and score the first answers of all models to all tasks, by slot and task.

    Raises
    ------
    CheckError
        An answer that counts as valid cannot be read, or one that does not can.
    """
    parse = parser_named(tasks.parser)
    first = {(row.slot, row.task_id): row for row in answers.rows if row.repeat == 0}
    ordered = sorted(tasks.tasks, key=lambda task: task.id)
    found = []
    for model in answers.models:
        for task in ordered:
            row = first.get((model.slot, task.id))
            if row is None:
                found.append(Observation(model.slot, task.id, MISSING, "", None, None))
                continue
            selection = None
            if row.outcome in (ANSWERED, UNPARSEABLE):
                read = parse(row.text, task.choices)
                selection = read.selection
                if (selection is not None) != (row.outcome == ANSWERED):
                    told = read.reason if selection is None else f"one of {selection}"
                    raise CheckError(
                        f"slot {shown(model.slot)}, task {shown(task.id)}: it counts as"
                        f" {row.outcome}, but the answer is {told}"
                    )
            bps = None if selection is None else score_of(task, selection)
            found.append(Observation(model.slot, task.id, row.outcome, row.reason, selection, bps))
    return tuple(found)


@dataclass(frozen=True)
class Evidence:
    """All that a release of collected answers stands on.

    Attributes
    ----------
    tasks : all tasks of the panels
    models : by slot; those that are not of the core were added to it later
    answers : all that was said, or None where only observations are known
    observations : of all models at all tasks, by slot and task
    core : the frozen core
    """

    tasks: TaskSet
    models: tuple[Model, ...]
    answers: tuple[Answer, ...] | None
    observations: tuple[Observation, ...]
    core: Core

    @cached_property
    def added(self) -> frozenset[str]:
        """Slots that joined after the core was frozen."""
        return frozenset(model.slot for model in self.models) - {*self.core.slots}

    @property
    def core_share(self) -> tuple[int, int]:
        """Numbers of tasks in the core, and of all ranked ones."""
        return len(self.core.ids), sum(task.ranked for task in self.tasks.tasks)

    @cached_property
    def matrix(self) -> ScoreMatrix:
        """Scores of all models on the core: the only way from observations to scores.

        Raises
        ------
        CheckError, InputError
            See :func:`check_core`.
        """
        check_core(self.core, self.models, self.observations)
        inside = self.core.ids
        kept = sorted((t for t in self.tasks.tasks if t.id in inside), key=lambda task: task.id)
        values = [row.bps for row in self.observations if row.task_id in inside]
        shape = (len(self.models), len(kept))
        return build_matrix(
            [model.slot for model in self.models],
            [model.name for model in self.models],
            [task.id for task in kept],
            [stratum_of(task.panel, task.family, None) for task in kept],
            [task.cluster for task in kept],
            Quantised(np.array(values, np.int64).reshape(shape), EXPONENT, 0.0),
            np.array([float(task.chance) / POINT for task in kept]),
            SIMULATED if any(model.simulated for model in self.models) else None,
        )


def evidence_of(answers: Answers, tasks: TaskSet, core: Core) -> Evidence:
    """The evidence of answers on a frozen core; errors as :func:`observe` and the matrix."""
    return Evidence(tasks, answers.models, answers.rows, observe(answers, tasks), core)


def tasks_sha256(tasks: TaskSet) -> str:
    """Digest of everything about some tasks."""
    return table_sha256(columns_of(tasks))


def check_core(core: Core, models: Sequence[Model], rows: Iterable[Observation]) -> None:
    """Refuse models that are not valid on every task of the core, or were asked otherwise.

    Raises
    ------
    CheckError
        A model is not valid everywhere; with the cells that lack.
    InputError
        A model of the core has another route.
    """
    routes = {model.slot: model.route_digest for model in models}
    for slot, route in core.models:
        if routes.get(slot, route) != route:
            raise InputError(
                f"slot {shown(slot)} has route {routes[slot][:12]}, the core was frozen with"
                f" {route[:12]}: cells of two routes are never pooled; freeze a new core"
            )
    inside = core.ids
    valid: dict[str, set[str]] = {model.slot: set() for model in models}
    wrong: dict[str, dict[str, str]] = {}
    for row in rows:
        if row.task_id not in inside:
            continue
        if row.outcome == ANSWERED and row.bps is not None:
            valid[row.slot].add(row.task_id)
        else:
            wrong.setdefault(row.slot, {})[row.task_id] = row.outcome
    for slot, known in valid.items():
        cells = dict.fromkeys(inside - known, MISSING) | wrong.get(slot, {})
        if cells:
            told = [f"{name} {outcome}" for name, outcome in sorted(cells.items())]
            raise CheckError(
                f"slot {shown(slot)} is not valid on {len(cells)} of {len(inside)} tasks of the"
                f" core ({listed(told, 3)}): ask what was not asked or failed, leave it out, or"
                " freeze a new core with it"
            )


def with_models(evidence: Evidence, answers: Answers) -> Evidence:
    """The evidence with models added to its frozen core.

    Raises
    ------
    InputError
        A slot or route that is there already.
    CheckError
        Cells that lack on the core; or see :func:`observe`.
    """
    there = {model.slot for model in evidence.models}
    twice = [model.slot for model in answers.models if model.slot in there]
    if twice:
        raise InputError(f"model {listed(twice)} is in the release already: add another")
    models = sorted((*evidence.models, *answers.models), key=lambda model: model.slot)
    check_routes(routes_of(models))
    new = observe(answers, evidence.tasks)
    check_core(evidence.core, answers.models, new)
    rows = None
    if evidence.answers is not None:
        rows = tuple(sorted((*evidence.answers, *answers.rows), key=lambda row: row[:3]))
    observed = tuple(sorted((*evidence.observations, *new), key=lambda row: row[:2]))
    return replace(evidence, models=tuple(models), answers=rows, observations=observed)


def answer_columns(rows: Sequence[Answer]) -> dict[str, Column]:
    """Cells by column, in their order."""
    costs = np.array([row.micro_dollars or 0 for row in rows], np.int64)
    unknown = np.array([row.micro_dollars is None for row in rows], np.bool_)
    return {
        "model": [row.slot for row in rows],
        "task": [row.task_id for row in rows],
        "repeat": np.array([row.repeat for row in rows], np.int32),
        "outcome": [row.outcome for row in rows],
        "reason": [row.reason for row in rows],
        "text": [row.text for row in rows],
        "micro_dollars": np.ma.MaskedArray(costs, unknown),
    }


def observation_columns(rows: Sequence[Observation]) -> dict[str, Column]:
    """Observations by column, in their order; no selection is an empty one."""
    points = np.array([row.bps or 0 for row in rows], np.int16)
    none = np.array([row.bps is None for row in rows], np.bool_)
    return {
        "model": [row.slot for row in rows],
        "task": [row.task_id for row in rows],
        "outcome": [row.outcome for row in rows],
        "reason": [row.reason for row in rows],
        "selection": [row.selection or "" for row in rows],
        "score_bps": np.ma.MaskedArray(points, none),
    }
