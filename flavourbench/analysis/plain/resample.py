"""Cluster resampling: multiplicities of the draws, redraws of incomplete ones (section 3)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.plain import counter

LAST_ATTEMPT = 255

Tables = list[tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.int64]]]
"""Per stratum: clusters that touch it [k], score sums [M, k], task counts [k]."""


def stratum_tables(
    scores: NDArray[np.int64],
    stratum: NDArray[np.integer],
    cluster: NDArray[np.integer],
    strata: int,
) -> Tables:
    """Split a design by stratum.

    Parameters
    ----------
    scores : int64 [M, T], quantised
    stratum, cluster : int [T], 0-based indices
    strata : S

    Returns
    -------
    S entries (clusters that touch the stratum intp [k], score sums int64 [M, k], task counts
    int64 [k]).

    Raises ValueError when C picks of one cluster could pass 64 bits.
    Source: docs/statistics.md, sections 3 and 9.
    """
    tables: Tables = []
    clusters = int(cluster.max()) + 1
    for index in range(strata):
        inside = np.flatnonzero(stratum == index)
        touched, position = np.unique(cluster[inside], return_inverse=True)
        sums = np.zeros((scores.shape[0], touched.size), dtype=np.int64)
        np.add.at(sums.T, position, scores[:, inside].T)
        largest = max(int(sums.max(initial=0)), -int(sums.min(initial=0)))
        if clusters * largest >= 2**63:
            raise ValueError(f"cluster sum {largest} times {clusters} clusters exceeds 64 bits")
        tables.append((touched.astype(np.intp), sums, np.bincount(position).astype(np.int64)))
    return tables


def multiplicities(picked: NDArray[np.integer], clusters: int) -> NDArray[np.int64]:
    """How often each cluster was picked, int64 [n, C], from picks int [n, C]."""
    rows = picked.shape[0]
    flat = picked + clusters * np.arange(rows, dtype=np.int64)[:, np.newaxis]
    counts = np.bincount(flat.ravel(), minlength=rows * clusters)
    return counts.astype(np.int64).reshape(rows, clusters)


def complete_draws(
    seed: int, start: int, stop: int, clusters: int, tables: Tables
) -> tuple[NDArray[np.int64], int]:
    """Multiplicities of the draws start..stop-1 with no stratum left empty.

    Returns
    -------
    (int64 [stop - start, C], extra attempts). A draw that leaves a stratum empty is drawn
    again as a whole with the next attempt number.

    Raises RuntimeError when attempt 255 of a draw still leaves a stratum empty.
    Source: docs/statistics.md, sections 3 and 8.
    """
    multiplicity = multiplicities(counter.picks(seed, start, stop, clusters), clusters)
    pending = np.arange(stop - start, dtype=np.int64)
    attempt = redraws = 0
    while True:
        missing = np.zeros(pending.size, dtype=np.bool_)
        for touched, _, _ in tables:
            missing |= ~multiplicity[np.ix_(pending, touched)].any(axis=1)
        pending = pending[missing]
        if not pending.size:
            return multiplicity, redraws
        attempt += 1
        if attempt > LAST_ATTEMPT:
            raise RuntimeError(
                f"draw {start + int(pending[0])} left a stratum empty {attempt} times; "
                "a stratum has too few clusters"
            )
        redraws += pending.size
        attempts = np.full(pending.size, attempt, dtype=np.int64)
        again = counter.bounded(seed, start + pending, attempts, clusters, clusters)
        multiplicity[pending] = multiplicities(again, clusters)
