"""Exact quantiles of many rows and of many row differences.

Hyndman & Fan 1996, Amer. Statist. 50:361, type 7, with NumPy's interpolation formula,
so that every result equals ``np.quantile`` to the bit at a fraction of its cost: the
first draws of a row place a narrow window around each quantile, one pass counts what
lies beyond the windows and collects what lies in them, and only that is selected from.
A window that misses is widened, at last to the whole row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel, scratch
from fbcore.blocks import even_ranges, map_ranges
from fbcore.checks import at_least, floats, indices

#: Draws that place the windows; shorter rows are selected from whole.
_SAMPLE = 8192
_COLUMNS = 256
#: Draws tested together: four rows of 256 columns, flagged by column.
_BLOCK = 4 * _COLUMNS
#: Half-widths of the windows in standard deviations of the row, tried in turn. The first
#: holds 0.9 % of a normal row per tail and allows for 4 standard errors of the sample.
_REACHES = np.array([0.08, 0.5])
_ROW_BLOCK = 32


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


@device
def _mean_and_square(draws, i, other, j, lanes):  # type: ignore[no-untyped-def]
    """Mean and mean square deviation of the first draws of a row (in lanes: any order will do)."""
    for c in range(_COLUMNS):
        lanes[0, c] = 0.0
        lanes[1, c] = 0.0
    for first in range(0, _SAMPLE, _COLUMNS):
        for c in range(_COLUMNS):
            d = np.uint64(first + c)
            value = draws[i, d] - other[j, d]
            lanes[0, c] += value
            lanes[1, c] += value * value
    total = 0.0
    square = 0.0
    for c in range(_COLUMNS):
        total += lanes[0, c]
        square += lanes[1, c]
    mean = total / _SAMPLE
    return mean, max(square / _SAMPLE - mean * mean, 0.0)


@device
def _flag_block(draws, i, other, j, first, edges, flags):  # type: ignore[no-untyped-def]
    """Flag the columns of a block that reach into a window; counts beyond the windows."""
    lowest, low, high, highest = edges
    below = 0
    above = 0
    for c in range(np.uint64(_COLUMNS)):
        d = np.uint64(first) + c
        x0 = draws[i, d] - other[j, d]
        d += np.uint64(_COLUMNS)
        x1 = draws[i, d] - other[j, d]
        d += np.uint64(_COLUMNS)
        x2 = draws[i, d] - other[j, d]
        d += np.uint64(_COLUMNS)
        x3 = draws[i, d] - other[j, d]
        below += np.int64(x0 < lowest) + np.int64(x1 < lowest)
        below += np.int64(x2 < lowest) + np.int64(x3 < lowest)
        above += np.int64(x0 > highest) + np.int64(x1 > highest)
        above += np.int64(x2 > highest) + np.int64(x3 > highest)
        near0 = ((x0 <= low) ^ (x0 < lowest)) | ((x0 >= high) ^ (x0 > highest))
        near1 = ((x1 <= low) ^ (x1 < lowest)) | ((x1 >= high) ^ (x1 > highest))
        near2 = ((x2 <= low) ^ (x2 < lowest)) | ((x2 >= high) ^ (x2 > highest))
        near3 = ((x3 <= low) ^ (x3 < lowest)) | ((x3 >= high) ^ (x3 > highest))
        flags[c] = np.int64(near0 | near1 | near2 | near3)
    return below, above


@device
def _collect(draws, i, other, j, edges, flags, listed, work):  # type: ignore[no-untyped-def]
    """Values in the two windows into ``work``; how many, and how many lie beyond either.

    Listing and collecting are free of branches: store always, advance only where it counts.
    """
    lowest, low, high, highest = edges
    size = draws.shape[1]
    below = 0
    above = 0
    lows = np.uint64(0)
    highs = np.uint64(0)
    whole = size // _BLOCK * _BLOCK
    for first in range(0, whole, _BLOCK):
        under, over = _flag_block(draws, i, other, j, first, edges, flags)
        below += under
        above += over
        flagged = np.uint64(0)
        for c in range(_COLUMNS):
            listed[flagged] = c
            flagged += np.uint64(flags[c])
        for n in range(flagged):
            d = np.uint64(first) + np.uint64(listed[n])
            for _ in range(4):
                value = draws[i, d] - other[j, d]
                work[0, lows] = value
                lows += np.uint64((value >= lowest) & (value <= low))
                work[1, highs] = value
                highs += np.uint64((value >= high) & (value <= highest))
                d += np.uint64(_COLUMNS)
    for d in range(whole, size):
        value = draws[i, d] - other[j, d]
        below += np.int64(value < lowest)
        above += np.int64(value > highest)
        work[0, lows] = value
        lows += np.uint64((value >= lowest) & (value <= low))
        work[1, highs] = value
        highs += np.uint64((value >= high) & (value <= highest))
    return below, above, np.int64(lows), np.int64(highs)


@kernel
def _tail_rows(  # type: ignore[no-untyped-def]
    start,
    stop,
    draws,
    zeros,
    left,
    right,
    low,
    high,
    normal,
    reaches,
    lanes,
    flags,
    listed,
    work,
    out,
):
    """Both quantiles of ``draws[left] - draws[right]`` (of ``draws[left]`` where right < 0).

    ``low`` and ``high`` hold an order statistic and a fraction each; ``normal`` is the upper
    quantile of a standard normal row.
    """
    size = draws.shape[1]
    k_low = np.int64(low[0])
    k_high = np.int64(high[0])
    for row in range(start, stop):
        i = np.uint64(left[row])
        j = np.uint64(max(right[row], 0))
        other = zeros if right[row] < 0 else draws
        found = False
        if size >= _SAMPLE:
            mean, square = _mean_and_square(draws, i, other, j, lanes)
            deviation = square**0.5
            for attempt in range(reaches.shape[0]):
                inner = max(normal - reaches[attempt], 0.0) * deviation
                outer = (normal + reaches[attempt]) * deviation
                edges = (mean - outer, mean - inner, mean + inner, mean + outer)
                below, above, lows, highs = _collect(draws, i, other, j, edges, flags, listed, work)
                at_low = k_low - below
                at_high = k_high - (size - above - highs)
                if at_low >= 0 and at_low + 1 < lows and at_high >= 0 and at_high + 1 < highs:
                    out[row, 0] = interpolate(work[0], lows, at_low, low[1])
                    out[row, 1] = interpolate(work[1], highs, at_high, high[1])
                    found = True
                    break
        if not found:
            for d in range(size):
                value = draws[i, d] - other[j, d]
                work[0, d] = value
                work[1, d] = value
            out[row, 0] = interpolate(work[0], size, k_low, low[1])
            out[row, 1] = interpolate(work[1], size, k_high, high[1])


def position(size: int, probability: float) -> tuple[int, float]:
    """Order statistic and fraction of a type 7 quantile: ``h = (size - 1) p`` split in two."""
    h = (size - 1) * probability
    k = min(int(np.floor(h)), size - 1)
    return k, h - k


def _normal_quantile(tail: float) -> float:
    """Standard normal quantile with ``tail`` above it, by bisection (0 for tail ≥ ½)."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        if math.erfc(middle / math.sqrt(2)) / 2 > tail:
            low = middle
        else:
            high = middle
    return low


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
    draws = floats("draws", draws, None, None)
    size = at_least("draws", draws.shape[1], 1)
    left = indices("left", left, 0, draws.shape[0])
    right = indices("right", right, -1, draws.shape[0])
    if left.size != right.size:
        raise ValueError(f"{left.size} left rows for {right.size} right ones")
    out = np.empty((left.size, 2))
    low = np.array(position(size, alpha / 2))
    high = np.array(position(size, 1 - alpha / 2))
    normal = _normal_quantile(alpha / 2)
    zeros = np.zeros((1, size if (right < 0).any() else 0))

    def task(start: int, stop: int) -> None:
        lanes = scratch((2, _COLUMNS))
        flags = scratch(_COLUMNS, np.int64)
        listed = scratch(_COLUMNS, np.int64)
        work = np.empty((2, size))
        _tail_rows(
            start,
            stop,
            draws,
            zeros,
            left,
            right,
            low,
            high,
            normal,
            _REACHES,
            lanes,
            flags,
            listed,
            work,
            out,
        )

    pieces = even_ranges(left.size, threads, max(_ROW_BLOCK, left.size // 64), 1)
    map_ranges(task, pieces, threads, progress=progress)
    return out


def quantile(values: NDArray[np.float64], probability: float) -> float:
    """Type 7 quantile of float64 [n], equal to ``np.quantile`` to the bit."""
    k, fraction = position(at_least("number of values", values.size, 1), probability)
    top = min(k + 1, values.size - 1)
    parted = np.partition(values, (k, top))
    a, b = float(parted[k]), float(parted[top])
    return a + (b - a) * fraction if fraction < 0.5 else b - (b - a) * (1 - fraction)


def pair_index(models: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All pairs i < j, row-major: two int64 [M (M - 1) / 2]."""
    left, right = np.triu_indices(models, 1)
    return left.astype(np.int64), right.astype(np.int64)
