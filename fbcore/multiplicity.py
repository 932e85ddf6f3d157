"""Holm's step-down procedure, and what p-values can reach at all.

Holm 1979, Scand. J. Statist. 6:65. The smallest p of B sign flips is 1 / (1 + B), and
with C clusters never below 2**(1 - C): beyond some number of hypotheses nothing can be
resolved, whatever the data.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm-adjusted p-values: monotone in p, capped at 1: float64 [m]."""
    order = np.argsort(p, kind="stable")
    factors = np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1.0)
    return adjusted


def smallest_p(flips: int, clusters: int, exact: bool) -> float:
    """The smallest p-value that sign flips can give."""
    limit: float = 2.0 ** (1 - clusters)
    return limit if exact else max(1.0 / (1 + flips), limit)


def flips_needed(hypotheses: int, alpha: float, clusters: int) -> int | None:
    """Fewest flips with which Holm can resolve one of ``hypotheses``, or None if none can.

    None means that ``hypotheses · 2**(1 - clusters) > alpha``: more clusters are needed.
    """
    if hypotheses * 2.0 ** (1 - clusters) > alpha:
        return None
    flips = max(1, int(np.ceil(hypotheses / alpha)) - 2)
    # The comparison below is the one Holm makes, rounding included.
    while hypotheses * (1.0 / (1 + flips)) > alpha:
        flips += 1
    return flips
