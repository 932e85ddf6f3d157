"""Every number of a release, in one call (docs/statistics.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flavourbench.analysis.plain import bootstrap as resampling
from flavourbench.analysis.plain import decisions, signflip
from flavourbench.analysis.plain.design import (
    CHANCE_DENOMINATOR,
    contributions,
    score_codes,
    stratum_sizes,
    stratum_weights,
    varies,
)
from flavourbench.analysis.plain.stepdown import step_down

#: Told as stages advance: stage name, units done since the last call, units in all.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Problem:
    """What the numbers are a function of.

    Attributes
    ----------
    scores : int64 [M, T], in units of 10**-exponent
    stratum, cluster : int [T], 0-based, no index unused
    chance : int64 [T] or None, 56 times the chance level, in the same unit
    families, panels : name → stratum indices, ascending
    draws, flips, seed, alpha : the plan
    """

    scores: NDArray[np.int64]
    stratum: NDArray[np.integer]
    cluster: NDArray[np.integer]
    chance: NDArray[np.int64] | None
    exponent: int
    families: Mapping[str, Sequence[int]]
    panels: Mapping[str, Sequence[int]]
    draws: int
    flips: int
    seed: int
    alpha: float


@dataclass(frozen=True, slots=True)
class Tests:
    """One family of hypotheses: counts int64 [n]; p, Holm and step-down p float64 [n]."""

    exceedances: NDArray[np.int64]
    p: NDArray[np.float64]
    holm_p: NDArray[np.float64]
    stepdown_p: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Resampled:
    """Bootstrap part, in the table's unit; pairs (i, j), i < j, row-major.

    Attributes
    ----------
    draws : float64 [M, B]
    redraws : extra attempts
    se : float64 [M], exactly 0 for a model that no draw moves
    pointwise, simultaneous : float64 [M, 2]
    critical : max-t critical value
    rank_interval : int64 [M, 2]
    pair_interval, pair_simultaneous : float64 [P, 2]
    pair_se : float64 [P], exactly 0 for a difference that no draw moves
    pair_critical : max-t critical value of all differences
    """

    draws: NDArray[np.float64]
    redraws: int
    se: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    simultaneous: NDArray[np.float64]
    critical: float
    rank_interval: NDArray[np.int64]
    pair_interval: NDArray[np.float64]
    pair_simultaneous: NDArray[np.float64]
    pair_se: NDArray[np.float64]
    pair_critical: float


@dataclass(frozen=True, slots=True)
class Flipped:
    """Sign-flip part.

    Attributes
    ----------
    pairs : Tests [P]; chance : Tests [M] or None
    resolved : bool [P]
    directed_p : float64 [P], step-down p of the observed direction
    weights : int64 [S], scale, power : see `design.stratum_weights`
    drawn : sign vectors used; exact : whether these were all
    """

    pairs: Tests
    resolved: NDArray[np.bool_]
    directed_p: NDArray[np.float64]
    chance: Tests | None
    weights: NDArray[np.int64]
    scale: int
    power: int | None
    drawn: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """All numbers; float64 [M] in the table's unit unless stated.

    Attributes
    ----------
    score : point scores
    chance_score : mean chance level, or None
    rank, group : int64 [M]; rank_set : int64 [M, 2]
    letters : bool [M, L], compact letter display
    order : int64 [M], model indices by falling score, equal ones by index
    top : the model resolved above every other one, or None
    families, panels : name → float64 [M]
    pearson, spearman : of exactly two panels, else None
    difference, dz : float64 [P], NaN where the differences do not vary
    largest : largest absolute quantised score or chance level
    """

    score: NDArray[np.float64]
    chance_score: float | None
    rank: NDArray[np.int64]
    order: NDArray[np.int64]
    group: NDArray[np.int64]
    rank_set: NDArray[np.int64]
    letters: NDArray[np.bool_]
    top: int | None
    families: dict[str, NDArray[np.float64]]
    panels: dict[str, NDArray[np.float64]]
    pearson: float | None
    spearman: float | None
    difference: NDArray[np.float64]
    dz: NDArray[np.float64]
    largest: int
    resampled: Resampled
    flipped: Flipped


def analyse(problem: Problem, progress: Progress | None = None) -> Analysis:
    """Scores, intervals, tests, ranks and groups of all models.

    Raises ValueError for a design or scores that cannot be analysed, RuntimeError for a
    stratum that stays empty in every attempt of a draw. Source: docs/statistics.md.
    """
    scores, stratum, exponent = problem.scores, problem.stratum, problem.exponent
    score = resampling.point_scores(scores, stratum, exponent)
    largest = _largest(problem)
    flipped = _flip(problem, largest, progress)
    codes = score_codes(scores, stratum)
    order = np.argsort(-codes, kind="stable")
    left, right = np.triu_indices(score.size, 1)
    square = np.zeros((score.size, score.size), dtype=np.bool_)
    square[left, right] = square[right, left] = flipped.resolved
    pearson, spearman = _panel_agreement(problem)
    difference = score[left] - score[right]
    parted = flipped.directed_p <= problem.alpha
    sides = [np.where(difference >= 0.0, *pair)[parted] for pair in ((left, right), (right, left))]
    level = None
    if problem.chance is not None:
        rows = problem.chance[np.newaxis]
        level = float(resampling.point_scores(rows, stratum, exponent)[0]) / CHANCE_DENOMINATOR
    return Analysis(
        score=score,
        chance_score=level,
        rank=decisions.ranks(codes),
        order=order,
        group=decisions.rank_groups(order, square),
        rank_set=decisions.rank_sets(sides[0], sides[1], score.size),
        letters=decisions.letters(order, square),
        top=int(order[0]) if square[order[0]].sum() == score.size - 1 else None,
        families=_means(problem, problem.families),
        panels=_means(problem, problem.panels),
        pearson=pearson,
        spearman=spearman,
        difference=difference,
        dz=decisions.cohen_dz(scores),
        largest=largest,
        resampled=_resample(problem, score, progress),
        flipped=flipped,
    )


def _told(progress: Progress | None, stage: str, total: int) -> Callable[[int], None] | None:
    """A listener for the units of one stage."""
    return None if progress is None else lambda done: progress(stage, done, total)


def _largest(problem: Problem) -> int:
    largest = int(np.abs(problem.scores).max())
    if problem.chance is None:
        return largest
    return max(largest, -(-int(np.abs(problem.chance).max()) // CHANCE_DENOMINATOR))


def _flip(problem: Problem, largest: int, progress: Progress | None) -> Flipped:
    design = problem.stratum, problem.cluster
    weights, scale, power = stratum_weights(stratum_sizes(problem.stratum), largest)
    levels = None
    if problem.chance is not None:
        levels = contributions(problem.chance[np.newaxis], *design, weights)[0]
    given = contributions(problem.scores, *design, weights), problem.flips, problem.seed, levels
    vectors = min(problem.flips, 2 ** int(problem.cluster.max()))
    told = [_told(progress, stage, vectors) for stage in ("sign flips", "step-down")]
    pairs, against, drawn, exact = signflip.sign_flips(*given, told[0])
    adjusted = step_down(*given, told[1])
    tests = _tests(pairs, drawn, exact, adjusted.p)
    chance = None
    if against is not None and adjusted.chance_p is not None:
        chance = _tests(against, drawn, exact, adjusted.chance_p)
    return Flipped(
        pairs=tests,
        resolved=tests.holm_p <= problem.alpha,
        directed_p=adjusted.directed_p,
        chance=chance,
        weights=weights,
        scale=scale,
        power=power,
        drawn=drawn,
        exact=exact,
    )


def _tests(
    counts: NDArray[np.int64], drawn: int, exact: bool, stepdown_p: NDArray[np.float64]
) -> Tests:
    p = signflip.p_values(counts, drawn, exact)
    return Tests(counts, p, decisions.holm(p), stepdown_p)


def _resample(problem: Problem, score: NDArray[np.float64], progress: Progress | None) -> Resampled:
    scores, alpha = problem.scores, problem.alpha
    draws, redraws = resampling.bootstrap(
        scores,
        problem.stratum,
        problem.cluster,
        problem.exponent,
        problem.draws,
        problem.seed,
        progress=_told(progress, "bootstrap", problem.draws),
    )
    # Draws that differ by no more than the rounding of S + 2 operations do not differ.
    strata = stratum_sizes(problem.stratum).size
    noise = (strata + 4) * 2.0**-51 * np.abs(scores).max(axis=1) / 10.0**problem.exponent
    spread = resampling.standard_errors(draws)
    moves = varies(scores, problem.stratum) & (spread > noise)
    se = np.where(moves, spread, 0.0)
    critical = 0.0
    if moves.any():
        critical = resampling.max_t_critical(draws, score, se, moves, alpha)
    pairs = score.size * (score.size - 1) // 2
    told = _told(progress, "pair intervals", pairs)
    ends = alpha / 2.0, 1.0 - alpha / 2.0
    left, right = np.triu_indices(score.size, 1)
    difference = score[left] - score[right]
    pair_spread = resampling.difference_errors(draws)
    pair_se = np.where(pair_spread > noise[left] + noise[right], pair_spread, 0.0)
    pair_critical = resampling.difference_critical(draws, difference, pair_se, alpha)
    reach = pair_critical * pair_se
    return Resampled(
        draws=draws,
        redraws=redraws,
        se=se,
        pointwise=np.stack([resampling.quantile(draws, end) for end in ends], axis=1),
        simultaneous=np.stack([score - critical * se, score + critical * se], axis=1),
        critical=critical,
        rank_interval=resampling.rank_intervals(draws, alpha),
        pair_interval=resampling.pair_intervals(draws, alpha, told),
        pair_simultaneous=np.stack([difference - reach, difference + reach], axis=1),
        pair_se=pair_se,
        pair_critical=pair_critical,
    )


def _means(problem: Problem, parts: Mapping[str, Sequence[int]]) -> dict[str, NDArray[np.float64]]:
    """Equal mean over the strata of each part (section 2)."""
    sizes = stratum_sizes(problem.stratum)
    means = [
        problem.scores[:, problem.stratum == s].sum(axis=1, dtype=np.int64) / float(size)
        for s, size in enumerate(sizes.tolist())
    ]
    found = {}
    for name, strata in parts.items():
        total = np.zeros(problem.scores.shape[0], dtype=np.float64)
        for s in strata:
            total += means[s]
        found[name] = total / float(len(strata)) / 10.0**problem.exponent
    return found


def _panel_agreement(problem: Problem) -> tuple[float | None, float | None]:
    """Pearson's r of two panel scores, Spearman's rho of their exact ranks (section 7)."""
    if len(problem.panels) != 2:
        return None, None
    first, second = _means(problem, problem.panels).values()
    codes = [
        score_codes(problem.scores, problem.stratum, list(strata)).astype(np.float64)
        for strata in problem.panels.values()
    ]
    return decisions.pearson(first, second), decisions.spearman(*codes)
