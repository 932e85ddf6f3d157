"""The published analysis of a score matrix: every number of a release, in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Engine, Progress, default_threads
from fbcore.bootstrap import bootstrap, max_t, means_over, point_scores, standard_errors
from fbcore.bootstrap import stratum_means as means_of_strata
from fbcore.design import PORTFOLIOS, Weights, contributions, score_codes
from fbcore.effects import cohen_dz, pearson, spearman
from fbcore.multiplicity import holm
from fbcore.quantiles import intervals, pair_index, quantile
from fbcore.ranks import competition_ranks, rank_groups, rank_intervals
from fbcore.signflip import p_values, sign_flips
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.preflight import check, unmoved_warning
from flavourbench.errors import InputError


@dataclass(frozen=True, slots=True)
class ChanceTests:
    """Tests of every model against the chance level.

    Attributes
    ----------
    score : float, equal mean of the chance levels, in the table's unit
    exceedances : int64 [M]
    p, holm_p : float64 [M]
    """

    score: float
    exceedances: NDArray[np.int64]
    p: NDArray[np.float64]
    holm_p: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairTests:
    """All pairs i < j of the models, row-major; P = M (M - 1) / 2.

    Attributes
    ----------
    left, right : int64 [P], model indices
    difference : float64 [P], score of left minus score of right
    interval : float64 [P, 2], percentile interval of the difference
    dz : float64 [P], Cohen's d_z, NaN where the differences do not vary
    exceedances : int64 [P]
    p, holm_p : float64 [P]
    resolved : bool [P], Holm-adjusted p at most α
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    difference: NDArray[np.float64]
    interval: NDArray[np.float64]
    dz: NDArray[np.float64]
    exceedances: NDArray[np.int64]
    p: NDArray[np.float64]
    holm_p: NDArray[np.float64]
    resolved: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Inference:
    """Results in the order and unit of ``matrix``; float64 [M] unless stated.

    Attributes
    ----------
    score, se : point score and bootstrap standard error
    pointwise, simultaneous : float64 [M, 2]
    rank : int64 [M], rank_interval : int64 [M, 2], group : int64 [M]
    order : int64 [M], model indices by falling score, equal ones by id
    families, panels : column name → float64 [M]
    critical : float, max-t critical value
    draws : float64 [M, B]
    redraws : int
    flips_drawn : int, sign vectors used; flips_exact : bool, whether these were all
    top : int or None, the model resolved above every other one
    """

    matrix: ScoreMatrix
    plan: Plan
    weights: Weights
    score: NDArray[np.float64]
    se: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    simultaneous: NDArray[np.float64]
    critical: float
    rank: NDArray[np.int64]
    rank_interval: NDArray[np.int64]
    group: NDArray[np.int64]
    order: NDArray[np.int64]
    families: dict[str, NDArray[np.float64]]
    panels: dict[str, NDArray[np.float64]]
    panel_pearson: float | None
    panel_spearman: float | None
    chance: ChanceTests | None
    pairs: PairTests
    top: int | None
    draws: NDArray[np.float64]
    redraws: int
    flips_drawn: int
    flips_exact: bool
    warnings: tuple[str, ...]


def infer(
    matrix: ScoreMatrix,
    plan: Plan,
    threads: int | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Inference:
    """Scores, bootstrap intervals, sign-flip tests, ranks and groups of all models.

    The result depends on ``matrix`` and ``plan`` alone: threads and engine change no bit.

    Parameters
    ----------
    threads : int, optional
        Threads to use; by default the processors this process may use.

    Raises
    ------
    InputError
        See :func:`check`.
    """
    weights, warnings = check(matrix, plan)
    run = _Run(matrix, plan, threads or default_threads(), engine, progress)
    sampled = _sample(run)
    tested = _test(run, weights, sampled)
    families, panels = _members(matrix)
    means = means_of_strata(matrix.scores.values, matrix.design)
    family_scores, panel_scores = (
        {name: means_over(means[:, at], matrix.unit) for name, at in parts.items()}
        for parts in (families, panels)
    )
    r, rho = _panel_agreement(matrix, panels, panel_scores)
    return Inference(
        matrix=matrix,
        plan=plan,
        weights=weights,
        score=sampled.score,
        se=sampled.se,
        pointwise=sampled.pointwise,
        simultaneous=sampled.simultaneous,
        critical=sampled.critical,
        rank_interval=sampled.rank_interval,
        draws=sampled.draws,
        redraws=sampled.redraws,
        **tested._asdict(),
        families=family_scores,
        panels=panel_scores,
        panel_pearson=r,
        panel_spearman=rho,
        warnings=(*warnings, *unmoved_warning(matrix, sampled.se)),
    )


class _Run(NamedTuple):
    """What every step needs."""

    matrix: ScoreMatrix
    plan: Plan
    threads: int
    engine: Engine | None
    progress: Progress | None

    def told(self, stage: str, total: int) -> Callable[[int], None] | None:
        """A listener for the units of one stage."""
        progress = self.progress
        return None if progress is None else lambda done: progress(stage, done, total)


class _Sampled(NamedTuple):
    """The bootstrap part; fields as in :class:`Inference` and :class:`PairTests`."""

    score: NDArray[np.float64]
    se: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    pair_interval: NDArray[np.float64]
    simultaneous: NDArray[np.float64]
    critical: float
    rank_interval: NDArray[np.int64]
    draws: NDArray[np.float64]
    redraws: int


class _Tested(NamedTuple):
    """The sign-flip part; fields as in :class:`Inference`."""

    rank: NDArray[np.int64]
    order: NDArray[np.int64]
    group: NDArray[np.int64]
    chance: ChanceTests | None
    pairs: PairTests
    top: int | None
    flips_drawn: int
    flips_exact: bool


def _sample(run: _Run) -> _Sampled:
    matrix, plan, threads = run.matrix, run.plan, run.threads
    scores, design, exponent = matrix.scores.values, matrix.design, matrix.scores.exponent
    told = run.told("bootstrap", plan.draws)
    try:
        sample = bootstrap(
            scores, design, exponent, plan.draws, plan.seed, threads, run.engine, told
        )
    except ArithmeticError as error:
        raise InputError(f"{error}: add clusters to the thin strata or merge them") from error
    draws = sample.draws
    score = point_scores(scores, design, exponent)
    se = standard_errors(draws, threads)
    # Draws that differ by no more than the rounding of S + 2 operations do not differ.
    noise = (matrix.design.strata + 4) * 2.0**-51 * np.abs(scores).max(axis=1) / matrix.unit
    se = np.where(matrix.varies & (se > noise), se, 0.0)
    critical = quantile(max_t(draws, score, se, threads), 1 - plan.alpha)
    # One pass over models (right = -1) and pairs.
    models = np.arange(score.size, dtype=np.int64)
    left, right = pair_index(score.size)
    both = intervals(
        draws,
        np.concatenate([models, left]),
        np.concatenate([np.full_like(models, -1), right]),
        plan.alpha,
        threads,
        run.told("intervals", models.size + left.size),
    )
    return _Sampled(
        score=score,
        se=se,
        pointwise=both[: score.size],
        pair_interval=both[score.size :],
        simultaneous=np.stack([score - critical * se, score + critical * se], axis=1),
        critical=critical,
        rank_interval=rank_intervals(draws, plan.alpha, threads),
        draws=draws,
        redraws=sample.redraws,
    )


def _test(run: _Run, weights: Weights, sampled: _Sampled) -> _Tested:
    matrix, plan = run.matrix, run.plan
    scores, design = matrix.scores.values, matrix.design
    sums = contributions(scores, design, weights)
    levels = None
    if matrix.chance is not None:
        levels = contributions(matrix.chance[None, :], design, weights)[0]
    told = run.told("sign flips", plan.flips)
    flipped = sign_flips(sums, plan.flips, plan.seed, levels, run.threads, run.engine, told)
    p = p_values(flipped.pairs, flipped.draws, flipped.exact)
    holm_p = holm(p)
    resolved = holm_p <= plan.alpha
    models = len(matrix.models)
    left, right = pair_index(models)
    square = np.zeros((models, models), np.bool_)
    square[left, right] = square[right, left] = resolved
    codes = score_codes(scores, design)
    order = np.lexsort((np.arange(models), -codes))
    pairs = PairTests(
        left=left,
        right=right,
        difference=sampled.score[left] - sampled.score[right],
        interval=sampled.pair_interval,
        dz=cohen_dz(scores),
        exceedances=flipped.pairs,
        p=p,
        holm_p=holm_p,
        resolved=resolved,
    )
    return _Tested(
        rank=competition_ranks(codes),
        order=order,
        group=rank_groups(order, square),
        chance=_chance_tests(matrix, flipped.chance, flipped.draws, flipped.exact),
        pairs=pairs,
        top=int(order[0]) if square[order[0]].sum() == models - 1 else None,
        flips_drawn=flipped.draws,
        flips_exact=flipped.exact,
    )


def _chance_tests(
    matrix: ScoreMatrix, counts: NDArray[np.int64] | None, draws: int, exact: bool
) -> ChanceTests | None:
    if matrix.chance is None or counts is None:
        return None
    level = point_scores(matrix.chance[None, :], matrix.design, matrix.scores.exponent)
    p = p_values(counts, draws, exact)
    return ChanceTests(float(level[0]) / PORTFOLIOS, counts, p, holm(p))


def _members(matrix: ScoreMatrix) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """Strata of each family and of each panel, by name."""
    families: dict[str, list[int]] = {}
    panels: dict[str, list[int]] = {}
    for index, stratum in enumerate(matrix.strata):
        family = stratum.id if stratum.family is None and stratum.panel is None else stratum.family
        if family is not None:
            families.setdefault(family, []).append(index)
        if stratum.panel is not None:
            panels.setdefault(stratum.panel, []).append(index)
    return dict(sorted(families.items())), dict(sorted(panels.items()))


def _panel_agreement(
    matrix: ScoreMatrix, panels: dict[str, list[int]], scores: dict[str, NDArray[np.float64]]
) -> tuple[float | None, float | None]:
    """Pearson's r of the two panel scores over models, and Spearman's ρ with exact ties."""
    if len(panels) != 2:
        return None, None
    codes = [score_codes(matrix.scores.values, matrix.design, at) for at in panels.values()]
    r = pearson(*(column.tolist() for column in scores.values()))
    return r, spearman(*(column.tolist() for column in codes))
