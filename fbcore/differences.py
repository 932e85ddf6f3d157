"""Standard errors and simultaneous band of all pair differences, from the draws of the models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel, scratch
from fbcore.blocks import LEAF, even_ranges, map_ranges
from fbcore.checks import at_least, floats, indices

_ROW_BLOCK = 32


@device
def _total(lanes):  # type: ignore[no-untyped-def]
    total = 0.0
    for c in range(lanes.shape[0]):
        total += lanes[c]
        lanes[c] = 0.0
    return total


@kernel
def _error_rows(start, stop, draws, means, left, right, lanes, out):  # type: ignore[no-untyped-def]
    """Variances of row differences; ``lanes`` [LEAF] come and go as zeros."""
    size = draws.shape[1]
    for row in range(start, stop):
        i = np.uint64(left[row])
        j = np.uint64(right[row])
        mean = means[i] - means[j]
        for first in range(0, size, LEAF):
            for c in range(np.uint64(min(LEAF, size - first))):
                d = np.uint64(first) + c
                value = (draws[i, d] - draws[j, d]) - mean
                lanes[c] += value * value
        out[row] = _total(lanes) / (size - 1)


@kernel
def _mean_rows(start, stop, draws, lanes, out):  # type: ignore[no-untyped-def]
    size = draws.shape[1]
    for m in range(start, stop):
        for first in range(0, size, LEAF):
            for c in range(np.uint64(min(LEAF, size - first))):
                lanes[c] += draws[m, np.uint64(first) + c]
        out[m] = _total(lanes) / size


def difference_errors(
    draws: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float64]:
    """Standard deviation (ddof = 1) of ``draws[left] - draws[right]``: float64 [n].

    Deviations are those from the difference of the two means. All is added in 256 lanes (draw b
    in lane b mod 256), and then the lanes in turn.

    Parameters
    ----------
    draws : float64 [M, B], B of 2 or more
    left, right : int64 [n], rows of ``draws``
    """
    draws, left, right = _checked(draws, left, right)
    at_least("draws of a standard error", draws.shape[1], 2)
    means, out = np.empty(draws.shape[0]), np.empty(left.size)
    _mean_rows(0, draws.shape[0], draws, np.zeros(LEAF), means)

    def task(start: int, stop: int) -> None:
        lanes = scratch(LEAF)
        lanes[:] = 0.0
        _error_rows(start, stop, draws, means, left, right, lanes, out)

    pieces = even_ranges(left.size, threads, max(_ROW_BLOCK, left.size // 64), 1)
    map_ranges(task, pieces, threads, progress=progress)
    return np.sqrt(out)


@kernel
def _max_t_range(start, stop, draws, left, right, differences, inverse, out):  # type: ignore[no-untyped-def]
    for first in range(start, stop, LEAF):
        last = np.uint64(min(first + LEAF, stop))
        for d in range(np.uint64(first), last):
            out[d] = 0.0
        for row in range(left.shape[0]):
            i = np.uint64(left[row])
            j = np.uint64(right[row])
            difference = differences[row]
            scale = inverse[row]
            for d in range(np.uint64(first), last):
                t = abs((draws[i, d] - draws[j, d]) - difference) * scale
                out[d] = max(out[d], t)


def difference_max_t(
    draws: NDArray[np.float64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    differences: NDArray[np.float64],
    errors: NDArray[np.float64],
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> NDArray[np.float64]:
    """Largest studentised deviation of any difference in each draw: float64 [B].

    ``max_n |(draws[left] - draws[right]) - differences| · (1 / errors)``; differences whose
    error is 0 take no part.

    Parameters
    ----------
    draws : float64 [M, B]
    left, right : int64 [n], rows of ``draws``
    differences, errors : float64 [n]
    """
    draws, left, right = _checked(draws, left, right)
    differences = floats("differences", differences, left.size)
    errors = floats("errors", errors, left.size)
    inverse = np.zeros(left.size)
    inverse[errors > 0] = 1.0 / errors[errors > 0]
    out = np.empty(draws.shape[1])

    def task(start: int, stop: int) -> None:
        _max_t_range(start, stop, draws, left, right, differences, inverse, out)

    pieces = even_ranges(draws.shape[1], threads, max(LEAF, draws.shape[1] // 8))
    map_ranges(task, pieces, threads, progress=progress)
    return out


def _checked(
    draws: NDArray[np.float64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    draws = floats("draws", draws, None, None)
    left = indices("left", left, 0, draws.shape[0])
    right = indices("right", right, 0, draws.shape[0])
    if left.size != right.size:
        raise ValueError(f"{left.size} left rows for {right.size} right ones")
    return draws, left, right
