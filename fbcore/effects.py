"""Standardised pair differences and correlations of two panels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.checks import indices, integers

#: Limbs of this many bits: a float64 product of two then sums exactly over 2**21 tasks.
_LIMB = 16


def cohen_dz(
    scores: NDArray[np.int64], rows: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """Cohen's d_z of every pair: mean / SD (ddof = 1) of the task differences.

    Cohen 1988, *Statistical Power Analysis*, 2nd ed., section 2.3.5.

    Parameters
    ----------
    scores : int64 [M, T]
        Quantised scores. Σd and Σd² are formed exactly, so equal differences tie.
    rows : int64 [b], optional
        Only pairs with one of these rows; the products then cost in proportion to b · M.

    Returns
    -------
    float64 [M (M - 1) / 2], or of the pairs asked for, i < j row-major; NaN where the SD is 0
    or T = 1
    """
    scores = integers("scores", scores, None, None)
    models, tasks = scores.shape
    left, right = np.triu_indices(models, 1)
    row, column = left, right  # of the products below
    if rows is not None:
        rows = indices("rows", rows, 0, models)
        place = np.full(models, -1)
        place[rows] = np.arange(rows.size)
        asked = np.maximum(place[left], place[right]) >= 0
        left, right = left[asked], right[asked]
        turned = place[left] < 0
        row = place[np.where(turned, right, left)]
        column = np.where(turned, left, right)
    if tasks < 2:
        return np.full(left.size, np.nan)
    products = _exact(lambda a, b: (a if rows is None else a[rows]) @ b.T, scores)
    own = _squares(scores)
    sums = scores.sum(axis=1).astype(own.dtype)
    total = sums[left] - sums[right]
    square = own[left] + own[right] - 2 * products[row, column]
    spread = tasks * square - total * total
    varies = spread > 0
    out = np.full(left.size, np.nan)
    deviation = np.sqrt((spread[varies] / (tasks * (tasks - 1))).astype(np.float64))
    out[varies] = (total[varies] / tasks).astype(np.float64) / deviation
    return out


def squares(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """``Σ_k x_ik²`` of each row of int64 [M, K], exact, then rounded once: float64 [M]."""
    return _squares(integers("values", values, None, None)).astype(np.float64)


def squared_distances(values: NDArray[np.int64]) -> NDArray[np.float64]:
    """``Σ_k (x_ik - x_jk)²`` of rows of int64 [M, K], exact, then rounded once: float64 [P].

    Pairs i < j, row-major.
    """
    values = integers("values", values, None, None)
    left, right = np.triu_indices(values.shape[0], 1)
    own, products = _squares(values), _exact(lambda a, b: a @ b.T, values)
    return np.asarray(own[left] + own[right] - 2 * products[left, right], np.float64)


def _squares(values: NDArray[np.int64]) -> NDArray[Any]:
    return _exact(lambda a, b: np.einsum("mt,mt->m", a, b), values)


def _exact(
    product: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
    scores: NDArray[np.int64],
) -> NDArray[Any]:
    """A bilinear ``product`` of ``scores`` [M, K] with itself, sums over K of products.

    In float64 where that holds all such sums, and four of them, exactly, else in Python's
    integers. The product sees float64 in either case: 16-bit limbs where the scores are large.
    """
    largest = int(np.abs(scores).max(initial=0))
    if 4 * (largest * scores.shape[1]) ** 2 < 2**53:
        floats = scores.astype(np.float64)
        return product(floats, floats)
    bits = int(np.abs(scores).max()).bit_length()
    limbs = []
    rest = scores
    for _ in range(-(-bits // _LIMB)):
        limbs.append((rest & (2**_LIMB - 1)).astype(np.float64))
        rest = rest >> _LIMB
    limbs.append(rest.astype(np.float64))  # the sign: 0 or -1
    total: NDArray[Any] = np.zeros((), dtype=object)
    for a, first in enumerate(limbs):
        for b, second in enumerate(limbs):
            part = product(first, second).astype(np.int64).astype(object)
            total = total + part * 2 ** (_LIMB * (a + b))
    return total


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r with exact summation; None when either side does not vary."""
    n = len(x)
    if n != len(y):
        raise ValueError(f"{n} values beside {len(y)}")
    if min(x) == max(x) or min(y) == max(y):
        return None
    mean_x, mean_y = math.fsum(x) / n, math.fsum(y) / n
    dx = [value - mean_x for value in x]
    dy = [value - mean_y for value in y]
    spread = math.sqrt(math.fsum(d * d for d in dx) * math.fsum(d * d for d in dy))
    if spread == 0:
        return None
    r = math.fsum(a * b for a, b in zip(dx, dy, strict=True)) / spread
    return min(max(r, -1.0), 1.0)


def spearman(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Spearman's ρ with average ranks for ties; None when either side does not vary."""
    return pearson(_average_ranks(x), _average_ranks(y))


def _average_ranks(values: Sequence[float]) -> list[float]:
    ordered = np.sort(np.asarray(values, np.float64))
    low = np.searchsorted(ordered, values, side="left")
    high = np.searchsorted(ordered, values, side="right")
    ranks: list[float] = ((low + 1 + high) / 2).tolist()
    return ranks
