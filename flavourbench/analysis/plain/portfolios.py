"""Scores of all portfolios of a task (docs/tasks.md, section "Scores")."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


def portfolio_scores(
    relevance: NDArray[np.int64],
    pairs: NDArray[np.int64],
    weights: NDArray[np.int64],
    feasible: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int16]]:
    """Utility int64 [T, 56], its span over feasible portfolios int64 [T], basis points int16.

    Parameters
    ----------
    relevance : int64 [T, 8]; pairs : int64 [T, 28], candidates i < j row-major
    weights : int64 [T, 2]; feasible : bool [T, 56], 3-subsets in lexicographic order

    Python integers and fractions throughout: nothing is rounded but the basis points.
    """
    order = [*combinations(range(8), 2)]
    utility, spans, points = [], [], []
    rows = zip(relevance.tolist(), pairs.tolist(), weights.tolist(), feasible, strict=True)
    for values, similar, (first, second), allowed in rows:
        side = dict(zip(order, similar, strict=True))
        found = [
            first * sum(values[item] for item in chosen)
            + second * sum(side[pair] for pair in combinations(chosen, 2))
            for chosen in combinations(range(8), 3)
        ]
        kept = [u for u, ok in zip(found, allowed, strict=True) if ok]
        low = min(kept, default=0)
        span = max(kept, default=0) - low
        utility.append(found)
        spans.append(span)
        points.append(
            [
                round(Fraction(10_000 * (u - low), span)) if ok and span else 0
                for u, ok in zip(found, allowed, strict=True)
            ]
        )
    shape = (len(utility), 56)
    return (
        np.array(utility, np.int64).reshape(shape),
        np.array(spans, np.int64),
        np.array(points, np.int16).reshape(shape),
    )
