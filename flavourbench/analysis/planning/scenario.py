"""True scores of simulated models: on a ladder, or one ahead of equals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fbcore.quantiles import pair_index
from flavourbench.analysis.planning.simulate import Trial
from flavourbench.errors import InputError, shown

#: A ladder of even steps; one model ahead of equals.
SCENARIOS = ("ladder", "ahead")
#: Values of a difference that a curve has, about, where few models would give fewer.
_VALUES = 10


def check_scenario(name: str) -> str:
    """A scenario's name; an InputError with those there are."""
    if name not in SCENARIOS:
        raise InputError(f"--scenario {shown(name)}: use {' or '.join(SCENARIOS)}")
    return name


def truths(name: str, models: int, reach: int) -> list[NDArray[np.int64]]:
    """True scores of the kinds of studies whose pairs make a curve: int64 [M] each.

    A ladder has all multiples of its step as differences. Up to ten models give few of them:
    there are several ladders then, of one length, whose inner rungs are shifted together. Two
    models, which have none, differ by several amounts.
    """
    if name == "ahead" or models == 2:
        return [_ahead(models, round(reach * k / _VALUES)) for k in range(1, _VALUES + 1)]
    rungs = models - 1
    ladders = -(-_VALUES // rungs)
    part = max(1, round(reach / (ladders * rungs)))
    truth = np.arange(models, dtype=np.int64) * ladders * part
    inner = np.ones(models, np.int64)
    inner[[0, -1]] = 0
    return [truth + (k - ladders // 2) * part * inner for k in range(ladders)]


def truth_with(name: str, models: int, difference: int) -> NDArray[np.int64]:
    """True scores in which some pair differs by just ``difference``: int64 [M].

    The ladder reaches to about twice of it, or to it with two models.
    """
    if name == "ahead":
        return _ahead(models, difference)
    rungs = max(1, (models - 1) // 2)
    # Rungs are rounded one by one: those that part such a pair are exact.
    part = np.array([round(difference * k / rungs) for k in range(rungs)], np.int64)
    turns, at = np.divmod(np.arange(models), rungs)
    return turns * difference + part[at]


def trials_over_differences(
    kinds: Sequence[NDArray[np.int64]], clusters: int
) -> tuple[list[Trial], NDArray[np.int64]]:
    """Trials of one size, and the differences of their pairs, in units: int64 [K]."""
    apart = [_apart(truth) for truth in kinds]
    values = np.unique(np.concatenate(apart))
    values = values[values > 0]
    columns = [np.where(d > 0, np.searchsorted(values, d), -1) for d in apart]
    trials = [Trial(t, clusters, c) for t, c in zip(kinds, columns, strict=True)]
    return trials, values


def trials_over_clusters(
    truth: NDArray[np.int64], difference: int, numbers: Sequence[int]
) -> list[Trial]:
    """Trials of several sizes, in which only pairs of one difference count."""
    hit = _apart(truth) == difference
    return [Trial(truth, number, np.where(hit, k, -1)) for k, number in enumerate(numbers)]


def _ahead(models: int, difference: int) -> NDArray[np.int64]:
    truth = np.zeros(models, np.int64)
    truth[0] = difference
    return truth


def _apart(truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Absolute differences of all pairs: int64 [P]."""
    left, right = pair_index(truth.size)
    apart: NDArray[np.int64] = np.abs(truth[left] - truth[right])
    return apart
