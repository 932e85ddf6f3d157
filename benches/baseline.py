"""The published analysis in plain NumPy: the yardstick that the project's speed is told against.

It does what the publication describes and no less: PCG64 cluster resampling, the 351 pairs of
27 models carried as rows of their own through bootstrap and sign flips, BLAS products in
float64, ``np.quantile`` for the intervals. Work goes in chunks of draws and BLAS may use every
core. It leaves out what came later: linearity of pairs, integers, counters, step-down max-T.

Strata are those of the score matrix, by default panel x family. The released run pooled its
two panels; that changes the cost of no step by much.

Sources: docs/statistics.md sections 2-6; Phipson & Smyth 2010; Montiel Olea & Plagborg-Moller 2019.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

BOOTSTRAP_CHUNK = 1_000
FLIP_CHUNK = 1_000
REDRAWS = 255

# Rounding of a sum of signed terms is below C * 2**-53 of their absolute sum; scores with two
# decimals step by far more. Without the slack, ties on 0/100 scores fall to either side.
TIE_TOLERANCE = 1e-10


@dataclass(frozen=True)
class BaselineResult:
    """All numbers of the published analysis. M models, P = M(M-1)/2 pairs, B draws.

    Points, float64: ``score``, ``se`` [M]; ``pointwise``, ``band`` [M, 2] (low, high);
    ``pair_difference`` [P] (left minus right); ``pair_interval`` [P, 2].
    No unit: ``critical_value``; ``cohen_dz`` [P], NaN where a pair has no spread.
    Ranks, int64: ``rank`` [M] from 1; ``rank_interval`` [M, 2]; ``group`` [M] from 1.
    Pairs: ``left``, ``right`` [P] model indices, left < right, row by row;
    ``pair_exceedances`` int64, ``pair_p``, ``pair_holm``, ``resolved`` bool, all [P].
    Chance tests [M], empty without chance: ``chance_exceedances``, ``chance_p``, ``chance_holm``.
    ``seconds``: wall time of each part, in order.
    """

    score: Floats
    se: Floats
    pointwise: Floats
    critical_value: float
    band: Floats
    rank: Ints
    rank_interval: Ints
    left: Ints
    right: Ints
    pair_difference: Floats
    pair_interval: Floats
    cohen_dz: Floats
    pair_exceedances: Ints
    pair_p: Floats
    pair_holm: Floats
    resolved: Bools
    group: Ints
    chance_exceedances: Ints
    chance_p: Floats
    chance_holm: Floats
    redraws: int
    seconds: dict[str, float]


class _Clock:
    """Wall time per part."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, part: str) -> None:
        """Book the time since the last lap under ``part``."""
        now = perf_counter()
        self.seconds[part] = now - self._last
        self._last = now


def stratum_means(rows: Floats, stratum: Ints) -> Floats:
    """Equal mean over strata of the plain means: [R, T] to [R], unit of the rows."""
    means = [rows[:, stratum == s].mean(axis=1) for s in np.unique(stratum)]
    return np.asarray(np.mean(means, axis=0), dtype=np.float64)


def draw_counts(
    rng: np.random.Generator, draws: int, stratum: Ints, cluster: Ints
) -> tuple[Floats, int]:
    """Task multiplicities of ``draws`` cluster resamples: float64 [draws, T], and redraws.

    A draw that leaves a stratum empty is drawn again (docs/statistics.md section 3).
    """
    clusters = int(cluster.max()) + 1
    chances = np.full(clusters, 1.0 / clusters)
    touched = np.zeros((clusters, int(stratum.max()) + 1))
    touched[cluster, stratum] = 1.0
    counts = rng.multinomial(clusters, chances, size=draws).astype(np.float64)
    redraws = 0
    for _ in range(REDRAWS):
        empty = np.flatnonzero((counts @ touched == 0.0).any(axis=1))
        if empty.size == 0:
            return counts[:, cluster], redraws
        counts[empty] = rng.multinomial(clusters, chances, size=empty.size)
        redraws += int(empty.size)
    raise ValueError(f"a stratum stayed empty {REDRAWS} times: too few clusters touch it")


def bootstrap(
    rows: Floats, stratum: Ints, cluster: Ints, draws: int, rng: np.random.Generator
) -> tuple[Floats, int]:
    """Anchor-cluster bootstrap of every row: [R, T] to draws float64 [B, R], and redraws."""
    members = [np.flatnonzero(stratum == s) for s in np.unique(stratum)]
    columns = [np.ascontiguousarray(rows[:, tasks].T) for tasks in members]
    values = np.empty((draws, rows.shape[0]))
    redraws = 0
    for start in range(0, draws, BOOTSTRAP_CHUNK):
        stop = min(start + BOOTSTRAP_CHUNK, draws)
        counts, again = draw_counts(rng, stop - start, stratum, cluster)
        redraws += again
        total = np.zeros((stop - start, rows.shape[0]))
        for tasks, column in zip(members, columns, strict=True):
            weights = counts[:, tasks]
            total += (weights @ column) / (weights @ np.ones((tasks.size, 1)))
        values[start:stop] = total / len(members)
    return values, redraws


def critical_value(values: Floats, score: Floats, se: Floats, alpha: float) -> float:
    """Max-t critical value of draws [B, M]; models without spread take no part."""
    # A model constant inside every stratum has draws that differ by rounding only.
    varies = se > TIE_TOLERANCE * np.abs(score).max()
    if not varies.any():
        raise ValueError("no model varies inside a stratum")
    studentised = np.abs(values[:, varies] - score[varies]) / se[varies]
    return float(np.quantile(studentised.max(axis=1), 1.0 - alpha))


def rank_intervals(values: Floats, alpha: float) -> Ints:
    """Bootstrap rank intervals of draws [B, M]: int64 [M, 2].

    Ranks come from argsort; models that tie in a draw are told apart by their order.
    """
    draws = values.shape[0]
    order = np.argsort(-values, axis=1, kind="stable")
    ranks = np.empty_like(order)
    places = np.broadcast_to(np.arange(1, values.shape[1] + 1), order.shape)
    np.put_along_axis(ranks, order, places, axis=1)
    ranks.sort(axis=0)
    low = int(np.floor((draws - 1) * alpha / 2))
    high = int(np.ceil((draws - 1) * (1 - alpha / 2)))
    return np.stack([ranks[low], ranks[high]], axis=1).astype(np.int64)


def contributions(rows: Floats, stratum: Ints, cluster: Ints) -> Floats:
    """Share of each cluster in the score of each row: [R, T] to float64 [C, R]."""
    sizes = np.bincount(stratum)
    weighted = (rows / (sizes.size * sizes[stratum])).T
    shares = np.zeros((int(cluster.max()) + 1, rows.shape[0]))
    np.add.at(shares, cluster, weighted)
    return shares


def sign_flips(shares: Floats, flips: int, rng: np.random.Generator) -> Ints:
    """Exceedance counts #{|D*| >= |D|} of contributions [C, R] under shared signs: int64 [R]."""
    slack = TIE_TOLERANCE * np.abs(shares).sum(axis=0)
    observed = np.abs(shares.sum(axis=0)) - slack
    counts = np.zeros(shares.shape[1], dtype=np.int64)
    for start in range(0, flips, FLIP_CHUNK):
        size = (min(FLIP_CHUNK, flips - start), shares.shape[0])
        signs = 2.0 * rng.integers(0, 2, size=size, dtype=np.int8) - 1.0
        counts += (np.abs(signs @ shares) >= observed).sum(axis=0)
    return counts


def holm(p: Floats) -> Floats:
    """Holm-adjusted p-values of [H] hypotheses: monotone, at most 1."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(p.size, 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def rank_groups(rank: Ints, left: Ints, right: Ints, resolved: Bools) -> Ints:
    """Group models as published, int64 [M] from 1: join while no member differs."""
    differs = np.zeros((rank.size, rank.size), dtype=bool)
    differs[left, right] = resolved
    differs |= differs.T
    group = np.zeros(rank.size, dtype=np.int64)
    members: list[int] = []
    number = 1
    for model in np.argsort(rank, kind="stable"):
        if differs[model, members].any():
            number += 1
            members = []
        members.append(int(model))
        group[model] = number
    return group


def cohen_dz(differences: Floats) -> Floats:
    """Mean over SD (ddof = 1) of task differences [P, T]; NaN where the SD is 0."""
    spread = differences.std(axis=1, ddof=1)
    ratio = np.full(spread.size, np.nan)
    np.divide(differences.mean(axis=1), spread, out=ratio, where=spread > 0.0)
    return ratio


class _Bootstrap(NamedTuple):
    """What the draws say; fields as in ``BaselineResult``."""

    se: Floats
    pointwise: Floats
    critical_value: float
    rank_interval: Ints
    pair_interval: Floats


def _summarise(values: Floats, score: Floats, alpha: float, clock: _Clock) -> _Bootstrap:
    """Intervals and ranks of the draws [B, M + P], models first."""
    models = score.size
    own, pairs = values[:, :models], values[:, models:]
    ends = [alpha / 2, 1 - alpha / 2]
    se = own.std(axis=0, ddof=1)
    pointwise = np.quantile(own, ends, axis=0).T
    critical = critical_value(own, score, se, alpha)
    clock.lap("SE, intervals, critical value")
    pair_interval = np.quantile(pairs, ends, axis=0).T
    clock.lap("pair intervals")
    intervals = rank_intervals(own, alpha)
    clock.lap("ranks")
    return _Bootstrap(se, pointwise, critical, intervals, pair_interval)


def published_way(
    scores: Floats,
    stratum: Ints,
    cluster: Ints,
    draws: int,
    flips: int,
    seed: int,
    alpha: float,
    chance: Floats | None = None,
) -> BaselineResult:
    """Run the whole published analysis.

    ``scores`` float64 [M, T] in points; ``stratum`` and ``cluster`` integer labels [T];
    ``chance`` float64 [T], the mean score of a random answer in points.
    """
    clock = _Clock()
    draw_rng, sign_rng = np.random.Generator(np.random.PCG64(seed)).spawn(2)
    stratum = np.unique(stratum, return_inverse=True)[1]
    cluster = np.unique(cluster, return_inverse=True)[1]
    left, right = np.triu_indices(scores.shape[0], 1)
    differences = scores[left] - scores[right]
    rows = np.concatenate([scores, differences])
    score, pair_difference = np.split(stratum_means(rows, stratum), [scores.shape[0]])
    clock.lap("pair matrix and scores")
    values, redraws = bootstrap(rows, stratum, cluster, draws, draw_rng)
    clock.lap("bootstrap draws")
    drawn = _summarise(values, score, alpha, clock)
    tested = differences if chance is None else np.concatenate([differences, scores - chance])
    exceedances = sign_flips(contributions(tested, stratum, cluster), flips, sign_rng)
    clock.lap("sign flips")
    p: Floats = np.asarray((1 + exceedances) / (1 + flips), dtype=np.float64)
    pair_holm = holm(p[: left.size])
    rank = 1 + (score[None, :] > score[:, None]).sum(axis=1)
    group = rank_groups(rank, left, right, pair_holm <= alpha)
    chance_holm, effect = holm(p[left.size :]), cohen_dz(differences)
    clock.lap("Holm, groups, d_z")
    return BaselineResult(
        **drawn._asdict(),
        score=score,
        band=score[:, None] + drawn.critical_value * drawn.se[:, None] * np.array([-1.0, 1.0]),
        rank=rank,
        left=left,
        right=right,
        pair_difference=pair_difference,
        cohen_dz=effect,
        pair_exceedances=exceedances[: left.size],
        pair_p=p[: left.size],
        pair_holm=pair_holm,
        resolved=pair_holm <= alpha,
        group=group,
        chance_exceedances=exceedances[left.size :],
        chance_p=p[left.size :],
        chance_holm=chance_holm,
        redraws=redraws,
        seconds=clock.seconds,
    )
