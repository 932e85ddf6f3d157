"""Models of simulated studies: who chooses among the 56 portfolios of a task, and how."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flavourbench.tasks.diagnostics import POINT


@dataclass(frozen=True, slots=True)
class Law:
    """Portfolio p with a probability in proportion to exp(-|score p - aim| / temperature).

    At temperature 0 the nearest ones alone, evenly; at infinity all of them.

    Attributes
    ----------
    aim, temperature : float, points
    """

    aim: float
    temperature: float

    def probabilities(self, scores: NDArray[np.int16]) -> NDArray[np.float64]:
        """Of every portfolio of tasks with score maps int16 [T, 56]: float64 [T, 56]."""
        away = np.abs(scores / POINT - self.aim)
        away -= away.min(axis=1, keepdims=True)
        if self.temperature == 0:
            weights = (away == 0).astype(np.float64)
        else:
            weights = np.exp(-away / self.temperature)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


CHANCE = Law(0, math.inf)
WORST = Law(0, 0)
BEST = Law(100, 0)


@dataclass(frozen=True, slots=True)
class Chooser:
    """A model: it knows a cluster or does not, and then follows one law in all of its tasks.

    Attributes
    ----------
    knowledge : float, probability to know a cluster; None for the one that makes the true score
        that of ``like``
    known, other : Law, in clusters it knows and in others
    like : int or None, a model with ``knowledge``
    """

    knowledge: float | None
    known: Law
    other: Law = CHANCE
    like: int | None = None
