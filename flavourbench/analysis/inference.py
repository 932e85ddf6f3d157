"""The published analysis of a score matrix: every number of a release, in one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Engine, Progress, default_threads
from fbcore.bootstrap import max_t, means_over, point_scores
from fbcore.bootstrap import stratum_means as means_of_strata
from fbcore.design import PORTFOLIOS, Weights, score_codes
from fbcore.differences import difference_max_t
from fbcore.effects import pearson, spearman
from fbcore.letters import letters
from fbcore.multiplicity import holm
from fbcore.quantiles import pair_index, quantile
from fbcore.ranks import competition_ranks, rank_groups, rank_intervals, rank_sets
from fbcore.signflip import p_values
from fbcore.stepdown import StepDown, step_down
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.measured import Measured, Run, cluster_sums, measure
from flavourbench.analysis.plan import Plan
from flavourbench.analysis.preflight import check, unmoved_warning


@dataclass(frozen=True, slots=True)
class ChanceTests:
    """Tests of every model against the chance level.

    Attributes
    ----------
    score : float, equal mean of the chance levels, in the table's unit
    exceedances : int64 [M]
    p, holm_p, stepdown_p : float64 [M]
    """

    score: float
    exceedances: NDArray[np.int64]
    p: NDArray[np.float64]
    holm_p: NDArray[np.float64]
    stepdown_p: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairTests:
    """All pairs i < j of the models, row-major; P = M (M - 1) / 2.

    Attributes
    ----------
    left, right : int64 [P], model indices
    difference : float64 [P], score of left minus score of right
    se : float64 [P], bootstrap standard error of the difference
    interval : float64 [P, 2], percentile interval of the difference
    simultaneous : float64 [P, 2], max-t intervals of all differences
    critical : float, their critical value
    dz : float64 [P], Cohen's d_z, NaN where the differences do not vary
    exceedances : int64 [P]
    p, holm_p : float64 [P]
    stepdown_p, directed_p : float64 [P], see :class:`fbcore.stepdown.StepDown`
    resolved : bool [P], Holm-adjusted p at most α
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    difference: NDArray[np.float64]
    se: NDArray[np.float64]
    interval: NDArray[np.float64]
    simultaneous: NDArray[np.float64]
    critical: float
    dz: NDArray[np.float64]
    exceedances: NDArray[np.int64]
    p: NDArray[np.float64]
    holm_p: NDArray[np.float64]
    stepdown_p: NDArray[np.float64]
    directed_p: NDArray[np.float64]
    resolved: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Inference:
    """Results in the order and unit of ``matrix``; float64 [M] unless stated.

    Attributes
    ----------
    score, se : point score and bootstrap standard error
    pointwise, simultaneous : float64 [M, 2]
    rank : int64 [M], rank_interval : int64 [M, 2], group : int64 [M]
    rank_set : int64 [M, 2], ranks that the resolved directions leave open, all at once
    letters : bool [M, L], compact letter display of the resolved pairs
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
    rank_set: NDArray[np.int64]
    group: NDArray[np.int64]
    letters: NDArray[np.bool_]
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
    run = Run(matrix, plan, weights, threads or default_threads(), engine, progress)
    return conclude(run, measure(run), warnings)


def conclude(run: Run, measured: Measured, warnings: list[str]) -> Inference:
    """The analysis of models that were measured: what all of them decide together.

    Parameters
    ----------
    warnings : list of str, what :func:`check` had to say
    """
    matrix, plan, se = run.matrix, run.plan, measured.se
    score = point_scores(matrix.scores.values, matrix.design, matrix.scores.exponent)
    critical = quantile(max_t(measured.draws, score, se, run.threads), 1 - plan.alpha)
    tested = _test(run, measured, score)
    families, panels = members(matrix)
    means = means_of_strata(matrix.scores.values, matrix.design)
    family_scores, panel_scores = (
        {name: means_over(means[:, at], matrix.unit) for name, at in parts.items()}
        for parts in (families, panels)
    )
    r, rho = _panel_agreement(matrix, panels, panel_scores)
    return Inference(
        matrix=matrix,
        plan=plan,
        weights=run.weights,
        score=score,
        se=se,
        pointwise=measured.pointwise,
        simultaneous=np.stack([score - critical * se, score + critical * se], axis=1),
        critical=critical,
        rank_interval=rank_intervals(measured.draws, plan.alpha, run.threads),
        draws=measured.draws,
        redraws=measured.redraws,
        flips_drawn=measured.flips_drawn,
        flips_exact=measured.flips_exact,
        **tested._asdict(),
        families=family_scores,
        panels=panel_scores,
        panel_pearson=r,
        panel_spearman=rho,
        warnings=(*warnings, *unmoved_warning(matrix, se)),
    )


class _Tested(NamedTuple):
    """What the tests of pairs and models decide; fields as in :class:`Inference`."""

    rank: NDArray[np.int64]
    order: NDArray[np.int64]
    group: NDArray[np.int64]
    letters: NDArray[np.bool_]
    rank_set: NDArray[np.int64]
    chance: ChanceTests | None
    pairs: PairTests
    top: int | None


def _test(run: Run, measured: Measured, score: NDArray[np.float64]) -> _Tested:
    matrix, models = run.matrix, len(run.matrix.models)
    adjusted = stepped_down(run)
    pairs = _pair_tests(run, measured, adjusted, score)
    square = np.zeros((models, models), np.bool_)
    square[pairs.left, pairs.right] = square[pairs.right, pairs.left] = pairs.resolved
    codes = score_codes(matrix.scores.values, matrix.design)
    order = np.lexsort((np.arange(models), -codes))
    parted = pairs.directed_p <= run.plan.alpha
    ahead = np.where(pairs.difference >= 0, pairs.left, pairs.right)[parted]
    behind = np.where(pairs.difference >= 0, pairs.right, pairs.left)[parted]
    return _Tested(
        rank=competition_ranks(codes),
        order=order,
        group=rank_groups(order, square),
        letters=letters(order, square),
        rank_set=rank_sets(ahead, behind, models),
        chance=_chance_tests(matrix, measured, adjusted.chance_p),
        pairs=pairs,
        top=int(order[0]) if square[order[0]].sum() == models - 1 else None,
    )


def stepped_down(run: Run) -> StepDown:
    """Step-down p-values of all pairs, their directions, and the chance tests."""
    plan = run.plan
    sums, levels = cluster_sums(run)
    told = run.told("step-down", plan.flips)
    return step_down(sums, plan.flips, plan.seed, levels, run.threads, run.engine, told)


def _pair_tests(
    run: Run, measured: Measured, adjusted: StepDown, score: NDArray[np.float64]
) -> PairTests:
    left, right = pair_index(score.size)
    difference, se, alpha = score[left] - score[right], measured.difference_se, run.plan.alpha
    told = run.told("pair bands", run.plan.draws)
    largest = difference_max_t(
        measured.draws, left, right, difference, se, run.threads, progress=told
    )
    critical = quantile(largest, 1 - alpha)
    p = p_values(measured.exceedances, measured.flips_drawn, measured.flips_exact)
    holm_p = holm(p)
    return PairTests(
        left=left,
        right=right,
        difference=difference,
        se=se,
        interval=measured.interval,
        simultaneous=np.stack([difference - critical * se, difference + critical * se], axis=1),
        critical=critical,
        dz=measured.dz,
        exceedances=measured.exceedances,
        p=p,
        holm_p=holm_p,
        stepdown_p=adjusted.p,
        directed_p=adjusted.directed_p,
        resolved=holm_p <= alpha,
    )


def _chance_tests(
    matrix: ScoreMatrix, measured: Measured, stepdown_p: NDArray[np.float64] | None
) -> ChanceTests | None:
    counts = measured.chance_exceedances
    if matrix.chance is None or counts is None or stepdown_p is None:
        return None
    level = point_scores(matrix.chance[None, :], matrix.design, matrix.scores.exponent)
    p = p_values(counts, measured.flips_drawn, measured.flips_exact)
    return ChanceTests(float(level[0]) / PORTFOLIOS, counts, p, holm(p), stepdown_p)


def members(matrix: ScoreMatrix) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
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
