"""Step-down max-T tests from shared sign flips (docs/statistics.md, section 5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.plain.design import CHANCE_DENOMINATOR
from flavourbench.analysis.plain.signflip import p_values, sign_vectors, sums_in_blocks

#: Statistics held at once.
_HELD = 2**21


class StepDown(NamedTuple):
    """Adjusted p: of pairs float64 [P], of their observed direction [P], against chance [M]."""

    p: NDArray[np.float64]
    directed_p: NDArray[np.float64]
    chance_p: NDArray[np.float64] | None


class _Family:
    """One family of differences, [n, C] contributions, and its counts so far."""

    def __init__(self, rows: list[list[int]]) -> None:
        self.size = len(rows)
        squares = [float(sum(d * d for d in row)) for row in rows]
        observed = [float(sum(row)) for row in rows]
        varying = [n for n in range(self.size) if squares[n] > 0]
        self.scale = {n: 1.0 / float(np.sqrt(squares[n])) for n in varying}
        self.order = sorted(varying, key=lambda n: (-abs(observed[n]) * self.scale[n], n))
        self.sign = np.array([1.0 if observed[n] >= 0 else -1.0 for n in self.order])
        self.factor = np.array([self.scale[n] for n in self.order])
        self.limit = np.array([abs(observed[n]) * self.scale[n] for n in self.order])
        self.limit *= 1.0 - 2.0**-40
        self.either = np.zeros(len(self.order), dtype=np.int64)
        self.one = np.zeros(len(self.order), dtype=np.int64)

    def count(self, drawn: NDArray[np.int64]) -> None:
        """Take in differences of sums under n sign vectors, int64 [hypotheses, n]."""
        if not self.order:
            return
        t = drawn[self.order].astype(np.float64) * self.factor[:, None] * self.sign[:, None]
        limit = self.limit[:, None]
        self.either += (_maxima_from_below(np.abs(t)) >= limit).sum(axis=1)
        never_rejected = (-t).max(axis=0)
        self.one += (np.maximum(_maxima_from_below(t), never_rejected) >= limit).sum(axis=1)

    def p(self, counts: NDArray[np.int64], draws: int, exact: bool) -> NDArray[np.float64]:
        """Adjusted p of all hypotheses: no smaller than that of a larger statistic."""
        result = np.ones(self.size, dtype=np.float64)
        highest = 0.0
        for n, p in zip(self.order, p_values(counts, draws, exact).tolist(), strict=True):
            highest = max(highest, p)
            result[n] = highest
        return result


def _maxima_from_below(t: NDArray[np.float64]) -> NDArray[np.float64]:
    """Running maxima of [n, draws] from the last row up."""
    result: NDArray[np.float64] = np.maximum.accumulate(t[::-1], axis=0)[::-1]
    return result


def step_down(
    contributions: NDArray[np.int64],
    flips: int,
    seed: int,
    chance: NDArray[np.int64] | None = None,
    progress: Callable[[int], None] | None = None,
) -> StepDown:
    """Romano-Wolf step-down p of all pairs, of their observed directions, and against chance.

    Parameters
    ----------
    contributions : int64 [M, C]; chance : int64 [C] or None, as for `signflip.sign_flips`
    flips, seed : the sign vectors, those of `signflip.sign_flips`
    progress : told how many sign vectors are done since the last call

    A statistic is the difference of sums times 1 / sqrt(sum of squared cluster differences);
    one within 2**-40 of a limit reaches it. Differences without variation take no part. Where
    all sign vectors with the first sign fixed are used, their opposites count as well.
    Source: Romano & Wolf 2005; Mogstad, Romano, Shaikh & Wilhelm 2024; docs/statistics.md,
    sections 5 and 6.
    """
    models, clusters = contributions.shape
    left, right = np.triu_indices(models, 1)
    z: list[list[int]] = contributions.tolist()
    pairs = _Family(
        [[a - b for a, b in zip(z[i], z[j], strict=True)] for i, j in zip(left, right, strict=True)]
    )
    rows, against = contributions, None
    if chance is not None:
        rows = np.vstack((contributions, chance))
        levels: list[int] = chance.tolist()
        against = _Family(
            [[CHANCE_DENOMINATOR * a - k for a, k in zip(row, levels, strict=True)] for row in z]
        )
    draws, exact = sign_vectors(clusters, flips)
    for block in sums_in_blocks(rows, flips, seed):
        step = max(1, _HELD // max(1, left.size))
        for first in range(0, block.shape[1], step):
            totals = block[:, first : first + step]
            for sides in (totals, -totals) if exact else (totals,):
                pairs.count(sides[left] - sides[right])
            if against is not None:
                against.count(CHANCE_DENOMINATOR * totals[:models] - totals[models])
        if progress is not None:
            progress(block.shape[1])
    doubled = draws * 2 if exact else draws
    return StepDown(
        pairs.p(pairs.either, doubled, exact),
        pairs.p(pairs.one, doubled, exact),
        None if against is None else against.p(against.either, draws, exact),
    )
