"""Adding models to a release: on its frozen core, and with the numbers it has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fbcore.design import PORTFOLIOS
from flavourbench.analysis.answers import Evidence, tasks_sha256, with_models
from flavourbench.analysis.matrix import ScoreMatrix, build_matrix
from flavourbench.analysis.study import STUDY, Study
from flavourbench.errors import InputError, listed, shown

_NAMED = re.compile(r"-[0-9a-f]{12}$")


def new_slots(study: Study, evidence: Evidence, asked: Sequence[str]) -> list[str]:
    """Models of a study that are to be added: those asked for, else all that are not there yet.

    Raises
    ------
    InputError
        None is new, or one is unknown.
    """
    there = {model.slot for model in evidence.models}
    known = study.slots()
    for slot in asked:
        if slot not in known:
            raise InputError(f"no model {shown(slot)} in the study: use one of {listed(known)}")
    new = [*asked] or [slot for slot in known if slot not in there]
    if not new:
        raise InputError(
            f"every model of the study is in the release: put another one into"
            f" {shown(study.roster or study.responses, 200)}, or name an earlier release to see"
            " what moved since"
        )
    return new


def added_from_study(study: Study, evidence: Evidence, asked: Sequence[str]) -> Evidence:
    """The evidence of a release with models of a study.

    Raises
    ------
    InputError
        See :func:`new_slots`; or the panels of the study are not those of the release.
    CheckError
        A model is not valid on all of the core.
    """
    tasks = study.read_tasks()
    if tasks_sha256(tasks) != tasks_sha256(evidence.tasks):
        raise InputError(
            f"the release is stale, {shown(study.folder / STUDY, 200)} has other panels than it:"
            " run `fb freeze` and `fb infer`"
        )
    return with_models(evidence, study.read_answers(tasks, new_slots(study, evidence, asked)))


def added_scores(before: ScoreMatrix, table: ScoreMatrix) -> ScoreMatrix:
    """The matrix of a release with the models of a table on the same tasks.

    Models of the release may stand in the table too; that they score the same is for
    :func:`.extension.extend` to check.

    Raises
    ------
    InputError
        The table has a finer grid, other tasks or other chance levels than the release.
    """
    if before.tasks != table.tasks:
        odd = sorted({*before.tasks} ^ {*table.tasks})
        raise InputError(f"tasks of the release or the table alone: {listed(odd)}; use the same")
    finer = table.scores.exponent - before.scores.exponent
    if finer > 0:
        raise InputError(
            f"the table has {table.scores.exponent} decimals, the release"
            f" {before.scores.exponent}: round it, or analyse all models anew"
        )
    kept = [m for m, model in enumerate(before.models) if model not in table.models]
    rows = np.concatenate([table.scores.values * 10**-finer, before.scores.values[kept]])
    matrix = build_matrix(
        [*table.models, *(before.models[m] for m in kept)],
        [*table.names, *(before.names[m] for m in kept)],
        table.tasks,
        [table.strata[s] for s in table.design.stratum],
        [table.clusters[c] for c in table.design.cluster],
        replace(before.scores, values=rows),
        _chance_of(before, table),
        before.label,
    )
    return replace(matrix, chance_error=before.chance_error)


def _chance_of(before: ScoreMatrix, table: ScoreMatrix) -> NDArray[np.float64] | None:
    """Chance levels of the release, float64 [T]; those of a coarser table have to round to them."""
    if before.chance is None:
        return None
    levels: NDArray[np.float64] = before.chance / before.unit
    if table.chance is not None:
        off = np.abs(levels - table.chance / table.unit) > 0.5 / table.unit * (1 + 1e-9)
        if off.any():
            odd = [before.tasks[t] for t in np.flatnonzero(off)]
            raise InputError(f"chance levels of {listed(odd)} are not those of the release")
    return levels / PORTFOLIOS


def stem_of(release: Path) -> str:
    """The beginning of a release's name, without the digest at its end."""
    return _NAMED.sub("", release.resolve().name)[:40]
