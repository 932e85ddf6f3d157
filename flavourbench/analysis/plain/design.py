"""Integer form of a design: quantised scores, stratum weights, contributions, floors.

Everything after this module's two quantisations is exact integer arithmetic until a ratio is
taken (docs/statistics.md, section 9).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST_EXPONENT = 6
LARGEST_POWER = 40
LEAST_WEIGHT = 2**8  # a smaller rounded weight would be off by more than 0.2 %
CHANCE_DENOMINATOR = 56
"""Portfolios of a task: chance scores are rationals with this denominator."""
_WEIGHT_BOUND = 2**61


def quantise(values: ArrayLike) -> tuple[NDArray[np.int64], int, float]:
    """Put values on a decimal grid.

    Parameters
    ----------
    values : float64, any shape, in the table's unit

    Returns
    -------
    (int64 array of the same shape, exponent e, largest error in the table's unit). e is the
    smallest of 0..6 for which ``rint(v * 10**e) / 10**e == v`` for every value; when there is
    none, e is 6, values are rounded half to even, and the error is the largest
    ``|k / 10**e - v|``.

    Raises ValueError for a value that is not finite or does not fit 64 bits on the grid.
    Source: docs/statistics.md, section 9.
    """
    table = np.asarray(values, dtype=np.float64)
    if not np.isfinite(table).all():
        raise ValueError("a value is not finite; remove or complete it first")
    largest = float(np.abs(table).max(initial=0.0))
    for exponent in range(LARGEST_EXPONENT + 1):
        scale = 10.0**exponent
        if largest * scale >= 2.0**63:
            raise ValueError(f"value {largest:g} does not fit 64 bits at 10**-{exponent}")
        grid = np.rint(table * scale)
        error = float(np.abs(grid / scale - table).max(initial=0.0))
        if error == 0.0:
            break
    return grid.astype(np.int64), exponent, error


def stratum_weights(
    sizes: Sequence[int] | NDArray[np.int64], largest: int
) -> tuple[NDArray[np.int64], int, int | None]:
    """Integer weight of a task of each stratum.

    Parameters
    ----------
    sizes : [S], tasks per stratum
    largest : largest absolute quantised value, chance included

    Returns
    -------
    (weights int64 [S], scale, power). With L = S * lcm(sizes) the weights are L / (S * n_s),
    scale is L and power None, provided ``56 * largest * sum(n_s * W_s) <= 2**61``. Otherwise
    they are ``2**q / (S * n_s)`` rounded half to even for the largest q <= 40 that keeps the
    bound, scale is 2**q and power q. A total divided by scale is a score on the grid.

    Raises ValueError for an empty stratum, or when no q gives every stratum a weight of at
    least 1. Source: docs/statistics.md, section 9.
    """
    counts = [int(size) for size in sizes]
    limit = int(largest)
    if not counts or min(counts) < 1:
        raise ValueError(f"stratum sizes {counts}: every stratum needs at least one task")
    if limit < 0:
        raise ValueError(f"largest absolute value is {limit}; it cannot be negative")
    strata = len(counts)

    def fits(weights: list[int]) -> bool:
        total = sum(size * weight for size, weight in zip(counts, weights, strict=True))
        return CHANCE_DENOMINATOR * limit * total <= _WEIGHT_BOUND

    common = math.lcm(*counts)
    weights = [common // size for size in counts]
    if fits(weights):
        return np.array(weights, dtype=np.int64), strata * common, None
    for power in range(LARGEST_POWER, -1, -1):
        # round() of a Fraction is exact and half to even.
        weights = [round(Fraction(2**power, strata * size)) for size in counts]
        if fits(weights):
            break
    if min(weights) < LEAST_WEIGHT or not fits(weights):
        raise ValueError(
            f"no weights keep {limit} within 2**61 for sizes {counts}; use a coarser grid"
        )
    return np.array(weights, dtype=np.int64), 2**power, power


def score_codes(
    scores: NDArray[np.int64],
    stratum: NDArray[np.integer],
    strata: list[int] | None = None,
) -> NDArray[np.int64]:
    """Dense codes, int64 [M], of the exact means over ``strata`` (all by default) of strata means.

    Equal means have equal codes and larger means larger ones; formed from Fractions.
    Source: docs/statistics.md, section 2.
    """
    sizes = stratum_sizes(stratum)
    chosen = range(sizes.size) if strata is None else strata
    means = [
        sum(
            (Fraction(int(row[stratum == s].sum()), int(sizes[s])) for s in chosen),
            start=Fraction(0),
        )
        for row in scores
    ]
    ordered = sorted(set(means))
    return np.array([ordered.index(mean) for mean in means], dtype=np.int64)


def stratum_sizes(stratum: NDArray[np.integer]) -> NDArray[np.int64]:
    """Tasks per stratum, int64 [S], from 0-based stratum indices [T].

    Raises ValueError for an empty design or a stratum index without tasks.
    """
    if stratum.size == 0:
        raise ValueError("the design has no tasks")
    sizes = np.bincount(stratum).astype(np.int64)
    if not sizes.all():
        raise ValueError(f"stratum {int(np.flatnonzero(sizes == 0)[0])} has no tasks")
    return sizes


def varies(scores: NDArray[np.int64], stratum: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Whether a model is not constant inside every stratum, bool [M].

    Decided on the quantised scores, int64 [M, T]. Source: docs/statistics.md, section 3.
    """
    result = np.zeros(scores.shape[0], dtype=np.bool_)
    for index in range(stratum_sizes(stratum).size):
        inside = scores[:, stratum == index]
        result |= (inside != inside[:, :1]).any(axis=1)
    return result


def contributions(
    scores: NDArray[np.int64],
    stratum: NDArray[np.integer],
    cluster: NDArray[np.integer],
    weights: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Contribution of each cluster to each model's score.

    Parameters
    ----------
    scores : int64 [M, T], quantised
    stratum, cluster : int [T], 0-based indices
    weights : int64 [S], from `stratum_weights`

    Returns
    -------
    int64 [M, C], ``sum of scores * weights[stratum]`` over the tasks of a cluster. A model's
    row sums to its score times the scale and 10**e.

    Source: docs/statistics.md, sections 4 and 9.
    """
    result = np.zeros((scores.shape[0], int(cluster.max()) + 1), dtype=np.int64)
    np.add.at(result.T, cluster, (scores * weights[stratum]).T)
    return result


def thin_strata(
    stratum: NDArray[np.integer], cluster: NDArray[np.integer]
) -> tuple[float, NDArray[np.float64]]:
    """Bound on the probability that a bootstrap draw leaves a stratum empty.

    Parameters
    ----------
    stratum, cluster : int [T], 0-based indices

    Returns
    -------
    (total, terms float64 [S]): ``(1 - k_s / C)**C`` with k_s the clusters that touch
    stratum s, and their sum in stratum order. A design with a total above 0.01 is refused.

    Source: docs/statistics.md, section 3.
    """
    clusters = int(cluster.max()) + 1
    terms: list[float] = []
    total = 0.0
    for index in range(stratum_sizes(stratum).size):
        touched = int(np.unique(cluster[stratum == index]).size)
        terms.append((1.0 - touched / clusters) ** clusters)
        # Not sum(): Python 3.12 made it compensated, which changes the last bit.
        total += terms[-1]
    return total, np.array(terms, dtype=np.float64)


def smallest_p(draws: int, clusters: int, exact: bool) -> float:
    """Smallest p value a sign-flip test can reach.

    2**(1-C) when all sign vectors are enumerated, else 1 / (1 + draws), never below
    2**(1-C). Source: Phipson & Smyth 2010; docs/statistics.md, section 5.
    """
    cluster_floor = math.ldexp(1.0, 1 - clusters)
    return cluster_floor if exact else max(1 / (1 + draws), cluster_floor)


def flips_needed(hypotheses: int, alpha: float, clusters: int) -> int | None:
    """Smallest B with which Holm can resolve: ``hypotheses * (1 / (1 + B)) <= alpha`` in float64.

    Returns None when ``hypotheses * 2**(1-C) > alpha``: then no B suffices and only more
    clusters help. Raises ValueError for hypotheses < 1 or alpha outside (0, 1).
    Source: docs/statistics.md, section 5.
    """
    if hypotheses < 1 or not 0.0 < alpha < 1.0:
        raise ValueError(f"{hypotheses} hypotheses at alpha {alpha}: need >= 1 and 0 < alpha < 1")
    if math.ldexp(float(hypotheses), 1 - clusters) > alpha:
        return None
    # The product is the one Holm forms, rounding included: start below it and step up.
    draws = max(int(hypotheses / alpha) - 2, 1)
    while hypotheses * (1 / (1 + draws)) > alpha:
        draws += 1
    return draws
