"""Anchor-cluster sign flips (docs/statistics.md, section 4), in exact integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.plain import counter
from flavourbench.analysis.plain.design import CHANCE_DENOMINATOR
from flavourbench.analysis.plain.products import operand, products

_BLOCK = 512


def _pair_exceedances(totals: NDArray[np.int64], observed: NDArray[np.int64]) -> NDArray[np.int64]:
    """Columns of totals [M, n] with |D*| >= |D| for each pair, int64 [P]; observed is [M]."""
    models = observed.size
    counts = np.empty(models * (models - 1) // 2, dtype=np.int64)
    first = 0
    # One model against all later ones: pairs are never held together in memory.
    for i in range(models - 1):
        last = first + models - 1 - i
        drawn = np.abs(totals[i] - totals[i + 1 :])
        limit = np.abs(observed[i] - observed[i + 1 :])
        counts[first:last] = (drawn >= limit[:, np.newaxis]).sum(axis=1)
        first = last
    return counts


def _chance_distance(totals: NDArray[np.int64], chance: NDArray[np.int64]) -> NDArray[np.int64]:
    """|56 T - K|, int64 [M, n] from totals [M, n] and the chance row [n]."""
    result: NDArray[np.int64] = np.abs(CHANCE_DENOMINATOR * totals - chance)
    return result


def sign_flips(
    contributions: NDArray[np.int64],
    flips: int,
    seed: int,
    chance: NDArray[np.int64] | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64] | None, int, bool]:
    """Exceedance counts of all pairs, and of all models against chance.

    Parameters
    ----------
    contributions : int64 [M, C], from `design.contributions`
    flips : B, number of random sign vectors
    seed : 0 <= seed < 2**53
    chance : int64 [C] or None; per cluster the sum over its tasks of 56 * chance on the
        quantised grid times the stratum weight
    progress : told how many sign vectors are done since the last call

    Returns
    -------
    (pair_counts int64 [P], chance_counts int64 [M] or None, draws, exact). Pairs (i, j),
    i < j, row-major. A count is the number of sign vectors with |D*| >= |D|, for chance with
    |56 T* - K*| >= |56 T - K|. When 2**(C-1) <= flips all sign vectors with the first sign
    fixed are enumerated: draws is 2**(C-1) and exact is True.

    Raises ValueError for no cluster, no flip, or a chance vector of another length.
    Source: Phipson & Smyth 2010; docs/statistics.md, sections 4 and 9.
    """
    models, clusters = contributions.shape
    if clusters < 1 or flips < 1:
        raise ValueError(f"{clusters} clusters and {flips} flips; both must be at least 1")
    if chance is not None and chance.shape != (clusters,):
        raise ValueError(f"chance has shape {chance.shape}, expected ({clusters},)")
    rows = contributions if chance is None else np.vstack((contributions, chance))
    observed = rows.sum(axis=1, dtype=np.int64)
    pair_counts = np.zeros(models * (models - 1) // 2, dtype=np.int64)
    chance_counts = np.zeros(models, dtype=np.int64)
    for totals in sums_in_blocks(rows, flips, seed):
        pair_counts += _pair_exceedances(totals[:models], observed[:models])
        if chance is not None:
            drawn = _chance_distance(totals[:models], totals[models])
            limit = _chance_distance(observed[:models], observed[models:])
            chance_counts += (drawn >= limit[:, np.newaxis]).sum(axis=1)
        if progress is not None:
            progress(totals.shape[1])
    return pair_counts, None if chance is None else chance_counts, *sign_vectors(clusters, flips)


def flip_sums(contributions: NDArray[np.int64], flips: int, seed: int) -> NDArray[np.signedinteger]:
    """Sums T* of each row of contributions, [M, C], under every sign vector of `sign_flips`.

    [M, draws], int32 where the absolute contributions of every row sum to less than 2**30,
    else int64. Source: docs/statistics.md, section 4.
    """
    small = np.abs(contributions).sum(axis=1).max() < 2**30
    totals = np.hstack(list(sums_in_blocks(contributions, flips, seed)))
    return totals.astype(np.int32 if small else np.int64)


def exceedances(
    left: NDArray[np.signedinteger],
    right: NDArray[np.signedinteger],
    left_observed: NDArray[np.int64],
    right_observed: NDArray[np.int64],
    factor: int = 1,
) -> NDArray[np.int64]:
    """Columns with |factor L - R| >= |factor l - r|, int64 [a, b].

    left is [a, B] and right [b, B], from `flip_sums`; the observed sums are [a] and [b]. The
    factor is 1 for two models and 56 for a model and the chance row.
    Source: docs/statistics.md, section 4.
    """
    counts = np.empty((left.shape[0], right.shape[0]), dtype=np.int64)
    for i, row in enumerate(left.astype(np.int64)):
        drawn = np.abs(factor * row - right.astype(np.int64))
        limit = np.abs(factor * left_observed[i] - right_observed)
        counts[i] = (drawn >= limit[:, np.newaxis]).sum(axis=1)
    return counts


def sign_vectors(clusters: int, flips: int) -> tuple[int, bool]:
    """The number of sign vectors, and whether these are all with the first sign fixed.

    Source: docs/statistics.md, section 4.
    """
    exact = 2 ** (clusters - 1) <= flips
    return 2 ** (clusters - 1) if exact else flips, exact


def sums_in_blocks(rows: NDArray[np.int64], flips: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """Sums of the rows, [M, C], under the sign vectors, int64 [M, n] for n vectors at a time.

    Source: docs/statistics.md, section 4.
    """
    clusters = rows.shape[1]
    draws, exact = sign_vectors(clusters, flips)
    summed = operand(rows, 1)
    for start in range(0, draws, _BLOCK):
        stop = min(start + _BLOCK, draws)
        sign = (
            counter.enumerated_signs(start, stop, clusters)
            if exact
            else counter.signs(seed, start, stop, clusters)
        )
        yield np.ascontiguousarray(products(summed, sign), np.int64)


def p_values(counts: NDArray[np.int64], draws: int, exact: bool) -> NDArray[np.float64]:
    """Two-sided p of exceedance counts, float64 of the same shape.

    ``(1 + x) / (1 + B)`` for random signs, ``x / 2**(C-1)`` when enumerated (the identity is
    among the counted vectors). Source: Phipson & Smyth 2010; docs/statistics.md, section 4.
    """
    extra = 0 if exact else 1
    result: NDArray[np.float64] = (counts + extra).astype(np.float64) / float(draws + extra)
    return result
