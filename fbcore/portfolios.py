"""Scores of all portfolios of a task: every choice of three among eight candidates.

Relevance and pair similarities come as integers on one grid, so that utilities, their order
and the rounding to basis points are exact: no order of summation, compiler or BLAS enters.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fbcore._jit import kernel
from fbcore.checks import integers
from fbcore.design import PORTFOLIOS

CANDIDATES = 8
#: Score of the best portfolio; the worst feasible one and all infeasible ones have 0.
FULL = 10_000
#: Candidates of each portfolio, int64 [56, 3], in lexicographic order.
MEMBERS = np.array([*combinations(range(CANDIDATES), 3)], np.int64)
#: Pairs of candidates i < j, row-major, int64 [28, 2].
PAIRS = np.array([*combinations(range(CANDIDATES), 2)], np.int64)
#: Largest |utility|: four times it still fits int64.
UTILITY_LIMIT = 2**61 - 1
_PAIR = {(int(i), int(j)): at for at, (i, j) in enumerate(PAIRS)}
_SIDES = np.array([[_PAIR[a, b], _PAIR[a, c], _PAIR[b, c]] for a, b, c in MEMBERS.tolist()])


@dataclass(frozen=True, slots=True)
class PortfolioScores:
    """Scores of T tasks.

    Attributes
    ----------
    utility : int64 [T, 56], exact, in units of the grid over 3 (w₁ + w₂)
    span : int64 [T], largest minus smallest utility of the feasible portfolios
    bps : int16 [T, 56], basis points 0 … 10,000
    """

    utility: NDArray[np.int64]
    span: NDArray[np.int64]
    bps: NDArray[np.int16]


@kernel
def _score(relevance, pairs, weights, feasible, members, sides, utility, span, bps):  # type: ignore[no-untyped-def]
    """Utilities, their span over feasible portfolios, and basis points, rounded half-even."""
    for t in range(relevance.shape[0]):
        low = np.int64(2**62)
        high = np.int64(-(2**62))
        for p in range(members.shape[0]):
            total = np.int64(0)
            coherence = np.int64(0)
            for k in range(3):
                total += relevance[t, members[p, k]]
                coherence += pairs[t, sides[p, k]]
            value = weights[t, 0] * total + weights[t, 1] * coherence
            utility[t, p] = value
            if feasible[t, p]:
                low = min(low, value)
                high = max(high, value)
        span[t] = max(high - low, np.int64(0))
        for p in range(members.shape[0]):
            bps[t, p] = 0
            if feasible[t, p] and span[t] > 0:
                above = utility[t, p] - low
                # The quotient in float64 is off by one at most. The products wrap around, but
                # what is left of them is small, and so right.
                share = np.int64(np.float64(above) / np.float64(span[t]) * np.float64(FULL))
                rest = above * np.int64(FULL) - share * span[t]
                if rest < 0:
                    share -= 1
                    rest += span[t]
                elif rest >= span[t]:
                    share += 1
                    rest -= span[t]
                if 2 * rest > span[t] or (2 * rest == span[t] and share % 2 == 1):
                    share += 1
                bps[t, p] = share


def portfolio_scores(
    relevance: ArrayLike, pairs: ArrayLike, weights: ArrayLike, feasible: ArrayLike
) -> PortfolioScores:
    """Scores of all 56 portfolios of each task.

    The utility of a portfolio is ``w₁ Σ relevance + w₂ Σ pair similarity`` over its three
    candidates and their three pairs: 3 (w₁ + w₂) times the weighted mean. Basis points are
    ``round(10,000 (u - min) / (max - min))``, half to even, over feasible portfolios.

    Parameters
    ----------
    relevance : int [T, 8]
    pairs : int [T, 28]
        Similarities in the order of :data:`PAIRS`, on the grid of ``relevance``.
    weights : int [T, 2]
        w₁ and w₂, not negative.
    feasible : bool [T, 56]
        All basis points of a task without spread among feasible portfolios are 0.

    Raises
    ------
    TypeError
        Values that are not integers.
    ValueError
        Shapes that do not fit, a negative weight, or values so large that a utility could
        exceed :data:`UTILITY_LIMIT`.
    """
    relevance = integers("relevance", relevance, None, CANDIDATES)
    tasks = relevance.shape[0]
    pairs = integers("pairs", pairs, tasks, len(PAIRS))
    weights = integers("weights", weights, tasks, 2)
    allowed = np.ascontiguousarray(feasible, np.bool_)
    if allowed.shape != (tasks, PORTFOLIOS):
        raise ValueError(f"feasible has shape {allowed.shape}: needed is ({tasks}, {PORTFOLIOS})")
    if (weights < 0).any():
        raise ValueError(f"weights hold {weights.min()}: needed is at least 0")
    # In floats, whose rounding the comparison below outweighs; integers could wrap here.
    largest = [np.abs(values.astype(np.float64)).max(axis=1) for values in (relevance, pairs)]
    bound = 3 * (weights * np.stack(largest, axis=1)).sum(axis=1)
    if (bound >= UTILITY_LIMIT * (1 - 2.0**-48)).any():
        raise ValueError(f"utilities up to {bound.max():.3g} are too large: use smaller weights")
    found = PortfolioScores(
        np.empty((tasks, PORTFOLIOS), np.int64),
        np.empty(tasks, np.int64),
        np.empty((tasks, PORTFOLIOS), np.int16),
    )
    _score(
        relevance, pairs, weights, allowed, MEMBERS, _SIDES, found.utility, found.span, found.bps
    )
    return found
