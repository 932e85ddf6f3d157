"""Core, scores and diagnostics of a release, derived again from its observations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from flavourbench.analysis.answers import Evidence, Model
from flavourbench.analysis.core import coverage_sha256
from flavourbench.analysis.plain import evidence as plain
from flavourbench.analysis.release import layout
from flavourbench.analysis.sensitivity import SAYS
from flavourbench.analysis.verify.differences import json_difference
from flavourbench.analysis.verify.files import Release
from flavourbench.collect.outcomes import ANSWERED
from flavourbench.errors import listed, shown
from flavourbench.tasks.taskset import TaskSet

#: Basis points of a point.
_UNIT = 100


def _places(tasks: TaskSet) -> dict[str, plain.Stratum]:
    """Panel and family of the tasks of ranked families, by id in ascending order."""
    ranked = sorted((t for t in tasks.tasks if t.ranked), key=lambda task: task.id)
    return {task.id: (task.panel, task.family) for task in ranked}


def _outcomes(evidence: Evidence, slots: Sequence[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {slot: {} for slot in slots}
    for row in evidence.observations:
        if row.slot in found:
            found[row.slot][row.task_id] = row.outcome
    return found


def core_problem(release: Release, evidence: Evidence) -> str | None:
    """The record of the core beside one that is frozen from the outcomes again."""
    core, places = evidence.core, _places(evidence.tasks)
    routes = {model.slot: model.route_digest for model in evidence.models}
    gone = [slot for slot in core.slots if slot not in routes]
    if gone:
        return f"{layout.CORE}: {listed(gone)} is no model of {layout.ROSTER}"
    outcomes = _outcomes(evidence, core.slots)
    chosen, left, surplus = plain.core_tasks(outcomes, places, core.seed, core.size)
    reasons: dict[str, Mapping[str, str]] = {
        **left,
        **{task: {} for names in surplus.values() for task in names},
    }
    cells = [(slot, task) for slot in sorted(core.slots) for task in places]
    digest = coverage_sha256(
        {
            "model": [slot for slot, _ in cells],
            "route": [routes[slot] for slot, _ in cells],
            "task": [task for _, task in cells],
            "panel": [places[task][0] for _, task in cells],
            "family": [places[task][1] for _, task in cells],
            "outcome": [outcomes[slot][task] for slot, task in cells],
        }
    )
    derived = {
        "recipe": "fb-core-1",
        "seed": core.seed,
        "size": min(map(len, chosen.values())),
        "models": [{"slot": slot, "route_digest": routes[slot]} for slot in sorted(core.slots)],
        "strata": [
            {
                "panel": stratum[0],
                "family": stratum[1],
                "valid": len(names) + len(surplus[stratum]),
                "tasks": names,
            }
            for stratum, names in sorted(chosen.items())
        ],
        "left_out": [
            {"task": task, "why": "invalid" if cells_ else "surplus", "invalid": dict(cells_)}
            for task, cells_ in sorted(reasons.items())
        ],
        "invalid_cells": [
            {"slot": slot, "outcomes": _invalid(outcomes[slot], places)}
            for slot in sorted(core.slots)
        ],
        "coverage_sha256": digest,
    }
    problem = json_difference(release.objects[layout.CORE], derived)
    return None if problem is None else f"{layout.CORE}: {problem}"


def _invalid(outcomes: Mapping[str, str], places: Mapping[str, plain.Stratum]) -> dict[str, int]:
    counts = Counter(outcomes[task] for task in places if outcomes[task] != ANSWERED)
    return dict(sorted(counts.items()))


def scores_problem(release: Release, evidence: Evidence) -> str | None:
    """Scores, strata, anchors and chance levels of the core from the observations."""
    inside = [task for task in sorted(evidence.tasks.by_id) if task in evidence.core.ids]
    tasks = [evidence.tasks.by_id[task] for task in inside]
    seen = {(row.slot, row.task_id): row for row in evidence.observations}
    rows = [seen[model.slot, task] for model in evidence.models for task in inside]
    lacks = [f"{row.slot} {row.task_id} {row.outcome}" for row in rows if row.bps is None]
    if lacks:
        return f"{layout.OBSERVATIONS}: not valid on the core: {listed(lacks)}"
    derived: dict[str, dict[str, Sequence[Any]]] = {
        layout.TASKS: {
            "task": inside,
            "stratum": [f"{task.panel}/{task.family}" for task in tasks],
            "anchor": [task.cluster for task in tasks],
            "chance_56ths": [sum(task.scores) for task in tasks],
        },
        layout.SCORES: {
            "model": [row.slot for row in rows],
            "task": [row.task_id for row in rows],
            "score": [(row.bps or 0) / _UNIT for row in rows],
        },
    }
    for name, columns in derived.items():
        problem = _unlike(release.tables[name], columns)
        if problem is not None:
            return f"{name}: {problem}"
    return None


def _unlike(stated: Mapping[str, Any], derived: Mapping[str, Sequence[Any]]) -> str | None:
    """The first value of a table that is not the derived one."""
    for column, values in derived.items():
        if column not in stated:
            return f"{column} is missing"
        found = [*stated[column]]
        if len(found) != len(values):
            return f"it has {len(found)} rows, not {len(values)}"
        for at, (value, other) in enumerate(zip(found, values, strict=True)):
            if value != other:
                return f"row {at + 1}: {column} is {shown(value)}, derived {shown(other)}"
    return None


def diagnostics_problem(release: Release, evidence: Evidence) -> str | None:
    """Bounds and sensitivity rankings."""
    places = _places(evidence.tasks)
    strata = [*places.values()]
    points: dict[str, list[int | None]] = {model.slot: [] for model in evidence.models}
    for row in evidence.observations:  # by task within a model
        if row.task_id in places:
            points[row.slot].append(row.bps)
    ends = {slot: plain.bounds(values, strata) for slot, values in points.items()}
    own = {slot: plain.own_cases(values, strata) for slot, values in points.items()}
    stated = release.objects[layout.DIAGNOSTICS]
    derived = {
        "ranked_tasks": len(places),
        "core_tasks": len(evidence.core.ids),
        "says": SAYS,
        "models": [_sensitivity(model, points, ends, own) for model in evidence.models],
    }
    problem = json_difference(stated, derived)
    return None if problem is None else f"{layout.DIAGNOSTICS}: {problem}"


def _sensitivity(
    model: Model,
    points: Mapping[str, Sequence[int | None]],
    ends: Mapping[str, tuple[Fraction, Fraction]],
    own: Mapping[str, Fraction | None],
) -> dict[str, Any]:
    low, high = ends[model.slot]
    others = [bounds for slot, bounds in ends.items() if slot != model.slot]
    cases = own[model.slot]
    return {
        "id": model.slot,
        "name": model.name,
        "valid": sum(value is not None for value in points[model.slot]),
        "bounds": [float(low), float(high)],
        "rank_bounds": [
            plain.rank_of(high, [bounds[0] for bounds in others]),
            plain.rank_of(low, [bounds[1] for bounds in others]),
        ],
        "invalid_as_zero": {
            "score": float(low),
            "rank": plain.rank_of(low, [bounds[0] for bounds in others]),
        },
        "available_cases": {
            "score": None if cases is None else float(cases),
            "rank": None if cases is None else plain.rank_of(cases, [*own.values()]),
        },
    }
