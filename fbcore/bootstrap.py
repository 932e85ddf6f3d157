"""Anchor-cluster bootstrap of the equal mean of stratum ratio means.

Efron & Tibshirani 1993, *An Introduction to the Bootstrap*, ch. 6 and 13, with whole
clusters resampled; simultaneous bands by max-t after Montiel Olea & Plagborg-Møller
2019, J. Appl. Econometrics 34:1. Quantiles are Hyndman–Fan type 7 as NumPy forms them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel
from fbcore.blocks import LEAF, Engine, even_ranges, map_ranges
from fbcore.counter import MAX_ATTEMPT, draw_picks, split_seed
from fbcore.design import GROUP, Design, sum_by

#: Draws the bootstrap kernel works on at once: counts of 534 clusters then fit in the
#: first-level cache and the inner loops unroll completely.
LANES = 32
_DRAW_BLOCK = 2048


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Bootstrap draws of every model's score.

    Attributes
    ----------
    draws : float64 [M, B], in the unit of the scores
    redraws : int, extra attempts spent on draws that left a stratum empty
    """

    draws: NDArray[np.float64]
    redraws: int


@device
def _count_draw(d, draw, attempt, clusters, k0, k1, planes, counts):  # type: ignore[no-untyped-def]
    """Picks of one draw added to column ``d`` of ``counts`` [C * LANES]."""
    draw_picks(draw, attempt, clusters, k0, k1, planes)
    for lane in range(4):
        for block in range((clusters - lane + 3) // 4):
            counts[planes[lane, block] * LANES + d] += 1


@device
def _stratum_sums(first, last, cell_cluster, counts, values, tile, sums):  # type: ignore[no-untyped-def]
    """``sums[r, d] = Σ_cells count · values[r]`` of one stratum, in integers.

    Eight cells at a time are widened into ``tile``: a tile at fixed offsets spares the
    compiler its overlap checks, which is worth a factor of three.
    """
    rows = values.shape[0]
    for i in range(rows * LANES):
        sums[i] = 0
    for cell in range(first, last, GROUP):
        for j in range(GROUP):
            row = np.int64(cell_cluster[cell + j]) * LANES
            for d in range(LANES):
                tile[j * LANES + d] = counts[row + d]
        for m in range(rows):
            v0 = values[m, cell]
            v1 = values[m, cell + 1]
            v2 = values[m, cell + 2]
            v3 = values[m, cell + 3]
            v4 = values[m, cell + 4]
            v5 = values[m, cell + 5]
            v6 = values[m, cell + 6]
            v7 = values[m, cell + 7]
            base = m * LANES
            for d in range(LANES):
                sums[base + d] += (
                    tile[d] * v0
                    + tile[LANES + d] * v1
                    + tile[2 * LANES + d] * v2
                    + tile[3 * LANES + d] * v3
                    + tile[4 * LANES + d] * v4
                    + tile[5 * LANES + d] * v5
                    + tile[6 * LANES + d] * v6
                    + tile[7 * LANES + d] * v7
                )


@device
def _block_means(bounds, cell_cluster, counts, values, tile, sums, means, empty):  # type: ignore[no-untyped-def]
    """``means[m, d] = Σ_s`` ratio mean of the stratum; ``empty[d]`` where a stratum is empty."""
    models = values.shape[0] - 1
    below = models * LANES  # the last row of values holds the cell sizes
    for d in range(LANES):
        empty[d] = 0
    for i in range(models * LANES):
        means[i] = 0.0
    for s in range(bounds.shape[0] - 1):
        _stratum_sums(bounds[s], bounds[s + 1], cell_cluster, counts, values, tile, sums)
        for d in range(LANES):
            if sums[below + d] == 0:
                empty[d] = 1
        for m in range(models):
            for d in range(LANES):
                top = np.float64(sums[m * LANES + d])
                means[m * LANES + d] += top / np.float64(sums[below + d])


@kernel
def _bootstrap_range(  # type: ignore[no-untyped-def]
    start,
    stop,
    key0,
    key1,
    clusters,
    bounds,
    cell_cluster,
    values,
    unit,
    planes,
    counts,
    tile,
    sums,
    means,
    empty,
    attempts,
    status,
    out,
):
    """Draws ``start … stop - 1`` into ``out``; ``status`` = (redraws, failed draws)."""
    k0 = np.uint64(key0)
    k1 = np.uint64(key1)
    strata = bounds.shape[0] - 1
    for first in range(start, stop, LANES):
        width = min(LANES, stop - first)
        for i in range(counts.shape[0]):
            counts[i] = 0
        for d in range(LANES):
            attempts[d] = 0
            _count_draw(d, first + d, 0, clusters, k0, k1, planes, counts)
        again = True
        while again:
            _block_means(bounds, cell_cluster, counts, values, tile, sums, means, empty)
            again = False
            for d in range(width):
                if empty[d] == 1 and attempts[d] <= MAX_ATTEMPT:
                    attempts[d] += 1
                    if attempts[d] > MAX_ATTEMPT:
                        status[1] += 1
                        continue
                    status[0] += 1
                    again = True
                    for c in range(clusters):
                        counts[c * LANES + d] = 0
                    _count_draw(d, first + d, attempts[d], clusters, k0, k1, planes, counts)
        for m in range(out.shape[0]):
            for d in range(width):
                out[m, first + d] = means[m * LANES + d] / np.float64(strata) / unit


def bootstrap(
    scores: NDArray[np.int64],
    design: Design,
    exponent: int,
    draws: int,
    seed: int,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> Bootstrap:
    """Draw ``draws`` cluster resamples shared by all models.

    Parameters
    ----------
    scores : int64 [M, T]
        Quantised scores, in units of 10**-exponent.

    Raises
    ------
    ArithmeticError
        A draw left a stratum empty in all its 256 attempts (see
        :meth:`Design.empty_probabilities` for the check to make before).
    """
    cells = design.cells()
    clusters = design.clusters
    values = np.vstack([sum_by(scores, cells.of_task, cells.cluster.size), cells.size])
    # Σ_cells count · |value| ≤ C · max |value|: the narrower type is four times as fast.
    narrow = clusters * int(np.abs(values).max()) < 2**31
    kind = np.int32 if narrow else np.int64
    values = values.astype(kind)
    count_kind = np.uint16 if clusters < 2**16 else np.uint32
    key0, key1 = split_seed(seed)
    models = scores.shape[0]
    out = np.empty((models, draws), np.float64)

    def task(start: int, stop: int) -> NDArray[np.int64]:
        status = np.zeros(2, np.int64)
        _bootstrap_range(
            start,
            stop,
            key0,
            key1,
            clusters,
            cells.bounds,
            cells.cluster,
            values,
            10.0**exponent,
            np.empty((4, -(-clusters // 4)), np.int32),
            np.empty(clusters * LANES, count_kind),
            np.empty(GROUP * LANES, kind),
            np.empty((models + 1) * LANES, kind),
            np.empty(models * LANES, np.float64),
            np.empty(LANES, np.int64),
            np.empty(LANES, np.int64),
            status,
            out,
        )
        return status

    pieces = even_ranges(draws, threads, _DRAW_BLOCK)
    redraws, failed = np.sum(map_ranges(task, pieces, threads, engine, progress), axis=0)
    if failed:
        raise ArithmeticError(f"{failed} draws left a stratum empty in every attempt")
    return Bootstrap(out, int(redraws))


def point_scores(scores: NDArray[np.int64], design: Design, exponent: int) -> NDArray[np.float64]:
    """Equal mean of the strata means, in the unit of the scores: float64 [M].

    Formed as every draw is (exact stratum sums, one division each, strata ascending).
    """
    return means_over(stratum_means(scores, design), 10.0**exponent)


def stratum_means(scores: NDArray[np.int64], design: Design) -> NDArray[np.float64]:
    """Mean of each stratum, in quantised units: float64 [M, S]."""
    sums = sum_by(scores, design.stratum, design.strata)
    return sums.astype(np.float64) / design.sizes.astype(np.float64)


def means_over(columns: NDArray[np.float64], unit: float) -> NDArray[np.float64]:
    """Mean over the columns of float64 [M, k], added in order, then divided by ``unit``."""
    total = np.zeros(columns.shape[0])
    for column in columns.T:
        total += column
    mean: NDArray[np.float64] = total / columns.shape[1] / unit
    return mean


@device
def _leaf_total(draws, m, mean, power):  # type: ignore[no-untyped-def]
    """Σ (x - mean)**power over row ``m``, power 1 or 2: leaves of 256, ascending."""
    total = 0.0
    size = draws.shape[1]
    for first in range(0, size, LEAF):
        leaf = 0.0
        for i in range(first, min(first + LEAF, size)):
            value = draws[m, i] - mean
            leaf += value if power == 1 else value * value
        total += leaf
    return total


@kernel
def _variance_rows(start, stop, draws, out):  # type: ignore[no-untyped-def]
    size = draws.shape[1]
    for m in range(start, stop):
        mean = _leaf_total(draws, m, 0.0, 1) / size
        out[m] = _leaf_total(draws, m, mean, 2) / (size - 1)


def standard_errors(draws: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]:
    """Standard deviation (ddof = 1) of each row of ``draws`` float64 [M, B]: float64 [M]."""
    out = np.empty(draws.shape[0])
    pieces = even_ranges(draws.shape[0], threads, draws.shape[0], 1)
    map_ranges(lambda start, stop: _variance_rows(start, stop, draws, out), pieces, threads)
    return np.sqrt(out)


@kernel
def _max_t_range(start, stop, draws, scores, errors, out):  # type: ignore[no-untyped-def]
    for first in range(start, stop, LEAF):
        last = min(first + LEAF, stop)
        for d in range(first, last):
            out[d] = 0.0
        for m in range(draws.shape[0]):
            if errors[m] > 0.0:
                for d in range(first, last):
                    t = abs(draws[m, d] - scores[m]) / errors[m]
                    out[d] = max(out[d], t)


def max_t(
    draws: NDArray[np.float64],
    scores: NDArray[np.float64],
    errors: NDArray[np.float64],
    threads: int = 1,
) -> NDArray[np.float64]:
    """``max_m |draws[m, b] - scores[m]| / errors[m]`` of each draw: float64 [B].

    Models with ``errors[m] == 0`` (constant inside every stratum) take no part.
    """
    out = np.empty(draws.shape[1])
    pieces = even_ranges(draws.shape[1], threads, draws.shape[1])
    map_ranges(
        lambda start, stop: _max_t_range(start, stop, draws, scores, errors, out), pieces, threads
    )
    return out
