"""Anchor-cluster bootstrap (docs/statistics.md, sections 2, 3 and 9).

Numerators and denominators are exact integers. Division, stratum sum, division by S and by
10**e follow in that order; sums over draws run in leaves of 256. Blocks of draws bound the
memory and change no bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.plain.design import stratum_sizes
from flavourbench.analysis.plain.products import operand, products
from flavourbench.analysis.plain.resample import complete_draws, stratum_tables

LEAF = 256
_BLOCK = 2 * LEAF


def point_scores(
    scores: NDArray[np.int64], stratum: NDArray[np.integer], exponent: int
) -> NDArray[np.float64]:
    """Equal mean of the strata means of each model.

    Parameters
    ----------
    scores : int64 [M, T], quantised
    stratum : int [T], 0-based
    exponent : e of the grid

    Returns
    -------
    float64 [M], in the table's unit.

    Raises ValueError for a stratum without tasks. Source: docs/statistics.md, section 2.
    """
    sizes = stratum_sizes(stratum)
    total = np.zeros(scores.shape[0], dtype=np.float64)
    for index, size in enumerate(sizes.tolist()):
        stratum_sum = scores[:, stratum == index].sum(axis=1, dtype=np.int64)
        total += stratum_sum.astype(np.float64) / float(size)
    result: NDArray[np.float64] = total / float(sizes.size) / 10.0**exponent
    return result


def bootstrap(
    scores: NDArray[np.int64],
    stratum: NDArray[np.integer],
    cluster: NDArray[np.integer],
    exponent: int,
    draws: int,
    seed: int,
    start: int = 0,
    progress: Callable[[int], None] | None = None,
) -> tuple[NDArray[np.float64], int]:
    """Bootstrap scores of all models from shared cluster draws start..start+draws-1.

    Parameters
    ----------
    scores : int64 [M, T], quantised
    stratum, cluster : int [T], 0-based indices
    exponent : e of the grid
    draws : number of draws
    seed : 0 <= seed < 2**53
    start : number of the first draw
    progress : told how many draws are done since the last call

    Returns
    -------
    (float64 [M, draws] in the table's unit, redraws). A draw that leaves a stratum empty is
    drawn again with the next attempt number; redraws counts the extra attempts.

    Raises RuntimeError when attempt 255 of a draw still leaves a stratum empty, ValueError
    for an empty stratum or sums beyond 64 bits. Source: docs/statistics.md, sections 3, 8 and 9.
    """
    strata = stratum_sizes(stratum).size
    clusters = int(cluster.max()) + 1
    tables = stratum_tables(scores, stratum, cluster, strata)
    # No cluster is picked more than C times.
    operands = [operand(sums, clusters) for _, sums, _ in tables]
    result = np.empty((scores.shape[0], draws), dtype=np.float64)
    redraws = 0
    for first in range(0, draws, _BLOCK):
        last = min(first + _BLOCK, draws)
        multiplicity, extra = complete_draws(seed, start + first, start + last, clusters, tables)
        redraws += extra
        total = np.zeros((scores.shape[0], last - first), dtype=np.float64)
        for (touched, _, counts), sums in zip(tables, operands, strict=True):
            weight = np.ascontiguousarray(multiplicity[:, touched])
            numerator = products(sums, weight)
            denominator = weight @ counts
            total += numerator.astype(np.float64) / denominator.astype(np.float64)
        result[:, first:last] = total / float(strata) / 10.0**exponent
        if progress is not None:
            progress(last - first)
    return result, redraws


def _leaf_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sum [M, B] over draws: ascending inside leaves of 256, then leaves ascending."""
    rows, draws = values.shape
    leaves = -(-draws // LEAF)
    # The padding adds +0.0 to sums that started at +0.0, which changes no bit.
    padded = np.zeros((rows, leaves * LEAF), dtype=np.float64)
    padded[:, :draws] = values
    cells = padded.reshape(rows, leaves, LEAF)
    partial = np.zeros((rows, leaves), dtype=np.float64)
    for position in range(LEAF):
        partial += cells[:, :, position]
    total = np.zeros(rows, dtype=np.float64)
    for leaf in range(leaves):
        total += partial[:, leaf]
    return total


def standard_errors(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation over draws, ddof = 1, float64 [M] from float64 [M, B].

    The mean is ``total / B``; squared deviations go through the same reduction. A row whose
    draws are all equal has exactly 0: rounding of its mean must not pass for an error.

    Raises ValueError for fewer than two draws. Source: docs/statistics.md, sections 3 and 9.
    """
    count = draws.shape[1]
    if count < 2:
        raise ValueError(f"{count} draws; a standard error needs at least 2")
    mean = _leaf_sum(draws) / float(count)
    deviation = draws - mean[:, np.newaxis]
    spread = np.sqrt(_leaf_sum(deviation * deviation) / float(count - 1))
    result: NDArray[np.float64] = np.where((draws == draws[:, :1]).all(axis=1), 0.0, spread)
    return result


def quantile(rows: NDArray[np.float64], probability: float) -> NDArray[np.float64]:
    """Type 7 quantile of each row, float64 [n] from float64 [n, B].

    ``np.quantile`` bit for bit: with h = (B-1) p, t its fraction and a, b the order
    statistics around it, ``a + (b-a) t`` for t < 0.5 and ``b - (b-a) (1-t)`` otherwise.

    Raises ValueError for empty rows or a probability outside 0..1.
    Source: Hyndman & Fan type 7; docs/statistics.md, section 3.
    """
    count = rows.shape[-1]
    if count == 0 or not 0.0 <= probability <= 1.0:
        raise ValueError(f"no quantile {probability} of {count} values")
    position = (count - 1) * probability
    low = math.floor(position)
    high = min(low + 1, count - 1)
    t = position - low
    ordered = np.partition(rows, (low, high), axis=-1)
    a, b = ordered[..., low], ordered[..., high]
    result: NDArray[np.float64] = a + (b - a) * t if t < 0.5 else b - (b - a) * (1.0 - t)
    return result


def max_t_critical(
    draws: NDArray[np.float64],
    scores: NDArray[np.float64],
    se: NDArray[np.float64],
    varies: NDArray[np.bool_],
    alpha: float,
) -> float:
    """Critical value of the simultaneous band ``scores +/- critical * se``.

    Parameters
    ----------
    draws : float64 [M, B]
    scores : float64 [M], point scores
    se : float64 [M], standard errors
    varies : bool [M], models that take part
    alpha : 1 - simultaneous coverage

    Returns
    -------
    1 - alpha quantile over draws of the largest ``|draw - score| / se``.

    Raises ValueError if no model varies or a varying one has no positive standard error.
    Source: Montiel Olea & Plagborg-Moller 2019; docs/statistics.md, section 3.
    """
    taking_part = np.flatnonzero(varies)
    if not taking_part.size:
        raise ValueError("no model varies inside a stratum; there is nothing to band")
    if not (se[taking_part] > 0.0).all():
        raise ValueError("a varying model has standard error 0: its clusters do not vary")
    largest = np.zeros(draws.shape[1], dtype=np.float64)
    for model in taking_part:
        np.maximum(largest, np.abs(draws[model] - scores[model]) / se[model], out=largest)
    return float(quantile(largest[np.newaxis], 1.0 - alpha)[0])


def difference_errors(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard deviation of all pair differences over draws, ddof = 1, float64 [P] from [M, B].

    Deviations are those from the difference of the two means. All is added in 256 lanes, draw b
    in lane b mod 256, and the lanes then in turn.

    Raises ValueError for fewer than two draws. Source: docs/statistics.md, sections 3 and 9.
    """
    models, count = draws.shape
    if count < 2:
        raise ValueError(f"{count} draws; a standard error needs at least 2")
    mean = [_lane_sum(row) / float(count) for row in draws]
    result = []
    for i in range(models):
        for j in range(i + 1, models):
            deviation = (draws[i] - draws[j]) - (mean[i] - mean[j])
            result.append(_lane_sum(deviation * deviation) / float(count - 1))
    return np.sqrt(np.array(result, dtype=np.float64))


def _lane_sum(values: NDArray[np.float64]) -> float:
    """Sum [B] in 256 lanes."""
    padded = np.zeros(-(-values.size // LEAF) * LEAF, dtype=np.float64)
    padded[: values.size] = values
    lanes = np.zeros(LEAF, dtype=np.float64)
    for row in padded.reshape(-1, LEAF):
        lanes += row
    total = 0.0
    for lane in lanes.tolist():
        total += lane
    return total


def difference_critical(
    draws: NDArray[np.float64],
    differences: NDArray[np.float64],
    errors: NDArray[np.float64],
    alpha: float,
) -> float:
    """Critical value of the simultaneous intervals of all pair differences.

    The 1 - alpha quantile over draws of the largest ``|draw - difference| * (1 / error)`` of
    any pair, from draws [M, B]; differences and errors are [P], pairs of error 0 take no part.

    Source: Montiel Olea & Plagborg-Moller 2019; docs/statistics.md, sections 3 and 6.
    """
    largest = np.zeros(draws.shape[1], dtype=np.float64)
    pairs = zip(*np.triu_indices(draws.shape[0], 1), differences, errors, strict=True)
    for i, j, difference, error in pairs:
        if error > 0.0:
            deviation = np.abs((draws[i] - draws[j]) - difference)
            np.maximum(largest, deviation * (1.0 / error), out=largest)
    return float(quantile(largest[np.newaxis], 1.0 - alpha)[0])


def rank_intervals(draws: NDArray[np.float64], alpha: float) -> NDArray[np.int64]:
    """Pointwise bootstrap rank intervals, int64 [M, 2] from float64 [M, B].

    A model's rank in a draw is 1 + the models strictly greater; the bounds are the order
    statistics floor((B-1) alpha/2) and ceil((B-1) (1 - alpha/2)), counted from 0.

    Raises ValueError without draws. Source: docs/statistics.md, section 3.
    """
    models, count = draws.shape
    if count == 0:
        raise ValueError("rank intervals need at least one draw")
    half = Fraction(str(float(alpha))) / 2  # alpha as it is written, not as float64 holds it
    low = math.floor((count - 1) * half)
    high = math.ceil((count - 1) * (1 - half))
    result = np.empty((models, 2), dtype=np.int64)
    for model in range(models):
        rank = np.ones(count, dtype=np.int64)
        for other in range(models):
            rank += draws[other] > draws[model]
        result[model] = np.sort(rank)[[low, high]]
    return result


def pair_intervals(
    draws: NDArray[np.float64], alpha: float, progress: Callable[[int], None] | None = None
) -> NDArray[np.float64]:
    """Pointwise intervals of the pair differences, float64 [P, 2] from float64 [M, B].

    Pairs (i, j), i < j, row-major; quantiles alpha/2 and 1 - alpha/2 of draw i - draw j, in
    the table's unit. ``progress`` is told how many pairs are done since the last call.
    Source: docs/statistics.md, section 3.
    """
    models = draws.shape[0]
    result = np.empty((models * (models - 1) // 2, 2), dtype=np.float64)
    pair = 0
    for i in range(models):
        for j in range(i + 1, models):
            difference = (draws[i] - draws[j])[np.newaxis]
            result[pair, 0] = quantile(difference, alpha / 2.0)[0]
            result[pair, 1] = quantile(difference, 1.0 - alpha / 2.0)[0]
            pair += 1
        if progress is not None:
            progress(models - 1 - i)
    return result
