"""Ranks, bootstrap rank intervals and statistical rank groups."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import kernel, scratch
from fbcore.blocks import LEAF, even_ranges, map_ranges
from fbcore.checks import at_least, floats, indices

#: Draws ranked at once; their values and counters stay in the first-level cache.
_LANES = 64


def competition_ranks(totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ranks of integers, the largest first; equal ones share the better rank: int64 [M]."""
    ordered = np.sort(totals)
    return totals.size - np.searchsorted(ordered, totals, side="right").astype(np.int64) + 1


@kernel
def _rank_range(start, stop, draws, values, better, histogram):  # type: ignore[no-untyped-def]
    """``histogram[m, r]`` += draws in which exactly r models are strictly above model m.

    ``values`` and ``better`` [M * LANES] hold a block of draws at fixed offsets and full
    width, which spares the compiler its overlap checks; the counters are as wide as the
    values, which spares it conversions.
    """
    models = draws.shape[0]
    for first in range(start, stop, _LANES):
        width = min(_LANES, stop - first)
        for m in range(models):
            for d in range(_LANES):
                values[m * _LANES + d] = 0.0
                better[m * _LANES + d] = 0
            for d in range(width):
                values[m * _LANES + d] = draws[m, first + d]
        for i in range(models):
            for j in range(i + 1, models):
                a = np.uint64(i * _LANES)
                b = np.uint64(j * _LANES)
                for d in range(np.uint64(_LANES)):
                    better[a + d] += np.int64(values[b + d] > values[a + d])
                    better[b + d] += np.int64(values[a + d] > values[b + d])
        for m in range(models):
            for d in range(width):
                histogram[m, better[m * _LANES + d]] += 1


def rank_intervals(draws: NDArray[np.float64], alpha: float, threads: int = 1) -> NDArray[np.int64]:
    """Bootstrap rank interval of each model.

    The rank in a draw is 1 + the number of models strictly greater; the bounds are the
    order statistics ⌊(B-1)α/2⌋ and ⌈(B-1)(1-α/2)⌉ (from 0) of a model's ranks.

    Parameters
    ----------
    draws : float64 [M, B]

    Returns
    -------
    int64 [M, 2]
    """
    draws = floats("draws", draws, None, None)
    models, size = draws.shape
    at_least("draws", size, 1)

    def task(start: int, stop: int) -> NDArray[np.int64]:
        histogram = np.zeros((models, models), np.int64)
        block = models * _LANES
        _rank_range(start, stop, draws, scratch(block), scratch(block, np.int64), histogram)
        return histogram

    pieces = even_ranges(size, threads, max(LEAF, size // 8))
    reached = np.cumsum(np.sum(map_ranges(task, pieces, threads), axis=0), axis=1)
    half = Fraction(str(float(alpha))) / 2  # alpha as it is written, not as float64 holds it
    low, high = math.floor((size - 1) * half), math.ceil((size - 1) * (1 - half))
    return np.stack([(reached <= k).sum(axis=1) + 1 for k in (low, high)], axis=1)


def rank_sets(
    better: NDArray[np.int64], worse: NDArray[np.int64], models: int
) -> NDArray[np.int64]:
    """Rank confidence sets: ``[1 + #resolved above, M - #resolved below]``, int64 [M, 2].

    All hold together (asymptotically) where the directions come from a step-down over all
    M (M - 1) one-sided hypotheses (Mogstad, Romano, Shaikh & Wilhelm 2024, Rev. Econ. Stud.
    91:476), see :attr:`fbcore.stepdown.StepDown.directed_p`.

    Parameters
    ----------
    better, worse : int64 [n]
        Models of each pair whose direction is resolved.
    """
    above = np.bincount(indices("worse", worse, 0, models), minlength=models)
    below = np.bincount(indices("better", better, 0, models), minlength=models)
    return np.stack([1 + above, models - below], axis=1)


def rank_groups(order: NDArray[np.int64], resolved: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Statistical rank groups of the publication: int64 [M], from 1.

    Walk the models by falling score; a model joins the current group while it is
    resolved from none of its members, else it opens the next group.

    Parameters
    ----------
    order : int64 [M]
        Model indices by falling score.
    resolved : bool [M, M]
        Symmetric pair decisions.
    """
    order = indices("order", order, 0, order.size)
    if resolved.shape != (order.size, order.size):
        raise ValueError(f"decisions of shape {resolved.shape} for {order.size} models")
    groups = np.zeros(order.size, np.int64)
    members: list[int] = []
    group = 1
    for model in order:
        if members and resolved[model, members].any():
            group += 1
            members = []
        members.append(int(model))
        groups[model] = group
    return groups
