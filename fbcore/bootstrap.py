"""Anchor-cluster bootstrap of the equal mean of stratum ratio means.

Efron & Tibshirani 1993, *An Introduction to the Bootstrap*, ch. 6 and 13, with whole
clusters resampled; simultaneous bands by max-t after Montiel Olea & Plagborg-Møller
2019, J. Appl. Econometrics 34:1. Quantiles are Hyndman–Fan type 7 as NumPy forms them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, exact_device, fma, kernel, scratch
from fbcore.blocks import LEAF, Engine, even_ranges, map_ranges
from fbcore.checks import at_least, draw_range, floats, integers
from fbcore.counter import LANES, MAX_ATTEMPT, lane_picks, place_of, split_seed
from fbcore.design import GROUP, Design, sum_by

#: Draws of a block, and products that a block may hold: about 0.2 s, so that an interrupt or
#: a report of progress does not wait longer.
_DRAW_BLOCK = 6400
_BLOCK_PRODUCTS = 2**31


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
def _count_draws(first, attempt, only, clusters, k0, k1, couples, places, counts):  # type: ignore[no-untyped-def]
    """Add the picks of the LANES draws from ``first`` on, or of draw first + ``only`` alone.

    ``counts`` [(C + 1) * LANES]; its last row takes the void picks of the last block.
    """
    for block in range((clusters + 3) // 4):
        lane_picks(block, first, attempt, clusters, k0, k1, couples, places)
        for r in range(clusters - 4 * block, 4):
            for d in range(LANES):
                places[place_of(r, d)] = clusters * LANES + d
        if only < 0:
            for i in range(4 * LANES):
                counts[np.uint64(places[i])] += 1
        else:
            for r in range(4):
                counts[np.uint64(places[place_of(r, only)])] += 1


@exact_device
def _stratum_sums(first, last, cell_cluster, counts, values, tile, sums):  # type: ignore[no-untyped-def]
    """``sums[r, d] = Σ_cells count · values`` of one stratum, exact integers.

    ``values`` [K / 8, rows, 8] is read in the order it lies in. Eight cells at a time are
    widened into ``tile``: at fixed offsets it stays in registers and spares the compiler its
    overlap checks, which is worth a factor of three. The length of the widening loop is kept
    from the compiler, which otherwise unrolls it into scalar conversions.
    """
    rows = values.shape[1]
    for i in range(rows * LANES):
        sums[i] = 0
    lanes = np.uint64(tile.shape[0] // GROUP)
    for group in range(first // GROUP, last // GROUP):
        for j in range(GROUP):
            row = np.uint64(cell_cluster[group * GROUP + j]) * np.uint64(LANES)
            at = np.uint64(j * LANES)
            for d in range(lanes):
                tile[at + d] = counts[row + d]
        for m in range(rows):
            v0 = values[group, m, 0]
            v1 = values[group, m, 1]
            v2 = values[group, m, 2]
            v3 = values[group, m, 3]
            v4 = values[group, m, 4]
            v5 = values[group, m, 5]
            v6 = values[group, m, 6]
            v7 = values[group, m, 7]
            base = np.uint64(m * LANES)
            for d in range(np.uint64(LANES)):
                sums[base + d] = (
                    sums[base + d]
                    + tile[d] * v0
                    + tile[np.uint64(LANES) + d] * v1
                    + tile[np.uint64(2 * LANES) + d] * v2
                    + tile[np.uint64(3 * LANES) + d] * v3
                ) + (  # two chains: the sums are exact in any order
                    tile[np.uint64(4 * LANES) + d] * v4
                    + tile[np.uint64(5 * LANES) + d] * v5
                    + tile[np.uint64(6 * LANES) + d] * v6
                    + tile[np.uint64(7 * LANES) + d] * v7
                )


@device
def quotient(a, b, inverse):  # type: ignore[no-untyped-def]
    """``a / b`` correctly rounded, from ``inverse = 1 / b``.

    Markstein 1990, IBM J. Res. Dev. 34:111: with the correctly rounded inverse, one step
    makes the product faithful and one more makes it the rounded quotient. Vector units do
    five multiply-adds in a third of the time of a division.
    """
    q = a * inverse
    q = fma(fma(-q, b, a), inverse, q)
    return fma(fma(-q, b, a), inverse, q)


@device
def _block_means(bounds, cell_cluster, counts, values, tile, sums, below, means, empty):  # type: ignore[no-untyped-def]
    """``means[m, d] = Σ_s`` ratio mean of the stratum; ``empty[d]`` where a stratum is empty."""
    models = values.shape[1] - 1
    last = np.uint64(models * LANES)  # the last row of values holds the cell sizes
    lanes = np.uint64(empty.shape[0])  # LANES, kept from the compiler as in _stratum_sums
    for d in range(LANES):
        empty[d] = 0
    for i in range(models * LANES):
        means[i] = 0.0
    for s in range(bounds.shape[0] - 1):
        _stratum_sums(bounds[s], bounds[s + 1], cell_cluster, counts, values, tile, sums)
        for d in range(lanes):
            if sums[last + d] == 0:
                empty[d] = 1
            below[0, d] = np.float64(sums[last + d])
            below[1, d] = 1.0 / below[0, d]
        for m in range(models):
            row = np.uint64(m * LANES)
            for d in range(lanes):
                means[row + d] += quotient(np.float64(sums[row + d]), below[0, d], below[1, d])


@kernel
def _bootstrap_range(  # type: ignore[no-untyped-def]
    start,
    stop,
    origin,
    key0,
    key1,
    clusters,
    bounds,
    cell_cluster,
    values,
    unit,
    couples,
    places,
    counts,
    tile,
    sums,
    below,
    means,
    empty,
    attempts,
    status,
    out,
):
    """Draws ``start … stop - 1`` into ``out``, whose first column is draw ``origin``.

    ``status`` = (redraws, failed).
    """
    k0 = np.uint64(key0)
    k1 = np.uint64(key1)
    strata = bounds.shape[0] - 1
    for first in range(start, stop, LANES):
        width = min(LANES, stop - first)
        for i in range(counts.shape[0]):
            counts[i] = 0
        for d in range(LANES):
            attempts[d] = 0
        only = -1
        attempt = 0
        while True:
            _count_draws(first, attempt, only, clusters, k0, k1, couples, places, counts)
            _block_means(bounds, cell_cluster, counts, values, tile, sums, below, means, empty)
            only = -1
            for d in range(width):
                if empty[d] and attempts[d] <= MAX_ATTEMPT:
                    only = d
                    break
            if only < 0:
                break
            # An empty stratum: this draw again, at the next attempt.
            attempts[only] += 1
            attempt = attempts[only]
            if attempt > MAX_ATTEMPT:
                status[1] += 1
                return
            status[0] += 1
            for c in range(clusters + 1):
                counts[c * LANES + only] = 0
        for m in range(out.shape[0]):
            for d in range(width):
                mean = quotient(means[m * LANES + d], np.float64(strata), 1.0 / strata)
                out[m, first - origin + d] = quotient(mean, unit, 1.0 / unit)


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
    ValueError
        Scores that do not fit the design or 64-bit sums, or no draw.
    ArithmeticError
        A draw left a stratum empty in all its 256 attempts (see
        :meth:`Design.empty_probabilities` for the check to make before).
    """
    scores = integers("scores", scores, None, design.tasks)
    draw_range(0, at_least("draws", draws, 1))
    job = _Job.of(scores, design, exponent, seed)
    models = scores.shape[0]
    out = scratch((models, draws))

    def task(start: int, stop: int) -> tuple[NDArray[np.int64], int, NDArray[np.float64] | None]:
        if engine is None:
            return job.run(start, stop, 0, out), start, None
        # An engine may work elsewhere: it sends its draws, threads write them in place.
        part = scratch((models, stop - start))
        return job.run(start, stop, start, part), start, part

    size = min(_DRAW_BLOCK, max(LEAF, _BLOCK_PRODUCTS // job.values.size))
    pieces = even_ranges(draws, threads, size)
    results = map_ranges(task, pieces, threads, engine, progress)
    for _, start, part in results:
        if part is not None:
            out[:, start : start + part.shape[1]] = part
    redraws, failed = np.sum([status for status, _, _ in results], axis=0)
    if failed:
        raise ArithmeticError(f"a draw left a stratum empty in all {MAX_ATTEMPT + 1} attempts")
    return Bootstrap(out, int(redraws))


@dataclass(frozen=True, slots=True)
class _Job:
    """What the kernel needs of scores and design: ``values`` [K / 8, M + 1, 8]."""

    clusters: int
    bounds: NDArray[np.int32]
    cell_cluster: NDArray[np.int32]
    values: NDArray[Any]
    unit: float
    seed: int

    @classmethod
    def of(cls, scores: NDArray[np.int64], design: Design, exponent: int, seed: int) -> _Job:
        cells, clusters = design.cells(), design.clusters
        values = np.vstack([sum_by(scores, cells.of_task, cells.cluster.size), cells.size])
        # Σ_cells count · |value| ≤ C · max |value|: the narrowest type that holds it exactly.
        bound = clusters * int(np.abs(values).max())
        if bound >= 2**63:
            raise ValueError(f"cluster sums up to {int(np.abs(values).max())} are too large")
        kind = np.float32 if bound < 2**24 else np.float64 if bound < 2**53 else np.int64
        grouped = _grouped(values.astype(kind))
        return cls(clusters, cells.bounds, cells.cluster, grouped, 10.0**exponent, seed)

    def run(
        self, start: int, stop: int, origin: int, out: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Draws ``start … stop - 1`` into ``out``, whose first column is draw ``origin``."""
        status = np.zeros(2, np.int64)
        models, kind = self.values.shape[1] - 1, self.values.dtype
        couples = scratch(2 * LANES, np.uint64)
        _bootstrap_range(
            start,
            stop,
            origin,
            *split_seed(self.seed),
            self.clusters,
            self.bounds,
            self.cell_cluster,
            self.values,
            self.unit,
            couples,
            couples.view(np.uint32),
            scratch((self.clusters + 1) * LANES, np.uint16 if self.clusters < 2**16 else np.uint32),
            scratch(GROUP * LANES, kind),
            scratch((models + 1) * LANES, kind),
            scratch((2, LANES)),
            scratch(models * LANES),
            scratch(LANES, np.int64),
            scratch(LANES, np.int64),
            status,
            out,
        )
        return status


def _grouped(values: NDArray[Any]) -> NDArray[Any]:
    """``values`` [rows, K] as [K / 8, rows, 8]: the order in which the kernel reads them."""
    rows, cells = values.shape
    out = scratch((cells // GROUP, rows, GROUP), values.dtype)
    out[:] = values.reshape(rows, cells // GROUP, GROUP).transpose(1, 0, 2)
    return out


def point_scores(scores: NDArray[np.int64], design: Design, exponent: int) -> NDArray[np.float64]:
    """Equal mean of the strata means, in the unit of the scores: float64 [M].

    Formed as every draw is (exact stratum sums, one division each, strata ascending).
    """
    return means_over(stratum_means(scores, design), 10.0**exponent)


def stratum_means(scores: NDArray[np.int64], design: Design) -> NDArray[np.float64]:
    """Mean of each stratum, in quantised units: float64 [M, S]."""
    scores = integers("scores", scores, None, design.tasks)
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
def _term(draws, m, i, mean, power):  # type: ignore[no-untyped-def]
    value = draws[m, i] - mean
    return value if power == 1 else value * value


@device
def _leaf_total(draws, m, mean, power):  # type: ignore[no-untyped-def]
    """Σ (x - mean)**power over row ``m``, power 1 or 2: leaves of 256, ascending.

    Four leaves go side by side, each in its own order: one chain of sums waits for itself.
    """
    total = 0.0
    size = draws.shape[1]
    whole = size // (4 * LEAF) * (4 * LEAF)
    for first in range(0, whole, 4 * LEAF):
        a = 0.0
        b = 0.0
        c = 0.0
        d = 0.0
        for i in range(first, first + LEAF):
            a += _term(draws, m, i, mean, power)
            b += _term(draws, m, i + LEAF, mean, power)
            c += _term(draws, m, i + 2 * LEAF, mean, power)
            d += _term(draws, m, i + 3 * LEAF, mean, power)
        total += a
        total += b
        total += c
        total += d
    for first in range(whole, size, LEAF):
        leaf = 0.0
        for i in range(first, min(first + LEAF, size)):
            leaf += _term(draws, m, i, mean, power)
        total += leaf
    return total


@kernel
def _variance_rows(start, stop, draws, out):  # type: ignore[no-untyped-def]
    size = draws.shape[1]
    for m in range(start, stop):
        moved = False
        for i in range(size):
            moved |= draws[m, i] != draws[m, 0]
        out[m] = 0.0
        if moved:
            mean = _leaf_total(draws, m, 0.0, 1) / size
            out[m] = _leaf_total(draws, m, mean, 2) / (size - 1)


def standard_errors(draws: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]:
    """Standard deviation (ddof = 1) of each row of ``draws`` float64 [M, B]: float64 [M].

    Exactly 0 where all draws are equal: rounding of the mean must not pass for an error.
    """
    draws = floats("draws", draws, None, None)
    at_least("draws of a standard error", draws.shape[1], 2)
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
    draws = floats("draws", draws, None, None)
    scores = floats("scores", scores, draws.shape[0])
    errors = floats("errors", errors, draws.shape[0])
    out = np.empty(draws.shape[1])
    pieces = even_ranges(draws.shape[1], threads, draws.shape[1])
    map_ranges(
        lambda start, stop: _max_t_range(start, stop, draws, scores, errors, out), pieces, threads
    )
    return out
