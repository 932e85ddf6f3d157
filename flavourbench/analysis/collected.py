"""Scores of collected answers: a journal and a frozen core make a score matrix."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from fbcore.design import Quantised
from flavourbench.analysis.core import Core, Place, freeze
from flavourbench.analysis.matrix import ScoreMatrix, build_matrix, stratum_of
from flavourbench.collect.journal.opening import explained, read_journal
from flavourbench.collect.journal.queries import Block, answers, blocks, endings
from flavourbench.collect.outcomes import read_reply
from flavourbench.errors import CheckError, InputError, listed, shown
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.reward import Grade, grades
from flavourbench.tasks.taskset import TaskSet

#: Decimals of a point in basis points.
_EXPONENT = 2
SIMULATED = "some of these are simulated: they choose by the scores themselves, as a test"


def outcomes_of(database: sqlite3.Connection, block: Block, tasks: TaskSet) -> dict[str, str]:
    """Outcomes of a model at these tasks, by task id; repeat 0 is what counts."""
    return {
        cell.task_id: cell.outcome
        for cell in endings(database, block.route_id)
        if cell.repeat == 0 and _asked(tasks, cell.task_id, cell.prompt_sha256)
    }


def texts_of(database: sqlite3.Connection, block: Block, tasks: TaskSet) -> dict[str, str]:
    """Valid answers of a model to these tasks, by task id."""
    dialect = str(block.content["dialect"])
    return {
        task_id: read_reply(raw, dialect).text
        for task_id, prompt_sha256, raw in answers(database, block.route_id)
        if _asked(tasks, task_id, prompt_sha256)
    }


def _asked(tasks: TaskSet, task_id: str, prompt_sha256: str) -> bool:
    task = tasks.by_id.get(task_id)
    return task is not None and task.prompt_sha256 == prompt_sha256


def core_and_scores(
    path: Path, slots: Sequence[str], tasks: TaskSet, seed: str
) -> tuple[Core, ScoreMatrix]:
    """The common core of some models of a journal, and their scores on it.

    Raises
    ------
    InputError
        There is no journal, or no core (see :func:`.core.freeze`).
    CheckError
        The journal is damaged.
    """
    database = read_journal(path)
    try:
        with explained(path):
            chosen = [block for block in blocks(database) if block.slot in slots]
            core = freeze_journal(database, chosen, tasks, seed)
            return core, matrix_of(database, chosen, tasks, core)
    finally:
        database.close()


def freeze_journal(
    database: sqlite3.Connection, chosen: Sequence[Block], tasks: TaskSet, seed: str
) -> Core:
    """The common core of the models of a journal; see :func:`.core.freeze`."""
    outcomes = {block.slot: outcomes_of(database, block, tasks) for block in chosen}
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
    core_tasks = replace(tasks, tasks=tuple(t for t in tasks.tasks if t.id in core.ids))
    kept = core_tasks.tasks
    rows = []
    for block in chosen:
        graded = grades(core_tasks, texts_of(database, block, core_tasks))
        wrong = next((grade for grade in graded if grade.bps is None), None)
        if wrong is not None:
            raise CheckError(
                f"slot {shown(block.slot)}, task {shown(wrong.task.id)}: the journal says answered,"
                f" but its answer is {wrong.reason}"
            )
        rows.append([grade.bps for grade in graded])
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


def graded_journal(path: Path, slot: str | None, tasks: TaskSet) -> tuple[list[Grade], list[str]]:
    """Grades of one model of a journal at all tasks, and what has to be said of them.

    Parameters
    ----------
    slot : of the model; None if there is no other

    Raises
    ------
    InputError
        There is no such model, or several and none is named.
    """
    database = read_journal(path)
    try:
        with explained(path):
            block = _chosen(blocks(database), slot)
            outcomes = outcomes_of(database, block, tasks)
            found = grades(tasks, texts_of(database, block, tasks), outcomes)
            simulated = f"{block.name} is simulated: it chooses by the scores themselves."
            return found, [simulated] if block.simulated else []
    finally:
        database.close()


def _chosen(known: Sequence[Block], slot: str | None) -> Block:
    names = listed([block.slot for block in known])
    if slot is None and len(known) != 1:
        raise InputError(f"the journal has {len(known)} models: name one with --model ({names})")
    found = [block for block in known if slot in (None, block.slot, block.name)]
    if not found:
        raise InputError(f"no model {shown(slot)} in the journal: use one of {names}")
    return found[0]
