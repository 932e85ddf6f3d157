"""What belongs to one model or to one pair alone, and the steps that measure it.

No other model moves these numbers, so that they stay when models are added
(docs/statistics.md, section 8).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fbcore.blocks import Engine, Progress
from fbcore.bootstrap import bootstrap, standard_errors
from fbcore.design import Weights, contributions
from fbcore.differences import difference_errors
from fbcore.effects import cohen_dz
from fbcore.quantiles import intervals, pair_index
from fbcore.signflip import sign_flips
from flavourbench.analysis.matrix import ScoreMatrix
from flavourbench.analysis.plan import Plan
from flavourbench.errors import InputError


@dataclass(frozen=True, slots=True)
class Measured:
    """Numbers of M models and their P = M (M - 1) / 2 pairs i < j, row-major.

    Attributes
    ----------
    draws : float64 [M, B], bootstrap draws of the score
    redraws : int
    se : float64 [M], standard error
    pointwise : float64 [M, 2], percentile interval of the score
    difference_se : float64 [P], standard error of the difference
    interval : float64 [P, 2], percentile interval of the difference
    dz : float64 [P], Cohen's d_z, NaN where the differences do not vary
    exceedances : int64 [P]
    chance_exceedances : int64 [M], or None without chance levels
    flips_drawn : int, sign vectors used; flips_exact : bool, whether these were all
    """

    draws: NDArray[np.float64]
    redraws: int
    se: NDArray[np.float64]
    pointwise: NDArray[np.float64]
    difference_se: NDArray[np.float64]
    interval: NDArray[np.float64]
    dz: NDArray[np.float64]
    exceedances: NDArray[np.int64]
    chance_exceedances: NDArray[np.int64] | None
    flips_drawn: int
    flips_exact: bool


class Run(NamedTuple):
    """What every step needs."""

    matrix: ScoreMatrix
    plan: Plan
    weights: Weights
    threads: int
    engine: Engine | None
    progress: Progress | None

    def told(self, stage: str, total: int) -> Callable[[int], None] | None:
        """A listener for the units of one stage."""
        progress = self.progress
        return None if progress is None else lambda done: progress(stage, done, total)


def measure(run: Run) -> Measured:
    """Everything of all models and pairs.

    Raises
    ------
    InputError
        See :func:`resample`.
    """
    plan, scores = run.plan, run.matrix.scores.values
    models = np.arange(scores.shape[0], dtype=np.int64)
    draws, redraws, se = resample(run, models)
    pairs = pair_index(models.size)
    pointwise, interval = percentiles(run, draws, models, *pairs)
    sums, levels = cluster_sums(run)
    told = run.told("sign flips", plan.flips)
    flipped = sign_flips(sums, plan.flips, plan.seed, levels, run.threads, run.engine, told)
    return Measured(
        draws=draws,
        redraws=redraws,
        se=se,
        pointwise=pointwise,
        difference_se=errors_of_differences(run, draws, *pairs),
        interval=interval,
        dz=cohen_dz(scores),
        exceedances=flipped.pairs,
        chance_exceedances=flipped.chance,
        flips_drawn=flipped.draws,
        flips_exact=flipped.exact,
    )


def resample(
    run: Run, models: NDArray[np.int64]
) -> tuple[NDArray[np.float64], int, NDArray[np.float64]]:
    """Bootstrap draws [n, B] of some models, redraws, and standard errors [n].

    Raises
    ------
    InputError
        A draw that left a stratum empty in all its attempts.
    """
    matrix, plan = run.matrix, run.plan
    scores = matrix.scores.values[models]
    told = run.told("bootstrap", plan.draws)
    try:
        sample = bootstrap(
            scores,
            matrix.design,
            matrix.scores.exponent,
            plan.draws,
            plan.seed,
            run.threads,
            run.engine,
            told,
        )
    except ArithmeticError as error:
        raise InputError(f"{error}: add clusters to the thin strata or merge them") from error
    se = standard_errors(sample.draws, run.threads)
    moved = matrix.varies[models] & (se > _noise(matrix)[models])
    return sample.draws, sample.redraws, np.where(moved, se, 0.0)


def _noise(matrix: ScoreMatrix) -> NDArray[np.float64]:
    """What rounding alone may make of each model's standard error, float64 [M].

    Draws that differ by no more than the rounding of S + 2 operations do not differ.
    """
    largest: NDArray[np.float64] = np.abs(matrix.scores.values).max(axis=1).astype(np.float64)
    largest *= (matrix.design.strata + 4) * 2.0**-51
    largest /= matrix.unit
    return largest


def errors_of_differences(
    run: Run, draws: NDArray[np.float64], left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Standard errors of pair differences, float64 [n], exactly 0 where no draw moves them.

    Parameters
    ----------
    draws : float64 [M, B], of all models
    """
    told = run.told("pair errors", left.size)
    se = difference_errors(draws, left, right, run.threads, told)
    noise = _noise(run.matrix)
    return np.where(se > noise[left] + noise[right], se, 0.0)


def percentiles(
    run: Run,
    draws: NDArray[np.float64],
    models: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Percentile intervals of some models and of some pairs of ``draws`` [M, B], in one pass."""
    both = intervals(
        draws,
        np.concatenate([models, left]),
        np.concatenate([np.full_like(models, -1), right]),
        run.plan.alpha,
        run.threads,
        run.told("intervals", models.size + left.size),
    )
    return both[: models.size], both[models.size :]


def cluster_sums(run: Run) -> tuple[NDArray[np.int64], NDArray[np.int64] | None]:
    """Contributions of the clusters to every model [M, C], and to 56 times the chance level [C]."""
    matrix, weights = run.matrix, run.weights
    sums = contributions(matrix.scores.values, matrix.design, weights)
    if matrix.chance is None:
        return sums, None
    return sums, contributions(matrix.chance[None, :], matrix.design, weights)[0]
