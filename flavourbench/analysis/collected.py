"""Scores of collected answers: a journal and a frozen core make a score matrix."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from fbcore.design import Quantised
from flavourbench.analysis.core import Core, Place, freeze
from flavourbench.analysis.matrix import ScoreMatrix, build_matrix, stratum_of
from flavourbench.collect.journal.queries import Block, answers, endings
from flavourbench.collect.outcomes import read_reply
from flavourbench.errors import CheckError, shown
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.parsing import parser_named
from flavourbench.tasks.reward import score_of
from flavourbench.tasks.taskset import Task, TaskSet

#: Decimals of a point in basis points.
_EXPONENT = 2
SIMULATED = "some of these are simulated: they choose by the scores themselves, as a test"


def freeze_journal(
    database: sqlite3.Connection, chosen: Sequence[Block], tasks: TaskSet, seed: str
) -> Core:
    """The common core of the models of a journal; see :func:`.core.freeze`."""
    outcomes = {}
    for block in chosen:
        outcomes[block.slot] = {
            cell.task_id: cell.outcome
            for cell in endings(database, block.route_id)
            if cell.repeat == 0
            and cell.task_id in tasks.by_id
            and cell.prompt_sha256 == tasks.by_id[cell.task_id].prompt_sha256
        }
    ranked = [task for task in tasks.tasks if task.ranked]
    return freeze(outcomes, [Place(task.id, task.panel, task.family) for task in ranked], seed)


def matrix_of(
    database: sqlite3.Connection, chosen: Sequence[Block], tasks: TaskSet, core: Core
) -> ScoreMatrix:
    """Scores of the models on the core.

    Raises
    ------
    CheckError
        An answer that counted as valid cannot be read (any more).
    """
    kept = [task for task in tasks.tasks if task.id in core.ids]
    rows = []
    for block in chosen:
        scores = _scores(database, block, {task.id: task for task in kept})
        rows.append([scores[task.id] for task in kept])
    simulated = any(block.simulated for block in chosen)
    return build_matrix(
        [block.slot for block in chosen],
        [block.name for block in chosen],
        [task.id for task in kept],
        [stratum_of(task.panel, task.family, None) for task in kept],
        [task.cluster for task in kept],
        Quantised(np.array(rows, np.int64), _EXPONENT, 0.0),
        np.array([float(task.chance) / POINT for task in kept]),
        SIMULATED if simulated else None,
    )


def _scores(database: sqlite3.Connection, block: Block, tasks: dict[str, Task]) -> dict[str, int]:
    """Basis points of the answers of a model, by task id."""
    found = {}
    dialect = str(block.content["dialect"])
    for task_id, prompt_sha256, raw in answers(database, block.route_id):
        task = tasks.get(task_id)
        if task is None or task.prompt_sha256 != prompt_sha256:
            continue
        parsed = parser_named(task.parser)(read_reply(raw, dialect).text, task.choices)
        if parsed.selection is None:
            raise CheckError(
                f"slot {shown(block.slot)}, task {shown(task_id)}: the journal says answered, but"
                f" its answer reads as {parsed.reason}"
            )
        found[task_id] = score_of(task, parsed.selection)
    return found
