"""Exact quantiles of many rows and of many row differences.

Hyndman & Fan 1996, Amer. Statist. 50:361, type 7, with NumPy's interpolation formula,
so that every result equals ``np.quantile`` to the bit at a fraction of its cost: a
sorted sample of a row brackets both tails, and only the tails are selected from.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel
from fbcore.blocks import even_ranges, map_ranges

_SAMPLE = 1024
_ROW_BLOCK = 64


@device
def select(values, size, k):  # type: ignore[no-untyped-def]
    """Reorder ``values[:size]`` so that entry k is the k-th smallest (Hoare 1961) and return it.

    Entries left of k are not larger and entries right of it not smaller.
    """
    low = 0
    high = size - 1
    while low < high:
        middle = (low + high) // 2
        a = values[low]
        b = values[middle]
        c = values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i = low
        j = high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@device
def interpolate(values, size, k, fraction):  # type: ignore[no-untyped-def]
    """Between order statistics k and k + 1 of ``values[:size]``, as NumPy interpolates."""
    a = select(values, size, k)
    b = a
    if k + 1 < size:
        b = values[k + 1]
        for i in range(k + 2, size):
            b = min(b, values[i])
    if fraction < 0.5:
        return a + (b - a) * fraction
    return b - (b - a) * (1.0 - fraction)


@kernel
def _tail_rows(  # type: ignore[no-untyped-def]
    start, stop, draws, left, right, k_low, f_low, k_high, f_high, low_rank, high_rank, work, out
):
    """Both quantiles of ``draws[left] - draws[right]`` (of ``draws[left]`` where right < 0).

    ``low_rank`` and ``high_rank`` say which entries of a sorted sample bound the tails;
    negative ones take the whole row. What is collected beyond |value - centre| >= reach is,
    on either side, all of the smallest or largest values, since the test is monotone.
    """
    size = draws.shape[1]
    step = max(1, size // _SAMPLE)
    for row in range(start, stop):
        plain = right[row] < 0
        i = np.uint64(left[row])
        j = np.uint64(0) if plain else np.uint64(right[row])
        low_count = size
        high_count = size
        if low_rank >= 0:
            for s in range(_SAMPLE):
                value = draws[i, s * step]
                if not plain:
                    value -= draws[j, s * step]
                work[0, s] = value
            low_cut = select(work[0], _SAMPLE, low_rank)
            high_cut = select(work[0], _SAMPLE, high_rank)
            centre = (low_cut + high_cut) / 2
            reach = (high_cut - low_cut) / 2
            # Branch-free: store always, advance only in a tail. The position is unsigned,
            # since Numba tests signed ones for wrap-around.
            found = np.uint64(0)
            if plain:
                for d in range(size):
                    value = draws[i, d]
                    work[0, found] = value
                    found += np.uint64(abs(value - centre) >= reach)
            else:
                for d in range(size):
                    value = draws[i, d] - draws[j, d]
                    work[0, found] = value
                    found += np.uint64(abs(value - centre) >= reach)
            low_count = 0
            high_count = 0
            for s in range(np.int64(found)):
                value = work[0, s]
                if value < centre:
                    work[0, low_count] = value
                    low_count += 1
                else:
                    work[1, high_count] = value
                    high_count += 1
        if low_rank < 0 or low_count < k_low + 2 or high_count < size - k_high:
            # No sample, or it misjudged a tail: take the whole row.
            for d in range(size):
                value = draws[i, d]
                if not plain:
                    value -= draws[j, d]
                work[0, d] = value
                work[1, d] = value
            low_count = size
            high_count = size
        out[row, 0] = interpolate(work[0], low_count, k_low, f_low)
        out[row, 1] = interpolate(work[1], high_count, k_high - (size - high_count), f_high)


def position(size: int, probability: float) -> tuple[int, float]:
    """Order statistic and fraction of a type 7 quantile: ``h = (size - 1) p`` split in two."""
    h = (size - 1) * probability
    k = min(int(np.floor(h)), size - 1)
    return k, h - k


def _sample_rank(size: int, tail: int) -> int:
    """Rank in a sample that leaves ``tail`` of ``size`` values below it, with room to spare.

    Five standard deviations of the sample count: a miss costs one full selection, no error.
    """
    expected = _SAMPLE * tail / size
    return int(expected + 5 * np.sqrt(expected + 1) + 2)


def intervals(
    draws: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    alpha: float,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float64]:
    """Quantiles α/2 and 1 - α/2 of ``draws[left] - draws[right]``.

    Parameters
    ----------
    draws : float64 [M, B]
    left, right : int64 [n]
        Rows of ``draws``; ``right[i] < 0`` takes the row ``left[i]`` itself.

    Returns
    -------
    float64 [n, 2], equal to ``np.quantile`` of the same differences to the bit
    """
    size = draws.shape[1]
    out = np.empty((left.size, 2))
    low = position(size, alpha / 2)
    high = position(size, 1 - alpha / 2)
    low_rank = _sample_rank(size, low[0] + 2)
    high_rank = _SAMPLE - 1 - _sample_rank(size, size - high[0])
    if size <= 2 * _SAMPLE or low_rank >= high_rank:
        low_rank = high_rank = -1

    def task(start: int, stop: int) -> None:
        work = np.empty((2, size))
        _tail_rows(start, stop, draws, left, right, *low, *high, low_rank, high_rank, work, out)

    pieces = even_ranges(left.size, threads, max(_ROW_BLOCK, left.size // 16), 1)
    map_ranges(task, pieces, threads, progress=progress)
    return out


def quantile(values: NDArray[np.float64], probability: float) -> float:
    """Type 7 quantile of float64 [n], equal to ``np.quantile`` to the bit."""
    k, fraction = position(values.size, probability)
    top = min(k + 1, values.size - 1)
    parted = np.partition(values, (k, top))
    a, b = float(parted[k]), float(parted[top])
    return a + (b - a) * fraction if fraction < 0.5 else b - (b - a) * (1 - fraction)


def pair_index(models: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs i < j, row-major: two int64 [M (M - 1) / 2]."""
    left, right = np.triu_indices(models, 1)
    return left.astype(np.int64), right.astype(np.int64)
