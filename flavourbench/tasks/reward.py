"""The score of an answer: parse it, and look its portfolio up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from flavourbench.errors import InputError
from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.labels import PORTFOLIO_INDEX
from flavourbench.tasks.parsing import Parser, parser_named
from flavourbench.tasks.taskset import Task, TaskSet

#: The reason of a task that has no answer.
MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Grade:
    """What an answer is worth.

    Attributes
    ----------
    task : the task
    selection : str as "ACF", or None where the answer is invalid or missing
    reason : str, why there is no selection, or None
    bps : int, basis points, or None without a selection
    """

    task: Task
    selection: str | None
    reason: str | None
    bps: int | None


def grades(
    tasks: TaskSet, texts: Mapping[str, str], reasons: Mapping[str, str] = MappingProxyType({})
) -> list[Grade]:
    """Grades of all tasks in their order.

    Parameters
    ----------
    texts : task id → answer
    reasons : task id → why there is none; by default it is missing
    """
    parse = parser_named(tasks.parser)
    found = []
    for task in tasks.tasks:
        text = texts.get(task.id)
        if text is None:
            found.append(Grade(task, None, reasons.get(task.id, MISSING), None))
            continue
        parsed = parse(text, task.choices)
        bps = None if parsed.selection is None else score_of(task, parsed.selection)
        found.append(Grade(task, parsed.selection, parsed.reason, bps))
    return found


def score_of(task: Task, selection: str) -> int:
    """Basis points of a selection, its labels in alphabetical order."""
    return task.scores[PORTFOLIO_INDEX[selection]]


def reward(task: Task, text: str | None) -> float:
    """Score of an answer in points, 0 to 100; 0 where it is invalid or missing (None).

    The answer is read by the parser of the task, as in a benchmark.
    """
    return float(rewards([task], [text])[0])


def rewards(tasks: Sequence[Task], texts: Sequence[str | None]) -> NDArray[np.float64]:
    """Scores of many answers, text i to task i: float64 [n], see :func:`reward`.

    Raises
    ------
    InputError
        Not as many texts as tasks.
    """
    if len(tasks) != len(texts):
        raise InputError(f"{len(texts)} answers to {len(tasks)} tasks: give one to each")
    found = []
    parsers: dict[str, Parser] = {}
    for task, text in zip(tasks, texts, strict=True):
        parse = parsers.get(task.parser)
        if parse is None:
            parse = parsers[task.parser] = parser_named(task.parser)
        selection = None if text is None else parse(text, task.choices).selection
        found.append(0 if selection is None else score_of(task, selection))
    return np.array(found, np.float64) / POINT
