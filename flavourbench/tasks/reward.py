"""The score of an answer: parse it, and look the portfolio up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from flavourbench.tasks.diagnostics import POINT
from flavourbench.tasks.labels import PORTFOLIO_INDEX
from flavourbench.tasks.parsing import Parser, parser_named
from flavourbench.tasks.taskset import Task


def reward(task: Task, text: str) -> float:
    """Score of an answer in points, 0 to 100; 0 where it is invalid.

    The parser is that of the task.
    """
    return float(rewards([task], [text])[0])


def rewards(tasks: Sequence[Task], texts: Sequence[str]) -> NDArray[np.float64]:
    """Scores of many answers, text i to task i: float64 [n], see :func:`reward`.

    Raises
    ------
    ValueError
        Not as many texts as tasks.
    """
    found = []
    parsers: dict[str, Parser] = {}
    for task, text in zip(tasks, texts, strict=True):
        parse = parsers.get(task.parser)
        if parse is None:
            parse = parsers[task.parser] = parser_named(task.parser)
        selection = parse(text, task.choices).selection
        found.append(0 if selection is None else task.scores[PORTFOLIO_INDEX[selection]])
    return np.array(found, np.float64) / POINT
