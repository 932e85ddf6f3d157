"""Step-down max-T tests of all pairs from shared sign flips.

Romano & Wolf 2005, Econometrica 73:1237. Every statistic is studentised by ``√Σ_c d_c²``, its
exact standard deviation under random signs, which no flip changes. So one pass gives every
step at once (the successive maxima of Westfall & Young 1993, algorithm 2.8): with hypotheses
by falling statistic, the maximum over those not yet rejected is a running maximum from the
last one up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fbcore._jit import device, kernel, scratch
from fbcore.blocks import Engine, map_ranges
from fbcore.design import PORTFOLIOS
from fbcore.effects import squared_distances, squares
from fbcore.quantiles import pair_index
from fbcore.signflip import TILE, SignJob, p_values, turn, with_chance

#: Draws compared at once, so that all models' sums stay near the processor.
_LANES = 128
#: Statistics that differ by less than this, relatively, tie. Sums are exact integers; dividing
#: and taking a root round by less than 2**-50.
TIE = 2.0**-40
#: Differences of sums below this are exact in float64.
_EXACT = 2**52


@dataclass(frozen=True, slots=True)
class StepDown:
    """Adjusted p-values; pairs i < j, row-major, P = M (M - 1) / 2.

    Attributes
    ----------
    p : float64 [P], two-sided, over all pairs
    directed_p : float64 [P], that the sign of the difference is the observed one, over all
        M (M - 1) one-sided hypotheses; when a pair is rejected only this direction leaves the
        family, and the other one stays in the maximum. 1 for a difference of 0
    chance_p : float64 [M] or None, two-sided, over the models against the chance level

    Statistics without variation (equal contributions) take no part: p = 1.
    """

    p: NDArray[np.float64]
    directed_p: NDArray[np.float64]
    chance_p: NDArray[np.float64] | None


@device
def _sweep(sums, width, left, right, inverse, limit, maxima, counts):  # type: ignore[no-untyped-def]
    """Count the draws in which running maxima reach each statistic, [2, hypotheses].

    Row 0 is that of both directions. Row 1 begins as the maximum of all directions that were
    not observed, which are never rejected, and takes in those that were.
    """
    lanes = np.uint64(width)
    for d in range(lanes):
        maxima[1, d] = 0.0
        maxima[0, d] = 0.0
    for k in range(left.shape[0]):
        i = np.uint64(left[k])
        j = np.uint64(right[k])
        scale = inverse[k]
        for d in range(lanes):
            maxima[1, d] = max(maxima[1, d], np.float64(sums[j, d] - sums[i, d]) * scale)
    for k in range(left.shape[0] - 1, -1, -1):
        i = np.uint64(left[k])
        j = np.uint64(right[k])
        scale = inverse[k]
        least = limit[k]
        hits = np.int64(0)
        forward = np.int64(0)
        for d in range(lanes):
            t = np.float64(sums[i, d] - sums[j, d]) * scale
            either = max(maxima[0, d], abs(t))
            one = max(maxima[1, d], t)
            maxima[0, d] = either
            maxima[1, d] = one
            hits += np.int64(either >= least)
            forward += np.int64(one >= least)
        counts[0, k] += hits
        counts[1, k] += forward


@kernel
def _step_down(  # type: ignore[no-untyped-def]
    sums,
    tiles,
    mirrored,
    left,
    right,
    inverse,
    limit,
    models,
    level,
    model_inverse,
    model_limit,
    rows,
    maxima,
    counts,
    chance_counts,
):
    """Both families over all draws in ``sums`` [tiles * draws * TILE].

    ``rows`` [M, or M + 1 with the chance row, LANES] holds a block of draws. Where the sign
    vectors are all those with the first sign fixed, ``mirrored`` adds their opposites, since a
    direction is not symmetric in them.
    """
    size = sums.shape[0] // (tiles * TILE)
    for first in range(0, size, _LANES):
        width = min(_LANES, size - first)
        for m in range(rows.shape[0]):
            turn(sums, tiles, m, first, width, rows, 0)
        for side in range(1 + mirrored):
            for m in range(side * rows.shape[0]):
                for d in range(width):
                    rows[m, d] = -rows[m, d]
            _sweep(rows, width, left, right, inverse, limit, maxima, counts)
        if models.shape[0] > 0:  # those that vary against chance, all before the chance row
            for m in range(rows.shape[0] - 1):
                for d in range(width):
                    rows[m, d] *= PORTFOLIOS
            _sweep(rows, width, models, level, model_inverse, model_limit, maxima, chance_counts)


class _Family(NamedTuple):
    """Hypotheses that vary, by falling statistic, each turned so that its difference is not < 0.

    Attributes
    ----------
    order : int64 [n], their places among all P
    left, right : int64 [n], rows of the sums
    inverse : float64 [n], what a difference is multiplied by
    limit : float64 [n], statistics from which on a draw counts
    """

    order: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    inverse: NDArray[np.float64]
    limit: NDArray[np.float64]

    @classmethod
    def of(
        cls,
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        difference: NDArray[np.int64],
        square: NDArray[np.float64],
    ) -> _Family:
        """Of differences of rows, with their Σ_c d_c²."""
        inverse = np.zeros(square.size)
        inverse[square > 0] = 1.0 / np.sqrt(square[square > 0])
        t = np.abs(difference.astype(np.float64)) * inverse
        order = np.argsort(-t, kind="stable")
        order = order[inverse[order] > 0]
        ahead = difference[order] >= 0
        return cls(
            order,
            np.where(ahead, left[order], right[order]),
            np.where(ahead, right[order], left[order]),
            inverse[order],
            t[order] * (1.0 - TIE),
        )

    def p(
        self, size: int, counts: NDArray[np.int64], draws: int, exact: bool
    ) -> NDArray[np.float64]:
        """Adjusted p-values of all ``size`` hypotheses from the counts of those that vary."""
        out = np.ones(size)
        out[self.order] = np.maximum.accumulate(p_values(counts, draws, exact))
        return out


def step_down(
    contributions: NDArray[np.int64],
    flips: int,
    seed: int,
    chance: NDArray[np.int64] | None = None,
    threads: int = 1,
    engine: Engine | None = None,
    progress: Callable[[int], None] | None = None,
) -> StepDown:
    """Step-down p-values under the sign vectors of :func:`fbcore.signflip.sign_flips`.

    Memory does not grow with ``flips``; time grows with pairs times flips.

    Parameters
    ----------
    contributions : int64 [M, C]
        ``z`` of :func:`fbcore.design.contributions`.
    chance : int64 [C], optional
        Contributions of 56 times the chance level.

    Returns
    -------
    StepDown
        p is ``(1 + x) / (1 + draws)``, or ``x / draws`` where all sign vectors were enumerated
    """
    rows = with_chance(contributions, chance)
    models = contributions.shape[0]
    contributions = rows[:models]
    left, right = pair_index(models)
    observed = contributions.sum(axis=1)
    pairs = _Family.of(
        left, right, observed[left] - observed[right], squared_distances(contributions)
    )
    against = _Family.of(*(np.zeros(0, np.int64),) * 3, np.zeros(0))
    if chance is not None:
        above = PORTFOLIOS * rows[:-1] - rows[-1]
        each = np.arange(models, dtype=np.int64)
        against = _Family.of(each, np.full_like(each, models), above.sum(axis=1), squares(above))
    job = SignJob.of(rows, chance is not None, flips, seed)
    tiles = job.padded.shape[1] // TILE
    kind = np.float64 if job.bound < _EXACT else np.int64

    def task(start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        counts = np.zeros((2, pairs.order.size), np.int64)
        chance_counts = np.zeros((2, against.order.size), np.int64)
        _step_down(
            job.sums(start, stop),
            tiles,
            int(job.exact),
            *pairs[1:],
            *against[1:],
            scratch((rows.shape[0], _LANES), kind),
            scratch((2, _LANES)),
            counts,
            chance_counts,
        )
        return counts, chance_counts

    results = map_ranges(task, job.pieces(threads), threads, engine, progress)
    counts, chance_counts = (sum(part) for part in zip(*results, strict=True))
    total = left.size
    return StepDown(
        pairs.p(total, counts[0], job.draws * (1 + job.exact), job.exact),
        pairs.p(total, counts[1], job.draws * (1 + job.exact), job.exact),
        None if chance is None else against.p(models, chance_counts[0], job.draws, job.exact),
    )
