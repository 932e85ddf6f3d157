"""One task of a release: what every model chose there, or scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fbcore.design import PORTFOLIOS
from fbcore.portfolios import FULL
from fbcore.ranks import competition_ranks
from flavourbench.analysis.answers import Evidence
from flavourbench.analysis.core import SURPLUS
from flavourbench.analysis.naming import named
from flavourbench.analysis.release.read import Release
from flavourbench.tasks.answers import task_object
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.taskset import Task

#: Why a task is in the core or not, besides ``SURPLUS``.
CORE, INVALID, NOT_RANKED = "core", "invalid", "not-ranked"


def task_named(typed: str, release: Release) -> str:
    """The id of a task of a release, see :func:`.naming.named`.

    Raises
    ------
    InputError
        None, or several.
    """
    evidence = release.evidence
    ids = release.matrix.tasks if evidence is None else evidence.tasks.by_id
    return named(typed, dict.fromkeys(ids, ()), "task")


def item(release: Release, typed: str) -> dict[str, Any]:
    """Everything about one task and the models' answers to it, as one JSON object.

    Scores are in the unit of the release. A score table knows no portfolios: what it holds of
    a task are the models' scores there.

    Parameters
    ----------
    typed : see :func:`task_named`

    Raises
    ------
    InputError
        No such task.
    """
    task_id = task_named(typed, release)
    evidence = release.evidence
    about = (
        _of_table(release, task_id)
        if evidence is None
        else _of_evidence(evidence, evidence.tasks.by_id[task_id])
    )
    scores = [row["score"] for row in about["models"] if row["score"] is not None]
    return {
        "task_id": task_id,
        **about,
        "mean": float(np.mean(scores)) if scores else None,
        "root": dict(release.root),
        "label": release.board["label"],
    }


def _of_table(release: Release, task_id: str) -> dict[str, Any]:
    matrix = release.matrix
    t = matrix.tasks.index(task_id)
    stratum = matrix.strata[matrix.design.stratum[t]]
    chance = None if matrix.chance is None else int(matrix.chance[t]) / PORTFOLIOS / matrix.unit
    scores = {
        model: int(value)
        for model, value in zip(matrix.models, matrix.scores.values[:, t], strict=True)
    }
    names = dict(zip(matrix.models, matrix.names, strict=True))
    return {
        "panel": stratum.panel,
        "family": stratum.family,
        "anchor": matrix.clusters[matrix.design.cluster[t]],
        "chance": chance,
        "models": _ranked(names, scores, int(matrix.unit)),
        "best": None,
        "core": None,
        "task": None,
        "ladder": None,
    }


def _of_evidence(evidence: Evidence, task: Task) -> dict[str, Any]:
    seen = {row.slot: row for row in evidence.observations if row.task_id == task.id}
    scores = {slot: row.bps for slot, row in seen.items() if row.bps is not None}
    models = _ranked({m.slot: m.name for m in evidence.models}, scores, int(POINT))
    for row in models:
        observed = seen[row["id"]]
        row |= {
            "selection": observed.selection,
            "outcome": observed.outcome,
            "reason": observed.reason,
        }
    told = task_object(task, None, None)
    ladder = [
        rung | {"models": [m["id"] for m in models if m["selection"] == rung["portfolio"]]}
        for rung in told["portfolios"]
    ]
    but = ("tags", "marked", "portfolios")
    return {
        "panel": task.panel,
        "family": task.family,
        "anchor": task.cluster,
        "chance": told["chance"],
        "models": models,
        "best": sum(score == FULL for score in scores.values()),
        "core": _core(evidence, task),
        "task": {key: value for key, value in told.items() if key not in but},
        "ladder": ladder,
    }


def _ranked(names: Mapping[str, str], scores: Mapping[str, int], unit: int) -> list[dict[str, Any]]:
    """Models by falling score, equal ones by id; at the end those that have none."""
    ordered = sorted(scores, key=lambda model: (-scores[model], model))
    ranks = competition_ranks(np.array([scores[model] for model in ordered], np.int64)).tolist()
    place = dict(zip(ordered, ranks, strict=True))
    return [
        {
            "id": model,
            "name": names[model],
            "rank": place.get(model),
            "score": scores[model] / unit if model in scores else None,
            "selection": None,
            "outcome": None,
            "reason": None,
        }
        for model in (*ordered, *sorted(names.keys() - scores.keys()))
    ]


def _core(evidence: Evidence, task: Task) -> dict[str, Any]:
    """Whether the task counts and, where it does not, why it left and because of whom."""
    core = evidence.core
    invalid: Mapping[str, str] = core.left_out.get(task.id, {})
    why = CORE
    if task.id not in core.ids:
        why = INVALID if invalid else SURPLUS if task.ranked else NOT_RANKED
    return {"inside": why == CORE, "why": why, "invalid": dict(sorted(invalid.items()))}
