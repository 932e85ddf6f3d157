"""Standardised pair differences and correlations of two panels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore.checks import integers

#: Limbs of this many bits: a float64 product of two then sums exactly over 2**21 tasks.
_LIMB = 16


def cohen_dz(scores: NDArray[np.int64]) -> NDArray[np.float64]:
    """Cohen's d_z of every pair: mean / SD (ddof = 1) of the task differences.

    Cohen 1988, *Statistical Power Analysis*, 2nd ed., section 2.3.5.

    Parameters
    ----------
    scores : int64 [M, T]
        Quantised scores. Σd and Σd² are formed exactly, so equal differences tie.

    Returns
    -------
    float64 [M (M - 1) / 2], pairs i < j row-major; NaN where the SD is 0 or T = 1
    """
    scores = integers("scores", scores, None, None)
    models, tasks = scores.shape
    left, right = np.triu_indices(models, 1)
    if tasks < 2:
        return np.full(left.size, np.nan)
    largest = int(np.abs(scores).max(initial=0))
    # float64 holds these integers exactly, or Python's integers do.
    small = 4 * (largest * tasks) ** 2 < 2**53
    squares = _gram(scores, small)
    sums = scores.sum(axis=1).astype(squares.dtype)
    own = np.diagonal(squares)
    total = sums[left] - sums[right]
    square = own[left] + own[right] - 2 * squares[left, right]
    spread = tasks * square - total * total
    varies = spread > 0
    out = np.full(left.size, np.nan)
    deviation = np.sqrt((spread[varies] / (tasks * (tasks - 1))).astype(np.float64))
    out[varies] = (total[varies] / tasks).astype(np.float64) / deviation
    return out


def _gram(scores: NDArray[np.int64], small: bool) -> NDArray[Any]:
    """``scores @ scores.T`` exactly: float64 where ``small``, else Python integers.

    BLAS forms it in either case, on 16-bit limbs where the scores are large.
    """
    if small:
        floats = scores.astype(np.float64)
        return np.asarray(floats @ floats.T)
    bits = int(np.abs(scores).max()).bit_length()
    limbs = []
    rest = scores
    for _ in range(-(-bits // _LIMB)):
        limbs.append((rest & (2**_LIMB - 1)).astype(np.float64))
        rest = rest >> _LIMB
    limbs.append(rest.astype(np.float64))  # the sign: 0 or -1
    total = np.zeros((scores.shape[0], scores.shape[0]), dtype=object)
    for a, first in enumerate(limbs):
        for b, second in enumerate(limbs):
            product = (first @ second.T).astype(np.int64).astype(object)
            total += product * 2 ** (_LIMB * (a + b))
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
