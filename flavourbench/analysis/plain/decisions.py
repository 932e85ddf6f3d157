"""Ranks, multiplicity, rank groups, effect sizes, correlations (sections 2, 5, 6 and 7)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ranks(totals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Competition ranks, int64 [M], of integer totals, int64 [M]; larger is better.

    1 + the models strictly greater: equal totals share the better rank.
    Source: docs/statistics.md, section 2.
    """
    greater = totals[np.newaxis, :] > totals[:, np.newaxis]
    result: NDArray[np.int64] = 1 + greater.sum(axis=1, dtype=np.int64)
    return result


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm step-down adjusted p values, float64 [m], in the order given.

    The k-th smallest (from 0) is multiplied by m - k, made monotone and capped at 1.

    Raises ValueError for a p outside 0..1. Source: Holm step-down; docs/statistics.md, section 5.
    """
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError("a p value is outside 0..1")
    order = np.argsort(p, kind="stable")
    factors = np.arange(p.size, 0, -1, dtype=np.float64)
    adjusted = np.empty(p.size, dtype=np.float64)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def rank_groups(order: NDArray[np.integer], resolved: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Statistical rank groups.

    Parameters
    ----------
    order : int [M], model indices by falling score
    resolved : bool [M, M], symmetric, True where the pair is resolved

    Returns
    -------
    int64 [M], 1-based group of each model (by model index). A model joins the current group
    while it is resolved from none of its members, else it opens the next group.

    Source: docs/statistics.md, section 6.
    """
    groups = np.zeros(order.size, dtype=np.int64)
    members: list[int] = []
    group = 1
    for model in order.tolist():
        if any(resolved[model, member] for member in members):
            members = []
            group += 1
        members.append(model)
        groups[model] = group
    return groups


def rank_sets(
    better: NDArray[np.integer], worse: NDArray[np.integer], models: int
) -> NDArray[np.int64]:
    """Rank confidence sets, int64 [M, 2], from the pairs whose direction is resolved.

    1 + the models resolved above, and M - those resolved below. ``better`` and ``worse`` are
    the model indices of each such pair.
    Source: Mogstad, Romano, Shaikh & Wilhelm 2024; docs/statistics.md, section 6.
    """
    result = np.empty((models, 2), dtype=np.int64)
    for model in range(models):
        result[model] = 1 + (worse == model).sum(), models - (better == model).sum()
    return result


def letters(order: NDArray[np.integer], resolved: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Compact letter display, bool [M, L]: two models share a letter iff they are not resolved.

    Places in ``order`` are gone through; each pair not resolved and not yet in a column begins
    one, which grows, place by place, by models not resolved from any in it: first by those
    with a pair that is in no column yet. Columns are then dropped, the smallest first, if all
    their pairs and models are in others, and sorted by their places.

    Parameters
    ----------
    order : int [M], model indices by falling score
    resolved : bool [M, M], symmetric

    Source: Gramm et al. 2007; docs/statistics.md, section 6.
    """
    models = order.size
    joint = ~resolved[order][:, order]
    columns = [{m} for m in range(models) if joint[m].sum() == 1]
    missing = {(a, b) for a in range(models) for b in range(a + 1, models) if joint[a, b]}
    for a, b in sorted(missing):
        if (a, b) not in missing:
            continue
        column = {a, b}
        while fitting := [m for m in range(models) if _fits(joint, m, column)]:
            waiting = [m for m in fitting if _first_missing(missing, m, a)]
            column.add(min(waiting or fitting))
        missing -= {(low, high) for low in column for high in column}
        columns.append(column)
    held = Counter((low, high) for column in columns for low in column for high in column)
    kept = []
    for column in sorted(columns, key=len):
        cells = [(low, high) for low in column for high in column]
        if all(held[cell] > 1 for cell in cells):
            held.subtract(cells)
        else:
            kept.append(sorted(column))
    result = np.zeros((models, len(kept)), dtype=np.bool_)
    for number, members in enumerate(sorted(kept)):
        result[order[members], number] = True
    return result


def _fits(joint: NDArray[np.bool_], model: int, column: set[int]) -> bool:
    return model not in column and all(joint[model, member] for member in column)


def _first_missing(missing: set[tuple[int, int]], model: int, first: int) -> bool:
    """Whether the pair of a model and the first of its column is in no column yet."""
    return (first, model) in missing


def cohen_dz(scores: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cohen's d_z of all pairs: mean / SD (ddof = 1) of the plain task differences.

    Parameters
    ----------
    scores : int64 [M, T], quantised

    Returns
    -------
    float64 [P], pairs (i, j), i < j, row-major, of Y_i - Y_j; NaN where the SD is 0.

    Source: docs/statistics.md, section 6.
    """
    # Python integers: squares of six-decimal scores summed over tasks can pass 64 bits.
    rows: list[list[int]] = scores.tolist()
    tasks = scores.shape[1]
    result: list[float] = []
    for i, left in enumerate(rows):
        for right in rows[i + 1 :]:
            differences = [a - b for a, b in zip(left, right, strict=True)]
            total = sum(differences)
            numerator = tasks * sum(d * d for d in differences) - total * total
            if numerator == 0:
                result.append(math.nan)
            else:
                sd = math.sqrt(numerator / (tasks * (tasks - 1)))
                result.append((total / tasks) / sd)
    return np.array(result, dtype=np.float64)


def pearson(
    x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]
) -> float | None:
    """Pearson's r of two vectors [n], exact summation (`math.fsum`) in the order given.

    Returns None when either variance is 0. Raises ValueError for unequal lengths.
    Source: docs/statistics.md, section 7.
    """
    left = [float(value) for value in x]
    right = [float(value) for value in y]
    if len(left) != len(right):
        raise ValueError(f"{len(left)} and {len(right)} values cannot be correlated")
    # A constant vector is recognised by its values: its rounded mean can be off by one ulp,
    # and the residue would pass for variance.
    if len(set(left)) < 2 or len(set(right)) < 2:
        return None
    mean_left = math.fsum(left) / len(left)
    mean_right = math.fsum(right) / len(right)
    dx = [value - mean_left for value in left]
    dy = [value - mean_right for value in right]
    spread = math.sqrt(math.fsum(d * d for d in dx) * math.fsum(d * d for d in dy))
    if spread == 0.0:
        return None
    r = math.fsum(a * b for a, b in zip(dx, dy, strict=True)) / spread
    return min(max(r, -1.0), 1.0)


def _average_ranks(values: Sequence[float]) -> list[float]:
    """1-based ascending ranks; ties share their mean rank."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2
        for value in values
    ]


def spearman(
    x: Sequence[float] | NDArray[np.float64], y: Sequence[float] | NDArray[np.float64]
) -> float | None:
    """Spearman's rho of two vectors [n]: `pearson` of average ranks.

    Returns None when either vector is constant. Raises ValueError for unequal lengths.
    Source: docs/statistics.md, section 7.
    """
    return pearson(
        _average_ranks([float(value) for value in x]),
        _average_ranks([float(value) for value in y]),
    )
